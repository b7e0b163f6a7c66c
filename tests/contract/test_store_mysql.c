/* Goal: the MySQL store opens only what is its own, safe and addressed without a secret in it.
 * Method: a real MariaDB and a real MySQL, spoiled by their administrator. */
#include "store_mysql_fixture.h"

#include <sys/stat.h>

#define REFUSED(expected_code, words)                                                                        \
	do {                                                                                                 \
		struct store *_store = NULL;                                                                 \
		assert_refused(open_at(url, false, &_store, err), expected_code, words);                     \
	} while (0)

/* ---- Where it is ---- */

static void test_a_url_says_who_and_where_and_nothing_else(void **state)
{
	static const struct {
		const char *url, *user, *host, *database;
		unsigned port;
	} good[] = {
		{ "mysql://me@db.example/ddl", "me", "db.example", "ddl", 3306 },
		{ "mysql://me@db:3307/d", "me", "db", "d", 3307 },
		{ "mysql://me@[::1]/d", "me", "::1", "d", 3306 },
		{ "mysql://a@b@[fe80::1]:1/d", "a@b", "fe80::1", "d", 1 },
	};
	static const char *const bad[] = {
		"mysql:",
		"mysql:/me@db/d",
		"mysql://me@db",
		"mysql://me@db/",
		"mysql://db/d",
		"mysql://@db/d",
		"mysql://me@/d",
		"mysql://me@db/d/e",
		"mysql://me@db:0/d",
		"mysql://me@db:65536/d",
		"mysql://me@db:x/d",
		"mysql://me@db:/d",
		"mysql://me@db/d?tls=0",
		"mysql://me@db/d#x",
		"mysql://m%41@db/d",
		"mysql://me@d b/d",
		"mysql://me@[::1/d",
		"mysql://me@[::1]x/d",
	};
	struct mystore_url found;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_ok(mystore_url_parse(good[i].url, false, &found, err));
		assert_string_equal(found.user, good[i].user);
		assert_string_equal(found.host, good[i].host);
		assert_string_equal(found.database, good[i].database);
		assert_int_equal(found.port, good[i].port);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(mystore_url_parse(bad[i], false, &found, err), ERROR_CONFIG,
			       "mysql://USER@HOST");
	/* The option file may have the user. */
	assert_ok(mystore_url_parse("mysql://db/d", true, &found, err));
}

static void test_a_password_in_the_url_is_refused_and_not_repeated(void **state)
{
	static const char *const bad[] = { "mysql://me:s3cret@db/d", "mysql://me:s3c/s3cret@db/d",
					   "mysql://me:s3c@s3cret@db/d", "mysql://:s3cret@db/d",
					   "mysql://me:s3cret%20@db/d" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct store *store = NULL;
		struct error err = { 0 };

		assert_true(open_at(bad[i], false, &store, &err) < 0);
		assert_int_equal(err.code, ERROR_CONFIG);
		assert_non_null(strstr(err.text, "password"));
		assert_null(strstr(err.text, "s3c"));
	}
}

/* ---- Who asks ---- */

static int open_as(const char *user, const char *password_file, const char *option_file, struct error *err)
{
	struct store *store = NULL;
	char as[300];
	int result;

	snprintf(as, sizeof(as), "mysql://%s127.0.0.1:%u/%s", user, mysqld_port(mysql_server), database);
	result = store_open(&(struct store_config){ .url = as,
						    .password_file = password_file,
						    .option_file = option_file },
			    &store, err);
	store_close(store);
	return result;
}

