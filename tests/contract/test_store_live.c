/* Goal: every backend tells what there is to do, all of it and nothing else, and who does it.
 * Method: one list of claims, run once for each backend (store_backends.h). */
#include "store_backends.h"

#define SINCE 5000

static struct live live_of(const char *cluster, int64_t since)
{
	struct live live;

	assert_ok(store_live(f.store, cluster, since, &f.arena, &live, err));
	return live;
}

static const struct live_change *find(const struct live *live, const struct change *change)
{
	for (size_t i = 0; i < live->change_count; i++)
		if (strcmp(live->changes[i].uuid, change->uuid) == 0)
			return &live->changes[i];
	return NULL;
}

static void test_what_holds_its_table_is_there_and_nothing_that_ended(void **state)
{
	size_t count = 0;
	struct live live;

	(void)state;
	live = live_of(CLUSTER, 0);
	assert_int_equal(live.change_count, 0);
	assert_int_equal(live.lease_count, 0);
	for (int phase = 0; phase < _PHASE_MAX; phase++) {
		struct change change;
		char table[32];

		snprintf(table, sizeof(table), "t%d", phase);
		change = new_change(10 + (unsigned)phase, table, 1);
		change.phase = (enum phase)phase;
		change.updated_at_ms = SINCE - 1;
		insert(&change);
		live = live_of(CLUSTER, SINCE);
		assert_int_equal(find(&live, &change) != NULL, phase_is_live((enum phase)phase));
		count += phase_is_live((enum phase)phase);
		assert_int_equal(live.change_count, count);
	}
	assert_int_equal(live_of("staging", 0).change_count, 0);
	assert_int_equal(live_of("' OR 1=1 --", 0).change_count, 0);
}

static void test_a_cancelled_change_is_watched_for_a_while(void **state)
{
	static const int64_t updated[] = { SINCE - 1, SINCE, SINCE + 1, 0, INT64_MAX };
	static const bool watched[] = { false, true, true, false, true };
	struct live live;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct change change = new_change(1 + i, "corder", 1);

		change.phase = PHASE_CANCELLED;
		change.updated_at_ms = updated[i];
		insert(&change);
		live = live_of(CLUSTER, SINCE);
		assert_int_equal(find(&live, &change) != NULL, watched[i]);
		if (watched[i])
			assert_false(find(&live, &change)->holds_table);
	}
	assert_int_equal(live_of(CLUSTER, INT64_MIN).change_count, 5);
	assert_int_equal(live_of("staging", SINCE).change_count, 0);
}

static void test_a_change_is_told_as_it_is_now(void **state)
{
	struct change change = new_change(1, "corder", 1);
	const struct live_change *found;
	struct store_expect expect;
	struct live live;

	(void)state;
	change.cancel_asked = true;
	change.rule = 203;
	snprintf(change.reason, sizeof(change.reason), "it waits for shard '80-' \xe2\x82\xac");
	change.gate = GATE_MANUAL;
	change.created_at_ms = 11;
	change.updated_at_ms = 12;
	change.deadline_at_ms = INT64_MAX;
	insert(&change);
	for (int round = 0; round < 2; round++) {
		live = live_of(CLUSTER, 0);
		assert_int_equal(live.change_count, 1);
		found = &live.changes[0];
		assert_string_equal(found->keyspace, "commerce");
		assert_string_equal(found->table, "corder");
		assert_string_equal(found->uuid, change.uuid);
		assert_string_equal(found->reason, change.reason);
		assert_int_equal(found->phase, change.phase);
		assert_int_equal(found->gate, change.gate);
		assert_int_equal(found->cancel_asked, change.cancel_asked);
		assert_true(found->holds_table);
		assert_int_equal(found->rule, change.rule);
		assert_int_equal(found->shard_count, change.shard_count);
		assert_int_equal(found->epoch, f.epoch);
		assert_int_equal(found->revision, round + 1);
		assert_int_equal(found->created_at_ms, 11);
		assert_int_equal(found->updated_at_ms, change.updated_at_ms);
		assert_int_equal(found->deadline_at_ms, change.deadline_at_ms);
		/* Once more with everything else that a write may change. */
		expect = expect_of(&change);
		change.cancel_asked = false;
		change.rule = -1;
		change.reason[0] = '\0';
		change.gate = GATE_AUTO;
		change.updated_at_ms = 99;
		change.deadline_at_ms = 100;
		change.shard_count = 1;
		assert_ok(store_update(f.store, &change, &expect, NULL, err));
	}
	assert_ok(move(&change, PHASE_SUBMITTED, err));
	live = live_of(CLUSTER, 0);
	assert_int_equal(live.changes[0].phase, PHASE_SUBMITTED);
	assert_int_equal(live.changes[0].revision, 4);
}

static void test_a_replaced_generation_is_not_live(void **state)
{
	struct change first = new_change(1, "corder", 1), second = new_change(1, "corder", 2);
	struct live live;

	(void)state;
	insert(&first);
	assert_ok(move(&first, PHASE_STOPPED, err));
	live = live_of(CLUSTER, 0);
	assert_true(find(&live, &first)->holds_table);
	insert(&second);
	live = live_of(CLUSTER, 0);
	assert_int_equal(live.change_count, 1);
	assert_non_null(find(&live, &second));
}

