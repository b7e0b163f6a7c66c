/* What one shard's vttablet does with a statement that vtctld sends it. */
#include "fleet_model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MINUTE_MS 60000

static bool leg_refuse(struct call *call, struct leg *leg, const char *code, const char *text)
{
	const char *by = call->request.caller_id != NULL
				 ? arena_printf(&call->memory, " (CallerID: %s)", call->request.caller_id)
				 : "";
	char alias[ALIAS_TEXT_SIZE];

	tablet_alias_format(&leg->shard->primary->alias, alias);
	leg->error = arena_printf(&call->memory,
				  "rpc error: code = Unknown desc = TabletManager.ExecuteQuery on %s: "
				  "rpc error: code = %s desc = %s%s",
				  alias, code, text, by);
	return false;
}

/* ---- Verbs on one row. True: it changed the row ---- */

bool row_release(struct fleet *fleet, struct shard *shard, struct row *row)
{
	/* Whatever its status: a failed row loses its hold, too. */
	if (!row->now.postpone_completion)
		return false;
	row->now.postpone_completion = false;
	shard_event(fleet, shard);
	return true;
}

bool row_cancel(struct fleet *fleet, struct shard *shard, struct row *row)
{
	bool had_stream = row->now.status != MIGRATION_RUNNING ||
			  (!row->is_frozen && fleet->now_ms >= shard->stream_ms);

	if (!row_is_live(row))
		return false;
	row_end(fleet, shard, row, MIGRATION_CANCELLED, "CANCEL issued by user");
	fleet_poke(fleet);
	return had_stream;
}

bool row_retry(struct fleet *fleet, struct shard *shard, struct row *row)
{
	struct migration *m = &row->now;

	if (m->status != MIGRATION_FAILED && m->status != MIGRATION_CANCELLED)
		return false;
	/* Kept: the hold, ready_to_complete, progress, rows_copied, artifacts, reviewed_at. */
	m->status = MIGRATION_QUEUED;
	m->retries++;
	m->message = m->stage = "";
	m->cutover_attempts = 0;
	m->started_at_s = m->liveness_s = m->completed_at_s = 0;
	m->tablet = shard->primary->alias;
	row->completed_ms = 0;
	row->step = STEP_NONE;
	shard_event(fleet, shard);
	return true;
}

static bool row_launch(struct fleet *fleet, struct shard *shard, struct row *row)
{
	if (!row->now.postpone_launch)
		return false;
	row->now.postpone_launch = false;
	shard_event(fleet, shard);
	return true;
}

static bool row_postpone(struct fleet *fleet, struct shard *shard, struct row *row)
{
	bool changed = !row->now.postpone_completion;

	(void)fleet, (void)shard;
	row->now.postpone_completion = true;
	return changed;
}

bool row_cleanup(struct fleet *fleet, struct shard *shard, struct row *row)
{
	(void)fleet, (void)shard;
	if (row_is_live(row) || *row->now.artifacts == '\0')
		return false;
	row->now.artifacts = "";
	return true;
}

static bool row_force(struct fleet *fleet, struct shard *shard, struct row *row)
{
	bool changed = !row->is_forced;

	row->is_forced = true;
	shard_event(fleet, shard);
	return changed;
}

static const struct {
	bool (*act)(struct fleet *, struct shard *, struct row *);
	const char *name;
} verbs[_CONTROL_MAX] = {
	[CONTROL_COMPLETE] = { row_release, "COMPLETE" },
	[CONTROL_CANCEL] = { row_cancel, "CANCEL" },
	[CONTROL_RETRY] = { row_retry, "RETRY" },
	[CONTROL_LAUNCH] = { row_launch, "LAUNCH" },
	[CONTROL_CLEANUP] = { row_cleanup, "CLEANUP" },
	[CONTROL_FORCE_CUTOVER] = { row_force, "FORCE_CUTOVER" },
	[CONTROL_POSTPONE] = { row_postpone, "POSTPONE" },
};

