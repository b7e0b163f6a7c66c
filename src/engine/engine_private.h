#pragma once
/*
 * Inside of the engine. One task per change that is being worked on; a task is always in exactly one
 * stage, and leaves it when the replies it waits for are there, or when its timer fires.
 *
 *	record.c   LEASE -> FIND -> ASK                                       every step begins here
 *	open.c     SURVEY -> DISCOVER -> BEFORE -> INSERT                     where there is no record
 *	observe.c  LOOK                                                       one look at the fleet
 *	decide.c   (facts, rule) -> WRITE | ATTEMPT -> effect | CONFIRM | VERIFY | REST
 *	verify.c   VERIFY                                                     the definitions and VTGate, side by side
 *	           IDLE                                                       the timer leads to LEASE or LOOK
 *
 * An effect in flight is beside the stage: watching goes on meanwhile.
 *
 * Beside the tasks:
 *	keyspace.c	the lease of each keyspace: taken, renewed, followed, given back (R3)
 *	server.c	a vtctld that does not answer is asked by one call at a time
 *	serve.c		every live change of the store
 *	resident.c	one of them: it has a task only while it moves
 *	sweep.c		one observation per keyspace and tick: which residents moved
 *	news.c, timer.c
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
	STAGE_QUEUE,	/* is another change of the keyspace under way? */
	STAGE_ATTEMPT,	/* an effect's attempt */
	STAGE_IDLE,
	STAGE_ENDED,
};

/* What a reply is for. Those before FOR_LEASE belong to no task. */
enum purpose {
	FOR_RENEWAL,	    /* keyspace: keep or take over its lease */
	FOR_RELEASE,	    /* keyspace */
	FOR_LIVE,
	FOR_SWEEP,	    /* keyspace: rows */
	FOR_SWEEP_TOPOLOGY, /* keyspace */
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
	FOR_QUEUE,
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
	bool probing;			/* the server was down: the topology is asked alone first */
	bool confirm_tried;		/* the topology was read again after it */
	int64_t finished_ms;
	unsigned effects_ended;		/* the task's count when it began */
};

/* ---- Timers: a heap, so that thousands cost nothing while they wait. ---- */

struct timer {
	int64_t at_ms;	/* monotonic; INT64_MAX: not set */
	size_t slot;	/* in the heap, from 1; 0: not in it */
	void (*fire)(struct timer *timer);
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* ---- Keyspaces: who may act, and what is seen of all its changes at once. ---- */

#define LEASE_DEFAULT_MS 30000
#define LEASE_MARGIN_MS 1000 /* ours is over so much earlier for us */

struct keyspace {
	struct engine *engine;
	char name[KEYSPACE_MAX + 1];
	char scope[SCOPE_MAX + 1];
	unsigned server;
	unsigned tasks;		 /* that work on it */

	/* The lease. Until the first answer nobody is known to hold it. */
	bool leader, asked;
	bool no_end;		 /* another held it, and such a lease ends with its process */
	int64_t epoch;
	int64_t until_ms;	 /* monotonic: ours ends; of another: may be tried then */
	int64_t asked_at_ms;	 /* monotonic, when the last answered call was made */
	char holder[ACTOR_MAX + 1];
	bool renewing;		 /* a call of the timer's is under way */
	struct timer renewal;	 /* of ours; of another's: take it over */
	unsigned effects;	 /* in flight */
	int64_t effects_until_ms;

	/* Serving: its live changes, sorted by uuid, and the sweep over them. */
	struct resident **residents;
	size_t resident_count, resident_size;
	struct sweep *sweep;	 /* under way; NULL: none */
	struct timer sweep_timer;
	char **shard_names;	 /* sorted, as the topology had them last */
	size_t shard_count;
	int64_t topology_at_ms;	 /* monotonic; 0: not read yet */
	int64_t observed_at_ms;	 /* wall clock of the last answered sweep or look */
	unsigned failed_sweeps;
};

/* A vtctld. While it does not answer, only one call at a time finds out whether it does again. */
struct server {
	int64_t down_since_ms; /* monotonic; 0: it answers */
	int64_t next_try_ms;
	unsigned failures, sweeps;
};

/* A live change of the store. Small: most only wait, and thousands of them may. */
struct resident {
	struct keyspace *keyspace;
	struct live_change change; /* its texts are ours */
	struct task *task;	   /* NULL: nothing of its own is going on */
	struct timer timer;	   /* a task of its own again */
	struct shard_brief *shards; /* of the keyspace's shard_names */
	uint32_t shard_count;
	bool listed;		   /* in the last survey of the store */
	bool wanted;		   /* waits for a task of its own: too many work already */
	bool told;		   /* what it waits for was told */
	uint16_t marks;		   /* of the present sweep: rows of it, and ... */
	uint16_t ready_rows;
	bool odd;		   /* ... one that a look must explain */
	int rule;		   /* what it waits for */
	int64_t rule_since_ms;
	char *waiting;		   /* in words, where that is more than the rule's; NULL */
	char refusal[80];	   /* told last */
	int64_t seen_at_ms;	   /* wall clock; 0: never */
};

#define CHECKS_MAX 64
#define EFFECT_MARGIN_MS 2000 /* an effect may act so much longer than its deadline */
#define LEASE_SLACK_MS 5000   /* between the write that makes a lease long, and the sending */

struct task {
	struct engine *engine;
	struct keyspace *keyspace;
	struct resident *resident; /* NULL: somebody asked for it */
	struct task *next_ended;
	enum stage stage;
	unsigned waiting;	/* replies this stage still waits for */
	struct timer timer;

