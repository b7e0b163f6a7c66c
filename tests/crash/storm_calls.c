/* Faults of messages, and of the fleet behind vtctld. */
#include "storm.h"

#define EFFECT_TIMEOUT_MS 75000
#define READ_TIMEOUT_MS 5000
#define CODES 17

unsigned any_keyspace(void)
{
	return chance((unsigned)storm.sim->config.keyspace_count);
}

static struct fleet *any_fleet(void)
{
	return storm.sim->fleets[any_keyspace()];
}

const char *any_shard(unsigned keyspace)
{
	struct fleet *fleet = storm.sim->fleets[keyspace];

	return fleet_shard_name(fleet, chance((unsigned)fleet_shard_count(fleet)));
}

/* ---- Messages. ---- */

static enum vtctld_method any_effect(void)
{
	static const enum vtctld_method methods[] = { VTCTLD_APPLY_SCHEMA, VTCTLD_APPLY_SCHEMA, VTCTLD_COMPLETE,
						      VTCTLD_COMPLETE, VTCTLD_CANCEL };

	return methods[chance(sizeof(methods) / sizeof(methods[0]))];
}

static enum vtctld_method any_read(void)
{
	static const enum vtctld_method methods[] = { VTCTLD_GET_KEYSPACES, VTCTLD_FIND_ALL_SHARDS, VTCTLD_GET_TABLETS,
						      VTCTLD_GET_SCHEMA_MIGRATIONS, VTCTLD_GET_SCHEMA_MIGRATIONS,
						      VTCTLD_EXECUTE_FETCH_AS_DBA, VTCTLD_GET_SCHEMA };

	return methods[chance(sizeof(methods) / sizeof(methods[0]))];
}

static struct fault any_call(void)
{
	return (struct fault){ .method = chance(5) < 3 ? any_effect() : any_read(), .nth = 1 + chance(2),
			       .times = 1 + chance(3) };
}

static bool arm(struct fault fault)
{
	fault.fired = storm.fired;
	fleet_fault(any_fleet(), &fault);
	return false; /* it counts itself, when a call comes */
}

bool strike_lost_before(void)
{
	struct fault fault = any_call();

	fault.drop = true;
	return arm(fault);
}

bool strike_lost_after(void)
{
	struct fault fault = any_call();

	fault.drop = true;
	fault.when = FAULT_AFTER;
	return arm(fault);
}

bool strike_any_code_before(void)
{
	struct fault fault = any_call();

	fault.code = 1 + (int)chance(CODES - 1);
	return arm(fault);
}

bool strike_any_code_after(void)
{
	struct fault fault = any_call();

	fault.code = 1 + (int)chance(CODES - 1);
	fault.when = FAULT_AFTER;
	return arm(fault);
}

static int64_t timeout_of(enum vtctld_method method)
{
	return vtctld_method_is_effect(method) ? EFFECT_TIMEOUT_MS : READ_TIMEOUT_MS;
}

static bool delay(enum fault_when when)
{
	struct fault fault = any_call();

	fault.when = when;
	fault.delay_ms = 1 + chance((unsigned)timeout_of(fault.method) - 100);
	return arm(fault);
}

bool strike_late_before(void)
{
	return delay(FAULT_BEFORE);
}

bool strike_late_after(void)
{
	return delay(FAULT_AFTER);
}

bool strike_past_deadline(void)
{
	struct fault fault = any_call();

	fault.when = FAULT_AFTER;
	fault.delay_ms = timeout_of(fault.method) + chance(60000);
	return arm(fault);
}

const char *any_shards(unsigned keyspace, char *ret, size_t size)
{
	const struct fleet *fleet = storm.sim->fleets[keyspace];
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < fleet_shard_count(fleet) && used < size; i++)
		if (chance(2))
			used += (size_t)snprintf(ret + used, size - used, "%s%s", used ? "," : "", fleet_shard_name(fleet, i));
	return ret;
}

static bool some_shards(bool drop)
{
	unsigned keyspace = any_keyspace();
	struct fault fault = { .method = any_effect(), .nth = 1, .times = 1 + chance(3), .when = FAULT_AFTER, .drop = drop,
			       .code = 1 + (int)chance(CODES - 1), .fired = storm.fired };
	char shards[SHARDS_STORM_MAX * 16];

	fault.shards = any_shards(keyspace, shards, sizeof(shards));
	fleet_fault(storm.sim->fleets[keyspace], &fault);
	return false;
}

bool strike_some_shards(void)
{
	return some_shards(false);
}

bool strike_some_shards_lost(void)
{
	return some_shards(true);
}

