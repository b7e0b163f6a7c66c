#include "vtctld_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/random.h>

#include "vtddl/clock.h"
#include "vtddl/identity.h"
#include "vtddl/observation.h"
#include "vtddl/wire.h"

#define CALL_MS 60000
#define ARRIVAL_MS 90000 /* Vitess looks after its migrations once a minute at worst */
#define POLL_MS 200
#define MADE_MAX 64

static struct contract {
	struct wire *wire;
	struct arena run;  /* lives as long as the suite */
	struct arena test; /* ... as one test */
	const char *keyspace;
	const char *stamp; /* of this run: part of every name */
	unsigned numbers;
	struct topo_shard *shards;
	size_t shard_count;
	const char *uuids[MADE_MAX], *tables[MADE_MAX];
	size_t uuid_count, table_count;
	uint64_t tag;
} contract;

/* ---- Opening ---- */

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "contract: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The topology must be the one that the caller named: a suite on the wrong server proves nothing. */
static void check_shards(const char *list)
{
	char *copy = arena_strdup(&contract.run, list), *rest = NULL;
	const char *names[SHARDS_MAX];
	size_t count = 0;

	for (char *name = strtok_r(copy, ",", &rest); name && count < SHARDS_MAX;
	     name = strtok_r(NULL, ",", &rest))
		names[count++] = name;
	qsort(names, count, sizeof(*names), name_compare);
	if (count == 0 || count != contract.shard_count)
		give_up("CONTRACT_SHARDS is not what the server has", list);
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], contract.shards[i].name) != 0)
			give_up("CONTRACT_SHARDS names a shard that the server does not have", names[i]);
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		give_up(name, "is not set");
	return value;
}

bool contract_open(void)
{
	struct wire_config config = { .server = getenv("CONTRACT_SERVER") };
	struct error error = { 0 };
	struct vtctld_reply reply;
	uint32_t chance;

	if (!config.server || !*config.server)
		return false;
	arena_init(&contract.run, 0);
	arena_init(&contract.test, 0);
	contract.keyspace = environment("CONTRACT_KEYSPACE");
	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		give_up("no random number", strerror(errno));
	contract.stamp = arena_printf(&contract.run, "%08x", chance);
	if (wire_open(&config, &contract.wire, &error) < 0)
		give_up("wire_open", error.text);
	reply = call((struct vtctld_request){ .method = VTCTLD_FIND_ALL_SHARDS });
	if (reply.outcome != VTCTLD_DONE)
		give_up(config.server, reply.text);
	contract.shards = reply.shards.items;
	contract.shard_count = reply.shards.count;
	check_shards(environment("CONTRACT_SHARDS"));
	contract.run = contract.test; /* the topology stays */
	arena_init(&contract.test, 0);
	return true;
}

void contract_close(void)
{
	contract.wire = wire_close(contract.wire);
	arena_release(&contract.test);
	arena_release(&contract.run);
}

/* ---- Names ---- */

const char *keyspace(void)
{
	return contract.keyspace;
}

size_t shard_count(void)
{
	return contract.shard_count;
}

const char *shard_name(size_t shard)
{
	return contract.shards[shard].name;
}

const struct topo_shard *shard_record(size_t shard)
{
	return &contract.shards[shard];
}

struct arena *arena(void)
{
	return &contract.test;
}

char *text(const char *format, ...)
{
	char buffer[4096];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(buffer, sizeof(buffer), format, arguments);
	va_end(arguments);
	assert_in_range(length, 0, sizeof(buffer) - 1);
	return arena_strdup(&contract.test, buffer);
}

const char *new_uuid(void)
{
	return text("%s_c0de_8000_8000_%012x", contract.stamp, ++contract.numbers);
}

const char *new_context(void)
{
	return text("contract-%s-%u", contract.stamp, ++contract.numbers);
}

const char *new_name(void)
{
	const char *name = text("ct%s_%u", contract.stamp, ++contract.numbers);

	assert_true(contract.table_count < MADE_MAX);
	contract.tables[contract.table_count++] = name;
	return name;
}

const char *new_table(void)
{
	const char *name = new_name();

	run_direct(text("create table %s " COLUMNS, name));
	return name;
}

/* ---- Calls ---- */

struct vtctld_reply call(struct vtctld_request request)
{
	struct vtctld_reply reply;

