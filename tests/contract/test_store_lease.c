/* Goal: every backend finds what was written, has one leader for a keyspace, and opens as
 * vtddl/store.h promises.
 * Method: one list of claims, run once for each backend (store_backends.h). */
#include "store_backends.h"

/* ---- Lists and history ---- */

static void test_a_list_is_what_matches_newest_first(void **state)
{
	struct change changes[6], *listed;
	size_t count;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		changes[i] = new_change(i + 1, i % 2 ? "odd" : "even", 1);
		/* The wall clock may run backwards; the order is that of writing. */
		changes[i].created_at_ms = 1000 - i;
		if (i == 5)
			snprintf(changes[i].keyspace, sizeof(changes[i].keyspace), "customer");
		if (i < 4)
			changes[i].phase = PHASE_VERIFIED;
		insert_elsewhere(&changes[i]);
	}
	assert_ok(store_list(f.store, &(struct store_filter){ .cluster = CLUSTER }, &f.arena, &listed, &count,
			     err));
	assert_int_equal(count, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_same_change(&listed[i], &changes[5 - i]);

	const struct {
		struct store_filter filter;
		size_t count;
		unsigned newest;
	} cases[] = {
		{ { .cluster = CLUSTER, .limit = 2 }, 2, 6 },
		{ { .cluster = CLUSTER, .limit = 100 }, 6, 6 },
		{ { .cluster = CLUSTER, .live_only = true }, 2, 6 },
		{ { .cluster = CLUSTER, .keyspace = "commerce" }, 5, 5 },
		{ { .cluster = CLUSTER, .keyspace = "commerce", .live_only = true }, 1, 5 },
		{ { .cluster = CLUSTER, .keyspace = "commerce", .live_only = true, .limit = 1 }, 1, 5 },
		{ { .cluster = CLUSTER, .table = "odd" }, 3, 6 },
		{ { .cluster = CLUSTER, .keyspace = "commerce", .table = "odd" }, 2, 4 },
		{ { .cluster = CLUSTER, .ddl_sha256 = changes[2].ddl_sha256 }, 1, 3 },
		{ { .cluster = CLUSTER, .ddl_sha256 = changes[2].ddl_sha256, .keyspace = "customer" }, 0, 0 },
		{ { .cluster = CLUSTER, .uuid_or_context = changes[1].uuid }, 1, 2 },
		{ { .cluster = CLUSTER, .uuid_or_context = changes[3].context }, 1, 4 },
		{ { .cluster = CLUSTER, .uuid_or_context = changes[3].context, .live_only = true }, 0, 0 },
		{ { .cluster = "staging" }, 0, 0 },
		{ { .cluster = CLUSTER, .keyspace = "nowhere" }, 0, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_ok(store_list(f.store, &cases[i].filter, &f.arena, &listed, &count, err));
		assert_int_equal(count, cases[i].count);
		if (count)
			assert_string_equal(listed[0].uuid, changes[cases[i].newest - 1].uuid);
	}
}

static void test_an_arena_bounds_what_is_read(void **state)
{
	struct change change = new_change(1, "corder", 1), *listed;
	struct arena small;
	size_t count = 7;

	(void)state;
	insert(&change);
	arena_init(&small, 256);
	assert_true(store_list(f.store, &(struct store_filter){ .cluster = CLUSTER }, &small, &listed, &count,
			       NULL) < 0);
	assert_int_equal(count, 0);
	arena_release(&small);
	/* The store can be used on. */
	assert_ok(move(&change, PHASE_SUBMITTED, err));
}

static void test_history_tells_every_move_in_order(void **state)
{
	struct change change = new_change(1, "corder", 1), other = new_change(2, "other", 1);
	struct store_expect expect;
	struct history_entry *entries;

	(void)state;
	snprintf(change.reason, sizeof(change.reason), "made");
	change.rule = 101;
	insert(&change);
	insert(&other);
	assert_ok(move(&change, PHASE_SUBMITTED, err));
	expect = expect_of(&change);
	assert_ok(store_update(f.store, &change, &expect, NULL, err)); /* an attempt: no line */
	assert_ok(move(&change, PHASE_COMPLETING, err));
	assert_int_equal(count_history(&change, &entries), 3);
	assert_int_equal(entries[0].from, _PHASE_INVALID);
	assert_int_equal(entries[0].to, PHASE_SUBMITTING);
	assert_int_equal(entries[0].rule, 101);
	assert_int_equal(entries[0].at_ms, change.created_at_ms);
	assert_string_equal(entries[0].actor, "ci@host");
	assert_string_equal(entries[0].reason, "made");
	assert_string_equal(entries[0].evidence, "two shards");
	assert_int_equal(entries[1].from, PHASE_SUBMITTING);
	assert_int_equal(entries[1].to, PHASE_SUBMITTED);
	assert_int_equal(entries[1].rule, 203);
	assert_int_equal(entries[1].at_ms, 5);
	assert_string_equal(entries[1].actor, "engine");
	assert_string_equal(entries[1].reason, "it was so");
	assert_string_equal(entries[1].evidence, "-80: ready");
	assert_int_equal(entries[2].to, PHASE_COMPLETING);
	assert_int_equal(count_history(&other, &entries), 1);
}

static void test_missing_words_in_history_are_empty(void **state)
{
	struct change change = new_change(1, "corder", 1);
	struct history_entry entry = { .from = PHASE_SUBMITTING, .to = PHASE_SUBMITTING }, *entries;
	struct store_expect expect;

	(void)state;
	assert_ok(store_insert(f.store, &change, NULL, NULL, err));
	expect = expect_of(&change);
	assert_ok(store_update(f.store, &change, &expect, &entry, err));
	assert_int_equal(count_history(&change, &entries), 2);
	assert_string_equal(entries[0].actor, "");
	assert_string_equal(entries[0].evidence, "");
	assert_string_equal(entries[1].reason, "");
}

/* ---- Lease ---- */

static void test_a_lease_is_one_holders_and_its_epoch_grows(void **state)
{
	struct store *other;
	int64_t epoch = 0, kept = 0;

	(void)state;
	assert_true(f.epoch >= 1);
	assert_ok(backend_open(f.url, false, &other, err));
	assert_result(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err), STORE_HELD);
	assert_string_equal(f.holder, "host:1:a");
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err));
	assert_int_equal(kept, f.epoch);
	assert_string_equal(f.holder, "host:1:a");
	store_release(f.store, SCOPE, "host:1:a");
	store_release(f.store, SCOPE, "host:1:a");
	store_release(f.store, "default/never-held", "host:1:a");
	assert_ok(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err));
	assert_string_equal(f.holder, "host:2:b");
	assert_true(epoch > f.epoch);
	assert_result(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err), STORE_HELD);
	assert_string_equal(f.holder, "host:2:b");
	leader_dies(other, SCOPE);
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err));
	assert_true(kept > epoch);
}

