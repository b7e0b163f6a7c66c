/*
 * The rule table, exhaustively: every phase with every combination of the facts that any of its rows asks
 * for. Then row by row: what it must ask for by itself, and situations with the row that decides them.
 * What must hold is said here anew and not read from the table.
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

/* ---- What a row asks for by itself, whatever the rows above it take away ---- */

enum {
	LEADER = FACT_LEADER, KNOWN = FACT_SHARDS_KNOWN, SEEN = FACT_ALL_SEEN, ROWS = FACT_ALL_ROWS,
	SETTLING = FACT_SETTLING, MISMATCH = FACT_MISMATCH, DEAD = FACT_DEAD, FAILED = FACT_FAILED,
	CANCELLED = FACT_CANCELLED, DUPLICATE = FACT_DUPLICATE, HELD = FACT_ANY_HELD,
	RELEASED = FACT_ANY_RELEASED, CUT = FACT_ANY_COMPLETE, LIVE = FACT_ANY_LIVE, READY = FACT_ALL_READY,
	FORWARD = FACT_ALL_FORWARD, COMPLETE = FACT_ALL_COMPLETE, GONE = FACT_ALL_GONE,
	CONFIRMED = FACT_CONFIRMED, GATE = FACT_GATE_OPEN, ASKED = FACT_CANCEL_ASKED, TAKE_UP = FACT_TAKE_UP,
	SENT = FACT_SENT, BUSY = FACT_BUSY, DUE = FACT_DUE, LATE = FACT_LATE, PROVEN = FACT_PROVEN,
	DISPROVEN = FACT_DISPROVEN,
};

#define EVERY _PHASE_MAX /* phase */

static const struct {
	enum phase at;
	enum action action;
	enum phase to;
	uint32_t yes, no;
} needs[] = {
	{ EVERY, ACTION_SUBMIT, 0, LEADER | DUE | KNOWN | SEEN, ROWS | DEAD | BUSY | LATE | SETTLING | RELEASED },
	{ EVERY, ACTION_COMPLETE, 0, LEADER | DUE | HELD, BUSY | DEAD | LATE | MISMATCH },
	{ EVERY, ACTION_CANCEL, 0, LEADER | DUE | LIVE, BUSY | CUT | MISMATCH },
	{ PHASE_CANCELLING, ACTION_CANCEL, 0, 0, LATE },
	{ EVERY, ACTION_CONFIRM, 0, 0, CONFIRMED },
	/* past the point of no return */
	{ EVERY, ACTION_MOVE, PHASE_COMPLETING, LEADER | KNOWN | ROWS | CONFIRMED, MISMATCH },
	{ PHASE_SUBMITTED, ACTION_MOVE, PHASE_COMPLETING, READY | SEEN | GATE, DEAD | BUSY | RELEASED },
	{ PHASE_SUBMITTING, ACTION_MOVE, PHASE_COMPLETING, 0, SENT }, /* adopted: never ours */
	{ EVERY, ACTION_MOVE, PHASE_COMPLETED, ROWS | COMPLETE, 0 },
	{ PHASE_STOPPED, ACTION_MOVE, PHASE_COMPLETED, TAKE_UP | LEADER, MISMATCH | DUPLICATE | BUSY },
	{ EVERY, ACTION_MOVE, PHASE_VERIFIED, PROVEN | ROWS | COMPLETE | CONFIRMED,
	  DISPROVEN | MISMATCH | DUPLICATE },
	/* withdrawn */
	{ EVERY, ACTION_MOVE, PHASE_CANCELLING, ASKED, BUSY },
	{ PHASE_FAILED, ACTION_MOVE, PHASE_CANCELLING, LEADER, CUT },
	{ PHASE_STOPPED, ACTION_MOVE, PHASE_CANCELLING, LEADER, SENT | CUT | MISMATCH },
	{ EVERY, ACTION_MOVE, PHASE_CANCELLED, GONE, BUSY },
};

