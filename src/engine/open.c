/*
 * From a person's wish to a record: find the one that exists, adopt what the fleet shows, or make a
 * new one after looking whether the statement can work at all.
 */
#include "engine_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/identity.h"
#include "vtddl/strbuf.h"

#define FOLLOW_MS 2000 /* how often a follower tries for the lease */
#define OPEN_TRIES 3   /* a server that was never seen is given up after so many silent reads */
#define STRATEGY "vitess --postpone-completion --singleton-context"
#define DISCOVER_ROWS 1000
#define ORPHAN_MS 3000
#define NAMES_SHOWN 400

static void end_with(struct task *task, enum error_code code, const char *format, ...) printf_like(3, 4);

static void end_with(struct task *task, enum error_code code, const char *format, ...)
{
	struct error error = { .code = code };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error.text, sizeof(error.text), format, arguments);
	va_end(arguments);
	task_end(task, &error);
}

/* Not possible now: say why, try again later, unless the asker's patience is over. */
static void hold(struct task *task, const char *format, ...) printf_like(2, 3);

static void hold(struct task *task, const char *format, ...)
{
	struct engine *engine = task->engine;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(task->reason, sizeof(task->reason), format, arguments);
	va_end(arguments);
	if (engine->now_ms >= task->until_ms)
		end_with(task, ERROR_UNAVAILABLE, "%.900s", task->reason);
	else
		task_idle(task, schedule_backoff(1000, 30000, task->failed_looks++, engine_chance(engine)));
}

/* ---- The lease and the stored record. ---- */

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

void open_start(struct task *task)
{
	struct engine *engine = task->engine;
	char *scope;

	arena_release(&task->open_arena);
	task->unseen = 0;
	if (engine->config.read_only) {
		find(task);
		return;
	}
	task->stage = STAGE_LEASE;
	scope = arena_printf(&task->open_arena, "%s/%s", engine->config.cluster, task->ask.keyspace);
	engine_emit(task, REQUEST_STORE_LEASE, FOR_LEASE, 0, &task->open_arena)->scope = scope;
}