static void test_a_password_comes_from_a_file_that_others_cannot_read(void **state)
{
	char *right = mysqld_write(mysql_server, "right", "s3cret\nsecond line\n");
	char *wrong = mysqld_write(mysql_server, "wrong", "s3cre\n"),
	     *empty = mysqld_write(mysql_server, "empty", "\n");

	(void)state;
	admin("CREATE USER secured@'%' IDENTIFIED BY 's3cret'");
	admin("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON *.* TO secured@'%'");
	assert_ok(open_as("secured@", right, NULL, err));
	assert_refused(open_as("secured@", wrong, NULL, err), ERROR_AUTH, "(1045)");
	assert_refused(open_as("secured@", NULL, NULL, err), ERROR_AUTH, "(1045)");
	assert_refused(open_as("secured@", empty, NULL, err), ERROR_CONFIG, "first line");
	assert_refused(open_as("secured@", "/nowhere", NULL, err), ERROR_CONFIG, "/nowhere");
	assert_refused(open_as("secured@", "/tmp", NULL, err), ERROR_CONFIG, "plain file");
	assert_int_equal(chmod(right, 0644), 0);
	assert_refused(open_as("secured@", right, NULL, err), ERROR_CONFIG, "chmod 600");
	admin("DROP USER secured@'%'");
	free(right);
	free(wrong);
	free(empty);
}

static void test_an_option_file_has_user_and_password(void **state)
{
	char *options = mysqld_write(mysql_server, "my.cnf",
				     "[client]\nuser=secured\npassword=s3cret\n[mysqld]\nx=1\n");

	(void)state;
	admin("CREATE USER secured@'%' IDENTIFIED BY 's3cret'");
	admin("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON *.* TO secured@'%'");
	assert_ok(open_as("", NULL, options, err));
	assert_ok(open_as("secured@", NULL, options, err));
	/* MySQL does not say that there is no such user. */
	assert_refused(open_as("nobody@", NULL, options, err), ERROR_AUTH, "cannot be reached");
	assert_int_equal(chmod(options, 0604), 0);
	assert_refused(open_as("", NULL, options, err), ERROR_CONFIG, "chmod 600");
	admin("DROP USER secured@'%'");
	free(options);
}

static void test_missing_rights_are_named(void **state)
{
	(void)state;
	admin("CREATE USER reader@'%'");
	admin("GRANT SELECT ON *.* TO reader@'%'");
	assert_refused(open_as("reader@", NULL, NULL, err), ERROR_STORE, "docs/store-mysql.md");
	admin("DROP USER reader@'%'");
}

static void grant(const char *rights, const char *table)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "GRANT %s ON %s.%s TO tight@'%%'", rights, database, table);
	admin(sql);
}

/* As docs/store-mysql.md has them: with these, nobody can change what history says. */
static void test_the_tightest_rights_are_enough(void **state)
{
	struct store *store = NULL;
	struct change change, found;
	struct history_entry *entries;
	struct live live;
	char as[300], text[REASON_MAX];
	size_t count;

	(void)state;
	store_close(open_store());
	admin("CREATE USER tight@'%'");
	grant("SELECT", "ddl_store");
	grant("SELECT, INSERT, UPDATE", "ddl_pipeline");
	grant("SELECT, INSERT, UPDATE, DELETE", "ddl_pipeline_shard");
	grant("SELECT, INSERT", "ddl_history");
	grant("SELECT, INSERT, UPDATE", "ddl_lock");
	snprintf(as, sizeof(as), "mysql://tight@127.0.0.1:%u/%s", mysqld_port(mysql_server), database);
	assert_ok(open_at(as, false, &store, err));
	assert_ok(lease_at(store, SCOPE, OWNER, &epoch, holder, err));
	change = change_of(1, "t");
	assert_ok(store_insert(store, &change, "", "", err));
	change.shard_count = 1;
	assert_ok(move(store, &change, PHASE_FAILED, err));
	found = fixture_change(1, "t", 2, shards);
	found.epoch = epoch;
	assert_ok(store_insert(store, &found, "", "", err));
	assert_ok(store_history(store, CLUSTER, change.uuid, &arena, &entries, &count, err));
	assert_int_equal(count, 3);
	assert_ok(store_live(store, CLUSTER, 0, &arena, &live, err));
	assert_int_equal(live.change_count, 1);
	assert_ok(store_check(store, text, err));
	store_release(store, SCOPE, OWNER);
	assert_int_equal(number("SELECT owner = '' FROM ddl_lock"), 1);
	assert_refused(connection_do(connection_of(store), "UPDATE ddl_history SET actor = 'nobody'", err),
		       ERROR_PROTOCOL, "(1142)");
	assert_refused(connection_do(connection_of(store), "DELETE FROM ddl_history", err), ERROR_PROTOCOL,
		       "(1142)");
	store_close(store);
	admin("DROP USER tight@'%'");
}

