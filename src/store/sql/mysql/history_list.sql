-- Columns in the order of field_history (field.c).
SELECT h.at_ms, h.actor, h.from_phase, h.to_phase, h.rule, h.reason, h.evidence
FROM ddl_pipeline p JOIN ddl_history h ON h.change_id = p.id
WHERE p.cluster = :cluster AND p.uuid = :uuid ORDER BY h.id
