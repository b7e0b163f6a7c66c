/*
 * The store has no record: adopt what the fleet shows, or make a new one after looking whether the statement
 * can work at all.
 */
#include "engine_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/identity.h"
#include "vtddl/strbuf.h"

#define OPEN_TRIES 3   /* a server that was never seen is given up after so many silent reads */
#define STRATEGY "vitess --postpone-completion --singleton-context"
#define DISCOVER_ROWS 1000
#define BUSY_TABLE_MS 2000 /* how often it is looked whether the table is free */
#define NAMES_SHOWN 400

/* ---- What does the fleet show? ---- */

void open_survey(struct task *task)
{
	task->stage = STAGE_SURVEY;
	engine_emit_rpc(task, VTCTLD_GET_KEYSPACES, FOR_KEYSPACES, 0, &task->open_arena);
	engine_emit_rpc(task, VTCTLD_FIND_ALL_SHARDS, FOR_TOPOLOGY, 0, &task->open_arena);
}


/* The first read of all failed: end where trying again is no use, else try a few times. */
void open_unreachable(struct task *task, const struct vtctld_reply *reply)
{
	bool silent = reply->outcome == VTCTLD_UNKNOWN && reply->code != 14;
	const char *left = task->have_record ? "; the change stays as it is, run the same command again to go on"
					     : "; nothing was sent";

	if (reply->code == 7 || reply->code == 16)
		task_fail(task, ERROR_AUTH,
			  "%s: %.600s; check --grpc-auth-static-client-creds and the --vtctld-grpc-... files%s",
			  vtctld_method_name(reply->method), reply->text, left);
	else if (silent && ++task->failed_looks < OPEN_TRIES)
		task_idle(task, schedule_backoff(500, 5000, task->failed_looks, engine_chance(task->engine)));
	else
		task_fail(task, ERROR_UNAVAILABLE, "%s: %.700s%s", vtctld_method_name(reply->method), reply->text, left);
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
		task_fail(task, ERROR_INPUT, "vtctld knows no keyspace '%s'; it has: %s", task->ask.keyspace,
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
		task_fail(task, ERROR_BLOCKED, "%.900s", problem);
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
		task_hold(task, "%.900s; nothing is sent before every primary has answered", task->trouble);
		return;
	}
	memset(&task->draft, 0, sizeof(task->draft));
	task->draft.adopted = known && (!task->ask.again || task->discovered_live);
	if (task->draft.adopted)
		task->draft.generation = task->discovered;
	else
		task->draft.generation = known ? task->discovered + 1 : task->next_generation;
	if (task->draft.generation == 0) {
		task_fail(task, ERROR_BLOCKED, "a shard of keyspace %s has this statement as generation %" PRIu32 ", behind which there is none; look at its context with `vtddl show %s`",
			  task->ask.keyspace, UINT32_MAX, task->ask.keyspace);
		return;
	}
	task->stage = STAGE_BEFORE;
	task->definitions = arena_array(&task->open_arena, task->survey_count, sizeof(*task->definitions));
	for (size_t i = 0; i < task->survey_count; i++) {
		struct request *request = engine_emit_rpc(task, VTCTLD_GET_SCHEMA, FOR_BEFORE, i, &task->open_arena);

		request->rpc.table = task->ddl.table;
		request->rpc.tablet = task->survey[i].primary;
	}
}

/* ---- Can the statement work? Vitess shows a CREATE that cannot as ready, and fails it after the release. ---- */

const char *open_definition(const struct vtctld_reply *reply, const char *table)
{
	for (size_t i = 0; i < reply->definitions.count; i++)
		if (strcmp(reply->definitions.items[i].name, table) == 0)
			return reply->definitions.items[i].schema;
	return "";
}

static void on_before(struct task *task, size_t index, const struct vtctld_reply *reply)
{
	if (reply->outcome != VTCTLD_DONE) {
		shard_unseen(task, index, reply->text);
		return;
	}
	task->definitions[index] = open_definition(reply, task->ddl.table);
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
		return arena_printf(arena, "%s: '%s' already has every column and index that the statement adds, and none that it drops, by their names and on every shard; nothing was sent",
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

/*
 * W0: the intent, on disk before the first byte of ApplySchema is sent (R1). Whoever does not lead writes it
 * too, under the leader's epoch: a daemon that leads takes it up from there.
 */
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
	draft->epoch = task->keyspace->epoch;
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
		task_hold(task, "%.900s; nothing is sent before every primary has answered", task->trouble);
		return;
	}
	if (!task->draft.adopted)
		problem = precondition(task);
	if (problem)
		task_fail(task, ERROR_BLOCKED, "%.1000s", problem);
	else if (!task->engine->stopping)
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
		record_retry(task);
		return;
	}
	task->stage = STAGE_BUSY_TABLE;
	engine_emit(task, REQUEST_STORE_LIST, FOR_BUSY_TABLE, 0, &task->open_arena)->filter = (struct store_filter){
		.cluster = task->engine->config.cluster, .keyspace = task->ask.keyspace, .table = task->ddl.table,
		.live_only = true, .limit = 1 };
}

/* Somebody drives it, and it needs no person: it comes to its end while we wait. */
static bool will_end(const struct task *task, const struct change *other)
{
	bool at_gate = other->phase == PHASE_SUBMITTED && other->gate == GATE_MANUAL;

	return !task->keyspace->leader && !phase_is_final(other->phase) && !at_gate &&
	       task->engine->now_ms < task->until_ms;
}

static void on_busy_table(struct task *task, const struct reply *reply)
{
	const struct change *other = reply->result == 0 && reply->change_count ? &reply->changes[0] : NULL;

	if (other && will_end(task, other)) {
		snprintf(task->reason, sizeof(task->reason),
			 "another change of table '%s', %s, is driven by %s; waiting for its end", task->ddl.table, other->uuid,
			 task->keyspace->holder);
		task_idle(task, BUSY_TABLE_MS);
		return;
	}
	/* one that a person must end first does not go away by waiting */
	task_fail(task, other && phase_is_final(other->phase) ? ERROR_BLOCKED : ERROR_WAITING,
		  "another change of table '%s' is not over: %s, phase %s; see `vtddl show %s %s`, end it with `vtddl complete` or `vtddl cancel`, then run this one",
		  task->ddl.table, other ? other->uuid : "unknown", other ? phase_name(other->phase) : "unknown",
		  task->ask.keyspace, other ? other->uuid : "UUID");
}

void open_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply)
{
	if (task->stage == STAGE_ENDED)
		return;
	switch (purpose) {
	case FOR_INSERT: on_insert(task, reply); return;
	case FOR_BUSY_TABLE: on_busy_table(task, reply); return;
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
