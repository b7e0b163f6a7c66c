/* Submitting: a new uuid, and the same one again in every state it can be in. */
#include "vtctld_fixture.h"

#include <ctype.h>

static const char *create_of(const char *table)
{
	return text("create table %s " COLUMNS, table);
}

static void assert_retries(const char *uuid, int64_t retries)
{
	const struct migration *found = rows(uuid);

	for (size_t i = 0; i < shard_count(); i++)
		assert_int_equal(found[i].retries, retries);
}

/* Nothing of it has moved, but for what the tablet notes by itself: a held CREATE is ready a moment before
 * its eta is written. */
static void assert_unmoved(const char *uuid, const struct migration *before)
{
	const struct migration *after = rows(uuid);

	for (size_t i = 0; i < shard_count(); i++) {
		struct migration was = before[i];

		was.liveness_s = after[i].liveness_s;
		was.eta_s = after[i].eta_s;
		assert_same_row(&was, &after[i]);
	}
}

/* §1: OK 1/1 for a new uuid; §7: the statement as Vitess writes it. */
static void test_a_new_uuid_makes_one_row_on_every_shard(void **state)
{
	const char *uuid = new_uuid(), *context = new_context(), *table = new_name();
	struct vtctld_reply reply = submit(uuid, context, HELD, create_of(table));
	const struct migration *found;

	(void)state;
	assert_counts(reply, 1);
	assert_int_equal(reply.effect.uuid_count, 1);
	assert_string_equal(reply.effect.uuids[0], uuid);
	found = rows(uuid);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_string_equal(found[i].uuid, uuid);
		assert_string_equal(found[i].keyspace, keyspace());
		assert_string_equal(found[i].context, context);
		assert_string_equal(found[i].table, table);
		assert_string_equal(found[i].options, "--postpone-completion --singleton-context");
		assert_string_equal(found[i].ddl_action, "create");
		assert_int_equal(found[i].strategy, 0);
		assert_int_equal(found[i].status, MIGRATION_QUEUED);
		assert_int_equal(found[i].retries, 0);
		assert_true(found[i].requested_at_s > 0);
		assert_true(found[i].postpone_completion);
		assert_false(found[i].postpone_launch);
		assert_true(tablet_alias_equal(&found[i].tablet, &shard_record(i)->primary));
	}
}

/* §7, "statement as stored": comments dropped, blanks folded, literals in single quotes. */
static void test_the_statement_is_stored_as_vitess_writes_it(void **state)
{
	const char *table = new_table();
	const char *uuid = hold(new_context(), text("ALTER  TABLE /* why */ %s\n ADD COLUMN Cx VARCHAR(10)"
						    " DEFAULT \"A\" -- so",
						    table));

	(void)state;
	for (size_t i = 0; i < shard_count(); i++)
		assert_string_equal(rows(uuid)[i].statement,
				    text("alter table %s add column Cx VARCHAR(10) default 'A'", table));
}

/* §1, state queued: OK 0/0 with --singleton-context. */
static void test_a_queued_uuid_submitted_again_stays_as_it_is(void **state)
{
	const char *context = new_context(), *sql = create_of(new_name());
	const char *uuid = hold(context, sql);
	const struct migration *before = await_rows(uuid, is_held);

	(void)state;
	assert_counts(submit(uuid, context, HELD, sql), 0);
	assert_unmoved(uuid, before);
}

/* §1, state running, held: OK 0/0 with no flag and with --singleton-context; §1, columns --singleton and
 * --singleton-table: code 2 with its own uuid as sample, and without a prefix. */
static void test_a_running_held_uuid_submitted_again_stays_as_it_is(void **state)
{
	const char *context = new_context(), *table = new_table();
	const char *sql = text("alter table %s add column memo int", table);
	const char *uuid = hold(context, sql);
	const struct migration *before = await_rows(uuid, is_held);

	(void)state;
	assert_counts(submit(uuid, context, HELD, sql), 0);
	assert_counts(submit(uuid, context, HELD_BESIDE, sql), 0);
	assert_refused(
		submit(uuid, context, "vitess --singleton", sql),
		text("desc = singleton migration rejected: found pending migrations [sample: %s]", uuid));
	assert_refused(submit(uuid, context, "vitess --singleton-table", sql),
		       text("desc = singleton-table migration rejected: found pending migration: %s for the "
			    "same table: %s",
			    uuid, table));
	for (size_t i = 0; i < shard_count(); i++) {
		assert_true(is_held(&rows(uuid)[i]));
		assert_int_equal(rows(uuid)[i].retries, 0);
		assert_string_equal(rows(uuid)[i].options, before[i].options);
		assert_int_equal(rows(uuid)[i].started_at_s, before[i].started_at_s);
	}
}

