/* How every change must have ended, by the truth of the fleet and by what others did to it. */
#include "storm.h"

static bool is_terminal(enum phase phase)
{
	return phase == PHASE_VERIFIED || phase == PHASE_CANCELLED || phase == PHASE_STOPPED || phase == PHASE_FAILED;
}

bool is_late(const struct change *change)
{
	return !is_terminal(change->phase) && sim_wall_ms(storm.sim) >= change->deadline_at_ms;
}

/* A reshard came behind a decision: a shard that is gone shows nothing any more, so this waits for its deadline. */
bool lost_a_shard(const struct change *change)
{
	const struct fleet *fleet = sim_fleet(storm.sim, change->keyspace);

	if (change->phase != PHASE_COMPLETING && change->phase != PHASE_COMPLETED && change->phase != PHASE_CANCELLING)
		return false;
	for (size_t i = 0; i < change->shard_count; i++) {
		bool found = false;

		for (size_t j = 0; j < fleet_shard_count(fleet); j++)
			found |= strcmp(fleet_shard_name(fleet, j), change->shards[i].name) == 0;
		if (!found)
			return true;
	}
	return false;
}

bool has_ended(const struct change *change)
{
	return is_terminal(change->phase) || is_late(change) || lost_a_shard(change);
}

bool lives_in_fleet(const char *keyspace, const char *uuid)
{
	const struct fleet *fleet = sim_fleet(storm.sim, keyspace);

	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, uuid);

		if (row && (row->status == MIGRATION_QUEUED || row->status == MIGRATION_READY || row->status == MIGRATION_RUNNING))
			return true;
	}
	return false;
}

/*
 * Vitess takes one change of a keyspace at a time, and vtddl too: one that is at its end and still has rows that live, or
 * may have, holds up those behind it until a person ends it.
 */
bool is_held_up(const struct change *change)
{
	if (change->phase != PHASE_SUBMITTING)
		return false;
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct storm_change *other = &storm.changes[i];
		const struct change *record = change_of(other);

		if (!other->uuid[0] || strcmp(other->uuid, change->uuid) == 0 || strcmp(other->keyspace, change->keyspace) != 0)
			continue;
		if (record ? (is_late(record) || lost_a_shard(record)) : false)
			return true;
		if ((!record || has_ended(record)) && lives_in_fleet(other->keyspace, other->uuid))
			return true;
	}
	return false;
}

static bool is_recorded(const struct change *change, const char *shard)
{
	for (size_t i = 0; i < change->shard_count; i++)
		if (strcmp(change->shards[i].name, shard) == 0)
			return true;
	return false;
}

/* What was withdrawn is on no shard, unless somebody else let it through there, or the store lost our release. */
static void judge_shard(const struct change *change, const struct sim_others *others, size_t shard)
{
	const struct fleet *fleet = sim_fleet(storm.sim, change->keyspace);
	const char *name = fleet_shard_name(fleet, shard);
	unsigned applied = fleet_times_applied(fleet, shard, change->uuid);

	if (applied > 1)
		fail_msg("%s is applied %u times on %s", change->uuid, applied, name);
	if (change->phase == PHASE_VERIFIED && is_recorded(change, name) && applied != 1)
		fail_msg("%s is verified and not applied on %s", change->uuid, name);
	if ((change->phase == PHASE_CANCELLED || change->phase == PHASE_FAILED) && applied && !others->release_forgotten &&
	    !(others->released & UINT64_C(1) << fleet_shard_number(fleet, shard)))
		fail_msg("%s is %s and applied on %s", change->uuid, phase_name(change->phase), name);
}

void judge(void)
{
	struct storm_totals *totals = storm.totals;

	note_changes();
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *change = change_of(&storm.changes[i]);
		const struct fleet *fleet = sim_fleet(storm.sim, storm.changes[i].keyspace);

		totals->changes++;
		if (!change) { /* refused, or lost by the store and refused then */
			totals->forgotten++;
			continue;
		}
		totals->ends[change->phase]++;
		totals->late += is_late(change);
		totals->resharded += !is_late(change) && lost_a_shard(change);
		totals->held_up += is_held_up(change);
		assert_history_is_whole(storm.sim, change->uuid);
		for (size_t j = 0; j < fleet_shard_count(fleet); j++)
			judge_shard(change, sim_others(storm.sim, change->uuid), j);
	}
}
