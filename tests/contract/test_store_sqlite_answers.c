/* Goal: whatever SQLite or the kernel refuses in the middle of a call, the call fails, nothing of it is there,
 * nobody holds a lease that he was not given, and the same call succeeds afterwards, on the same handle.
 * Method: each call again and again, each time with another of its statements not prepared, or ended at
 * another of its steps, until none is left that could fail. And the calls of the lock file, one by one. */
#include "store_sqlite_fixture.h"

#include "failing_calls.h"
#include "store_vfs.h"

#define OWNER "host:1:a"

/* ---- SQLite fails ---- */

static unsigned countdown; /* the nth chance to fail from now; 0: none */
static bool fired;

static bool is_due(void)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	fired = true;
	return true;
}

/* Asked while a statement is made ready. Without ROLLBACK nothing could be undone: that is SQLite's own duty. */
static int on_prepare(void *data, int action, const char *first, const char *second, const char *database, const char *by)
{
	bool begins = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE ||
		      action == SQLITE_SELECT || action == SQLITE_TRANSACTION || action == SQLITE_SAVEPOINT;

	(void)data;
	(void)second;
	(void)database;
	(void)by;
	if (action == SQLITE_TRANSACTION && strcmp(first, "ROLLBACK") == 0)
		return SQLITE_OK;
	return begins && is_due() ? SQLITE_DENY : SQLITE_OK;
}

/* Told when a statement begins. One that is ended behind its commit is committed; what cannot be undone is
 * SQLite's own duty: these two are not ended. */
static bool ends_transaction;

static int on_begin(unsigned event, void *data, void *stmt, void *text)
{
	const char *sql = text;

	(void)event;
	(void)data;
	(void)stmt;
	ends_transaction = strcmp(sql, "COMMIT") == 0 || strcmp(sql, "ROLLBACK") == 0;
	return 0;
}

/* Asked at every few steps of a statement that runs. */
static int on_step(void *data)
{
	(void)data;
	return !ends_transaction && is_due();
}

/* ---- What is in the file ---- */

static char rows[2][64 * 1024];
static size_t row_used;

static int add_row(void *data, int count, char **values, char **names)
{
	char *text = data;

	(void)names;
	for (int i = 0; i < count; i++)
		row_used += (size_t)snprintf(text + row_used, sizeof(rows[0]) - row_used, "%s|",
					     values[i] ? values[i] : "NULL");
	assert_true(row_used < sizeof(rows[0]) - 1);
	return 0;
}

static sqlite3 *reader; /* another handle on the same file */

static const char *all_rows(char *ret)
{
	static const char *const reads[] = { "SELECT * FROM ddl_pipeline", "SELECT * FROM ddl_pipeline_shard",
					     "SELECT * FROM ddl_history", "SELECT * FROM ddl_lock" };

	row_used = 0;
	ret[0] = '\0';
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		assert_int_equal(sqlite3_exec(reader, reads[i], add_row, ret, NULL), SQLITE_OK);
	return ret;
}

/* ---- The calls ---- */

static struct change first, second, third;
static struct change_shard more_shards[2], most_shards[2];
static int64_t epoch;

static struct store_write update_of(struct change *change, struct store_expect *expect, struct history_entry *entry,
				    enum phase to)
{
	*expect = (struct store_expect){ change->phase, change->revision, epoch, 0 };
	*entry = (struct history_entry){ .actor = "engine", .from = change->phase, .to = to };
	change->phase = to;
	return (struct store_write){ .change = change, .expect = expect, .entry = entry };
}

static int call_insert(struct store *store, struct error *err)
{
	struct change change = second;
	int result = store_insert(store, &change, "ci@host", "seen", err);

	assert_int_equal(change.revision, result == 0 ? 1 : 0);
	return result;
}

/* The change is there, in failed; the next generation of its statement takes over its table. */
static int call_replace(struct store *store, struct error *err)
{
	struct change change = fixture_change(1, "first", 2, more_shards);

	change.epoch = epoch;
	return store_insert(store, &change, "ci@host", "", err);
}

static int call_update(struct store *store, struct error *err)
{
	struct change change = first;
	struct store_expect expect;
	struct history_entry entry;
	struct store_write write = update_of(&change, &expect, &entry, PHASE_SUBMITTED);
	int64_t revision = first.revision;

	change.shard_count = 1; /* the set got smaller: it is written anew */
	store_write(store, &write, 1);
	assert_int_equal(change.revision, write.result == 0 ? revision + 1 : revision);
	*err = write.error;
	return write.result;
}

