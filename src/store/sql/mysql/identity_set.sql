INSERT IGNORE INTO ddl_store (id, application, version) VALUES (1, :application, :version)
