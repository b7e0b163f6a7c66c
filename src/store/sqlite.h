#pragma once
/*
 * sqlite: the store in one SQLite file on one host.
 *
 * Private to this folder and to the tests of this backend. The statements are in sql/, all
 * values are bound. Rollback journal and synchronous=EXTRA: a commit is on disk, and so is the
 * removal of its journal (with FULL a power cut could bring the journal back, and with it the
 * state before the commit; losing the intent behind its effect would break I2).
 *
 *	sqlite_open.c	the file: refusals, settings, making the tables
 *	sqlite_error.c	what went wrong, in a sentence
 *	sqlite_row.c	struct change and its parts <-> columns
 *	sqlite_lease.c	who may act
 *	sqlite_write.c	writes, one or many in a transaction
 *	sqlite_live.c	what there is to do
 *	sqlite.c	statements, reads, and the table of the calls
 */
#include <sqlite3.h>
#include <sys/types.h>

#include "vtddl/store.h"

#define SQLITE_BUSY_TIMEOUT_MS 5000
#define SQLITE_APPLICATION_ID 1987339364 /* "vtdd", as in sql/schema.sql */
#define SQLITE_USER_VERSION 1
/* Up to this size, some 300 changes, a file is checked whole at every start (5 ms of work: every CHECK of
 * every row is tried); beyond it, on the first sign of damage and by store_check(). */
#define SQLITE_QUICK_CHECK_MAX ((off_t)256 * 1024)

struct sqlite_lease;

/* A statement that is used again and again: made once for each handle. */
struct sqlite_statement {
	const void *key; /* address of its text, or of what stands for it */
	sqlite3_stmt *stmt;
};

struct sqlite_store {
	struct store base;
	sqlite3 *db;
	char *path; /* absolute, no link in it */
	bool read_only;
	bool broken;   /* an fsync failed: what is on disk is unknown until a new process reads it */
	bool checking; /* a quick_check is running: no second one for its own failure */
	int lock_fd;   /* PATH-lock; -1: not open */
	struct sqlite_lease *leases;
	struct sqlite_statement *statements;
	size_t statement_count, statement_capacity;
};

static inline struct sqlite_store *sqlite_store_of(struct store *store)
{
	return (struct sqlite_store *)store;
}

/* ---- sqlite_open.c ---- */

int sqlite_open(const struct store_config *config, struct store **ret, struct error *reterr);
void sqlite_close(struct store *store);
/** sqlite_file_system_refusal() - why a store may not be on a file system of that statfs() type; NULL: it may
 */
const char *sqlite_file_system_refusal(unsigned long type);

/* ---- sqlite_error.c ---- */

/** sqlite_fail() - describe the last failure of @store->db; @doing as in "cannot <doing> the store"; returns
 * -1 */
int sqlite_fail(struct sqlite_store *store, const char *doing, struct error *reterr);
/** sqlite_quick_check() - first complaint into @ret; true: the file is well */
bool sqlite_quick_check(struct sqlite_store *store, const char *pragma, char ret[REASON_MAX]);

/* ---- statements ---- */

/** sqlite_statement() - the kept statement of @sql, a constant; used by one at a time, declared cleanup_use.
 * NULL: @reterr is set */
sqlite3_stmt *sqlite_statement(struct sqlite_store *store, const char *sql, struct error *reterr);
/** sqlite_statements_free() - every kept one, when the handle is closed */
void sqlite_statements_free(struct sqlite_store *store);
/** sqlite_prepare() - for a single use, declared cleanup_stmt. NULL: @reterr is set */
sqlite3_stmt *sqlite_prepare(struct sqlite_store *store, const char *sql, struct error *reterr);
/** sqlite_run() - one step. Return: 1 a row; 0 done; SQLITE_NOT_UNIQUE; negative */
int sqlite_run(struct sqlite_store *store, sqlite3_stmt *stmt, struct error *reterr);
#define SQLITE_NOT_UNIQUE 2 /* a UNIQUE index refused the row */
/** sqlite_begin() - the write lock at once (write), or a snapshot for several reads */
int sqlite_begin(struct sqlite_store *store, bool write, struct error *reterr);
/** sqlite_commit() - rolls back where it fails */
int sqlite_commit(struct sqlite_store *store, struct error *reterr);
void sqlite_rollback(struct sqlite_store *store);

static inline void sqlite_finalizep(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}
#define cleanup_stmt cleanup(sqlite_finalizep)

/* What was bound belongs to the caller, and is gone when he is. */
static inline void sqlite_put_backp(sqlite3_stmt **stmt)
{
	sqlite3_reset(*stmt);
	if (*stmt)
		sqlite3_clear_bindings(*stmt);
}
#define cleanup_use cleanup(sqlite_put_backp)

void sqlite_bind_i64(sqlite3_stmt *stmt, const char *name, int64_t value);
void sqlite_bind_text(sqlite3_stmt *stmt, const char *name, const char *value);

/* ---- sqlite_row.c: bind skips a field that the statement does not use; read begins at @column. ---- */

void sqlite_bind_change(sqlite3_stmt *stmt, const struct change *change);
void sqlite_bind_shard(sqlite3_stmt *stmt, const struct change_shard *shard);
void sqlite_bind_history(sqlite3_stmt *stmt, const struct history_entry *entry);
int sqlite_read_change(struct sqlite_store *store, sqlite3_stmt *stmt, int column, struct arena *arena,
		       struct change *ret, struct error *reterr);
int sqlite_read_shard(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		      struct change_shard *ret, struct error *reterr);
int sqlite_read_history(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
			struct history_entry *ret, struct error *reterr);

int sqlite_read_live(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		     struct live_change *ret, struct error *reterr);

/* A list that grows while rows come, and is copied into the arena once its length is known. */
struct sqlite_rows {
	char *items;
	size_t count;
	size_t capacity;
	size_t size; /* of an item */
};

static inline void sqlite_rows_freep(struct sqlite_rows *rows)
{
	free(rows->items);
}
#define cleanup_rows cleanup(sqlite_rows_freep)

/** sqlite_rows_next() - a place for one more */
void *sqlite_rows_next(struct sqlite_rows *rows);
int sqlite_rows_finish(const struct sqlite_store *store, const struct sqlite_rows *rows, struct arena *arena,
		       void **ret, struct error *reterr);

/* ---- sqlite_lease.c ---- */

int sqlite_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
		 struct error *reterr);
void sqlite_release(struct store *store, const char *scope, const char *owner);
/** sqlite_locks_open() - the lock file, to look at; *ret is -1 where there is none yet */
int must_check sqlite_locks_open(struct sqlite_store *store, int *ret, struct error *reterr);
/** sqlite_lock_is_held() - whether a living process, we or another, has the lease of row @id of ddl_lock */
int must_check sqlite_lock_is_held(struct sqlite_store *store, int fd, int64_t id, bool *ret,
				   struct error *reterr);
/** sqlite_leases_free() - every lease of this handle, when it is closed */
void sqlite_leases_free(struct sqlite_store *store);

/* ---- sqlite_write.c, sqlite_live.c ---- */

void sqlite_write(struct store *store, struct store_write *writes, size_t count);
int sqlite_live(struct store *store, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
		struct live *ret, struct error *reterr);