/* One is new, one comes too late, one is new. */
static int call_batch(struct store *store, struct error *err)
{
	struct change changes[] = { second, first, third };
	struct store_expect expect;
	struct history_entry entry;
	struct store_write writes[3] = { { .change = &changes[0] }, update_of(&changes[1], &expect, &entry, PHASE_SUBMITTED),
					 { .change = &changes[2] } };

	expect.revision++;
	store_write(store, writes, 3);
	*err = writes[0].error;
	if (writes[0].result < 0) {
		for (int i = 0; i < 3; i++) {
			assert_true(writes[i].result < 0);
			assert_int_equal(changes[i].revision, i == 1 ? first.revision : 0);
		}
		return -1;
	}
	assert_int_equal(writes[1].result, STORE_CONFLICT);
	assert_int_equal(writes[2].result, 0);
	return 0;
}

static int call_lease(struct store *store, struct error *err)
{
	struct lease lease;
	int result = store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err);

	if (result == 0)
		assert_int_equal(lease.epoch, epoch + 1);
	return result;
}

static int call_lease_anew(struct store *store, struct error *err)
{
	struct lease lease;

	return store_lease(store, "default/never", OWNER, LEASE_MS, &lease, err);
}

static int call_lease_again(struct store *store, struct error *err)
{
	struct lease lease;
	int result = store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err);

	if (result == 0)
		assert_int_equal(lease.epoch, epoch);
	return result;
}

static int call_live(struct store *store, struct error *err)
{
	struct live live;
	int result = store_live(store, CLUSTER, 0, &arena, &live, err);

	if (result == 0) {
		assert_int_equal(live.lease_count, 1);
		assert_int_equal(live.leases[0].epoch, epoch);
		assert_int_equal(live.leases[0].left_ms, 0);
	} else {
		assert_int_equal(live.change_count, 0);
	}
	return result;
}

static int call_list(struct store *store, struct error *err)
{
	struct change found;

	return store_load(store, CLUSTER, first.uuid, &arena, &found, err);
}

static int call_history(struct store *store, struct error *err)
{
	struct history_entry *entries;
	size_t count;

	return store_history(store, CLUSTER, first.uuid, &arena, &entries, &count, err);
}

