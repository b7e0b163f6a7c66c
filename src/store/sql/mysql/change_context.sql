SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND context = :context FOR UPDATE
