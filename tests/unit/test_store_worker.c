/* Goal: a store that is slow delays nothing but itself; its calls keep their order, writes share a commit,
 * and stopping does not begin what was not begun. Method: the shipped loop and worker between a store with a
 * gate (a call stays inside until the test opens it), a wire and an engine that are lists. Run it under
 * ThreadSanitizer as well. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/engine/store_worker.h"
#include "loop_stubs.h"
#include "vtddl/clock.h"
#include "vtddl/loop.h"

#define FOREVER (clock_monotonic_ms() + 20000)
#define CALLS_MAX 4096

/* ---- A store with a gate ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER; /* the gate, or the worker's news */
static bool gate_closed, inside;
static char calls[CALLS_MAX]; /* "list;write a1 a2;" */
static pthread_t store_thread;

static void note(const char *format, ...)
{
	va_list arguments;
	size_t length = strlen(calls);

	va_start(arguments, format);
	vsnprintf(calls + length, sizeof(calls) - length, format, arguments);
	va_end(arguments);
}

static void set_gate(bool closed)
{
	pthread_mutex_lock(&mutex);
	gate_closed = closed;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&mutex);
}

static void pass_gate(void)
{
	pthread_mutex_lock(&mutex);
	store_thread = pthread_self();
	inside = true;
	pthread_cond_broadcast(&moved);
	while (gate_closed)
		pthread_cond_wait(&moved, &mutex);
	inside = false;
	pthread_mutex_unlock(&mutex);
}

static void wait_until_inside(void)
{
	pthread_mutex_lock(&mutex);
	while (!inside)
		pthread_cond_wait(&moved, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* A change's table is its name here; a table "conflict" is one that somebody else wrote. */
static void fake_write(struct store *store, struct store_write *writes, size_t count)
{
	(void)store;
	note("write");
	for (size_t i = 0; i < count; i++) {
		note(" %s", writes[i].change->table);
		if (!writes[i].expect)
			note("(%s,%s)", writes[i].actor, writes[i].evidence);
		writes[i].result = strcmp(writes[i].change->table, "conflict") == 0 ? STORE_CONFLICT : 0;
		if (strcmp(writes[i].change->table, "broken") == 0)
			writes[i].result = error_set(&writes[i].error, ERROR_STORE, "the disk is full");
		writes[i].change->revision += writes[i].result == 0;
	}
	note(";");
	pass_gate();
}

static struct change change_of(const char *table)
{
	struct change change = { .cluster = "c",
				 .keyspace = "commerce",
				 .uuid = "9748c3b7_7fdb_81eb_8c2c_f875a4d24e90",
				 .context = "ddl-commerce-0123456789abcdef-g1",
				 .ddl = "alter table t add column a int",
				 .strategy = "vitess",
				 .generation = 1 };

	snprintf(change.table, sizeof(change.table), "%s", table);
	memset(change.ddl_sha256, 'a', 64);
	return change;
}

static int fake_list(struct store *store, const struct store_filter *filter, struct arena *arena,
		     struct change **ret, size_t *ret_count, struct error *reterr)
{
	(void)store;
	(void)reterr;
	note("list %s;", filter->keyspace);
	*ret = arena_array(arena, 2, sizeof(**ret)); /* while the test allocates too */
	pass_gate();
	(*ret)[0] = (*ret)[1] = change_of("t");
	(*ret)[1].ddl = arena_strdup(arena, "alter table t");
	*ret_count = 2;
	return 0;
}

static int fake_live(struct store *store, const char *cluster, int64_t since_ms, struct arena *arena,
		     struct live *ret, struct error *reterr)
{
	(void)store;
	(void)reterr;
	note("live %s %d;", cluster, (int)since_ms);
	pass_gate();
	ret->changes = arena_array(arena, 1, sizeof(*ret->changes));
	ret->changes[0] = (struct live_change){ .keyspace = arena_strdup(arena, "commerce"), .table = "t", .reason = "",
						.uuid = "9748c3b7_7fdb_81eb_8c2c_f875a4d24e90" };
	ret->change_count = 1;
	return 0;
}

static int fake_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms,
		      struct lease *ret, struct error *reterr)
{
	(void)store;
	(void)reterr;
	note("lease %s %s %d;", scope, owner, (int)for_ms);
	pass_gate();
	ret->epoch = 7;
	return STORE_HELD;
}

static void fake_release(struct store *store, const char *scope, const char *owner)
{
	(void)store;
	note("release %s %s;", scope, owner);
	pass_gate();
}

static const struct store_ops fake_ops = {
	.write = fake_write,
	.list = fake_list,
	.live = fake_live,
	.lease = fake_lease,
	.release = fake_release,
};
static char fake_url[] = "fake:";
static struct store store = { &fake_ops, fake_url };

/* ---- One worker, or one loop, for each test ---- */

static struct arena arena;
static struct change changes[STUB_ITEMS_MAX];
static size_t change_count;
static struct store_worker *worker;
static struct loop *loop;
static atomic_uint wakes;

static void on_wake(void *user)
{
	(void)user;
	wakes++;
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&mutex);
}

