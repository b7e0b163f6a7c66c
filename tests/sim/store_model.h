#pragma once
/*
 * store_model: a store in memory that behaves as the MySQL store does, on a clock that the test owns.
 *
 *	model = store_model_new("a", now, test);	one database
 *	store_model_open(model, false, &store);		one handle for each controller
 *	... store_lease(), store_write(), ... of vtddl/store.h ...
 *	store_model_free(store_model_find("a"));	after every handle was closed
 *
 * Leases have an end that only this clock judges; several handles share what is written. What a test may
 * do to it: a call that fails before or after it took effect, an outage, a server that takes no writes, a
 * fail-over to a replica that lags behind, a clock that is set. The contract suite runs on it.
 */
#include "vtddl/store.h"

struct store_model;

/** store_model_new() - an empty database
 * @now_ms:	its clock; NULL: this machine's monotonic one */
struct store_model *store_model_new(const char *name, int64_t (*now_ms)(void *user), void *user);
struct store_model *store_model_free(struct store_model *model);
/** store_model_find() - by name; NULL: there is none */
struct store_model *store_model_find(const char *name);

/** store_model_open() - a connection to it; closed with store_close(), which releases no lease */
void store_model_open(struct store_model *model, bool read_only, struct store **ret);

/** store_model_open_url() - store_open() for "model:NAME"; makes that database if it must */
int must_check store_model_open_url(const struct store_config *config, struct store **ret,
				    struct error *reterr);
/** store_model_of_url() - the database of "model:NAME"; NULL: there is none */
struct store_model *store_model_of_url(const char *url);

/* ---- Faults. ---- */

enum store_model_when {
	STORE_MODEL_BEFORE, /* the call does nothing and fails */
	STORE_MODEL_AFTER,  /* it does everything and fails: whether it committed is not known */
};
/** store_model_fail() - the @nth call (1: the next) of this handle fails, and @times - 1 more behind it */
void store_model_fail(struct store *store, unsigned nth, unsigned times, enum store_model_when when);

/** store_model_failed() - how many calls did, by store_model_fail() */
unsigned store_model_failed(const struct store_model *model, enum store_model_when when);

enum store_model_state {
	STORE_MODEL_UP,
	STORE_MODEL_DOWN,      /* every call of every handle fails */
	STORE_MODEL_READ_ONLY, /* every write and every lease fails: MySQL's 1290 */
};
void store_model_set(struct store_model *model, enum store_model_state state);

/** store_model_snapshot() - what a replica that stops here has. Only the last one is kept */
void store_model_snapshot(struct store_model *model);
/** store_model_fail_over() - that replica is the database from now on */
void store_model_fail_over(struct store_model *model);

/** store_model_set_clock() - its clock jumps by @by_ms */
void store_model_set_clock(struct store_model *model, int64_t by_ms);

/** store_model_expire() - the lease of a scope ended a moment ago */
void store_model_expire(struct store_model *model, const char *scope);

/* ---- What a test may look at. ---- */

int64_t store_model_now(const struct store_model *model);

struct store_model_lease {
	char owner[ACTOR_MAX + 1]; /* "": released */
	int64_t epoch, ends_ms;	   /* by its clock */
};
/** store_model_lease() - the row of a scope; false: it was never taken */
bool store_model_lease(const struct store_model *model, const char *scope, struct store_model_lease *ret);

/** store_model_change() - a record as it is stored; NULL: none. Lives until it is written again */
const struct change *store_model_change(const struct store_model *model, const char *cluster,
					const char *uuid);

/** store_model_moved_from() - the phase out of which its last write said that it was made */
enum phase store_model_moved_from(const struct store_model *model, const char *cluster, const char *uuid);

/* Called whenever something took effect, told to the caller or not. */
struct store_model_watch {
	/* @before: NULL, it was inserted; its shards are gone */
	void (*on_write)(void *user, struct store *store, const struct change *before, const struct change *after);
	/* a lease was asked for, or (@result 0, @lease->holder "") released */
	void (*on_lease)(void *user, struct store *store, const char *scope, int result);
	void *user;
};
void store_model_observe(struct store_model *model, const struct store_model_watch *watch);
