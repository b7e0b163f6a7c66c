/* Goal: whatever the server answers in the middle of a call, the call tells what became of it: 0 is written,
 * all else is not, and nothing is written in part; the next call on the same handle works.
 * Method: each call again and again, each time with another of its statements refused, lost, kept from a lock,
 * taken back for a deadlock, or without the row that was there. */
#include "store_mysql_fixture.h"

#include "failing_calls.h"

/* ---- What the connection answers ---- */

enum answer { REFUSED, LOST, LOCKED, LOCKED_EVER, DEADLOCK, DUPLICATE, NO_TABLE, NO_ROW, _ANSWER_MAX };
static const char *const answer_names[] = { "refused", "lost", "locked", "locked for ever", "deadlock", "duplicate",
					    "no table", "no row" };
enum at { AT_RUN = 1, AT_DO = 2, AT_NEXT = 4 };
static const unsigned may_come_at[_ANSWER_MAX] = {
	[REFUSED] = AT_RUN | AT_DO | AT_NEXT, [LOST] = AT_RUN | AT_DO | AT_NEXT, [LOCKED] = AT_RUN | AT_NEXT,
	[LOCKED_EVER] = AT_RUN | AT_NEXT,     [DEADLOCK] = AT_RUN | AT_DO | AT_NEXT, [DUPLICATE] = AT_RUN,
	[NO_TABLE] = AT_RUN | AT_NEXT,	      [NO_ROW] = AT_NEXT,
};
static enum answer answer;
static unsigned countdown, given; /* the nth chance from now; how often it came */
static enum answer next_answer;
static unsigned next_countdown; /* behind that; 0: nothing */
static bool is_lost;

int __real_connection_run(struct connection *connection, const char *sql, const struct sql_value *values, size_t count,
			  struct error *reterr);
int __wrap_connection_run(struct connection *connection, const char *sql, const struct sql_value *values, size_t count,
			  struct error *reterr);
int __real_connection_do(struct connection *connection, const char *sql, struct error *reterr);
int __wrap_connection_do(struct connection *connection, const char *sql, struct error *reterr);
int __real_connection_next(struct connection *connection, struct error *reterr);
int __wrap_connection_next(struct connection *connection, struct error *reterr);
bool __real_connection_is_lost(const struct connection *connection);
bool __wrap_connection_is_lost(const struct connection *connection);

static bool comes_now(enum at at)
{
	if (countdown == 0 || !(may_come_at[answer] & at))
		return false;
	if (countdown > 1) {
		countdown--;
		return false;
	}
	if (answer != LOCKED_EVER)
		countdown = 0;
	given++;
	return true;
}

static int give(struct connection *connection, struct error *reterr)
{
	enum answer now = answer;

	if (next_countdown) {
		answer = next_answer;
		countdown = next_countdown;
		next_countdown = 0;
	}
	switch (now) {
	case REFUSED:
		return error_set(reterr, ERROR_PROTOCOL, "refused on purpose");
	case LOST:
		is_lost = true;
		return error_set(reterr, ERROR_UNAVAILABLE, "lost on purpose");
	case DEADLOCK: /* as the server does it: all is taken back */
		if (__real_connection_do(connection, "ROLLBACK", reterr) != 0)
			abort();
		return CONNECTION_DEADLOCK;
	case DUPLICATE:
		return CONNECTION_DUPLICATE;
	case NO_TABLE:
		return CONNECTION_NO_TABLE;
	case NO_ROW:
		return 0;
	default:
		return CONNECTION_LOCKED;
	}
}

int __wrap_connection_run(struct connection *connection, const char *sql, const struct sql_value *values, size_t count,
			  struct error *reterr)
{
	return comes_now(AT_RUN) ? give(connection, reterr)
				 : __real_connection_run(connection, sql, values, count, reterr);
}

int __wrap_connection_do(struct connection *connection, const char *sql, struct error *reterr)
{
	return comes_now(AT_DO) ? give(connection, reterr) : __real_connection_do(connection, sql, reterr);
}

int __wrap_connection_next(struct connection *connection, struct error *reterr)
{
	return comes_now(AT_NEXT) ? give(connection, reterr) : __real_connection_next(connection, reterr);
}

bool __wrap_connection_is_lost(const struct connection *connection)
{
	return is_lost || __real_connection_is_lost(connection);
}

