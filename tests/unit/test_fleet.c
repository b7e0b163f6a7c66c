/*
 * The model of a fleet behaves as Vitess 24.0.4 was measured to: migrations, their holds, their
 * names. Each test is a row of docs/vitess-facts.md; times there are taken from the submit or release.
 */
#include "fleet_fixture.h"

/* ---- Submit, hold, release ---- */

static void test_an_alter_is_held_running_and_ready_4_to_5_s_after_the_submit(void **state)
{
	struct fixture *f = *state;
	const struct migration *m;

	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 1);
	wait_ms(f, 4100);
	assert_false(row(f, A, U1)->ready_to_complete);
	wait_ms(f, 1200);
	m = row(f, A, U1);
	assert_int_equal(m->status, MIGRATION_RUNNING);
	assert_true(m->ready_to_complete && m->postpone_completion && !m->is_immediate_operation);
	assert_true(m->progress == 100 && m->eta_s == 0 && m->started_at_s > 0 && m->completed_at_s == 0);
	assert_int_equal(m->rows_copied, 1000);
	wait_ms(f, 6 * 3600 * 1000);
	assert_status(f, U1, MIGRATION_RUNNING, MIGRATION_RUNNING);
	assert_false(has_column(f, A, "`note2`"));
}

static void test_a_release_cuts_over_in_about_4_s_and_the_shards_within_60_ms(void **state)
{
	struct fixture *f = *state;
	int64_t released_ms, done_ms[2] = {0, 0};

	hold(f);
	wait_ms(f, 40000);
	assert_counts(complete(f, U1), 1, 1);
	released_ms = f->now_ms;
	for (int i = 0; i < 5000; i++) {
		wait_ms(f, 1);
		for (size_t shard = A; shard <= B; shard++)
			if (done_ms[shard] == 0 && has_column(f, shard, "`note2`"))
				done_ms[shard] = f->now_ms;
	}
	assert_in_range(done_ms[A] - released_ms, 3600, 4400);
	assert_in_range(done_ms[B] - done_ms[A] + 60, 0, 120);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
	assert_int_equal(fleet_times_applied(f->fleet, A, U1), 1);
	assert_string_equal(row(f, A, U1)->stage, "re-enabling writes");
	assert_int_equal(row(f, A, U1)->cutover_attempts, 1);
}

static void test_an_early_complete_lets_the_alter_run_through(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	wait_ms(f, 300);
	assert_counts(complete(f, U1), 1, 1);
	wait_ms(f, 9000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
}

static void test_complete_counts_once_and_an_unknown_uuid_is_no_error(void **state)
{
	struct fixture *f = *state;

	hold(f);
	assert_counts(complete(f, U1), 1, 1);
	assert_counts(complete(f, U1), 0, 0);
	assert_counts(complete(f, U2), 0, 0);
	assert_error(complete(f, "zzz"), 2, "Not a valid migration ID in COMPLETE: zzz");
}

static void test_an_immediate_is_held_queued_and_done_a_second_after_the_release(void **state)
{
	static const char *const statements[] = {"create table t2 (id bigint primary key)",
						 "create view v as select id from orders",
						 "drop table orders"};

	for (size_t i = 0; i < 3; i++) {
		struct fixture *f;

		fixture_teardown(state);
		fixture_setup(state);
		f = *state;
		submit(f, U1, "ctx", HELD, statements[i]);
		wait_ms(f, 1100);
		assert_status(f, U1, MIGRATION_QUEUED, MIGRATION_QUEUED);
		assert_true(row(f, A, U1)->is_immediate_operation && row(f, A, U1)->ready_to_complete);
		assert_true(row(f, A, U1)->reviewed_at_s > 0 && row(f, A, U1)->started_at_s == 0);
		assert_counts(complete(f, U1), 1, 1);
		wait_ms(f, 1250);
		assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
		assert_int_equal(fleet_times_applied(f->fleet, A, U1), 1);
	}
}

static void test_a_bad_immediate_looks_ready_and_fails_only_after_the_release(void **state)
{
	static const char *const statements[][2] = {
	    {"create table orders (id int primary key)", "errno 1050"}, {"drop table nothing", "errno 1146"}};

	for (size_t i = 0; i < 2; i++) {
		struct fixture *f;

		fixture_teardown(state);
		fixture_setup(state);
		f = *state;
		submit(f, U1, "ctx", HELD, statements[i][0]);
		wait_ms(f, 3600 * 1000);
		assert_true(row(f, A, U1)->ready_to_complete);
		assert_status(f, U1, MIGRATION_QUEUED, MIGRATION_QUEUED);
		complete(f, U1);
		wait_ms(f, 1250);
		assert_status(f, U1, MIGRATION_FAILED, MIGRATION_FAILED);
		assert_non_null(strstr(row(f, A, U1)->message, statements[i][1]));
		assert_true(row(f, A, U1)->ready_to_complete && row(f, A, U1)->progress == 100);
	}
}

static void test_an_instant_alter_is_held_as_an_immediate(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD " --prefer-instant-ddl", ADD_NOTE2);
	wait_ms(f, 1100);
	assert_status(f, U1, MIGRATION_QUEUED, MIGRATION_QUEUED);
	assert_string_equal(row(f, A, U1)->special_plan, "");
	complete(f, U1);
	wait_ms(f, 1250);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
	assert_string_equal(row(f, A, U1)->special_plan, "{\"operation\":\"instant-ddl\"}");
	assert_true(has_column(f, B, "`note2`"));
}