/* By a proxy that got no good answer itself, so the client gets none. */
bool strike_repeated(void)
{
	static const int codes[] = { 1, 4, 8, 10, 13, 14 };
	struct fault fault = { .method = any_effect(), .nth = 1, .times = 1 + chance(3), .repeat = true,
			       .repeat_ms = chance(EFFECT_TIMEOUT_MS), .when = (enum fault_when)chance(2) };

	fault.drop = chance(2);
	fault.code = codes[chance(sizeof(codes) / sizeof(codes[0]))];
	return arm(fault);
}

static bool odd_read(bool twice)
{
	unsigned keyspace = any_keyspace();
	struct fault fault = { .method = any_read(), .nth = 1, .times = 1 + chance(3), .fired = storm.fired };

	if (twice) {
		fault.method = VTCTLD_GET_SCHEMA_MIGRATIONS;
		fault.doubled = any_shard(keyspace);
		fault.stale_first = chance(2);
	} else {
		fault.missing = any_shard(keyspace);
	}
	fleet_fault(storm.sim->fleets[keyspace], &fault);
	return false;
}

bool strike_shard_missing(void)
{
	return odd_read(false);
}

bool strike_shard_twice(void)
{
	return odd_read(true);
}

/* ---- vtctld and tablets. ---- */

bool strike_vtctld_away(void)
{
	unsigned keyspace = any_keyspace();

	fleet_vtctld(storm.sim->fleets[keyspace], false);
	storm.at[keyspace].vtctld_up_ms = storm.sim->now_ms + 1000 + chance(180000);
	return true;
}

/* At most one tablet of a keyspace is away at a time. */
static bool take_tablet(unsigned *ret_keyspace)
{
	unsigned keyspace = *ret_keyspace = any_keyspace();

	if (storm.at[keyspace].tablet[0])
		return false;
	snprintf(storm.at[keyspace].tablet, sizeof(storm.at[keyspace].tablet), "%s", any_shard(keyspace));
	storm.at[keyspace].tablet_up_ms = storm.sim->now_ms + 5000 + chance(200000);
	return true;
}

static bool away(enum tablet_event event)
{
	unsigned keyspace;

	if (!take_tablet(&keyspace))
		return false;
	return fleet_tablet(storm.sim->fleets[keyspace], storm.at[keyspace].tablet, event);
}

bool strike_tablet_stopped(void)
{
	return away(TABLET_STOP);
}

bool strike_tablet_killed(void)
{
	return away(TABLET_KILL);
}

bool strike_tablet_paused(void)
{
	return away(TABLET_PAUSE);
}

bool strike_reparent_planned(void)
{
	unsigned keyspace = any_keyspace();

	return !storm.at[keyspace].tablet[0] && fleet_reparent(storm.sim->fleets[keyspace], any_shard(keyspace), false);
}

bool strike_reparent_emergency(void)
{
	unsigned keyspace;

	if (!take_tablet(&keyspace))
		return false;
	storm.at[keyspace].is_dead = true;
	return fleet_reparent(storm.sim->fleets[keyspace], storm.at[keyspace].tablet, true);
}

static const struct storm_change *any_change(void)
{
	const struct storm_change *change = storm.change_count ? &storm.changes[chance(storm.change_count)] : NULL;

	return change && change->uuid[0] ? change : NULL;
}

/* What was applied or has ended was there long before; replication is not so late. */
bool strike_row_lost(void)
{
	const struct storm_change *change = any_change();
	struct fleet *fleet = change ? sim_fleet(storm.sim, change->keyspace) : NULL;
	unsigned keyspace = change && change->keyspace == storm_keyspaces[1];

	if (!change || storm.at[keyspace].tablet[0])
		return false;
	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, change->uuid);

		if (!row || row->status == MIGRATION_COMPLETE || fleet_times_applied(fleet, i, change->uuid) || chance(2))
			continue;
		snprintf(storm.at[keyspace].tablet, sizeof(storm.at[keyspace].tablet), "%s", fleet_shard_name(fleet, i));
		storm.at[keyspace].tablet_up_ms = storm.sim->now_ms + 5000 + chance(200000);
		storm.at[keyspace].is_dead = true;
		sim_meddle(storm.sim, SIM_LOSE, change->keyspace, change->uuid, storm.at[keyspace].tablet);
		return true;
	}
	return false;
}

/* ---- Shards that do not get on; until all of the keyspace do again. ---- */

void shards_lag(unsigned keyspace)
{
	storm.at[keyspace].shards_free_ms = storm.sim->now_ms + 1000 + chance(240000);
}

static bool hinder(bool (*act)(struct fleet *fleet, const char *shard, bool on))
{
	unsigned keyspace = any_keyspace();

	shards_lag(keyspace);
	return act(storm.sim->fleets[keyspace], any_shard(keyspace), true);
}

bool strike_lag(void)
{
	return hinder(fleet_unready);
}

bool strike_copy_stalls(void)
{
	return hinder(fleet_hold_copy);
}