/* ---- What is in the tables ---- */

static struct store *leader, *reader;

static int64_t state_of_tables(void)
{
	static const char sql[] =
		"SELECT CAST((SELECT count(*) FROM ddl_history) * 1000003 + (SELECT count(*) FROM ddl_pipeline_shard) * 10007"
		" + (SELECT COALESCE(SUM(CRC32(CONCAT_WS('|', uuid, phase, revision, epoch, shard_count))), 0) FROM ddl_pipeline)"
		" + (SELECT COALESCE(SUM(CRC32(CONCAT_WS('|', scope, owner, epoch, expires_at))), 0) FROM ddl_lock) AS SIGNED)";
	struct error error = { 0 };
	int64_t state;

	assert_int_equal(connection_run(connection_of(reader), sql, NULL, 0, &error), 0);
	assert_int_equal(connection_next(connection_of(reader), &error), 1);
	state = connection_column(connection_of(reader), 0)->number;
	assert_int_equal(connection_next(connection_of(reader), &error), 0);
	return state;
}

/* ---- The calls ---- */

static struct change known, replaced;
static unsigned next_number;
static uint32_t next_generation;
static struct change_shard known_shards[2], replaced_shards[2], new_shards[3][2];

static struct change new_change(unsigned place)
{
	struct change change;
	char table[16];

	next_number++;
	snprintf(table, sizeof(table), "t%u", next_number);
	change = fixture_change(next_number, table, 1, new_shards[place]);
	change.epoch = epoch;
	return change;
}

static int call_insert(struct error *err)
{
	struct change change = new_change(0);
	int result = store_insert(leader, &change, "ci@host", "seen", err);

	assert_int_equal(change.revision, result == 0);
	return result;
}

static int call_insert_known(struct error *err)
{
	struct change change = known;

	change.revision = 0;
	return store_insert(leader, &change, "", "", err);
}

static int call_insert_busy_table(struct error *err)
{
	struct change change = new_change(0);

	snprintf(change.table, sizeof(change.table), "%s", known.table);
	return store_insert(leader, &change, "", "", err);
}

static int update(struct change *record, enum phase to, size_t shard_count, int64_t lease_ms, struct error *err)
{
	struct store_expect expect = { record->phase, record->revision, epoch, lease_ms };
	struct history_entry entry = { .actor = "engine", .from = record->phase, .to = to };
	struct change next = *record;
	int result;

	next.phase = to;
	next.shard_count = shard_count;
	result = store_update(leader, &next, &expect, &entry, err);
	assert_int_equal(next.revision, record->revision + (result == 0));
	if (result == 0)
		*record = next;
	return result;
}

/* With every other one the set gets smaller; the lease is kept longer than it is. */
static int call_update(struct error *err)
{
	return update(&known, known.phase, known.shard_count == 2 ? 1 : 2, 100 * LEASE_MS + known.revision, err);
}

/* The last generation is there, in failed; the next one takes over its table. */
static int call_replace(struct error *err)
{
	struct change change = fixture_change(999, "replaced", next_generation + 1, replaced_shards);
	struct error ignored;
	int result;

	change.epoch = epoch;
	result = store_insert(leader, &change, "", "", err);
	if (result != 0)
		return result;
	next_generation++;
	replaced = change;
	countdown = 0;
	assert_int_equal(update(&replaced, PHASE_FAILED, 2, 0, &ignored), 0);
	return 0;
}

/* One is new, one is of another keyspace, one comes too late. Only all of them, or none, or the first two. */
static int call_batch(struct error *err)
{
	struct change changes[3] = { new_change(0), new_change(1), known };
	struct store_expect late = { known.phase, known.revision + 1, epoch, 0 };
	struct history_entry entry = { .actor = "engine", .from = known.phase, .to = known.phase };
	struct store_write writes[3] = { { .change = &changes[0] }, { .change = &changes[1] },
					 { .change = &changes[2], .expect = &late, .entry = &entry } };
	int written = 0, result = 0;

	snprintf(changes[1].keyspace, sizeof(changes[1].keyspace), "other");
	store_write(leader, writes, 3);
	assert_int_not_equal(writes[2].result, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(changes[i].revision, writes[i].result == 0);
		written += writes[i].result == 0;
		if (writes[i].result != 0) {
			result = writes[i].result;
			*err = writes[i].error;
		}
	}
	return written ? 0 : result;
}

