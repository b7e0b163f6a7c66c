-- Columns in the order of field_change (field.c); where it is looked for is added behind (mysql_read.c).
SELECT
	p.id, p.cluster, p.keyspace_name, p.table_name, p.ddl, p.ddl_sha256, p.uuid, p.context, p.generation,
	p.strategy, p.phase, p.epoch, p.revision, p.rule, p.reason, p.gate, p.cancel_asked, p.adopted,
	p.last_effect, p.attempts, p.next_attempt_at_ms, p.in_flight_until_ms,
	p.created_at_ms, p.updated_at_ms, p.deadline_at_ms, p.created_by, p.shard_count
