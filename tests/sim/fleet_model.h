#pragma once
/*
 * fleet_model: what the parts of the fleet share. Private to tests/sim.
 *
 *	fleet.c         the fleet, its clock, the truth for tests
 *	fleet_call.c    life of an RPC: lock, fan-out, deadline, answer
 *	fleet_apply.c   vtctld's own checks of an effect, and the text of its failure
 *	fleet_read.c    answers of the reads
 *	fleet_select.c  SELECTs on _vt.schema_migrations
 *	fleet_submit.c  what one shard does with a statement that vtctld sends it
 *	fleet_tick.c    what a shard does by itself: review, schedule, run, copy
 *	fleet_cutover.c one attempt of a cut-over
 *	fleet_fault.c   faults, and what happens from outside
 *	fleet_schema.c, fleet_alter.c, fleet_sql.c   one mysqld: its tables, and reading statements
 *
 * Strings of rows and definitions live in fleet->memory until the fleet is freed; a call has
 * its own memory, and its reply is built in the caller's.
 */
#include "fleet.h"
#include "fleet_schema.h"
#include "vtddl/strbuf.h"

#define NEVER INT64_MAX
#define TICKS_MAX 64
#define STORED_STATEMENT_MAX 65535 /* column type TEXT */
#define STORED_CONTEXT_MAX 1024

enum grpc_code {
	CODE_OK = 0,
	CODE_CANCELLED = 1,
	CODE_UNKNOWN = 2,
	CODE_DEADLINE = 4,
	CODE_UNAVAILABLE = 14
};

/* ---- Tablets ---- */

enum life {
	LIFE_UP,
	LIFE_STARTING, /* silent until ready_ms */
	LIFE_STOPPED,  /* says "tablet is shutdown" */
	LIFE_DEAD,     /* silent */
	LIFE_PAUSED,   /* silent */
	_LIFE_MAX
};

struct tablet {
	struct tablet *next; /* older tablets of the shard */
	struct tablet_alias alias;
	enum life life;
	int type;    /* as its record says */
	bool blinds; /* dead old primary: GetSchemaMigrations still asks it */
	int64_t ready_ms;
	int64_t start_s, shutdown_s;
};

/* ---- Migrations ---- */

enum row_step { /* what happens to a row between two ticks, at row->step_ms */
		STEP_NONE,
		STEP_RUN,	    /* ready -> running */
		STEP_ZERO_PROGRESS, /* the leftovers of an earlier run go */
		STEP_ZERO_READY,
		STEP_FINISH, /* an immediate operation is done */
		STEP_FAIL,   /* with row->failure */
		_STEP_MAX
};

struct row {
	struct migration now;	/* as the table shows it */
	struct migration first; /* as it was inserted: what a stale tablet shows */
	struct statement *statement;
	struct schema_table *shadow; /* a running ALTER: what the cut-over puts in place */
	bool is_cut;		     /* the stored statement was cut: it cannot be parsed any more */
	bool allow_concurrent, prefer_instant;
	bool was_ready; /* since it runs: lets a second concurrent ALTER start */
	bool is_forced; /* force_cutover */
	bool is_frozen; /* running, but nothing works on it any more */
	enum row_step step;
	int64_t step_ms;
	const char *failure;
	int64_t copy_total_ms, copied_ms, copy_mark_ms;
	int64_t run_ms, shown_ms; /* this run began; its stream was looked at last, -1: never */
	int64_t last_attempt_ms, completed_ms;
	unsigned times_applied;
};

struct cutover {
	struct row *row; /* NULL: none under way */
	size_t stage;
	int64_t started_ms, step_ms;
	int64_t duration_ms;
	bool waits_for_lock;
};

#define VARIABLES_MAX 3 /* that are known; the names are in fleet_select.c */

