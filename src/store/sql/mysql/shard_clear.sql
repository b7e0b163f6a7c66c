DELETE FROM ddl_pipeline_shard WHERE change_id = :change_id
