/* Goal: no call gets slower because many changes have ended, and a batch is one transaction.
 * Method: SQLite's own counters (steps of its machine, of scans, sorts), and its plans; no clock. */
#include "store_sqlite_fixture.h"

#define HISTORY "500"
/* A walk over the 500 old changes takes thousands of steps of SQLite's machine. */
#define STEPS_MAX 1500

static struct counts {
	unsigned statements, scanned, sorted, slow;
	unsigned commits;
	long steps;
} counts;
static bool may_sort, may_take_long;

/* Every text that was run, for its plan. */
static char *texts[128];
static size_t text_count;

static void note_text(const char *sql)
{
	for (size_t i = 0; i < text_count; i++)
		if (strcmp(texts[i], sql) == 0)
			return;
	assert_true(text_count < sizeof(texts) / sizeof(texts[0]));
	texts[text_count++] = strdup(sql);
}

/* Called at the end of every statement of the store. */
static int on_profile(unsigned type, void *context, void *stmt, void *nanoseconds)
{
	int scans = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
	int sorts = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_SORT, 1);
	int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);

	(void)type, (void)context, (void)nanoseconds;
	note_text(sqlite3_sql(stmt));
	counts.statements++;
	counts.steps += steps;
	counts.commits += strcmp(sqlite3_sql(stmt), "COMMIT") == 0;
	if (steps > STEPS_MAX && !may_take_long) {
		print_error("too long: %s\n", sqlite3_sql(stmt));
		counts.slow++;
	}
	if (scans > 0) {
		print_error("%d steps of a scan: %s\n", scans, sqlite3_sql(stmt));
		counts.scanned++;
	}
	if (sorts > 0 && !may_sort) {
		print_error("a sort: %s\n", sqlite3_sql(stmt));
		counts.sorted++;
	}
	return 0;
}

static void watch(struct store *store)
{
	counts = (struct counts){ 0 };
	may_sort = may_take_long = false;
	sqlite3_trace_v2(sqlite_store_of(store)->db, SQLITE_TRACE_PROFILE, on_profile, NULL);
}

/* No table of ours is ever walked through, whatever the planner knows of it. */
static void assert_plans_search(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < text_count; i++) {
		sqlite3_stmt *plan = NULL;
		char *sql;

		assert_true(asprintf(&sql, "EXPLAIN QUERY PLAN %s", texts[i]) > 0);
		if (sqlite3_prepare_v2(db, sql, -1, &plan, NULL) != SQLITE_OK)
			fail_msg("%s: %s", sql, sqlite3_errmsg(db));
		while (sqlite3_step(plan) == SQLITE_ROW) {
			const char *line = (const char *)sqlite3_column_text(plan, 3);

			if (strstr(line, "SCAN ddl_"))
				fail_msg("%s: %s", line, texts[i]);
		}
		sqlite3_finalize(plan);
		free(sql);
		free(texts[i]);
	}
	sqlite3_close(db);
	text_count = 0;
}

static void assert_quick(void)
{
	assert_int_equal(counts.scanned, 0);
	assert_int_equal(counts.sorted, 0);
	assert_int_equal(counts.slow, 0);
	assert_plans_search();
}

/* Changes number @first + 1 to @first + 500 that ended; every tenth is cancelled, long ago. */
static void add_history(unsigned first)
{
	char sql[1200];

	snprintf(
		sql, sizeof(sql),
		"WITH RECURSIVE numbers (value) AS (SELECT 1 + %u UNION ALL SELECT value + 1 FROM numbers"
		" LIMIT " HISTORY ")"
		" INSERT INTO ddl_pipeline SELECT value + 1000, 'default', 'commerce', 'corder', 'x',"
		" printf('%%064x', value), printf('%%08x_0000_8000_8000_000000000001', value), printf('old-%%d', value), 1, '',"
		" iif(value %% 10, 'verified', 'cancelled'), 0, 1, 1, 0, '', 'auto', 0, 0, 'none', 0, 0, 0, 0, 7, 0,"
		" '', 1 FROM numbers;"
		" INSERT INTO ddl_history SELECT id * 10, id, 0, '', NULL, 'verified', 0, '', '' FROM ddl_pipeline"
		" WHERE id > %u + 1000;"
		" INSERT INTO ddl_pipeline_shard SELECT id, '0', '', 0, NULL, NULL FROM ddl_pipeline"
		" WHERE id > %u + 1000",
		first, first, first);
	run_sql(sql);
}

static void list_all_ways(struct store *store, const struct change *change)
{
	struct change *changes;
	size_t count;

	for (unsigned bits = 0; bits < 64; bits++) {
		const struct store_filter filter = { .cluster = CLUSTER,
						     .keyspace = bits & 1 ? "commerce" : NULL,
						     .table = bits & 2 ? "corder" : NULL,
						     .ddl_sha256 = bits & 4 ? change->ddl_sha256 : NULL,
						     .uuid_or_context = bits & 8 ? change->context : NULL,
						     .live_only = bits & 16,
						     .limit = bits & 32 ? 10 : 0 };

		/* By name or among the few live ones, the few that are found may be sorted. */
		may_sort = bits & (8 | 16);
		/* All changes were asked for, or those of a table in whatever keyspace. */
		may_take_long = !(bits & (4 | 8 | 16)) && (!(bits & 32) || (bits & 3) == 2);
		assert_ok(store_list(store, &filter, &arena, &changes, &count, err));
	}
	may_sort = may_take_long = false;
}