static void test_only_its_holder_releases_a_lease(void **state)
{
	struct store *other;
	int64_t epoch = 0;

	(void)state;
	assert_ok(backend_open(f.url, false, &other, err));
	store_release(other, SCOPE, "host:2:b");
	store_release(f.store, SCOPE, "host:2:b");
	store_release(f.store, "commerce", "host:1:a");
	store_release(f.store, SCOPE, "");
	assert_result(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err), STORE_HELD);
	/* Nor may another owner take it through our handle. */
	assert_result(lease_at(f.store, SCOPE, "host:2:b", &epoch, f.holder, err), STORE_HELD);
	assert_string_equal(f.holder, "host:1:a");
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &epoch, f.holder, err));
	assert_int_equal(epoch, f.epoch);
	store_close(other);
}

static bool is_left(int64_t left_ms, int64_t min_ms, int64_t max_ms)
{
	return backend->expire_lease ? left_ms >= min_ms && left_ms <= max_ms : left_ms == LEASE_NO_END;
}

/* As the others see it. */
static int64_t left_ms_now(void)
{
	struct lease lease = { 0 };
	struct store *other;

	assert_ok(backend_open(f.url, false, &other, err));
	assert_result(store_lease(other, SCOPE, "host:2:b", LEASE_MS, &lease, err), STORE_HELD);
	assert_string_equal(lease.holder, "host:1:a");
	assert_int_equal(lease.epoch, f.epoch);
	store_close(other);
	return lease.left_ms;
}

/* Half a minute between two calls would be a broken machine, not a broken store. */
static void test_a_lease_says_how_long_it_lasts(void **state)
{
	struct lease lease = { 0 };

	(void)state;
	assert_true(is_left(left_ms_now(), 1, LEASE_MS));
	assert_ok(store_lease(f.store, SCOPE, "host:1:a", 10 * LEASE_MS, &lease, err));
	assert_true(is_left(lease.left_ms, 9 * LEASE_MS, 10 * LEASE_MS));
	assert_int_equal(lease.epoch, f.epoch);
	assert_string_equal(lease.holder, "host:1:a");
	assert_true(is_left(left_ms_now(), 9 * LEASE_MS, 10 * LEASE_MS));
	/* Keeping it may shorten it. */
	assert_ok(store_lease(f.store, SCOPE, "host:1:a", 2 * LEASE_MS, &lease, err));
	assert_true(is_left(lease.left_ms, LEASE_MS, 2 * LEASE_MS));
	assert_true(is_left(left_ms_now(), LEASE_MS, 2 * LEASE_MS));
}

