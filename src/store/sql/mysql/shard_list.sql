-- Columns in the order of shard_fields (mysql_row.c); where they are looked for is added behind.
SELECT s.change_id, s.name, s.primary_cell, s.primary_uid, s.definition_before, s.definition_after
