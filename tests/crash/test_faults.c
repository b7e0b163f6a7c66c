/* What the world does to a change on the way, and the outcome that each must have. Virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define HOUR_MS (3600 * 1000LL)
#define MINUTE_MS (60 * 1000LL)
#define ADD "alter table orders add column x int"
#define CREATE "create table notes (id bigint primary key)"

static const char *const four[] = { "-40", "40-80", "80-c0", "c0-" };

static struct sim *sim_four(uint64_t seed)
{
	return sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = seed });
}

static void run(struct sim *sim, const char *ddl)
{
	struct ask ask = { .keyspace = "commerce", .ddl = ddl, .goal = GOAL_VERIFIED, .open_gate = true };

	sim_run(sim, &ask, 8 * HOUR_MS);
}

/* ---- An effect whose answer does not say what it did. ---- */

static void test_any_answer_after_the_effect_on_any_shards_ends_the_same(void **state)
{
	static const enum vtctld_method methods[] = { VTCTLD_APPLY_SCHEMA, VTCTLD_COMPLETE };
	static const int codes[] = { 1, 2, 4, 8, 10, 13, 14 };
	unsigned runs = 0;

	(void)state;
	for (size_t m = 0; m < 2; m++)
		for (size_t c = 0; c < sizeof(codes) / sizeof(codes[0]); c++)
			for (unsigned subset = 0; subset < 16; subset++, runs++) {
				struct sim *sim = sim_four(subset);
				char shards[64] = "";

				for (unsigned i = 0; i < 4; i++)
					if (subset & 1u << i)
						snprintf(shards + strlen(shards), sizeof(shards) - strlen(shards), "%s%s",
							 shards[0] ? "," : "", four[i]);
				fleet_fault(sim->fleet, &(struct fault){ .method = methods[m], .nth = 1, .code = codes[c],
									 .when = subset ? FAULT_AFTER : FAULT_BEFORE,
									 .shards = shards });
				run(sim, subset % 2 ? ADD : CREATE);
				if (sim->verdict != VERDICT_DONE)
					fail_msg("%s, code %d, done on '%s': verdict %d, %s", vtctld_method_name(methods[m]),
						 codes[c], shards, sim->verdict, sim->reason);
				for (size_t i = 0; i < 4; i++) {
					assert_int_equal(fleet_row_count(sim->fleet, i), 1);
					assert_int_equal(fleet_row(sim->fleet, i, sim->uuid)->retries, 0);
				}
				assert_int_equal(fleet_faults_left(sim->fleet), 0);
				sim_free(sim);
			}
	print_message("%u combinations of method, code and shards\n", runs);
}

static void test_an_effect_that_is_never_answered_is_read_back(void **state)
{
	static const enum vtctld_method methods[] = { VTCTLD_APPLY_SCHEMA, VTCTLD_COMPLETE };

	(void)state;
	for (size_t m = 0; m < 2; m++)
		for (int when = FAULT_BEFORE; when <= FAULT_AFTER; when++) {
			struct sim *sim = sim_four(9);

			fleet_fault(sim->fleet, &(struct fault){ .method = methods[m], .nth = 1, .when = when, .drop = true });
			run(sim, ADD);
			sim_assert_done(sim, "orders", "`x` int");
			sim_free(sim);
		}
}

/* ---- Tablets and reparents, at each stage of the change. ---- */

enum stage_of { AT_SUBMIT, AT_HOLD, AT_COMPLETE, _AT_MAX };

struct event_plan {
	enum stage_of at;
	enum tablet_event event, undo;
	bool reparent, emergency;
	int64_t undo_after_ms;
	int64_t happened_at_ms; /* -1: not yet */
	bool undone;
};

static bool stage_is(struct sim *sim, enum stage_of at)
{
	switch (at) {
	case AT_SUBMIT:
		return fleet_calls(sim->fleet, VTCTLD_GET_SCHEMA) >= 4;
	case AT_HOLD:
		return sim->phase == PHASE_SUBMITTED && sim->uuid[0];
	default:
		return sim->phase == PHASE_COMPLETING && sim->uuid[0];
	}
}

static void on_plan(struct sim *sim, void *user)
{
	struct event_plan *plan = user;

	if (plan->happened_at_ms < 0 && stage_is(sim, plan->at)) {
		plan->happened_at_ms = sim->now_ms;
		if (plan->reparent)
			assert_true(fleet_reparent(sim->fleet, "80-c0", plan->emergency));
		else
			assert_true(fleet_tablet(sim->fleet, "80-c0", plan->event));
	}
	if (plan->happened_at_ms >= 0 && !plan->undone && sim->now_ms >= plan->happened_at_ms + plan->undo_after_ms) {
		plan->undone = true;
		if (plan->emergency)
			fleet_forget_dead(sim->fleet, "80-c0");
		else if (!plan->reparent)
			assert_true(fleet_tablet(sim->fleet, "80-c0", plan->undo));
	}
}

