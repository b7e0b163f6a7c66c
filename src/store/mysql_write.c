#include "mysql_private.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "store_sql.h"
#include "vtddl/digest.h"

/*
 * Writes. A batch is one transaction and one commit; within it each write stands for itself, behind a
 * savepoint. Nobody is told of a success, and no record in memory changes, before the commit.
 *
 * The rows of the leases are locked first, in the order of their names: until the commit nobody takes one of
 * them, and two batches never wait for each other in a ring.
 */

#define LOCK_WAITS_MAX 2 /* of 2 s each, for writes tried by themselves */
#define KEEP_MAX_MS ((int64_t)366 * 24 * 3600 * 1000)

/* The lease of a write's keyspace, as it is while we have its row locked. */
struct scope {
	char name[SCOPE_MAX + 1];
	bool exists;
	int64_t epoch;
	char holder[ACTOR_MAX + 1];
};

static void scope_of(const struct change *change, char ret[SCOPE_MAX + 1])
{
	snprintf(ret, SCOPE_MAX + 1, "%s/%s", change->cluster, change->keyspace);
}

static int scope_compare(const void *a, const void *b)
{
	return strcmp(((const struct scope *)a)->name, ((const struct scope *)b)->name);
}

static bool is_passing(int result)
{
	return result == CONNECTION_LOCKED || result == CONNECTION_DEADLOCK;
}

/* ---- Parts of a write; each returns 0, an answer of the connection, or negative. ---- */

static int history_add(struct mystore *store, int64_t change_id, const struct history_entry *entry,
		       struct error *reterr)
{
	struct mystore_values values = { 0 };

	mystore_add_history(&values, entry);
	mystore_add(&values, sql_i64("change_id", change_id));
	return mystore_run(store, sql_mysql_history_add, &values, reterr);
}

static int shard_put(struct mystore *store, int64_t change_id, const struct change_shard *shard,
		     struct error *reterr)
{
	struct mystore_values values = { 0 };

	mystore_add_shard(&values, shard);
	mystore_add(&values, sql_i64("change_id", change_id));
	return mystore_run(store, sql_mysql_shard_put, &values, reterr);
}

static int change_id_run(struct mystore *store, const char *sql, int64_t change_id,
			 const struct change *change, struct error *reterr)
{
	struct mystore_values values = { 0 };

	mystore_add(&values, sql_i64("change_id", change_id));
	mystore_add(&values, sql_i64("created_at_ms", change->created_at_ms));
	return mystore_run(store, sql, &values, reterr);
}

/* An earlier generation in failed or stopped lets go of the table, and its history says why. */
static int former_release(struct mystore *store, const struct change *change, const char *actor,
			  struct error *reterr)
{
	struct history_entry entry = { .at_ms = change->created_at_ms, .actor = actor };
	struct mystore_values values = { 0 };
	char reason[128];
	int64_t former_id;
	int result;

	if (change->generation == 1)
		return 0;
	mystore_add_change(&values, change);
	result = mystore_run(store, sql_mysql_change_replaced, &values, reterr);
	if (result == 0)
		result = mystore_next(store, reterr);
	if (result != 1)
		return result;
	former_id = mystore_number(store, 0);
	entry.from = entry.to = phase_from_name(mystore_string(store, 1));
	snprintf(reason, sizeof(reason), "generation %u of the same statement replaces it",
		 change->generation);
	entry.reason = reason;
	result = change_id_run(store, sql_mysql_change_replace, former_id, change, reterr);
	return result ? result : history_add(store, former_id, &entry, reterr);
}

/* Why a unique index refused the row. The reads lock: they see what was committed by others since. */
static int duplicate_explain(struct mystore *store, const struct change *change, struct error *reterr)
{
	static const char *const by_name[] = { sql_mysql_change_uuid, sql_mysql_change_context };
	struct mystore_values values = { 0 };

	mystore_add_change(&values, change);
	for (size_t i = 0; i < 2; i++) {
		int result = mystore_run(store, by_name[i], &values, reterr);

		if (result == 0)
			result = mystore_next(store, reterr);
		if (result != 0)
			return result == 1 ? STORE_CONFLICT : result;
	}
	return STORE_TABLE_BUSY;
}

