/* One run: its beginning, the rage, the quiet after it, the end. */
#include "storm.h"

#include <stdlib.h>

#define END_MS (11 * HOUR_MS)	     /* within that all is over, once all is well: the longest deadline of a change, and
				      * Vitess fails a cut-over that a reparent has cut off after three */
#define PATIENCE_MS (50 * MINUTE_MS) /* of the people who run it again then */
#define CALM_ONE_IN 4	/* runs without a fault that waits for its moment */
#define MOMENT_ONE_IN 2 /* strikes behind which one begins to wait */
#define WATCH_MS (4 * MINUTE_MS)  /* and so long what was cancelled is watched */

struct storm storm;

const struct storm_fault storm_faults[_FAULT_NAME_MAX] = {
#define FAULT(name, weight, words) [FAULT_##name] = { #name, words, weight, strike_##name, NULL },
#define COUNT(name, words) [FAULT_##name] = { #name, words, 0, NULL, NULL },
#define MOMENT(name, weight, words) [FAULT_##name] = { #name, words, weight, NULL, moment_##name },
#include "storm_faults.def"
#undef FAULT
#undef COUNT
#undef MOMENT
};

static const char schema[] =
	"create table t0 (id bigint primary key, note varchar(64)); create table t1 (id bigint primary key, note varchar(64));"
	"create table t2 (id bigint primary key, note varchar(64)); create table t3 (id bigint primary key, note varchar(64));"
	"create table t4 (id bigint primary key, note varchar(64)); create table t5 (id bigint primary key, note varchar(64));"
	"create table t6 (id bigint primary key, note varchar(64)); create table t7 (id bigint primary key, note varchar(64));"
	"create table d0 (id bigint primary key); create table d1 (id bigint primary key);"
	"create table somebodys (id bigint primary key)";

/* ---- Numbers. ---- */

uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static unsigned draw(uint64_t *stream, unsigned below)
{
	*stream = *stream * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((*stream >> 33) % below);
}

unsigned chance(unsigned below)
{
	return draw(&storm.random, below);
}

/* ---- The beginning. ---- */

static unsigned at_most(unsigned number, unsigned most)
{
	return most && most < number ? most : number;
}

/* Most runs are small, so that there can be many; a few are large. */
static unsigned shard_number(void)
{
	unsigned dice = chance(100);

	if (dice < 10)
		return 1 + chance(2);
	if (dice < 85)
		return 3 + chance(2);
	return dice < 97 ? 5 + chance(4) : 9 + chance(8);
}

static unsigned change_number(void)
{
	unsigned dice = chance(100);

	if (dice < 82)
		return 1 + (dice >= 50);
	if (dice < 95)
		return 3 + chance(2);
	return dice < 99 ? 5 + chance(4) : 9 + chance(12);
}

static void name_shards(void)
{
	unsigned count = (unsigned)storm.shard_count;
	char bounds[SHARDS_STORM_MAX + 1][4] = { "" };

	for (unsigned i = 1; i < count; i++)
		snprintf(bounds[i], sizeof(bounds[i]), "%02x", i * 256 / count);
	for (unsigned i = 0; i < count; i++) {
		snprintf(storm.shard_names[i], sizeof(storm.shard_names[i]), "%.2s-%.2s", bounds[i], bounds[i + 1]);
		storm.shards[i] = storm.shard_names[i];
	}
}

static void at_boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	(void)user;
	if (storm.traces)
		trace_boundary(controller, kind);
	if (storm.what->tells)
		tell_boundary(controller, kind);
	boundary_strikes(controller, kind);
	moments_strike(controller, kind);
}

static void note_sizes(void)
{
	struct storm_totals *totals = storm.totals;

	if (storm.change_count > totals->most_changes)
		totals->most_changes = storm.change_count;
	if (storm.shard_count > totals->most_shards)
		totals->most_shards = (unsigned)storm.shard_count;
	if (storm.controllers > totals->most_controllers)
		totals->most_controllers = storm.controllers;
}