static const struct call {
	const char *name;
	int (*call)(struct store *store, struct error *err);
	bool is_read, is_lease, holds; /* holds: the lease, when the call is made */
	enum phase first_is;
} calls[] = {
	{ "insert", call_insert, .first_is = PHASE_SUBMITTING },
	{ "replace", call_replace, .first_is = PHASE_FAILED },
	{ "update", call_update, .first_is = PHASE_SUBMITTING },
	{ "batch", call_batch, .first_is = PHASE_SUBMITTING },
	{ "lease", call_lease, .is_lease = true, .first_is = PHASE_SUBMITTING },
	{ "lease anew", call_lease_anew, .is_lease = true, .first_is = PHASE_SUBMITTING },
	{ "lease again", call_lease_again, .is_read = true, .is_lease = true, .holds = true, .first_is = PHASE_SUBMITTING },
	{ "live", call_live, .is_read = true, .first_is = PHASE_SUBMITTING },
	{ "list", call_list, .is_read = true, .first_is = PHASE_SUBMITTING },
	{ "history", call_history, .is_read = true, .first_is = PHASE_SUBMITTING },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* A store with one change in it, whose keyspace somebody led. */
static void make_world(const struct call *call)
{
	struct store *store = open_store();

	sqlite3_close(reader);
	assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
	assert_ok(lease_at(store, SCOPE, OWNER, &epoch, holder, err));
	first = fixture_change(1, "first", 1, shards);
	second = fixture_change(2, "second", 1, more_shards);
	third = fixture_change(3, "third", 1, most_shards);
	first.epoch = second.epoch = third.epoch = epoch;
	assert_ok(store_insert(store, &first, "", "", err));
	if (call->first_is != first.phase) {
		struct change next = first;
		struct store_expect expect;
		struct history_entry entry;
		struct store_write write = update_of(&next, &expect, &entry, call->first_is);

		store_write(store, &write, 1);
		assert_int_equal(write.result, 0);
		first = next;
	}
	store_close(store);
}

static struct store *open_for(const struct call *call)
{
	struct store *store = open_store();
	struct lease lease;

	if (call->holds) {
		assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
		epoch = lease.epoch;
	}
	return store;
}

/* Held by @store or not is seen by another handle. */
static bool lease_is_free(void)
{
	struct live live;
	struct store *other = open_store();
	bool is_free = true;

	assert_ok(store_live(other, CLUSTER, 0, &arena, &live, err));
	for (size_t i = 0; i < live.lease_count; i++)
		is_free = is_free && live.leases[i].left_ms == 0;
	store_close(other);
	return is_free;
}

/* One call with the nth chance to fail. Return: false, it had no such chance, and succeeded. */
static bool try_call(const struct call *call, struct store *store, unsigned nth)
{
	struct error error = { 0 };
	int result;

	all_rows(rows[0]);
	fired = ends_transaction = false;
	countdown = nth;
	result = call->call(store, &error);
	countdown = 0;
	if (!fired || result == 0) {
		if (result != 0)
			fail_msg("%s, %u: %d, %s", call->name, nth, result, error.text);
		if (!call->is_read)
			assert_string_not_equal(rows[0], all_rows(rows[1]));
		return fired;
	}
	if (result != -1 || error.code != ERROR_STORE)
		fail_msg("%s, %u: %d, code %d, %s", call->name, nth, result, error.code, error.text);
	if (!sqlite3_get_autocommit(sqlite_store_of(store)->db))
		fail_msg("%s, %u: a transaction is left open behind: %s", call->name, nth, error.text);
	assert_string_equal(rows[0], all_rows(rows[1]));
	if (call->is_lease)
		assert_int_equal(lease_is_free(), !call->holds);
	return true;
}

static void test_no_statement_of_a_call_that_cannot_be_prepared_leaves_a_trace(void **state)
{
	for (size_t i = 0; i < CALLS; i++) {
		bool more = true;
		unsigned nth = 0;

		while (more && nth < 100) {
			struct store *store;

			setup(state);
			make_world(&calls[i]);
			store = open_for(&calls[i]);
			sqlite3_set_authorizer(sqlite_store_of(store)->db, on_prepare, NULL);
			more = try_call(&calls[i], store, ++nth);
			if (more) /* the same handle is none the worse */
				assert_false(try_call(&calls[i], store, 0));
			store_close(store);
			teardown(state);
		}
		if (nth < 2 || nth >= 100)
			fail_msg("%s: %u statements", calls[i].name, nth);
	}
}

static void test_no_call_that_is_ended_at_any_of_its_steps_leaves_a_trace(void **state)
{
	for (size_t i = 0; i < CALLS; i++) {
		struct store *store;
		unsigned nth = 1;

		setup(state);
		make_world(&calls[i]);
		store = open_for(&calls[i]);
		sqlite3_progress_handler(sqlite_store_of(store)->db, 1, on_step, NULL);
		sqlite3_trace_v2(sqlite_store_of(store)->db, SQLITE_TRACE_STMT, on_begin, NULL);
		while (try_call(&calls[i], store, nth) && nth < 5000)
			nth++;
		if (nth < 3 || nth >= 5000)
			fail_msg("%s: %u steps", calls[i].name, nth);
		store_close(store);
		teardown(state);
	}
}

/* Only a constraint that rolls back everything by itself: no table of ours has one. */
static void test_an_item_that_takes_the_transaction_with_it_fails_the_batch(void **state)
{
	struct store *store;
	struct error error = { 0 };

	(void)state;
	make_world(&calls[0]);
	store = open_store();
	assert_int_equal(sqlite3_exec(sqlite_store_of(store)->db,
				      "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.ddl_pipeline WHEN NEW.table_name = 'third'"
				      " BEGIN SELECT RAISE(ROLLBACK, 'on purpose'); END",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	all_rows(rows[0]);
	assert_int_equal(call_batch(store, &error), -1);
	assert_has_words(error.text, "on purpose");
	assert_string_equal(rows[0], all_rows(rows[1]));
	store_close(store);
}

/* ---- The lock file ---- */

static void lock_path(char ret[300])
{
	snprintf(ret, 300, "%s-lock", path);
}

static void test_a_lock_file_that_is_none_gives_no_lease(void **state)
{
	struct store *store;
	char lock[300], other[300];
	struct live live;
	struct lease lease;

	(void)state;
	make_world(&calls[0]);
	lock_path(lock);
	snprintf(other, sizeof(other), "%s/other.db", folder);
	store = open_store();
	assert_int_equal(unlink(lock), 0);
	assert_ok(store_live(store, CLUSTER, 0, &arena, &live, err)); /* no file: nobody can hold anything */
	assert_int_equal(live.lease_count, 1);
	assert_int_equal(live.leases[0].left_ms, 0);
	assert_int_equal(mkfifo(lock, 0600), 0);
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "not a plain file");
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(symlink(other, lock), 0);
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "cannot be opened");
	assert_refused(store_live(store, CLUSTER, 0, &arena, &live, err), ERROR_STORE, "cannot be opened");
	assert_int_equal(unlink(lock), 0);
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 1); /* none of the refusals took one */
	store_close(store);
}