static void test_an_alter_fails_a_second_later_on_the_shard_that_has_the_column(void **state)
{
	struct fixture *f = *state;

	assert_true(fleet_exec(f->fleet, "80-", ADD_NOTE2));
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 1);
	wait_ms(f, 1200);
	assert_status(f, U1, MIGRATION_RUNNING, MIGRATION_FAILED);
	assert_non_null(strstr(row(f, B, U1)->message,
			       "Duplicate column name 'note2' (errno 1060) (sqlstate 42S21) "
			       "during query: ALTER TABLE"));
	assert_true(row(f, B, U1)->postpone_completion && !row(f, B, U1)->ready_to_complete);
	wait_ms(f, 5000);
	assert_counts(complete(f, U1), 1, 1); /* cuts the good one, strips the hold of the failed one */
	assert_false(row(f, B, U1)->postpone_completion);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_FAILED);
}

static void test_an_alter_of_a_missing_table_is_accepted_and_fails_at_review(void **state)
{
	struct fixture *f = *state;

	assert_counts(submit(f, U1, "ctx", HELD, "alter table nothing add column a int"), 1, 1);
	wait_ms(f, 1200);
	assert_status(f, U1, MIGRATION_FAILED, MIGRATION_FAILED);
	assert_non_null(strstr(row(f, A, U1)->message, "1146"));
}

static void test_the_mysql_strategy_cannot_be_held(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", "mysql --postpone-completion", ADD_NOTE2);
	wait_ms(f, 1200);
	assert_status(f, U1, MIGRATION_FAILED, MIGRATION_FAILED);
	assert_non_null(strstr(row(f, A, U1)->message, "not supported in 'mysql' strategy"));
}

static void test_a_statement_over_65535_bytes_is_stored_cut_and_fails_after_the_release(void **state)
{
	struct fixture *f = *state;
	static char sql[70000];

	memset(sql, 'x', sizeof(sql) - 1);
	memcpy(sql, "alter table orders add column note2 int comment '", 49);
	memcpy(sql + sizeof(sql) - 2, "'", 1);
	assert_counts(submit(f, U1, "ctx", HELD, sql), 1, 1);
	wait_ms(f, 1100);
	assert_int_equal(strlen(row(f, A, U1)->statement), 65535);
	assert_int_equal(row(f, A, U1)->status, MIGRATION_QUEUED);
	assert_true(row(f, A, U1)->ready_to_complete);
	complete(f, U1);
	wait_ms(f, 1250);
	assert_int_equal(row(f, A, U1)->status, MIGRATION_FAILED);
	assert_non_null(strstr(row(f, A, U1)->message, "error parsing statement"));
}

static void test_statements_are_stored_in_a_canonical_form(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD,
	       "ALTER  TABLE orders /* why */ ADD\n COLUMN Cx VARCHAR(10) DEFAULT \"A\";");
	assert_string_equal(row(f, A, U1)->statement,
			    "alter table orders add column Cx VARCHAR(10) default 'A'");
	assert_string_equal(row(f, A, U1)->options, "--postpone-completion --singleton-context");
	assert_string_equal(row(f, A, U1)->ddl_action, "alter");
	assert_string_equal(row(f, A, U1)->table, "orders");
}

/* ---- The same uuid again ---- */

