/*
 * One engine that serves 10,000 changes of 64 shards in 200 keyspaces, all held at a closed gate: what it asks
 * of vtctld and of the store, what it remembers, and that none of it grows. Virtual time; the answers of
 * vtctld come from templates, for the fleet model keeps far more of a row than this needs.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store_model.h"
#include "vtddl/engine.h"

#define SHARDS 64
static unsigned per_keyspace = 50;
#define WALL_MS 1790000000000
#define LATENCY_MS 20
#define MINUTE_MS 60000LL
#define CALLS_MAX 4096
#define ASSUMED_MAX 2048 /* bytes for a change: 8 for a shard, the names, the record's summary */

struct change_names {
	char keyspace[8], table[12], uuid[UUID_LENGTH + 1], context[40];
};

struct scale {
	unsigned keyspaces;
	struct change_names *names;
	int64_t now_ms; /* virtual */
	struct store_model *model;
	struct store *store;
	struct engine *engine;
	struct { struct request request; int64_t due_ms; } calls[CALLS_MAX]; /* a ring: all take equally long */
	size_t call_head, call_count;
	uint64_t rpcs[_VTCTLD_METHOD_MAX], rows, writes, leases, surveys, effects;
	int failed_change, failed_shard; /* one row that is not as the others; -1: none */
};

static char shard_names[SHARDS][8];
static uint8_t range_ends[SHARDS];

static int name_shards(void **state)
{
	(void)state;
	for (int i = 0; i < SHARDS; i++) {
		char from[4] = "", to[4] = "";

		if (i > 0)
			snprintf(from, sizeof(from), "%02x", i * 4);
		if (i < SHARDS - 1)
			snprintf(to, sizeof(to), "%02x", (i + 1) * 4);
		snprintf(shard_names[i], sizeof(shard_names[i]), "%s-%s", from, to);
		range_ends[i] = (uint8_t)((i + 1) * 4);
	}
	return 0;
}

/* ---- Names: change number n is in keyspace n / per_keyspace. ---- */

static void write_names(struct change_names *ret, unsigned number)
{
	snprintf(ret->keyspace, sizeof(ret->keyspace), "ks%03u", number / per_keyspace % 1000);
	snprintf(ret->table, sizeof(ret->table), "t%u", number);
	snprintf(ret->context, sizeof(ret->context), "ddl-scale-%016x-g1", number);
	/* spread, as digests are */
	snprintf(ret->uuid, sizeof(ret->uuid), "%08x_0000_8000_8000_%012x", number * 2654435761u, number);
}

static unsigned number_of(const char *uuid)
{
	return (unsigned)strtoul(uuid + 24, NULL, 16);
}

static unsigned keyspace_number(const char *name)
{
	return (unsigned)strtoul(name + 2, NULL, 10);
}

/* ---- vtctld, from templates. ---- */

static void answer_shards(struct arena *arena, struct vtctld_reply *reply)
{
	struct topo_shard *items = arena_array(arena, SHARDS, sizeof(*items));

	for (unsigned i = 0; i < SHARDS; i++)
		items[i] = (struct topo_shard){
			.name = shard_names[i], .has_primary = true, .primary = { "zone1", 100 + i }, .is_serving = true,
			.primary_term_start_s = 1000, .range_start = i ? &range_ends[i - 1] : NULL,
			.range_start_length = i > 0, .range_end = &range_ends[i], .range_end_length = i < SHARDS - 1,
		};
	reply->shards.items = items;
	reply->shards.count = SHARDS;
}

static void answer_tablets(struct arena *arena, const char *keyspace, struct vtctld_reply *reply)
{
	struct topo_tablet *items = arena_array(arena, SHARDS, sizeof(*items));

	for (unsigned i = 0; i < SHARDS; i++)
		items[i] = (struct topo_tablet){ .alias = { "zone1", 100 + i }, .keyspace = keyspace,
						 .shard = shard_names[i], .hostname = "vttablet", .type = TABLET_PRIMARY,
						 .start_s = 1000 };
	reply->tablets.items = items;
	reply->tablets.count = SHARDS;
}

static struct migration row_of(const struct scale *scale, unsigned number, unsigned shard)
{
	bool failed = (int)number == scale->failed_change && (int)shard == scale->failed_shard;
	const struct change_names *names = &scale->names[number];

	return (struct migration){
		.uuid = names->uuid, .keyspace = names->keyspace, .shard = shard_names[shard], .table = names->table,
		.statement = "alter table t add column c int",
		.options = "--postpone-completion --singleton-context", .context = names->context, .ddl_action = "alter",
		.message = failed ? "Duplicate entry '7' for key 'k'" : "", .stage = "", .artifacts = "",
		.special_plan = "", .status = failed ? MIGRATION_FAILED : MIGRATION_RUNNING,
		.postpone_completion = true, .ready_to_complete = !failed, .progress = 100, .eta_s = 0,
		.requested_at_s = 2000, .started_at_s = 2001, .reviewed_at_s = 2001,
		.liveness_s = (WALL_MS + scale->now_ms) / 1000, .tablet = { "zone1", 100 + shard },
	};
}

