/*
 * The shipped engine with the shipped SQLite store on a disk that fails at random, by seed: one process at a time,
 * as a pipeline starts it again and again, while for eight virtual minutes operations of the disk fail, are half
 * done, find it full or locked; the process is killed at any of them, or power fails and unsynced writes are lost or
 * torn; the store is deleted, or an older copy takes its place; and calls to the fleet fail in every way
 * that it knows. Every invariant is checked at every step, and that nothing is lost that a process was told. Then
 * all is well again, and the same command must take the change to its end, once in effect.
 *
 *	test_storm_sqlite [FIRST [COUNT]]	seeds; of one that fails a line says how to run it again alone
 *
 * The same seed is the same run: of one seed in a hundred every message of two runs is compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim_disk.h"
#include "workers.h"

#define MINUTE_MS (60 * 1000LL)
#define STORM_MS (8 * MINUTE_MS)
#define COMMANDS_MAX 400

static const char *const shard_sets[][4] = { { "-" }, { "-80", "80-" }, { "-40", "40-80", "80-c0", "c0-" } };
static const size_t shard_counts[] = { 1, 2, 4 };
static const struct statement {
	const char *ddl, *table, *fragment;
} statements[] = {
	{ "alter table orders add column x int", "orders", "`x` int" },
	{ "create table notes (id bigint primary key)", "notes", "`id`" },
	{ "create view v as select id from orders", "v", "orders" },
};

/* Beside those of store_disk.h. */
enum strike {
	POWER_LOST_ALL,
	POWER_LOST_NONE,
	POWER_LOST_SOME,
	STORE_DELETED,
	STORE_SET_BACK,
	KILLED_BETWEEN,
	CALL_LOST_BEFORE,
	CALL_LOST_AFTER,
	CALL_PARTLY_DONE,
	CALL_DROPPED,
	CALL_LATE,
	READ_INCOMPLETE,
	_STRIKE_MAX
};
static const char *const strike_names[] = {
	"power lost, all that was not synced", "power lost, nothing else", "power lost, some or torn", "store deleted",
	"older store put back", "killed between", "call lost before", "call lost after",
	"call done on some shards", "call never answered", "call answered late", "read with a shard missing or twice",
};

static struct storm {
	struct sim *sim;
	uint64_t random, trace;
	const struct statement *statement;
	struct disk_copy *copy; /* an older one; NULL: none was made */
	const char *const *shards;
	size_t shard_count;
	bool calm;
	unsigned disk_strikes, disk_odds; /* one operation in so many */
	bool was_set_back, was_deleted;
} storm;

static struct results {
	unsigned ends[_PHASE_MAX], strikes[_STRIKE_MAX], fired[_DISK_OP_MAX][_DISK_FAULT_MAX];
	unsigned lives, commands, seeds, twice, taken_up;
	uint64_t now[WORKERS_MAX];
} *results;

static uint64_t first_seed = 1, seed_count = 300;
static unsigned worker_count;

static void count(unsigned *counter, unsigned more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

static unsigned chance(unsigned below)
{
	storm.random = storm.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)((storm.random >> 33) % below);
}

static void strike(enum strike which)
{
	count(&results->strikes[which], 1);
}

/* ---- The trace. ---- */

static void trace_number(int64_t number)
{
	storm.trace = (storm.trace ^ (uint64_t)number) * 1099511628211ULL;
	storm.trace ^= storm.trace >> 31;
}

static void trace_boundary(struct controller *controller, enum boundary_kind kind)
{
	const struct sim_held *held = controller->held;

	trace_number(storm.sim->now_ms);
	trace_number(kind);
	for (size_t i = 0; i < held->count; i++) {
		const struct request *request = &held->requests[i];
		bool before = kind == BOUNDARY_STORE_BEFORE || kind == BOUNDARY_RPC_BEFORE;

		trace_number(request->kind);
		trace_number(before ? (int64_t)request->rpc.method : held->replies[i].result);
		if (before && request->change) {
			trace_number(request->change->phase);
			trace_number(request->change->revision);
			trace_number(request->change->rule);
		}
		if (kind == BOUNDARY_RPC_AFTER)
			trace_number(held->replies[i].rpc.code);
		if (!before && held->replies[i].result < 0)
			trace_number(held->replies[i].error.detail);
	}
}

/* ---- The disk. ---- */

static enum disk_fault judge(enum disk_op op, void *user)
{
	enum disk_fault fault;

	(void)user;
	if (storm.calm || chance(storm.disk_odds))
		return DISK_WELL;
	fault = (enum disk_fault)(1 + chance(_DISK_FAULT_MAX - 1));
	if (!disk_fault_fits(fault, op))
		return DISK_WELL;
	trace_number(op);
	trace_number(fault);
	storm.disk_strikes++;
	return fault;
}

