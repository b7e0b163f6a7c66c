#pragma once
/*
 * store_worker: the store on a thread of its own, because its calls block.
 *
 *	store_worker_give()  -->  asked  -->  the thread  -->  answered  -->  store_worker_take()
 *
 * Requests are carried out in the order in which they were given. Writes that follow each other
 * are one transaction (group commit): what is there when the thread comes for it, and nothing is
 * waited for.
 *
 * The thread writes into memory of its own; store_worker_take() hands it to the request's arena on the
 * caller's thread. So no arena is ever used by two threads. A request's change is the thread's
 * until the reply was taken.
 */
#include "vtddl/engine.h"
#include "vtddl/store.h"

#define STORE_BATCH_MAX 256 /* writes of one transaction */

struct store_worker_config {
	struct store *store;	  /* used by the thread alone, from now until store_worker_free() */
	const char *cluster;	  /* whose live changes; lives as long as the worker, as does all else here */
	const char *owner;	  /* of leases */
	const char *actor;	  /* for the first line of a history */
	void (*wake)(void *user); /* called from the thread when something was answered */
	void *user;
};

struct store_worker;

/** store_worker_new() - never fails: where no thread can be started, store_worker_give() makes the calls */
struct store_worker *store_worker_new(const struct store_worker_config *config);

/** store_worker_give() - one request, REQUEST_STORE_*; its texts are copied, its change is not */
void store_worker_give(struct store_worker *worker, const struct request *request);

/** store_worker_take() - the next answer. False: there is none now */
bool store_worker_take(struct store_worker *worker, struct reply *ret);

/** store_worker_free() - waits for the call under way, which the store bounds, and drops what was not begun.
 * Returns NULL; NULL is fine */
struct store_worker *store_worker_free(struct store_worker *worker);
