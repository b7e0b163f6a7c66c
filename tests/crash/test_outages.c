/*
 * Several controllers and a store that is down, takes no writes, or goes back in time; clocks that jump; a
 * vtctld or a primary that is silent. No effect while nobody can be sure, and then it carries on.
 */
#include "controllers_fixture.h"

#define OUTAGE_MS (10 * MINUTE_MS)

static struct sim *sim_held(uint64_t seed)
{
	struct sim *sim = sim_shared(seed);

	for (int i = 0; i < 3; i++)
		sim_daemon(sim);
	hold_one(sim);
	return sim;
}

static unsigned effects_of_all(struct sim *sim)
{
	unsigned effects = 0;

	for (size_t i = 0; i < sim->controller_count; i++)
		effects += sim->controllers[i].effects;
	return effects;
}

static void assert_ends_verified(struct sim *sim, const char *uuid)
{
	if (!sim_until(sim, sim_all_verified, NULL, 30 * MINUTE_MS))
		fail_msg("half an hour later %s is %s", uuid, phase_name(phase_of(sim, uuid)));
	assert_done_once(sim, sim->fleet, uuid, 1);
}

/* ---- The store. ---- */

/* The gate is opened a moment before, so that there is something to do all the time. */
static enum phase run_outage(enum store_model_state state, uint64_t seed, int64_t begins_ms)
{
	struct sim *sim = sim_held(seed);
	char uuid[UUID_LENGTH + 1];
	unsigned effects, in_flight = 0;
	enum phase phase;

	snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
	open_gate(sim, uuid);
	sim_pass(sim, begins_ms);
	store_model_set(sim->model, state);
	effects = effects_of_all(sim);
	phase = phase_of(sim, uuid);
	for (size_t i = 0; i < sim->controller_count; i++)
		in_flight += sim_effect_is_in_flight(&sim->controllers[i]);
	sim_pass(sim, OUTAGE_MS);
	if (effects_of_all(sim) != effects)
		fail_msg("seed %u: %u effects while the store is away (%u were under way)", (unsigned)seed,
			 effects_of_all(sim) - effects, in_flight);
	store_model_set(sim->model, STORE_MODEL_UP);
	assert_ends_verified(sim, uuid);
	sim_free(sim);
	return phase;
}

static void run_outages(enum store_model_state state)
{
	unsigned phases[_PHASE_MAX] = { 0 };

	for (uint64_t seed = 1; seed <= 60; seed++)
		phases[run_outage(state, seed, (int64_t)seed * 331)]++;
	print_message("60 outages: in submitted %u, completing %u, completed %u\n", phases[PHASE_SUBMITTED],
		      phases[PHASE_COMPLETING], phases[PHASE_COMPLETED]);
	assert_true(phases[PHASE_SUBMITTED] && phases[PHASE_COMPLETING]);
}

static void test_a_store_that_is_down_for_ten_minutes_stops_effects_and_no_more(void **state)
{
	(void)state;
	run_outages(STORE_MODEL_DOWN);
}

static void test_a_store_that_takes_no_writes_for_ten_minutes_stops_effects_and_no_more(void **state)
{
	(void)state;
	run_outages(STORE_MODEL_READ_ONLY);
}

/* For the whole time that it may take: nothing is lost when a submit meets a store that is away. */
static void test_a_submit_into_an_outage_is_carried_out_behind_it(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sim *sim = sim_shared(seed);
		struct ask ask = submit_ask(ADD, true);
		struct controller *asker;

		sim_daemon(sim);
		sim_daemon(sim);
		asker = sim_ask(sim, &ask);
		sim_pass(sim, (int64_t)seed * 97);
		store_model_set(sim->model, STORE_MODEL_DOWN);
		sim_pass(sim, OUTAGE_MS);
		store_model_set(sim->model, STORE_MODEL_UP);
		sim_pass(sim, MINUTE_MS);
		if (asker->state == CONTROLLER_DEAD && asker->verdict != VERDICT_DONE)
			sim_restart(asker); /* it told so and ended; the pipeline runs it again */
		assert_true(sim_until(sim, is_submitted, NULL, 10 * MINUTE_MS));
		assert_ends_verified(sim, sim->uuid);
		sim_free(sim);
	}
}