static void test_a_resubmission_of_a_live_or_complete_row_changes_nothing(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 0);
	wait_ms(f, 5300);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 0);
	assert_true(row(f, A, U1)->postpone_completion);
	complete(f, U1);
	wait_ms(f, 5000);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 0);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
	assert_int_equal(row(f, A, U1)->retries, 0);
}

static void test_a_resubmission_with_singleton_is_refused_by_its_own_row(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_error(submit(f, U1, "ctx", "vitess --singleton", ADD_NOTE2), 2,
		     "desc = singleton migration rejected: found pending migrations [sample: " U1 "]");
	assert_error(submit(f, U1, "ctx", "vitess --singleton-table", ADD_NOTE2), 2,
		     "singleton-table migration rejected: found pending migration: " U1
		     " for the same table: orders");
	assert_error(submit(f, U2, "ctx", "vitess --singleton", ADD_NOTE2), 2,
		     "submitting migration " U2 ": singleton migration rejected");
}

static void test_a_resubmission_revives_cancelled_and_failed_rows(void **state)
{
	struct fixture *f = *state;

	fleet_exec(f->fleet, "80-", ADD_NOTE2);
	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	wait_ms(f, 5300);
	assert_counts(cancel(f, U1), 1, 0);
	assert_status(f, U1, MIGRATION_CANCELLED, MIGRATION_FAILED);
	assert_string_equal(row(f, A, U1)->message, "CANCEL issued by user");
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 1);
	assert_status(f, U1, MIGRATION_QUEUED, MIGRATION_QUEUED);
	assert_int_equal(row(f, A, U1)->retries, 1);
	assert_true(row(f, A, U1)->postpone_completion);
	wait_ms(f, 1200);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_FAILED); /* it ran again */
}

static void test_another_context_or_none_is_refused_whatever_the_state(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_error(submit(f, U1, "other", HELD, ADD_NOTE2), 2,
		     "migration rejected: found migration " U1 " with different context: ctx than submitted "
		     "migration's context: other");
	assert_error(submit(f, U1, NULL, HELD, ADD_NOTE2), 2, "submitted migration's context: vtctl:");
	cancel(f, U1);
	assert_error(submit(f, U1, "other", HELD, ADD_NOTE2), 2, "with different context");
	assert_int_equal(row(f, A, U1)->status, MIGRATION_CANCELLED);
}

static void test_other_sql_under_the_same_uuid_is_ignored_without_a_word(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_counts(submit(f, U1, "ctx", "vitess", "drop table orders"), 0, 0);
	assert_string_equal(row(f, A, U1)->statement, ADD_NOTE2);
	assert_true(row(f, A, U1)->postpone_completion);
}

static void test_the_uuid_is_compared_without_regard_to_case(void **state)
{
	struct fixture *f = *state;
	const char *upper = "AAAAAAAA_0000_8000_8000_000000000001";

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_counts(submit(f, upper, "ctx", HELD, ADD_NOTE2), 0, 0);
	assert_int_equal(read_rows(f, upper).migrations.count, 2);
	assert_int_equal(fleet_row_count(f->fleet, A), 1);
}

static void test_bad_uuids_are_refused_before_anything_is_sent(void **state)
{
	struct fixture *f = *state;

	assert_error(submit(f, "aaaaaaaa-0000-8000-8000-000000000001", "ctx", HELD, ADD_NOTE2), 2,
		     "Not a valid UUID");
	assert_int_equal(fleet_row_count(f->fleet, A), 0);
	assert_int_equal(submit(f, "ZZZZZZZZ_0000_8000_8000_000000000001", "ctx", HELD, ADD_NOTE2).code, 0);
}

static void test_singleton_context_refuses_on_the_shard_where_another_context_is_pending(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	fleet_submit_foreign(f->fleet, U2, "theirs", "-80", "alter table orders add column theirs int");
	reply = submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_error(reply, 2,
		     "singleton-context migration rejected: found pending migration: " U2
		     " in different context: theirs");
	assert_non_null(strstr(reply.text,
			       "TabletManager.ExecuteQuery on zone1-0000000101: rpc error: code = "
			       "FailedPrecondition desc = submitting migration " U1 ": "));
	assert_null(fleet_row(f->fleet, A, U1));
	assert_counts(complete(f, U1), 0, 1); /* no sign of the missing row */
	wait_ms(f, 10000);
	assert_int_equal(row(f, A, U2)->status, MIGRATION_COMPLETE);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 0); /* the repair */
}

