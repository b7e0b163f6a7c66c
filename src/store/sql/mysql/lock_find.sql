-- Time is that of the start of this statement, so it comes after the one that locked the row.
SELECT owner, epoch, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) FROM ddl_lock
WHERE scope = :scope
