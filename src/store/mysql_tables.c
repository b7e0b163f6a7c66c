#include "mysql_private.h"

#include <strings.h>

#include "store_sql.h"

/*
 * MySQL cannot make several tables in one transaction. The table ddl_store is made first and its row is
 * written last, and every step may be repeated: whoever finds a store half made finishes it, two at once
 * included. Tables of our names without ddl_store are another program's, and are left as they are.
 */

#define APPLICATION "vtddl"

static const char *const tables[] = {
	sql_mysql_table_store,	 sql_mysql_table_pipeline, sql_mysql_table_shard,
	sql_mysql_table_history, sql_mysql_table_lock,
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Whose the tables are ---- */

static int foreign_fail(const struct mystore *store, const char *what, struct error *reterr)
{
	return error_set(
		reterr, ERROR_STORE,
		"%s cannot be used: %s; name another database with --store, this one was left as it is",
		store->name, what);
}

static int identity_compare(const struct mystore *store, struct error *reterr)
{
	long long version = (long long)mystore_number(store, 1);

	if (strcmp(mystore_string(store, 0), APPLICATION) != 0)
		return foreign_fail(store, "its table ddl_store is another program's", reterr);
	if (version > MYSTORE_VERSION)
		return error_set(
			reterr, ERROR_STORE,
			"%s cannot be used: a newer vtddl made it (version %lld, this one knows %d); use "
			"the newer vtddl, the tables were left as they are",
			store->name, version, MYSTORE_VERSION);
	if (version < MYSTORE_VERSION)
		return error_set(
			reterr, ERROR_STORE,
			"%s cannot be used: it was changed by hand (version %lld); put back a backup "
			"(docs/store-mysql.md), the tables were left as they are",
			store->name, version);
	return 0;
}

/* Return: 1, ours; 0, it is not finished; an answer; negative. */
static int identity_read(struct mystore *store, struct error *reterr)
{
	struct error err = { 0 };
	int result = mystore_run(store, sql_mysql_identity, NULL, &err);

	if (result == 0)
		result = mystore_next(store, &err);
	if (result < 0 && err.detail == 1054) /* unknown column */
		return foreign_fail(store, "its table ddl_store is another program's", reterr);
	if (result < 0 && reterr)
		*reterr = err;
	if (result == 1)
		result = identity_compare(store, reterr) < 0 ? -1 : 1;
	return result;
}

/* Return: 1, there is a table ddl_store; 0, there is none; negative, also where there are others of our
 * names. */
static int tables_look(struct mystore *store, struct error *reterr)
{
	int64_t count = 0;

	/* Twice, for another process may be making them just now, and ddl_store is the first. */
	for (int i = 0; i < 2; i++) {
		int result = mystore_run(store, sql_mysql_tables, NULL, reterr);

		if (result == 0)
			result = mystore_next(store, reterr);
		if (result != 1)
			return result < 0 ? result : mystore_busy_fail(store, result, reterr);
		count = mystore_number(store, 0);
		if (mystore_number(store, 1) > 0 || count == 0)
			return count > 0;
	}
	return foreign_fail(store, "it has tables ddl_* that another program made", reterr);
}

/* ---- Making ---- */

static int tables_make(struct mystore *store, struct error *reterr)
{
	struct mystore_values values = { 0 };
	int result = 0;

	mystore_add(&values, sql_text("application", APPLICATION));
	mystore_add(&values, sql_i64("version", MYSTORE_VERSION));
	for (size_t i = 0; i < COUNT(tables) && result == 0; i++)
		result = mystore_do(store, tables[i], reterr);
	if (result == 0)
		result = mystore_run(store, sql_mysql_identity_set, &values, reterr);
	return result > 0 ? mystore_busy_fail(store, result, reterr) : result;
}

int mystore_tables_prepare(struct mystore *store, struct error *reterr)
{
	int result = tables_look(store, reterr);

	if (result == 1)
		result = identity_read(store, reterr);
	if (result == 0 && store->read_only)
		return STORE_NOT_FOUND;
	if (result == 0) {
		result = tables_make(store, reterr);
		if (result == 0)
			result = identity_read(store, reterr);
		if (result == 0)
			return foreign_fail(store, "the row of its table ddl_store is gone again", reterr);
	}
	if (result > 1)
		return mystore_busy_fail(store, result, reterr);
	return result == 1 ? 0 : result;
}

/* ---- What must be there ---- */

/* Unique indexes are second lines of defence (I7, I15), and only InnoDB has transactions. */
static const struct {
	const char *table, *index, *column;
} needed_objects[] = {
	{ "ddl_pipeline", "ddl_pipeline_context", "cluster" },
	{ "ddl_pipeline", "ddl_pipeline_context", "context" },
	{ "ddl_pipeline", "ddl_pipeline_uuid", "cluster" },
	{ "ddl_pipeline", "ddl_pipeline_uuid", "uuid" },
	{ "ddl_pipeline", "ddl_pipeline_holds_table", "cluster" },
	{ "ddl_pipeline", "ddl_pipeline_holds_table", "keyspace_name" },
	{ "ddl_pipeline", "ddl_pipeline_holds_table", "table_name" },
	{ "ddl_pipeline", "ddl_pipeline_holds_table", "holds_table" },
	{ "ddl_pipeline_shard", "PRIMARY", "change_id" },
	{ "ddl_pipeline_shard", "PRIMARY", "name" },
	{ "ddl_lock", "PRIMARY", "scope" },
	{ "ddl_store", "engine", "InnoDB" },
	{ "ddl_pipeline", "engine", "InnoDB" },
	{ "ddl_pipeline_shard", "engine", "InnoDB" },
	{ "ddl_history", "engine", "InnoDB" },
	{ "ddl_lock", "engine", "InnoDB" },
};

static bool is_object(const struct mystore *store, size_t i)
{
	return strcasecmp(mystore_string(store, 0), needed_objects[i].table) == 0 &&
	       strcasecmp(mystore_string(store, 1), needed_objects[i].index) == 0 &&
	       strcasecmp(mystore_string(store, 2), needed_objects[i].column) == 0;
}

int mystore_tables_compare(struct mystore *store, struct error *reterr)
{
	bool found[COUNT(needed_objects)] = { false };
	size_t unique = 0;
	int result = mystore_run(store, sql_mysql_objects, NULL, reterr);

	while (result == 0 && (result = mystore_next(store, reterr)) == 1) {
		result = 0;
		/* An index over one more column refuses less. */
		if (strcasecmp(mystore_string(store, 1), "ddl_pipeline_holds_table") == 0)
			unique++;
		for (size_t i = 0; i < COUNT(needed_objects); i++)
			found[i] = found[i] || is_object(store, i);
	}
	if (result != 0)
		return result > 0 ? mystore_busy_fail(store, result, reterr) : result;
	for (size_t i = 0; i < COUNT(needed_objects); i++)
		if (!found[i] || unique != 4)
			return error_set(
				reterr, ERROR_STORE,
				"%s cannot be used: its table %s lacks the %s %s that vtddl made; put back "
				"a backup (docs/store-mysql.md), the tables were left as they are",
				store->name, found[i] ? "ddl_pipeline" : needed_objects[i].table,
				strcmp(needed_objects[i].index, "engine") == 0 ? "engine" : "unique index",
				found[i]					 ? "ddl_pipeline_holds_table"
				: strcmp(needed_objects[i].index, "engine") == 0 ? "InnoDB"
										 : needed_objects[i].index);
	return 0;
}
