-- Locks, so that it sees what others have committed meanwhile.
SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND uuid = :uuid FOR UPDATE
