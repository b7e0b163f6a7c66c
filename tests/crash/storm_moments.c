/*
 * Faults that wait for the moment in which they matter: between a reading and the decision on it, between a write and
 * the effect that it announces. A strike at random hits such a moment of some milliseconds once in many thousand runs.
 */
#include "storm.h"

/* ---- Which moment it is. ---- */

static const struct change *record_of(const char *uuid)
{
	return store_model_change(storm.sim->model, "default", uuid);
}

static unsigned keyspace_of(const struct change *record)
{
	return strcmp(record->keyspace, storm_keyspaces[1]) == 0;
}

static struct fleet *fleet_of(const struct change *record)
{
	return storm.sim->fleets[keyspace_of(record)];
}

static bool is_sent(const struct controller *controller, enum boundary_kind kind, enum vtctld_method method)
{
	return kind == BOUNDARY_RPC_BEFORE && controller->held->requests[0].rpc.method == method;
}

static bool is_answered(const struct controller *controller, enum boundary_kind kind, enum vtctld_method method)
{
	return kind == BOUNDARY_RPC_AFTER && controller->held->replies[0].rpc.method == method;
}

/* Rows of one change are asked for. NULL: they are not. */
static const struct change *asked_for(const struct controller *controller, enum boundary_kind kind)
{
	const struct vtctld_request *request = &controller->held->requests[0].rpc;

	if (!is_sent(controller, kind, VTCTLD_GET_SCHEMA_MIGRATIONS) || !request->uuid || !request->uuid[0])
		return NULL;
	return record_of(request->uuid);
}

/* ... or have been answered, and will be read next. */
static const struct change *answered(const struct controller *controller, enum boundary_kind kind)
{
	const struct vtctld_reply *reply = &controller->held->replies[0].rpc;
	const char *uuid = storm.looking[controller->index];

	if (!is_answered(controller, kind, VTCTLD_GET_SCHEMA_MIGRATIONS) || reply->outcome != VTCTLD_DONE || !reply->migrations.count ||
	    strcmp(reply->migrations.items[0].uuid, uuid) != 0)
		return NULL;
	return record_of(uuid);
}

static bool all_are_ready(const struct change *record)
{
	const struct fleet *fleet = fleet_of(record);

	for (size_t i = 0; i < fleet_shard_count(fleet); i++)
		if (!fleet_ready(fleet, i, record->uuid))
			return false;
	return true;
}

/* All are ready and may go, or a change is found in the fleet that the store has just written down. */
static bool is_decided(const struct change *record)
{
	if (!record)
		return false;
	if (record->phase == PHASE_SUBMITTING)
		return record->adopted && record->attempts == 0;
	return record->phase == PHASE_SUBMITTED && record->gate == GATE_AUTO && all_are_ready(record);
}

static bool is_nth(struct moment *moment)
{
	return moment->nth <= 1 || --moment->nth == 0;
}

static struct storm_change *change_named(const char *uuid)
{
	note_changes();
	for (unsigned i = 0; i < storm.change_count; i++)
		if (strcmp(storm.changes[i].uuid, uuid) == 0)
			return &storm.changes[i];
	return NULL;
}

/* Somebody runs a command about that change now. */
static void person_asks(const char *uuid, enum goal goal, bool open_gate)
{
	struct storm_change *change = may_start(SLOTS_KEPT) ? change_named(uuid) : NULL;

	if (change)
		ask_again(change, goal, open_gate);
}

static bool moves(const struct request *request)
{
	return request->kind == REQUEST_STORE_UPDATE && request->change->phase != request->expect.phase;
}

/* A write that moves a change, or writes it down. NULL: it is none. */
static const struct request *moving_write(const struct controller *controller, enum boundary_kind kind, bool *ret_inserts)
{
	for (size_t i = 0; kind == BOUNDARY_STORE_BEFORE && i < controller->held->count; i++) {
		const struct request *request = &controller->held->requests[i];

		*ret_inserts = request->kind == REQUEST_STORE_INSERT;
		if (*ret_inserts || moves(request))
			return request;
	}
	return NULL;
}