	request.tag = ++contract.tag;
	if (!request.keyspace)
		request.keyspace = contract.keyspace;
	if (request.timeout_ms == 0)
		request.timeout_ms = CALL_MS;
	wire_start(contract.wire, &request, &contract.test);
	if (!wire_next(contract.wire, clock_monotonic_ms() + request.timeout_ms + 10000, &reply))
		fail_msg("%s was never answered", vtctld_method_name(request.method));
	assert_int_equal(reply.tag, request.tag);
	return reply;
}

static void remember_uuid(const char *uuid)
{
	for (size_t i = 0; i < contract.uuid_count; i++)
		if (strcasecmp(contract.uuids[i], uuid) == 0)
			return;
	assert_true(contract.uuid_count < MADE_MAX);
	contract.uuids[contract.uuid_count++] = uuid;
}

struct vtctld_reply submit(const char *uuid, const char *context, const char *strategy, const char *sql)
{
	if (uuid_is_valid(uuid)) /* any other is refused, or another spelling of one that is */
		remember_uuid(uuid);
	return call((struct vtctld_request){ .method = VTCTLD_APPLY_SCHEMA,
					     .uuid = uuid,
					     .context = context,
					     .strategy = strategy,
					     .sql = sql });
}

struct vtctld_reply complete(const char *uuid)
{
	return call((struct vtctld_request){ .method = VTCTLD_COMPLETE, .uuid = uuid });
}

struct vtctld_reply cancel(const char *uuid)
{
	return call((struct vtctld_request){ .method = VTCTLD_CANCEL, .uuid = uuid });
}

struct vtctld_reply control(const char *uuid, const char *verb, const char *shard)
{
	return call((struct vtctld_request){
		.method = VTCTLD_APPLY_SCHEMA,
		.uuid = new_uuid(),
		.context = new_context(),
		.strategy = HELD,
		.sql = text("alter vitess_migration '%s' %s vitess_shards '%s'", uuid, verb, shard) });
}

const char *hold(const char *context, const char *sql)
{
	const char *uuid = new_uuid();

	assert_counts(submit(uuid, context, HELD, sql), 1);
	return uuid;
}

void run_direct(const char *sql)
{
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_APPLY_SCHEMA,
								  .uuid = new_uuid(),
								  .context = new_context(),
								  .strategy = "direct",
								  .sql = sql });

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("%s: %s", sql, reply.text);
}

/* ---- Looking ---- */

static struct vtctld_reply read_rows(const char *uuid)
{
	struct vtctld_reply reply =
		call((struct vtctld_request){ .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .uuid = uuid });

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("GetSchemaMigrations of %s: %s", uuid, reply.text);
	return reply;
}

/* By shard, or NULL unless every shard has exactly one. */
static struct migration *sort_rows(struct vtctld_reply reply)
{
	struct migration *sorted = arena_array(&contract.test, contract.shard_count, sizeof(*sorted));
	size_t found = 0;

	for (size_t i = 0; i < contract.shard_count; i++)
		for (size_t r = 0; r < reply.migrations.count; r++)
			if (strcmp(reply.migrations.items[r].shard, shard_name(i)) == 0) {
				sorted[i] = reply.migrations.items[r];
				found++;
				break;
			}
	return found == contract.shard_count && reply.migrations.count == found ? sorted : NULL;
}

const struct migration *rows(const char *uuid)
{
	struct vtctld_reply reply = read_rows(uuid);
	const struct migration *sorted = sort_rows(reply);

	if (!sorted)
		fail_msg("%s has %zu rows on %zu shards, not one each", uuid, reply.migrations.count,
			 contract.shard_count);
	return sorted;
}

static void fail_with_rows(const char *uuid, struct vtctld_reply reply)
{
	for (size_t i = 0; i < reply.migrations.count; i++) {
		const struct migration *m = &reply.migrations.items[i];

		print_error(
			"%s: %s, held %d, ready %d, immediate %d, reviewed %d, started %lld, progress %g, "
			"retries %lld, stage \"%s\", message \"%.300s\", %s\n",
			m->shard, migration_status_name(m->status), m->postpone_completion,
			m->ready_to_complete, m->is_immediate_operation, m->reviewed_at_s != 0,
			(long long)m->started_at_s, m->progress, (long long)m->retries, m->stage, m->message,
			m->statement);
	}
	fail_msg("%s did not become so within %d s", uuid, ARRIVAL_MS / 1000);
}

