UPDATE ddl_lock SET owner = '', expires_at = UTC_TIMESTAMP(6) WHERE scope = :scope AND owner = :owner