/* A change that was moved, or (@inserted) written down. */
static const struct change *moved(const struct controller *controller, enum boundary_kind kind, bool inserted)
{
	const struct sim_held *held = controller->held;

	for (size_t i = 0; kind == BOUNDARY_STORE_AFTER && i < held->count; i++) {
		const struct request *request = &held->requests[i];

		if (held->replies[i].result != 0)
			continue;
		if (inserted ? request->kind == REQUEST_STORE_INSERT : moves(request))
			return record_of(request->change->uuid);
	}
	return NULL;
}

/* ---- Primaries. ---- */

bool moment_primary_moves_at_release(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = answered(controller, kind);
	unsigned keyspace = record ? keyspace_of(record) : 0;
	const char *shard;

	if (!is_decided(record) || storm.at[keyspace].tablet[0] || !is_nth(moment))
		return false;
	shard = any_shard(keyspace);
	if (!fleet_reparent(storm.sim->fleets[keyspace], shard, false))
		return false;
	if (chance(3)) {
		shards_lag(keyspace);
		fleet_unready(storm.sim->fleets[keyspace], shard, true);
	}
	return true;
}

bool moment_primary_moves_in_proof(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	if (!is_answered(controller, kind, VTCTLD_GET_SCHEMA))
		return false;
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *record = change_of(&storm.changes[i]);
		unsigned keyspace = record ? keyspace_of(record) : 0;

		if (record && record->phase == PHASE_COMPLETED && !storm.at[keyspace].tablet[0] && is_nth(moment))
			return fleet_reparent(storm.sim->fleets[keyspace], any_shard(keyspace), false);
	}
	return false;
}

/* And where it waits for a person, that one comes now. */
bool moment_tablet_restarts_at_release(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = answered(controller, kind);
	const char *shard;

	if (!record || record->phase != PHASE_SUBMITTED || storm.at[keyspace_of(record)].tablet[0] || !all_are_ready(record) ||
	    !is_nth(moment))
		return false;
	shard = any_shard(keyspace_of(record));
	fleet_tablet(fleet_of(record), shard, TABLET_STOP);
	fleet_tablet(fleet_of(record), shard, TABLET_START);
	if (record->gate == GATE_MANUAL)
		person_asks(record->uuid, storm.serves ? GOAL_SUBMITTED : GOAL_VERIFIED, true);
	return true;
}

bool moment_runs_again_at_release(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = asked_for(controller, kind);

	if (!is_decided(record) || record->phase != PHASE_SUBMITTED || !is_nth(moment))
		return false;
	sim_meddle(storm.sim, SIM_RERUN, record->keyspace, record->uuid, any_shard(keyspace_of(record)));
	return true;
}

/* ---- Answers. ---- */

bool moment_status_unknown(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = asked_for(controller, kind);
	struct fault fault = { .method = VTCTLD_GET_SCHEMA_MIGRATIONS };
	char shards[SHARDS_STORM_MAX * 16];

	if (!record || (record->phase != PHASE_CANCELLING && record->phase != PHASE_COMPLETING && !is_decided(record)) ||
	    !is_nth(moment))
		return false;
	fault.unknown = any_shards(keyspace_of(record), shards, sizeof(shards));
	fault.times = 1 + chance(4);
	if (!shards[0])
		fault.unknown = any_shard(keyspace_of(record));
	fleet_fault(fleet_of(record), &fault);
	return true;
}

bool moment_twice_at_release(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = asked_for(controller, kind);
	struct fault fault = { .method = VTCTLD_GET_SCHEMA_MIGRATIONS };

	if (!is_decided(record) || !is_nth(moment))
		return false;
	fault.doubled = any_shard(keyspace_of(record));
	fault.stale_first = chance(2);
	fault.times = 1 + chance(3);
	fleet_fault(fleet_of(record), &fault);
	return true;
}

/* ---- Processes and clocks. ---- */

bool moment_dies_in_submit(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	if (is_sent(controller, kind, VTCTLD_APPLY_SCHEMA) && !moment->stage && is_nth(moment)) {
		snprintf(moment->uuid, sizeof(moment->uuid), "%s", controller->held->requests[0].rpc.uuid);
		moment->process = controller->index;
		moment->stage = 1;
	}
	if (!moment->stage || controller->index != moment->process || !is_answered(controller, kind, VTCTLD_APPLY_SCHEMA))
		return false;
	sim_kill(controller);
	if (chance(2)) /* and its lease does not wait for what it sent */
		sim_set_store_clock(storm.sim, 10000 + chance(90000));
	person_asks(moment->uuid, GOAL_CANCELLED, false);
	return true;
}