static int call_lease(struct error *err)
{
	struct lease lease;
	int result = store_lease(leader, SCOPE, OWNER, 100 * LEASE_MS, &lease, err); /* it outlasts a slow machine */

	if (result == 0)
		assert_int_equal(lease.epoch, epoch);
	return result;
}

static int call_lease_anew(struct error *err)
{
	struct lease lease;
	char scope[32];
	int result;

	snprintf(scope, sizeof(scope), "default/k%u", ++next_number);
	result = store_lease(leader, scope, OWNER, LEASE_MS, &lease, err);
	if (result == 0)
		assert_int_equal(lease.epoch, 1);
	return result;
}

static int call_lease_of_another(struct error *err)
{
	struct lease lease;
	int result = store_lease(leader, SCOPE, OTHER, LEASE_MS, &lease, err);

	assert_int_not_equal(result, 0);
	return result;
}

static const struct call {
	const char *name;
	int (*call)(struct error *err);
	int result; /* where nothing is in the way */
	bool makes_row; /* also where the call fails: of a lease that nobody has */
} calls[] = {
	{ "insert", call_insert, 0, false },
	{ "insert what is known", call_insert_known, STORE_CONFLICT, false },
	{ "insert on a busy table", call_insert_busy_table, STORE_TABLE_BUSY, false },
	{ "update", call_update, 0, false },
	{ "replace", call_replace, 0, false },
	{ "batch", call_batch, 0, false },
	{ "lease", call_lease, 0, false },
	{ "lease anew", call_lease_anew, 0, true },
	{ "lease of another", call_lease_of_another, STORE_HELD, false },
};

static void make_world(void)
{
	struct error ignored;

	leader = open_leader();
	reader = open_store();
	next_number = 100;
	next_generation = 1;
	known = fixture_change(1, "known", 1, known_shards);
	replaced = fixture_change(999, "replaced", 1, replaced_shards);
	known.epoch = replaced.epoch = epoch;
	assert_ok(store_insert(leader, &known, "", "", err));
	assert_ok(store_insert(leader, &replaced, "", "", err));
	assert_int_equal(update(&replaced, PHASE_FAILED, 2, 0, &ignored), 0);
}

static void end_world(void)
{
	store_close(leader);
	store_close(reader);
}

/* One call with the answer at its nth chance. Return: whether there was that chance. */
static bool try_call(const struct call *call, enum answer kind, unsigned nth)
{
	int64_t before = state_of_tables(), after;
	struct error error = { 0 };
	int result;

	answer = kind;
	given = 0;
	is_lost = false;
	countdown = nth;
	result = call->call(&error);
	countdown = 0;
	is_lost = false;
	after = state_of_tables();
	if (given == 0 && result != call->result)
		fail_msg("%s: %d: %s", call->name, result, error.text);
	if (result == 0 ? after == before : after != before && !call->makes_row)
		fail_msg("%s, %s at %u: %d and written %d: %s", call->name, answer_names[kind], nth, result,
			 after != before, error.text);
	if (result < 0 && (!error.text[0] || (error.code != ERROR_STORE && error.code != ERROR_BUG)))
		fail_msg("%s, %s at %u: code %d: %s", call->name, answer_names[kind], nth, error.code, error.text);
	if (result > STORE_HELD)
		fail_msg("%s, %s at %u: %d", call->name, answer_names[kind], nth, result);
	return given > 0;
}

static void test_no_answer_leaves_a_call_half_done(void **state)
{
	(void)state;
	make_world();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (int kind = 0; kind < _ANSWER_MAX; kind++) {
			unsigned nth = 0;

			while (try_call(&calls[i], kind, ++nth)) {
				assert_true(nth < 200);
				try_call(&calls[i], kind, 0); /* the next one works */
			}
		}
	}
	end_world();
}

static void test_rows_that_stay_locked_are_waited_for_only_so_often(void **state)
{
	struct change changes[4];
	struct store_write writes[4];

	(void)state;
	make_world();
	for (unsigned i = 0; i < 4; i++) {
		changes[i] = new_change(i % 3);
		writes[i] = (struct store_write){ .change = &changes[i] };
	}
	answer = LOCKED_EVER;
	given = 0;
	countdown = 1;
	store_write(leader, writes, 4);
	countdown = 0;
	for (unsigned i = 0; i < 4; i++) {
		assert_true(writes[i].result < 0);
		assert_has_words(writes[i].error.text, "a row stayed locked");
	}
	assert_int_equal(given, 3); /* the batch, and two of its writes: the others would wait as well */
	end_world();
}

