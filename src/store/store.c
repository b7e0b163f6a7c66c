#include "vtddl/store.h"

#include "vtddl/identity.h"
#include "vtddl/strbuf.h"

/*
 * The one door to every backend: which one it is, and what no backend may ever be asked to
 * write. A name that breaks its grammar here is a bug above (the edge has refused it already);
 * in a read it simply names nothing.
 */

static const struct store_ops *const backends[] = {
	&store_sqlite_ops,
	&store_mysql_ops,
};

int store_open(const struct store_config *config, struct store **ret, struct error *reterr)
{
	const char *url = config->url;
	size_t scheme_length = strcspn(url, ":");

	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		const char *scheme = backends[i]->scheme;
		int result;

		if (strlen(scheme) != scheme_length || memcmp(url, scheme, scheme_length) != 0 ||
		    !url[scheme_length])
			continue;
		result = backends[i]->open(config, ret, reterr);
		if (result == 0) {
			(*ret)->ops = backends[i];
			(*ret)->url = strdup(url);
			if (!(*ret)->url)
				abort();
		}
		return result;
	}
	/* Only the scheme is repeated: what follows may hold a secret. */
	return error_set(reterr, ERROR_CONFIG,
			 "'%.*s' is no kind of store; use --store sqlite:PATH or mysql://USER@HOST/DATABASE",
			 scheme_length < 32 ? (int)scheme_length : 32, url);
}

struct store *store_close(struct store *store)
{
	if (store) {
		char *url = store->url;

		store->ops->close(store);
		free(url);
	}
	return NULL;
}

const char *store_url(const struct store *store)
{
	return store->url;
}

/* ---- What may be written ---- */

static bool text_fits(const char *text, size_t min, size_t max)
{
	size_t length = text ? strnlen(text, max + 1) : 0;

	return text && length >= min && length <= max;
}

static bool sha256_is_valid(const char *text)
{
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static const char *bad_shards(const struct change *change)
{
	if (change->shard_count > SHARDS_MAX)
		return "shard count";
	for (size_t i = 0; i < change->shard_count; i++) {
		if (!shard_name_is_valid(change->shards[i].name))
			return "shard name";
		if (i > 0 && strcmp(change->shards[i - 1].name, change->shards[i].name) >= 0)
			return "order of shards";
	}
	return NULL;
}

/* What is wrong with @change; NULL: nothing. */
static const char *bad_change(const struct change *change)
{
	const struct {
		const char *what;
		bool good;
	} checks[] = {
		{ "cluster", cluster_is_valid(change->cluster) },
		{ "keyspace", keyspace_is_valid(change->keyspace) },
		{ "table", text_fits(change->table, 1, TABLE_MAX) },
		{ "statement", text_fits(change->ddl, 1, DDL_MAX) },
		{ "ddl_sha256", sha256_is_valid(change->ddl_sha256) },
		{ "uuid", uuid_is_valid(change->uuid) },
		{ "migration context", context_is_valid(change->context) },
		{ "generation", change->generation >= 1 },
		{ "strategy", change->strategy != NULL },
		{ "phase", change->phase >= 0 && change->phase < _PHASE_MAX },
		{ "gate", change->gate >= 0 && change->gate < _GATE_MAX },
		{ "effect", change->last_effect >= 0 && change->last_effect < _EFFECT_MAX },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (!checks[i].good)
			return checks[i].what;
	return bad_shards(change);
}

/* A line of the history says what the write does, and the drawing in change.h has that arrow. */
static bool entry_agrees(const struct change *change, const struct store_expect *expect,
			 const struct history_entry *entry)
{
	if (!entry)
		return change->phase == expect->phase;
	return entry->from == expect->phase && entry->to == change->phase &&
	       (entry->from == entry->to || phase_may_move(entry->from, entry->to));
}

/* Return: 0, no backend need look at that again; negative. */
static int write_examine(const struct store *store, struct store_write *write)
{
	const struct change *change = write->change;
	const char *bad = bad_change(change);

	write->result = 0;
	write->actor = write->actor ? write->actor : "";
	write->evidence = write->evidence ? write->evidence : "";
	if (bad)
		write->result = error_set(&write->error, ERROR_BUG,
					  "The store %s was asked to write a change with a bad %s (uuid "
					  "'%.36s'), which is a bug of vtddl; nothing was written",
					  store->url, bad, change->uuid);
	else if (write->expect && !entry_agrees(change, write->expect, write->entry))
		write->result = error_set(
			&write->error, ERROR_BUG,
			"The store %s was asked to move change %s from %s to %s%s, which is "
			"a bug of vtddl; nothing was written",
			store->url, change->uuid, phase_name(write->expect->phase), phase_name(change->phase),
			write->entry ? "" : " without a line of history");
	return write->result;
}

/* Only the @good_count good ones go on; of a bug in one the others know nothing. */
static void write_the_good(struct store *store, struct store_write *writes, size_t count, size_t good_count)
{
	struct store_write *good = calloc(good_count, sizeof(*good));
	size_t at = 0;

	if (!good)
		abort();
	for (size_t i = 0; i < count; i++)
		if (writes[i].result == 0)
			good[at++] = writes[i];
	store->ops->write(store, good, good_count);
	at = 0;
	for (size_t i = 0; i < count; i++)
		if (writes[i].result == 0)
			writes[i] = good[at++];
	free(good);
}

void store_write(struct store *store, struct store_write *writes, size_t count)
{
	size_t good_count = 0;

	for (size_t i = 0; i < count; i++)
		good_count += write_examine(store, &writes[i]) == 0;
	if (good_count == 0)
		return;
	if (good_count == count)
		store->ops->write(store, writes, count);
	else
		write_the_good(store, writes, count, good_count);
}

static int write_one(struct store *store, struct store_write *write, struct error *reterr)
{
	store_write(store, write, 1);
	if (write->result < 0 && reterr)
		*reterr = write->error;
	return write->result;
}

int store_insert(struct store *store, struct change *change, const char *actor, const char *evidence,
		 struct error *reterr)
{
	struct store_write write = { .change = change, .actor = actor, .evidence = evidence };

	return write_one(store, &write, reterr);
}

int store_update(struct store *store, struct change *change, const struct store_expect *expect,
		 const struct history_entry *entry, struct error *reterr)
{
	struct store_write write = { .change = change, .expect = expect, .entry = entry };

	return write_one(store, &write, reterr);
}

/* ---- Reads: what nobody was ever asked to write is another program's, and nothing is decided on it. ---- */

static int refuse_record(const struct store *store, const char *uuid, const char *bad, struct error *reterr)
{
	struct strbuf shown;

	strbuf_init(&shown, 4 * UUID_LENGTH + 8);
	strbuf_add_shown(&shown, uuid, UUID_LENGTH);
	error_set(reterr, ERROR_STORE,
		  "The store %s has a change with a bad %s (uuid '%s'), so another program wrote it; put back a backup of the "
		  "store and run the same command again",
		  store->url, bad, shown.length ? shown.text : "");
	strbuf_release(&shown);
	return -1;
}

static int list(struct store *store, const struct store_filter *filter, struct arena *arena, struct change **ret,
		size_t *ret_count, struct error *reterr)
{
	int result = store->ops->list(store, filter, arena, ret, ret_count, reterr);

	for (size_t i = 0; result == 0 && i < *ret_count; i++) {
		const char *bad = bad_change(&(*ret)[i]);

		if (bad)
			result = refuse_record(store, (*ret)[i].uuid, bad, reterr);
	}
	if (result != 0)
		*ret_count = 0;
	return result;
}

int store_load(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
	       struct change *ret, struct error *reterr)
{
	const struct store_filter filter = { .cluster = cluster, .uuid_or_context = uuid };
	struct change *changes;
	size_t count;
	int result;

	if (!cluster_is_valid(cluster) || !uuid_is_valid(uuid))
		return STORE_NOT_FOUND;
	result = list(store, &filter, arena, &changes, &count, reterr);
	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(changes[i].uuid, uuid) != 0)
			continue; /* a context of that name */
		*ret = changes[i];
		return 0;
	}
	return STORE_NOT_FOUND;
}

