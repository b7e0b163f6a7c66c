SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin',
	'innodb_doublewrite', 'innodb_flush_method', 'read_only', 'super_read_only')