static int change_add(struct mystore *store, const struct change *change, const char *actor,
		      const char *evidence, struct error *reterr)
{
	const struct history_entry entry = { .at_ms = change->created_at_ms,
					     .actor = actor,
					     .from = _PHASE_INVALID,
					     .to = change->phase,
					     .rule = change->rule,
					     .reason = change->reason,
					     .evidence = evidence };
	struct sql_value live = phase_is_live(change->phase) ? sql_i64("live", 1) : sql_text("live", NULL);
	struct mystore_values values = { 0 };
	int64_t id;
	int result = former_release(store, change, actor, reterr);

	if (result != 0)
		return result;
	mystore_add_change(&values, change);
	mystore_add(&values, live);
	result = mystore_run(store, sql_mysql_change_insert, &values, reterr);
	if (result == CONNECTION_DUPLICATE)
		return duplicate_explain(store, change, reterr);
	if (result != 0)
		return result;
	id = connection_insert_id(store->connection);
	for (size_t i = 0; i < change->shard_count && result == 0; i++)
		result = shard_put(store, id, &change->shards[i], reterr);
	return result ? result : history_add(store, id, &entry, reterr);
}

/* ---- An update ---- */

static bool same_definition(const char *definition, const char *digest_found)
{
	uint8_t digest[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE + 1];

	if (!definition)
		return !digest_found[0];
	digest_sha256(&(struct digest_part){ definition, strlen(definition) }, 1, digest);
	digest_hex(digest, sizeof(digest), hex);
	return strcasecmp(hex, digest_found) == 0;
}

static bool same_shard(const struct mystore *store, const struct change_shard *shard)
{
	return strcmp(mystore_string(store, 2), shard->primary.cell) == 0 &&
	       mystore_number(store, 3) == shard->primary.uid &&
	       same_definition(shard->definition_before, mystore_string(store, 4)) &&
	       same_definition(shard->definition_after, mystore_string(store, 5));
}

/* Locks the change. Marks in @same which of its shards are in the table as they are in @change; both are
 * sorted by name. Return: 0; STORE_CONFLICT, there is no such change; an answer; negative. */
static int change_lock(struct mystore *store, const struct change *change, int64_t *ret_id, bool *same,
		       size_t *ret_shards, struct error *reterr)
{
	struct mystore_values values = { 0 };
	size_t at = 0;
	int result;

	*ret_id = 0;
	*ret_shards = 0;
	mystore_add_change(&values, change);
	result = mystore_run(store, sql_mysql_change_lock, &values, reterr);
	while (result == 0 && (result = mystore_next(store, reterr)) == 1) {
		const char *name = mystore_string(store, 1);

		result = 0;
		*ret_id = mystore_number(store, 0);
		*ret_shards += name[0] != '\0';
		while (at < change->shard_count && strcmp(change->shards[at].name, name) < 0)
			at++;
		if (at < change->shard_count && strcmp(change->shards[at].name, name) == 0)
			same[at] = same_shard(store, &change->shards[at]);
	}
	return result == 0 && *ret_id == 0 ? STORE_CONFLICT : result;
}

/* Most writes change no shard: then nothing is sent. A set that got smaller is written anew. */
static int shards_write(struct mystore *store, int64_t change_id, const struct change *change,
			const bool *same, size_t found_count, struct error *reterr)
{
	bool anew = found_count > change->shard_count;
	int result = anew ? change_id_run(store, sql_mysql_shard_clear, change_id, change, reterr) : 0;

	for (size_t i = 0; i < change->shard_count && result == 0; i++)
		if (anew || !same[i])
			result = shard_put(store, change_id, &change->shards[i], reterr);
	return result;
}

