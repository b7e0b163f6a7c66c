/*
 * kill -9 at every crash point of one process: before and after every store call, before and behind the sending of
 * every RPC, and when its answer has come but is not read. Every single one, every ordered pair, and triples. After
 * each the same command is run again, and the end must be that of the run without a crash.
 *
 *	test_crash_points		every single point
 *	test_crash_points pairs		every ordered pair; triples, sampled
 *	test_crash_points sqlite-pairs	every ordered pair of a CREATE over the real SQLite
 *	test_crash_points GROUP FILTER	the tests of a group whose name matches, e.g. "points *any_shards*"
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crash_points.h"

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (3600 * 1000LL)
#define POINTS_MAX 2000
#define CRASH_EVERY 23 /* of the second and third of triples */
#define CREATE "create table notes (id bigint primary key)"
#define DROP "drop table orders"

static const char alter[] = "alter table orders add column x int";
static const char *const two[] = { "-80", "80-" };
static const char *const three[] = { "-40", "40-80", "80-" };

enum end { END_HAS, END_HAS_NOT, END_CANCELLED };

struct scenario {
	const char *ddl, *table, *fragment;
	enum end end;
	bool lose_store; /* at every crash */
	bool model;	 /* store_model.h, whose leases outlast a process, not SQLite */
};

static const struct scenario scenarios[] = {
	{ alter, "orders", "`x` int", END_HAS, false, false },	   { CREATE, "notes", "`id`", END_HAS, false, false },
	{ DROP, "orders", NULL, END_HAS_NOT, false, false },	   { alter, "orders", "`x` int", END_CANCELLED, false, false },
	{ alter, "orders", "`x` int", END_HAS, true, false },	   { CREATE, "notes", "`id`", END_HAS, true, false },
	{ alter, "orders", "`x` int", END_HAS, false, true },	   { CREATE, "notes", "`id`", END_HAS, false, true },
	{ DROP, "orders", NULL, END_HAS_NOT, false, true },	   { alter, "orders", "`x` int", END_CANCELLED, false, true },
	{ alter, "orders", "`x` int", END_HAS, true, true },
};

/* A point is a boundary, counted from 1 over all lives, and whether it is the moment behind the sending of an effect. */
struct point {
	unsigned boundary;
	bool sent;
	bool answers; /* of an effect; told, not asked for */
};

struct plan {
	const struct scenario *scenario;
	struct point at[STRIKES_MAX];
	const char *reaches; /* the effect at the first point has been had on these shards by then; NULL: as it happens */
	unsigned struck;
	struct point passed[POINTS_MAX];
	size_t passed_count, passed_at_strike;
	bool dies; /* it has just sent the effect behind which it is to die */
};

static struct crash_counts *counts;

static void die(struct plan *plan, struct controller *controller, size_t point)
{
	crash_count(counts, plan->struck++, point);
	plan->passed_at_strike = plan->passed_count;
	plan->dies = false;
	sim_kill(controller);
}

static void pass(struct plan *plan, struct point point)
{
	assert_true(plan->passed_count < POINTS_MAX);
	plan->passed[plan->passed_count++] = point;
}

static void at_boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	struct plan *plan = user;
	struct sim *sim = controller->sim;
	struct point next = plan->struck < STRIKES_MAX ? plan->at[plan->struck] : (struct point){ 0 };
	size_t point = crash_point_of(controller, kind);
	bool is_effect = kind == BOUNDARY_RPC_BEFORE && vtctld_method_is_effect(controller->held->requests[0].rpc.method);
	bool answers = kind == BOUNDARY_RPC_AFTER && vtctld_method_is_effect(controller->held->replies[0].rpc.method);

	pass(plan, (struct point){ sim->boundaries, false, answers });
	if (is_effect)
		pass(plan, (struct point){ sim->boundaries, true, false });
	if (next.boundary != sim->boundaries)
		return;
	if (next.sent && is_effect)
		plan->dies = true;
	else
		die(plan, controller, point);
}

/* What the process did at that moment is done: it has handed the call to the channel, and nothing came back. */
static void after_turn(struct sim *sim, void *user)
{
	struct plan *plan = user;

	if (plan->dies && sim->controllers[0].state == CONTROLLER_ALIVE)
		die(plan, &sim->controllers[0], crash_point_index("effect-start-after"));
}

static void assert_end(struct sim *sim, const struct scenario *scenario)
{
	if (scenario->end == END_HAS) {
		sim_assert_done(sim, scenario->table, scenario->fragment);
		return;
	}
	assert_int_equal(sim->phase, scenario->end == END_CANCELLED ? PHASE_CANCELLED : PHASE_VERIFIED);
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, sim->uuid);
		const char *definition = fleet_definition(sim->fleet, i, scenario->table);

		assert_non_null(row);
		assert_int_equal(fleet_row_count(sim->fleet, i), 1);
		assert_int_equal(fleet_times_applied(sim->fleet, i, sim->uuid), scenario->end == END_HAS_NOT);
		if (scenario->end == END_CANCELLED) {
			assert_int_equal(row->status, MIGRATION_CANCELLED);
			assert_null(strstr(definition, scenario->fragment));
		} else {
			assert_int_equal(row->status, MIGRATION_COMPLETE);
			assert_null(definition);
		}
	}
}

