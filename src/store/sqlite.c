#include "sqlite.h"

#include <assert.h>
#include <sys/stat.h>

#include "store_sql.h"
#include "vtddl/strbuf.h"

/* ---- Statements and transactions ---- */

static int store_is_usable(const struct sqlite_store *store, struct error *reterr)
{
	if (!store->broken)
		return 0;
	return error_set_detail(reterr, ERROR_STORE, STORE_LOST,
				"The store %s is not used any more, since its disk could not confirm a write; "
				"check the disk, then start vtddl again",
				store->path);
}

static sqlite3_stmt *prepare(struct sqlite_store *store, const char *sql, unsigned flags,
			     struct error *reterr)
{
	sqlite3_stmt *stmt = NULL;

	if (store_is_usable(store, reterr) < 0)
		return NULL;
	if (sqlite3_prepare_v3(store->db, sql, -1, flags, &stmt, NULL) != SQLITE_OK)
		sqlite_fail(store, "read", reterr);
	return stmt;
}

sqlite3_stmt *sqlite_prepare(struct sqlite_store *store, const char *sql, struct error *reterr)
{
	return prepare(store, sql, 0, reterr);
}

/* A place for the statement of @key: its own, or a new one. */
static struct sqlite_statement *statement_find(struct sqlite_store *store, const void *key)
{
	for (size_t i = 0; i < store->statement_count; i++)
		if (store->statements[i].key == key)
			return &store->statements[i];
	if (store->statement_count == store->statement_capacity) {
		store->statement_capacity = store->statement_capacity ? store->statement_capacity * 2 : 32;
		store->statements = reallocarray(store->statements, store->statement_capacity,
						 sizeof(*store->statements));
		if (!store->statements)
			abort();
	}
	store->statements[store->statement_count] = (struct sqlite_statement){ .key = key };
	return &store->statements[store->statement_count++];
}

static sqlite3_stmt *statement_keep(struct sqlite_store *store, const void *key, const char *sql,
				    struct error *reterr)
{
	struct sqlite_statement *kept;

	if (store_is_usable(store, reterr) < 0)
		return NULL;
	kept = statement_find(store, key);
	if (!kept->stmt)
		kept->stmt = prepare(store, sql, SQLITE_PREPARE_PERSISTENT, reterr);
	return kept->stmt;
}

sqlite3_stmt *sqlite_statement(struct sqlite_store *store, const char *sql, struct error *reterr)
{
	return statement_keep(store, sql, sql, reterr);
}

void sqlite_statements_free(struct sqlite_store *store)
{
	for (size_t i = 0; i < store->statement_count; i++)
		sqlite3_finalize(store->statements[i].stmt);
	free(store->statements);
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
	static const char write_now[] = "BEGIN IMMEDIATE", read_only[] = "BEGIN";
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, write ? write_now : read_only, reterr);
	int result;

	if (!stmt)
		return -1;
	result = sqlite_run(store, stmt, reterr);
	if (result < 0)
		sqlite_rollback(store); /* it may have begun all the same */
	return result;
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
	/* Some failures have rolled back already. Without memory it stays open, and no other could begin. */
	if (sqlite3_get_autocommit(store->db))
		return;
	if ((sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL) & 0xff) == SQLITE_NOMEM) /* GCOVR_EXCL_BR_LINE: test_alloc fails it */
		abort();
}

/* ---- Reads ---- */

static int shards_read(struct sqlite_store *store, sqlite3_stmt *stmt, int64_t change_id, struct arena *arena,
		       struct change *change, struct error *reterr)
{
	cleanup_rows struct sqlite_rows rows = { .size = sizeof(struct change_shard) };
	void *shards = NULL;
	int result;

	sqlite3_reset(stmt);
	sqlite_bind_i64(stmt, "change_id", change_id);
	while ((result = sqlite_run(store, stmt, reterr)) == 1 && rows.count < SHARDS_MAX) {
		result = sqlite_read_shard(store, stmt, arena, sqlite_rows_next(&rows), reterr);
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
		result = sqlite_rows_finish(store, &rows, arena, &shards, reterr);
	change->shards = shards;
	change->shard_count = rows.count;
	return result;
}

static int changes_read(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
			struct change **ret, size_t *ret_count, struct error *reterr)
{
	cleanup_rows struct sqlite_rows rows = { .size = sizeof(struct change) };
	cleanup_use sqlite3_stmt *shards = sqlite_statement(store, sql_shard_list, reterr);
	void *changes = NULL;
	int result;

