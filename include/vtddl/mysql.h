#pragma once
/*
 * mysql: one connection to a server that speaks MySQL's protocol; prepared statements only.
 *
 * The one door to the client library (MySQL's own or MariaDB's), for VTGate and for the store. A
 * statement is a constant text with named values, ":name"; every value is bound on the server, so
 * there is no text of SQL to escape. Names, not positions, say which value goes where.
 *
 *	const struct sql_value values[] = { sql_text("scope", scope), sql_i64("epoch", epoch) };
 *
 *	result = connection_run(connection, sql_lock_find, values, 2, reterr);
 *	while (result == 0 && (result = connection_next(connection, reterr)) == 1)
 *		epoch = connection_column(connection, 0)->number;
 *
 * Nothing is ever sent twice: a connection that broke is lost for good, and its owner opens another.
 * LOCAL INFILE is refused, a password is never sent in clear text over a plain connection, and it
 * comes from a file. What the server sends is bounded: a value by SQL_VALUE_MAX, a row by
 * SQL_ROW_MAX, every wait by the timeout. Calls block; one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/error.h"

#define HOST_MAX 255
#define SQL_NAMES_MAX 48   /* values of one statement */
#define SQL_COLUMNS_MAX 48 /* of one row */
#define SQL_VALUE_MAX ((size_t)16 * 1024 * 1024)
#define SQL_ROW_MAX ((size_t)48 * 1024 * 1024)

struct connection;

struct connection_config {
	const char *name;   /* begins a sentence: "VTGate at host:port" */
	const char *advice; /* ends one: what to check where it cannot be reached */
	const char *host;
	unsigned port;
	const char *user;	   /* NULL: from the option file, or none */
	const char *password_file; /* its first line; others may not read it; NULL: none */
	const char *option_file;   /* group [client] of the client library; others may not read it */
	const char *database;	   /* NULL: none */
	const char *ssl_ca, *ssl_cert, *ssl_key; /* NULL: not set */
	bool ssl_required;  /* as with ssl_ca: TLS or nothing, and the certificate must carry the host's name
			     */
	int64_t timeout_ms; /* of connecting, of each read and each write; counted in whole seconds */
};

/**
 * connection_open() - connect and log in
 *
 * The password file is read anew each time. What the option file sets wins over what is set here,
 * except that a connection that must be encrypted is refused if it is not.
 *
 * Return: 0; negative with ERROR_CONFIG (a file), ERROR_AUTH (refused, or the certificate is wrong) or
 * ERROR_UNAVAILABLE.
 */
int must_check connection_open(const struct connection_config *config, struct connection **ret,
			       struct error *reterr);
/** connection_close() - returns NULL; NULL is fine. What was not committed is rolled back */
struct connection *connection_close(struct connection *connection);

/** connection_split_address() - "host:port", "host" or "[v6]:port"; @ret_port 0: none given. False: no
 * address */
bool connection_split_address(const char *address, char ret_host[HOST_MAX + 1], unsigned *ret_port);

/** connection_host_is_loopback() - "localhost" or an address that does not leave this host */
bool connection_host_is_loopback(const char *host);

/** connection_is_lost() - it broke, or the server ended it: every further call fails */
bool connection_is_lost(const struct connection *connection);

/** connection_is_vtgate() - the server is VTGate, whose settings are not those of one MySQL */
bool connection_is_vtgate(const struct connection *connection);

/** connection_server() - the server's version, as it says itself: text of a peer */
const char *connection_server(const struct connection *connection);

/* ---- Statements ---- */

enum sql_kind {
	SQL_NULL,
	SQL_I64,
	SQL_TEXT,  /* a name that keeps a grammar of ASCII */
	SQL_BYTES, /* any bytes but NUL */
};

/* A value to be bound, or one of a row: there @name is NULL, and text is SQL_BYTES whatever the column. */
struct sql_value {
	const char *name;
	enum sql_kind kind;
	int64_t number;
	const char *text; /* NUL-terminated; of a row: until the next call */
	size_t length;	  /* of a row: without the NUL; a NUL within is possible */
};

static inline struct sql_value sql_i64(const char *name, int64_t number)
{
	return (struct sql_value){ .name = name, .kind = SQL_I64, .number = number };
}

static inline struct sql_value sql_text(const char *name, const char *text)
{
	return (struct sql_value){ .name = name, .kind = text ? SQL_TEXT : SQL_NULL, .text = text };
}

static inline struct sql_value sql_bytes(const char *name, const char *text)
{
	return (struct sql_value){ .name = name, .kind = text ? SQL_BYTES : SQL_NULL, .text = text };
}

/* Above what connection_next() returns for a row: a lock may be refused only there. */
#define CONNECTION_DUPLICATE 11 /* a unique index refused the row; the statement did nothing */
#define CONNECTION_LOCKED 12	/* a row is locked by another transaction: waited in vain, or NOWAIT */
#define CONNECTION_DEADLOCK 13	/* the transaction was rolled back to break a deadlock */
#define CONNECTION_NO_TABLE 14

/**
 * connection_run() - prepare (once for a connection) and run one statement
 * @sql:	constant text; may hold ":name" for each of @values it uses
 *
 * Rows of the statement before it are dropped.
 *
 * Return: 0; an answer from above, @reterr untouched; negative with ERROR_UNAVAILABLE (lost) or
 * ERROR_PROTOCOL (refused), error.detail is the server's number.
 */
int must_check connection_run(struct connection *connection, const char *sql, const struct sql_value *values,
			      size_t count, struct error *reterr);

/** connection_do() - run a constant text without values or rows that cannot be prepared everywhere:
 * START TRANSACTION, SAVEPOINT, SET, CREATE TABLE. Returns as connection_run() */
int must_check connection_do(struct connection *connection, const char *sql, struct error *reterr);

/** connection_next() - step to the next row. Return: 1; 0 there is none; else as connection_run() */
int must_check connection_next(struct connection *connection, struct error *reterr);

/** connection_column() - a value of the row that connection_next() stepped to */
const struct sql_value *connection_column(const struct connection *connection, unsigned column);

/** connection_changed() - how many rows the last connection_run() changed */
int64_t connection_changed(const struct connection *connection);

/** connection_insert_id() - the AUTO_INCREMENT value that the last connection_run() made */
int64_t connection_insert_id(const struct connection *connection);