static void name_plan(const struct plan *plan, char *ret, size_t size)
{
	snprintf(ret, size, "%s%s%s%s, killed at %u%s, %u%s, %u%s", plan->scenario->ddl,
		 plan->scenario->end == END_CANCELLED ? " and its cancel" : "", plan->scenario->lose_store ? ", store lost" : "",
		 plan->scenario->model ? ", model" : "", plan->at[0].boundary, plan->at[0].sent ? " sent" : "",
		 plan->at[1].boundary, plan->at[1].sent ? " sent" : "", plan->at[2].boundary, plan->at[2].sent ? " sent" : "");
}

/* Runs to its end; what it passed is in @plan. */
static void run_on(struct plan *plan, const char *const *shards, size_t shard_count)
{
	const struct scenario *scenario = plan->scenario;
	struct sim *sim = sim_new(&(struct sim_config){ .shards = shards, .shard_count = shard_count, .seed = 11,
							.lose_store_at_crash = scenario->lose_store,
							.shared_store = scenario->model });
	struct ask ask = { .keyspace = "commerce", .ddl = scenario->ddl, .goal = GOAL_VERIFIED, .open_gate = true };
	struct ask hold = { .keyspace = "commerce", .ddl = scenario->ddl, .goal = GOAL_READY };
	struct ask cancel = { .keyspace = "commerce", .ddl = scenario->ddl, .goal = GOAL_CANCELLED };
	char name[256];

	sim->on_boundary = at_boundary;
	sim->hook = after_turn;
	sim->boundary_user = sim->hook_user = plan;
	if (plan->reaches)
		fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_AFTER,
							 .shards = plan->reaches, .code = 14 });
	if (plan->reaches)
		fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_COMPLETE, .nth = 1, .when = FAULT_AFTER,
							 .shards = plan->reaches, .code = 14 });
	if (plan->reaches)
		fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_CANCEL, .nth = 1, .when = FAULT_AFTER,
							 .shards = plan->reaches, .code = 14 });
	sim_run(sim, scenario->end == END_CANCELLED ? &hold : &ask, HOUR_MS);
	if (scenario->end == END_CANCELLED && sim->verdict == VERDICT_DONE)
		sim_run(sim, &cancel, HOUR_MS);
	name_plan(plan, name, sizeof(name));
	if (sim->timed_out || sim->verdict != VERDICT_DONE || sim->error.code)
		fail_msg("%s: verdict %d, phase %s: %s", name, sim->verdict, phase_name(sim->phase), sim->reason);
	assert_end(sim, scenario);
	for (unsigned i = 0; i < STRIKES_MAX && plan->at[i].boundary; i++)
		if (plan->struck <= i)
			fail_msg("%s: that point was not reached", name);
	sim_free(sim);
	__atomic_fetch_add(&counts->runs, 1, __ATOMIC_RELAXED);
}

static void run(struct plan *plan)
{
	run_on(plan, two, 2);
}

/* ---- Enumeration. ---- */

/* The points that are behind the last one at which @before died. */
static size_t points_behind(const struct plan *before, const struct point **ret)
{
	*ret = before->passed + before->passed_at_strike;
	return before->passed_count - before->passed_at_strike;
}

struct enumeration {
	const struct scenario *scenario;
	unsigned depth, every; /* of how many; of the second and third one in so many */
	unsigned workers;
	unsigned *runs; /* shared */
};

static void run_deeper(const struct enumeration *enumeration, const struct plan *before, unsigned depth)
{
	const struct point *points;
	size_t count = points_behind(before, &points);

	for (size_t i = depth % enumeration->every; i < count; i += enumeration->every) {
		struct plan plan = { .scenario = before->scenario };

		memcpy(plan.at, before->at, sizeof(plan.at));
		plan.at[depth] = points[i];
		run(&plan);
		__atomic_fetch_add(enumeration->runs, 1, __ATOMIC_RELAXED);
		if (depth + 1 < enumeration->depth)
			run_deeper(enumeration, &plan, depth + 1);
	}
}

static void enumerate_share(unsigned number, void *user)
{
	const struct enumeration *enumeration = user;
	struct plan whole = { .scenario = enumeration->scenario };

	run(&whole);
	assert_true(whole.passed_count > 40);
	for (size_t i = number; i < whole.passed_count; i += enumeration->workers) {
		struct plan plan = { .scenario = enumeration->scenario, .at = { whole.passed[i] } };

		run(&plan);
		__atomic_fetch_add(enumeration->runs, 1, __ATOMIC_RELAXED);
		if (enumeration->depth > 1)
			run_deeper(enumeration, &plan, 1);
	}
}