	struct arena arena;	/* lives as long as the task: the ask, the record */
	struct ask ask;
	struct ddl ddl;
	const char *normal;
	int64_t until_ms;	/* monotonic: the asker's patience */
	int64_t late_at_ms;	/* monotonic: the record's deadline */

	bool have_record, recorded;
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
	unsigned queued;	/* times in a row that another change was in the way */
	char queued_behind[UUID_LENGTH + TABLE_MAX + 24]; /* which; "": none */
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
	int64_t ended_until_ms;	/* in_flight_until_ms of the last attempt that is known to have ended, with all before it */
	bool earlier_acts;	/* one before the last attempt may act still */
	char effect_text[REASON_MAX]; /* outcome of the last effect that was not OK */
	unsigned effects_sent[_EFFECT_MAX];

	bool write_failed, judged, already, asked;
	struct view view;
	struct shard_view *shard_views;
	char reason[REASON_MAX + 256];
	char advice[REASON_MAX];
};

struct pending {
	struct task *task;	   /* NULL: the keyspace's, or the engine's own */
	struct keyspace *keyspace; /* NULL: the engine's own */
	enum purpose purpose;
	enum vtctld_method method;
	uint32_t index;
	uint32_t round;	/* guards the slot against late replies */
	uint32_t next;	/* free slot, from 1 */
	bool used;
	unsigned server; /* that an RPC went to */
	int64_t sent_at_ms;
};

#define NEWS_MAX 1024

struct engine {
	struct engine_config config;
	struct arena arena;
	int64_t now_ms, wall_ms;
	uint64_t random;
	bool stopping;
	struct task **tasks; /* that were asked for; the index is the id */
	size_t task_count;
	struct request *queue;
	size_t queue_head, queue_tail, queue_size;
	struct pending *pending;
	size_t pending_count, pending_used;
	uint32_t pending_free; /* from 1 */
	struct timer **timers; /* a heap from 1 */
	size_t timer_count, timer_size;
	struct keyspace **keyspaces; /* sorted by name */
	size_t keyspace_count;
	struct server *servers;
	size_t server_count;
	struct engine_counters counters;

