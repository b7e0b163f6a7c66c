#include "mysql_private.h"

#include <stdio.h>

#include "store_sql.h"

static int counts_read(struct mystore *store, int64_t counts[4], struct error *reterr)
{
	int result = mystore_begin(store, MYSTORE_READ, reterr);

	if (result == 0)
		result = mystore_run(store, sql_mysql_counts, NULL, reterr);
	if (result == 0)
		result = mystore_next(store, reterr);
	for (unsigned i = 0; i < 4 && result == 1; i++)
		counts[i] = mystore_number(store, i);
	result = result == 1 ? 0 : result;
	mystore_rollback(store);
	return result > 0 ? mystore_busy_fail(store, result, reterr) : result;
}

int mystore_check(struct store *base, char *ret, struct error *reterr)
{
	struct mystore *store = mystore_of(base);
	int64_t counts[4] = { 0 };
	/* A new connection looks at the settings of the server again. */
	int result = mystore_connect(store, reterr);

	if (result == 0)
		result = mystore_tables_compare(store, reterr);
	if (result == 0)
		result = counts_read(store, counts, reterr);
	if (result < 0)
		return result;
	if (counts[2] || counts[3])
		return error_set(
			reterr, ERROR_STORE,
			"%s is damaged: %lld changes lack shards, %lld lack their history; put back a "
			"backup (docs/store-mysql.md)",
			store->name, (long long)counts[2], (long long)counts[3]);
	snprintf(ret, REASON_MAX, "%s is whole: %lld changes, %lld of them hold a table; server %.60s%s",
		 store->name, (long long)counts[0], (long long)counts[1],
		 connection_server(store->connection),
		 store->notes[0]    ? store->notes
		 : store->read_only ? ""
				    : ", whose commits are durable");
	return 0;
}

const struct store_ops store_mysql_ops = {
	.scheme = "mysql",
	.open = mystore_open,
	.write = mystore_write,
	.list = mystore_list,
	.history = mystore_history,
	.live = mystore_live,
	.lease = mystore_lease,
	.release = mystore_release,
	.check = mystore_check,
	.close = mystore_close,
};
