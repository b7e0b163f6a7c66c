/*
 * The model of a fleet behaves as Vitess 24.0.4 was measured to when things go wrong: tablets,
 * reparents, the keyspace lock, cut-overs under contention, and the faults that a test plans.
 */
#include "fleet_fixture.h"

#include "vtddl/error.h"

static struct tablet_alias alias_of(uint32_t uid)
{
	struct tablet_alias alias = {.cell = "zone1", .uid = uid};

	return alias;
}

static struct vtctld_reply read_direct(struct fixture *f, uint32_t uid, const char *uuid)
{
	return call(f, (struct vtctld_request){.method = VTCTLD_EXECUTE_FETCH_AS_DBA,
					       .tablet = alias_of(uid),
					       .sql = migration_select(&f->arena, uuid, NULL),
					       .limit = 100,
					       .timeout_ms = 5000});
}

/* ---- Tablets ---- */

static void test_a_killed_primary_is_silence_to_the_deadline_and_the_live_shard_is_served(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);
	int64_t started_ms;

	fleet_tablet(f->fleet, "80-", TABLET_KILL);
	request.timeout_ms = 20000;
	started_ms = f->now_ms;
	assert_error(call(f, request), 4, "deadline");
	assert_int_equal(f->now_ms - started_ms, 20000);
	assert_int_equal(row(f, A, U1)->status, MIGRATION_RUNNING);
	assert_null(fleet_row(f->fleet, B, U1));
	assert_int_equal(read_rows(f, U1).code, 4);
	fleet_tablet(f->fleet, "80-", TABLET_START);
	wait_ms(f, 1000);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 1);
}

static void test_a_call_that_waits_for_a_paused_tablet_goes_on_when_it_resumes(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = {
	    .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .uuid = U1, .timeout_ms = 120000};
	struct vtctld_reply reply;

	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	fleet_tablet(f->fleet, "-80", TABLET_PAUSE);
	start(f, request);
	wait_ms(f, 64000);
	assert_false(fleet_take(f->fleet, &reply));
	fleet_tablet(f->fleet, "-80", TABLET_RESUME);
	reply = await(f, 100);
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.migrations.count, 2);
}

static void test_a_shard_that_was_not_reached_by_the_deadline_never_is(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);

	fleet_tablet(f->fleet, "-80", TABLET_PAUSE);
	request.timeout_ms = 5000;
	assert_int_equal(call(f, request).code, 4);
	fleet_tablet(f->fleet, "-80", TABLET_RESUME);
	wait_ms(f, 60000);
	assert_null(fleet_row(f->fleet, A, U1));
	assert_non_null(fleet_row(f->fleet, B, U1));
}

static void test_a_stopped_tablet_is_a_quick_error(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;
	int64_t started_ms = f->now_ms;

	fleet_tablet(f->fleet, "80-", TABLET_STOP);
	reply = submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_error(reply, 2, "tablet is shutdown");
	assert_in_range(f->now_ms - started_ms, 10, 30);
	assert_non_null(fleet_row(f->fleet, A, U1));
	assert_error(read_rows(f, U1), 2, "tablet is shutdown");
	reply = call(f, (struct vtctld_request){.method = VTCTLD_GET_TABLETS});
	assert_int_equal(reply.tablets.count, 2);
	assert_true(reply.tablets.items[B].shutdown_s > 0 && reply.tablets.items[B].type == TABLET_PRIMARY);
}

static void test_a_restart_leaves_readiness_for_10_s_then_it_is_gone_until_a_tick_after_30_s(void **state)
{
	struct fixture *f = *state;

	hold(f);
	fleet_tablet(f->fleet, "-80", TABLET_KILL);
	wait_ms(f, 5000);
	fleet_tablet(f->fleet, "-80", TABLET_START);
	wait_ms(f, 9900);
	assert_true(row(f, A, U1)->ready_to_complete);
	wait_ms(f, 200);
	assert_false(row(f, A, U1)->ready_to_complete);
	assert_int_equal(row(f, A, U1)->status, MIGRATION_RUNNING);
	wait_ms(f, 19800);
	assert_false(row(f, A, U1)->ready_to_complete);
	wait_ms(f, 61000);
	assert_true(row(f, A, U1)->ready_to_complete && row(f, A, U1)->postpone_completion);
}

