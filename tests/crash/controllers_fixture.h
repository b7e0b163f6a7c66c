#pragma once
/*
 * controllers_fixture: several controllers over one store, a change that is held, and what must be so at the
 * end. Included by test_controllers.c, test_outages.c and test_crowd.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define SECOND_MS 1000LL
#define MINUTE_MS (60 * 1000LL)
#define HOUR_MS (3600 * 1000LL)
#define LEASE_MS (30 * SECOND_MS)
#define TAKEOVER_MS (2 * SECOND_MS)
#define ADD "alter table orders add column x int"
#define CREATE "create table notes (id bigint primary key)"

static const char *const two[] = { "-80", "80-" };

static inline struct sim *sim_shared(uint64_t seed)
{
	return sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = seed, .shared_store = true });
}

/* `vtddl submit`: exits once every shard has the row; a daemon does the rest. */
static inline struct ask submit_ask(const char *ddl, bool open_gate)
{
	return (struct ask){ .keyspace = "commerce", .ddl = ddl, .goal = GOAL_SUBMITTED, .open_gate = open_gate };
}

/* For sim_until(): a change was submitted on every shard, or is further. */
static inline bool is_submitted(struct sim *sim, void *user)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct change change;

	(void)user;
	return sim_load(sim, &arena, &change) && change.phase != PHASE_SUBMITTING;
}

static inline enum phase phase_of(struct sim *sim, const char *uuid)
{
	const struct change *change = store_model_change(sim->model, "default", uuid);

	assert_non_null(change);
	return change->phase;
}

/* Daemons, and a change of theirs that is held at a closed gate. */
static inline void hold_one(struct sim *sim)
{
	struct ask ask = submit_ask(ADD, false);
	struct controller *asker = sim_ask(sim, &ask);

	sim_until(sim, is_submitted, NULL, HOUR_MS);
	sim_pass(sim, 2 * MINUTE_MS);
	assert_int_equal(asker->state, CONTROLLER_DEAD);
	assert_int_equal(asker->verdict, VERDICT_DONE);
	assert_int_equal(phase_of(sim, sim->uuid), PHASE_SUBMITTED);
	assert_non_null(sim_holder(sim, "commerce"));
}

/* `vtddl complete` */
static inline void open_gate(struct sim *sim, const char *uuid)
{
	struct ask ask = { .keyspace = "commerce", .uuid = uuid, .goal = GOAL_SUBMITTED, .open_gate = true };

	sim_ask(sim, &ask);
}

/* The history is one chain: no write was lost, none came twice. */
static inline void assert_history_is_whole(struct sim *sim, const char *uuid)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct history_entry *entries;
	struct error error;
	size_t count = 0;

	assert_int_equal(store_history(sim->store, "default", uuid, &arena, &entries, &count, &error), 0);
	assert_true(count > 0);
	assert_int_equal(entries[0].from, _PHASE_INVALID);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(entries[i].from, entries[i - 1].to);
	assert_int_equal(entries[count - 1].to, phase_of(sim, uuid));
}

/* One migration, applied once, released once (I5 is checked on the way), on every shard of a keyspace. */
static inline void assert_done_once(struct sim *sim, struct fleet *fleet, const char *uuid, size_t changes)
{
	assert_string_equal(phase_name(phase_of(sim, uuid)), "verified");
	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, uuid);

		assert_non_null(row);
		assert_int_equal(row->status, MIGRATION_COMPLETE);
		assert_int_equal(row->retries, 0);
		assert_int_equal(fleet_row_count(fleet, i), changes);
		assert_int_equal(fleet_times_applied(fleet, i, uuid), 1);
	}
	assert_history_is_whole(sim, uuid);
}
