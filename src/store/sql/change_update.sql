-- Compare and set (R2, I7). A replaced change (holds_table = 0 in failed or stopped) stays so
-- until it moves; if it moves to a live phase it must get its table back, or the index refuses.
UPDATE ddl_pipeline SET
	phase = :phase,
	holds_table = CASE WHEN :live = 0 THEN 0 WHEN phase = :phase THEN holds_table ELSE 1 END,
	epoch = :epoch, revision = :revision, rule = :rule, reason = :reason, gate = :gate,
	cancel_asked = :cancel_asked, adopted = :adopted, last_effect = :last_effect, attempts = :attempts,
	next_attempt_at_ms = :next_attempt_at_ms, in_flight_until_ms = :in_flight_until_ms,
	updated_at_ms = :updated_at_ms, deadline_at_ms = :deadline_at_ms,
	shard_count = :shard_count
WHERE cluster = :cluster AND uuid = :uuid AND context = :context AND ddl_sha256 = :ddl_sha256
	AND phase = :expect_phase AND revision = :expect_revision AND epoch <= :epoch
	AND (SELECT ddl_lock.epoch FROM ddl_lock
		WHERE scope = ddl_pipeline.cluster || '/' || ddl_pipeline.keyspace_name) = :epoch
RETURNING id
