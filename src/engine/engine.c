#include "vtddl/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "vtddl/identity.h"

static void *grow(void *memory, size_t *size, size_t member)
{
	size_t bigger = *size ? *size * 2 : 16;
	char *grown = realloc(memory, bigger * member);

	if (!grown)
		abort();
	memset(grown + *size * member, 0, (bigger - *size) * member);
	*size = bigger;
	return grown;
}

/* splitmix64: enough for jitter, and the same run for the same seed. */
uint64_t engine_chance(struct engine *engine)
{
	uint64_t z = (engine->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* ---- Requests and their replies: a slot number and a round make the tag. ---- */

static uint64_t pending_take(struct engine *engine, const struct pending *fill)
{
	struct pending *pending;
	uint32_t slot;

	if (!engine->pending_free) {
		size_t old = engine->pending_count;

		engine->pending = grow(engine->pending, &engine->pending_count, sizeof(*engine->pending));
		for (size_t i = engine->pending_count; i-- > old;) {
			engine->pending[i].next = engine->pending_free;
			engine->pending_free = (uint32_t)i + 1;
		}
	}
	slot = engine->pending_free - 1;
	pending = &engine->pending[slot];
	engine->pending_free = pending->next;
	engine->pending_used++;

	uint32_t round = pending->round + 1;

	*pending = *fill;
	pending->round = round;
	pending->used = true;
	pending->server = fill->keyspace ? fill->keyspace->server : 0;
	pending->sent_at_ms = engine->now_ms;
	return (uint64_t)round << 32 | slot;
}

static struct request *emit(struct engine *engine, enum request_kind kind, const struct pending *pending,
			    struct arena *arena)
{
	struct request *request;

	if (engine->queue_tail == engine->queue_size) {
		if (engine->queue_head > 0) {
			memmove(engine->queue, engine->queue + engine->queue_head,
				(engine->queue_tail - engine->queue_head) * sizeof(*engine->queue));
			engine->queue_tail -= engine->queue_head;
			engine->queue_head = 0;
		} else {
			engine->queue = grow(engine->queue, &engine->queue_size, sizeof(*engine->queue));
		}
	}
	request = &engine->queue[engine->queue_tail++];
	*request = (struct request){ .kind = kind, .arena = arena };
	request->tag = pending_take(engine, pending);
	if (kind != REQUEST_RPC && kind != REQUEST_PROOF)
		engine->counters.store_calls++;
	return request;
}

static void fill_rpc(struct request *request, const struct keyspace *keyspace, enum vtctld_method method)
{
	const struct engine_config *config = &keyspace->engine->config;

	request->rpc = (struct vtctld_request){
		.tag = request->tag,
		.method = method,
		.server = keyspace->server,
		.keyspace = keyspace->name,
		.timeout_ms = vtctld_method_is_effect(method) ? config->effect_timeout_ms : config->read_timeout_ms,
	};
}

struct request *engine_emit_for(struct engine *engine, struct keyspace *keyspace, enum request_kind kind,
				enum purpose purpose, struct arena *arena)
{
	return emit(engine, kind, &(struct pending){ .keyspace = keyspace, .purpose = purpose }, arena);
}

struct request *engine_emit_rpc_for(struct keyspace *keyspace, enum vtctld_method method, enum purpose purpose,
				    struct arena *arena)
{
	struct request *request = emit(keyspace->engine, REQUEST_RPC,
				       &(struct pending){ .keyspace = keyspace, .purpose = purpose, .method = method }, arena);

	fill_rpc(request, keyspace, method);
	return request;
}

static struct request *emit_task(struct task *task, enum request_kind kind, enum vtctld_method method,
				 enum purpose purpose, size_t index, struct arena *arena)
{
	const struct pending pending = { .task = task, .keyspace = task->keyspace, .purpose = purpose, .method = method,
					 .index = (uint32_t)index };

	if (purpose != FOR_EFFECT)
		task->waiting++;
	return emit(task->engine, kind, &pending, arena);
}

struct request *engine_emit(struct task *task, enum request_kind kind, enum purpose purpose, size_t index,
			    struct arena *arena)
{
	return emit_task(task, kind, _VTCTLD_METHOD_MAX, purpose, index, arena);
}

struct request *engine_emit_rpc(struct task *task, enum vtctld_method method, enum purpose purpose, size_t index,
				struct arena *arena)
{
	struct request *request = emit_task(task, REQUEST_RPC, method, purpose, index, arena);

	fill_rpc(request, task->keyspace, method);
	return request;
}

bool engine_next(struct engine *engine, struct request *ret)
{
	if (engine->queue_head == engine->queue_tail) {
		engine->queue_head = engine->queue_tail = 0;
		return false;
	}
	*ret = engine->queue[engine->queue_head++];
	return true;
}

const double engine_rpc_bounds_s[RPC_BOUNDS] = { .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30 };

static void count(struct engine *engine, const struct pending *pending, const struct reply *reply)
{
	struct engine_counters *counters = &engine->counters;
	double seconds = (double)(engine->now_ms - pending->sent_at_ms) / 1000;
	unsigned bucket = 0;

	if (reply->kind == REQUEST_RPC) {
		while (bucket < RPC_BOUNDS && seconds > engine_rpc_bounds_s[bucket])
			bucket++;
		counters->rpcs[pending->method][reply->rpc.outcome]++;
		counters->rpc_seconds[pending->method][bucket]++;
		counters->rpc_seconds_sum[pending->method] += seconds;
	} else if (reply->kind != REQUEST_PROOF) {
		counters->store_failures += reply->result < 0;
		engine->store_is_lost |=
			reply->result < 0 && reply->error.code == ERROR_STORE && reply->error.detail == STORE_LOST;
		counters->store_conflicts += reply->kind == REQUEST_STORE_UPDATE && reply->result == STORE_CONFLICT;
	}
}

static void task_reply(struct task *task, const struct pending *pending, const struct reply *reply)
{
	if (pending->purpose != FOR_EFFECT)
		task->waiting--;
	view_touch(task);
	switch (pending->purpose) {
	case FOR_LEASE:
		keyspace_lease_reply(task->keyspace, reply, pending->sent_at_ms);
		record_reply(task, pending->purpose, reply);
		return;
	case FOR_FIND: case FOR_ASK:
		record_reply(task, pending->purpose, reply);
		return;
	case FOR_KEYSPACES: case FOR_DISCOVER: case FOR_BEFORE: case FOR_INSERT: case FOR_BUSY_TABLE:
		open_reply(task, pending->purpose, pending->index, reply);
		return;
	case FOR_TOPOLOGY: case FOR_TABLETS: case FOR_ROWS: case FOR_DIRECT: case FOR_CONFIRM:
		if (task->stage == STAGE_SURVEY)
			open_reply(task, pending->purpose, pending->index, reply);
		else
			observe_reply(task, pending->purpose, pending->index, reply);
		return;
	case FOR_VERIFY: case FOR_PROOF:
		verify_reply(task, pending->purpose, pending->index, reply);
		return;
	case FOR_QUEUE:
		queue_reply(task, reply);
		return;
	case FOR_WRITE: case FOR_ATTEMPT: case FOR_EFFECT:
		decide_reply(task, pending, reply);
		return;
	default:
		return;
	}
}

void engine_reply(struct engine *engine, const struct reply *reply)
{
	size_t slot = (uint32_t)reply->tag;
	uint32_t round = (uint32_t)(reply->tag >> 32);

	if (slot >= engine->pending_count || !engine->pending[slot].used || engine->pending[slot].round != round)
		return;

	struct pending pending = engine->pending[slot];

	engine->pending[slot].used = false;
	engine->pending[slot].next = engine->pending_free;
	engine->pending_free = (uint32_t)slot + 1;
	engine->pending_used--;
	count(engine, &pending, reply);
	if (reply->kind == REQUEST_RPC)
		server_answered(engine, &pending, &reply->rpc);
	if (pending.task)
		task_reply(pending.task, &pending, reply);
	else if (pending.purpose == FOR_LIVE)
		serve_reply(engine, reply);
	else if (pending.purpose == FOR_SWEEP || pending.purpose == FOR_SWEEP_TOPOLOGY)
		sweep_reply(pending.keyspace, pending.purpose, reply);
	else
		keyspace_reply(pending.keyspace, &pending, reply);
	serve_bury(engine);
}

/* ---- Tasks. ---- */

void task_idle(struct task *task, int64_t delay_ms)
{
	task->stage = STAGE_IDLE;
	timer_set(task->engine, &task->timer, task->engine->stopping ? INT64_MAX : task->engine->now_ms + delay_ms);
	view_touch(task);
}

void task_end(struct task *task, const struct error *error)
{
	task->stage = STAGE_ENDED;
	timer_clear(task->engine, &task->timer);
	task->view.ended = true;
	if (error)
		task->view.error = *error;
	view_touch(task);
	if (task->resident)
		resident_task_ended(task);
}

void task_fail(struct task *task, enum error_code code, const char *format, ...)
{
	struct error error = { .code = code };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error.text, sizeof(error.text), format, arguments);
	va_end(arguments);
	task_end(task, &error);
}

/* Not possible now: say why, try again later, unless the asker's patience is over. */
void task_hold(struct task *task, const char *format, ...)
{
	struct engine *engine = task->engine;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(task->reason, sizeof(task->reason), format, arguments);
	va_end(arguments);
	if (engine->now_ms >= task->until_ms)
		task_fail(task, ERROR_UNAVAILABLE, "%.900s", task->reason);
	else
		task_idle(task, schedule_backoff(1000, 30000, task->failed_looks++, engine_chance(engine)));
}

bool task_may_act(const struct task *task)
{
	return keyspace_leads(task->keyspace) && !task->engine->config.read_only && !task->engine->stopping;
}

void change_copy(struct arena *arena, const struct change *from, struct change *ret)
{
	*ret = *from;
	ret->ddl = arena_strdup(arena, from->ddl);
	ret->strategy = arena_strdup(arena, from->strategy);
	ret->shards = arena_array(arena, from->shard_count ? from->shard_count : 1, sizeof(*ret->shards));
	for (size_t i = 0; i < from->shard_count; i++) {
		ret->shards[i] = from->shards[i];
		ret->shards[i].definition_before = arena_strdup(arena, from->shards[i].definition_before);
		ret->shards[i].definition_after = arena_strdup(arena, from->shards[i].definition_after);
	}
}

static int64_t monotonic_of(const struct engine *engine, int64_t wall_ms)
{
	int64_t left_ms, at_ms;

	if (__builtin_sub_overflow(wall_ms, engine->wall_ms, &left_ms) ||
	    __builtin_add_overflow(engine->now_ms, left_ms, &at_ms))
		return wall_ms > 0 ? INT64_MAX : INT64_MIN;
	return at_ms;
}

/* Takes over a record; @change may live in draft_arena, never in record_arena. */
void task_set_record(struct task *task, const struct change *change)
{
	bool same_shards = task->have_record && task->record.shard_count == change->shard_count;

	/* what is left is counted by the monotonic clock, so that setting the wall clock ends no run */
	if (!task->have_record || task->record.deadline_at_ms != change->deadline_at_ms)
		task->late_at_ms = monotonic_of(task->engine, change->deadline_at_ms);
	arena_release(&task->record_arena);
	change_copy(&task->record_arena, change, &task->record);
	task->have_record = true;
	if (!task->normal) { /* asked for by uuid: the statement is the record's */
		char *normal = arena_alloc(&task->arena, strlen(change->ddl) + 1);
		struct error ignored;

		task->normal = normal;
		if (ddl_parse(change->ddl, strlen(change->ddl), &task->ddl, normal, &ignored) < 0)
			task->ddl.understood = false;
	}
	if (task->resident)
		resident_note(task->resident, &task->record);
	if (same_shards)
		return;
	watch_init(&task->watch, arena_array(&task->arena, change->shard_count + 1, sizeof(struct shard_watch)),
		   change->shard_count);
	task->shard_views = arena_array(&task->arena, change->shard_count + 1, sizeof(*task->shard_views));
	task->have_look = false;
}

static const char *copy(struct engine *engine, const char *text)
{
	return arena_strdup(&engine->arena, text);
}

struct engine *engine_new(const struct engine_config *config, int64_t now_ms, int64_t wall_ms)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		abort();
	arena_init(&engine->arena, 0);
	engine->config = *config;
	engine->config.cluster = copy(engine, config->cluster);
	engine->config.actor = copy(engine, config->actor);
	engine->config.owner = copy(engine, config->owner);
	engine->config.caller_id = copy(engine, config->caller_id);
	if (!engine->config.lease_ms)
		engine->config.lease_ms = LEASE_DEFAULT_MS;
	engine->random = config->seed;
	engine->now_ms = now_ms;
	engine->wall_ms = wall_ms;
	return engine;
}

