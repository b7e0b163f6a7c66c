/*
 * Fifty controllers: what they ask of one store and of one vtctld when all start together, when the holder
 * dies, and while vtctld is down. Nobody is in step with the others, and nobody asks more than its share, not even
 * one whose knowledge of the lease was overtaken.
 */
#include "controllers_fixture.h"

#define CROWD 50
#define RENEW_MS (LEASE_MS / 3)
#define STORE_CALLS (1u << MARK_LEASE | 1u << MARK_LIVE | 1u << MARK_STORE_WRITE)
#define FLEET_CALLS (1u << MARK_READ | 1u << MARK_EFFECT)

static char names[CROWD][16];
static const char *keyspaces[CROWD];

static int name_keyspaces(void **state)
{
	(void)state;
	for (int i = 0; i < CROWD; i++) {
		snprintf(names[i], sizeof(names[i]), "ks%02d", i);
		keyspaces[i] = names[i];
	}
	return 0;
}

static struct sim *sim_many(uint64_t seed)
{
	return sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = seed, .shared_store = true,
					     .copy_ms = 20 * MINUTE_MS, .keyspaces = keyspaces, .keyspace_count = CROWD });
}

/* ---- Standbys. ---- */

static void assert_bounded(struct sim *sim, int64_t from_ms, const struct controller *except)
{
	for (size_t i = 0; i < sim->controller_count; i++) {
		const struct controller *controller = &sim->controllers[i];
		unsigned most = sim_most_of(sim, controller, 1u << MARK_LEASE, from_ms, RENEW_MS);

		if (controller != except && most > 1)
			fail_msg("controller %u asks for the lease %u times in one renew period", controller->index, most);
	}
}

static void assert_no_lockstep(const char *what, struct sim_rate rate)
{
	print_message("%s: %u calls, at most %u at once, peak to mean %.2f\n", what, rate.count, rate.peak,
		      rate.peak_to_mean);
	assert_true(rate.count > 0);
	assert_true(rate.peak_to_mean <= 3);
}

static void test_standbys_that_restart_together_neither_crowd_nor_march(void **state)
{
	struct sim *sim = sim_shared(51);
	struct controller *holder;
	int64_t from_ms, ends_ms;

	(void)state;
	holder = sim_daemon(sim);
	hold_one(sim);
	assert_ptr_equal(sim_holder(sim, "commerce"), holder);
	from_ms = sim->now_ms;
	for (int i = 0; i < CROWD; i++)
		sim_daemon(sim);
	sim_pass(sim, 5 * MINUTE_MS);
	assert_ptr_equal(sim_holder(sim, "commerce"), holder);
	assert_bounded(sim, from_ms, holder);
	assert_no_lockstep("50 standbys start at one moment, all store calls", sim_rate(sim, STORE_CALLS, from_ms, 1000));

	from_ms = sim->now_ms;
	ends_ms = sim_lease_ends_ms(sim, "commerce");
	sim_kill(holder);
	sim_pass(sim, ends_ms + SECOND_MS / 2 - sim->now_ms);
	assert_no_lockstep("the lease of a dead holder ends, lease calls of the next half second",
			   sim_rate(sim, 1u << MARK_LEASE, ends_ms, SECOND_MS / 20));
	sim_pass(sim, ends_ms + TAKEOVER_MS - sim->now_ms);
	assert_non_null(sim_holder(sim, "commerce"));
	sim_pass(sim, 5 * MINUTE_MS);
	assert_bounded(sim, from_ms, sim_holder(sim, "commerce"));
	assert_no_lockstep("the holder dies, all store calls", sim_rate(sim, STORE_CALLS, from_ms, 1000));

	/* all killed and started again in one moment, while the lease of the dead one still runs */
	from_ms = sim->now_ms;
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].serves && sim->controllers[i].state == CONTROLLER_ALIVE)
			sim_kill(&sim->controllers[i]);
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].serves)
			sim_restart(&sim->controllers[i]);
	sim_pass(sim, 5 * MINUTE_MS);
	assert_bounded(sim, from_ms, sim_holder(sim, "commerce"));
	assert_no_lockstep("all restart at one moment, all store calls", sim_rate(sim, STORE_CALLS, from_ms, 1000));
	open_gate(sim, sim->uuid);
	assert_true(sim_until(sim, sim_all_verified, NULL, HOUR_MS));
	assert_done_once(sim, sim->fleet, sim->uuid, 1);
	sim_free(sim);
}

/* ---- vtctld is down. ---- */

static bool all_are_submitted(struct sim *sim, void *user)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct store_filter filter = { .cluster = "default" };
	struct change *changes;
	struct error error;
	size_t count = 0;

	(void)user;
	assert_int_equal(store_list(sim->store, &filter, &arena, &changes, &count, &error), 0);
	for (size_t i = 0; i < count; i++)
		if (changes[i].phase == PHASE_SUBMITTING)
			return false;
	return count == CROWD;
}

static void set_vtctld(struct sim *sim, bool up)
{
	for (size_t i = 0; i < sim->config.keyspace_count; i++)
		fleet_vtctld(sim->fleets[i], up);
}

