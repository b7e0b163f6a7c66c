SELECT application, version FROM ddl_store WHERE id = 1
