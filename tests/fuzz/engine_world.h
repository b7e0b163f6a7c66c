#pragma once
/*
 * engine_world: the engine that ships, among others who may say anything.
 *
 *	fuzz_engine.c	what happens, step by step, as the bytes choose
 *	engine_reply.c	what vtctld answers: what its plan says, or something odd
 *	engine_show.c	the same in words
 *	engine_check.c	what must hold whatever it answers (docs/reliability.md)
 *
 * No model of a fleet: the plan is a table that the bytes write to, and nothing follows from anything. Up to
 *two controllers, each with an engine, over one store (tests/sim/store_model.h) and one virtual clock. Leases
 *end, but by the clock alone, and nobody is paused: so what the rules promise is asserted without exceptions.
 */
#include "fuzz.h"

#include "engine_private.h"
#include "store_model.h"
#include "vtddl/engine.h"

#define WORLD_SHARDS 8
#define WORLD_CONTROLLERS 2
#define WORLD_STATEMENTS 6
#define WORLD_GENERATIONS 3
#define WORLD_WALL_MS 1790000000000
#define WORLD_CALLS_MAX 192
#define WORLD_TRUTHS 32

/* A request that was not answered yet. */
struct call {
	struct request request;
	enum purpose purpose;
	struct task *task; /* NULL: the keyspace's, or the engine's own */
	uint32_t index;
	int64_t sent_at_ms;
	const char *shard; /* DIRECT, VERIFY, BEFORE: of the record */
};

/* A row as far as anything may follow from it, read by no code of the engine. */
struct row_seen {
	int status;
	bool held, ready, immediate, reviewed, ours, duplicate;
	int64_t retries;
};

struct shard_seen {
	char name[SHARD_NAME_MAX + 1];
	unsigned rows, direct_rows; /* of our uuid */
	bool direct;		    /* its primary has answered, and readably */
	struct row_seen row, direct_row;
	bool ready_run; /* looks have shown it ready, one after the other, with the same retries ... */
	int64_t ready_since_ms, ready_retries; /* ... since then */
	char *definition; /* as its primary answered in the last proof; NULL: it did not */
};

struct topology_seen {
	bool known;
	size_t count;
	char names[WORLD_SHARDS][SHARD_NAME_MAX + 1];
	struct tablet_alias primaries[WORLD_SHARDS];
};

/* What one task was answered in its last look. */
struct evidence {
	struct evidence *next;
	const struct task *task;
	int64_t began_ms;
	bool rows_known;
	bool stray; /* a live row on a shard that is not recorded */
	struct topology_seen first, confirm;
	size_t shard_count;
	struct shard_seen shards[WORLD_SHARDS];
};

struct controller {
	struct world *world;
	unsigned index, life;
	bool alive, serves, stopping, read_only;
	char owner[ACTOR_MAX + 1];
	struct engine *engine;
	struct store *store;
	unsigned asks;
	struct call calls[WORLD_CALLS_MAX];
	size_t call_count;
	struct evidence *evidence;
};

/* An effect that nobody waits for any more, and that may act until then. */
struct orphan {
	char uuid[UUID_LENGTH + 1];
	enum vtctld_method method;
	int64_t until_ms;
};

/* What was seen of one change, by whomever. */
struct truth {
	char uuid[UUID_LENGTH + 1];
	bool complete_sent, cancel_sent;
	unsigned attempts_written[_EFFECT_MAX], effects_sent[_EFFECT_MAX], since_moved;
	int64_t moved_at_ms, revision;
};

enum row_plan {
	PLAN_ABSENT,
	PLAN_QUEUED,
	PLAN_RUNNING,
	PLAN_READY,
	PLAN_IMMEDIATE,
	PLAN_RELEASED,
	PLAN_COMPLETE,
	PLAN_DUPLICATE,
	PLAN_FAILED,
	PLAN_CANCELLED,
	PLAN_STRANGE,
	PLAN_FOREIGN,
	_PLAN_MAX
};

/* Names of a change that may be: of statement and generation. */
struct names {
	struct change change;
	struct ddl ddl;
};

struct plan {
	size_t shard_set;
	bool no_primary[WORLD_SHARDS], not_serving[WORLD_SHARDS];
	unsigned uid_offset;
	enum row_plan rows[WORLD_SHARDS];
	unsigned definition[WORLD_SHARDS];
	unsigned known_generation; /* rows of a context prefix: of this generation; 0: none */
	int64_t retries;
};

struct world {
	struct fuzz_bytes bytes;
	struct store_model *model;
	int64_t now_ms, wall_offset_ms;
	bool wall_jumped;
	struct controller controllers[WORLD_CONTROLLERS];
	struct plan plan;
	const struct names (*names)[WORLD_GENERATIONS]; /* of each statement */
	struct orphan orphans[WORLD_CALLS_MAX];
	size_t orphan_count;
	struct truth truths[WORLD_TRUTHS];
	size_t truth_count;
	struct call *writing; /* the store call under way */
	struct controller *writer;
	unsigned sent_now; /* requests since time passed, or something else happened */
};

int64_t world_wall_ms(const struct world *world);

/* engine_reply.c */
struct topo_shard plan_shard(const struct world *world, size_t shard);
size_t plan_shard_count(const struct world *world);
/** reply_make() - the answer to an RPC or a proof, in the request's arena; @odd: with something wrong in it
 */
void reply_make(struct world *world, const struct call *call, bool odd, struct reply *ret);
/** reply_fail() - no answer: by outcome and code */
void reply_fail(struct call *call, enum vtctld_outcome outcome, int code, struct reply *ret);
const char *reply_text(struct world *world, struct arena *arena);

/* engine_check.c */
void check_request(struct controller *controller, struct call *call);
void check_reply(struct controller *controller, const struct call *call, const struct reply *reply);
void check_write(void *user, struct store *store, const struct change *before, const struct change *after);
void check_shown(struct controller *controller);
void check_forget(struct controller *controller); /* it died */
struct truth *check_truth(struct world *world, const char *uuid);

/* engine_show.c */
void show_call(const struct controller *controller, const struct call *call, const char *what);
void show_end(struct world *world);
