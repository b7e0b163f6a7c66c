/* Goal: memory of one observation is zeroed, aligned, bounded and gone at once.
 * Method: small arenas with and without a limit, under ASan for the bounds. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/arena.h"

static struct arena arena;

static int arena_teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static void test_memory_is_zeroed_and_aligned(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	for (size_t size = 1; size < 300; size++) {
		unsigned char *memory = arena_alloc(&arena, size);

		assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(memory[i], 0);
		memset(memory, 0xff, size);
	}
}

static void test_memory_is_zeroed_again_after_a_release(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	memset(arena_alloc(&arena, 4000), 0xff, 4000);
	arena_release(&arena);
	assert_int_equal(arena.used, 0);
	assert_null(arena.blocks);
	assert_int_equal(*(unsigned char *)arena_alloc(&arena, 4000), 0);
}

static void test_pieces_do_not_overlap(void **state)
{
	char *texts[200];

	(void)state;
	arena_init(&arena, 0);
	for (int i = 0; i < 200; i++)
		texts[i] = arena_printf(&arena, "%d-%0*d", i, i * 7, 1);
	for (int i = 0; i < 200; i++) {
		char expected[2048];

		snprintf(expected, sizeof(expected), "%d-%0*d", i, i * 7, 1);
		assert_string_equal(texts[i], expected);
	}
}

static void test_a_limit_bounds_what_is_handed_out(void **state)
{
	size_t total = 0;

	(void)state;
	arena_init(&arena, 1000);
	while (arena_alloc(&arena, 64))
		total += 64;
	assert_in_range(total, 1000 - 64 + 1, 1000);
	assert_in_range(arena.used, total, 1000);
	/* One refusal does not close the arena for what still fits. */
	assert_non_null(arena_alloc(&arena, 16));
}

static void test_everything_that_exceeds_a_limit_is_null(void **state)
{
	char big[200];

	(void)state;
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	arena_init(&arena, 100);
	assert_null(arena_alloc(&arena, 101));
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX - 8));
	assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
	assert_null(arena_array(&arena, SIZE_MAX, SIZE_MAX));
	assert_null(arena_memdup(&arena, big, SIZE_MAX));
	assert_null(arena_strdup(&arena, big));
	assert_null(arena_printf(&arena, "%s", big));
	assert_int_equal(arena.used, 0);
}

static void test_nothing_still_has_an_address_of_its_own(void **state)
{
	void *first;

	(void)state;
	arena_init(&arena, 0);
	first = arena_alloc(&arena, 0);
	assert_non_null(first);
	assert_ptr_not_equal(first, arena_alloc(&arena, 0));
	assert_non_null(arena_array(&arena, 0, 8));
}

static void test_copies_are_copies(void **state)
{
	char text[] = "zone1", bytes[] = { 'a', 0, 'b' };
	char *copy, *copied_bytes;

	(void)state;
	arena_init(&arena, 0);
	copy = arena_strdup(&arena, text);
	copied_bytes = arena_memdup(&arena, bytes, sizeof(bytes));
	text[0] = bytes[0] = '?';
	assert_string_equal(copy, "zone1");
	assert_memory_equal(copied_bytes, "a\0b\0", 4);
	assert_null(arena_strdup(&arena, NULL));
	assert_string_equal(arena_memdup(&arena, NULL, 0), "");
}

static void test_one_takes_over_what_another_holds(void **state)
{
	struct arena from;
	char *ours, *first, *second;
	size_t used;

	(void)state;
	arena_init(&arena, 0);
	for (unsigned round = 0; round < 3; round++) { /* into an empty one, then behind what is there */
		arena_init(&from, 0);
		used = arena.used;
		first = arena_strdup(&from, "first");
		arena_alloc(&from, 100000); /* several blocks */
		second = arena_strdup(&from, "second");
		used += from.used;
		arena_adopt(&arena, &from);
		assert_int_equal(arena.used, used);
		assert_int_equal(from.used, 0);
		assert_null(from.blocks);
		arena_adopt(&arena, &from); /* nothing is left */
		ours = arena_strdup(&arena, "ours");
		memset(arena_alloc(&arena, 5000), '?', 5000);
		arena_release(&from);
		assert_string_equal(first, "first");
		assert_string_equal(second, "second");
		assert_string_equal(ours, "ours");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_memory_is_zeroed_and_aligned, arena_teardown),
		cmocka_unit_test_teardown(test_memory_is_zeroed_again_after_a_release, arena_teardown),
		cmocka_unit_test_teardown(test_pieces_do_not_overlap, arena_teardown),
		cmocka_unit_test_teardown(test_a_limit_bounds_what_is_handed_out, arena_teardown),
		cmocka_unit_test_teardown(test_everything_that_exceeds_a_limit_is_null, arena_teardown),
		cmocka_unit_test_teardown(test_nothing_still_has_an_address_of_its_own, arena_teardown),
		cmocka_unit_test_teardown(test_copies_are_copies, arena_teardown),
		cmocka_unit_test_teardown(test_one_takes_over_what_another_holds, arena_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
