/* Goal: texts stop at their ceiling, and text of the fleet can do nothing to a terminal.
 * Method: tables of input and of what must be shown; error, digest and clock ride along. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "vtddl/clock.h"
#include "vtddl/digest.h"
#include "vtddl/error.h"
#include "vtddl/strbuf.h"

static void test_an_empty_text_is_a_text(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 10);
	assert_string_equal(buf.text, "");
	strbuf_adds(&buf, "");
	strbuf_clear(&buf);
	assert_string_equal(buf.text, "");
	strbuf_release(&buf);
	assert_string_equal(buf.text, "");
	strbuf_release(&buf);
}

static void test_a_zeroed_struct_can_be_released(void **state)
{
	struct strbuf buf = { 0 };

	(void)state;
	strbuf_release(&buf);
	assert_string_equal(buf.text, "");
}

static void test_texts_are_joined(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 1000);
	for (int i = 0; i < 100; i++)
		strbuf_addf(&buf, "%02d,", i);
	strbuf_add(&buf, "a\0b", 3);
	assert_int_equal(buf.length, 303);
	assert_memory_equal(buf.text, "00,01,02,", 9);
	assert_memory_equal(buf.text + 297, "99,a\0b", 7);
	assert_false(buf.overflow);
	strbuf_clear(&buf);
	strbuf_adds(&buf, "again");
	assert_string_equal(buf.text, "again");
	strbuf_release(&buf);
}

static void test_a_text_is_cut_at_its_ceiling_and_says_so(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 8);
	strbuf_adds(&buf, "12345678");
	assert_false(buf.overflow);
	strbuf_adds(&buf, "");
	assert_false(buf.overflow);
	strbuf_adds(&buf, "9");
	assert_true(buf.overflow);
	assert_string_equal(buf.text, "12345678");
	strbuf_clear(&buf);
	assert_false(buf.overflow);
	strbuf_addf(&buf, "%s", "abcdefghij");
	assert_true(buf.overflow);
	assert_string_equal(buf.text, "abcdefgh");
	strbuf_release(&buf);
}

static void test_nothing_follows_a_cut(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 5);
	strbuf_adds(&buf, "abc");
	strbuf_add_shown(&buf, "\xe2\x82\xac", 100); /* three bytes: they do not fit, and are not split */
	strbuf_adds(&buf, "d");
	assert_true(buf.overflow);
	assert_string_equal(buf.text, "abc");
	strbuf_release(&buf);
}

static void test_text_of_the_fleet_cannot_steer_a_terminal(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "plain text, 100 %", "plain text, 100 %" },
		{ "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
		  "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x1b[31mred", "\\x1b[31mred" },
		{ "two\nlines\r\ttab\b\x7f", "two\\x0alines\\x0d\\x09tab\\x08\\x7f" },
		{ "c1 \xc2\x9b", "c1 \\xc2\\x9b" },
		{ "bidi \xe2\x80\xae", "bidi \\xe2\\x80\\xae" },
		{ "hidden \xe2\x80\x8b", "hidden \\xe2\\x80\\x8b" },
		{ "lone \x80 \xff", "lone \\x80 \\xff" },
		{ "overlong \xc0\xaf \xe0\x80\xaf", "overlong \\xc0\\xaf \\xe0\\x80\\xaf" },
		{ "surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80" },
		{ "too high \xf4\x90\x80\x80", "too high \\xf4\\x90\\x80\\x80" },
		{ "cut \xe2\x82", "cut \\xe2\\x82" },
		{ "cut \xf0", "cut \\xf0" },
		{ "broken \xe2\x82z", "broken \\xe2\\x82z" },
		{ "", "" },
		{ NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf buf;

		strbuf_init(&buf, 200);
		strbuf_add_shown(&buf, cases[i].text, 200);
		assert_string_equal(buf.text, cases[i].shown);
		assert_false(buf.overflow);
		strbuf_release(&buf);
	}
}