static void test_a_write_makes_the_lease_last(void **state)
{
	struct change change = new_change(1, "corder", 1);
	struct store_expect expect;

	(void)state;
	insert(&change);
	expect = expect_of(&change);
	expect.lease_ms = 10 * LEASE_MS;
	assert_ok(store_update(f.store, &change, &expect, NULL, err));
	assert_true(is_left(left_ms_now(), 9 * LEASE_MS, 10 * LEASE_MS));
	/* At least so long: it never gets shorter by a write. */
	expect = expect_of(&change);
	expect.lease_ms = 1;
	assert_ok(store_update(f.store, &change, &expect, NULL, err));
	assert_true(is_left(left_ms_now(), 8 * LEASE_MS, 10 * LEASE_MS));
	/* A write that is refused leaves it alone. */
	expect = expect_of(&change);
	expect.revision--;
	expect.lease_ms = 100 * LEASE_MS;
	assert_result(store_update(f.store, &change, &expect, NULL, err), STORE_CONFLICT);
	assert_true(is_left(left_ms_now(), 8 * LEASE_MS, 10 * LEASE_MS));
}

static void test_a_lease_that_ended_is_its_holders_until_another_takes_it(void **state)
{
	struct store *other;
	int64_t epoch = 0, kept = 0;

	(void)state;
	if (!backend->expire_lease)
		return;
	backend->expire_lease(f.url, SCOPE);
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err));
	assert_int_equal(kept, f.epoch);
	backend->expire_lease(f.url, SCOPE);
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err));
	assert_true(epoch > f.epoch);
	assert_result(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err), STORE_HELD);
	backend->expire_lease(f.url, SCOPE);
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &kept, f.holder, err));
	assert_true(kept > epoch);
	store_close(other);
}

static void test_leases_of_two_keyspaces_are_two(void **state)
{
	struct store *other;
	int64_t epoch = 0, second = 0;

	(void)state;
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, "default/customer", "host:2:b", &epoch, f.holder, err));
	assert_ok(lease_at(other, "staging/commerce", "host:2:b", &second, f.holder, err));
	assert_result(lease_at(f.store, "default/customer", "host:1:a", &epoch, f.holder, err), STORE_HELD);
	assert_result(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err), STORE_HELD);
	store_release(other, "default/customer", "host:2:b");
	assert_ok(lease_at(f.store, "default/customer", "host:1:a", &epoch, f.holder, err));
	assert_result(lease_at(f.store, "staging/commerce", "host:1:a", &epoch, f.holder, err), STORE_HELD);
	store_close(other);
}

static void test_an_old_leader_writes_nothing(void **state)
{
	struct change change = new_change(1, "corder", 1), new = new_change(2, "other", 1), found;
	struct store *other;
	int64_t epoch = 0, old = f.epoch;

	(void)state;
	insert(&change);
	store_release(f.store, SCOPE, "host:1:a");
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err));
	assert_result(move(&change, PHASE_SUBMITTED, err), STORE_CONFLICT);
	assert_result(store_insert(f.store, &new, "", "", err), STORE_CONFLICT);
	/* The new leader may, with its own epoch; and with that it is the new leader's record. */
	f.epoch = epoch;
	assert_ok(move(&change, PHASE_SUBMITTED, err));
	found = load(&change);
	assert_int_equal(found.epoch, epoch);
	f.epoch = old;
	assert_result(move(&change, PHASE_COMPLETING, err), STORE_CONFLICT);
	store_close(other);
}

static void test_nobody_writes_without_a_lease(void **state)
{
	struct change change = new_change(1, "corder", 1);
	struct store_expect expect;

	(void)state;
	snprintf(change.cluster, sizeof(change.cluster), "staging"); /* nobody ever took staging/commerce */
	for (int64_t epoch = 0; epoch < 3; epoch++) {
		change.epoch = epoch;
		assert_result(store_insert(f.store, &change, "", "", err), STORE_CONFLICT);
		expect = (struct store_expect){ change.phase, 1, epoch };
		assert_result(store_update(f.store, &change, &expect, NULL, err), STORE_CONFLICT);
	}
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = "staging" }), 0);
}

