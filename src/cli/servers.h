#pragma once
/*
 * servers: which vtctld a keyspace has. One plain --server HOST:PORT is everybody's, and
 * --server KEYSPACE=HOST:PORT, any number of them, that of one keyspace or, where KEYSPACE ends in *, of all
 * whose name begins so.
 *
 * A source wins over the ones below it as a whole, flag over environment over file: a plain --server on the
 * command line is for every keyspace, whatever the file says about one. In one source the longest match wins.
 */
#include "options.h"

/** server_is_keyed() - whether @text is of the form KEYSPACE=HOST:PORT */
bool server_is_keyed(const char *text);

/** server_check() - the name in front of the "="; the address is the caller's. Return: 0; negative */
int must_check server_check(const char *text, struct error *reterr);

/** server_add() - @text was checked. Return: 0; negative, twice in one source, or too many */
int must_check server_add(struct options *options, const char *text, enum option_source source,
			  const char *where, struct error *reterr);

/** server_is_in_force() - no higher source says otherwise, for its keyspaces or for all */
bool server_is_in_force(const struct options *options, const struct server_option *entry);

/** server_of() - the address for a keyspace; NULL: of none, the plain one */
const char *server_of(const struct options *options, const char *keyspace);