/* §1, state complete: OK 0/0; hold, readiness and message untouched. */
static void test_a_complete_uuid_submitted_again_stays_as_it_is(void **state)
{
	const char *context = new_context(), *sql = create_of(new_name());
	const char *uuid = hold(context, sql);
	const struct migration *before;

	(void)state;
	await_rows(uuid, is_held);
	assert_counts(complete(uuid), 1);
	before = await_rows(uuid, is_complete);
	assert_counts(submit(uuid, context, HELD, sql), 0);
	assert_counts(submit(uuid, context, "vitess --singleton", sql), 0);
	assert_unmoved(uuid, before);
}

/* §1, state cancelled: OK 1/1, queued, retries + 1; §4: a retried CREATE is held as before. */
static void test_a_cancelled_uuid_submitted_again_is_queued_anew(void **state)
{
	const char *context = new_context(), *table = new_name(), *sql = create_of(table);
	const char *uuid = hold(context, sql);
	const struct migration *found;

	(void)state;
	await_rows(uuid, is_held);
	assert_counts(cancel(uuid), 1);
	await_rows(uuid, is_cancelled);
	assert_counts(submit(uuid, context, HELD, sql), 1);
	found = await_rows(uuid, is_held);
	for (size_t i = 0; i < shard_count(); i++) {
		assert_int_equal(found[i].retries, 1);
		assert_string_equal(found[i].message, "");
	}
	assert_undefined(table, NULL);
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, "`note`");
}

/* §1, state failed: OK 1/1, retries + 1, each time; §14: ALTER of a missing table. */
static void test_a_failed_uuid_submitted_again_is_tried_anew(void **state)
{
	const char *context = new_context(), *sql = text("alter table %s add column memo int", new_name());
	const char *uuid = hold(context, sql);

	(void)state;
	for (int64_t retries = 0; retries < 3; retries++) {
		await_rows(uuid, is_failed);
		assert_retries(uuid, retries);
		assert_says(rows(uuid)[0].message, "1146");
		assert_counts(submit(uuid, context, HELD, sql), 1);
	}
	await_rows(uuid, is_failed);
	assert_retries(uuid, 3);
}

/* §1, cancelled, another context pending: OK 1/1 with no flag, code 2 with --singleton-context. */
static void test_a_cancelled_uuid_is_refused_while_another_context_is_pending(void **state)
{
	const char *context = new_context(), *sql = create_of(new_name());
	const char *uuid = hold(context, sql), *other_context = new_context(), *other;

	(void)state;
	assert_counts(cancel(uuid), 1);
	await_rows(uuid, is_cancelled);
	other = hold(other_context, create_of(new_name()));
	assert_refused(submit(uuid, context, HELD, sql),
		       text("desc = singleton-context migration rejected: found pending migration: %s in "
			    "different context: %s",
			    other, other_context));
	await_rows(uuid, is_cancelled);
	assert_retries(uuid, 0);
	assert_counts(submit(uuid, context, HELD_BESIDE, sql), 1);
	await_rows(uuid, is_held);
}

/* §1, "text of the refusal": the prefix is there for a new uuid only; §1: refused on all shards. */
static void test_a_new_uuid_is_refused_while_another_context_is_pending(void **state)
{
	const char *first_context = new_context(), *second = new_uuid();
	const char *first = hold(first_context, create_of(new_name()));

	(void)state;
	assert_refused(submit(second, new_context(), HELD, create_of(new_name())),
		       text("submitting migration %s: singleton-context migration rejected: found pending "
			    "migration: %s in different context: %s",
			    second, first, first_context));
	assert_no_row(second);
}

