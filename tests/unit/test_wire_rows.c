/* Goal: rows read straight from the wire are what protobuf says they are; what it refuses is refused.
 * Method: cases by hand, then random and damaged answers read both ways (wire_reference.h), by a fixed seed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "wire_bytes.h"
#include "wire_reference.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define FIELD_LAST 55 /* of SchemaMigration */

static struct arena arena;
static struct bytes answer, row, part;
static struct migration *rows;
static size_t count;
static struct error error;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	bytes_release(&answer);
	bytes_release(&row);
	bytes_release(&part);
	return 0;
}

/* From a copy that ends where its allocation ends: ASan sees each byte read beyond it. */
static int decode_within(const struct scan_limits *limits)
{
	uint8_t *exact = malloc(answer.length ? answer.length : 1);
	int r;

	assert_non_null(exact);
	if (answer.length)
		memcpy(exact, answer.at, answer.length);
	error = (struct error){ 0 };
	r = rows_decode(&arena, limits, exact, answer.length, &rows, &count, &error);
	free(exact);
	answer.length = 0;
	return r;
}

static void assert_decodes(void)
{
	if (decode_within(&scan_limits_default) < 0)
		fail_msg("%s", error.text);
}

static void assert_refused(const char *reason)
{
	assert_true(decode_within(&scan_limits_default) < 0);
	assert_int_equal(error.code, ERROR_PROTOCOL);
	if (!strstr(error.text, reason))
		fail_msg("the reason is \"%s\", not \"%s\"", error.text, reason);
}

static void put_hex(struct bytes *into, const char *hex)
{
	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		put_byte(into, (uint8_t)byte);
}

/* One answer with one row of these bytes. */
static void put_row_hex(const char *hex)
{
	put_hex(&row, hex);
	put_part(&answer, 1, &row);
}

/* ---- What protobuf says ---- */

static void test_the_last_of_a_field_holds(void **state)
{
	(void)state;
	put_text(&row, 1, "first");
	put_number(&row, 16, 5);
	put_text(&row, 3, "-80");
	put_number(&row, 16, 6);
	put_text(&row, 1, "");
	put_text(&row, 1, "last");
	put_number(&row, 33, 1);
	put_number(&row, 33, 0);
	put_part(&answer, 1, &row);
	assert_decodes();
	assert_string_equal(rows[0].uuid, "last");
	assert_string_equal(rows[0].shard, "-80");
	assert_int_equal(rows[0].status, 6);
	assert_false(rows[0].postpone_completion);
}

static void test_a_sub_message_that_comes_twice_is_merged(void **state)
{
	(void)state;
	put_text(&part, 1, "zone1");
	put_part(&row, 20, &part);
	put_number(&part, 1, 77);
	put_part(&row, 12, &part);
	put_number(&part, 2, 101);
	put_part(&row, 20, &part); /* adds the uid */
	put_bytes(&row, 12, "", 0); /* says nothing: 77 stays */
	put_part(&answer, 1, &row);
	put_text(&part, 1, "zone-long");
	put_number(&part, 2, 9);
	put_part(&row, 20, &part);
	put_text(&part, 1, "z");
	put_part(&row, 20, &part); /* the cell anew, the uid stays */
	put_number(&part, 1, 5);
	put_part(&row, 12, &part);
	put_number(&part, 1, 0); /* zero that is said is said */
	put_part(&row, 12, &part);
	put_part(&answer, 1, &row);
	assert_decodes();
	assert_string_equal(rows[0].tablet.cell, "zone1");
	assert_int_equal(rows[0].tablet.uid, 101);
	assert_int_equal(rows[0].started_at_s, 77);
	assert_string_equal(rows[1].tablet.cell, "z");
	assert_int_equal(rows[1].tablet.uid, 9);
	assert_int_equal(rows[1].started_at_s, 0);
}

