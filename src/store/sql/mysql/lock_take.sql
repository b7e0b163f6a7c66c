UPDATE ddl_lock SET taken_at = CASE WHEN epoch = :epoch THEN taken_at ELSE UTC_TIMESTAMP(6) END,
	owner = :owner, epoch = :epoch, expires_at = UTC_TIMESTAMP(6) + INTERVAL :for_us MICROSECOND
WHERE scope = :scope
