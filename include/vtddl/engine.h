#pragma once
/*
 * engine: drives changes. Events in, requests out; it blocks on nothing.
 *
 *	         engine_add()  engine_reply()  engine_advance()
 *	                 \          |           /
 *	                  v         v          v
 *	   record + look --> facts --> rules_next() --> ONE step:
 *	                                                a store write, or
 *	                                                an RPC that may be repeated
 *	                            |
 *	                            v
 *	                      engine_next()  -->  drivers: wire, store, vtgate, or the simulator
 *
 * A phase moves only on what the shards show, never because a call returned OK. An effect is
 * preceded by a durable write of its attempt (R1, I12), so a restart is simply "step again".
 *
 * The engine knows no socket, file, thread or clock. The loop (engine/loop.h) brings the real
 * ones; tests bring the fleet model and virtual time, so they run the very code that ships.
 */
#include "vtddl/change.h"
#include "vtddl/observation.h"
#include "vtddl/rules.h"
#include "vtddl/store.h"
#include "vtddl/vtctld.h"

struct engine;

struct engine_config {
	const char *cluster;
	const char *actor;	  /* who, for the history: "user@host" or --caller-id */
	const char *owner;	  /* of the lease: "host:pid:incarnation" */
	const char *caller_id;	  /* sent with effects; NULL: none */
	int64_t poll_interval_ms; /* 15,000 */
	int64_t read_timeout_ms;  /* 5,000 */
	int64_t effect_timeout_ms; /* 75,000 */
	bool check_vtgate;	  /* verify asks VTGate too (a REQUEST_PROOF is emitted) */
	int64_t lease_ms;	  /* how long a lease with an end lasts, 30,000; renewed in a third of it */
	unsigned (*server_of)(void *user, const char *keyspace); /* which vtctld; NULL: 0 for all */
	void *user;
	uint64_t seed;		  /* of the jitter */
	bool read_only;		  /* never writes, never sends an effect: for `wait` and `show` */
};

enum goal {
	GOAL_SUBMITTED, /* every shard has the row */
	GOAL_READY,	/* every shard held and ready, in two looks */
	GOAL_COMPLETED, /* every shard complete */
	GOAL_VERIFIED,
	GOAL_CANCELLED,
	GOAL_LOOK, /* one observation, nothing else */
	_GOAL_MAX
};

/* What a person or pipeline asks for. Give either a statement, or the uuid of a stored change. */
struct ask {
	const char *keyspace;
	const char *ddl;      /* NULL: by uuid */
	const char *uuid;     /* or a context; must be in the store */
	bool again;	      /* a new generation of a statement that ended */
	enum goal goal;
	bool open_gate;	      /* run, complete: the barrier opens as soon as all are ready */
	bool take_up;	      /* verify: go on with a stopped change once every shard is complete */
	int64_t deadline_ms;  /* from now; 0: 6 h for a new change, as stored for an old one */
	const char *strategy_extras; /* allow-listed flags, one space between; NULL: none */
};

#define DEADLINE_DEFAULT_MS (6 * 3600 * 1000LL)

/* ---- Requests that the drivers carry out; each is answered by engine_reply() exactly once. ---- */

enum request_kind {
	REQUEST_RPC,
	REQUEST_STORE_LEASE,
	REQUEST_STORE_RELEASE,
	REQUEST_STORE_LIVE,
	REQUEST_STORE_LIST,
	REQUEST_STORE_INSERT,
	REQUEST_STORE_UPDATE,
	REQUEST_PROOF,	       /* VTGate: definition, columns, probes */
	_REQUEST_KIND_MAX
};

struct request {
	enum request_kind kind;
	uint64_t tag;
	struct arena *arena; /* for the reply's contents; lives until the reply was delivered */
	struct vtctld_request rpc;   /* REQUEST_RPC; its tag is @tag */
	const char *scope;	     /* LEASE, RELEASE */
	int64_t lease_ms;	     /* LEASE: for how long */
	int64_t cancelled_since_ms;  /* LIVE */
	struct store_filter filter;  /* LIST */
	struct change *change;	     /* INSERT, UPDATE: the driver's until the reply, on whatever thread; it sets
					epoch and revision */
	struct store_expect expect;  /* UPDATE */
	const struct history_entry *entry; /* UPDATE; may be NULL */
	const char *evidence;	     /* INSERT */
	const char *table;	     /* PROOF */
	const char *keyspace;	     /* PROOF */
};