static const struct store_worker_config worker_config = {
	.store = &store, .cluster = "c", .owner = "host:1:a", .actor = "me", .wake = on_wake
};

static int reset(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	set_gate(false);
	memset(calls, 0, sizeof(calls));
	memset(changes, 0, sizeof(changes));
	change_count = 0;
	stubs_reset();
	return 0;
}

static int clear(void **state)
{
	(void)state;
	set_gate(false);
	worker = store_worker_free(worker);
	loop = loop_free(loop);
	arena_release(&arena);
	return 0;
}

static struct change *new_change(const char *table)
{
	changes[change_count] = change_of(table);
	return &changes[change_count++];
}

static struct request update(uint64_t tag, const char *table)
{
	return (struct request){ .kind = REQUEST_STORE_UPDATE, .tag = tag, .change = new_change(table) };
}

static struct request list_of(uint64_t tag, const char *keyspace)
{
	return (struct request){ .kind = REQUEST_STORE_LIST,
				 .tag = tag,
				 .arena = &arena,
				 .filter = { .cluster = "c", .keyspace = keyspace } };
}

static void give(struct request request)
{
	store_worker_give(worker, &request);
}

static struct reply take(void)
{
	struct reply reply = { 0 };

	while (!store_worker_take(worker, &reply)) {
		struct timespec soon;

		pthread_mutex_lock(&mutex);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec += 1;
		pthread_cond_timedwait(&moved, &mutex, &soon);
		pthread_mutex_unlock(&mutex);
	}
	return reply;
}

/* The thread is inside a call, so that what is given now queues up. */
static void occupy(void)
{
	set_gate(true);
	give(list_of(1, "busy"));
	wait_until_inside();
	calls[0] = '\0';
}

/* ---- Order and batches ---- */

static void test_writes_that_queue_up_are_one_commit_and_keep_their_order(void **state)
{
	static const char expected[] = "write a1 a2 b1(me,seen) a3;list x;write a4;";
	struct request insert;

	(void)state;
	worker = store_worker_new(&worker_config);
	occupy();
	give(update(2, "a1"));
	give(update(3, "a2"));
	insert = update(4, "b1");
	insert.kind = REQUEST_STORE_INSERT;
	insert.evidence = "seen";
	give(insert);
	give(update(5, "a3"));
	give(list_of(6, "x"));
	give(update(7, "a4"));
	set_gate(false);
	for (uint64_t tag = 1; tag <= 7; tag++)
		assert_int_equal(take().tag, tag);
	assert_string_equal(calls, expected);
	for (size_t i = 0; i < change_count; i++)
		assert_int_equal(changes[i].revision, 1);
}

