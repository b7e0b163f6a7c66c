/* Goal: a row read directly from a primary is what the shard said, or an error; never a guess.
 * Method: one good answer whose single cells, columns and rows are replaced one at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "vtddl/error.h"
#include "vtddl/vtctld.h"

#define UUID "c98ec72c_20fc_8fe5_8f02_36e3929d3fc6"
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define ROWS 3

/* In another order than the SELECT's: columns are found by name. */
static const char *const good[][2] = {
	{ "id", "17" }, /* a column that nobody asked for */
	{ "tablet", "zone-1-0000000101" },
	{ "cutover_attempts", "2" },
	{ "table_rows", "1025" },
	{ "rows_copied", "500" },
	{ "eta_seconds", "90" },
	{ "progress", "48.75" },
	{ "ready_to_complete_timestamp", "1764435009" },
	{ "reviewed_timestamp", "1764435002" },
	{ "completed_timestamp", "1764435010.123456" },
	{ "liveness_timestamp", "1764435008" },
	{ "started_timestamp", "1764435003" },
	{ "requested_timestamp", "1764435001" },
	{ "retries", "4" },
	{ "is_view", "0" },
	{ "tablet_failure", "0" },
	{ "is_immediate_operation", "0" },
	{ "ready_to_complete", "1" },
	{ "postpone_launch", "0" },
	{ "postpone_completion", "1" },
	{ "migration_status", "running" },
	{ "strategy", "vitess" },
	{ "special_plan", "{}" },
	{ "artifacts", "_vt_vrp_c98ec72c20fc8fe58f0236e3929d3fc6_20261129120000_," },
	{ "stage", "copying" },
	{ "message", "it's \"fine\"" },
	{ "ddl_action", "alter" },
	{ "migration_context", "ddl-commerce-b4bce216549de546-g1" },
	{ "options", "--postpone-completion" },
	{ "migration_statement", "alter table orders add column c int" },
	{ "mysql_table", "orders" },
	{ "shard", "-80" },
	{ "keyspace", "commerce" },
	{ "migration_uuid", UUID },
};
#define COLUMNS LENGTH(good)

static struct arena arena;
static const char *names[COLUMNS];
static struct query_cell cells[ROWS * COLUMNS];
static struct query_result result;
static struct migration *rows;
static size_t row_count;
static struct error error;

static int reset(void **state)
{
	(void)state;
	arena_release(&arena);
	arena_init(&arena, 0);
	memset(&error, 0, sizeof(error));
	rows = NULL;
	row_count = 99;
	for (size_t i = 0; i < COLUMNS; i++) {
		names[i] = good[i][0];
		for (size_t row = 0; row < ROWS; row++)
			cells[row * COLUMNS + i] = (struct query_cell){ good[i][1], strlen(good[i][1]) };
	}
	result = (struct query_result){
		.column_count = COLUMNS, .row_count = 1, .columns = names, .cells = cells
	};
	return 0;
}

static struct query_cell *cell(size_t row, const char *name)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strcmp(good[i][0], name) == 0)
			return &cells[row * COLUMNS + i];
	}
	fail_msg("no column %s", name);
	return NULL;
}

static void put(size_t row, const char *name, const char *text)
{
	*cell(row, name) = (struct query_cell){ text, text ? strlen(text) : 0 };
}

static int read_rows(void)
{
	return migration_from_result(&arena, &result, "-80", &rows, &row_count, &error);
}

static void assert_refused(const char *word)
{
	assert_true(read_rows() < 0);
	assert_int_equal(error.code, ERROR_PROTOCOL);
	if (!strstr(error.text, word))
		fail_msg("\"%s\" lacks \"%s\"", error.text, word);
	assert_non_null(strstr(error.text, "shard -80"));
	assert_null(rows);
	assert_int_equal(row_count, 99);
}

