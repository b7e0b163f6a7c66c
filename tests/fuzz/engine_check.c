/*
 * What must hold whatever vtctld answers, by what it did answer and by the store. The numbers are those of
 * docs/reliability.md.
 */
#include <strings.h>

#include "engine_world.h"
#include "vtddl/identity.h"

#define CALLS_AT_ONCE 4000 /* requests while time stands still and every answer is given at once */

struct truth *check_truth(struct world *world, const char *uuid)
{
	for (size_t i = 0; i < world->truth_count; i++)
		if (strcmp(world->truths[i].uuid, uuid) == 0)
			return &world->truths[i];
	fuzz_check(world->truth_count < WORLD_TRUTHS,
		   "more changes than there are statements and generations");
	world->truths[world->truth_count] = (struct truth){ .moved_at_ms = world->now_ms };
	snprintf(world->truths[world->truth_count].uuid, UUID_LENGTH + 1, "%s", uuid);
	return &world->truths[world->truth_count++];
}

/* ---- What a task was answered. ---- */

static struct evidence *evidence_of(struct controller *controller, const struct task *task)
{
	struct evidence *evidence = controller->evidence;

	while (evidence && evidence->task != task)
		evidence = evidence->next;
	if (evidence)
		return evidence;
	evidence = calloc(1, sizeof(*evidence));
	fuzz_check(evidence, "memory");
	evidence->task = task;
	evidence->next = controller->evidence;
	controller->evidence = evidence;
	return evidence;
}

void check_forget(struct controller *controller)
{
	while (controller->evidence) {
		struct evidence *next = controller->evidence->next;

		for (size_t i = 0; i < WORLD_SHARDS; i++)
			free(controller->evidence->shards[i].definition);
		free(controller->evidence);
		controller->evidence = next;
	}
}

static struct shard_seen *shard_of(struct evidence *evidence, const char *name)
{
	for (size_t i = 0; i < evidence->shard_count; i++)
		if (strcmp(evidence->shards[i].name, name) == 0)
			return &evidence->shards[i];
	return NULL;
}

/* A primary's own answer beats the other, but never settles who of two has the shard. */
static unsigned rows_of(const struct evidence *evidence, const struct shard_seen *shard, struct row_seen *ret)
{
	unsigned rows = evidence->rows_known ? shard->rows : 0;

	*ret = shard->row;
	if (rows > 1 || !shard->direct)
		return rows;
	*ret = shard->direct_row;
	return shard->direct_rows;
}

static bool is_absent(const struct evidence *evidence, const struct shard_seen *shard)
{
	struct row_seen row;

	return shard->direct && rows_of(evidence, shard, &row) == 0;
}

static bool is_ready(const struct row_seen *row)
{
	return row->held && row->ready && row->ours &&
	       (row->status == MIGRATION_RUNNING ||
		(row->status == MIGRATION_QUEUED && row->immediate && row->reviewed));
}

static bool is_dead(const struct row_seen *row)
{
	return row->status == MIGRATION_FAILED || row->status == MIGRATION_CANCELLED;
}

static struct row_seen row_seen(const struct migration *row, const struct change *change)
{
	return (struct row_seen){
		.status = row->status,
		.held = row->postpone_completion,
		.ready = row->ready_to_complete,
		.immediate = row->is_immediate_operation,
		.reviewed = row->reviewed_at_s != 0,
		.retries = row->retries,
		.ours = strcmp(row->context, change->context) == 0 && strcmp(row->table, change->table) == 0,
		.duplicate = strstr(row->message, "duplicate DDL as") != NULL,
	};
}

/* A look is over when the next one begins: was each shard ready in it? */
static void note_ready(struct evidence *evidence)
{
	for (size_t i = 0; i < evidence->shard_count; i++) {
		struct shard_seen *shard = &evidence->shards[i];
		struct row_seen row;

		if (rows_of(evidence, shard, &row) != 1 || !is_ready(&row)) {
			shard->ready_run = false;
		} else if (!shard->ready_run || shard->ready_retries != row.retries) {
			shard->ready_run = true;
			shard->ready_since_ms = evidence->began_ms;
			shard->ready_retries = row.retries;
		}
	}
}

