SELECT 1 FROM ddl_pipeline WHERE cluster = :cluster AND context = :context
UNION ALL
SELECT 1 FROM ddl_pipeline WHERE cluster = :cluster AND uuid = :uuid