static void test_every_column_lands_in_its_member(void **state)
{
	const struct migration *row;

	(void)state;
	assert_int_equal(read_rows(), 0);
	assert_int_equal(row_count, 1);
	row = rows;
	assert_string_equal(row->uuid, UUID);
	assert_string_equal(row->keyspace, "commerce");
	assert_string_equal(row->shard, "-80");
	assert_string_equal(row->table, "orders");
	assert_string_equal(row->statement, "alter table orders add column c int");
	assert_string_equal(row->options, "--postpone-completion");
	assert_string_equal(row->context, "ddl-commerce-b4bce216549de546-g1");
	assert_string_equal(row->ddl_action, "alter");
	assert_string_equal(row->message, "it's \"fine\"");
	assert_string_equal(row->stage, "copying");
	assert_string_equal(row->artifacts, "_vt_vrp_c98ec72c20fc8fe58f0236e3929d3fc6_20261129120000_,");
	assert_string_equal(row->special_plan, "{}");
	assert_int_equal(row->strategy, 0);
	assert_int_equal(row->status, MIGRATION_RUNNING);
	assert_true(row->postpone_completion);
	assert_false(row->postpone_launch);
	assert_true(row->ready_to_complete);
	assert_false(row->is_immediate_operation);
	assert_false(row->is_view);
	assert_int_equal(row->retries, 4);
	assert_int_equal(row->requested_at_s, 1764435001);
	assert_int_equal(row->started_at_s, 1764435003);
	assert_int_equal(row->liveness_s, 1764435008);
	assert_int_equal(row->completed_at_s, 1764435010);
	assert_int_equal(row->reviewed_at_s, 1764435002);
	assert_int_equal(row->ready_to_complete_at_s, 1764435009);
	assert_true(row->progress > 48.74 && row->progress < 48.76);
	assert_int_equal(row->eta_s, 90);
	assert_int_equal(row->rows_copied, 500);
	assert_int_equal(row->table_rows, 1025);
	assert_int_equal(row->cutover_attempts, 2);
	assert_string_equal(row->tablet.cell, "zone-1");
	assert_int_equal(row->tablet.uid, 101);
}

/* As a server answers: in the order in which they were asked for. */
static void test_columns_in_the_order_of_the_select_are_the_same(void **state)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		const size_t from = COLUMNS - 1 - i;

		names[i] = good[from][0];
		cells[i] = (struct query_cell){ good[from][1], strlen(good[from][1]) };
	}
	test_every_column_lands_in_its_member(state);
}

static void test_each_flag_comes_from_its_own_column(void **state)
{
	static const char *const flags[] = { "postpone_completion", "postpone_launch", "ready_to_complete",
					     "is_immediate_operation", "is_view", "tablet_failure" };

	(void)state;
	for (size_t i = 0; i < LENGTH(flags); i++) {
		reset(NULL);
		for (size_t j = 0; j < LENGTH(flags); j++)
			put(0, flags[j], i == j ? "1" : "0");
		assert_int_equal(read_rows(), 0);
		assert_int_equal(rows->postpone_completion, i == 0);
		assert_int_equal(rows->postpone_launch, i == 1);
		assert_int_equal(rows->ready_to_complete, i == 2);
		assert_int_equal(rows->is_immediate_operation, i == 3);
		assert_int_equal(rows->is_view, i == 4);
		assert_int_equal(rows->tablet_failure, i == 5);
	}
}

static void test_a_null_is_absent(void **state)
{
	(void)state;
	for (size_t i = 0; i < COLUMNS; i++) {
		if (strcmp(good[i][0], "shard") != 0)
			put(0, good[i][0], NULL);
	}
	assert_int_equal(read_rows(), 0);
	assert_int_equal(row_count, 1);
	assert_string_equal(rows->uuid, "");
	assert_string_equal(rows->message, "");
	assert_int_equal(rows->eta_s, -1);
	assert_int_equal(rows->strategy, -1);
	assert_int_equal(rows->status, MIGRATION_UNKNOWN);
	assert_int_equal(rows->started_at_s, 0);
	assert_false(rows->ready_to_complete);
	assert_string_equal(rows->tablet.cell, "");
}

