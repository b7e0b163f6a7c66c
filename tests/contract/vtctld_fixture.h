#pragma once
/*
 * vtctld_fixture: a connection to the vtctld under test, and what every test of the contract does with it.
 *
 * The server is a real vtctld or vtctldsim; nothing here knows which. CONTRACT_SERVER, CONTRACT_KEYSPACE
 * and CONTRACT_SHARDS say where it is. Tables, uuids and contexts are new in every test, so that the suite
 * can be repeated on a fleet with history; what a test began is cancelled and dropped when it ends.
 *
 * Times are upper bounds only, in real time: the simulator may run its clock faster, a real fleet may be
 * busy.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vtddl/vtctld.h"

#define HELD "vitess --postpone-completion --singleton-context"
#define HELD_BESIDE "vitess --postpone-completion" /* lets other contexts be pending, too */
#define ROUNDED_S                                                                                            \
	1 /* completed_at alone has a fraction, which is cut; the other times are rounded, also up */
#define COLUMNS "(id bigint primary key, note varchar(64))"

#define TEST(name) cmocka_unit_test_setup_teardown(name, contract_begin, contract_end)

/* The files of the suite, by topic. Return: how many tests failed. */
int contract_submit(void);
int contract_hold(void);
int contract_cancel(void);
int contract_read(void);
int contract_errors(void);

/** contract_open() - connect and read the topology; false: no CONTRACT_SERVER. Prints and exits 1 on trouble
 */
bool contract_open(void);
void contract_close(void);

/** contract_begin() - waits until nothing is pending in the keyspace */
int contract_begin(void **state);
/** contract_end() - cancels and drops what the test has made */
int contract_end(void **state);

/* ---- Names ---- */

const char *keyspace(void);
size_t shard_count(void);
const char *shard_name(size_t shard); /* sorted */
const struct topo_shard *shard_record(size_t shard);
struct arena *arena(void); /* until the end of the test */

/** text() - printf() into the arena */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *new_uuid(void);
const char *new_context(void);
const char *new_name(void);  /* of a table or view that does not exist */
const char *new_table(void); /* of COLUMNS, made directly */

/* ---- Calls ---- */

/** call() - one request and its reply; keyspace and a long timeout are filled in where they are not set */
struct vtctld_reply call(struct vtctld_request request);
struct vtctld_reply submit(const char *uuid, const char *context, const char *strategy, const char *sql);
struct vtctld_reply complete(const char *uuid);
struct vtctld_reply cancel(const char *uuid);

/** control() - ALTER VITESS_MIGRATION @verb for one shard only, as people do it with ApplySchema */
struct vtctld_reply control(const char *uuid, const char *verb, const char *shard);

/** hold() - submit() a new uuid as HELD, on every shard; its uuid */
const char *hold(const char *context, const char *sql);
/** run_direct() - the statement at once, without a migration */
void run_direct(const char *sql);

/* ---- Looking ---- */

/** rows() - one row for each shard, in the order of the shards; fails unless there is exactly one each */
const struct migration *rows(const char *uuid);
typedef bool row_is(const struct migration *row);
/** await_rows() - rows(), as soon as @is holds for all of them; fails after 90 s */
const struct migration *await_rows(const char *uuid, row_is *is);
const struct migration *await_first(const char *uuid, row_is *is);  /* of the first shard only */
const struct migration *await_others(const char *uuid, row_is *is); /* of all but the first */
void assert_no_row(const char *uuid);

/* Vitess writes the status a moment before the message: failed and cancelled ones have theirs. */
row_is is_held, is_ready, is_complete, is_failed, is_cancelled;

/** definition() - CREATE statement on one shard; NULL: there is no such table or view */
const char *definition(size_t shard, const char *table);
/** assert_defined() - on every shard, with @fragment in it (NULL: whatever it is) */
void assert_defined(const char *table, const char *fragment);
void assert_undefined(const char *table, const char *fragment); /* fragment NULL: there is no such table */

/* ---- Claims ---- */

/** assert_counts() - OK, and every shard says @rows */
void assert_counts(struct vtctld_reply reply, uint64_t rows);
/** assert_counts_on() - OK; the first shard says @first, the others @others */
void assert_counts_on(struct vtctld_reply reply, uint64_t first, uint64_t others);
/** assert_refused() - code 2 with @fragment in its text, and not known to be without effect */
void assert_refused(struct vtctld_reply reply, const char *fragment);
void assert_says(const char *text, const char *fragment);
/** assert_same_row() - all that a reader of migrations relies on; times within one second */
void assert_same_row(const struct migration *a, const struct migration *b);