void task_free(struct task *task)
{
	struct arena *arenas[] = { &task->record_arena, &task->draft_arena, &task->open_arena, &task->check_arena,
				   &task->effect_arena, &task->looks[0].arena, &task->looks[1].arena, &task->arena };

	timer_clear(task->engine, &task->timer);
	if (task->keyspace)
		task->keyspace->tasks--;
	for (size_t i = 0; i < sizeof(arenas) / sizeof(arenas[0]); i++)
		arena_release(arenas[i]);
	free(task);
}

struct engine *engine_free(struct engine *engine)
{
	if (!engine)
		return NULL;
	for (size_t i = 0; i < engine->task_count; i++)
		task_free(engine->tasks[i]);
	serve_bury(engine);
	keyspaces_free(engine);
	free(engine->tasks);
	free(engine->queue);
	free(engine->pending);
	free(engine->timers);
	free(engine->servers);
	free(engine->news);
	arena_release(&engine->live_arena);
	arena_release(&engine->arena);
	free(engine);
	return NULL;
}

/* A step begins with the lease and the record: another may have written it. */
static void task_wake(struct timer *timer)
{
	struct task *task = container_of(timer, struct task, timer);

	if (task->stage == STAGE_IDLE && !task->engine->stopping)
		record_start(task);
}

