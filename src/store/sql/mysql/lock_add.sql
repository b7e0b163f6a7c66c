INSERT IGNORE INTO ddl_lock (scope, owner, epoch, expires_at, taken_at)
VALUES (:scope, '', 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))