static void test_a_duplicate_in_one_context_completes_by_itself_in_spite_of_its_hold(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", "vitess", ADD_NOTE2);
	wait_ms(f, 12000);
	submit(f, U2, "ctx", HELD, "ALTER TABLE orders ADD COLUMN NOTE2 varchar(10)");
	wait_ms(f, 1100);
	assert_status(f, U2, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
	assert_string_equal(row(f, A, U2)->message, "duplicate DDL as " U1 " for migration context ctx");
	assert_true(row(f, A, U2)->postpone_completion && !row(f, A, U2)->ready_to_complete);
	assert_string_equal(row(f, A, U2)->artifacts, "");
	assert_int_equal(fleet_times_applied(f->fleet, A, U2), 0);
}

static void test_a_held_alter_blocks_others_and_a_held_create_does_not(void **state)
{
	struct fixture *f = *state;

	submit(f, U1, "ctx", HELD, "create table t2 (id bigint primary key)");
	wait_ms(f, 1100);
	submit(f, U2, "ctx2", "vitess", ADD_NOTE2);
	wait_ms(f, 10000);
	assert_status(f, U2, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
	submit(f, "aaaaaaaa_0000_8000_8000_000000000003", "ctx3", "vitess --postpone-completion",
	       "alter table orders add column c int");
	wait_ms(f, 6000);
	submit(f, "aaaaaaaa_0000_8000_8000_000000000004", "ctx4", "vitess",
	       "alter table orders add column d int");
	wait_ms(f, 60000);
	assert_status(f, "aaaaaaaa_0000_8000_8000_000000000004", MIGRATION_READY, MIGRATION_READY);
}

/* ---- Retry, cancel ---- */

static void test_a_retried_alter_shows_ready_leftovers_for_a_tenth_of_a_second(void **state)
{
	struct fixture *f = *state;
	int64_t seen_ms = 0;

	hold(f);
	cancel(f, U1);
	wait_ms(f, 30000);
	fleet_retry(f->fleet, U1, NULL);
	assert_true(row(f, A, U1)->ready_to_complete && row(f, A, U1)->progress == 100);
	assert_int_equal(row(f, A, U1)->status, MIGRATION_QUEUED);
	for (int i = 0; i < 2000; i++) {
		wait_ms(f, 1);
		if (row(f, A, U1)->status == MIGRATION_RUNNING && row(f, A, U1)->ready_to_complete)
			seen_ms++;
	}
	assert_in_range(seen_ms, 80, 150);
	assert_int_equal(row(f, A, U1)->retries, 1);
	wait_ms(f, 4000);
	assert_true(row(f, A, U1)->ready_to_complete && row(f, A, U1)->postpone_completion);
}

static void test_a_released_row_that_is_cancelled_and_retried_is_not_held(void **state)
{
	struct fixture *f = *state;

	hold(f);
	complete(f, U1);
	cancel(f, U1);
	assert_status(f, U1, MIGRATION_CANCELLED, MIGRATION_CANCELLED);
	fleet_retry(f->fleet, U1, NULL);
	wait_ms(f, 10000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
}

static void test_complete_strips_the_hold_of_a_cancelled_row(void **state)
{
	struct fixture *f = *state;

	hold(f);
	cancel(f, U1);
	assert_counts(complete(f, U1), 1, 1);
	assert_status(f, U1, MIGRATION_CANCELLED, MIGRATION_CANCELLED);
	assert_false(row(f, A, U1)->postpone_completion);
}

static void test_cancel_fails_where_the_row_is_missing_and_works_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	fleet_submit_foreign(f->fleet, U1, "ctx", "-80", ADD_NOTE2);
	reply = cancel(f, U1);
	assert_error(reply, 2, "migration not found");
	assert_non_null(strstr(reply.text, "\"Shard\": \"80-\""));
	assert_int_equal(row(f, A, U1)->status, MIGRATION_CANCELLED);
}

static void test_the_uuid_all_hits_everybody(void **state)
{
	struct fixture *f = *state;

	hold(f);
	submit(f, U2, "ctx", HELD, "create table t2 (id bigint primary key)");
	wait_ms(f, 1100);
	assert_counts(complete(f, "ALL"), 2, 2);
}

static void test_a_failed_retry_leaves_one_more_shadow_table(void **state)
{
	struct fixture *f = *state;
	unsigned commas = 0;

	fleet_exec(f->fleet, "-80", ADD_NOTE2);
	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	wait_ms(f, 1200);
	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	wait_ms(f, 1200);
	for (const char *c = row(f, A, U1)->artifacts; *c != '\0'; c++)
		commas += *c == ',' ? 1 : 0;
	assert_int_equal(commas, 2);
}

/* ---- Statements beside migrations ---- */

static void test_truncate_rename_and_an_empty_strategy_run_at_once_and_leave_no_row(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply = submit(f, U1, "ctx", HELD, "rename table orders to orders2");

	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.effect.uuid_count, 0);
	assert_null(fleet_definition(f->fleet, A, "orders"));
	assert_non_null(fleet_definition(f->fleet, B, "orders2"));
	assert_int_equal(submit(f, U1, "ctx", HELD, "truncate table orders2").code, 0);
	assert_int_equal(submit(f, U1, "ctx", "", "alter table orders2 add column a int").code, 0);
	assert_non_null(strstr(fleet_definition(f->fleet, A, "orders2"), "`a` int"));
	assert_int_equal(fleet_row_count(f->fleet, A), 0);
}

static void test_refusals_of_vtctld_leave_nothing_behind(void **state)
{
	static const char *const rows[][3] = {
	    {HELD, "", "uncaught panic"},
	    {"vites", ADD_NOTE2, "invalid DdlStrategy: Unknown online DDL strategy: 'vites'"},
	    {"vitess --bogus", ADD_NOTE2, "invalid DdlStrategy"},
	    {"vitess --cut-over-threshold 10s", ADD_NOTE2, "invalid DdlStrategy"},
	    {"vitess --cut-over-threshold=1s", ADD_NOTE2, "cut-over min value is 5s"},
	    {HELD, "alter table orders rename to o", "ALTER TABLE ... RENAME is not supported"},
	    {HELD, "drop table orders, t2", "multiple DDLs generated"},
	    {HELD, "alter table orders add foreign key (id) references t (id)", "foreign key constraints"},
	    {HELD, "hello world", "failed to parse sql"},
	    {HELD, "drop table a; drop table b", "Expected a single statement"},
	    {HELD, "update orders set note = ''", "non-ddl statements can only be executed for single shard"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_error(submit(f, U1, "ctx", rows[i][0], rows[i][1]), 2, rows[i][2]);
	assert_int_equal(fleet_row_count(f->fleet, A) + fleet_row_count(f->fleet, B), 0);
}

static void test_an_unknown_keyspace_is_empty_for_the_row_read_and_an_error_elsewhere(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);
	struct vtctld_reply reply;

	request.keyspace = "typo";
	assert_error(call(f, request), 2,
		     "unable to get shards for keyspace: typo, error: node doesn't exist");
	request.method = VTCTLD_FIND_ALL_SHARDS;
	assert_int_equal(call(f, request).code, 2);
	request.method = VTCTLD_GET_SCHEMA_MIGRATIONS;
	reply = call(f, request);
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.migrations.count, 0);
}

static void test_the_caller_id_is_added_to_the_text_of_a_tablet(void **state)
{
	struct fixture *f = *state;

	assert_error(
	    call(f, (struct vtctld_request){.method = VTCTLD_CANCEL, .uuid = U1, .caller_id = "ops"}), 2,
	    "migration not found (CallerID: ops)");
}

/* ---- Definitions ---- */

static void test_get_schema_lists_the_asked_table_and_nothing_for_a_missing_one(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = {
	    .method = VTCTLD_GET_SCHEMA, .tablet = {.cell = "zone1", .uid = 101}, .table = "orders"};
	struct vtctld_reply reply;

	fleet_exec(f->fleet, "-80", "create table t2 (id int primary key)");
	reply = call(f, request);
	assert_int_equal(reply.definitions.count, 1);
	assert_string_equal(
	    reply.definitions.items[0].schema,
	    "CREATE TABLE `orders` (\n  `id` bigint NOT NULL,\n  `customer_id` bigint DEFAULT NULL,\n"
	    "  `note` varchar(64) DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT "
	    "CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci");
	request.table = "nothing";
	reply = call(f, request);
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.definitions.count, 0);
}