static void begin(void)
{
	const struct storm_case *what = storm.what;
	unsigned copy, keyspaces;

	storm.random = mix(what->seed, 0);
	storm.delays = mix(what->seed, 1);
	storm.shard_count = at_most(shard_number(), what->shards);
	storm.change_limit = at_most(change_number(), what->changes);
	storm.controllers = at_most(1 + chance(3), what->controllers);
	storm.serves = chance(5) < 3;
	storm.is_slow = chance(3) == 0;
	keyspaces = 1 + (chance(4) == 0);
	copy = chance(2) ? 0 : 20000 + chance(200000);
	name_shards();
	storm.sim = sim_new(&(struct sim_config){ .shards = storm.shards, .shard_count = storm.shard_count, .seed = what->seed,
						  .shared_store = true, .keyspaces = storm_keyspaces, .schema = schema,
						  .keyspace_count = keyspaces, .copy_ms = copy, .server_per_keyspace = true,
						  .world_moves = true, .is_intended = is_intended });
	storm.sim->on_boundary = at_boundary;
	storm.sim->on_reply = storm.traces ? trace_reply : NULL;
	storm.sim->store_delay = storm.is_slow ? store_takes_ms : NULL;
	for (unsigned i = 0; storm.serves && i < storm.controllers; i++)
		sim_daemon_at(storm.sim, 80 + (int)chance(41));
}

/* ---- The rage. ---- */

static void heal_what_is_due(bool all)
{
	struct sim *sim = storm.sim;

	if (storm.store_up_ms && sim->now_ms >= storm.store_up_ms) {
		store_model_set(sim->model, STORE_MODEL_UP);
		storm.store_up_ms = 0;
	}
	for (unsigned i = 0; i < sim->config.keyspace_count; i++)
		heal_fleet(i, all);
	if (all)
		heal_processes();
}

/* A run has some of the faults only: what would cover up the others is away in many. */
static unsigned choose_faults(uint64_t *plan, unsigned weights[_FAULT_NAME_MAX])
{
	unsigned sum = 0;

	for (int i = 0; i < _MOMENT_FIRST; i++) {
		bool is_in = draw(plan, 5) < 3 || i == FAULT_submit || i == FAULT_release || i == FAULT_start_again;

		weights[i] = is_in ? storm_faults[i].weight : 0;
	}
	if (storm.change_limit > 5)
		weights[FAULT_submit] *= 4;
	if (weights[FAULT_store_fail_over])
		weights[FAULT_store_snapshot] = storm_faults[FAULT_store_snapshot].weight;
	if (weights[FAULT_reshard_begins])
		weights[FAULT_reshard_ends] = storm_faults[FAULT_reshard_ends].weight;
	for (int i = 0; i < _MOMENT_FIRST; i++)
		sum += weights[i];
	return sum;
}

/* Some of those that wait for their moment, in most runs; the stream of the others does not feel it. */
static unsigned choose_moments(uint64_t *plan, unsigned weights[_FAULT_NAME_MAX])
{
	/* some by number, so that seed 329 stays the storm that it was before there were such faults */
	bool is_calm = draw(plan, CALM_ONE_IN) == 0 || storm.what->seed % 47 == 0;
	unsigned sum = 0;

	for (int i = _MOMENT_FIRST; i < _FAULT_NAME_MAX; i++) {
		weights[i] = draw(plan, 5) < 2 && !is_calm ? storm_faults[i].weight : 0;
		sum += weights[i];
	}
	return sum;
}

static int pick(unsigned dice, const unsigned weights[_FAULT_NAME_MAX], int first)
{
	int i = first;

	while (dice >= weights[i])
		dice -= weights[i++];
	return i;
}

static void tell_strike(unsigned entry, const char *words, int fault)
{
	if (storm.what->tells)
		print_message("%7.1f s  strike %u: %s%s\n", (double)storm.sim->now_ms / 1000, entry, words, storm_faults[fault].name);
}

static void strike(unsigned entry, int fault)
{
	heal_what_is_due(false);
	storm.random = mix(storm.what->seed, 100 + entry);
	storm.totals->entries = entry;
	storm.fired = &storm.totals->fired[fault];
	if (storm.what->without[entry])
		return;
	tell_strike(entry, "", fault);
	if (storm_faults[fault].strike())
		++storm.totals->fired[fault];
}

