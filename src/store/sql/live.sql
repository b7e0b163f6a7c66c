-- Columns in the order of field_live (field.c). Each half walks an index that has nothing else in it.
SELECT
	keyspace_name, table_name, uuid, reason, phase, gate, cancel_asked, holds_table, rule, shard_count,
	epoch, revision, created_at_ms, updated_at_ms, deadline_at_ms
FROM ddl_pipeline INDEXED BY ddl_pipeline_holds_table
WHERE cluster = :cluster AND holds_table = 1
UNION ALL
SELECT
	keyspace_name, table_name, uuid, reason, phase, gate, cancel_asked, holds_table, rule, shard_count,
	epoch, revision, created_at_ms, updated_at_ms, deadline_at_ms
FROM ddl_pipeline INDEXED BY ddl_pipeline_cancelled
WHERE cluster = :cluster AND phase = 'cancelled' AND updated_at_ms >= :cancelled_since_ms
ORDER BY keyspace_name, uuid
