#pragma once
/* schedule: when to look again, and when to try an effect again. Pure; the caller brings chance. */
#include "vtddl/observation.h"

#define POLL_MIN_MS 2000
#define POLL_MAX_MS 60000

/**
 * schedule_poll() - milliseconds until the next look
 * @base_ms:	the configured interval (15 s)
 * @facts:	of the last look
 * @progress:	of the last look
 * @quiet_ms:	for how long looks have shown nothing new
 * @chance:	any number; spreads the result by +-20 %
 *
 * Sooner when a shard's ETA is near, when everything but one is ready, or when a second look
 * is owed; later when nothing moves. Never below POLL_MIN_MS after jitter, never above POLL_MAX_MS.
 */
int64_t schedule_poll(int64_t base_ms, enum phase phase, uint32_t facts, const struct progress *progress,
		      int64_t quiet_ms, uint64_t chance);

/** schedule_backoff() - full jitter: between 0 and min(cap, base * 2^attempt), at least @base_ms / 2 */
int64_t schedule_backoff(int64_t base_ms, int64_t cap_ms, unsigned attempt, uint64_t chance);