static void wait_a_little(void)
{
	struct vtctld_reply none;

	assert_false(wire_next(contract.wire, clock_monotonic_ms() + POLL_MS, &none));
}

/* @is must hold for the shards [first, end). */
static const struct migration *await_range(const char *uuid, row_is *is, size_t first, size_t end)
{
	int64_t until_ms = clock_monotonic_ms() + ARRIVAL_MS;
	const struct migration *sorted;
	struct vtctld_reply reply;
	size_t i;

	for (;; wait_a_little()) {
		reply = read_rows(uuid);
		sorted = sort_rows(reply);
		for (i = first; sorted && i < end && is(&sorted[i]);)
			i++;
		if (sorted && i == end)
			return sorted;
		if (clock_monotonic_ms() > until_ms)
			fail_with_rows(uuid, reply);
	}
}

const struct migration *await_rows(const char *uuid, row_is *is)
{
	return await_range(uuid, is, 0, contract.shard_count);
}

const struct migration *await_first(const char *uuid, row_is *is)
{
	return await_range(uuid, is, 0, 1);
}

const struct migration *await_others(const char *uuid, row_is *is)
{
	return await_range(uuid, is, 1, contract.shard_count);
}

void assert_no_row(const char *uuid)
{
	assert_int_equal(read_rows(uuid).migrations.count, 0);
}

/* RUNNING for an ALTER, QUEUED for what is done at once. */
bool is_held(const struct migration *row)
{
	bool waits = row->is_immediate_operation
			     ? row->status == MIGRATION_QUEUED && row->reviewed_at_s != 0
			     : row->status == MIGRATION_RUNNING && row->liveness_s >= row->started_at_s &&
				       row->progress == 100;

	return waits && row->postpone_completion && row->ready_to_complete;
}

bool is_ready(const struct migration *row)
{
	return row->status == MIGRATION_READY;
}

bool is_complete(const struct migration *row)
{
	return row->status == MIGRATION_COMPLETE;
}

bool is_failed(const struct migration *row)
{
	return row->status == MIGRATION_FAILED && *row->message;
}

bool is_cancelled(const struct migration *row)
{
	return row->status == MIGRATION_CANCELLED && *row->message;
}

const char *definition(size_t shard, const char *table)
{
	struct vtctld_reply reply = call((struct vtctld_request){
		.method = VTCTLD_GET_SCHEMA, .tablet = shard_record(shard)->primary, .table = table });

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("GetSchema of %s on %s: %s", table, shard_name(shard), reply.text);
	assert_in_range(reply.definitions.count, 0, 1);
	if (reply.definitions.count == 0)
		return NULL;
	assert_string_equal(reply.definitions.items[0].name, table);
	return reply.definitions.items[0].schema;
}

void assert_defined(const char *table, const char *fragment)
{
	for (size_t i = 0; i < contract.shard_count; i++) {
		const char *found = definition(i, table);

		if (!found)
			fail_msg("%s does not exist on %s", table, shard_name(i));
		if (fragment)
			assert_says(found, fragment);
	}
}

void assert_undefined(const char *table, const char *fragment)
{
	for (size_t i = 0; i < contract.shard_count; i++) {
		const char *found = definition(i, table);

		if (found && (!fragment || strstr(found, fragment)))
			fail_msg("%s has on %s: %s", table, shard_name(i), found);
	}
}

/* ---- Claims ---- */

void assert_counts_on(struct vtctld_reply reply, uint64_t first, uint64_t others)
{
	if (reply.outcome != VTCTLD_DONE)
		fail_msg("%s: code %d: %s", vtctld_method_name(reply.method), reply.code, reply.text);
	assert_int_equal(reply.effect.count, contract.shard_count);
	for (size_t i = 0; i < contract.shard_count; i++) {
		assert_string_equal(reply.effect.counts[i].shard, shard_name(i));
		assert_int_equal(reply.effect.counts[i].rows, i == 0 ? first : others);
	}
}

void assert_counts(struct vtctld_reply reply, uint64_t rows)
{
	assert_counts_on(reply, rows, rows);
}

void assert_refused(struct vtctld_reply reply, const char *fragment)
{
	if (reply.code != 2)
		fail_msg("%s: code %d and not 2: %s", vtctld_method_name(reply.method), reply.code,
			 reply.text);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_says(reply.text, fragment);
}

