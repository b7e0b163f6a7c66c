/* From rows to facts: what counts as ready, seen, dead, released; and that absence is never permission. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "vtddl/observation.h"

#define UUID "01234567_89ab_8cde_8f01_23456789abcd"
#define CONTEXT "ddl-commerce-0123456789abcdef-g1"

struct scene {
	struct change change;
	struct change_shard shards[2];
	struct shard_look looks[2];
	struct topo_shard topo[3], confirm[3];
	struct topo_tablet tablets[2];
	struct observation seen;
	struct shard_watch memory[2];
	struct watch watch;
};

static struct migration held(const char *shard)
{
	return (struct migration){
		.uuid = UUID, .keyspace = "commerce", .shard = shard, .table = "orders", .context = CONTEXT,
		.statement = "alter table orders add column x int", .options = "", .ddl_action = "alter",
		.message = "", .stage = "", .artifacts = "", .special_plan = "", .status = MIGRATION_RUNNING,
		.postpone_completion = true, .ready_to_complete = true, .started_at_s = 1000, .liveness_s = 1010,
		.eta_s = 0, .progress = 100,
	};
}

static void set_up(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	strcpy(scene->change.keyspace, "commerce");
	strcpy(scene->change.table, "orders");
	strcpy(scene->change.uuid, UUID);
	strcpy(scene->change.context, CONTEXT);
	scene->change.shards = scene->shards;
	scene->change.shard_count = 2;
	strcpy(scene->shards[0].name, "-80");
	strcpy(scene->shards[1].name, "80-");
	for (int i = 0; i < 2; i++) {
		scene->topo[i].name = scene->shards[i].name;
		scene->topo[i].has_primary = scene->topo[i].is_serving = true;
		strcpy(scene->topo[i].primary.cell, "zone1");
		scene->topo[i].primary.uid = 101 + i;
		scene->topo[i].primary_term_start_s = 900;
		scene->tablets[i].alias = scene->topo[i].primary;
		scene->tablets[i].type = TABLET_PRIMARY;
		scene->tablets[i].start_s = 800;
		scene->looks[i].state = ROW_ONE;
		scene->looks[i].row = held(scene->shards[i].name);
		scene->looks[i].trouble = "";
	}
	memcpy(scene->confirm, scene->topo, sizeof(scene->topo));
	watch_init(&scene->watch, scene->memory, 2);
	scene->seen = (struct observation){ .topology_known = true, .topo = scene->topo, .topo_count = 2,
					    .tablets = scene->tablets, .tablet_count = 2, .looks = scene->looks };
}

static uint32_t look_at(struct scene *scene, int64_t at_ms)
{
	scene->seen.at_ms = at_ms;
	return observation_fold(&scene->change, &scene->seen, &scene->watch);
}

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
	scene.looks[1].row.liveness_s = 1011;
	look_at(&scene, 30000);
	assert_true(look_at(&scene, 40000) & FACT_ALL_READY);
	scene.topo[0].primary_term_start_s = 2000;
	assert_false(look_at(&scene, 50000) & FACT_ALL_READY);
	scene.topo[0].primary_term_start_s = 900;
	scene.looks[0].row.liveness_s = 999; /* before its own start: leftover of an earlier run */
	look_at(&scene, 60000);
	assert_false(look_at(&scene, 70000) & FACT_ALL_READY);
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
		assert_false(facts & (FACT_ALL_READY | FACT_ALL_COMPLETE | FACT_ALL_GONE | FACT_ALL_FORWARD));
		assert_false(facts & (FACT_DEAD | FACT_FAILED | FACT_CANCELLED));
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
}

static void test_another_shard_set_is_believed_at_the_second_look(void **state)
{
	struct scene scene;

	(void)state;
	set_up(&scene);
	scene.seen.topo_count = 1;
	assert_true(look_at(&scene, 10000) & FACT_SETTLING);
	assert_true(look_at(&scene, 12000) & FACT_SHARDS_CHANGED);
	scene.seen.topo_count = 2;
	assert_false(look_at(&scene, 14000) & FACT_SHARDS_CHANGED);
	scene.topo[2] = scene.topo[1];
	scene.topo[2].name = "c0-";
	scene.seen.topo_count = 3;
	look_at(&scene, 16000);
	assert_true(look_at(&scene, 18000) & FACT_SHARDS_CHANGED);
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
	look_at(&scene, 10000);
	progress_fold(&scene.change, &scene.seen, &scene.watch, &progress);
	assert_int_equal(progress.slowest_shard, 0);
	assert_int_equal((int)progress.slowest, 0);
	assert_int_equal((int)progress.fastest, 100);
	assert_int_equal(progress.worst_eta_s, 90);
	assert_int_equal(progress.shards_seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_counts_only_in_two_looks_two_seconds_apart),
		cmocka_unit_test(test_a_retry_or_a_new_start_between_the_looks_begins_anew),
		cmocka_unit_test(test_alternating_readiness_never_is_all_ready),
		cmocka_unit_test(test_each_condition_of_held_and_ready_is_needed),
		cmocka_unit_test(test_readiness_from_before_a_restart_or_reparent_is_a_leftover),
		cmocka_unit_test(test_what_is_not_seen_is_neither_ready_nor_absent_nor_gone),
		cmocka_unit_test(test_absent_on_every_shard_is_seen_and_gone_but_no_row),
		cmocka_unit_test(test_a_row_of_another_context_table_or_statement_is_a_mismatch),
		cmocka_unit_test(test_failed_is_believed_at_the_second_look_and_later_if_vitess_may_retry),
		cmocka_unit_test(test_complete_and_unheld_rows_are_released),
		cmocka_unit_test(test_a_status_nobody_knows_is_live_and_never_ready),
		cmocka_unit_test(test_confirmed_needs_the_same_shards_and_primaries_twice),
		cmocka_unit_test(test_another_shard_set_is_believed_at_the_second_look),
		cmocka_unit_test(test_a_doubled_shard_stops_after_a_minute_and_is_never_ready),
		cmocka_unit_test(test_progress_shows_the_slowest_and_survives_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