/* Each call of the holder in turn: it does not know whether its commit took effect. */
static void test_a_commit_of_unknown_outcome_is_read_back(void **state)
{
	unsigned runs = 0;

	(void)state;
	for (int when = STORE_MODEL_BEFORE; when <= STORE_MODEL_AFTER; when++)
		for (unsigned nth = 1; nth <= 40; nth++, runs++) {
			struct sim *sim = sim_held(nth);
			char uuid[UUID_LENGTH + 1];

			snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
			open_gate(sim, uuid);
			store_model_fail(sim_holder(sim, "commerce")->store, nth, 1 + nth % 3, (enum store_model_when)when);
			assert_ends_verified(sim, uuid);
			sim_free(sim);
		}
	print_message("%u runs: each call of the store fails before or behind its effect\n", runs);
}

/* ---- Fail-over to a replica that lags. ---- */

/* Return: whether the fleet was further than the replica. */
static bool run_fail_over(uint64_t seed, int64_t snapshot_ms, int64_t lag_ms)
{
	struct sim *sim = sim_held(seed);
	char uuid[UUID_LENGTH + 1];
	struct change before;
	enum phase phase;

	snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
	sim_pass(sim, snapshot_ms);
	before = *store_model_change(sim->model, "default", uuid);
	store_model_snapshot(sim->model);
	open_gate(sim, uuid);
	sim_pass(sim, lag_ms);
	phase = phase_of(sim, uuid);
	store_model_set(sim->model, STORE_MODEL_DOWN);
	sim_pass(sim, MINUTE_MS);
	sim_fail_over(sim);
	store_model_set(sim->model, STORE_MODEL_UP);
	assert_int_equal(phase_of(sim, uuid), before.phase);
	sim_pass(sim, 5 * MINUTE_MS);
	if (phase == PHASE_SUBMITTED) { /* the wish was lost with the old server: it is asked for again */
		open_gate(sim, uuid);
		assert_ends_verified(sim, uuid);
	} else { /* the fleet is further than the store knows: that is for a person */
		struct ask verify = { .keyspace = "commerce", .uuid = uuid, .goal = GOAL_VERIFIED, .take_up = true };

		assert_int_equal(phase_of(sim, uuid), PHASE_STOPPED);
		sim_ask(sim, &verify);
		assert_ends_verified(sim, uuid);
	}
	assert_history_is_whole(sim, uuid);
	sim_free(sim);
	return phase != PHASE_SUBMITTED;
}

static void test_a_fail_over_to_a_stale_replica_does_no_effect_twice(void **state)
{
	unsigned further = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++)
		further += run_fail_over(seed, (int64_t)seed * 211, (int64_t)(seed * 1733 % 10000));
	print_message("40 fail-overs, the fleet was further than the replica in %u\n", further);
	assert_true(further >= 10 && further <= 30);
}

/* A backup of yesterday is put back, and the old holder started again. */
static void test_a_restarted_holder_on_an_old_snapshot_sends_no_effect(void **state)
{
	struct sim *sim = sim_held(3);
	struct controller *holder = sim_holder(sim, "commerce");
	char uuid[UUID_LENGTH + 1];
	unsigned effects;

	(void)state;
	snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
	store_model_snapshot(sim->model);
	open_gate(sim, uuid);
	assert_ends_verified(sim, uuid);
	effects = effects_of_all(sim);
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].state != CONTROLLER_DEAD)
			sim_kill(&sim->controllers[i]);
	sim_fail_over(sim);
	sim_restart(holder);
	sim_pass(sim, HOUR_MS);
	assert_int_equal(effects_of_all(sim), effects);
	assert_int_equal(phase_of(sim, uuid), PHASE_STOPPED);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fleet_times_applied(sim->fleet, i, uuid), 1);
	sim_free(sim);
}

/* ---- Clocks. ---- */

static void test_a_wall_clock_that_jumps_a_day_moves_no_lease(void **state)
{
	static const int64_t day_ms = 24 * HOUR_MS;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sim *sim = sim_held(seed);
		struct controller *holder = sim_holder(sim, "commerce");
		char uuid[UUID_LENGTH + 1];

		snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
		holder->wall_offset_ms = seed % 2 ? day_ms : -day_ms;
		sim->controllers[(holder->index + 1) % 3].wall_offset_ms = seed % 4 < 2 ? day_ms : -day_ms;
		sim_pass(sim, 10 * MINUTE_MS);
		assert_ptr_equal(sim_holder(sim, "commerce"), holder);
		holder->wall_offset_ms = 0;
		sim_pass(sim, 10 * MINUTE_MS);
		assert_ptr_equal(sim_holder(sim, "commerce"), holder);
		sim->controllers[(holder->index + 1) % 3].wall_offset_ms = 0;
		open_gate(sim, uuid);
		assert_ends_verified(sim, uuid);
		sim_free(sim);
	}
}

