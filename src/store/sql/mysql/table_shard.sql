-- The expected set, as recorded with the intent. No foreign key: changes are never deleted, and Vitess
-- and schema change tools have no good way with them.
CREATE TABLE IF NOT EXISTS ddl_pipeline_shard (
	change_id BIGINT NOT NULL,
	name VARCHAR(64) NOT NULL CHECK (CHAR_LENGTH(name) BETWEEN 1 AND 64),
	primary_cell VARBINARY(64) NOT NULL,
	primary_uid BIGINT NOT NULL CHECK (primary_uid BETWEEN 0 AND 4294967295),
	definition_before MEDIUMBLOB NULL,
	definition_after MEDIUMBLOB NULL,
	PRIMARY KEY (change_id, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