/* Ten minutes; the back-off has grown to its cap after the first of them. */
static void run_vtctld_outage(struct sim *sim, const char *what, int64_t span_ms)
{
	unsigned changes = CROWD;
	int64_t from_ms;

	set_vtctld(sim, false);
	sim_pass(sim, MINUTE_MS);
	from_ms = sim->now_ms;
	sim_pass(sim, 9 * MINUTE_MS);
	for (size_t i = 0; i < sim->controller_count; i++) {
		unsigned most = sim_most_of(sim, &sim->controllers[i], FLEET_CALLS, from_ms, 30 * SECOND_MS);

		if (most > 1)
			fail_msg("%s: controller %u makes %u calls in 30 s", what, sim->controllers[i].index, most);
	}
	assert_no_lockstep(what, sim_rate(sim, FLEET_CALLS, from_ms, span_ms));
	set_vtctld(sim, true);
	if (!sim_until(sim, sim_all_verified, &changes, 2 * HOUR_MS))
		fail_msg("%s: not all are verified two hours later", what);
	for (size_t i = 0; i < CROWD; i++)
		for (size_t shard = 0; shard < 2; shard++)
			assert_int_equal(fleet_row_count(sim->fleets[i], shard), 1);
}

static void test_fifty_runs_ask_a_dead_vtctld_once_in_thirty_seconds_each(void **state)
{
	struct sim *sim = sim_many(52);
	struct ask ask = { .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };

	(void)state;
	for (int i = 0; i < CROWD; i++) {
		ask.keyspace = keyspaces[i];
		sim_ask(sim, &ask);
	}
	assert_true(sim_until(sim, all_are_submitted, NULL, 10 * MINUTE_MS));
	/* in one second fifty controllers make one call and a half: by spans of five */
	run_vtctld_outage(sim, "50 runs of 50 keyspaces", 5 * SECOND_MS);
	sim_free(sim);
}

static void test_daemons_of_many_keyspaces_ask_a_dead_vtctld_once_in_thirty_seconds_each(void **state)
{
	struct sim *sim = sim_many(53);
	struct ask ask = { .ddl = ADD, .goal = GOAL_SUBMITTED, .open_gate = true };
	unsigned leaders = 0;

	(void)state;
	for (int i = 0; i < 13; i++)
		sim_daemon(sim);
	for (int i = 0; i < CROWD; i++) {
		ask.keyspace = keyspaces[i];
		sim_ask(sim, &ask);
	}
	assert_true(sim_until(sim, all_are_submitted, NULL, 10 * MINUTE_MS));
	sim_pass(sim, MINUTE_MS);
	for (size_t i = 0; i < sim->controller_count; i++) {
		bool leads = false;

		for (int k = 0; k < CROWD; k++)
			leads |= sim_holder(sim, keyspaces[k]) == &sim->controllers[i];
		leaders += leads;
	}
	print_message("%u daemons lead the 50 keyspaces\n", leaders);
	assert_true(leaders >= 2);
	run_vtctld_outage(sim, "13 daemons with 50 keyspaces", 10 * SECOND_MS);
	sim_free(sim);
}

/* ---- A submit during which the lease changes hands. ---- */

/* The insert of the one that asks takes its time, and in that the holder leaves and another takes over. */
static int64_t hand_over_before_insert(struct controller *controller, const struct request *request, void *user)
{
	unsigned *inserts = user;

	if (request->kind != REQUEST_STORE_INSERT || (*inserts)++)
		return 0;
	sim_terminate(sim_holder(controller->sim, "commerce"));
	return 10 * SECOND_MS;
}

static void test_a_submit_during_a_change_of_the_holder_looks_at_the_fleet_once_more(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sim *sim = sim_shared(seed);
		struct ask ask = submit_ask(CREATE, true);
		unsigned inserts = 0, openings;
		char first[UUID_LENGTH + 1];

		sim_daemon(sim);
		sim_daemon(sim);
		hold_one(sim);
		snprintf(first, sizeof(first), "%s", sim->uuid);
		openings = fleet_calls(sim->fleet, VTCTLD_GET_KEYSPACES);
		sim->store_delay = hand_over_before_insert;
		sim->store_user = &inserts;
		sim_ask(sim, &ask);
		sim_pass(sim, 2 * MINUTE_MS);
		assert_int_equal(inserts, 2);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_GET_KEYSPACES), openings + 2);
		assert_string_not_equal(sim->uuid, first);
		assert_int_equal(phase_of(sim, sim->uuid), PHASE_SUBMITTING);
		open_gate(sim, first);
		assert_true(sim_until(sim, sim_all_verified, &(unsigned){ 2 }, HOUR_MS));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_standbys_that_restart_together_neither_crowd_nor_march),
		cmocka_unit_test(test_fifty_runs_ask_a_dead_vtctld_once_in_thirty_seconds_each),
		cmocka_unit_test(test_daemons_of_many_keyspaces_ask_a_dead_vtctld_once_in_thirty_seconds_each),
		cmocka_unit_test(test_a_submit_during_a_change_of_the_holder_looks_at_the_fleet_once_more),
	};

	return cmocka_run_group_tests(tests, name_keyspaces, NULL);
}
