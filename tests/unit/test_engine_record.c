/* Goal: what the store says goes before what was meant: a wish is written once, under the leader's epoch, and only
 * where it can still be had; without a record, or behind the end, nothing is done.
 * Method: the engine, answered by hand. */
#include "engine_hand.h"

static int teardown(void **state)
{
	(void)state;
	hand_stop();
	return 0;
}

static void test_whoever_may_only_read_never_asks_for_the_lease_and_never_writes(void **state)
{
	struct request request;

	(void)state;
	hand_start(PHASE_SUBMITTED, true);
	h.has_row = true;
	hand_ask((struct ask){ .goal = GOAL_READY, .open_gate = true, .deadline_ms = 60000 });
	assert_false(hand_until(is_lease, 0, &request));
	hand_run(1000);
	assert_int_equal(h.engine->counters.looks, 1);
	assert_false(hand_until(is_update, 100000, &request));
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->verdict, VERDICT_LATE);
}

static void test_a_store_that_fails_until_the_end_of_patience_is_the_reason(void **state)
{
	struct request request;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	h.has_row = true;
	hand_ask((struct ask){ .goal = GOAL_VERIFIED, .deadline_ms = 60000 });
	hand_run(5000);
	assert_false(hand_view()->ended);
	h.lease_result = -1;
	hand_run(100000);
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->error.code, ERROR_STORE);
	hand_stop();

	hand_start(PHASE_SUBMITTED, false); /* without a record it ends at once */
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	request = hand_must(is_lease);
	hand_answer(&request, (struct reply){ .result = -1 });
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->error.code, ERROR_STORE);
	hand_stop();

	hand_start(PHASE_SUBMITTED, false);
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	request = hand_must(is_list);
	hand_answer(&request, (struct reply){ .result = -1 });
	assert_true(hand_view()->ended);
}

static void test_a_store_that_is_lost_for_this_process_ends_it_and_other_failures_do_not(void **state)
{
	static const struct {
		enum error_code code;
		int detail;
		bool ends;
	} failures[] = { { ERROR_STORE, 0, false }, { ERROR_BUG, STORE_LOST, false }, { ERROR_STORE, STORE_LOST, true } };
	struct request request;

	for (size_t i = 0; i < 3; i++) {
		struct reply failed = { .result = -1 };

		hand_start(PHASE_SUBMITTED, false);
		h.has_row = true;
		hand_ask((struct ask){ .goal = GOAL_CANCELLED });
		request = hand_must(is_update);
		error_set_detail(&failed.error, failures[i].code, failures[i].detail, "on purpose");
		hand_answer(&request, failed);
		assert_int_equal(hand_view()->ended, failures[i].ends);
		if (i < 2)
			teardown(state);
	}
	assert_string_equal(hand_view()->error.text, "on purpose");
}

/* What a person asked for is written under the leader's epoch, by whomever. */
static void test_a_wish_is_written_once_and_again_where_it_was_overtaken(void **state)
{
	static const int answers[] = { STORE_CONFLICT, -1, 0 };
	struct request request;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	h.has_row = true;
	h.lease_result = STORE_HELD;
	h.lease = (struct lease){ .epoch = 9, .left_ms = 20000, .holder = "host:2:b" };
	hand_ask((struct ask){ .goal = GOAL_CANCELLED });
	for (size_t i = 0; i < 3; i++) {
		request = hand_must(is_update);
		assert_true(request.change->cancel_asked);
		assert_int_equal(request.expect.epoch, 9);
		assert_int_equal(request.expect.lease_ms, 0);
		if (answers[i])
			hand_answer(&request, (struct reply){ .result = answers[i] });
		else
			hand_answer_update(&request);
	}
	assert_false(hand_until(is_update, 60000, &request)); /* it is the leader's now */
	assert_int_equal(h.effects, 0);
}

static void test_a_wish_to_cancel_waits_for_an_effect_of_before(void **state)
{
	struct request request;

	for (int longer = 0; longer < 2; longer++) {
		int64_t idle_at_ms;

		hand_start(PHASE_SUBMITTED, false);
		h.has_row = true;
		h.record.in_flight_until_ms = HAND_WALL_MS + 40000; /* of a process that died */
		hand_ask((struct ask){ .goal = GOAL_CANCELLED });
		request = hand_must(is_update);
		idle_at_ms = h.now_ms + 60000;
		if (longer) /* it has one of its own to wait for */
			hand_task()->idle_at_ms = idle_at_ms;
		hand_answer_update(&request);
		if (longer)
			assert_int_equal(hand_task()->idle_at_ms, idle_at_ms);
		else
			assert_int_equal(hand_task()->idle_at_ms, 1000 + 40000);
		assert_false(hand_until(is_effect, 39000, &request));
		if (!longer)
			teardown(state);
	}
}