/* ---- What is safe ---- */

static void test_a_server_that_loses_commits_is_refused(void **state)
{
	static const struct {
		const char *spoil, *words, *mend;
	} cases[] = {
		{ "SET GLOBAL innodb_flush_log_at_trx_commit = 2", "innodb_flush_log_at_trx_commit = 2",
		  "SET GLOBAL innodb_flush_log_at_trx_commit = 1" },
		{ "SET GLOBAL sync_binlog = 0", "sync_binlog = 0", "SET GLOBAL sync_binlog = 1" },
		{ "SET GLOBAL read_only = 1", "read_only = ON", "SET GLOBAL read_only = 0" },
	};
	struct store *store = open_leader(), *reader = NULL;
	struct change change = change_of(1, "t");
	char text[REASON_MAX];

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		admin(cases[i].spoil);
		REFUSED(ERROR_STORE, cases[i].words);
		assert_refused(store_check(store, text, err), ERROR_STORE, cases[i].words);
		/* Who only reads is not concerned. */
		assert_ok(open_at(url, true, &reader, err));
		load(reader, change.uuid);
		reader = store_close(reader);
		admin(cases[i].mend);
		assert_ok(store_check(store, text, err));
	}
	store_close(store);
}

static void test_a_session_is_strict_whatever_the_server_wants(void **state)
{
	struct store *store;

	(void)state;
	admin("SET GLOBAL sql_mode = ''");
	admin("SET GLOBAL time_zone = '+05:00'");
	store = open_store();
	assert_int_equal(connection_run(connection_of(store),
					"SELECT 1 FROM DUAL WHERE @@sql_mode LIKE '%STRICT_ALL_TABLES%'"
					" AND @@time_zone = '+00:00' AND @@innodb_lock_wait_timeout = 2"
					" AND @@wait_timeout = 20 AND @@autocommit = 1",
					NULL, 0, NULL),
			 0);
	assert_int_equal(connection_next(connection_of(store), NULL), 1);
	store_close(store);
	admin("SET GLOBAL sql_mode = DEFAULT");
	admin("SET GLOBAL time_zone = DEFAULT");
}

/* ---- Whose the tables are ---- */

static void test_tables_of_others_are_refused_and_left_alone(void **state)
{
	(void)state;
	admin("CREATE TABLE ddl_pipeline (id INT)");
	REFUSED(ERROR_STORE, "another program");
	assert_int_equal(
		number("SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()"), 1);
	admin("DROP TABLE ddl_pipeline");
	admin("CREATE TABLE ddl_store (id INT)");
	REFUSED(ERROR_STORE, "another program");
	admin("DROP TABLE ddl_store");
	store_close(open_store());
	admin("UPDATE ddl_store SET application = 'other'");
	REFUSED(ERROR_STORE, "another program");
}

static void test_a_newer_store_is_refused(void **state)
{
	struct store *reader = NULL;

	(void)state;
	store_close(open_store());
	admin("UPDATE ddl_store SET version = 2");
	REFUSED(ERROR_STORE, "newer vtddl");
	assert_refused(open_at(url, true, &reader, err), ERROR_STORE, "newer vtddl");
	admin("UPDATE ddl_store SET version = 0");
	REFUSED(ERROR_STORE, "changed by hand");
}

static void test_a_half_made_store_is_finished(void **state)
{
	struct store *reader = NULL;

	(void)state;
	store_close(open_store());
	admin("DELETE FROM ddl_store");
	admin("DROP TABLE ddl_lock");
	assert_result(open_at(url, true, &reader, err), STORE_NOT_FOUND);
	store_close(open_leader());
}