bool moment_clock_back_in_write(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct request *request = &controller->held->requests[0];

	if (!storm.is_slow || kind != BOUNDARY_STORE_BEFORE || request->kind != REQUEST_STORE_UPDATE ||
	    !request->expect.lease_ms || !is_nth(moment))
		return false;
	storm.sim->walls_were_set = true;
	controller->wall_offset_ms -= 10000 + chance(HOUR_MS);
	storm.store_takes_next_ms = 5000 + chance(40000);
	return true;
}

bool moment_terminated_in_effect(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	if (kind != BOUNDARY_RPC_BEFORE || !vtctld_method_is_effect(controller->held->requests[0].rpc.method) ||
	    controller->stopping || !is_nth(moment))
		return false;
	sim_terminate(controller);
	return true;
}

/* ---- The store. ---- */

bool moment_store_loses_write(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct request *request;
	bool inserts;

	if (!moment->stage && !storm.keeps_snapshot && (request = moving_write(controller, kind, &inserts)) && !inserts &&
	    is_nth(moment)) {
		store_model_snapshot(storm.sim->model);
		snprintf(moment->uuid, sizeof(moment->uuid), "%s", request->change->uuid);
		moment->process = controller->index;
		moment->stage = 1;
		storm.keeps_snapshot = true;
	}
	if (!moment->stage || kind != BOUNDARY_STORE_AFTER || moment->process != controller->index)
		return false;
	store_goes_back();
	sim_pause(controller, 10 + chance(chance(2) ? 3000 : 60000));
	person_asks(moment->uuid, chance(2) ? GOAL_CANCELLED : GOAL_SUBMITTED, true);
	return true;
}

/* The replica stops before the intent is written. */
static void stop_replica(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	bool inserts = false;
	const struct request *request = moving_write(controller, kind, &inserts);

	if (storm.keeps_snapshot || !request || !inserts)
		return;
	store_model_snapshot(storm.sim->model);
	snprintf(moment->uuid, sizeof(moment->uuid), "%s", request->change->uuid);
	moment->stage = 1;
	storm.keeps_snapshot = true;
}

/* Only some shards are released; or all, and they get to their end. */
static void release_some(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	struct fault fault = { .method = VTCTLD_COMPLETE, .when = FAULT_AFTER, .code = 14 };
	const struct change *record = record_of(moment->uuid);
	char shards[SHARDS_STORM_MAX * 16];

	if (!record || !is_sent(controller, kind, VTCTLD_COMPLETE) ||
	    strcmp(controller->held->requests[0].rpc.uuid, moment->uuid) != 0)
		return;
	fault.shards = any_shards(keyspace_of(record), shards, sizeof(shards));
	moment->is_whole = chance(3) == 0;
	if (!moment->is_whole)
		fleet_fault(fleet_of(record), &fault);
	moment->process = controller->index;
	moment->stage = 2;
}

/* Then that replica is the store, and somebody runs the same statement again. */
static void forget(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = moved(controller, kind, false);
	struct storm_change *change;

	if (moment->is_whole && (!record || record->phase != PHASE_COMPLETED || strcmp(record->uuid, moment->uuid) != 0))
		return;
	if (!moment->is_whole &&
	    (moment->process != controller->index || !is_answered(controller, kind, VTCTLD_COMPLETE)))
		return;
	change = change_named(moment->uuid);
	store_goes_back();
	moment->stage = 3;
	moment->nth = 1 + chance(4);
	if (chance(2))
		sim_kill(controller);
	if (change && may_start(SLOTS_KEPT)) {
		struct ask ask = change->ask;

		ask.open_gate = true;
		sim_ask(storm.sim, &ask);
	}
}

