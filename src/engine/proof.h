#pragma once
/*
 * proof: asks VTGate on a thread of its own, because those calls block.
 *
 * The thread writes into memory of its own; proof_take() copies the answer into the caller's
 * arena on the caller's thread. So no arena is ever used by two threads.
 */
#include "vtddl/engine.h"
#include "vtddl/vtgate.h"

struct proof_config {
	const struct vtgate_config *vtgate; /* lives as long as the worker; its keyspace is ignored */
	const char *const *probes;	    /* so do these */
	size_t probe_count;
	void (*wake)(void *user); /* called from the thread when it is done */
	void *user;
};

struct proof_worker;

/** proof_start() - begin; never fails: what went wrong is in the proof */
struct proof_worker *proof_start(const struct proof_config *config, const struct request *request);

/** proof_is_done() - whether proof_take() would not wait */
bool proof_is_done(struct proof_worker *worker);

/** proof_take() - waits for the end; the texts of @ret are in @arena */
void proof_take(struct proof_worker *worker, struct arena *arena, struct proof *ret);

/** proof_free() - asks the thread to stop, waits for its present statement. NULL is fine */
struct proof_worker *proof_free(struct proof_worker *worker);
