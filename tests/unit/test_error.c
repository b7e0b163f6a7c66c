/* Exit codes of errors: a failure never looks like success, and each kind has the code of docs/exit-codes.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vtddl/error.h"

static void test_only_no_error_is_exit_0(void **state)
{
	(void)state;
	assert_int_equal(error_exit_code(ERROR_NONE), 0);
	for (int code = ERROR_NONE + 1; code < _ERROR_MAX; code++)
		assert_int_not_equal(error_exit_code((enum error_code)code), 0);
	assert_int_equal(error_exit_code(_ERROR_MAX), 70);
	assert_int_equal(error_exit_code((enum error_code)-1), 70);
}

static void test_every_kind_of_error_has_its_own_exit_code(void **state)
{
	(void)state;
	for (int a = 1; a < _ERROR_MAX; a++)
		for (int b = a + 1; b < _ERROR_MAX; b++)
			assert_int_not_equal(error_exit_code((enum error_code)a), error_exit_code((enum error_code)b));
}

static void test_the_codes_are_those_of_the_page(void **state)
{
	static const struct {
		enum error_code code;
		int exit_code;
	} page[] = {
		{ ERROR_USAGE, 64 }, { ERROR_INPUT, 65 },  { ERROR_UNAVAILABLE, 69 }, { ERROR_BUG, 70 },
		{ ERROR_CONFIG, 78 }, { ERROR_AUTH, 77 },  { ERROR_STORE, 74 },	      { ERROR_BLOCKED, 3 },
		{ ERROR_PROTOCOL, 7 }, { ERROR_WAITING, 5 },
	};

	(void)state;
	assert_int_equal(sizeof(page) / sizeof(page[0]), _ERROR_MAX - 1);
	for (size_t i = 0; i < sizeof(page) / sizeof(page[0]); i++)
		assert_int_equal(error_exit_code(page[i].code), page[i].exit_code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_no_error_is_exit_0),
		cmocka_unit_test(test_every_kind_of_error_has_its_own_exit_code),
		cmocka_unit_test(test_the_codes_are_those_of_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
