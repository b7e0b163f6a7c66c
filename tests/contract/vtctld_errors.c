/* What is refused, and leaves nothing behind; and what runs at once although a hold was asked for. */
#include "vtctld_fixture.h"

#define UNKNOWN_KEYSPACE "no_such_keyspace"

static const char *create_of(const char *table)
{
	return text("create table %s " COLUMNS, table);
}

static void assert_refused_without_a_row(const char *strategy, const char *sql, const char *fragment)
{
	const char *uuid = new_uuid();

	assert_refused(submit(uuid, new_context(), strategy, sql), fragment);
	assert_no_row(uuid);
}

/* ---- Uuids ---- */

/* §1, "dashes, X": code 2, nothing done. */
static void test_a_uuid_of_another_form_is_refused(void **state)
{
	static const char *const uuids[] = {
		"aaaaaaaa-0000-8000-8000-000000000001", /* dashes */
		"aaaaaaaa_0000_8000_8000_00000000000x", /* behind f */
		"aaaaaaaa_0000_8000_80000_00000000001", /* a separator too late */
		"aaaaaaaa_0000_8000_8000_0000000000012", "aaaaaaaa_0000_8000_8000_00000000001", "X",
	};
	const char *table = new_name();

	(void)state;
	for (size_t i = 0; i < sizeof(uuids) / sizeof(uuids[0]); i++)
		assert_refused(submit(uuids[i], new_context(), HELD, create_of(table)),
			       text("invalid UuidList: [%s]: Not a valid UUID: %s", uuids[i], uuids[i]));
	assert_undefined(table, NULL);
}

/* §1, `ZZZZ` where hex digits belong: accepted, the server's pattern has a slip; whoever makes uuids must be
 * stricter. */
static void test_a_uuid_of_letters_that_are_no_digits_is_accepted(void **state)
{
	const char *uuid = text("%.9sZZZZ%s", new_uuid(), new_uuid() + strlen("00000000_c0de"));

	(void)state;
	assert_counts(submit(uuid, new_context(), HELD, create_of(new_name())), 1);
	assert_int_equal(rows(uuid)[0].status, MIGRATION_QUEUED);
	assert_counts(cancel(uuid), 1);
}

/* §14, `drop table a, b` with a uuid: one uuid for two statements. */
static void test_one_uuid_for_two_drops_is_refused(void **state)
{
	const char *a = new_table(), *b = new_table(), *uuid = new_uuid();

	(void)state;
	assert_refused(submit(uuid, new_context(), HELD, text("drop table %s, %s", a, b)),
		       text("UUID %s provided but multiple DDLs generated", uuid));
	assert_no_row(uuid);
	assert_defined(a, NULL);
	assert_defined(b, NULL);
}

/* ---- Statements ---- */

/* §14: code 2 `failed to parse sql`, (`Expected a single statement`). */
static void test_two_statements_in_one_entry_are_refused(void **state)
{
	const char *a = new_name(), *b = new_name();

	(void)state;
	assert_refused_without_a_row(HELD, text("%s; %s", create_of(a), create_of(b)),
				     "failed to parse sql: ");
	assert_undefined(a, NULL);
	assert_undefined(b, NULL);
}

/* §14, not SQL. */
static void test_what_is_not_sql_is_refused(void **state)
{
	(void)state;
	assert_refused_without_a_row(HELD, "what is not sql", "failed to parse sql: ");
	assert_refused_without_a_row(HELD, "alter", "failed to parse sql: ");
}

/* §14, trailing `;`: accepted. */
static void test_a_semicolon_at_the_end_is_accepted(void **state)
{
	const char *table = new_name(), *uuid = hold(new_context(), text("%s;", create_of(table)));

	(void)state;
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, NULL);
}

/* §14, DML, SELECT, SET on a sharded keyspace. */
static void test_what_is_no_ddl_is_refused(void **state)
{
	const char *table = new_table();

	(void)state;
	if (shard_count() == 1)
		skip();
	assert_refused_without_a_row(HELD, text("insert into %s (id) values (1)", table),
				     "non-ddl statements can only be executed for single shard keyspaces: ");
	assert_refused_without_a_row("direct", text("select * from %s", table),
				     "non-ddl statements can only be executed for single shard keyspaces: ");
	assert_refused_without_a_row(HELD, "set @a = 1",
				     "non-ddl statements can only be executed for single shard keyspaces: ");
}

/* §14, ALTER ... RENAME, foreign key: code 2, ExecutorErr; no shard is asked. */
static void test_what_online_ddl_cannot_do_is_refused(void **state)
{
	const char *table = new_table(), *other = new_name();
	struct vtctld_reply reply;

	(void)state;
	reply = submit(new_uuid(), new_context(), HELD, text("alter table %s rename to %s", table, other));
	assert_refused(reply, "ALTER TABLE ... RENAME is not supported in online DDL");
	assert_says(reply.text, "\"FailedShards\": null");
	assert_says(reply.text, "\"SuccessShards\": null");
	assert_refused_without_a_row(HELD,
				     text("create table %s (id int primary key, t bigint, foreign key (t) "
					  "references %s (id))",
					  other, table),
				     "foreign key constraints are not supported in online DDL");
	assert_defined(table, NULL);
	assert_undefined(other, NULL);
}

/* ---- Strategies ---- */

/* §14: code 2 `invalid DdlStrategy`. */
static void test_an_unknown_strategy_or_flag_is_refused(void **state)
{
	static const char *const strategies[] = { "vites",
						  "gh-ost",
						  "pt-osc",
						  "vitess --bogus",
						  "vitess --postpone-completion --bogus=1",
						  "vitess --cut-over-threshold 10s" };
	const char *table = new_name();

	(void)state;
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
		assert_refused_without_a_row(strategies[i], create_of(table), "invalid DdlStrategy: ");
	assert_undefined(table, NULL);
}

