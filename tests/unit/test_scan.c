/* Goal: nothing that protobuf-c would choke on, blow up or misread gets past the scan.
 * Method: wire bytes by hand, one fault each, beside the nearest bytes that are fine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "scan.h"
#include "vtctldata.pb-c.h"
#include "wire_bytes.h"

#define TEST(name) cmocka_unit_test_teardown(name, teardown)
#define MIGRATIONS (&vtctldata__get_schema_migrations_response__descriptor)
#define MIGRATION (&vtctldata__schema_migration__descriptor)
#define RESULT (&vtctldata__execute_fetch_as_dbaresponse__descriptor)
#define ROW (&query__row__descriptor)
#define SCHEMA (&vtctldata__get_schema_response__descriptor)

static struct bytes bytes, part, inner;
static struct error error;

static int teardown(void **state)
{
	(void)state;
	bytes_release(&bytes);
	bytes_release(&part);
	bytes_release(&inner);
	error = (struct error){0};
	return 0;
}

/* Scans a copy that ends where the allocation ends, so that ASan sees each byte read beyond it. */
static int scan_within(const ProtobufCMessageDescriptor *type, const struct scan_limits *limits)
{
	uint8_t *exact = malloc(bytes.length ? bytes.length : 1);
	size_t tree_bytes = 0;
	int r;

	assert_non_null(exact);
	if (bytes.length)
		memcpy(exact, bytes.at, bytes.length);
	error = (struct error){0};
	r = scan_message(type, exact, bytes.length, limits, &tree_bytes, &error);
	free(exact);
	return r;
}

static int scan(const ProtobufCMessageDescriptor *type)
{
	return scan_within(type, &scan_limits_default);
}

static void assert_refused(const ProtobufCMessageDescriptor *type, const char *reason)
{
	assert_true(scan(type) < 0);
	assert_int_equal(error.code, ERROR_PROTOCOL);
	if (!strstr(error.text, reason))
		fail_msg("the reason is \"%s\", not \"%s\"", error.text, reason);
	bytes.length = 0;
}

static void assert_passes(const ProtobufCMessageDescriptor *type)
{
	if (scan(type) < 0)
		fail_msg("%s", error.text);
	bytes.length = 0;
}

static void put_hex(const char *hex)
{
	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		put_byte(&bytes, (uint8_t)byte);
}

static void test_an_empty_message_passes(void **state)
{
	(void)state;
	assert_passes(MIGRATIONS);
}

static void test_unknown_fields_and_enum_values_pass(void **state)
{
	(void)state;
	put_number(&bytes, 16, 99); /* a status of a later Vitess */
	put_number(&bytes, 900, 1);
	put_bytes(&bytes, 901, "\0\xff", 2); /* bytes of a type we do not know */
	put_tag(&bytes, 902, 1);
	put_raw(&bytes, "12345678", 8);
	put_tag(&bytes, 903, 5);
	put_raw(&bytes, "1234", 4);
	assert_passes(MIGRATION);
}

static void test_malformed_numbers_are_refused(void **state)
{
	(void)state;
	put_hex("9801ffffffffffffffffff01"); /* field 19, all 64 bits */
	assert_passes(MIGRATION);
	put_hex("9801ffffffffffffffffff02"); /* bit 65 */
	assert_refused(MIGRATION, "SchemaMigration.retries: a number");
	put_hex("9801ffffffffffffffffff8001"); /* 11 bytes */
	assert_refused(MIGRATION, "SchemaMigration.retries: a number");
	put_hex("9801ffff"); /* does not end */
	assert_refused(MIGRATION, "SchemaMigration.retries: a number");
}

