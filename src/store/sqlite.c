#include "sqlite.h"

#include <assert.h>
#include <sys/stat.h>

#include "store_sql.h"
#include "vtddl/strbuf.h"

/* ---- Statements and transactions ---- */

sqlite3_stmt *sqlite_prepare(struct sqlite_store *store, const char *sql, struct error *reterr)
{
	sqlite3_stmt *stmt = NULL;

	if (store->broken) {
		error_set(reterr, ERROR_STORE,
			  "The store %s is not used any more, since its disk could not confirm a write; "
			  "check the disk,"
			  " then start vtddl again",
			  store->path);
		return NULL;
	}
	if (sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		sqlite_fail(store, "read", reterr);
	return stmt;
}

int sqlite_run(struct sqlite_store *store, sqlite3_stmt *stmt, struct error *reterr)
{
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	case SQLITE_CONSTRAINT_UNIQUE:
		return SQLITE_NOT_UNIQUE;
	default:
		return sqlite_fail(store, sqlite3_stmt_readonly(stmt) ? "read" : "write", reterr);
	}
}

int sqlite_begin(struct sqlite_store *store, bool write, struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, write ? "BEGIN IMMEDIATE" : "BEGIN", reterr);

	if (!stmt)
		return -1;
	return sqlite_run(store, stmt, reterr);
}

int sqlite_commit(struct sqlite_store *store, struct error *reterr)
{
	int result;

	if (sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	result = sqlite_fail(store, "write", reterr);
	sqlite_rollback(store);
	return result;
}

void sqlite_rollback(struct sqlite_store *store)
{
	/* Some failures have rolled back already. */
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- Writes; each of these is called within a transaction. ---- */

static int history_add(struct sqlite_store *store, int64_t change_id, const struct history_entry *entry,
		       struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, sql_history_add, reterr);

	if (!stmt)
		return -1;
	sqlite_bind_history(stmt, entry);
	sqlite_bind_i64(stmt, "change_id", change_id);
	return sqlite_run(store, stmt, reterr);
}

static int shards_put(struct sqlite_store *store, int64_t change_id, const struct change *change,
		      struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, sql_shard_put, reterr);

	if (!stmt)
		return -1;
	for (size_t i = 0; i < change->shard_count; i++) {
		int result;

		sqlite_bind_shard(stmt, &change->shards[i]);
		sqlite_bind_i64(stmt, "change_id", change_id);
		result = sqlite_run(store, stmt, reterr);
		if (result != 0)
			return result;
		sqlite3_reset(stmt);
	}
	return 0;
}

/* Runs @sql, whose only value is the change; @ret_number, if any, is what it answers. */
static int shards_run(struct sqlite_store *store, const char *sql, int64_t change_id, int64_t *ret_number,
		      struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, sql, reterr);
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_i64(stmt, "change_id", change_id);
	result = sqlite_run(store, stmt, reterr);
	if (result == 1 && ret_number)
		*ret_number = sqlite3_column_int64(stmt, 0);
	return result < 0 ? result : 0;
}

static int shards_write(struct sqlite_store *store, int64_t change_id, const struct change *change,
			struct error *reterr)
{
	int64_t count = 0;
	int result = shards_put(store, change_id, change, reterr);

	if (result == 0)
		result = shards_run(store, sql_shard_count, change_id, &count, reterr);
	/* The set seldom gets smaller; then it is written anew. */
	if (result == 0 && (size_t)count != change->shard_count) {
		result = shards_run(store, sql_shard_clear, change_id, NULL, reterr);
		if (result == 0)
			result = shards_put(store, change_id, change, reterr);
	}
	return result;
}

/* An earlier generation in failed or stopped lets go of the table, and its history says why. */
static int former_release(struct sqlite_store *store, const struct change *change, const char *actor,
			  struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = NULL;
	struct history_entry entry = { .at_ms = change->created_at_ms, .actor = actor };
	char reason[128];
	int64_t former_id;
	int result;

	if (change->generation == 1)
		return 0;
	stmt = sqlite_prepare(store, sql_change_replace, reterr);
	if (!stmt)
		return -1;
	sqlite_bind_change(stmt, change);
	result = sqlite_run(store, stmt, reterr);
	if (result != 1)
		return result;
	former_id = sqlite3_column_int64(stmt, 0);
	entry.from = entry.to = phase_from_name((const char *)sqlite3_column_text(stmt, 1));
	snprintf(reason, sizeof(reason), "generation %u of the same statement replaces it",
		 change->generation);
	entry.reason = reason;
	sqlite3_reset(stmt);
	return history_add(store, former_id, &entry, reterr);
}

