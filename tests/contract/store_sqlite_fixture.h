#pragma once
/*
 * store_sqlite_fixture: a folder with a store in it that a test may spoil, and other processes.
 */
#include "store_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "sqlite.h"

static char *folder, path[256], url[300];
static struct arena arena;
static struct change_shard shards[2];
static char holder[ACTOR_MAX + 1] __attribute__((unused)); /* most tests of the file need no lease */

static inline int setup(void **state)
{
	(void)state;
	folder = fixture_folder();
	snprintf(path, sizeof(path), "%s/store.db", folder);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	arena_init(&arena, 0);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	fixture_folder_remove(folder);
	return 0;
}

static inline struct store *open_store(void)
{
	struct store *store = NULL;

	assert_ok(open_at(url, false, &store, err));
	return store;
}

static inline void make_store(void)
{
	store_close(open_store());
}

/* Runs @sql on the file as another program would. */
static inline void run_sql(const char *sql)
{
	char *message = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, sql, NULL, NULL, &message);
	if (message)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

/* @body in another process; returns how it ended, as waitpid() says. */
static inline int run_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* In a child no assertion of cmocka may be used: it would jump into the parent's tests. */
#define CHILD_MUST(condition)                                                                                \
	do {                                                                                                 \
		if (!(condition)) {                                                                          \
			print_error("%s:%d: child: %s\n", __FILE__, __LINE__, #condition);                   \
			_exit(1);                                                                            \
		}                                                                                            \
	} while (0)

#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