static void look_begins(struct controller *controller, const struct task *task)
{
	struct evidence *evidence = evidence_of(controller, task);

	note_ready(evidence);
	evidence->began_ms = controller->world->now_ms;
	evidence->rows_known = evidence->stray = evidence->first.known = evidence->confirm.known = false;
	for (size_t i = 0; i < WORLD_SHARDS; i++) {
		struct shard_seen *shard = &evidence->shards[i];

		if (i < task->record.shard_count && strcmp(shard->name, task->record.shards[i].name) != 0) {
			snprintf(shard->name, sizeof(shard->name), "%s", task->record.shards[i].name);
			shard->ready_run = false;
		}
		shard->rows = shard->direct_rows = 0;
		shard->direct = false;
	}
	fuzz_check(task->record.shard_count <= WORLD_SHARDS, "a record of more shards than there are");
	evidence->shard_count = task->record.shard_count;
}

static void note_topology(struct topology_seen *seen, const struct vtctld_reply *reply)
{
	*seen = (struct topology_seen){ .known = reply->outcome == VTCTLD_DONE };
	for (size_t i = 0; seen->known && i < reply->shards.count; i++) {
		snprintf(seen->names[i], sizeof(seen->names[i]), "%s", reply->shards.items[i].name);
		seen->primaries[i] = reply->shards.items[i].primary;
		seen->count++;
	}
}

static void note_rows(struct evidence *evidence, const struct change *record,
		      const struct vtctld_reply *reply)
{
	evidence->rows_known = reply->outcome == VTCTLD_DONE;
	for (size_t i = 0; evidence->rows_known && i < reply->migrations.count; i++) {
		const struct migration *row = &reply->migrations.items[i];
		struct shard_seen *shard = shard_of(evidence, row->shard);

		if (strcasecmp(row->uuid, record->uuid) != 0)
			continue;
		if (!shard)
			evidence->stray |= migration_is_live(row);
		else if (shard->rows++ == 0)
			shard->row = row_seen(row, record);
	}
}

static void note_direct(struct evidence *evidence, const struct call *call, const struct change *record,
			const struct vtctld_reply *reply)
{
	struct shard_seen *shard = &evidence->shards[call->index];
	struct arena arena = { 0 };
	struct migration *rows = NULL;
	size_t count = 0;

	if (reply->outcome != VTCTLD_DONE)
		return;
	shard->direct = migration_from_result(&arena, &reply->result, shard->name, &rows, &count, NULL) == 0;
	for (size_t i = 0; shard->direct && i < count; i++)
		if (strcasecmp(rows[i].uuid, record->uuid) == 0 && shard->direct_rows++ == 0)
			shard->direct_row = row_seen(&rows[i], record);
	arena_release(&arena);
}

static void note_definition(struct evidence *evidence, const struct call *call, const struct change *record,
			    const struct vtctld_reply *reply)
{
	struct shard_seen *shard = &evidence->shards[call->index];

	free(shard->definition);
	shard->definition = NULL;
	if (reply->outcome != VTCTLD_DONE)
		return;
	for (size_t i = 0; i < reply->definitions.count && !shard->definition; i++)
		if (strcmp(reply->definitions.items[i].name, record->table) == 0)
			shard->definition = strdup(reply->definitions.items[i].schema);
	if (!shard->definition)
		shard->definition = strdup("");
}

/* Before the engine is told. */
void check_reply(struct controller *controller, const struct call *call, const struct reply *reply)
{
	struct evidence *evidence;

	if (!call->task || call->request.kind != REQUEST_RPC)
		return;
	evidence = evidence_of(controller, call->task);
	if (call->purpose == FOR_TOPOLOGY && call->task->stage == STAGE_LOOK)
		note_topology(&evidence->first, &reply->rpc);
	else if (call->purpose == FOR_CONFIRM)
		note_topology(&evidence->confirm, &reply->rpc);
	else if (call->purpose == FOR_ROWS)
		note_rows(evidence, &call->task->record, &reply->rpc);
	else if (call->purpose == FOR_DIRECT)
		note_direct(evidence, call, &call->task->record, &reply->rpc);
	else if (call->purpose == FOR_VERIFY)
		note_definition(evidence, call, &call->task->record, &reply->rpc);
}

/* ---- Requests. ---- */