/* Return: 0; STORE_CONFLICT; STORE_TABLE_BUSY; negative. */
static int change_add(struct sqlite_store *store, const struct change *change, const char *actor,
		      const char *evidence, struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *exists = sqlite_prepare(store, sql_change_exists, reterr);
	cleanup_stmt sqlite3_stmt *stmt = NULL;
	const struct history_entry entry = { .at_ms = change->created_at_ms,
					     .actor = actor,
					     .from = _PHASE_INVALID,
					     .to = change->phase,
					     .rule = change->rule,
					     .reason = change->reason,
					     .evidence = evidence };
	int64_t id;
	int result;

	if (!exists)
		return -1;
	sqlite_bind_change(exists, change);
	result = sqlite_run(store, exists, reterr);
	if (result != 0)
		return result == 1 ? STORE_CONFLICT : result;
	result = former_release(store, change, actor, reterr);
	if (result != 0)
		return result;
	stmt = sqlite_prepare(store, sql_change_insert, reterr);
	if (!stmt)
		return -1;
	sqlite_bind_change(stmt, change);
	sqlite_bind_i64(stmt, "live", phase_is_live(change->phase));
	result = sqlite_run(store, stmt, reterr);
	if (result != 0)
		return result == SQLITE_NOT_UNIQUE ? STORE_TABLE_BUSY : result;
	if (sqlite3_changes(store->db) == 0)
		return STORE_CONFLICT;
	id = sqlite3_last_insert_rowid(store->db);
	result = shards_write(store, id, change, reterr);
	return result ? result : history_add(store, id, &entry, reterr);
}

static int sqlite_insert(struct store *base, struct change *change, const char *actor, const char *evidence,
			 struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	struct change first = *change;
	int result = sqlite_begin(store, true, reterr);

	if (result < 0)
		return result;
	first.revision = 1;
	result = change_add(store, &first, actor, evidence, reterr);
	if (result != 0) {
		sqlite_rollback(store);
		return result;
	}
	result = sqlite_commit(store, reterr);
	if (result == 0)
		change->revision = first.revision;
	return result;
}

/* Return: 0; STORE_CONFLICT; STORE_TABLE_BUSY; negative. */
static int change_set(struct sqlite_store *store, const struct change *change,
		      const struct store_expect *expect, const struct history_entry *entry,
		      struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, sql_change_update, reterr);
	int64_t id;
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_change(stmt, change);
	sqlite_bind_i64(stmt, "live", phase_is_live(change->phase));
	sqlite_bind_text(stmt, "expect_phase", phase_name(expect->phase));
	sqlite_bind_i64(stmt, "expect_revision", expect->revision);
	result = sqlite_run(store, stmt, reterr);
	if (result == SQLITE_NOT_UNIQUE)
		return STORE_TABLE_BUSY;
	if (result != 1)
		return result ? result : STORE_CONFLICT;
	id = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	result = shards_write(store, id, change, reterr);
	if (result == 0 && entry)
		result = history_add(store, id, entry, reterr);
	return result;
}

static int sqlite_update(struct store *base, struct change *change, const struct store_expect *expect,
			 const struct history_entry *entry, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	struct change next = *change;
	int result = sqlite_begin(store, true, reterr);

	if (result < 0)
		return result;
	next.epoch = expect->epoch;
	next.revision = expect->revision + 1;
	result = change_set(store, &next, expect, entry, reterr);
	if (result != 0) {
		sqlite_rollback(store);
		return result;
	}
	result = sqlite_commit(store, reterr);
	if (result == 0) {
		change->epoch = next.epoch;
		change->revision = next.revision;
	}
	return result;
}

/* ---- Reads ---- */

/* A list that grows while rows come, and is copied into the arena once its length is known. */
struct rows {
	char *items;
	size_t count;
	size_t capacity;
	size_t size; /* of an item */
};

static void rows_freep(struct rows *rows)
{
	free(rows->items);
}

static void *rows_next(struct rows *rows)
{
	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity ? rows->capacity * 2 : 16;
		rows->items = reallocarray(rows->items, rows->capacity, rows->size);
		if (!rows->items)
			abort();
	}
	return rows->items + rows->count++ * rows->size;
}

