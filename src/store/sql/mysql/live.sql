-- Columns in the order of field_live (field.c), then of the lease. One statement is one snapshot.
-- Each half walks an index that has nothing else in that range.
SELECT
	p.keyspace_name, p.table_name, p.uuid, p.reason, p.phase, p.gate, p.cancel_asked,
	p.holds_table, p.rule, p.shard_count, p.epoch, p.revision,
	p.created_at_ms, p.updated_at_ms, p.deadline_at_ms,
	l.owner, l.epoch, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at)
FROM (
	SELECT id FROM ddl_pipeline FORCE INDEX (ddl_pipeline_live)
		WHERE cluster = :cluster AND holds_table = 1
	UNION ALL
	SELECT id FROM ddl_pipeline FORCE INDEX (ddl_pipeline_phase)
		WHERE cluster = :cluster AND phase = 'cancelled' AND updated_at_ms >= :cancelled_since_ms
) AS wanted
JOIN ddl_pipeline p ON p.id = wanted.id
LEFT JOIN ddl_lock l ON l.scope = CONCAT(p.cluster, '/', p.keyspace_name)
ORDER BY p.keyspace_name, p.uuid