/* §1, other context: code 2, the row is as it was; §1, "full form of one error". */
static void test_another_context_is_refused_under_the_same_uuid(void **state)
{
	const char *context = new_context(), *other = new_context(), *sql = create_of(new_name());
	const char *uuid = hold(context, sql);
	const struct migration *before = await_rows(uuid, is_held);
	struct vtctld_reply reply = submit(uuid, other, HELD_BESIDE, sql);
	char alias[ALIAS_TEXT_SIZE];

	(void)state;
	assert_refused(reply, text("migration rejected: found migration %s with different context: %s than "
				   "submitted migration's context: %s",
				   uuid, context, other));
	assert_says(reply.text, "schema change failed, ExecuteResult: {");
	assert_says(reply.text, "\"SuccessShards\": []");
	for (size_t i = 0; i < shard_count(); i++) {
		assert_says(reply.text, text("\"Shard\": \"%s\"", shard_name(i)));
		tablet_alias_format(&shard_record(i)->primary, alias);
		assert_says(reply.text, text("TabletManager.ExecuteQuery on %s: rpc error: code = ", alias));
	}
	assert_unmoved(uuid, before);
}

/* §1, other SQL: OK 0/0, stored statement and options unchanged. */
static void test_another_statement_under_the_same_uuid_is_ignored(void **state)
{
	const char *context = new_context(), *table = new_name(), *other = new_name();
	const char *uuid = hold(context, create_of(table));
	const struct migration *before = await_rows(uuid, is_held);

	(void)state;
	assert_counts(submit(uuid, context, "vitess", create_of(other)), 0);
	assert_unmoved(uuid, before);
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_defined(table, NULL);
	assert_undefined(other, NULL);
}

/* §1, uuid in upper case: OK 0/0, one row; uuid_list echoes the form that was sent. */
static void test_the_uuid_is_compared_without_regard_to_case(void **state)
{
	const char *context = new_context(), *sql = create_of(new_name());
	const char *uuid = hold(context, sql);
	char *upper = arena_strdup(arena(), uuid);
	struct vtctld_reply reply;

	(void)state;
	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	reply = submit(upper, context, HELD, sql);
	assert_counts(reply, 0);
	assert_string_equal(reply.effect.uuids[0], upper);
	for (size_t i = 0; i < shard_count(); i++)
		assert_string_equal(rows(upper)[i].uuid, uuid);
	assert_counts(cancel(upper), 1);
	await_rows(uuid, is_cancelled);
	assert_counts(complete(upper), 1);
	assert_counts(complete(uuid), 0);
}

/* §14, context of 1100 bytes: stored cut to 1024, so that the full text is another context. */
static void test_a_context_longer_than_its_column_is_cut(void **state)
{
	char *context = arena_alloc(arena(), 1101);
	const char *sql = create_of(new_name()), *uuid, *start = new_context();

	(void)state;
	memset(context, 'x', 1100);
	memcpy(context, start, strlen(start));
	uuid = hold(context, sql);
	assert_int_equal(strlen(rows(uuid)[0].context), 1024);
	assert_refused(submit(uuid, context, HELD_BESIDE, sql), "different context");
	context[1024] = '\0';
	assert_counts(submit(uuid, context, HELD, sql), 0);
}

int contract_submit(void)
{
	const struct CMUnitTest submit_tests[] = {
		TEST(test_a_new_uuid_makes_one_row_on_every_shard),
		TEST(test_the_statement_is_stored_as_vitess_writes_it),
		TEST(test_a_queued_uuid_submitted_again_stays_as_it_is),
		TEST(test_a_running_held_uuid_submitted_again_stays_as_it_is),
		TEST(test_a_complete_uuid_submitted_again_stays_as_it_is),
		TEST(test_a_cancelled_uuid_submitted_again_is_queued_anew),
		TEST(test_a_failed_uuid_submitted_again_is_tried_anew),
		TEST(test_a_cancelled_uuid_is_refused_while_another_context_is_pending),
		TEST(test_a_new_uuid_is_refused_while_another_context_is_pending),
		TEST(test_another_context_is_refused_under_the_same_uuid),
		TEST(test_another_statement_under_the_same_uuid_is_ignored),
		TEST(test_the_uuid_is_compared_without_regard_to_case),
		TEST(test_a_context_longer_than_its_column_is_cut),
	};

	return cmocka_run_group_tests(submit_tests, NULL, NULL);
}
