/* Goal: between what was decided and what is sent stands the store: an effect is sent only behind its written
 * attempt, under a lease that outlasts it; whoever was overtaken, or could not write, sends nothing.
 * Method: the engine, answered by hand; at one request of a run the answer is late, a refusal or a failure. */
#include "engine_hand.h"

static int teardown(void **state)
{
	(void)state;
	hand_stop();
	return 0;
}

/* A change that is to be submitted: the primary says that it has no such row. */
static void start_submit(struct ask ask)
{
	hand_start(PHASE_SUBMITTING, false);
	hand_ask(ask);
}

/* The answer of the primary itself, in the columns of the table: no row. */
static bool is_direct(const struct request *request)
{
	return request->kind == REQUEST_RPC && request->rpc.method == VTCTLD_EXECUTE_FETCH_AS_DBA;
}

static void answer_no_row(const struct request *request)
{
	static const char *const names[] = {
		"migration_uuid", "keyspace", "shard", "mysql_table", "migration_statement", "options", "migration_context",
		"ddl_action", "message", "stage", "artifacts", "special_plan", "strategy", "migration_status",
		"postpone_completion", "postpone_launch", "ready_to_complete", "is_immediate_operation", "is_view",
		"tablet_failure", "retries", "requested_timestamp", "started_timestamp", "liveness_timestamp",
		"completed_timestamp", "reviewed_timestamp", "ready_to_complete_timestamp", "progress", "eta_seconds",
		"rows_copied", "table_rows", "cutover_attempts", "tablet",
	};
	struct reply reply = { .rpc = { .outcome = VTCTLD_DONE } };

	reply.rpc.result.columns = (const char **)names;
	reply.rpc.result.column_count = sizeof(names) / sizeof(names[0]);
	hand_answer(request, reply);
}

/* Until the write that announces an effect. */
static bool is_attempt(const struct request *request)
{
	return request->kind == REQUEST_STORE_UPDATE && request->expect.lease_ms > 0;
}

static bool is_direct_or_attempt(const struct request *request)
{
	return is_direct(request) || is_attempt(request);
}

static struct request must_attempt(void)
{
	struct request request = hand_must(is_direct_or_attempt);

	while (is_direct(&request)) {
		answer_no_row(&request);
		request = hand_must(is_direct_or_attempt);
	}
	return request;
}

static bool is_direct_or_effect(const struct request *request)
{
	return is_direct(request) || is_effect(request);
}

/* Whether an effect is sent within that time, with the primary saying that there is no row. */
static bool effect_within(int64_t for_ms, struct request *ret)
{
	int64_t until_ms = h.now_ms + for_ms;

	while (hand_until(is_direct_or_effect, until_ms - h.now_ms, ret)) {
		if (is_effect(ret))
			return true;
		answer_no_row(ret);
	}
	return false;
}

/* ---- The attempt ---- */

static void test_an_effect_follows_its_written_attempt(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	assert_int_equal(h.effects, 0);
	assert_int_equal(attempt.expect.phase, PHASE_SUBMITTING);
	assert_int_equal(attempt.expect.revision, 3);
	assert_int_equal(attempt.expect.epoch, HAND_EPOCH);
	assert_true(attempt.expect.lease_ms >= 75000); /* it outlasts the effect */
	assert_int_equal(attempt.change->attempts, 1);
	assert_int_equal(attempt.change->last_effect, EFFECT_SUBMIT);
	hand_answer_update(&attempt);
	assert_true(effect_within(0, &effect));
	assert_int_equal(effect.rpc.method, VTCTLD_APPLY_SCHEMA);
	assert_string_equal(effect.rpc.uuid, HAND_UUID);
}

static void test_a_write_that_took_too_long_sends_nothing_before_another_attempt(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_time(6000); /* still ours, but no more for as long as the effect may act */
	hand_answer_update(&attempt);
	assert_true(keyspace_leads(hand_task()->keyspace));
	hand_pull();
	for (size_t i = 0; i < h.open_count; i++)
		assert_false(is_effect(&h.open[i]));
	attempt = must_attempt();
	assert_int_equal(h.effects, 0);
	assert_int_equal(attempt.change->attempts, 2);
	hand_answer_update(&attempt);
	assert_true(effect_within(0, &effect));
}

static void test_a_write_that_came_back_behind_the_lease_sends_nothing(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_time(90000);
	hand_answer_update(&attempt);
	assert_false(keyspace_leads(hand_task()->keyspace));
	assert_false(hand_until(is_effect, 0, &effect));
	assert_int_equal(h.effects, 0);
}

