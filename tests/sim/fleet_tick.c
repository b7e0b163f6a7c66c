/*
 * What a shard's executor does by itself. A tick reviews, schedules one row, runs one row and
 * looks at the running ones; it comes every minute and 1, 5, 10 and 20 s after an event. Columns
 * such as progress and ready_to_complete change only in a tick, so they can be a minute old.
 */
#include "fleet_model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MINUTE_MS 60000
#define SAME_TICK_MS 100
#define RUN_MS 20	     /* ready is seen for that long (measured) */
#define ZERO_PROGRESS_MS 110 /* running with the leftovers of the last run (measured) */
#define ZERO_READY_MS 10
#define STALE_S (180 * 60)
#define MESSAGE_MAX 16383

bool row_is_live(const struct row *row)
{
	return row->now.status == MIGRATION_QUEUED || row->now.status == MIGRATION_READY ||
	       row->now.status == MIGRATION_RUNNING;
}

static bool shard_has_live_row(const struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++)
		if (row_is_live(shard->rows[i]))
			return true;
	return false;
}

/* ---- When ---- */

static void tick_add(struct shard *shard, int64_t at_ms)
{
	size_t last = 0;

	for (size_t i = 0; i < shard->tick_count; i++) {
		if (shard->ticks[i] <= at_ms && shard->ticks[i] > at_ms - SAME_TICK_MS)
			return;
		if (shard->ticks[i] > shard->ticks[last])
			last = i;
	}
	if (shard->tick_count < TICKS_MAX)
		shard->ticks[shard->tick_count++] = at_ms;
	else if (at_ms < shard->ticks[last])
		shard->ticks[last] = at_ms;
}

/* Ticks that came while there was nothing to do. */
static void ticks_forget_past(struct shard *shard, int64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < shard->tick_count; i++)
		if (shard->ticks[i] >= now_ms)
			shard->ticks[kept++] = shard->ticks[i];
	shard->tick_count = kept;
	if (shard->minute_ms < now_ms)
		shard->minute_ms += MINUTE_MS * ((now_ms - shard->minute_ms) / MINUTE_MS + 1);
}

void shard_event(struct fleet *fleet, struct shard *shard)
{
	static const int64_t after_ms[] = { 1000, 5000, 10000, 20000 };

	ticks_forget_past(shard, fleet->now_ms);
	for (size_t i = 0; i < sizeof(after_ms) / sizeof(after_ms[0]); i++)
		tick_add(shard, fleet->now_ms + after_ms[i]);
}

static int64_t tick_next_ms(const struct shard *shard)
{
	int64_t next = shard->minute_ms;

	if (!shard_has_live_row(shard))
		return NEVER;
	for (size_t i = 0; i < shard->tick_count; i++)
		if (shard->ticks[i] < next)
			next = shard->ticks[i];
	return next;
}

int64_t shard_next_ms(const struct shard *shard)
{
	int64_t next;

	if (shard->primary->life == LIFE_STARTING)
		return shard->primary->ready_ms;
	if (shard->primary->life != LIFE_UP)
		return NEVER;
	/* A cut-over attempt is made inside a tick: no other begins before it ends. */
	next = shard->cutover.row != NULL ? shard->cutover.step_ms : tick_next_ms(shard);
	if (shard->leftover_ms < next)
		next = shard->leftover_ms;
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i]->step != STEP_NONE && shard->rows[i]->step_ms < next)
			next = shard->rows[i]->step_ms;
	return next;
}

/* ---- Ends of a row ---- */

void row_end(struct fleet *fleet, struct shard *shard, struct row *row, enum migration_status status,
	     const char *message)
{
	row->now.status = (int)status;
	row->now.completed_at_s = fleet_wall_s(fleet);
	row->completed_ms = fleet->wall_ms + fleet->now_ms;
	row->step = STEP_NONE;
	row->is_frozen = false;
	if (message != NULL)
		row->now.message = arena_memdup(&fleet->memory, message, strnlen(message, MESSAGE_MAX));
	if (status == MIGRATION_COMPLETE) {
		row->now.progress = 100;
		row->now.eta_s = 0;
	}
	if (shard->cutover.row == row)
		cutover_interrupt(shard);
	shard_event(fleet, shard);
}

static void row_fail(struct fleet *fleet, struct shard *shard, struct row *row, const char *message)
{
	row_end(fleet, shard, row, MIGRATION_FAILED, message);
}

