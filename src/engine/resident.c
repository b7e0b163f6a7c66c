/*
 * A live change that is served. It remembers little and costs nothing while it waits; it gets a task of its own
 * when the store, a sweep or its timer says that there is something to do, and loses it again.
 */
#include "engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS_MAX 256	 /* at work at the same time */
#define AGAIN_MS 10000	 /* after a task that failed */
#define REVIEW_MS 20000	 /* of a cancelled change on watch */
#define OVERDUE_MS 60000 /* of a released change behind its deadline */
#define TOLD_MS 10000	 /* what it waits for is told once it has stood for so long */

static char *copy(const char *text)
{
	char *copied = strdup(text);

	if (!copied)
		abort();
	return copied;
}

void resident_set_reason(struct resident *resident, const char *reason)
{
	if (resident->change.reason && strcmp(resident->change.reason, reason) == 0)
		return;
	free((char *)resident->change.reason);
	resident->change.reason = copy(reason);
}

void resident_free(struct resident *resident)
{
	if (resident->task)
		task_free(resident->task);
	timer_clear(resident->keyspace->engine, &resident->timer);
	free((char *)resident->change.table);
	free((char *)resident->change.uuid);
	free((char *)resident->change.reason);
	free(resident->waiting);
	free(resident->shards);
	free(resident);
}

static void on_timer(struct timer *timer)
{
	resident_want(container_of(timer, struct resident, timer));
}

