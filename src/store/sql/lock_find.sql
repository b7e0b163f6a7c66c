SELECT id, owner, epoch FROM ddl_lock WHERE scope = :scope