static void run_plan(struct event_plan plan, const char *ddl, const char *table, const char *fragment)
{
	struct sim *sim = sim_four(4);

	plan.happened_at_ms = -1;
	plan.undo_after_ms = plan.undo_after_ms ? plan.undo_after_ms : 3 * MINUTE_MS;
	sim->hook = on_plan;
	sim->hook_user = &plan;
	run(sim, ddl);
	if (sim->verdict != VERDICT_DONE)
		print_message("stage %d event %d reparent %d emergency %d\n", plan.at, plan.event, plan.reparent, plan.emergency);
	sim_assert_done(sim, table, fragment);
	assert_true(plan.happened_at_ms >= 0);
	sim_free(sim);
}

static void test_a_tablet_stopped_killed_or_paused_at_any_stage_delays_and_does_no_harm(void **state)
{
	static const enum tablet_event pairs[][2] = {
		{ TABLET_STOP, TABLET_START }, { TABLET_KILL, TABLET_START }, { TABLET_PAUSE, TABLET_RESUME },
	};

	(void)state;
	for (int at = 0; at < _AT_MAX; at++)
		for (size_t i = 0; i < 3; i++) {
			struct event_plan plan = { .at = at, .event = pairs[i][0], .undo = pairs[i][1] };

			run_plan(plan, ADD, "orders", "`x` int");
			run_plan(plan, CREATE, "notes", "`id`");
		}
}

static void test_a_reparent_at_any_stage_does_no_harm(void **state)
{
	(void)state;
	for (int at = 0; at < _AT_MAX; at++) {
		run_plan((struct event_plan){ .at = at, .reparent = true }, ADD, "orders", "`x` int");
		run_plan((struct event_plan){ .at = at, .reparent = true, .emergency = true }, ADD, "orders", "`x` int");
		run_plan((struct event_plan){ .at = at, .reparent = true, .emergency = true }, CREATE, "notes", "`id`");
	}
}

static void on_blind(struct sim *sim, void *user)
{
	struct event_plan *plan = user;

	plan->undone = true; /* the record of the dead primary stays for ever */
	on_plan(sim, plan);
}

static void test_a_blind_read_is_worked_around_for_good(void **state)
{
	struct event_plan plan = { .at = AT_HOLD, .reparent = true, .emergency = true, .happened_at_ms = -1 };
	struct sim *sim = sim_four(4);

	(void)state;
	sim->hook = on_blind;
	sim->hook_user = &plan;
	run(sim, ADD);
	sim_assert_done(sim, "orders", "`x` int");
	sim_free(sim);
}

static void on_hopeless(struct sim *sim, void *user)
{
	bool *dead = user;

	if (!*dead && sim->phase == PHASE_SUBMITTED && sim->uuid[0]) {
		*dead = true;
		fleet_tablet(sim->fleet, "c0-", TABLET_KILL);
	}
}

static void test_a_tablet_that_never_returns_holds_until_the_deadline_and_says_which(void **state)
{
	struct sim *sim = sim_four(4);
	bool dead = false;

	(void)state;
	sim->hook = on_hopeless;
	sim->hook_user = &dead;
	run(sim, ADD);
	assert_true(sim->ended);
	assert_int_equal(sim->verdict, VERDICT_UNSEEN);
	assert_int_equal(sim->phase, PHASE_SUBMITTED);
	assert_non_null(strstr(sim->reason, "c0-"));
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
	sim_free(sim);
}

/* ---- Things that must stop a change, or hold it. ---- */

static void on_flap(struct sim *sim, void *user)
{
	int64_t *next_ms = user;

	if (sim->now_ms < *next_ms)
		return;
	fleet_unready(sim->fleet, "-40", (sim->now_ms / 5000) % 2);
	fleet_unready(sim->fleet, "c0-", !((sim->now_ms / 5000) % 2));
	*next_ms = sim->now_ms + 5000;
}

static void test_shards_that_are_ready_by_turns_are_never_released(void **state)
{
	struct sim *sim = sim_four(4);
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
	int64_t next_ms = 0;

	(void)state;
	sim->hook = on_flap;
	sim->hook_user = &next_ms;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
	assert_int_equal(sim->phase, PHASE_SUBMITTED);
	sim_free(sim);
}

