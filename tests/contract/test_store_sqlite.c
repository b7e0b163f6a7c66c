/* Goal: what only the SQLite store promises of its file: what it refuses, where it may lie, what the
 * tables themselves forbid.
 * Method: files made or spoiled by hand, through SQLite itself. */
#include "store_sqlite_fixture.h"

#include <fcntl.h>
#include <linux/magic.h>

static char *read_file(size_t *ret_size)
{
	struct stat st;
	char *bytes;
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	bytes = malloc((size_t)st.st_size + 1);
	*ret_size = fread(bytes, 1, (size_t)st.st_size, file);
	fclose(file);
	return bytes;
}

static void write_file(const void *bytes, size_t size, long offset, const char *mode)
{
	FILE *file = fopen(path, mode);

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* The store refuses the file, to writers and readers, says why, and leaves every byte as it was. */
static void assert_file_refused(const char *words)
{
	size_t size, size_after;
	char *before = read_file(&size), *after;
	struct store *store = NULL;

	assert_refused(open_at(url, true, &store, err), ERROR_STORE, words);
	assert_refused(open_at(url, false, &store, err), ERROR_STORE, words);
	after = read_file(&size_after);
	assert_int_equal(size, size_after);
	assert_memory_equal(before, after, size);
	free(before);
	free(after);
}

/* ---- Files that are none of ours ---- */

static void test_a_file_that_is_no_database_is_refused(void **state)
{
	static const char text[] =
		"Dear diary, this is the only copy of a text that must not be lost for any reason at all. "
		"It is longer than the header of a database, which is a hundred bytes.";

	(void)state;
	write_file(text, sizeof(text), 0, "wb");
	assert_file_refused("not a SQLite database");
}

static void test_a_database_of_another_program_is_refused(void **state)
{
	(void)state;
	run_sql("CREATE TABLE notes (text)");
	assert_file_refused("another program");
	run_sql("DROP TABLE notes; PRAGMA application_id = 77");
	assert_file_refused("application_id 77");
}

static void test_a_newer_store_is_refused(void **state)
{
	(void)state;
	make_store();
	run_sql("PRAGMA user_version = 2");
	assert_file_refused("newer vtddl");
}

static void test_a_half_made_store_is_refused(void **state)
{
	static const char *const damage[] = {
		"PRAGMA user_version = 0",
		"PRAGMA user_version = 1; DROP INDEX ddl_pipeline_holds_table",
		"CREATE UNIQUE INDEX ddl_pipeline_holds_table ON ddl_pipeline (cluster)",
	};

	(void)state;
	make_store();
	run_sql(damage[0]);
	assert_file_refused("half made");
	run_sql(damage[1]);
	assert_file_refused("not those that vtddl made");
	run_sql(damage[2]);
	assert_file_refused("not those that vtddl made");
}

static void test_a_store_without_its_triggers_is_refused(void **state)
{
	(void)state;
	make_store();
	run_sql("DROP TRIGGER ddl_history_no_delete");
	assert_file_refused("not those that vtddl made");
}

static void test_a_statement_in_the_store_is_not_obeyed(void **state)
{
	(void)state;
	make_store();
	run_sql("CREATE TRIGGER evil AFTER INSERT ON ddl_pipeline BEGIN DELETE FROM ddl_lock; END");
	assert_file_refused("not those that vtddl made");
}

static void test_an_empty_file_becomes_a_store(void **state)
{
	struct store *store = NULL;

	(void)state;
	write_file("", 0, 0, "wb");
	assert_result(open_at(url, true, &store, err), STORE_NOT_FOUND);
	make_store();
	assert_ok(open_at(url, true, &store, err));
	store_close(store);
}

static void test_a_damaged_store_is_refused_with_the_reason(void **state)
{
	static const char zeros[4096] = { 0 }, noise[64] = "\xff\xee\xdd\xcc\xbb\xaa";

	(void)state;
	make_store();
	write_file(noise, sizeof(noise), 4096 * 4, "rb+");
	assert_file_refused("damaged");
	unlink(path);
	make_store();
	write_file(zeros, sizeof(zeros), 4096 * 9, "rb+");
	assert_file_refused("damaged");
	unlink(path);
	make_store();
	assert_int_equal(truncate(path, 4096 * 6), 0);
	assert_file_refused("damaged");
}

static void test_a_record_that_does_not_fit_is_refused_not_cut(void **state)
{
	struct change change = fixture_change(1, "corder", 1, shards), found;
	struct store *store = open_store();

	(void)state;
	assert_ok(lead(store, &change));
	assert_ok(store_insert(store, &change, "", "", err));
	run_sql("UPDATE ddl_pipeline SET reason = hex(zeroblob(2000))");
	assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE, "reason");
	run_sql("UPDATE ddl_pipeline SET reason = 'a' || char(0) || 'b'");
	assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE, "reason");
	run_sql("UPDATE ddl_pipeline SET reason = '', rule = 1 << 40");
	assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE, "rule");
	run_sql("PRAGMA ignore_check_constraints = 1; UPDATE ddl_pipeline SET rule = 0, phase = 'resting'");
	assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE, "phase");
	store_close(store);
}

