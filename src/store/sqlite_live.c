#include "sqlite.h"

#include <unistd.h>

#include "store_sql.h"

/*
 * Everything there is to do, read in one transaction. Who holds a lease is told by the kernel, not by the
 * row: a holder that died wrote nothing about it.
 */

static int changes_read(struct sqlite_store *store, const char *cluster, int64_t cancelled_since_ms,
			struct arena *arena, struct live *ret, struct error *reterr)
{
	cleanup_rows struct sqlite_rows rows = { .size = sizeof(struct live_change) };
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_live, reterr);
	void *changes = NULL;
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_text(stmt, "cluster", cluster);
	sqlite_bind_i64(stmt, "cancelled_since_ms", cancelled_since_ms);
	while ((result = sqlite_run(store, stmt, reterr)) == 1) {
		result = sqlite_read_live(store, stmt, arena, sqlite_rows_next(&rows), reterr);
		if (result < 0)
			return result;
	}
	if (result == 0)
		result = sqlite_rows_finish(store, &rows, arena, &changes, reterr);
	if (result == 0) {
		ret->changes = changes;
		ret->change_count = rows.count;
	}
	return result;
}

/* Return: 1; 0, nobody ever took it; negative. */
static int lease_read(struct sqlite_store *store, int locks, const char *cluster, const char *keyspace,
		      struct arena *arena, struct lease_row *ret, struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_lock_find, reterr);
	char scope[SCOPE_MAX + 1];
	bool held;
	int result;

	if (!stmt)
		return -1;
	snprintf(scope, sizeof(scope), "%s/%s", cluster, keyspace);
	sqlite_bind_text(stmt, "scope", scope);
	result = sqlite_run(store, stmt, reterr);
	if (result != 1)
		return result;
	if (sqlite_lock_is_held(store, locks, sqlite3_column_int64(stmt, 0), &held, reterr) < 0)
		return -1;
	*ret = (struct lease_row){ .keyspace = keyspace,
				   .holder = "",
				   .epoch = sqlite3_column_int64(stmt, 2),
				   .left_ms = held ? LEASE_NO_END : 0 };
	if (held)
		ret->holder = arena_strdup(arena, (const char *)sqlite3_column_text(stmt, 1));
	if (!ret->holder)
		return error_set(reterr, ERROR_STORE,
				 "The store %s has more than may be read at once; ask for less", store->path);
	return 1;
}

static int leases_read(struct sqlite_store *store, int locks, const char *cluster, struct arena *arena,
		       struct live *ret, struct error *reterr)
{
	cleanup_rows struct sqlite_rows rows = { .size = sizeof(struct lease_row) };
	const char *keyspace = "";
	void *leases = NULL;
	int result;

	for (size_t i = 0; i < ret->change_count; i++) {
		struct lease_row lease;

		if (strcmp(keyspace, ret->changes[i].keyspace) == 0)
			continue;
		keyspace = ret->changes[i].keyspace;
		result = lease_read(store, locks, cluster, keyspace, arena, &lease, reterr);
		if (result < 0)
			return result;
		if (result == 1)
			*(struct lease_row *)sqlite_rows_next(&rows) = lease;
	}
	result = sqlite_rows_finish(store, &rows, arena, &leases, reterr);
	if (result == 0) {
		ret->leases = leases;
		ret->lease_count = rows.count;
	}
	return result;
}

int sqlite_live(struct store *base, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
		struct live *ret, struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	int locks = -1;
	int result = sqlite_locks_open(store, &locks, reterr);

	if (result == 0)
		result = sqlite_begin(store, false, reterr);
	if (result == 0)
		result = changes_read(store, cluster, cancelled_since_ms, arena, ret, reterr);
	if (result == 0)
		result = leases_read(store, locks, cluster, arena, ret, reterr);
	sqlite_rollback(store);
	if (locks >= 0)
		close(locks);
	if (result < 0)
		*ret = (struct live){ 0 };
	return result;
}