static void test_an_attempt_that_was_overtaken_sends_nothing(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_answer(&attempt, (struct reply){ .result = STORE_CONFLICT });
	assert_int_equal(hand_task()->keyspace->effects, 0);
	h.record.cancel_asked = true; /* that was what was quicker */
	h.record.revision = 4;
	while (hand_until(is_effect, 60000, &effect)) {
		assert_int_equal(effect.rpc.method, VTCTLD_CANCEL);
		h.effects++;
		hand_answer(&effect, (struct reply){ .rpc = { .outcome = VTCTLD_DONE } });
	}
}

static void test_whoever_is_overtaken_for_ever_gives_up(void **state)
{
	struct request attempt;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED, .deadline_ms = 3600000 });
	for (int times = 0; times < 5; times++) {
		assert_false(hand_view()->ended);
		attempt = must_attempt();
		hand_answer(&attempt, (struct reply){ .result = STORE_CONFLICT });
	}
	attempt = must_attempt();
	hand_time(3600000); /* the asker's patience is over */
	hand_answer(&attempt, (struct reply){ .result = STORE_CONFLICT });
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->error.code, ERROR_WAITING);
	assert_non_null(strstr(hand_view()->error.text, "another process writes change " HAND_UUID));
	assert_int_equal(h.effects, 0);
}

static void test_an_attempt_that_cannot_be_written_sends_nothing_and_is_made_later(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_answer(&attempt, (struct reply){ .result = -1 });
	assert_true(hand_view()->write_failed);
	assert_false(hand_view()->ended);
	attempt = must_attempt();
	assert_int_equal(h.effects, 0);
	assert_int_equal(attempt.change->attempts, 1); /* the first that is written */
	hand_answer_update(&attempt);
	assert_true(effect_within(0, &effect));
}

static void test_whoever_could_not_write_decides_nothing(void **state)
{
	struct request look, update;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	look = hand_must(is_look);
	hand_task()->write_failed = true; /* in the middle of a look */
	hand_answer_rpc(&look);
	look = hand_must(is_direct);
	answer_no_row(&look);
	assert_false(hand_until(is_update, 0, &update));
	assert_false(hand_view()->facts & FACT_LEADER);
}

static void test_a_table_that_somebody_else_has_ends_it(void **state)
{
	struct request attempt;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_answer(&attempt, (struct reply){ .result = STORE_TABLE_BUSY });
	assert_true(hand_view()->ended);
	assert_int_equal(hand_view()->error.code, ERROR_WAITING);
	assert_non_null(strstr(hand_view()->error.text, "another change holds table 'orders'"));
}

static void test_a_write_that_is_confirmed_behind_the_stop_sends_nothing(void **state)
{
	struct request attempt, effect;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	engine_stop(h.engine);
	hand_answer_update(&attempt);
	assert_false(hand_until(is_effect, 0, &effect));
	assert_true(engine_is_idle(h.engine));
	assert_int_equal(hand_task()->keyspace->effects, 0);
}

/* R4: vtctld did not answer, and may be at work still; somebody asked to cancel meanwhile. */
static void test_a_reversal_waits_for_an_effect_that_may_still_act(void **state)
{
	struct request attempt, effect, other;
	int64_t until_ms;

	(void)state;
	start_submit((struct ask){ .goal = GOAL_VERIFIED });
	attempt = must_attempt();
	hand_answer_update(&attempt);
	assert_true(effect_within(0, &effect));
	until_ms = h.now_ms + 75000; /* it lives so long */
	h.record.cancel_asked = true;
	h.record.revision++;
	assert_false(effect_within(20000, &other));
	hand_answer(&effect, (struct reply){ .rpc = { .outcome = VTCTLD_UNKNOWN, .code = 4 } });
	assert_false(effect_within(until_ms - h.now_ms, &other));
	h.has_row = true;
	assert_true(effect_within(120000, &other));
	assert_int_equal(other.rpc.method, VTCTLD_CANCEL);
}

static bool is_confirm(const struct request *request)
{
	return request->kind == REQUEST_RPC && request->rpc.method == VTCTLD_FIND_ALL_SHARDS &&
	       hand_task()->stage == STAGE_CONFIRM;
}