static void test_a_kill_before_the_rename_recovers_and_after_it_leaves_a_done_row_running(void **state)
{
	struct fixture *f = *state;

	hold(f);
	wait_ms(f, 30000);
	complete(f, U1);
	while (strncmp(row(f, A, U1)->stage, "stopping vreplication", 21) != 0)
		wait_ms(f, 1);
	fleet_tablet(f->fleet, "-80", TABLET_KILL);
	while (strncmp(row(f, B, U1)->stage, "waiting for RENAME", 18) != 0)
		wait_ms(f, 1);
	fleet_tablet(f->fleet, "80-", TABLET_KILL);
	wait_ms(f, 1000);
	fleet_tablet(f->fleet, "-80", TABLET_START);
	fleet_tablet(f->fleet, "80-", TABLET_START);
	assert_false(has_column(f, A, "`note2`"));
	assert_true(has_column(f, B, "`note2`"));
	wait_ms(f, 150000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_RUNNING);
	assert_true(row(f, B, U1)->ready_to_complete && !row(f, B, U1)->postpone_completion);
	cancel(f, U1);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_CANCELLED);
	fleet_retry(f->fleet, U1, "80-");
	wait_ms(f, 2000);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_FAILED);
	assert_non_null(strstr(row(f, B, U1)->message, "Duplicate column name"));
}

/* ---- Reparents ---- */

static void
test_a_planned_reparent_hides_the_shard_for_a_moment_and_refuses_effects_for_half_a_second(void **state)
{
	static const char *const texts[] = {"online DDL is disabled", "SHUTTING_DOWN", "NOT_SERVING"};
	struct fixture *f = *state;
	struct vtctld_reply reply;

	hold(f);
	fleet_reparent(f->fleet, "-80", false);
	reply = read_rows(f, U1);
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.migrations.count, 1);
	assert_string_equal(reply.migrations.items[0].shard, "80-");
	for (size_t i = 0; i < 3; i++, wait_ms(f, 160))
		assert_error(submit(f, U1, "ctx", HELD, ADD_NOTE2), 2, texts[i]);
	wait_ms(f, 100);
	assert_int_equal(read_rows(f, U1).migrations.count, 2);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 0);
	wait_ms(f, 1000);
	assert_int_equal(row(f, A, U1)->tablet.uid, 102);
	assert_true(row(f, A, U1)->postpone_completion);
	complete(f, U1);
	wait_ms(f, 5000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_COMPLETE);
}

static void test_a_dead_old_primary_blinds_only_the_row_read_until_it_is_forgotten(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	hold(f);
	fleet_tablet(f->fleet, "-80", TABLET_KILL);
	fleet_reparent(f->fleet, "-80", true);
	assert_int_equal(read_rows(f, U1).code, 4);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 0);
	assert_int_equal(read_direct(f, 102, U1).result.row_count, 1);
	assert_int_equal(read_direct(f, 101, U1).code, 4);
	reply = call(f, (struct vtctld_request){.method = VTCTLD_FIND_ALL_SHARDS});
	assert_int_equal(reply.shards.items[A].primary.uid, 102);
	reply = call(f, (struct vtctld_request){.method = VTCTLD_GET_TABLETS});
	assert_int_equal(reply.tablets.count, 3);
	assert_int_equal(reply.tablets.items[1].type, TABLET_UNKNOWN);
	fleet_forget_dead(f->fleet, "-80");
	assert_int_equal(read_rows(f, U1).migrations.count, 2);
	assert_int_equal(read_direct(f, 101, U1).code, 2);
}

static void test_a_dead_old_primary_that_starts_again_is_a_replica(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	hold(f);
	fleet_reparent(f->fleet, "-80", true);
	fleet_tablet(f->fleet, "-80", TABLET_START);
	assert_int_equal(read_rows(f, U1).migrations.count, 2);
	reply = call(f, (struct vtctld_request){.method = VTCTLD_GET_TABLETS});
	assert_int_equal(reply.tablets.items[1].type, TABLET_REPLICA);
}

/* ---- The keyspace lock ---- */