/* Where it is, or would be. */
static size_t place_of(const struct keyspace *keyspace, const char *uuid)
{
	size_t low = 0, high = keyspace->resident_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(keyspace->residents[middle]->change.uuid, uuid) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct resident *resident_find(const struct keyspace *keyspace, const char *uuid)
{
	size_t place = place_of(keyspace, uuid);
	bool found = place < keyspace->resident_count && strcmp(keyspace->residents[place]->change.uuid, uuid) == 0;

	return found ? keyspace->residents[place] : NULL;
}

struct resident *resident_add(struct keyspace *keyspace, const struct live_change *change)
{
	size_t place = place_of(keyspace, change->uuid);
	struct resident *resident = calloc(1, sizeof(*resident));

	if (keyspace->resident_count == keyspace->resident_size) {
		keyspace->resident_size = keyspace->resident_size ? 2 * keyspace->resident_size : 8;
		keyspace->residents = realloc(keyspace->residents, keyspace->resident_size * sizeof(*keyspace->residents));
	}
	if (!resident || !keyspace->residents)
		abort();
	memmove(keyspace->residents + place + 1, keyspace->residents + place,
		(keyspace->resident_count - place) * sizeof(*keyspace->residents));
	keyspace->residents[place] = resident;
	keyspace->resident_count++;
	resident->keyspace = keyspace;
	resident->timer = (struct timer){ .at_ms = INT64_MAX, .fire = on_timer };
	resident->change = *change;
	resident->change.keyspace = keyspace->name;
	resident->change.table = copy(change->table);
	resident->change.uuid = copy(change->uuid);
	resident->change.reason = copy(change->reason);
	return resident;
}

void resident_tell_move(struct resident *resident, enum phase from)
{
	struct news *news = news_add(resident->keyspace->engine, NEWS_CHANGE, resident->keyspace, resident, "%s",
				     resident->change.reason);

	news->from = from;
	news->epoch = resident->change.epoch;
	news->warning = resident->change.phase == PHASE_FAILED || resident->change.phase == PHASE_STOPPED;
	resident->rule = 0;
	resident->told = false;
	resident->refusal[0] = '\0';
}

void resident_note(struct resident *resident, const struct change *record)
{
	enum phase from = resident->change.phase;

	resident->change.phase = record->phase;
	resident->change.gate = record->gate;
	resident->change.cancel_asked = record->cancel_asked;
	resident->change.rule = record->rule;
	resident->change.shard_count = (uint32_t)record->shard_count;
	resident->change.epoch = record->epoch;
	resident->change.revision = record->revision;
	resident->change.updated_at_ms = record->updated_at_ms;
	resident->change.deadline_at_ms = record->deadline_at_ms;
	resident_set_reason(resident, record->reason);
	if (record->phase != from)
		resident_tell_move(resident, from);
}

/* What only takes its time is no news. */
static bool is_worth_telling(const struct resident *resident, const struct rule *rule)
{
	return resident->waiting || (rule && rule->verdict != VERDICT_RUNNING);
}

void resident_waits(struct resident *resident, int number, const char *words)
{
	struct engine *engine = resident->keyspace->engine;
	const struct rule *rule = rules_find(number);

	if (number != resident->rule || !resident->rule_since_ms) {
		resident->rule = number;
		resident->rule_since_ms = engine->now_ms;
		resident->told = false;
	}
	if (!words != !resident->waiting || (words && strcmp(words, resident->waiting) != 0)) {
		free(resident->waiting);
		resident->waiting = words ? copy(words) : NULL;
	}
	if (resident->told || engine->now_ms - resident->rule_since_ms < TOLD_MS || !is_worth_telling(resident, rule))
		return;
	resident->told = true;
	news_add(engine, NEWS_WAITING, resident->keyspace, resident, "%s",
		 resident->waiting ? resident->waiting : rule->reason)->rule = number;
}

void resident_refused(struct resident *resident, const char *text)
{
	if (strncmp(text, resident->refusal, sizeof(resident->refusal) - 1) == 0)
		return;
	snprintf(resident->refusal, sizeof(resident->refusal), "%s", text);
	news_add(resident->keyspace->engine, NEWS_REFUSED, resident->keyspace, resident, "%s", text)->warning = true;
}

void resident_looked(struct task *task)
{
	struct resident *resident = task->resident;
	const struct look *look = task_look(task);

	if (!look->seen.topology_known)
		return;
	task->keyspace->observed_at_ms = task->engine->wall_ms;
	sweep_topology(task->keyspace, look->seen.topo, look->seen.topo_count);
	sweep_forget(resident);
	for (size_t i = 0; i < task->record.shard_count; i++) {
		size_t shard = sweep_shard(task->keyspace, task->record.shards[i].name);

		if (shard == resident->shard_count)
			continue;
		if (look->shards[i].state == ROW_ONE || look->shards[i].state == ROW_DOUBLE) {
			sweep_brief(&resident->shards[shard], &look->shards[i].row);
			resident->seen_at_ms = task->engine->wall_ms;
		}
		resident->shards[shard].absent = look->shards[i].state == ROW_ABSENT;
	}
}

/* ---- Tasks of their own ---- */

static void spawn(struct resident *resident)
{
	struct task *task = task_new(resident->keyspace->engine, resident->keyspace->name);

	task->engine->serving_tasks++;
	task->resident = resident;
	task->ask = (struct ask){ .keyspace = resident->keyspace->name, .goal = GOAL_VERIFIED };
	task->ask.uuid = arena_strdup(&task->arena, resident->change.uuid);
	task->ever_seen = true; /* nobody waits for an early end */
	resident->task = task;
	timer_clear(task->engine, &resident->timer);
	record_start(task);
}

void resident_want(struct resident *resident)
{
	struct engine *engine = resident->keyspace->engine;

	if (engine->stopping || resident->task || resident->wanted || !keyspace_leads(resident->keyspace))
		return;
	if (engine->serving_tasks < TASKS_MAX) {
		spawn(resident);
		return;
	}
	resident->wanted = true;
	engine->wanted++;
}

static void spawn_wanted(struct engine *engine)
{
	for (size_t i = 0; engine->wanted && i < engine->keyspace_count; i++) {
		struct keyspace *keyspace = engine->keyspaces[(engine->wanted_from + i) % engine->keyspace_count];

		for (size_t j = 0; engine->wanted && j < keyspace->resident_count; j++) {
			if (!keyspace->residents[j]->wanted)
				continue;
			if (engine->serving_tasks >= TASKS_MAX) {
				engine->wanted_from = (engine->wanted_from + i) % engine->keyspace_count;
				return;
			}
			keyspace->residents[j]->wanted = false;
			engine->wanted--;
			resident_want(keyspace->residents[j]);
		}
	}
}

static void bury(struct task *task)
{
	task->stage = STAGE_ENDED;
	timer_clear(task->engine, &task->timer);
	task->next_ended = task->engine->ended;
	task->engine->ended = task;
}

void serve_bury(struct engine *engine)
{
	struct task **link = &engine->ended, *task;
	bool buried = false;

	while ((task = *link)) {
		if (task->waiting || task->in_flight) {
			link = &task->next_ended;
			continue;
		}
		*link = task->next_ended;
		task->resident->task = NULL;
		engine->serving_tasks--;
		task_free(task);
		buried = true;
	}
	if (buried && engine->wanted && !engine->stopping)
		spawn_wanted(engine);
}

static bool all_rows_ready(struct task *task)
{
	const struct look *look = task_look(task);

	for (size_t i = 0; i < task->record.shard_count; i++)
		if (!migration_is_ready(&look->shards[i].row))
			return false;
	return true;
}

/* As sweep.c judges it, from a look: the next sweeps will say when there is more to do. */
static bool is_quiet(struct task *task)
{
	uint32_t wanted = FACT_ALL_ROWS | FACT_ALL_SEEN | FACT_SHARDS_KNOWN;
	uint32_t unwanted = FACT_DEAD | FACT_MISMATCH | FACT_ANY_RELEASED | FACT_SHARDS_CHANGED | FACT_CANCEL_ASKED;

	return task->record.phase == PHASE_SUBMITTED && task->keyspace->failed_sweeps == 0 &&
	       (task->facts & wanted) == wanted && !(task->facts & unwanted) &&
	       (!all_rows_ready(task) || !(task->facts & FACT_GATE_OPEN) || (task->facts & FACT_LATE));
}

bool resident_park(struct task *task, int64_t delay_ms)
{
	struct engine *engine = task->engine;
	struct resident *resident = task->resident;
	bool quiet = is_quiet(task), crowded = engine->wanted && engine->serving_tasks >= TASKS_MAX;
	const char *reason = task_view(task)->reason;

	if (task->keyspace->leader)
		resident_waits(resident, task->rule->number,
			       strcmp(reason, task->rule->reason) == 0 ? NULL : reason);
	if (task->in_flight || (task->facts & (FACT_SETTLING | FACT_BUSY | FACT_DOUBLED)) ||
	    (task->keyspace->leader && !quiet && !crowded))
		return false;
	bury(task);
	if (!task->keyspace->leader)
		return true;
	if (!quiet)
		timer_set(engine, &resident->timer, engine->now_ms + delay_ms);
	else if (!task->keyspace->sweep && task->keyspace->sweep_timer.at_ms > engine->now_ms + delay_ms)
		timer_set(engine, &task->keyspace->sweep_timer, engine->now_ms + delay_ms);
	return true;
}

void resident_task_ended(struct task *task)
{
	struct resident *resident = task->resident;
	struct engine *engine = task->engine;
	enum phase phase = resident->change.phase;
	int64_t again_ms = INT64_MAX;

	resident_waits(resident, task->rule ? task->rule->number : 0, task_view(task)->reason);
	if (task->view.error.code)
		again_ms = AGAIN_MS;
	else if (phase == PHASE_CANCELLED)
		again_ms = REVIEW_MS;
	else if (phase == PHASE_COMPLETING || phase == PHASE_COMPLETED || phase == PHASE_CANCELLING ||
		 phase == PHASE_SUBMITTING)
		again_ms = OVERDUE_MS;
	bury(task);
	if (engine->stopping)
		return;
	if (again_ms != INT64_MAX)
		timer_set(engine, &resident->timer, engine->now_ms + again_ms + (int64_t)(engine_chance(engine) % AGAIN_MS));
	else if (phase == PHASE_VERIFIED)
		timer_set(engine, &engine->survey_timer, engine->now_ms);
}

/* ---- What to show ---- */

struct progress resident_progress(const struct resident *resident)
{
	struct progress progress = { .shards_expected = resident->change.shard_count, .slowest = 100, .worst_eta_s = -1 };

	for (uint32_t i = 0; i < resident->shard_count; i++) {
		const struct shard_brief *shard = &resident->shards[i];
		bool complete = shard->status == MIGRATION_COMPLETE;
		double percent = complete || shard->ready ? 100 : shard->progress;

		if (shard->status == MIGRATION_UNKNOWN)
			continue;
		progress.shards_seen++;
		progress.shards_ready += shard->ready;
		progress.shards_complete += complete;
		if (percent < progress.slowest) {
			progress.slowest = percent;
			progress.slowest_shard = i;
		}
		progress.fastest = percent > progress.fastest ? percent : progress.fastest;
		if (!complete && !shard->ready && shard->eta_s > progress.worst_eta_s)
			progress.worst_eta_s = shard->eta_s;
	}
	if (!progress.shards_seen)
		progress.slowest = 0;
	return progress;
}

static const char *reason_of(struct resident *resident)
{
	const struct rule *rule;

	if (resident->task)
		return task_view(resident->task)->reason;
	if (resident->waiting)
		return resident->waiting;
	rule = rules_find(resident->rule);
	return rule ? rule->reason : resident->change.reason;
}

const struct resident_view *engine_resident(struct engine *engine, size_t index)
{
	struct resident *resident;
	size_t keyspace = 0;

	while (index >= engine->keyspaces[keyspace]->resident_count)
		index -= engine->keyspaces[keyspace++]->resident_count;
	resident = engine->keyspaces[keyspace]->residents[index];
	engine->shown = (struct resident_view){
		.change = &resident->change,
		.reason = reason_of(resident),
		.rule = resident->rule,
		.leader = keyspace_leads(resident->keyspace),
		.looking = resident->task != NULL,
		.holder = resident->keyspace->leader ? engine->config.owner : resident->keyspace->holder,
		.seen_at_ms = resident->seen_at_ms,
		.progress = resident_progress(resident),
		.shard_names = (const char *const *)resident->keyspace->shard_names,
		.shards = resident->shards,
		.shard_count = resident->shard_count,
	};
	return &engine->shown;
}
