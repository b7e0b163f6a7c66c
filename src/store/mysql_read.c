#include "mysql_private.h"

#include <stdio.h>

#include "store_sql.h"
#include "vtddl/strbuf.h"

#define LIST_SQL_MAX ((size_t)16 * 1024)

/* What a read made of an answer that none of them expects. */
static int finish(struct mystore *store, int result, struct error *reterr)
{
	mystore_rollback(store);
	return result > 0 ? mystore_busy_fail(store, result, reterr) : result;
}

/* ---- Lists of changes ---- */

/* Conditions of the filter; every text is a constant, every value is bound. */
static const struct {
	const char *text;
	const char *parameter;
	size_t offset;
	bool is_bytes;
} conditions[] = {
	{ " AND p.keyspace_name = :keyspace", "keyspace", offsetof(struct store_filter, keyspace), false },
	{ " AND p.table_name = :table", "table", offsetof(struct store_filter, table), true },
	{ " AND p.ddl_sha256 = :sha256", "sha256", offsetof(struct store_filter, ddl_sha256), false },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Each of the two has its index; an OR over both would have none for certain. */
static const char by_name[] =
	" FROM (SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND uuid = :name"
	" UNION SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND context = :name) AS named"
	" JOIN ddl_pipeline p ON p.id = named.id";

/* Left to itself the server may walk all changes in the order asked for, to save a sort of the few that
 * match. */
static const char *list_source(const struct store_filter *filter)
{
	if (filter->uuid_or_context)
		return by_name;
	if (filter->live_only)
		return " FROM ddl_pipeline p FORCE INDEX (ddl_pipeline_live)";
	if (filter->ddl_sha256)
		return " FROM ddl_pipeline p FORCE INDEX (ddl_pipeline_statement)";
	if (filter->keyspace && filter->table)
		return " FROM ddl_pipeline p FORCE INDEX (ddl_pipeline_table)";
	return " FROM ddl_pipeline p";
}

static const char *condition_value(size_t i, const struct store_filter *filter)
{
	return *(const char *const *)((const char *)filter + conditions[i].offset);
}

static void list_sql(struct strbuf *sql, const char *select, const char *join,
		     const struct store_filter *filter)
{
	strbuf_adds(sql, select);
	strbuf_adds(sql, list_source(filter));
	strbuf_adds(sql, join);
	strbuf_adds(sql, " WHERE p.cluster = :cluster");
	for (size_t i = 0; i < COUNT(conditions); i++)
		if (condition_value(i, filter))
			strbuf_adds(sql, conditions[i].text);
	strbuf_adds(sql, filter->live_only ? " AND p.holds_table = 1" : "");
}

static void list_values(struct mystore_values *values, const struct store_filter *filter)
{
	mystore_add(values, sql_text("cluster", filter->cluster));
	if (filter->uuid_or_context)
		mystore_add(values, sql_text("name", filter->uuid_or_context));
	for (size_t i = 0; i < COUNT(conditions); i++)
		if (condition_value(i, filter))
			mystore_add(values,
				    conditions[i].is_bytes
					    ? sql_bytes(conditions[i].parameter, condition_value(i, filter))
					    : sql_text(conditions[i].parameter, condition_value(i, filter)));
}

/* A change and the id of its row; its shards come by that. */
struct listed {
	int64_t id;
	struct change change;
};

static int changes_read(struct mystore *store, const struct store_filter *filter, struct arena *arena,
			struct mystore_rows *rows, struct error *reterr)
{
	struct strbuf sql cleanup(strbuf_release);
	struct mystore_values values = { 0 };
	int result;

	strbuf_init(&sql, LIST_SQL_MAX);
	list_sql(&sql, sql_mysql_change_select, "", filter);
	strbuf_adds(&sql, filter->limit ? " ORDER BY p.id DESC LIMIT :limit" : " ORDER BY p.id DESC");
	list_values(&values, filter);
	mystore_add(&values, sql_i64("limit", filter->limit));
	result = mystore_run(store, sql.text, &values, reterr);
	while (result == 0 && (result = mystore_next(store, reterr)) == 1) {
		struct listed *listed = mystore_rows_next(rows);

		listed->id = mystore_number(store, 0);
		result = mystore_read_change(store, 1, arena, &listed->change, reterr);
	}
	return result;
}

static int shard_misfit(const struct mystore *store, struct error *reterr)
{
	return error_set(
		reterr, ERROR_STORE,
		"%s has a change whose shards are not as many as it says, so another program wrote it; "
		"put back a backup of the store",
		store->name);
}

/* The shards of all changes of the list, in one statement: those of one change follow each other. */
static int shards_read(struct mystore *store, const struct store_filter *filter, struct arena *arena,
		       struct mystore_rows *rows, struct error *reterr)
{
	struct listed *all = (struct listed *)rows->items;
	struct strbuf sql cleanup(strbuf_release);
	struct mystore_values values = { 0 };
	size_t at = 0, shard = 0;
	int result;

	strbuf_init(&sql, LIST_SQL_MAX);
	for (size_t i = 0; i < rows->count; i++) {
		all[i].change.shards =
			arena_array(arena, all[i].change.shard_count, sizeof(struct change_shard));
		if (!all[i].change.shards)
			return mystore_too_much(store, reterr);
	}
	list_sql(&sql, sql_mysql_shard_list, " JOIN ddl_pipeline_shard s ON s.change_id = p.id", filter);
	strbuf_adds(&sql, " AND p.id >= :last_id ORDER BY s.change_id DESC, s.name");
	list_values(&values, filter);
	mystore_add(&values, sql_i64("last_id", all[rows->count - 1].id));
	result = mystore_run(store, sql.text, &values, reterr);
	while (result == 0 && (result = mystore_next(store, reterr)) == 1) {
		while (at < rows->count && all[at].id != mystore_number(store, 0)) {
			if (shard != all[at].change.shard_count)
				return shard_misfit(store, reterr);
			at++;
			shard = 0;
		}
		if (at == rows->count || shard == all[at].change.shard_count)
			return shard_misfit(store, reterr);
		result = mystore_read_shard(store, 1, arena, &all[at].change.shards[shard++], reterr);
	}
	for (; result == 0 && at < rows->count; at++, shard = 0)
		if (shard != all[at].change.shard_count)
			return shard_misfit(store, reterr);
	return result;
}

int mystore_list(struct store *base, const struct store_filter *filter, struct arena *arena,
		 struct change **ret, size_t *ret_count, struct error *reterr)
{
	cleanup_mystore_rows struct mystore_rows rows = { .size = sizeof(struct listed) };
	struct mystore *store = mystore_of(base);
	/* A change and its shards are read as of one moment. */
	int result = mystore_begin(store, MYSTORE_READ, reterr);

	if (result == 0)
		result = changes_read(store, filter, arena, &rows, reterr);
	if (result == 0 && rows.count > 0)
		result = shards_read(store, filter, arena, &rows, reterr);
	result = finish(store, result, reterr);
	if (result < 0)
		return result;
	*ret = arena_array(arena, rows.count, sizeof(**ret));
	if (!*ret)
		return mystore_too_much(store, reterr);
	for (size_t i = 0; i < rows.count; i++)
		(*ret)[i] = ((struct listed *)rows.items)[i].change;
	*ret_count = rows.count;
	return 0;
}

/* ---- History ---- */

int mystore_history(struct store *base, const char *cluster, const char *uuid, struct arena *arena,
		    struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	cleanup_mystore_rows struct mystore_rows rows = { .size = sizeof(struct history_entry) };
	struct mystore *store = mystore_of(base);
	struct mystore_values values = { 0 };
	void *entries = NULL;
	int result = mystore_begin(store, MYSTORE_READ, reterr);

	mystore_add(&values, sql_text("cluster", cluster));
	mystore_add(&values, sql_text("uuid", uuid));
	if (result == 0)
		result = mystore_run(store, sql_mysql_history_list, &values, reterr);
	while (result == 0 && (result = mystore_next(store, reterr)) == 1)
		result = mystore_read_history(store, arena, mystore_rows_next(&rows), reterr);
	result = finish(store, result, reterr);
	if (result == 0)
		result = mystore_rows_finish(store, &rows, arena, &entries, reterr);
	*ret = entries;
	*ret_count = result == 0 ? rows.count : 0;
	return result;
}

/* ---- What there is to do ---- */

/* The lease that stands behind a change; many changes share one. */
static int lease_read(struct mystore *store, const char *keyspace, struct mystore_rows *leases,
		      struct arena *arena, struct error *reterr)
{
	const struct lease_row *last =
		(struct lease_row *)leases->items + leases->count - (leases->count > 0);
	int64_t left_us = mystore_number(store, MYSTORE_LIVE_COLUMNS + 2);
	struct lease_row *lease;

	if (connection_column(store->connection, MYSTORE_LIVE_COLUMNS + 1)->kind == SQL_NULL)
		return 0;
	if (leases->count && strcmp(last->keyspace, keyspace) == 0)
		return 0;
	lease = mystore_rows_next(leases);
	*lease = (struct lease_row){
		.keyspace = keyspace,
		.holder = arena_strdup(arena, mystore_string(store, MYSTORE_LIVE_COLUMNS)),
		.epoch = mystore_number(store, MYSTORE_LIVE_COLUMNS + 1),
		.left_ms = left_us >= 0 ? left_us / 1000 : -((999 - left_us) / 1000),
	};
	return lease->holder ? 0 : mystore_too_much(store, reterr);
}

static int live_read(struct mystore *store, struct arena *arena, struct mystore_rows *changes,
		     struct mystore_rows *leases, struct error *reterr)
{
	int result;

	while ((result = mystore_next(store, reterr)) == 1) {
		struct live_change *change = mystore_rows_next(changes);

		result = mystore_read_live(store, arena, change, reterr);
		if (result == 0)
			result = lease_read(store, change->keyspace, leases, arena, reterr);
		if (result != 0)
			return result;
	}
	return result;
}

int mystore_live(struct store *base, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
		 struct live *ret, struct error *reterr)
{
	cleanup_mystore_rows struct mystore_rows changes = { .size = sizeof(struct live_change) };
	cleanup_mystore_rows struct mystore_rows leases = { .size = sizeof(struct lease_row) };
	struct mystore *store = mystore_of(base);
	struct mystore_values values = { 0 };
	void *all_changes = NULL, *all_leases = NULL;
	int result = mystore_begin(store, MYSTORE_READ, reterr);

	mystore_add(&values, sql_text("cluster", cluster));
	mystore_add(&values, sql_i64("cancelled_since_ms", cancelled_since_ms));
	if (result == 0)
		result = mystore_run(store, sql_mysql_live, &values, reterr);
	if (result == 0)
		result = live_read(store, arena, &changes, &leases, reterr);
	result = finish(store, result, reterr);
	if (result == 0)
		result = mystore_rows_finish(store, &changes, arena, &all_changes, reterr);
	if (result == 0)
		result = mystore_rows_finish(store, &leases, arena, &all_leases, reterr);
	if (result < 0)
		return result;
	*ret = (struct live){ all_changes, changes.count, all_leases, leases.count };
	return 0;
}
