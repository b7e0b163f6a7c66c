/*
 * After a look: the facts, the rule, and the one step that the rule names. A step is one
 * compare-and-set write, or one RPC that may be repeated and whose attempt was written before (R1, I12).
 */
#include "engine_private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/strbuf.h"

#define LOOK_FRESH_MS 2000	/* a second step may follow on the same look for so long */
#define SETTLE_MS 1000		/* after an effect whose outcome is unknown, before the read that tells */
#define CANCEL_WATCH_MS 60000	/* beyond the deadline of an effect (R6) */
#define EFFECT_BACKOFF_MS 1000
#define EFFECT_BACKOFF_CAP_MS 60000

static const struct {
	enum effect effect;
	enum vtctld_method method;
} effects[_ACTION_MAX] = {
	[ACTION_SUBMIT] = { EFFECT_SUBMIT, VTCTLD_APPLY_SCHEMA },
	[ACTION_COMPLETE] = { EFFECT_COMPLETE, VTCTLD_COMPLETE },
	[ACTION_CANCEL] = { EFFECT_CANCEL, VTCTLD_CANCEL },
};

/* I4, as a table: which effect a phase may send at all. Checked again right before sending. */
static const enum effect allowed_effect[_PHASE_MAX] = {
	[PHASE_SUBMITTING] = EFFECT_SUBMIT,   [PHASE_SUBMITTED] = EFFECT_SUBMIT,
	[PHASE_COMPLETING] = EFFECT_COMPLETE, [PHASE_CANCELLING] = EFFECT_CANCEL,
	[PHASE_CANCELLED] = EFFECT_CANCEL,
};

/* ---- Facts that are not the fleet's. ---- */

static bool effect_is_due(const struct task *task)
{
	const struct change *record = &task->record;
	int64_t wall_ms = task->engine->wall_ms;

	if (record->phase == PHASE_COMPLETED || record->phase == PHASE_VERIFIED)
		return !task->verified_now;
	if (record->phase == PHASE_CANCELLED &&
	    (!record->cancel_asked ||
	     wall_ms > record->updated_at_ms + task->engine->config.effect_timeout_ms + CANCEL_WATCH_MS))
		return false;
	/* a time beyond the longest back-off is of a clock that was set back since */
	return record->last_effect != allowed_effect[record->phase] || wall_ms >= record->next_attempt_at_ms ||
	       record->next_attempt_at_ms - wall_ms > EFFECT_BACKOFF_CAP_MS;
}

static uint32_t record_facts(const struct task *task)
{
	const struct change *record = &task->record;
	const struct engine *engine = task->engine;
	bool patience_over = engine->now_ms >= task->until_ms;
	uint32_t facts = 0;

	facts |= task_may_act(task) && !task->write_failed ? FACT_LEADER : 0;
	facts |= record->gate == GATE_AUTO ? FACT_GATE_OPEN : 0;
	facts |= record->cancel_asked ? FACT_CANCEL_ASKED : 0;
	facts |= task->ask.take_up ? FACT_TAKE_UP : 0;
	facts |= record->attempts > 0 || record_was_released(record) ? FACT_SENT : 0;
	facts |= task->in_flight || engine->now_ms < task->idle_at_ms ? FACT_BUSY : 0;
	facts |= effect_is_due(task) ? FACT_DUE : 0;
	if (record->phase == PHASE_VERIFIED)
		facts |= patience_over ? FACT_LATE : 0;
	else
		facts |= engine->now_ms >= task->late_at_ms ? FACT_LATE : 0;
	if (task->verified_now)
		facts |= task->verdict_facts;
	return facts;
}

/* ---- Writing. ---- */

