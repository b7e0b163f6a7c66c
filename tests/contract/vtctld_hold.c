/* The hold and its release: what a held migration looks like, and what Complete does to it. */
#include "vtctld_fixture.h"

#include "vtddl/observation.h"

static const char *add_memo(const char *table)
{
	return text("alter table %s add column memo int", table);
}

static const char *create_of(const char *table)
{
	return text("create table %s " COLUMNS, table);
}

/* ---- ALTER: held while it runs ---- */

/* §4 and §16: an ALTER is held RUNNING; its column is there after the release, not before. */
static void test_an_alter_is_held_running_until_it_is_released(void **state)
{
	const char *table = new_table(), *uuid = hold(new_context(), add_memo(table));
	const struct migration *found = await_rows(uuid, is_held);

	(void)state;
	for (size_t i = 0; i < shard_count(); i++) {
		assert_int_equal(found[i].status, MIGRATION_RUNNING);
		assert_true(migration_is_ready(&found[i]));
		assert_false(found[i].is_immediate_operation);
		assert_false(found[i].is_view);
		assert_string_equal(found[i].ddl_action, "alter");
		assert_string_equal(found[i].message, "");
		assert_int_equal(found[i].retries, 0);
		assert_true(found[i].reviewed_at_s >= found[i].requested_at_s);
		assert_true(found[i].started_at_s >= found[i].reviewed_at_s);
		assert_true(found[i].ready_to_complete_at_s >= found[i].started_at_s);
		assert_int_equal(found[i].completed_at_s, 0);
		assert_int_equal(found[i].cutover_attempts, 0);
		assert_string_not_equal(found[i].artifacts, "");
	}
	assert_undefined(table, "`memo`");
	assert_counts(complete(uuid), 1);
	found = await_rows(uuid, is_complete);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_false(found[i].postpone_completion);
		assert_true(found[i].ready_to_complete);
		assert_true(found[i].progress == 100);
		assert_true(found[i].completed_at_s >= found[i].started_at_s - ROUNDED_S);
		assert_int_equal(found[i].cutover_attempts, 1);
		assert_string_equal(found[i].message, "");
	}
	assert_defined(table, "`memo` int");
}

/* §4, early Complete: the ALTER then runs through by itself. */
static void test_a_release_before_the_hold_is_reached_counts(void **state)
{
	const char *table = new_table(), *uuid = hold(new_context(), add_memo(table));

	(void)state;
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, "`memo` int");
}

/* §1, "a held immediate and another's --singleton": a held ALTER makes the ALTERs of others wait in `ready`.
 */
static void test_a_held_alter_makes_another_one_wait_in_ready(void **state)
{
	const char *first = hold(new_context(), add_memo(new_table())), *second = new_uuid();

	(void)state;
	await_rows(first, is_held);
	assert_counts(submit(second, new_context(), HELD_BESIDE, add_memo(new_table())), 1);
	await_rows(second, is_ready);
	assert_counts(cancel(first), 1);
	await_rows(second, is_held);
}

/* §1, same row: a held CREATE does not make others wait. */
static void test_a_held_create_does_not_block_an_alter(void **state)
{
	const char *first = hold(new_context(), create_of(new_name())), *table = new_table();
	const char *second = new_uuid();

	(void)state;
	await_rows(first, is_held);
	assert_counts(submit(second, new_context(), "vitess", add_memo(table)), 1);
	await_rows(second, is_complete);
	assert_defined(table, "`memo` int");
	await_rows(first, is_held);
}

/* ---- What is done at once: held before it runs ---- */

/* §4: QUEUED, immediate, ready, progress 100, reviewed_at set, started_at absent; COMPLETE after the release.
 */
static void assert_held_then_complete(const char *uuid, const char *action, bool is_view)
{
	const struct migration *found = await_rows(uuid, is_held);

	for (size_t i = 0; i < shard_count(); i++) {
		assert_int_equal(found[i].status, MIGRATION_QUEUED);
		assert_true(migration_is_ready(&found[i]));
		assert_true(found[i].is_immediate_operation);
		assert_int_equal(found[i].is_view, is_view);
		assert_string_equal(found[i].ddl_action, action);
		assert_true(found[i].progress == 100);
		assert_true(found[i].reviewed_at_s >= found[i].requested_at_s);
		assert_true(found[i].ready_to_complete_at_s >= found[i].requested_at_s);
		assert_int_equal(found[i].started_at_s, 0);
		assert_int_equal(found[i].completed_at_s, 0);
	}
	assert_counts(complete(uuid), 1);
	found = await_rows(uuid, is_complete);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_false(found[i].postpone_completion);
		assert_true(found[i].completed_at_s >= found[i].requested_at_s - ROUNDED_S);
		assert_string_equal(found[i].message, "");
	}
}