static void enumerate(const struct scenario *scenario, unsigned depth, unsigned every)
{
	struct enumeration enumeration = { scenario, depth, every, workers_count(), workers_memory(sizeof(unsigned)) };
	char name[256];

	name_plan(&(struct plan){ .scenario = scenario }, name, sizeof(name));
	*strstr(name, ", killed") = '\0';
	if (!workers_run(enumeration.workers, enumerate_share, NULL, &enumeration))
		fail_msg("%s: see above", name);
	print_message("%s: %u runs, %s\n", name, *enumeration.runs,
		      depth == 1 ? "every point" : depth == 2 ? "every ordered pair" : "triples, sampled");
}

static void enumerate_all(bool model, unsigned depth, unsigned every)
{
	*counts = (struct crash_counts){ 0 };
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (scenarios[i].model == model)
			enumerate(&scenarios[i], depth, every);
	crash_counts_check(counts, depth, depth < 3 ? depth : 1, "store-live-before"); /* triples are sampled */
}

static void test_a_change_killed_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate_all(false, 1, 1);
}

static void test_a_change_killed_at_any_pair_of_points_ends_the_same(void **state)
{
	(void)state;
	enumerate_all(true, 2, 1);
}

static void test_a_change_killed_at_three_points_ends_the_same(void **state)
{
	(void)state;
	enumerate_all(true, 3, CRASH_EVERY);
}

static void test_a_create_over_sqlite_killed_at_any_pair_of_points_ends_the_same(void **state)
{
	(void)state;
	*counts = (struct crash_counts){ 0 };
	enumerate(&scenarios[1], 2, 1);
}

/* ---- An effect that had reached some of the shards when its sender died. ---- */

static const char *const subsets[] = { "", "-40", "40-80", "80-", "-40,40-80", "-40,80-", "40-80,80-", "-40,40-80,80-" };
#define SUBSETS (sizeof(subsets) / sizeof(subsets[0]))

/* It dies at the answer of each effect, which says nothing; then @again: at every point behind that, too. */
static void die_at_effects(const struct scenario *scenario, const char *reaches, bool again)
{
	struct plan whole = { .scenario = scenario, .reaches = reaches };
	unsigned deaths = 0;

	run_on(&whole, three, 3);
	for (size_t i = 0; i < whole.passed_count; i++) {
		struct plan plan = { .scenario = scenario, .reaches = reaches, .at = { whole.passed[i] } };
		const struct point *points;
		size_t count;

		if (!whole.passed[i].sent && !whole.passed[i].answers)
			continue;
		run_on(&plan, three, 3);
		deaths++;
		count = again ? points_behind(&plan, &points) : 0;
		for (size_t j = 0; j < count; j++) {
			struct plan second = { .scenario = scenario, .reaches = reaches, .at = { plan.at[0], points[j] } };

			run_on(&second, three, 3);
		}
	}
	assert_true(deaths >= 4);
}

struct effect_share {
	const struct scenario *scenario;
	unsigned workers;
	bool again;
};

static void effects_share(unsigned number, void *user)
{
	const struct effect_share *share = user;

	for (size_t i = number; i < SUBSETS; i += share->workers)
		die_at_effects(share->scenario, subsets[i], share->again);
}

static void die_at_all_effects(bool model, bool again)
{
	*counts = (struct crash_counts){ 0 };
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct effect_share share = { &scenarios[i], workers_count(), again };

		if (scenarios[i].model != model || (again && scenarios[i].ddl != alter))
			continue;
		if (!workers_run(share.workers, effects_share, NULL, &share))
			fail_msg("see above");
	}
	print_message("%u runs: an effect had reached any subset of three shards when its sender died\n", counts->runs);
}

static void test_an_effect_on_any_shards_whose_sender_dies_ends_the_same(void **state)
{
	(void)state;
	die_at_all_effects(true, false);
}

static void test_an_effect_on_any_shards_whose_sender_dies_twice_ends_the_same(void **state)
{
	(void)state;
	die_at_all_effects(true, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest points[] = {
		cmocka_unit_test(test_a_change_killed_at_any_point_ends_the_same),
		cmocka_unit_test(test_an_effect_on_any_shards_whose_sender_dies_ends_the_same),
	};
	const struct CMUnitTest pairs[] = {
		cmocka_unit_test(test_a_change_killed_at_any_pair_of_points_ends_the_same),
		cmocka_unit_test(test_an_effect_on_any_shards_whose_sender_dies_twice_ends_the_same),
		cmocka_unit_test(test_a_change_killed_at_three_points_ends_the_same),
	};
	const struct CMUnitTest sqlite_pairs[] = {
		cmocka_unit_test(test_a_create_over_sqlite_killed_at_any_pair_of_points_ends_the_same),
	};

	counts = workers_memory(sizeof(*counts));
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (argc > 1 && strcmp(argv[1], "pairs") == 0)
		return cmocka_run_group_tests(pairs, NULL, NULL);
	if (argc > 1 && strcmp(argv[1], "sqlite-pairs") == 0)
		return cmocka_run_group_tests(sqlite_pairs, NULL, NULL);
	return cmocka_run_group_tests(points, NULL, NULL);
}