static void write_evidence(struct task *task)
{
	const struct look *look = task_look(task);
	struct strbuf text;

	strbuf_init(&text, sizeof(task->evidence) - 1);
	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct shard_look *shard = &look->shards[i];

		strbuf_addf(&text, "%s%s ", i ? "; " : "", task->record.shards[i].name);
		if (shard->state == ROW_ABSENT)
			strbuf_adds(&text, "absent");
		else if (shard->state != ROW_ONE)
			strbuf_adds(&text, shard->state == ROW_DOUBLE ? "doubled" : "unknown");
		else
			strbuf_addf(&text, "%s%s%s retries %" PRId64, migration_status_name(shard->row.status),
				    shard->row.postpone_completion ? " held" : "",
				    shard->row.ready_to_complete ? " ready" : "", shard->row.retries);
	}
	snprintf(task->evidence, sizeof(task->evidence), "%s", text.length ? text.text : "");
	strbuf_release(&text);
}

/* The lease must outlast the effect that the write announces (R3). */
static int64_t effect_lease_ms(const struct engine *engine)
{
	return engine->config.effect_timeout_ms + EFFECT_MARGIN_MS + LEASE_MARGIN_MS + LEASE_SLACK_MS;
}

static void emit_update(struct task *task, enum purpose purpose, const struct rule *rule, enum phase to,
			const char *reason)
{
	struct engine *engine = task->engine;
	struct request *request;

	write_evidence(task);
	task->draft.updated_at_ms = engine->wall_ms;
	task->entry = (struct history_entry){
		.at_ms = engine->wall_ms, .actor = engine->config.actor, .from = task->record.phase, .to = to,
		.rule = rule->number, .reason = reason, .evidence = task->evidence,
	};
	request = engine_emit(task, REQUEST_STORE_UPDATE, purpose, 0, &task->draft_arena);
	request->change = &task->draft;
	request->expect = (struct store_expect){ task->record.phase, task->record.revision, task->keyspace->epoch,
						 .lease_ms = purpose == FOR_ATTEMPT ? effect_lease_ms(engine) : 0 };
	request->entry = &task->entry;
}

static void start_draft(struct task *task)
{
	arena_release(&task->draft_arena);
	change_copy(&task->draft_arena, &task->record, &task->draft);
}

static void write_move(struct task *task, const struct rule *rule)
{
	struct change *draft = &task->draft;

	assert(phase_may_move(task->record.phase, rule->to));
	start_draft(task);
	draft->phase = rule->to;
	draft->rule = rule->number;
	snprintf(draft->reason, sizeof(draft->reason), "%s", rule->reason);
	draft->last_effect = EFFECT_NONE;
	draft->attempts = 0;
	draft->next_attempt_at_ms = 0;
	if (!task->in_flight && draft->in_flight_until_ms == task->ended_until_ms)
		draft->in_flight_until_ms = 0;
	task->effect_text[0] = '\0';
	if (rule->to == PHASE_VERIFIED)
		for (size_t i = 0; i < draft->shard_count; i++)
			draft->shards[i].definition_after = arena_strdup(&task->draft_arena, task->definitions[i]);
	task->stage = STAGE_WRITE;
	emit_update(task, FOR_WRITE, rule, rule->to, rule->reason);
}

static void write_attempt(struct task *task, const struct rule *rule)
{
	struct engine *engine = task->engine;
	struct change *draft = &task->draft;
	enum effect effect = effects[rule->action].effect;
	int64_t backoff_ms;

	assert(allowed_effect[task->record.phase] == effect && !task->in_flight);
	start_draft(task);
	task->earlier_acts = draft->in_flight_until_ms != task->ended_until_ms && record_busy_ms(task, &task->record, true) > 0;
	draft->attempts = draft->last_effect == effect ? draft->attempts + 1 : 1;
	draft->last_effect = effect;
	backoff_ms = schedule_backoff(EFFECT_BACKOFF_MS, EFFECT_BACKOFF_CAP_MS, draft->attempts, engine_chance(engine));
	draft->next_attempt_at_ms = engine->wall_ms + backoff_ms;
	draft->in_flight_until_ms = engine->wall_ms + engine->config.effect_timeout_ms + EFFECT_MARGIN_MS;
	task->stage = STAGE_ATTEMPT;
	/* From here on, and not from the sending: a renewal behind this write must not make the lease short again. */
	keyspace_effect_began(task->keyspace, engine->now_ms + effect_lease_ms(engine));
	emit_update(task, FOR_ATTEMPT, rule, task->record.phase,
		    arena_printf(&task->draft_arena, "%s, attempt %" PRIu32 ": %s",
				 vtctld_method_name(effects[rule->action].method), draft->attempts, rule->reason));
}