static bool shard_control(struct fleet *fleet, struct shard *shard, struct call *call, struct leg *leg)
{
	const struct control *control = &call->control;
	struct row *row = shard_find_row(shard, control->uuid);

	if (control->shards != NULL && !list_has(control->shards, shard->name))
		return true;
	if (strcasecmp(control->uuid, "all") == 0) {
		for (size_t i = 0; i < shard->row_count; i++)
			if (row_is_live(shard->rows[i]) || control->verb == CONTROL_CLEANUP)
				leg->rows += verbs[control->verb].act(fleet, shard, shard->rows[i]) ? 1 : 0;
	} else if (control->verb == CONTROL_CANCEL && row == NULL) {
		return leg_refuse(call, leg, "Unknown", "migration not found");
	} else if (!uuid_is_accepted(control->uuid)) {
		return leg_refuse(call, leg, "Unknown",
				  arena_printf(&call->memory, "Not a valid migration ID in %s: %s",
					       verbs[control->verb].name, control->uuid));
	} else if (row != NULL) {
		leg->rows = verbs[control->verb].act(fleet, shard, row) ? 1 : 0;
	}
	leg->had_effect = leg->rows > 0;
	return true;
}

/* ---- Submit ---- */

static bool options_have(const char *options, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = options; (at = strstr(at, flag)) != NULL; at += length)
		if (at > options && at[-1] == '-' && (at[length] == '\0' || at[length] == ' ') &&
		    (at == options + 1 || at[-2] == ' ' ||
		     (at[-2] == '-' && (at == options + 2 || at[-3] == ' '))))
			return true;
	return false;
}

enum singleton { SINGLETON_NONE, SINGLETON_ANY, SINGLETON_CONTEXT, SINGLETON_TABLE };

static enum singleton options_singleton(const char *options)
{
	if (options_have(options, "singleton"))
		return SINGLETON_ANY;
	if (options_have(options, "singleton-context"))
		return SINGLETON_CONTEXT;
	return options_have(options, "singleton-table") ? SINGLETON_TABLE : SINGLETON_NONE;
}

/* Text of the refusal by a singleton flag; NULL: none. A pending row refuses its own resubmission. */
static const char *singleton_refusal(const struct shard *shard, struct call *call)
{
	enum singleton kind = options_singleton(call->options);

	for (size_t i = 0; kind != SINGLETON_NONE && i < shard->row_count; i++) {
		const struct migration *m = &shard->rows[i]->now;

		if (!row_is_live(shard->rows[i]))
			continue;
		if (kind == SINGLETON_ANY)
			return arena_printf(&call->memory,
					    "singleton migration rejected: found pending migrations "
					    "[sample: %s]",
					    m->uuid);
		if (kind == SINGLETON_CONTEXT && strcmp(m->context, call->request.context) != 0)
			return arena_printf(&call->memory,
					    "singleton-context migration rejected: found pending "
					    "migration: %s in different context: %s",
					    m->uuid, m->context);
		if (kind == SINGLETON_TABLE && strcmp(m->table, call->statement.table) == 0)
			return arena_printf(&call->memory,
					    "singleton-table migration rejected: found pending "
					    "migration: %s for the same table: %s",
					    m->uuid, m->table);
	}
	return NULL;
}

/* --cut-over-threshold is checked by the tablet, not by vtctld: 5 s to 30 s. NULL: fine. */
static const char *threshold_refusal(struct call *call)
{
	const char *value = strstr(call->options, "-cut-over-threshold=");
	char *unit;
	double seconds;

	if (value == NULL)
		return NULL;
	seconds = strtod(value + strlen("-cut-over-threshold="), &unit);
	seconds *= strncmp(unit, "ms", 2) == 0 ? 0.001 : *unit == 'm' ? 60 : *unit == 'h' ? 3600 : 1;
	if (seconds == 0 || (seconds >= 5 && seconds <= 30))
		return NULL;
	return arena_printf(&call->memory, "validating cut-over threshold in migration %s: cut-over %s",
			    call->request.uuid, seconds < 5 ? "min value is 5s" : "max value is 30s");
}

static const char *ddl_action(enum statement_kind kind)
{
	if (kind == STATEMENT_CREATE_TABLE || kind == STATEMENT_CREATE_VIEW)
		return "create";
	return kind == STATEMENT_DROP_TABLE || kind == STATEMENT_DROP_VIEW ? "drop" : "alter";
}

static const char *cut_at(struct arena *arena, const char *text, size_t max)
{
	return arena_memdup(arena, text, strnlen(text, max));
}

