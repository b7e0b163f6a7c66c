-- Who acts on a keyspace; scope is "<cluster>/<keyspace>". Times are UTC, by the database's clock.
CREATE TABLE IF NOT EXISTS ddl_lock (
	scope VARCHAR(129) NOT NULL PRIMARY KEY,
	owner VARBINARY(128) NOT NULL,
	epoch BIGINT NOT NULL CHECK (epoch >= 0),
	expires_at DATETIME(6) NOT NULL,
	taken_at DATETIME(6) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
