-- Made first; its row is written last. So tables without it are another program's, and a store without
-- the row is one that is still being made.
CREATE TABLE IF NOT EXISTS ddl_store (
	id TINYINT NOT NULL PRIMARY KEY CHECK (id = 1),
	application VARCHAR(32) NOT NULL,
	version INT NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