/* ---- Copy ---- */

static void row_copy(struct fleet *fleet, struct shard *shard, struct row *row)
{
	int64_t from = row->copy_mark_ms > shard->stream_ms ? row->copy_mark_ms : shard->stream_ms;

	if (fleet->now_ms > from && shard->primary->life == LIFE_UP && !shard->is_copy_held)
		row->copied_ms += fleet->now_ms - from;
	if (row->copied_ms > row->copy_total_ms)
		row->copied_ms = row->copy_total_ms;
	row->copy_mark_ms = fleet->now_ms;
}

void shard_copy(struct fleet *fleet, struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i]->now.status == MIGRATION_RUNNING)
			row_copy(fleet, shard, shard->rows[i]);
}

static void row_show_copy(struct fleet *fleet, struct shard *shard, struct row *row)
{
	struct migration *m = &row->now;
	bool copied;

	row_copy(fleet, shard, row);
	copied = row->copied_ms >= row->copy_total_ms;
	m->liveness_s = fleet_wall_s(fleet);
	row->shown_ms = fleet->now_ms;
	m->table_rows = fleet->rows;
	m->rows_copied = fleet->rows * row->copied_ms / row->copy_total_ms;
	m->progress = copied ? 100 : 100.0 * (double)row->copied_ms / (double)row->copy_total_ms;
	m->eta_s = row->copied_ms == 0 ? -1 : (row->copy_total_ms - row->copied_ms + 999) / 1000;
	m->ready_to_complete = copied && !shard->is_unready;
	if (!m->ready_to_complete)
		return;
	row->was_ready = true;
	if (m->ready_to_complete_at_s == 0) /* keeps the first time */
		m->ready_to_complete_at_s = fleet_wall_s(fleet);
}

/* ---- Running ---- */

static const char *row_artifact(struct fleet *fleet, const struct row *row, const char *hint)
{
	time_t seconds = (time_t)fleet_wall_s(fleet);
	char hex[UUID_LENGTH + 1], stamp[32];
	struct tm tm;
	size_t n = 0;

	for (const char *c = row->now.uuid; *c != '\0' && n < UUID_LENGTH; c++)
		if (*c != '_')
			hex[n++] = *c;
	hex[n] = '\0';
	strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", gmtime_r(&seconds, &tm));
	return arena_printf(&fleet->memory, "_vt_%s_%s_%s_", hint, hex, stamp);
}

static void row_add_artifact(struct fleet *fleet, struct row *row, const char *name)
{
	row->now.artifacts = arena_printf(&fleet->memory, "%s%s,", row->now.artifacts, name);
}

/* "duplicate DDL": an earlier complete row of the context with the same text; it ignores the hold. */
static const struct row *row_find_duplicate(const struct shard *shard, const struct row *row)
{
	for (size_t i = 0; i < shard->row_count; i++) {
		const struct row *other = shard->rows[i];

		if (other != row && other->now.status == MIGRATION_COMPLETE &&
		    strcasecmp(other->now.context, row->now.context) == 0 &&
		    strcasecmp(other->now.statement, row->now.statement) == 0)
			return other;
	}
	return NULL;
}

static void step_later(struct row *row, enum row_step step, int64_t at_ms)
{
	row->step = step;
	row->step_ms = at_ms;
}

static void row_start_copy(struct fleet *fleet, struct shard *shard, struct row *row)
{
	const char *shadow = row_artifact(fleet, row, "vrp");
	const char *name = row->now.table;
	struct mysql_error error = { 0 };

	row_add_artifact(fleet, row, shadow);
	if (!schema_plan(&shard->schema, row->statement, &row->shadow, &error)) {
		row->failure = arena_printf(&fleet->memory, "%s during query: ALTER TABLE `%s` %s",
					    error.text, shadow,
					    sql_join(&fleet->memory, row->statement->tokens,
						     row->statement->body, row->statement->count));
		step_later(row, STEP_FAIL, fleet->now_ms + 40);
		return;
	}
	row->copy_total_ms = fleet->copy_ms * fleet_spread(fleet, shard->number, name, 800, 1200) / 1000;
	if (row->copy_total_ms < 1)
		row->copy_total_ms = 1;
	row->copied_ms = 0;
	row->copy_mark_ms = fleet->now_ms;
	step_later(row, STEP_ZERO_PROGRESS, fleet->now_ms + ZERO_PROGRESS_MS);
}