static void test_numbers_are_cut_and_capped_as_in_protobuf(void **state)
{
	(void)state;
	put_number(&row, 16, UINT64_C(0xffffffffffffffff)); /* an enum of minus one */
	put_number(&row, 19, UINT64_C(0xffffffffffffffff)); /* more than int64_t holds */
	put_number(&row, 50, UINT64_C(0x1ffffffff));	    /* 32 bits of it count */
	put_number(&row, 26, UINT64_C(0xffffffffffffffff));
	put_number(&row, 40, UINT64_C(0x8000000000000000)); /* any bit is true */
	put_number(&row, 21, 1);
	put_number(&part, 2, UINT64_C(0x100000065));
	put_part(&row, 20, &part);
	put_part(&answer, 1, &row);
	assert_decodes();
	assert_int_equal(rows[0].status, -1);
	assert_true(rows[0].retries == INT64_MAX);
	assert_true(rows[0].cutover_attempts == INT64_C(0xffffffff));
	assert_int_equal(rows[0].eta_s, -1);
	assert_true(rows[0].is_view && rows[0].tablet_failure);
	assert_int_equal(rows[0].tablet.uid, 101);
}

static void test_absent_fields_are_empty_also_after_a_row_that_has_them(void **state)
{
	(void)state;
	put_text(&row, 1, "u");
	put_text(&row, 25, "message");
	put_number(&row, 16, 5);
	put_part(&answer, 1, &row);
	put_bytes(&answer, 1, "", 0);
	assert_decodes();
	assert_int_equal(count, 2);
	assert_string_equal(rows[1].uuid, "");
	assert_string_equal(rows[1].message, "");
	assert_int_equal(rows[1].status, 0);
}

static void test_no_row_is_an_answer(void **state)
{
	(void)state;
	rows = NULL;
	assert_decodes();
	assert_int_equal(count, 0);
	assert_non_null(rows);
}

/* ---- Refusals ---- */

static void test_a_refusal_names_the_field_and_the_byte(void **state)
{
	(void)state;
	put_row_hex("9801ffffffffffffffffff02"); /* bit 65 */
	assert_refused("at byte 14, in vtctldata.SchemaMigration.retries: a number");
	put_row_hex("0b");
	assert_refused("at byte 2, in vtctldata.SchemaMigration.uuid: a wire type");
	put_row_hex("0001");
	assert_refused("at byte 2, in vtctldata.SchemaMigration: no field number");
	put_row_hex("0a04616263"); /* one byte too few */
	assert_refused("vtctldata.SchemaMigration.uuid: cut off");
	put_row_hex("0affffffff0f"); /* 4 GiB */
	assert_refused("vtctldata.SchemaMigration.uuid: a length");
	put_row_hex("f8ffffff1f00"); /* more than 29 bits of number */
	assert_refused("at byte 2, in vtctldata.SchemaMigration: no field number");
	put_row_hex("0a036100622202c3a9");
	assert_refused("at byte 4, in vtctldata.SchemaMigration.uuid: not UTF-8, or a NUL inside");
	put_row_hex("a20103" "0a0161" "9a0602" "0b0c"); /* a group inside an unknown field is data */
	assert_decodes();
	put_row_hex("a20104" "0a05" "6161");
	assert_refused("topodata.TabletAlias.cell: cut off");
	put_row_hex("62020b0c");
	assert_refused("vttime.Time.seconds: a wire type");
	put_hex(&answer, "08");
	assert_refused("vtctldata.GetSchemaMigrationsResponse.migrations: a wire type");
}

static void test_a_text_that_is_not_kept_is_checked_all_the_same(void **state)
{
	static const unsigned fields[] = { 4, 17, 31, 34, 35, 36, 37, 39, 46, 54 };

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		put_text(&row, fields[i], "\xc3\xa9");
		put_part(&answer, 1, &row);
		assert_decodes();
		put_text(&row, fields[i], "\xc3");
		put_part(&answer, 1, &row);
		assert_refused("not UTF-8");
	}
	put_text(&row, 1, "\xff");
	put_text(&row, 1, "the last one is fine");
	put_part(&answer, 1, &row);
	assert_refused("not UTF-8");
}