struct stop_plan {
	void (*act)(struct sim *sim);
	bool done;
	enum phase expected;
	enum verdict verdict;
	const char *word;
};

static void on_stop_plan(struct sim *sim, void *user)
{
	struct stop_plan *plan = user;

	if (plan->done || sim->phase != PHASE_SUBMITTED || !sim->uuid[0])
		return;
	plan->done = true;
	plan->act(sim);
}

static void complete_one(struct sim *sim) { fleet_complete(sim->fleet, sim->uuid, "40-80"); }
static void complete_all(struct sim *sim) { fleet_complete(sim->fleet, sim->uuid, NULL); }
static void cancel_one(struct sim *sim) { fleet_cancel(sim->fleet, sim->uuid, "40-80"); }
static void cancel_all(struct sim *sim) { fleet_cancel(sim->fleet, sim->uuid, NULL); }
static void fail_one(struct sim *sim) { fleet_fail(sim->fleet, sim->uuid, "80-c0", "Duplicate column name 'x' (errno 1060)"); }
static void remove_shard(struct sim *sim) { fleet_remove_shard(sim->fleet, "c0-"); }
static void add_shard(struct sim *sim) { fleet_add_shard(sim->fleet, "c0-e0", false); }

static void double_shard(struct sim *sim)
{
	fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .nth = 1, .times = 1000, .doubled = "40-80" });
}

static void test_what_somebody_does_before_the_release_stops_the_change(void **state)
{
	struct stop_plan plans[] = {
		{ complete_one, false, PHASE_STOPPED, VERDICT_INCONSISTENT, "somebody else" },
		{ complete_all, false, PHASE_STOPPED, VERDICT_INCONSISTENT, "somebody else" },
		{ cancel_one, false, PHASE_FAILED, VERDICT_FAILED, "cancelled" },
		{ cancel_all, false, PHASE_CANCELLED, VERDICT_FAILED, "cancelled" },
		{ fail_one, false, PHASE_FAILED, VERDICT_FAILED, "80-c0" },
		{ remove_shard, false, PHASE_STOPPED, VERDICT_UNSEEN, "shards" },
		{ add_shard, false, PHASE_STOPPED, VERDICT_UNSEEN, "shards" },
		{ double_shard, false, PHASE_STOPPED, VERDICT_UNSEEN, "two tablets" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct sim *sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = 4, .copy_ms = 30000 });

		sim->hook = on_stop_plan;
		sim->hook_user = &plans[i];
		run(sim, ADD);
		if (sim->phase != plans[i].expected || sim->verdict != plans[i].verdict || !strstr(sim->reason, plans[i].word))
			fail_msg("plan %zu: phase %s, verdict %d, %s", i, phase_name(sim->phase), sim->verdict, sim->reason);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_CANCEL), 0);

		/* run again: it stays so, and nothing is sent or revived */
		run(sim, ADD);
		assert_int_equal(sim->phase, plans[i].expected);
		assert_int_equal(sim->verdict, plans[i].verdict);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
		sim_free(sim);
	}
}

static void test_a_person_may_verify_what_was_completed_by_hand(void **state)
{
	struct stop_plan plan = { complete_all, false, PHASE_STOPPED, VERDICT_INCONSISTENT, "" };
	struct sim *sim = sim_four(4);
	struct ask ask;

	(void)state;
	sim->hook = on_stop_plan;
	sim->hook_user = &plan;
	run(sim, ADD);
	assert_int_equal(sim->phase, PHASE_STOPPED);
	sim->now_ms += 30000; /* Vitess cuts over meanwhile */
	fleet_advance(sim->fleet, sim->now_ms);
	ask = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_VERIFIED, .take_up = true };
	sim_run(sim, &ask, HOUR_MS);
	sim_assert_done(sim, "orders", "`x` int");
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
	sim_free(sim);
}

static void test_a_shard_left_out_of_reads_for_ever_is_asked_directly(void **state)
{
	struct sim *sim = sim_four(4);

	(void)state;
	fleet_fault(sim->fleet, &(struct fault){ .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .nth = 1, .times = 1000, .missing = "80-c0" });
	run(sim, ADD);
	sim_assert_done(sim, "orders", "`x` int");
	sim_free(sim);
}

