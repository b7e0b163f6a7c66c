#pragma once
/*
 * store_mysql_backend: the store on a real MariaDB and a real MySQL, as backends of the one suite. A server
 * is started for a test program when it comes to it, and every test has a database of its own.
 *
 * And behind VTGate, where CONTRACT_VTGATE="HOST:PORT/KEYSPACE" names an unsharded keyspace: its tables ddl_*
 * are dropped for each test.
 */
#include "mysqld.h"
#include "store_fixture.h"
#include "vtddl/mysql.h"

static struct mysqld *mysql_server;
static const char *mysql_flavor;

static inline bool mysql_start(const char *flavor)
{
	mysql_server = mysqld_free(mysql_server);
	if (!mysqld_is_there(flavor))
		return false;
	mysql_flavor = flavor;
	mysql_server = mysqld_start(flavor, NULL);
	return true;
}

static inline bool mariadb_is_there(void)
{
	return mysql_start("mariadb");
}

static inline bool mysql_is_there(void)
{
	return mysql_start("mysql");
}

static inline void mysql_url_new(char *ret, size_t size, char **ret_place)
{
	static unsigned count;
	char sql[64];

	assert_true(asprintf(ret_place, "t%u", ++count) > 0);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", *ret_place);
	mysqld_run(mysql_server, NULL, sql);
	snprintf(ret, size, "mysql://vtddl@127.0.0.1:%u/%s", mysqld_port(mysql_server), *ret_place);
}

static inline void mysql_place_remove(char *place)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "DROP DATABASE %s", place);
	mysqld_run(mysql_server, NULL, sql);
	free(place);
}

static inline const char *mysql_database(const char *url)
{
	return strrchr(url, '/') + 1;
}

static inline void mysql_expire_lease(const char *url, const char *scope)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "UPDATE ddl_lock SET expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE scope = '%s'",
		 scope);
	mysqld_run(mysql_server, mysql_database(url), sql);
}

/* ---- Behind VTGate ---- */

static inline bool vtgate_is_there(void)
{
	return getenv("CONTRACT_VTGATE") != NULL;
}

static inline void vtgate_run(const char *sql)
{
	char address[200], host[HOST_MAX + 1];
	struct connection_config config = { .name = "VTGate",
					    .advice = "see CONTRACT_VTGATE",
					    .host = host,
					    .user = "vtddl",
					    .timeout_ms = 60000 };
	struct connection *connection = NULL;
	char *slash;

	snprintf(address, sizeof(address), "%s", getenv("CONTRACT_VTGATE"));
	slash = strchr(address, '/');
	assert_non_null(slash);
	*slash = '\0';
	config.database = slash + 1;
	assert_true(connection_split_address(address, host, &config.port));
	assert_ok(connection_open(&config, &connection, err));
	assert_ok(connection_do(connection, sql, err));
	connection_close(connection);
}

static inline void vtgate_url_new(char *ret, size_t size, char **ret_place)
{
	static const char *const tables[] = { "ddl_store", "ddl_pipeline", "ddl_pipeline_shard",
					      "ddl_history", "ddl_lock" };
	char sql[64];

	for (size_t i = 0; i < 5; i++) {
		snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS %s", tables[i]);
		vtgate_run(sql);
	}
	*ret_place = NULL;
	snprintf(ret, size, "mysql://vtddl@%s", getenv("CONTRACT_VTGATE"));
}

static inline void vtgate_place_remove(char *place)
{
	(void)place;
}

static inline void vtgate_expire_lease(const char *url, const char *scope)
{
	char sql[256];

	(void)url;
	snprintf(sql, sizeof(sql),
		 "UPDATE ddl_lock SET expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND WHERE scope = '%s'",
		 scope);
	vtgate_run(sql);
}

#define VTGATE_BACKEND()                                                                                     \
	{                                                                                                    \
		.name = "vtgate", .is_there = vtgate_is_there, .url_new = vtgate_url_new,                    \
		.place_remove = vtgate_place_remove, .open = store_open,                                     \
		.expire_lease = vtgate_expire_lease, .well = "whole"                                         \
	}

#define MYSQL_BACKEND(flavor)                                                                                \
	{                                                                                                    \
		.name = #flavor, .is_there = flavor##_is_there, .url_new = mysql_url_new,                    \
		.place_remove = mysql_place_remove, .open = store_open, .expire_lease = mysql_expire_lease,  \
		.well = "whole"                                                                              \
	}
