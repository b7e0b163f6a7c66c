/* Goal: looks come soon where something is near, late where nothing moves, never outside 2 to 60 s.
 * Method: one look described by hand each; CALM is the chance that adds nothing (the middle). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "vtddl/schedule.h"

#define BASE 15000
#define HOLDING 12000 /* the base less the second look and its jitter: together one base */
#define QUIET 180000

static const struct progress copying = { .shards_expected = 4, .shards_seen = 4, .worst_eta_s = -1 };

/* The chance that leaves an interval as it is: the spread is a fifth to either side. */
static int64_t poll_calm(int64_t interval, enum phase phase, uint32_t facts, const struct progress *progress,
			 int64_t quiet_ms)
{
	return schedule_poll(BASE, phase, facts, progress, quiet_ms, (uint64_t)interval / 5);
}

static void assert_polls(int64_t interval, enum phase phase, uint32_t facts, struct progress progress,
			 int64_t quiet_ms)
{
	assert_int_equal(poll_calm(interval, phase, facts, &progress, quiet_ms), interval);
}

static struct progress with_eta(int64_t eta_s)
{
	struct progress progress = copying;

	progress.worst_eta_s = eta_s;
	return progress;
}

static struct progress with_ready(size_t expected, size_t ready, size_t complete)
{
	return (struct progress){ .shards_expected = expected,
				  .shards_seen = expected,
				  .shards_ready = ready,
				  .shards_complete = complete,
				  .worst_eta_s = -1 };
}

static void test_without_news_the_interval_is_the_configured_one(void **state)
{
	(void)state;
	assert_polls(BASE, PHASE_SUBMITTING, FACT_ANY_LIVE, copying, 0);
	assert_polls(BASE, PHASE_SUBMITTING, FACT_ANY_LIVE, copying, QUIET - 1);
	assert_int_equal(schedule_poll(BASE, PHASE_SUBMITTED, FACT_ANY_LIVE, &copying, 0, BASE / 5), HOLDING);
}

static void test_the_interval_shrinks_as_the_eta_nears(void **state)
{
	(void)state;
	assert_polls(15000, PHASE_SUBMITTING, FACT_ANY_LIVE, with_eta(100000), 0);
	assert_polls(15000, PHASE_SUBMITTING, FACT_ANY_LIVE, with_eta(150), 0);
	assert_polls(10000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_eta(100), 0);
	assert_polls(3000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_eta(30), 0);
	assert_polls(2000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_eta(20), 0);
	assert_polls(2000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_eta(0), 0);
	assert_polls(15000, PHASE_SUBMITTING, FACT_ANY_LIVE, with_eta(INT64_MAX), 0);
}

static void test_the_last_shard_is_watched_closely(void **state)
{
	(void)state;
	assert_polls(2000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_ready(4, 3, 0), 0);
	assert_polls(2000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_ready(4, 1, 2), 0);
	assert_polls(BASE, PHASE_SUBMITTING, FACT_ANY_LIVE, with_ready(4, 2, 0), 0);
}

static void test_a_single_shard_is_not_always_the_last_one(void **state)
{
	(void)state;
	assert_polls(BASE, PHASE_SUBMITTING, FACT_ANY_LIVE, with_ready(1, 0, 0), 0);
}

static void test_all_ready_behind_a_closed_gate_is_no_hurry(void **state)
{
	(void)state;
	assert_polls(BASE, PHASE_SUBMITTING, FACT_ANY_LIVE | FACT_ALL_READY, with_ready(4, 4, 0), 0);
	assert_polls(60000, PHASE_SUBMITTED, FACT_ANY_LIVE | FACT_ALL_READY, with_ready(4, 4, 0),
		     100 * QUIET);
}

static void test_a_second_look_that_is_owed_comes_at_once_and_never_waits(void **state)
{
	(void)state;
	assert_polls(2000, PHASE_SUBMITTED, FACT_SETTLING, copying, 0);
	assert_polls(2000, PHASE_SUBMITTED, FACT_SETTLING, copying, 1000 * QUIET);
}

static void test_cutting_over_and_cancelling_are_watched_closely_while_rows_live(void **state)
{
	(void)state;
	assert_polls(2000, PHASE_COMPLETING, FACT_ANY_LIVE, copying, 0);
	assert_polls(2000, PHASE_CANCELLING, FACT_ANY_LIVE, copying, 0);
	assert_polls(BASE, PHASE_COMPLETING, 0, copying, 0);
	assert_polls(BASE, PHASE_CANCELLING, 0, copying, 0);
}

static void test_the_proof_behind_completion_follows_at_once(void **state)
{
	(void)state;
	assert_polls(2000, PHASE_COMPLETED, 0, copying, 0);
	assert_polls(4000, PHASE_COMPLETED, 0, copying, QUIET);
}

