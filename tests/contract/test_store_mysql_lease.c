/* Goal: on a real server one process acts on a keyspace, by the database's clock, and nobody waits for a
 * lock. Method: two handles, other processes that die or stop, and an administrator who holds rows. */
#include "store_mysql_fixture.h"

#define SHORT_MS 200
#define TRIES 600 /* of 50 ms: the machine may be busy, a lease that never ends fails */
#define LOCK_WAIT_MS 2000

static struct lease lease;
static int pipe_ends[2];

static int take(struct store *store, const char *owner, int64_t for_ms, struct error *err)
{
	return store_lease(store, SCOPE, owner, for_ms, &lease, err);
}

static void take_once_it_ended(struct store *store, const char *owner)
{
	for (int i = 0; i < TRIES; i++) {
		struct error err = { 0 };
		int result = take(store, owner, LEASE_MS, &err);

		assert_true(result >= 0);
		if (result == 0)
			return;
		assert_true(lease.left_ms <= SHORT_MS);
		pause_ms(50);
	}
	fail_msg("the lease never ended");
}

static void test_a_lease_ends_by_itself(void **state)
{
	struct store *first = open_store(), *second = open_store();

	(void)state;
	assert_ok(take(first, OWNER, SHORT_MS, err));
	epoch = lease.epoch;
	take_once_it_ended(second, OTHER);
	assert_true(lease.epoch > epoch);
	assert_result(take(first, OWNER, LEASE_MS, err), STORE_HELD);
	assert_string_equal(lease.holder, OTHER);
	store_close(first);
	store_close(second);
}

/* The session's clock is the database's; ours does not move. */
static void test_the_clock_of_the_database_decides(void **state)
{
	struct store *first = open_store(), *second = open_store();

	(void)state;
	assert_ok(take(first, OWNER, LEASE_MS, err));
	assert_result(take(second, OTHER, LEASE_MS, err), STORE_HELD);
	assert_ok(connection_do(connection_of(second), "SET timestamp = UNIX_TIMESTAMP() + 60", err));
	assert_ok(take(second, OTHER, LEASE_MS, err));
	/* And it is as far ahead as that clock was. */
	assert_result(take(first, OWNER, LEASE_MS, err), STORE_HELD);
	assert_true(lease.left_ms > LEASE_MS);
	store_close(first);
	store_close(second);
}

static void test_a_locked_row_is_held_at_once(void **state)
{
	struct store *first = open_leader(), *second = open_store(), *blocker = open_store();
	int64_t began_ms;

	(void)state;
	assert_ok(connection_do(connection_of(blocker), "START TRANSACTION", err));
	assert_ok(connection_do(connection_of(blocker), "UPDATE ddl_lock SET epoch = epoch + 7", err));
	began_ms = clock_monotonic_ms();
	assert_result(take(second, OTHER, LEASE_MS, err), STORE_HELD);
	assert_true(clock_monotonic_ms() - began_ms < LOCK_WAIT_MS);
	/* What was committed last is told. */
	assert_string_equal(lease.holder, OWNER);
	assert_int_equal(lease.epoch, epoch);
	assert_true(lease.left_ms > 0);
	assert_ok(connection_do(connection_of(blocker), "ROLLBACK", err));
	assert_ok(take(first, OWNER, LEASE_MS, err));
	store_close(first);
	store_close(second);
	store_close(blocker);
}

/* Whoever empties the table by hand, or brings a backup of some tables back. */
static void test_a_lease_whose_row_is_gone_is_nobodys_and_may_be_taken(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t");
	struct live live;

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	admin("DELETE FROM ddl_lock");
	assert_ok(store_live(store, CLUSTER, 0, &arena, &live, err));
	assert_int_equal(live.change_count, 1);
	assert_int_equal(live.lease_count, 0);
	assert_result(move(store, &change, PHASE_SUBMITTED, err), STORE_CONFLICT);
	assert_ok(take(store, OWNER, LEASE_MS, err));
	store_close(store);
}

/* ---- Other processes ---- */

static void child_holds(void)
{
	struct store *store = NULL;

	CHILD_MUST(open_at(url, false, &store, NULL) == 0);
	CHILD_MUST(take(store, OWNER, SHORT_MS, NULL) == 0);
	CHILD_MUST(write(pipe_ends[1], "x", 1) == 1);
	for (;;)
		pause();
}

static void test_the_lease_of_one_who_was_killed_is_taken_over(void **state)
{
	struct store *store = open_store();
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	child = begin_child(child_holds);
	assert_int_equal(read(pipe_ends[0], &byte, 1), 1);
	kill(child, SIGKILL);
	end_child(child);
	take_once_it_ended(store, OTHER);
	assert_int_equal(lease.epoch, 2);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	store_close(store);
}