/* §14: `--cut-over-threshold=1s` is refused by every shard. */
static void test_a_cutover_threshold_below_the_minimum_is_refused(void **state)
{
	(void)state;
	assert_refused_without_a_row(HELD " --cut-over-threshold=1s",
				     text("alter table %s add column memo int", new_table()),
				     "cut-over min value is 5s");
	assert_counts(submit(new_uuid(), new_context(), HELD " --cut-over-threshold=5s",
			     text("alter table %s add column memo int", new_table())),
		      1);
}

/* §7, caller_id set: the tablet's text ends with it. */
static void test_the_text_of_a_refusal_names_the_caller(void **state)
{
	const char *context = new_context(), *sql = create_of(new_name()), *uuid = hold(context, sql);

	(void)state;
	assert_refused(call((struct vtctld_request){ .method = VTCTLD_APPLY_SCHEMA,
						     .uuid = uuid,
						     .context = new_context(),
						     .strategy = HELD,
						     .sql = sql,
						     .caller_id = "ops" }),
		       " (CallerID: ops)");
}

/* ---- Keyspaces ---- */

/* §5, unknown keyspace: ApplySchema and control, code 2. */
static void test_effects_on_an_unknown_keyspace_are_refused(void **state)
{
	struct vtctld_request request = { .method = VTCTLD_APPLY_SCHEMA,
					  .keyspace = UNKNOWN_KEYSPACE,
					  .uuid = new_uuid(),
					  .context = new_context(),
					  .strategy = HELD,
					  .sql = create_of(new_name()) };

	(void)state;
	assert_refused(call(request), "unable to get shards for keyspace: " UNKNOWN_KEYSPACE);
	request.method = VTCTLD_COMPLETE;
	assert_refused(call(request), "unable to get shards for keyspace: " UNKNOWN_KEYSPACE);
	request.method = VTCTLD_CANCEL;
	assert_refused(call(request), "unable to get shards for keyspace: " UNKNOWN_KEYSPACE);
}

/* No shards: an error. No tablets: an empty answer, as with migrations. */
static void test_the_topology_of_an_unknown_keyspace(void **state)
{
	struct vtctld_request request = { .method = VTCTLD_FIND_ALL_SHARDS, .keyspace = UNKNOWN_KEYSPACE };
	struct vtctld_reply reply;

	(void)state;
	assert_refused(call(request),
		       "FindAllShardsInKeyspace(" UNKNOWN_KEYSPACE "): List: node doesn't exist: ");
	request.method = VTCTLD_GET_TABLETS;
	reply = call(request);
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(reply.tablets.count, 0);
}

/* ---- At once ---- */

static void assert_runs_at_once(const char *strategy, const char *sql)
{
	const char *uuid = new_uuid();
	struct vtctld_reply reply = submit(uuid, new_context(), strategy, sql);

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("%s: %s", sql, reply.text);
	assert_int_equal(reply.effect.uuid_count, 0);
	assert_no_row(uuid);
}

/* §14: `rename table`, `truncate table` under a held strategy: executed at once on every shard, uuid ignored,
 * uuid_list empty, no row. */
static void test_rename_and_truncate_run_at_once_under_any_strategy(void **state)
{
	const char *from = new_table(), *to = new_name();

	(void)state;
	assert_runs_at_once(HELD, text("rename table %s to %s", from, to));
	assert_undefined(from, NULL);
	assert_defined(to, "`note`");
	assert_runs_at_once(HELD, text("truncate table %s", to));
	assert_defined(to, "`note`");
}

/* §14, direct: the same for every statement. */
static void test_the_direct_strategy_runs_at_once(void **state)
{
	const char *table = new_name();

	(void)state;
	assert_runs_at_once("direct", create_of(table));
	assert_defined(table, "`note`");
	assert_runs_at_once("direct", text("alter table %s add column memo int", table));
	assert_defined(table, "`memo` int");
	assert_runs_at_once("direct", text("drop table %s", table));
	assert_undefined(table, NULL);
}

/* §4 has the errno of the held form; here the call itself fails, and its text has it. */
static void test_a_direct_statement_that_mysql_refuses_is_an_error(void **state)
{
	const char *table = new_table();

	(void)state;
	assert_refused(submit(new_uuid(), new_context(), "direct", create_of(table)), "errno 1050");
}

int contract_errors(void)
{
	const struct CMUnitTest error_tests[] = {
		TEST(test_a_uuid_of_another_form_is_refused),
		TEST(test_a_uuid_of_letters_that_are_no_digits_is_accepted),
		TEST(test_one_uuid_for_two_drops_is_refused),
		TEST(test_two_statements_in_one_entry_are_refused),
		TEST(test_what_is_not_sql_is_refused),
		TEST(test_a_semicolon_at_the_end_is_accepted),
		TEST(test_what_is_no_ddl_is_refused),
		TEST(test_what_online_ddl_cannot_do_is_refused),
		TEST(test_an_unknown_strategy_or_flag_is_refused),
		TEST(test_a_cutover_threshold_below_the_minimum_is_refused),
		TEST(test_the_text_of_a_refusal_names_the_caller),
		TEST(test_effects_on_an_unknown_keyspace_are_refused),
		TEST(test_the_topology_of_an_unknown_keyspace),
		TEST(test_rename_and_truncate_run_at_once_under_any_strategy),
		TEST(test_the_direct_strategy_runs_at_once),
		TEST(test_a_direct_statement_that_mysql_refuses_is_an_error),
	};

	return cmocka_run_group_tests(error_tests, NULL, NULL);
}