static int rows_finish(const struct sqlite_store *store, const struct rows *rows, struct arena *arena,
		       void **ret, struct error *reterr)
{
	*ret = arena_array(arena, rows->count, rows->size);
	if (!*ret)
		return error_set(reterr, ERROR_STORE,
				 "The store %s has more than may be read at once (%zu records); ask for less",
				 store->path, rows->count);
	if (rows->count)
		memcpy(*ret, rows->items, rows->count * rows->size);
	return 0;
}

static int shards_read(struct sqlite_store *store, sqlite3_stmt *stmt, int64_t change_id, struct arena *arena,
		       struct change *change, struct error *reterr)
{
	cleanup(rows_freep) struct rows rows = { .size = sizeof(struct change_shard) };
	void *shards = NULL;
	int result;

	sqlite3_reset(stmt);
	sqlite_bind_i64(stmt, "change_id", change_id);
	while ((result = sqlite_run(store, stmt, reterr)) == 1 && rows.count < SHARDS_MAX) {
		result = sqlite_read_shard(store, stmt, arena, rows_next(&rows), reterr);
		if (result < 0)
			return result;
	}
	if (result == 1)
		return error_set(reterr, ERROR_STORE,
				 "The store %s has a change with more than %d shards, so another program "
				 "wrote it; put back"
				 " a backup of the store",
				 store->path, SHARDS_MAX);
	if (result == 0)
		result = rows_finish(store, &rows, arena, &shards, reterr);
	change->shards = shards;
	change->shard_count = rows.count;
	return result;
}

static int changes_read(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
			struct change **ret, size_t *ret_count, struct error *reterr)
{
	cleanup(rows_freep) struct rows rows = { .size = sizeof(struct change) };
	cleanup_stmt sqlite3_stmt *shards = sqlite_prepare(store, sql_shard_list, reterr);
	void *changes = NULL;
	int result;

	if (!shards)
		return -1;
	while ((result = sqlite_run(store, stmt, reterr)) == 1) {
		struct change *change = rows_next(&rows);

		result = sqlite_read_change(store, stmt, 1, arena, change, reterr);
		if (result == 0)
			result = shards_read(store, shards, sqlite3_column_int64(stmt, 0), arena, change,
					     reterr);
		if (result < 0)
			return result;
	}
	if (result == 0)
		result = rows_finish(store, &rows, arena, &changes, reterr);
	*ret = changes;
	*ret_count = result == 0 ? rows.count : 0;
	return result;
}

/* Conditions of the filter; every text is a constant, every value is bound. */
static const struct {
	const char *text;
	const char *parameter;
	size_t offset;
} conditions[] = {
	{ " AND keyspace_name = :keyspace", "keyspace", offsetof(struct store_filter, keyspace) },
	{ " AND table_name = :table", "table", offsetof(struct store_filter, table) },
	{ " AND ddl_sha256 = :sha256", "sha256", offsetof(struct store_filter, ddl_sha256) },
	/* Each of the two has its index; an OR over both would have none for certain. */
	{ " AND id IN (SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND uuid = :name"
	  " UNION SELECT id FROM ddl_pipeline WHERE cluster = :cluster AND context = :name)",
	  "name", offsetof(struct store_filter, uuid_or_context) },
};

/* Left to itself SQLite walks all changes of a keyspace or table in the order asked for, to save a
 * sort of the few that match. */
static const char *list_index(const struct store_filter *filter)
{
	if (filter->live_only)
		return " INDEXED BY ddl_pipeline_holds_table";
	return filter->ddl_sha256 ? " INDEXED BY ddl_pipeline_statement" : "";
}

static const char *condition_value(size_t i, const struct store_filter *filter)
{
	return *(const char *const *)((const char *)filter + conditions[i].offset);
}

static sqlite3_stmt *list_prepare(struct sqlite_store *store, const struct store_filter *filter,
				  struct error *reterr)
{
	const size_t count = sizeof(conditions) / sizeof(conditions[0]);
	sqlite3_stmt *stmt;
	struct strbuf sql;

	strbuf_init(&sql, (size_t)16 * 1024);
	strbuf_adds(&sql, sql_change_select);
	strbuf_adds(&sql, list_index(filter));
	strbuf_adds(&sql, " WHERE cluster = :cluster");
	for (size_t i = 0; i < count; i++)
		if (condition_value(i, filter))
			strbuf_adds(&sql, conditions[i].text);
	strbuf_adds(&sql, filter->live_only ? " AND holds_table = 1" : "");
	strbuf_adds(&sql, " ORDER BY id DESC");
	strbuf_adds(&sql, filter->limit ? " LIMIT :limit" : "");
	assert(!sql.overflow);
	stmt = sqlite_prepare(store, sql.text, reterr);
	strbuf_release(&sql);
	if (!stmt)
		return NULL;
	sqlite_bind_text(stmt, "cluster", filter->cluster);
	for (size_t i = 0; i < count; i++)
		if (condition_value(i, filter))
			sqlite_bind_text(stmt, conditions[i].parameter, condition_value(i, filter));
	if (filter->limit)
		sqlite_bind_i64(stmt, "limit", filter->limit);
	return stmt;
}