void open_store_trouble(struct task *task, const struct reply *reply)
{
	if (!task->have_record) {
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
		open_store_trouble(task, reply);
		return;
	}
	task->leader = reply->result == 0;
	task->epoch = reply->epoch;
	snprintf(task->holder, sizeof(task->holder), "%s", task->leader ? "" : reply->holder);
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
	const char *what = NULL;

	if (!task->asked)
		task->already = goal_met_by(record->phase, ask->goal);
	if (ask->goal == GOAL_CANCELLED && (record->phase == PHASE_COMPLETING || record->phase == PHASE_COMPLETED ||
					    record->phase == PHASE_VERIFIED)) {
		end_with(task, ERROR_BLOCKED, "change %s is %s, past the point of no return, and cannot be cancelled; let it end, then revert it as a change of its own",
			 record->uuid, phase_name(record->phase));
		return;
	}
	if (engine->config.read_only || engine->stopping) {
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
	if (task->leader && !task->asked && moving && (ask->deadline_ms > 0 || engine->wall_ms >= record->deadline_at_ms)) {
		task->draft.deadline_at_ms =
			engine->wall_ms + (ask->deadline_ms > 0 ? ask->deadline_ms : DEADLINE_DEFAULT_MS);
		what = what ? what : "asked to go on: new deadline";
	}
	task->asked = task->asked || task->leader;
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
	request->expect = (struct store_expect){ record->phase, record->revision, task->epoch };
	request->entry = &task->entry;
}

static void survey(struct task *task)
{
	task->stage = STAGE_SURVEY;
	engine_emit_rpc(task, VTCTLD_GET_KEYSPACES, FOR_KEYSPACES, 0, &task->open_arena);
	engine_emit_rpc(task, VTCTLD_FIND_ALL_SHARDS, FOR_TOPOLOGY, 0, &task->open_arena);
}

/*
 * From when on can no effect of whoever wrote the record act any more? vtctld stops a call within a
 * second of its client's death (measured), so repeating an effect need not wait for the deadline of
 * one whose sender is gone; a reversal does (R4).
 */
static int64_t quiet_from(const struct change *record)
{
	int64_t orphaned_ms = record->updated_at_ms + ORPHAN_MS;

	if (record->cancel_asked || record->in_flight_until_ms < orphaned_ms)
		return record->in_flight_until_ms;
	return orphaned_ms;
}

static void on_find(struct task *task, const struct reply *reply)
{
	const struct change *newest = NULL;
	bool ended;

	if (reply->result < 0) {
		open_store_trouble(task, reply);
		return;
	}
	for (size_t i = 0; i < reply->change_count; i++)
		if (!newest || reply->changes[i].generation > newest->generation)
			newest = &reply->changes[i];
	ended = newest && (newest->phase == PHASE_VERIFIED || newest->phase == PHASE_CANCELLED ||
			   newest->phase == PHASE_FAILED || newest->phase == PHASE_STOPPED);
	if (newest && (task->have_record || !task->ask.again || !ended)) {
		if (!task->have_record || newest->revision != task->record.revision)
			task->idle_at_ms = quiet_from(newest); /* somebody else wrote it */
		task_set_record(task, newest);
		task->recorded = true;
		task->write_failed = false;
		task->failed_writes = 0;
		apply_ask(task);
		return;
	}
	if (task->have_record || (!newest && (!task->ask.ddl || task->engine->config.read_only ||
					      task->ask.goal == GOAL_CANCELLED))) {
		end_with(task, ERROR_INPUT, "the store has no change %s%.200s of keyspace %s; `vtddl show %s` lists what the fleet has",
			 task->ask.ddl ? "with this statement" : "", task->ask.ddl ? "" : task->ask.uuid,
			 task->ask.keyspace, task->ask.keyspace);
		return;
	}
	if (!task->leader) {
		snprintf(task->reason, sizeof(task->reason), "another vtddl (%s) works on keyspace %s; waiting for its lease",
			 task->holder, task->ask.keyspace);
		task_idle(task, FOLLOW_MS);
		return;
	}
	task->next_generation = newest ? newest->generation + 1 : 1;
	survey(task);
}

/* ---- No record: what does the fleet show? ---- */

/* The first read of all failed: end where trying again is no use, else try a few times. */
void open_unreachable(struct task *task, const struct vtctld_reply *reply)
{
	bool silent = reply->outcome == VTCTLD_UNKNOWN && reply->code != 14;
	const char *left = task->have_record ? "; the change stays as it is, run the same command again to go on"
					     : "; nothing was sent";

	if (reply->code == 7 || reply->code == 16)
		end_with(task, ERROR_AUTH, "vtctld refused the credentials (%.600s): check --grpc-auth-static-client-creds or the client certificate%s",
			 reply->text, left);
	else if (silent && ++task->failed_looks < OPEN_TRIES)
		task_idle(task, schedule_backoff(500, 5000, task->failed_looks, engine_chance(task->engine)));
	else
		end_with(task, ERROR_UNAVAILABLE, "%s: %.700s%s", vtctld_method_name(reply->method), reply->text, left);
}

static bool keyspace_known(struct task *task)
{
	const struct vtctld_reply *reply = &task->keyspaces;
	struct strbuf known;
	bool found = false;

	strbuf_init(&known, NAMES_SHOWN);
	for (size_t i = 0; i < reply->keyspaces.count; i++) {
		if (strcmp(reply->keyspaces.names[i], task->ask.keyspace) == 0)
			found = true;
		strbuf_adds(&known, i ? ", " : "");
		strbuf_add_shown(&known, reply->keyspaces.names[i], KEYSPACE_MAX);
	}
	if (!found)
		end_with(task, ERROR_INPUT, "vtctld knows no keyspace '%s'; it has: %s", task->ask.keyspace,
			 known.length ? known.text : "none");
	strbuf_release(&known);
	return found;
}

static void discover(struct task *task)
{
	struct change probe = { .generation = 1 };
	char prefix[CONTEXT_MAX + 1];
	const char *sql;

	task->stage = STAGE_DISCOVER;
	task->discovered = 0;
	task->discovered_live = task->discovered_released = false;
	task->unseen = 0;
	identity_derive(&probe, task->ask.keyspace, task->normal, 1);
	identity_context_prefix(&probe, prefix);
	sql = migration_select(&task->open_arena, NULL, prefix);
	for (size_t i = 0; i < task->survey_count; i++) {
		struct request *request = engine_emit_rpc(task, VTCTLD_EXECUTE_FETCH_AS_DBA, FOR_DISCOVER, i, &task->open_arena);

		request->rpc.sql = sql;
		request->rpc.limit = DISCOVER_ROWS;
		request->rpc.tablet = task->survey[i].primary;
	}
}

static void survey_done(struct task *task)
{
	const struct vtctld_reply *shards = &task->topology;
	const char *problem;

	if (task->keyspaces.outcome != VTCTLD_DONE) {
		open_unreachable(task, &task->keyspaces);
		return;
	}
	if (!keyspace_known(task))
		return;
	if (shards->outcome != VTCTLD_DONE) {
		open_unreachable(task, shards);
		return;
	}
	problem = topology_problem(&task->open_arena, shards->shards.items, shards->shards.count);
	if (problem) {
		end_with(task, ERROR_BLOCKED, "%.900s", problem);
		return;
	}
	task->survey = shards->shards.items;
	task->survey_count = shards->shards.count;
	task->failed_looks = 0;
	discover(task);
}

static void shard_unseen(struct task *task, size_t index, const char *text)
{
	char alias[ALIAS_TEXT_SIZE];

	tablet_alias_format(&task->survey[index].primary, alias);
	task->unseen++;
	snprintf(task->trouble, sizeof(task->trouble), "the primary %s of shard %s does not answer (%.500s)", alias,
		 task->survey[index].name, text);
}

static void on_discover(struct task *task, size_t index, const struct vtctld_reply *reply)
{
	struct change probe = { .generation = 1 };
	char prefix[CONTEXT_MAX + 1];
	struct migration *rows;
	struct error error;
	size_t count;

	if (reply->outcome != VTCTLD_DONE) {
		shard_unseen(task, index, reply->text);
		return;
	}
	if (migration_from_result(&task->open_arena, &reply->result, task->survey[index].name, &rows, &count, &error) < 0) {
		shard_unseen(task, index, error.text);
		return;
	}
	identity_derive(&probe, task->ask.keyspace, task->normal, 1);
	identity_context_prefix(&probe, prefix);
	for (size_t i = 0; i < count; i++) {
		uint32_t generation = identity_context_generation(prefix, rows[i].context);

		if (generation == 0 || generation < task->discovered)
			continue;
		if (generation > task->discovered)
			task->discovered_live = task->discovered_released = false;
		task->discovered = generation;
		task->discovered_live |= migration_is_live(&rows[i]);
		task->discovered_released |= rows[i].status == MIGRATION_COMPLETE || !rows[i].postpone_completion;
	}
}

/* Which generation it is: a new one, or one that the fleet has and the store does not. */
static void discover_done(struct task *task)
{
	bool known = task->discovered >= task->next_generation;

	if (task->unseen) {
		hold(task, "%.900s; nothing is sent before every primary has answered", task->trouble);
		return;
	}
	memset(&task->draft, 0, sizeof(task->draft));
	task->draft.adopted = known && (!task->ask.again || task->discovered_live);
	if (task->draft.adopted)
		task->draft.generation = task->discovered;
	else
		task->draft.generation = known ? task->discovered + 1 : task->next_generation;
	task->stage = STAGE_BEFORE;
	task->definitions = arena_array(&task->open_arena, task->survey_count, sizeof(*task->definitions));
	for (size_t i = 0; i < task->survey_count; i++) {
		struct request *request = engine_emit_rpc(task, VTCTLD_GET_SCHEMA, FOR_BEFORE, i, &task->open_arena);

		request->rpc.table = task->ddl.table;
		request->rpc.tablet = task->survey[i].primary;
	}
}

/* ---- Can the statement work? Vitess shows a CREATE that cannot as ready, and fails it after the release. ---- */

static void on_before(struct task *task, size_t index, const struct vtctld_reply *reply)
{
	if (reply->outcome != VTCTLD_DONE) {
		shard_unseen(task, index, reply->text);
		return;
	}
	task->definitions[index] = "";
	for (size_t i = 0; i < reply->definitions.count; i++)
		if (strcmp(reply->definitions.items[i].name, task->ddl.table) == 0)
			task->definitions[index] = reply->definitions.items[i].schema;
}

static bool all_promises_kept(const struct task *task)
{
	if (!task->ddl.understood || task->ddl.promise_count == 0)
		return false;
	for (size_t i = 0; i < task->survey_count; i++)
		for (size_t j = 0; j < task->ddl.promise_count; j++)
			if (!ddl_definition_keeps(task->definitions[i], &task->ddl.promises[j]))
				return false;
	return true;
}

/* Return: NULL if the statement can work on this schema; else why not. */
static const char *precondition(struct task *task)
{
	struct arena *arena = &task->open_arena;
	const char *what = ddl_action_name(task->ddl.action), *table = task->ddl.table;
	bool create = task->ddl.action == DDL_CREATE_TABLE ||
		      (task->ddl.action == DDL_CREATE_VIEW && !task->ddl.or_replace);
	bool needs = task->ddl.action != DDL_CREATE_TABLE && task->ddl.action != DDL_CREATE_VIEW;

	for (size_t i = 0; i < task->survey_count; i++) {
		bool exists = task->definitions[i][0] != '\0';

		if (create && exists)
			return arena_printf(arena, "%s: '%s' exists already on shard %s; Vitess would hold this as ready and fail it after the release, so nothing was sent",
					    what, table, task->survey[i].name);
		if (needs && !exists)
			return arena_printf(arena, "%s: shard %s has no '%s'; nothing was sent, check the name and the keyspace",
					    what, task->survey[i].name, table);
		if (task->ddl.action == DDL_ALTER_TABLE && !ddl_definition_equal(task->definitions[i], task->definitions[0]))
			return arena_printf(arena, "%s: the definition of '%s' on shard %s differs from that on shard %s; make them equal first, nothing was sent",
					    what, table, task->survey[i].name, task->survey[0].name);
	}
	if (task->ddl.action == DDL_ALTER_TABLE && all_promises_kept(task))
		return arena_printf(arena, "%s: '%s' already has what the statement asks for on every shard; nothing was sent",
				    what, table);
	return NULL;
}

static void fill_shards(struct task *task, struct change *draft)
{
	draft->shard_count = task->survey_count;
	draft->shards = arena_array(&task->draft_arena, task->survey_count, sizeof(*draft->shards));
	for (size_t i = 0; i < task->survey_count; i++) {
		snprintf(draft->shards[i].name, sizeof(draft->shards[i].name), "%s", task->survey[i].name);
		draft->shards[i].primary = task->survey[i].primary;
		if (!draft->adopted || !task->discovered_released)
			draft->shards[i].definition_before = arena_strdup(&task->draft_arena, task->definitions[i]);
	}
}

/* W0: the intent, on disk before the first byte of ApplySchema is sent (R1). */
static void insert(struct task *task)
{
	struct engine *engine = task->engine;
	struct change *draft = &task->draft;
	const struct ask *ask = &task->ask;

	arena_release(&task->draft_arena);
	identity_derive(draft, ask->keyspace, task->normal, draft->generation);
	snprintf(draft->cluster, sizeof(draft->cluster), "%s", engine->config.cluster);
	snprintf(draft->table, sizeof(draft->table), "%s", task->ddl.table);
	snprintf(draft->created_by, sizeof(draft->created_by), "%s", engine->config.actor);
	draft->ddl = arena_strdup(&task->draft_arena, ask->ddl);
	draft->strategy = ask->strategy_extras && ask->strategy_extras[0]
				  ? arena_printf(&task->draft_arena, STRATEGY " %s", ask->strategy_extras)
				  : STRATEGY;
	draft->phase = PHASE_SUBMITTING;
	draft->epoch = task->epoch;
	draft->gate = ask->open_gate ? GATE_AUTO : GATE_MANUAL;
	draft->created_at_ms = draft->updated_at_ms = engine->wall_ms;
	draft->deadline_at_ms = engine->wall_ms + (ask->deadline_ms > 0 ? ask->deadline_ms : DEADLINE_DEFAULT_MS);
	snprintf(draft->reason, sizeof(draft->reason), "%s",
		 draft->adopted ? "the store had no record; the fleet knows this migration" : "the intent is written");
	fill_shards(task, draft);
	task->stage = STAGE_INSERT;
	task->asked = true;

	struct request *request = engine_emit(task, REQUEST_STORE_INSERT, FOR_INSERT, 0, &task->draft_arena);

	request->change = draft;
	request->evidence = draft->reason;
}

static void before_done(struct task *task)
{
	const char *problem = NULL;

	if (task->unseen) {
		hold(task, "%.900s; nothing is sent before every primary has answered", task->trouble);
		return;
	}
	if (!task->draft.adopted)
		problem = precondition(task);
	if (problem)
		end_with(task, ERROR_BLOCKED, "%.1000s", problem);
	else if (task_may_act(task))
		insert(task);
}

static void on_insert(struct task *task, const struct reply *reply)
{
	if (reply->result == 0) {
		task_set_record(task, &task->draft);
		task->recorded = true;
		observe_start(task);
		return;
	}
	if (reply->result < 0) {
		task_end(task, &reply->error);
		return;
	}
	if (reply->result == STORE_CONFLICT) { /* written by another meanwhile: take that one */
		open_start(task);
		return;
	}
	task->stage = STAGE_BUSY_TABLE;
	engine_emit(task, REQUEST_STORE_LIST, FOR_BUSY_TABLE, 0, &task->open_arena)->filter = (struct store_filter){
		.cluster = task->engine->config.cluster, .keyspace = task->ask.keyspace, .table = task->ddl.table,
		.live_only = true, .limit = 1 };
}

static void on_busy_table(struct task *task, const struct reply *reply)
{
	const struct change *other = reply->result == 0 && reply->change_count ? &reply->changes[0] : NULL;

	end_with(task, ERROR_WAITING, "another change of table '%s' is not over: %s, phase %s; end it (vtddl run, or vtddl cancel %s %s), then run this one",
		 task->ddl.table, other ? other->uuid : "unknown", other ? phase_name(other->phase) : "unknown",
		 task->ask.keyspace, other ? other->uuid : "UUID");
}

static void on_ask(struct task *task, const struct reply *reply)
{
	if (reply->result == 0) {
		task_set_record(task, &task->draft);
		observe_start(task);
	} else if (reply->result > 0) {
		task->asked = false;
		open_start(task);
	} else {
		task->asked = false;
		open_store_trouble(task, reply);
	}
}

void open_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply)
{
	if (task->stage == STAGE_ENDED)
		return;
	switch (purpose) {
	case FOR_LEASE: on_lease(task, reply); return;
	case FOR_FIND: on_find(task, reply); return;
	case FOR_INSERT: on_insert(task, reply); return;
	case FOR_BUSY_TABLE: on_busy_table(task, reply); return;
	case FOR_ASK: on_ask(task, reply); return;
	case FOR_KEYSPACES: task->keyspaces = reply->rpc; break;
	case FOR_TOPOLOGY: task->topology = reply->rpc; break;
	case FOR_DISCOVER: on_discover(task, index, &reply->rpc); break;
	case FOR_BEFORE: on_before(task, index, &reply->rpc); break;
	default: return;
	}
	if (task->waiting)
		return;
	if (task->stage == STAGE_SURVEY)
		survey_done(task);
	else if (task->stage == STAGE_DISCOVER)
		discover_done(task);
	else if (task->stage == STAGE_BEFORE)
		before_done(task);
}
