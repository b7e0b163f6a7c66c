#include "mysql_private.h"

#include <stdio.h>
#include <strings.h>

#include "store_sql.h"

/* ---- Settings of the server ---- */

/* What keeps a commit once it was confirmed (C22). Looked at on each connection: behind a name there may be
 * another server after a fail-over. */
static const struct {
	const char *variable;
	const char *good[5]; /* empty: all but the bad */
	const char *bad[3];
	bool of_binlog; /* matters only where there is one */
	const char *cure;
} needed_settings[] = {
	{ .variable = "innodb_flush_log_at_trx_commit",
	  .good = { "1", "3" }, /* 3: MariaDB's 1 with the group commit of old */
	  .cure = "a crash of the server would lose what it confirmed: set it to 1" },
	{ .variable = "sync_binlog",
	  .good = { "1" },
	  .of_binlog = true,
	  .cure = "a crash of the server would lose what it confirmed: set it to 1" },
	{ .variable = "innodb_doublewrite",
	  .good = { "ON", "1", "TRUE", "DETECT_AND_RECOVER" },
	  .cure = "a power cut could tear a page beyond repair: set it to ON" },
	{ .variable = "innodb_flush_method",
	  .bad = { "nosync", "littlesync" },
	  .cure = "a power cut would lose what the server confirmed: set it to fsync or O_DIRECT" },
	{ .variable = "read_only",
	  .good = { "OFF", "0" },
	  .cure = "it is a replica, or a fail-over is under way: wait for its end, or name the primary with "
		  "--store" },
	{ .variable = "super_read_only",
	  .good = { "OFF", "0" },
	  .cure = "it is a replica, or a fail-over is under way: wait for its end, or name the primary with "
		  "--store" },
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_one_of(const char *value, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count && list[i]; i++)
		if (strcasecmp(value, list[i]) == 0)
			return true;
	return false;
}

static int setting_check(const struct mystore *store, size_t i, const char *value, struct error *reterr)
{
	bool good = needed_settings[i].good[0]
			    ? is_one_of(value, needed_settings[i].good, COUNT(needed_settings[i].good))
			    : !is_one_of(value, needed_settings[i].bad, COUNT(needed_settings[i].bad));

	if (good)
		return 0;
	return error_set(reterr, ERROR_STORE, "%s cannot be used, for its server has %s = %.40s; %s",
			 store->name, needed_settings[i].variable, value, needed_settings[i].cure);
}

static int settings_read(struct mystore *store, char values[COUNT(needed_settings)][64], bool *ret_binlog,
			 struct error *reterr)
{
	int result = mystore_run(store, sql_mysql_settings, NULL, reterr);

	while (result == 0 && (result = mystore_next(store, reterr)) == 1) {
		result = 0;
		if (strcasecmp(mystore_string(store, 0), "log_bin") == 0)
			*ret_binlog = strcasecmp(mystore_string(store, 1), "OFF") != 0;
		for (size_t i = 0; i < COUNT(needed_settings); i++)
			if (strcasecmp(mystore_string(store, 0), needed_settings[i].variable) == 0)
				snprintf(values[i], 64, "%s", mystore_string(store, 1));
	}
	return result > 0 ? mystore_busy_fail(store, result, reterr) : result;
}

static int settings_check(struct mystore *store, struct error *reterr)
{
	char values[COUNT(needed_settings)][64] = { "" };
	bool binlog = false;
	int result = settings_read(store, values, &binlog, reterr);

	if (result == 0 && !values[0][0])
		return error_set(
			reterr, ERROR_STORE,
			"%s cannot be used, for its server does not tell how durable a commit is (%s)",
			store->name, needed_settings[0].variable);
	for (size_t i = 0; i < COUNT(needed_settings) && result == 0; i++)
		if (values[i][0] && (binlog || !needed_settings[i].of_binlog))
			result = setting_check(store, i, values[i], reterr);
	return result;
}

/* ---- Connecting ---- */

/*
 * Behind VTGate one statement may be answered by any tablet. An idle connection is ended by the server
 * before a lease of 30 s is over: else a process that was stopped in the middle of a transaction would keep
 * its row locked, and with it the keyspace, for eight hours.
 */