/* ---- Places ---- */

static void test_a_link_is_not_followed(void **state)
{
	char link[300], target[300];
	struct store *store = NULL;
	struct stat st;

	(void)state;
	snprintf(target, sizeof(target), "%s/other.db", folder);
	snprintf(link, sizeof(link), "sqlite:%s/link.db", folder);
	assert_int_equal(symlink(target, link + strlen("sqlite:")), 0);
	assert_refused(open_at(link, false, &store, err), ERROR_STORE, "symbolic link");
	assert_int_equal(stat(target, &st), -1);
	/* The lock file as a link: no lease, and nothing is made behind it. */
	snprintf(link, sizeof(link), "%s-lock", path);
	assert_int_equal(symlink(target, link), 0);
	store = open_store();
	assert_refused(lease_at(store, SCOPE, "host:1:a", &(int64_t){ 0 }, holder, err), ERROR_STORE,
		       "-lock");
	assert_int_equal(stat(target, &st), -1);
	store_close(store);
}

static void test_a_place_that_is_no_file_is_refused(void **state)
{
	struct store *store = NULL;
	char other[300];

	(void)state;
	snprintf(other, sizeof(other), "sqlite:%s/missing/store.db", folder);
	assert_refused(open_at(other, false, &store, err), ERROR_STORE, "is missing");
	assert_result(open_at(other, true, &store, err), STORE_NOT_FOUND);
	assert_refused(open_at("sqlite:", false, &store, err), ERROR_CONFIG, "no file");
	assert_refused(open_at("sqlite:/tmp/", false, &store, err), ERROR_CONFIG, "no file");
	assert_refused(open_at("sqlite:.", false, &store, err), ERROR_CONFIG, "no file");
	assert_refused(open_at("sqlite:/etc/..", false, &store, err), ERROR_CONFIG, "no file");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_refused(open_at(url, false, &store, err), ERROR_STORE, "a folder");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(open_at(url, false, &store, err), ERROR_STORE, "no plain file");
}

static void child_opens_names_with_a_meaning(void)
{
	static const char *const names[] = { ":memory:", "file:other.db?mode=memory" };

	CHILD_MUST(chdir(folder) == 0);
	for (size_t i = 0; i < 2; i++) {
		struct error err = { 0 };
		struct store *store = NULL;
		struct stat st;
		char name[64];

		snprintf(name, sizeof(name), "sqlite:%s", names[i]);
		CHILD_MUST(open_at(name, false, &store, &err) == 0);
		store_close(store);
		CHILD_MUST(stat(names[i], &st) == 0 && st.st_size > 0);
		CHILD_MUST(unlink(names[i]) == 0);
	}
}

static void test_a_name_is_only_a_name(void **state)
{
	(void)state;
	assert_int_equal(run_child(child_opens_names_with_a_meaning), 0);
}

static void test_network_file_systems_are_refused(void **state)
{
	(void)state;
	assert_string_equal(sqlite_file_system_refusal(NFS_SUPER_MAGIC), "NFS");
	assert_string_equal(sqlite_file_system_refusal(SMB2_SUPER_MAGIC), "SMB");
	assert_string_equal(sqlite_file_system_refusal((unsigned long)(int)CIFS_SUPER_MAGIC), "CIFS");
	assert_string_equal(sqlite_file_system_refusal(FUSE_SUPER_MAGIC), "FUSE");
	assert_null(sqlite_file_system_refusal(EXT4_SUPER_MAGIC));
	assert_null(sqlite_file_system_refusal(XFS_SUPER_MAGIC));
	assert_null(sqlite_file_system_refusal(TMPFS_MAGIC));
	assert_null(sqlite_file_system_refusal(OVERLAYFS_SUPER_MAGIC));
	assert_null(sqlite_file_system_refusal(BTRFS_SUPER_MAGIC));
}

