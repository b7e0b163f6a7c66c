#include "sqlite.h"

#include "store_sql.h"

/*
 * Writes. A batch is one transaction and one commit; within it each write stands for itself, behind a
 * savepoint. Nobody is told of a success, and no record in memory changes, before the commit.
 */

/* ---- Writes; each of these is called within a transaction. ---- */

static int history_add(struct sqlite_store *store, int64_t change_id, const struct history_entry *entry,
		       struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_history_add, reterr);

	if (!stmt)
		return -1;
	sqlite_bind_history(stmt, entry);
	sqlite_bind_i64(stmt, "change_id", change_id);
	return sqlite_run(store, stmt, reterr);
}

static int shards_put(struct sqlite_store *store, int64_t change_id, const struct change *change,
		      struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_shard_put, reterr);

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

/* Runs @sql, whose only value is the change; @ret_number is what it answers, if it answers anything. */
static int shards_run(struct sqlite_store *store, const char *sql, int64_t change_id, int64_t *ret_number,
		      struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql, reterr);
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_i64(stmt, "change_id", change_id);
	result = sqlite_run(store, stmt, reterr);
	if (result == 1)
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
		result = shards_run(store, sql_shard_clear, change_id, &count, reterr);
		if (result == 0)
			result = shards_put(store, change_id, change, reterr);
	}
	return result;
}

/* An earlier generation in failed or stopped lets go of the table, and its history says why. */
static int former_release(struct sqlite_store *store, const struct change *change, const char *actor,
			  struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = NULL;
	struct history_entry entry = { .at_ms = change->created_at_ms, .actor = actor };
	char reason[128];
	int64_t former_id;
	int result;

	if (change->generation == 1)
		return 0;
	stmt = sqlite_statement(store, sql_change_replace, reterr);
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
	cleanup_use sqlite3_stmt *exists = sqlite_statement(store, sql_change_exists, reterr);
	cleanup_use sqlite3_stmt *stmt = NULL;
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
	stmt = sqlite_statement(store, sql_change_insert, reterr);
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

/* Return: 0; STORE_CONFLICT; STORE_TABLE_BUSY; negative. */
static int change_set(struct sqlite_store *store, const struct change *change,
		      const struct store_expect *expect, const struct history_entry *entry,
		      struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_change_update, reterr);
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

/* ---- The batch ---- */

static int item_write(struct sqlite_store *store, const struct store_write *write, struct error *reterr)
{
	struct change next = *write->change;

	if (!write->expect) {
		next.revision = 1;
		return change_add(store, &next, write->actor, write->evidence, reterr);
	}
	next.epoch = write->expect->epoch;
	next.revision = write->expect->revision + 1;
	return change_set(store, &next, write->expect, write->entry, reterr);
}

static const char item_begin[] = "SAVEPOINT item", item_undo[] = "ROLLBACK TO item",
		  item_end[] = "RELEASE item";

static int item_run(struct sqlite_store *store, const char *sql, struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql, reterr);

	return stmt ? sqlite_run(store, stmt, reterr) : -1;
}

/* One of several: a refusal, or a value that the tables refuse, takes only itself away.
 * Return: 0; negative, the transaction is lost. */
static int item_write_apart(struct sqlite_store *store, struct store_write *write, struct error *reterr)
{
	int result = item_run(store, item_begin, reterr);

	if (result < 0)
		return result;
	write->result = item_write(store, write, &write->error);
	if (write->result < 0 && (write->error.code != ERROR_BUG || sqlite3_get_autocommit(store->db))) {
		*reterr = write->error;
		return -1;
	}
	if (write->result != 0)
		result = item_run(store, item_undo, reterr);
	return result < 0 ? result : item_run(store, item_end, reterr);
}

static int batch_write(struct sqlite_store *store, struct store_write *writes, size_t count,
		       struct error *reterr)
{
	size_t done = 0;
	int result = sqlite_begin(store, true, reterr);

	if (result < 0)
		return result;
	for (size_t i = 0; i < count && result == 0; i++) {
		if (count == 1)
			writes[i].result = item_write(store, &writes[i], &writes[i].error);
		else
			result = item_write_apart(store, &writes[i], reterr);
		done += writes[i].result == 0;
	}
	if (result == 0 && done > 0)
		return sqlite_commit(store, reterr);
	sqlite_rollback(store);
	return result;
}

void sqlite_write(struct store *base, struct store_write *writes, size_t count)
{
	struct error error = { 0 };
	bool failed = batch_write(sqlite_store_of(base), writes, count, &error) < 0;

	for (size_t i = 0; i < count; i++) {
		struct change *change = writes[i].change;

		if (failed) {
			writes[i].result = -1;
			writes[i].error = error;
		} else if (writes[i].result == 0) {
			change->revision = writes[i].expect ? writes[i].expect->revision + 1 : 1;
			change->epoch = writes[i].expect ? writes[i].expect->epoch : change->epoch;
		}
	}
}