static void test_a_row_without_a_shard_is_dropped(void **state)
{
	(void)state;
	put(0, "shard", NULL);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(row_count, 0);
}

static void test_rows_of_another_shard_are_dropped(void **state)
{
	(void)state;
	result.row_count = 3;
	put(0, "shard", "80-");
	put(1, "message", "mine");
	put(2, "shard", "-8");
	assert_int_equal(read_rows(), 0);
	assert_int_equal(row_count, 1);
	assert_string_equal(rows[0].message, "mine");
}

static void test_an_answer_with_columns_and_no_row_is_no_row(void **state)
{
	(void)state;
	result.row_count = 0;
	assert_int_equal(read_rows(), 0);
	assert_int_equal(row_count, 0);
}

static void test_an_answer_without_columns_proves_no_absence(void **state)
{
	(void)state;
	result = (struct query_result){ 0 };
	assert_refused("migration_uuid");
}

static void test_every_missing_column_is_an_error_that_names_it(void **state)
{
	(void)state;
	for (size_t i = 1; i < COLUMNS; i++) {
		reset(NULL);
		names[i] = "something";
		assert_refused(good[i][0]);
	}
}

static void test_what_is_no_number_is_an_error_that_names_the_column(void **state)
{
	static const char *const numeric[] = {
		"cutover_attempts",
		"table_rows",
		"rows_copied",
		"eta_seconds",
		"progress",
		"retries",
		"is_view",
		"ready_to_complete_timestamp",
		"reviewed_timestamp",
		"completed_timestamp",
		"liveness_timestamp",
		"started_timestamp",
		"requested_timestamp",
		"is_immediate_operation",
		"tablet_failure",
		"ready_to_complete",
		"postpone_launch",
		"postpone_completion",
	};
	static const char *const bad[] = { "",	  " ",	 "x",	"1x", " 1", "1 ", "+1",
					   "0x1", "nan", "inf", "-",  "1e", ".5", "2026-11-29 12:00:00" };

	(void)state;
	for (size_t i = 0; i < LENGTH(numeric); i++) {
		for (size_t j = 0; j < LENGTH(bad); j++) {
			reset(NULL);
			put(0, numeric[i], bad[j]);
			assert_refused(numeric[i]);
		}
	}
}

static void test_an_integer_has_no_fraction_and_progress_is_finite(void **state)
{
	(void)state;
	put(0, "retries", "1.5");
	assert_refused("retries");
	reset(NULL);
	put(0, "rows_copied", "1e3");
	assert_refused("rows_copied");
	reset(NULL);
	put(0, "progress", "1e999");
	assert_refused("progress");
	reset(NULL);
	put(0, "liveness_timestamp", "1764435000e3");
	assert_refused("liveness_timestamp");
}

static void test_a_small_progress_may_have_an_exponent(void **state)
{
	(void)state;
	put(0, "progress", "5e-1");
	assert_int_equal(read_rows(), 0);
	assert_true(rows->progress > 0.4 && rows->progress < 0.6);
	reset(NULL);
	put(0, "progress", "2E+1");
	assert_int_equal(read_rows(), 0);
	assert_true(rows->progress > 19.9 && rows->progress < 20.1);
}

static void test_a_number_that_is_too_large_becomes_the_largest(void **state)
{
	(void)state;
	put(0, "rows_copied", "18446744073709551615");
	put(0, "table_rows", "-99999999999999999999");
	assert_int_equal(read_rows(), 0);
	assert_int_equal(rows->rows_copied, INT64_MAX);
	assert_int_equal(rows->table_rows, INT64_MIN);
}

static void test_an_unknown_status_or_strategy_is_none_we_know(void **state)
{
	(void)state;
	put(0, "migration_status", "Running");
	put(0, "strategy", "Vitess");
	assert_int_equal(read_rows(), 0);
	assert_int_equal(rows->status, MIGRATION_UNKNOWN);
	assert_int_equal(rows->strategy, -1);
}