/* Who holds a lease is read where its row is locked; that may fail as well. */
static void test_a_lease_that_is_locked_and_cannot_be_read_is_not_given(void **state)
{
	struct lease lease;
	int64_t before;

	(void)state;
	make_world();
	before = state_of_tables();
	for (unsigned nth = 2; nth <= 3; nth++) { /* behind ROLLBACK: START TRANSACTION, SELECT */
		answer = LOCKED;
		countdown = 1;
		next_answer = REFUSED;
		next_countdown = nth;
		assert_refused(store_lease(leader, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "refused on purpose");
		assert_int_equal(countdown, 0);
	}
	assert_int_equal(state_of_tables(), before);
	assert_ok(call_lease(err));
	end_world();
}

static void test_a_transaction_that_does_not_begin_fails_the_call(void **state)
{
	struct lease lease;

	(void)state;
	make_world();
	for (int kind = REFUSED; kind <= LOST; kind++) {
		for (int with_error = 0; with_error < 2; with_error++) {
			struct error error = { 0 };

			answer = kind;
			countdown = 1;
			/* A server that kept silent for half of the time would do so again: no other connection is opened. */
			mystore_of(leader)->config.timeout_ms = kind == LOST ? 1 : MYSTORE_TIMEOUT_MS;
			assert_int_equal(store_lease(leader, SCOPE, OWNER, LEASE_MS, &lease, with_error ? &error : NULL), -1);
			is_lost = false;
			assert_int_equal(connection_of(leader) == NULL, kind == LOST);
			if (with_error)
				assert_has_words(error.text, kind == LOST ? "lost on purpose" : "refused on purpose");
			mystore_of(leader)->config.timeout_ms = MYSTORE_TIMEOUT_MS;
			assert_ok(call_lease(err));
		}
	}
	end_world();
}

static void test_without_a_connection_nothing_is_run(void **state)
{
	struct mystore *store;

	(void)state;
	make_world();
	store = mystore_of(leader);
	mystore_disconnect(store);
	assert_refused(mystore_run(store, "SELECT 1", NULL, err), ERROR_STORE, "not connected any more");
	assert_refused(mystore_do(store, "SELECT 1", err), ERROR_STORE, "not connected any more");
	assert_refused(mystore_next(store, err), ERROR_STORE, "not connected any more");
	assert_refused(mystore_commit(store, err), ERROR_STORE, "not connected any more");
	mystore_rollback(store);
	assert_ok(call_lease(err)); /* the next call opens one */
	end_world();
}

static void test_each_part_of_a_shard_is_written_when_it_changes(void **state)
{
	struct change found;

	(void)state;
	make_world();
	known_shards[0].definition_before = "another before";
	assert_ok(update(&known, known.phase, 2, 0, err));
	found = load(reader, known.uuid);
	assert_same_change(&found, &known);
	known_shards[0].primary.uid = 300; /* reparented in its cell */
	assert_ok(update(&known, known.phase, 2, 0, err));
	found = load(reader, known.uuid);
	assert_same_change(&found, &known);
	snprintf(known_shards[0].primary.cell, sizeof(known_shards[0].primary.cell), "zone3"); /* out of it, same number */
	assert_ok(update(&known, known.phase, 2, 0, err));
	found = load(reader, known.uuid);
	assert_same_change(&found, &known);
	known_shards[1].definition_after = "after";
	assert_ok(update(&known, known.phase, 2, 0, err));
	known_shards[0].definition_before = NULL;
	assert_ok(update(&known, known.phase, 2, 0, err));
	found = load(reader, known.uuid);
	assert_same_change(&found, &known);
	end_world();
}

/* The epoch is right, but the lease was never this handle's: it announces no effect. */
static void test_only_the_handle_that_took_the_lease_announces_an_effect(void **state)
{
	struct store *of_leader;

	(void)state;
	make_world();
	of_leader = leader;
	leader = reader;
	assert_result(update(&known, known.phase, 2, LEASE_MS, err), STORE_CONFLICT);
	assert_ok(update(&known, known.phase, 2, 0, err)); /* a wish it may write */
	leader = of_leader;
	assert_ok(update(&known, known.phase, 2, LEASE_MS, err));
	end_world();
}

static void test_an_epoch_that_was_never_taken_is_nobodys(void **state)
{
	struct store *store;
	struct lease lease;

	(void)state;
	make_world();
	admin("UPDATE ddl_lock SET owner = '" OWNER "', epoch = 0 WHERE scope = '" SCOPE "'");
	store = open_store(); /* has seen no epoch */
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, 1);
	store_close(store);
	end_world();
}

