/* Goal: a change starts only on a shard set that covers every key once, with a serving primary each.
 * Method: shard sets written as names; the range of "40-80" is read off its name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/observation.h"

#define SETS_MAX 8

static struct arena arena;
static struct topo_shard shards[SETS_MAX];
static uint8_t borders[2 * SETS_MAX][4];

static int reset(void **state)
{
	(void)state;
	arena_release(&arena);
	arena_init(&arena, 0);
	return 0;
}

static size_t read_border(const char **text, uint8_t *ret)
{
	static const char hex[] = "0123456789abcdef";
	size_t length = 0;

	while (**text && **text != '-') {
		ret[length++] =
			(uint8_t)((strchr(hex, (*text)[0]) - hex) << 4 | (strchr(hex, (*text)[1]) - hex));
		*text += 2;
	}
	*text += **text == '-';
	return length;
}

/* @names ends with NULL. "0" is the whole range. */
static size_t make_shards(const char *const *names)
{
	size_t count = 0;

	for (; names[count]; count++) {
		struct topo_shard *shard = &shards[count];
		const char *text = names[count];

		*shard = (struct topo_shard){ .name = text,
					      .has_primary = true,
					      .is_serving = true,
					      .range_start = borders[2 * count],
					      .range_end = borders[2 * count + 1] };
		if (strcmp(text, "0") == 0)
			continue;
		shard->range_start_length = read_border(&text, borders[2 * count]);
		shard->range_end_length = read_border(&text, borders[2 * count + 1]);
	}
	return count;
}

#define SHARDS(...) make_shards((const char *const[]){ __VA_ARGS__, NULL })

static void assert_fine(size_t count)
{
	const char *problem = topology_problem(&arena, shards, count);

	if (problem)
		fail_msg("unexpected: %s", problem);
}

