#include "vtddl/schedule.h"

#include <assert.h>

/* How long nothing new must be seen before the interval begins to grow: rows change on a tablet's tick of
 * one minute, so three of them. */
#define QUIET_MS 180000

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

/* @interval doubled @times times, at most @cap. */
static int64_t doubled(int64_t interval, unsigned times, int64_t cap)
{
	while (times-- > 0 && interval < cap)
		interval = interval > cap / 2 ? cap : 2 * interval;
	return interval > cap ? cap : interval;
}

static bool cut_over_is_near(enum phase phase, uint32_t facts, const struct progress *progress)
{
	size_t there = progress->shards_ready + progress->shards_complete;

	if (phase == PHASE_COMPLETING || phase == PHASE_CANCELLING)
		return facts & FACT_ANY_LIVE;
	if (phase == PHASE_COMPLETED) /* VTGate follows within seconds */
		return true;
	/* Everything but one is ready. With a single shard that would always be so. */
	return progress->shards_expected > 1 && there + 1 == progress->shards_expected;
}

int64_t schedule_poll(int64_t base_ms, enum phase phase, uint32_t facts, const struct progress *progress,
		      int64_t quiet_ms, uint64_t chance)
{
	int64_t base = clamp(base_ms, POLL_MIN_MS, POLL_MAX_MS);
	int64_t interval = base;
	int64_t spread;

	if (progress->worst_eta_s >= 0) /* a tenth of it in milliseconds is its seconds times 100 */
		interval = clamp(clamp(progress->worst_eta_s, 0, POLL_MAX_MS) * 100, POLL_MIN_MS, base);
	if (cut_over_is_near(phase, facts, progress))
		interval = POLL_MIN_MS;
	/* What was urgent and does not move falls back to the ordinary interval, what was
	 * ordinary to the longest one. A second look that is owed never waits. */
	if (quiet_ms >= QUIET_MS)
		interval = doubled(interval, (unsigned)clamp(quiet_ms / QUIET_MS, 1, 16),
				   interval < base ? base : POLL_MAX_MS);
	if (facts & FACT_SETTLING)
		interval = POLL_MIN_MS;
	spread = interval / 5;
	interval += (int64_t)(chance % (uint64_t)(2 * spread + 1)) - spread;
	/* From ready to released: this interval, the second look, its jitter. Together not above the base. */
	if (phase == PHASE_SUBMITTED && quiet_ms < QUIET_MS)
		interval = clamp(interval, POLL_MIN_MS, base - 3 * READY_CONFIRM_MS / 2);
	return clamp(interval, POLL_MIN_MS, POLL_MAX_MS);
}

int64_t schedule_backoff(int64_t base_ms, int64_t cap_ms, unsigned attempt, uint64_t chance)
{
	int64_t ceiling, floor;

	assert(base_ms > 0 && cap_ms > 0);
	ceiling = doubled(base_ms, attempt, cap_ms);
	floor = clamp(base_ms / 2, 0, ceiling);
	return clamp((int64_t)(chance % ((uint64_t)ceiling + 1)), floor, ceiling);
}