static void answer_rows(struct scale *scale, struct arena *arena, const struct vtctld_request *request,
			struct vtctld_reply *reply)
{
	unsigned first = keyspace_number(request->keyspace) * per_keyspace, count = per_keyspace;
	struct migration *items;

	if (request->uuid) {
		first = number_of(request->uuid);
		count = 1;
	} else if (request->limit) {
		unsigned skip = request->skip < count ? (unsigned)request->skip : count;

		first += skip;
		count -= skip;
		count = request->limit < count ? (unsigned)request->limit : count;
	}
	items = arena_array(arena, (size_t)count * SHARDS, sizeof(*items));
	for (unsigned i = 0; i < count; i++)
		for (unsigned shard = 0; shard < SHARDS; shard++)
			items[i * SHARDS + shard] = row_of(scale, first + i, shard);
	reply->migrations.items = items;
	reply->migrations.count = (size_t)count * SHARDS;
	scale->rows += reply->migrations.count;
}

static void answer_rpc(struct scale *scale, const struct request *request)
{
	struct reply reply = { .tag = request->tag, .kind = REQUEST_RPC };
	const struct vtctld_request *rpc = &request->rpc;

	reply.rpc = (struct vtctld_reply){ .tag = request->tag, .method = rpc->method, .outcome = VTCTLD_DONE, .text = "" };
	switch (rpc->method) {
	case VTCTLD_FIND_ALL_SHARDS:
		answer_shards(request->arena, &reply.rpc);
		break;
	case VTCTLD_GET_TABLETS:
		answer_tablets(request->arena, rpc->keyspace, &reply.rpc);
		break;
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		answer_rows(scale, request->arena, rpc, &reply.rpc);
		break;
	default:
		fail_msg("%s is asked and nothing moves", vtctld_method_name(rpc->method));
	}
	engine_reply(scale->engine, &reply);
}

/* ---- The store and the loop. ---- */

static int64_t clock_of(void *user)
{
	return WALL_MS + ((struct scale *)user)->now_ms;
}

static void call_store(struct scale *scale, const struct request *request)
{
	struct reply reply = { .tag = request->tag, .kind = request->kind };

	switch (request->kind) {
	case REQUEST_STORE_LEASE:
		scale->leases++;
		reply.result = store_lease(scale->store, request->scope, "scale:1:1", request->lease_ms, &reply.lease,
					   &reply.error);
		break;
	case REQUEST_STORE_LIVE:
		scale->surveys++;
		reply.result = store_live(scale->store, "default", request->cancelled_since_ms, request->arena, &reply.live,
					  &reply.error);
		break;
	case REQUEST_STORE_LIST:
		reply.result = store_list(scale->store, &request->filter, request->arena, &reply.changes,
					  &reply.change_count, &reply.error);
		break;
	case REQUEST_STORE_UPDATE:
		scale->writes++;
		reply.result = store_update(scale->store, request->change, &request->expect, request->entry, &reply.error);
		break;
	default:
		fail_msg("request %d and nothing moves", request->kind);
	}
	assert_true(reply.result >= 0);
	engine_reply(scale->engine, &reply);
}

static void take_requests(struct scale *scale)
{
	struct request request;

	while (engine_next(scale->engine, &request)) {
		size_t place = (scale->call_head + scale->call_count) % CALLS_MAX;

		if (request.kind != REQUEST_RPC) {
			call_store(scale, &request);
			continue;
		}
		assert_true(scale->call_count < CALLS_MAX);
		scale->rpcs[request.rpc.method]++;
		scale->effects += vtctld_method_is_effect(request.rpc.method);
		scale->calls[place].request = request;
		scale->calls[place].due_ms = scale->now_ms + LATENCY_MS;
		scale->call_count++;
	}
}

static void take_news(struct scale *scale)
{
	struct news news;

	while (engine_news(scale->engine, &news))
		;
}

