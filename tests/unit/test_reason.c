/* What people are told of a shard and of the whole: the sentence that fits what was seen, and figures that hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "observation_scene.h"

static const char *reason(struct scene *scene, size_t shard)
{
	static char text[REASON_MAX];

	memset(text, 'x', sizeof(text));
	shard_reason(&scene->change, &scene->seen, &scene->watch, shard, text);
	assert_non_null(memchr(text, '\0', sizeof(text)));
	return text;
}

static void assert_reason(struct scene *scene, const char *words)
{
	const char *text = reason(scene, 0);

	if (!strstr(text, words))
		fail_msg("\"%s\" lacks \"%s\"", text, words);
}

static void test_a_shard_that_was_not_seen_says_why(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].state = ROW_UNKNOWN;
	assert_string_equal(reason(&scene, 0), "not asked yet");
	scene.looks[0].trouble = NULL;
	assert_string_equal(reason(&scene, 0), "not asked yet");
	scene.looks[0].trouble = "its primary does not answer";
	assert_string_equal(reason(&scene, 0), "its primary does not answer");
	scene.looks[0].state = ROW_DOUBLE;
	assert_reason(&scene, "two tablets");
	scene.looks[0].state = ROW_ABSENT;
	scene.change.phase = PHASE_SUBMITTING;
	assert_reason(&scene, "not submitted yet");
	scene.change.phase = PHASE_SUBMITTED;
	assert_reason(&scene, "no such migration");
}

static void test_a_row_of_something_else_is_named(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.context = "somebody-else";
	scene.looks[0].row.table = "their_table";
	assert_reason(&scene, "somebody-else");
	assert_reason(&scene, "their_table");
}

static void test_a_row_that_ended_says_how(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.status = MIGRATION_COMPLETE;
	scene.looks[0].row.message = "some warning of long ago";
	assert_string_equal(reason(&scene, 0), "complete");
	scene.looks[0].row.message = "duplicate DDL as " UUID;
	assert_string_equal(reason(&scene, 0), "complete, but nothing was done: duplicate DDL as " UUID);
	scene.looks[0].row.status = MIGRATION_FAILED;
	scene.looks[0].row.message = "Duplicate entry '7' for key 'u'";
	assert_string_equal(reason(&scene, 0), "failed: Duplicate entry '7' for key 'u'");
	scene.looks[0].row.status = MIGRATION_CANCELLED;
	scene.looks[0].row.message = "";
	assert_string_equal(reason(&scene, 0), "cancelled: no message");
}

static void test_a_released_row_says_where_its_cut_over_is(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.postpone_completion = false;
	assert_string_equal(reason(&scene, 0), "released, cutting over");
	scene.looks[0].row.stage = "locking tables";
	assert_string_equal(reason(&scene, 0), "released, cutting over: locking tables");
	scene.looks[0].row.message = "lock wait timeout";
	assert_string_equal(reason(&scene, 0), "released, cutting over: locking tables; last attempt: lock wait timeout");
}

static void test_a_held_row_says_what_it_waits_for(void **state)
{
	static const struct {
		int status;
		bool postpone_launch, ready;
		double progress;
		const char *words;
	} rows[] = {
		{ MIGRATION_RUNNING, false, true, 50, "leftover" },
		{ MIGRATION_RUNNING, false, false, 50, "copying rows" },
		{ MIGRATION_RUNNING, false, false, 100, "catching up" },
		{ MIGRATION_QUEUED, true, false, 0, "somebody must launch it" },
		{ MIGRATION_READY, false, false, 0, "another migration of this shard" },
		{ MIGRATION_QUEUED, false, false, 0, "queued, not yet started" },
		{ MIGRATION_QUEUED, false, true, 0, "queued, not yet started" },
	};
	struct scene scene;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_up(&scene);
		scene.looks[0].row.status = rows[i].status;
		scene.looks[0].row.postpone_launch = rows[i].postpone_launch;
		scene.looks[0].row.ready_to_complete = rows[i].ready;
		scene.looks[0].row.progress = rows[i].progress;
		assert_reason(&scene, rows[i].words);
	}
	set_up(&scene);
	scene.looks[0].row.ready_to_complete = true;
	scene.seen.tablet_count = 0; /* the tablets could not be read */
	assert_reason(&scene, "look at GetTablets");
	set_up(&scene);
	look_at(&scene, 10000);
	assert_reason(&scene, "seen once");
	look_at(&scene, 12000);
	assert_string_equal(reason(&scene, 0), "held and ready");
}