static void test_a_row_that_acts_asks_for_all_its_conditions_itself(void **state)
{
	size_t count;
	const struct rule *rules = rules_table(&count);

	(void)state;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		unsigned seen = 0;

		for (const struct rule *rule = rules; rule < rules + count; rule++) {
			if (rule->action != needs[i].action || (needs[i].at != EVERY && rule->at != needs[i].at) ||
			    (rule->action == ACTION_MOVE && rule->to != needs[i].to))
				continue;
			seen++;
			if ((rule->yes & needs[i].yes) != needs[i].yes || (rule->no & needs[i].no) != needs[i].no)
				fail_msg("rule %d does not ask for %x and against %x", rule->number,
					 needs[i].yes & ~rule->yes, needs[i].no & ~rule->no);
		}
		if (!seen)
			fail_msg("no row is what line %zu of the needs speaks of", i);
	}
}

/* ---- Situations, and the row that decides each ---- */

#define LEADS (LEADER | KNOWN | SEEN) /* and sees everything */
#define ADOPT (LEADS | ROWS | FORWARD | RELEASED)
#define BARRIER (LEADS | ROWS | READY | GATE)
#define PROOF (LEADS | ROWS | COMPLETE | CUT | PROVEN)

struct situation {
	uint32_t facts;
	int number;
	enum action action;
};

static void check_situations(enum phase phase, const struct situation *situations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct rule *rule = rules_next(phase, situations[i].facts);

		if (rule->number != situations[i].number || rule->action != situations[i].action)
			fail_msg("%s, situation %zu: rule %d (%s), not %d", phase_name(phase), i, rule->number,
				 action_name(rule->action), situations[i].number);
	}
}
#define check_all(phase, situations)                                                                         \
	check_situations(phase, situations, sizeof(situations) / sizeof((situations)[0]))

static void test_before_every_shard_has_it(void **state)
{
	static const struct situation situations[] = {
		/* a release that we know nothing of: adopted where all of it fits, else a person looks */
		{ ADOPT, 114, ACTION_CONFIRM },
		{ ADOPT | CONFIRMED, 113, ACTION_MOVE },
		{ (ADOPT | CONFIRMED) & ~KNOWN, 119, ACTION_MOVE },
		{ (ADOPT | CONFIRMED) & ~FORWARD, 119, ACTION_MOVE },
		{ ADOPT | CONFIRMED | DEAD, 119, ACTION_MOVE },
		{ ADOPT & ~ROWS, 119, ACTION_MOVE },
		{ ADOPT & ~FORWARD, 119, ACTION_MOVE },
		{ ADOPT & ~RELEASED, 131, ACTION_MOVE },
		{ ADOPT | SENT, 119, ACTION_MOVE },
		{ ADOPT | DEAD, 119, ACTION_MOVE },
		{ LEADS | RELEASED | SETTLING, 115, ACTION_WAIT },
		{ LEADS | RELEASED | SETTLING | SENT, 119, ACTION_MOVE },
		{ LEADS | ROWS | SETTLING, 131, ACTION_MOVE },
		{ LEADER | KNOWN | RELEASED, 117, ACTION_WAIT },
		{ LEADER | KNOWN | RELEASED | SENT, 119, ACTION_MOVE },
		{ LEADS | RELEASED, 119, ACTION_MOVE },
		{ LEADER | KNOWN, 139, ACTION_WAIT },
		/* cancelled is what somebody cancelled and is gone everywhere, and no submit of ours is on its way */
		{ LEADS | CANCELLED | GONE | DUE, 121, ACTION_MOVE },
		{ LEADS | GONE | DUE, 141, ACTION_SUBMIT },
		{ LEADS | CANCELLED, 125, ACTION_MOVE },
		{ LEADS | CANCELLED | GONE | FAILED, 123, ACTION_MOVE },
		{ LEADS | CANCELLED | GONE | BUSY, 122, ACTION_WAIT },
		{ LEADS | CANCELLED | GONE | BUSY | FAILED, 123, ACTION_MOVE },
		{ LEADS | CANCELLED | BUSY, 125, ACTION_MOVE },
		{ LEADS | GONE | BUSY, 137, ACTION_WAIT },
		/* dead in one look only: waited for */
		{ LEADS | ROWS, 131, ACTION_MOVE },
		{ LEADS | ROWS | DEAD | DUE, 199, ACTION_WAIT },
		/* nothing is sent late, twice, or in doubt */
		{ LEADS | DUE | LATE, 133, ACTION_REST },
		{ LEADS | DUE | BUSY, 137, ACTION_WAIT },
		{ LEADS | DUE | SETTLING, 199, ACTION_WAIT },
		{ LEADS, 199, ACTION_WAIT },
	};

	(void)state;
	check_all(PHASE_SUBMITTING, situations);
}