static void test_a_store_clock_that_jumps_costs_at_most_a_change_of_holder(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct sim *sim = sim_held(seed);
		char uuid[UUID_LENGTH + 1];

		snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
		open_gate(sim, uuid);
		sim_pass(sim, (int64_t)seed * 331);
		store_model_set_clock(sim->model, seed % 2 ? HOUR_MS : -HOUR_MS);
		assert_ends_verified(sim, uuid);
		sim_free(sim);
	}
}

/* Behind a jump back a dead holder's lease would last an hour more: that is an alarm, not a hang for ever. */
static void test_a_store_clock_that_jumps_forward_lets_another_take_over_at_once(void **state)
{
	struct sim *sim = sim_held(5);
	struct controller *holder = sim_holder(sim, "commerce");

	(void)state;
	sim_pause(holder, INT64_MAX);
	store_model_set_clock(sim->model, MINUTE_MS);
	sim_pass(sim, 2400 + TAKEOVER_MS);
	assert_non_null(sim_holder(sim, "commerce"));
	assert_ptr_not_equal(sim_holder(sim, "commerce"), holder);
	sim_continue(holder);
	sim_pass(sim, MINUTE_MS);
	assert_ptr_not_equal(sim_holder(sim, "commerce"), holder);
	open_gate(sim, sim->uuid);
	assert_ends_verified(sim, sim->uuid);
	sim_free(sim);
}

/* ---- One keyspace does not delay another. ---- */

enum silence { SILENCE_NONE, SILENCE_VTCTLD, SILENCE_PRIMARY, SILENCE_VTCTLD_DOWN, _SILENCE_MAX };

static void silence(struct fleet *fleet, enum silence what)
{
	static const enum vtctld_method methods[] = { VTCTLD_GET_KEYSPACES, VTCTLD_FIND_ALL_SHARDS, VTCTLD_GET_TABLETS,
						      VTCTLD_GET_SCHEMA_MIGRATIONS, VTCTLD_EXECUTE_FETCH_AS_DBA,
						      VTCTLD_GET_SCHEMA, VTCTLD_APPLY_SCHEMA, VTCTLD_COMPLETE };

	for (size_t i = 0; what == SILENCE_VTCTLD && i < sizeof(methods) / sizeof(methods[0]); i++)
		fleet_fault(fleet, &(struct fault){ .method = methods[i], .nth = 1, .times = 1000000, .drop = true });
	if (what == SILENCE_PRIMARY)
		assert_true(fleet_tablet(fleet, "-80", TABLET_KILL));
	if (what == SILENCE_VTCTLD_DOWN)
		fleet_vtctld(fleet, false);
}

static bool second_is_verified(struct sim *sim, void *user)
{
	return phase_of(sim, user) == PHASE_VERIFIED;
}

/* Return: from the last shard of the second keyspace being ready to its end. */
static int64_t time_of_second(uint64_t seed, enum silence what)
{
	static const char *const keyspaces[] = { "commerce", "customer" };
	struct sim *sim = sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = seed, .shared_store = true,
							.copy_ms = 90000 + (int64_t)seed * 1000, .keyspaces = keyspaces,
							.keyspace_count = 2, .server_per_keyspace = true });
	struct ask ask = submit_ask(ADD, true);
	char uuid[UUID_LENGTH + 1];
	int64_t began_ms, took_ms;

	sim_daemon(sim); /* one: both keyspaces are its */
	sim_ask(sim, &ask);
	sim_pass(sim, 20 * SECOND_MS);
	ask.keyspace = "customer";
	sim_ask(sim, &ask);
	sim_pass(sim, 20 * SECOND_MS);
	snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
	assert_int_equal(phase_of(sim, uuid), PHASE_SUBMITTED);
	assert_string_equal(store_model_change(sim->model, "default", uuid)->keyspace, "customer");
	silence(sim->fleets[0], what);
	began_ms = sim->now_ms;
	assert_true(sim_until(sim, second_is_verified, uuid, HOUR_MS));
	took_ms = sim->now_ms - began_ms;
	assert_done_once(sim, sim->fleets[1], uuid, 1);
	sim_free(sim);
	return took_ms;
}

