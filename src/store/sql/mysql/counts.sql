SELECT (SELECT count(*) FROM ddl_pipeline), (SELECT count(*) FROM ddl_pipeline WHERE holds_table = 1),
	(SELECT count(*) FROM ddl_pipeline p WHERE shard_count <> (SELECT count(*) FROM ddl_pipeline_shard s
		WHERE s.change_id = p.id)),
	(SELECT count(*) FROM ddl_pipeline p WHERE NOT EXISTS (SELECT 1 FROM ddl_history h
		WHERE h.change_id = p.id))
