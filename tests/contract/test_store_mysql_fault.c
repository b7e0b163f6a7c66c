/* Goal: whatever becomes of the server or of the way to it, a call ends, says so, and nothing is half written
 * or written twice; the next call works again. Method: a real server that is killed, stopped, made read-only,
 * filled, and a proxy that cuts at every packet. */
#include "mysqld_proxy.h"
#include "store_mysql_fixture.h"

static int pipe_ends[2], back_ends[2];

/* ---- The server ---- */

static void test_a_server_that_was_killed_is_missed_and_found_again(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t"), found = { 0 };
	struct live live;
	struct lease lease;

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	mysqld_kill(mysql_server);
	assert_refused(move(store, &change, PHASE_SUBMITTED, err), ERROR_STORE, "The store mysql://");
	assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE,
		       "cannot be reached");
	assert_refused(store_live(store, CLUSTER, 0, &arena, &live, err), ERROR_STORE, "cannot be reached");
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE,
		       "cannot be reached");
	store_release(store, SCOPE, OWNER);
	mysqld_again(mysql_server, NULL);
	/* What was confirmed is there; the lease is still ours. */
	found = load(store, change.uuid);
	assert_same_change(&found, &change);
	assert_ok(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	assert_int_equal(lease.epoch, epoch);
	assert_ok(move(store, &change, PHASE_SUBMITTED, err));
	store_close(store);
}

static void test_an_idle_connection_that_was_ended_is_not_noticed(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t");

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	mysqld_kill(mysql_server);
	mysqld_again(mysql_server, NULL);
	assert_ok(move(store, &change, PHASE_SUBMITTED, err));
	store_close(store);
}

/* A stopped server answers nothing; a call must not wait for ever. Ten times the timeout is for ever. */
static void test_a_server_that_stands_still_is_waited_for_only_so_long(void **state)
{
	struct store *store = NULL;
	struct change change = change_of(1, "t"), found;
	int64_t began_ms;

	(void)state;
	assert_ok(store_open(&(struct store_config){ .url = url, .timeout_ms = 1000 }, &store, err));
	assert_ok(lease_at(store, SCOPE, OWNER, &epoch, holder, err));
	change.epoch = epoch;
	assert_ok(store_insert(store, &change, "", "", err));
	mysqld_stop(mysql_server);
	for (int i = 0; i < 2; i++) {
		began_ms = clock_monotonic_ms();
		assert_refused(store_load(store, CLUSTER, change.uuid, &arena, &found, err), ERROR_STORE,
			       "The store mysql://");
		assert_true(clock_monotonic_ms() - began_ms < 10000);
	}
	mysqld_go_on(mysql_server);
	load(store, change.uuid);
	assert_ok(move(store, &change, PHASE_SUBMITTED, err));
	store_close(store);
}

static void test_a_read_only_server_is_down_for_writes(void **state)
{
	struct store *store = open_leader();
	struct change change = change_of(1, "t"), found;
	struct lease lease;

	(void)state;
	assert_ok(store_insert(store, &change, "", "", err));
	admin("SET GLOBAL read_only = 1");
	assert_refused(move(store, &change, PHASE_SUBMITTED, err), ERROR_STORE, "read-only");
	assert_refused(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err), ERROR_STORE, "read-only");
	found = load(store, change.uuid);
	assert_same_change(&found, &change);
	admin("SET GLOBAL read_only = 0");
	assert_ok(move(store, &change, PHASE_SUBMITTED, err));
	store_close(store);
}

/* ---- Locks of others ---- */

static struct store_write move_of(struct change *change, struct store_expect *expect,
				  struct history_entry *entry)
{
	*expect = (struct store_expect){ change->phase, change->revision, epoch, 0 };
	*entry = (struct history_entry){ .actor = "e", .from = change->phase, .to = PHASE_SUBMITTED };
	change->phase = PHASE_SUBMITTED;
	return (struct store_write){ .change = change, .expect = expect, .entry = entry };
}