static void run_until(struct scale *scale, int64_t until_ms)
{
	for (;;) {
		int64_t next_ms;

		take_requests(scale);
		take_news(scale);
		next_ms = engine_wake_ms(scale->engine);
		if (scale->call_count && scale->calls[scale->call_head].due_ms <= next_ms)
			next_ms = scale->calls[scale->call_head].due_ms;
		if (next_ms > until_ms)
			break;
		scale->now_ms = next_ms > scale->now_ms ? next_ms : scale->now_ms;
		engine_advance(scale->engine, scale->now_ms, WALL_MS + scale->now_ms);
		while (scale->call_count && scale->calls[scale->call_head].due_ms <= scale->now_ms) {
			size_t head = scale->call_head;

			scale->call_head = (head + 1) % CALLS_MAX;
			scale->call_count--;
			answer_rpc(scale, &scale->calls[head].request);
			take_requests(scale);
		}
	}
	scale->now_ms = until_ms;
	engine_advance(scale->engine, scale->now_ms, WALL_MS + scale->now_ms);
}

static uint64_t sweeps(const struct scale *scale)
{
	return engine_counters(scale->engine)->sweeps;
}

static void run_sweeps(struct scale *scale, uint64_t count)
{
	uint64_t end = sweeps(scale) + count;

	while (sweeps(scale) < end)
		run_until(scale, scale->now_ms + 1000);
	run_until(scale, scale->now_ms + 2 * LATENCY_MS); /* nothing is under way */
}

static void add_change(struct scale *scale, unsigned number, struct change_shard *shards)
{
	struct change change = {
		.cluster = "default", .ddl = "alter table t add column c int", .generation = 1,
		.strategy = "vitess --postpone-completion --singleton-context", .phase = PHASE_SUBMITTED,
		.gate = GATE_MANUAL, .last_effect = EFFECT_SUBMIT, .created_at_ms = WALL_MS, .updated_at_ms = WALL_MS,
		.deadline_at_ms = WALL_MS + 365 * 24 * 60 * MINUTE_MS, .created_by = "ci@host", .shards = shards,
		.shard_count = SHARDS,
	};
	char scope[SCOPE_MAX + 1];
	struct lease lease;
	struct error error;

	write_names(&scale->names[number], number);
	snprintf(change.keyspace, sizeof(change.keyspace), "%s", scale->names[number].keyspace);
	snprintf(change.table, sizeof(change.table), "%s", scale->names[number].table);
	snprintf(change.context, sizeof(change.context), "%s", scale->names[number].context);
	snprintf(change.uuid, sizeof(change.uuid), "%s", scale->names[number].uuid);
	snprintf(change.ddl_sha256, sizeof(change.ddl_sha256), "%064x", number);
	snprintf(change.reason, sizeof(change.reason), "every shard has the migration");
	snprintf(scope, sizeof(scope), "default/%s", change.keyspace);
	assert_int_equal(store_lease(scale->store, scope, "before", MINUTE_MS, &lease, &error), 0);
	change.epoch = lease.epoch;
	assert_int_equal(store_insert(scale->store, &change, "scale", "", &error), 0);
	store_release(scale->store, scope, "before");
}

static struct scale *scale_new(unsigned keyspaces)
{
	struct scale *scale = calloc(1, sizeof(*scale));
	struct change_shard shards[SHARDS] = { 0 };

	assert_non_null(scale);
	scale->keyspaces = keyspaces;
	scale->names = calloc((size_t)keyspaces * per_keyspace, sizeof(*scale->names));
	assert_non_null(scale->names);
	scale->now_ms = 1000000;
	scale->failed_change = scale->failed_shard = -1;
	scale->model = store_model_new("scale", clock_of, scale);
	store_model_open(scale->model, false, &scale->store);
	for (unsigned i = 0; i < SHARDS; i++) {
		snprintf(shards[i].name, sizeof(shards[i].name), "%s", shard_names[i]);
		shards[i].primary = (struct tablet_alias){ "zone1", 100 + i };
		shards[i].definition_before = "CREATE TABLE `t` (`id` bigint)";
	}
	qsort(shards, SHARDS, sizeof(*shards), (int (*)(const void *, const void *))strcmp);
	for (unsigned i = 0; i < keyspaces * per_keyspace; i++)
		add_change(scale, i, shards);
	return scale;
}

static void scale_start(struct scale *scale)
{
	struct engine_config config = { .cluster = "default", .actor = "scale", .owner = "scale:1:1",
					.poll_interval_ms = 15000, .read_timeout_ms = 5000, .effect_timeout_ms = 75000,
					.lease_ms = 30000, .seed = 7 };

	scale->engine = engine_new(&config, scale->now_ms, WALL_MS + scale->now_ms);
	engine_serve(scale->engine);
}

static void scale_free(struct scale *scale)
{
	engine_free(scale->engine);
	store_close(scale->store);
	store_model_free(scale->model);
	free(scale->names);
	free(scale);
}

static uint64_t rpcs(const struct scale *scale)
{
	uint64_t all = 0;

	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++)
		all += scale->rpcs[i];
	return all;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long total, resident;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld %ld", &total, &resident), 2);
	fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- Claims. ---- */

