-- Columns in the order of field_history (field.c).
SELECT at_ms, actor, from_phase, to_phase, rule, reason, evidence FROM ddl_history
WHERE change_id = (SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND uuid = :uuid)
ORDER BY id