static void rage(void)
{
	static const unsigned gaps_ms[] = { 6000, 15000, 40000 };
	uint64_t plan = mix(storm.what->seed, 2), moments = mix(storm.what->seed, 3);
	unsigned weights[_FAULT_NAME_MAX], sum = choose_faults(&plan, weights), moment_sum = choose_moments(&moments, weights);
	unsigned gap_ms = gaps_ms[draw(&plan, 3)];
	int64_t until_ms = storm.sim->now_ms + (draw(&plan, 4) ? 4 + draw(&plan, 8) : 10 + draw(&plan, 30)) * MINUTE_MS;

	for (unsigned entry = 1; entry < ENTRIES_MAX && storm.sim->now_ms < until_ms; entry++) {
		int fault = entry == 1 ? FAULT_submit : pick(draw(&plan, sum), weights, 0);
		int64_t pass_ms = draw(&plan, 8) ? draw(&plan, gap_ms) : draw(&plan, 8 * gap_ms);

		strike(entry, fault);
		if (moment_sum && draw(&moments, MOMENT_ONE_IN) == 0) {
			fault = pick(draw(&moments, moment_sum), weights, _MOMENT_FIRST);
			if (!storm.what->without[entry]) {
				tell_strike(entry, "waits for the moment of ", fault);
				moment_arm(fault, mix(storm.what->seed, 100000 + entry));
			}
		}
		sim_pass(storm.sim, pass_ms);
	}
	heal_what_is_due(true);
}

/* ---- The end. ---- */

static bool is_anything_held_up(const char *keyspace)
{
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *change = change_of(&storm.changes[i]);

		if (change && storm.changes[i].keyspace == keyspace && !has_ended(change) && is_held_up(change))
			return true;
	}
	return false;
}

/* It has no record yet, somebody is still at it, and the table can get free. */
static bool is_asked_for(const struct storm_change *change)
{
	if (is_anything_held_up(change->keyspace))
		return false;
	for (size_t i = 0; i < storm.sim->controller_count; i++) {
		const struct controller *controller = &storm.sim->controllers[i];

		if (controller->state != CONTROLLER_DEAD && controller->ask.ddl == change->ask.ddl &&
		    controller->ask.keyspace == change->keyspace)
			return true;
	}
	return false;
}

/* Whoever runs vtddl for a change that has lost a shard sees why it waits, and interrupts it. */
static void give_up(void)
{
	for (size_t i = 0; i < storm.sim->controller_count; i++) {
		struct controller *controller = &storm.sim->controllers[i];
		const struct change *change;

		if (controller->state != CONTROLLER_ALIVE || !controller->ask.uuid)
			continue;
		change = store_model_change(storm.sim->model, "default", controller->ask.uuid);
		if (change && lost_a_shard(change))
			sim_terminate(controller);
	}
}

/* One whose table was busy for long is written down late, and held: people look now and then. */
static void release_held(void)
{
	for (unsigned i = 0; i < storm.change_count && may_start(0); i++) {
		struct storm_change *change = &storm.changes[i];
		const struct change *record = change_of(change);

		if (!record || record->gate == GATE_AUTO || has_ended(record) || storm.sim->now_ms < change->looked_at_ms)
			continue;
		change->looked_at_ms = storm.sim->now_ms + 10 * MINUTE_MS;
		ask_again(change, storm.serves ? GOAL_SUBMITTED : GOAL_VERIFIED, true);
	}
}

static bool all_at_their_end(struct sim *sim, void *user)
{
	int64_t *next_ms = user;

	if (sim->now_ms < *next_ms)
		return false;
	*next_ms = sim->now_ms + 2000;
	give_up();
	note_changes();
	release_held();
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *change = change_of(&storm.changes[i]);

		if (change ? !has_ended(change) && !is_held_up(change) : is_asked_for(&storm.changes[i]))
			return false;
	}
	return true;
}

/* Pipelines are run again, what is held is released. What the store has lost is found in the fleet and adopted. */
static void ask_for_all(void)
{
	note_changes();
	for (unsigned i = 0; i < storm.change_count && may_start(0); i++) {
		struct storm_change *change = &storm.changes[i];
		const struct change *record = change_of(change);

		if (record && has_ended(record) && !is_late(record))
			continue;
		if (storm.serves && record && record->gate == GATE_AUTO && !is_late(record)) /* a daemon does it */
			continue;
		change->ask.deadline_ms = PATIENCE_MS;
		change->looked_at_ms = storm.sim->now_ms + 10 * MINUTE_MS;
		ask_again(change, storm.serves && record ? GOAL_SUBMITTED : GOAL_VERIFIED, true);
	}
}