static void test_a_batch_is_bounded(void **state)
{
	unsigned writes[4] = { 0 }, batches = 0;

	(void)state;
	worker = store_worker_new(&worker_config);
	occupy();
	for (unsigned i = 0; i < 2 * STORE_BATCH_MAX + 88; i++)
		give(update(i + 2, "t"));
	set_gate(false);
	for (unsigned i = 0; i < 1 + 2 * STORE_BATCH_MAX + 88; i++)
		assert_int_equal(take().tag, i + 1);
	for (char *at = calls; *at; at++) {
		assert_true(batches < 4);
		writes[batches] += *at == 't' && at[-1] == ' ';
		batches += *at == ';';
	}
	assert_int_equal(batches, 3);
	assert_int_equal(writes[0], STORE_BATCH_MAX);
	assert_int_equal(writes[1], STORE_BATCH_MAX);
	assert_int_equal(writes[2], 88);
}

static void test_a_write_is_not_kept_back_for_a_batch(void **state)
{
	(void)state;
	worker = store_worker_new(&worker_config);
	give(update(1, "alone"));
	assert_int_equal(take().tag, 1);
	assert_string_equal(calls, "write alone;");
}

static void test_each_write_of_a_batch_has_its_own_result(void **state)
{
	struct reply reply;

	(void)state;
	worker = store_worker_new(&worker_config);
	occupy();
	give(update(2, "good"));
	give(update(3, "conflict"));
	give(update(4, "broken"));
	give(update(5, "good"));
	set_gate(false);
	take();
	assert_int_equal(take().result, 0);
	assert_int_equal(take().result, STORE_CONFLICT);
	reply = take();
	assert_true(reply.result < 0);
	assert_int_equal(reply.error.code, ERROR_STORE);
	assert_string_equal(reply.error.text, "the disk is full");
	assert_int_equal(take().result, 0);
}

/* ---- Memory ---- */

static void test_texts_may_go_and_the_arena_may_be_used_while_the_call_is_made(void **state)
{
	struct request lease = { .kind = REQUEST_STORE_LEASE, .tag = 2, .lease_ms = 30000 };
	char scope[] = "c/commerce", keyspace[] = "first";
	struct reply list, leased;

	(void)state;
	worker = store_worker_new(&worker_config);
	set_gate(true);
	give(list_of(1, keyspace));
	lease.scope = scope;
	give(lease);
	memset(scope, 'x', sizeof(scope) - 1);
	memset(keyspace, 'x', sizeof(keyspace) - 1);
	for (unsigned i = 0; i < 1000; i++) /* beside the thread, which allocates as well */
		arena_strdup(&arena, "ours");
	set_gate(false);
	list = take();
	arena_strdup(&arena, "ours");
	leased = take();
	assert_string_equal(calls, "list first;lease c/commerce host:1:a 30000;");
	assert_int_equal(list.change_count, 2);
	assert_string_equal(list.changes[1].ddl, "alter table t");
	assert_int_equal(leased.result, STORE_HELD);
	assert_int_equal(leased.lease.epoch, 7);
}

static void test_a_survey_and_a_release_are_calls_of_their_own(void **state)
{
	struct reply reply;

	(void)state;
	worker = store_worker_new(&worker_config);
	give((struct request){
		.kind = REQUEST_STORE_LIVE, .tag = 1, .arena = &arena, .cancelled_since_ms = 42 });
	give((struct request){ .kind = REQUEST_STORE_RELEASE, .tag = 2, .scope = "c/commerce" });
	reply = take();
	assert_int_equal(reply.live.change_count, 1);
	assert_string_equal(reply.live.changes[0].keyspace, "commerce");
	assert_int_equal(take().kind, REQUEST_STORE_RELEASE);
	assert_string_equal(calls, "live c 42;release c/commerce host:1:a;");
	assert_int_equal(wakes >= 2, true);
}

/* ---- Stopping ---- */

static void *open_late(void *unused)
{
	struct timespec nap = { .tv_nsec = 50 * 1000000L };

	nanosleep(&nap, NULL); /* by now the other thread waits in store_worker_free() */
	set_gate(false);
	return unused;
}