int store_list(struct store *store, const struct store_filter *filter, struct arena *arena,
	       struct change **ret, size_t *ret_count, struct error *reterr)
{
	const char *name = filter->uuid_or_context;

	*ret = NULL;
	*ret_count = 0;
	if (!filter->cluster || !cluster_is_valid(filter->cluster) ||
	    (filter->keyspace && !keyspace_is_valid(filter->keyspace)) ||
	    (name && !uuid_is_valid(name) && !context_is_valid(name)))
		return 0;
	return list(store, filter, arena, ret, ret_count, reterr);
}

int store_history(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
		  struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	*ret = NULL;
	*ret_count = 0;
	if (!cluster_is_valid(cluster) || !uuid_is_valid(uuid))
		return 0;
	return store->ops->history(store, cluster, uuid, arena, ret, ret_count, reterr);
}

/* ---- Lease ---- */

static bool scope_is_valid(const char *scope)
{
	char cluster[CLUSTER_MAX + 1] = "";
	size_t length = strcspn(scope, "/");

	if (length >= sizeof(cluster) || scope[length] != '/')
		return false;
	memcpy(cluster, scope, length);
	return cluster_is_valid(cluster) && keyspace_is_valid(scope + length + 1);
}

int store_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
		struct error *reterr)
{
	if (!scope_is_valid(scope) || !text_fits(owner, 1, ACTOR_MAX))
		return error_set(reterr, ERROR_BUG,
				 "The store %s was asked for a lease without a proper scope or owner, which "
				 "is a bug of vtddl; nothing was taken",
				 store->url);
	*ret = (struct lease){ 0 };
	return store->ops->lease(store, scope, owner, for_ms, ret, reterr);
}

void store_release(struct store *store, const char *scope, const char *owner)
{
	if (scope_is_valid(scope) && text_fits(owner, 1, ACTOR_MAX))
		store->ops->release(store, scope, owner);
}

/* ---- The whole at once ---- */

/* What is wrong with @change; NULL: nothing. */
static const char *bad_live(const struct live_change *change)
{
	if (!keyspace_is_valid(change->keyspace))
		return "keyspace";
	if (!uuid_is_valid(change->uuid))
		return "uuid";
	if (!text_fits(change->table, 1, TABLE_MAX))
		return "table";
	if (change->shard_count > SHARDS_MAX)
		return "shard count";
	return strnlen(change->reason, REASON_MAX) == REASON_MAX ? "reason" : NULL;
}

int store_live(struct store *store, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
	       struct live *ret, struct error *reterr)
{
	int result;

	*ret = (struct live){ 0 };
	if (!cluster_is_valid(cluster))
		return 0;
	result = store->ops->live(store, cluster, cancelled_since_ms, arena, ret, reterr);
	for (size_t i = 0; result == 0 && i < ret->change_count; i++) {
		const char *bad = bad_live(&ret->changes[i]);

		if (bad)
			result = refuse_record(store, ret->changes[i].uuid, bad, reterr);
	}
	if (result < 0)
		*ret = (struct live){ 0 };
	return result;
}

int store_check(struct store *store, char ret[REASON_MAX], struct error *reterr)
{
	return store->ops->check(store, ret, reterr);
}
