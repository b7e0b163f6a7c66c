#include "mysql_private.h"

#include <assert.h>

#include "vtddl/clock.h"

void mystore_add(struct mystore_values *values, struct sql_value value)
{
	assert(values->count < SQL_NAMES_MAX);
	values->items[values->count++] = value;
}

/* ---- Statements ---- */

static int disconnected_fail(const struct mystore *store, struct error *reterr)
{
	return error_set(reterr, ERROR_STORE, "%s is not connected any more; run the same command again",
			 store->name);
}

int mystore_run(struct mystore *store, const char *sql, const struct mystore_values *values,
		struct error *reterr)
{
	struct error err = { 0 };
	int result;

	if (!store->connection)
		return disconnected_fail(store, reterr);
	result = connection_run(store->connection, sql, values ? values->items : NULL,
				values ? values->count : 0, &err);
	return result < 0 ? mystore_fail(store, &err, reterr) : result;
}

int mystore_do(struct mystore *store, const char *sql, struct error *reterr)
{
	struct error err = { 0 };
	int result;

	if (!store->connection)
		return disconnected_fail(store, reterr);
	result = connection_do(store->connection, sql, &err);
	return result < 0 ? mystore_fail(store, &err, reterr) : result;
}

int mystore_next(struct mystore *store, struct error *reterr)
{
	struct error err = { 0 };
	int result;

	if (!store->connection)
		return disconnected_fail(store, reterr);
	result = connection_next(store->connection, &err);
	return result < 0 ? mystore_fail(store, &err, reterr) : result;
}

int64_t mystore_number(const struct mystore *store, unsigned column)
{
	const struct sql_value *value = connection_column(store->connection, column);

	return value->kind == SQL_I64 ? value->number : 0;
}

const char *mystore_string(const struct mystore *store, unsigned column)
{
	const struct sql_value *value = connection_column(store->connection, column);

	return value->kind == SQL_BYTES ? value->text : "";
}

/* ---- Transactions ---- */

static const char *const starts[] = {
	[MYSTORE_READ] = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
	[MYSTORE_WRITE] = "START TRANSACTION",
};

/*
 * The server, or something between, ends a connection that was idle. Nothing was sent on it that could
 * have had an effect, so another one is opened; but not where the server kept silent for long, which the
 * next one would do as well.
 */
int mystore_begin(struct mystore *store, enum mystore_transaction kind, struct error *reterr)
{
	int64_t began_ms = clock_monotonic_ms();
	bool was_connected = store->connection != NULL;
	struct error err = { 0 };
	int result = was_connected ? mystore_do(store, starts[kind], &err) : 0;

	if (result != 0 && store->connection) {
		if (result < 0 && reterr)
			*reterr = err;
		return result;
	}
	if (result == 0 && store->connection)
		return 0;
	if (was_connected && clock_monotonic_ms() - began_ms >= store->config.timeout_ms / 2) {
		if (reterr)
			*reterr = err;
		return -1;
	}
	result = mystore_connect(store, reterr);
	return result < 0 ? result : mystore_do(store, starts[kind], reterr);
}

int mystore_commit(struct mystore *store, struct error *reterr)
{
	struct error err = { 0 };
	int result;

	if (!store->connection)
		return disconnected_fail(store, reterr);
	result = connection_do(store->connection, "COMMIT", &err);
	if (result == 0 || result == CONNECTION_DEADLOCK)
		return result;
	/* Whatever it said, a new connection is the way to be sure that this transaction has ended. */
	mystore_disconnect(store);
	return error_set_detail(
		reterr, ERROR_STORE, err.detail,
		"It is unknown whether %s has made the last write, for its commit was not confirmed (%.400s);"
		" what is there is read again before anything is decided",
		store->name, err.text);
}

void mystore_rollback(struct mystore *store)
{
	struct error err = { 0 };

	/* A connection that cannot even do this must not go on in the middle of a transaction. */
	if (store->connection && connection_do(store->connection, "ROLLBACK", &err) != 0)
		mystore_disconnect(store);
}
