/* Every live change of the store: which there are, who may drive them, and which have something to do. */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>

#define SURVEY_MS 1000	       /* how often the store is asked for everything that is live; rarer where there is much */
#define CANCEL_WATCH_MS 120000 /* beyond an effect's deadline: one that was late may revive it (R6) */

static void sweep_soon(struct keyspace *keyspace)
{
	struct engine *engine = keyspace->engine;
	int64_t at_ms = timer_soon_ms(engine);

	if (!keyspace->sweep && keyspace->sweep_timer.at_ms > at_ms)
		timer_set(engine, &keyspace->sweep_timer, at_ms);
}

void serve_hurry(struct engine *engine)
{
	for (size_t i = 0; i < engine->keyspace_count; i++) {
		struct keyspace *keyspace = engine->keyspaces[i];

		sweep_hurry(keyspace);
		for (size_t j = 0; j < keyspace->resident_count; j++) {
			struct resident *resident = keyspace->residents[j];

			timer_hurry(engine, resident->task ? &resident->task->timer : &resident->timer);
		}
	}
}

/*
 * With --singleton-context Vitess takes one migration context of a keyspace at a time and refuses the others, so
 * what was only written down waits for those that are at work, and for those that were written down before
 * it. One that was written again since may be on some shards already, and is driven.
 */
static const struct resident *comes_before(const struct resident *resident)
{
	const struct keyspace *keyspace = resident->keyspace;
	const struct live_change *change = &resident->change;

	if (change->phase != PHASE_SUBMITTING || change->revision > 1)
		return NULL;
	for (size_t i = 0; i < keyspace->resident_count; i++) {
		const struct live_change *other = &keyspace->residents[i]->change;
		int64_t later_ms = other->created_at_ms - change->created_at_ms;

		if (other->phase == PHASE_SUBMITTED || other->phase == PHASE_COMPLETING || other->phase == PHASE_CANCELLING)
			return keyspace->residents[i];
		if (other->phase == PHASE_SUBMITTING && keyspace->engine->wall_ms < other->deadline_at_ms &&
		    (other->revision > 1 || later_ms < 0 || (later_ms == 0 && strcmp(other->uuid, change->uuid) < 0)))
			return keyspace->residents[i];
	}
	return NULL;
}

static bool waits_its_turn(struct resident *resident)
{
	const struct resident *first = comes_before(resident);
	char words[REASON_MAX];

	if (!first)
		return false;
	snprintf(words, sizeof(words), "change %s of table %s comes first: Vitess takes one at a time in a keyspace",
		 first->change.uuid, first->change.table);
	resident_waits(resident, 0, words);
	return true;
}

/* @moved: its record is another than before, or was never seen. */
static void consider(struct resident *resident, bool moved)
{
	struct keyspace *keyspace = resident->keyspace;

	if (!keyspace_leads(keyspace) || resident->task)
		return;
	switch (resident->change.phase) {
	case PHASE_SUBMITTED:
		if (keyspace->sweep_timer.at_ms == INT64_MAX)
			sweep_soon(keyspace);
		if (moved && resident->rule)
			resident_want(resident);
		break;
	case PHASE_FAILED:
	case PHASE_STOPPED:
		if (moved && resident->change.cancel_asked)
			resident_want(resident);
		break;
	case PHASE_VERIFIED:
		break;
	case PHASE_SUBMITTING:
		if (!waits_its_turn(resident) && (moved || resident->timer.at_ms == INT64_MAX))
			resident_want(resident);
		break;
	default:
		if (moved || resident->timer.at_ms == INT64_MAX)
			resident_want(resident);
		break;
	}
}

void serve_lease_changed(struct keyspace *keyspace)
{
	if (!keyspace->engine->serving)
		return;
	if (!keyspace->leader)
		timer_clear(keyspace->engine, &keyspace->sweep_timer);
	for (size_t i = 0; i < keyspace->resident_count; i++) {
		if (keyspace->leader)
			consider(keyspace->residents[i], true);
		else
			timer_clear(keyspace->engine, &keyspace->residents[i]->timer);
	}
}

/* The record as it stood when the store was asked; a task may have written it since. */
static void note_live(struct resident *resident, const struct live_change *live)
{
	struct live_change *change = &resident->change;
	enum phase from = change->phase;

	resident->listed = true;
	if (live->revision == change->revision || (resident->task && live->revision < change->revision))
		return;
	change->phase = live->phase;
	change->gate = live->gate;
	change->cancel_asked = live->cancel_asked;
	change->holds_table = live->holds_table;
	change->rule = live->rule;
	change->shard_count = live->shard_count;
	change->epoch = live->epoch;
	change->revision = live->revision;
	change->updated_at_ms = live->updated_at_ms;
	change->deadline_at_ms = live->deadline_at_ms;
	resident_set_reason(resident, live->reason);
	if (live->phase != from)
		resident_tell_move(resident, from);
	consider(resident, true);
}

static void take_changes(struct engine *engine, const struct live *live, bool first)
{
	for (size_t i = 0; i < live->change_count; i++) {
		const struct live_change *change = &live->changes[i];
		struct keyspace *keyspace = keyspace_get(engine, change->keyspace);
		struct resident *resident = resident_find(keyspace, change->uuid);

		if (resident) {
			note_live(resident, change);
			continue;
		}
		resident = resident_add(keyspace, change);
		resident->listed = true;
		if (!first)
			news_add(engine, NEWS_CHANGE, keyspace, resident, "%s", change->reason)->epoch = change->epoch;
		consider(resident, true);
	}
}

