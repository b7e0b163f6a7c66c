#pragma once
/*
 * Inside of the engine. One task per change; a task is always in exactly one stage, and leaves
 * it when the replies it waits for are there, or when its timer fires.
 *
 *	record.c   LEASE -> FIND -> ASK                                       every step begins here
 *	open.c     SURVEY -> DISCOVER -> BEFORE -> INSERT                     where there is no record
 *	observe.c  LOOK                                                       one look at the fleet
 *	decide.c   (facts, rule) -> WRITE | ATTEMPT -> effect | CONFIRM | VERIFY | REST
 *	verify.c   VERIFY                                                     the definitions and VTGate, side by side
 *	           IDLE                                                       the timer leads to LEASE or LOOK
 *
 * An effect in flight is beside the stage: watching goes on meanwhile.
 */
#include "vtddl/ddl.h"
#include "vtddl/engine.h"
#include "vtddl/schedule.h"

enum stage {
	STAGE_LEASE,
	STAGE_FIND,	/* the record, by statement or uuid */
	STAGE_SURVEY,	/* no record: keyspaces and shards */
	STAGE_DISCOVER,	/* no record: rows of any generation, from every primary */
	STAGE_BEFORE,	/* no record: the definition on every primary */
	STAGE_INSERT,
	STAGE_BUSY_TABLE, /* who holds the table? */
	STAGE_ASK,	/* a person's wish is written into the record */
	STAGE_LOOK,
	STAGE_CONFIRM,
	STAGE_VERIFY,
	STAGE_WRITE,	/* a phase */
	STAGE_ATTEMPT,	/* an effect's attempt */
	STAGE_IDLE,
	STAGE_ENDED,
};

/* What a reply is for. */
enum purpose {
	FOR_LEASE,
	FOR_FIND,
	FOR_KEYSPACES,
	FOR_TOPOLOGY,
	FOR_TABLETS,
	FOR_DISCOVER, /* index: shard */
	FOR_BEFORE,   /* index: shard */
	FOR_INSERT,
	FOR_BUSY_TABLE,
	FOR_ASK,
	FOR_ROWS,
	FOR_DIRECT,   /* index: shard */
	FOR_CONFIRM,
	FOR_VERIFY,   /* index: shard */
	FOR_PROOF,
	FOR_WRITE,
	FOR_ATTEMPT,
	FOR_EFFECT,
};

/* One look under way or finished. Everything read lives in its arena. */
struct look {
	struct arena arena;
	struct observation seen;
	struct shard_look *shards;	/* of the record's shards: by GetSchemaMigrations, then merged */
	struct shard_look *direct;	/* the primaries' own answers; `direct` set where one came */
	struct vtctld_reply topology, rows;
	bool topology_done, rows_done, direct_sent;
	bool confirm_tried;		/* the topology was read again after it */
	int64_t finished_ms;
	unsigned effects_ended;		/* the task's count when it began */
};

#define CHECKS_MAX 64
#define EFFECT_MARGIN_MS 2000 /* an effect may act so much longer than its deadline */

struct task {
	struct engine *engine;
	unsigned id;
	enum stage stage;
	unsigned waiting;	/* replies this stage still waits for */
	int64_t timer_ms;	/* INT64_MAX: none */

	struct arena arena;	/* lives as long as the task: the ask, the record */
	struct ask ask;
	struct ddl ddl;
	const char *normal;
	int64_t until_ms;	/* monotonic: the asker's patience */

	bool leader, have_record, recorded;
	int64_t epoch;
	char holder[ACTOR_MAX + 1];
	struct arena record_arena, draft_arena;
	struct change record;	/* as read or written last */
	struct change draft;	/* being written */
	struct history_entry entry;
	char evidence[REASON_MAX];
	struct watch watch;

	struct look looks[2];
	unsigned current;	/* the finished one; the other is under way */
	bool have_look, prefer_direct, ever_seen;
	unsigned failed_looks, failed_writes;
	int64_t quiet_since_ms;	/* looks have shown nothing new since then */
	uint64_t look_digest;	/* of what the last look showed */
	uint32_t facts;
	struct progress progress;
	const struct rule *rule;