/* ---- Sending. ---- */

static void send_effect(struct task *task)
{
	struct engine *engine = task->engine;
	const struct change *record = &task->record;
	enum effect effect = record->last_effect;
	enum action action = ACTION_SUBMIT;
	struct request *request;

	if (!keyspace_covers(task->keyspace, engine->config.effect_timeout_ms + EFFECT_MARGIN_MS)) {
		keyspace_effect_ended(task->keyspace);
		task_idle(task, SETTLE_MS); /* the write took too long: from the lease on again */
		return;
	}
	while (effects[action].effect != effect)
		action++;
	assert(allowed_effect[record->phase] == effect);
	task->in_flight = effect;
	task->effect_text[0] = '\0';
	task->effects_sent[effect]++;
	arena_release(&task->effect_arena);
	request = engine_emit_rpc(task, effects[action].method, FOR_EFFECT, 0, &task->effect_arena);
	request->rpc.uuid = record->uuid;
	request->rpc.caller_id = engine->config.caller_id;
	if (effect == EFFECT_SUBMIT) {
		request->rpc.sql = record->ddl;
		request->rpc.context = record->context;
		request->rpc.strategy = record->strategy;
	}
	task_idle(task, SETTLE_MS); /* watching goes on meanwhile */
}

/*
 * For people only. A refused effect comes as a page of JSON whose first "Err" (or "ExecutorErr") that is not empty has
 * what a shard said, at its end: "rpc error: ... desc = <what it said>".
 */
static void write_effect_text(struct task *task, const struct vtctld_reply *reply)
{
	static const char key[] = "Err\": \"", description[] = "desc = ";
	const char *start = reply->text, *at = reply->text;
	size_t length = strlen(start);

	while ((at = strstr(at, key))) {
		at += sizeof(key) - 1;
		if (*at != '"') {
			start = at;
			length = strcspn(at, "\"\n");
			break;
		}
	}
	while ((at = strstr(start, description)) && at + sizeof(description) - 1 <= start + length) {
		at += sizeof(description) - 1;
		length -= (size_t)(at - start);
		start = at;
	}
	snprintf(task->effect_text, sizeof(task->effect_text), "%s: %s: %.*s", vtctld_method_name(reply->method),
		 vtctld_outcome_name(reply->outcome), (int)(length > 800 ? 800 : length), start);
}

/*
 * vtctld itself did not answer: it may be cut off and still at work. To repeat the effect need not wait for
 * that, a reversal must (R4). Code 2 is what Vitess answers to everything that it did not carry through.
 */
static bool may_act_still(const struct vtctld_reply *reply)
{
	return reply->outcome == VTCTLD_UNKNOWN && reply->code != 2;
}

static void on_effect(struct task *task, const struct vtctld_reply *reply)
{
	struct engine *engine = task->engine;
	int64_t settle_ms = reply->outcome == VTCTLD_UNKNOWN ? SETTLE_MS : 0;
	bool one_acts = may_act_still(reply) || task->earlier_acts;

	keyspace_effect_ended(task->keyspace);
	task->in_flight = EFFECT_NONE;
	task->effects_ended++;
	if (!one_acts)
		task->ended_until_ms = task->record.in_flight_until_ms;
	else if (task->record.cancel_asked)
		settle_ms = record_busy_ms(task, &task->record, true);
	task->idle_at_ms = engine->now_ms + settle_ms;
	if (reply->outcome != VTCTLD_DONE) {
		write_effect_text(task, reply);
		if (task->resident)
			resident_refused(task->resident, task->effect_text);
	}
	if (task->stage == STAGE_IDLE) /* whatever it answered, only a read tells what it did */
		task_idle(task, reply->outcome == VTCTLD_UNKNOWN ? SETTLE_MS : 0);
}

