/* Goal: an engine acts only within a lease that it holds for certain, by its own clock and from before it asked.
 * Method: the lease of one keyspace, its answers given one by one. */
#include "engine_hand.h"

#include "../contract/failing_calls.h"

static struct keyspace *keyspace;

static int setup(void **state)
{
	(void)state;
	hand_start(PHASE_SUBMITTED, false);
	keyspace = keyspace_get(h.engine, "commerce");
	keyspace->tasks = 1; /* it is not given back for want of work */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	keyspace->tasks = 0;
	hand_stop();
	return 0;
}

static struct reply lease_of(int result, int64_t epoch, int64_t left_ms, const char *holder)
{
	struct reply reply = { .kind = REQUEST_STORE_LEASE, .result = result, .lease = { epoch, left_ms, "" } };

	snprintf(reply.lease.holder, sizeof(reply.lease.holder), "%s", holder);
	return reply;
}

static void is_ours(int64_t epoch, int64_t left_ms)
{
	const struct reply reply = lease_of(0, epoch, left_ms, "host:1:a");

	keyspace_lease_reply(keyspace, &reply, h.now_ms);
}

static void is_theirs(int64_t left_ms, const char *holder)
{
	const struct reply reply = lease_of(STORE_HELD, 9, left_ms, holder);

	keyspace_lease_reply(keyspace, &reply, h.now_ms);
}

static bool asks(void)
{
	struct request request;
	bool found = false;

	while (engine_next(h.engine, &request))
		found = found || request.kind == REQUEST_STORE_LEASE;
	return found;
}

static void test_before_any_answer_nobody_leads(void **state)
{
	(void)state;
	assert_false(keyspace_leads(keyspace));
	assert_false(keyspace_covers(keyspace, 0));
	assert_false(keyspace_lease_is_fresh(keyspace));
	keyspace_extended(keyspace, h.now_ms + 100000); /* of a lease that is not ours there is nothing to extend */
	assert_false(keyspace_leads(keyspace));
}

static void test_ours_is_over_a_margin_before_the_store_says_so(void **state)
{
	(void)state;
	is_ours(1, 30000);
	assert_true(keyspace_covers(keyspace, 29000));
	assert_false(keyspace_covers(keyspace, 29001));
	hand_time(28999);
	assert_true(keyspace_leads(keyspace));
	hand_time(1);
	assert_false(keyspace_leads(keyspace));
	assert_false(keyspace_covers(keyspace, 1));
}

static void test_it_is_counted_from_before_the_call(void **state)
{
	const struct reply reply = lease_of(0, 1, 30000, "host:1:a");
	int64_t sent_at_ms = h.now_ms;

	(void)state;
	hand_time(20000); /* the answer took so long */
	keyspace_lease_reply(keyspace, &reply, sent_at_ms);
	assert_true(keyspace_covers(keyspace, 9000));
	assert_false(keyspace_covers(keyspace, 9001));
}

static void test_of_another_it_covers_nothing_however_long_it_is(void **state)
{
	(void)state;
	is_ours(1, 30000);
	is_theirs(1000000, "host:2:b");
	assert_false(keyspace_leads(keyspace));
	assert_false(keyspace_covers(keyspace, 0));
	keyspace_extended(keyspace, h.now_ms + 2000000);
	assert_false(keyspace_covers(keyspace, 0));
	assert_int_equal(h.engine->counters.leases_lost, 1);
}

static void test_one_that_ends_with_its_process_is_asked_for_anew_each_time(void **state)
{
	(void)state;
	is_theirs(LEASE_NO_END, "");
	assert_false(keyspace_lease_is_fresh(keyspace));
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX); /* a cheap call tells: nothing is planned */
	is_ours(2, LEASE_NO_END);
	assert_true(keyspace_covers(keyspace, 1000000000));
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX); /* and ours need not be renewed */
	assert_int_equal(h.engine->counters.leases_lost, 0);
	is_theirs(LEASE_NO_END, ""); /* lost all the same */
	assert_int_equal(h.engine->counters.leases_lost, 1);
}

static void test_an_extension_never_shortens(void **state)
{
	(void)state;
	is_ours(1, 30000);
	keyspace_extended(keyspace, h.now_ms + 83000);
	assert_true(keyspace_covers(keyspace, 82000));
	keyspace_extended(keyspace, h.now_ms + 5000);
	assert_true(keyspace_covers(keyspace, 82000));
}

