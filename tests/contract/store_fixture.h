#pragma once
/*
 * store_fixture: changes to put into a store, and the short way to say what must hold of them.
 * Included by the test files of the store only; every claim is made with cmocka.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#include "vtddl/store.h"

#define CLUSTER "default"
#define SCOPE "default/commerce"

#define LEASE_MS 30000

/** open_at() - store_open() of a store that needs no more than its URL */
static inline int open_at(const char *url, bool read_only, struct store **ret, struct error *err)
{
	return store_open(&(struct store_config){ .url = url, .read_only = read_only }, ret, err);
}

/** lease_at() - store_lease() for LEASE_MS, of which only the epoch and the holder matter */
static inline int lease_at(struct store *store, const char *scope, const char *owner, int64_t *ret_epoch,
			   char ret_holder[ACTOR_MAX + 1], struct error *err)
{
	struct lease lease = { 0 };
	int result = store_lease(store, scope, owner, LEASE_MS, &lease, err);

	*ret_epoch = lease.epoch;
	snprintf(ret_holder, ACTOR_MAX + 1, "%s", lease.holder);
	return result;
}

/** fixture_change() - change number @number, in `submitting`, with two shards out of @shards */
static inline struct change fixture_change(unsigned number, const char *table, uint32_t generation,
					   struct change_shard shards[2])
{
	struct change change = {
		.cluster = CLUSTER,
		.keyspace = "commerce",
		.ddl = "alter table t add column c int",
		.generation = generation,
		.strategy = "vitess --postpone-completion --singleton-context",
		.phase = PHASE_SUBMITTING,
		.gate = GATE_AUTO,
		.last_effect = EFFECT_NONE,
		.created_at_ms = 1700000000000 + number,
		.updated_at_ms = 1700000000000 + number,
		.deadline_at_ms = 1700000000000 + 21600000,
		.created_by = "ci@host",
		.shards = shards,
		.shard_count = 2,
	};

	snprintf(change.table, sizeof(change.table), "%s", table);
	snprintf(change.ddl_sha256, sizeof(change.ddl_sha256), "%064x", number);
	snprintf(change.uuid, sizeof(change.uuid), "%08x_0000_8000_8000_%012x", number, generation);
	snprintf(change.context, sizeof(change.context), "ddl-commerce-%016x-g%u", number, generation);
	shards[0] = (struct change_shard){ .name = "-80",
					   .primary = { "zone1", 100 },
					   .definition_before = "before" };
	shards[1] = (struct change_shard){ .name = "80-",
					   .primary = { "zone2", 200 },
					   .definition_before = "before" };
	return change;
}

/** lead() - as lease_at() of the keyspace of @change, which may be written under it then */
static inline int lead(struct store *store, struct change *change)
{
	char scope[SCOPE_MAX + 1], holder[ACTOR_MAX + 1];

	snprintf(scope, sizeof(scope), "%.*s/%.*s", CLUSTER_MAX, change->cluster, KEYSPACE_MAX, change->keyspace);
	return lease_at(store, scope, "host:1:a", &change->epoch, holder, NULL);
}

/** assert_store_ok() - a call returned @expected; shows the sentence of the error if not */
static inline void assert_result_at(int result, int expected, const struct error *err, const char *file,
				    int line)
{
	if (result == expected)
		return;
	print_error("%s:%d: result %d, expected %d: %s\n", file, line, result, expected,
		    result < 0 ? err->text : "(no error)");
	_fail(file, line);
}
#define assert_result(call, expected)                                                                        \
	do {                                                                                                 \
		struct error _err = { 0 };                                                                   \
		struct error *err = &_err;                                                                   \
		int _result = (call);                                                                        \
		assert_result_at(_result, expected, err, __FILE__, __LINE__);                                \
	} while (0)
#define assert_ok(call) assert_result(call, 0)
static void __attribute__((noinline, unused)) assert_has_words(const char *text, const char *words)
{
	if (!strstr(text, words))
		print_error("'%s' is not in: %s\n", words, text);
	assert_non_null(strstr(text, words));
}

/** assert_refused() - a call failed with @code and a sentence that has @words in it */
#define assert_refused(call, expected_code, words)                                                           \
	do {                                                                                                 \
		struct error _err = { 0 };                                                                   \
		struct error *err = &_err;                                                                   \
		assert_true((call) < 0);                                                                     \
		assert_has_words(_err.text, words);                                                          \
		assert_int_equal(_err.code, expected_code);                                                  \
	} while (0)

/** assert_same_change() - every member, the shards included */
static inline void assert_same_change(const struct change *a, const struct change *b)
{
	assert_string_equal(a->cluster, b->cluster);
	assert_string_equal(a->keyspace, b->keyspace);
	assert_string_equal(a->table, b->table);
	assert_string_equal(a->ddl, b->ddl);
	assert_string_equal(a->ddl_sha256, b->ddl_sha256);
	assert_string_equal(a->uuid, b->uuid);
	assert_string_equal(a->context, b->context);
	assert_int_equal(a->generation, b->generation);
	assert_string_equal(a->strategy, b->strategy);
	assert_int_equal(a->phase, b->phase);
	assert_int_equal(a->epoch, b->epoch);
	assert_int_equal(a->revision, b->revision);
	assert_int_equal(a->rule, b->rule);
	assert_string_equal(a->reason, b->reason);
	assert_int_equal(a->gate, b->gate);
	assert_int_equal(a->cancel_asked, b->cancel_asked);
	assert_int_equal(a->adopted, b->adopted);
	assert_int_equal(a->last_effect, b->last_effect);
	assert_int_equal(a->attempts, b->attempts);
	assert_int_equal(a->next_attempt_at_ms, b->next_attempt_at_ms);
	assert_int_equal(a->in_flight_until_ms, b->in_flight_until_ms);
	assert_int_equal(a->created_at_ms, b->created_at_ms);
	assert_int_equal(a->updated_at_ms, b->updated_at_ms);
	assert_int_equal(a->deadline_at_ms, b->deadline_at_ms);
	assert_string_equal(a->created_by, b->created_by);
	assert_int_equal(a->shard_count, b->shard_count);
	for (size_t i = 0; i < a->shard_count; i++) {
		const char *const texts[] = { a->shards[i].definition_before, b->shards[i].definition_before,
					      a->shards[i].definition_after, b->shards[i].definition_after };

		assert_string_equal(a->shards[i].name, b->shards[i].name);
		assert_true(tablet_alias_equal(&a->shards[i].primary, &b->shards[i].primary));
		for (size_t pair = 0; pair < 4; pair += 2) {
			assert_int_equal(!texts[pair], !texts[pair + 1]);
			if (texts[pair])
				assert_string_equal(texts[pair], texts[pair + 1]);
		}
	}
}

/** fixture_folder() - a new folder; fixture_folder_remove() removes it and the files in it */
static inline char *fixture_folder(void)
{
	const char *root = getenv("TMPDIR");
	char *folder;

	assert_true(asprintf(&folder, "%s/vtddl-store-XXXXXX", root ? root : "/tmp") > 0);
	assert_non_null(mkdtemp(folder));
	return folder;
}

static inline void fixture_folder_remove(char *folder)
{
	static const char *const suffixes[] = { "store.db", "store.db-journal", "store.db-lock", "other.db",
						"link.db" };
	char path[512];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, suffixes[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(folder), 0);
	free(folder);
}