/* @keyspace NULL: it is given later, once it is known to be a name at all. */
struct task *task_new(struct engine *engine, const char *keyspace)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	arena_init(&task->arena, 0);
	task->engine = engine;
	task->timer = (struct timer){ .at_ms = INT64_MAX, .fire = task_wake };
	task->until_ms = INT64_MAX;
	if (keyspace) {
		task->keyspace = keyspace_get(engine, keyspace);
		task->keyspace->tasks++;
	}
	return task;
}

static int check_ask(struct task *task, const struct ask *ask, struct error *reterr)
{
	if (!keyspace_is_valid(ask->keyspace))
		return error_set(reterr, ERROR_USAGE, "the keyspace name '%.80s' is not valid: use letters, digits, _ and -",
				 ask->keyspace);
	if (ask->ddl) {
		char *normal = arena_alloc(&task->arena, strlen(ask->ddl) + 1);

		task->normal = normal;
		return ddl_parse(ask->ddl, strlen(ask->ddl), &task->ddl, normal, reterr);
	}
	if (!ask->uuid || (!uuid_is_valid(ask->uuid) && !context_is_valid(ask->uuid)))
		return error_set(reterr, ERROR_USAGE, "'%.80s' is neither a migration uuid nor a migration context",
				 ask->uuid ? ask->uuid : "");
	return 0;
}

