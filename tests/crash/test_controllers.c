/*
 * Two and three controllers over one store: the one that acts is killed, stopped for longer than its lease, or
 * asked to leave, at every boundary of one change: before and after every store call, before every RPC and
 * when its answer is there. It always ends verified, with one migration and one release, and the others take
 * over in time. The times are the protocol's own figures, in virtual time.
 */
#include "controllers_fixture.h"

#include "crash_points.h"

#define RESTART_MS (20 * SECOND_MS) /* a dead daemon is started again by then */
#define LEASE_BEYOND_MS (6 * SECOND_MS) /* so much longer than an effect may act is its lease */

enum blow { BLOW_NONE, BLOW_KILL, BLOW_PAUSE, BLOW_TERMINATE, _BLOW_MAX };
static const char *const blow_names[_BLOW_MAX] = { "none", "kill -9", "SIGSTOP", "SIGTERM" };

static struct crash_counts *counts;

struct plan {
	enum blow blow, then_blow;
	unsigned at; /* boundary of whoever holds the lease, from 1 */
	unsigned then; /* and of whoever holds it behind that, counted anew; 0: once only */
	int64_t pause_ms;

	unsigned seen, strikes;
	struct controller *victim, *about_to; /* struck; it sends an effect and is struck behind that */
	char victim_owner[ACTOR_MAX + 1];
	int64_t struck_at_ms, lease_ends_ms, attempt_ends_ms;
	int64_t effect_at_ms; /* when an effect was in flight last */
	int64_t died_ms[SIM_CONTROLLERS_MAX]; /* 0: it did not */
	bool restarts;	      /* what is dead is started again */
	bool idle;	      /* and that was a while ago when it was struck */
	bool over;	      /* nothing was left to do at that moment */
};

/* What the record says of an effect. False: there is none yet. */
static bool read_attempt(struct sim *sim, struct plan *plan)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct change change;
	int64_t now_ms = store_model_now(sim->model);

	if (!sim_load(sim, &arena, &change))
		return false;
	plan->attempt_ends_ms = sim->now_ms + change.in_flight_until_ms - now_ms;
	plan->idle = sim->now_ms - plan->effect_at_ms > SECOND_MS && now_ms - change.updated_at_ms > SECOND_MS;
	return true;
}

static void hit(struct plan *plan, struct controller *controller, size_t point, bool gave_up)
{
	struct sim *sim = controller->sim;
	enum blow blow = plan->strikes ? plan->then_blow : plan->blow;

	crash_count(counts, plan->strikes, point);
	if (++plan->strikes == 1 && plan->then)
		plan->seen = 0;
	plan->about_to = NULL;
	plan->victim = controller;
	snprintf(plan->victim_owner, sizeof(plan->victim_owner), "%s", controller->owner);
	plan->struck_at_ms = sim->now_ms;
	plan->lease_ends_ms = sim_lease_ends_ms(sim, "commerce");
	plan->over = !read_attempt(sim, plan) || sim_all_verified(sim, NULL) || gave_up; /* nothing to take over */
	plan->died_ms[controller->index] = blow == BLOW_PAUSE ? 0 : sim->now_ms;
	if (blow == BLOW_KILL)
		sim_kill(controller);
	else if (blow == BLOW_PAUSE)
		sim_pause(controller, plan->pause_ms);
	else
		sim_terminate(controller);
}

static void strike(struct controller *controller, enum boundary_kind kind, void *user)
{
	struct plan *plan = user;
	struct sim *sim = controller->sim;
	const struct request *request = &controller->held->requests[0];
	bool gave_up = kind == BOUNDARY_STORE_AFTER && request->kind == REQUEST_STORE_RELEASE;
	unsigned next = plan->strikes ? plan->then : plan->at;

	if (sim_effect_is_in_flight(controller))
		plan->effect_at_ms = sim->now_ms;
	if (plan->strikes > 1 || (sim_holder(sim, "commerce") != controller && !gave_up))
		return;
	if (++plan->seen == next)
		hit(plan, controller, crash_point_of(controller, kind), gave_up);
	else if (kind == BOUNDARY_RPC_BEFORE && vtctld_method_is_effect(request->rpc.method) && ++plan->seen == next)
		plan->about_to = controller;
}