static void test_a_failed_shard_is_withdrawn_by_cancel_and_run_again(void **state)
{
	struct stop_plan plan = { fail_one, false, PHASE_FAILED, VERDICT_FAILED, "" };
	struct sim *sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = 4, .copy_ms = 30000 });
	struct ask ask;

	(void)state;
	sim->hook = on_stop_plan;
	sim->hook_user = &plan;
	run(sim, ADD);
	assert_int_equal(sim->phase, PHASE_FAILED);
	ask = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->phase, PHASE_CANCELLED);
	sim->first_uuid[0] = '\0';
	sim->cancel_sent = false;
	ask = (struct ask){ .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true, .again = true };
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	sim_free(sim);
}

static void on_vtctld(struct sim *sim, void *user)
{
	int64_t *down_at_ms = user;

	if (*down_at_ms < 0 && sim->phase == PHASE_SUBMITTED && sim->uuid[0]) {
		*down_at_ms = sim->now_ms;
		fleet_vtctld(sim->fleet, false);
	}
	if (*down_at_ms > 0 && sim->now_ms >= *down_at_ms + 10 * MINUTE_MS) {
		fleet_vtctld(sim->fleet, true);
		*down_at_ms = 0;
	}
}

static void test_vtctld_down_for_ten_minutes_is_waited_for_without_hammering(void **state)
{
	struct sim *sim = sim_four(4);
	int64_t down_at_ms = -1;

	(void)state;
	sim->hook = on_vtctld;
	sim->hook_user = &down_at_ms;
	run(sim, ADD);
	sim_assert_done(sim, "orders", "`x` int");
	assert_int_equal(down_at_ms, 0);
	/* 600 s at the cap of 30 s with full jitter from half of it: at most 40 looks, and the ones around */
	assert_true(fleet_calls(sim->fleet, VTCTLD_FIND_ALL_SHARDS) < 100);
	sim_free(sim);
}

static void test_a_foreign_migration_in_the_way_is_waited_for(void **state)
{
	struct sim *sim = sim_four(4);
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true };
	static const char foreign[] = "aaaaaaaa_bbbb_11ee_8000_000000000001";

	(void)state;
	fleet_hold_copy(sim->fleet, "40-80", true); /* theirs takes long */
	fleet_submit_foreign(sim->fleet, foreign, "vtctl:other", "40-80", "alter table orders add column theirs int");
	sim_run(sim, &ask, 5 * MINUTE_MS);
	assert_true(sim->timed_out);
	assert_int_equal(sim->phase, PHASE_SUBMITTING);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);
	fleet_cancel(sim->fleet, foreign, NULL);
	fleet_hold_copy(sim->fleet, "40-80", false);
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	sim_free(sim);
}

static void on_blocked(struct sim *sim, void *user)
{
	int64_t *since_ms = user;

	if (*since_ms == 0 && sim->phase == PHASE_SUBMITTED && sim->uuid[0]) {
		*since_ms = sim->now_ms;
		fleet_block_cutover(sim->fleet, "c0-", true);
	}
	if (*since_ms > 0 && sim->now_ms > *since_ms + 5 * MINUTE_MS)
		fleet_block_cutover(sim->fleet, "c0-", false);
}

static void test_a_blocked_cut_over_is_waited_for_and_not_released_twice(void **state)
{
	struct sim *sim = sim_four(4);
	int64_t since_ms = 0;

	(void)state;
	sim->hook = on_blocked;
	sim->hook_user = &since_ms;
	run(sim, ADD);
	sim_assert_done(sim, "orders", "`x` int");
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 1);
	sim_free(sim);
}

/* ---- Found by reading with fresh eyes; each has its right outcome here. ---- */

static void on_confirm(struct sim *sim, void *user)
{
	bool *done = user;

	if (*done || !sim->last.rule || sim->last.rule->action != ACTION_CONFIRM)
		return;
	*done = true;
	fleet_reparent(sim->fleet, "40-80", false);
}

static void test_a_reparent_between_the_look_and_the_confirmation_leads_to_a_new_look(void **state)
{
	struct sim *sim = sim_four(4);
	bool done = false;

	(void)state;
	sim->hook = on_confirm;
	sim->hook_user = &done;
	run(sim, ADD);
	assert_true(done);
	sim_assert_done(sim, "orders", "`x` int");
	assert_true(fleet_calls(sim->fleet, VTCTLD_FIND_ALL_SHARDS) < 200);
	sim_free(sim);
}

static void on_clock(struct sim *sim, void *user)
{
	(void)user;
	if (sim->applies && !sim->wall_offset_ms)
		sim->wall_offset_ms = -24 * HOUR_MS;
}

