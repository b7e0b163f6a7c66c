-- An earlier generation of the same statement that ended badly gives its table to the new one.
-- The new revision makes whoever was about to cancel it look again.
UPDATE ddl_pipeline SET holds_table = 0, revision = revision + 1, updated_at_ms = :created_at_ms
WHERE cluster = :cluster AND keyspace_name = :keyspace_name AND table_name = :table_name AND holds_table = 1
	AND ddl_sha256 = :ddl_sha256 AND generation < :generation AND phase IN ('failed', 'stopped')
RETURNING id, phase