/* Verified, cancelled long ago, or replaced; by whomever. */
static void drop_gone(struct keyspace *keyspace)
{
	size_t kept = 0;

	for (size_t i = 0; i < keyspace->resident_count; i++) {
		struct resident *resident = keyspace->residents[i];

		if (resident->listed || resident->task) {
			resident->listed = false;
			keyspace->residents[kept++] = resident;
			continue;
		}
		news_add(keyspace->engine, NEWS_GONE, keyspace, resident, "%s",
			 resident->change.phase == PHASE_VERIFIED || resident->change.phase == PHASE_CANCELLED
				 ? "it is over"
				 : "it is not live any more: verified or cancelled by another, or replaced by a new generation");
		keyspace->engine->wanted -= resident->wanted;
		resident_free(resident);
	}
	keyspace->resident_count = kept;
}

static const struct lease_row *row_of(const struct live *live, const char *keyspace)
{
	for (size_t i = 0; i < live->lease_count; i++) {
		int order = strcmp(live->leases[i].keyspace, keyspace);

		if (order == 0)
			return &live->leases[i];
	}
	return NULL;
}

/* What failed or was stopped waits for a person, who may need the lease to go on with it. */
bool serve_has_work(const struct keyspace *keyspace)
{
	for (size_t i = 0; i < keyspace->resident_count; i++) {
		const struct resident *resident = keyspace->residents[i];
		enum phase phase = resident->change.phase;

		if (resident->task || resident->change.cancel_asked || (phase != PHASE_FAILED && phase != PHASE_STOPPED))
			return true;
	}
	return false;
}

/*
 * A lease that lapsed and came back, or a task that ended just then, may have left nothing that looks at a change
 * any more: it is found here, whatever the reason was.
 */
static void look_after(struct keyspace *keyspace)
{
	if (!keyspace_leads(keyspace) || keyspace->sweep || keyspace->sweep_timer.at_ms != INT64_MAX)
		return;
	for (size_t i = 0; i < keyspace->resident_count; i++)
		consider(keyspace->residents[i], false);
}

static void on_trouble(struct engine *engine, const struct error *error)
{
	if (!engine->store_trouble[0])
		news_add(engine, NEWS_STORE, NULL, NULL, "%s; no effect is sent until it answers", error->text)->warning = true;
	snprintf(engine->store_trouble, sizeof(engine->store_trouble), "%s", error->text);
	timer_set(engine, &engine->survey_timer,
		  engine->now_ms + schedule_backoff(1000, 30000, engine->failed_surveys++, engine_chance(engine)));
}

void serve_reply(struct engine *engine, const struct reply *reply)
{
	bool first = engine->surveyed_at_ms == 0;
	int64_t next_ms = SURVEY_MS + (int64_t)reply->live.change_count / 2;

	if (engine->stopping)
		return;
	if (reply->result < 0) {
		on_trouble(engine, &reply->error);
		return;
	}
	if (engine->store_trouble[0])
		news_add(engine, NEWS_STORE, NULL, NULL, "the store answers again");
	else if (first)
		news_add(engine, NEWS_STORE, NULL, NULL, "live changes in the store: %zu", reply->live.change_count);
	engine->store_trouble[0] = '\0';
	engine->failed_surveys = 0;
	engine->surveyed_at_ms = engine->wall_ms;
	take_changes(engine, &reply->live, first);
	for (size_t i = 0; i < engine->keyspace_count; i++) {
		struct keyspace *keyspace = engine->keyspaces[i];

		drop_gone(keyspace);
		for (size_t j = 0; j < keyspace->resident_count; j++) /* whose turn is it now? */
			if (keyspace->residents[j]->change.phase == PHASE_SUBMITTING)
				consider(keyspace->residents[j], false);
		look_after(keyspace);
		if (serve_has_work(keyspace))
			keyspace_follow(keyspace, row_of(&reply->live, keyspace->name));
		else if (!keyspace->tasks)
			keyspace_release(keyspace);
	}
	arena_release(&engine->live_arena);
	next_ms += (int64_t)(engine_chance(engine) % (uint64_t)(next_ms * 2 / 5)) - next_ms / 5;
	timer_set(engine, &engine->survey_timer, engine->now_ms + next_ms);
}

static void survey(struct timer *timer)
{
	struct engine *engine = container_of(timer, struct engine, survey_timer);

	if (engine->stopping)
		return;
	arena_release(&engine->live_arena);
	engine_emit_for(engine, NULL, REQUEST_STORE_LIVE, FOR_LIVE, &engine->live_arena)->cancelled_since_ms =
		engine->wall_ms - engine->config.effect_timeout_ms - CANCEL_WATCH_MS;
}

void engine_serve(struct engine *engine)
{
	engine->serving = true;
	engine->survey_timer = (struct timer){ .at_ms = INT64_MAX, .fire = survey };
	timer_set(engine, &engine->survey_timer, timer_soon_ms(engine));
}

/* ---- What to show ---- */

size_t engine_residents(const struct engine *engine)
{
	size_t count = 0;

	for (size_t i = 0; i < engine->keyspace_count; i++)
		count += engine->keyspaces[i]->resident_count;
	return count;
}

bool engine_store_is_lost(const struct engine *engine)
{
	return engine->store_is_lost;
}

const char *engine_store_trouble(const struct engine *engine, int64_t *ret_live_at_ms)
{
	*ret_live_at_ms = engine->surveyed_at_ms;
	return engine->store_trouble;
}
