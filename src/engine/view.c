/* What to show: words for people, made from the task when somebody looks and not before. */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>

void view_touch(struct task *task)
{
	task->view.serial++;
}

/* A record of an old primary makes GetSchemaMigrations hang or answer twice (measured after an
 * emergency reparent): name it, with its cure. */
static bool stale_tablet(const struct look *look, char *ret, size_t size)
{
	if (look->rows.outcome == VTCTLD_DONE || !look->seen.topology_known)
		return false;
	for (size_t i = 0; i < look->seen.tablet_count; i++) {
		const struct topo_tablet *tablet = &look->seen.tablets[i];
		char alias[ALIAS_TEXT_SIZE];

		if (tablet->type != TABLET_UNKNOWN && tablet->type != TABLET_PRIMARY)
			continue;
		for (size_t j = 0; j < look->seen.topo_count; j++) {
			const struct topo_shard *shard = &look->seen.topo[j];

			if (strcmp(shard->name, tablet->shard) != 0 || tablet_alias_equal(&shard->primary, &tablet->alias))
				continue;
			tablet_alias_format(&tablet->alias, alias);
			snprintf(ret, size,
				 "the record of the dead old primary %s of shard %s blinds GetSchemaMigrations (vtddl asks each primary instead): start that tablet, or remove its record with `vtctldclient DeleteTablets %s`",
				 alias, shard->name, alias);
			return true;
		}
	}
	return false;
}

/* Advice by phase, and by why a task ended. %1$s keyspace, %2$s uuid. */
static const char *const phase_advice[_PHASE_MAX] = {
	[PHASE_FAILED] = "fix the cause, withdraw the shards that are held with `vtddl cancel %1$s %2$s`, then run the statement with --again",
	[PHASE_CANCELLED] = "if the change is wanted after all, run the statement with --again",
	[PHASE_STOPPED] = "look at every shard with `vtddl show %1$s %2$s`; if it shall go on, `vtctldclient OnlineDDL complete %1$s %2$s` releases the shards that are still held, and `vtddl verify %1$s %2$s` proves the end; if no shard is complete, `vtddl cancel %1$s %2$s` withdraws it",
};

static const struct {
	enum verdict verdict;
	const char *advice;
} verdict_advice[] = {
	{ VERDICT_UNSAFE, "run the statement with --again to make the change once more" },
	{ VERDICT_GATE, "`vtddl complete %1$s %2$s` releases it, `vtddl cancel %1$s %2$s` withdraws it" },
	{ VERDICT_INCONSISTENT, "look at every shard with `vtddl show %1$s %2$s` now" },
};

/* The formats are constants above; each takes the keyspace and the uuid. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void write_advice(struct task *task)
{
	const struct change *record = &task->record;
	const char *format = NULL;

	task->advice[0] = '\0';
	if (!task->have_record)
		return;
	if (task->have_look && !task->view.ended && stale_tablet(task_look(task), task->advice, sizeof(task->advice)))
		return;
	if (task->view.goal_reached)
		return;
	if (task->view.ended)
		format = phase_advice[record->phase];
	for (size_t i = 0; !format && i < sizeof(verdict_advice) / sizeof(verdict_advice[0]); i++)
		if (task->rule && task->rule->verdict == verdict_advice[i].verdict)
			format = verdict_advice[i].advice;
	if (format)
		snprintf(task->advice, sizeof(task->advice), format, record->keyspace, record->uuid);
}
#pragma GCC diagnostic pop

/* The shard that explains a wait: the first that is dead or cannot be seen, else one whose cut-over failed. */
static const char *blocking_shard(struct task *task, size_t *ret_shard)
{
	const struct look *look = task_look(task);
	const char *tried = NULL;

	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct shard_look *shard = &look->shards[i];
		bool one = shard->state == ROW_ONE, live = one && migration_is_live(&shard->row);
		bool dead = one && !live && shard->row.status != MIGRATION_COMPLETE;

		if (shard->state == ROW_UNKNOWN || shard->state == ROW_DOUBLE) {
			*ret_shard = i;
			return task->shard_views[i].reason;
		}
		if (dead && !tried) {
			*ret_shard = i;
			tried = task->shard_views[i].reason;
		}
		if (!tried && live && !shard->row.postpone_completion && shard->row.message[0]) {
			*ret_shard = i;
			tried = task->shard_views[i].reason;
		}
	}
	return tried;
}