static void test_a_long_text_is_shown_in_part(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *shown;
	} cases[] = {
		{ "12345678", 8, "12345678" },
		{ "123456789", 8, "12345..." },
		{ "1234\xe2\x82\xac"
		  "56",
		  8, "1234..." }, /* no half character */
		{ "12345\n", 8, "12345..." },
		{ "123\n", 8, "123\\x0a" },
		{ "12345", 2, ".." },
		{ "12345", 0, "" },
		{ "", 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct strbuf buf;

		strbuf_init(&buf, 200);
		strbuf_adds(&buf, ">");
		strbuf_add_shown(&buf, cases[i].text, cases[i].max);
		assert_string_equal(buf.text + 1, cases[i].shown);
		assert_false(buf.overflow);
		strbuf_release(&buf);
	}
}

static void test_an_error_says_what_the_caller_adds_in_front(void **state)
{
	struct error err = { 0 };
	char big[2 * ERROR_TEXT_MAX];

	(void)state;
	assert_int_equal(error_set_detail(&err, ERROR_STORE, 28, "disk %s is full", "/x"), -1);
	assert_int_equal(error_prefix(&err, "store %d: ", 7), -1);
	assert_string_equal(err.text, "store 7: disk /x is full");
	assert_int_equal(err.code, ERROR_STORE);
	assert_int_equal(err.detail, 28);
	assert_int_equal(error_exit_code(err.code), 74);
	assert_int_equal(error_set(NULL, ERROR_BUG, "nobody listens"), -1);
	assert_int_equal(error_prefix(NULL, "nobody"), -1);

	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	error_set(&err, ERROR_INPUT, "%s", big);
	error_prefix(&err, "%s", big);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	assert_int_equal(err.detail, 0);
}

static void test_a_digest_tells_parts_apart(void **state)
{
	/* printf '\0\0\0\0\0\0\0\003abc' | sha256sum */
	static const char expected[] = "c3494ca1a2cf8eeb8a11ded316fb55b83c3bbbedb6313cd50415251e5d09e12f";
	const struct digest_part abc = { "abc", 3 };
	const struct digest_part ab_c[] = { { "ab", 2 }, { "c", 1 } }, a_bc[] = { { "a", 1 }, { "bc", 2 } };
	uint8_t first[SHA256_SIZE], second[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE + 1];

	(void)state;
	digest_sha256(&abc, 1, first);
	digest_hex(first, sizeof(first), hex);
	assert_string_equal(hex, expected);
	digest_sha256(ab_c, 2, first);
	digest_sha256(a_bc, 2, second);
	assert_memory_not_equal(first, second, SHA256_SIZE);
}

static void test_times_are_written_in_utc(void **state)
{
	/* date -u -d @1732900000 +%FT%TZ */
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },	  { 1732900000007, "2024-11-29T17:06:40.007Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },	  { 253402300799999, "9999-12-31T23:59:59.999Z" },
		{ 253402300800000, "253402300800000ms" }, { INT64_MIN, "-9223372036854775808ms" },
	};
	char text[CLOCK_TEXT_SIZE];
	int64_t before = clock_monotonic_ms();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock_format(cases[i].ms, text);
		assert_string_equal(text, cases[i].text);
	}
	assert_true(clock_monotonic_ms() >= before);
	assert_true(clock_wall_ms() > 1700000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_text_is_a_text),
		cmocka_unit_test(test_a_zeroed_struct_can_be_released),
		cmocka_unit_test(test_texts_are_joined),
		cmocka_unit_test(test_a_text_is_cut_at_its_ceiling_and_says_so),
		cmocka_unit_test(test_nothing_follows_a_cut),
		cmocka_unit_test(test_text_of_the_fleet_cannot_steer_a_terminal),
		cmocka_unit_test(test_a_long_text_is_shown_in_part),
		cmocka_unit_test(test_an_error_says_what_the_caller_adds_in_front),
		cmocka_unit_test(test_a_digest_tells_parts_apart),
		cmocka_unit_test(test_times_are_written_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
