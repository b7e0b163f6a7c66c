/* Cancel and retry, and the failures that come before any release. */
#include "vtctld_fixture.h"

static const char *add_memo(const char *table)
{
	return text("alter table %s add column memo int", table);
}

static const char *create_of(const char *table)
{
	return text("create table %s " COLUMNS, table);
}

/* ---- Cancel ---- */

/* §2: Cancel of a held one, 1/1; message; completed_at set. Complete on it strips the hold, status stays. */
static void assert_cancelled_and_stripped(const char *uuid)
{
	const struct migration *found;

	assert_counts(cancel(uuid), 1);
	found = await_rows(uuid, is_cancelled);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_string_equal(found[i].message, "CANCEL issued by user");
		assert_true(found[i].completed_at_s >= found[i].requested_at_s - ROUNDED_S);
		assert_true(found[i].postpone_completion);
		assert_int_equal(found[i].retries, 0);
	}
	assert_counts(cancel(uuid), 0);
	assert_counts(complete(uuid), 1);
	assert_counts(complete(uuid), 0);
	found = await_rows(uuid, is_cancelled);
	for (size_t i = 0; i < shard_count(); i++)
		assert_false(found[i].postpone_completion);
}

/* §2 */
static void test_a_held_alter_is_cancelled(void **state)
{
	const char *table = new_table(), *uuid = hold(new_context(), add_memo(table));

	(void)state;
	await_rows(uuid, is_held);
	assert_cancelled_and_stripped(uuid);
	assert_undefined(table, "`memo`");
}

/* §2 */
static void test_a_held_create_is_cancelled(void **state)
{
	const char *table = new_name(), *uuid = hold(new_context(), create_of(table));

	(void)state;
	await_rows(uuid, is_held);
	assert_cancelled_and_stripped(uuid);
	assert_undefined(table, NULL);
}

/* §2, Cancel of a complete row: OK 0/0. */
static void test_cancel_of_a_complete_one_counts_nothing(void **state)
{
	const char *uuid = hold(new_context(), create_of(new_name()));

	(void)state;
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_counts(cancel(uuid), 0);
	assert_string_equal(await_rows(uuid, is_complete)[0].message, "");
}

/* §7: code 2, "migration not found" on every shard. */
static void test_cancel_of_an_unknown_uuid_is_refused(void **state)
{
	struct vtctld_reply reply = cancel(new_uuid());

	(void)state;
	assert_refused(reply, "migration not found");
	assert_says(reply.text, "\"SuccessShards\": []");
	for (size_t i = 0; i < shard_count(); i++)
		assert_says(reply.text, text("\"Shard\": \"%s\"", shard_name(i)));
}

/* ---- Failures ---- */

/* §12: FAILED at once by a duplicate column; hold kept, not ready, not retried; §2: Complete strips the hold,
 * the status stays. */
static void test_an_alter_that_mysql_refuses_fails_by_itself(void **state)
{
	const char *table = new_table();
	const char *uuid = hold(new_context(), text("alter table %s add column note int", table));
	const struct migration *found = await_rows(uuid, is_failed);

	(void)state;
	for (size_t i = 0; i < shard_count(); i++) {
		assert_says(found[i].message, "Duplicate column name 'note' (errno 1060) (sqlstate 42S21)");
		assert_true(found[i].postpone_completion);
		assert_false(found[i].ready_to_complete);
		assert_int_equal(found[i].retries, 0);
		assert_true(found[i].started_at_s > 0);
		assert_true(found[i].completed_at_s >= found[i].started_at_s - ROUNDED_S);
	}
	assert_counts(complete(uuid), 1);
	assert_counts(cancel(uuid), 0);
	found = await_rows(uuid, is_failed);
	for (size_t i = 0; i < shard_count(); i++)
		assert_false(found[i].postpone_completion);
}

/* §14: ALTER of a missing table: OK 1 per shard, FAILED at review. */
static void test_an_alter_of_a_missing_table_fails_at_review(void **state)
{
	const char *uuid = hold(new_context(), add_memo(new_name()));
	const struct migration *found = await_rows(uuid, is_failed);

	(void)state;
	for (size_t i = 0; i < shard_count(); i++) {
		assert_says(found[i].message, "errno 1146");
		assert_true(found[i].postpone_completion);
		assert_false(found[i].ready_to_complete);
		assert_int_equal(found[i].started_at_s, 0);
		assert_int_equal(found[i].retries, 0);
	}
}

/* ---- Retry ---- */

static bool is_over(const struct migration *row)
{
	return is_complete(row) || is_cancelled(row);
}

static const struct migration *before_retry;

/* By its own times; what is left of the last run says nothing (§0.4). */
static bool is_held_anew(const struct migration *row)
{
	return is_held(row) && row->retries == 1 && row->started_at_s >= before_retry->completed_at_s;
}