static void write_reason(struct task *task)
{
	const struct change *record = &task->record;
	const char *shard_text = NULL;
	size_t shard = 0;

	if (!task->have_record || !task->rule)
		return; /* task->reason was set by what holds the opening */
	if (task->write_failed)
		return; /* the store's words */
	if (task->queued_behind[0] && task->rule->action == ACTION_SUBMIT && !task->view.ended) {
		snprintf(task->reason, sizeof(task->reason), "change %s is under way in this keyspace, and Vitess takes one at a time; waiting for its end",
			 task->queued_behind);
		return;
	}
	if (task->rule->action == ACTION_REST && record->phase == PHASE_VERIFIED && task->rule->verdict == VERDICT_DONE &&
	    !task->already) {
		snprintf(task->reason, sizeof(task->reason), "verified: %s", record->reason);
		return;
	}
	if (task->rule->action == ACTION_REST &&
	    (record->phase == PHASE_STOPPED || record->phase == PHASE_FAILED || record->phase == PHASE_CANCELLED))
		snprintf(task->reason, sizeof(task->reason), "%s", record->reason);
	else
		snprintf(task->reason, sizeof(task->reason), "%s", task->rule->reason);
	if (task->have_look && task->rule->action != ACTION_CONFIRM)
		shard_text = blocking_shard(task, &shard);
	if (shard_text) {
		size_t used = strlen(task->reason);

		snprintf(task->reason + used, sizeof(task->reason) - used, " (shard %s: %.600s)", record->shards[shard].name,
			 shard_text);
	}
	if (!task->keyspace->leader && task->keyspace->holder[0] && !task->view.ended) {
		size_t used = strlen(task->reason);

		snprintf(task->reason + used, sizeof(task->reason) - used, " (%s drives this keyspace)", task->keyspace->holder);
	}
	if (task->effect_text[0] && !task->view.ended) {
		size_t used = strlen(task->reason);

		snprintf(task->reason + used, sizeof(task->reason) - used, "; last effect: %.300s", task->effect_text);
	}
}

static void write_shards(struct task *task)
{
	const struct look *look = task_look(task);

	for (size_t i = 0; i < task->record.shard_count; i++) {
		struct shard_view *view = &task->shard_views[i];
		const struct shard_watch *memory = &task->watch.shards[i];

		view->name = task->record.shards[i].name;
		view->look = task->have_look ? &look->shards[i] : NULL;
		view->ready = task->have_look && memory->ready &&
			      look->seen.at_ms - memory->ready_since_ms >= READY_CONFIRM_MS;
		view->reason[0] = '\0';
		if (task->have_look)
			shard_reason(&task->record, &look->seen, &task->watch, i, view->reason);
	}
}

const struct view *engine_view(struct engine *engine, unsigned id)
{
	return task_view(engine->tasks[id]);
}

const struct view *task_view(struct task *task)
{
	struct view *view = &task->view;

	if (task->have_record)
		write_shards(task);
	write_reason(task);
	write_advice(task);
	view->change = task->have_record ? &task->record : NULL;
	view->recorded = task->recorded;
	view->already = task->already;
	for (int effect = EFFECT_NONE + 1; effect < _EFFECT_MAX; effect++)
		view->already &= task->effects_sent[effect] == 0;
	view->leader = task->keyspace->leader;
	view->holder = task->keyspace->holder;
	view->rule = task->rule;
	view->reason = view->error.code ? view->error.text : task->reason;
	view->advice = task->advice;
	view->facts = task->facts;
	view->progress = task->progress;
	view->shards = task->shard_views;
	view->shard_count = task->have_record ? task->record.shard_count : 0;
	view->refusal = task->effect_text;
	view->in_flight = task->in_flight;
	view->next_look_ms = task->timer.at_ms;
	view->checks = task->checks;
	view->check_count = task->check_count;
	memcpy(view->effects_sent, task->effects_sent, sizeof(view->effects_sent));
	view->write_failed = task->write_failed;
	return view;
}
