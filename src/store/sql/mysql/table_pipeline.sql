-- One row for each change: (cluster, keyspace, one statement on one table, generation).
-- Text that keeps no grammar is bytes: it is stored as it came, compared exactly (utf8mb4_bin ignores
-- spaces at the end) and never converted.
CREATE TABLE IF NOT EXISTS ddl_pipeline (
	id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
	cluster VARCHAR(64) NOT NULL CHECK (CHAR_LENGTH(cluster) BETWEEN 1 AND 64),
	keyspace_name VARCHAR(64) NOT NULL CHECK (CHAR_LENGTH(keyspace_name) BETWEEN 1 AND 64
		AND LOWER(keyspace_name) <> 'all'),
	table_name VARBINARY(64) NOT NULL CHECK (LENGTH(table_name) BETWEEN 1 AND 64),
	ddl MEDIUMBLOB NOT NULL CHECK (LENGTH(ddl) > 0),
	ddl_sha256 VARCHAR(64) NOT NULL CHECK (CHAR_LENGTH(ddl_sha256) = 64 AND ddl_sha256 NOT REGEXP '[^0-9a-f]'),
	uuid VARCHAR(36) NOT NULL CHECK (CHAR_LENGTH(uuid) = 36 AND uuid NOT REGEXP '[^0-9a-f_]'),
	context VARCHAR(128) NOT NULL CHECK (CHAR_LENGTH(context) BETWEEN 1 AND 128
		AND context NOT REGEXP '[^A-Za-z0-9_:-]'),
	generation BIGINT NOT NULL CHECK (generation BETWEEN 1 AND 4294967295),
	strategy MEDIUMBLOB NOT NULL,
	phase VARCHAR(16) NOT NULL CHECK (phase IN ('submitting', 'submitted', 'completing', 'completed',
		'verified', 'cancelling', 'cancelled', 'failed', 'stopped')),
	holds_table TINYINT NULL CHECK (holds_table = 1),
	epoch BIGINT NOT NULL CHECK (epoch >= 0),
	revision BIGINT NOT NULL CHECK (revision >= 1),
	rule BIGINT NOT NULL,
	reason VARBINARY(1024) NOT NULL,
	gate VARCHAR(16) NOT NULL CHECK (gate IN ('manual', 'auto')),
	cancel_asked TINYINT NOT NULL CHECK (cancel_asked IN (0, 1)),
	adopted TINYINT NOT NULL CHECK (adopted IN (0, 1)),
	last_effect VARCHAR(16) NOT NULL CHECK (last_effect IN ('none', 'submit', 'complete', 'cancel')),
	attempts BIGINT NOT NULL CHECK (attempts BETWEEN 0 AND 4294967295),
	next_attempt_at_ms BIGINT NOT NULL,
	in_flight_until_ms BIGINT NOT NULL,
	created_at_ms BIGINT NOT NULL,
	updated_at_ms BIGINT NOT NULL,
	deadline_at_ms BIGINT NOT NULL,
	created_by VARBINARY(128) NOT NULL,
	shard_count BIGINT NOT NULL CHECK (shard_count BETWEEN 0 AND 1024),
	UNIQUE KEY ddl_pipeline_context (cluster, context),
	UNIQUE KEY ddl_pipeline_uuid (cluster, uuid),
	-- I15: at most one change holds a table; NULL, not held, is equal to nothing.
	UNIQUE KEY ddl_pipeline_holds_table (cluster, keyspace_name, table_name, holds_table),
	KEY ddl_pipeline_live (cluster, holds_table),
	KEY ddl_pipeline_phase (cluster, phase, updated_at_ms),
	KEY ddl_pipeline_keyspace (cluster, keyspace_name),
	KEY ddl_pipeline_table (cluster, keyspace_name, table_name),
	KEY ddl_pipeline_statement (cluster, ddl_sha256),
	-- phase_is_live() in core/change.c says the same; tests/contract compares the two.
	CONSTRAINT ddl_pipeline_ended CHECK (holds_table IS NULL OR phase NOT IN ('verified', 'cancelled')),
	CONSTRAINT ddl_pipeline_on_its_way CHECK (holds_table IS NOT NULL
		OR phase IN ('verified', 'cancelled', 'failed', 'stopped'))
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
