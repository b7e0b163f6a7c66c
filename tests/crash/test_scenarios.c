/* Whole changes from the statement to the verdict, in virtual time: what a user would see happen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define HOUR_MS (3600 * 1000LL)
#define ADD "alter table orders add column x int"

static const char *const two[] = { "-80", "80-" };
static const char *const four[] = { "-40", "40-80", "80-c0", "c0-" };

static struct ask run_ask(const char *ddl)
{
	return (struct ask){ .keyspace = "commerce", .ddl = ddl, .goal = GOAL_VERIFIED, .open_gate = true };
}

static struct sim *sim_two(void)
{
	return sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = 7 });
}

static void test_an_alter_runs_to_verified_with_one_submit_and_one_complete(void **state)
{
	struct sim *sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = 3 });
	struct ask ask = run_ask(ADD);

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	sim_assert_done(sim, "orders", "`x` int");
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 1);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_CANCEL), 0);
	sim_free(sim);
}

static void test_the_second_run_says_already_and_sends_no_effect(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	sim_run(sim, &ask, HOUR_MS);
	sim_assert_done(sim, "orders", "`x` int");
	assert_true(sim->last.already);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 1);
	sim_free(sim);
}

static void test_the_same_statement_written_otherwise_is_the_same_change(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	ask.ddl = "ALTER  TABLE orders /* again */\n ADD COLUMN x INT ;";
	sim_run(sim, &ask, HOUR_MS);
	assert_true(sim->last.already);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
	sim_free(sim);
}

static void run_one(const char *schema, const char *ddl, const char *table, const char *fragment)
{
	struct sim *sim = sim_new(&(struct sim_config){ .shards = two, .shard_count = 2, .seed = 5, .schema = schema });
	struct ask ask = run_ask(ddl);

	sim_run(sim, &ask, HOUR_MS);
	if (fragment) {
		sim_assert_done(sim, table, fragment);
	} else {
		assert_int_equal(sim->verdict, VERDICT_DONE);
		for (size_t i = 0; i < 2; i++)
			assert_null(fleet_definition(sim->fleet, i, table));
	}
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 1);
	sim_free(sim);
}

static void test_create_drop_view_go_through_the_same_barrier(void **state)
{
	(void)state;
	run_one(NULL, "create table notes (id bigint primary key, body text)", "notes", "`body`");
	run_one(NULL, "drop table orders", "orders", NULL);
	run_one(NULL, "create view open_orders as select id from orders", "open_orders", "orders");
}

static void test_submit_holds_until_complete_says_so(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	ask.open_gate = false;
	ask.goal = GOAL_SUBMITTED;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_int_equal(sim->phase, PHASE_SUBMITTED);

	ask.goal = GOAL_READY;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);

	ask.goal = GOAL_VERIFIED; /* `wait --for verified` without a release: patience ends, nothing is sent */
	ask.deadline_ms = 10 * 60 * 1000;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_LATE);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_COMPLETE), 0);

	ask = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_COMPLETED, .open_gate = true,
			    .deadline_ms = HOUR_MS };
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	ask.goal = GOAL_VERIFIED;
	sim_run(sim, &ask, HOUR_MS);
	sim_assert_done(sim, "orders", "`x` int");
	sim_free(sim);
}

static void test_add_drop_add_again_really_happens_three_times(void **state)
{
	struct sim *sim = sim_two();
	struct ask add = run_ask(ADD), drop = run_ask("alter table orders drop column x");

	(void)state;
	sim_run(sim, &add, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	sim->first_uuid[0] = sim->uuid[0] = '\0';
	sim->complete_sent = false;
	sim_run(sim, &drop, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_null(strstr(fleet_definition(sim->fleet, 0, "orders"), "`x`"));

	sim->first_uuid[0] = '\0';
	sim->complete_sent = false;
	sim_run(sim, &add, HOUR_MS); /* without --again: refused, not reported as success */
	assert_int_equal(sim->verdict, VERDICT_UNSAFE);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 2);

	add.again = true;
	sim_run(sim, &add, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	for (size_t i = 0; i < 2; i++) {
		assert_non_null(strstr(fleet_definition(sim->fleet, i, "orders"), "`x`"));
		assert_int_equal(fleet_row_count(sim->fleet, i), 3);
		assert_int_equal(fleet_times_applied(sim->fleet, i, sim->uuid), 1);
	}
	sim_free(sim);
}

static void test_what_cannot_work_is_refused_before_anything_is_sent(void **state)
{
	static const char *const refused[] = {
		"create table orders (id bigint primary key)",
		"drop table nowhere",
		"alter table nowhere add column x int",
		"create view orders as select 1 from dual",
		"alter table orders add column note varchar(64)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct sim *sim = sim_two();
		struct ask ask = run_ask(refused[i]);

		sim_run(sim, &ask, HOUR_MS);
		assert_int_equal(sim->error.code, ERROR_BLOCKED);
		assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 0);
		assert_int_equal(sim->store_writes, 0);
		sim_free(sim);
	}
}

static void test_shards_with_different_definitions_are_refused(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	fleet_exec(sim->fleet, "80-", "alter table orders add column drift int");
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->error.code, ERROR_BLOCKED);
	assert_non_null(strstr(sim->reason, "differs"));
	sim_free(sim);
}