static void start_ready(int64_t deadline_ms)
{
	hand_start(PHASE_SUBMITTED, false);
	h.has_row = h.row.ready_to_complete = true;
	h.lease.left_ms = LEASE_NO_END; /* it is ours however long that takes */
	hand_ask((struct ask){ .goal = GOAL_VERIFIED, .deadline_ms = deadline_ms });
}

static void answer_with_another_primary(const struct request *request)
{
	static struct topo_shard other;
	struct reply reply = { .rpc = { .outcome = VTCTLD_DONE } };

	other = h.topo;
	other.primary.uid = 200;
	reply.rpc.shards.items = &other;
	reply.rpc.shards.count = 1;
	hand_answer(request, reply);
}

static void test_a_reparent_before_the_release_is_looked_at_anew_or_ends_the_wait(void **state)
{
	/* the time of the change may be over, or only the patience of who asked without a deadline of his own */
	static const struct {
		int64_t deadline_ms, more_for_the_change_ms, waited_ms;
		int rule;
		bool ends;
	} cases[] = {
		{ 3600000, 0, 3600000, 223, true },
		{ 0, 3600000, DEADLINE_DEFAULT_MS, 227, true },
		{ 3600000, 0, 0, 227, false },
	};
	struct request request;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (i)
			teardown(state);
		start_ready(cases[i].deadline_ms);
		h.record.deadline_at_ms += cases[i].more_for_the_change_ms;
		request = hand_must(is_confirm);
		hand_time(cases[i].waited_ms);
		answer_with_another_primary(&request);
		hand_pull();
		for (size_t at = 0; at < h.open_count; at++)
			assert_false(is_update(&h.open[at]));
		assert_int_equal(hand_task()->rule->number, cases[i].rule);
		assert_int_equal(hand_view()->ended, cases[i].ends);
		if (cases[i].ends)
			assert_int_equal(hand_view()->verdict, VERDICT_LATE);
	}
	hand_must(is_look); /* from the rows on */
}

static void test_a_look_that_is_too_old_is_made_anew_and_not_confirmed(void **state)
{
	struct request request;

	(void)state;
	start_ready(3600000);
	request = hand_must(is_confirm);
	hand_answer(&request, (struct reply){ .rpc = { .outcome = VTCTLD_UNKNOWN } });
	assert_int_equal(hand_task()->stage, STAGE_IDLE);
	task_look(hand_task())->confirm_tried = false; /* as if it was not asked for yet */
	task_look(hand_task())->finished_ms = h.now_ms - 2001;
	decide(hand_task());
	assert_int_equal(hand_task()->stage, STAGE_LOOK);
}

static void test_what_a_server_is_refused_is_told(void **state)
{
	struct request request;
	struct news news;
	bool told = false;

	(void)state;
	hand_start(PHASE_SUBMITTING, false);
	engine_serve(h.engine);
	for (;;) {
		assert_true(hand_until(is_direct_or_attempt, 600000, &request));
		if (is_attempt(&request))
			break;
		answer_no_row(&request);
	}
	hand_answer_update(&request);
	assert_true(effect_within(0, &request));
	hand_answer(&request, (struct reply){ .rpc = { .outcome = VTCTLD_UNKNOWN, .code = 2, .text = "not on purpose" } });
	while (engine_news(h.engine, &news))
		told = told || (news.kind == NEWS_REFUSED && strstr(news.reason, "not on purpose"));
	assert_true(told);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_teardown(name, teardown)
	const struct CMUnitTest tests[] = {
		ROW(test_an_effect_follows_its_written_attempt),
		ROW(test_a_write_that_took_too_long_sends_nothing_before_another_attempt),
		ROW(test_a_write_that_came_back_behind_the_lease_sends_nothing),
		ROW(test_an_attempt_that_was_overtaken_sends_nothing),
		ROW(test_whoever_is_overtaken_for_ever_gives_up),
		ROW(test_an_attempt_that_cannot_be_written_sends_nothing_and_is_made_later),
		ROW(test_whoever_could_not_write_decides_nothing),
		ROW(test_a_table_that_somebody_else_has_ends_it),
		ROW(test_a_write_that_is_confirmed_behind_the_stop_sends_nothing),
		ROW(test_a_reversal_waits_for_an_effect_that_may_still_act),
		ROW(test_a_reparent_before_the_release_is_looked_at_anew_or_ends_the_wait),
		ROW(test_a_look_that_is_too_old_is_made_anew_and_not_confirmed),
		ROW(test_what_a_server_is_refused_is_told),
	};

	return cmocka_run_group_tests_name("engine_fence", tests, NULL, NULL);
}