static void lose_power(struct sim *sim)
{
	enum disk_loss loss = (enum disk_loss)chance(_DISK_LOSS_MAX);

	strike(loss == DISK_LOSE_ALL ? POWER_LOST_ALL : loss == DISK_LOSE_NONE ? POWER_LOST_NONE : POWER_LOST_SOME);
	sim_disk_close_watch(sim);
	disk_power_loss(loss);
}

static void delete_store(struct sim *sim)
{
	strike(STORE_DELETED);
	storm.was_deleted = true;
	sim_disk_close_watch(sim);
	disk_remove_all();
	sim_disk_forget(sim);
}

static void set_store_back(struct sim *sim)
{
	if (!storm.copy)
		return;
	strike(STORE_SET_BACK);
	storm.was_set_back = true;
	sim_disk_close_watch(sim);
	disk_put_back(storm.copy, sim->url + strlen("sqlite:"));
	sim_disk_forget(sim);
}

static void on_death(struct sim *sim, void *user)
{
	(void)user;
	if (storm.calm)
		return;
	if (chance(2))
		lose_power(sim);
	if (chance(25) == 0)
		delete_store(sim);
	else if (chance(12) == 0)
		set_store_back(sim);
}

/* ---- The fleet. A topology without one of its shards would be a reason to stop, and is left alone here. ---- */

static void strike_read(void)
{
	const char *shard = storm.shards[chance((unsigned)storm.shard_count)];
	struct fault fault = { .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .nth = 1, .times = 1 + chance(3) };

	if (chance(2))
		fault.missing = shard;
	else
		fault.doubled = shard;
	strike(READ_INCOMPLETE);
	fleet_fault(storm.sim->fleet, &fault);
}

static void strike_call(void)
{
	static const int codes[] = { 1, 2, 4, 8, 10, 13, 14 };
	enum vtctld_method method = (enum vtctld_method)chance(_VTCTLD_METHOD_MAX);
	struct fault fault = { .method = method, .nth = 1 + chance(3), .times = 1 + chance(4), .code = codes[chance(7)] };
	char shards[64] = "";

	switch (chance(6)) {
	case 0:
		strike(CALL_DROPPED);
		fault.drop = true;
		break;
	case 1:
		strike(CALL_LATE);
		fault.code = 0;
		fault.delay_ms = chance(90000);
		break;
	case 2:
		strike(CALL_LOST_BEFORE);
		break;
	case 3:
		strike(CALL_LOST_AFTER);
		fault.when = FAULT_AFTER;
		break;
	case 4:
		if (!vtctld_method_is_effect(method))
			return;
		strike(CALL_PARTLY_DONE);
		fault.when = FAULT_AFTER;
		for (size_t i = 0; i < storm.shard_count; i++)
			if (chance(2))
				snprintf(shards + strlen(shards), sizeof(shards) - strlen(shards), "%s%s", shards[0] ? "," : "",
					 storm.shards[i]);
		fault.shards = shards;
		break;
	default:
		strike_read();
		return;
	}
	fleet_fault(storm.sim->fleet, &fault);
}

/* ---- Between. ---- */

static void keep_a_copy(void)
{
	if (chance(40))
		return;
	disk_copy_free(storm.copy);
	storm.copy = disk_copy();
}

static void on_boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	(void)user;
	trace_boundary(controller, kind);
	if (storm.calm)
		return;
	if (kind == BOUNDARY_RPC_AFTER)
		keep_a_copy();
	if (chance(30) == 0)
		strike_call();
	if (chance(150) == 0) {
		strike(KILLED_BETWEEN);
		disk_kill();
	}
}

/* ---- A storm, and the end of it. ---- */

static void begin(uint64_t seed)
{
	size_t set;

	storm = (struct storm){ .random = seed * 0x9e3779b97f4a7c15ULL, .trace = 14695981039346656037ULL };
	set = chance(3);
	storm.shards = shard_sets[set];
	storm.shard_count = shard_counts[set];
	storm.statement = &statements[chance(3)];
	storm.disk_odds = 30 + chance(400);
	storm.sim = sim_disk_new(&(struct sim_config){ .shards = storm.shards, .shard_count = storm.shard_count, .seed = seed,
						       .copy_ms = chance(2) ? 0 : 30000 + chance(300000),
						       .world_moves = true });
	sim_disk_on_death(on_death, NULL);
	sim_disk_on_boundary(on_boundary, NULL);
	disk_judge(judge, NULL);
}

static void run_command(int64_t limit_ms)
{
	const struct ask ask = { .keyspace = "commerce", .ddl = storm.statement->ddl, .goal = GOAL_VERIFIED,
				 .open_gate = true };

	storm.sim->error.code = 0;
	sim_run(storm.sim, &ask, limit_ms);
	count(&results->commands, 1);
}

static bool is_done(void)
{
	return storm.sim->ended && !storm.sim->error.code && storm.sim->verdict == VERDICT_DONE;
}

/*
 * The one hold that is allowed: the store is older than what was done, so the fleet shows what the record does not
 * know. A person looks, completes what is held still, and says "verify".
 */
