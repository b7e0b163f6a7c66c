/*
 * The proof at the end: the definition on every shard's primary, and what VTGate serves. Reads only.
 * The result is PROVEN, DISPROVEN, or neither: "cannot tell yet", which is looked at again.
 */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vtddl/strbuf.h"

static void check(struct task *task, const char *format, ...) printf_like(2, 3);

static void check(struct task *task, const char *format, ...)
{
	char text[REASON_MAX];
	va_list arguments;

	if (task->check_count == CHECKS_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	task->checks[task->check_count++] = arena_strdup(&task->check_arena, text);
}

/* The primaries of now: of the recorded shards, by the topology of the last look. */
void verify_start(struct task *task)
{
	struct look *look = task_look(task);

	look->confirm_tried = look->seen.confirmed_known = false; /* what was read before does not confirm what follows */
	arena_release(&task->open_arena);
	task->stage = STAGE_VERIFY;
	task->definitions = arena_array(&task->open_arena, task->record.shard_count + 1, sizeof(*task->definitions));
	task->unseen = 0;
	task->trouble[0] = '\0';
	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct topo_shard *shard = observe_shard(look, task->record.shards[i].name);
		struct request *request;

		if (!shard || !shard->has_primary) {
			task->unseen++;
			snprintf(task->trouble, sizeof(task->trouble), "shard %s has no primary in the topology",
				 task->record.shards[i].name);
			continue;
		}
		request = engine_emit_rpc(task, VTCTLD_GET_SCHEMA, FOR_VERIFY, i, &task->open_arena);
		request->rpc.table = task->record.table;
		request->rpc.tablet = shard->primary;
	}
	task->proof = (struct proof){ .asked = false };
	if (task->engine->config.check_vtgate) {
		struct request *request = engine_emit(task, REQUEST_PROOF, FOR_PROOF, 0, &task->open_arena);

		request->keyspace = task->record.keyspace;
		request->table = task->record.table;
	}
	if (task->waiting == 0) { /* no shard could be asked */
		task->verified_now = true;
		task->verdict_facts = 0;
		decide(task);
	}
}

static bool wants_absent(const struct task *task)
{
	return task->ddl.action == DDL_DROP_TABLE || task->ddl.action == DDL_DROP_VIEW;
}

/* ---- The shards. Each returns false where it disproves the change. ---- */

static bool shards_exist_or_not(struct task *task)
{
	for (size_t i = 0; i < task->record.shard_count; i++) {
		bool exists = task->definitions[i][0] != '\0';

		if (exists == !wants_absent(task))
			continue;
		check(task, "FAIL shard %s: '%s' is %s", task->record.shards[i].name, task->record.table,
		      exists ? "still there" : "not there");
		return false;
	}
	return true;
}

static bool shards_are_equal(struct task *task)
{
	for (size_t i = 1; i < task->record.shard_count; i++) {
		if (ddl_definition_equal(task->definitions[i], task->definitions[0]))
			continue;
		check(task, "FAIL the definition of '%s' on shard %s differs from that on shard %s", task->record.table,
		      task->record.shards[i].name, task->record.shards[0].name);
		return false;
	}
	return true;
}

static bool shards_keep_promises(struct task *task)
{
	static const char *const words[_DDL_PROMISE_MAX] = {
		[DDL_COLUMN_PRESENT] = "has no column", [DDL_COLUMN_ABSENT] = "still has column",
		[DDL_INDEX_PRESENT] = "has no index",	[DDL_INDEX_ABSENT] = "still has index",
	};

	for (size_t i = 0; i < task->record.shard_count; i++)
		for (size_t j = 0; j < task->ddl.promise_count; j++) {
			const struct ddl_promise *promise = &task->ddl.promises[j];

			if (ddl_definition_keeps(task->definitions[i], promise))
				continue;
			check(task, "FAIL shard %s: '%s' %s '%s'", task->record.shards[i].name, task->record.table,
			      words[promise->kind], promise->name);
			return false;
		}
	return true;
}

/* Compared with what was recorded before the submit. An ALTER that changes no text is a rebuild. */
static void compare_with_before(struct task *task)
{
	size_t unknown = 0, changed = 0;

	for (size_t i = 0; i < task->record.shard_count; i++) {
		const char *before = task->record.shards[i].definition_before;

		if (!before)
			unknown++;
		else if (!ddl_definition_equal(before, task->definitions[i]))
			changed++;
	}
	if (unknown)
		check(task, "not checked: the definition before the submit is not known (the store was lost); proven by %s",
		      task->ddl.understood ? "every clause of the statement" : "completion and equality alone");
	else if (changed == task->record.shard_count)
		check(task, "ok the definition differs from the one recorded before the submit, on every shard");
	else
		check(task, "ok %zu of %zu definitions differ from before: a statement that rebuilds without a change of text is proven by its completion",
		      changed, task->record.shard_count);
}

/* A change that was verified earlier: is it still so? */
static bool still_as_verified(struct task *task)
{
	bool same = true;

	for (size_t i = 0; i < task->record.shard_count; i++) {
		const char *after = task->record.shards[i].definition_after;

		if (!after || !ddl_definition_equal(after, task->definitions[i]))
			same = false;
	}
	if (same) {
		check(task, "ok the definition on every shard's primary is the one that was verified");
		return true;
	}
	if (!shards_exist_or_not(task) || !shards_keep_promises(task))
		return false;
	if (task->ddl.action == DDL_ALTER_TABLE && !task->ddl.understood) {
		check(task, "FAIL the definition has changed since it was verified, and this statement cannot be checked clause by clause");
		return false;
	}
	check(task, "ok the definition has changed since, but still has what this statement asks for");
	return true;
}

