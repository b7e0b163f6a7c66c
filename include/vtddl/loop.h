#pragma once
/*
 * loop: runs an engine with the real drivers: wire for vtctld, a store, VTGate on a thread of its
 * own, the system's clocks. Single-threaded but for that; blocks only in loop_step().
 */
#include <signal.h>

#include "vtddl/engine.h"
#include "vtddl/store.h"
#include "vtddl/vtgate.h"
#include "vtddl/wire.h"

struct loop_config {
	struct engine *engine;		     /* not owned */
	struct wire *wire;		     /* not owned */
	struct store *store;		     /* not owned; NULL: store requests are answered STORE_NOT_FOUND/empty
						(only with a read-only engine) */
	const char *owner;		     /* of leases; as in the engine's config */
	const char *actor;		     /* for the first line of a history; likewise */
	const struct vtgate_config *vtgate;  /* NULL: no --vtgate; its keyspace comes with the request */
	const char *const *probes;	     /* --probe, checked by vtgate_probe_check() before */
	size_t probe_count;
};

struct loop;
struct loop *loop_new(const struct loop_config *config);

/** loop_free() - stops proofs (waits at most for VTGate's timeout). RPCs under way are ended by
 * wire_close(), which comes next; only then may the engine go, for replies live in its arenas */
struct loop *loop_free(struct loop *loop);

/**
 * loop_step() - carry out what the engine asks, wait for one event, hand it over
 * @until_ms:	clock_monotonic_ms() time at which to return at the latest
 *
 * Also returns when a signal handler called loop_interrupt().
 */
void loop_step(struct loop *loop, int64_t until_ms);

/** loop_interrupt() - makes loop_step() return within 100 ms; async-signal-safe */
void loop_interrupt(struct loop *loop);
