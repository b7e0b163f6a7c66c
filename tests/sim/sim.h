#pragma once
/*
 * sim: the shipped engine over the fleet model, in virtual time, with crashes at numbered boundaries and the
 * invariants checked at every effect, every write and every step.
 *
 * One process and a real SQLite store, as in a pipeline:
 *
 *	struct sim *sim = sim_new(&config);
 *	sim_run(sim, &ask, 3600 * 1000);	run, killed and run again as planned
 *	assert_int_equal(sim->verdict, VERDICT_DONE);
 *	sim_free(sim);
 *
 * Several controllers over one store (store_model.h), each with a clock of its own:
 *
 *	config.shared_store = true;
 *	one = sim_daemon(sim);
 *	two = sim_daemon(sim);
 *	sim_ask(sim, &ask);
 *	sim_until(sim, sim_all_verified, NULL, 3600 * 1000);
 *	sim_kill(one);
 */
#include "fleet.h"
#include "store_model.h"
#include "vtddl/engine.h"

#define SIM_CRASHES_MAX 4
#define SIM_CONTROLLERS_MAX 128
#define SIM_KEYSPACES_MAX 64
#define SIM_BATCH_MAX 16 /* writes of one transaction */

enum boundary_kind {
	BOUNDARY_STORE_BEFORE, /* a store call is not made */
	BOUNDARY_STORE_AFTER,  /* it was made and committed; the engine is not told */
	BOUNDARY_RPC_BEFORE,   /* an RPC is not sent */
	BOUNDARY_RPC_AFTER,    /* it was answered; the answer is not read */
	_BOUNDARY_KIND_MAX
};

struct sim;
struct controller;
typedef void sim_hook_fn(struct sim *sim, void *user);
typedef void sim_boundary_fn(struct controller *controller, enum boundary_kind kind, void *user);

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

	/* SQLite: how a process comes to its store; NULL: store_open(). It and every call may fail then, and it sees
	 * to it that sim->store is there before the process does anything. */
	int (*open_store)(struct sim *sim, struct store **ret, struct error *reterr);

	bool shared_store;		 /* one store model for all controllers; else SQLite and sim_run() */
	const char *const *keyspaces;	 /* NULL: "commerce"; each has a fleet of its own */
	size_t keyspace_count;
	bool server_per_keyspace;	 /* each keyspace has a vtctld of its own */
	bool world_moves;		 /* readiness is taken away behind the engine's back: what counts at the barrier
					    is what its last look could see; else what is so when it is passed */
	/* whether a definition (NULL: there is none) is what a verified change promises; NULL: not asked */
	bool (*is_intended)(const struct change *change, const char *definition);
};

enum controller_state {
	CONTROLLER_DEAD,
	CONTROLLER_ALIVE,
	CONTROLLER_PAUSED, /* SIGSTOP: it does nothing, and nobody sees that */
};

/* What is under way at the moment of a pause: store calls of one transaction, an RPC, or its answer. */
struct sim_held {
	struct request requests[SIM_BATCH_MAX];
	struct reply replies[SIM_BATCH_MAX];
	size_t count;
	bool done; /* only the answer is owed */
	int64_t asked_ms;
};

struct controller {
	struct sim *sim;
	unsigned index, life;
	enum controller_state state;
	struct engine *engine;
	struct store *store;
	char owner[ACTOR_MAX + 1];
	bool serves, stopping;
	struct ask ask; /* of one that does not serve */
	unsigned id;
	int rate_percent;	/* of its monotonic clock: 80 to 120; 0: 100. For the next life */
	int64_t wall_offset_ms; /* of its wall clock */
	int64_t paused_at_ms;
	int64_t continue_at_ms; /* PAUSED: goes on by itself then; INT64_MAX: never */
	int64_t exit_at_ms;	/* stopping: leaves what is in flight then */

	int64_t born_ms, local_born_ms;
	bool was_paused; /* since it last looked at its clock */
	bool is_late;	 /* what it sends in this turn it has decided before it was stopped */
	bool was_told;	 /* something that it was not told yet when its view was looked at last */
	struct sim_held *held;
	struct sim_look *looks; /* what it has seen of each change */
	size_t look_count;
	enum vtctld_method last_method; /* it sent */
	struct sim_slow *slow; /* calls to a store that takes its time; NULL: none yet */
	struct request ahead; /* asked for behind the writes of one transaction */
	bool have_ahead;
	struct vtctld_reply *inbox; /* answers that it has not read */
	size_t inbox_count, inbox_size;

	/* of a one-shot; of the present or the last life */
	bool ended;
	enum verdict verdict;
	struct error error;
	char reason[REASON_MAX + 256];
	unsigned effects; /* sent by it, in all lives */
};

/* A moment at which a controller asked something of others. */
enum sim_mark_kind { MARK_LEASE, MARK_LIVE, MARK_STORE_WRITE, MARK_READ, MARK_EFFECT, _MARK_MAX };
struct sim_mark {
	int64_t at_ms;
	enum sim_mark_kind kind;
	unsigned controller;
};