static void test_a_cell_that_does_not_fit_is_refused(void **state)
{
	char cell[CELL_MAX + 1];

	(void)state;
	memset(cell, 'z', sizeof(cell));
	for (size_t over = 0; over <= 1; over++) {
		put_bytes(&part, 1, cell, CELL_MAX + over);
		put_part(&row, 20, &part);
		put_part(&answer, 1, &row);
		if (over)
			assert_refused("topodata.TabletAlias.cell: longer");
		else
			assert_decodes();
	}
	assert_int_equal(strlen(rows[0].tablet.cell), CELL_MAX);
}

static void test_limits_hold(void **state)
{
	struct scan_limits limits = scan_limits_default;
	char *long_text = calloc(1, 64 * 1024 + 1);

	(void)state;
	memset(long_text, 'a', 64 * 1024 + 1);
	for (size_t over = 0; over <= 1; over++) {
		put_bytes(&row, 6, long_text, 64 * 1024 + over);
		put_part(&answer, 1, &row);
		if (over)
			assert_refused("migration_statement: longer");
		else
			assert_decodes();
	}
	limits.rows = 3;
	for (size_t many = 3; many <= 4; many++) {
		for (size_t i = 0; i < many; i++)
			put_bytes(&answer, 1, "", 0);
		assert_int_equal(decode_within(&limits), many == 3 ? 0 : -1);
	}
	assert_non_null(strstr(error.text, "has 4 rows, 3 are allowed"));
	limits.total_bytes = 3;
	put_bytes(&answer, 1, "", 0);
	put_bytes(&answer, 1, "", 0);
	assert_true(decode_within(&limits) < 0);
	assert_non_null(strstr(error.text, "has 4 bytes, 3 are allowed"));
	free(long_text);
}

static void test_memory_has_a_limit(void **state)
{
	struct scan_limits limits = scan_limits_default;

	(void)state;
	limits.tree_bytes = 2 * sizeof(struct migration) + 6;
	for (size_t length = 5; length <= 6; length++) {
		put_text(&row, 1, length == 5 ? "12345" : "123456");
		put_part(&answer, 1, &row);
		put_bytes(&answer, 1, "", 0);
		assert_int_equal(decode_within(&limits), length == 5 ? 0 : -1);
	}
	assert_non_null(strstr(error.text, "more memory"));
	for (int i = 0; i < 70000; i++) /* 140 kB on the wire, 20 MB in memory */
		put_bytes(&answer, 1, "", 0);
	assert_refused("has 70000 rows, 65536 are allowed");
}

/* ---- Shared texts ---- */

static void put_migration(const char *uuid, const char *shard, const char *statement)
{
	put_text(&row, 1, uuid);
	put_text(&row, 2, "ks");
	put_text(&row, 3, shard);
	put_text(&row, 6, statement);
	put_part(&answer, 1, &row);
}

static void test_rows_of_one_change_share_their_texts_in_any_order(void **state)
{
	(void)state;
	put_migration("a", "-80", "alter a"); /* by shard */
	put_migration("b", "-80", "alter b");
	put_migration("a", "80-", "alter a");
	put_migration("b", "80-", "alter b");
	put_migration("b", "c0-", "alter c"); /* and by change; this one lies */
	assert_decodes();
	assert_ptr_equal(rows[2].uuid, rows[0].uuid);
	assert_ptr_equal(rows[2].statement, rows[0].statement);
	assert_ptr_equal(rows[3].statement, rows[1].statement);
	assert_ptr_equal(rows[1].keyspace, rows[0].keyspace);
	assert_string_equal(rows[2].shard, "80-");
	assert_string_equal(rows[3].statement, "alter b");
	assert_string_equal(rows[4].statement, "alter c");
	assert_string_equal(rows[4].uuid, "b");
}

static void test_a_text_that_only_begins_the_same_is_another(void **state)
{
	(void)state;
	put_migration("ab", "-80", "alter");
	put_migration("abc", "-80", "alter table");
	put_migration("a", "", "alt");
	assert_decodes();
	assert_string_equal(rows[1].uuid, "abc");
	assert_string_equal(rows[1].statement, "alter table");
	assert_string_equal(rows[2].uuid, "a");
	assert_string_equal(rows[2].shard, "");
	assert_string_equal(rows[2].statement, "alt");
	put_migration("ab", "-80", "alter");
	put_bytes(&row, 1, "ab\0cd", 5); /* the same text up to its NUL */
	put_part(&answer, 1, &row);
	assert_refused("a NUL inside");
}