static void check_read(const struct world *world, const struct call *call)
{
	const struct vtctld_request *rpc = &call->request.rpc;
	const char *method = vtctld_method_name(rpc->method);

	if (rpc->method == VTCTLD_EXECUTE_FETCH_AS_DBA) {
		fuzz_check(rpc->sql && strncmp(rpc->sql, "select ", 7) == 0 && !strchr(rpc->sql, ';'),
			   "%s is more than a select", method);
		fuzz_check(rpc->limit > 0, "%s without a limit", method);
	}
	if (rpc->method == VTCTLD_EXECUTE_FETCH_AS_DBA || rpc->method == VTCTLD_GET_SCHEMA)
		fuzz_check(rpc->tablet.cell[0], "%s asks a tablet without a name", method);
	if (rpc->method == VTCTLD_GET_SCHEMA)
		fuzz_check(rpc->table && rpc->table[0], "%s of no table", method);
	if (rpc->method == VTCTLD_GET_SCHEMA_MIGRATIONS) {
		fuzz_check(rpc->limit > 0, "%s without a limit", method);
		fuzz_check(!rpc->uuid || uuid_is_valid(rpc->uuid), "%s of '%s'", method, rpc->uuid);
	}
	(void)world;
}

static enum effect effect_of(enum vtctld_method method)
{
	return method == VTCTLD_APPLY_SCHEMA ? EFFECT_SUBMIT
	       : method == VTCTLD_COMPLETE   ? EFFECT_COMPLETE
					     : EFFECT_CANCEL;
}

/* The "all" trap, and all that Vitess takes as it comes. */
static void check_words(const struct vtctld_request *rpc, const struct change *record)
{
	fuzz_check(strcmp(rpc->keyspace, record->keyspace) == 0,
		   "an effect on keyspace %s, the record says %s", rpc->keyspace, record->keyspace);
	fuzz_check(rpc->timeout_ms > 0 && rpc->timeout_ms <= 75000, "an effect with a deadline of %lld ms",
		   (long long)rpc->timeout_ms);
	if (rpc->method != VTCTLD_APPLY_SCHEMA)
		return;
	fuzz_check(context_is_valid(rpc->context) && strcmp(rpc->context, record->context) == 0,
		   "context '%s'", rpc->context);
	fuzz_check(strcmp(rpc->sql, record->ddl) == 0, "another statement than that of the record is sent");
	fuzz_check(strncmp(rpc->strategy, "vitess ", 7) == 0 &&
			   strstr(rpc->strategy, "--postpone-completion") &&
			   strstr(rpc->strategy, "--singleton-context"),
		   "strategy '%s'", rpc->strategy);
}

static const bool allowed[_PHASE_MAX][_EFFECT_MAX] = {
	[PHASE_SUBMITTING][EFFECT_SUBMIT] = true,   [PHASE_SUBMITTED][EFFECT_SUBMIT] = true,
	[PHASE_COMPLETING][EFFECT_COMPLETE] = true, [PHASE_CANCELLING][EFFECT_CANCEL] = true,
	[PHASE_CANCELLED][EFFECT_CANCEL] = true,
};

/* R3, by the store's clock. */
static void check_fence(const struct controller *controller, const struct vtctld_request *rpc)
{
	struct store_model_lease lease;
	char scope[SCOPE_MAX + 1];

	snprintf(scope, sizeof(scope), "default/%s", rpc->keyspace);
	fuzz_check(store_model_lease(controller->world->model, scope, &lease) &&
			   strcmp(lease.owner, controller->owner) == 0,
		   "R3: %s is sent by %s without the lease", vtctld_method_name(rpc->method),
		   controller->owner);
	fuzz_check(lease.ends_ms - controller->world->now_ms >= rpc->timeout_ms,
		   "R3: the lease ends before the effect does");
}

/* R5, F2: what must have been seen in the look that led to it. */
static void check_seen(struct controller *controller, const struct call *call)
{
	struct evidence *evidence = evidence_of(controller, call->task);
	unsigned absent = 0, held = 0, dead = 0, live = 0, seen = 0;

	for (size_t i = 0; i < evidence->shard_count; i++) {
		struct row_seen row;
		unsigned rows = rows_of(evidence, &evidence->shards[i], &row);

		absent += is_absent(evidence, &evidence->shards[i]);
		seen += rows == 1 || is_absent(evidence, &evidence->shards[i]);
		held += rows >= 1 && row.held && row.status != MIGRATION_COMPLETE;
		dead += rows == 1 && is_dead(&row);
		live += rows >= 1 && !is_dead(&row) && row.status != MIGRATION_COMPLETE;
	}
	if (call->request.rpc.method == VTCTLD_APPLY_SCHEMA)
		fuzz_check(seen == evidence->shard_count && absent && !dead,
			   "F2: ApplySchema is sent with %zu shards, %u seen, %u absent, %u dead",
			   evidence->shard_count, seen, absent, dead);
	else if (call->request.rpc.method == VTCTLD_COMPLETE)
		fuzz_check(held && !dead, "Complete is sent with %u shards held, %u dead", held, dead);
	else
		fuzz_check(live || evidence->stray, "Cancel is sent and no shard is live");
}