static void restart_dead(struct sim *sim, void *user)
{
	struct plan *plan = user;

	for (size_t i = 0; plan->restarts && i < sim->controller_count; i++) {
		struct controller *controller = &sim->controllers[i];

		if (controller->serves && controller->state == CONTROLLER_DEAD && plan->died_ms[i] &&
		    sim->now_ms >= plan->died_ms[i] + RESTART_MS)
			sim_restart(controller);
	}
}

/* What it did at that moment is done: an effect was handed to the channel. */
static void after_turn(struct sim *sim, void *user)
{
	struct plan *plan = user;

	restart_dead(sim, user);
	if (plan->about_to && plan->about_to->state == CONTROLLER_ALIVE)
		hit(plan, plan->about_to, crash_point_index("effect-start-after"), false);
}

static unsigned taken_over, taken_over_idle;

/* The next one comes within two seconds of the lease's end, and where no effect is owed the lease has no more
 * than its thirty seconds. */
static void assert_taken_over(struct sim *sim, const struct plan *plan, int64_t slack_ms)
{
	int64_t longest_ms = plan->attempt_ends_ms + LEASE_BEYOND_MS;

	if (plan->idle || longest_ms < plan->struck_at_ms + LEASE_MS)
		longest_ms = plan->struck_at_ms + LEASE_MS;
	if (plan->lease_ends_ms > longest_ms)
		fail_msg("%s at %u: the lease lasts %lld ms more", blow_names[plan->blow], plan->at,
			 (long long)(plan->lease_ends_ms - plan->struck_at_ms));
	if (strcmp(sim->taken_by, plan->victim_owner) == 0)
		fail_msg("%s at %u: nobody took over", blow_names[plan->blow], plan->at);
	taken_over++;
	taken_over_idle += plan->idle;
	if (sim->taken_at_ms > plan->lease_ends_ms + TAKEOVER_MS + slack_ms)
		fail_msg("%s at %u: taken over %lld ms after the end of the lease", blow_names[plan->blow], plan->at,
			 (long long)(sim->taken_at_ms - plan->lease_ends_ms));
}

static bool somebody_else_leads(struct sim *sim, void *user)
{
	const struct plan *plan = user;

	return sim_all_verified(sim, NULL) || (sim->taken_at_ms > plan->struck_at_ms &&
					       strcmp(sim->taken_by, plan->victim_owner) != 0);
}

static bool submitted_or_dead(struct sim *sim, void *user)
{
	const struct controller *asker = user;

	return is_submitted(sim, NULL) || asker->state == CONTROLLER_DEAD;
}

/* A pipeline runs its dead `submit` again. */
static void run_asker(struct sim *sim, const struct ask *ask)
{
	struct controller *asker = sim_ask(sim, ask);

	while (sim_until(sim, submitted_or_dead, asker, 10 * MINUTE_MS) && asker->state == CONTROLLER_DEAD &&
	       !asker->ended) {
		sim_pass(sim, 500);
		sim_restart(asker);
	}
}

struct setting {
	const char *ddl;
	unsigned daemons;
	bool clocks_differ;
	uint64_t seed;
	bool restarts;
};

/* Return: how many boundaries its holders passed; of a pair 0 where the second blow found none to strike at. */
static unsigned run(const struct setting *setting, struct plan plan)
{
	static const int rates[] = { 100, 80, 120 };
	struct sim *sim = sim_shared(setting->seed);
	struct ask ask = submit_ask(setting->ddl, true);

	for (unsigned i = 0; i < setting->daemons; i++)
		sim_daemon_at(sim, setting->clocks_differ ? rates[i % 3] : 100);
	sim_pass(sim, 5 * SECOND_MS);
	sim->on_boundary = strike;
	sim->hook = after_turn;
	sim->boundary_user = sim->hook_user = &plan;
	plan.restarts = setting->restarts;
	run_asker(sim, &ask);
	if (plan.blow != BLOW_NONE && !plan.victim)
		sim_until(sim, sim_all_verified, NULL, HOUR_MS);
	if (plan.victim && !plan.over && !plan.then && plan.blow != BLOW_TERMINATE) {
		sim_until(sim, somebody_else_leads, &plan, HOUR_MS);
		assert_taken_over(sim, &plan, setting->clocks_differ ? SECOND_MS : 0);
	}
	if (!sim_until(sim, sim_all_verified, NULL, 2 * HOUR_MS))
		fail_msg("%s at %u: not verified but %s", blow_names[plan.blow], plan.at,
			 phase_name(phase_of(sim, sim->uuid)));
	sim_pass(sim, 5 * MINUTE_MS); /* the one that was stopped goes on meanwhile */
	assert_done_once(sim, sim->fleet, sim->uuid, 1);
	if (plan.blow != BLOW_NONE && !plan.victim)
		fail_msg("no boundary %u: %u passed", plan.at, plan.seen);
	sim_free(sim);
	__atomic_fetch_add(&counts->runs, 1, __ATOMIC_RELAXED);
	return plan.then && plan.strikes < 2 ? 0 : plan.seen;
}

