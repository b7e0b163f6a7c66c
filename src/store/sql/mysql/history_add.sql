INSERT INTO ddl_history (change_id, at_ms, actor, from_phase, to_phase, rule, reason, evidence)
VALUES (:change_id, :at_ms, :actor, :from_phase, :to_phase, :rule, :reason, :evidence)
