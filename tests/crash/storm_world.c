/* Faults of processes, of the store and of clocks; and people who use vtddl. */
#include "storm.h"

#define DAY_MS (24 * HOUR_MS)
#define MARGIN_MS 5000 /* between the write that makes a lease long and the sending of the effect */

const char *const storm_keyspaces[KEYSPACES] = { "commerce", "customer" };

/* ---- Processes. ---- */

static struct controller *any_process(enum controller_state state)
{
	struct sim *sim = storm.sim;
	size_t first = chance((unsigned)sim->controller_count + 1);

	for (size_t i = 0; i < sim->controller_count; i++) {
		struct controller *controller = &sim->controllers[(first + i) % sim->controller_count];

		if (!controller->ended && controller->state == state)
			return controller;
	}
	return NULL;
}

bool strike_kill_now(unsigned *fired)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	(void)fired;
	if (controller)
		sim_kill(controller);
	return controller;
}

bool strike_pause_now(unsigned *fired)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	(void)fired;
	if (controller)
		sim_pause(controller, 1000 + chance(150000));
	return controller;
}

bool strike_terminate(unsigned *fired)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	(void)fired;
	if (controller)
		sim_terminate(controller);
	return controller;
}

bool strike_start_again(unsigned *fired)
{
	struct controller *controller = any_process(CONTROLLER_PAUSED);

	(void)fired;
	if (controller && chance(2)) {
		sim_continue(controller);
		return true;
	}
	controller = any_process(CONTROLLER_DEAD);
	if (controller)
		sim_restart(controller);
	return controller;
}

static bool plan_boundary(bool pauses, unsigned *fired)
{
	storm.at_boundary = (struct boundary_plan){ .is_set = true, .pauses = pauses, .fired = fired,
						    .kind = (enum boundary_kind)chance(_BOUNDARY_KIND_MAX),
						    .nth = 1 + chance(3), .any_call = chance(5) == 0 };
	return false; /* it counts itself, when one passes */
}

bool strike_kill_at_boundary(unsigned *fired)
{
	return plan_boundary(false, fired);
}

bool strike_pause_at_boundary(unsigned *fired)
{
	return plan_boundary(true, fired);
}

static int call_of(const struct controller *controller, enum boundary_kind kind)
{
	const struct sim_held *held = controller->held;

	if (kind == BOUNDARY_RPC_AFTER)
		return (int)_REQUEST_KIND_MAX + (int)held->replies[0].rpc.method;
	if (kind == BOUNDARY_RPC_BEFORE)
		return (int)_REQUEST_KIND_MAX + (int)held->requests[0].rpc.method;
	return (int)held->requests[0].kind;
}

/* Surveys and looks are most of what there is; writes and effects decide. */
static bool is_rare(int call)
{
	if (call < (int)_REQUEST_KIND_MAX)
		return call == REQUEST_STORE_INSERT || call == REQUEST_STORE_UPDATE || call == REQUEST_STORE_RELEASE;
	return vtctld_method_is_effect((enum vtctld_method)(call - _REQUEST_KIND_MAX)) ||
	       call == (int)_REQUEST_KIND_MAX + VTCTLD_GET_SCHEMA;
}

void boundary_strikes(struct controller *controller, enum boundary_kind kind)
{
	struct boundary_plan *plan = &storm.at_boundary;

	if (!plan->is_set || plan->kind != kind || controller->state != CONTROLLER_ALIVE)
		return;
	if ((!plan->any_call && !is_rare(call_of(controller, kind))) || --plan->nth > 0)
		return;
	plan->is_set = false;
	++*plan->fired;
	if (plan->pauses) {
		sim_pause(controller, 1000 + (int64_t)(mix(storm.what->seed, (uint64_t)storm.sim->now_ms) % 150000));
		return;
	}
	storm.totals->kills[kind][call_of(controller, kind)]++;
	sim_kill(controller);
}

/* ---- The store. ---- */

static bool set_store(enum store_model_state state)
{
	store_model_set(storm.sim->model, state);
	storm.store_up_ms = storm.sim->now_ms + 1000 + chance(120000);
	return true;
}

bool strike_store_away(unsigned *fired)
{
	(void)fired;
	return set_store(STORE_MODEL_DOWN);
}

bool strike_store_read_only(unsigned *fired)
{
	(void)fired;
	return set_store(STORE_MODEL_READ_ONLY);
}

