#pragma once
/*
 * store_mysql_fixture: for each test a database of its own on a server that a test may stop, kill and spoil;
 * every claim is made once for MariaDB and once for MySQL.
 */
#include "mysql_private.h"
#include "store_mysql_backend.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "vtddl/clock.h"

#define OWNER "host:1:a"
#define OTHER "host:2:b"

static char url[300], *database;
static struct arena arena;
static struct change_shard shards[2];
static char holder[ACTOR_MAX + 1];
static int64_t epoch;

static inline int setup(void **state)
{
	(void)state;
	mysql_url_new(url, sizeof(url), &database);
	arena_init(&arena, 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	mysqld_mend(mysql_server);
	mysql_place_remove(database);
	return 0;
}

static inline void admin(const char *sql)
{
	mysqld_run(mysql_server, database, sql);
}

static inline long long number(const char *sql)
{
	return mysqld_number(mysql_server, database, sql);
}

static inline struct store *open_store(void)
{
	struct store *store = NULL;

	assert_ok(open_at(url, false, &store, err));
	return store;
}

/* With a lease on SCOPE under `epoch`. */
static inline struct store *open_leader(void)
{
	struct store *store = open_store();

	assert_ok(lease_at(store, SCOPE, OWNER, &epoch, holder, err));
	return store;
}

static inline struct connection *connection_of(struct store *store)
{
	return mystore_of(store)->connection;
}

static inline struct change change_of(unsigned index, const char *table)
{
	struct change change = fixture_change(index, table, 1, shards);

	change.epoch = epoch;
	return change;
}

static inline int move(struct store *store, struct change *change, enum phase to, struct error *err)
{
	const struct store_expect expect = { change->phase, change->revision, epoch, 0 };
	const struct history_entry entry = { .actor = "engine", .from = change->phase, .to = to };
	struct change next = *change;
	int result;

	next.phase = to;
	result = store_update(store, &next, &expect, &entry, err);
	if (result == 0)
		*change = next;
	return result;
}

static inline struct change load(struct store *store, const char *uuid)
{
	struct change change = { 0 };

	assert_ok(store_load(store, CLUSTER, uuid, &arena, &change, err));
	return change;
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* @body in another process; in it no assertion of cmocka may be used. */
static inline pid_t begin_child(void (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	return pid;
}

static inline int end_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define CHILD_MUST(condition)                                                                                \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			print_error("%s:%d: child: %s\n", __FILE__, __LINE__, #condition);                   \
			_exit(1);                                                                            \
		}                                                                                            \
	} while (0)

#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define run_on_every_server(tests) run_tests_on_every_server(tests, sizeof(tests) / sizeof((tests)[0]))
static inline int run_tests_on_every_server(const struct CMUnitTest *tests, size_t count)
{
	static const char *const flavors[] = { "mariadb", "mysql" };
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		if (!mysql_start(flavors[i])) {
			print_message("%s: not there, left out\n", flavors[i]);
			continue;
		}
		failed += _cmocka_run_group_tests(flavors[i], tests, count, NULL, NULL);
	}
	return failed;
}