/* §4 */
static void test_a_create_table_is_held_queued(void **state)
{
	const char *table = new_name(), *uuid = hold(new_context(), create_of(table));

	(void)state;
	await_rows(uuid, is_held);
	assert_undefined(table, NULL);
	assert_held_then_complete(uuid, "create", false);
	assert_defined(table, "`note` varchar(64)");
}

/* §4 */
static void test_a_drop_table_is_held_queued(void **state)
{
	const char *table = new_table(), *uuid = hold(new_context(), text("drop table %s", table));

	(void)state;
	await_rows(uuid, is_held);
	assert_defined(table, NULL);
	assert_held_then_complete(uuid, "drop", false);
	assert_undefined(table, NULL);
}

/* §4 */
static void test_views_are_held_queued(void **state)
{
	const char *table = new_table(), *view = new_name(), *uuid;

	(void)state;
	uuid = hold(new_context(), text("create view %s as select id from %s", view, table));
	await_rows(uuid, is_held);
	assert_undefined(view, NULL);
	assert_held_then_complete(uuid, "create", true);
	assert_defined(view, NULL);
	assert_undefined(view, "note");
	uuid = hold(new_context(), text("alter view %s as select id, note from %s", view, table));
	assert_held_then_complete(uuid, "alter", true);
	assert_defined(view, "note");
	uuid = hold(new_context(), text("drop view %s", view));
	assert_held_then_complete(uuid, "drop", true);
	assert_undefined(view, NULL);
	assert_defined(table, NULL);
}

/* §4, INSTANT: held QUEUED, special_plan, no artifacts, COMPLETE. */
static void test_an_instant_alter_is_held_queued(void **state)
{
	const char *table = new_table(), *uuid = new_uuid();
	const struct migration *found;

	(void)state;
	assert_counts(submit(uuid, new_context(), HELD " --prefer-instant-ddl", add_memo(table)), 1);
	await_rows(uuid, is_held);
	assert_undefined(table, "`memo`");
	assert_held_then_complete(uuid, "alter", false);
	found = rows(uuid);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_string_equal(found[i].special_plan, "{\"operation\":\"instant-ddl\"}");
		assert_string_equal(found[i].artifacts, "");
	}
	assert_defined(table, "`memo` int");
}

/* §4, cannot be instant: RUNNING although instant is preferred. */
static void test_an_alter_that_cannot_be_instant_is_held_running(void **state)
{
	const char *uuid = new_uuid();
	const struct migration *found;

	(void)state;
	assert_counts(submit(uuid, new_context(), HELD " --prefer-instant-ddl",
			     text("alter table %s modify note varchar(10) not null", new_table())),
		      1);
	found = await_rows(uuid, is_held);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_int_equal(found[i].status, MIGRATION_RUNNING);
		assert_false(found[i].is_immediate_operation);
	}
}

/* ---- "Ready" of an immediate operation says nothing about validity ---- */

/* §4: held and "ready" like a good one; FAILED after the release, rtc stays 1, progress 100. */
static void assert_held_then_failed(const char *sql, const char *errno_text)
{
	const char *uuid = hold(new_context(), sql);
	const struct migration *found;

	await_rows(uuid, is_held);
	assert_counts(complete(uuid), 1);
	found = await_rows(uuid, is_failed);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_says(found[i].message, errno_text);
		assert_true(found[i].ready_to_complete);
		assert_true(found[i].progress == 100);
		assert_false(found[i].postpone_completion);
		assert_int_equal(found[i].retries, 0);
	}
}

static void test_a_create_of_an_existing_table_fails_after_its_release(void **state)
{
	const char *table = new_table();

	(void)state;
	assert_held_then_failed(text("create table %s (id int primary key, other int)", table), "errno 1050");
	assert_undefined(table, "`other`");
}

static void test_a_drop_of_a_missing_table_fails_after_its_release(void **state)
{
	(void)state;
	assert_held_then_failed(text("drop table %s", new_name()), "errno 1146");
}

/* §4: the mysql strategy knows no hold: FAILED at review. */
static void test_the_mysql_strategy_cannot_be_held(void **state)
{
	const char *uuid = new_uuid(), *table = new_table();

	(void)state;
	assert_counts(submit(uuid, new_context(), "mysql --postpone-completion", add_memo(table)), 1);
	assert_says(await_rows(uuid, is_failed)[0].message,
		    "--postpone-completion not supported in 'mysql' strategy");
	assert_undefined(table, "`memo`");
}

/* ---- Complete ---- */