static void test_malformed_tags_are_refused(void **state)
{
	(void)state;
	put_hex("0001"); /* field number 0 */
	assert_refused(MIGRATION, "at byte 0, in vtctldata.SchemaMigration: no field number");
	put_hex("0b0c"); /* a group */
	assert_refused(MIGRATION, "a wire type");
	put_hex("a338a438"); /* an unknown group */
	assert_refused(MIGRATION, "a wire type");
	put_hex("0e"); /* wire type 6 */
	assert_refused(MIGRATION, "a wire type");
	put_hex("0f"); /* wire type 7 */
	assert_refused(MIGRATION, "a wire type");
	put_hex("ffffffffffff01"); /* 7 bytes */
	assert_refused(MIGRATION, "no field number");
	put_hex("f8ffffff1f00"); /* more than 29 bits of number */
	assert_refused(MIGRATION, "no field number");
	put_hex("f8ffffff0f00"); /* the largest number */
	assert_passes(MIGRATION);
	put_hex("80"); /* does not end */
	assert_refused(MIGRATION, "no field number");
}

static void test_a_wire_type_that_does_not_match_is_refused(void **state)
{
	(void)state;
	put_number(&bytes, 1, 5); /* uuid as a number */
	assert_refused(MIGRATION, "SchemaMigration.uuid: a wire type");
	put_text(&bytes, 19, "5"); /* retries as a text: only repeated fields are packed */
	assert_refused(MIGRATION, "SchemaMigration.retries: a wire type");
	put_tag(&bytes, 22, 1); /* progress as a double */
	put_raw(&bytes, "12345678", 8);
	assert_refused(MIGRATION, "SchemaMigration.progress: a wire type");
	put_number(&bytes, 20, 1); /* tablet as a number */
	assert_refused(MIGRATION, "SchemaMigration.tablet: a wire type");
}

static void test_lengths_outside_the_message_are_refused(void **state)
{
	(void)state;
	put_hex("0a05616263"); /* 5 announced, 3 there */
	assert_refused(MIGRATION, "SchemaMigration.uuid: cut off");
	put_hex("0affffffff0f"); /* 4 GiB */
	assert_refused(MIGRATION, "SchemaMigration.uuid: a length");
	put_hex("0affffffffffffffffff01"); /* minus one */
	assert_refused(MIGRATION, "SchemaMigration.uuid: a length");
	put_hex("0a"); /* no length */
	assert_refused(MIGRATION, "SchemaMigration.uuid: a length");
	put_hex("b501313233"); /* progress, 3 of 4 bytes */
	assert_refused(MIGRATION, "SchemaMigration.progress: cut off");
	put_text(&part, 1, "zone1");
	put_bytes(&bytes, 20, part.at, part.length);
	bytes.at[bytes.length - 6]++; /* the cell is longer than its alias */
	assert_refused(MIGRATION, "TabletAlias.cell: cut off");
}

static void test_texts_are_utf8_without_nul(void **state)
{
	static const char *const good[] = {"",
					   "-80",
					   "\x7f",
					   "\xc2\x80",
					   "\xdf\xbf",
					   "\xe0\xa0\x80",
					   "\xed\x9f\xbf",
					   "\xee\x80\x80",
					   "\xef\xbf\xbf",
					   "\xf0\x90\x80\x80",
					   "\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\x80",
					  "\xc0\x80",
					  "\xc1\xbf",
					  "\xc2",
					  "\xc2\x41",
					  "\xe0\x9f\xbf",
					  "\xed\xa0\x80",
					  "\xe1\x80",
					  "\xe1\x80\xc0",
					  "\xf0\x8f\xbf\xbf",
					  "\xf4\x90\x80\x80",
					  "\xf5\x80\x80\x80",
					  "\xff",
					  "a\xfe",
					  "\xf1\x80\x80"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		put_text(&bytes, 3, good[i]);
		assert_passes(MIGRATION);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_text(&bytes, 3, bad[i]);
		assert_refused(MIGRATION, "SchemaMigration.shard: not UTF-8");
	}
	put_bytes(&bytes, 3, "80-\0x", 5);
	assert_refused(MIGRATION,
		       "at byte 2, in vtctldata.SchemaMigration.shard: not UTF-8, or a NUL inside");
}