struct sim {
	struct sim_config config;
	struct fleet *fleet; /* of the first keyspace */
	struct fleet *fleets[SIM_KEYSPACES_MAX];
	struct controller *controllers;
	size_t controller_count;
	struct store_model *model; /* shared_store */
	struct store *store;	   /* what the test looks through */
	char folder[64], url[128];
	int64_t now_ms; /* virtual */
	int64_t wall_offset_ms; /* of this machine's wall clock: a test may set it */
	unsigned boundaries; /* passed so far, over all lives */
	unsigned next_crash;
	uint64_t next_tag;
	struct sim_call *calls;
	size_t call_count, call_size;
	struct sim_mark *marks;
	size_t mark_count, mark_size;
	struct sim_truth *truth; /* what the checks remember of each change */
	size_t truth_count;
	sim_hook_fn *hook; /* called after every event of the fleet and the engines; may act on the fleet */
	void *hook_user;
	/* how long the store takes for a call, in milliseconds; NULL: no time */
	int64_t (*store_delay)(struct controller *controller, const struct request *request, void *user);
	void *store_user;
	int64_t failed_over_at_ms;	/* the store went back in time last; -1: never */
	int64_t store_clock_set_at_ms;	/* likewise its clock: see sim_set_store_clock() */
	bool walls_were_set;		/* a test has set the wall clock of a process: R4 counts on it */
	bool again_was_asked;		/* --again: a statement may have a second name */
	int64_t asked_ms; /* when the store call that is carried out now was asked for */
	sim_boundary_fn *on_boundary; /* may kill or pause the controller that is at it */
	void *boundary_user;
	void (*on_reply)(struct controller *controller, const struct reply *reply); /* is told of it next */

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
	unsigned long_pauses; /* for longer than a lease */
	int64_t taken_at_ms; /* shared store: when the lease of the first keyspace was taken last by another ... */
	char taken_by[ACTOR_MAX + 1]; /* ... namely this one */
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

/* ---- Several controllers. ---- */

/** sim_daemon() - start one that serves; sim_daemon_at(): with a clock of that rate */
struct controller *sim_daemon(struct sim *sim);
struct controller *sim_daemon_at(struct sim *sim, int rate_percent);
/** sim_ask() - start one that carries out an ask and exits. @ask's texts must outlive it */
struct controller *sim_ask(struct sim *sim, const struct ask *ask);
void sim_kill(struct controller *controller);			/* kill -9 */
void sim_pause(struct controller *controller, int64_t for_ms);	/* SIGSTOP, later SIGCONT; INT64_MAX: not by itself */
void sim_continue(struct controller *controller);
void sim_terminate(struct controller *controller);		/* SIGTERM: ends within 10 s */
void sim_restart(struct controller *controller);		/* a new process, as the dead one was started */

/** sim_until() - let time pass until @done says so. False: @limit_ms passed before */
bool sim_until(struct sim *sim, bool (*done)(struct sim *sim, void *user), void *user, int64_t limit_ms);
void sim_pass(struct sim *sim, int64_t ms);
/** sim_all_verified() - for sim_until(): there are @user (unsigned *; NULL: 1) changes or more, and all are verified */
bool sim_all_verified(struct sim *sim, void *user);
/** sim_effect_is_in_flight() - of that controller, as the fleet sees it */
bool sim_effect_is_in_flight(const struct controller *controller);
/** sim_fleet() - of a keyspace; NULL: there is none */
struct fleet *sim_fleet(struct sim *sim, const char *keyspace);
/** sim_holder() - who has the lease of a keyspace by the store's clock; NULL: nobody, or a dead one */
struct controller *sim_holder(struct sim *sim, const char *keyspace);
/** sim_lease_ends_ms() - when the lease of a keyspace ends, in virtual time; INT64_MIN: it is not held */
int64_t sim_lease_ends_ms(struct sim *sim, const char *keyspace);
/** sim_fail_over() - the store goes back to its last snapshot, and the checks with it */
void sim_fail_over(struct sim *sim);

/** sim_wall_ms() - what a wall clock shows that nobody has set */
int64_t sim_wall_ms(const struct sim *sim);
void sim_set_store_clock(struct sim *sim, int64_t by_ms);

/* What others did with vtctldclient, or what happened to a shard: a change may end otherwise for it. */
enum sim_verb { SIM_CANCEL, SIM_COMPLETE, SIM_RETRY, SIM_CLEANUP, SIM_FAIL, SIM_LOSE, SIM_RERUN, _SIM_VERB_MAX };
/** sim_meddle() - do it to the rows of @uuid, on all shards or (@shard not NULL) on one; FAIL, LOSE and RERUN: on one */
void sim_meddle(struct sim *sim, enum sim_verb verb, const char *keyspace, const char *uuid, const char *shard);

struct sim_others {
	uint64_t released; /* shards whose hold somebody else took away; bits by fleet_shard_number() */
	bool cancelled, retried, failed, lost;
	bool rewound; /* the store went back behind a phase of it; behind a release, a cancel that was sent: */
	bool release_forgotten, cancel_forgotten;
};
const struct sim_others *sim_others(struct sim *sim, const char *uuid);
/** sim_released() - shards whose hold a Complete of ours took away */
uint64_t sim_released(struct sim *sim, const char *uuid);

struct sim_rate {
	unsigned count, peak; /* in all; in the busiest span */
	double peak_to_mean;
};
/** sim_rate() - how evenly those of @kinds (bits) were asked from @from_ms until now, by spans of @span_ms */
struct sim_rate sim_rate(struct sim *sim, unsigned kinds, int64_t from_ms, int64_t span_ms);
/** sim_most_of() - how often one controller did one of @kinds since @from_ms, in its busiest span */
unsigned sim_most_of(struct sim *sim, const struct controller *controller, unsigned kinds, int64_t from_ms,
		     int64_t span_ms);
