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

static uint64_t pending_take(struct task *task, enum purpose purpose, size_t index)
{
	struct engine *engine = task->engine;
	size_t slot = 0;

	if (engine->pending_used == engine->pending_count)
		engine->pending = grow(engine->pending, &engine->pending_count, sizeof(*engine->pending));
	while (engine->pending[slot].used)
		slot++;

	struct pending *pending = &engine->pending[slot];

	*pending = (struct pending){ .task = task, .purpose = purpose, .index = (uint32_t)index,
				     .round = pending->round + 1, .used = true };
	engine->pending_used++;
	return (uint64_t)pending->round << 32 | (uint32_t)slot;
}

struct request *engine_emit(struct task *task, enum request_kind kind, enum purpose purpose, size_t index,
			    struct arena *arena)
{
	struct engine *engine = task->engine;

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

	struct request *request = &engine->queue[engine->queue_tail++];

	*request = (struct request){ .kind = kind, .arena = arena };
	request->tag = pending_take(task, purpose, index);
	if (purpose != FOR_EFFECT)
		task->waiting++;
	return request;
}

struct request *engine_emit_rpc(struct task *task, enum vtctld_method method, enum purpose purpose, size_t index,
				struct arena *arena)
{
	struct request *request = engine_emit(task, REQUEST_RPC, purpose, index, arena);
	const struct engine_config *config = &task->engine->config;

	request->rpc = (struct vtctld_request){
		.tag = request->tag,
		.method = method,
		.keyspace = task->ask.keyspace,
		.timeout_ms = vtctld_method_is_effect(method) ? config->effect_timeout_ms : config->read_timeout_ms,
	};
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

void engine_reply(struct engine *engine, const struct reply *reply)
{
	size_t slot = (uint32_t)reply->tag;
	uint32_t round = (uint32_t)(reply->tag >> 32);

	if (slot >= engine->pending_count || !engine->pending[slot].used || engine->pending[slot].round != round)
		return;

	struct pending pending = engine->pending[slot];
	struct task *task = pending.task;

	engine->pending[slot].used = false;
	engine->pending_used--;
	if (pending.purpose != FOR_EFFECT)
		task->waiting--;
	view_touch(task);
	switch (pending.purpose) {
	case FOR_LEASE: case FOR_FIND: case FOR_ASK:
		record_reply(task, pending.purpose, reply);
		return;
	case FOR_KEYSPACES: case FOR_DISCOVER: case FOR_BEFORE: case FOR_INSERT: case FOR_BUSY_TABLE:
		open_reply(task, pending.purpose, pending.index, reply);
		return;
	case FOR_TOPOLOGY: case FOR_TABLETS: case FOR_ROWS: case FOR_DIRECT: case FOR_CONFIRM:
		if (task->stage == STAGE_SURVEY)
			open_reply(task, pending.purpose, pending.index, reply);
		else
			observe_reply(task, pending.purpose, pending.index, reply);
		return;
	case FOR_VERIFY: case FOR_PROOF:
		verify_reply(task, pending.purpose, pending.index, reply);
		return;
	case FOR_WRITE: case FOR_ATTEMPT: case FOR_EFFECT:
		decide_reply(task, pending.purpose, reply);
		return;
	}
}

/* ---- Tasks. ---- */

void task_idle(struct task *task, int64_t delay_ms)
{
	task->stage = STAGE_IDLE;
	task->timer_ms = task->engine->now_ms + delay_ms;
	view_touch(task);
}

void task_end(struct task *task, const struct error *error)
{
	task->stage = STAGE_ENDED;
	task->timer_ms = INT64_MAX;
	task->view.ended = true;
	if (error)
		task->view.error = *error;
	view_touch(task);
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
	return task->leader && !task->engine->config.read_only && !task->engine->stopping;
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

/* Takes over a record; @change may live in draft_arena, never in record_arena. */
void task_set_record(struct task *task, const struct change *change)
{
	bool same_shards = task->have_record && task->record.shard_count == change->shard_count;

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
	engine->random = config->seed;
	engine->now_ms = now_ms;
	engine->wall_ms = wall_ms;
	return engine;
}

static void task_free(struct task *task)
{
	struct arena *arenas[] = { &task->record_arena, &task->draft_arena, &task->open_arena, &task->check_arena,
				   &task->effect_arena, &task->looks[0].arena, &task->looks[1].arena, &task->arena };

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
	free(engine->tasks);
	free(engine->queue);
	free(engine->pending);
	arena_release(&engine->arena);
	free(engine);
	return NULL;
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
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		abort();
	arena_init(&task->arena, 0);
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
	task->engine = engine;
	task->id = (unsigned)engine->task_count;
	task->ask = *ask;
	task->ask.keyspace = arena_strdup(&task->arena, ask->keyspace);
	task->ask.ddl = arena_strdup(&task->arena, ask->ddl);
	task->ask.uuid = arena_strdup(&task->arena, ask->uuid);
	task->ask.strategy_extras = arena_strdup(&task->arena, ask->strategy_extras);
	task->until_ms = engine->now_ms + (ask->deadline_ms > 0 ? ask->deadline_ms : DEADLINE_DEFAULT_MS);
	task->timer_ms = INT64_MAX;
	engine->tasks[engine->task_count++] = task;
	*ret_id = task->id;
	view_touch(task);
	record_start(task);
	return 0;
}

/* The timer of an idle task. A step begins with the lease and the record: another may have written it. */
static void task_wake(struct task *task)
{
	task->timer_ms = INT64_MAX;
	if (task->stage == STAGE_IDLE && !task->engine->stopping)
		record_start(task);
}

void engine_advance(struct engine *engine, int64_t now_ms, int64_t wall_ms)
{
	if (now_ms > engine->now_ms)
		engine->now_ms = now_ms;
	engine->wall_ms = wall_ms;
	for (size_t i = 0; i < engine->task_count; i++)
		if (engine->tasks[i]->timer_ms <= engine->now_ms)
			task_wake(engine->tasks[i]);
}

int64_t engine_wake_ms(const struct engine *engine)
{
	int64_t wake_ms = INT64_MAX;

	for (size_t i = 0; i < engine->task_count; i++)
		if (engine->tasks[i]->timer_ms < wake_ms)
			wake_ms = engine->tasks[i]->timer_ms;
	return wake_ms;
}

void engine_stop(struct engine *engine)
{
	if (engine->stopping)
		return;
	engine->stopping = true;
	for (size_t i = 0; i < engine->task_count; i++)
		engine->tasks[i]->timer_ms = INT64_MAX;
}

bool engine_is_idle(const struct engine *engine)
{
	return engine->pending_used == 0 && engine->queue_head == engine->queue_tail;
}
