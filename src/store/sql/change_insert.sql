INSERT INTO ddl_pipeline (
	cluster, keyspace_name, table_name, ddl, ddl_sha256, uuid, context, generation, strategy,
	phase, holds_table, epoch, revision, rule, reason, gate, cancel_asked, adopted,
	last_effect, attempts, next_attempt_at_ms, in_flight_until_ms,
	created_at_ms, updated_at_ms, deadline_at_ms, created_by, shard_count)
SELECT
	:cluster, :keyspace_name, :table_name, :ddl, :ddl_sha256, :uuid, :context, :generation, :strategy,
	:phase, :live, :epoch, :revision, :rule, :reason, :gate, :cancel_asked, :adopted,
	:last_effect, :attempts, :next_attempt_at_ms, :in_flight_until_ms,
	:created_at_ms, :updated_at_ms, :deadline_at_ms, :created_by, :shard_count
-- Not under our epoch: a newer leader is at work, or the file is an older or a new one. What we decided on may be old,
-- and under an epoch that is still to come nobody could write it.
WHERE EXISTS (SELECT 1 FROM ddl_lock
	WHERE scope = :cluster || '/' || :keyspace_name AND epoch = :epoch)
