/* Goal: answers become exactly what Vitess said; damaged ones are refused or harmless, never a crash.
 * Method: answers by hand (wire_bytes.h), each cut at every byte and with every byte flipped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "codec.h"
#include "wire_bytes.h"

#define UUID "aaaaaaaa_bbbb_8ccc_8ddd_eeeeeeeeeeee"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static struct arena arena;
static struct bytes bytes, part, inner;
static struct vtctld_reply reply;
static struct error error;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	error = (struct error){0};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	bytes_release(&bytes);
	bytes_release(&part);
	bytes_release(&inner);
	return 0;
}

static void put_alias(struct bytes *into, unsigned field, const char *cell, uint32_t uid)
{
	put_text(&inner, 1, cell);
	put_number(&inner, 2, uid);
	put_part(into, field, &inner);
}

static int decode(enum vtctld_method method)
{
	reply = (struct vtctld_reply){.method = method, .text = ""};
	error = (struct error){0};
	return codec_reply(&arena, &scan_limits_default, bytes.at, bytes.length, &reply, &error);
}

static void assert_decodes(enum vtctld_method method)
{
	if (decode(method) < 0)
		fail_msg("%s", error.text);
}

static void assert_refused(enum vtctld_method method, const char *reason)
{
	assert_true(decode(method) < 0);
	assert_int_equal(error.code, ERROR_PROTOCOL);
	if (!strstr(error.text, reason))
		fail_msg("the reason is \"%s\", not \"%s\"", error.text, reason);
	bytes.length = 0;
}

static void put_time(struct bytes *into, unsigned field, uint64_t seconds)
{
	put_number(&inner, 1, seconds);
	put_part(into, field, &inner);
}

static void put_migration(void)
{
	static const float progress = 62.5F;
	static const struct {
		unsigned field;
		const char *text;
	} texts[] = {
	    {1, UUID},	       {2, "ks"},	  {3, "-80"},	   {4, "vt_ks"},     {5, "t"},
	    {6, "alter t"},    {8, "--postpone"}, {18, "_vt_vrp"}, {23, "ddl-ks-1"}, {24, "alter"},
	    {25, "m\xc3\xa9"}, {44, "{}"},	  {49, "copy"},
	};
	static const struct {
		unsigned field;
		uint64_t number;
	} numbers[] = {
	    {7, 4},	{16, 5},    {19, 3}, {26, (uint64_t)-1},
	    {27, 1000}, {28, 2000}, {33, 1}, {40, 1},
	    {41, 1},	{48, 1},    {50, 6}, {51, 1},
	    {55, 9},	{700, 1},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(&part, texts[i].field, texts[i].text);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_number(&part, numbers[i].field, numbers[i].number);
	put_time(&part, 10, 10);
	put_time(&part, 12, 12);
	put_time(&part, 13, 13);
	put_time(&part, 14, 14);
	put_time(&part, 52, 52);
	put_time(&part, 53, 53);
	put_alias(&part, 20, "zone1", 101);
	put_tag(&part, 22, 5);
	put_raw(&part, &progress, 4);
	put_part(&bytes, 1, &part);
}

static void test_a_migration_is_read_whole(void **state)
{
	const struct migration *row;

	(void)state;
	put_migration();
	put_bytes(&bytes, 1, "", 0); /* and one that says nothing */
	assert_decodes(VTCTLD_GET_SCHEMA_MIGRATIONS);
	assert_int_equal(reply.migrations.count, 2);
	row = &reply.migrations.items[0];
	assert_string_equal(row->uuid, UUID);
	assert_string_equal(row->keyspace, "ks");
	assert_string_equal(row->shard, "-80");
	assert_string_equal(row->table, "t");
	assert_string_equal(row->statement, "alter t");
	assert_string_equal(row->options, "--postpone");
	assert_string_equal(row->context, "ddl-ks-1");
	assert_string_equal(row->ddl_action, "alter");
	assert_string_equal(row->message, "m\xc3\xa9");
	assert_string_equal(row->stage, "copy");
	assert_string_equal(row->artifacts, "_vt_vrp");
	assert_string_equal(row->special_plan, "{}");
	assert_int_equal(row->strategy, 4);
	assert_int_equal(row->status, MIGRATION_RUNNING);
	assert_true(row->postpone_completion && row->postpone_launch && row->ready_to_complete);
	assert_true(row->is_immediate_operation && row->is_view);
	assert_int_equal(row->retries, 3);
	assert_int_equal(row->requested_at_s, 10);
	assert_int_equal(row->started_at_s, 12);
	assert_int_equal(row->liveness_s, 13);
	assert_int_equal(row->completed_at_s, 14);
	assert_int_equal(row->reviewed_at_s, 52);
	assert_int_equal(row->ready_to_complete_at_s, 53);
	assert_true(row->progress > 62.4 && row->progress < 62.6);
	assert_int_equal(row->eta_s, -1);
	assert_int_equal(row->rows_copied, 1000);
	assert_int_equal(row->table_rows, 2000);
	assert_int_equal(row->cutover_attempts, 6);
	assert_string_equal(row->tablet.cell, "zone1");
	assert_int_equal(row->tablet.uid, 101);
}

