-- It gives its table to the new one. The new revision makes whoever was about to cancel it look again.
UPDATE ddl_pipeline SET holds_table = NULL, revision = revision + 1, updated_at_ms = :created_at_ms
WHERE id = :change_id