static void test_a_renewal_asks_for_no_less_than_the_longest_effect_needs(void **state)
{
	(void)state;
	assert_int_equal(keyspace_lease_ms(keyspace), LEASE_DEFAULT_MS);
	keyspace_effect_began(keyspace, h.now_ms + 80000);
	assert_int_equal(keyspace_lease_ms(keyspace), 80000 + LEASE_MARGIN_MS);
	keyspace_effect_began(keyspace, h.now_ms + 40000); /* a shorter one beside it */
	assert_int_equal(keyspace_lease_ms(keyspace), 80000 + LEASE_MARGIN_MS);
	keyspace_effect_began(keyspace, h.now_ms + 90000);
	assert_int_equal(keyspace_lease_ms(keyspace), 90000 + LEASE_MARGIN_MS);
	is_ours(1, 100000);
	for (int left = 2; left >= 0; left--) {
		assert_int_equal(keyspace->effects, left + 1);
		keyspace_release(keyspace); /* not as long as one is under way */
		assert_true(keyspace->leader);
		keyspace_effect_ended(keyspace);
	}
	assert_int_equal(keyspace_lease_ms(keyspace), LEASE_DEFAULT_MS);
	keyspace_effect_began(keyspace, h.now_ms + 10000); /* the first again: not that of before */
	assert_int_equal(keyspace_lease_ms(keyspace), LEASE_DEFAULT_MS);
}

static void test_a_renewal_that_fails_is_tried_again_and_the_lease_goes_on_to_its_end(void **state)
{
	const struct reply failed = { .kind = REQUEST_STORE_LEASE, .result = -1 };

	(void)state;
	keyspace_lease_reply(keyspace, &failed, h.now_ms); /* nobody leads: nothing is planned */
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX);
	is_ours(1, 30000);
	hand_time(5000);
	keyspace_lease_reply(keyspace, &failed, h.now_ms);
	assert_true(keyspace_leads(keyspace));
	assert_int_equal(keyspace->renewal.at_ms, h.now_ms + 2000);
	hand_time(2000);
	assert_true(asks());
	hand_time(21999);
	assert_true(keyspace_leads(keyspace));
	hand_time(1);
	assert_false(keyspace_leads(keyspace));
	is_ours(2, LEASE_NO_END);
	timer_clear(h.engine, &keyspace->renewal);
	keyspace_lease_reply(keyspace, &failed, h.now_ms); /* what has no end is not renewed */
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX);
}

static void test_only_one_renewal_is_under_way_and_none_behind_the_stop(void **state)
{
	(void)state;
	is_ours(1, 30000);
	timer_set(h.engine, &keyspace->renewal, h.now_ms);
	hand_time(0);
	assert_true(asks());
	timer_set(h.engine, &keyspace->renewal, h.now_ms); /* somebody else planned one */
	hand_time(0);
	assert_false(asks());
	keyspace->renewing = false;
	engine_stop(h.engine);
	while (asks())
		;
	timer_set(h.engine, &keyspace->renewal, h.now_ms);
	hand_time(0);
	assert_false(asks());
	is_ours(1, 30000); /* comes too late */
	assert_false(keyspace_leads(keyspace));
}

static void test_whoever_follows_takes_over_when_it_ends_and_not_before(void **state)
{
	struct lease_row row = { "commerce", "host:2:b", 9, 20000 };

	(void)state;
	keyspace_follow(keyspace, &row);
	assert_string_equal(keyspace->holder, "host:2:b");
	assert_in_range(keyspace->renewal.at_ms, h.now_ms + 20000, h.now_ms + 20500);
	row.left_ms = 0; /* over: the first plan stands unless now is earlier */
	keyspace_follow(keyspace, &row);
	assert_string_equal(keyspace->holder, "");
	assert_in_range(keyspace->renewal.at_ms, h.now_ms, h.now_ms + 500);

	int64_t planned_ms = keyspace->renewal.at_ms;

	hand_time(planned_ms - h.now_ms - 1);
	for (int i = 0; i < 20; i++)
		keyspace_follow(keyspace, NULL); /* nobody ever had it */
	assert_true(keyspace->renewal.at_ms <= planned_ms);
	row.left_ms = LEASE_NO_END;
	keyspace_follow(keyspace, &row);
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX);
	row.left_ms = -1; /* its process has died */
	keyspace_follow(keyspace, &row);
	assert_in_range(keyspace->renewal.at_ms, h.now_ms, h.now_ms + 100);
}

static void test_whoever_leads_or_asks_does_not_follow(void **state)
{
	const struct lease_row row = { "commerce", "host:2:b", 9, 20000 };

	(void)state;
	is_ours(1, 30000);
	keyspace_follow(keyspace, &row); /* an older survey of the store */
	assert_string_equal(keyspace->holder, "");
	assert_true(keyspace_leads(keyspace));
	is_theirs(5000, "host:3:c");
	keyspace->renewing = true;
	keyspace_follow(keyspace, &row);
	assert_string_equal(keyspace->holder, "host:3:c");
	keyspace->renewing = false;
}

static void test_what_is_shown_is_by_our_clock(void **state)
{
	const struct keyspace_view *view;

	(void)state;
	is_theirs(5000, "host:2:b");
	view = engine_keyspace(h.engine, 0);
	assert_false(view->leader);
	assert_string_equal(view->holder, "host:2:b");
	assert_int_equal(view->lease_left_ms, 0);
	is_ours(3, 30000);
	hand_time(10000);
	view = engine_keyspace(h.engine, 0);
	assert_true(view->leader);
	assert_string_equal(view->holder, "host:1:a");
	assert_int_equal(view->epoch, 3);
	assert_int_equal(view->lease_left_ms, 20000);
	hand_time(30000);
	view = engine_keyspace(h.engine, 0);
	assert_false(view->leader);
	assert_int_equal(view->lease_left_ms, 0);
	is_ours(4, LEASE_NO_END);
	assert_int_equal(engine_keyspace(h.engine, 0)->lease_left_ms, LEASE_NO_END);
}

