INSERT INTO ddl_pipeline_shard (change_id, name, primary_cell, primary_uid, definition_before, definition_after)
VALUES (:change_id, :name, :primary_cell, :primary_uid, :definition_before, :definition_after)
ON DUPLICATE KEY UPDATE primary_cell = VALUES(primary_cell), primary_uid = VALUES(primary_uid),
	definition_before = VALUES(definition_before), definition_after = VALUES(definition_after)