	if (!shards)
		return -1;
	while ((result = sqlite_run(store, stmt, reterr)) == 1) {
		struct change *change = sqlite_rows_next(&rows);

		result = sqlite_read_change(store, stmt, 1, arena, change, reterr);
		if (result == 0)
			result = shards_read(store, shards, sqlite3_column_int64(stmt, 0), arena, change,
					     reterr);
		if (result < 0)
			return result;
	}
	if (result == 0)
		result = sqlite_rows_finish(store, &rows, arena, &changes, reterr);
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

#define CONDITIONS (sizeof(conditions) / sizeof(conditions[0]))

static const char *condition_value(size_t i, const struct store_filter *filter)
{
	return *(const char *const *)((const char *)filter + conditions[i].offset);
}

/* Which of the texts a filter asks for; each is made once. */
static unsigned list_kind(const struct store_filter *filter)
{
	unsigned kind = (filter->live_only ? 1u : 0) | (filter->limit ? 2u : 0);

	for (size_t i = 0; i < CONDITIONS; i++)
		kind |= condition_value(i, filter) ? 4u << i : 0;
	return kind;
}

static sqlite3_stmt *list_statement(struct sqlite_store *store, const struct store_filter *filter,
				    struct error *reterr)
{
	static const char keys[4u << CONDITIONS];
	const char *key = &keys[list_kind(filter)];
	sqlite3_stmt *stmt;
	struct strbuf sql;

	strbuf_init(&sql, (size_t)16 * 1024);
	strbuf_adds(&sql, sql_change_select);
	strbuf_adds(&sql, list_index(filter));
	strbuf_adds(&sql, " WHERE cluster = :cluster");
	for (size_t i = 0; i < CONDITIONS; i++)
		if (condition_value(i, filter))
			strbuf_adds(&sql, conditions[i].text);
	strbuf_adds(&sql, filter->live_only ? " AND holds_table = 1" : "");
	strbuf_adds(&sql, " ORDER BY id DESC");
	strbuf_adds(&sql, filter->limit ? " LIMIT :limit" : "");
	assert(!sql.overflow);
	stmt = statement_keep(store, key, sql.text, reterr);
	strbuf_release(&sql);
	return stmt;
}

static void list_bind(sqlite3_stmt *stmt, const struct store_filter *filter)
{
	sqlite_bind_text(stmt, "cluster", filter->cluster);
	for (size_t i = 0; i < CONDITIONS; i++)
		if (condition_value(i, filter))
			sqlite_bind_text(stmt, conditions[i].parameter, condition_value(i, filter));
	if (filter->limit)
		sqlite_bind_i64(stmt, "limit", filter->limit);
}

static int sqlite_list(struct store *base, const struct store_filter *filter, struct arena *arena,
		       struct change **ret, size_t *ret_count, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	cleanup_use sqlite3_stmt *stmt = list_statement(store, filter, reterr);
	int result;

	if (!stmt)
		return -1;
	list_bind(stmt, filter);
	/* A change and its shards are read as of one moment. */
	result = sqlite_begin(store, false, reterr);
	if (result == 0)
		result = changes_read(store, stmt, arena, ret, ret_count, reterr);
	sqlite3_reset(stmt);
	sqlite_rollback(store);
	return result;
}

static int sqlite_history(struct store *base, const char *cluster, const char *uuid, struct arena *arena,
			  struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	cleanup_rows struct sqlite_rows rows = { .size = sizeof(struct history_entry) };
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_history_list, reterr);
	void *entries = NULL;
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_text(stmt, "cluster", cluster);
	sqlite_bind_text(stmt, "uuid", uuid);
	while ((result = sqlite_run(store, stmt, reterr)) == 1) {
		result = sqlite_read_history(store, stmt, arena, sqlite_rows_next(&rows), reterr);
		if (result < 0)
			return result;
	}
	if (result == 0)
		result = sqlite_rows_finish(store, &rows, arena, &entries, reterr);
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
	.write = sqlite_write,
	.list = sqlite_list,
	.history = sqlite_history,
	.live = sqlite_live,
	.lease = sqlite_lease,
	.release = sqlite_release,
	.check = sqlite_check,
	.close = sqlite_close,
};