struct shard {
	const char *name;
	size_t number; /* of making: gives uids and chances */
	bool is_serving;
	int64_t term_start_s;
	struct tablet *primary, *tablets;
	struct schema schema;
	struct row **rows;
	size_t row_count, row_capacity;
	struct cutover cutover;
	int64_t ticks[TICKS_MAX]; /* extra ticks, unordered */
	size_t tick_count;
	int64_t minute_ms;   /* next regular tick */
	int64_t stream_ms;   /* after a restart: from then on copies and cut-overs go on */
	int64_t leftover_ms; /* after a restart: then readiness drops to 0. NEVER: no leftovers */
	int64_t moving_ms;   /* a planned reparent began; NEVER: none yet */
	int64_t moved_ms;    /* the last reparent; -1: none */
	int64_t opened_ms;   /* the present primary became one, or started again; -1: it is the first */
	bool is_blocked, is_copy_held, is_unready, is_throttled;
	const char *variables[VARIABLES_MAX]; /* NULL: as of a healthy primary */
};

/* ---- Calls ---- */

enum leg_state { LEG_WAITING, LEG_DONE, LEG_FAILED };

enum control_verb { /* of ALTER VITESS_MIGRATION */
		    CONTROL_NONE,
		    CONTROL_COMPLETE,
		    CONTROL_CANCEL,
		    CONTROL_RETRY,
		    CONTROL_LAUNCH,
		    CONTROL_CLEANUP,
		    CONTROL_FORCE_CUTOVER,
		    CONTROL_POSTPONE, /* hold again */
		    _CONTROL_MAX
};

struct control {
	enum control_verb verb;
	const char *uuid;   /* "all": every one */
	const char *shards; /* comma list; NULL: all */
};

struct leg {
	struct shard *shard;
	enum leg_state state;
	int64_t due_ms; /* NEVER: until something changes */
	uint64_t rows;
	bool had_effect;
	const char *error;
};

enum call_state {
	CALL_ARRIVED, /* on its way to vtctld */
	CALL_LOCKING, /* waits for the keyspace lock */
	CALL_LEGS,    /* sent to the shards */
	CALL_READING, /* a read: waits for its answer */
	CALL_ENDED    /* reply is filled, due at wake_ms */
};

struct call {
	struct call *next;
	struct vtctld_request request; /* strings in memory */
	struct arena memory;	       /* of this call */
	struct arena *arena;	       /* of the caller, for the reply */
	enum call_state state;
	int64_t arrived_ms, deadline_ms, wake_ms;
	int64_t lock_since_ms;
	struct fault fault;
	bool has_fault, is_copy; /* a copy: it is repeated, and nobody waits for its answer */
	struct statement statement; /* APPLY_SCHEMA */
	struct control control;	    /* CONTROL_NONE: the statement is DDL */
	bool is_direct;
	int strategy;	     /* 0 vitess, 3 direct, 4 mysql */
	const char *options; /* flags of the strategy */
	struct leg *legs;
	size_t leg_count;
	char *done; /* shards with an effect, comma list */
	struct vtctld_reply reply;
};

struct armed_fault {
	struct armed_fault *next;
	struct fault fault;
	unsigned seen, fired;
};

struct keyspace_lock {
	struct call *holder; /* NULL: its call is over */
	int64_t taken_ms;    /* NEVER: free */
	int64_t free_ms;     /* NEVER: while the holder works */
};

struct fleet {
	struct arena memory;
	const char *keyspace;
	struct shard **shards; /* those in the topology, by name */
	size_t shard_count;
	struct shard **removed;
	size_t removed_count;
	size_t shards_made;
	const char *schema;
	struct schema first; /* of a new shard */
	int64_t copy_ms, rows;
	uint64_t seed;
	int64_t wall_ms, now_ms;
	bool vtctld_is_up;
	struct call *calls; /* in the order of arrival */
	struct vtctld_reply *replies;
	size_t reply_count, reply_capacity, reply_first;
	struct keyspace_lock lock;
	struct armed_fault *faults;
	unsigned call_counts[_VTCTLD_METHOD_MAX];
	fleet_journal_fn *journal;
	void *journal_user;
	int64_t next_ms; /* of the next event, while next_is_known */
	bool next_is_known;
	uint64_t changes;
	const char *split[3]; /* a shard and those that shall take its place; NULL: no reshard is under way */
	struct select *selects; /* read before, the last one first */
};

