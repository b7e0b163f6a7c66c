#pragma once
/*
 * change: one schema change of one keyspace, as it is written down.
 *
 * A change is (cluster, keyspace, one DDL statement on one table, generation). Its
 * names are derived from that (identity.h), so two runners, or one that lost its
 * store, always arrive at the same names.
 *
 *	 submitting --> submitted --> completing --> completed --> verified
 *	      |   \        |   \          |              |
 *	      |    \       |    \         +--> stopped <-+
 *	      v     v      v     v
 *	 cancelling  failed (--> cancelling)  stopped
 *	      |
 *	      v
 *	 cancelled
 *
 * `completing` is the point of no return: never cancelled after it, and never
 * completed after `cancelling` (I4, R6).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLUSTER_MAX 64
#define KEYSPACE_MAX 64
#define TABLE_MAX 64
#define SHARD_NAME_MAX 64
#define CELL_MAX 64
#define UUID_LENGTH 36
#define CONTEXT_MAX 128
#define ACTOR_MAX 128
#define REASON_MAX 1024
#define SHARDS_MAX 1024
#define DDL_MAX (48 * 1024) /* Vitess cuts its canonical text at 65,535 bytes */

/* Order is the order of `vtddl rules`; the names are those of the store and of --json. */
enum phase {
	PHASE_SUBMITTING,
	PHASE_SUBMITTED,
	PHASE_COMPLETING,
	PHASE_COMPLETED,
	PHASE_VERIFIED,
	PHASE_CANCELLING,
	PHASE_CANCELLED,
	PHASE_FAILED,
	PHASE_STOPPED,
	_PHASE_MAX,
	_PHASE_INVALID = -1
};

/* What the gate of the barrier waits for. */
enum gate {
	GATE_MANUAL, /* `vtddl submit`: a person or a later step says `vtddl complete` */
	GATE_AUTO,   /* `vtddl run`, or released: opens as soon as every shard is ready */
	_GATE_MAX,
	_GATE_INVALID = -1
};

enum effect {
	EFFECT_NONE,
	EFFECT_SUBMIT,   /* ApplySchema */
	EFFECT_COMPLETE, /* CompleteSchemaMigration */
	EFFECT_CANCEL,   /* CancelSchemaMigration */
	_EFFECT_MAX,
	_EFFECT_INVALID = -1
};

struct tablet_alias {
	char cell[CELL_MAX + 1];
	uint32_t uid;
};

/* One member of the expected set, as recorded with the intent. */
struct change_shard {
	char name[SHARD_NAME_MAX + 1];
	struct tablet_alias primary;
	/* CREATE statement of the table on this shard: before the submit, and as
	 * verified. NULL: not known; "": the table did not exist. */
	const char *definition_before;
	const char *definition_after;
};

struct change {
	char cluster[CLUSTER_MAX + 1];
	char keyspace[KEYSPACE_MAX + 1];
	char table[TABLE_MAX + 1];
	const char *ddl; /* as the user wrote it; this is what is sent */
	char ddl_sha256[64 + 1]; /* of the normal form */
	char uuid[UUID_LENGTH + 1];
	char context[CONTEXT_MAX + 1];
	uint32_t generation; /* 1, 2, ... */
	const char *strategy; /* exactly what is sent as ddl_strategy */

	enum phase phase;
	int64_t epoch;    /* of the lease under which the last write was made */
	int64_t revision; /* counts the writes of this record */
	int rule;         /* that led to this phase; 0: none */
	char reason[REASON_MAX];

	enum gate gate;
	bool cancel_asked; /* a person asked for a cancel; acted on when it is safe (R4) */
	bool adopted;      /* the store had no record, the fleet had the rows */

	/* Effects: written before the effect is sent (R1, I12). */
	enum effect last_effect;
	uint32_t attempts;          /* of last_effect, in this phase */
	int64_t next_attempt_at_ms; /* wall clock */
	int64_t in_flight_until_ms; /* wall clock: until then last_effect may still act */

	int64_t created_at_ms; /* wall clock */
	int64_t updated_at_ms;
	int64_t deadline_at_ms; /* no effect is started after it */
	char created_by[ACTOR_MAX + 1];

	struct change_shard *shards; /* sorted by name; shard_count of them */
	size_t shard_count;
};

/* A line of the append-only history. */
struct history_entry {
	int64_t at_ms; /* wall clock */
	const char *actor;
	enum phase from; /* _PHASE_INVALID: the record was made */
	enum phase to;
	int rule;
	const char *reason;   /* sentence of the rule */
	const char *evidence; /* what the shards showed, in short */
};

const char *phase_name(enum phase phase);
enum phase phase_from_name(const char *name);
const char *gate_name(enum gate gate);
enum gate gate_from_name(const char *name);
const char *effect_name(enum effect effect);
enum effect effect_from_name(const char *name);

/** phase_may_move() - whether the drawing above has that arrow */
bool phase_may_move(enum phase from, enum phase to);

/** phase_is_live() - whether the change still holds its table (I15): submitting,
 * submitted, completing, completed, cancelling, failed and stopped do; a failed or
 * stopped one until it is cancelled or replaced with --again */
bool phase_is_live(enum phase phase);

/** phase_is_final() - no effect is ever sent in this phase without a person asking */
bool phase_is_final(enum phase phase);

/** tablet_alias_format() - "zone1-0000000101", the way Vitess prints it */
#define ALIAS_TEXT_SIZE (CELL_MAX + 12)
void tablet_alias_format(const struct tablet_alias *alias, char ret[ALIAS_TEXT_SIZE]);
bool tablet_alias_equal(const struct tablet_alias *a, const struct tablet_alias *b);