static bool clear_the_way(void)
{
	bool any = false;

	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *change = change_of(&storm.changes[i]);

		any |= change && !has_ended(change) && is_held_up(change);
	}
	for (unsigned i = 0; any && i < storm.change_count && may_start(0); i++) {
		struct storm_change *change = &storm.changes[i];
		const struct change *record = change_of(change);

		if (!change->uuid[0] || (record && !has_ended(record)))
			continue;
		if (record && (record->phase == PHASE_FAILED || record->phase == PHASE_STOPPED))
			ask_again(change, GOAL_CANCELLED, false);
		if (lives_in_fleet(change->keyspace, change->uuid)) /* somebody revived it, or nobody knows it any more */
			sim_meddle(storm.sim, SIM_CANCEL, change->keyspace, change->uuid, NULL);
	}
	return any;
}

static void tell_residents(void)
{
	for (size_t i = 0; i < storm.sim->controller_count; i++) {
		const struct controller *controller = &storm.sim->controllers[i];

		for (size_t j = 0; controller->state == CONTROLLER_ALIVE && j < engine_residents(controller->engine); j++) {
			const struct resident_view *view = engine_resident(controller->engine, j);

			print_message("%s%s: %s is %s, gate %s: %s\n", controller->owner, view->leader ? " leads" : "",
				      view->change->uuid, phase_name(view->change->phase), gate_name(view->change->gate),
				      view->reason);
		}
		if (!controller->serves && controller->state == CONTROLLER_ALIVE)
			print_message("%s: %s\n", controller->owner, controller->reason);
	}
}

static void wait_for_all(void)
{
	int64_t next_ms = 0, since_ms = storm.sim->now_ms;

	if (sim_until(storm.sim, all_at_their_end, &next_ms, END_MS))
		return;
	tell_residents();
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *change = change_of(&storm.changes[i]);

		if (change && !has_ended(change) && !is_held_up(change))
			fail_msg("I11: %lld minutes later %s is %s: %s", (long long)(storm.sim->now_ms - since_ms) / MINUTE_MS,
				 change->uuid, phase_name(change->phase), change->reason);
	}
}

static unsigned effects_sent(void)
{
	unsigned sent = 0;

	for (size_t i = 0; i < storm.sim->controller_count; i++)
		sent += storm.sim->controllers[i].effects;
	return sent;
}

/* Then all processes are asked to leave, and the rest of the hour nothing moves. */
static void be_quiet(void)
{
	struct sim *sim = storm.sim;
	unsigned sent;

	sim_pass(sim, WATCH_MS);
	for (size_t i = 0; i < sim->controller_count; i++)
		sim_terminate(&sim->controllers[i]);
	sim_pass(sim, MINUTE_MS);
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].state != CONTROLLER_DEAD)
			fail_msg("%s was asked to leave a minute ago and is still there", sim->controllers[i].owner);
	sent = effects_sent();
	sim_pass(sim, sim->now_ms < HOUR_MS ? HOUR_MS - sim->now_ms : MINUTE_MS);
	assert_int_equal(effects_sent(), sent);
}

uint64_t storm_run(const struct storm_case *what, bool traces, struct storm_totals *totals)
{
	storm = (struct storm){ .what = what, .totals = totals, .traces = traces, .trace = 14695981039346656037ULL };
	begin();
	rage();
	sim_pass(storm.sim, 2 * MINUTE_MS);
	ask_for_all();
	wait_for_all();
	if (clear_the_way()) {
		sim_pass(storm.sim, 4 * MINUTE_MS); /* a cancel waits for what may still act */
		ask_for_all();
		wait_for_all();
	}
	be_quiet();
	judge();
	note_sizes();
	totals->fired[FAULT_store_fails_before] += store_model_failed(storm.sim->model, STORE_MODEL_BEFORE);
	totals->fired[FAULT_store_fails_after] += store_model_failed(storm.sim->model, STORE_MODEL_AFTER);
	totals->fired[FAULT_pause_past_lease] += storm.sim->long_pauses;
	totals->virtual_ms += (uint64_t)storm.sim->now_ms;
	totals->seeds++;
	sim_free(storm.sim);
	return storm.trace;
}
