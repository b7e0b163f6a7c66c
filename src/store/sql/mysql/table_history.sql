-- Only ever added to: by the code, and by the rights of the account (docs/store-mysql.md).
CREATE TABLE IF NOT EXISTS ddl_history (
	id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
	change_id BIGINT NOT NULL,
	at_ms BIGINT NOT NULL,
	actor MEDIUMBLOB NOT NULL,
	from_phase VARCHAR(16) NULL,
	to_phase VARCHAR(16) NOT NULL,
	rule BIGINT NOT NULL,
	reason MEDIUMBLOB NOT NULL,
	evidence MEDIUMBLOB NOT NULL,
	KEY ddl_history_change (change_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