static void check_effect(struct controller *controller, const struct call *call)
{
	struct world *world = controller->world;
	const struct vtctld_request *rpc = &call->request.rpc;
	const char *method = vtctld_method_name(rpc->method);
	enum effect effect = effect_of(rpc->method);
	const struct change *record;
	struct truth *truth;

	fuzz_check(rpc->uuid && uuid_is_valid(rpc->uuid), "F8: %s of '%s'", method,
		   rpc->uuid ? rpc->uuid : "");
	fuzz_check(!controller->read_only && !controller->stopping,
		   "%s by one that only looks, or is leaving", method);
	record = store_model_change(world->model, "default", rpc->uuid);
	fuzz_check(record, "I2: %s is sent for %s, which the store does not have", method, rpc->uuid);
	fuzz_check(allowed[record->phase][effect], "I2, I3, R6: %s is sent in phase %s", method,
		   phase_name(record->phase));
	fuzz_check(record->last_effect == effect, "R1: %s is sent and its attempt is not written down",
		   method);
	truth = check_truth(world, rpc->uuid);
	fuzz_check(++truth->effects_sent[effect] <= truth->attempts_written[effect],
		   "R1: %s is sent %u times, %u attempts were written", method, truth->effects_sent[effect],
		   truth->attempts_written[effect]);
	truth->complete_sent |= effect == EFFECT_COMPLETE;
	truth->cancel_sent |= effect == EFFECT_CANCEL;
	fuzz_check(!truth->complete_sent || !truth->cancel_sent,
		   "I4: %s is sent for %s, which has the other already", method, rpc->uuid);
	for (size_t i = 0; i < controller->call_count; i++)
		fuzz_check(&controller->calls[i] == call || controller->calls[i].purpose != FOR_EFFECT ||
				   strcmp(controller->calls[i].request.rpc.uuid, rpc->uuid) != 0,
			   "I12: %s is sent while another effect is in flight", method);
	fuzz_check(++truth->since_moved <= 10 + (world->now_ms - truth->moved_at_ms) / 15000 ||
			   world->wall_jumped,
		   "I12: %u effects in one phase", truth->since_moved);
	check_words(rpc, record);
	check_fence(controller, rpc);
	check_seen(controller, call);
}

/* As soon as it is asked for. */
void check_request(struct controller *controller, struct call *call)
{
	const struct request *request = &call->request;

	fuzz_check(controller->world->sent_now++ < CALLS_AT_ONCE, "the engine does not come to rest");
	if (request->kind != REQUEST_RPC)
		return;
	fuzz_check(keyspace_is_valid(request->rpc.keyspace), "keyspace '%s' is asked for",
		   request->rpc.keyspace);
	fuzz_check(request->rpc.timeout_ms > 0, "an RPC without a deadline");
	if (call->purpose == FOR_TOPOLOGY && call->task->stage == STAGE_LOOK)
		look_begins(controller, call->task);
	if (vtctld_method_is_effect(request->rpc.method))
		check_effect(controller, call);
	else
		check_read(controller->world, call);
}

/* ---- Writes: each by what its task was answered in the look that led to it. ---- */

static void check_barrier(const struct world *world, struct evidence *evidence, const struct change *after)
{
	note_ready(evidence);
	fuzz_check(evidence->first.known && evidence->confirm.known,
		   "I3: completing without the topology read again");
	fuzz_check(evidence->confirm.count == after->shard_count &&
			   evidence->first.count == after->shard_count,
		   "I3: completing with %zu shards, the topology has %zu", after->shard_count,
		   evidence->confirm.count);
	for (size_t i = 0; i < after->shard_count; i++) {
		const struct shard_seen *shard = &evidence->shards[i];
		struct row_seen row;

		fuzz_check(strcmp(evidence->confirm.names[i], after->shards[i].name) == 0,
			   "I3: completing, and the shards are others");
		fuzz_check(tablet_alias_equal(&evidence->confirm.primaries[i], &evidence->first.primaries[i]),
			   "I3: completing, and shard %s has another primary", shard->name);
		fuzz_check(rows_of(evidence, shard, &row) == 1 && is_ready(&row),
			   "I3: completing while shard %s was not shown ready", shard->name);
		fuzz_check(shard->ready_run && world->now_ms - shard->ready_since_ms >= 1000,
			   "F2: completing, and shard %s was shown ready in one look only", shard->name);
	}
}