static void test_the_lock_is_first_come_first_served_lost_after_30_s_and_waited_for_45_s(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = {.method = VTCTLD_COMPLETE, .uuid = U1, .timeout_ms = 100000};
	uint64_t first, second, third;
	struct vtctld_reply reply;
	int64_t started_ms;

	hold(f);
	fleet_tablet(f->fleet, "80-", TABLET_PAUSE);
	started_ms = f->now_ms;
	first = start(f, request);
	wait_ms(f, 100);
	second = start(f, request);
	wait_ms(f, 10);
	third = start(f, request);
	wait_ms(f, 29800);
	assert_false(fleet_take(f->fleet, &reply));
	wait_ms(f, 300); /* the second is in: the lock went with its lease */
	reply = await(f, 20000);
	assert_int_equal(reply.tag, third);
	assert_error(reply, 2, "lockErr in ApplySchemaKeyspace commerce: deadline exceeded");
	assert_non_null(strstr(reply.text, "\"SuccessShards\": null"));
	assert_in_range(f->now_ms - started_ms, 45000, 45300);
	fleet_tablet(f->fleet, "80-", TABLET_RESUME);
	reply = await(f, 1000); /* both went on; the first had lost its lock meanwhile */
	assert_int_equal(reply.tag, first);
	assert_error(reply, 2, "unlockErr in ApplySchemaKeyspace commerce: node doesn't exist: lease");
	assert_int_equal(await(f, 1000).tag, second);
}

static void test_a_success_after_more_than_30_s_is_an_error_although_all_is_done(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	fleet_tablet(f->fleet, "80-", TABLET_PAUSE);
	start(f, submit_of(U1, "ctx", HELD, ADD_NOTE2));
	wait_ms(f, 40000);
	fleet_tablet(f->fleet, "80-", TABLET_RESUME);
	reply = await(f, 1000);
	assert_error(reply, 2, "unlockErr in ApplySchemaKeyspace");
	assert_non_null(strstr(reply.text, "\"FailedShards\": []"));
	assert_non_null(fleet_row(f->fleet, B, U1));
}

static void test_the_lock_of_a_client_that_went_away_is_free_within_a_second(void **state)
{
	struct fixture *f = *state;
	uint64_t tag;

	fleet_tablet(f->fleet, "80-", TABLET_PAUSE);
	tag = start(f, submit_of(U1, "ctx", HELD, ADD_NOTE2));
	wait_ms(f, 100);
	fleet_abandon(f->fleet, tag);
	fleet_tablet(f->fleet, "80-", TABLET_RESUME);
	start(f, submit_of(U1, "ctx", HELD, ADD_NOTE2));
	assert_counts(await(f, 1000), 0, 1); /* the paused shard had not executed the first one */
}

static void test_the_lock_of_a_dead_vtctld_stays_for_its_30_s(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);
	struct vtctld_reply reply;
	int64_t started_ms = f->now_ms;

	fleet_tablet(f->fleet, "80-", TABLET_PAUSE);
	start(f, request);
	wait_ms(f, 100);
	fleet_vtctld(f->fleet, false);
	assert_error(await(f, 10), 14, "error reading from server: EOF");
	reply = call(f, request);
	assert_int_equal(reply.code, 14);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	fleet_tablet(f->fleet, "80-", TABLET_RESUME);
	fleet_vtctld(f->fleet, true);
	assert_int_equal(read_rows(f, U1).migrations.count, 1);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 0, 1);
	assert_in_range(f->now_ms - started_ms, 29000, 30100);
}

static void test_a_short_deadline_tells_nothing_about_the_effect(void **state)
{
	struct fixture *f = *state;
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);

	request.timeout_ms = 4;
	assert_int_equal(call(f, request).code, 4);
	assert_null(fleet_row(f->fleet, A, U1));
	wait_ms(f, 1000);
	request.timeout_ms = 10;
	assert_int_equal(call(f, request).code, 4);
	assert_non_null(fleet_row(f->fleet, A, U1));
	assert_non_null(fleet_row(f->fleet, B, U1));
}

/* ---- Cut-over ---- */

static void test_a_blocked_cut_over_is_tried_again_after_a_minute_and_keeps_its_message(void **state)
{
	struct fixture *f = *state;

	hold(f);
	wait_ms(f, 30000);
	fleet_block_cutover(f->fleet, "80-", true);
	complete(f, U1);
	wait_ms(f, 4500);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_RUNNING);
	assert_string_equal(row(f, B, U1)->stage, "locking tables");
	wait_ms(f, 9500);
	assert_non_null(strstr(row(f, B, U1)->message, "failed locking tables: (errno 3024)"));
	assert_int_equal(row(f, B, U1)->cutover_attempts, 1);
	assert_true(row(f, B, U1)->ready_to_complete);
	fleet_block_cutover(f->fleet, "80-", false);
	wait_ms(f, 46000);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_RUNNING); /* not before 61 s after the first */
	wait_ms(f, 66000);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_COMPLETE);
	assert_int_equal(row(f, B, U1)->cutover_attempts, 2);
	assert_non_null(strstr(row(f, B, U1)->message, "failed locking tables"));
}