static void test_only_the_owner_may_read_and_no_child_inherits(void **state)
{
	static const char *const suffixes[] = { "", "-lock" };
	enum { FDS = 64 };
	bool open_before[FDS];
	struct store *store;
	mode_t mask;
	int count = 0;

	(void)state;
	for (int fd = 0; fd < FDS; fd++)
		open_before[fd] = fcntl(fd, F_GETFD) >= 0;
	mask = umask(0);
	store = open_store();
	assert_ok(lease_at(store, SCOPE, "host:1:a", &(int64_t){ 0 }, holder, err));
	umask(mask);
	for (size_t i = 0; i < 2; i++) {
		struct stat st;
		char name[300];

		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	for (int fd = 0; fd < FDS; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (open_before[fd] || flags < 0)
			continue;
		assert_true(flags & FD_CLOEXEC);
		count++;
	}
	assert_true(count >= 2);
	store_close(store);
}

/* Rights do not bind root: such a child becomes nobody, who owns the folder. */
static void become_nobody(void)
{
	if (geteuid() == 0)
		CHILD_MUST(setgid(65534) == 0 && setuid(65534) == 0);
}

static void child_must_be_refused(bool read_only, const char *words)
{
	struct error err = { 0 };
	struct store *store = NULL;

	become_nobody();
	CHILD_MUST(open_at(url, read_only, &store, &err) < 0);
	if (!strstr(err.text, words))
		print_error("%s\n", err.text);
	CHILD_MUST(strstr(err.text, words));
	CHILD_MUST(err.code == ERROR_STORE);
}

static void child_cannot_write(void)
{
	struct error err = { 0 };
	struct store *store = NULL;

	become_nobody();
	CHILD_MUST(open_at(url, true, &store, &err) == 0);
	store_close(store);
	child_must_be_refused(false, "read-only");
}

static void child_cannot_write_folder(void)
{
	child_must_be_refused(false, "folder cannot be written");
}

static void child_cannot_read(void)
{
	child_must_be_refused(true, "may read and write");
	child_must_be_refused(false, "may read and write");
}

static void test_missing_rights_are_named(void **state)
{
	(void)state;
	make_store();
	if (geteuid() == 0) {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_int_equal(chown(path, 65534, 65534), 0);
	}
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(run_child(child_cannot_write), 0);
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(run_child(child_cannot_read), 0);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chmod(folder, 0500), 0);
	assert_int_equal(run_child(child_cannot_write_folder), 0);
	assert_int_equal(chmod(folder, 0700), 0);
}

/* ---- Second lines ---- */

static void assert_sql_refused(const char *sql, const char *words)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK);
	if (!strstr(message, words))
		print_error("%s: %s\n", sql, message);
	assert_non_null(strstr(message, words));
	sqlite3_free(message);
	sqlite3_close(db);
}

static void test_history_can_only_be_added_to(void **state)
{
	struct change change = fixture_change(1, "t", 1, shards);
	struct store *store = open_store();

	(void)state;
	assert_ok(lead(store, &change));
	assert_ok(store_insert(store, &change, "", "", err));
	/* Our own handle has recursive_triggers, so not even this way. */
	assert_int_equal(sqlite3_exec(sqlite_store_of(store)->db,
				      "REPLACE INTO ddl_history SELECT * FROM ddl_history", NULL, NULL, NULL),
			 SQLITE_CONSTRAINT_TRIGGER);
	store_close(store);
	assert_sql_refused("UPDATE ddl_history SET actor = 'nobody'", "only ever added to");
	assert_sql_refused("DELETE FROM ddl_history", "only ever added to");
	assert_sql_refused("DELETE FROM ddl_pipeline", "never deleted");
	assert_sql_refused("UPDATE ddl_pipeline SET uuid = replace(uuid, '8', '9')", "never change");
	assert_sql_refused("UPDATE ddl_pipeline SET ddl = 'drop table t'", "never change");
	assert_sql_refused("DELETE FROM ddl_lock", "keeps its row");
	assert_sql_refused("UPDATE ddl_lock SET epoch = 0", "only grows");
}

static void test_no_way_leads_from_release_to_cancel_or_back(void **state)
{
	static const enum phase released[] = { PHASE_COMPLETING, PHASE_COMPLETED, PHASE_VERIFIED };
	static const enum phase cancelled[] = { PHASE_CANCELLING, PHASE_CANCELLED };

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		for (int back = 0; back < 2; back++) {
			enum phase from = back ? cancelled[i % 2] : released[i / 2];
			enum phase to = back ? released[i / 2] : cancelled[i % 2];
			struct change change = fixture_change(1, "t", 1, shards);
			struct store *store = open_store();
			char sql[200];

			change.phase = from;
			assert_ok(lead(store, &change));
			assert_ok(store_insert(store, &change, "", "", err));
			store_close(store);
			snprintf(sql, sizeof(sql), "UPDATE ddl_pipeline SET phase = '%s', holds_table = %d",
				 phase_name(to), phase_is_live(to));
			assert_sql_refused(sql, "never cancelled");
			unlink(path);
		}
}