/* How many shards show this in the look that led to the write? */
static unsigned count_shards(const struct evidence *evidence, bool (*is)(const struct row_seen *row))
{
	unsigned count = 0;

	for (size_t i = 0; i < evidence->shard_count; i++) {
		struct row_seen row;

		count += rows_of(evidence, &evidence->shards[i], &row) == 1 && (!is || is(&row));
	}
	return count;
}

static bool is_complete(const struct row_seen *row)
{
	return row->status == MIGRATION_COMPLETE && row->ours && !row->duplicate;
}

static unsigned count_gone(const struct evidence *evidence)
{
	unsigned count = count_shards(evidence, is_dead);

	for (size_t i = 0; i < evidence->shard_count; i++)
		count += is_absent(evidence, &evidence->shards[i]);
	return count;
}

static void check_success(struct evidence *evidence, const struct change *after)
{
	bool drops = strncmp(after->ddl, "drop", 4) == 0;

	fuzz_check(count_shards(evidence, is_complete) == after->shard_count,
		   "I8: verified while a shard was not shown complete");
	for (size_t i = 0; i < after->shard_count; i++) {
		const char *definition = evidence->shards[i].definition;

		fuzz_check(definition, "I8: verified, and shard %s did not show its definition",
			   after->shards[i].name);
		fuzz_check(drops == !definition[0], "I8: verified, and on shard %s the table is %sthere",
			   after->shards[i].name, drops ? "" : "not ");
		fuzz_check(drops || ddl_definition_equal(definition, evidence->shards[0].definition),
			   "I8: verified, and the shards differ");
		fuzz_check(!strstr(after->ddl, "add column extra") || strstr(definition, "`extra`"),
			   "I8: verified, and shard %s does not have the column", after->shards[i].name);
	}
}

/* R4: a submit that may still act would revive what is cancelled. */
static void check_reversal(const struct world *world, const struct change *after)
{
	for (size_t i = 0; i < world->orphan_count; i++)
		fuzz_check(world->wall_jumped || strcmp(world->orphans[i].uuid, after->uuid) != 0 ||
				   world->orphans[i].method != VTCTLD_APPLY_SCHEMA ||
				   world->orphans[i].until_ms <= world->now_ms,
			   "R4: cancelling is written while a submit may act for %lld ms",
			   (long long)(world->orphans[i].until_ms - world->now_ms));
	for (size_t i = 0; i < world->writer->call_count; i++)
		fuzz_check(world->writer->calls[i].purpose != FOR_EFFECT ||
				   strcmp(world->writer->calls[i].request.rpc.uuid, after->uuid),
			   "R4: cancelling is written while an effect is in flight");
}

static void check_move(struct world *world, const struct change *before, const struct change *after)
{
	struct evidence *evidence = evidence_of(world->writer, world->writing->task);
	size_t shards = after->shard_count;

	fuzz_check(phase_may_move(before->phase, after->phase), "I7: from %s to %s",
		   phase_name(before->phase), phase_name(after->phase));
	fuzz_check(world->writing->purpose == FOR_WRITE, "a phase is moved by a write that is not for it");
	if (after->phase == PHASE_COMPLETING && before->phase == PHASE_SUBMITTED)
		check_barrier(world, evidence, after);
	else if (after->phase == PHASE_SUBMITTED)
		fuzz_check(count_shards(evidence, NULL) == shards,
			   "R5: submitted, and not every shard has shown its row");
	else if (after->phase == PHASE_COMPLETED ||
		 (after->phase == PHASE_COMPLETING && before->phase == PHASE_SUBMITTING))
		fuzz_check(count_shards(evidence, after->phase == PHASE_COMPLETED ? is_complete : NULL) ==
				   shards,
			   "R5: %s, and not every shard has shown that", phase_name(after->phase));
	else if (after->phase == PHASE_VERIFIED)
		check_success(evidence, after);
	else if (after->phase == PHASE_FAILED)
		fuzz_check(count_shards(evidence, is_dead), "I9: failed, and no shard has shown that");
	else if (after->phase == PHASE_CANCELLED)
		fuzz_check(count_gone(evidence) == shards && !(before->phase == PHASE_CANCELLING && evidence->stray),
			   "cancelled, and a shard may live");
	else if (after->phase == PHASE_CANCELLING)
		check_reversal(world, after);
}