static void test_a_shared_text_gives_way_to_a_later_one(void **state)
{
	(void)state;
	put_migration("a", "-80", "alter a");
	put_text(&row, 1, "a");
	put_text(&row, 6, "alter z"); /* new, then the shared one after all */
	put_text(&row, 6, "alter a");
	put_text(&row, 2, "ks"); /* shared, then a new one after all */
	put_text(&row, 2, "other");
	put_part(&answer, 1, &row);
	put_text(&row, 1, "a");
	put_text(&row, 1, "a"); /* its own row is not its twin */
	put_part(&answer, 1, &row);
	assert_decodes();
	assert_string_equal(rows[1].statement, "alter a");
	assert_string_equal(rows[1].keyspace, "other");
	assert_string_equal(rows[2].uuid, "a");
	assert_string_equal(rows[2].keyspace, "");
}

static void test_what_many_rows_keep_is_small(void **state)
{
	char uuid[40], shard[16];
	char *statement = calloc(1, 4001);

	(void)state;
	memset(statement, 's', 4000);
	for (unsigned s = 0; s < 64; s++)
		for (unsigned change = 0; change < 50; change++) {
			snprintf(uuid, sizeof(uuid), "aaaaaaaa_bbbb_8ccc_8ddd_%012x", change);
			snprintf(shard, sizeof(shard), "%02x-%02x", s * 4, s * 4 + 4);
			put_migration(uuid, shard, statement);
		}
	assert_decodes();
	assert_int_equal(count, 64 * 50);
	/* The 50 statements once, and of each row what is its own. */
	assert_true(arena.used < 50 * 4100 + 64 * 50 * (sizeof(struct migration) + 32));
	free(statement);
}

/* ---- Both ways ---- */

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static size_t random_below(size_t limit)
{
	return random_next() % limit;
}

static uint64_t random_number(void)
{
	static const uint64_t edges[] = { 0, 1, 5, 127, 128, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX };

	return random_below(2) ? edges[random_below(sizeof(edges) / sizeof(edges[0]))] : random_next();
}

static void put_random_text(struct bytes *into, unsigned field)
{
	static const char *const texts[] = { "", "a", "b", "ab", "-80", "80-", "alter table t add c int", "\xc3\xa9",
					     "a text of more than sixteen bytes", "12345678", "1234567\xc3\xa9",
					     "\xf0\x9f\x98\x80" };
	static const char *const bad[] = { "\xff", "12345678\x80", "\xc3", "\xed\xa0\x80" };

	if (random_below(200) == 0)
		put_text(into, field, bad[random_below(sizeof(bad) / sizeof(bad[0]))]);
	else if (random_below(200) == 0)
		put_bytes(into, field, "a\0b", 3);
	else
		put_text(into, field, texts[random_below(sizeof(texts) / sizeof(texts[0]))]);
}

static void put_random_part(struct bytes *into, unsigned field)
{
	struct bytes inner = { 0 };

	for (size_t left = random_below(4); left; left--) {
		unsigned number = 1 + (unsigned)random_below(3);

		if (field == 20 && number == 1)
			put_random_text(&inner, number);
		else
			put_number(&inner, number, random_number());
	}
	put_part(into, field, &inner);
}

/* Mostly as the field wants it, else anything: so that neither side is always refused. */
static void put_random_field(struct bytes *into)
{
	static const char kinds[] = "?TTTTTTnTpppppppnTTnpnfTTTnnnnnTpnTTTTnTnnnfTpTpnTnnppTn";
	unsigned field = 1 + (unsigned)random_below(random_below(20) ? FIELD_LAST : 70);
	char kind = field <= FIELD_LAST ? kinds[field] : "Tpnfd"[random_below(5)];

	if (random_below(300) == 0)
		kind = "Tpnfd"[random_below(5)];
	switch (kind) {
	case 'T':
		put_random_text(into, field);
		break;
	case 'p':
		put_random_part(into, field);
		break;
	case 'n':
		put_number(into, field, random_number());
		break;
	default:
		put_tag(into, field, kind == 'f' ? 5 : 1);
		for (int i = 0; i < (kind == 'f' ? 4 : 8); i++)
			put_byte(into, (uint8_t)random_next());
	}
}