static void test_before_the_release(void **state)
{
	static const struct situation situations[] = {
		{ BARRIER, 227, ACTION_CONFIRM },
		{ BARRIER | CONFIRMED, 225, ACTION_MOVE },
		{ (BARRIER | CONFIRMED) & ~SEEN, 235, ACTION_WAIT },
		{ (BARRIER | CONFIRMED) & ~KNOWN, 233, ACTION_WAIT },
		{ BARRIER & ~READY, 299, ACTION_WAIT },
		{ BARRIER & ~GATE, 229, ACTION_WAIT },
		{ BARRIER & ~(READY | GATE), 299, ACTION_WAIT },
		{ BARRIER | DEAD, 299, ACTION_WAIT },
		{ BARRIER | BUSY, 237, ACTION_WAIT },
		{ BARRIER | CONFIRMED | RELEASED, 211, ACTION_MOVE },
		{ LEADS | CANCELLED | GONE | DUE, 213, ACTION_MOVE },
		{ LEADS | GONE | DUE, 231, ACTION_SUBMIT },
		{ LEADS | CANCELLED, 217, ACTION_MOVE },
		{ LEADS | CANCELLED | GONE | FAILED, 215, ACTION_MOVE },
		{ LEADS | CANCELLED | GONE | BUSY, 214, ACTION_WAIT },
		{ LEADS | CANCELLED | GONE | BUSY | FAILED, 215, ACTION_MOVE },
		{ LEADS | CANCELLED | BUSY, 217, ACTION_MOVE },
		{ LEADS | GONE | BUSY, 237, ACTION_WAIT },
	};

	(void)state;
	check_all(PHASE_SUBMITTED, situations);
}

static void test_behind_the_release(void **state)
{
	static const struct situation situations[] = {
		{ LEADS | ROWS | COMPLETE | CUT, 311, ACTION_MOVE },
		{ LEADS | ROWS | CUT, 399, ACTION_WAIT },
		{ LEADER | KNOWN | COMPLETE | CUT, 329, ACTION_WAIT },
		/* a row is lost only where every shard was asked, twice, and nothing is under way */
		{ LEADS, 313, ACTION_MOVE },
		{ LEADER | KNOWN, 329, ACTION_WAIT },
		{ LEADS | ROWS, 399, ACTION_WAIT },
		{ LEADS | BUSY, 399, ACTION_WAIT },
		{ LEADS | SETTLING, 399, ACTION_WAIT },
		{ LEADS | ROWS | CUT | LATE, 315, ACTION_REST },
		{ LEADS | ROWS | LATE, 317, ACTION_REST },
		{ LEADS | ROWS | HELD | BUSY, 319, ACTION_WAIT },
		{ LEADS | ROWS | BUSY, 399, ACTION_WAIT },
		{ LEADS | ROWS | HELD | DUE, 321, ACTION_COMPLETE },
		{ LEADS | ROWS | HELD, 327, ACTION_WAIT },
		{ LEADER | KNOWN | HELD | RELEASED | DUE, 323, ACTION_COMPLETE },
		{ LEADER | KNOWN | HELD | DUE, 325, ACTION_WAIT },
	};

	(void)state;
	check_all(PHASE_COMPLETING, situations);
}

