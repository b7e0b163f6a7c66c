/*
 * A step begins here: the lease, the record as the store has it, and a person's wish written into it.
 */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>

#include "vtddl/identity.h"

#define ORPHAN_MS 3000 /* from when on an effect of a dead process can no more act */

static void find(struct task *task)
{
	struct engine *engine = task->engine;
	struct change probe = { .generation = 1 };
	struct store_filter filter = { .cluster = engine->config.cluster, .keyspace = task->ask.keyspace };

	task->stage = STAGE_FIND;
	if (task->have_record) {
		filter.uuid_or_context = task->record.uuid;
	} else if (task->ask.ddl) {
		identity_derive(&probe, task->ask.keyspace, task->normal, 1);
		filter.ddl_sha256 = arena_strdup(&task->open_arena, probe.ddl_sha256);
	} else {
		filter.uuid_or_context = task->ask.uuid;
	}
	arena_release(&task->draft_arena);
	engine_emit(task, REQUEST_STORE_LIST, FOR_FIND, 0, &task->draft_arena)->filter = filter;
}

void record_start(struct task *task)
{
	struct engine *engine = task->engine;
	struct request *request;

	arena_release(&task->open_arena);
	task->unseen = 0;
	if (engine->config.read_only || keyspace_lease_is_fresh(task->keyspace)) {
		find(task);
		return;
	}
	task->stage = STAGE_LEASE;
	request = engine_emit(task, REQUEST_STORE_LEASE, FOR_LEASE, 0, &task->open_arena);
	request->scope = task->keyspace->scope;
	request->lease_ms = keyspace_lease_ms(task->keyspace);
}

void record_trouble(struct task *task, const struct reply *reply)
{
	bool is_lost = task->engine->store_is_lost;

	if (((!task->have_record || is_lost) && !task->resident) || task->engine->now_ms >= task->until_ms) {
		task_end(task, &reply->error);
		return;
	}
	task->write_failed = true; /* no effects; looks go on */
	snprintf(task->reason, sizeof(task->reason), "%s", reply->error.text);
	task_idle(task, schedule_backoff(1000, 30000, task->failed_writes++, engine_chance(task->engine)));
}

static void on_lease(struct task *task, const struct reply *reply)
{
	if (reply->result < 0) {
		record_trouble(task, reply);
		return;
	}
	find(task);
}

bool goal_met_by(enum phase phase, enum goal goal)
{
	switch (goal) {
	case GOAL_SUBMITTED:
	case GOAL_READY:
		return phase == PHASE_COMPLETING || phase == PHASE_COMPLETED || phase == PHASE_VERIFIED ||
		       (goal == GOAL_SUBMITTED && phase == PHASE_SUBMITTED);
	case GOAL_COMPLETED:
		return phase == PHASE_COMPLETED || phase == PHASE_VERIFIED;
	case GOAL_VERIFIED:
		return phase == PHASE_VERIFIED;
	case GOAL_CANCELLED:
		return phase == PHASE_CANCELLED;
	default:
		return false;
	}
}

/*
 * A person's wish, written into the record before it is acted on. Whoever does not lead writes it too, under
 * the leader's epoch: the leader finds it when it loads the record for its next look. Nothing to write: look.
 */
static void apply_ask(struct task *task)
{
	const struct change *record = &task->record;
	const struct ask *ask = &task->ask;
	struct engine *engine = task->engine;
	bool moving = record->phase == PHASE_SUBMITTING || record->phase == PHASE_SUBMITTED ||
		      record->phase == PHASE_COMPLETING || record->phase == PHASE_COMPLETED ||
		      record->phase == PHASE_CANCELLING;
	bool taken_up = (ask->goal == GOAL_CANCELLED || ask->take_up) &&
			(record->phase == PHASE_FAILED || record->phase == PHASE_STOPPED);
	const char *what = NULL;

	if (!task->judged)
		task->already = goal_met_by(record->phase, ask->goal);
	task->judged = true;
	if (ask->goal == GOAL_CANCELLED && (record->phase == PHASE_COMPLETING || record->phase == PHASE_COMPLETED ||
					    record->phase == PHASE_VERIFIED)) {
		task_fail(task, ERROR_BLOCKED, "change %s is %s, past the point of no return, and cannot be cancelled; once it is verified, a change of its own can take it back",
			 record->uuid, phase_name(record->phase));
		return;
	}
	if (ask->take_up && (record->phase == PHASE_SUBMITTING || record->phase == PHASE_SUBMITTED)) {
		task_fail(task, ERROR_WAITING, "change %s is %s and not released yet, so there is nothing to verify; `vtddl complete %s %s` releases it",
			 record->uuid, phase_name(record->phase), record->keyspace, record->uuid);
		return;
	}
	if (engine->config.read_only || engine->stopping || task->resident) { /* nobody asks through us */
		observe_start(task);
		return;
	}
	arena_release(&task->draft_arena);
	change_copy(&task->draft_arena, record, &task->draft);
	if (ask->open_gate && record->gate == GATE_MANUAL && moving) {
		task->draft.gate = GATE_AUTO;
		what = "released: the gate is open";
	}
	if (ask->goal == GOAL_CANCELLED && !record->cancel_asked && record->phase != PHASE_CANCELLED) {
		task->draft.cancel_asked = true;
		what = "asked to cancel";
	}
	if (!task->asked && (moving || taken_up) && (ask->deadline_ms > 0 || engine->wall_ms >= record->deadline_at_ms)) {
		task->draft.deadline_at_ms =
			engine->wall_ms + (ask->deadline_ms > 0 ? ask->deadline_ms : DEADLINE_DEFAULT_MS);
		what = what ? what : "asked to go on: new deadline";
	}
	task->asked = true;
	if (!what) {
		observe_start(task);
		return;
	}
	task->stage = STAGE_ASK;
	task->draft.updated_at_ms = engine->wall_ms;
	task->entry = (struct history_entry){ .at_ms = engine->wall_ms, .actor = engine->config.actor, .from = record->phase,
					      .to = record->phase, .reason = what, .evidence = "" };

	struct request *request = engine_emit(task, REQUEST_STORE_UPDATE, FOR_ASK, 0, &task->draft_arena);

	request->change = &task->draft;
	request->expect = (struct store_expect){ record->phase, record->revision, task->keyspace->epoch, .lease_ms = 0 };
	request->entry = &task->entry;
}