static void take_up(void)
{
	const struct ask ask = { .keyspace = "commerce", .uuid = storm.sim->uuid, .goal = GOAL_VERIFIED, .take_up = true };

	count(&results->taken_up, 1);
	fleet_complete(storm.sim->fleet, storm.sim->uuid, NULL);
	sim_pass(storm.sim, 10 * MINUTE_MS);
	storm.sim->error.code = 0;
	sim_run(storm.sim, &ask, 60 * MINUTE_MS);
}

static void judge_end(void)
{
	struct sim *sim = storm.sim;

	if (!is_done())
		fail_msg("not done: verdict %d, phase %s, %s%s%s", sim->verdict, phase_name(sim->phase), sim->reason,
			 sim->error.code ? ": " : "", sim->error.code ? sim->error.text : "");
	sim_assert_done(sim, storm.statement->table, storm.statement->fragment);
	count(&results->ends[sim->phase], 1);
}

/* Return: its trace. */
static uint64_t run_seed(uint64_t seed)
{
	unsigned commands = 0;
	bool is_last;

	begin(seed);
	while (storm.sim->now_ms < STORM_MS && commands++ < COMMANDS_MAX) {
		int64_t before_ms = storm.sim->now_ms;

		run_command(STORM_MS - before_ms);
		if (storm.sim->now_ms == before_ms || is_done())
			sim_pass(storm.sim, 1000 + chance(30000));
		if (is_done() && chance(3) == 0)
			break;
	}
	storm.calm = true;
	/* Faults that are armed still happen; behind the last one it takes one command. */
	do {
		is_last = fleet_faults_left(storm.sim->fleet) == 0 || ++commands > 2 * COMMANDS_MAX;
		run_command(12 * 60 * MINUTE_MS);
	} while (!is_last && !is_done());
	if (storm.was_set_back && storm.sim->phase == PHASE_STOPPED)
		take_up();
	judge_end();
	count(&results->lives, sim_disk_lives());
	disk_copy_free(storm.copy);
	sim_disk_free(storm.sim);
	return storm.trace;
}

static void work(unsigned number, void *user)
{
	(void)user;
	for (uint64_t seed = first_seed + number; seed < first_seed + seed_count; seed += worker_count) {
		uint64_t once;

		results->now[number] = seed;
		once = run_seed(seed);
		count(&results->seeds, 1);
		if (seed % 100 && seed_count > 1)
			continue;
		if (run_seed(seed) != once)
			fail_msg("a second run of seed %llu is another", (unsigned long long)seed);
		count(&results->twice, 1);
	}
	for (int op = 0; op < _DISK_OP_MAX; op++)
		for (int fault = 0; fault < _DISK_FAULT_MAX; fault++)
			count(&results->fired[op][fault], disk_fired((enum disk_op)op, (enum disk_fault)fault));
}

static void on_failure(unsigned number, void *user)
{
	(void)user;
	print_message("run it again: test_storm_sqlite %llu\n", (unsigned long long)results->now[number]);
}

static void print_what_fired(void)
{
	for (int op = 0; op < _DISK_OP_MAX; op++) {
		print_message("%-10s", disk_op_name((enum disk_op)op));
		for (int fault = 1; fault < _DISK_FAULT_MAX; fault++)
			if (disk_fault_fits((enum disk_fault)fault, (enum disk_op)op))
				print_message(" %s %u", disk_fault_name((enum disk_fault)fault), results->fired[op][fault]);
		print_message("\n");
	}
	for (int i = 0; i < _STRIKE_MAX; i++)
		print_message("%s: %u\n", strike_names[i], results->strikes[i]);
}

static void assert_all_fired(void)
{
	for (int op = 0; op < _DISK_OP_MAX; op++)
		for (int fault = 1; fault < _DISK_FAULT_MAX; fault++)
			if (op != DISK_TRUNCATE && /* only where a write is undone: too seldom to count on */
			    disk_fault_fits((enum disk_fault)fault, (enum disk_op)op) && !results->fired[op][fault])
				fail_msg("%s never happened to %s", disk_fault_name((enum disk_fault)fault),
					 disk_op_name((enum disk_op)op));
	for (int i = 0; i < _STRIKE_MAX; i++)
		if (!results->strikes[i])
			fail_msg("it never happened: %s", strike_names[i]);
}

static void test_a_storm_on_a_bad_disk_ends_as_it_must(void **state)
{
	(void)state;
	results = workers_memory(sizeof(*results));
	worker_count = seed_count > 1 ? workers_count() : 1;
	assert_true(workers_run(worker_count, work, on_failure, NULL));
	print_message("%u seeds, %u twice, %u commands, %u processes: %u verified, %u of them taken up by a person\n",
		      results->seeds, results->twice, results->commands, results->lives, results->ends[PHASE_VERIFIED],
		      results->taken_up);
	print_what_fired();
	if (seed_count >= 300)
		assert_all_fired();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_storm_on_a_bad_disk_ends_as_it_must),
	};

	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 10);
		seed_count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