static void test_when_nothing_moves_the_interval_doubles(void **state)
{
	(void)state;
	assert_polls(30000, PHASE_SUBMITTED, FACT_ANY_LIVE, copying, QUIET);
	assert_polls(60000, PHASE_SUBMITTED, FACT_ANY_LIVE, copying, 2 * QUIET);
	assert_polls(60000, PHASE_SUBMITTED, FACT_ANY_LIVE, copying, 3 * QUIET);
	assert_polls(60000, PHASE_SUBMITTED, FACT_ANY_LIVE, copying, INT64_MAX);
}

static void test_what_was_urgent_and_is_stuck_falls_back_to_the_configured_interval_only(void **state)
{
	(void)state;
	assert_polls(4000, PHASE_COMPLETING, FACT_ANY_LIVE, copying, QUIET);
	assert_polls(8000, PHASE_COMPLETING, FACT_ANY_LIVE, copying, 2 * QUIET);
	assert_polls(15000, PHASE_COMPLETING, FACT_ANY_LIVE, copying, 1000 * QUIET);
	assert_polls(15000, PHASE_SUBMITTED, FACT_ANY_LIVE, with_ready(4, 3, 0), 1000 * QUIET);
}

static void test_jitter_is_a_fifth_either_way_and_keeps_the_limits(void **state)
{
	int64_t least = INT64_MAX, most = 0;

	(void)state;
	for (uint64_t chance = 0; chance < 20000; chance++) {
		int64_t wait = schedule_poll(BASE, PHASE_SUBMITTING, 0, &copying, 0, chance * 7919);

		least = wait < least ? wait : least;
		most = wait > most ? wait : most;
		wait = schedule_poll(BASE, PHASE_SUBMITTED, FACT_SETTLING, &copying, 0, chance);
		assert_in_range(wait, POLL_MIN_MS, POLL_MIN_MS * 6 / 5);
		wait = schedule_poll(BASE, PHASE_SUBMITTED, 0, &copying, 99 * QUIET, chance);
		assert_in_range(wait, POLL_MAX_MS * 4 / 5, POLL_MAX_MS);
	}
	assert_in_range(least, 12000, 12100);
	assert_in_range(most, 17900, 18000);
	assert_in_range(schedule_poll(BASE, PHASE_SUBMITTING, 0, &copying, 0, UINT64_MAX), 12000, 18000);
}

static void test_a_foolish_configured_interval_stays_within_the_limits(void **state)
{
	static const int64_t bases[] = { INT64_MIN, -1, 0, 1, 1999, 60001, INT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		for (uint64_t chance = 0; chance < 100; chance++)
			assert_in_range(
				schedule_poll(bases[i], PHASE_SUBMITTED, 0, &copying, 0, chance * 997),
				POLL_MIN_MS, POLL_MAX_MS);
}

static void test_backoff_is_spread_from_half_the_base_to_the_doubled_ceiling(void **state)
{
	static const int64_t ceilings[] = { 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000 };

	(void)state;
	for (unsigned attempt = 0; attempt < 8; attempt++) {
		int64_t least = INT64_MAX, most = 0;

		for (uint64_t chance = 0; chance < 40000; chance++) {
			int64_t wait = schedule_backoff(500, 30000, attempt, chance);

			least = wait < least ? wait : least;
			most = wait > most ? wait : most;
		}
		assert_int_equal(least, 250);
		assert_int_equal(most, ceilings[attempt]);
	}
}

static void test_backoff_never_overflows_or_passes_its_cap(void **state)
{
	(void)state;
	assert_in_range(schedule_backoff(500, 30000, UINT32_MAX, UINT64_MAX), 250, 30000);
	assert_true(schedule_backoff(INT64_MAX, INT64_MAX, 3, UINT64_MAX) >= INT64_MAX / 2);
	assert_int_equal(schedule_backoff(5000, 100, 3, 77), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_news_the_interval_is_the_configured_one),
		cmocka_unit_test(test_the_interval_shrinks_as_the_eta_nears),
		cmocka_unit_test(test_the_last_shard_is_watched_closely),
		cmocka_unit_test(test_a_single_shard_is_not_always_the_last_one),
		cmocka_unit_test(test_all_ready_behind_a_closed_gate_is_no_hurry),
		cmocka_unit_test(test_a_second_look_that_is_owed_comes_at_once_and_never_waits),
		cmocka_unit_test(test_cutting_over_and_cancelling_are_watched_closely_while_rows_live),
		cmocka_unit_test(test_the_proof_behind_completion_follows_at_once),
		cmocka_unit_test(test_when_nothing_moves_the_interval_doubles),
		cmocka_unit_test(
			test_what_was_urgent_and_is_stuck_falls_back_to_the_configured_interval_only),
		cmocka_unit_test(test_jitter_is_a_fifth_either_way_and_keeps_the_limits),
		cmocka_unit_test(test_a_foolish_configured_interval_stays_within_the_limits),
		cmocka_unit_test(test_backoff_is_spread_from_half_the_base_to_the_doubled_ceiling),
		cmocka_unit_test(test_backoff_never_overflows_or_passes_its_cap),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