void assert_says(const char *text, const char *fragment)
{
	if (!text || !strstr(text, fragment))
		fail_msg("\"%s\" is not in: %s", fragment, text ? text : "(nothing)");
}

static void assert_near(const char *what, int64_t a_s, int64_t b_s)
{
	if ((a_s == 0) != (b_s == 0) || a_s > b_s + 1 || b_s > a_s + 1)
		fail_msg("%s: %lld and %lld", what, (long long)a_s, (long long)b_s);
}

void assert_same_row(const struct migration *a, const struct migration *b)
{
	assert_string_equal(a->uuid, b->uuid);
	assert_string_equal(a->keyspace, b->keyspace);
	assert_string_equal(a->shard, b->shard);
	assert_string_equal(a->table, b->table);
	assert_string_equal(a->statement, b->statement);
	assert_string_equal(a->options, b->options);
	assert_string_equal(a->context, b->context);
	assert_string_equal(a->ddl_action, b->ddl_action);
	assert_string_equal(a->message, b->message);
	assert_string_equal(a->stage, b->stage);
	assert_string_equal(a->artifacts, b->artifacts);
	assert_string_equal(a->special_plan, b->special_plan);
	assert_int_equal(a->strategy, b->strategy);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->postpone_completion, b->postpone_completion);
	assert_int_equal(a->postpone_launch, b->postpone_launch);
	assert_int_equal(a->ready_to_complete, b->ready_to_complete);
	assert_int_equal(a->is_immediate_operation, b->is_immediate_operation);
	assert_int_equal(a->is_view, b->is_view);
	assert_int_equal(a->retries, b->retries);
	assert_int_equal(a->eta_s, b->eta_s);
	assert_int_equal(a->rows_copied, b->rows_copied);
	assert_int_equal(a->table_rows, b->table_rows);
	assert_int_equal(a->cutover_attempts, b->cutover_attempts);
	/* of a live one Vitess writes it a moment behind the rest */
	assert_true(migration_is_live(a) ? a->progress <= b->progress : a->progress == b->progress);
	assert_true(tablet_alias_equal(&a->tablet, &b->tablet));
	assert_near("requested", a->requested_at_s, b->requested_at_s);
	assert_near("started", a->started_at_s, b->started_at_s);
	assert_near("liveness", a->liveness_s, b->liveness_s);
	assert_near("completed", a->completed_at_s, b->completed_at_s);
	assert_near("reviewed", a->reviewed_at_s, b->reviewed_at_s);
	assert_near("ready to complete", a->ready_to_complete_at_s, b->ready_to_complete_at_s);
}

/* ---- Around a test ---- */

static size_t live_rows(const char *uuid)
{
	struct vtctld_reply reply = call((struct vtctld_request){
		.method = VTCTLD_GET_SCHEMA_MIGRATIONS, .uuid = uuid, .limit = uuid ? 0 : 100 });
	size_t live = 0;

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("GetSchemaMigrations: %s", reply.text);
	for (size_t i = 0; i < reply.migrations.count; i++) {
		int status = reply.migrations.items[i].status;

		live += status == MIGRATION_QUEUED || status == MIGRATION_READY ||
			status == MIGRATION_RUNNING;
	}
	return live;
}

static void await_silence(const char *uuid)
{
	int64_t until_ms = clock_monotonic_ms() + ARRIVAL_MS;

	while (live_rows(uuid) > 0) {
		if (clock_monotonic_ms() > until_ms)
			fail_msg("something is still pending in %s", keyspace());
		wait_a_little();
	}
}

int contract_begin(void **state)
{
	(void)state;
	await_silence(NULL);
	return 0;
}

int contract_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < contract.uuid_count; i++) {
		(void)cancel(contract.uuids[i]);
		await_silence(contract.uuids[i]);
	}
	for (size_t i = 0; i < contract.table_count; i++) {
		/* In this order: MySQL refuses to drop a table as a view, and overlooks a view as a table. */
		run_direct(text("drop table if exists %s", contract.tables[i]));
		run_direct(text("drop view if exists %s", contract.tables[i]));
	}
	contract.uuid_count = contract.table_count = 0;
	arena_release(&contract.test);
	return 0;
}
