-- Beyond our own last epoch as well: the file may have been put back from an old backup.
UPDATE ddl_lock SET epoch = max(epoch, :epoch) + 1, owner = :owner, taken_at_ms = :taken_at_ms
WHERE scope = :scope
RETURNING id, owner, epoch