static void test_changes_are_sorted_by_keyspace_and_uuid(void **state)
{
	static const char *const keyspaces[] = {
		"zoo", "commerce", "Alpha", "commerce-2", "commerce", "zoo"
	};
	struct live live;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		char table[16];
		struct change change;

		snprintf(table, sizeof(table), "t%u", i);
		change = new_change(9 - i, table, 1);
		snprintf(change.keyspace, sizeof(change.keyspace), "%s", keyspaces[i]);
		if (i == 4) { /* the two halves of the answer are one list */
			change.phase = PHASE_CANCELLED;
			change.updated_at_ms = SINCE;
		}
		insert_elsewhere(&change);
	}
	live = live_of(CLUSTER, SINCE);
	assert_int_equal(live.change_count, 6);
	for (unsigned i = 1; i < 6; i++) {
		const struct live_change *a = &live.changes[i - 1], *b = &live.changes[i];
		int order = strcmp(a->keyspace, b->keyspace);

		assert_true(order < 0 || (order == 0 && strcmp(a->uuid, b->uuid) < 0));
	}
	assert_string_equal(live.changes[0].keyspace, "Alpha");
}

/* ---- Leases ---- */

static void insert_in(const char *keyspace, unsigned number)
{
	char table[16], scope[SCOPE_MAX + 1];
	struct change change;

	snprintf(table, sizeof(table), "t%u", number);
	change = new_change(number, table, 1);
	snprintf(change.keyspace, sizeof(change.keyspace), "%s", keyspace);
	snprintf(scope, sizeof(scope), CLUSTER "/%s", keyspace);
	insert_elsewhere(&change);
	if (strcmp(scope, SCOPE) != 0)
		store_release(f.store, scope, "host:1:a");
}

static const struct lease_row *lease_row(const struct live *live, const char *keyspace)
{
	for (size_t i = 0; i < live->lease_count; i++)
		if (strcmp(live->leases[i].keyspace, keyspace) == 0)
			return &live->leases[i];
	return NULL;
}

static bool is_held(const struct lease_row *lease)
{
	if (!backend->expire_lease)
		return lease->left_ms == LEASE_NO_END;
	return lease->left_ms > 0 && lease->left_ms <= LEASE_MS;
}

static void test_the_leases_of_the_live_keyspaces_are_told(void **state)
{
	struct store *other;
	int64_t epoch = 0, unused = 0;
	struct live live;

	(void)state;
	insert_in("zoo", 1);
	insert_in("commerce", 2);
	insert_in("zoo", 3);
	insert_in("nobodys", 4);
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, "default/zoo", "host:2:b", &epoch, f.holder, err));
	assert_ok(lease_at(other, "default/idle", "host:2:b", &unused, f.holder, err));
	assert_ok(lease_at(other, "staging/nobodys", "host:2:b", &unused, f.holder, err));
	live = live_of(CLUSTER, 0);
	assert_int_equal(live.lease_count, 3);
	assert_string_equal(live.leases[0].keyspace, "commerce");
	assert_string_equal(live.leases[0].holder, "host:1:a");
	assert_int_equal(live.leases[0].epoch, f.epoch);
	assert_true(is_held(&live.leases[0]));
	assert_string_equal(live.leases[1].keyspace, "nobodys");
	assert_string_equal(live.leases[1].holder, "");
	assert_true(live.leases[1].left_ms <= 0);
	assert_string_equal(live.leases[2].keyspace, "zoo");
	assert_string_equal(live.leases[2].holder, "host:2:b");
	assert_int_equal(live.leases[2].epoch, epoch);
	assert_true(is_held(&live.leases[2]));
	store_close(other);
}

static void test_a_lease_that_nobody_has_is_told_as_free(void **state)
{
	struct store *other;
	int64_t epoch = 0;
	struct live live;

	(void)state;
	insert_in("commerce", 1);
	insert_in("zoo", 2);
	store_release(f.store, SCOPE, "host:1:a");
	live = live_of(CLUSTER, 0);
	assert_true(lease_row(&live, "commerce")->left_ms <= 0);
	assert_string_equal(lease_row(&live, "commerce")->holder, "");
	assert_int_equal(lease_row(&live, "commerce")->epoch, f.epoch);
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, "default/zoo", "host:2:b", &epoch, f.holder, err));
	live = live_of(CLUSTER, 0);
	assert_true(is_held(lease_row(&live, "zoo")));
	leader_dies(other, "default/zoo");
	live = live_of(CLUSTER, 0);
	assert_true(lease_row(&live, "zoo")->left_ms <= 0);
	assert_int_equal(lease_row(&live, "zoo")->epoch, epoch);
}

/* ---- Bounds ---- */

static void test_an_arena_bounds_it_and_a_reader_may_ask(void **state)
{
	struct change change = new_change(1, "corder", 1);
	struct live live = { .change_count = 7 };
	struct store *reader;
	struct arena small;

	(void)state;
	insert(&change);
	arena_init(&small, 64);
	assert_true(store_live(f.store, CLUSTER, 0, &small, &live, NULL) < 0);
	assert_int_equal(live.change_count, 0);
	assert_int_equal(live.lease_count, 0);
	arena_release(&small);
	assert_ok(backend_open(f.url, true, &reader, err));
	assert_ok(store_live(reader, CLUSTER, 0, &f.arena, &live, err));
	assert_int_equal(live.change_count, 1);
	assert_string_equal(live.leases[0].holder, "host:1:a");
	assert_true(is_held(&live.leases[0]));
	store_close(reader);
	assert_ok(move(&change, PHASE_SUBMITTED, err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_what_holds_its_table_is_there_and_nothing_that_ended),
		ROW(test_a_cancelled_change_is_watched_for_a_while),
		ROW(test_a_change_is_told_as_it_is_now),
		ROW(test_a_replaced_generation_is_not_live),
		ROW(test_changes_are_sorted_by_keyspace_and_uuid),
		ROW(test_the_leases_of_the_live_keyspaces_are_told),
		ROW(test_a_lease_that_nobody_has_is_told_as_free),
		ROW(test_an_arena_bounds_it_and_a_reader_may_ask),
	};

	return run_on_every_backend(tests);
}