static void test_a_wish_of_one_that_is_cancelled_already_is_not_written(void **state)
{
	struct request request;

	(void)state;
	hand_start(PHASE_CANCELLED, false);
	hand_ask((struct ask){ .goal = GOAL_CANCELLED });
	assert_false(hand_until(is_update, 60000, &request));
	assert_true(hand_view()->already);
}

static void test_what_is_not_released_cannot_be_taken_up(void **state)
{
	static const enum phase phases[] = { PHASE_SUBMITTING, PHASE_SUBMITTED };

	for (size_t i = 0; i < 2; i++) {
		hand_start(phases[i], false);
		hand_ask((struct ask){ .goal = GOAL_VERIFIED, .take_up = true });
		hand_run(1000);
		assert_true(hand_view()->ended);
		assert_int_equal(hand_view()->error.code, ERROR_WAITING);
		assert_non_null(strstr(hand_view()->error.text, "not released yet"));
		if (i == 0)
			teardown(state);
	}
}

static void test_what_is_past_the_point_of_no_return_cannot_be_cancelled(void **state)
{
	static const enum phase phases[] = { PHASE_COMPLETING, PHASE_COMPLETED, PHASE_VERIFIED };

	for (size_t i = 0; i < 3; i++) {
		hand_start(phases[i], false);
		hand_ask((struct ask){ .goal = GOAL_CANCELLED });
		hand_run(1000);
		assert_true(hand_view()->ended);
		assert_int_equal(hand_view()->error.code, ERROR_BLOCKED);
		if (i < 2)
			teardown(state);
	}
}

static void test_a_record_that_is_read_behind_the_stop_is_not_written(void **state)
{
	struct request request, update;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	hand_ask((struct ask){ .goal = GOAL_CANCELLED });
	request = hand_must(is_list);
	engine_stop(h.engine);
	hand_answer_well(&request);
	assert_false(hand_until(is_update, 0, &update));
	assert_true(engine_is_idle(h.engine));
}

static void test_the_newest_generation_is_the_change(void **state)
{
	for (int newest_is_first = 0; newest_is_first < 2; newest_is_first++) {
		struct change both[2];
		struct request request;

		hand_start(PHASE_CANCELLED, false);
		both[0] = both[1] = h.record;
		both[!newest_is_first].generation = 2;
		snprintf(both[!newest_is_first].uuid, sizeof(both[0].uuid), "%s", "ffffffff_89ab_8cde_8f01_23456789abcd");
		hand_ask((struct ask){ .goal = GOAL_LOOK, .ddl = HAND_DDL });
		request = hand_must(is_list);
		hand_answer(&request, (struct reply){ .changes = both, .change_count = 2 });
		assert_int_equal(hand_view()->change->generation, 2);
		if (!newest_is_first)
			teardown(state);
	}
}

static void test_what_the_store_does_not_have_is_not_made_up(void **state)
{
	static const struct {
		struct ask ask;
		bool read_only;
		const char *words;
	} asks[] = {
		{ { .goal = GOAL_VERIFIED }, false, "no change " HAND_UUID },
		{ { .goal = GOAL_LOOK, .ddl = HAND_DDL }, true, "no change with this statement" },
		{ { .goal = GOAL_CANCELLED, .ddl = HAND_DDL }, false, "no change with this statement" },
	};

	for (size_t i = 0; i < 3; i++) {
		hand_start(PHASE_SUBMITTED, asks[i].read_only);
		h.has_record = false;
		hand_ask(asks[i].ask);
		hand_run(1000);
		assert_true(hand_view()->ended);
		assert_int_equal(hand_view()->error.code, ERROR_INPUT);
		assert_non_null(strstr(hand_view()->error.text, asks[i].words));
		if (i < 2)
			teardown(state);
	}
}