static void test_what_is_absent_is_empty_or_zero(void **state)
{
	const struct migration *row;

	(void)state;
	put_bytes(&bytes, 1, "", 0);
	assert_decodes(VTCTLD_GET_SCHEMA_MIGRATIONS);
	row = reply.migrations.items;
	assert_string_equal(row->uuid, "");
	assert_string_equal(row->message, "");
	assert_int_equal(row->status, 0);
	assert_int_equal(row->started_at_s, 0);
	assert_string_equal(row->tablet.cell, "");
	bytes.length = 0;
	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++) /* every answer may be empty */
		assert_decodes((enum vtctld_method)i);
}

static void test_an_unknown_status_keeps_its_number(void **state)
{
	(void)state;
	put_number(&part, 16, 42);
	put_part(&bytes, 1, &part);
	assert_decodes(VTCTLD_GET_SCHEMA_MIGRATIONS);
	assert_int_equal(reply.migrations.items[0].status, 42);
}

static void put_shard(const char *key, uint32_t uid, const char *start, const char *end)
{
	struct bytes shard = {0}, record = {0};

	if (uid)
		put_alias(&shard, 1, "zone1", uid);
	put_text(&inner, 1, start);
	put_text(&inner, 2, end);
	put_part(&shard, 2, &inner);
	put_number(&shard, 7, 1);
	put_time(&shard, 8, 777);
	put_text(&record, 1, "ks");
	put_text(&record, 2, key);
	put_part(&record, 3, &shard);
	put_text(&part, 1, key);
	put_part(&part, 2, &record);
	put_part(&bytes, 1, &part);
}

static void test_shards_are_sorted_by_name(void **state)
{
	const struct topo_shard *shards;

	(void)state;
	put_shard("80-", 201, "\x80", "");
	put_shard("-80", 0, "", "\x80");
	assert_decodes(VTCTLD_FIND_ALL_SHARDS);
	shards = reply.shards.items;
	assert_int_equal(reply.shards.count, 2);
	assert_string_equal(shards[0].name, "-80");
	assert_false(shards[0].has_primary);
	assert_int_equal(shards[0].range_start_length, 0);
	assert_int_equal(shards[0].range_end_length, 1);
	assert_memory_equal(shards[0].range_end, "\x80", 1);
	assert_string_equal(shards[1].name, "80-");
	assert_true(shards[1].has_primary && shards[1].is_serving);
	assert_string_equal(shards[1].primary.cell, "zone1");
	assert_int_equal(shards[1].primary.uid, 201);
	assert_int_equal(shards[1].primary_term_start_s, 777);
}

static void test_of_equal_map_keys_the_last_holds(void **state)
{
	(void)state;
	for (uint32_t uid = 1; uid <= 20; uid++)
		put_shard(uid % 2 ? "-80" : "80-", uid, "", "");
	assert_decodes(VTCTLD_FIND_ALL_SHARDS);
	assert_int_equal(reply.shards.count, 2);
	assert_int_equal(reply.shards.items[0].primary.uid, 19);
	assert_int_equal(reply.shards.items[1].primary.uid, 20);
}

