-- The earlier generation of the same statement that ended badly and still has the table.
SELECT id, phase FROM ddl_pipeline
WHERE cluster = :cluster AND keyspace_name = :keyspace_name AND table_name = :table_name AND holds_table = 1
	AND ddl_sha256 = :ddl_sha256 AND generation < :generation AND phase IN ('failed', 'stopped')
FOR UPDATE
