INSERT INTO ddl_lock (scope, owner, epoch, taken_at_ms) VALUES (:scope, '', 0, 0)
ON CONFLICT (scope) DO NOTHING
