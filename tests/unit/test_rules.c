/*
 * The rule table, exhaustively: every phase with every combination of the facts that any of its rows asks
 * for. What must hold is said here anew and not read from the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "vtddl/rules.h"

typedef void check_fn(enum phase phase, uint32_t facts, const struct rule *rule, void *user);

static uint32_t facts_of_phase(enum phase phase)
{
	size_t count;
	const struct rule *rules = rules_table(&count);
	uint32_t mask = 0;

	for (size_t i = 0; i < count; i++)
		if (rules[i].at == phase)
			mask |= rules[i].yes | rules[i].no;
	return mask;
}

static void for_all(check_fn *check, void *user)
{
	for (int phase = 0; phase < _PHASE_MAX; phase++) {
		uint32_t mask = facts_of_phase(phase), facts = 0;

		do { /* all subsets of mask */
			check(phase, facts, rules_next(phase, facts), user);
			facts = (facts - mask) & mask;
		} while (facts);
	}
}

static bool is_effect(enum action action)
{
	return action == ACTION_SUBMIT || action == ACTION_COMPLETE || action == ACTION_CANCEL;
}

static void check_row(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	(void)user;
	assert_non_null(rule);
	assert_int_equal(rule->at, phase);
	if (rule->action == ACTION_MOVE)
		assert_true(phase_may_move(phase, rule->to));
	if (is_effect(rule->action) || rule->action == ACTION_MOVE)
		assert_true(facts & FACT_LEADER || rule->number == 0);
	if (is_effect(rule->action)) {
		assert_true(facts & FACT_DUE);
		assert_false(facts & FACT_BUSY);
		assert_false(facts & FACT_MISMATCH);
	}
}

static void test_whoever_does_not_lead_neither_writes_nor_sends(void **state)
{
	(void)state;
	for_all(check_row, NULL);
}

static void check_complete(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	unsigned *seen = user;

	if (rule->action != ACTION_COMPLETE)
		return;
	++*seen;
	assert_int_equal(phase, PHASE_COMPLETING);
	assert_false(facts & FACT_DEAD); /* Complete strips the hold of a failed row */
	assert_true(facts & FACT_ANY_HELD);
	/* a shard that cannot be seen stops the first release, and no later one */
	assert_true(facts & (FACT_ALL_SEEN | FACT_ANY_RELEASED));
}

static void test_complete_is_sent_only_past_the_point_of_no_return_and_never_for_a_dead_row(void **state)
{
	unsigned seen = 0;

	(void)state;
	for_all(check_complete, &seen);
	assert_true(seen > 0);
}

static void check_barrier(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	const uint32_t barrier = FACT_ALL_READY | FACT_ALL_ROWS | FACT_CONFIRMED | FACT_GATE_OPEN | FACT_LEADER;
	unsigned *seen = user;

	if (rule->action != ACTION_MOVE || rule->to != PHASE_COMPLETING)
		return;
	++*seen;
	if (phase == PHASE_SUBMITTED) {
		assert_int_equal(facts & barrier, barrier);
		assert_false(facts & (FACT_DEAD | FACT_BUSY | FACT_CANCEL_ASKED | FACT_LATE | FACT_ANY_RELEASED));
		return;
	}
	/* adoption after a lost store: the fleet is past the barrier already, and we never sent anything */
	assert_int_equal(phase, PHASE_SUBMITTING);
	assert_false(facts & FACT_SENT);
	assert_true(facts & (FACT_ANY_RELEASED | FACT_ALL_COMPLETE));
	assert_true(facts & FACT_ALL_ROWS);
	assert_true(facts & FACT_CONFIRMED); /* by the same barrier */
}

static void test_the_barrier_opens_only_with_every_condition_seen(void **state)
{
	unsigned seen = 0;

	(void)state;
	for_all(check_barrier, &seen);
	assert_true(seen > 0);
}

static void check_submit(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	unsigned *seen = user;

	if (rule->action != ACTION_SUBMIT)
		return;
	++*seen;
	assert_true(phase == PHASE_SUBMITTING || phase == PHASE_SUBMITTED);
	assert_true(facts & FACT_ALL_SEEN);
	assert_false(facts & FACT_DEAD); /* a resubmit revives failed and cancelled rows */
	assert_false(facts & FACT_ANY_RELEASED);
	assert_false(facts & FACT_CANCEL_ASKED);
}

static void test_submit_is_repeated_only_when_every_shard_was_seen_and_no_row_is_dead(void **state)
{
	unsigned seen = 0;

	(void)state;
	for_all(check_submit, &seen);
	assert_true(seen > 0);
}