/* Which finds it in the fleet; while it looks, the primary of a shard that is held still moves. */
static bool move_held(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = answered(controller, kind);
	unsigned keyspace = record ? keyspace_of(record) : 0;

	if (!is_decided(record) || strcmp(record->uuid, moment->uuid) != 0 || storm.at[keyspace].tablet[0] || !is_nth(moment))
		return false;
	for (size_t i = 0; i < fleet_shard_count(fleet_of(record)); i++) {
		const char *shard = fleet_shard_name(fleet_of(record), i);

		if (!fleet_ready(fleet_of(record), i, record->uuid))
			continue;
		fleet_reparent(fleet_of(record), shard, false);
		fleet_unready(fleet_of(record), shard, true);
		shards_lag(keyspace);
		break;
	}
	return true;
}

/* ... or, if it finds it complete, while that is proven. */
static bool move_in_proof(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = record_of(moment->uuid);
	unsigned keyspace = record ? keyspace_of(record) : 0;

	if (!is_answered(controller, kind, VTCTLD_GET_SCHEMA) || !record || record->phase != PHASE_COMPLETED ||
	    storm.at[keyspace].tablet[0] || !is_nth(moment))
		return false;
	return fleet_reparent(storm.sim->fleets[keyspace], any_shard(keyspace), false);
}

bool moment_store_forgets_release(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	if (moment->stage == 0)
		stop_replica(controller, kind, moment);
	else if (moment->stage == 1)
		release_some(controller, kind, moment);
	else if (moment->stage == 2)
		forget(controller, kind, moment);
	else
		return moment->is_whole ? move_in_proof(controller, kind, moment) : move_held(controller, kind, moment);
	return false;
}

/* ---- Other people. ---- */

bool moment_undone(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = moved(controller, kind, false);
	const char *undo;
	bool all;

	if (!record || record->phase != PHASE_COMPLETED || !is_nth(moment))
		return false;
	undo = statement_of(record->ddl)->undo;
	all = chance(2);
	for (size_t i = 0; all && i < fleet_shard_count(fleet_of(record)); i++)
		fleet_exec(fleet_of(record), fleet_shard_name(fleet_of(record), i), undo);
	return all || fleet_exec(fleet_of(record), any_shard(keyspace_of(record)), undo);
}

bool moment_submitted_by_hand(struct controller *controller, enum boundary_kind kind, struct moment *moment)
{
	const struct change *record = moved(controller, kind, true);
	char uuid[UUID_LENGTH + 1];

	if (!record || !is_nth(moment))
		return false;
	make_uuid(uuid);
	fleet_submit_foreign(fleet_of(record), uuid, record->context,
			     chance(3) ? NULL : any_shard(keyspace_of(record)), record->ddl);
	return true;
}

/* ---- All of them. ---- */

void moment_arm(int fault, uint64_t random)
{
	struct moment *moment = &storm.moments[fault - _MOMENT_FIRST];

	if (moment->is_set)
		return;
	*moment = (struct moment){ .is_set = true, .random = random, .nth = random % 2 ? 1 : 1 + (unsigned)(random >> 8) % 4 };
	storm.armed++;
}

void moments_strike(struct controller *controller, enum boundary_kind kind)
{
	const struct vtctld_request *request = &controller->held->requests[0].rpc;

	if (!storm.armed || controller->state != CONTROLLER_ALIVE)
		return;
	if (is_sent(controller, kind, VTCTLD_GET_SCHEMA_MIGRATIONS))
		snprintf(storm.looking[controller->index], UUID_LENGTH + 1, "%s", request->uuid ? request->uuid : "");
	for (int i = 0; i < MOMENTS && controller->state == CONTROLLER_ALIVE; i++) {
		struct moment *moment = &storm.moments[i];

		if (!moment->is_set)
			continue;
		storm.random = moment->random;
		if (!storm_faults[_MOMENT_FIRST + i].moment(controller, kind, moment))
			continue;
		moment->is_set = false;
		storm.armed--;
		++storm.totals->fired[_MOMENT_FIRST + i];
		if (storm.what->tells)
			print_message("%7.1f s  now: %s\n", (double)storm.sim->now_ms / 1000, storm_faults[_MOMENT_FIRST + i].name);
	}
}

void moments_end(void)
{
	memset(storm.moments, 0, sizeof(storm.moments));
	storm.armed = 0;
	storm.keeps_snapshot = false;
}
