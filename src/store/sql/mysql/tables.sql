-- Tables of our names, whosever they are; VTGate gives a missing table no number of its own.
SELECT count(*), count(CASE WHEN table_name = 'ddl_store' THEN 1 END) FROM information_schema.tables
WHERE table_schema = DATABASE()
	AND table_name IN ('ddl_store', 'ddl_pipeline', 'ddl_pipeline_shard', 'ddl_history', 'ddl_lock')
