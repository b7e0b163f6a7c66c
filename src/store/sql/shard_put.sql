-- Most writes change no shard: then no page is touched.
INSERT INTO ddl_pipeline_shard (change_id, name, primary_cell, primary_uid, definition_before, definition_after)
VALUES (:change_id, :name, :primary_cell, :primary_uid, :definition_before, :definition_after)
ON CONFLICT (change_id, name) DO UPDATE SET
	primary_cell = excluded.primary_cell, primary_uid = excluded.primary_uid,
	definition_before = excluded.definition_before, definition_after = excluded.definition_after
WHERE primary_cell IS NOT excluded.primary_cell OR primary_uid IS NOT excluded.primary_uid
	OR definition_before IS NOT excluded.definition_before
	OR definition_after IS NOT excluded.definition_after