static void enumerate(const struct setting *setting, enum blow blow)
{
	unsigned boundaries = run(setting, (struct plan){ .blow = BLOW_NONE });

	assert_true(boundaries > 40);
	for (unsigned at = 1; at <= boundaries; at++)
		run(setting, (struct plan){ .blow = blow, .at = at, .pause_ms = 2 * MINUTE_MS + at * 131 });
	print_message("%s, %u daemons%s: %s at each of %u boundaries\n", setting->ddl, setting->daemons,
		      setting->clocks_differ ? " with clocks at 100, 80 and 120 %" : "", blow_names[blow], boundaries);
}

static void enumerate_all(enum blow blow)
{
	static const struct setting settings[] = {
		{ ADD, 2, false, 21 }, { ADD, 3, true, 22 }, { CREATE, 2, true, 23 }, { CREATE, 3, false, 24 },
	};

	taken_over = taken_over_idle = 0;
	*counts = (struct crash_counts){ 0 };
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		enumerate(&settings[i], blow);
	print_message("%u take-overs in time, %u of them with no effect in flight\n", taken_over, taken_over_idle);
	crash_counts_check(counts, 1, 1, "store-insert");
	assert_true(blow == BLOW_TERMINATE || taken_over > 300);
}

/* ---- Pairs: the next holder as well, at every boundary of its own. ---- */

struct pairs {
	const struct setting *setting;
	enum blow first, second;
	unsigned boundaries, workers;
};

static void pairs_share(unsigned number, void *user)
{
	const struct pairs *pairs = user;

	for (unsigned at = 1 + number; at <= pairs->boundaries; at += pairs->workers)
		for (unsigned then = 1;; then++) {
			struct plan plan = { .blow = pairs->first, .then_blow = pairs->second, .at = at, .then = then,
					     .pause_ms = 2 * MINUTE_MS + at * 131 };

			if (run(pairs->setting, plan) == 0)
				break;
		}
}

static void enumerate_pairs(enum blow first, enum blow second)
{
	/* of two that both die one must come back */
	static const struct setting settings[] = { { ADD, 2, false, 21, true }, { ADD, 3, true, 22, false } };

	*counts = (struct crash_counts){ 0 };
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct pairs pairs = { &settings[i], first, second, run(&settings[i], (struct plan){ .blow = BLOW_NONE }),
				       workers_count() };
		unsigned before = counts->runs;

		if (!workers_run(pairs.workers, pairs_share, NULL, &pairs))
			fail_msg("see above");
		print_message("%s, %u daemons: %s, then %s: %u pairs of boundaries\n", settings[i].ddl, settings[i].daemons,
			      blow_names[first], blow_names[second], counts->runs - before);
		assert_true(counts->runs - before > 1000);
	}
	crash_counts_check(counts, 2, 2, "store-insert"); /* whoever asks writes the intent, and exits */
}

static void test_two_holders_killed_at_any_pair_of_points_end_the_same(void **state)
{
	(void)state;
	enumerate_pairs(BLOW_KILL, BLOW_KILL);
}

static void test_two_holders_stopped_at_any_pair_of_points_end_the_same(void **state)
{
	(void)state;
	enumerate_pairs(BLOW_PAUSE, BLOW_PAUSE);
}

static void test_the_holder_killed_at_any_point_is_taken_over_and_ends_the_same(void **state)
{
	(void)state;
	enumerate_all(BLOW_KILL);
}

static void test_the_holder_stopped_past_its_lease_at_any_point_does_no_harm_when_it_wakes(void **state)
{
	(void)state;
	enumerate_all(BLOW_PAUSE);
}

