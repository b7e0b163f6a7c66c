-- A row that another transaction has locked is not waited for: its holder is alive.
SELECT epoch FROM ddl_lock WHERE scope = :scope FOR UPDATE NOWAIT