static void test_a_record_that_is_gone_ends_it(void **state)
{
	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	h.has_row = true;
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	hand_run(5000);
	assert_false(hand_view()->ended);
	h.has_record = false; /* another store was put in its place */
	hand_run(60000);
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->error.code, ERROR_INPUT);
}

static void test_another_generation_waits_for_the_former_to_be_withdrawn(void **state)
{
	static const struct {
		enum phase phase;
		int rule;
		bool in_the_way;
	} formers[] = {
		{ PHASE_FAILED, 0, true },
		{ PHASE_STOPPED, 105, true },
		{ PHASE_STOPPED, 305, false }, /* its release was decided: nothing of it is held */
		{ PHASE_STOPPED, 405, false },
		{ PHASE_CANCELLED, 0, false },
		{ PHASE_VERIFIED, 0, false },
	};

	for (size_t i = 0; i < sizeof(formers) / sizeof(formers[0]); i++) {
		if (i)
			teardown(state);
		hand_start(formers[i].phase, false);
		h.record.rule = formers[i].rule;
		hand_ask((struct ask){ .goal = GOAL_VERIFIED, .ddl = HAND_DDL, .again = true });
		hand_answer_well(&(struct request){ 0 }); /* of nothing: dropped */
		for (int j = 0; j < 2; j++) {
			hand_pull();
			assert_int_equal(h.open_count, 1);

			struct request request = hand_take(0);

			hand_answer_well(&request);
		}
		assert_int_equal(hand_view()->ended, formers[i].in_the_way);
		if (formers[i].in_the_way) {
			assert_int_equal(hand_view()->error.code, ERROR_BLOCKED);
			assert_non_null(strstr(hand_view()->error.text, "withdraw it first"));
		} else {
			assert_int_equal(hand_task()->stage, STAGE_SURVEY);
		}
	}
}

static void test_a_reply_that_comes_behind_the_end_changes_nothing(void **state)
{
	struct request request;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	request = hand_must(is_list);
	task_end(hand_task(), NULL);
	hand_answer_well(&request);
	hand_pull();
	assert_int_equal(h.open_count, 0);
	assert_null(hand_view()->change);
}

static void test_a_reply_that_nobody_waits_for_is_dropped(void **state)
{
	struct request request, again;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	request = hand_must(is_lease);
	again = request;
	again.tag += 1ULL << 32; /* of a round that has not come yet */
	hand_answer(&again, (struct reply){ .result = -1 });
	again.tag = request.tag + 1; /* of a slot that nobody uses */
	hand_answer(&again, (struct reply){ .result = -1 });
	again.tag = 1000000; /* of none at all */
	hand_answer(&again, (struct reply){ .result = -1 });
	assert_false(hand_view()->ended);
	hand_answer_well(&request);
	hand_answer(&request, (struct reply){ .result = -1 }); /* twice */
	assert_false(hand_view()->ended);
	hand_must(is_list);
}

static void test_a_verified_change_that_cannot_be_looked_at_is_late_by_the_askers_patience(void **state)
{
	struct request look;

	(void)state;
	hand_start(PHASE_VERIFIED, false);
	hand_ask((struct ask){ .goal = GOAL_VERIFIED, .deadline_ms = 5000 });
	look = hand_must(is_look);
	hand_time(6000);
	hand_answer_rpc(&look);
	hand_run(0);
	assert_true(hand_view()->facts & FACT_LATE);
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->verdict, VERDICT_UNSEEN);
}

/* ---- Tables ---- */

static void test_a_goal_is_met_by_its_phase_and_those_behind(void **state)
{
	static const bool met[_GOAL_MAX][_PHASE_MAX] = {
		[GOAL_SUBMITTED] = { [PHASE_SUBMITTED] = true, [PHASE_COMPLETING] = true, [PHASE_COMPLETED] = true, [PHASE_VERIFIED] = true },
		[GOAL_READY] = { [PHASE_COMPLETING] = true, [PHASE_COMPLETED] = true, [PHASE_VERIFIED] = true },
		[GOAL_COMPLETED] = { [PHASE_COMPLETED] = true, [PHASE_VERIFIED] = true },
		[GOAL_VERIFIED] = { [PHASE_VERIFIED] = true },
		[GOAL_CANCELLED] = { [PHASE_CANCELLED] = true },
	};

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	for (int goal = 0; goal < _GOAL_MAX; goal++)
		for (int phase = 0; phase < _PHASE_MAX; phase++)
			assert_int_equal(goal_met_by(phase, goal), met[goal][phase]);
}

