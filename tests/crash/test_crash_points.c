/*
 * kill -9 at every boundary of one change: before and after every store call, before every RPC is sent and
 * when its answer has come but is not read. Every single one, and every ordered pair. After each the same
 * command is run again, and the end must be that of the run without a crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define HOUR_MS (3600 * 1000LL)

static const char *const two[] = { "-80", "80-" };

struct scenario {
	const char *ddl, *table, *fragment;
	bool lose_store;
};

static unsigned run(const struct scenario *scenario, unsigned first, unsigned second)
{
	struct sim_config config = { .shards = two, .shard_count = 2, .seed = 11, .crashes = { first, second },
				     .lose_store_at_crash = scenario->lose_store };
	struct sim *sim = sim_new(&config);
	struct ask ask = { .keyspace = "commerce", .ddl = scenario->ddl, .goal = GOAL_VERIFIED, .open_gate = true };
	unsigned boundaries;

	sim_run(sim, &ask, HOUR_MS);
	if (sim->verdict != VERDICT_DONE || sim->error.code)
		fail_msg("killed at %u, %u: verdict %d, phase %s: %s", first, second, sim->verdict, phase_name(sim->phase),
			 sim->reason);
	sim_assert_done(sim, scenario->table, scenario->fragment);
	boundaries = sim->boundaries;
	sim_free(sim);
	return boundaries;
}

static void enumerate(const struct scenario *scenario, bool pairs)
{
	unsigned boundaries = run(scenario, 0, 0), runs = 1;

	assert_true(boundaries > 40);
	for (unsigned first = 1; first <= boundaries; first++) {
		/* the second life has boundaries of its own: as many as it takes until none is left */
		unsigned total = run(scenario, first, 0);

		runs++;
		for (unsigned second = first + 1; pairs && second <= total; second++, runs++)
			run(scenario, first, second);
	}
	print_message("%s%s: %u boundaries, %u runs%s\n", scenario->ddl, scenario->lose_store ? " (store lost)" : "",
		      boundaries, runs, pairs ? ", every ordered pair" : "");
}

static const struct scenario alter = { "alter table orders add column x int", "orders", "`x` int", false };
static const struct scenario create = { "create table notes (id bigint primary key)", "notes", "`id`", false };
static const struct scenario alter_lost = { "alter table orders add column x int", "orders", "`x` int", true };
static const struct scenario create_lost = { "create table notes (id bigint primary key)", "notes", "`id`", true };

static void test_an_alter_killed_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate(&alter, false);
}

static void test_a_create_killed_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate(&create, false);
}

static void test_an_alter_whose_store_is_lost_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate(&alter_lost, false);
}

static void test_a_create_whose_store_is_lost_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate(&create_lost, false);
}

static void test_an_alter_killed_at_any_pair_of_points_ends_the_same(void **state)
{
	(void)state;
	enumerate(&alter, true);
}

static void test_a_create_killed_at_any_pair_of_points_ends_the_same(void **state)
{
	(void)state;
	enumerate(&create, true);
}

/* Every single point by default; every ordered pair takes a minute or two and is asked for by name. */
int main(int argc, char **argv)
{
	const struct CMUnitTest points[] = {
		cmocka_unit_test(test_an_alter_killed_at_any_point_ends_the_same),
		cmocka_unit_test(test_a_create_killed_at_any_point_ends_the_same),
		cmocka_unit_test(test_an_alter_whose_store_is_lost_at_any_point_ends_the_same),
		cmocka_unit_test(test_a_create_whose_store_is_lost_at_any_point_ends_the_same),
	};
	const struct CMUnitTest alter_pairs[] = { cmocka_unit_test(test_an_alter_killed_at_any_pair_of_points_ends_the_same) };
	const struct CMUnitTest create_pairs[] = { cmocka_unit_test(test_a_create_killed_at_any_pair_of_points_ends_the_same) };

	if (argc > 1 && strcmp(argv[1], "alter-pairs") == 0)
		return cmocka_run_group_tests(alter_pairs, NULL, NULL);
	if (argc > 1 && strcmp(argv[1], "create-pairs") == 0)
		return cmocka_run_group_tests(create_pairs, NULL, NULL);
	return cmocka_run_group_tests(points, NULL, NULL);
}
