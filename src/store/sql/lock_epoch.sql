SELECT 1 FROM ddl_lock WHERE id = :id AND scope = :scope AND epoch = :epoch
