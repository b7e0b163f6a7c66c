-- Compare and set (R2, I7); that the lease row carries our epoch was seen while it is locked. A replaced
-- change (holds_table NULL in failed or stopped) stays so until it moves; if it moves to a live phase it
-- must get its table back, or the index refuses. No way leads from a release to a cancel or back (I4). MySQL assigns from left to right: holds_table comes
-- before phase, since it looks at the old one.
UPDATE ddl_pipeline SET
	holds_table = CASE WHEN :live = 0 THEN NULL WHEN phase = :phase THEN holds_table ELSE 1 END,
	phase = :phase,
	epoch = :epoch, revision = :revision, rule = :rule, reason = :reason, gate = :gate,
	cancel_asked = :cancel_asked, adopted = :adopted, last_effect = :last_effect, attempts = :attempts,
	next_attempt_at_ms = :next_attempt_at_ms, in_flight_until_ms = :in_flight_until_ms,
	updated_at_ms = :updated_at_ms, deadline_at_ms = :deadline_at_ms, shard_count = :shard_count
WHERE id = :change_id AND phase = :expect_phase AND revision = :expect_revision AND epoch <= :epoch
	AND NOT (phase IN ('completing', 'completed', 'verified') AND :phase IN ('cancelling', 'cancelled'))
	AND NOT (phase IN ('cancelling', 'cancelled') AND :phase IN ('completing', 'completed', 'verified'))