static void test_a_shard_without_a_record_has_no_primary(void **state)
{
	(void)state;
	put_text(&part, 1, "0");
	put_part(&bytes, 1, &part);
	assert_decodes(VTCTLD_FIND_ALL_SHARDS);
	assert_string_equal(reply.shards.items[0].name, "0");
	assert_false(reply.shards.items[0].has_primary);
}

static void test_tablets_are_read(void **state)
{
	const struct topo_tablet *tablet;

	(void)state;
	put_alias(&part, 1, "zone1", 101);
	put_text(&part, 2, "host");
	put_text(&part, 5, "ks");
	put_text(&part, 6, "-80");
	put_number(&part, 8, 1);
	put_time(&part, 17, 17);
	put_time(&part, 18, 18);
	put_part(&bytes, 1, &part);
	assert_decodes(VTCTLD_GET_TABLETS);
	assert_int_equal(reply.tablets.count, 1);
	tablet = reply.tablets.items;
	assert_string_equal(tablet->alias.cell, "zone1");
	assert_int_equal(tablet->alias.uid, 101);
	assert_string_equal(tablet->hostname, "host");
	assert_string_equal(tablet->keyspace, "ks");
	assert_string_equal(tablet->shard, "-80");
	assert_int_equal(tablet->type, TABLET_PRIMARY);
	assert_int_equal(tablet->start_s, 17);
	assert_int_equal(tablet->shutdown_s, 18);
}

static void test_a_cell_name_that_does_not_fit_is_refused(void **state)
{
	char cell[CELL_MAX + 2];

	(void)state;
	memset(cell, 'z', sizeof(cell));
	cell[CELL_MAX] = 0;
	put_alias(&part, 1, cell, 1);
	put_part(&bytes, 1, &part);
	assert_decodes(VTCTLD_GET_TABLETS);
	assert_string_equal(reply.tablets.items[0].alias.cell, cell);
	bytes.length = 0;
	cell[CELL_MAX] = 'z';
	cell[CELL_MAX + 1] = 0;
	put_alias(&part, 1, cell, 1);
	put_part(&bytes, 1, &part);
	assert_refused(VTCTLD_GET_TABLETS, "GetTablets: a tablet alias names a cell of 65 bytes");
}

static void test_keyspaces_and_definitions_are_read(void **state)
{
	struct bytes schema = {0};

	(void)state;
	put_text(&part, 1, "a");
	put_part(&bytes, 1, &part);
	put_text(&part, 1, "b");
	put_part(&bytes, 1, &part);
	assert_decodes(VTCTLD_GET_KEYSPACES);
	assert_int_equal(reply.keyspaces.count, 2);
	assert_string_equal(reply.keyspaces.names[0], "a");
	assert_string_equal(reply.keyspaces.names[1], "b");
	bytes.length = 0;
	put_text(&part, 1, "t");
	put_text(&part, 2, "CREATE TABLE `t` ()");
	put_text(&part, 5, "BASE TABLE");
	put_part(&schema, 2, &part);
	put_part(&bytes, 1, &schema);
	assert_decodes(VTCTLD_GET_SCHEMA);
	assert_int_equal(reply.definitions.count, 1);
	assert_string_equal(reply.definitions.items[0].name, "t");
	assert_string_equal(reply.definitions.items[0].schema, "CREATE TABLE `t` ()");
	assert_string_equal(reply.definitions.items[0].type, "BASE TABLE");
}

/* ---- Rows ---- */

/* One answer with the columns a and b and one row. */
static void put_row(const char *lengths, size_t lengths_length, const char *values, size_t values_length)
{
	struct bytes result = {0};

	put_text(&inner, 1, "a");
	put_part(&result, 1, &inner);
	put_text(&inner, 1, "b");
	put_part(&result, 1, &inner);
	put_bytes(&inner, 1, lengths, lengths_length);
	put_bytes(&inner, 2, values, values_length);
	put_part(&result, 4, &inner);
	put_part(&bytes, 1, &result);
}