static void test_the_holder_asked_to_leave_at_any_point_ends_the_same(void **state)
{
	(void)state;
	enumerate_all(BLOW_TERMINATE);
}

/* ---- Single cases, by the clock. ---- */

static bool another_leads(struct sim *sim, void *user)
{
	return sim_holder(sim, "commerce") && sim_holder(sim, "commerce") != user;
}

static void test_a_killed_holder_with_nothing_in_flight_is_replaced_within_32_s(void **state)
{
	int64_t longest_ms = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct sim *sim = sim_shared(seed);
		struct controller *holder;
		int64_t died_ms;

		sim_daemon(sim);
		sim_daemon(sim);
		sim_daemon(sim);
		hold_one(sim);
		sim_pass(sim, (int64_t)seed * 173);
		holder = sim_holder(sim, "commerce");
		assert_false(sim_effect_is_in_flight(holder));
		died_ms = sim->now_ms;
		sim_kill(holder);
		assert_true(sim_until(sim, another_leads, holder, LEASE_MS + TAKEOVER_MS));
		longest_ms = sim->now_ms - died_ms > longest_ms ? sim->now_ms - died_ms : longest_ms;
		open_gate(sim, sim->uuid);
		assert_true(sim_until(sim, sim_all_verified, NULL, HOUR_MS));
		assert_done_once(sim, sim->fleet, sim->uuid, 1);
		sim_free(sim);
	}
	print_message("60 seeds: at most %lld ms from death to the next holder\n", (long long)longest_ms);
}

/* A survey of the store comes every 2 s +-20 %. */
static void test_a_holder_that_leaves_is_replaced_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct sim *sim = sim_shared(seed);
		struct controller *holder;

		sim_daemon(sim);
		sim_daemon(sim);
		hold_one(sim);
		sim_pass(sim, (int64_t)seed * 173);
		holder = sim_holder(sim, "commerce");
		sim_terminate(holder);
		sim_pass(sim, 0);
		assert_int_equal(holder->state, CONTROLLER_DEAD);
		assert_true(sim_until(sim, another_leads, holder, 2400 + TAKEOVER_MS));
		sim_free(sim);
	}
}

/* The daemon has the keyspace since a cancelled change is on watch there. */
static void cancel_held(struct sim *sim, char uuid[UUID_LENGTH + 1])
{
	struct ask cancel = { .keyspace = "commerce", .uuid = uuid, .goal = GOAL_CANCELLED };
	struct controller *asker;

	hold_one(sim);
	snprintf(uuid, UUID_LENGTH + 1, "%s", sim->uuid);
	asker = sim_ask(sim, &cancel);
	sim_pass(sim, 30 * SECOND_MS);
	assert_int_equal(asker->verdict, VERDICT_DONE);
	assert_int_equal(asker->effects, 0);
	assert_int_equal(phase_of(sim, uuid), PHASE_CANCELLED);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fleet_row(sim->fleet, i, uuid)->status, MIGRATION_CANCELLED);
}

static void test_a_change_submitted_beside_a_daemon_is_driven_by_it(void **state)
{
	static const char *const statements[] = { CREATE, "create view v as select id from orders" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sim *sim = sim_shared(31 + i);
		struct ask ask = submit_ask(statements[i], true);
		struct controller *holder, *asker;
		char cancelled[UUID_LENGTH + 1];
		unsigned effects;

		sim_daemon(sim);
		sim_daemon(sim);
		cancel_held(sim, cancelled);
		holder = sim_holder(sim, "commerce");
		assert_non_null(holder);
		effects = holder->effects;
		asker = sim_ask(sim, &ask);
		sim_pass(sim, 2 * MINUTE_MS);
		assert_int_equal(asker->verdict, VERDICT_DONE);
		assert_int_equal(asker->effects, 0);
		assert_string_not_equal(sim->uuid, cancelled);
		sim_pass(sim, 5 * MINUTE_MS);
		assert_done_once(sim, sim->fleet, sim->uuid, 2);
		assert_int_equal(holder->effects, effects + 2);
		sim_free(sim);
	}
}