static void test_waits_between_cut_over_attempts_grow_to_half_an_hour(void **state)
{
	static const int64_t least_min[] = {1, 5, 10, 30, 30};
	struct fixture *f = *state;
	int64_t attempt_ms, attempts = 1;

	hold(f);
	fleet_block_cutover(f->fleet, "-80", true);
	complete(f, U1);
	while (row(f, A, U1)->cutover_attempts == 0)
		wait_ms(f, 100);
	attempt_ms = f->now_ms;
	for (size_t i = 0; i < 5; i++) {
		while (row(f, A, U1)->cutover_attempts == attempts)
			wait_ms(f, 1000);
		assert_in_range(f->now_ms - attempt_ms, least_min[i] * 60000 - 1000,
				(least_min[i] + 1) * 60000 + 2000);
		attempt_ms = f->now_ms;
		attempts++;
	}
}

static void test_a_control_call_waits_for_the_cut_over_attempt_of_its_shard(void **state)
{
	struct fixture *f = *state;
	int64_t started_ms;

	hold(f);
	fleet_block_cutover(f->fleet, "-80", true);
	complete(f, U1);
	wait_ms(f, 5000);
	started_ms = f->now_ms;
	assert_counts(cancel(f, U1), 1, 0);
	assert_in_range(f->now_ms - started_ms, 5000, 9000);
}

static void test_one_shard_can_be_released_by_its_name(void **state)
{
	struct fixture *f = *state;

	hold(f);
	assert_counts(
	    submit(f, NULL, NULL, "", "alter vitess_migration '" U1 "' complete vitess_shards '-80'"), 1, 0);
	assert_counts(
	    submit(f, NULL, NULL, "", "alter vitess_migration '" U1 "' complete vitess_shards '-8'"), 0, 0);
	wait_ms(f, 5000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_RUNNING);
	assert_counts(submit(f, NULL, NULL, "", "alter vitess_migration '" U1 "' postpone complete"), 1, 0);
}

static void test_copies_can_be_held_back_and_readiness_can_drop(void **state)
{
	struct fixture *f = *state;

	fleet_hold_copy(f->fleet, "80-", true);
	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	wait_ms(f, 600000);
	assert_true(row(f, A, U1)->ready_to_complete && !row(f, B, U1)->ready_to_complete);
	assert_true(row(f, B, U1)->progress < 100);
	fleet_hold_copy(f->fleet, "80-", false);
	wait_ms(f, 125000);
	assert_true(row(f, B, U1)->ready_to_complete);
	fleet_unready(f->fleet, "80-", true);
	assert_false(row(f, B, U1)->ready_to_complete);
	complete(f, U1);
	wait_ms(f, 70000);
	assert_status(f, U1, MIGRATION_COMPLETE, MIGRATION_RUNNING);
	fleet_unready(f->fleet, "80-", false);
	wait_ms(f, 70000);
	assert_int_equal(row(f, B, U1)->status, MIGRATION_COMPLETE);
}

static void test_a_row_can_be_made_to_fail(void **state)
{
	struct fixture *f = *state;

	hold(f);
	fleet_fail(f->fleet, U1, "80-", "vreplication: gone");
	assert_status(f, U1, MIGRATION_RUNNING, MIGRATION_FAILED);
	assert_string_equal(row(f, B, U1)->message, "vreplication: gone");
	assert_true(row(f, B, U1)->completed_at_s > 0);
}

/* ---- Planned faults ---- */