static void child_takes_in_turn(void)
{
	char owner[64];
	struct store *store = NULL;
	int64_t last = 0;

	snprintf(owner, sizeof(owner), "host:%d:x", (int)getpid());
	CHILD_MUST(open_at(url, false, &store, NULL) == 0);
	for (int taken = 0, i = 0; taken < 5; i++) {
		struct error err = { 0 };
		int result = take(store, owner, LEASE_MS, &err);

		if (result < 0)
			print_error("%s\n", err.text);
		CHILD_MUST(result >= 0 && i < 20000);
		if (result == STORE_HELD) {
			pause_ms(2);
			continue;
		}
		CHILD_MUST(lease.epoch > last);
		last = lease.epoch;
		/* The row's number, plus one: were two of us leaders at once, one of them would get lost. */
		CHILD_MUST(connection_run(connection_of(store), "SELECT n FROM counter", NULL, 0, NULL) == 0);
		CHILD_MUST(connection_next(connection_of(store), NULL) == 1);
		struct sql_value next =
			sql_i64("next", connection_column(connection_of(store), 0)->number + 1);

		CHILD_MUST(connection_run(connection_of(store), "UPDATE counter SET n = :next", &next, 1,
					  NULL) == 0);
		taken++;
		store_release(store, SCOPE, owner);
	}
	store_close(store);
}

static void test_of_many_one_leads_at_a_time(void **state)
{
	pid_t children[6];

	(void)state;
	store_close(open_store());
	admin("CREATE TABLE counter (n BIGINT NOT NULL)");
	admin("INSERT INTO counter VALUES (0)");
	for (size_t i = 0; i < 6; i++)
		children[i] = begin_child(child_takes_in_turn);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(end_child(children[i]), 0);
	assert_int_equal(number("SELECT n FROM counter"), 30);
	assert_int_equal(number("SELECT epoch FROM ddl_lock"), 30);
}

/* ---- The epoch ---- */

static void test_the_epoch_never_goes_back_for_a_handle(void **state)
{
	struct store *store = open_store(), *other = open_store();

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_ok(take(store, OWNER, LEASE_MS, err));
		store_release(store, SCOPE, OWNER);
	}
	assert_int_equal(lease.epoch, 5);
	assert_result(take(other, OTHER, LEASE_MS, err), 0);
	assert_result(take(store, OWNER, LEASE_MS, err), STORE_HELD); /* saw 6 */
	/* As after a fail-over to a replica that lacked the last transactions. */
	admin("UPDATE ddl_lock SET epoch = 3, owner = '" OWNER "'");
	assert_ok(take(store, OWNER, LEASE_MS, err));
	assert_int_equal(lease.epoch, 7);
	assert_ok(take(store, OWNER, LEASE_MS, err));
	assert_int_equal(lease.epoch, 7);
	for (int i = 8; i < 10; i++) {
		admin("DELETE FROM ddl_lock");
		assert_ok(take(store, OWNER, LEASE_MS, err));
		assert_int_equal(lease.epoch, i);
	}
	store_close(store);
	store_close(other);
}

static void test_what_was_given_up_is_nobodys(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t");
	struct store_expect expect = { PHASE_SUBMITTING, 1, 0, LEASE_MS };
	struct live live;

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	assert_ok(store_live(store, CLUSTER, 0, &arena, &live, err));
	assert_int_equal(live.lease_count, 1);
	assert_string_equal(live.leases[0].holder, OWNER);
	assert_true(live.leases[0].left_ms > 0 && live.leases[0].left_ms <= LEASE_MS);
	store_release(store, SCOPE, OWNER);
	/* What announces an effect is refused then; another write under its epoch makes nobody a leader again. */
	expect.epoch = epoch;
	assert_result(store_update(store, &change, &expect, NULL, err), STORE_CONFLICT);
	expect.lease_ms = 0;
	assert_ok(store_update(store, &change, &expect, NULL, err));
	assert_ok(store_live(store, CLUSTER, 0, &arena, &live, err));
	assert_string_equal(live.leases[0].holder, "");
	assert_true(live.leases[0].left_ms <= 0);
	assert_int_equal(live.leases[0].epoch, epoch);
	store_close(store);
}

/* A replica that lagged behind, and another who took the lease there: under the epoch that the first had. */
static void test_who_holds_it_under_the_same_epoch_decides_what_announces_an_effect(void **state)
{
	struct store *store = open_leader(), *other = open_store();
	struct change change = change_of(1, "t");
	struct store_expect expect = { PHASE_SUBMITTING, 1, epoch, LEASE_MS };

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	admin("UPDATE ddl_lock SET epoch = epoch - 1, owner = ''");
	assert_ok(take(other, OTHER, LEASE_MS, err));
	assert_int_equal(lease.epoch, epoch);
	assert_result(store_update(store, &change, &expect, NULL, err), STORE_CONFLICT);
	assert_ok(store_update(other, &change, &expect, NULL, err));
	/* A person's wish is written under whoever's lease it is. */
	expect.revision = change.revision;
	expect.lease_ms = 0;
	assert_ok(store_update(store, &change, &expect, NULL, err));
	store_close(store);
	store_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_lease_ends_by_itself),
		ROW(test_the_clock_of_the_database_decides),
		ROW(test_a_lease_whose_row_is_gone_is_nobodys_and_may_be_taken),
		ROW(test_a_locked_row_is_held_at_once),
		ROW(test_the_lease_of_one_who_was_killed_is_taken_over),
		ROW(test_of_many_one_leads_at_a_time),
		ROW(test_the_epoch_never_goes_back_for_a_handle),
		ROW(test_what_was_given_up_is_nobodys),
		ROW(test_who_holds_it_under_the_same_epoch_decides_what_announces_an_effect),
	};

	return run_on_every_server(tests);
}
