#pragma once
/*
 * observation: from what the shards showed to a handful of facts.
 *
 * Pure. One observation is one coherent look at the fleet for one change: the topology, the
 * rows of its uuid, and for every shard that the keyspace-wide read did not show exactly once,
 * the answer of that shard's primary. The watch is what must be remembered between looks;
 * it lives in memory only, so after a crash readiness is seen anew (C11).
 */
#include "vtddl/change.h"
#include "vtddl/vtctld.h"

/* How one shard answered in this look. */
enum row_state {
	ROW_UNKNOWN, /* no positive answer: never permission for anything */
	ROW_ABSENT,  /* its primary was asked directly and has no such row */
	ROW_ONE,     /* exactly one row */
	ROW_DOUBLE,  /* more than one answer: two tablets claim the shard */
	_ROW_STATE_MAX
};

struct shard_look {
	enum row_state state;
	struct migration row;	/* ROW_ONE; ROW_DOUBLE: the least advanced */
	bool direct;		/* read from the primary itself, not through GetSchemaMigrations */
	bool silent;		/* the primary was asked and did not answer */
	const char *trouble;	/* why the state is UNKNOWN; "" if there is no trouble */
};

struct observation {
	int64_t at_ms;		  /* monotonic, when the first request of it was sent */
	int64_t wall_ms;
	bool topology_known;
	const struct topo_shard *topo; /* sorted by name */
	size_t topo_count;
	const struct topo_tablet *tablets; /* may be NULL: not read, and no running row is fresh */
	size_t tablet_count;
	const struct shard_look *looks;	   /* one for each expected shard, same order */
	size_t foreign_rows;		   /* rows that were not asked for: ignored, counted */
	bool stray;			   /* a live row of our uuid on a shard that is not recorded (a reshard, a late submit) */
	/* The second topology read, begun after the rows were read (I3). */
	bool confirmed_known;
	const struct topo_shard *confirm;
	size_t confirm_count;
};

/* Memory of one shard between looks. */
struct shard_watch {
	int64_t ready_since_ms; /* first look of the present run of ready looks */
	int64_t ready_retries, ready_started_s;
	int64_t dead_since_ms; /* first look of the present run of failed or cancelled looks */
	int64_t double_since_ms;
	int dead_status;
	bool ready, dead, doubled; /* whether such a run is under way */
};

struct watch {
	struct shard_watch *shards; /* shard_count of the change */
	int64_t topology_changed_since_ms;
	bool topology_changed;
};

/* Facts are bits; a rule asks for some to be set and others to be clear. */
enum fact {
	FACT_LEADER = 1 << 0,	      /* we hold the keyspace's lease */
	FACT_SHARDS_KNOWN = 1 << 1,   /* the topology was read */
	FACT_SHARDS_CHANGED = 1 << 2, /* its shard set differs from the recorded one, in two looks */
	FACT_ALL_SEEN = 1 << 3,	      /* every expected shard: one row, or proven absent; none doubled */
	FACT_ALL_ROWS = 1 << 4,	      /* every expected shard has exactly one row */
	FACT_SETTLING = 1 << 5,	      /* something was seen once and a second look is owed */
	FACT_MISMATCH = 1 << 6,	      /* a row of our uuid is not of this change */
	FACT_DOUBLED = 1 << 7,	      /* a shard answered twice for DOUBLE_STOP_MS */
	FACT_DEAD = 1 << 8,	      /* a row is failed or cancelled (seen now) */
	FACT_FAILED = 1 << 9,	      /* ... failed, confirmed by a second look */
	FACT_CANCELLED = 1 << 10,     /* ... cancelled, confirmed */
	FACT_DUPLICATE = 1 << 11,     /* a complete row says "duplicate DDL as": nothing was done */
	FACT_ANY_HELD = 1 << 12,      /* a live row has postpone_completion set */
	FACT_ANY_RELEASED = 1 << 13,  /* a row is complete, or live without the hold */
	FACT_ANY_COMPLETE = 1 << 14,
	FACT_ANY_LIVE = 1 << 15,      /* a row is queued, ready or running, or has a status we do not know */
	FACT_ALL_READY = 1 << 16,     /* every shard held and ready, in two looks READY_CONFIRM_MS apart */
	FACT_ALL_FORWARD = 1 << 17,   /* every shard held and ready (twice), or released, or complete */
	FACT_ALL_COMPLETE = 1 << 18,
	FACT_ALL_GONE = 1 << 19,      /* every shard: proven absent, cancelled or failed */
	FACT_CONFIRMED = 1 << 20,     /* topology read again afterwards: same shards, same primaries */
	FACT_GATE_OPEN = 1 << 21,
	FACT_CANCEL_ASKED = 1 << 22,
	FACT_TAKE_UP = 1 << 23,	      /* a person asks to go on with a stopped change (`vtddl verify`) */
	FACT_SENT = 1 << 24,	      /* the effect of this phase may have been sent; in `stopped`: a release */
	FACT_BUSY = 1 << 25,	      /* an effect is in flight, or may still act */
	FACT_DUE = 1 << 26,	      /* the back-off before the next effect or proof is over */
	FACT_LATE = 1 << 27,	      /* the deadline of the change has passed */
	FACT_PROVEN = 1 << 28,	      /* verify: all that can be checked is as intended */
	FACT_DISPROVEN = 1 << 29,     /* verify: a shard's definition is not as intended */
	_FACT_MAX = 1 << 30
};
/** fact_name() - "all_ready" */
const char *fact_name(enum fact fact);