static void test_a_locked_change_delays_none_of_the_others(void **state)
{
	struct store *store = open_leader(), *blocker = open_store();
	struct change changes[3] = { change_of(1, "a"), change_of(2, "b"), change_of(3, "c") };
	struct store_expect expects[3];
	struct history_entry entries[3];
	struct store_write writes[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_ok(store_insert(store, &changes[i], "", "", err));
		writes[i] = move_of(&changes[i], &expects[i], &entries[i]);
	}
	assert_ok(connection_do(connection_of(blocker), "START TRANSACTION", err));
	assert_ok(connection_do(connection_of(blocker), "UPDATE ddl_pipeline SET attempts = 1 WHERE id = 2",
				err));
	store_write(store, writes, 3);
	assert_int_equal(writes[0].result, 0);
	assert_true(writes[1].result < 0);
	assert_int_equal(writes[1].error.code, ERROR_STORE);
	assert_non_null(strstr(writes[1].error.text, "locked"));
	assert_int_equal(writes[2].result, 0);
	assert_ok(connection_do(connection_of(blocker), "ROLLBACK", err));
	assert_int_equal(load(store, changes[0].uuid).phase, PHASE_SUBMITTED);
	assert_int_equal(load(store, changes[1].uuid).phase, PHASE_SUBMITTING);
	assert_int_equal(load(store, changes[1].uuid).revision, 1);
	assert_int_equal(load(store, changes[2].uuid).phase, PHASE_SUBMITTED);
	assert_int_equal(number("SELECT count(*) FROM ddl_history"), 5);
	store_close(store);
	store_close(blocker);
}

/* Has much to lose, so the server takes the other one back: locks a change, and, once the store waits for
 * that, the lease that the store has locked. */
static void child_makes_a_deadlock(void)
{
	struct store *store = NULL;
	struct connection *connection;
	char byte;

	CHILD_MUST(open_at(url, false, &store, NULL) == 0);
	connection = connection_of(store);
	CHILD_MUST(connection_do(connection, "SET innodb_lock_wait_timeout = 20", NULL) == 0);
	CHILD_MUST(connection_do(connection, "START TRANSACTION", NULL) == 0);
	CHILD_MUST(connection_do(connection, "UPDATE ballast SET n = n + 1", NULL) == 0);
	CHILD_MUST(connection_do(connection, "UPDATE ddl_pipeline SET attempts = 1 WHERE id = 2", NULL) == 0);
	CHILD_MUST(write(back_ends[1], "x", 1) == 1 && read(pipe_ends[0], &byte, 1) == 1);
	CHILD_MUST(connection_do(connection, "UPDATE ddl_lock SET taken_at = taken_at", NULL) == 0);
	CHILD_MUST(connection_do(connection, "ROLLBACK", NULL) == 0);
	store_close(store);
}

/* Tells the one above when the store waits. */
static void child_sees_the_wait(void)
{
	for (int i = 0; i < 50; i++) {
		/* What is asked for more often than ten times a second is answered from a cache. */
		pause_ms(150);
		if (mysqld_number(
			    mysql_server, NULL,
			    "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'") >
		    0)
			break;
	}
	CHILD_MUST(write(pipe_ends[1], "x", 1) == 1);
}

static void test_a_deadlock_is_tried_again_one_by_one(void **state)
{
	struct store *store = open_leader();
	struct change changes[2] = { change_of(1, "a"), change_of(2, "b") };
	struct store_expect expects[2];
	struct history_entry entries[2];
	struct store_write writes[2];
	pid_t locker, watcher;
	char byte;

	(void)state;
	admin("CREATE TABLE ballast (n INT)");
	for (int i = 0; i < 40; i++)
		admin("INSERT INTO ballast VALUES (1), (2), (3), (4), (5), (6), (7), (8)");
	for (int i = 0; i < 2; i++) {
		assert_ok(store_insert(store, &changes[i], "", "", err));
		writes[i] = move_of(&changes[i], &expects[i], &entries[i]);
	}
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(pipe(back_ends), 0);
	locker = begin_child(child_makes_a_deadlock);
	assert_int_equal(read(back_ends[0], &byte, 1), 1);
	watcher = begin_child(child_sees_the_wait);
	store_write(store, writes, 2);
	assert_int_equal(end_child(watcher), 0);
	assert_int_equal(end_child(locker), 0);
	for (int i = 0; i < 2; i++) {
		if (writes[i].result)
			print_error("%d: %s\n", writes[i].result, writes[i].error.text);
		assert_int_equal(writes[i].result, 0);
		assert_int_equal(load(store, changes[i].uuid).revision, 2);
		close(pipe_ends[i]);
		close(back_ends[i]);
	}
	assert_int_equal(number("SELECT count(*) FROM ddl_history"), 4);
	store_close(store);
}

