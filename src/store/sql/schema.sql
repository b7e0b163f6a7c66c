-- The store of vtddl in SQLite. Run in one transaction (store/sqlite_open.c).
--
-- At every start the text of each statement here is compared with the one in the file: a changed
-- statement, even a changed space in it, needs a new user_version and a step from the old one.
-- Lines that are only a comment are not part of it.

-- "vtdd"
PRAGMA application_id = 1987339364;
PRAGMA user_version = 1;

-- One row for each change: (cluster, keyspace, one statement on one table, generation).
CREATE TABLE ddl_pipeline (
	id INTEGER PRIMARY KEY,
	cluster TEXT NOT NULL CHECK (length(cluster) BETWEEN 1 AND 64),
	keyspace_name TEXT NOT NULL CHECK (length(keyspace_name) BETWEEN 1 AND 64 AND lower(keyspace_name) <> 'all'),
	table_name TEXT NOT NULL CHECK (length(table_name) BETWEEN 1 AND 64),
	ddl TEXT NOT NULL CHECK (length(ddl) > 0),
	ddl_sha256 TEXT NOT NULL CHECK (length(ddl_sha256) = 64 AND ddl_sha256 NOT GLOB '*[^0-9a-f]*'),
	uuid TEXT NOT NULL CHECK (length(uuid) = 36 AND uuid NOT GLOB '*[^0-9a-f_]*'),
	context TEXT NOT NULL CHECK (length(context) BETWEEN 1 AND 128 AND context NOT GLOB '*[^A-Za-z0-9_:-]*'),
	generation INTEGER NOT NULL CHECK (generation BETWEEN 1 AND 4294967295),
	strategy TEXT NOT NULL,
	phase TEXT NOT NULL CHECK (phase IN ('submitting', 'submitted', 'completing', 'completed', 'verified',
		'cancelling', 'cancelled', 'failed', 'stopped')),
	holds_table INTEGER NOT NULL CHECK (holds_table IN (0, 1)),
	epoch INTEGER NOT NULL CHECK (epoch >= 0),
	revision INTEGER NOT NULL CHECK (revision >= 1),
	rule INTEGER NOT NULL,
	reason TEXT NOT NULL,
	gate TEXT NOT NULL CHECK (gate IN ('manual', 'auto')),
	cancel_asked INTEGER NOT NULL CHECK (cancel_asked IN (0, 1)),
	adopted INTEGER NOT NULL CHECK (adopted IN (0, 1)),
	last_effect TEXT NOT NULL CHECK (last_effect IN ('none', 'submit', 'complete', 'cancel')),
	attempts INTEGER NOT NULL CHECK (attempts BETWEEN 0 AND 4294967295),
	next_attempt_at_ms INTEGER NOT NULL,
	in_flight_until_ms INTEGER NOT NULL,
	created_at_ms INTEGER NOT NULL,
	updated_at_ms INTEGER NOT NULL,
	deadline_at_ms INTEGER NOT NULL,
	created_by TEXT NOT NULL,
	-- Of ddl_pipeline_shard, so that a list of what is live need not read the shards.
	shard_count INTEGER NOT NULL CHECK (shard_count BETWEEN 0 AND 1024),
	UNIQUE (cluster, context),
	UNIQUE (cluster, uuid),
	-- phase_is_live() in core/change.c says the same; tests/contract compares the two.
	CHECK (holds_table = 0 OR phase NOT IN ('verified', 'cancelled')),
	CHECK (holds_table = 1 OR phase IN ('verified', 'cancelled', 'failed', 'stopped'))
) STRICT;

-- I15: at most one change holds a table.
CREATE UNIQUE INDEX ddl_pipeline_holds_table ON ddl_pipeline (cluster, keyspace_name, table_name)
	WHERE holds_table = 1;
