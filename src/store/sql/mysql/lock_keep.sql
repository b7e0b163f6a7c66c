-- At least so long; a lease that was given up stays given up.
UPDATE ddl_lock SET expires_at = GREATEST(expires_at, UTC_TIMESTAMP(6) + INTERVAL :for_us MICROSECOND)
WHERE scope = :scope AND epoch = :epoch AND owner <> ''
