/* One attempt of a cut-over: about 3 s from the tick that starts it, 12 s where the table is locked. */
#include "fleet_model.h"

#define NOMINAL_MS 3000
#define LOCK_FAILS_MS 12000 /* from the start: 10 s of them waiting */
#define START_MS 100

enum { STAGE_LOCK = 2, STAGE_STOPPED = 5, STAGE_COUNT = 6 };

static const struct stage {
	const char *text;
	bool has_position;
	int64_t at_ms; /* from the start, in an attempt of NOMINAL_MS */
} stages[STAGE_COUNT] = {
	{ "waiting for post-sentry pos", true, 0 },
	{ "graceful wait for buffering", false, 1000 },
	{ "locking tables", false, 2000 },
	{ "waiting for post-lock pos", true, 2400 },
	{ "stopping vreplication", false, 2600 },
	{ "waiting for RENAME to complete", false, 2950 }, /* the table is the new one from here on */
};

static const int64_t backoff_ms[] = { 0, 60000, 5 * 60000, 10 * 60000, 30 * 60000 };

bool cutover_may_start(const struct fleet *fleet, const struct row *row)
{
	size_t last = sizeof(backoff_ms) / sizeof(backoff_ms[0]) - 1;
	size_t attempts = (size_t)row->now.cutover_attempts;

	return row->is_forced ||
	       fleet->now_ms >= row->last_attempt_ms + backoff_ms[attempts < last ? attempts : last];
}

static int64_t stage_ms(const struct cutover *cutover, int64_t nominal_ms)
{
	return cutover->started_ms + nominal_ms * cutover->duration_ms / NOMINAL_MS;
}

void cutover_start(struct fleet *fleet, struct shard *shard, struct row *row)
{
	struct cutover *cutover = &shard->cutover;

	*cutover = (struct cutover){ .row = row, .started_ms = fleet->now_ms + START_MS };
	cutover->step_ms = cutover->started_ms;
	/* Shards of one migration are released together: the same duration, but for some milliseconds. */
	cutover->duration_ms = fleet_spread(fleet, 0, row->now.uuid, 2600, 3200) +
			       fleet_spread(fleet, shard->number, row->now.uuid, 0, 57);
	row->now.cutover_attempts++;
	row->last_attempt_ms = fleet->now_ms;
}

void cutover_interrupt(struct shard *shard)
{
	struct row *row = shard->cutover.row;

	/* The stream is stopped and nobody starts it again: the table is new, the row says running. */
	if (row != NULL && shard->cutover.stage > STAGE_STOPPED && row->now.status == MIGRATION_RUNNING)
		row->is_frozen = true;
	shard->cutover = (struct cutover){ .step_ms = NEVER };
}

static void cutover_give_up(struct fleet *fleet, struct shard *shard)
{
	struct row *row = shard->cutover.row;

	row->now.message =
		"failed locking tables: (errno 3024) (sqlstate HY000): Query execution was interrupted, "
		"maximum statement execution time exceeded, elapsed time: 10.001s, killing query ID 4711";
	row->now.stage = "re-enabling writes";
	shard->cutover = (struct cutover){ .step_ms = NEVER };
	fleet_poke(fleet);
}

static void cutover_finish(struct fleet *fleet, struct shard *shard)
{
	struct row *row = shard->cutover.row;

	row->now.stage = "re-enabling writes";
	shard->cutover = (struct cutover){ .step_ms = NEVER };
	row_end(fleet, shard, row, MIGRATION_COMPLETE, NULL);
	fleet_poke(fleet);
}

/* The RENAME waits for a lock. True: it still does, or has given up. */
static bool cutover_waits(struct fleet *fleet, struct shard *shard)
{
	struct cutover *cutover = &shard->cutover;

	if (!shard->is_blocked || cutover->row->is_forced) {
		if (cutover->waits_for_lock) /* free at last: the rest takes its usual time from now */
			cutover->started_ms =
				fleet->now_ms - stages[STAGE_LOCK].at_ms * cutover->duration_ms / NOMINAL_MS;
		cutover->waits_for_lock = false;
		return false;
	}
	if (cutover->waits_for_lock && fleet->now_ms >= cutover->step_ms) {
		cutover_give_up(fleet, shard);
		return true;
	}
	cutover->waits_for_lock = true;
	cutover->step_ms = cutover->started_ms + LOCK_FAILS_MS;
	return true;
}

void cutover_step(struct fleet *fleet, struct shard *shard)
{
	struct cutover *cutover = &shard->cutover;
	struct row *row = cutover->row;

	if (cutover->stage == STAGE_LOCK + 1 && cutover_waits(fleet, shard))
		return;
	if (cutover->stage == STAGE_COUNT) {
		cutover_finish(fleet, shard);
		return;
	}
	row->now.stage = stages[cutover->stage].text;
	if (stages[cutover->stage].has_position)
		row->now.stage = arena_printf(
			&fleet->memory, "%s: MySQL56/a1b2c3d4-0000-11f0-8000-%012u:1-%lld", row->now.stage,
			shard->primary->alias.uid, (long long)(fleet->now_ms / 100 + 100));
	if (cutover->stage == STAGE_STOPPED) {
		schema_put(&shard->schema, row->shadow);
		row->times_applied++;
	}
	cutover->stage++;
	cutover->step_ms =
		stage_ms(cutover, cutover->stage < STAGE_COUNT ? stages[cutover->stage].at_ms : NOMINAL_MS);
}