static void test_a_fault_before_does_nothing_and_one_after_does_it_on_the_named_shards(void **state)
{
	struct fixture *f = *state;

	fleet_fault(
	    f->fleet,
	    &(struct fault){
		.method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_BEFORE, .code = 14, .text = "gone"});
	fleet_fault(
	    f->fleet,
	    &(struct fault){
		.method = VTCTLD_APPLY_SCHEMA, .nth = 2, .when = FAULT_AFTER, .shards = "80-", .code = 14});
	assert_int_equal(fleet_faults_left(f->fleet), 2);
	assert_error(submit(f, U1, "ctx", HELD, ADD_NOTE2), 14, "gone");
	assert_int_equal(fleet_row_count(f->fleet, A) + fleet_row_count(f->fleet, B), 0);
	assert_error(submit(f, U1, "ctx", HELD, ADD_NOTE2), 14, "");
	assert_null(fleet_row(f->fleet, A, U1));
	assert_non_null(fleet_row(f->fleet, B, U1));
	assert_int_equal(fleet_faults_left(f->fleet), 0);
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 0);
}

static void test_a_fault_fires_as_often_as_it_says_and_delays_or_drops_answers(void **state)
{
	struct fixture *f = *state;
	int64_t started_ms;

	fleet_fault(
	    f->fleet,
	    &(struct fault){
		.method = VTCTLD_COMPLETE, .nth = 2, .times = 2, .when = FAULT_AFTER, .delay_ms = 3000});
	fleet_fault(f->fleet, &(struct fault){.method = VTCTLD_CANCEL, .when = FAULT_AFTER, .drop = true});
	for (int i = 0; i < 4; i++) {
		started_ms = f->now_ms;
		assert_int_equal(complete(f, U1).code, 0);
		assert_int_equal(f->now_ms - started_ms > 2900, i == 1 || i == 2);
	}
	hold(f);
	started_ms = f->now_ms;
	assert_int_equal(cancel(f, U1).code, 4);
	assert_int_equal(f->now_ms - started_ms, 75000);
	assert_status(f, U1, MIGRATION_CANCELLED, MIGRATION_CANCELLED);
}

static void test_reads_can_lack_a_shard_or_show_it_twice(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;
	int stale = 0;

	hold(f);
	fleet_fault(f->fleet, &(struct fault){.method = VTCTLD_GET_SCHEMA_MIGRATIONS, .missing = "-80"});
	reply = read_rows(f, U1);
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.migrations.count, 1);
	assert_string_equal(reply.migrations.items[0].shard, "80-");
	fleet_fault(f->fleet, &(struct fault){.method = VTCTLD_GET_SCHEMA_MIGRATIONS, .doubled = "80-"});
	reply = read_rows(f, U1);
	assert_int_equal(reply.migrations.count, 3);
	for (size_t i = 0; i < 3; i++)
		stale += reply.migrations.items[i].status == MIGRATION_QUEUED ? 1 : 0;
	assert_int_equal(stale, 1);
}

/* ---- Direct reads, the topology, the journal ---- */

static void test_a_direct_read_shows_the_row_as_migration_select_asks_for_it(void **state)
{
	struct fixture *f = *state;
	struct error error = {0};
	struct migration *rows;
	struct vtctld_reply reply;
	size_t count;

	hold(f);
	reply = read_direct(f, 111, U1);
	assert_int_equal(reply.code, 0);
	assert_int_equal(migration_from_result(&f->arena, &reply.result, "80-", &rows, &count, &error), 0);
	assert_int_equal(count, 1);
	assert_string_equal(rows[0].uuid, U1);
	assert_string_equal(rows[0].context, "ctx");
	assert_int_equal(rows[0].status, MIGRATION_RUNNING);
	assert_int_equal(rows[0].started_at_s, row(f, B, U1)->started_at_s);
	assert_true(rows[0].ready_to_complete && rows[0].tablet.uid == 111 && rows[0].completed_at_s == 0);
	reply = call(f, (struct vtctld_request){.method = VTCTLD_EXECUTE_FETCH_AS_DBA,
						.tablet = alias_of(101),
						.sql = migration_select(&f->arena, NULL, "ct")});
	assert_int_equal(reply.result.row_count, 1);
	assert_int_equal(read_direct(f, 111, U2).result.row_count, 0);
}