static void test_a_silent_vtctld_or_primary_of_one_keyspace_does_not_delay_another(void **state)
{
	int64_t sum_ms[_SILENCE_MAX] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		int64_t alone_ms = time_of_second(seed, SILENCE_NONE);

		sum_ms[SILENCE_NONE] += alone_ms;
		for (int what = SILENCE_NONE + 1; what < _SILENCE_MAX; what++) {
			int64_t took_ms = time_of_second(seed, (enum silence)what);

			sum_ms[what] += took_ms;
			/* another draw of the jitter: at most the interval of one look */
			if (took_ms > alone_ms + 15 * SECOND_MS)
				fail_msg("seed %u, silence %d: %lld ms, without it %lld ms", (unsigned)seed, what,
					 (long long)took_ms, (long long)alone_ms);
		}
	}
	for (int what = 0; what < _SILENCE_MAX; what++)
		print_message("silence %d: on average %lld ms\n", what, (long long)sum_ms[what] / 40);
	for (int what = SILENCE_NONE + 1; what < _SILENCE_MAX; what++)
		assert_true(sum_ms[what] < sum_ms[SILENCE_NONE] + 40 * SECOND_MS);
}

/* ---- SIGHUP: other settings, perhaps another vtctld. ---- */

enum calm { CALM_READY, CALM_RELEASED, CALM_DOWN, _CALM_MAX };

/* Nothing but waiting is left to do, and it has lasted for long. */
static struct sim *sim_calm(uint64_t seed, enum calm what)
{
	struct sim *sim = sim_shared(seed);

	sim_daemon(sim);
	hold_one(sim);
	if (what == CALM_RELEASED) {
		for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
			assert_true(fleet_block_cutover(sim->fleet, two[i], true));
		open_gate(sim, sim->uuid);
	}
	if (what == CALM_DOWN)
		fleet_vtctld(sim->fleet, false);
	sim_pass(sim, 10 * MINUTE_MS);
	assert_int_equal(phase_of(sim, sim->uuid), what == CALM_RELEASED ? PHASE_COMPLETING : PHASE_SUBMITTED);
	return sim;
}

/* INT64_MIN: never */
static int64_t last_read_ms(const struct sim *sim)
{
	for (size_t i = sim->mark_count; i-- > 0;)
		if (sim->marks[i].kind == MARK_READ)
			return sim->marks[i].at_ms;
	return INT64_MIN;
}

/* @under_way: the look that is due next has begun, and may be one at the vtctld of before. */
static void change_settings(uint64_t seed, enum calm what, bool under_way)
{
	struct sim *sim = sim_calm(seed, what);
	struct engine *engine = sim_holder(sim, "commerce")->engine;
	int64_t before_ms = last_read_ms(sim);

	while (last_read_ms(sim) == before_ms)
		sim_pass(sim, 1);
	if (!under_way)
		sim_pass(sim, SECOND_MS);
	if (what == CALM_DOWN)
		fleet_vtctld(sim->fleet, true);
	before_ms = sim->now_ms;
	engine_reconfigure(engine, 10 * SECOND_MS, 10 * SECOND_MS, 75 * SECOND_MS);
	sim_pass(sim, SECOND_MS);
	if (last_read_ms(sim) <= before_ms)
		fail_msg("seed %u, %d, %d: nobody is asked", (unsigned)seed, what, under_way);
	assert_int_equal(engine_server_down_ms(engine, 0), 0);
	sim_free(sim);
}

static void test_other_settings_are_tried_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		for (int what = 0; what < _CALM_MAX; what++)
			for (int under_way = 0; under_way <= (what == CALM_READY); under_way++)
				change_settings(seed, (enum calm)what, under_way);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_store_that_is_down_for_ten_minutes_stops_effects_and_no_more),
		cmocka_unit_test(test_a_store_that_takes_no_writes_for_ten_minutes_stops_effects_and_no_more),
		cmocka_unit_test(test_a_submit_into_an_outage_is_carried_out_behind_it),
		cmocka_unit_test(test_a_commit_of_unknown_outcome_is_read_back),
		cmocka_unit_test(test_a_fail_over_to_a_stale_replica_does_no_effect_twice),
		cmocka_unit_test(test_a_restarted_holder_on_an_old_snapshot_sends_no_effect),
		cmocka_unit_test(test_a_wall_clock_that_jumps_a_day_moves_no_lease),
		cmocka_unit_test(test_a_store_clock_that_jumps_costs_at_most_a_change_of_holder),
		cmocka_unit_test(test_a_store_clock_that_jumps_forward_lets_another_take_over_at_once),
		cmocka_unit_test(test_a_silent_vtctld_or_primary_of_one_keyspace_does_not_delay_another),
		cmocka_unit_test(test_other_settings_are_tried_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