	/* serving */
	bool serving;
	struct timer survey_timer;
	struct arena live_arena;
	unsigned failed_surveys, serving_tasks, looks;
	int64_t surveyed_at_ms; /* wall clock */
	char store_trouble[REASON_MAX];
	bool store_is_lost;
	struct task *ended; /* to be freed between two events */
	size_t wanted, wanted_from; /* residents that wait for a task; the keyspace that is next */
	struct news *news;
	size_t news_head, news_count;
	struct resident_view shown;
	struct keyspace_view shown_keyspace;
};

/* timer.c */
void timer_set(struct engine *engine, struct timer *timer, int64_t at_ms);
void timer_clear(struct engine *engine, struct timer *timer);
/** within half a second, at a moment of its own: when many begin, they are not in step */
int64_t timer_soon_ms(struct engine *engine);
/** one that is set fires that soon */
void timer_hurry(struct engine *engine, struct timer *timer);

/* keyspace.c */
struct keyspace *keyspace_get(struct engine *engine, const char *name);
void keyspaces_free(struct engine *engine);
/** what a LEASE call answered; @sent_at_ms: when it was made */
void keyspace_lease_reply(struct keyspace *keyspace, const struct reply *reply, int64_t sent_at_ms);
/** whether the last answer is so fresh that a step need not ask again */
bool keyspace_lease_is_fresh(const struct keyspace *keyspace);
bool keyspace_leads(const struct keyspace *keyspace);
/** R3: whether an effect sent now would end within the lease */
bool keyspace_covers(const struct keyspace *keyspace, int64_t effect_ms);
/** a write made the lease last at least until then */
void keyspace_extended(struct keyspace *keyspace, int64_t until_ms);
/** for how long to ask: 30 s, or until every effect in flight has ended */
int64_t keyspace_lease_ms(const struct keyspace *keyspace);
void keyspace_effect_began(struct keyspace *keyspace, int64_t until_ms);
void keyspace_effect_ended(struct keyspace *keyspace);
void keyspace_reply(struct keyspace *keyspace, const struct pending *pending, const struct reply *reply);
/** another's lease is seen to last so long still (<= 0: nobody's): plan to take it over */
void keyspace_follow(struct keyspace *keyspace, const struct lease_row *row);
/** nothing to do here any more: give the lease back, unless an effect is in flight */
void keyspace_release(struct keyspace *keyspace);

/* server.c */
bool server_is_down(const struct engine *engine, unsigned server);
/** while it is down: 0, now is the time, and the caller's call is the one; else how long to wait */
int64_t server_wait_ms(struct engine *engine, unsigned server);
void server_answered(struct engine *engine, const struct pending *pending, const struct vtctld_reply *reply);
/** those that do not answer may be others now: they are asked at once */
void server_hurry(struct engine *engine);

/* serve.c */
void serve_reply(struct engine *engine, const struct reply *reply);
/** take up, or drop, what the keyspace's residents need after its lease changed hands */
void serve_lease_changed(struct keyspace *keyspace);
/** what waits is looked at soon, all of it: each must only find out that it waits for something else */
void serve_hurry(struct engine *engine);
/** whether any of its changes may need us; else its lease is left to others */
bool serve_has_work(const struct keyspace *keyspace);

/* resident.c */
/** NULL: there is none of that uuid */
struct resident *resident_find(const struct keyspace *keyspace, const char *uuid);
struct resident *resident_add(struct keyspace *keyspace, const struct live_change *change);
void resident_set_reason(struct resident *resident, const char *reason);
void resident_tell_move(struct resident *resident, enum phase from);
/** a task of its own, as soon as there is room */
void resident_want(struct resident *resident);
/** it waits by this rule; told once it has stood for a while */
void resident_waits(struct resident *resident, int rule, const char *words);
/** the record as it is now, whoever wrote it */
void resident_note(struct resident *resident, const struct change *record);
void resident_refused(struct resident *resident, const char *text);
/** what a look of its own showed */
void resident_looked(struct task *task);
/** it has only to wait: whether its task may go, and did */
bool resident_park(struct task *task, int64_t delay_ms);
void resident_task_ended(struct task *task);
void resident_free(struct resident *resident);
struct progress resident_progress(const struct resident *resident);
/** free the tasks that ended, between two events */
void serve_bury(struct engine *engine);

/* sweep.c */
void sweep_fire(struct timer *timer);
void sweep_reply(struct keyspace *keyspace, enum purpose purpose, const struct reply *reply);
void sweep_free(struct keyspace *keyspace);
/** the next one comes soon, even if one is under way: that may ask one that is no longer meant */
void sweep_hurry(struct keyspace *keyspace);
/** index of a shard in keyspace->shard_names; shard_count: none */
size_t sweep_shard(const struct keyspace *keyspace, const char *name);
void sweep_brief(struct shard_brief *brief, const struct migration *row);
/** the topology as somebody has just read it */
void sweep_topology(struct keyspace *keyspace, const struct topo_shard *shards, size_t count);
/** nothing is seen of it; room for what will be */
void sweep_forget(struct resident *resident);

/* news.c */
/** reason is cut; @keyspace, @resident may be NULL */
struct news *news_add(struct engine *engine, enum news_kind kind, const struct keyspace *keyspace,
		      const struct resident *resident, const char *format, ...) printf_like(5, 6);

/* engine.c */
uint64_t engine_chance(struct engine *engine);
/** an empty request that is answered to @keyspace, or to the engine itself where that is NULL */
struct request *engine_emit_for(struct engine *engine, struct keyspace *keyspace, enum request_kind kind,
				enum purpose purpose, struct arena *arena);
struct request *engine_emit_rpc_for(struct keyspace *keyspace, enum vtctld_method method, enum purpose purpose,
				    struct arena *arena);
/** an empty request that will be answered to @task; fill it before the next call */
struct request *engine_emit(struct task *task, enum request_kind kind, enum purpose purpose, size_t index,
			    struct arena *arena);
struct request *engine_emit_rpc(struct task *task, enum vtctld_method method, enum purpose purpose, size_t index,
				struct arena *arena);
void task_idle(struct task *task, int64_t delay_ms);
void task_end(struct task *task, const struct error *error);
void task_set_record(struct task *task, const struct change *change);
struct task *task_new(struct engine *engine, const char *keyspace);
void task_free(struct task *task);
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
void decide_reply(struct task *task, const struct pending *pending, const struct reply *reply);
/** the first attempt of a submit, when nothing is in its way */
void decide_submit(struct task *task);

/* queue.c */
/** whether the submit that the rule names is the first of this change */
bool queue_is_needed(const struct task *task);
void queue_ask(struct task *task);
void queue_reply(struct task *task, const struct reply *reply);

/* verify.c */
void verify_start(struct task *task);
void verify_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply);

/* view.c */
void view_touch(struct task *task);
const struct view *task_view(struct task *task);