/* Texts are looked at in pieces: a byte must not be seen less for where it stands. */
static void test_each_place_of_a_long_text_is_looked_at(void **state)
{
	static const char plain[] = "alter table t add column c";

	(void)state;
	for (size_t length = 1; length < sizeof(plain); length++)
		for (size_t at = 0; at < length; at++) {
			char *text = malloc(length);

			assert_non_null(text);
			for (unsigned byte = 0; byte < 256; byte++) { /* none of the upper half may stand alone */
				memcpy(text, plain, length);
				text[at] = (char)byte;
				assert_int_equal(scan_text_is_clean((const uint8_t *)text, length),
						 byte > 0 && byte < 128);
			}
			memcpy(text, plain, length);
			if (at + 1 < length) {
				memcpy(text + at, "\xc3\xa9", 2);
				assert_true(scan_text_is_clean((const uint8_t *)text, length));
			}
			free(text);
		}
}

static void test_a_byte_field_may_hold_any_byte(void **state)
{
	(void)state;
	put_bytes(&bytes, 2, "\0\xff\x80", 3);
	assert_passes(ROW);
}

static void test_a_text_has_a_limit_of_64_kib(void **state)
{
	char *text = calloc(1, 64 * 1024 + 1);

	(void)state;
	memset(text, 'a', 64 * 1024 + 1);
	put_bytes(&bytes, 6, text, 64 * 1024);
	assert_passes(MIGRATION);
	put_bytes(&bytes, 6, text, 64 * 1024 + 1);
	assert_refused(MIGRATION, "SchemaMigration.migration_statement: longer");
	free(text);
}

static void test_create_statements_and_rows_have_a_limit_of_1_mib(void **state)
{
	char *text = calloc(1, 1024 * 1024 + 1);

	(void)state;
	memset(text, 'a', 1024 * 1024 + 1);
	for (size_t over = 0; over <= 1; over++) {
		put_bytes(&inner, 2, text, 1024 * 1024 + over);
		put_part(&part, 2, &inner);
		put_part(&bytes, 1, &part);
		if (over)
			assert_refused(SCHEMA, "TableDefinition.schema: longer");
		else
			assert_passes(SCHEMA);
		put_bytes(&bytes, 2, text, 1024 * 1024 + over);
		if (over)
			assert_refused(ROW, "Row.values: longer");
		else
			assert_passes(ROW);
	}
	put_bytes(&inner, 1, text, 64 * 1024 + 1); /* the name is no long field */
	put_part(&part, 2, &inner);
	put_part(&bytes, 1, &part);
	assert_refused(SCHEMA, "TableDefinition.name: longer");
	free(text);
}

static void test_the_whole_has_a_limit(void **state)
{
	struct scan_limits limits = scan_limits_default;

	(void)state;
	put_text(&bytes, 1, "12345678");
	limits.total_bytes = bytes.length;
	assert_int_equal(scan_within(MIGRATION, &limits), 0);
	limits.total_bytes--;
	assert_true(scan_within(MIGRATION, &limits) < 0);
	assert_non_null(strstr(error.text, "has 10 bytes, 9 are allowed"));
}

static void test_sub_messages_have_a_limit(void **state)
{
	struct scan_limits limits = scan_limits_default;

	(void)state;
	limits.messages = 3;
	for (int i = 0; i < 3; i++)
		put_bytes(&bytes, 1, "", 0);
	assert_int_equal(scan_within(MIGRATIONS, &limits), 0);
	put_bytes(&bytes, 1, "", 0);
	assert_true(scan_within(MIGRATIONS, &limits) < 0);
	assert_non_null(strstr(error.text, "too many parts"));
}

