/* Goal: a batch in SQLite is one transaction: whatever happens to the disk or the process, all of it is there
 * or nothing, and who is told of a success can rely on it.
 * Method: store_vfs: a disk that fills up, or a process that dies, at the n-th operation, for every n. */
#include "store_sqlite_fixture.h"

#include "store_vfs.h"

#define BATCH 3

static int64_t epoch; /* of the lease under which they are written */

/* Inserts that would all succeed. */
static void batch_of(struct change changes[BATCH], struct store_write writes[BATCH])
{
	for (unsigned i = 0; i < BATCH; i++) {
		char table[8];

		snprintf(table, sizeof(table), "t%u", i);
		changes[i] = fixture_change(1 + i, table, 1, shards);
		changes[i].epoch = epoch;
		writes[i] = (struct store_write){ .change = &changes[i] };
	}
}

/* How many of them are in the store; -1: some part of one. */
static int batch_recorded(struct store *store)
{
	int count = 0;

	for (unsigned i = 0; i < BATCH; i++) {
		struct change change = fixture_change(1 + i, "t", 1, shards), found;
		struct history_entry *entries;
		size_t lines = 7;
		int result = store_load(store, CLUSTER, change.uuid, &arena, &found, NULL);

		if (result < 0 ||
		    store_history(store, CLUSTER, change.uuid, &arena, &entries, &lines, NULL) < 0 ||
		    lines != (result == 0))
			return -1;
		count += result == 0;
	}
	return count;
}

static bool batch_failed(const struct store_write writes[BATCH], const char *words)
{
	for (unsigned i = 0; i < BATCH; i++)
		if (writes[i].result >= 0 || writes[i].change->revision != 0 ||
		    writes[i].error.code != ERROR_STORE || !strstr(writes[i].error.text, words))
			return false;
	return true;
}

static void child_has_a_full_disk_at_any_write_of_a_batch(void)
{
	struct store_write writes[BATCH];
	struct change changes[BATCH];
	struct store *store = NULL;
	unsigned n = 0;

	store_vfs_install();
	CHILD_MUST(open_at(url, false, &store, NULL) == 0);
	CHILD_MUST(lease_at(store, SCOPE, "host:1:a", &epoch, holder, NULL) == 0);
	do {
		batch_of(changes, writes);
		store_vfs_arm(VFS_FAIL_WRITE, ++n);
		store_write(store, writes, BATCH);
		store_vfs_arm(VFS_NONE, 0);
		if (writes[0].result == 0)
			break;
		CHILD_MUST(batch_failed(writes, "disk is full"));
		CHILD_MUST(batch_recorded(store) == 0);
	} while (n < 1000);
	CHILD_MUST(n > 5 && n < 1000);
	CHILD_MUST(batch_recorded(store) == BATCH);
	store_close(store);
}

static void test_a_disk_may_be_full_at_any_write_of_a_batch(void **state)
{
	(void)state;
	assert_int_equal(run_child(child_has_a_full_disk_at_any_write_of_a_batch), 0);
}

static void test_a_commit_that_fails_fails_the_whole_batch(void **state)
{
	struct store *store = open_store();
	struct store_write writes[BATCH];
	struct change changes[BATCH];
	sqlite3 *db;

	(void)state;
	assert_ok(lease_at(store, SCOPE, "host:1:a", &epoch, holder, err));
	/* A reader in the middle of its reading: everything can be written, and nothing committed. */
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM ddl_pipeline", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_busy_timeout(sqlite_store_of(store)->db, 0);
	batch_of(changes, writes);
	changes[2] = changes[0]; /* refused by itself, were it not for the commit */
	store_write(store, writes, BATCH);
	assert_true(batch_failed(writes, "locked"));
	assert_int_equal(batch_recorded(store), 0);
	sqlite3_close(db);
	batch_of(changes, writes);
	store_write(store, writes, BATCH);
	for (unsigned i = 0; i < BATCH; i++)
		assert_int_equal(changes[i].revision, 1);
	assert_int_equal(batch_recorded(store), BATCH);
	store_close(store);
}

static enum vfs_fault crash_fault;
static unsigned crash_n;

static void child_writes_a_batch(void)
{
	struct store_write writes[BATCH];
	struct change changes[BATCH];
	struct store *store = NULL;

	store_vfs_install();
	CHILD_MUST(open_at(url, false, &store, NULL) == 0);
	CHILD_MUST(lease_at(store, SCOPE, "host:1:a", &epoch, holder, NULL) == 0);
	store_vfs_arm(crash_fault, crash_n);
	batch_of(changes, writes);
	store_write(store, writes, BATCH);
	CHILD_MUST(writes[0].result == 0 && writes[1].result == 0 && writes[2].result == 0);
}

static void test_a_batch_is_recorded_whole_or_not_at_all(void **state)
{
	static const enum vfs_fault faults[] = { VFS_DIE_BEFORE, VFS_DIE_AFTER, VFS_TEAR };
	unsigned none = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		int status = -1;

		crash_fault = faults[i];
		for (crash_n = 1; crash_n < 1000 && status != 0; crash_n++) {
			struct store *store;
			int count;

			make_store();
			status = run_child(child_writes_a_batch);
			assert_true(status == 0 || WEXITSTATUS(status) == 137);
			store = open_store();
			count = batch_recorded(store);
			assert_true(count == 0 || count == BATCH);
			assert_true(status != 0 || count == BATCH);
			none += count == 0;
			all += count == BATCH;
			store_close(store);
			unlink(path);
		}
		assert_int_equal(status, 0);
	}
	assert_true(none > 20);
	assert_true(all > 3); /* also of some that died: after the commit */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_disk_may_be_full_at_any_write_of_a_batch),
		ROW(test_a_commit_that_fails_fails_the_whole_batch),
		ROW(test_a_batch_is_recorded_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