static void row_insert(struct fleet *fleet, struct shard *shard, const struct call *call)
{
	struct arena *arena = &fleet->memory;
	struct row *row = arena_alloc(arena, sizeof(*row));
	struct migration *m = &row->now;

	row->statement = arena_alloc(arena, sizeof(*row->statement));
	statement_parse(arena, arena_strdup(arena, call->request.sql), row->statement);
	row->is_cut = strlen(row->statement->canonical) > STORED_STATEMENT_MAX;
	row->allow_concurrent = options_have(call->options, "allow-concurrent");
	row->prefer_instant = options_have(call->options, "prefer-instant-ddl");
	row->last_attempt_ms = -24 * 60 * MINUTE_MS;
	row->shown_ms = -1;
	m->uuid = arena_strdup(arena, call->request.uuid);
	m->keyspace = fleet->keyspace;
	m->shard = shard->name;
	m->table = arena_strdup(arena, row->statement->table);
	m->statement = cut_at(arena, row->statement->canonical, STORED_STATEMENT_MAX);
	m->options = arena_strdup(arena, call->options);
	m->context = cut_at(arena, call->request.context, STORED_CONTEXT_MAX);
	m->ddl_action = ddl_action(row->statement->kind);
	m->message = m->stage = m->artifacts = m->special_plan = "";
	m->strategy = call->strategy;
	m->status = MIGRATION_QUEUED;
	m->postpone_completion = options_have(call->options, "postpone-completion");
	m->postpone_launch = options_have(call->options, "postpone-launch");
	m->requested_at_s = fleet_wall_s(fleet);
	m->eta_s = -1;
	m->tablet = shard->primary->alias;
	row->first = *m;
	shard->rows = array_grow(shard->rows, shard->row_count, &shard->row_capacity, sizeof(*shard->rows));
	shard->rows[shard->row_count++] = row;
	shard_event(fleet, shard);
}

static bool shard_submit(struct fleet *fleet, struct shard *shard, struct call *call, struct leg *leg)
{
	struct row *row = shard_find_row(shard, call->request.uuid);
	const char *refusal;

	if (row != NULL && strcmp(row->now.context, call->request.context) != 0)
		return leg_refuse(call, leg, "FailedPrecondition",
				  arena_printf(&call->memory,
					       "migration rejected: found migration %s with different "
					       "context: %s than submitted migration's context: %s",
					       row->now.uuid, row->now.context, call->request.context));
	refusal = singleton_refusal(shard, call);
	if (refusal != NULL)
		return leg_refuse(call, leg, "FailedPrecondition",
				  row != NULL ? refusal
					      : arena_printf(&call->memory, "submitting migration %s: %s",
							     call->request.uuid, refusal));
	refusal = row == NULL ? threshold_refusal(call) : NULL;
	if (refusal != NULL)
		return leg_refuse(call, leg, "InvalidArgument", refusal);
	if (row == NULL)
		row_insert(fleet, shard, call);
	/* The statement and flags of a resubmission are neither compared nor kept. */
	leg->rows = row == NULL || row_retry(fleet, shard, row) ? 1 : 0;
	leg->had_effect = leg->rows > 0;
	return true;
}

static bool shard_direct(struct fleet *fleet, struct shard *shard, struct call *call, struct leg *leg)
{
	struct mysql_error error = { 0 };
	struct statement statement;

	if (call->statement.kind == STATEMENT_OTHER)
		return true;
	statement_parse(&fleet->memory, arena_strdup(&fleet->memory, call->request.sql), &statement);
	if (!schema_apply(&shard->schema, &statement, &error))
		return leg_refuse(call, leg, "Unknown", error.text);
	leg->had_effect = true;
	return true;
}

/* ---- The statement ---- */

bool shard_waits_for_mutex(const struct shard *shard, const struct call *call)
{
	if (shard->cutover.row == NULL || call->is_direct)
		return false;
	return call->control.verb != CONTROL_NONE || options_singleton(call->options) != SINGLETON_NONE ||
	       shard_find_row(shard, call->request.uuid) != NULL;
}

bool shard_execute(struct fleet *fleet, struct shard *shard, struct call *call, struct leg *leg)
{
	const char *refusal = shard_refuses_effects(fleet, shard);

	if (refusal != NULL)
		return leg_refuse(call, leg,
				  strstr(refusal, "disabled") != NULL ? "FailedPrecondition" : "Code(17)",
				  refusal);
	if (call->control.verb != CONTROL_NONE)
		return shard_control(fleet, shard, call, leg);
	return call->is_direct ? shard_direct(fleet, shard, call, leg)
			       : shard_submit(fleet, shard, call, leg);
}