static void step_run(struct fleet *fleet, struct shard *shard, struct row *row)
{
	const struct row *duplicate = row_find_duplicate(shard, row);

	if (duplicate != NULL) {
		row_end(fleet, shard, row, MIGRATION_COMPLETE,
			arena_printf(&fleet->memory, "duplicate DDL as %s for migration context %s",
				     duplicate->now.uuid, row->now.context));
		return;
	}
	row->now.status = MIGRATION_RUNNING;
	row->now.started_at_s = row->now.liveness_s = fleet_wall_s(fleet);
	row->was_ready = false;
	row->run_ms = fleet->now_ms;
	row->shown_ms = -1;
	shard_event(fleet, shard);
	if (row->is_cut)
		row_fail(fleet, shard, row, "error parsing statement");
	else if (row->now.is_immediate_operation)
		step_later(row, STEP_FINISH,
			   fleet->now_ms + fleet_spread(fleet, shard->number, row->now.uuid, 30, 170));
	else
		row_start_copy(fleet, shard, row);
}

static void step_finish(struct fleet *fleet, struct shard *shard, struct row *row)
{
	bool is_create = row->statement->kind == STATEMENT_CREATE_TABLE;
	struct mysql_error error = { 0 };

	if (!schema_apply(&shard->schema, row->statement, &error)) {
		row_fail(fleet, shard, row,
			 arena_printf(&fleet->memory, "%s during query: %s", error.text, row->now.statement));
		return;
	}
	row->times_applied++;
	if (row->prefer_instant && row->statement->kind == STATEMENT_ALTER_TABLE) {
		row->now.special_plan = "{\"operation\":\"instant-ddl\"}"; /* not before it runs */
		row->now.stage = "graceful wait for buffering";
	} else if (is_create || row->statement->kind == STATEMENT_DROP_TABLE)
		row_add_artifact(fleet, row, row_artifact(fleet, row, "hld"));
	row_end(fleet, shard, row, MIGRATION_COMPLETE, NULL);
}

static void row_step(struct fleet *fleet, struct shard *shard, struct row *row)
{
	enum row_step step = row->step;

	row->step = STEP_NONE;
	switch (step) {
	case STEP_RUN:
		step_run(fleet, shard, row);
		break;
	case STEP_ZERO_PROGRESS:
		row->now.progress = 0;
		step_later(row, STEP_ZERO_READY, fleet->now_ms + ZERO_READY_MS);
		break;
	case STEP_ZERO_READY:
		row->now.ready_to_complete = false;
		row->now.eta_s = -1;
		break;
	case STEP_FINISH:
		step_finish(fleet, shard, row);
		break;
	case STEP_FAIL:
		row->now.ready_to_complete = false;
		row_fail(fleet, shard, row, row->failure);
		break;
	default:
		break;
	}
}

/* ---- A tick, in Vitess's order ---- */

static bool row_is_instant(const struct row *row)
{
	/* Enough for the model: only clauses that add columns can be instant. */
	return row->prefer_instant && statement_has_word(row->statement, "add") &&
	       !statement_has_word(row->statement, "drop") && !statement_has_word(row->statement, "modify") &&
	       !statement_has_word(row->statement, "index") && !statement_has_word(row->statement, "key");
}

static void tick_review(struct fleet *fleet, struct shard *shard, struct row *row)
{
	const char *table = row->now.table;

	if (row->now.strategy == 4 && row->now.postpone_completion) {
		row_fail(fleet, shard, row, "--postpone-completion not supported in 'mysql' strategy");
		return;
	}
	if (row->statement->kind == STATEMENT_ALTER_TABLE && !row->is_cut &&
	    schema_find(&shard->schema, table) == NULL) {
		row_fail(fleet, shard, row,
			 arena_printf(&fleet->memory,
				      "Table 'vt_%s.%s' doesn't exist (errno 1146) (sqlstate "
				      "42S02) during query: SHOW CREATE TABLE `%s`",
				      fleet->keyspace, table, table));
		return;
	}
	row->now.reviewed_at_s = fleet_wall_s(fleet);
	row->now.is_view = row->statement->kind >= STATEMENT_CREATE_VIEW;
	row->now.is_immediate_operation =
		row->is_cut || row->statement->kind != STATEMENT_ALTER_TABLE || row_is_instant(row);
}

