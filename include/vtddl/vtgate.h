#pragma once
/*
 * vtgate: a small client of VTGate's MySQL protocol, for the proof at the end. Read only.
 *
 * Calls block; the loop makes them on a thread of their own. LOCAL INFILE is off; TLS checks
 * identity; the password comes from a file.
 */
#include "vtddl/arena.h"
#include "vtddl/error.h"

struct vtgate;

struct vtgate_config {
	const char *address;			 /* host:port */
	const char *user;			 /* NULL: none */
	const char *password_file;		 /* NULL: none */
	const char *ssl_ca, *ssl_cert, *ssl_key; /* NULL: not set; with ssl_ca the name is checked */
	const char *keyspace;
	int64_t timeout_ms; /* of connecting and of each statement */
};

int must_check vtgate_open(const struct vtgate_config *config, struct vtgate **ret, struct error *reterr);
struct vtgate *vtgate_close(struct vtgate *vtgate);

/**
 * vtgate_definition() - SHOW CREATE TABLE through VTGate
 * @ret:	text in @arena; "" where VTGate does not know the table
 */
int must_check vtgate_definition(struct vtgate *vtgate, const char *table, struct arena *arena,
				 const char **ret, struct error *reterr);

/**
 * vtgate_columns() - names of the columns VTGate itself serves, "a,b,c", from `select * from t where 1 != 1`
 *
 * SHOW CREATE TABLE is answered by one shard; this one is planned by VTGate's own schema.
 */
int must_check vtgate_columns(struct vtgate *vtgate, const char *table, struct arena *arena, const char **ret,
			      struct error *reterr);

/**
 * vtgate_probe() - run one user's query
 * @sql:	one SELECT (vtgate_probe_is_select())
 * @ret_us:	how long it took, microseconds
 *
 * Return: 0; negative with ERROR_UNAVAILABLE or ERROR_PROTOCOL.
 */
int must_check vtgate_probe(struct vtgate *vtgate, const char *sql, int64_t *ret_us, struct error *reterr);

/** vtgate_probe_check() - refuse anything but one SELECT. Negative with ERROR_INPUT */
int must_check vtgate_probe_check(const char *sql, struct error *reterr);