static void test_nesting_has_a_limit(void **state)
{
	struct scan_limits limits = scan_limits_default;

	(void)state;
	put_text(&inner, 1, "zone1"); /* answer > migration > alias */
	put_part(&part, 20, &inner);
	put_part(&bytes, 1, &part);
	limits.depth = 3;
	assert_int_equal(scan_within(MIGRATIONS, &limits), 0);
	limits.depth = 2;
	assert_true(scan_within(MIGRATIONS, &limits) < 0);
	assert_non_null(strstr(error.text, "SchemaMigration.tablet: nested too deeply"));
}

static void test_empty_rows_that_would_fill_the_memory_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 200000; i++) /* 400 kB on the wire, some 100 MB in memory */
		put_bytes(&bytes, 1, "", 0);
	assert_refused(MIGRATIONS, "would take more memory");
}

static void test_packed_numbers_that_would_fill_the_memory_are_refused(void **state)
{
	uint8_t *ones = calloc(1, 3 * 1024 * 1024);

	(void)state;
	put_bytes(&bytes, 1, ones, 3 * 1024 * 1024); /* 3 million lengths of 0 */
	assert_refused(ROW, "would take more memory");
	free(ones);
}

static void test_unknown_fields_that_would_fill_the_memory_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 600000; i++)
		put_number(&bytes, 15, 1); /* GetSchemaMigrationsResponse has only field 1 */
	assert_refused(MIGRATIONS, "would take more memory");
}

static void test_a_sub_message_that_comes_twice_is_refused(void **state)
{
	(void)state;
	put_text(&bytes, 1, "a");
	put_text(&bytes, 1, "b"); /* the last text holds */
	assert_passes(MIGRATION);
	put_bytes(&bytes, 20, "", 0);
	put_bytes(&bytes, 20, "", 0);
	assert_refused(MIGRATION, "SchemaMigration.tablet: there twice");
}

static void test_repeated_numbers_may_be_packed_or_not(void **state)
{
	(void)state;
	put_number(&bytes, 1, 4);
	put_bytes(&bytes, 1, "\x04\x01\xff\x01", 4);
	assert_passes(ROW);
	put_bytes(&bytes, 1, "\x04\xff", 2);
	assert_refused(ROW, "Row.lengths: a number");
}

/* The bound that the scan gives is the limit of the unpacking allocator in codec.c. */
static void test_the_bound_grows_with_each_part(void **state)
{
	size_t before = 0, after = 0;

	(void)state;
	for (int i = 0; i < 50; i++) {
		put_text(&part, 1, "uuid");
		put_part(&bytes, 1, &part);
		assert_int_equal(
		    scan_message(MIGRATIONS, bytes.at, bytes.length, &scan_limits_default, &after, &error),
		    0);
		assert_true(after >= before + sizeof(Vtctldata__SchemaMigration) + sizeof(void *) + 5);
		before = after;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_an_empty_message_passes),
	    TEST(test_unknown_fields_and_enum_values_pass),
	    TEST(test_malformed_numbers_are_refused),
	    TEST(test_malformed_tags_are_refused),
	    TEST(test_a_wire_type_that_does_not_match_is_refused),
	    TEST(test_lengths_outside_the_message_are_refused),
	    TEST(test_texts_are_utf8_without_nul),
	    TEST(test_each_place_of_a_long_text_is_looked_at),
	    TEST(test_a_byte_field_may_hold_any_byte),
	    TEST(test_a_text_has_a_limit_of_64_kib),
	    TEST(test_create_statements_and_rows_have_a_limit_of_1_mib),
	    TEST(test_the_whole_has_a_limit),
	    TEST(test_sub_messages_have_a_limit),
	    TEST(test_nesting_has_a_limit),
	    TEST(test_empty_rows_that_would_fill_the_memory_are_refused),
	    TEST(test_packed_numbers_that_would_fill_the_memory_are_refused),
	    TEST(test_unknown_fields_that_would_fill_the_memory_are_refused),
	    TEST(test_a_sub_message_that_comes_twice_is_refused),
	    TEST(test_repeated_numbers_may_be_packed_or_not),
	    TEST(test_the_bound_grows_with_each_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