static int change_set(struct mystore *store, const struct change *change, const struct store_expect *expect,
		      const struct history_entry *entry, struct error *reterr)
{
	bool same[SHARDS_MAX + 1] = { false };
	struct mystore_values values = { 0 };
	size_t found_count;
	int64_t id;
	int result = change_lock(store, change, &id, same, &found_count, reterr);

	if (result != 0)
		return result;
	mystore_add_change(&values, change);
	mystore_add(&values, sql_i64("change_id", id));
	mystore_add(&values, sql_i64("live", phase_is_live(change->phase)));
	mystore_add(&values, sql_text("expect_phase", phase_name(expect->phase)));
	mystore_add(&values, sql_i64("expect_revision", expect->revision));
	result = mystore_run(store, sql_mysql_change_update, &values, reterr);
	if (result == CONNECTION_DUPLICATE)
		return STORE_TABLE_BUSY;
	if (result == 0 && connection_changed(store->connection) != 1)
		return STORE_CONFLICT;
	if (result == 0)
		result = shards_write(store, id, change, same, found_count, reterr);
	if (result == 0 && entry)
		result = history_add(store, id, entry, reterr);
	return result;
}

static int lease_keep(struct mystore *store, const struct scope *scope, int64_t for_ms, struct error *reterr)
{
	struct mystore_values values = { 0 };

	mystore_add(&values, sql_text("scope", scope->name));
	mystore_add(&values, sql_i64("epoch", scope->epoch));
	mystore_add(&values, sql_i64("for_us", (for_ms > KEEP_MAX_MS ? KEEP_MAX_MS : for_ms) * 1000));
	return mystore_run(store, sql_mysql_lock_keep, &values, reterr);
}

/* ---- The batch ---- */

static int item_write(struct mystore *store, const struct store_write *write, const struct scope *scope,
		      struct error *reterr)
{
	const struct store_expect *expect = write->expect;
	struct change next = *write->change;
	int result;

	/* A newer leader is at work, or the store went back: what we decided on may be old, and under an epoch that
	 * is still to come nobody could write it. */
	if (!scope->exists || scope->epoch != (expect ? expect->epoch : next.epoch))
		return STORE_CONFLICT;
	if (!expect) {
		next.revision = 1;
		return change_add(store, &next, write->actor, write->evidence, reterr);
	}
	/* R3: after a fail-over of the store another may hold it under the same epoch. */
	if (expect->lease_ms > 0 && !mystore_lease_is_ours(store, scope->name, scope->holder))
		return STORE_CONFLICT;
	next.epoch = expect->epoch;
	next.revision = expect->revision + 1;
	result = change_set(store, &next, expect, write->entry, reterr);
	if (result == 0 && expect->lease_ms > 0)
		result = lease_keep(store, scope, expect->lease_ms, reterr);
	return result;
}

/* One of several: a refusal, or a value that the tables refuse, takes only itself away.
 * Return: 0, write->result is set; an answer or negative, the transaction is lost. */
static int item_write_apart(struct mystore *store, struct store_write *write, const struct scope *scope,
			    struct error *reterr)
{
	int result = mystore_do(store, "SAVEPOINT item", reterr);

	if (result != 0)
		return result;
	result = item_write(store, write, scope, &write->error);
	if (is_passing(result))
		return result;
	if (result < 0 && !store->connection) {
		*reterr = write->error;
		return result;
	}
	if (result > STORE_HELD)
		result = mystore_busy_fail(store, result, &write->error);
	write->result = result;
	return result == 0 ? 0 : mystore_do(store, "ROLLBACK TO SAVEPOINT item", reterr);
}

