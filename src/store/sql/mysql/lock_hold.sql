-- For a write under the lease: nobody takes it before the write is committed.
SELECT epoch, owner FROM ddl_lock WHERE scope = :scope FOR UPDATE
