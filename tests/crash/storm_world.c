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

bool strike_kill_now(void)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	if (controller)
		sim_kill(controller);
	return controller;
}

bool strike_pause_now(void)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	if (controller)
		sim_pause(controller, 1000 + chance(150000));
	return controller;
}

bool strike_terminate(void)
{
	struct controller *controller = any_process(CONTROLLER_ALIVE);

	if (controller)
		sim_terminate(controller);
	return controller;
}

bool strike_start_again(void)
{
	struct controller *controller = any_process(CONTROLLER_PAUSED);

	if (controller && chance(2)) {
		sim_continue(controller);
		return true;
	}
	controller = any_process(CONTROLLER_DEAD);
	if (controller)
		sim_restart(controller);
	return controller;
}

static bool plan_boundary(bool pauses)
{
	storm.at_boundary = (struct boundary_plan){ .is_set = true, .pauses = pauses, .fired = storm.fired,
						    .kind = (enum boundary_kind)chance(_BOUNDARY_KIND_MAX),
						    .nth = 1 + chance(3), .any_call = chance(5) == 0 };
	return false; /* it counts itself, when one passes */
}

bool strike_kill_at_boundary(void)
{
	return plan_boundary(false);
}

bool strike_pause_at_boundary(void)
{
	return plan_boundary(true);
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

bool strike_store_away(void)
{
	return set_store(STORE_MODEL_DOWN);
}

bool strike_store_read_only(void)
{
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

bool strike_store_fails_before(void)
{
	return fail_calls(STORE_MODEL_BEFORE);
}

bool strike_store_fails_after(void)
{
	return fail_calls(STORE_MODEL_AFTER);
}

bool strike_store_slow(void)
{
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
	if (storm.store_takes_next_ms) {
		takes_ms = storm.store_takes_next_ms;
		storm.store_takes_next_ms = 0;
		return takes_ms;
	}
	if (storm.sim->now_ms >= storm.store_slow_until_ms)
		return 0;
	storm.delays = mix(storm.delays, 1);
	dice = (unsigned)(storm.delays >> 40) % 100;
	takes_ms = 1 + (int64_t)(storm.delays % (dice < 60 ? 400 : dice < 85 ? 3000 : dice < 97 ? 9000 : 45000));
	storm.totals->fired[FAULT_store_slower_than_margin] += takes_ms > MARGIN_MS;
	storm.totals->fired[FAULT_store_slower_than_lease] += takes_ms > LEASE_MS;
	return takes_ms;
}

bool strike_store_snapshot(void)
{
	if (storm.keeps_snapshot)
		return false;
	store_model_snapshot(storm.sim->model);
	storm.has_snapshot = true;
	return true;
}

void store_goes_back(void)
{
	sim_fail_over(storm.sim);
	/* an hour later nobody makes such a replica the primary */
	storm.has_snapshot = storm.keeps_snapshot = false;
}

bool strike_store_fail_over(void)
{
	if (!storm.has_snapshot || storm.keeps_snapshot)
		return false;
	store_goes_back();
	return true;
}

/* ---- Clocks. ---- */

bool strike_store_clock(void)
{
	sim_set_store_clock(storm.sim, (int64_t)chance(100000) - 50000);
	return true;
}

bool strike_wall_clock(void)
{
	struct controller *controller = any_process((enum controller_state)chance(3));

	if (!controller)
		return false;
	storm.sim->walls_were_set = true;
	controller->wall_offset_ms = chance(3) ? 0 : (int64_t)chance(2 * DAY_MS) - DAY_MS;
	return true;
}

bool strike_clock_rate(void)
{
	struct controller *controller = any_process(CONTROLLER_DEAD);

	if (controller)
		controller->rate_percent = 80 + (int)chance(41);
	return controller;
}

/* ---- People. ---- */

bool may_start(unsigned kept)
{
	return storm.sim->controller_count + kept < SIM_CONTROLLERS_MAX;
}

static const struct storm_statement statements[] = {
	{ "alter table t0 add column c int", "`c` int", true, "alter table t0 drop column c" },
	{ "alter table t1 add column c int", "`c` int", true, "alter table t1 drop column c" },
	{ "alter table t2 add column c int", "`c` int", true, "alter table t2 drop column c" },
	{ "alter table t3 add column c int", "`c` int", true, "alter table t3 drop column c" },
	{ "alter table t4 add column c varchar(20)", "`c` varchar(20)", true, "alter table t4 drop column c" },
	{ "alter table t5 add index note (note)", "KEY `note`", true, "alter table t5 drop index note" },
	{ "alter table t6 drop column note", "`note`", false, "alter table t6 add column note varchar(64)" },
	/* clauses that are not understood are proven by equality alone */
	{ "alter table t7 modify column note varchar(90)", "`note` varchar", true, "alter table t7 modify column note varchar(64)" },
	{ "create table n0 (id bigint primary key)", NULL, true, "drop table n0" },
	{ "create table n1 (id bigint primary key)", NULL, true, "drop table n1" },
	{ "create table n2 (id bigint primary key)", NULL, true, "drop table n2" },
	{ "create view v0 as select id from t0", NULL, true, "drop view v0" },
	{ "create view v1 as select id from t1", NULL, true, "drop view v1" },
	{ "drop table d0", NULL, false, "create table d0 (id bigint primary key)" },
	{ "drop table d1", NULL, false, "create table d1 (id bigint primary key)" },
	{ "alter table t0 add column e int", "`e` int", true, "alter table t0 drop column e" },
	{ "alter table t1 add column e int", "`e` int", true, "alter table t1 drop column e" },
	{ "alter table t2 add column e int", "`e` int", true, "alter table t2 drop column e" },
};
#define STATEMENTS (sizeof(statements) / sizeof(statements[0]))

const struct storm_statement *statement_of(const char *ddl)
{
	for (size_t i = 0; i < STATEMENTS; i++)
		if (strcmp(statements[i].ddl, ddl) == 0)
			return &statements[i];
	fail_msg("nobody asked for %s", ddl);
	return NULL;
}

bool is_intended(const struct change *change, const char *definition)
{
	const struct storm_statement *statement = statement_of(change->ddl);

	if (!statement->fragment || !definition)
		return statement->is_there == (definition != NULL);
	return statement->is_there == (strstr(definition, statement->fragment) != NULL);
}

static void start(const struct ask *ask)
{
	sim_ask(storm.sim, ask)->rate_percent = 0;
}

/* In a pipeline `vtddl run` does all of it, now and then two of them at once; beside daemons `vtddl submit` ends soon. */
bool strike_submit(void)
{
	struct storm_change *change = &storm.changes[storm.change_count];
	unsigned first = chance(STATEMENTS), keyspace = any_keyspace();
	bool runs = !storm.serves || chance(5) == 0, open_gate = chance(3) != 0, twice = chance(4) == 0;
	int64_t deadline_ms = chance(4) ? 0 : 10 * HOUR_MS;

	if (storm.change_count == storm.change_limit || !may_start(SLOTS_KEPT + 2))
		return false;
	for (unsigned i = 0; i < storm.change_count; i++) /* a statement of its own, if there is one */
		if (storm.changes[i].ask.ddl == statements[first].ddl && storm.changes[i].keyspace == storm_keyspaces[keyspace])
			first = (first + 1) % STATEMENTS;
	*change = (struct storm_change){ .keyspace = storm_keyspaces[keyspace] };
	change->ask = (struct ask){ .keyspace = change->keyspace, .ddl = statements[first].ddl, .open_gate = open_gate,
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

bool strike_run_again(void)
{
	struct storm_change *change = storm.change_count ? &storm.changes[chance(storm.change_count)] : NULL;

	if (!change || !may_start(SLOTS_KEPT))
		return false;
	start(&change->ask);
	return true;
}

bool strike_release(void)
{
	struct storm_change *change = any_change();

	if (change)
		ask_again(change, storm.serves ? GOAL_SUBMITTED : GOAL_VERIFIED, true);
	return change;
}

bool strike_cancel(void)
{
	struct storm_change *change = any_change();

	if (change)
		ask_again(change, GOAL_CANCELLED, false);
	return change;
}

bool strike_verify_stopped(void)
{
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
	moments_end();
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
