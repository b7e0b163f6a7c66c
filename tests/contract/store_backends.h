#pragma once
/*
 * store_backends: the backends that the contract is checked on, and a fresh store for each test.
 * The suite is in test_store.c (changes), test_store_batch.c (several at once), test_store_lease.c (lists,
 * history, lease, opening) and test_store_live.c (what there is to do); each runs every claim once for each
 * row of `backends`; a new backend joins by a row.
 */
#include "store_fixture.h"
#include "store_model.h"
#include "store_mysql_backend.h"

struct backend {
	const char *name;
	bool (*is_there)(void); /* whether it can be tried here, else it is left out; NULL: always */
	void (*url_new)(char *ret, size_t size, char **ret_place); /* of a store that does not exist */
	void (*place_remove)(char *place);
	int (*open)(const struct store_config *config, struct store **ret, struct error *reterr);
	/* Makes the end of the lease be over; NULL: a lease has no end but that of its holder. */
	void (*expire_lease)(const char *url, const char *scope);
	const char *well; /* a word of store_check() where all is well */
};

static inline void sqlite_url_new(char *ret, size_t size, char **ret_place)
{
	*ret_place = fixture_folder();
	snprintf(ret, size, "sqlite:%s/store.db", *ret_place);
}

static inline void model_url_new(char *ret, size_t size, char **ret_place)
{
	static unsigned count;

	assert_true(asprintf(ret_place, "contract-%u", ++count) > 0);
	snprintf(ret, size, "model:%s", *ret_place);
}

static inline void model_place_remove(char *place)
{
	store_model_free(store_model_find(place));
	free(place);
}

static inline void model_expire_lease(const char *url, const char *scope)
{
	store_model_expire(store_model_of_url(url), scope);
}

static const struct backend backends[] = {
	{ .name = "sqlite",
	  .url_new = sqlite_url_new,
	  .place_remove = fixture_folder_remove,
	  .open = store_open,
	  .well = "whole" },
	/* What the simulator's controllers share (tests/sim): it must be what the real ones are. */
	{ .name = "model",
	  .url_new = model_url_new,
	  .place_remove = model_place_remove,
	  .open = store_model_open_url,
	  .expire_lease = model_expire_lease,
	  .well = "whole" },
	MYSQL_BACKEND(mariadb),
	MYSQL_BACKEND(mysql),
	VTGATE_BACKEND(),
};

static const struct backend *backend;

/** backend_open() - a second handle on a store, as another process would have it */
static inline int backend_open(const char *url, bool read_only, struct store **ret, struct error *reterr)
{
	return backend->open(&(struct store_config){ .url = url, .read_only = read_only }, ret, reterr);
}

/* One store, a lease on SCOPE under `epoch`, and an arena, anew for each test. */
static struct fixture {
	char url[512];
	char *place;
	struct store *store;
	struct arena arena;
	int64_t epoch;
	char holder[ACTOR_MAX + 1];
	struct change_shard shards[2];
} f;

static inline int setup(void **state)
{
	(void)state;
	backend->url_new(f.url, sizeof(f.url), &f.place);
	arena_init(&f.arena, 0);
	assert_ok(backend_open(f.url, false, &f.store, err));
	assert_ok(lease_at(f.store, SCOPE, "host:1:a", &f.epoch, f.holder, err));
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	f.store = store_close(f.store);
	arena_release(&f.arena);
	backend->place_remove(f.place);
	return 0;
}

/** leader_dies() - the process of @store, which holds @scope, is gone; time passes, if that is needed */
static inline struct store *leader_dies(struct store *store, const char *scope)
{
	store_close(store);
	if (backend->expire_lease)
		backend->expire_lease(f.url, scope);
	return NULL;
}

static inline struct change new_change(unsigned number, const char *table, uint32_t generation)
{
	struct change change = fixture_change(number, table, generation, f.shards);

	change.epoch = f.epoch;
	return change;
}

static inline void insert(struct change *change)
{
	assert_ok(store_insert(f.store, change, "ci@host", "two shards", err));
}

/* In another keyspace or cluster than SCOPE; the lease of that stays ours. */
static inline void insert_elsewhere(struct change *change)
{
	assert_ok(lead(f.store, change));
	insert(change);
}

static inline struct change load(const struct change *named)
{
	struct change change;

	assert_ok(store_load(f.store, named->cluster, named->uuid, &f.arena, &change, err));
	return change;
}

static inline struct store_expect expect_of(const struct change *change)
{
	return (struct store_expect){ change->phase, change->revision, f.epoch };
}

static inline int move(struct change *change, enum phase to, struct error *err)
{
	const struct store_expect expect = expect_of(change);
	const struct history_entry entry = { .at_ms = 5,
					     .actor = "engine",
					     .from = change->phase,
					     .to = to,
					     .rule = 203,
					     .reason = "it was so",
					     .evidence = "-80: ready" };
	struct change next = *change;
	int result;

	next.phase = to;
	result = store_update(f.store, &next, &expect, &entry, err);
	if (result == 0)
		*change = next;
	return result;
}

static inline size_t count_listed(const struct store_filter *filter)
{
	struct change *changes;
	size_t count;

	assert_ok(store_list(f.store, filter, &f.arena, &changes, &count, err));
	return count;
}

static inline size_t count_history(const struct change *change, struct history_entry **ret)
{
	size_t count;

	assert_ok(store_history(f.store, change->cluster, change->uuid, &f.arena, ret, &count, err));
	return count;
}

/* The tests, on every backend. */
#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define run_on_every_backend(tests) run_tests_on_every_backend(tests, sizeof(tests) / sizeof((tests)[0]))
static inline int run_tests_on_every_backend(const struct CMUnitTest *tests, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		backend = &backends[i];
		if (backend->is_there && !backend->is_there()) {
			print_message("%s: not there, left out\n", backend->name);
			continue;
		}
		failed += _cmocka_run_group_tests(backend->name, tests, count, NULL, NULL);
	}
	return failed;
}