/*
 * A second step on the same look: the release right behind the barrier, the proof behind completion, the
 * end. A reversal, and what a submit did, are looked at anew.
 */
static bool may_decide_again(const struct task *task)
{
	enum phase phase = task->record.phase;

	if (phase == PHASE_SUBMITTED || phase == PHASE_CANCELLING)
		return false;
	if (phase == PHASE_COMPLETING || phase == PHASE_COMPLETED)
		return task->engine->now_ms - task->looks[task->current].finished_ms <= LOOK_FRESH_MS;
	return true;
}

static void write_refused(struct task *task, const struct reply *reply)
{
	if (reply->result < 0)
		record_trouble(task, reply);
	else if (reply->result == STORE_TABLE_BUSY)
		task_fail(task, ERROR_WAITING, "another change holds table '%s' of keyspace %s by now; `vtddl show` lists it, end that one first",
			  task->record.table, task->record.keyspace);
	else /* somebody wrote first: load, look and decide again */
		record_retry(task);
}

static void go_on(struct task *task)
{
	if (task->engine->stopping)
		task_idle(task, 0);
	else if (may_decide_again(task))
		decide(task);
	else
		observe_start(task);
}

static void on_attempt(struct task *task, const struct pending *pending)
{
	keyspace_extended(task->keyspace, pending->sent_at_ms + effect_lease_ms(task->engine));
	if (task_may_act(task)) {
		send_effect(task);
		return;
	}
	keyspace_effect_ended(task->keyspace);
	go_on(task);
}

void decide_reply(struct task *task, const struct pending *pending, const struct reply *reply)
{
	if (pending->purpose == FOR_EFFECT) {
		on_effect(task, &reply->rpc);
		return;
	}
	if (reply->result != 0) {
		if (pending->purpose == FOR_ATTEMPT)
			keyspace_effect_ended(task->keyspace);
		write_refused(task, reply);
		return;
	}
	task->failed_writes = 0;
	task_set_record(task, &task->draft);
	if (task->record.phase == PHASE_STOPPED) /* taken up and stopped again: a person asked for it once */
		task->ask.take_up = false;
	if (pending->purpose == FOR_ATTEMPT) {
		on_attempt(task, pending);
		return;
	}
	task->engine->counters.moves[task->record.phase]++;
	go_on(task);
}

/* ---- Ending and waiting. ---- */

static bool goal_reached(const struct task *task)
{
	const struct change *record = &task->record;

	if (task->ask.goal == GOAL_LOOK)
		return true;
	if (task->ask.goal == GOAL_READY && record->phase == PHASE_SUBMITTED)
		return task->facts & FACT_ALL_READY;
	if (task->ask.goal == GOAL_VERIFIED && record->phase == PHASE_VERIFIED)
		return task->rule->action == ACTION_REST && task->rule->verdict == VERDICT_DONE;
	return goal_met_by(record->phase, task->ask.goal);
}

/* Bad news and withdrawals go before a goal that is met. */
static bool goal_may_end(const struct rule *rule)
{
	if (rule->action == ACTION_SUBMIT || rule->action == ACTION_CANCEL)
		return false;
	return rule->action != ACTION_MOVE || (rule->to != PHASE_STOPPED && rule->to != PHASE_FAILED &&
					       rule->to != PHASE_CANCELLED && rule->to != PHASE_CANCELLING);
}

/* The verdict of a stopped or failed change is that of the rule that stopped it, at whatever time. */
static enum verdict rest_verdict(const struct task *task)
{
	const struct rule *rule = task->record.phase == PHASE_STOPPED ? rules_find(task->record.rule) : NULL;

	return rule ? rule->verdict : task->rule->verdict;
}

static void finish(struct task *task, enum verdict verdict)
{
	task->view.verdict = verdict;
	task->view.goal_reached = verdict == VERDICT_DONE;
	task_end(task, NULL);
}

