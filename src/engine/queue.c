/*
 * One change of a keyspace after the other. Vitess takes one migration context at a time, shard by shard
 * (--singleton-context): two submits that reached some shards each would wait for each other for ever. So the
 * first attempt of a change is made only while no other one of the store is under way. The lease makes the
 * order: whoever lost it meanwhile is refused when it writes the attempt.
 */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>

#define QUEUE_BASE_MS 2000
#define QUEUE_CAP_MS 30000

bool queue_is_needed(const struct task *task)
{
	return task->record.phase == PHASE_SUBMITTING && task->record.last_effect != EFFECT_SUBMIT;
}

void queue_ask(struct task *task)
{
	struct request *request;

	task->stage = STAGE_QUEUE;
	request = engine_emit(task, REQUEST_STORE_LIST, FOR_QUEUE, 0, &task->open_arena);
	request->filter = (struct store_filter){ .cluster = task->engine->config.cluster,
						 .keyspace = task->keyspace->name, .live_only = true };
}

/* It has rows on some shard, or may have, and is not at its end. */
static bool is_under_way(const struct change *change)
{
	return change->phase == PHASE_SUBMITTED || change->phase == PHASE_COMPLETING ||
	       change->phase == PHASE_CANCELLING ||
	       (change->phase == PHASE_SUBMITTING && change->last_effect == EFFECT_SUBMIT);
}

/* Where nobody serves, the other's driver may be waiting for this very lease. */
static void stand_behind(struct task *task, const struct change *other)
{
	struct engine *engine = task->engine;
	int64_t delay_ms = schedule_backoff(QUEUE_BASE_MS, QUEUE_CAP_MS, task->queued++, engine_chance(engine));

	snprintf(task->queued_behind, sizeof(task->queued_behind), "%s of table '%s'", other->uuid, other->table);
	if (engine->now_ms >= task->until_ms) {
		task_fail(task, ERROR_WAITING, "change %s of keyspace %s is under way, and Vitess takes one at a time; run this again when it has ended",
			  task->queued_behind, task->keyspace->name);
		return;
	}
	if (!engine->serving && task->keyspace->tasks == 1)
		keyspace_release(task->keyspace);
	if (!task->resident || !resident_park(task, delay_ms))
		task_idle(task, delay_ms);
}

void queue_reply(struct task *task, const struct reply *reply)
{
	if (reply->result < 0) {
		record_trouble(task, reply);
		return;
	}
	for (size_t i = 0; i < reply->change_count; i++)
		if (strcmp(reply->changes[i].uuid, task->record.uuid) != 0 && is_under_way(&reply->changes[i])) {
			stand_behind(task, &reply->changes[i]);
			return;
		}
	task->queued = 0;
	task->queued_behind[0] = '\0';
	if (task_may_act(task))
		decide_submit(task);
	else
		task_idle(task, 0);
}