static void test_strategies_have_the_numbers_of_vtctldata(void **state)
{
	static const struct {
		const char *name;
		int number;
	} strategies[] = { { "vitess", 0 }, { "online", 0 }, { "direct", 3 }, { "mysql", 4 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(strategies); i++) {
		reset(NULL);
		put(0, "strategy", strategies[i].name);
		assert_int_equal(read_rows(), 0);
		assert_int_equal(rows->strategy, strategies[i].number);
	}
}

static void test_what_is_no_alias_is_no_owner(void **state)
{
	static const char *const bad[] = { "",	      "zone1",	  "-101",
					   "zone1-",  "zone1-1x", "zone1-4294967296",
					   "zone1-+1" };
	char cell_name[CELL_MAX + 8];

	(void)state;
	memset(cell_name, 'z', sizeof(cell_name));
	memcpy(cell_name + CELL_MAX, "-101", 5);
	put(0, "tablet", cell_name);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(strlen(rows->tablet.cell), CELL_MAX);
	assert_int_equal(rows->tablet.uid, 101);
	for (size_t i = 0; i <= LENGTH(bad); i++) {
		reset(NULL);
		memcpy(cell_name + CELL_MAX, "z-101", 6);
		put(0, "tablet", i < LENGTH(bad) ? bad[i] : cell_name);
		assert_int_equal(read_rows(), 0);
		assert_string_equal(rows->tablet.cell, "");
		assert_int_equal(rows->tablet.uid, 0);
	}
}

static void test_a_text_longer_than_its_column_or_with_a_nul_is_an_error(void **state)
{
	static char text[70000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	*cell(0, "message") = (struct query_cell){ text, 65535 };
	assert_int_equal(read_rows(), 0);
	assert_int_equal(strlen(rows->message), 65535);
	reset(NULL);
	*cell(0, "message") = (struct query_cell){ text, 65536 };
	assert_refused("message");
	reset(NULL);
	*cell(0, "shard") = (struct query_cell){ "-80\0-", 5 };
	assert_refused("shard");
}

static void test_a_cell_ends_where_its_length_says(void **state)
{
	(void)state;
	*cell(0, "migration_status") = (struct query_cell){ "runningx", 7 };
	assert_int_equal(read_rows(), 0);
	assert_int_equal(rows->status, MIGRATION_RUNNING);
}

static void test_an_answer_over_the_limit_of_the_arena_is_an_error(void **state)
{
	(void)state;
	for (size_t limit = 1; limit < 1000; limit += 100) {
		reset(NULL);
		arena.limit = limit;
		assert_refused("limit");
	}
}

static void test_the_select_names_every_column_once_and_only_the_checked_uuid(void **state)
{
	const char *sql;

	(void)state;
	sql = migration_select(&arena, UUID, "not-used");
	assert_non_null(sql);
	assert_non_null(strstr(sql, " from _vt.schema_migrations where migration_uuid = '" UUID
				    "' order by id limit "));
	for (size_t i = 1; i < COLUMNS; i++)
		assert_non_null(strstr(sql, good[i][0]));
	assert_memory_equal(sql, "select migration_uuid, keyspace, shard, ",
			    strlen("select migration_uuid, keyspace, shard, "));
	assert_non_null(strstr(sql, ", unix_timestamp(started_timestamp) as started_timestamp, "));
}

static void test_the_select_by_context_has_the_checked_prefix(void **state)
{
	const char *sql;

	(void)state;
	sql = migration_select(&arena, NULL, "ddl-k_s-0123456789abcdef-g");
	assert_non_null(strstr(
		sql, " where migration_context like 'ddl-k_s-0123456789abcdef-g%' order by id limit "));
}

static void test_a_name_that_is_not_valid_makes_no_select(void **state)
{
	(void)state;
	assert_null(migration_select(&arena, "x' or '1'='1", NULL));
	assert_null(migration_select(&arena, "all", NULL));
	assert_null(migration_select(&arena, "", NULL));
	assert_null(migration_select(&arena, NULL, NULL));
	assert_null(migration_select(&arena, NULL, ""));
	assert_null(migration_select(&arena, NULL, "%"));
	assert_null(migration_select(&arena, NULL, "a' or '1'='1"));
}

static void test_statuses_have_their_names_both_ways(void **state)
{
	(void)state;
	for (int status = MIGRATION_REQUESTED; status <= MIGRATION_FAILED; status++)
		assert_int_equal(migration_status_from_name(migration_status_name(status)), status);
	assert_string_equal(migration_status_name(MIGRATION_RUNNING), "running");
	assert_string_equal(migration_status_name(MIGRATION_CANCELLED), "cancelled");
	assert_string_equal(migration_status_name(MIGRATION_UNKNOWN), "unknown");
	assert_string_equal(migration_status_name(-1), "unknown");
	assert_string_equal(migration_status_name(8), "unknown");
	assert_int_equal(migration_status_from_name("unknown"), MIGRATION_UNKNOWN);
	assert_int_equal(migration_status_from_name("COMPLETE"), MIGRATION_UNKNOWN);
	assert_int_equal(migration_status_from_name(""), MIGRATION_UNKNOWN);
}

static void test_only_three_methods_are_effects(void **state)
{
	size_t effects = 0;

	(void)state;
	for (int method = 0; method < _VTCTLD_METHOD_MAX; method++)
		effects += vtctld_method_is_effect((enum vtctld_method)method);
	assert_int_equal(effects, 3);
	assert_true(vtctld_method_is_effect(VTCTLD_APPLY_SCHEMA));
	assert_true(vtctld_method_is_effect(VTCTLD_COMPLETE));
	assert_true(vtctld_method_is_effect(VTCTLD_CANCEL));
	assert_string_equal(vtctld_method_name(VTCTLD_COMPLETE), "CompleteSchemaMigration");
	assert_string_equal(vtctld_method_name(VTCTLD_FIND_ALL_SHARDS), "FindAllShardsInKeyspace");
	assert_string_equal(vtctld_outcome_name(VTCTLD_NOT_SENT), "not_sent");
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_column_lands_in_its_member),
		TEST(test_columns_in_the_order_of_the_select_are_the_same),
		TEST(test_each_flag_comes_from_its_own_column),
		TEST(test_a_null_is_absent),
		TEST(test_a_row_without_a_shard_is_dropped),
		TEST(test_rows_of_another_shard_are_dropped),
		TEST(test_an_answer_with_columns_and_no_row_is_no_row),
		TEST(test_an_answer_without_columns_proves_no_absence),
		TEST(test_every_missing_column_is_an_error_that_names_it),
		TEST(test_what_is_no_number_is_an_error_that_names_the_column),
		TEST(test_an_integer_has_no_fraction_and_progress_is_finite),
		TEST(test_a_small_progress_may_have_an_exponent),
		TEST(test_a_number_that_is_too_large_becomes_the_largest),
		TEST(test_an_unknown_status_or_strategy_is_none_we_know),
		TEST(test_strategies_have_the_numbers_of_vtctldata),
		TEST(test_what_is_no_alias_is_no_owner),
		TEST(test_a_text_longer_than_its_column_or_with_a_nul_is_an_error),
		TEST(test_a_cell_ends_where_its_length_says),
		TEST(test_an_answer_over_the_limit_of_the_arena_is_an_error),
		TEST(test_the_select_names_every_column_once_and_only_the_checked_uuid),
		TEST(test_the_select_by_context_has_the_checked_prefix),
		TEST(test_a_name_that_is_not_valid_makes_no_select),
		TEST(test_statuses_have_their_names_both_ways),
		TEST(test_only_three_methods_are_effects),
	};

	return cmocka_run_group_tests_name("migration", tests, NULL, reset);
}
