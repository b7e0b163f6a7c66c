#pragma once
/*
 * mysql: the store in a MySQL or MariaDB database, or in an unsharded keyspace behind VTGate.
 *
 * Private to this folder and to the tests of this backend. The statements are in sql/mysql/, all
 * values are bound by name (vtddl/mysql.h). Names begin with mystore_: mysql_ is the client library's.
 *
 * Transactions are REPEATABLE READ, everybody's default: a read takes one snapshot, and a write decides by
 * locking reads alone, which see what is committed now, not a snapshot.
 *
 *	mysql_url.c		mysql://USER@HOST:PORT/DATABASE
 *	mysql_open.c		connecting, settings of the session and of the server
 *	mysql_tables.c		whose the tables are, and making them
 *	mysql_transaction.c	statements, begin, commit
 *	mysql_error.c		what went wrong, in a sentence
 *	mysql_row.c		struct change and its parts <-> columns
 *	mysql_lease.c		who may act
 *	mysql_write.c		writes, one or many in a transaction
 *	mysql_read.c		lists, history, what there is to do
 *	mysql_check.c		for doctor, and the table of the calls
 *
 * Locks are taken in one order: rows of ddl_lock by scope, then rows of changes. What still ends in a
 * deadlock is rolled back and tried once more, each write for itself.
 */
#include <stdlib.h>
#include <string.h>

#include "vtddl/mysql.h"
#include "vtddl/store.h"

#define MYSTORE_VERSION 1
#define MYSTORE_PORT 3306
#define MYSTORE_TIMEOUT_MS 5000

struct mystore_lease;

struct mystore {
	struct store base;
	struct connection *connection; /* NULL: there is none now; the next call opens one */
	struct connection_config config;
	char *name; /* "The store mysql://USER@HOST:PORT/DATABASE" */
	bool read_only;
	struct mystore_lease *leases; /* the greatest epoch seen of each scope */
	char notes[256];	      /* for doctor: what could not be checked */
};

static inline struct mystore *mystore_of(struct store *store)
{
	return (struct mystore *)store;
}

/* The values of one statement. */
struct mystore_values {
	struct sql_value items[SQL_NAMES_MAX];
	size_t count;
};

void mystore_add(struct mystore_values *values, struct sql_value value);

/* ---- mysql_url.c ---- */

struct mystore_url {
	char user[128], host[HOST_MAX + 1], database[65];
	unsigned port;
};

/** mystore_url_parse() - what is refused is not repeated: it may hold a secret */
int mystore_url_parse(const char *url, bool user_is_optional, struct mystore_url *ret, struct error *reterr);

/* ---- mysql_open.c ---- */

int mystore_open(const struct store_config *config, struct store **ret, struct error *reterr);
void mystore_close(struct store *store);
/** mystore_connect() - a connection whose session and server are as they must be; into store->connection */
int mystore_connect(struct mystore *store, struct error *reterr);
void mystore_disconnect(struct mystore *store);

/* ---- mysql_tables.c ---- */

/** mystore_tables_prepare() - make what is missing. Return: 0; STORE_NOT_FOUND; negative */
int mystore_tables_prepare(struct mystore *store, struct error *reterr);
/** mystore_tables_compare() - the indexes and engines on which the promises rest */
int mystore_tables_compare(struct mystore *store, struct error *reterr);

/* ---- mysql_error.c ---- */

/** mystore_fail() - makes ERROR_STORE of what the connection said, and says what to do; drops a connection
 * that is lost. Returns -1 */
int mystore_fail(struct mystore *store, struct error *err, struct error *reterr);
/** mystore_busy_fail() - after CONNECTION_LOCKED or CONNECTION_DEADLOCK that did not pass; returns -1 */
int mystore_busy_fail(const struct mystore *store, int answer, struct error *reterr);

/* ---- mysql_transaction.c; answers of the connection pass through, failures are ERROR_STORE ---- */

enum mystore_transaction { MYSTORE_READ, MYSTORE_WRITE };

/** mystore_begin() - connects where there is no connection, or where the server ended it while it was idle */
int mystore_begin(struct mystore *store, enum mystore_transaction kind, struct error *reterr);
/** mystore_commit() - Return: 0; CONNECTION_DEADLOCK, rolled back; negative, the outcome is unknown */
int mystore_commit(struct mystore *store, struct error *reterr);
void mystore_rollback(struct mystore *store);
int mystore_run(struct mystore *store, const char *sql, const struct mystore_values *values,
		struct error *reterr);
int mystore_do(struct mystore *store, const char *sql, struct error *reterr);
/** mystore_next() - Return: 1 a row; 0; an answer; negative */
int mystore_next(struct mystore *store, struct error *reterr);
/** mystore_number() - a value of the row; 0 where it is NULL or no number */
int64_t mystore_number(const struct mystore *store, unsigned column);
/** mystore_string() - a value of the row; "" where it is NULL or no text */
const char *mystore_string(const struct mystore *store, unsigned column);

/* ---- mysql_row.c; what is read is bounded by its struct, or refused ---- */

void mystore_add_change(struct mystore_values *values, const struct change *change);
void mystore_add_shard(struct mystore_values *values, const struct change_shard *shard);
void mystore_add_history(struct mystore_values *values, const struct history_entry *entry);
int mystore_read_change(struct mystore *store, unsigned column, struct arena *arena, struct change *ret,
			struct error *reterr);
int mystore_read_shard(struct mystore *store, unsigned column, struct arena *arena, struct change_shard *ret,
		       struct error *reterr);
int mystore_read_history(struct mystore *store, struct arena *arena, struct history_entry *ret,
			 struct error *reterr);
int mystore_read_live(struct mystore *store, struct arena *arena, struct live_change *ret,
		      struct error *reterr);
#define MYSTORE_LIVE_COLUMNS 15

/* A list that grows while rows come, and is copied into the arena once its length is known. */
struct mystore_rows {
	char *items;
	size_t count;
	size_t capacity;
	size_t size; /* of an item */
};

static inline void mystore_rows_freep(struct mystore_rows *rows)
{
	free(rows->items);
}
#define cleanup_mystore_rows cleanup(mystore_rows_freep)

void *mystore_rows_next(struct mystore_rows *rows);
int mystore_rows_finish(const struct mystore *store, const struct mystore_rows *rows, struct arena *arena,
			void **ret, struct error *reterr);
int mystore_too_much(const struct mystore *store, struct error *reterr);

/* ---- mysql_lease.c ---- */

int mystore_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms,
		  struct lease *ret, struct error *reterr);
void mystore_release(struct store *store, const char *scope, const char *owner);
/** mystore_lease_is_ours() - whether this handle took the lease last, for @holder, who is in its row now */
bool mystore_lease_is_ours(struct mystore *store, const char *scope, const char *holder);
void mystore_leases_free(struct mystore *store);

/* ---- mysql_write.c, mysql_read.c, mysql_check.c ---- */

void mystore_write(struct store *store, struct store_write *writes, size_t count);
int mystore_list(struct store *store, const struct store_filter *filter, struct arena *arena,
		 struct change **ret, size_t *ret_count, struct error *reterr);
int mystore_history(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
		    struct history_entry **ret, size_t *ret_count, struct error *reterr);
int mystore_live(struct store *store, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
		 struct live *ret, struct error *reterr);
int mystore_check(struct store *store, char *ret, struct error *reterr);
