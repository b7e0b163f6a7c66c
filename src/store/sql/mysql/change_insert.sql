-- The row of the lease is locked and was compared before.
INSERT INTO ddl_pipeline (
	cluster, keyspace_name, table_name, ddl, ddl_sha256, uuid, context, generation, strategy,
	phase, holds_table, epoch, revision, rule, reason, gate, cancel_asked, adopted,
	last_effect, attempts, next_attempt_at_ms, in_flight_until_ms,
	created_at_ms, updated_at_ms, deadline_at_ms, created_by, shard_count)
VALUES (
	:cluster, :keyspace_name, :table_name, :ddl, :ddl_sha256, :uuid, :context, :generation, :strategy,
	:phase, :live, :epoch, :revision, :rule, :reason, :gate, :cancel_asked, :adopted,
	:last_effect, :attempts, :next_attempt_at_ms, :in_flight_until_ms,
	:created_at_ms, :updated_at_ms, :deadline_at_ms, :created_by, :shard_count)