/* fleet.c */
/** fleet_touch() - something was changed from outside: what comes next may be another thing */
void fleet_touch(struct fleet *fleet);
int64_t fleet_wall_s(const struct fleet *fleet);
/** fleet_spread() - a number in [low, high] that depends on the seed and the two salts only */
int64_t fleet_spread(const struct fleet *fleet, uint64_t a, const char *b, int64_t low, int64_t high);
struct shard *fleet_find_shard(const struct fleet *fleet, const char *name);
struct shard *shard_new(struct fleet *fleet, const char *name, bool serving);
void shard_free(struct shard *shard);
struct tablet *tablet_new(struct fleet *fleet, struct shard *shard);
struct row *shard_find_row(const struct shard *shard, const char *uuid);
void *array_grow(void *array, size_t count, size_t *capacity, size_t size);
bool list_has(const char *list, const char *name);

/* fleet_call.c */
int64_t call_next_ms(const struct call *call);
void call_run(struct fleet *fleet, struct call *call);
void call_free(struct call *call);
/** fleet_poke() - something changed outside: every waiting call looks again */
void fleet_poke(struct fleet *fleet);
/** call_end() - its answer is known; a fault may spoil or delay it */
void call_end(struct fleet *fleet, struct call *call, int code, const char *text);
/** fleet_end_calls() - vtctld went away under them */
void fleet_end_calls(struct fleet *fleet);

/* fleet_apply.c */
/** apply_prepare() - what vtctld checks before it asks for the lock. NULL: fine; else the error's text */
const char *apply_prepare(struct fleet *fleet, struct call *call);
/** apply_execute_error() - what it refuses with the lock held; NULL: nothing */
const char *apply_execute_error(struct call *call);
/** apply_result_text() - "schema change failed, ExecuteResult: {...}" of the legs as they are */
const char *apply_result_text(const struct fleet *fleet, struct call *call, const char *executor_error);

/* fleet_read.c; false: a tablet is silent, ask again when something changes */
bool fleet_read(struct fleet *fleet, struct call *call);
/** fleet_keyspace_error() - NULL: it is our keyspace */
const char *fleet_keyspace_error(const struct fleet *fleet, struct call *call);
/** migration_copy() - with all strings in @arena */
struct migration migration_copy(struct arena *arena, const struct migration *from);

/* fleet_select.c */
bool fleet_select(struct fleet *fleet, const struct shard *shard, const struct call *call,
		  struct query_result *ret, const char **reterr);

/* fleet_submit.c */
bool shard_execute(struct fleet *fleet, struct shard *shard, struct call *call, struct leg *leg);
/** shard_waits_for_mutex() - would this statement have to wait for a cut-over attempt? */
bool shard_waits_for_mutex(const struct shard *shard, const struct call *call);
bool row_release(struct fleet *fleet, struct shard *shard, struct row *row);
bool row_cancel(struct fleet *fleet, struct shard *shard, struct row *row);
bool row_retry(struct fleet *fleet, struct shard *shard, struct row *row);
bool row_cleanup(struct fleet *fleet, struct shard *shard, struct row *row);
bool uuid_is_accepted(const char *uuid);

/* fleet_tick.c */
void shard_event(struct fleet *fleet, struct shard *shard); /* ticks in 1, 5, 10 and 20 s */
int64_t shard_next_ms(const struct shard *shard);
void shard_run(struct fleet *fleet, struct shard *shard);
void shard_copy(struct fleet *fleet, struct shard *shard); /* its running copies, up to now */
void row_end(struct fleet *fleet, struct shard *shard, struct row *row, enum migration_status status,
	     const char *message);
bool row_is_live(const struct row *row);
/** shard_interrupt() - its vttablet died or lost its role in the middle of things */
void shard_interrupt(struct fleet *fleet, struct shard *shard);

/* fleet_cutover.c */
bool cutover_may_start(const struct fleet *fleet, const struct row *row);
void cutover_start(struct fleet *fleet, struct shard *shard, struct row *row);
void cutover_step(struct fleet *fleet, struct shard *shard);
void cutover_interrupt(struct shard *shard);

/* fleet_fault.c */
void call_take_fault(struct fleet *fleet, struct call *call);
void shard_moments(struct fleet *fleet, struct shard *shard); /* moments after a restart */
bool shard_hides_from_reads(const struct fleet *fleet, const struct shard *shard);
const char *shard_refuses_effects(const struct fleet *fleet, const struct shard *shard);
const char *fault_text(int code);