static void assert_problem(size_t count, const char *const *words)
{
	const char *problem = topology_problem(&arena, shards, count);

	assert_non_null(problem);
	for (; *words; words++) {
		if (!strstr(problem, *words))
			fail_msg("\"%s\" lacks \"%s\"", problem, *words);
	}
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void test_shard_sets_that_cover_every_key_once_are_fine(void **state)
{
	(void)state;
	assert_fine(SHARDS("0"));
	assert_fine(SHARDS("-"));
	assert_fine(SHARDS("-80", "80-"));
	assert_fine(SHARDS("-40", "40-80", "80-c0", "c0-"));
	assert_fine(SHARDS("80-", "40-80", "-40"));	/* any order */
	assert_fine(SHARDS("-4000", "40-80", "8000-")); /* zeros at the end say nothing */
	assert_fine(SHARDS("-7f", "7f-80ff", "80ff-"));
}

static void test_no_shard_at_all_is_a_problem(void **state)
{
	(void)state;
	assert_problem(0, WORDS("no shard", "GetKeyspaces"));
}

static void test_more_shards_than_can_be_driven_are_a_problem(void **state)
{
	static struct topo_shard many[SHARDS_MAX + 1];
	static char names[SHARDS_MAX + 1][16];
	static uint8_t bounds[SHARDS_MAX + 2][2];

	(void)state;
	for (size_t i = 0; i < SHARDS_MAX + 1; i++) {
		bounds[i + 1][0] = (uint8_t)((i + 1) >> 8);
		bounds[i + 1][1] = (uint8_t)(i + 1);
		snprintf(names[i], sizeof(names[i]), "%04zx-%04zx", i, i + 1);
		many[i] = (struct topo_shard){ .name = names[i], .has_primary = true, .is_serving = true,
					       .range_start = bounds[i], .range_start_length = 2,
					       .range_end = bounds[i + 1], .range_end_length = 2 };
	}
	many[SHARDS_MAX - 1].range_end_length = 0; /* as many as can be: they cover everything */
	assert_null(topology_problem(&arena, many, SHARDS_MAX));
	assert_non_null(strstr(topology_problem(&arena, many, SHARDS_MAX + 1), "1025 shards, and vtddl drives at most 1024"));
}

static void test_what_is_no_name_of_a_shard_is_shown(void **state)
{
	size_t count = SHARDS("-80", "80-");

	(void)state;
	shards[1].name = "80-/..";
	assert_problem(count, WORDS("the shard 80-/.., which is no name of a shard"));
	shards[0].name = "";
	assert_problem(count, WORDS("the shards ", "80-/.., which is no name of a shard"));
}

static void test_a_shard_without_a_primary_is_named(void **state)
{
	size_t count = SHARDS("-40", "40-80", "80-");

	(void)state;
	shards[1].has_primary = false;
	assert_problem(count, WORDS("shard 40-80 has no primary", "ReparentShard"));
	shards[2].has_primary = false;
	assert_problem(count, WORDS("shards 40-80, 80- have no primary"));
}

static void test_a_shard_that_does_not_serve_is_named(void **state)
{
	size_t count = SHARDS("-40", "-80", "40-80", "80-");

	(void)state;
	shards[2].is_serving = false;
	assert_problem(count, WORDS("shard 40-80 is not serving", "reshard"));
	shards[0].is_serving = false;
	assert_problem(count, WORDS("shards -40, 40-80 are not serving", "reshard"));
}

static void test_overlapping_ranges_are_named(void **state)
{
	(void)state;
	assert_problem(SHARDS("-80", "40-"), WORDS("-80 and 40- overlap"));
	assert_problem(SHARDS("-80", "-40", "40-80", "80-"), WORDS("overlap"));
	assert_problem(SHARDS("0", "-80", "80-"), WORDS("overlap"));
	assert_problem(SHARDS("-80", "80-", "80-"), WORDS("80- and 80- overlap"));
	assert_problem(SHARDS("-", "0"), WORDS("overlap"));
	assert_problem(SHARDS("-80", "7fff-"), WORDS("overlap"));
}

static void test_gaps_are_named(void **state)
{
	(void)state;
	assert_problem(SHARDS("-40", "80-"), WORDS("no shard has the keys between shards -40 and 80-"));
	assert_problem(SHARDS("40-80", "80-"), WORDS("before shard 40-80"));
	assert_problem(SHARDS("-40", "40-80"), WORDS("behind shard 40-80"));
	assert_problem(SHARDS("-80", "8001-"), WORDS("between shards -80 and 8001-"));
}

static void test_many_names_are_cut_with_their_number(void **state)
{
	size_t count = SHARDS("-10", "10-20", "20-30", "30-40", "40-50", "50-60", "60-70", "70-");

	(void)state;
	for (size_t i = 0; i < count; i++)
		shards[i].is_serving = false;
	assert_problem(count, WORDS("shards -10, 10-20, 20-30, 30-40, 40-50 and 3 more are not serving"));
}

static void test_a_full_arena_never_hides_a_problem(void **state)
{
	size_t count = SHARDS("-40", "80-");

	(void)state;
	arena_release(&arena);
	arena_init(&arena, 1);
	assert_non_null(topology_problem(&arena, shards, count));
	shards[0].has_primary = false;
	assert_non_null(topology_problem(&arena, shards, count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_shard_sets_that_cover_every_key_once_are_fine, reset),
		cmocka_unit_test_setup(test_no_shard_at_all_is_a_problem, reset),
		cmocka_unit_test_setup(test_more_shards_than_can_be_driven_are_a_problem, reset),
		cmocka_unit_test_setup(test_what_is_no_name_of_a_shard_is_shown, reset),
		cmocka_unit_test_setup(test_a_shard_without_a_primary_is_named, reset),
		cmocka_unit_test_setup(test_a_shard_that_does_not_serve_is_named, reset),
		cmocka_unit_test_setup(test_overlapping_ranges_are_named, reset),
		cmocka_unit_test_setup(test_gaps_are_named, reset),
		cmocka_unit_test_setup(test_many_names_are_cut_with_their_number, reset),
		cmocka_unit_test_setup_teardown(test_a_full_arena_never_hides_a_problem, reset, reset),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, reset);
}