/* A process that was stopped in the middle of a transaction has the row of the lease. */
static void test_who_stands_still_in_a_transaction_is_thrown_out(void **state)
{
	struct store *store = open_leader(), *stopped = open_store();
	struct lease lease;
	int tries = 0, result;

	(void)state;
	assert_ok(
		connection_do(connection_of(stopped), "SET SESSION wait_timeout = 1", err)); /* 20 in truth */
	assert_ok(connection_do(connection_of(stopped), "START TRANSACTION", err));
	assert_ok(connection_do(connection_of(stopped), "UPDATE ddl_lock SET epoch = epoch + 7", err));
	while ((result = store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, NULL)) == STORE_HELD &&
	       tries++ < 600)
		pause_ms(50);
	assert_int_equal(result, 0);
	assert_true(tries > 0);
	assert_int_equal(lease.epoch, epoch);
	store_close(store);
	store_close(stopped);
}

/* ---- The way there ---- */

/* One write through the proxy, cut at its @nth packet. True: it came to that. */
static bool cut_once(struct mysqld_proxy *proxy, struct store *store, struct change *change, int nth,
		     bool after)
{
	struct change next = *change, found;
	const struct store_expect expect = { change->phase, change->revision, epoch, 0 };
	const struct history_entry entry = { .actor = "e", .from = change->phase, .to = change->phase };
	struct error err = { 0 };
	bool was_cut;
	int result;

	next.attempts++;
	next.updated_at_ms++;
	mysqld_proxy_cut(proxy, nth, after);
	result = store_update(store, &next, &expect, &entry, &err);
	was_cut = mysqld_proxy_was_cut(proxy);
	mysqld_proxy_cut(proxy, 0, false);
	found = load(store, change->uuid);
	if (result == 0) {
		assert_int_equal(found.revision, change->revision + 1);
	} else {
		assert_true(result < 0);
		assert_int_equal(err.code, ERROR_STORE);
		assert_int_equal(next.revision, change->revision);
		/* Only where the commit was said may it have been done, and then it is told to be unknown. */
		if (found.revision != change->revision) {
			assert_int_equal(found.revision, change->revision + 1);
			assert_non_null(strstr(err.text, "unknown"));
		}
	}
	assert_int_equal(found.attempts, found.revision - 1);
	assert_int_equal(number("SELECT count(*) FROM ddl_history"), found.revision);
	*change = found;
	return was_cut;
}

static void test_a_write_that_is_cut_anywhere_is_done_or_not(void **state)
{
	struct mysqld_proxy *proxy = mysqld_proxy_start(mysqld_port(mysql_server));
	struct store *store = NULL, *direct = open_leader();
	struct change change = change_of(1, "t");
	unsigned unknown_and_done = 0;
	char through[300];
	int nth;

	(void)state;
	assert_ok(store_insert(direct, &change, "", "", err));
	snprintf(through, sizeof(through), "mysql://vtddl@127.0.0.1:%u/%s", mysqld_proxy_port(proxy),
		 database);
	assert_ok(store_open(&(struct store_config){ .url = through, .timeout_ms = 3000 }, &store, err));
	for (int after = 0; after < 2; after++)
		for (nth = 1; nth < 100; nth++) {
			int64_t before = change.revision;
			bool cut = cut_once(proxy, store, &change, nth, after);

			unknown_and_done += cut && change.revision > before;
			if (!cut)
				break;
			/* Once more without a fault: it always goes on. */
			assert_false(cut_once(proxy, store, &change, 0, false));
		}
	assert_true(nth > 5 && nth < 100);
	assert_true(unknown_and_done > 0);
	store_close(store);
	store_close(direct);
	mysqld_proxy_free(proxy);
}

/* ---- Between the rows of an answer ---- */

#define NUMBERS "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "

/* Return: what comes behind the last row; 0: nothing. */
static int last_of_answer(struct connection *connection, struct error *err)
{
	int result;

	do
		result = connection_next(connection, err);
	while (result == 1);
	return result;
}

