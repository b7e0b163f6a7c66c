-- Columns in the order of field_shard (field.c); where they are looked for is added behind.
SELECT s.change_id, s.name, s.primary_cell, s.primary_uid, s.definition_before, s.definition_after
