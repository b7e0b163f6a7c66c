/* Goal: what a call costs does not grow with the changes that have ended.
 * Method: 900 old changes, and the server's own count of the rows that it read for each call. */
#include "store_mysql_fixture.h"

#define OLD 900
#define ROWS_MAX 120 /* for the few that are asked for; a walk over the old ones takes 900 */

static int64_t status_sum(struct store *store, const char *sql)
{
	struct connection *connection = connection_of(store);
	int64_t sum = 0;

	assert_ok(connection_run(connection, sql, NULL, 0, err));
	while (connection_next(connection, NULL) == 1)
		sum += strtoll(connection_column(connection, 1)->text, NULL, 10);
	return sum;
}

/* Rows that the session of @store has read so far, through whatever index. */
static int64_t rows_read(struct store *store)
{
	return status_sum(store, "SHOW SESSION STATUS LIKE 'Handler_read%'");
}

static int64_t bytes_moved(struct store *store)
{
	return status_sum(store,
			  "SHOW SESSION STATUS WHERE Variable_name IN ('Bytes_received', 'Bytes_sent')");
}

#define QUICK(call)                                                                                          \
	do {                                                                                                 \
		int64_t before = rows_read(store), after;                                                    \
		assert_ok(call);                                                                             \
		after = rows_read(store);                                                                    \
		if (after - before > ROWS_MAX)                                                               \
			print_error("%lld rows: %s\n", (long long)(after - before), #call);                  \
		assert_true(after - before <= ROWS_MAX);                                                     \
	} while (0)

static void make_old(void)
{
	admin("INSERT INTO ddl_pipeline (cluster, keyspace_name, table_name, ddl, ddl_sha256, uuid, context,"
	      " generation, strategy, phase, holds_table, epoch, revision, rule, reason, gate, cancel_asked, adopted,"
	      " last_effect, attempts, next_attempt_at_ms, in_flight_until_ms, created_at_ms, updated_at_ms,"
	      " deadline_at_ms, created_by, shard_count)"
	      " WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 900)"
	      " SELECT 'default', 'commerce', 'corder', 'x', LPAD(n, 64, '0'), CONCAT(LPAD(n, 8, '0'), '_0000_8000_8000_000000000001'),"
	      " CONCAT('old-', n), 1, '', CASE WHEN n % 2 = 0 THEN 'verified' ELSE 'cancelled' END, NULL, 1, 1, 0, '',"
	      " 'auto', 0, 0, 'none', 0, 0, 0, 0, n, 0, '', 1 FROM numbers");
	admin("INSERT INTO ddl_history (change_id, at_ms, actor, to_phase, rule, reason, evidence)"
	      " SELECT id, 0, '', 'verified', 0, '', '' FROM ddl_pipeline");
	admin("INSERT INTO ddl_pipeline_shard SELECT id, '0', '', 0, NULL, NULL FROM ddl_pipeline");
	assert_int_equal(number("SELECT count(*) FROM ddl_pipeline"), OLD);
	admin("ANALYZE TABLE ddl_pipeline, ddl_pipeline_shard, ddl_history, ddl_lock");
}

static void test_many_finished_changes_slow_nothing(void **state)
{
	struct store *store = open_leader();
	struct change change, again, *changes;
	struct history_entry *entries;
	struct lease lease;
	struct live live;
	size_t count;

	(void)state;
	make_old();
	change = change_of(1000000, "corder");
	QUICK(store_insert(store, &change, "", "", err));
	QUICK(store_load(store, CLUSTER, change.uuid, &arena, &again, err));
	QUICK(move(store, &again, PHASE_FAILED, err));
	QUICK(store_history(store, CLUSTER, change.uuid, &arena, &entries, &count, err));
	assert_int_equal(count, 2);
	again = fixture_change(1000000, "corder", 2, shards);
	again.epoch = epoch;
	QUICK(store_insert(store, &again, "", "", err));
	QUICK(store_lease(store, SCOPE, OWNER, LEASE_MS, &lease, err));
	QUICK(store_live(store, CLUSTER, OLD + 1, &arena, &live, err));
	assert_int_equal(live.change_count, 1);
	QUICK(store_live(store, CLUSTER, OLD - 9, &arena, &live, err));
	assert_int_equal(live.change_count, 6);
	for (unsigned bits = 0; bits < 16; bits++) {
		const struct store_filter filter = { .cluster = CLUSTER,
						     .keyspace = bits & 1 ? "commerce" : NULL,
						     .table = bits & 2 ? "corder" : NULL,
						     .ddl_sha256 = bits & 4 ? change.ddl_sha256 : NULL,
						     .uuid_or_context = bits & 8 ? change.context : NULL };
		struct store_filter live_filter = filter, ten = filter;

		live_filter.live_only = true;
		ten.limit = 10;
		QUICK(store_list(store, &live_filter, &arena, &changes, &count, err));
		QUICK(store_list(store, &ten, &arena, &changes, &count, err));
		if (bits & (4 | 8))
			QUICK(store_list(store, &filter, &arena, &changes, &count, err));
	}
	QUICK(store_list(store,
			 &(struct store_filter){ .cluster = CLUSTER, .keyspace = "customer", .limit = 10 },
			 &arena, &changes, &count, err));
	QUICK(store_list(store,
			 &(struct store_filter){
				 .cluster = CLUSTER, .keyspace = "commerce", .table = "other", .limit = 10 },
			 &arena, &changes, &count, err));
	store_close(store);
}

/* Most writes change no shard: their definitions are neither sent nor fetched. */
static void test_a_write_sends_only_the_shards_that_changed(void **state)
{
	struct store *store = open_leader();
	struct change change, found;
	struct change_shard many[256];
	char definition[20001];
	int64_t bytes;

	(void)state;
	memset(definition, 'd', sizeof(definition) - 1);
	definition[sizeof(definition) - 1] = '\0';
	for (size_t i = 0; i < 256; i++) {
		many[i] = (struct change_shard){ .definition_before = definition };
		snprintf(many[i].name, sizeof(many[i].name), "%03zx-", i);
	}
	change = change_of(1, "t");
	change.shards = many;
	change.shard_count = 256;
	assert_ok(store_insert(store, &change, "", "", err));
	bytes = bytes_moved(store);
	assert_ok(move(store, &change, PHASE_SUBMITTED, err));
	/* 256 digests and names; the definitions are 5 million. */
	assert_true(bytes_moved(store) - bytes < 200000);
	many[7].definition_after = "after";
	many[9].primary.uid = 5;
	assert_ok(move(store, &change, PHASE_COMPLETING, err));
	found = load(store, change.uuid);
	assert_same_change(&found, &change);
	change.shard_count = 255;
	assert_ok(move(store, &change, PHASE_COMPLETED, err));
	found = load(store, change.uuid);
	assert_same_change(&found, &change);
	store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_many_finished_changes_slow_nothing),
		ROW(test_a_write_sends_only_the_shards_that_changed),
	};

	return run_on_every_server(tests);
}