int engine_add(struct engine *engine, const struct ask *ask, unsigned *ret_id, struct error *reterr)
{
	struct task *task = task_new(engine, NULL);

	if (check_ask(task, ask, reterr) < 0) {
		task_free(task);
		return -1;
	}
	if (engine->task_count % 16 == 0) {
		void *more = realloc(engine->tasks, (engine->task_count + 16) * sizeof(*engine->tasks));

		if (!more)
			abort();
		engine->tasks = more;
	}
	task->keyspace = keyspace_get(engine, ask->keyspace);
	task->keyspace->tasks++;
	task->ask = *ask;
	task->ask.keyspace = task->keyspace->name;
	task->ask.ddl = arena_strdup(&task->arena, ask->ddl);
	task->ask.uuid = arena_strdup(&task->arena, ask->uuid);
	task->ask.strategy_extras = arena_strdup(&task->arena, ask->strategy_extras);
	task->until_ms = engine->now_ms + (ask->deadline_ms > 0 ? ask->deadline_ms : DEADLINE_DEFAULT_MS);
	*ret_id = (unsigned)engine->task_count;
	engine->tasks[engine->task_count++] = task;
	view_touch(task);
	record_start(task);
	return 0;
}

/* Those that are due now, and not what they set anew: time stands still for the rest of this call. */
void engine_advance(struct engine *engine, int64_t now_ms, int64_t wall_ms)
{
	if (now_ms > engine->now_ms)
		engine->now_ms = now_ms;
	engine->wall_ms = wall_ms;
	for (size_t due = engine->timer_count; due-- > 0 && engine->timers[1]->at_ms <= engine->now_ms;) {
		struct timer *timer = engine->timers[1];

		timer_clear(engine, timer);
		timer->fire(timer);
		if (engine->timer_count == 0)
			break;
	}
	serve_bury(engine);
}

int64_t engine_wake_ms(const struct engine *engine)
{
	return engine->timer_count ? engine->timers[1]->at_ms : INT64_MAX;
}

void engine_reconfigure(struct engine *engine, int64_t poll_interval_ms, int64_t read_timeout_ms,
			int64_t effect_timeout_ms)
{
	struct engine_config *config = &engine->config;

	config->poll_interval_ms = poll_interval_ms;
	config->read_timeout_ms = read_timeout_ms;
	config->effect_timeout_ms = effect_timeout_ms;
	for (size_t i = 0; config->server_of && i < engine->keyspace_count; i++)
		engine->keyspaces[i]->server = config->server_of(config->user, engine->keyspaces[i]->name);
	server_hurry(engine);
	serve_hurry(engine);
}

void engine_stop(struct engine *engine)
{
	if (engine->stopping)
		return;
	engine->stopping = true;
	while (engine->timer_count)
		timer_clear(engine, engine->timers[1]);
	for (size_t i = 0; i < engine->keyspace_count; i++)
		keyspace_release(engine->keyspaces[i]);
}

bool engine_is_idle(const struct engine *engine)
{
	return engine->pending_used == 0 && engine->queue_head == engine->queue_tail;
}

const struct engine_counters *engine_counters(const struct engine *engine)
{
	return &engine->counters;
}