static void test_cells_are_cut_by_zigzag_lengths(void **state)
{
	(void)state;
	put_row("\x06\x04", 2, "abcde", 5); /* 3, 2 */
	assert_decodes(VTCTLD_EXECUTE_FETCH_AS_DBA);
	assert_int_equal(reply.result.column_count, 2);
	assert_int_equal(reply.result.row_count, 1);
	assert_string_equal(reply.result.columns[0], "a");
	assert_string_equal(reply.result.columns[1], "b");
	assert_string_equal(reply.result.cells[0].text, "abc");
	assert_int_equal(reply.result.cells[0].length, 3);
	assert_string_equal(reply.result.cells[1].text, "de");
	assert_int_equal(reply.result.cells[1].length, 2);
}

static void test_minus_one_is_null_and_zero_is_empty(void **state)
{
	(void)state;
	put_row("\x01\x00", 2, "", 0);
	assert_decodes(VTCTLD_EXECUTE_FETCH_AS_DBA);
	assert_null(reply.result.cells[0].text);
	assert_string_equal(reply.result.cells[1].text, "");
	assert_int_equal(reply.result.cells[1].length, 0);
}

static void test_lengths_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	put_row("\x06\x06", 2, "abcde", 5); /* one too many */
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "lengths do not fit");
	put_row("\x06\x02", 2, "abcde", 5); /* one too few */
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "lengths do not fit");
	put_row("\x0a\x03", 2, "abcde", 5); /* minus two */
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "lengths do not fit");
	put_row("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 11, "abcde", 5); /* the largest number */
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "lengths do not fit");
	put_row("\x0a", 1, "abcde", 5); /* one column for two */
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "a row has 1 columns, 2 are announced");
	put_row("\x06\x04", 2, "a\0cde", 5);
	assert_refused(VTCTLD_EXECUTE_FETCH_AS_DBA, "a NUL inside the text of column 1");
}

/* ---- Effects ---- */

static void put_count(unsigned field, const char *shard, uint64_t rows)
{
	put_text(&part, 1, shard);
	if (rows)
		put_number(&part, 2, rows);
	put_part(&bytes, field, &part);
}

static void assert_counts(void)
{
	assert_int_equal(reply.effect.count, 2);
	assert_string_equal(reply.effect.counts[0].shard, "-80");
	assert_int_equal(reply.effect.counts[0].rows, 0);
	assert_string_equal(reply.effect.counts[1].shard, "80-");
	assert_int_equal(reply.effect.counts[1].rows, 1);
}

static void test_a_shard_with_no_rows_is_still_an_answer_of_that_shard(void **state)
{
	(void)state;
	put_count(1, "80-", 1);
	put_count(1, "-80", 0); /* zero is not on the wire */
	assert_decodes(VTCTLD_COMPLETE);
	assert_counts();
	assert_decodes(VTCTLD_CANCEL);
	assert_counts();
	bytes.length = 0;
	put_text(&bytes, 1, UUID);
	put_count(2, "80-", 1);
	put_count(2, "-80", 0);
	assert_decodes(VTCTLD_APPLY_SCHEMA);
	assert_counts();
	assert_int_equal(reply.effect.uuid_count, 1);
	assert_string_equal(reply.effect.uuids[0], UUID);
}

static void test_the_throttler_speaks(void **state)
{
	static const double value = 1.5, threshold = 5;
	struct bytes check = {0};

	(void)state;
	put_tag(&check, 2, 1);
	put_raw(&check, &value, 8);
	put_tag(&check, 3, 1);
	put_raw(&check, &threshold, 8);
	put_text(&check, 4, "no metric");
	put_number(&check, 10, 2);
	put_part(&bytes, 2, &check);
	assert_decodes(VTCTLD_CHECK_THROTTLER);
	assert_int_equal(reply.throttler.response_code, 2);
	assert_true(reply.throttler.value > 1.4 && reply.throttler.value < 1.6);
	assert_true(reply.throttler.threshold > 4.9 && reply.throttler.threshold < 5.1);
	assert_string_equal(reply.throttler.message, "no metric");
}

