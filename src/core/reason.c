/* Words and figures for people, from the same rows that decided. */
#include "vtddl/observation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_SHOWN 240

static void write_live(const struct migration *row, const struct shard_watch *memory, const struct observation *observation,
		       char ret[REASON_MAX])
{
	if (!row->postpone_completion) {
		snprintf(ret, REASON_MAX, "released, cutting over%s%.100s%s%.*s",
			 row->stage[0] ? ": " : "", row->stage, row->message[0] ? "; last attempt: " : "",
			 MESSAGE_SHOWN, row->message);
		return;
	}
	if (memory->ready) {
		bool twice = observation->at_ms - memory->ready_since_ms >= READY_CONFIRM_MS;

		snprintf(ret, REASON_MAX, twice ? "held and ready" : "ready, seen once: a second look is owed");
		return;
	}
	if (row->ready_to_complete && row->status == MIGRATION_RUNNING) {
		snprintf(ret, REASON_MAX, "%s", observation->tablet_count ?
			 "its ready flag is a leftover from before a restart or retry; waiting for Vitess to look again" :
			 "it says ready, but vtctld does not show its tablet, so that may be from before a restart; look at GetTablets");
		return;
	}
	if (row->status == MIGRATION_RUNNING)
		snprintf(ret, REASON_MAX, row->progress >= 100.0 ? "copied, catching up" : "copying rows");
	else if (row->postpone_launch)
		snprintf(ret, REASON_MAX, "its launch is postponed: somebody must launch it");
	else if (row->status == MIGRATION_READY)
		snprintf(ret, REASON_MAX, "waits for another migration of this shard to end");
	else
		snprintf(ret, REASON_MAX, "%s, not yet started", migration_status_name(row->status));
}

void shard_reason(const struct change *change, const struct observation *observation,
		  const struct watch *watch, size_t shard, char ret[REASON_MAX])
{
	const struct shard_look *look = &observation->looks[shard];
	const struct migration *row = &look->row;

	ret[0] = '\0';
	switch (look->state) {
	case ROW_ABSENT:
		snprintf(ret, REASON_MAX, change->phase == PHASE_SUBMITTING ? "not submitted yet"
									     : "its primary has no such migration");
		return;
	case ROW_DOUBLE:
		snprintf(ret, REASON_MAX, "two tablets answer as primary of this shard");
		return;
	case ROW_ONE:
		break;
	default:
		snprintf(ret, REASON_MAX, "%s", look->trouble && look->trouble[0] ? look->trouble
											     : "not asked yet");
		return;
	}
	if (!migration_is_ours(row, change))
		snprintf(ret, REASON_MAX, "its row of this uuid belongs to something else (context %.*s, table %.*s)",
			 CONTEXT_MAX, row->context, TABLE_MAX, row->table);
	else if (row->status == MIGRATION_COMPLETE)
		snprintf(ret, REASON_MAX, "complete%s%.*s", migration_says_duplicate(row) ? ", but nothing was done: " : "",
			 MESSAGE_SHOWN, migration_says_duplicate(row) ? row->message : "");
	else if (row->status == MIGRATION_FAILED || row->status == MIGRATION_CANCELLED)
		snprintf(ret, REASON_MAX, "%s: %.*s", migration_status_name(row->status), MESSAGE_SHOWN,
			 row->message[0] ? row->message : "no message");
	else
		write_live(row, &watch->shards[shard], observation, ret);
}

static double clamp_percent(double percent)
{
	if (!(percent > 0.0)) /* NaN too */
		return 0.0;
	return percent > 100.0 ? 100.0 : percent;
}

static double shard_percent(const struct shard_look *look, bool ready)
{
	if (look->state != ROW_ONE)
		return 0.0;
	if (ready || look->row.status == MIGRATION_COMPLETE)
		return 100.0;
	return clamp_percent(look->row.progress);
}

void progress_fold(const struct change *change, const struct observation *observation,
		   const struct watch *watch, struct progress *ret)
{
	*ret = (struct progress){ .shards_expected = change->shard_count, .worst_eta_s = -1, .slowest = 101.0 };
	for (size_t i = 0; i < change->shard_count; i++) {
		const struct shard_look *look = &observation->looks[i];
		bool ready = watch->shards[i].ready &&
			     observation->at_ms - watch->shards[i].ready_since_ms >= READY_CONFIRM_MS;
		double percent = shard_percent(look, ready);

		ret->shards_seen += look->state == ROW_ONE;
		ret->shards_ready += look->state == ROW_ONE && ready;
		ret->shards_complete += look->state == ROW_ONE && look->row.status == MIGRATION_COMPLETE;
		if (percent < ret->slowest) {
			ret->slowest = percent;
			ret->slowest_shard = i;
		}
		if (percent > ret->fastest)
			ret->fastest = percent;
		if (look->state != ROW_ONE)
			continue;
		if (look->row.rows_copied > 0)
			ret->rows_copied += (uint64_t)look->row.rows_copied;
		if (look->row.table_rows > 0)
			ret->table_rows += (uint64_t)look->row.table_rows;
		if (look->row.status == MIGRATION_RUNNING && !ready && look->row.eta_s > ret->worst_eta_s)
			ret->worst_eta_s = look->row.eta_s;
	}
	if (change->shard_count == 0)
		ret->slowest = 0.0;
}