CREATE INDEX ddl_pipeline_cluster ON ddl_pipeline (cluster);
CREATE INDEX ddl_pipeline_keyspace ON ddl_pipeline (cluster, keyspace_name);
CREATE INDEX ddl_pipeline_table ON ddl_pipeline (cluster, keyspace_name, table_name);
-- A cancelled change is watched for a while after it.
CREATE INDEX ddl_pipeline_cancelled ON ddl_pipeline (cluster, updated_at_ms) WHERE phase = 'cancelled';
CREATE INDEX ddl_pipeline_statement ON ddl_pipeline (cluster, ddl_sha256);

-- The expected set, as recorded with the intent.
CREATE TABLE ddl_pipeline_shard (
	change_id INTEGER NOT NULL REFERENCES ddl_pipeline (id),
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
	primary_cell TEXT NOT NULL CHECK (length(primary_cell) <= 64),
	primary_uid INTEGER NOT NULL CHECK (primary_uid BETWEEN 0 AND 4294967295),
	definition_before TEXT,
	definition_after TEXT,
	PRIMARY KEY (change_id, name)
) STRICT;

CREATE TABLE ddl_history (
	id INTEGER PRIMARY KEY,
	change_id INTEGER NOT NULL REFERENCES ddl_pipeline (id),
	at_ms INTEGER NOT NULL,
	actor TEXT NOT NULL,
	from_phase TEXT,
	to_phase TEXT NOT NULL,
	rule INTEGER NOT NULL,
	reason TEXT NOT NULL,
	evidence TEXT NOT NULL
) STRICT;
CREATE INDEX ddl_history_change ON ddl_history (change_id);

-- Who acts on a keyspace; scope is "<cluster>/<keyspace>". The id of a row is the number of the
-- byte of PATH-lock that its holder has locked, so rows are never deleted.
CREATE TABLE ddl_lock (
	id INTEGER PRIMARY KEY,
	scope TEXT NOT NULL UNIQUE,
	owner TEXT NOT NULL,
	epoch INTEGER NOT NULL CHECK (epoch >= 0),
	taken_at_ms INTEGER NOT NULL
) STRICT;

CREATE TRIGGER ddl_history_no_update BEFORE UPDATE ON ddl_history
BEGIN
	SELECT RAISE(ABORT, 'history is only ever added to');
END;
CREATE TRIGGER ddl_history_no_delete BEFORE DELETE ON ddl_history
BEGIN
	SELECT RAISE(ABORT, 'history is only ever added to');
END;
CREATE TRIGGER ddl_pipeline_no_delete BEFORE DELETE ON ddl_pipeline
BEGIN
	SELECT RAISE(ABORT, 'changes are never deleted');
END;
CREATE TRIGGER ddl_pipeline_names_stay BEFORE UPDATE OF id, cluster, keyspace_name, table_name, ddl, ddl_sha256,
	uuid, context, generation, strategy, created_at_ms, created_by ON ddl_pipeline
BEGIN
	SELECT RAISE(ABORT, 'names and statement of a change never change');
END;
-- I4: never cancelled after the point of no return, never released after a cancel began.
CREATE TRIGGER ddl_pipeline_no_return BEFORE UPDATE OF phase ON ddl_pipeline
	WHEN (OLD.phase IN ('completing', 'completed', 'verified') AND NEW.phase IN ('cancelling', 'cancelled'))
	OR (OLD.phase IN ('cancelling', 'cancelled') AND NEW.phase IN ('completing', 'completed', 'verified'))
BEGIN
	SELECT RAISE(ABORT, 'a released change is never cancelled, a cancelled one never released');
END;
CREATE TRIGGER ddl_lock_no_delete BEFORE DELETE ON ddl_lock
BEGIN
	SELECT RAISE(ABORT, 'a lease keeps its row');
END;
CREATE TRIGGER ddl_lock_grows BEFORE UPDATE OF id, scope, epoch ON ddl_lock
	WHEN NEW.id <> OLD.id OR NEW.scope <> OLD.scope OR NEW.epoch <= OLD.epoch
BEGIN
	SELECT RAISE(ABORT, 'an epoch only grows');
END;