static void test_a_store_without_its_defences_is_refused(void **state)
{
	(void)state;
	store_close(open_store());
	admin("ALTER TABLE ddl_pipeline DROP INDEX ddl_pipeline_holds_table");
	REFUSED(ERROR_STORE, "ddl_pipeline_holds_table");
	admin("ALTER TABLE ddl_pipeline ADD UNIQUE ddl_pipeline_holds_table"
	      " (cluster, keyspace_name, table_name, holds_table, id)");
	REFUSED(ERROR_STORE, "ddl_pipeline_holds_table");
	admin("ALTER TABLE ddl_pipeline DROP INDEX ddl_pipeline_holds_table, ADD UNIQUE ddl_pipeline_holds_table"
	      " (cluster, keyspace_name, table_name, holds_table)");
	admin("ALTER TABLE ddl_lock DROP PRIMARY KEY");
	REFUSED(ERROR_STORE, "ddl_lock");
	admin("ALTER TABLE ddl_lock ADD PRIMARY KEY (scope)");
	admin("ALTER TABLE ddl_history ENGINE = MyISAM");
	REFUSED(ERROR_STORE, "InnoDB");
}

static void child_opens(void)
{
	struct store *store = NULL;
	struct error err = { 0 };

	if (open_at(url, false, &store, &err) != 0)
		print_error("%s\n", err.text);
	CHILD_MUST(store);
	store_close(store);
}

static void test_many_may_be_the_first_to_open(void **state)
{
	pid_t children[8];

	(void)state;
	for (size_t i = 0; i < 8; i++)
		children[i] = begin_child(child_opens);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(end_child(children[i]), 0);
	assert_int_equal(number("SELECT count(*) FROM ddl_store"), 1);
}

/* ---- What is in them ---- */

static void test_a_record_that_does_not_fit_is_refused_not_cut(void **state)
{
	static const char *const spoils[] = {
		"UPDATE ddl_pipeline SET table_name = CONCAT('a', CHAR(0), 'b')",
		"UPDATE ddl_pipeline SET reason = REPEAT('r', 1024)", /* REASON_MAX has room for 1023 */
		"UPDATE ddl_pipeline SET rule = 2147483648",
		"UPDATE ddl_pipeline SET shard_count = 3",
		"UPDATE ddl_pipeline SET shard_count = 1",
	};
	struct store *store = open_leader();
	struct change change = change_of(1, "t"), found;

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		admin("CREATE TABLE kept AS SELECT table_name, reason, rule, shard_count FROM ddl_pipeline");
		admin(spoils[i]);
		assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE,
			       "another program");
		admin("UPDATE ddl_pipeline, kept SET ddl_pipeline.table_name = kept.table_name,"
		      " ddl_pipeline.reason = kept.reason, ddl_pipeline.rule = kept.rule,"
		      " ddl_pipeline.shard_count = kept.shard_count");
		admin("DROP TABLE kept");
		load(store, change.uuid);
	}
	store_close(store);
}

static void test_names_are_compared_exactly(void **state)
{
	struct store *store = open_leader();
	static const char *const tables[] = { "t", "T", "t ", "\xc3\xa4", "a", "\xff" };
	struct change *listed;
	size_t count;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct change change = change_of(i + 1, tables[i]);

		assert_ok(store_insert(store, &change, "", "", err));
	}
	for (unsigned i = 0; i < 6; i++) {
		assert_ok(store_list(store, &(struct store_filter){ .cluster = CLUSTER, .table = tables[i] },
				     &arena, &listed, &count, err));
		assert_int_equal(count, 1);
		assert_string_equal(listed[0].table, tables[i]);
	}
	store_close(store);
}

static void test_the_store_and_the_code_agree_on_phases(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t");

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	store_close(store);
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		for (int holds = 0; holds < 2; holds++) {
			bool may =
				holds ? phase_is_live((enum phase)phase) : phase_is_final((enum phase)phase);
			char sql[200];

			snprintf(sql, sizeof(sql),
				 "UPDATE IGNORE ddl_pipeline SET phase = '%s', holds_table = %s",
				 phase_name((enum phase)phase), holds ? "1" : "NULL");
			admin("UPDATE ddl_pipeline SET phase = 'stopped', holds_table = 1, revision = 1");
			admin(sql);
			snprintf(sql, sizeof(sql),
				 "SELECT count(*) FROM ddl_pipeline WHERE phase = '%s' AND holds_table %s",
				 phase_name((enum phase)phase), holds ? "= 1" : "IS NULL");
			assert_int_equal(number(sql), may);
		}
}