static void test_shards_come_and_go_in_the_topology(void **state)
{
	struct fixture *f = *state;
	struct vtctld_reply reply;

	assert_true(fleet_remove_shard(f->fleet, "80-"));
	assert_true(fleet_add_shard(f->fleet, "80-c0", false));
	assert_false(fleet_remove_shard(f->fleet, "c0-"));
	reply = call(f, (struct vtctld_request){.method = VTCTLD_FIND_ALL_SHARDS});
	assert_int_equal(reply.shards.count, 2);
	assert_string_equal(reply.shards.items[1].name, "80-c0");
	assert_false(reply.shards.items[1].is_serving);
	assert_int_equal(reply.shards.items[1].range_start_length, 1);
	assert_int_equal(reply.shards.items[1].range_start[0], 0x80);
	assert_int_equal(reply.shards.items[1].range_end[0], 0xc0);
	submit(f, U1, "ctx", HELD, ADD_NOTE2);
	assert_non_null(fleet_row(f->fleet, 1, U1)); /* effects go to shards that do not serve, too */
}

struct noted {
	int count, code;
	char done[64], sql[64];
};

static void note(void *user, const struct fleet_journal_entry *entry)
{
	struct noted *noted = user;

	noted->count++;
	noted->code = entry->code;
	strncpy(noted->done, entry->done, sizeof(noted->done) - 1);
	strncpy(noted->sql, entry->request->sql != NULL ? entry->request->sql : "", sizeof(noted->sql) - 1);
}

static void test_the_journal_tells_on_which_shards_something_was_done(void **state)
{
	struct fixture *f = *state;
	struct noted noted = {0};
	struct vtctld_request request = submit_of(U1, "ctx", HELD, ADD_NOTE2);

	fleet_set_journal(f->fleet, note, &noted);
	fleet_tablet(f->fleet, "80-", TABLET_PAUSE);
	request.timeout_ms = 1000;
	call(f, request);
	assert_int_equal(noted.count, 1);
	assert_int_equal(noted.code, 4);
	assert_string_equal(noted.done, "-80");
	assert_string_equal(noted.sql, ADD_NOTE2);
	fleet_tablet(f->fleet, "80-", TABLET_RESUME);
	call(f, request);
	assert_string_equal(noted.done, "80-"); /* -80 had it already */
	assert_int_equal(fleet_calls(f->fleet, VTCTLD_APPLY_SCHEMA), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    TEST(test_a_killed_primary_is_silence_to_the_deadline_and_the_live_shard_is_served),
	    TEST(test_a_call_that_waits_for_a_paused_tablet_goes_on_when_it_resumes),
	    TEST(test_a_shard_that_was_not_reached_by_the_deadline_never_is),
	    TEST(test_a_stopped_tablet_is_a_quick_error),
	    TEST(test_a_restart_leaves_readiness_for_10_s_then_it_is_gone_until_a_tick_after_30_s),
	    TEST(test_a_kill_before_the_rename_recovers_and_after_it_leaves_a_done_row_running),
	    TEST(test_a_planned_reparent_hides_the_shard_for_a_moment_and_refuses_effects_for_half_a_second),
	    TEST(test_a_dead_old_primary_blinds_only_the_row_read_until_it_is_forgotten),
	    TEST(test_a_dead_old_primary_that_starts_again_is_a_replica),
	    TEST(test_the_lock_is_first_come_first_served_lost_after_30_s_and_waited_for_45_s),
	    TEST(test_a_success_after_more_than_30_s_is_an_error_although_all_is_done),
	    TEST(test_the_lock_of_a_client_that_went_away_is_free_within_a_second),
	    TEST(test_the_lock_of_a_dead_vtctld_stays_for_its_30_s),
	    TEST(test_a_short_deadline_tells_nothing_about_the_effect),
	    TEST(test_a_blocked_cut_over_is_tried_again_after_a_minute_and_keeps_its_message),
	    TEST(test_waits_between_cut_over_attempts_grow_to_half_an_hour),
	    TEST(test_a_control_call_waits_for_the_cut_over_attempt_of_its_shard),
	    TEST(test_one_shard_can_be_released_by_its_name),
	    TEST(test_copies_can_be_held_back_and_readiness_can_drop),
	    TEST(test_a_row_can_be_made_to_fail),
	    TEST(test_a_fault_before_does_nothing_and_one_after_does_it_on_the_named_shards),
	    TEST(test_a_fault_fires_as_often_as_it_says_and_delays_or_drops_answers),
	    TEST(test_reads_can_lack_a_shard_or_show_it_twice),
	    TEST(test_a_direct_read_shows_the_row_as_migration_select_asks_for_it),
	    TEST(test_shards_come_and_go_in_the_topology),
	    TEST(test_the_journal_tells_on_which_shards_something_was_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
