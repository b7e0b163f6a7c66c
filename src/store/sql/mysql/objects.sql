-- What a lost index, or a table of another engine, would take away without a word.
SELECT table_name, index_name, column_name FROM information_schema.statistics
WHERE table_schema = DATABASE() AND non_unique = 0
	AND table_name IN ('ddl_pipeline', 'ddl_pipeline_shard', 'ddl_lock')
UNION ALL
SELECT table_name, 'engine', engine FROM information_schema.tables WHERE table_schema = DATABASE()
	AND table_name IN ('ddl_store', 'ddl_pipeline', 'ddl_pipeline_shard', 'ddl_history', 'ddl_lock')