static void test_a_stopped_change_was_released_if_the_rule_that_stopped_it_says_so(void **state)
{
	(void)state;
	hand_start(PHASE_STOPPED, false);
	for (int section = 1; section <= _PHASE_MAX; section++) {
		h.record.rule = 100 * section + 5;
		h.record.phase = PHASE_STOPPED;
		assert_int_equal(record_was_released(&h.record),
				 section == PHASE_COMPLETING + 1 || section == PHASE_COMPLETED + 1);
		h.record.phase = PHASE_FAILED;
		assert_false(record_was_released(&h.record));
	}
}

static void test_a_release_of_a_stopped_change_is_taken_for_sent(void **state)
{
	(void)state;
	hand_start(PHASE_STOPPED, false);
	h.record.rule = 305;
	hand_ask((struct ask){ .goal = GOAL_CANCELLED });
	hand_run(10000);
	assert_true(hand_view()->facts & FACT_SENT);
	assert_int_equal(h.effects, 0); /* it is never taken back */
	assert_true(hand_view()->ended);
}

static void test_again_goes_on_with_what_has_not_ended(void **state)
{
	struct request request;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	h.has_row = true;
	hand_ask((struct ask){ .goal = GOAL_VERIFIED, .ddl = HAND_DDL, .again = true });
	hand_must(is_look);
	assert_string_equal(hand_view()->change->uuid, HAND_UUID);
	assert_false(hand_until(is_update, 0, &request));
}

static void test_how_long_an_effect_may_still_act_is_bounded_whatever_the_clocks_did(void **state)
{
	struct task *task;

	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	hand_ask((struct ask){ .goal = GOAL_VERIFIED });
	task = hand_task();
	h.record.in_flight_until_ms = HAND_WALL_MS + 50000;
	assert_int_equal(record_busy_ms(task, &h.record, true), 50000);
	assert_int_equal(record_busy_ms(task, &h.record, false), 3000); /* its process died: vtctld ended the call */
	h.record.updated_at_ms = HAND_WALL_MS + 49000; /* the writer's clock is ahead */
	assert_int_equal(record_busy_ms(task, &h.record, false), 50000);
	h.record.in_flight_until_ms = HAND_WALL_MS + 1000000; /* far ahead */
	assert_int_equal(record_busy_ms(task, &h.record, true), 77000);
	h.record.in_flight_until_ms = HAND_WALL_MS - 1;
	assert_int_equal(record_busy_ms(task, &h.record, true), 0);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		ROW(test_whoever_may_only_read_never_asks_for_the_lease_and_never_writes),
		ROW(test_a_store_that_fails_until_the_end_of_patience_is_the_reason),
		ROW(test_a_store_that_is_lost_for_this_process_ends_it_and_other_failures_do_not),
		ROW(test_a_wish_is_written_once_and_again_where_it_was_overtaken),
		ROW(test_a_wish_to_cancel_waits_for_an_effect_of_before),
		ROW(test_a_wish_of_one_that_is_cancelled_already_is_not_written),
		ROW(test_what_is_not_released_cannot_be_taken_up),
		ROW(test_what_is_past_the_point_of_no_return_cannot_be_cancelled),
		ROW(test_a_record_that_is_read_behind_the_stop_is_not_written),
		ROW(test_the_newest_generation_is_the_change),
		ROW(test_what_the_store_does_not_have_is_not_made_up),
		ROW(test_a_record_that_is_gone_ends_it),
		ROW(test_another_generation_waits_for_the_former_to_be_withdrawn),
		ROW(test_a_reply_that_comes_behind_the_end_changes_nothing),
		ROW(test_a_reply_that_nobody_waits_for_is_dropped),
		ROW(test_a_verified_change_that_cannot_be_looked_at_is_late_by_the_askers_patience),
		ROW(test_a_goal_is_met_by_its_phase_and_those_behind),
		ROW(test_a_stopped_change_was_released_if_the_rule_that_stopped_it_says_so),
		ROW(test_a_release_of_a_stopped_change_is_taken_for_sent),
		ROW(test_again_goes_on_with_what_has_not_ended),
		ROW(test_how_long_an_effect_may_still_act_is_bounded_whatever_the_clocks_did),
	};

	return cmocka_run_group_tests_name("engine_record", tests, NULL, NULL);
}