static int sqlite_list(struct store *base, const struct store_filter *filter, struct arena *arena,
		       struct change **ret, size_t *ret_count, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	cleanup_stmt sqlite3_stmt *stmt = list_prepare(store, filter, reterr);
	int result;

	if (!stmt)
		return -1;
	/* A change and its shards are read as of one moment. */
	result = sqlite_begin(store, false, reterr);
	if (result == 0)
		result = changes_read(store, stmt, arena, ret, ret_count, reterr);
	sqlite3_reset(stmt);
	sqlite_rollback(store);
	return result;
}

static int sqlite_load(struct store *base, const char *cluster, const char *uuid, struct arena *arena,
		       struct change *ret, struct error *reterr)
{
	const struct store_filter filter = { .cluster = cluster, .uuid_or_context = uuid };
	struct change *changes = NULL;
	size_t count = 0;
	int result = sqlite_list(base, &filter, arena, &changes, &count, reterr);

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

static int sqlite_history(struct store *base, const char *cluster, const char *uuid, struct arena *arena,
			  struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	cleanup(rows_freep) struct rows rows = { .size = sizeof(struct history_entry) };
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, sql_history_list, reterr);
	void *entries = NULL;
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_text(stmt, "cluster", cluster);
	sqlite_bind_text(stmt, "uuid", uuid);
	while ((result = sqlite_run(store, stmt, reterr)) == 1) {
		result = sqlite_read_history(store, stmt, arena, rows_next(&rows), reterr);
		if (result < 0)
			return result;
	}
	if (result == 0)
		result = rows_finish(store, &rows, arena, &entries, reterr);
	*ret = entries;
	*ret_count = result == 0 ? rows.count : 0;
	return result;
}

/* ---- For doctor ---- */

static int sqlite_check(struct store *base, char *ret, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	cleanup_stmt sqlite3_stmt *stmt = NULL;
	char complaint[REASON_MAX];
	struct stat st = { 0 };
	int result;

	if (!sqlite_quick_check(store, "PRAGMA integrity_check(3)", complaint))
		return error_set_detail(reterr, ERROR_STORE, SQLITE_CORRUPT,
					"The store %s is damaged (%.300s); keep it, put back a backup "
					"(docs/store.md), and run"
					" the same command again",
					store->path, complaint);
	stmt = sqlite_prepare(store, sql_check, reterr);
	if (!stmt)
		return -1;
	result = sqlite_run(store, stmt, reterr);
	if (result < 0)
		return result;
	if (strcmp((const char *)sqlite3_column_text(stmt, 2), "delete") != 0 ||
	    sqlite3_column_int(stmt, 3) != 3 || sqlite3_column_int(stmt, 4) != 1)
		return error_set(
			reterr, ERROR_STORE,
			"The store %s is not used as safely as it must be (journal mode %s, synchronous %d, "
			"foreign"
			" keys %d); close every other program that has it open, and run the same command "
			"again",
			store->path, sqlite3_column_text(stmt, 2), sqlite3_column_int(stmt, 3),
			sqlite3_column_int(stmt, 4));
	stat(store->path, &st);
	snprintf(ret, REASON_MAX,
		 "The store %s is whole: %lld changes, %lld of them hold a table, %lld bytes, mode %04o%s; "
		 "SQLite %s with"
		 " a rollback journal and synchronous=EXTRA",
		 store->path, (long long)sqlite3_column_int64(stmt, 0),
		 (long long)sqlite3_column_int64(stmt, 1), (long long)st.st_size, st.st_mode & 07777,
		 st.st_mode & 077 ? " (others than its owner may use it: chmod 600)" : "",
		 sqlite3_libversion());
	return 0;
}

const struct store_ops store_sqlite_ops = {
	.scheme = "sqlite",
	.open = sqlite_open,
	.insert = sqlite_insert,
	.update = sqlite_update,
	.load = sqlite_load,
	.list = sqlite_list,
	.history = sqlite_history,
	.lease = sqlite_lease,
	.release = sqlite_release,
	.check = sqlite_check,
	.close = sqlite_close,
};
