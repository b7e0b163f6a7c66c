/* From rows to facts: what counts as ready, seen, dead, released; and that absence is never permission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "observation_scene.h"

static void test_ready_counts_only_in_two_looks_two_seconds_apart(void **state)
{
	struct scene scene;
	uint32_t facts;

	(void)state;
	set_up(&scene);
	facts = look_at(&scene, 10000);
	assert_true(facts & FACT_ALL_ROWS);
	assert_true(facts & FACT_SETTLING);
	assert_false(facts & FACT_ALL_READY);
	assert_false(look_at(&scene, 11999) & FACT_ALL_READY);
	facts = look_at(&scene, 12000);
	assert_true(facts & FACT_ALL_READY);
	assert_false(facts & FACT_SETTLING);
}

static void test_a_retry_or_a_new_start_between_the_looks_begins_anew(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	look_at(&scene, 10000);
	scene.looks[1].row.retries = 1;
	assert_false(look_at(&scene, 13000) & FACT_ALL_READY);
	assert_true(look_at(&scene, 15000) & FACT_ALL_READY);
	scene.looks[0].row.started_at_s++;
	assert_false(look_at(&scene, 20000) & FACT_ALL_READY);
}

static void test_alternating_readiness_never_is_all_ready(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	for (int i = 0; i < 100; i++) {
		scene.looks[i % 2].row.ready_to_complete = true;
		scene.looks[!(i % 2)].row.ready_to_complete = false;
		assert_false(look_at(&scene, 10000 + i * 5000) & (FACT_ALL_READY | FACT_ALL_FORWARD));
	}
}

static void test_each_condition_of_held_and_ready_is_needed(void **state)
{
	struct migration row = held("-80"), immediate = held("-80");

	(void)state;
	assert_true(migration_is_ready(&row));
	row.postpone_completion = false;
	assert_false(migration_is_ready(&row));
	row = held("-80");
	row.ready_to_complete = false;
	assert_false(migration_is_ready(&row));
	for (int status = 0; status < 12; status++) {
		row = held("-80");
		row.status = status;
		assert_int_equal(migration_is_ready(&row), status == MIGRATION_RUNNING);
	}
	immediate.is_immediate_operation = true;
	assert_false(migration_is_ready(&immediate)); /* running: already at work */
	immediate.status = MIGRATION_QUEUED;
	assert_false(migration_is_ready(&immediate)); /* not reviewed */
	immediate.reviewed_at_s = 1000;
	assert_true(migration_is_ready(&immediate));
	immediate.is_immediate_operation = false;
	assert_false(migration_is_ready(&immediate));
}

static void test_readiness_from_before_a_restart_or_reparent_is_a_leftover(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.tablets[1].start_s = 1011; /* restarted after the row's last sign of life */
	look_at(&scene, 10000);
	assert_false(look_at(&scene, 20000) & FACT_ALL_READY);
	scene.looks[1].row.liveness_s = 1012;
	look_at(&scene, 30000);
	assert_true(look_at(&scene, 40000) & FACT_ALL_READY);
	scene.topo[0].primary_term_start_s = 2000;
	assert_false(look_at(&scene, 50000) & FACT_ALL_READY);
	scene.topo[0].primary_term_start_s = 900;
	scene.looks[0].row.liveness_s = 999; /* before its own start: leftover of an earlier run */
	look_at(&scene, 60000);
	assert_false(look_at(&scene, 70000) & FACT_ALL_READY);
}

static void test_an_immediate_operation_has_no_stream_that_could_be_stale(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	for (int i = 0; i < 2; i++) {
		scene.looks[i].row.status = MIGRATION_QUEUED;
		scene.looks[i].row.is_immediate_operation = true;
		scene.looks[i].row.reviewed_at_s = 1000;
		scene.looks[i].row.liveness_s = 0;
	}
	look_at(&scene, 10000);
	assert_true(look_at(&scene, 12000) & FACT_ALL_READY);
}