static int scopes_lock(struct mystore *store, struct scope *scopes, size_t count, struct error *reterr)
{
	int result = 0;

	qsort(scopes, count, sizeof(*scopes), scope_compare);
	for (size_t i = 0; i < count && result == 0; i++) {
		struct mystore_values values = { 0 };

		if (i > 0 && strcmp(scopes[i - 1].name, scopes[i].name) == 0) {
			scopes[i] = scopes[i - 1];
			continue;
		}
		mystore_add(&values, sql_text("scope", scopes[i].name));
		result = mystore_run(store, sql_mysql_lock_hold, &values, reterr);
		if (result == 0)
			result = mystore_next(store, reterr);
		scopes[i].exists = result == 1;
		scopes[i].epoch = result == 1 ? mystore_number(store, 0) : 0;
		snprintf(scopes[i].holder, sizeof(scopes[i].holder), "%s", result == 1 ? mystore_string(store, 1) : "");
		result = result == 1 ? 0 : result;
	}
	return result;
}

static int items_write(struct mystore *store, struct store_write *writes, const struct scope *scopes,
		       size_t count, size_t *ret_done, struct error *reterr)
{
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		struct scope key = { 0 }, *scope;

		scope_of(writes[i].change, key.name);
		scope = bsearch(&key, scopes, count, sizeof(key), scope_compare);
		assert(scope);
		if (count > 1)
			result = item_write_apart(store, &writes[i], scope, reterr);
		else
			writes[i].result = result = item_write(store, &writes[i], scope, reterr);
		*ret_done += result == 0 && writes[i].result == 0;
	}
	return result;
}

/* Return: 0, each has its result; 1 to STORE_HELD, that of the only one; an answer or negative, nothing was
 * written or it is unknown. */
static int batch_write(struct mystore *store, struct store_write *writes, size_t count, struct error *reterr)
{
	struct scope *scopes = calloc(count, sizeof(*scopes));
	size_t done = 0;
	int result;

	if (!scopes)
		abort();
	for (size_t i = 0; i < count; i++)
		scope_of(writes[i].change, scopes[i].name);
	result = mystore_begin(store, MYSTORE_WRITE, reterr);
	if (result == 0)
		result = scopes_lock(store, scopes, count, reterr);
	if (result == 0)
		result = items_write(store, writes, scopes, count, &done, reterr);
	free(scopes);
	if (result == 0 && done > 0)
		result = mystore_commit(store, reterr);
	else
		mystore_rollback(store);
	return result;
}

static void batch_settle(struct mystore *store, struct store_write *writes, size_t count, int result,
			 struct error *err)
{
	if (result > STORE_HELD)
		result = mystore_busy_fail(store, result, err);
	for (size_t i = 0; i < count; i++) {
		const struct store_expect *expect = writes[i].expect;
		struct change *change = writes[i].change;

		if (result != 0)
			writes[i].result = result;
		if (result < 0)
			writes[i].error = *err;
		if (writes[i].result != 0)
			continue;
		change->revision = expect ? expect->revision + 1 : 1;
		change->epoch = expect ? expect->epoch : change->epoch;
	}
}

void mystore_write(struct store *base, struct store_write *writes, size_t count)
{
	struct mystore *store = mystore_of(base);
	struct error err = { 0 };
	unsigned waits = 0;
	int result;

	if (store->read_only)
		result = error_set(
			&err, ERROR_BUG,
			"A write was asked for in %s, which was opened only to read; this is a bug of "
			"vtddl",
			store->name);
	else
		result = batch_write(store, writes, count, &err);
	if (!is_passing(result)) {
		batch_settle(store, writes, count, result, &err);
		return;
	}
	/* Somebody was in the way of one of them: each is tried once more for itself. */
	for (size_t i = 0; i < count; i++) {
		result = CONNECTION_LOCKED;
		if (waits < LOCK_WAITS_MAX)
			result = batch_write(store, &writes[i], 1, &err);
		waits += result == CONNECTION_LOCKED;
		batch_settle(store, &writes[i], 1, result, &err);
	}
}
