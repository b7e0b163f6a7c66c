#pragma once
/*
 * sim: the shipped engine over the fleet model and a real SQLite store, in virtual time, with crashes
 * at numbered boundaries and the invariants checked at every effect and every write.
 *
 *	struct sim *sim = sim_new(&config);
 *	sim_run(sim, &ask, 3600 * 1000);	one "process": run, killed and run again as planned
 *	assert_int_equal(sim->verdict, VERDICT_DONE);
 *	sim_free(sim);
 */
#include "fleet.h"
#include "vtddl/engine.h"

#define SIM_CRASHES_MAX 4

enum boundary_kind {
	BOUNDARY_STORE_BEFORE, /* a store call is not made */
	BOUNDARY_STORE_AFTER,  /* it was made and committed; the engine is not told */
	BOUNDARY_RPC_BEFORE,   /* an RPC is not sent */
	BOUNDARY_RPC_AFTER,    /* it was answered; the answer is not read */
	_BOUNDARY_KIND_MAX
};

struct sim_config {
	const char *const *shards;
	size_t shard_count;
	uint64_t seed;
	int64_t copy_ms;
	const char *schema;
	int64_t poll_interval_ms; /* 0: 15,000 */
	/* The process dies at these boundaries, counted over all its lives; 0 ends the list. */
	unsigned crashes[SIM_CRASHES_MAX];
	bool lose_store_at_crash; /* and its store file is deleted each time */
};

/* Called after every event of the fleet and the engine; may act on the fleet. */
struct sim;
typedef void sim_hook_fn(struct sim *sim, void *user);

struct sim {
	struct sim_config config;
	struct fleet *fleet;
	struct engine *engine; /* the living process, or NULL */
	struct store *store;
	char folder[64], url[128];
	int64_t now_ms; /* virtual */
	int64_t wall_offset_ms; /* of this machine's wall clock: a test may set it */
	unsigned boundaries; /* passed so far, over all lives */
	unsigned lives, next_crash;
	struct sim_call *calls;
	size_t call_count, call_size;
	sim_hook_fn *hook;
	void *hook_user;

	/* what happened */
	enum verdict verdict;
	bool ended, timed_out;
	struct view last; /* of the last process; its pointers are gone, its values are not */
	struct error error;
	char reason[REASON_MAX + 256];
	char uuid[UUID_LENGTH + 1]; /* of the last record */
	enum phase phase;
	unsigned applies, completes, cancels; /* effects that reached the fleet */
	int64_t ready_at_ms, complete_at_ms; /* when the last shard became ready; when Complete arrived first */
	bool complete_sent, cancel_sent;
	char first_uuid[UUID_LENGTH + 1];
	unsigned store_writes;
};

struct sim *sim_new(const struct sim_config *config);
void sim_free(struct sim *sim);

/** sim_run() - run one ask until it ends, restarting after each planned crash, at most @limit_ms virtual */
void sim_run(struct sim *sim, const struct ask *ask, int64_t limit_ms);

/** sim_load() - the record of the last change, into @arena; false: none */
bool sim_load(struct sim *sim, struct arena *arena, struct change *ret);

/** sim_lose_store() - delete the store between two runs */
void sim_lose_store(struct sim *sim);

/** sim_assert_done() - every shard complete once, applied once, verified */
void sim_assert_done(struct sim *sim, const char *table, const char *fragment);