static void test_a_wall_clock_set_back_by_a_day_changes_nothing(void **state)
{
	struct sim *sim = sim_four(4);

	(void)state;
	sim->hook = on_clock;
	run(sim, ADD);
	assert_true(sim->wall_offset_ms < 0);
	sim_assert_done(sim, "orders", "`x` int");
	assert_true(sim->now_ms < 10 * MINUTE_MS);
	sim_free(sim);
}

/* A change that failed on one shard, the rest held. */
static struct sim *sim_failed(struct stop_plan *plan)
{
	struct sim *sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = 4, .copy_ms = 30000 });

	*plan = (struct stop_plan){ .act = fail_one };
	sim->hook = on_stop_plan;
	sim->hook_user = plan;
	run(sim, ADD);
	assert_int_equal(sim->phase, PHASE_FAILED);
	return sim;
}

static void test_again_is_refused_while_the_former_is_held_on_other_shards(void **state)
{
	struct stop_plan plan;
	struct sim *sim = sim_failed(&plan);
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true, .again = true };

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->error.code, ERROR_BLOCKED);
	assert_non_null(strstr(sim->reason, "vtddl cancel"));
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
	sim_free(sim);
}

static void test_a_cancel_long_after_the_deadline_still_withdraws(void **state)
{
	struct stop_plan plan;
	struct sim *sim = sim_failed(&plan);
	struct ask cancel = { .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };

	(void)state;
	sim->now_ms += 20 * HOUR_MS;
	fleet_advance(sim->fleet, sim->now_ms);
	sim_run(sim, &cancel, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_int_equal(sim->phase, PHASE_CANCELLED);
	for (size_t i = 0; i < 4; i++)
		assert_false(migration_is_live(fleet_row(sim->fleet, i, sim->uuid)));
	sim_free(sim);
}

static void test_a_goal_that_is_met_does_not_hide_a_breached_barrier(void **state)
{
	struct sim *sim = sim_four(4);
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_SUBMITTED };

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	sim->now_ms += 60000;
	fleet_advance(sim->fleet, sim->now_ms);
	fleet_complete(sim->fleet, sim->uuid, "40-80");
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->phase, PHASE_STOPPED);
	assert_int_equal(sim->verdict, VERDICT_INCONSISTENT);
	sim_free(sim);
}

static void test_a_revived_shard_is_cancelled_again(void **state)
{
	struct sim *sim = sim_four(4);
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_SUBMITTED }, cancel;

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	cancel = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };
	sim_run(sim, &cancel, HOUR_MS);
	fleet_retry(sim->fleet, sim->uuid, "c0-");
	sim->now_ms += 5000;
	fleet_advance(sim->fleet, sim->now_ms);
	sim_run(sim, &cancel, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_CANCEL), 2);
	assert_false(migration_is_live(fleet_row(sim->fleet, 3, sim->uuid)));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_answer_after_the_effect_on_any_shards_ends_the_same),
		cmocka_unit_test(test_an_effect_that_is_never_answered_is_read_back),
		cmocka_unit_test(test_a_tablet_stopped_killed_or_paused_at_any_stage_delays_and_does_no_harm),
		cmocka_unit_test(test_a_reparent_at_any_stage_does_no_harm),
		cmocka_unit_test(test_a_blind_read_is_worked_around_for_good),
		cmocka_unit_test(test_a_tablet_that_never_returns_holds_until_the_deadline_and_says_which),
		cmocka_unit_test(test_shards_that_are_ready_by_turns_are_never_released),
		cmocka_unit_test(test_what_somebody_does_before_the_release_stops_the_change),
		cmocka_unit_test(test_a_person_may_verify_what_was_completed_by_hand),
		cmocka_unit_test(test_a_shard_left_out_of_reads_for_ever_is_asked_directly),
		cmocka_unit_test(test_a_failed_shard_is_withdrawn_by_cancel_and_run_again),
		cmocka_unit_test(test_vtctld_down_for_ten_minutes_is_waited_for_without_hammering),
		cmocka_unit_test(test_a_foreign_migration_in_the_way_is_waited_for),
		cmocka_unit_test(test_a_blocked_cut_over_is_waited_for_and_not_released_twice),
		cmocka_unit_test(test_a_reparent_between_the_look_and_the_confirmation_leads_to_a_new_look),
		cmocka_unit_test(test_a_wall_clock_set_back_by_a_day_changes_nothing),
		cmocka_unit_test(test_again_is_refused_while_the_former_is_held_on_other_shards),
		cmocka_unit_test(test_a_cancel_long_after_the_deadline_still_withdraws),
		cmocka_unit_test(test_a_goal_that_is_met_does_not_hide_a_breached_barrier),
		cmocka_unit_test(test_a_revived_shard_is_cancelled_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