#define READY_CONFIRM_MS 2000 /* a retried row shows leftovers for a moment (measured: 0.1 s) */
#define DEAD_CONFIRM_MS 2000
#define REVIVE_MS 75000	      /* Vitess retries a failure of the tablet by itself, within one tick of 60 s */
#define DOUBLE_STOP_MS 60000

/** watch_init() - nothing remembered; @shards has change->shard_count members */
void watch_init(struct watch *watch, struct shard_watch *shards, size_t count);

/**
 * observation_fold() - facts of one look, and the memory for the next
 * @change:	the record; its shards are the expected set
 * @watch:	updated
 *
 * Sets all bits that can be read from the fleet. Those of the record and the engine (LEADER,
 * GATE_OPEN to DISPROVEN) are the caller's.
 */
uint32_t observation_fold(const struct change *change, const struct observation *observation,
			  struct watch *watch);

/** migration_is_ready() - held and ready by its own row, without memory:
 * (RUNNING and ready_to_complete) or (QUEUED, is_immediate_operation, reviewed_at and
 * ready_to_complete), with postpone_completion set */
bool migration_is_ready(const struct migration *row);
/** migration_is_fresh() - the row's readiness was evaluated by the present primary: for a running
 * one liveness is not before its start, and behind the primary's term and the tablet's start (in whole
 * seconds: the same second may have been before). After a restart a row still reads ready for about
 * 10 s (measured); all four are clocks of the fleet. NULL, not read, is no permission */
bool migration_is_fresh(const struct migration *row, const struct topo_shard *shard,
			const struct topo_tablet *tablet);
bool migration_is_live(const struct migration *row);
bool migration_says_duplicate(const struct migration *row);
/** migration_is_ours() - context, table and keyspace are those of the change */
bool migration_is_ours(const struct migration *row, const struct change *change);

/**
 * shard_reason() - why a shard is not further, for people: "copying rows 40 %", "unknown: ..."
 * @ret:	REASON_MAX bytes
 */
void shard_reason(const struct change *change, const struct observation *observation,
		  const struct watch *watch, size_t shard, char ret[REASON_MAX]);

struct progress {
	size_t shards_expected, shards_seen, shards_ready, shards_complete;
	double slowest, fastest;  /* percent */
	size_t slowest_shard;
	int64_t worst_eta_s;	  /* -1: unknown */
	uint64_t rows_copied, table_rows;
};
void progress_fold(const struct change *change, const struct observation *observation,
		   const struct watch *watch, struct progress *ret);

/**
 * topology_problem() - why a change must not start on this shard set
 *
 * No shard, or too many; a name that is none; a shard without a primary; a non-serving shard; key ranges that overlap or leave
 * a gap (a reshard in progress): ApplySchema goes to every shard record, serving or not.
 *
 * Return: NULL if there is none; else one sentence in @arena.
 */
const char *topology_problem(struct arena *arena, const struct topo_shard *shards, size_t count);