static void test_the_proof(void **state)
{
	static const struct situation situations[] = {
		{ PROOF, 410, ACTION_CONFIRM },
		{ PROOF | CONFIRMED, 409, ACTION_MOVE },
		{ (PROOF | DUE) & ~PROVEN, 415, ACTION_VERIFY },
		{ PROOF & ~COMPLETE, 413, ACTION_WAIT },
		{ (PROOF | DUE) & ~ROWS, 415, ACTION_VERIFY },
		{ (PROOF | DUE | CONFIRMED) & ~ROWS, 415, ACTION_VERIFY },
		{ PROOF & ~ROWS, 499, ACTION_WAIT },
		{ PROOF | CONFIRMED | DISPROVEN, 407, ACTION_MOVE },
	};

	(void)state;
	check_all(PHASE_COMPLETED, situations);
}

static void test_withdrawing(void **state)
{
	static const struct situation cancelling[] = {
		{ LEADS | GONE, 607, ACTION_MOVE },
		{ LEADER | KNOWN | GONE, 615, ACTION_WAIT },
		{ LEADS | LIVE | DUE, 613, ACTION_CANCEL },
		{ LEADS | DUE, 699, ACTION_WAIT },
	};
	static const struct situation cancelled[] = {
		{ LEADS | LIVE | DUE, 701, ACTION_CANCEL },
		{ LEADS | DUE, 799, ACTION_REST },
	};
	static const struct situation failed[] = {
		{ LEADS | ASKED, 801, ACTION_MOVE },
		{ LEADS | ASKED | BUSY, 803, ACTION_WAIT },
		{ KNOWN | SEEN | ASKED, 803, ACTION_WAIT },
		{ LEADS | ASKED | CUT, 899, ACTION_REST },
		{ LEADS, 899, ACTION_REST },
	};

	(void)state;
	check_all(PHASE_CANCELLING, cancelling);
	check_all(PHASE_CANCELLED, cancelled);
	check_all(PHASE_FAILED, failed);
}

static void test_what_is_stopped_goes_on_only_at_a_persons_word(void **state)
{
	static const struct situation situations[] = {
		{ LEADS, 999, ACTION_REST },
		{ LEADS | ASKED, 901, ACTION_MOVE },
		{ KNOWN | SEEN | ASKED, 902, ACTION_WAIT },
		{ LEADS | ASKED | BUSY, 902, ACTION_WAIT },
		{ LEADS | ASKED | SENT, 999, ACTION_REST },
		{ LEADS | ASKED | CUT, 999, ACTION_REST },
		{ LEADS | ASKED | MISMATCH, 999, ACTION_REST },
		{ LEADS | TAKE_UP | ROWS | COMPLETE, 903, ACTION_MOVE },
		{ LEADS | TAKE_UP | ROWS | COMPLETE | BUSY, 905, ACTION_WAIT },
		{ KNOWN | SEEN | TAKE_UP | ROWS | COMPLETE, 905, ACTION_WAIT },
		{ LEADS | ROWS | COMPLETE, 999, ACTION_REST },
		{ LEADS | TAKE_UP | ROWS, 999, ACTION_REST },
		{ LEADS | TAKE_UP | COMPLETE, 999, ACTION_REST },
		{ LEADS | TAKE_UP | ROWS | COMPLETE | MISMATCH, 999, ACTION_REST },
		{ LEADS | TAKE_UP | ROWS | COMPLETE | DUPLICATE, 999, ACTION_REST },
	};

	(void)state;
	check_all(PHASE_STOPPED, situations);
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
		cmocka_unit_test(test_a_row_that_acts_asks_for_all_its_conditions_itself),
		cmocka_unit_test(test_before_every_shard_has_it),
		cmocka_unit_test(test_before_the_release),
		cmocka_unit_test(test_behind_the_release),
		cmocka_unit_test(test_the_proof),
		cmocka_unit_test(test_withdrawing),
		cmocka_unit_test(test_what_is_stopped_goes_on_only_at_a_persons_word),
		cmocka_unit_test(test_actions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