/* Counted by the model, when a call comes. */
static bool fail_calls(enum store_model_when when)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	if (controller)
		store_model_fail(controller->store, 1 + chance(6), 1 + chance(3), when);
	return false;
}

bool strike_store_fails_before(unsigned *fired)
{
	(void)fired;
	return fail_calls(STORE_MODEL_BEFORE);
}

bool strike_store_fails_after(unsigned *fired)
{
	(void)fired;
	return fail_calls(STORE_MODEL_AFTER);
}

bool strike_store_slow(unsigned *fired)
{
	(void)fired;
	storm.store_slow_until_ms = storm.sim->now_ms + 2000 + chance(100000);
	return storm.is_slow;
}

int64_t store_takes_ms(struct controller *controller, const struct request *request, void *user)
{
	int64_t takes_ms;
	unsigned dice;

	(void)controller;
	(void)request;
	(void)user;
	if (storm.sim->now_ms >= storm.store_slow_until_ms)
		return 0;
	storm.delays = mix(storm.delays, 1);
	dice = (unsigned)(storm.delays >> 40) % 100;
	takes_ms = 1 + (int64_t)(storm.delays % (dice < 60 ? 400 : dice < 85 ? 3000 : dice < 97 ? 9000 : 45000));
	storm.totals->fired[FAULT_store_slower_than_margin] += takes_ms > MARGIN_MS;
	storm.totals->fired[FAULT_store_slower_than_lease] += takes_ms > LEASE_MS;
	return takes_ms;
}

bool strike_store_snapshot(unsigned *fired)
{
	(void)fired;
	store_model_snapshot(storm.sim->model);
	storm.has_snapshot = true;
	return true;
}

bool strike_store_fail_over(unsigned *fired)
{
	(void)fired;
	if (!storm.has_snapshot)
		return false;
	sim_fail_over(storm.sim);
	storm.has_snapshot = false; /* an hour later nobody makes such a replica the primary */
	return true;
}

/* ---- Clocks. ---- */

bool strike_store_clock(unsigned *fired)
{
	(void)fired;
	sim_set_store_clock(storm.sim, (int64_t)chance(100000) - 50000);
	return true;
}

bool strike_wall_clock(unsigned *fired)
{
	struct controller *controller = any_process((enum controller_state)chance(3));

	(void)fired;
	if (!controller)
		return false;
	storm.sim->walls_were_set = true;
	controller->wall_offset_ms = chance(3) ? 0 : (int64_t)chance(2 * DAY_MS) - DAY_MS;
	return true;
}

bool strike_clock_rate(unsigned *fired)
{
	struct controller *controller = any_process(CONTROLLER_DEAD);

	(void)fired;
	if (controller)
		controller->rate_percent = 80 + (int)chance(41);
	return controller;
}

/* ---- People. ---- */

bool may_start(unsigned kept)
{
	return storm.sim->controller_count + kept < SIM_CONTROLLERS_MAX;
}

static const char *const statements[] = {
	"alter table t0 add column c int",	   "alter table t1 add column c int",
	"alter table t2 add column c int",	   "alter table t3 add column c int",
	"alter table t4 add column c varchar(20)", "alter table t5 add index note (note)",
	"alter table t6 drop column note",	   "alter table t7 modify column note varchar(90)",
	"create table n0 (id bigint primary key)", "create table n1 (id bigint primary key)",
	"create table n2 (id bigint primary key)", "create view v0 as select id from t0",
	"create view v1 as select id from t1",	   "drop table d0",
	"drop table d1",			   "alter table t0 add column e int",
	"alter table t1 add column e int",	   "alter table t2 add column e int",
};
#define STATEMENTS (sizeof(statements) / sizeof(statements[0]))

static void start(const struct ask *ask)
{
	sim_ask(storm.sim, ask)->rate_percent = 0;
}