/* Vitess takes one context of a keyspace at a time: the second change waits for the end of the first. */
static void test_a_second_change_of_the_keyspace_follows_the_first(void **state)
{
	struct sim *sim = sim_shared(33);
	struct ask ask = submit_ask(CREATE, true);
	char first[UUID_LENGTH + 1];

	(void)state;
	sim_daemon(sim);
	sim_daemon(sim);
	hold_one(sim);
	snprintf(first, sizeof(first), "%s", sim->uuid);
	sim_ask(sim, &ask);
	sim_pass(sim, 5 * MINUTE_MS);
	assert_int_equal(phase_of(sim, first), PHASE_SUBMITTED);
	open_gate(sim, first);
	sim_pass(sim, 15 * MINUTE_MS);
	assert_done_once(sim, sim->fleet, first, 2);
	assert_true(sim_all_verified(sim, &(unsigned){ 2 }));
	sim_free(sim);
}

static void test_a_wish_of_one_without_the_lease_is_carried_out_by_the_holder(void **state)
{
	struct sim *sim = sim_shared(41);
	char uuid[UUID_LENGTH + 1];

	(void)state;
	sim_daemon(sim);
	sim_daemon(sim);
	cancel_held(sim, uuid);
	/* R6: it is on watch; a shard that revives is cancelled again */
	fleet_retry(sim->fleet, uuid, "-80");
	assert_int_not_equal(fleet_row(sim->fleet, 0, uuid)->status, MIGRATION_CANCELLED);
	sim_pass(sim, 2 * MINUTE_MS);
	assert_int_equal(fleet_row(sim->fleet, 0, uuid)->status, MIGRATION_CANCELLED);
	assert_history_is_whole(sim, uuid);
	sim_free(sim);
}

static void test_a_late_change_run_again_beside_a_daemon_goes_on(void **state)
{
	struct sim *sim = sim_shared(43);
	char uuid[UUID_LENGTH + 1];

	(void)state;
	sim_daemon(sim);
	sim_daemon(sim);
	hold_one(sim);
	snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
	sim_pass(sim, 7 * HOUR_MS); /* behind its deadline of six */
	assert_non_null(sim_holder(sim, "commerce"));
	assert_int_equal(phase_of(sim, uuid), PHASE_SUBMITTED);
	open_gate(sim, uuid);
	assert_true(sim_until(sim, sim_all_verified, NULL, HOUR_MS));
	assert_done_once(sim, sim->fleet, uuid, 1);
	sim_free(sim);
}

/* No daemon: whoever waits for another change must not keep the lease from the one who can end it. */
static void test_a_run_behind_another_change_leaves_the_lease_to_its_driver(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sim *sim = sim_shared(seed);
		struct ask first = submit_ask(ADD, false);
		struct ask behind = { .keyspace = "commerce", .ddl = CREATE, .goal = GOAL_VERIFIED, .open_gate = true };
		struct ask complete = { .keyspace = "commerce", .goal = GOAL_VERIFIED, .open_gate = true };
		char uuid[UUID_LENGTH + 1];
		struct controller *waiting;

		sim_ask(sim, &first);
		sim_pass(sim, MINUTE_MS);
		snprintf(uuid, sizeof(uuid), "%s", sim->uuid);
		assert_int_equal(phase_of(sim, uuid), PHASE_SUBMITTED);
		waiting = sim_ask(sim, &behind);
		sim_pass(sim, 5 * MINUTE_MS + (int64_t)seed * 977);
		assert_int_equal(waiting->state, CONTROLLER_ALIVE);
		complete.uuid = uuid;
		sim_ask(sim, &complete);
		assert_true(sim_until(sim, sim_all_verified, &(unsigned){ 2 }, 15 * MINUTE_MS));
		assert_done_once(sim, sim->fleet, uuid, 2);
		sim_free(sim);
	}
}

static bool was_applied(struct sim *sim, void *user)
{
	(void)user;
	return sim->applies > 0;
}

/* One shard of the first change has its row, the other not yet. A second change that got in there now would wait
 * for the first one's shard, and the first one for the second's, for ever. */