/* Result of REQUEST_PROOF. */
struct proof {
	bool asked;		 /* false: no --vtgate, nothing of this was checked */
	bool reachable;
	const char *text;	 /* what went wrong, or "" */
	const char *definition;	 /* SHOW CREATE TABLE; "" unknown to VTGate */
	const char *columns;	 /* served by VTGate, "a,b,c" */
	bool probes_ok;		 /* every --probe answered */
	bool probes_settled;	 /* p99 is back near what it was, or there are no probes */
	const char *probe_text;	 /* one line for people; "" */
};

struct reply {
	uint64_t tag;
	enum request_kind kind;
	struct vtctld_reply rpc;
	int result;		/* STORE_*: return value of the store call */
	struct error error;	/* where result is negative */
	struct lease lease;	/* LEASE */
	struct live live;	/* LIVE */
	struct change *changes; /* LIST */
	size_t change_count;
	struct proof proof;
};

/** engine_new() - @config is copied. Times: @now_ms monotonic, @wall_ms wall clock */
struct engine *engine_new(const struct engine_config *config, int64_t now_ms, int64_t wall_ms);
struct engine *engine_free(struct engine *engine);

/**
 * engine_add() - take on a change
 *
 * The statement is checked here (ddl_parse) and nothing is emitted if it is refused.
 *
 * Return: 0, *ret_id names it in this engine; negative with ERROR_INPUT or ERROR_USAGE.
 */
int must_check engine_add(struct engine *engine, const struct ask *ask, unsigned *ret_id, struct error *reterr);

/** engine_advance() - tell the time; timers that are due fire */
void engine_advance(struct engine *engine, int64_t now_ms, int64_t wall_ms);

/** engine_wake_ms() - monotonic time of the next timer; INT64_MAX: none, only replies are awaited */
int64_t engine_wake_ms(const struct engine *engine);

/** engine_next() - the next request to carry out. False: none now */
bool engine_next(struct engine *engine, struct request *ret);

/** engine_reply() - a request's answer. An unknown tag is dropped (a reply that came too late) */
void engine_reply(struct engine *engine, const struct reply *reply);

/**
 * engine_reconfigure() - other times from now on, as in struct engine_config; server_of is asked again for every
 * keyspace
 *
 * What waits is looked at within half a second, and a vtctld that did not answer is asked again then: it, or the way
 * to it, may be another now.
 */
void engine_reconfigure(struct engine *engine, int64_t poll_interval_ms, int64_t read_timeout_ms,
			int64_t effect_timeout_ms);

/** engine_stop() - no new effect or write from now on; the change goes on in the fleet. Idle once
 * nothing is in flight. */
void engine_stop(struct engine *engine);
bool engine_is_idle(const struct engine *engine);

/**
 * engine_serve() - from now on drive every live change of the store, of every keyspace, too
 *
 * A change that only waits costs nothing of its own: one observation per keyspace and tick (a sweep) tells
 * which changes moved, and only those take a look of their own. Keyspaces whose lease another holds
 * are followed in the store and taken over when it ends.
 */
void engine_serve(struct engine *engine);

/* ---- What to show. Everything in a view lives until the next call on the engine. ---- */

struct shard_view {
	const char *name;
	const struct shard_look *look;	/* NULL: not looked at yet */
	bool ready;
	char reason[REASON_MAX];
};

struct view {
	uint64_t serial;	/* grows whenever something below changed */
	bool ended;		/* the goal is reached, or nothing more will happen without a person */
	bool goal_reached;
	enum verdict verdict;	/* once ended */
	struct error error;	/* ended before a record existed (refused, unreachable): code != 0 */
	const struct change *change; /* NULL: no record yet */
	bool recorded;		/* the record is in the store */
	bool already;		/* the goal was reached before this run began: nothing was sent */
	bool leader;
	const char *holder;	/* who drives it, if not us; "" */
	const struct rule *rule; /* last one that decided; NULL: none yet */
	const char *reason;	/* one sentence: what it waits for, or why it ended */
	const char *advice;	/* what to do next; "" */
	uint32_t facts;
	struct progress progress;
	const struct shard_view *shards;
	size_t shard_count;
	const char *refusal;	/* what the last effect that was not OK was told; "" once it is tried again */
	enum effect in_flight;
	int64_t next_look_ms;	/* monotonic */
	/* verify: one line for each thing that was checked, or was not */
	const char *const *checks;
	size_t check_count;
	unsigned effects_sent[_EFFECT_MAX]; /* by this engine */
	bool write_failed;	/* the store could not be written: no effects */
};