/*
 * How long may an effect of whoever wrote the record still act? vtctld stops a call within a second of its
 * client's death (measured), so repeating an effect need not wait for the deadline of one whose sender is
 * gone; a reversal does (R4). The wall clock may have been set since: never longer than an effect lives.
 */
int64_t record_busy_ms(const struct task *task, const struct change *record, bool for_reversal)
{
	int64_t longest_ms = task->engine->config.effect_timeout_ms + EFFECT_MARGIN_MS;
	int64_t until_ms = record->in_flight_until_ms;

	if (!for_reversal && record->updated_at_ms + ORPHAN_MS < until_ms)
		until_ms = record->updated_at_ms + ORPHAN_MS;
	until_ms -= task->engine->wall_ms;
	if (until_ms < 0)
		return 0;
	return until_ms < longest_ms ? until_ms : longest_ms;
}

/* A stopped change whose release was decided before: by the rule that stopped it. */
bool record_was_released(const struct change *record)
{
	int section = record->rule / 100 - 1;

	return record->phase == PHASE_STOPPED && (section == PHASE_COMPLETING || section == PHASE_COMPLETED);
}

void record_retry(struct task *task)
{
	const struct change *change = task->have_record ? &task->record : &task->draft;

	task->keyspace->asked = false; /* it may have been the lease that changed hands */
	if (task->engine->now_ms >= task->until_ms)
		task_fail(task, ERROR_WAITING, "another process writes change %s all the time; look at it with `vtddl show %s %s` and run this again",
			  change->uuid, change->keyspace, change->uuid);
	else
		task_idle(task, schedule_backoff(100, 5000, task->failed_writes++, engine_chance(task->engine)));
}

/* --again before a former one was withdrawn: its held shards would be in the new one's way. */
static bool former_is_in_the_way(struct task *task, const struct change *former)
{
	if (former->phase != PHASE_FAILED && (former->phase != PHASE_STOPPED || record_was_released(former)))
		return false;
	task_fail(task, ERROR_BLOCKED, "generation %u of this statement is %s and may still be held on some shards; withdraw it first with `vtddl cancel %s %s`",
		  former->generation, phase_name(former->phase), former->keyspace, former->uuid);
	return true;
}

static void on_find(struct task *task, const struct reply *reply)
{
	const struct change *newest = NULL;
	bool ended;

	if (reply->result < 0) {
		record_trouble(task, reply);
		return;
	}
	for (size_t i = 0; i < reply->change_count; i++)
		if (!newest || reply->changes[i].generation > newest->generation)
			newest = &reply->changes[i];
	ended = newest && (newest->phase == PHASE_VERIFIED || newest->phase == PHASE_CANCELLED ||
			   newest->phase == PHASE_FAILED || newest->phase == PHASE_STOPPED);
	if (newest && (task->have_record || !task->ask.again || !ended)) {
		if (!task->have_record || newest->revision != task->record.revision)
			task->idle_at_ms = task->engine->now_ms + /* somebody else wrote it */
					   record_busy_ms(task, newest, newest->cancel_asked);
		task_set_record(task, newest);
		task->recorded = true;
		task->write_failed = false;
		task->failed_writes = 0;
		apply_ask(task);
		return;
	}
	if (task->have_record || (!newest && (!task->ask.ddl || task->engine->config.read_only ||
					      task->ask.goal == GOAL_CANCELLED))) {
		task_fail(task, ERROR_INPUT, "the store has no change %s%.200s of keyspace %s; `vtddl show %s` lists what the fleet has",
			 task->ask.ddl ? "with this statement" : "", task->ask.ddl ? "" : task->ask.uuid,
			 task->ask.keyspace, task->ask.keyspace);
		return;
	}
	if (newest && former_is_in_the_way(task, newest))
		return;
	task->next_generation = newest ? newest->generation + 1 : 1;
	open_survey(task);
}

static void on_ask(struct task *task, const struct reply *reply)
{
	if (reply->result == 0) {
		int64_t busy_ms = record_busy_ms(task, &task->draft, task->draft.cancel_asked);

		if (task->draft.cancel_asked && task->draft.in_flight_until_ms != task->ended_until_ms &&
		    task->engine->now_ms + busy_ms > task->idle_at_ms)
			task->idle_at_ms = task->engine->now_ms + busy_ms; /* R4, for an effect of a process that died */
		task_set_record(task, &task->draft);
		observe_start(task);
	} else if (reply->result > 0) {
		task->asked = false;
		record_retry(task);
	} else {
		task->asked = false;
		record_trouble(task, reply);
	}
}

void record_reply(struct task *task, enum purpose purpose, const struct reply *reply)
{
	if (task->stage == STAGE_ENDED)
		return;
	if (purpose == FOR_LEASE)
		on_lease(task, reply);
	else if (purpose == FOR_FIND)
		on_find(task, reply);
	else
		on_ask(task, reply);
}
