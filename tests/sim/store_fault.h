#pragma once
/*
 * store_fault: a store whose process can die, or whose disk can fail, at the n-th call.
 *
 *	store_open(&config, &inner, err);
 *	store_fault_wrap(inner, &store);
 *	store_fault_arm(store, n, STORE_FAULT_AFTER, STORE_FAULT_DIE, on_death, test);
 *	... run the scenario on `store`; on_death() may longjmp() out of it ...
 *	store_fault_restart(store, err);	the next process: leases are gone, what was committed is there
 *
 * Every call of store.h counts, a batch as one, store_release() too, store_close() and store_url() not.
 * Used in process by the crash tests, so no code that ships knows of it.
 */
#include "vtddl/store.h"

enum store_fault_when {
	STORE_FAULT_BEFORE, /* the call does nothing */
	STORE_FAULT_AFTER,  /* the call does everything, and is not told of */
};

enum store_fault_how {
	STORE_FAULT_DIE,   /* the callback runs; if it returns, this and every later call fail */
	STORE_FAULT_ERROR, /* this call fails with ERROR_STORE, later ones do not */
};

/** store_fault_wrap() - @ret owns @inner and closes it with itself. Returns 0 */
int store_fault_wrap(struct store *inner, struct store **ret);

/**
 * store_fault_arm() - one fault at the @n-th call from now (1: the next); 0 disarms
 * @on_death:	may be NULL; called in place of the return of the call
 */
void store_fault_arm(struct store *store, unsigned n, enum store_fault_when when, enum store_fault_how how,
		     void (*on_death)(void *data), void *data);

/** store_fault_calls() - calls since the wrapping or the last restart: what a run of all n must cover */
unsigned store_fault_calls(const struct store *store);

/** store_fault_fired() - whether the armed fault has happened */
bool store_fault_fired(const struct store *store);

/**
 * store_fault_restart() - what the death of a process does: the inner store is closed without a
 * word and opened again by its URL; nothing is armed any more
 */
int must_check store_fault_restart(struct store *store, struct error *reterr);