/* §2: a retried ALTER is held again; readiness, progress and the first ready_to_complete_at are leftovers. */
static void test_a_cancelled_alter_submitted_again_is_held_anew(void **state)
{
	const char *context = new_context(), *table = new_table(), *sql = add_memo(table);
	const char *uuid = hold(context, sql);
	const struct migration *before = await_rows(uuid, is_held), *after;

	(void)state;
	assert_counts(cancel(uuid), 1);
	before_retry = await_rows(uuid, is_cancelled);
	assert_counts(submit(uuid, context, HELD, sql), 1);
	after = await_rows(uuid, is_held_anew);
	for (size_t i = 0; i < shard_count(); i++)
		assert_int_equal(after[i].ready_to_complete_at_s, before[i].ready_to_complete_at_s);
	assert_undefined(table, "`memo`");
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, "`memo` int");
}

/* §2, "Complete on a cancelled row still holding": a later retry is not held. */
static void test_a_cancelled_one_that_was_released_runs_through_when_retried(void **state)
{
	const char *context = new_context(), *table = new_name(), *sql = create_of(table);
	const char *uuid = hold(context, sql);

	(void)state;
	await_rows(uuid, is_held);
	assert_counts(cancel(uuid), 1);
	assert_counts(complete(uuid), 1);
	assert_counts(submit(uuid, context, HELD, sql), 1);
	await_rows(uuid, is_complete);
	assert_int_equal(rows(uuid)[0].retries, 1);
	assert_defined(table, NULL);
}

/* Complete, then Cancel at once. Whether the cut-over comes first is a race: false, and all is complete or
 * cancelled, if it did on any shard. */
static bool release_and_cancel(const char *uuid)
{
	struct vtctld_reply reply;
	bool in_time = true;

	await_rows(uuid, is_held);
	assert_counts(complete(uuid), 1);
	reply = cancel(uuid);
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	for (size_t i = 0; i < shard_count(); i++)
		in_time = in_time && reply.effect.counts[i].rows == 1;
	await_rows(uuid, in_time ? is_cancelled : is_over);
	return in_time;
}

/* §2: Complete, then Cancel at once, then a retry: COMPLETE with no further Complete. */
static void test_a_released_alter_that_was_cancelled_runs_through_when_retried(void **state)
{
	const char *context = new_context(), *table, *sql, *uuid;
	unsigned tries = 0;

	(void)state;
	do {
		assert_in_range(++tries, 1, 20);
		table = new_table();
		sql = add_memo(table);
		uuid = hold(context, sql);
	} while (!release_and_cancel(uuid));
	assert_undefined(table, "`memo`");
	assert_counts(submit(uuid, context, HELD, sql), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, "`memo` int");
}

/* §7, `complete vitess_shards`, and §1: Cancel, resubmission and Complete reach the shards that are not
 * complete, and those alone: resubmission is the repair. */
static void test_what_one_shard_has_completed_no_verb_touches_again(void **state)
{
	const char *context = new_context(), *table = new_name(), *sql = create_of(table);
	const char *uuid = hold(context, sql);
	const struct migration *found;

	(void)state;
	await_rows(uuid, is_held);
	assert_counts_on(control(uuid, "complete", shard_name(0)), 1, 0);
	await_first(uuid, is_complete);
	assert_counts_on(cancel(uuid), 0, 1);
	assert_true(is_complete(&await_others(uuid, is_cancelled)[0]));
	assert_counts_on(submit(uuid, context, HELD, sql), 0, 1);
	found = await_others(uuid, is_held);
	for (size_t i = 0; i < shard_count(); i++)
		assert_int_equal(found[i].retries, i > 0);
	assert_counts_on(complete(uuid), 0, 1);
	await_rows(uuid, is_complete);
	assert_defined(table, NULL);
}

/* vtctld parses the verb: one that takes no shards is refused with them, and does nothing. */
static void test_a_cancel_of_one_shard_is_no_statement(void **state)
{
	const char *uuid = hold(new_context(), create_of(new_name()));

	(void)state;
	await_rows(uuid, is_held);
	assert_refused(control(uuid, "cancel", shard_name(0)),
		       "failed to parse sql: alter vitess_migration ");
	await_rows(uuid, is_held);
}

int contract_cancel(void)
{
	const struct CMUnitTest cancel_tests[] = {
		TEST(test_a_held_alter_is_cancelled),
		TEST(test_a_held_create_is_cancelled),
		TEST(test_cancel_of_a_complete_one_counts_nothing),
		TEST(test_cancel_of_an_unknown_uuid_is_refused),
		TEST(test_an_alter_that_mysql_refuses_fails_by_itself),
		TEST(test_an_alter_of_a_missing_table_fails_at_review),
		TEST(test_a_cancelled_alter_submitted_again_is_held_anew),
		TEST(test_a_cancelled_one_that_was_released_runs_through_when_retried),
		TEST(test_what_one_shard_has_completed_no_verb_touches_again),
		TEST(test_a_cancel_of_one_shard_is_no_statement),
		TEST(test_a_released_alter_that_was_cancelled_runs_through_when_retried),
	};

	return cmocka_run_group_tests(cancel_tests, NULL, NULL);
}
