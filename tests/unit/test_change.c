/* Goal: phases mean what the drawing in vtddl/change.h says, and names lead back to their values.
 * Method: the arrows once more, as a list of words; every pair that is not in it is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "vtddl/change.h"

static const char *const arrows[][2] = {
	{ "submitting", "submitted" },	{ "submitting", "cancelling" }, { "submitting", "cancelled" },
	{ "submitting", "failed" },	{ "submitting", "stopped" },	{ "submitted", "completing" },
	{ "submitted", "cancelling" },	{ "submitted", "cancelled" },	{ "submitted", "failed" },
	{ "submitted", "stopped" },	{ "completing", "completed" },	{ "completing", "stopped" },
	{ "completed", "verified" },	{ "completed", "stopped" },	{ "cancelling", "cancelled" },
	{ "cancelling", "stopped" },	{ "failed", "cancelling" },	{ "stopped", "cancelling" },
	{ "submitting", "completing" }, { "stopped", "completed" },
};

static bool is_drawn(enum phase from, enum phase to)
{
	for (size_t i = 0; i < sizeof(arrows) / sizeof(arrows[0]); i++)
		if (!strcmp(arrows[i][0], phase_name(from)) && !strcmp(arrows[i][1], phase_name(to)))
			return true;
	return false;
}

static void test_only_what_is_drawn_may_move(void **state)
{
	(void)state;
	for (int from = -2; from <= _PHASE_MAX; from++)
		for (int to = -2; to <= _PHASE_MAX; to++)
			assert_int_equal(phase_may_move((enum phase)from, (enum phase)to),
					 is_drawn((enum phase)from, (enum phase)to));
}

/* Every phase that can be reached from @from, as bits. */
static unsigned reachable(enum phase from, unsigned seen)
{
	for (int to = 0; to < _PHASE_MAX; to++)
		if (phase_may_move(from, (enum phase)to) && !(seen & (1u << to)))
			seen = reachable((enum phase)to, seen | (1u << to));
	return seen;
}

/* A stopped change may be found complete, but none of these leads back to the release itself. */
static void test_no_cancelled_change_is_ever_released(void **state)
{
	static const enum phase ends[] = { PHASE_CANCELLING, PHASE_CANCELLED, PHASE_FAILED, PHASE_STOPPED };

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_false(reachable(ends[i], 0) & (1u << PHASE_COMPLETING));
	assert_false(phase_may_move(PHASE_COMPLETING, PHASE_CANCELLING));
	assert_false(phase_may_move(PHASE_COMPLETED, PHASE_CANCELLING));
	assert_int_equal(reachable(PHASE_VERIFIED, 0), 0);
	assert_int_equal(reachable(PHASE_CANCELLED, 0), 0);
}

static void test_a_change_is_live_until_it_is_verified_or_cancelled(void **state)
{
	(void)state;
	for (int phase = 0; phase < _PHASE_MAX; phase++) {
		assert_int_equal(phase_is_live((enum phase)phase),
				 phase != PHASE_VERIFIED && phase != PHASE_CANCELLED);
		assert_int_equal(phase_is_final((enum phase)phase),
				 phase == PHASE_VERIFIED || phase == PHASE_CANCELLED ||
					 phase == PHASE_FAILED || phase == PHASE_STOPPED);
	}
	assert_false(phase_is_live(_PHASE_INVALID));
	assert_false(phase_is_final(_PHASE_INVALID));
}

static void test_a_name_leads_back_to_its_value(void **state)
{
	static const char *const none[] = { NULL,	   "",	      "unknown", "Submitting",
					    "submitting ", "submit_", "autoo" };

	(void)state;
	for (int i = 0; i < _PHASE_MAX; i++)
		assert_int_equal(phase_from_name(phase_name((enum phase)i)), i);
	for (int i = 0; i < _GATE_MAX; i++)
		assert_int_equal(gate_from_name(gate_name((enum gate)i)), i);
	for (int i = 0; i < _EFFECT_MAX; i++)
		assert_int_equal(effect_from_name(effect_name((enum effect)i)), i);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_int_equal(phase_from_name(none[i]), _PHASE_INVALID);
		assert_int_equal(gate_from_name(none[i]), _GATE_INVALID);
		assert_int_equal(effect_from_name(none[i]), _EFFECT_INVALID);
	}
	assert_string_equal(phase_name(_PHASE_INVALID), "unknown");
	assert_string_equal(gate_name(_GATE_MAX), "unknown");
	assert_string_equal(effect_name(_EFFECT_INVALID), "unknown");
}

static void test_an_alias_is_written_as_vitess_writes_it(void **state)
{
	struct tablet_alias alias = { "zone1", 101 }, other = alias;
	char text[ALIAS_TEXT_SIZE], longest[ALIAS_TEXT_SIZE];

	(void)state;
	tablet_alias_format(&alias, text);
	assert_string_equal(text, "zone1-0000000101");
	alias.uid = UINT32_MAX;
	tablet_alias_format(&alias, text);
	assert_string_equal(text, "zone1-4294967295");
	assert_false(tablet_alias_equal(&alias, &other));
	other = alias;
	assert_true(tablet_alias_equal(&alias, &other));
	other.cell[0] = 'Z';
	assert_false(tablet_alias_equal(&alias, &other));
	memset(alias.cell, 'c', CELL_MAX);
	alias.cell[CELL_MAX] = '\0';
	tablet_alias_format(&alias, longest);
	assert_int_equal(strlen(longest), CELL_MAX + 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_is_drawn_may_move),
		cmocka_unit_test(test_no_cancelled_change_is_ever_released),
		cmocka_unit_test(test_a_change_is_live_until_it_is_verified_or_cancelled),
		cmocka_unit_test(test_a_name_leads_back_to_its_value),
		cmocka_unit_test(test_an_alias_is_written_as_vitess_writes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
