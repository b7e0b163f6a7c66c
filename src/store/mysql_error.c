#include "mysql_private.h"

#include <stdio.h>

/* What a number of the server means to the one who has to do something about it. */
static const struct {
	int number;
	const char *advice;
} advices[] = {
	{ 1290, "the server is read-only, as a replica is and a primary during a fail-over: wait for the "
		"fail-over to end, or name the primary with --store" },
	{ 1836, "the server is read-only, as a replica is and a primary during a fail-over: wait for the "
		"fail-over to end, or name the primary with --store" },
	{ 1021, "the server's disk is full: make room there; nothing was half-written" },
	{ 1026, "the server cannot write to its disk: look into its error log" },
	{ 1114, "the server's disk is full: make room there; nothing was half-written" },
	{ 3, "the server cannot write to its disk: look into its error log" },
	{ 1044, "grant this user the rights that docs/store-mysql.md lists" },
	{ 1142, "grant this user the rights that docs/store-mysql.md lists" },
	{ 1143, "grant this user the rights that docs/store-mysql.md lists" },
	{ 1040, "the server has no connection left: raise its max_connections" },
	{ 1049, "make the database first" },
	{ 1153, "raise max_allowed_packet of the server" },
	{ 1461, "raise max_prepared_stmt_count of the server" },
	{ 3819, "the tables refuse what was written, which is a bug of vtddl" },
	{ 4025, "the tables refuse what was written, which is a bug of vtddl" },
	{ 1054, "the tables are not those that vtddl made: put back a backup (docs/store-mysql.md)" },
	{ 1146, "the tables are not those that vtddl made: put back a backup (docs/store-mysql.md)" },
};

static const char *advice_of(const struct error *err)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (advices[i].number == err->detail)
			return advices[i].advice;
	return err->code == ERROR_UNAVAILABLE
		       ? "check that the server runs and can be reached, then run the same command again"
		       : "look into the server's error log";
}

int mystore_fail(struct mystore *store, struct error *err, struct error *reterr)
{
	enum error_code code =
		err->code == ERROR_UNAVAILABLE || err->code == ERROR_PROTOCOL ? ERROR_STORE : err->code;

	if (store->connection && connection_is_lost(store->connection))
		mystore_disconnect(store);
	return error_set_detail(reterr, code, err->detail, "%s; %s", err->text, advice_of(err));
}

int mystore_busy_fail(const struct mystore *store, int answer, struct error *reterr)
{
	if (answer == CONNECTION_NO_TABLE)
		return error_set(reterr, ERROR_STORE,
				 "%s lacks a table that vtddl made; put back a backup (docs/store-mysql.md)",
				 store->name);
	if (answer == CONNECTION_DUPLICATE)
		return error_set(reterr, ERROR_BUG, "%s has a row already that is written only once",
				 store->name);
	return error_set(
		reterr, ERROR_STORE,
		"%s was kept from an answer by locks of others (%s); nothing was written, run the same "
		"command again",
		store->name, answer == CONNECTION_LOCKED ? "a row stayed locked" : "a deadlock");
}