static void tick_review_queued(struct fleet *fleet, struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++) {
		struct migration *m = &shard->rows[i]->now;

		if (m->status == MIGRATION_QUEUED && m->reviewed_at_s == 0)
			tick_review(fleet, shard, shard->rows[i]);
		if (m->status != MIGRATION_QUEUED || !m->is_immediate_operation || !m->postpone_completion ||
		    m->postpone_launch || m->ready_to_complete)
			continue;
		m->ready_to_complete = true;
		m->progress = 100;
		m->eta_s = 0;
		m->ready_to_complete_at_s = fleet_wall_s(fleet);
	}
}

static void tick_schedule_one(struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++) {
		struct migration *m = &shard->rows[i]->now;

		if (m->status == MIGRATION_QUEUED && m->reviewed_at_s != 0 && !m->postpone_launch &&
		    !(m->is_immediate_operation && m->postpone_completion)) {
			m->status = MIGRATION_READY;
			return;
		}
	}
}

static bool rows_conflict(const struct row *ready, const struct row *running)
{
	if (strcmp(ready->now.table, running->now.table) == 0)
		return true;
	if (!ready->allow_concurrent && !running->allow_concurrent)
		return true;
	return ready->statement->kind == STATEMENT_ALTER_TABLE &&
	       running->statement->kind == STATEMENT_ALTER_TABLE && !running->was_ready;
}

static bool row_can_run(const struct shard *shard, const struct row *row)
{
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i] != row &&
		    (shard->rows[i]->now.status == MIGRATION_RUNNING || shard->rows[i]->step == STEP_RUN) &&
		    rows_conflict(row, shard->rows[i]))
			return false;
	return true;
}

static void tick_run_one(struct fleet *fleet, struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++) {
		struct row *row = shard->rows[i];

		if (row->now.status == MIGRATION_READY && row->step == STEP_NONE && row_can_run(shard, row)) {
			step_later(row, STEP_RUN, fleet->now_ms + RUN_MS);
			return;
		}
	}
}

static void tick_review_running(struct fleet *fleet, struct shard *shard)
{
	for (size_t i = 0; i < shard->row_count; i++) {
		struct row *row = shard->rows[i];
		struct migration *m = &row->now;

		if (m->status != MIGRATION_RUNNING || row->step != STEP_NONE)
			continue;
		m->tablet = shard->primary->alias; /* the new primary adopts what runs */
		if (fleet_wall_s(fleet) - m->liveness_s > STALE_S)
			row_fail(fleet, shard, row,
				 arena_printf(&fleet->memory,
					      "stale migration %s: found running but indicates no "
					      "liveness in the past 180 minutes",
					      m->uuid));
		if (m->status != MIGRATION_RUNNING || row->is_frozen || fleet->now_ms < shard->stream_ms)
			continue;
		row_show_copy(fleet, shard, row);
		if (m->ready_to_complete && !m->postpone_completion && shard->cutover.row == NULL &&
		    cutover_may_start(fleet, row))
			cutover_start(fleet, shard, row);
	}
}

static bool tick_take(struct fleet *fleet, struct shard *shard)
{
	if (tick_next_ms(shard) > fleet->now_ms)
		return false;
	ticks_forget_past(shard, fleet->now_ms + 1);
	return true;
}

void shard_run(struct fleet *fleet, struct shard *shard)
{
	shard_moments(fleet, shard);
	if (shard->primary->life != LIFE_UP)
		return;
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i]->step != STEP_NONE && shard->rows[i]->step_ms <= fleet->now_ms)
			row_step(fleet, shard, shard->rows[i]);
	if (shard->cutover.row != NULL) {
		if (shard->cutover.step_ms <= fleet->now_ms)
			cutover_step(fleet, shard);
		return;
	}
	if (!tick_take(fleet, shard))
		return;
	tick_review_queued(fleet, shard);
	tick_schedule_one(shard);
	tick_run_one(fleet, shard);
	tick_review_running(fleet, shard);
}

void shard_interrupt(struct fleet *fleet, struct shard *shard)
{
	shard_copy(fleet, shard);
	for (size_t i = 0; i < shard->row_count; i++) {
		struct row *row = shard->rows[i];

		if (row->step == STEP_RUN || row->step == STEP_FINISH) {
			/* Nobody adopts a running operation that is not an ALTER. */
			row->is_frozen = row->step == STEP_FINISH;
			row->step = STEP_NONE;
		}
	}
	cutover_interrupt(shard);
	shard->tick_count = 0;
}