/** engine_view() - a snapshot of one change */
const struct view *engine_view(struct engine *engine, unsigned id);

/* ---- What a server shows: every live change of the store. For `vtddl serve`. ---- */

/* One shard of a change as the last sweep or look showed it, in eight bytes. */
struct shard_brief {
	uint8_t status;   /* enum migration_status; MIGRATION_UNKNOWN: not seen */
	uint8_t progress; /* percent */
	bool held : 1, ready : 1, absent : 1;
	int32_t eta_s;	  /* -1: unknown */
};

struct resident_view {
	const struct live_change *change; /* as the store had it last */
	const char *reason;		  /* what it waits for now; else why it is where it is */
	int rule;			  /* that decided last; 0: none yet */
	bool leader;			  /* we drive it */
	bool looking;			  /* a look, a write or an effect of it is under way */
	const char *holder;		  /* who drives it; "": nobody */
	int64_t seen_at_ms;		  /* wall clock of the last time its shards were seen; 0: never by us */
	struct progress progress;
	const char *const *shard_names;	  /* shard_count of each; 0: never seen by us */
	const struct shard_brief *shards;
	size_t shard_count;
};

/** engine_residents() - how many there are; sorted by keyspace and uuid */
size_t engine_residents(const struct engine *engine);
/** engine_resident() - one; lives until the next call on the engine */
const struct resident_view *engine_resident(struct engine *engine, size_t index);

struct keyspace_view {
	const char *name;
	unsigned server;
	bool leader;
	const char *holder;	/* "" nobody */
	int64_t epoch, lease_left_ms; /* ours by our clock; LEASE_NO_END */
	int64_t observed_at_ms;	/* wall clock of the last answered sweep or look; 0 never */
	size_t changes;
};
size_t engine_keyspaces(const struct engine *engine);
const struct keyspace_view *engine_keyspace(struct engine *engine, size_t index);

#define RPC_BOUNDS 12
extern const double engine_rpc_bounds_s[RPC_BOUNDS];

/* Grows only. For metrics. */
struct engine_counters {
	uint64_t rpcs[_VTCTLD_METHOD_MAX][_VTCTLD_OUTCOME_MAX];
	uint64_t rpc_seconds[_VTCTLD_METHOD_MAX][RPC_BOUNDS + 1]; /* counts of a histogram */
	double rpc_seconds_sum[_VTCTLD_METHOD_MAX];
	uint64_t sweeps, looks;
	uint64_t store_calls, store_failures, store_conflicts;
	uint64_t leases_taken, leases_lost, renewals_failed;
	uint64_t rules[1000]; /* decided, by number */
	uint64_t moves[_PHASE_MAX]; /* into a phase, by us */
};
const struct engine_counters *engine_counters(const struct engine *engine);

/** engine_server_down_ms() - since when a vtctld does not answer; 0: it does, or was not asked yet */
int64_t engine_server_down_ms(const struct engine *engine, unsigned server);
/** engine_store_trouble() - why the store cannot be used; "" it can. @ret_live_at_ms: wall clock of the
 * last answered survey of the store; 0 never */
const char *engine_store_trouble(const struct engine *engine, int64_t *ret_live_at_ms);
/** engine_store_is_lost() - no call of this process to the store will ever succeed (STORE_LOST): it must end */
bool engine_store_is_lost(const struct engine *engine);

/* One line per state change, for the log and the event stream. */
enum news_kind {
	NEWS_CHANGE,	/* a change was found in the store, or moved; by whomever */
	NEWS_GONE,	/* it is not live any more: verified, cancelled, replaced */
	NEWS_WAITING,	/* it has waited for ten seconds for something that time alone does not bring */
	NEWS_REFUSED,	/* an effect was refused, or its outcome is unknown */
	NEWS_LEASE,	/* taken, lost, held by another */
	NEWS_SERVER,	/* a vtctld stopped answering, or answers again */
	NEWS_STORE,	/* likewise the store */
	_NEWS_KIND_MAX
};

struct news {
	enum news_kind kind;
	int64_t at_ms;		/* wall clock */
	char keyspace[KEYSPACE_MAX + 1], uuid[UUID_LENGTH + 1], table[TABLE_MAX + 1];
	enum phase from, phase; /* _PHASE_INVALID: none */
	int rule;
	int64_t epoch;
	bool warning;		/* bad news */
	char reason[REASON_MAX];
};

/** engine_news() - the next piece, oldest first. False: there is none. At most the last 1,024 are kept */
bool engine_news(struct engine *engine, struct news *ret);