static void test_alter_clauses_change_the_definition_as_mysql_prints_it(void **state)
{
	struct fixture *f = *state;

	assert_true(fleet_exec(
	    f->fleet, "-80",
	    "alter table orders add column a int unsigned not null default 7 comment 'it''s' after id, "
	    "modify note text, rename column customer_id to buyer, add unique key (buyer), "
	    "add index k (a, note(10) desc)"));
	assert_string_equal(
	    fleet_definition(f->fleet, A, "orders"),
	    "CREATE TABLE `orders` (\n  `id` bigint NOT NULL,\n"
	    "  `a` int unsigned NOT NULL DEFAULT '7' COMMENT 'it\\'s',\n"
	    "  `buyer` bigint DEFAULT NULL,\n  `note` text,\n  PRIMARY KEY (`id`),\n"
	    "  UNIQUE KEY `buyer` (`buyer`),\n  KEY `k` (`a`,`note`(10) DESC)\n) ENGINE=InnoDB DEFAULT "
	    "CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci");
	assert_false(fleet_exec(f->fleet, "-80", "alter table orders drop column nothing"));
	assert_true(fleet_exec(f->fleet, "-80", "alter table orders drop index k, drop column a"));
	assert_null(strstr(fleet_definition(f->fleet, A, "orders"), "`a`"));
	assert_true(fleet_exec(f->fleet, "-80", "create view v as select id from orders"));
	assert_non_null(strstr(fleet_definition(f->fleet, A, "v"), "VIEW {{.DatabaseName}}.`v` AS select id from orders"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    TEST(test_an_alter_is_held_running_and_ready_4_to_5_s_after_the_submit),
	    TEST(test_a_release_cuts_over_in_about_4_s_and_the_shards_within_60_ms),
	    TEST(test_an_early_complete_lets_the_alter_run_through),
	    TEST(test_complete_counts_once_and_an_unknown_uuid_is_no_error),
	    TEST(test_an_immediate_is_held_queued_and_done_a_second_after_the_release),
	    TEST(test_a_bad_immediate_looks_ready_and_fails_only_after_the_release),
	    TEST(test_an_instant_alter_is_held_as_an_immediate),
	    TEST(test_an_alter_fails_a_second_later_on_the_shard_that_has_the_column),
	    TEST(test_an_alter_of_a_missing_table_is_accepted_and_fails_at_review),
	    TEST(test_the_mysql_strategy_cannot_be_held),
	    TEST(test_a_statement_over_65535_bytes_is_stored_cut_and_fails_after_the_release),
	    TEST(test_statements_are_stored_in_a_canonical_form),
	    TEST(test_a_resubmission_of_a_live_or_complete_row_changes_nothing),
	    TEST(test_a_resubmission_with_singleton_is_refused_by_its_own_row),
	    TEST(test_a_resubmission_revives_cancelled_and_failed_rows),
	    TEST(test_another_context_or_none_is_refused_whatever_the_state),
	    TEST(test_other_sql_under_the_same_uuid_is_ignored_without_a_word),
	    TEST(test_the_uuid_is_compared_without_regard_to_case),
	    TEST(test_bad_uuids_are_refused_before_anything_is_sent),
	    TEST(test_singleton_context_refuses_on_the_shard_where_another_context_is_pending),
	    TEST(test_a_duplicate_in_one_context_completes_by_itself_in_spite_of_its_hold),
	    TEST(test_a_held_alter_blocks_others_and_a_held_create_does_not),
	    TEST(test_a_retried_alter_shows_ready_leftovers_for_a_tenth_of_a_second),
	    TEST(test_a_released_row_that_is_cancelled_and_retried_is_not_held),
	    TEST(test_complete_strips_the_hold_of_a_cancelled_row),
	    TEST(test_cancel_fails_where_the_row_is_missing_and_works_elsewhere),
	    TEST(test_the_uuid_all_hits_everybody),
	    TEST(test_a_failed_retry_leaves_one_more_shadow_table),
	    TEST(test_truncate_rename_and_an_empty_strategy_run_at_once_and_leave_no_row),
	    TEST(test_refusals_of_vtctld_leave_nothing_behind),
	    TEST(test_an_unknown_keyspace_is_empty_for_the_row_read_and_an_error_elsewhere),
	    TEST(test_the_caller_id_is_added_to_the_text_of_a_tablet),
	    TEST(test_get_schema_lists_the_asked_table_and_nothing_for_a_missing_one),
	    TEST(test_alter_clauses_change_the_definition_as_mysql_prints_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