/* In a pipeline `vtddl run` does all of it, now and then two of them at once; beside daemons `vtddl submit` ends soon. */
bool strike_submit(unsigned *fired)
{
	struct storm_change *change = &storm.changes[storm.change_count];
	unsigned first = chance(STATEMENTS), keyspace = any_keyspace();
	bool runs = !storm.serves || chance(5) == 0, open_gate = chance(3) != 0, twice = chance(4) == 0;
	int64_t deadline_ms = chance(4) ? 0 : 10 * HOUR_MS;

	(void)fired;
	if (storm.change_count == storm.change_limit || !may_start(SLOTS_KEPT + 2))
		return false;
	for (unsigned i = 0; i < storm.change_count; i++) /* a statement of its own, if there is one */
		if (storm.changes[i].ask.ddl == statements[first] && storm.changes[i].keyspace == storm_keyspaces[keyspace])
			first = (first + 1) % STATEMENTS;
	*change = (struct storm_change){ .keyspace = storm_keyspaces[keyspace] };
	change->ask = (struct ask){ .keyspace = change->keyspace, .ddl = statements[first], .open_gate = open_gate,
				    .goal = runs ? GOAL_VERIFIED : GOAL_SUBMITTED, .deadline_ms = deadline_ms };
	storm.change_count++;
	start(&change->ask);
	if (twice)
		start(&change->ask);
	return true;
}

const struct change *change_of(const struct storm_change *change)
{
	return change->uuid[0] ? store_model_change(storm.sim->model, "default", change->uuid) : NULL;
}

/* The store tells the uuid of a statement. */
void note_changes(void)
{
	struct store_filter filter = { .cluster = "default" };
	cleanup(arena_release) struct arena arena = { 0 };
	struct change *changes;
	struct error error;
	size_t count;

	for (unsigned i = 0; i < storm.change_count; i++) {
		struct storm_change *change = &storm.changes[i];

		filter.keyspace = change->keyspace;
		if (change->uuid[0] || store_list(storm.sim->store, &filter, &arena, &changes, &count, &error) < 0)
			continue;
		for (size_t j = 0; j < count; j++)
			if (strcmp(changes[j].ddl, change->ask.ddl) == 0)
				snprintf(change->uuid, sizeof(change->uuid), "%s", changes[j].uuid);
	}
}

void ask_again(struct storm_change *change, enum goal goal, bool open_gate)
{
	struct ask ask = change->ask;

	ask.goal = goal;
	ask.open_gate = open_gate;
	if (change_of(change) || goal == GOAL_CANCELLED) {
		ask.ddl = NULL;
		ask.uuid = change->uuid;
	}
	start(&ask);
}

static struct storm_change *any_change(void)
{
	struct storm_change *change = storm.change_count ? &storm.changes[chance(storm.change_count)] : NULL;

	if (change && !change->uuid[0])
		note_changes();
	return change && change_of(change) && may_start(SLOTS_KEPT) ? change : NULL;
}

bool strike_run_again(unsigned *fired)
{
	struct storm_change *change = storm.change_count ? &storm.changes[chance(storm.change_count)] : NULL;

	(void)fired;
	if (!change || !may_start(SLOTS_KEPT))
		return false;
	start(&change->ask);
	return true;
}

bool strike_release(unsigned *fired)
{
	struct storm_change *change = any_change();

	(void)fired;
	if (change)
		ask_again(change, storm.serves ? GOAL_SUBMITTED : GOAL_VERIFIED, true);
	return change;
}

bool strike_cancel(unsigned *fired)
{
	struct storm_change *change = any_change();

	(void)fired;
	if (change)
		ask_again(change, GOAL_CANCELLED, false);
	return change;
}

bool strike_verify_stopped(unsigned *fired)
{
	(void)fired;
	for (unsigned i = 0; i < storm.change_count; i++) {
		const struct change *record = change_of(&storm.changes[i]);
		struct ask ask = { .keyspace = storm.changes[i].keyspace, .uuid = storm.changes[i].uuid,
				   .goal = GOAL_VERIFIED, .take_up = true };

		if (!record || record->phase != PHASE_STOPPED || !may_start(SLOTS_KEPT))
			continue;
		start(&ask);
		return true;
	}
	return false;
}

/* ---- All is well again. ---- */

void heal_processes(void)
{
	struct sim *sim = storm.sim;

	storm.at_boundary.is_set = false;
	storm.store_slow_until_ms = 0;
	store_model_set(sim->model, STORE_MODEL_UP);
	for (size_t i = 0; i < sim->controller_count; i++) {
		struct controller *controller = &sim->controllers[i];

		controller->wall_offset_ms = 0;
		if (controller->state == CONTROLLER_PAUSED)
			sim_continue(controller);
		if (controller->state == CONTROLLER_DEAD && !controller->ended)
			sim_restart(controller);
	}
}