static void test_ten_thousand_held_changes_cost_little_and_nothing_is_written(void **state)
{
	struct scale *scale = scale_new(200);
	unsigned changes = scale->keyspaces * per_keyspace;
	size_t before = mallinfo2().uordblks, each;
	uint64_t asked, swept, writes;

	(void)state;
	scale_start(scale);
	run_until(scale, scale->now_ms + 3 * MINUTE_MS);
	each = (mallinfo2().uordblks - before) / changes;
	assert_int_equal(engine_residents(scale->engine), changes);
	assert_int_equal(engine_keyspaces(scale->engine), scale->keyspaces);
	for (size_t i = 0; i < changes; i++) {
		const struct resident_view *view = engine_resident(scale->engine, i);

		assert_true(view->leader);
		assert_int_equal(view->progress.shards_ready, SHARDS);
	}

	asked = rpcs(scale);
	swept = sweeps(scale);
	writes = scale->writes;
	scale->leases = scale->surveys = 0;
	run_sweeps(scale, 10 * scale->keyspaces);
	asked = rpcs(scale) - asked;
	swept = sweeps(scale) - swept;
	print_message("%u changes x %d shards in %u keyspaces: %zu bytes for each change; %.2f RPCs for each keyspace and "
		      "sweep, %.0f for all (one for each change: %u); %llu lease calls and %llu surveys in %llu sweeps\n",
		      changes, SHARDS, scale->keyspaces, each, (double)asked / (double)swept,
		      (double)asked * scale->keyspaces / (double)swept, changes, (unsigned long long)scale->leases,
		      (unsigned long long)scale->surveys, (unsigned long long)swept);
	assert_true(each <= ASSUMED_MAX);
	assert_true(asked <= 2 * swept); /* the rows, and the topology once a minute */
	assert_int_equal(scale->writes, writes);
	assert_int_equal(writes, 0);
	assert_int_equal(scale->effects, 0);

	/* one row of 640,000 fails: that one change is looked at, and written once */
	scale->failed_change = 4711;
	scale->failed_shard = 13;
	run_until(scale, scale->now_ms + 5 * MINUTE_MS);
	assert_int_equal(scale->writes, 1);
	assert_int_equal(scale->effects, 0);
	assert_int_equal(store_model_change(scale->model, "default", scale->names[4711].uuid)->phase, PHASE_FAILED);
	scale_free(scale);
}

static void test_a_thousand_sweeps_of_everything_leave_no_trace(void **state)
{
	struct scale *scale;
	size_t before, after;
	long resident;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* what is freed stays for a while, for the sanitizer to watch */
#endif
	scale = scale_new(5);
	scale_start(scale);
	run_sweeps(scale, 50 * scale->keyspaces);
	before = mallinfo2().uordblks;
	resident = resident_kib();
	run_sweeps(scale, 1000 * scale->keyspaces);
	after = mallinfo2().uordblks;
	print_message("1,000 sweeps over 250 changes, %llu rows: %zd bytes and %ld KiB of RSS more\n",
		      (unsigned long long)scale->rows, (ssize_t)after - (ssize_t)before, resident_kib() - resident);
	assert_true((ssize_t)after - (ssize_t)before < 16 * 1024);
	assert_true(resident_kib() - resident < 1024);
	assert_int_equal(scale->writes, 0);
	scale_free(scale);
}

/* 38,400 rows are more than one reply holds: they come in pages, and no change asks for its own. */
static void test_a_crowded_keyspace_is_seen_in_pages(void **state)
{
	struct scale *scale;
	uint64_t asked, swept;

	(void)state;
	per_keyspace = 600;
	scale = scale_new(1);
	scale_start(scale);
	run_until(scale, scale->now_ms + 3 * MINUTE_MS);
	for (size_t i = 0; i < per_keyspace; i++)
		assert_int_equal(engine_resident(scale->engine, i)->progress.shards_ready, SHARDS);
	asked = rpcs(scale);
	swept = sweeps(scale);
	run_sweeps(scale, 10);
	asked = rpcs(scale) - asked;
	swept = sweeps(scale) - swept;
	print_message("600 changes x %d shards in one keyspace: %.2f RPCs for each sweep\n", SHARDS,
		      (double)asked / (double)swept);
	assert_true(asked <= 4 * swept); /* three pages, and the topology once a minute */
	scale_free(scale);
	per_keyspace = 50;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_crowded_keyspace_is_seen_in_pages),
		cmocka_unit_test(test_ten_thousand_held_changes_cost_little_and_nothing_is_written),
		cmocka_unit_test(test_a_thousand_sweeps_of_everything_leave_no_trace),
	};

	return cmocka_run_group_tests(tests, name_shards, NULL);
}