	/* opening and verifying: one definition per shard */
	struct arena open_arena;
	const struct topo_shard *survey;
	size_t survey_count;
	const char **definitions; /* NULL: not answered; "": no such table */
	struct vtctld_reply keyspaces, topology;
	uint32_t next_generation; /* of a new record, as far as the store knows */
	uint32_t discovered;	/* highest generation found in the fleet */
	bool discovered_live, discovered_released;
	unsigned unseen;	/* shards that did not answer in this stage */
	char trouble[REASON_MAX];

	struct proof proof;
	uint32_t verdict_facts;	/* FACT_PROVEN, FACT_DISPROVEN: result of the last verify */
	bool verified_now;	/* verify ran after the current look */
	const char *checks[CHECKS_MAX];
	size_t check_count;
	struct arena check_arena;

	enum effect in_flight;
	struct arena effect_arena;
	int64_t idle_at_ms;	/* monotonic: from then on no effect sent before can act */
	unsigned effects_ended;	/* a look that began before an effect ended tells nothing about it */
	int64_t ended_until_ms;	/* in_flight_until_ms of the last attempt that is known to have ended */
	char effect_text[REASON_MAX]; /* outcome of the last effect that was not OK */
	unsigned effects_sent[_EFFECT_MAX];

	bool write_failed, judged, already, asked;
	struct view view;
	struct shard_view *shard_views;
	char reason[REASON_MAX + 256];
	char advice[REASON_MAX];
};

struct pending {
	struct task *task;
	enum purpose purpose;
	uint32_t index;
	uint32_t round;	/* guards the slot against late replies */
	bool used;
};

struct engine {
	struct engine_config config;
	struct arena arena;
	int64_t now_ms, wall_ms;
	uint64_t random;
	bool stopping;
	struct task **tasks;
	size_t task_count;
	struct request *queue;
	size_t queue_head, queue_tail, queue_size;
	struct pending *pending;
	size_t pending_count, pending_used;
};

/* engine.c */
uint64_t engine_chance(struct engine *engine);
/** an empty request that will be answered to @task; fill it before the next call */
struct request *engine_emit(struct task *task, enum request_kind kind, enum purpose purpose, size_t index,
			    struct arena *arena);
struct request *engine_emit_rpc(struct task *task, enum vtctld_method method, enum purpose purpose, size_t index,
				struct arena *arena);
void task_idle(struct task *task, int64_t delay_ms);
void task_end(struct task *task, const struct error *error);
void task_set_record(struct task *task, const struct change *change);
void change_copy(struct arena *arena, const struct change *from, struct change *ret);
bool task_may_act(const struct task *task);

void task_fail(struct task *task, enum error_code code, const char *format, ...) printf_like(3, 4);
/** not possible now: say why and try again later, unless the asker's patience is over */
void task_hold(struct task *task, const char *format, ...) printf_like(2, 3);

/* record.c */
void record_start(struct task *task);
void record_reply(struct task *task, enum purpose purpose, const struct reply *reply);
/** try a write again later that somebody else's was quicker than */
void record_retry(struct task *task);
/** until when an effect written into @record may act, as time from now: bounded, whatever the clocks did */
int64_t record_busy_ms(const struct task *task, const struct change *record, bool for_reversal);
bool record_was_released(const struct change *record);
void record_trouble(struct task *task, const struct reply *reply);
bool goal_met_by(enum phase phase, enum goal goal);

/* open.c */
void open_survey(struct task *task);
void open_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply);
/** a table's CREATE statement in GetSchema's answer; "": no such table */
const char *open_definition(const struct vtctld_reply *reply, const char *table);
void open_unreachable(struct task *task, const struct vtctld_reply *reply);

/* observe.c */
void observe_start(struct task *task);
void observe_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply);
/** a shard in the topology of a look; NULL: none */
const struct topo_shard *observe_shard(const struct look *look, const char *name);
void observe_confirm(struct task *task);
static inline struct look *task_look(struct task *task) { return &task->looks[task->current]; }

/* decide.c */
void decide(struct task *task);
void decide_reply(struct task *task, enum purpose purpose, const struct reply *reply);

/* verify.c */
void verify_start(struct task *task);
void verify_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply);

/* view.c */
void view_touch(struct task *task);