static void test_a_message_of_the_fleet_has_its_limit(void **state)
{
	static char message[5000];
	struct scene scene;

	(void)state;
	set_up(&scene);
	memset(message, 'm', sizeof(message) - 1);
	scene.looks[0].row.message = scene.looks[0].row.stage = message;
	scene.looks[0].row.postpone_completion = false;
	assert_true(strlen(reason(&scene, 0)) < REASON_MAX);
	scene.looks[0].row.context = scene.looks[0].row.table = message;
	assert_true(strlen(reason(&scene, 0)) < REASON_MAX);
}

/* ---- Figures ---- */

static struct progress progress_of(struct scene *scene, int64_t at_ms)
{
	struct progress progress;

	look_at(scene, at_ms);
	progress_fold(&scene->change, &scene->seen, &scene->watch, &progress);
	return progress;
}

static void test_progress_shows_the_slowest_and_survives_nonsense(void **state)
{
	struct scene scene;
	struct progress progress;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.ready_to_complete = scene.looks[1].row.ready_to_complete = false;
	scene.looks[0].row.progress = 0.0 / 0.0;
	scene.looks[0].row.eta_s = 90;
	scene.looks[1].row.progress = 260.0;
	scene.looks[1].row.eta_s = 5;
	progress = progress_of(&scene, 10000);
	assert_int_equal(progress.slowest_shard, 0);
	assert_int_equal((int)progress.slowest, 0);
	assert_int_equal((int)progress.fastest, 100);
	assert_int_equal(progress.worst_eta_s, 90);
	assert_int_equal(progress.shards_seen, 2);
}

static void test_a_ready_or_complete_shard_is_at_the_end_whatever_its_row_says(void **state)
{
	struct scene scene;
	struct progress progress;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.progress = 87; /* servers show this on a ready shard */
	scene.looks[0].row.eta_s = 33;
	scene.looks[1].row.status = MIGRATION_COMPLETE;
	scene.looks[1].row.progress = 12;
	scene.looks[1].row.eta_s = 44;
	progress = progress_of(&scene, 10000);
	assert_int_equal(progress.shards_ready, 0); /* once is not enough */
	assert_int_equal(progress.shards_complete, 1);
	assert_int_equal((int)progress.slowest, 87);
	assert_int_equal(progress.worst_eta_s, 33);
	progress = progress_of(&scene, 12000);
	assert_int_equal(progress.shards_ready, 1);
	assert_int_equal((int)progress.slowest, 100);
	assert_int_equal(progress.worst_eta_s, -1);
}

static void test_rows_are_counted_where_they_were_seen(void **state)
{
	struct scene scene;
	struct progress progress;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.rows_copied = 70;
	scene.looks[0].row.table_rows = 100;
	scene.looks[1].row.rows_copied = -5; /* nonsense */
	scene.looks[1].row.table_rows = -1;
	progress = progress_of(&scene, 10000);
	assert_int_equal(progress.rows_copied, 70);
	assert_int_equal(progress.table_rows, 100);
	scene.looks[0].state = ROW_UNKNOWN;
	progress = progress_of(&scene, 12000);
	assert_int_equal(progress.rows_copied, 0);
	assert_int_equal(progress.shards_seen, 1);
	assert_int_equal(progress.slowest_shard, 0);
	assert_int_equal((int)progress.slowest, 0);
}

static void test_of_no_shard_nothing_is_done(void **state)
{
	struct scene scene;
	struct progress progress;

	(void)state;
	set_up(&scene);
	scene.change.shard_count = 0;
	progress = progress_of(&scene, 10000);
	assert_int_equal(progress.shards_expected, 0);
	assert_int_equal((int)progress.slowest, 0);
	assert_int_equal((int)progress.fastest, 0);
	assert_int_equal(progress.worst_eta_s, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_shard_that_was_not_seen_says_why),
		cmocka_unit_test(test_a_row_of_something_else_is_named),
		cmocka_unit_test(test_a_row_that_ended_says_how),
		cmocka_unit_test(test_a_released_row_says_where_its_cut_over_is),
		cmocka_unit_test(test_a_held_row_says_what_it_waits_for),
		cmocka_unit_test(test_a_message_of_the_fleet_has_its_limit),
		cmocka_unit_test(test_progress_shows_the_slowest_and_survives_nonsense),
		cmocka_unit_test(test_a_ready_or_complete_shard_is_at_the_end_whatever_its_row_says),
		cmocka_unit_test(test_rows_are_counted_where_they_were_seen),
		cmocka_unit_test(test_of_no_shard_nothing_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