/* §7, Complete twice: the second OK 0/0, also of a complete row. */
static void test_a_second_complete_counts_nothing(void **state)
{
	const char *uuid = hold(new_context(), create_of(new_name()));

	(void)state;
	await_rows(uuid, is_held);
	assert_counts(complete(uuid), 1);
	assert_counts(complete(uuid), 0);
	await_rows(uuid, is_complete);
	assert_counts(complete(uuid), 0);
	await_rows(uuid, is_complete);
}

/* §7: OK, 0 on every shard. */
static void test_complete_of_an_unknown_uuid_counts_nothing(void **state)
{
	const char *uuid = new_uuid();

	(void)state;
	assert_counts(complete(uuid), 0);
	assert_no_row(uuid);
}

/* ---- One shard ---- */

/* §7, `complete vitess_shards`: 1 there and 0 elsewhere; the others stay held, whatever happens there. */
static void test_a_release_of_one_shard_leaves_the_others_held(void **state)
{
	const char *table = new_name(), *uuid = hold(new_context(), create_of(table));
	struct vtctld_reply reply;

	(void)state;
	await_rows(uuid, is_held);
	reply = control(uuid, "complete", shard_name(0));
	assert_counts_on(reply, 1, 0);
	assert_int_equal(reply.effect.uuid_count, 0);
	await_first(uuid, is_complete);
	for (size_t i = 1; i < shard_count(); i++) {
		assert_true(is_held(&rows(uuid)[i]));
		assert_null(definition(i, table));
	}
	assert_non_null(definition(0, table));
	assert_counts_on(complete(uuid), 0, 1);
	await_rows(uuid, is_complete);
	assert_defined(table, NULL);
}

/* §7, a typo in the name of the shard: OK, and nothing. */
static void test_a_release_of_no_such_shard_counts_nothing(void **state)
{
	const char *uuid = hold(new_context(), create_of(new_name()));

	(void)state;
	await_rows(uuid, is_held);
	assert_counts(control(uuid, "complete", "no-such-shard"), 0);
	await_rows(uuid, is_held);
}

/* ---- Duplicates ---- */

/* The status is written a moment before the message that says why. */
static bool is_complete_with_message(const struct migration *row)
{
	return is_complete(row) && *row->message;
}

static void assert_duplicate(const char *uuid, const char *of, const char *context)
{
	const struct migration *found = await_rows(uuid, is_complete_with_message);

	for (size_t i = 0; i < shard_count(); i++) {
		assert_string_equal(found[i].message,
				    text("duplicate DDL as %s for migration context %s", of, context));
		assert_true(migration_says_duplicate(&found[i]));
		assert_true(found[i].postpone_completion);
		assert_false(found[i].ready_to_complete);
		assert_string_equal(found[i].artifacts, "");
	}
}

/* §0.5 and §3: COMPLETE by itself, the hold still on; while the first is held the second waits in `ready`;
 * letter case does not count. */
static void test_a_duplicate_of_its_context_completes_without_a_release(void **state)
{
	const char *context = new_context(), *table = new_table();
	const char *first = hold(context, add_memo(table)), *second, *third;

	(void)state;
	await_rows(first, is_held);
	second = hold(context, add_memo(table));
	await_rows(second, is_ready);
	assert_counts(complete(first), 1);
	await_rows(first, is_complete);
	assert_duplicate(second, first, context);
	run_direct(text("alter table %s drop column memo", table));
	third = hold(context, text("ALTER TABLE %s ADD COLUMN MEMO INT", table));
	await_rows(third, is_complete_with_message);
	assert_says(rows(third)[0].message, "duplicate DDL as ");
	assert_undefined(table, "memo");
}

int contract_hold(void)
{
	const struct CMUnitTest hold_tests[] = {
		TEST(test_an_alter_is_held_running_until_it_is_released),
		TEST(test_a_release_before_the_hold_is_reached_counts),
		TEST(test_a_held_alter_makes_another_one_wait_in_ready),
		TEST(test_a_held_create_does_not_block_an_alter),
		TEST(test_a_create_table_is_held_queued),
		TEST(test_a_drop_table_is_held_queued),
		TEST(test_views_are_held_queued),
		TEST(test_an_instant_alter_is_held_queued),
		TEST(test_an_alter_that_cannot_be_instant_is_held_running),
		TEST(test_a_create_of_an_existing_table_fails_after_its_release),
		TEST(test_a_drop_of_a_missing_table_fails_after_its_release),
		TEST(test_the_mysql_strategy_cannot_be_held),
		TEST(test_a_second_complete_counts_nothing),
		TEST(test_complete_of_an_unknown_uuid_counts_nothing),
		TEST(test_a_release_of_one_shard_leaves_the_others_held),
		TEST(test_a_release_of_no_such_shard_counts_nothing),
		TEST(test_a_duplicate_of_its_context_completes_without_a_release),
	};

	return cmocka_run_group_tests(hold_tests, NULL, NULL);
}