static void test_what_the_server_refuses_between_two_rows_has_its_number(void **state)
{
	static const char sql[] = NUMBERS "SELECT IF(i < 5, i, (SELECT n.i UNION ALL SELECT 2)) FROM n";
	struct store *store = open_store();
	struct connection *connection = connection_of(store);
	struct error err = { 0 };
	int result;

	(void)state;
	assert_int_equal(connection_run(connection, sql, NULL, 0, &err), 0);
	result = last_of_answer(connection, &err);
	assert_int_equal(result, -1);
	assert_int_equal(err.code, ERROR_PROTOCOL);
	assert_has_words(err.text, "(1242)"); /* more than one row */
	assert_false(connection_is_lost(connection));
	assert_int_equal(connection_do(connection, "DO 1", &err), 0);
	store_close(store);
}

static void test_a_server_that_dies_between_two_rows_is_lost_and_refused_nothing(void **state)
{
	static const char sql[] = NUMBERS "SELECT REPEAT('x', 60000) FROM n"; /* more than is ever under way */
	struct store *store = open_store();
	struct connection *connection = connection_of(store);
	struct error err = { 0 };
	int result;

	(void)state;
	assert_int_equal(connection_run(connection, sql, NULL, 0, &err), 0);
	assert_int_equal(connection_next(connection, &err), 1);
	mysqld_kill(mysql_server);
	result = last_of_answer(connection, &err);
	mysqld_again(mysql_server, NULL);
	assert_int_equal(result, -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_has_words(err.text, "did not answer");
	assert_true(connection_is_lost(connection));
	store_close(store);
}

/* ---- Its disk; last, for it leaves a full server behind ---- */

static void test_a_full_disk_is_named_and_nothing_is_half_written(void **state)
{
	static const char *const small[] = { "--innodb-file-per-table=0",
					     "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M", NULL };
	static const char *const larger[] = { "--innodb-data-file-path=ibdata1:12M:autoextend:max:64M",
					      NULL };
	struct change_shard many[64];
	char *definition = test_malloc(40001);
	struct store *store = open_leader();
	struct error err = { 0 };
	unsigned made = 0;
	int result = 0;

	(void)state;
	mysqld_kill(mysql_server);
	mysqld_again(mysql_server, small);
	admin("DROP TABLE ddl_pipeline, ddl_pipeline_shard, ddl_history, ddl_lock, ddl_store");
	store_close(store);
	store = open_leader();
	memset(definition, 'd', 40000);
	definition[40000] = '\0';
	for (size_t i = 0; i < 64; i++) {
		many[i] = (struct change_shard){ .definition_before = definition };
		snprintf(many[i].name, sizeof(many[i].name), "%02zx-", i);
	}
	for (; result == 0 && made < 100; made += result == 0) {
		char table[16];
		struct change change;

		snprintf(table, sizeof(table), "t%u", made);
		change = change_of(made + 1, table);
		change.shards = many;
		change.shard_count = 64;
		result = store_insert(store, &change, "", "", &err);
	}
	assert_true(result < 0);
	assert_int_equal(err.code, ERROR_STORE);
	if (!strstr(err.text, "full"))
		print_error("%s\n", err.text);
	assert_non_null(strstr(err.text, "full"));
	assert_true(made > 0);
	assert_int_equal(number("SELECT count(*) FROM ddl_pipeline"), made);
	assert_int_equal(number("SELECT count(*) FROM ddl_pipeline_shard"), 64 * made);
	assert_int_equal(number("SELECT count(*) FROM ddl_history"), made);
	store_close(store);
	test_free(definition);
	mysqld_kill(mysql_server);
	mysqld_again(mysql_server, larger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_server_that_was_killed_is_missed_and_found_again),
		ROW(test_an_idle_connection_that_was_ended_is_not_noticed),
		ROW(test_a_server_that_stands_still_is_waited_for_only_so_long),
		ROW(test_a_read_only_server_is_down_for_writes),
		ROW(test_a_locked_change_delays_none_of_the_others),
		ROW(test_a_deadlock_is_tried_again_one_by_one),
		ROW(test_who_stands_still_in_a_transaction_is_thrown_out),
		ROW(test_a_write_that_is_cut_anywhere_is_done_or_not),
		ROW(test_what_the_server_refuses_between_two_rows_has_its_number),
		ROW(test_a_server_that_dies_between_two_rows_is_lost_and_refused_nothing),
		ROW(test_a_full_disk_is_named_and_nothing_is_half_written),
	};

	return run_on_every_server(tests);
}