static void test_the_store_and_the_code_agree_on_phases(void **state)
{
	struct change change = fixture_change(1, "t", 1, shards);
	struct store *store = open_store();

	(void)state;
	assert_ok(lead(store, &change));
	assert_ok(store_insert(store, &change, "", "", err));
	store_close(store);
	run_sql("DROP TRIGGER ddl_pipeline_no_return");
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		for (int holds = 0; holds < 2; holds++) {
			const char *name = phase_name((enum phase)phase);
			/* A moving one holds its table, an ended one does not, and one that waits for a
			 * person holds it until it is replaced. */
			bool may =
				holds ? phase_is_live((enum phase)phase) : phase_is_final((enum phase)phase);
			char sql[200];

			snprintf(sql, sizeof(sql), "UPDATE ddl_pipeline SET phase = '%s', holds_table = %d",
				 name, holds);
			if (may)
				run_sql(sql);
			else
				assert_sql_refused(sql, "CHECK constraint failed");
		}
	assert_sql_refused("UPDATE ddl_pipeline SET phase = 'unknown'", "CHECK constraint failed");
	assert_sql_refused("UPDATE ddl_pipeline SET gate = 'unknown'", "CHECK constraint failed");
	assert_sql_refused("UPDATE ddl_pipeline SET last_effect = 'unknown'", "CHECK constraint failed");
}

static void test_a_value_that_the_tables_refuse_takes_only_itself_away(void **state)
{
	struct change good = fixture_change(1, "t", 1, shards), bad = fixture_change(2, "u", 1, shards),
		      last = fixture_change(3, "v", 1, shards), found;
	struct store *store = open_store();
	struct store_write writes[] = { { .change = &good },
					{ .change = &bad, .actor = "mallory" },
					{ .change = &last } };

	(void)state;
	assert_ok(lead(store, &good));
	bad.epoch = last.epoch = good.epoch;
	/* The line of history is the last of what one write does. */
	assert_int_equal(sqlite3_exec(sqlite_store_of(store)->db,
				      "CREATE TEMP TRIGGER no_mallory BEFORE INSERT ON main.ddl_history"
				      " WHEN NEW.actor = 'mallory' BEGIN SELECT RAISE(ABORT, 'not him'); END",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	store_write(store, writes, 3);
	assert_int_equal(writes[0].result, 0);
	assert_int_equal(writes[1].result, -1);
	assert_int_equal(writes[1].error.code, ERROR_BUG);
	assert_non_null(strstr(writes[1].error.text, "not him"));
	assert_int_equal(bad.revision, 0);
	assert_int_equal(writes[2].result, 0);
	assert_ok(store_load(store, CLUSTER, good.uuid, &arena, &found, err));
	assert_result(store_load(store, CLUSTER, bad.uuid, &arena, &found, err), STORE_NOT_FOUND);
	assert_ok(store_load(store, CLUSTER, last.uuid, &arena, &found, err));
	store_close(store);
}

static void test_a_record_of_a_newer_epoch_is_not_written(void **state)
{
	struct change change = fixture_change(1, "t", 1, shards);
	struct store_expect expect = { PHASE_SUBMITTING, 1, 0 };
	struct store *store = open_store();

	(void)state;
	assert_ok(lease_at(store, SCOPE, "host:1:a", &expect.epoch, holder, err));
	change.epoch = expect.epoch;
	assert_ok(store_insert(store, &change, "", "", err));
	/* As after a backup of the leases alone: the row of the lease lags behind the record. */
	run_sql("UPDATE ddl_pipeline SET epoch = epoch + 1");
	assert_result(store_update(store, &change, &expect, NULL, err), STORE_CONFLICT);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_file_that_is_no_database_is_refused),
		ROW(test_a_database_of_another_program_is_refused),
		ROW(test_a_newer_store_is_refused),
		ROW(test_a_half_made_store_is_refused),
		ROW(test_a_store_without_its_triggers_is_refused),
		ROW(test_a_statement_in_the_store_is_not_obeyed),
		ROW(test_an_empty_file_becomes_a_store),
		ROW(test_a_damaged_store_is_refused_with_the_reason),
		ROW(test_a_record_that_does_not_fit_is_refused_not_cut),
		ROW(test_a_link_is_not_followed),
		ROW(test_a_place_that_is_no_file_is_refused),
		ROW(test_a_name_is_only_a_name),
		ROW(test_network_file_systems_are_refused),
		ROW(test_only_the_owner_may_read_and_no_child_inherits),
		ROW(test_missing_rights_are_named),
		ROW(test_history_can_only_be_added_to),
		ROW(test_no_way_leads_from_release_to_cancel_or_back),
		ROW(test_the_store_and_the_code_agree_on_phases),
		ROW(test_a_value_that_the_tables_refuse_takes_only_itself_away),
		ROW(test_a_record_of_a_newer_epoch_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
