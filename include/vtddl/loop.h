#pragma once
/*
 * loop: runs an engine with the real drivers: wire for vtctld, the store and VTGate on threads of their
 * own, the system's clocks. The engine is used by the caller's thread alone; it blocks only in loop_step(),
 * and no call of the store or of VTGate delays a reply of vtctld.
 */
#include <signal.h>

#include "vtddl/engine.h"
#include "vtddl/store.h"
#include "vtddl/vtgate.h"
#include "vtddl/wire.h"

struct loop_config {
	struct engine *engine;		     /* not owned */
	struct wire *wire;		     /* not owned */
	struct store *store;		     /* not owned, but the loop's alone until loop_free(); NULL: store
						requests are answered STORE_NOT_FOUND/empty (only with a
						read-only engine) */
	const char *cluster;		     /* of the survey of live changes; as in the engine's config */
	const char *owner;		     /* of leases; as in the engine's config */
	const char *actor;		     /* for the first line of a history; likewise */
	const struct vtgate_config *vtgate;  /* NULL: no --vtgate; its keyspace comes with the request */
	const char *const *probes;	     /* --probe, checked by vtgate_probe_check() before */
	size_t probe_count;
};

struct loop;
struct loop *loop_new(const struct loop_config *config);

/** loop_free() - stops proofs and the store's thread: waits at most for VTGate's timeout and for the store's call
 * under way; store calls that have not begun are never made. RPCs under way are ended by wire_close(),
 * which comes next; only then may the engine go, for replies live in its arenas */
struct loop *loop_free(struct loop *loop);

/**
 * loop_step() - carry out what the engine asks, wait for an event, hand over what is there
 * @until_ms:	clock_monotonic_ms() time at which to return at the latest
 *
 * An answer of the store is an event like a reply of vtctld. Also returns after loop_interrupt() and
 * loop_wake().
 */
void loop_step(struct loop *loop, int64_t until_ms);

/** loop_wake() - makes loop_step() return at once, the present one or else the next; from any thread */
void loop_wake(struct loop *loop);

/** loop_set_probes() - others for proofs that begin from now on; those under way use theirs to the end */
void loop_set_probes(struct loop *loop, const char *const *probes, size_t count);

/** loop_interrupt() - makes loop_step() return within 100 ms; async-signal-safe */
void loop_interrupt(struct loop *loop);
