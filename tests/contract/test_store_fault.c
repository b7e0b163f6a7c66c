/* Goal: the fault wrapper of the crash tests does what it says, or their claims would be empty.
 * Method: each fault once around a write, and what the next process finds. */
#include "store_fixture.h"

#include "store_fault.h"

static char *folder, url[300];
static struct store *store;
static struct arena arena;
static struct change_shard shards[2];
static struct change change;
static char holder[ACTOR_MAX + 1];
static int64_t epoch;
static unsigned deaths;

static void on_death(void *data)
{
	++*(unsigned *)data;
}

static int setup(void **state)
{
	struct store *inner;

	(void)state;
	folder = fixture_folder();
	snprintf(url, sizeof(url), "sqlite:%s/store.db", folder);
	arena_init(&arena, 0);
	deaths = 0;
	change = fixture_change(1, "corder", 1, shards);
	assert_ok(open_at(url, false, &inner, err));
	assert_ok(store_fault_wrap(inner, &store));
	assert_ok(lease_at(store, SCOPE, "host:1:a", &epoch, holder, err));
	change.epoch = epoch;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	store_close(store);
	arena_release(&arena);
	fixture_folder_remove(folder);
	return 0;
}

static int insert(struct error *err)
{
	return store_insert(store, &change, "", "", err);
}

static bool is_recorded(void)
{
	struct change found;
	struct error err = { 0 };
	int result = store_load(store, CLUSTER, change.uuid, &arena, &found, &err);

	assert_true(result >= 0);
	return result == 0;
}

static void test_without_a_fault_nothing_is_in_the_way(void **state)
{
	(void)state;
	assert_string_equal(store_url(store), url);
	assert_ok(insert(err));
	assert_int_equal(change.revision, 1);
	assert_true(is_recorded());
	assert_int_equal(store_fault_calls(store), 3);
	assert_false(store_fault_fired(store));
}

static void test_an_error_before_does_nothing_and_passes(void **state)
{
	(void)state;
	store_fault_arm(store, 2, STORE_FAULT_BEFORE, STORE_FAULT_ERROR, on_death, &deaths);
	assert_false(is_recorded());
	assert_refused(insert(err), ERROR_STORE, "on purpose");
	assert_true(store_fault_fired(store));
	assert_false(is_recorded());
	assert_ok(insert(err));
	assert_int_equal(deaths, 0);
}

static void test_an_error_after_does_everything_and_tells_nothing(void **state)
{
	(void)state;
	store_fault_arm(store, 1, STORE_FAULT_AFTER, STORE_FAULT_ERROR, on_death, &deaths);
	assert_refused(insert(err), ERROR_STORE, "on purpose");
	assert_int_equal(change.revision, 0);
	assert_true(is_recorded());
	assert_result(insert(err), STORE_CONFLICT);
}

static void test_a_batch_is_one_call(void **state)
{
	struct change other = fixture_change(2, "other", 1, shards), found;
	struct store_write writes[] = { { .change = &change }, { .change = &other } };

	(void)state;
	other.epoch = epoch;
	store_fault_arm(store, 1, STORE_FAULT_BEFORE, STORE_FAULT_ERROR, on_death, &deaths);
	store_write(store, writes, 2);
	assert_false(is_recorded());
	store_fault_arm(store, 2, STORE_FAULT_AFTER, STORE_FAULT_ERROR, on_death, &deaths);
	assert_false(is_recorded());
	store_write(store, writes, 2);
	assert_true(store_fault_fired(store));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(writes[i].result, -1);
		assert_non_null(strstr(writes[i].error.text, "on purpose"));
		assert_int_equal(writes[i].change->revision, 0);
	}
	assert_true(is_recorded());
	assert_ok(store_load(store, CLUSTER, other.uuid, &arena, &found, err));
	store_write(store, writes, 2);
	assert_int_equal(writes[0].result, STORE_CONFLICT);
	assert_int_equal(writes[1].result, STORE_CONFLICT);
}

static void test_the_dead_are_silent_until_the_next_process(void **state)
{
	static const enum store_fault_when whens[] = { STORE_FAULT_BEFORE, STORE_FAULT_AFTER };
	struct store *other;
	int64_t others;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct change *listed;
		size_t count;

		store_fault_arm(store, 1, whens[i], STORE_FAULT_DIE, on_death, &deaths);
		assert_true(insert(NULL) < 0);
		assert_int_equal(deaths, i + 1);
		assert_true(insert(NULL) < 0);
		assert_true(store_list(store, &(struct store_filter){ .cluster = CLUSTER }, &arena, &listed,
				       &count, NULL) < 0);
		assert_int_equal(deaths, i + 1);
		assert_ok(store_fault_restart(store, err));
		assert_int_equal(is_recorded(), whens[i] == STORE_FAULT_AFTER);
	}
	/* The lease died too. */
	assert_ok(open_at(url, false, &other, err));
	assert_ok(lease_at(other, SCOPE, "host:2:b", &others, holder, err));
	assert_true(others > epoch);
	store_close(other);
}

static void test_a_release_can_be_the_last_call(void **state)
{
	int64_t again;

	(void)state;
	store_fault_arm(store, 1, STORE_FAULT_BEFORE, STORE_FAULT_DIE, on_death, &deaths);
	store_release(store, SCOPE, "host:1:a");
	assert_int_equal(deaths, 1);
	assert_ok(store_fault_restart(store, err));
	assert_ok(lease_at(store, SCOPE, "host:1:a", &again, holder, err));
	assert_true(again > epoch);
}

int main(void)
{
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		ROW(test_without_a_fault_nothing_is_in_the_way),
		ROW(test_an_error_before_does_nothing_and_passes),
		ROW(test_an_error_after_does_everything_and_tells_nothing),
		ROW(test_a_batch_is_one_call),
		ROW(test_the_dead_are_silent_until_the_next_process),
		ROW(test_a_release_can_be_the_last_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