static void put_random_answer(void)
{
	answer.length = 0;
	for (size_t left = random_below(6); left; left--) {
		for (size_t fields = random_below(30); fields; fields--)
			put_random_field(&row);
		put_part(&answer, 1, &row);
		if (random_below(50) == 0)
			put_number(&answer, 2 + (unsigned)random_below(5), random_number());
	}
}

static void damage(void)
{
	size_t at = answer.length ? random_below(answer.length) : 0;

	if (!answer.length)
		return;
	switch (random_below(4)) {
	case 0:
		answer.at[at] ^= (uint8_t)(1U << random_below(8));
		break;
	case 1:
		answer.at[at] = (uint8_t)random_next();
		break;
	case 2:
		answer.length = at;
		break;
	default: /* a byte too few in the middle */
		memmove(answer.at + at, answer.at + at + 1, answer.length - at - 1);
		answer.length--;
	}
}

static void check(struct reference_tally *tally, size_t round)
{
	uint8_t *exact = malloc(answer.length ? answer.length : 1);
	const char *what;

	assert_non_null(exact);
	if (answer.length)
		memcpy(exact, answer.at, answer.length);
	what = reference_check(exact, answer.length, tally);
	free(exact);
	if (!what)
		return;
	print_error("round %zu:", round);
	for (size_t i = 0; i < answer.length; i++)
		print_error(" %02x", answer.at[i]);
	fail_msg(": %s", what);
}

static void test_random_answers_are_read_alike(void **state)
{
	struct reference_tally whole = { 0 }, damaged = { 0 };

	(void)state;
	random_state = UINT64_C(0x5eed0f0b5e55ed01);
	for (size_t round = 0; round < 20000; round++) {
		put_random_answer();
		check(&whole, round);
		for (size_t times = 1 + random_below(3); times; times--)
			damage();
		check(&damaged, round);
	}
	/* Both kinds of both: else nothing was compared. */
	assert_true(whole.accepted > 5000 && whole.refused > 500);
	assert_true(damaged.accepted > 1000 && damaged.refused > 1000);
}

static void test_each_field_with_each_wire_type_is_read_alike(void **state)
{
	static const char *const contents[8] = { "01", "0102030405060708", "020801", "", "", "01020304", "", "" };
	struct reference_tally tally = { 0 };

	(void)state;
	for (unsigned field = 0; field <= FIELD_LAST + 10; field++)
		for (unsigned wire_type = 0; wire_type < 8; wire_type++) {
			put_tag(&row, field, wire_type);
			put_hex(&row, contents[wire_type]);
			put_part(&answer, 1, &row);
			check(&tally, field * 8 + wire_type);
			answer.length = 0;
		}
	assert_true(tally.accepted > FIELD_LAST && tally.refused > 4 * FIELD_LAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_last_of_a_field_holds),
		TEST(test_a_sub_message_that_comes_twice_is_merged),
		TEST(test_numbers_are_cut_and_capped_as_in_protobuf),
		TEST(test_absent_fields_are_empty_also_after_a_row_that_has_them),
		TEST(test_no_row_is_an_answer),
		TEST(test_a_refusal_names_the_field_and_the_byte),
		TEST(test_a_text_that_is_not_kept_is_checked_all_the_same),
		TEST(test_a_cell_that_does_not_fit_is_refused),
		TEST(test_limits_hold),
		TEST(test_memory_has_a_limit),
		TEST(test_rows_of_one_change_share_their_texts_in_any_order),
		TEST(test_a_text_that_only_begins_the_same_is_another),
		TEST(test_a_shared_text_gives_way_to_a_later_one),
		TEST(test_what_many_rows_keep_is_small),
		TEST(test_random_answers_are_read_alike),
		TEST(test_each_field_with_each_wire_type_is_read_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
