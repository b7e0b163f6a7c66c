#pragma once
/* torture: the changes that test_store_io.c and test_alloc.c bring to their end, whatever fails on the way. */
#include "sim.h"

#define LIFE_MS (30 * 60 * 1000LL) /* of one command; a pipeline gives up behind it */

static const struct scenario {
	const char *name, *ddl, *table, *fragment;
	bool store_is_open; /* what comes before that is in the other one */
} scenarios[] = {
	{ "alter", "alter table orders add column x int", "orders", "`x` int", false },
	{ "create", "create table notes (id bigint primary key)", "notes", "`id`", true },
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const char *const shards[] = { "-80", "80-" };
static const struct sim_config torture_config = { .shards = shards, .shard_count = 2, .seed = 11, .world_moves = true };

/* One run of the command, as a pipeline gives it. */
static inline void run_command(struct sim *sim, const struct scenario *scenario)
{
	const struct ask ask = { .keyspace = "commerce", .ddl = scenario->ddl, .goal = GOAL_VERIFIED, .open_gate = true };

	sim->error.code = 0;
	sim_run(sim, &ask, LIFE_MS);
}

static inline bool is_verified(const struct sim *sim)
{
	return sim->ended && !sim->error.code && sim->verdict == VERDICT_DONE;
}
