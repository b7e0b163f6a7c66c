/*
 * Nothing that cannot be taken back is written on one reading: a primary that moves while its answer is on its way
 * makes that answer an old one, and the second reading of the topology shows it. For the ordinary barrier see
 * test_faults.c; here are the release that is adopted when the store was lost behind it, and the proof.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (3600 * 1000LL)
#define ADD "alter table orders add column x int"
#define READS_MAX 8

static const char *const two[] = { "-80", "80-" };

struct moving {
	enum vtctld_method method;
	unsigned nth, seen; /* at the nth answer of that method the primary of the shard behind moves */
	bool lags;	    /* and its successor is not as far */
	bool moved;
};

static void move_primary(struct controller *controller, enum boundary_kind kind, void *user)
{
	struct moving *moving = user;

	if (kind != BOUNDARY_RPC_AFTER || controller->held->replies[0].rpc.method != moving->method ||
	    ++moving->seen != moving->nth)
		return;
	fleet_reparent(controller->sim->fleet, "80-", false);
	if (moving->lags)
		fleet_unready(controller->sim->fleet, "80-", true);
	moving->moved = true;
	sim_pause(controller, 100); /* it reads that answer a moment later */
}

/* Held on both shards, then released on the first by a process whose store is lost. */
static struct sim *released_and_forgotten(void)
{
	struct sim *sim = sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = 12, .world_moves = true });
	struct ask hold = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_READY };

	sim_run(sim, &hold, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	fleet_complete(sim->fleet, sim->uuid, "-80");
	sim_lose_store(sim);
	return sim;
}

static enum phase adopt_while_a_primary_moves(unsigned nth)
{
	struct sim *sim = released_and_forgotten();
	struct ask release = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
	struct moving moving = { .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .nth = nth, .lags = true };
	enum phase phase;

	sim->on_boundary = move_primary;
	sim->boundary_user = &moving;
	sim_run(sim, &release, HOUR_MS); /* I3 is checked when completing is written */
	phase = sim->phase;
	assert_false(fleet_row(sim->fleet, 0, sim->uuid)->postpone_completion);
	if (phase == PHASE_STOPPED) /* nothing was adopted, and the shard that lags keeps its hold */
		assert_true(moving.moved && fleet_row(sim->fleet, 1, sim->uuid)->postpone_completion);
	else /* it was adopted before */
		assert_true(phase == PHASE_COMPLETING || phase == PHASE_VERIFIED);
	sim_free(sim);
	return phase;
}

static void test_a_release_is_not_adopted_on_a_look_during_which_a_primary_moves(void **state)
{
	unsigned stopped = 0;

	(void)state;
	for (unsigned nth = 1; nth <= READS_MAX; nth++)
		stopped += adopt_while_a_primary_moves(nth) == PHASE_STOPPED;
	assert_true(stopped > 0 && stopped < READS_MAX);
}

static void test_a_release_is_adopted_once_the_primaries_stay(void **state)
{
	(void)state;
	for (unsigned nth = 1; nth <= READS_MAX; nth++) {
		struct sim *sim = released_and_forgotten();
		struct ask release = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
		struct moving moving = { .method = VTCTLD_FIND_ALL_SHARDS, .nth = nth };

		sim->on_boundary = move_primary;
		sim->boundary_user = &moving;
		sim_run(sim, &release, HOUR_MS);
		if (moving.moved && sim->phase == PHASE_STOPPED) /* the new primary is not ready at once: that is seen, and nothing is released */
			assert_true(fleet_row(sim->fleet, 1, sim->uuid)->postpone_completion);
		else
			assert_int_equal(sim->phase, PHASE_VERIFIED);
		sim_free(sim);
	}
}

/* Complete on every shard, by a process whose store is lost: what confirms that is not what confirms the proof. */
static void test_an_adopted_proof_during_which_a_primary_moves_is_made_again(void **state)
{
	(void)state;
	for (unsigned nth = 3; nth <= 4; nth++) {
		struct sim *sim = released_and_forgotten();
		struct ask release = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
		struct moving moving = { .method = VTCTLD_GET_SCHEMA, .nth = nth };

		fleet_complete(sim->fleet, sim->uuid, "80-");
		sim_pass(sim, 2 * MINUTE_MS);
		assert_int_equal(fleet_row(sim->fleet, 1, sim->uuid)->status, MIGRATION_COMPLETE);
		sim->on_boundary = move_primary;
		sim->boundary_user = &moving;
		sim_run(sim, &release, HOUR_MS);
		sim_assert_done(sim, "orders", "`x` int");
		assert_true(moving.moved);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_GET_SCHEMA), 2 + 2 + 2 + 2);
		sim_free(sim);
	}
}

static void move_at_every_proof(struct controller *controller, enum boundary_kind kind, void *user)
{
	struct sim *sim = controller->sim;

	(void)user;
	if (kind == BOUNDARY_RPC_AFTER && controller->held->replies[0].rpc.method == VTCTLD_GET_SCHEMA &&
	    sim->phase == PHASE_COMPLETED)
		fleet_reparent(sim->fleet, "80-", false);
}

/* A primary that never stays proves nothing: that ends with the asker's patience, and a later run proves it. */
static void test_a_proof_whose_primaries_never_stay_ends_with_the_patience(void **state)
{
	struct sim *sim = sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = 12 });
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true,
			   .deadline_ms = 10 * MINUTE_MS };

	(void)state;
	sim->on_boundary = move_at_every_proof;
	sim_run(sim, &ask, HOUR_MS);
	assert_true(sim->ended);
	assert_int_equal(sim->verdict, VERDICT_UNSEEN);
	assert_int_equal(sim->phase, PHASE_COMPLETED);
	sim->on_boundary = NULL;
	sim_run(sim, &ask, HOUR_MS);
	sim_assert_done(sim, "orders", "`x` int");
	sim_free(sim);
}

/* Before the submit each shard's definition is read once, so the last of the proof is the fourth. */
static void test_a_proof_during_which_a_primary_moves_is_made_again(void **state)
{
	(void)state;
	for (unsigned nth = 3; nth <= 4; nth++) {
		struct sim *sim = sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = 12 });
		struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
		struct moving moving = { .method = VTCTLD_GET_SCHEMA, .nth = nth };

		sim->on_boundary = move_primary;
		sim->boundary_user = &moving;
		sim_run(sim, &ask, HOUR_MS);
		sim_assert_done(sim, "orders", "`x` int");
		assert_true(moving.moved);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_GET_SCHEMA), 2 + 2 + 2);
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_release_is_not_adopted_on_a_look_during_which_a_primary_moves),
		cmocka_unit_test(test_a_release_is_adopted_once_the_primaries_stay),
		cmocka_unit_test(test_an_adopted_proof_during_which_a_primary_moves_is_made_again),
		cmocka_unit_test(test_a_proof_during_which_a_primary_moves_is_made_again),
		cmocka_unit_test(test_a_proof_whose_primaries_never_stay_ends_with_the_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