static void test_a_lease_has_a_longest_time(void **state)
{
	struct lease lease;

	(void)state;
	make_world();
	assert_ok(store_lease(leader, SCOPE, OWNER, INT64_MAX, &lease, err));
	assert_true(lease.left_ms > 0);
	assert_true(number("SELECT TIMESTAMPDIFF(DAY, UTC_TIMESTAMP(6), expires_at) FROM ddl_lock WHERE scope = '" SCOPE "'") >= 365);
	assert_ok(store_lease(leader, SCOPE, OWNER, -5, &lease, err));
	assert_true(lease.left_ms <= 0);
	end_world();
}

static void test_a_release_that_fails_leaves_the_lease_to_end_by_itself(void **state)
{
	static const char owner[] = "SELECT count(*) FROM ddl_lock WHERE scope = '" SCOPE "' AND owner <> ''";

	(void)state;
	make_world();
	for (int kind = 0; kind <= LOST; kind++) {
		for (unsigned nth = 1; nth <= 3; nth++) { /* START TRANSACTION, UPDATE, COMMIT */
			answer = kind;
			given = 0;
			countdown = nth;
			store_release(leader, SCOPE, OWNER);
			countdown = 0;
			is_lost = false;
			assert_int_equal(given, 1);
			if (kind == LOST && nth == 1) /* an idle connection: it goes another way */
				assert_ok(call_lease(err));
			assert_int_equal(number(owner), 1);
		}
	}
	store_release(leader, SCOPE, OWNER);
	assert_int_equal(number(owner), 0);
	end_world();
}

static void test_whoever_may_only_read_releases_nothing(void **state)
{
	struct store *store = NULL;
	struct lease lease;

	(void)state;
	make_world();
	assert_ok(open_at(url, true, &store, err));
	store_release(store, SCOPE, OWNER);
	assert_int_equal(number("SELECT count(*) FROM ddl_lock WHERE owner <> ''"), 1);
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_BUG, "only to read");
	store_close(store);
	end_world();
}

static void take_a_lease(void *data)
{
	struct lease lease;

	assert_int_not_equal(store_lease(data, "default/new", OWNER, LEASE_MS, &lease, NULL), 1);
}

static void write_two(void *data)
{
	struct change changes[2] = { new_change(0), new_change(1) };
	struct store_write writes[] = { { .change = &changes[0] }, { .change = &changes[1] } };

	store_write(data, writes, 2);
}

static void test_without_memory_it_aborts_before_anything_is_written(void **state)
{
	int64_t before;

	(void)state;
	make_world();
	assert_true(aborts_without_memory(take_a_lease, leader, 1));
	store_close(leader); /* in the middle of a transaction */
	leader = open_leader();
	before = state_of_tables();
	assert_true(aborts_without_memory(write_two, leader, 1));
	assert_int_equal(state_of_tables(), before);
	end_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_no_answer_leaves_a_call_half_done),
		ROW(test_rows_that_stay_locked_are_waited_for_only_so_often),
		ROW(test_a_lease_that_is_locked_and_cannot_be_read_is_not_given),
		ROW(test_a_transaction_that_does_not_begin_fails_the_call),
		ROW(test_without_a_connection_nothing_is_run),
		ROW(test_each_part_of_a_shard_is_written_when_it_changes),
		ROW(test_only_the_handle_that_took_the_lease_announces_an_effect),
		ROW(test_an_epoch_that_was_never_taken_is_nobodys),
		ROW(test_a_lease_has_a_longest_time),
		ROW(test_a_release_that_fails_leaves_the_lease_to_end_by_itself),
		ROW(test_whoever_may_only_read_releases_nothing),
		ROW(test_without_memory_it_aborts_before_anything_is_written),
	};

	return run_on_every_server(tests);
}
