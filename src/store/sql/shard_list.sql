-- Columns in the order of field_shard (field.c).
SELECT name, primary_cell, primary_uid, definition_before, definition_after FROM ddl_pipeline_shard
WHERE change_id = :change_id ORDER BY name