static void test_a_stop_ends_the_call_under_way_and_begins_no_other(void **state)
{
	pthread_t opener;

	(void)state;
	worker = store_worker_new(&worker_config);
	set_gate(true);
	give(update(1, "begun"));
	wait_until_inside();
	give(update(2, "never"));
	give(list_of(3, "never"));
	pthread_create(&opener, NULL, open_late, NULL);
	worker = store_worker_free(worker);
	pthread_join(opener, NULL);
	assert_string_equal(calls, "write begun;");
	assert_int_equal(changes[0].revision, 1);
	assert_int_equal(changes[1].revision, 0);
}

/* ---- The loop ---- */

static void start_loop(struct store *with)
{
	const struct loop_config config = { .store = with, .owner = "host:1:a", .actor = "me" };

	loop = loop_new(&config);
}

static void test_a_slow_store_delays_no_reply_of_vtctld(void **state)
{
	(void)state;
	start_loop(&store);
	set_gate(true);
	stub_ask(list_of(1, "slow"));
	for (unsigned i = 0; i < 3; i++) {
		stub_ask((struct request){
			.kind = REQUEST_RPC, .tag = 1000, .rpc.method = VTCTLD_GET_KEYSPACES });
		while (stub_reply_count <= i)
			loop_step(loop, FOREVER);
		assert_int_equal(stub_replies[i].kind, REQUEST_RPC);
	}
	wait_until_inside(); /* still: nobody opened the gate */
	set_gate(false);
	while (stub_reply_count < 4)
		loop_step(loop, FOREVER);
	assert_int_equal(stub_replies[3].kind, REQUEST_STORE_LIST);
	assert_int_equal(stub_replies[3].tag, 1);
	assert_false(pthread_equal(store_thread, pthread_self()));
}

static void test_an_answer_of_the_store_ends_the_step(void **state)
{
	(void)state;
	start_loop(&store);
	stub_ask(list_of(1, "x"));
	loop_step(loop, FOREVER);
	assert_int_equal(stub_reply_count, 1);
}

static void test_without_a_store_every_request_is_answered_at_once(void **state)
{
	static const struct {
		enum request_kind kind;
		int result;
	} cases[] = {
		{ REQUEST_STORE_LEASE, STORE_NOT_FOUND },
		{ REQUEST_STORE_RELEASE, 0 },
		{ REQUEST_STORE_LIVE, 0 },
		{ REQUEST_STORE_LIST, 0 },
		{ REQUEST_STORE_INSERT, STORE_NOT_FOUND },
		{ REQUEST_STORE_UPDATE, STORE_NOT_FOUND },
	};

	(void)state;
	start_loop(NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stub_ask((struct request){ .kind = cases[i].kind, .tag = i + 1 });
		loop_step(loop, FOREVER);
		assert_int_equal(stub_reply_count, i + 1);
		assert_int_equal(stub_replies[i].tag, i + 1);
		assert_int_equal(stub_replies[i].result, cases[i].result);
		assert_int_equal(stub_replies[i].change_count + stub_replies[i].live.change_count, 0);
	}
}

static void *wake_it(void *unused)
{
	loop_wake(loop);
	return unused;
}

static void test_another_thread_may_wake_it(void **state)
{
	int64_t until_ms = FOREVER;
	pthread_t thread;

	(void)state;
	start_loop(&store);
	pthread_create(&thread, NULL, wake_it, NULL);
	loop_step(loop, until_ms);
	pthread_join(thread, NULL);
	assert_true(clock_monotonic_ms() < until_ms);
	assert_int_equal(stub_reply_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, clear)
		TEST(test_writes_that_queue_up_are_one_commit_and_keep_their_order),
		TEST(test_a_batch_is_bounded),
		TEST(test_a_write_is_not_kept_back_for_a_batch),
		TEST(test_each_write_of_a_batch_has_its_own_result),
		TEST(test_texts_may_go_and_the_arena_may_be_used_while_the_call_is_made),
		TEST(test_a_survey_and_a_release_are_calls_of_their_own),
		TEST(test_a_stop_ends_the_call_under_way_and_begins_no_other),
		TEST(test_a_slow_store_delays_no_reply_of_vtctld),
		TEST(test_an_answer_of_the_store_ends_the_step),
		TEST(test_without_a_store_every_request_is_answered_at_once),
		TEST(test_another_thread_may_wake_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