/* The former generation lets go of its table before the index can refuse the new one. */
static void test_a_refused_write_of_a_batch_takes_back_what_it_did(void **state)
{
	struct store *store = open_leader();
	struct change former = change_of(1, "t"), other = change_of(2, "other"), free = change_of(3, "free");
	struct change next = fixture_change(1, "t", 2, shards), found;
	struct store_write writes[2] = { { .change = &next, .actor = "a" },
					 { .change = &free, .actor = "a" } };

	(void)state;
	next.epoch = epoch;
	assert_ok(store_insert(store, &former, "", "", err));
	assert_ok(store_insert(store, &other, "", "", err));
	assert_ok(move(store, &former, PHASE_FAILED, err));
	snprintf(next.context, sizeof(next.context), "%s", other.context);
	store_write(store, writes, 2);
	assert_int_equal(writes[0].result, STORE_CONFLICT);
	assert_int_equal(writes[1].result, 0);
	found = load(store, former.uuid);
	assert_same_change(&found, &former);
	assert_int_equal(number("SELECT holds_table FROM ddl_pipeline WHERE id = 1"), 1);
	assert_int_equal(number("SELECT count(*) FROM ddl_history"), 4);
	store_close(store);
}

/* What the callers of the backend have refused already. */
static void test_no_way_leads_from_release_to_cancel_or_back(void **state)
{
	static const enum phase released[] = { PHASE_COMPLETING, PHASE_COMPLETED, PHASE_VERIFIED };
	static const enum phase cancelled[] = { PHASE_CANCELLING, PHASE_CANCELLED };
	struct store *store = open_leader();

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		enum phase from = i < 6 ? released[i / 2] : cancelled[i % 2];
		enum phase to = i < 6 ? cancelled[i % 2] : released[i / 2 - 3];
		struct change change = change_of(i + 1, "t");
		struct store_expect expect = { from, 1, epoch, 0 };
		struct store_write write = { .change = &change, .expect = &expect };

		snprintf(change.table, sizeof(change.table), "t%u", i);
		change.phase = from;
		assert_ok(store_insert(store, &change, "", "", err));
		change.phase = to;
		store_mysql_ops.write(store, &write, 1);
		assert_int_equal(write.result, STORE_CONFLICT);
		assert_int_equal(load(store, change.uuid).phase, from);
	}
	store_close(store);
}

static void test_a_check_finds_what_is_missing(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t");
	char text[REASON_MAX];

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	assert_ok(store_check(store, text, err));
	assert_non_null(strstr(text, "1 changes, 1 of them"));
	admin("CREATE TABLE kept AS SELECT * FROM ddl_history");
	admin("DELETE FROM ddl_history");
	assert_refused(store_check(store, text, err), ERROR_STORE, "1 lack their history");
	admin("INSERT INTO ddl_history SELECT * FROM kept");
	admin("DELETE FROM ddl_pipeline_shard LIMIT 1");
	assert_refused(store_check(store, text, err), ERROR_STORE, "1 changes lack shards");
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_url_says_who_and_where_and_nothing_else),
		ROW(test_a_password_in_the_url_is_refused_and_not_repeated),
		ROW(test_a_password_comes_from_a_file_that_others_cannot_read),
		ROW(test_an_option_file_has_user_and_password),
		ROW(test_missing_rights_are_named),
		ROW(test_the_tightest_rights_are_enough),
		ROW(test_a_server_that_loses_commits_is_refused),
		ROW(test_a_session_is_strict_whatever_the_server_wants),
		ROW(test_tables_of_others_are_refused_and_left_alone),
		ROW(test_a_newer_store_is_refused),
		ROW(test_a_half_made_store_is_finished),
		ROW(test_a_store_without_its_defences_is_refused),
		ROW(test_many_may_be_the_first_to_open),
		ROW(test_a_record_that_does_not_fit_is_refused_not_cut),
		ROW(test_names_are_compared_exactly),
		ROW(test_the_store_and_the_code_agree_on_phases),
		ROW(test_a_refused_write_of_a_batch_takes_back_what_it_did),
		ROW(test_no_way_leads_from_release_to_cancel_or_back),
		ROW(test_a_check_finds_what_is_missing),
	};

	return run_on_every_server(tests);
}