static void test_a_half_submitted_change_is_not_overtaken(void **state)
{
	(void)state;
	for (unsigned daemons = 0; daemons < 2; daemons++) {
		struct sim *sim = sim_shared(61 + daemons);
		struct ask first = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
		struct ask second = { .keyspace = "commerce", .ddl = CREATE, .goal = GOAL_VERIFIED, .open_gate = true };
		struct controller *asker = sim_ask(sim, &first);

		fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_AFTER,
							 .shards = "-80", .code = 14 });
		assert_true(sim_until(sim, was_applied, NULL, MINUTE_MS));
		sim_kill(asker);
		assert_int_equal(fleet_row_count(sim->fleet, 0), 1);
		assert_int_equal(fleet_row_count(sim->fleet, 1), 0);
		for (unsigned i = 0; i < daemons; i++)
			sim_daemon(sim);
		sim_ask(sim, &second);
		sim_pass(sim, 5 * MINUTE_MS);
		sim_restart(asker);
		assert_true(sim_until(sim, sim_all_verified, &(unsigned){ 2 }, HOUR_MS));
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(fleet_row_count(sim->fleet, i), 2);
		sim_free(sim);
	}
}

/* Kill upon kill: every life of every controller ends at a random moment until none is planned any more. */
static void test_a_storm_of_deaths_and_pauses_ends_verified(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct sim *sim = sim_shared(seed);
		struct ask ask = submit_ask(seed % 2 ? ADD : CREATE, true);
		uint64_t random = seed * 0x9e3779b97f4a7c15ULL;
		struct controller *asker;

		for (int i = 0; i < 3; i++)
			sim_daemon_at(sim, 80 + (int)((seed * 7 + (uint64_t)i * 13) % 41));
		asker = sim_ask(sim, &ask);
		for (int blows = 0; blows < 25; blows++) {
			struct controller *victim;

			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			sim_pass(sim, (int64_t)(random >> 40) % 20000);
			victim = &sim->controllers[(random >> 33) % 4];
			if (victim == asker && asker->ended)
				continue;
			if (victim->state == CONTROLLER_DEAD)
				sim_restart(victim);
			else if (victim->state == CONTROLLER_PAUSED)
				sim_continue(victim);
			else if (random >> 32 & 1)
				sim_kill(victim);
			else
				sim_pause(victim, (int64_t)(random >> 42) % 200000);
		}
		for (size_t i = 0; i < 4; i++)
			if (sim->controllers[i].state == CONTROLLER_DEAD && !sim->controllers[i].ended)
				sim_restart(&sim->controllers[i]);
		if (!sim_until(sim, sim_all_verified, NULL, 2 * HOUR_MS))
			fail_msg("seed %u: not verified", (unsigned)seed);
		sim_pass(sim, 5 * MINUTE_MS);
		assert_done_once(sim, sim->fleet, sim->uuid, 1);
		sim_free(sim);
	}
}

/* Every single point by default; every pair is asked for by name. A second word chooses tests by their names. */
int main(int argc, char **argv)
{
	const struct CMUnitTest pairs[] = {
		cmocka_unit_test(test_two_holders_killed_at_any_pair_of_points_end_the_same),
		cmocka_unit_test(test_two_holders_stopped_at_any_pair_of_points_end_the_same),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_holder_killed_at_any_point_is_taken_over_and_ends_the_same),
		cmocka_unit_test(test_the_holder_stopped_past_its_lease_at_any_point_does_no_harm_when_it_wakes),
		cmocka_unit_test(test_the_holder_asked_to_leave_at_any_point_ends_the_same),
		cmocka_unit_test(test_a_killed_holder_with_nothing_in_flight_is_replaced_within_32_s),
		cmocka_unit_test(test_a_holder_that_leaves_is_replaced_at_once),
		cmocka_unit_test(test_a_change_submitted_beside_a_daemon_is_driven_by_it),
		cmocka_unit_test(test_a_second_change_of_the_keyspace_follows_the_first),
		cmocka_unit_test(test_a_wish_of_one_without_the_lease_is_carried_out_by_the_holder),
		cmocka_unit_test(test_a_late_change_run_again_beside_a_daemon_goes_on),
		cmocka_unit_test(test_a_run_behind_another_change_leaves_the_lease_to_its_driver),
		cmocka_unit_test(test_a_half_submitted_change_is_not_overtaken),
		cmocka_unit_test(test_a_storm_of_deaths_and_pauses_ends_verified),
	};

	counts = workers_memory(sizeof(*counts));
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	if (argc > 1 && strcmp(argv[1], "pairs") == 0)
		return cmocka_run_group_tests(pairs, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