/* Right after a step much happens within seconds; the interval grows with the time since then. */
static int64_t poll_base_ms(const struct task *task)
{
	const struct engine *engine = task->engine;
	int64_t base_ms = (engine->wall_ms - task->record.updated_at_ms) / 2;

	if (base_ms < POLL_MIN_MS)
		base_ms = POLL_MIN_MS;
	return base_ms < engine->config.poll_interval_ms ? base_ms : engine->config.poll_interval_ms;
}

/* Whoever follows asks for the lease again when it may have ended, and not before. */
static int64_t until_lease_ms(const struct task *task, int64_t delay_ms)
{
	const struct keyspace *keyspace = task->keyspace;
	int64_t left_ms = keyspace->until_ms - task->engine->now_ms;

	if (keyspace->leader || !keyspace->asked || left_ms <= 0)
		return delay_ms;
	return left_ms < delay_ms ? left_ms : delay_ms;
}

/*
 * Vitess takes one context of a keyspace at a time, so a submit may be refused until another change ends, which
 * only the holder of the lease can bring about. Who drives no other change gives it back between two attempts.
 */
static bool waits_for_another(const struct task *task)
{
	return !task->engine->serving && task->record.phase == PHASE_SUBMITTING && task->record.attempts > 0 &&
	       !task->in_flight && task->keyspace->tasks == 1;
}

static void wait(struct task *task)
{
	struct engine *engine = task->engine;
	enum verdict verdict = task->rule->verdict;
	int64_t delay_ms;

	if (engine->now_ms >= task->until_ms) {
		finish(task, verdict == VERDICT_RUNNING || verdict == VERDICT_DONE ? VERDICT_LATE : verdict);
		return;
	}
	if (!(task->facts & FACT_SHARDS_KNOWN))
		delay_ms = schedule_backoff(500, 30000, task->failed_looks, engine_chance(engine));
	else
		delay_ms = schedule_poll(poll_base_ms(task), task->record.phase, task->facts, &task->progress,
					 engine->now_ms - task->quiet_since_ms, engine_chance(engine));
	delay_ms = until_lease_ms(task, delay_ms);
	if (waits_for_another(task))
		keyspace_release(task->keyspace);
	if (!task->resident || !resident_park(task, delay_ms))
		task_idle(task, delay_ms);
}

void decide_submit(struct task *task)
{
	write_attempt(task, task->rule);
}

/* The second reading of the topology: behind the rows, or behind the definitions, however long those took. */
static void confirm(struct task *task, const struct look *look)
{
	if (look->confirm_tried && task->engine->now_ms >= task->until_ms)
		wait(task); /* which ends it */
	else if (look->confirm_tried) /* a reparent in between, or no answer: look anew */
		task_idle(task, POLL_MIN_MS);
	else if (!task->verified_now && task->engine->now_ms - look->finished_ms > LOOK_FRESH_MS)
		observe_start(task);
	else
		observe_confirm(task);
}

void decide(struct task *task)
{
	struct look *look = task_look(task);
	const struct rule *rule;

	if (look->effects_ended != task->effects_ended) { /* it began before an effect ended */
		observe_start(task);
		return;
	}
	task->facts = observation_fold(&task->record, &look->seen, &task->watch) | record_facts(task);
	progress_fold(&task->record, &look->seen, &task->watch, &task->progress);
	task->rule = rule = rules_next(task->record.phase, task->facts);
	task->engine->counters.rules[rule->number]++;
	view_touch(task);
	if (goal_may_end(rule) && goal_reached(task)) {
		finish(task, VERDICT_DONE);
		return;
	}
	switch (rule->action) {
	case ACTION_MOVE:
		write_move(task, rule);
		return;
	case ACTION_SUBMIT:
	case ACTION_COMPLETE:
	case ACTION_CANCEL:
		if (rule->action == ACTION_SUBMIT && queue_is_needed(task))
			queue_ask(task);
		else
			write_attempt(task, rule);
		return;
	case ACTION_CONFIRM:
		confirm(task, look);
		return;
	case ACTION_VERIFY:
		verify_start(task);
		return;
	case ACTION_REST:
		finish(task, rest_verdict(task));
		return;
	default:
		wait(task);
		return;
	}
}