static void check_cancel(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	unsigned *seen = user;

	if (rule->action == ACTION_MOVE && rule->to == PHASE_CANCELLING) {
		++*seen;
		assert_true(facts & FACT_CANCEL_ASKED);
		assert_false(facts & FACT_BUSY); /* R4: never while an own submit may still act */
		assert_true(phase != PHASE_COMPLETING && phase != PHASE_COMPLETED && phase != PHASE_VERIFIED);
		assert_false(phase == PHASE_STOPPED && (facts & FACT_SENT)); /* I4: a Complete may have been sent */
	}
	if (rule->action == ACTION_MOVE && rule->to == PHASE_CANCELLED)
		assert_false(facts & FACT_BUSY); /* an own submit could revive what is called cancelled */
	if (rule->action == ACTION_CANCEL)
		assert_true(phase == PHASE_CANCELLING || phase == PHASE_CANCELLED);
}

static void test_cancel_follows_a_persons_wish_and_never_a_release(void **state)
{
	unsigned seen = 0;

	(void)state;
	for_all(check_cancel, &seen);
	assert_true(seen > 0);
}

static void check_verified(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	unsigned *seen = user;

	if (rule->action != ACTION_MOVE || rule->to != PHASE_VERIFIED)
		return;
	++*seen;
	assert_int_equal(phase, PHASE_COMPLETED);
	assert_true(facts & FACT_PROVEN);
	assert_true(facts & FACT_ALL_COMPLETE);
	assert_true(facts & FACT_CONFIRMED);
	assert_false(facts & (FACT_DISPROVEN | FACT_DUPLICATE | FACT_MISMATCH));
}

static void test_verified_needs_the_proof_and_completion_of_every_shard(void **state)
{
	unsigned seen = 0;

	(void)state;
	for_all(check_verified, &seen);
	assert_true(seen > 0);
}

static void mark_reached(enum phase phase, uint32_t facts, const struct rule *rule, void *user)
{
	size_t count;
	bool *reached = user;

	(void)phase;
	(void)facts;
	reached[rule - rules_table(&count)] = true;
}

static void test_every_row_can_be_reached_and_rows_are_in_order(void **state)
{
	size_t count;
	const struct rule *rules = rules_table(&count);
	bool *reached = calloc(count, sizeof(*reached));

	(void)state;
	assert_non_null(reached);
	for_all(mark_reached, reached);
	for (size_t i = 0; i < count; i++) {
		if (!reached[i])
			fail_msg("rule %d can never match: a row above it takes all", rules[i].number);
		assert_int_equal(rules[i].number / 100, rules[i].at + 1);
		if (i)
			assert_true(rules[i].number > rules[i - 1].number);
		assert_non_null(rules[i].reason);
	}
	free(reached);
}

static void test_the_last_row_of_every_phase_takes_everything_and_does_nothing(void **state)
{
	size_t count;
	const struct rule *rules = rules_table(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && rules[i + 1].at == rules[i].at)
			continue;
		assert_int_equal(rules[i].yes | rules[i].no, 0);
		assert_true(rules[i].action == ACTION_WAIT || rules[i].action == ACTION_REST);
	}
}

static void test_a_rule_is_found_by_its_number(void **state)
{
	size_t count;
	const struct rule *rules = rules_table(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		assert_ptr_equal(rules_find(rules[i].number), &rules[i]);
	assert_null(rules_find(0));
	assert_null(rules_find(rules[count - 1].number + 1));
}

static void test_a_phase_that_is_none_waits_for_a_person(void **state)
{
	(void)state;
	for (int phase = -1; phase <= _PHASE_MAX; phase += _PHASE_MAX + 1) {
		const struct rule *rule = rules_next((enum phase)phase, UINT32_MAX);

		assert_non_null(rule);
		assert_int_equal(rule->action, ACTION_REST);
		assert_int_equal(rule->verdict, VERDICT_UNSEEN);
	}
}

static void test_actions_have_names(void **state)
{
	(void)state;
	assert_string_equal(action_name(ACTION_WAIT), "wait");
	assert_string_equal(action_name(ACTION_REST), "rest");
	assert_string_equal(action_name(_ACTION_MAX), "unknown");
	assert_string_equal(action_name((enum action)-1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whoever_does_not_lead_neither_writes_nor_sends),
		cmocka_unit_test(test_complete_is_sent_only_past_the_point_of_no_return_and_never_for_a_dead_row),
		cmocka_unit_test(test_the_barrier_opens_only_with_every_condition_seen),
		cmocka_unit_test(test_submit_is_repeated_only_when_every_shard_was_seen_and_no_row_is_dead),
		cmocka_unit_test(test_cancel_follows_a_persons_wish_and_never_a_release),
		cmocka_unit_test(test_verified_needs_the_proof_and_completion_of_every_shard),
		cmocka_unit_test(test_every_row_can_be_reached_and_rows_are_in_order),
		cmocka_unit_test(test_the_last_row_of_every_phase_takes_everything_and_does_nothing),
		cmocka_unit_test(test_a_rule_is_found_by_its_number),
		cmocka_unit_test(test_a_phase_that_is_none_waits_for_a_person),
		cmocka_unit_test(test_actions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