static void test_a_scope_or_owner_without_sense_is_refused(void **state)
{
	static const char *const scopes[] = { "",	   "commerce",	  "default/",
					      "/commerce", "default/a b", "default/a/b" };
	char owner[ACTOR_MAX + 2];
	int64_t epoch;

	(void)state;
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		assert_refused(lease_at(f.store, scopes[i], "host:1:a", &epoch, f.holder, err), ERROR_BUG,
			       "scope");
	memset(owner, 'o', sizeof(owner));
	owner[ACTOR_MAX + 1] = '\0';
	assert_refused(lease_at(f.store, "default/a", owner, &epoch, f.holder, err), ERROR_BUG, "owner");
	assert_refused(lease_at(f.store, "default/a", "", &epoch, f.holder, err), ERROR_BUG, "owner");
	owner[ACTOR_MAX] = '\0';
	assert_ok(lease_at(f.store, "default/a", owner, &epoch, f.holder, err));
}

/* ---- Opening ---- */

static void test_what_was_written_is_there_after_opening_again(void **state)
{
	struct change change = new_change(1, "corder", 1), found;
	int64_t epoch = 0;

	(void)state;
	insert(&change);
	assert_ok(move(&change, PHASE_SUBMITTED, err));
	leader_dies(f.store, SCOPE);
	assert_ok(backend_open(f.url, false, &f.store, err));
	assert_string_equal(store_url(f.store), f.url);
	found = load(&change);
	assert_same_change(&found, &change);
	assert_ok(lease_at(f.store, SCOPE, "host:1:b", &epoch, f.holder, err));
	assert_true(epoch > f.epoch);
}

static void test_a_reader_reads_and_never_writes(void **state)
{
	struct change change = new_change(1, "corder", 1), other = new_change(2, "other", 1), found;
	struct store_expect expect;
	struct store *reader;
	int64_t epoch;

	(void)state;
	insert(&change);
	expect = expect_of(&change);
	assert_ok(backend_open(f.url, true, &reader, err));
	assert_ok(store_load(reader, CLUSTER, change.uuid, &f.arena, &found, err));
	assert_same_change(&found, &change);
	assert_true(store_insert(reader, &other, "", "", NULL) < 0);
	assert_true(store_update(reader, &found, &expect, NULL, NULL) < 0);
	assert_true(lease_at(reader, "default/a", "host:2:b", &epoch, f.holder, NULL) < 0);
	store_close(reader);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 1);
}

static void test_a_reader_finds_no_store_and_makes_none(void **state)
{
	char url[512], *place;
	struct store *store = NULL;

	(void)state;
	backend->url_new(url, sizeof(url), &place);
	for (int i = 0; i < 2; i++)
		assert_result(backend_open(url, true, &store, err), STORE_NOT_FOUND);
	backend->place_remove(place);
}

static void test_an_unknown_kind_of_store_is_refused_without_its_secret(void **state)
{
	static const char *const urls[] = {
		"", "sqlite", "sqlit:/x", "sqlite3:/x", "oracle://me:secret@host/db", ":x"
	};
	struct store *store = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct error err = { 0 };

		assert_true(open_at(urls[i], false, &store, &err) < 0);
		assert_int_equal(err.code, ERROR_CONFIG);
		assert_null(strstr(err.text, "secret"));
	}
	assert_null(store_close(NULL));
}

static void test_a_check_says_that_all_is_well(void **state)
{
	char text[REASON_MAX];

	(void)state;
	assert_ok(store_check(f.store, text, err));
	assert_non_null(strstr(text, backend->well));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_list_is_what_matches_newest_first),
		ROW(test_an_arena_bounds_what_is_read),
		ROW(test_history_tells_every_move_in_order),
		ROW(test_missing_words_in_history_are_empty),
		ROW(test_a_lease_is_one_holders_and_its_epoch_grows),
		ROW(test_only_its_holder_releases_a_lease),
		ROW(test_a_lease_says_how_long_it_lasts),
		ROW(test_a_write_makes_the_lease_last),
		ROW(test_a_lease_that_ended_is_its_holders_until_another_takes_it),
		ROW(test_leases_of_two_keyspaces_are_two),
		ROW(test_an_old_leader_writes_nothing),
		ROW(test_nobody_writes_without_a_lease),
		ROW(test_a_scope_or_owner_without_sense_is_refused),
		ROW(test_what_was_written_is_there_after_opening_again),
		ROW(test_a_reader_reads_and_never_writes),
		ROW(test_a_reader_finds_no_store_and_makes_none),
		ROW(test_an_unknown_kind_of_store_is_refused_without_its_secret),
		ROW(test_a_check_says_that_all_is_well),
	};

	return run_on_every_backend(tests);
}