static void test_a_kernel_that_refuses_a_lock_gives_no_lease(void **state)
{
	static const struct {
		int error, result;
		const char *words;
	} locks[] = { { ENOLCK, -1, "cannot be locked" }, { EACCES, STORE_HELD, "" }, { EAGAIN, STORE_HELD, "" } };
	struct store *store, *other;
	struct lease lease;
	struct live live;

	(void)state;
	make_world(&calls[0]);
	store = open_store();
	other = open_store();
	for (size_t i = 0; i < 3; i++) {
		struct error error = { 0 };

		failing_fcntl = (struct failing_call){ locks[i].error, 1 };
		assert_int_equal(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, &error), locks[i].result);
		assert_has_words(error.text, locks[i].words);
		assert_int_equal(failing_fcntl.nth, 0);
	}
	failing_fcntl = (struct failing_call){ EIO, 1 };
	assert_refused(store_live(store, CLUSTER, 0, &arena, &live, err), ERROR_STORE, "cannot be looked at");
	failing_fstat = (struct failing_call){ EIO, 1 };
	assert_refused(store_lease(other, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "not a plain file");
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 1);
	assert_result(store_lease(other, SCOPE, "host:2:b", LEASE_MS, &lease, err), STORE_HELD);
	store_close(store);
	store_close(other);
}

/* Whoever cannot see that the file of his lock is the one with its name holds nothing: he takes it anew. */
static void test_a_lease_whose_file_is_in_doubt_is_taken_anew(void **state)
{
	struct store *store;
	struct lease lease;
	char lock[300];

	(void)state;
	make_world(&calls[0]);
	lock_path(lock);
	store = open_store();
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 1);
	failing_fstat = (struct failing_call){ EIO, 1 };
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 2);
	other_device = true; /* another file system was mounted over it */
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 3);
	other_device = false;
	assert_int_equal(unlink(lock), 0);
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 4);
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 4);
	assert_int_equal(unlink(lock), 0); /* somebody made another of that name */
	assert_int_equal(close(open(lock, O_CREAT | O_WRONLY, 0600)), 0);
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch + 5);
	store_close(store);
}

/* ---- What is not gone on with ---- */

static void take_a_lease(void *data)
{
	struct lease lease;

	assert_int_not_equal(store_lease(data, "default/new", OWNER, LEASE_MS, &lease, NULL), 1);
}

static void write_one_of_two(void *data)
{
	struct change good = second, bad = third;
	struct store_write writes[] = { { .change = &good }, { .change = &bad } };

	bad.uuid[0] = 'x';
	store_write(data, writes, 2);
}

static void test_without_memory_it_aborts_before_anything_is_written(void **state)
{
	struct store *store;

	(void)state;
	make_world(&calls[0]);
	store = open_store();
	all_rows(rows[0]);
	assert_true(aborts_without_memory(take_a_lease, store, 1));
	assert_true(aborts_without_memory(write_one_of_two, store, 1));
	assert_string_equal(rows[0], all_rows(rows[1]));
	store_close(store);
}

static void test_a_store_whose_disk_did_not_confirm_a_write_is_not_used_any_more(void **state)
{
	struct store *store;
	struct lease lease;
	struct live live;

	(void)state;
	make_world(&calls[0]);
	store_vfs_install();
	store = open_store();
	store_vfs_arm(VFS_FAIL_SYNC, 1);
	assert_refused(call_insert(store, err), ERROR_STORE, "could not confirm a write");
	store_vfs_arm(VFS_NONE, 0);
	assert_refused(call_insert(store, err), ERROR_STORE, "not used any more");
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "not used any more");
	assert_refused(store_live(store, CLUSTER, 0, &arena, &live, err), ERROR_STORE, "not used any more");
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_statement_of_a_call_that_cannot_be_prepared_leaves_a_trace),
		cmocka_unit_test(test_no_call_that_is_ended_at_any_of_its_steps_leaves_a_trace),
		ROW(test_an_item_that_takes_the_transaction_with_it_fails_the_batch),
		ROW(test_a_lock_file_that_is_none_gives_no_lease),
		ROW(test_a_kernel_that_refuses_a_lock_gives_no_lease),
		ROW(test_a_lease_whose_file_is_in_doubt_is_taken_anew),
		ROW(test_without_memory_it_aborts_before_anything_is_written),
		ROW(test_a_store_whose_disk_did_not_confirm_a_write_is_not_used_any_more), /* the last: its disk stays */
	};

	return cmocka_run_group_tests_name("store_sqlite_answers", tests, NULL, NULL);
}