static const char *const session_statements[] = {
	"SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
	" innodb_lock_wait_timeout = 2, lock_wait_timeout = 5, wait_timeout = 20, time_zone = '+00:00'",
	"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
};

void mystore_disconnect(struct mystore *store)
{
	store->connection = connection_close(store->connection);
}

static int session_prepare(struct mystore *store, struct error *reterr)
{
	int result = 0;

	for (size_t i = 0; i < COUNT(session_statements) && result == 0; i++)
		result = mystore_do(store, session_statements[i], reterr);
	if (result > 0)
		return mystore_busy_fail(store, result, reterr);
	if (result < 0)
		return result;
	store->notes[0] = '\0';
	if (!connection_is_vtgate(store->connection))
		return store->read_only ? 0 : settings_check(store, reterr);
	snprintf(store->notes, sizeof(store->notes),
		 "; behind VTGate its settings could not be checked: innodb_flush_log_at_trx_commit and "
		 "sync_binlog must be 1 on every tablet, with semi-synchronous replication");
	return 0;
}

int mystore_connect(struct mystore *store, struct error *reterr)
{
	struct error err = { 0 };
	int result;

	mystore_disconnect(store);
	if (connection_open(&store->config, &store->connection, &err) < 0) {
		if (err.code == ERROR_UNAVAILABLE)
			err.code = ERROR_STORE;
		if (reterr)
			*reterr = err;
		return -1;
	}
	result = session_prepare(store, reterr);
	if (result < 0)
		mystore_disconnect(store);
	return result;
}

/* ---- Opening ---- */

static const char *keep(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		abort();
	return copy;
}

static void drop(const char *text)
{
	free((char *)text);
}

static struct mystore *store_new(const struct store_config *config, const struct mystore_url *url)
{
	struct mystore *store = calloc(1, sizeof(*store));
	bool v6 = strchr(url->host, ':') != NULL;

	if (!store ||
	    asprintf(&store->name, "The store mysql://%s%s%s%s%s:%u/%s", url->user, url->user[0] ? "@" : "",
		     v6 ? "[" : "", url->host, v6 ? "]" : "", url->port, url->database) < 0)
		abort();
	store->read_only = config->read_only;
	store->config = (struct connection_config){
		.name = store->name,
		.advice = "check --store, its user, password file and TLS files, and that the server runs",
		.host = keep(url->host),
		.port = url->port,
		.user = keep(url->user[0] ? url->user : NULL),
		.password_file = keep(config->password_file),
		.option_file = keep(config->option_file),
		.database = keep(url->database),
		.ssl_ca = keep(config->ssl_ca),
		.ssl_cert = keep(config->ssl_cert),
		.ssl_key = keep(config->ssl_key),
		.ssl_required = !config->ssl_off && !connection_host_is_loopback(url->host),
		.timeout_ms = config->timeout_ms > 0 ? config->timeout_ms : MYSTORE_TIMEOUT_MS,
	};
	return store;
}

int mystore_open(const struct store_config *config, struct store **ret, struct error *reterr)
{
	struct mystore_url url;
	struct mystore *store;
	int result = mystore_url_parse(config->url, config->option_file != NULL, &url, reterr);

	if (result < 0)
		return result;
	store = store_new(config, &url);
	result = mystore_connect(store, reterr);
	if (result == 0)
		result = mystore_tables_prepare(store, reterr);
	if (result == 0)
		result = mystore_tables_compare(store, reterr);
	if (result != 0) {
		mystore_close(&store->base);
		return result;
	}
	*ret = &store->base;
	return 0;
}

void mystore_close(struct store *base)
{
	struct mystore *store = mystore_of(base);

	mystore_disconnect(store);
	mystore_leases_free(store);
	drop(store->config.host);
	drop(store->config.user);
	drop(store->config.password_file);
	drop(store->config.option_file);
	drop(store->config.database);
	drop(store->config.ssl_ca);
	drop(store->config.ssl_cert);
	drop(store->config.ssl_key);
	free(store->name);
	free(store);
}