static void test_an_unknown_keyspace_is_named_with_those_that_exist(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	ask.keyspace = "comerce";
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->error.code, ERROR_INPUT);
	assert_non_null(strstr(sim->reason, "comerce"));
	assert_non_null(strstr(sim->reason, "commerce"));
	sim_free(sim);
}

static void test_a_second_change_of_the_table_is_refused_while_the_first_is_live(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	ask.goal = GOAL_SUBMITTED;
	ask.open_gate = false;
	sim_run(sim, &ask, HOUR_MS);
	ask = run_ask("alter table orders add column y int");
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->error.code, ERROR_WAITING);
	assert_non_null(strstr(sim->reason, sim->first_uuid));
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);
	sim_free(sim);
}

static void test_cancel_withdraws_every_shard_and_is_not_revived_by_a_run(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD), cancel;

	(void)state;
	ask.goal = GOAL_SUBMITTED;
	ask.open_gate = false;
	sim_run(sim, &ask, HOUR_MS);
	cancel = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };
	sim_run(sim, &cancel, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	assert_int_equal(sim->phase, PHASE_CANCELLED);
	ask = run_ask(ADD);
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_FAILED);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fleet_row(sim->fleet, i, sim->uuid)->status, MIGRATION_CANCELLED);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA), 1);

	ask.again = true;
	sim->first_uuid[0] = '\0';
	sim->cancel_sent = false;
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->verdict, VERDICT_DONE);
	sim_free(sim);
}

/* From the submit to the end of its cancel. */
static int64_t cancel_after(const struct fault *fault)
{
	struct sim *sim = sim_two();
	struct ask ask = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_SUBMITTED }, cancel;
	int64_t began_ms = sim->now_ms, took_ms;

	if (fault)
		fleet_fault(sim->fleet, fault);
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->phase, PHASE_SUBMITTED);
	cancel = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };
	sim_run(sim, &cancel, HOUR_MS);
	assert_int_equal(sim->phase, PHASE_CANCELLED);
	took_ms = sim->now_ms - began_ms;
	sim_free(sim);
	return took_ms;
}

/* R4: Vitess may still be at work on a submit whose connection was cut; its deadline is 75 s. */
static void test_a_cancel_waits_for_a_submit_that_nobody_answered(void **state)
{
	const struct fault cut = { .method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_AFTER, .code = 14 };
	const struct fault refused = { .method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_AFTER, .code = 2 };
	/* it is sent once more, and that one ends well: the first one may be at work all the same */
	const struct fault repeated = { .method = VTCTLD_APPLY_SCHEMA, .nth = 1, .when = FAULT_BEFORE, .code = 14 };

	(void)state;
	assert_true(cancel_after(NULL) < 60000);
	assert_true(cancel_after(&refused) < 60000);
	assert_true(cancel_after(&cut) >= 75000);
	assert_true(cancel_after(&repeated) >= 75000);
}

static void test_cancel_after_the_release_is_refused(void **state)
{
	struct sim *sim = sim_two();
	struct ask ask = run_ask(ADD);

	(void)state;
	sim_run(sim, &ask, HOUR_MS);
	ask = (struct ask){ .keyspace = "commerce", .uuid = sim->uuid, .goal = GOAL_CANCELLED };
	sim_run(sim, &ask, HOUR_MS);
	assert_int_equal(sim->error.code, ERROR_BLOCKED);
	assert_int_equal(fleet_calls(sim->fleet, VTCTLD_CANCEL), 0);
	sim_free(sim);
}

static void test_the_release_follows_readiness_within_one_poll_interval(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct sim *sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = seed,
								.copy_ms = 30000 + (int64_t)seed * 700 });
		struct ask ask = run_ask(ADD);

		sim_run(sim, &ask, HOUR_MS);
		assert_int_equal(sim->verdict, VERDICT_DONE);
		assert_true(sim->ready_at_ms >= 0 && sim->complete_at_ms >= sim->ready_at_ms);
		if (sim->complete_at_ms - sim->ready_at_ms > 15000 + 50)
			fail_msg("seed %d: %d ms from ready to Complete", (int)seed,
				 (int)(sim->complete_at_ms - sim->ready_at_ms));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_alter_runs_to_verified_with_one_submit_and_one_complete),
		cmocka_unit_test(test_the_second_run_says_already_and_sends_no_effect),
		cmocka_unit_test(test_the_same_statement_written_otherwise_is_the_same_change),
		cmocka_unit_test(test_create_drop_view_go_through_the_same_barrier),
		cmocka_unit_test(test_submit_holds_until_complete_says_so),
		cmocka_unit_test(test_add_drop_add_again_really_happens_three_times),
		cmocka_unit_test(test_what_cannot_work_is_refused_before_anything_is_sent),
		cmocka_unit_test(test_shards_with_different_definitions_are_refused),
		cmocka_unit_test(test_an_unknown_keyspace_is_named_with_those_that_exist),
		cmocka_unit_test(test_a_second_change_of_the_table_is_refused_while_the_first_is_live),
		cmocka_unit_test(test_cancel_withdraws_every_shard_and_is_not_revived_by_a_run),
		cmocka_unit_test(test_a_cancel_waits_for_a_submit_that_nobody_answered),
		cmocka_unit_test(test_cancel_after_the_release_is_refused),
		cmocka_unit_test(test_the_release_follows_readiness_within_one_poll_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