static bool check_shards(struct task *task)
{
	if (task->record.phase == PHASE_VERIFIED)
		return still_as_verified(task);
	if (!shards_exist_or_not(task))
		return false;
	check(task, "ok '%s' is %s on all %zu shards", task->record.table, wants_absent(task) ? "gone" : "there",
	      task->record.shard_count);
	if (wants_absent(task))
		return true;
	if (!shards_are_equal(task))
		return false;
	check(task, "ok its definition is equal on every shard's primary");
	if (!shards_keep_promises(task))
		return false;
	if (task->ddl.promise_count)
		check(task, "ok %zu clause%s of the statement checked on every shard%s", task->ddl.promise_count,
		      task->ddl.promise_count == 1 ? "" : "s",
		      task->ddl.understood ? "" : "; others are not understood and were compared as text only");
	if (task->ddl.action == DDL_ALTER_TABLE || task->ddl.action == DDL_ALTER_VIEW)
		compare_with_before(task);
	return true;
}

/* ---- VTGate: true only if it serves the change. It lags the shards by a second or more. ---- */

static bool has_column(const char *columns, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = columns; at && *at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (strncasecmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

static bool vtgate_serves(struct task *task)
{
	const struct proof *proof = &task->proof;
	bool known = proof->definition && proof->definition[0];

	if (!proof->reachable) {
		check(task, "wait VTGate: %.500s", proof->text);
		return false;
	}
	if (known == wants_absent(task)) {
		check(task, "wait VTGate %s '%s'", known ? "still knows" : "does not know", task->record.table);
		return false;
	}
	for (size_t i = 0; !wants_absent(task) && i < task->ddl.promise_count; i++) {
		const struct ddl_promise *promise = &task->ddl.promises[i];
		bool column = promise->kind == DDL_COLUMN_PRESENT || promise->kind == DDL_COLUMN_ABSENT;

		if (column && has_column(proof->columns, promise->name) != (promise->kind == DDL_COLUMN_PRESENT)) {
			check(task, "wait VTGate does not serve the new columns yet (column '%s')", promise->name);
			return false;
		}
	}
	check(task, "ok VTGate serves the new definition");
	return true;
}

static bool check_vtgate(struct task *task)
{
	const struct proof *proof = &task->proof;

	if (!proof->asked) {
		check(task, "not checked: VTGate and probes (give --vtgate HOST:PORT and --probe 'select ...')");
		return true;
	}
	if (!vtgate_serves(task))
		return false;
	if (proof->probe_text && proof->probe_text[0])
		check(task, "%s %.500s", proof->probes_ok && proof->probes_settled ? "ok" : "wait", proof->probe_text);
	return proof->probes_ok && proof->probes_settled;
}

#define ARTIFACTS_SHOWN 4
#define ARTIFACTS_MAX 200 /* bytes of one shard's */

static const char *without_last_comma(struct arena *arena, const char *list)
{
	size_t length = strlen(list);

	return arena_memdup(arena, list, length && list[length - 1] == ',' ? length - 1 : length);
}

/* Old tables that Vitess keeps for a revert. It names an artifact for a CREATE too, but makes no such table. */
static void list_artifacts(struct task *task)
{
	const struct look *look = task_look(task);
	struct strbuf text;
	size_t shards = 0;

	if (task->ddl.action == DDL_CREATE_TABLE || (task->ddl.action == DDL_CREATE_VIEW && !task->ddl.or_replace))
		return;
	strbuf_init(&text, REASON_MAX - 200);
	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct shard_look *shard = &look->shards[i];

		if (shard->state != ROW_ONE || !shard->row.artifacts || !shard->row.artifacts[0])
			continue;
		if (shards++ >= ARTIFACTS_SHOWN)
			continue;
		strbuf_addf(&text, "%s%s ", shards > 1 ? ", " : "", task->record.shards[i].name);
		strbuf_add_shown(&text, without_last_comma(&task->check_arena, shard->row.artifacts), ARTIFACTS_MAX);
	}
	if (shards)
		check(task, "left behind on %zu shard%s, dropped by Vitess when the retention ends (24 h by default): %s%s", shards,
		      shards == 1 ? "" : "s", text.text, shards > ARTIFACTS_SHOWN ? ", ..." : "");
	strbuf_release(&text);
}

static void conclude(struct task *task)
{
	task->verified_now = true;
	task->verdict_facts = 0;
	arena_release(&task->check_arena);
	task->check_count = 0;
	if (task->unseen) {
		check(task, "wait %.900s", task->trouble);
	} else if (!check_shards(task)) {
		task->verdict_facts = FACT_DISPROVEN;
	} else if (check_vtgate(task)) {
		list_artifacts(task);
		task->verdict_facts = FACT_PROVEN;
	}
	decide(task);
}

static void on_definition(struct task *task, size_t shard, const struct vtctld_reply *reply)
{
	if (reply->outcome != VTCTLD_DONE) {
		task->unseen++;
		snprintf(task->trouble, sizeof(task->trouble), "shard %s: its primary does not answer (%.300s)",
			 task->record.shards[shard].name, reply->text);
		return;
	}
	task->definitions[shard] = open_definition(reply, task->record.table);
}

void verify_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply)
{
	if (task->stage != STAGE_VERIFY)
		return;
	if (purpose == FOR_PROOF)
		task->proof = reply->proof;
	else
		on_definition(task, index, &reply->rpc);
	if (task->waiting == 0)
		conclude(task);
}