bool strike_cutover_blocked(void)
{
	return hinder(fleet_block_cutover);
}

bool strike_reshard_begins(void)
{
	unsigned keyspace = any_keyspace();

	return fleet_shard_count(storm.sim->fleets[keyspace]) < SHARDS_STORM_MAX &&
	       fleet_split(storm.sim->fleets[keyspace], any_shard(keyspace));
}

bool strike_reshard_ends(void)
{
	unsigned keyspace = any_keyspace();
	size_t before = fleet_shard_count(storm.sim->fleets[keyspace]);

	if (storm.at[keyspace].tablet[0]) /* it may be the shard that goes */
		return false;
	fleet_end_split(storm.sim->fleets[keyspace], chance(3) != 0);
	return fleet_shard_count(storm.sim->fleets[keyspace]) != before;
}

/* ---- Other people. ---- */

static bool meddle(enum sim_verb verb, bool all)
{
	const struct storm_change *change = any_change();
	struct fleet *fleet = change ? sim_fleet(storm.sim, change->keyspace) : NULL;
	size_t shard = fleet ? chance((unsigned)fleet_shard_count(fleet)) : 0;

	if (!change || !fleet_row(fleet, shard, change->uuid))
		return false;
	sim_meddle(storm.sim, verb, change->keyspace, change->uuid, all ? NULL : fleet_shard_name(fleet, shard));
	return true;
}

bool strike_other_cancels(void)
{
	return meddle(SIM_CANCEL, chance(2));
}

bool strike_other_completes(void)
{
	return meddle(SIM_COMPLETE, chance(2));
}

bool strike_other_retries(void)
{
	return meddle(SIM_RETRY, chance(2));
}

bool strike_other_cleans_up(void)
{
	return meddle(SIM_CLEANUP, true);
}

bool strike_migration_fails(void)
{
	return meddle(SIM_FAIL, false);
}

/* Of somebody else: version 1, as Vitess makes them. */
void make_uuid(char ret[UUID_LENGTH + 1])
{
	static const char digits[] = "0123456789abcdef";

	snprintf(ret, UUID_LENGTH + 1, "0f0e1647_0000_11f0_8000_000000000000");
	for (size_t i = 24; i < UUID_LENGTH; i++)
		ret[i] = digits[chance(16)];
}

bool strike_other_submits(void)
{
	unsigned keyspace = any_keyspace();
	char *uuid = storm.at[keyspace].foreign;

	if (uuid[0])
		return false;
	make_uuid(uuid);
	storm.at[keyspace].foreign_until_ms = storm.sim->now_ms + 10000 + chance(300000);
	fleet_submit_foreign(storm.sim->fleets[keyspace], uuid, "somebody", chance(3) ? NULL : any_shard(keyspace),
			     "alter table somebodys add column z int");
	return true;
}

/* ---- All is well again. ---- */

static void heal_tablet(unsigned keyspace)
{
	struct fleet *fleet = storm.sim->fleets[keyspace];
	const char *shard = storm.at[keyspace].tablet;

	if (storm.at[keyspace].is_dead) {
		fleet_forget_dead(fleet, shard);
	} else if (shard[0]) {
		fleet_tablet(fleet, shard, TABLET_RESUME);
		fleet_tablet(fleet, shard, TABLET_START);
	}
	storm.at[keyspace].tablet[0] = '\0';
	storm.at[keyspace].is_dead = false;
}

static void free_shards(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const char *shard = fleet_shard_name(fleet, i);

		fleet_unready(fleet, shard, false);
		fleet_hold_copy(fleet, shard, false);
		fleet_block_cutover(fleet, shard, false);
	}
}

void heal_fleet(unsigned keyspace, bool all)
{
	struct fleet *fleet = storm.sim->fleets[keyspace];
	int64_t now_ms = storm.sim->now_ms;

	if (storm.at[keyspace].vtctld_up_ms && (all || now_ms >= storm.at[keyspace].vtctld_up_ms)) {
		fleet_vtctld(fleet, true);
		storm.at[keyspace].vtctld_up_ms = 0;
	}
	if (storm.at[keyspace].tablet[0] && (all || now_ms >= storm.at[keyspace].tablet_up_ms))
		heal_tablet(keyspace);
	if (storm.at[keyspace].shards_free_ms && (all || now_ms >= storm.at[keyspace].shards_free_ms)) {
		free_shards(fleet);
		storm.at[keyspace].shards_free_ms = 0;
	}
	if (storm.at[keyspace].foreign[0] && (all || now_ms >= storm.at[keyspace].foreign_until_ms)) {
		fleet_cancel(fleet, storm.at[keyspace].foreign, NULL);
		storm.at[keyspace].foreign[0] = '\0';
	}
	if (all)
		fleet_end_split(fleet, storm.what->seed % 2);
}