static void check_lease(const struct world *world, const struct change *after)
{
	struct store_model_lease lease;
	char scope[SCOPE_MAX + 1];

	snprintf(scope, sizeof(scope), "default/%s", after->keyspace);
	fuzz_check(store_model_lease(world->model, scope, &lease) &&
			   strcmp(lease.owner, world->writer->owner) == 0,
		   "R2: a step is written by %s, and the lease is '%s'", world->writer->owner, lease.owner);
	fuzz_check(after->epoch == lease.epoch, "R2: epoch %lld is written under a lease of %lld",
		   (long long)after->epoch, (long long)lease.epoch);
}

static void check_attempt(struct world *world, const struct change *before, const struct change *after,
			  struct truth *truth)
{
	fuzz_check(allowed[after->phase][after->last_effect], "R1: an attempt of %s is written in phase %s",
		   effect_name(after->last_effect), phase_name(after->phase));
	fuzz_check(after->attempts == (before->last_effect == after->last_effect ? before->attempts + 1 : 1),
		   "I12: attempt %u follows attempt %u", after->attempts, before->attempts);
	truth->attempts_written[after->last_effect]++;
	check_lease(world, after);
}

void check_write(void *user, struct store *store, const struct change *before, const struct change *after)
{
	struct world *world = user;
	struct truth *truth;

	if (!world->writing || store != world->writer->store) /* by somebody of the test */
		return;
	fuzz_check(!world->writer->read_only, "one that only looks writes");
	truth = check_truth(world, after->uuid);
	/* a generation that replaces another gives that one a revision, too */
	fuzz_check(after->revision == (before ? before->revision : 0) + 1 && after->revision > truth->revision,
		   "I7: revision %lld is written behind revision %lld", (long long)after->revision,
		   (long long)truth->revision);
	truth->revision = after->revision;
	if (!before) {
		fuzz_check(after->phase == PHASE_SUBMITTING && after->attempts == 0,
			   "R1: a record begins with %s", phase_name(after->phase));
		fuzz_check(after->shard_count, "a record of no shard");
		return;
	}
	fuzz_check(after->epoch >= before->epoch, "R2: the epoch falls");
	if (before->phase != after->phase) {
		truth->since_moved = 0;
		truth->moved_at_ms = world->now_ms;
		check_lease(world, after);
		check_move(world, before, after);
	} else if (world->writing->purpose == FOR_ATTEMPT) {
		check_attempt(world, before, after, truth);
	} else {
		fuzz_check(world->writing->purpose == FOR_ASK, "a write that is no step and no wish");
		fuzz_check(before->cancel_asked <= after->cancel_asked, "a wish to cancel is taken back");
	}
}

/* ---- What is shown. ---- */

static void check_text(const char *text, size_t max)
{
	fuzz_check(text && strnlen(text, max + 1) <= max, "a text that is shown is missing or too long");
}

void check_shown(struct controller *controller)
{
	struct engine *engine = controller->engine;
	struct news news;

	for (unsigned id = 0; id < controller->asks; id++) {
		const struct view *view = engine_view(engine, id);

		check_text(view->reason, REASON_MAX + 256);
		check_text(view->advice, REASON_MAX);
		check_text(view->holder, ACTOR_MAX);
		check_text(view->refusal, REASON_MAX);
		fuzz_check(view->in_flight < _EFFECT_MAX && view->error.code < _ERROR_MAX,
			   "a view with a number that is none");
		fuzz_check(view->error.code != ERROR_BUG, "the engine calls itself broken: %s",
			   view->error.text);
		fuzz_check(!view->error.code || view->error.text[0], "an end without a reason");
		for (size_t i = 0; i < view->shard_count; i++)
			check_text(view->shards[i].reason, REASON_MAX - 1);
		for (size_t i = 0; i < view->check_count; i++)
			check_text(view->checks[i], REASON_MAX);
	}
	for (size_t i = 0; i < engine_residents(engine); i++) {
		const struct resident_view *view = engine_resident(engine, i);

		check_text(view->reason, REASON_MAX + 256);
		fuzz_check((unsigned)view->change->phase < _PHASE_MAX, "a resident of no phase");
		for (size_t j = 0; j < view->shard_count; j++)
			check_text(view->shard_names[j], 4096);
	}
	for (size_t i = 0; i < engine_keyspaces(engine); i++)
		check_text(engine_keyspace(engine, i)->holder, ACTOR_MAX);
	while (engine_news(engine, &news))
		check_text(news.reason, REASON_MAX - 1);
}
