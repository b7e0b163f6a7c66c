-- Columns in the order of field_change (field.c); conditions are added behind (sqlite.c).
SELECT
	id, cluster, keyspace_name, table_name, ddl, ddl_sha256, uuid, context, generation, strategy,
	phase, epoch, revision, rule, reason, gate, cancel_asked, adopted,
	last_effect, attempts, next_attempt_at_ms, in_flight_until_ms,
	created_at_ms, updated_at_ms, deadline_at_ms, created_by, shard_count
FROM ddl_pipeline