static void test_many_finished_changes_slow_nothing(void **state)
{
	struct store *store = open_store();
	struct change change = fixture_change(1, "corder", 1, shards), *changes, again;
	struct history_entry entry = { .from = PHASE_SUBMITTING, .to = PHASE_FAILED }, *entries;
	struct store_expect expect = { PHASE_SUBMITTING, 1, 0, 0 };
	struct live live;
	size_t count;

	(void)state;
	assert_ok(lease_at(store, SCOPE, "host:1:a", &expect.epoch, holder, err));
	change.epoch = expect.epoch;
	add_history(10000);
	watch(store);
	assert_ok(store_insert(store, &change, "", "", err));
	assert_ok(store_load(store, CLUSTER, change.uuid, &arena, &again, err));
	again.phase = PHASE_FAILED;
	assert_ok(store_update(store, &again, &expect, &entry, err));
	assert_ok(store_history(store, CLUSTER, change.uuid, &arena, &entries, &count, err));
	change = fixture_change(1, "corder", 2, shards);
	change.epoch = expect.epoch;
	assert_ok(store_insert(store, &change, "", "", err));
	assert_ok(lease_at(store, SCOPE, "host:1:a", &expect.epoch, holder, err));
	store_release(store, SCOPE, "host:1:a");
	assert_ok(lease_at(store, SCOPE, "host:1:a", &expect.epoch, holder, err));
	list_all_ways(store, &change);
	/* What is rare is found without a walk over all the others. */
	assert_ok(store_list(
		store, &(struct store_filter){ .cluster = CLUSTER, .keyspace = "customer", .limit = 10 },
		&arena, &changes, &count, err));
	assert_ok(store_list(
		store,
		&(struct store_filter){
			.cluster = CLUSTER, .keyspace = "commerce", .table = "other", .limit = 10 },
		&arena, &changes, &count, err));
	may_sort = true; /* of the few that are live */
	assert_ok(store_live(store, CLUSTER, 8, &arena, &live, err));
	assert_int_equal(live.change_count, 1);
	assert_true(counts.statements > 64);
	assert_quick();
	store_close(store);
}

/* Steps of the machine for what a controller does all day, beside @number. */
static long steps_of_a_day(struct store *store, unsigned number, int64_t epoch)
{
	struct change change = fixture_change(number, "corder", 1, shards), *changes;
	struct store_expect expect = { PHASE_SUBMITTING, 1, epoch, 0 };
	struct history_entry entry = { .from = PHASE_SUBMITTING, .to = PHASE_CANCELLED }, *entries;
	struct live live;
	size_t count;

	change.epoch = epoch;
	watch(store);
	may_sort = true;
	assert_ok(store_insert(store, &change, "", "", err));
	assert_ok(store_live(store, CLUSTER, 8, &arena, &live, err));
	assert_ok(store_list(store, &(struct store_filter){ .cluster = CLUSTER, .limit = 1 }, &arena,
			     &changes, &count, err));
	assert_ok(store_history(store, CLUSTER, change.uuid, &arena, &entries, &count, err));
	assert_ok(lease_at(store, SCOPE, "host:1:a", &epoch, holder, err));
	change.phase = PHASE_CANCELLED;
	change.updated_at_ms = 7;
	assert_ok(store_update(store, &change, &expect, &entry, err));
	assert_quick();
	return counts.steps;
}

static void test_the_cost_is_the_same_with_ten_times_the_history(void **state)
{
	struct store *store = open_store();
	int64_t epoch;
	long few, many;

	(void)state;
	assert_ok(lease_at(store, SCOPE, "host:1:a", &epoch, holder, err));
	add_history(10000);
	steps_of_a_day(store, 1, epoch); /* the first makes the statements */
	few = steps_of_a_day(store, 2, epoch);
	for (unsigned i = 1; i < 10; i++)
		add_history(10000 + i * 1000);
	many = steps_of_a_day(store, 3, epoch);
	assert_true(few > 100);
	assert_int_equal(many, few);
	store_close(store);
}

static size_t statements_made(struct store *store)
{
	size_t count = 0;

	for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(sqlite_store_of(store)->db, stmt)) != NULL;)
		count++;
	return count;
}

static void test_a_batch_is_one_commit_and_makes_no_statement_twice(void **state)
{
	enum { COUNT = 64 };
	struct store *store = open_store();
	struct change changes[COUNT];
	struct store_write writes[COUNT] = { 0 };
	size_t made = 0;
	int64_t epoch;

	(void)state;
	assert_ok(lease_at(store, SCOPE, "host:1:a", &epoch, holder, err));
	watch(store);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < COUNT; i++) {
			char table[16];

			snprintf(table, sizeof(table), "t%u-%u", round, i);
			changes[i] = fixture_change(round * COUNT + i, table, 1, shards);
			changes[i].epoch = epoch;
			writes[i] = (struct store_write){ .change = &changes[i] };
		}
		store_write(store, writes, COUNT);
		for (unsigned i = 0; i < COUNT; i++)
			assert_int_equal(writes[i].result, 0);
		assert_int_equal(counts.commits, round + 1);
		if (round == 1)
			assert_int_equal(statements_made(store), made);
		made = statements_made(store);
	}
	assert_quick();
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_many_finished_changes_slow_nothing),
		ROW(test_the_cost_is_the_same_with_ten_times_the_history),
		ROW(test_a_batch_is_one_commit_and_makes_no_statement_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