/* What could not be read is no permission: the tablet may have started again since the row was written. */
static void test_where_no_tablet_is_known_nothing_that_runs_is_ready(void **state)
{
	struct migration row = held("-80");
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.seen.tablets = NULL; /* not read */
	scene.seen.tablet_count = 0;
	look_at(&scene, 10000);
	assert_false(look_at(&scene, 12000) & FACT_ALL_READY);
	set_up(&scene);
	scene.tablets[1].alias.uid = 999; /* read, but that of the primary is not among them */
	look_at(&scene, 10000);
	assert_false(look_at(&scene, 12000) & FACT_ALL_READY);
	set_up(&scene);
	scene.topo[1].primary_term_start_s = 1011;
	look_at(&scene, 10000);
	assert_false(look_at(&scene, 14000) & FACT_ALL_READY);
	assert_true(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
	assert_false(migration_is_fresh(&row, &scene.topo[0], NULL));
	assert_false(migration_is_fresh(&row, NULL, &scene.tablets[0]));
	row.liveness_s = row.started_at_s - 1;
	assert_false(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
}

/* Clocks of whole seconds: what was written in the second of a restart may have been written before it. */
static void test_what_is_as_old_as_its_primary_is_not_fresh(void **state)
{
	struct scene scene;
	struct migration row = held("-80");

	(void)state;
	set_up(&scene);
	row.liveness_s = row.started_at_s;
	assert_true(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
	scene.topo[0].primary_term_start_s = row.liveness_s;
	assert_false(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
	scene.topo[0].primary_term_start_s--;
	assert_true(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
	scene.tablets[0].start_s = row.liveness_s;
	assert_false(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
	scene.tablets[0].start_s--;
	assert_true(migration_is_fresh(&row, &scene.topo[0], &scene.tablets[0]));
}

/* A submit that came late reached a shard that a reshard had made meanwhile. */
static void test_what_is_withdrawn_is_live_on_a_shard_that_is_not_recorded(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.status = scene.looks[1].row.status = MIGRATION_CANCELLED;
	scene.seen.stray = true;
	scene.change.phase = PHASE_SUBMITTED;
	assert_int_equal(look_at(&scene, 10000) & (FACT_ALL_GONE | FACT_ANY_LIVE), FACT_ALL_GONE);
	scene.change.phase = PHASE_CANCELLING;
	assert_int_equal(look_at(&scene, 12000) & (FACT_ALL_GONE | FACT_ANY_LIVE), FACT_ANY_LIVE);
	scene.change.phase = PHASE_CANCELLED;
	assert_int_equal(look_at(&scene, 14000) & (FACT_ALL_GONE | FACT_ANY_LIVE), FACT_ANY_LIVE);
	scene.seen.stray = false;
	assert_int_equal(look_at(&scene, 16000) & (FACT_ALL_GONE | FACT_ANY_LIVE), FACT_ALL_GONE);
}

static void test_failed_and_cancelled_rows_are_gone(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.status = MIGRATION_FAILED;
	assert_false(look_at(&scene, 10000) & FACT_ALL_GONE);
	scene.looks[1].row.status = MIGRATION_CANCELLED;
	assert_true(look_at(&scene, 12000) & FACT_ALL_GONE);
	scene.looks[0].row.postpone_completion = false; /* also where it had been released */
	assert_int_equal(look_at(&scene, 13000) & (FACT_ALL_GONE | FACT_ALL_SEEN), FACT_ALL_GONE | FACT_ALL_SEEN);
	scene.looks[0].state = ROW_ABSENT;
	assert_true(look_at(&scene, 14000) & FACT_ALL_GONE);
}

static void test_a_shard_without_a_primary_may_be_ready_and_is_never_confirmed(void **state)
{
	struct scene scene;

	(void)state;
	for (int which = 0; which < 2; which++) {
		set_up(&scene);
		scene.seen.confirmed_known = true;
		scene.seen.confirm = scene.confirm;
		scene.seen.confirm_count = 2;
		assert_true(look_at(&scene, 10000) & FACT_CONFIRMED);
		(which ? scene.confirm : scene.topo)[1].has_primary = false;
		scene.tablets[1].start_s = 5000; /* of whom is unknown */
		assert_false(look_at(&scene, 12000) & FACT_CONFIRMED);
	}
}

static void test_a_topology_that_was_not_read_proves_nothing(void **state)
{
	struct scene scene;
	uint32_t facts;

	(void)state;
	set_up(&scene);
	scene.seen.topology_known = false;
	scene.seen.topo = NULL;
	scene.seen.topo_count = 0;
	scene.seen.confirmed_known = true;
	scene.seen.confirm = scene.confirm;
	scene.seen.confirm_count = 2;
	look_at(&scene, 10000);
	facts = look_at(&scene, 20000);
	assert_true(facts & FACT_ALL_ROWS);
	assert_false(facts & (FACT_SHARDS_KNOWN | FACT_SHARDS_CHANGED | FACT_CONFIRMED | FACT_ALL_READY | FACT_SETTLING));
}

static void test_what_is_not_seen_is_neither_ready_nor_absent_nor_gone(void **state)
{
	static const enum row_state unseen[] = { ROW_UNKNOWN, ROW_DOUBLE };
	const uint32_t all = FACT_ALL_SEEN | FACT_ALL_ROWS | FACT_ALL_READY | FACT_ALL_FORWARD |
			     FACT_ALL_COMPLETE | FACT_ALL_GONE;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct scene scene;

		set_up(&scene);
		look_at(&scene, 10000);
		scene.looks[1].state = unseen[i];
		assert_int_equal(look_at(&scene, 20000) & all, 0);
		scene.looks[1].state = ROW_ONE; /* seen again: readiness begins anew */
		assert_false(look_at(&scene, 30000) & FACT_ALL_READY);
	}
}

static void test_absent_on_every_shard_is_seen_and_gone_but_no_row(void **state)
{
	struct scene scene;
	uint32_t facts;

	(void)state;
	set_up(&scene);
	scene.looks[0].state = scene.looks[1].state = ROW_ABSENT;
	facts = look_at(&scene, 10000);
	assert_true(facts & FACT_ALL_SEEN);
	assert_true(facts & FACT_ALL_GONE);
	assert_false(facts & (FACT_ALL_ROWS | FACT_ALL_READY | FACT_ALL_COMPLETE | FACT_ANY_LIVE));
}

static void test_a_row_of_another_context_table_or_statement_is_a_mismatch(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	assert_false(look_at(&scene, 10000) & FACT_MISMATCH);
	scene.looks[0].row.context = "ddl-commerce-0123456789abcdef-g2";
	assert_true(look_at(&scene, 10000) & FACT_MISMATCH);
	set_up(&scene);
	scene.looks[1].row.table = "Orders";
	assert_true(look_at(&scene, 10000) & FACT_MISMATCH);
	set_up(&scene);
	scene.looks[1].row.statement = "alter table orders add column y int";
	assert_true(look_at(&scene, 10000) & FACT_MISMATCH);
	set_up(&scene);
	scene.looks[1].row.uuid = "ffffffff_89ab_8cde_8f01_23456789abcd";
	assert_true(look_at(&scene, 10000) & FACT_MISMATCH);
	set_up(&scene);
	scene.looks[1].row.keyspace = "customer";
	assert_true(look_at(&scene, 10000) & FACT_MISMATCH);
}

static void test_a_row_is_ours_only_with_context_table_and_keyspace(void **state)
{
	struct scene scene;
	struct migration row;

	(void)state;
	set_up(&scene);
	row = held("-80");
	assert_true(migration_is_ours(&row, &scene.change));
	row.context = NULL;
	assert_false(migration_is_ours(&row, &scene.change));
	row = held("-80");
	row.table = NULL;
	assert_false(migration_is_ours(&row, &scene.change));
	row = held("-80");
	row.keyspace = NULL;
	assert_false(migration_is_ours(&row, &scene.change));
	row = held("-80");
	row.message = NULL;
	assert_false(migration_says_duplicate(&row));
	row.message = "a duplicate DDL as such"; /* only at its beginning */
	assert_false(migration_says_duplicate(&row));
}

static void test_failed_is_believed_at_the_second_look_and_later_if_vitess_may_retry(void **state)
{
	struct scene scene;
	uint32_t facts;

	(void)state;
	set_up(&scene);
	scene.looks[1].row.status = MIGRATION_FAILED;
	facts = look_at(&scene, 10000);
	assert_true(facts & FACT_DEAD);
	assert_false(facts & FACT_FAILED);
	assert_true(look_at(&scene, 12000) & FACT_FAILED);
	set_up(&scene);
	scene.looks[1].row.status = MIGRATION_FAILED;
	scene.looks[1].row.tablet_failure = true;
	look_at(&scene, 10000);
	assert_false(look_at(&scene, 80000) & FACT_FAILED); /* within one tick of a minute Vitess may retry it */
	assert_true(look_at(&scene, 85000) & FACT_FAILED);
	scene.looks[1].row.status = MIGRATION_CANCELLED; /* another end: counted anew */
	facts = look_at(&scene, 86000);
	assert_false(facts & (FACT_FAILED | FACT_CANCELLED));
	set_up(&scene);
	scene.looks[1].row.status = MIGRATION_FAILED;
	scene.looks[1].row.tablet_failure = true;
	scene.looks[1].row.retries = 1; /* Vitess retries once: that is over */
	look_at(&scene, 10000);
	assert_true(look_at(&scene, 12000) & FACT_FAILED);
}

static void test_complete_and_unheld_rows_are_released(void **state)
{
	struct scene scene;
	uint32_t facts;

	(void)state;
	set_up(&scene);
	scene.looks[0].row.postpone_completion = false;
	facts = look_at(&scene, 10000);
	assert_true(facts & FACT_ANY_RELEASED);
	assert_true(facts & FACT_ANY_HELD);
	assert_false(facts & FACT_ANY_COMPLETE);
	scene.looks[0].row.status = scene.looks[1].row.status = MIGRATION_COMPLETE;
	scene.looks[1].row.postpone_completion = false;
	facts = look_at(&scene, 10000);
	assert_true(facts & FACT_ALL_COMPLETE);
	assert_false(facts & (FACT_ANY_HELD | FACT_DUPLICATE | FACT_ANY_LIVE));
	scene.looks[1].row.message = "duplicate DDL as 01234567_89ab_8cde_8f01_23456789abce for migration context x";
	assert_true(look_at(&scene, 10000) & FACT_DUPLICATE);
	scene.looks[1].row.message = "failed locking tables"; /* stays after a later success */
	assert_false(look_at(&scene, 10000) & FACT_DUPLICATE);
	scene.looks[1].row.message = ""; /* not written yet: but it was never released */
	scene.looks[1].row.postpone_completion = true;
	assert_true(look_at(&scene, 10000) & FACT_DUPLICATE);
}

static void test_a_status_nobody_knows_is_live_and_never_ready(void **state)
{
	static const int unknown[] = { MIGRATION_UNKNOWN, 8, -1 };
	struct scene scene;
	uint32_t facts;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		set_up(&scene);
		for (size_t shard = 0; shard < sizeof(scene.looks) / sizeof(scene.looks[0]); shard++)
			scene.looks[shard].row.status = unknown[i];
		look_at(&scene, 10000);
		facts = look_at(&scene, 20000);
		assert_true(facts & FACT_ANY_LIVE);
		assert_true(facts & FACT_ALL_SEEN); /* it is held, whatever it does */
		assert_false(facts & (FACT_ALL_READY | FACT_ALL_COMPLETE | FACT_ALL_GONE | FACT_ALL_FORWARD));
		assert_false(facts & (FACT_DEAD | FACT_FAILED | FACT_CANCELLED));
		scene.looks[0].row.postpone_completion = false; /* released, and no telling how far */
		facts = look_at(&scene, 30000);
		assert_int_equal(facts & (FACT_ANY_RELEASED | FACT_ALL_ROWS | FACT_ALL_SEEN | FACT_ALL_FORWARD),
				 FACT_ANY_RELEASED | FACT_ALL_ROWS);
	}
}

static void test_confirmed_needs_the_same_shards_and_primaries_twice(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.confirmed_known = true;
	scene.seen.confirm = scene.confirm;
	scene.seen.confirm_count = 2;
	assert_true(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.confirm[1].primary.uid = 202;
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.confirm[1].primary.uid = 102;
	scene.confirm[1].primary_term_start_s = 901; /* there and back again in between */
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.confirm[1].primary_term_start_s = 900;
	scene.seen.confirm_count = 1;
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.confirm_count = 2;
	assert_true(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.topo_count = 1;
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
}

static void test_behind_completion_the_recorded_shards_alone_are_confirmed(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.topo[2] = scene.topo[1];
	scene.topo[2].name = "c0-"; /* a reshard began */
	scene.confirm[2] = scene.topo[2];
	scene.seen.confirmed_known = true;
	scene.seen.confirm = scene.confirm;
	scene.seen.topo_count = scene.seen.confirm_count = 3;
	scene.change.phase = PHASE_SUBMITTED;
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.topo_count = 2; /* it began between the two readings ... */
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.topo_count = 3;
	scene.seen.confirm_count = 2; /* ... or ended */
	assert_false(look_at(&scene, 10000) & FACT_CONFIRMED);
	scene.seen.confirm_count = 3;
	scene.change.phase = PHASE_COMPLETED;
	assert_true(look_at(&scene, 12000) & FACT_CONFIRMED);
	scene.seen.topo_count = 1; /* a recorded one was not there ... */
	assert_false(look_at(&scene, 14000) & FACT_CONFIRMED);
	scene.seen.topo_count = 3;
	scene.seen.confirm_count = 1; /* ... or is not any more */
	assert_false(look_at(&scene, 16000) & FACT_CONFIRMED);
}

static void test_another_shard_set_is_believed_at_the_second_look(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.seen.topo_count = 1;
	assert_true(look_at(&scene, 10000) & FACT_SETTLING);
	assert_int_equal(look_at(&scene, 11999) & (FACT_SETTLING | FACT_SHARDS_CHANGED), FACT_SETTLING);
	assert_true(look_at(&scene, 12000) & FACT_SHARDS_CHANGED);
	scene.seen.topo_count = 2;
	assert_false(look_at(&scene, 14000) & FACT_SHARDS_CHANGED);
	scene.topo[2] = scene.topo[1];
	scene.topo[2].name = "c0-";
	scene.seen.topo_count = 3;
	look_at(&scene, 16000);
	assert_true(look_at(&scene, 18000) & FACT_SHARDS_CHANGED);
	set_up(&scene);
	scene.topo[1].name = "c0-"; /* as many, but others */
	look_at(&scene, 20000);
	assert_true(look_at(&scene, 22000) & FACT_SHARDS_CHANGED);
}

static void test_a_change_without_shards_has_no_fact_of_any_or_all(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.change.shard_count = 0;
	scene.seen.topo_count = 0;
	look_at(&scene, 10000);
	assert_int_equal(look_at(&scene, 20000), FACT_SHARDS_KNOWN);
}

static void test_facts_have_names(void **state)
{
	(void)state;
	assert_string_equal(fact_name(FACT_LEADER), "leader");
	assert_string_equal(fact_name(FACT_ALL_READY), "all_ready");
	assert_string_equal(fact_name(FACT_DISPROVEN), "disproven");
	assert_string_equal(fact_name(_FACT_MAX), "unknown");
	assert_string_equal(fact_name((enum fact)(FACT_LEADER | FACT_BUSY)), "unknown");
}

static void test_a_doubled_shard_stops_after_a_minute_and_is_never_ready(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.looks[0].state = ROW_DOUBLE;
	for (int64_t at_ms = 10000; at_ms < 70000; at_ms += 5000)
		assert_false(look_at(&scene, at_ms) & (FACT_DOUBLED | FACT_ALL_READY | FACT_ALL_SEEN));
	assert_true(look_at(&scene, 70000) & FACT_DOUBLED);
	scene.looks[0].state = ROW_ONE;
	for (int64_t at_ms = 80000; at_ms < 300000; at_ms += 5000)
		assert_false(look_at(&scene, at_ms) & FACT_DOUBLED);
	scene.looks[0].state = ROW_DOUBLE; /* again: counted anew */
	assert_false(look_at(&scene, 300000) & FACT_DOUBLED);
	assert_false(look_at(&scene, 359999) & FACT_DOUBLED);
	assert_true(look_at(&scene, 360000) & FACT_DOUBLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_counts_only_in_two_looks_two_seconds_apart),
		cmocka_unit_test(test_a_retry_or_a_new_start_between_the_looks_begins_anew),
		cmocka_unit_test(test_alternating_readiness_never_is_all_ready),
		cmocka_unit_test(test_each_condition_of_held_and_ready_is_needed),
		cmocka_unit_test(test_readiness_from_before_a_restart_or_reparent_is_a_leftover),
		cmocka_unit_test(test_an_immediate_operation_has_no_stream_that_could_be_stale),
		cmocka_unit_test(test_where_no_tablet_is_known_nothing_that_runs_is_ready),
		cmocka_unit_test(test_what_is_as_old_as_its_primary_is_not_fresh),
		cmocka_unit_test(test_what_is_withdrawn_is_live_on_a_shard_that_is_not_recorded),
		cmocka_unit_test(test_failed_and_cancelled_rows_are_gone),
		cmocka_unit_test(test_a_shard_without_a_primary_may_be_ready_and_is_never_confirmed),
		cmocka_unit_test(test_a_topology_that_was_not_read_proves_nothing),
		cmocka_unit_test(test_what_is_not_seen_is_neither_ready_nor_absent_nor_gone),
		cmocka_unit_test(test_absent_on_every_shard_is_seen_and_gone_but_no_row),
		cmocka_unit_test(test_a_row_of_another_context_table_or_statement_is_a_mismatch),
		cmocka_unit_test(test_a_row_is_ours_only_with_context_table_and_keyspace),
		cmocka_unit_test(test_failed_is_believed_at_the_second_look_and_later_if_vitess_may_retry),
		cmocka_unit_test(test_complete_and_unheld_rows_are_released),
		cmocka_unit_test(test_a_status_nobody_knows_is_live_and_never_ready),
		cmocka_unit_test(test_confirmed_needs_the_same_shards_and_primaries_twice),
		cmocka_unit_test(test_behind_completion_the_recorded_shards_alone_are_confirmed),
		cmocka_unit_test(test_another_shard_set_is_believed_at_the_second_look),
		cmocka_unit_test(test_a_doubled_shard_stops_after_a_minute_and_is_never_ready),
		cmocka_unit_test(test_a_change_without_shards_has_no_fact_of_any_or_all),
		cmocka_unit_test(test_facts_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