static void test_only_who_leads_may_write_and_not_where_it_must_not(void **state)
{
	struct task *task = task_new(h.engine, "commerce");

	(void)state;
	assert_false(task_may_act(task));
	is_ours(1, 30000);
	assert_true(task_may_act(task));
	h.engine->config.read_only = true;
	assert_false(task_may_act(task));
	h.engine->config.read_only = false;
	h.engine->stopping = true;
	assert_false(task_may_act(task));
	h.engine->stopping = false;
	task_free(task);
}

static void test_a_lease_is_not_given_back_while_it_is_asked_for(void **state)
{
	(void)state;
	is_ours(1, 30000);
	keyspace->renewing = true; /* the answer would say that it is ours */
	keyspace_release(keyspace);
	assert_true(keyspace->leader);
	engine_stop(h.engine); /* at the end it is: answers are not heard any more */
	assert_false(keyspace->leader);
	keyspace->renewing = false;
}

static void test_whoever_serves_asks_again_where_the_store_failed(void **state)
{
	const struct reply failed = { .kind = REQUEST_STORE_LEASE, .result = -1 };
	const struct pending renewal = { .keyspace = keyspace, .purpose = FOR_RENEWAL, .sent_at_ms = h.now_ms };

	(void)state;
	keyspace_reply(keyspace, &renewal, &failed);
	assert_int_equal(keyspace->renewal.at_ms, INT64_MAX); /* a task asks for itself */
	h.engine->serving = true;
	keyspace_reply(keyspace, &renewal, &failed);
	assert_in_range(keyspace->renewal.at_ms, h.now_ms + 2000, h.now_ms + 4000);
	h.engine->serving = false;
}

static void test_an_effect_that_ends_behind_the_lease_asks_for_nothing(void **state)
{
	int64_t planned_ms;

	(void)state;
	is_ours(1, 30000);
	keyspace_effect_began(keyspace, h.now_ms + 80000);
	is_theirs(20000, "host:2:b");
	planned_ms = keyspace->renewal.at_ms;
	keyspace_effect_ended(keyspace);
	assert_int_equal(keyspace->renewal.at_ms, planned_ms);
}

static void test_keyspaces_are_found_by_name_in_whichever_order_they_came(void **state)
{
	static const char *const names[] = { "m", "b", "x", "commerce", "a", "z" };

	(void)state;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 6; i++)
			assert_string_equal(keyspace_get(h.engine, names[i])->name, names[i]);
	assert_int_equal(engine_keyspaces(h.engine), 6);
	assert_ptr_equal(keyspace_get(h.engine, "commerce"), keyspace);
	for (size_t i = 0; i + 1 < 6; i++)
		assert_true(strcmp(h.engine->keyspaces[i]->name, h.engine->keyspaces[i + 1]->name) < 0);
}

static void make_keyspace(void *name)
{
	keyspace_get(h.engine, name);
}

static void test_without_memory_for_a_keyspace_it_aborts(void **state)
{
	struct keyspace **keyspaces = h.engine->keyspaces;

	(void)state;
	assert_true(aborts_without_memory(make_keyspace, "new", 1));
	keyspaces = h.engine->keyspaces; /* it has grown */
	assert_true(aborts_without_memory(make_keyspace, "new", 2));
	free(failing_last);
	h.engine->keyspaces = keyspaces;
	assert_int_equal(engine_keyspaces(h.engine), 1);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		ROW(test_before_any_answer_nobody_leads),
		ROW(test_ours_is_over_a_margin_before_the_store_says_so),
		ROW(test_it_is_counted_from_before_the_call),
		ROW(test_of_another_it_covers_nothing_however_long_it_is),
		ROW(test_one_that_ends_with_its_process_is_asked_for_anew_each_time),
		ROW(test_an_extension_never_shortens),
		ROW(test_a_renewal_asks_for_no_less_than_the_longest_effect_needs),
		ROW(test_a_renewal_that_fails_is_tried_again_and_the_lease_goes_on_to_its_end),
		ROW(test_only_one_renewal_is_under_way_and_none_behind_the_stop),
		ROW(test_whoever_follows_takes_over_when_it_ends_and_not_before),
		ROW(test_whoever_leads_or_asks_does_not_follow),
		ROW(test_what_is_shown_is_by_our_clock),
		ROW(test_only_who_leads_may_write_and_not_where_it_must_not),
		ROW(test_a_lease_is_not_given_back_while_it_is_asked_for),
		ROW(test_whoever_serves_asks_again_where_the_store_failed),
		ROW(test_an_effect_that_ends_behind_the_lease_asks_for_nothing),
		ROW(test_keyspaces_are_found_by_name_in_whichever_order_they_came),
		ROW(test_without_memory_for_a_keyspace_it_aborts),
	};

	return cmocka_run_group_tests_name("keyspace_lease", tests, NULL, NULL);
}