/* ---- Damage ---- */

static void put_answer(enum vtctld_method method)
{
	bytes.length = 0;
	if (method == VTCTLD_GET_SCHEMA_MIGRATIONS)
		put_migration();
	if (method == VTCTLD_FIND_ALL_SHARDS)
		put_shard("-80", 1, "", "\x80");
	if (method == VTCTLD_EXECUTE_FETCH_AS_DBA)
		put_row("\x06\x04", 2, "abcde", 5);
	if (method == VTCTLD_APPLY_SCHEMA)
		put_text(&bytes, 1, UUID);
	if (vtctld_method_is_effect(method))
		put_count(method == VTCTLD_APPLY_SCHEMA ? 2 : 1, "-80", 1);
}

/* A copy that ends where its allocation ends: ASan sees each byte read beyond it. */
static void decode_damaged(enum vtctld_method method, size_t length, size_t at, uint8_t flip)
{
	uint8_t *damaged = malloc(length ? length : 1);
	struct vtctld_reply ignored = {.method = method};

	assert_non_null(damaged);
	if (length)
		memcpy(damaged, bytes.at, length);
	if (at < length)
		damaged[at] ^= flip;
	arena_release(&arena);
	if (codec_reply(&arena, &scan_limits_default, damaged, length, &ignored, &error) < 0)
		assert_int_equal(error.code, ERROR_PROTOCOL);
	free(damaged);
}

static void test_no_cut_or_flipped_byte_does_harm(void **state)
{
	(void)state;
	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++) {
		put_answer((enum vtctld_method)i);
		for (size_t length = 0; length <= bytes.length; length++)
			decode_damaged((enum vtctld_method)i, length, SIZE_MAX, 0);
		for (size_t at = 0; at < bytes.length; at++)
			for (unsigned flip = 1; flip < 256; flip++)
				decode_damaged((enum vtctld_method)i, bytes.length, at, (uint8_t)flip);
	}
}

static void test_a_small_arena_refuses_instead_of_crashing(void **state)
{
	(void)state;
	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++) {
		put_answer((enum vtctld_method)i);
		for (size_t limit = 1; limit < 3000; limit += 7) {
			arena_release(&arena);
			arena_init(&arena, limit);
			if (decode((enum vtctld_method)i) < 0)
				assert_int_equal(error.code, ERROR_PROTOCOL);
		}
		arena_release(&arena);
		arena_init(&arena, 0);
		assert_decodes((enum vtctld_method)i);
	}
}

static void test_what_is_unpacked_stays_within_what_the_scan_foretold(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) { /* codec.c gives protobuf-c no more than that */
		put_alias(&part, 1, "zone1", 101);
		put_text(&part, 2, "host");
		put_time(&part, 17, 17);
		put_part(&bytes, 1, &part);
	}
	assert_decodes(VTCTLD_GET_TABLETS);
	assert_int_equal(reply.tablets.count, 300);
	assert_true(arena.used < 300 * 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_a_migration_is_read_whole),
	    TEST(test_what_is_absent_is_empty_or_zero),
	    TEST(test_an_unknown_status_keeps_its_number),
	    TEST(test_shards_are_sorted_by_name),
	    TEST(test_of_equal_map_keys_the_last_holds),
	    TEST(test_a_shard_without_a_record_has_no_primary),
	    TEST(test_tablets_are_read),
	    TEST(test_a_cell_name_that_does_not_fit_is_refused),
	    TEST(test_keyspaces_and_definitions_are_read),
	    TEST(test_cells_are_cut_by_zigzag_lengths),
	    TEST(test_minus_one_is_null_and_zero_is_empty),
	    TEST(test_lengths_that_do_not_fit_are_refused),
	    TEST(test_a_shard_with_no_rows_is_still_an_answer_of_that_shard),
	    TEST(test_the_throttler_speaks),
	    TEST(test_no_cut_or_flipped_byte_does_harm),
	    TEST(test_a_small_arena_refuses_instead_of_crashing),
	    TEST(test_what_is_unpacked_stays_within_what_the_scan_foretold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
