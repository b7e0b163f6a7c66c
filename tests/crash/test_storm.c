/*
 * Everything at once, by seed: two or three controllers on clocks of their own, one or two keyspaces, changes
 * that follow each other, people who release and cancel, and for twenty virtual minutes deaths, pauses, a store
 * that is away or fails in the middle of a commit, a vtctld that does not answer or answers wrong, tablets that
 * die and primaries that move, clocks that jump. Every invariant is checked at every step. Then all is well
 * again, and every change must come to an end (I11).
 *
 *	test_storm [FIRST [COUNT]]	seeds; of one that fails a line says how to run it again alone
 *
 * The same seed is the same run: of one seed in a hundred every message of two runs is compared.
 */
#include "controllers_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STORM_MS (20 * MINUTE_MS)
#define READY_SLACK_MS 8000 /* a read's deadline, the freshness of a look, a moment */
#define KEYSPACES 2
#define CHANGES_MAX 8

static const char *const keyspaces[KEYSPACES] = { "commerce", "customer" };
static const char *const shard_sets[][4] = { { "-" }, { "-80", "80-" }, { "-40", "40-80", "80-c0", "c0-" } };
static const size_t shard_counts[] = { 1, 2, 4 };

static struct storm {
	struct sim *sim;
	uint64_t seed, random, trace;
	size_t shard_count;
	const char *const *shards;
	int64_t store_up_ms, vtctld_up_ms[KEYSPACES], tablet_up_ms[KEYSPACES];
	const char *tablet[KEYSPACES]; /* that is away; NULL: none */
	bool is_dead[KEYSPACES];       /* an old primary whose record lingers */
	unsigned changes, wishes;
	char uuids[CHANGES_MAX][UUID_LENGTH + 1];
} storm;

static uint64_t first_seed = 1, seed_count = 400;
static unsigned ends[_PHASE_MAX];
static uint64_t messages; /* in all traces */
static bool all_ended_well;

static unsigned chance(unsigned below)
{
	storm.random = storm.random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)((storm.random >> 33) % below);
}

static const char *any_shard(void)
{
	return storm.shards[chance((unsigned)storm.shard_count)];
}

/* ---- The trace: a hash of every message in its order. ---- */

static void trace_bytes(const void *bytes, size_t length)
{
	for (const unsigned char *at = bytes; length-- > 0; at++)
		storm.trace = (storm.trace ^ *at) * 1099511628211ULL;
}

static void trace_number(int64_t number)
{
	trace_bytes(&number, sizeof(number));
}

static void trace_text(const char *text)
{
	trace_bytes(text ? text : "", text ? strlen(text) + 1 : 1);
}

static void trace_change(const struct change *change)
{
	const int64_t numbers[] = { change->phase, change->gate, change->cancel_asked, change->adopted, change->last_effect,
				    change->attempts, change->rule, change->epoch, change->revision,
				    change->next_attempt_at_ms, change->in_flight_until_ms, change->updated_at_ms,
				    change->deadline_at_ms, (int64_t)change->shard_count };

	trace_text(change->uuid);
	trace_text(change->reason);
	trace_bytes(numbers, sizeof(numbers));
}

static void trace_request(const struct request *request)
{
	const struct vtctld_request *rpc = &request->rpc;
	const char *const texts[] = { rpc->keyspace, rpc->uuid, rpc->context, rpc->sql, rpc->strategy, rpc->table,
				      rpc->tablet.cell, request->scope, request->evidence };
	const int64_t numbers[] = { request->kind, rpc->method, rpc->server, (int64_t)rpc->limit, rpc->tablet.uid,
				    rpc->timeout_ms, request->lease_ms, request->cancelled_since_ms,
				    request->expect.phase, request->expect.revision, request->expect.epoch,
				    request->expect.lease_ms };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		trace_text(texts[i]);
	trace_bytes(numbers, sizeof(numbers));
	if (request->change)
		trace_change(request->change);
	if (request->entry)
		trace_text(request->entry->evidence);
}

static void trace_row(const struct migration *row)
{
	const int64_t numbers[] = { row->status, row->postpone_completion, row->ready_to_complete, row->retries,
				    row->started_at_s, row->liveness_s, row->completed_at_s, row->rows_copied };

	trace_text(row->uuid);
	trace_text(row->shard);
	trace_text(row->message);
	trace_bytes(numbers, sizeof(numbers));
}

static void trace_cells(const struct query_result *result)
{
	trace_number((int64_t)result->row_count);
	for (size_t i = 0; i < result->row_count * result->column_count; i++)
		trace_bytes(result->cells[i].text, result->cells[i].text ? result->cells[i].length : 0);
}

static void trace_answer(const struct vtctld_reply *reply)
{
	trace_number(reply->method);
	trace_number(reply->outcome);
	trace_number(reply->code);
	trace_text(reply->text);
	if (reply->outcome != VTCTLD_DONE)
		return;
	if (reply->method == VTCTLD_GET_SCHEMA_MIGRATIONS)
		for (size_t i = 0; i < reply->migrations.count; i++)
			trace_row(&reply->migrations.items[i]);
	else if (reply->method == VTCTLD_FIND_ALL_SHARDS)
		for (size_t i = 0; i < reply->shards.count; i++)
			trace_number(reply->shards.items[i].primary.uid);
	else if (reply->method == VTCTLD_EXECUTE_FETCH_AS_DBA)
		trace_cells(&reply->result);
}

static void trace(struct controller *controller, enum boundary_kind kind, void *user)
{
	const struct sim_held *held = controller->held;

	(void)user;
	trace_number(storm.sim->now_ms);
	trace_number(controller->index);
	trace_number(kind);
	for (size_t i = 0; i < held->count; i++, messages++) {
		if (kind == BOUNDARY_STORE_BEFORE || kind == BOUNDARY_RPC_BEFORE) {
			trace_request(&held->requests[i]);
			continue;
		}
		trace_number(held->replies[i].result);
		trace_number(held->replies[i].lease.epoch);
		trace_number(held->replies[i].lease.left_ms);
		if (kind == BOUNDARY_RPC_AFTER)
			trace_answer(&held->replies[i].rpc);
	}
}

/* ---- What may happen. ---- */

static void strike_controller(void)
{
	struct sim *sim = storm.sim;
	struct controller *controller = &sim->controllers[chance((unsigned)sim->controller_count)];

	if (controller->ended)
		return;
	if (controller->state == CONTROLLER_DEAD)
		sim_restart(controller);
	else if (controller->state == CONTROLLER_PAUSED)
		sim_continue(controller);
	else if (chance(3) == 0)
		sim_terminate(controller);
	else if (chance(2))
		sim_kill(controller);
	else
		sim_pause(controller, 1000 + chance(150000));
}

static void strike_store(void)
{
	struct sim *sim = storm.sim;
	struct controller *controller = &sim->controllers[chance((unsigned)sim->controller_count)];

	switch (chance(4)) {
	case 0:
		store_model_set(sim->model, chance(2) ? STORE_MODEL_DOWN : STORE_MODEL_READ_ONLY);
		storm.store_up_ms = sim->now_ms + 1000 + chance(120000);
		break;
	case 1:
		store_model_set_clock(sim->model, (int64_t)chance(100000) - 50000);
		break;
	default:
		if (controller->state != CONTROLLER_DEAD)
			store_model_fail(controller->store, 1 + chance(6), 1 + chance(3), (enum store_model_when)chance(2));
		break;
	}
}

static void strike_call(struct fleet *fleet)
{
	static const int codes[] = { 1, 2, 4, 8, 10, 13, 14, 0 };
	enum vtctld_method method = (enum vtctld_method)chance(_VTCTLD_METHOD_MAX);
	struct fault fault = { .method = method, .nth = 1 + chance(3), .times = 1 + chance(4),
			       .when = (enum fault_when)chance(2), .code = codes[chance(8)],
			       .delay_ms = chance(3) ? 0 : chance(90000), .drop = chance(4) == 0 };
	char shards[64] = "";

	if (vtctld_method_is_effect(method) && fault.when == FAULT_AFTER) {
		for (size_t i = 0; i < storm.shard_count; i++)
			if (chance(2))
				snprintf(shards + strlen(shards), sizeof(shards) - strlen(shards), "%s%s", shards[0] ? "," : "",
					 storm.shards[i]);
		fault.shards = shards;
	} else if (!vtctld_method_is_effect(method) && chance(3) == 0) {
		fault = (struct fault){ .method = method, .nth = 1, .times = 1 + chance(3),
					.missing = chance(2) ? any_shard() : NULL };
		if (!fault.missing)
			fault.doubled = any_shard();
	}
	fleet_fault(fleet, &fault);
}

static void strike_tablet(unsigned which)
{
	struct fleet *fleet = storm.sim->fleets[which];
	static const enum tablet_event events[] = { TABLET_STOP, TABLET_KILL, TABLET_PAUSE };

	if (storm.tablet[which] || storm.is_dead[which])
		return;
	switch (chance(4)) {
	case 0:
		fleet_reparent(fleet, any_shard(), false);
		break;
	case 1:
		storm.tablet[which] = any_shard();
		storm.is_dead[which] = true;
		fleet_reparent(fleet, storm.tablet[which], true);
		break;
	default:
		storm.tablet[which] = any_shard();
		fleet_tablet(fleet, storm.tablet[which], events[chance(3)]);
		break;
	}
	storm.tablet_up_ms[which] = storm.sim->now_ms + 5000 + chance(200000);
}

static void heal_tablet(unsigned which)
{
	struct fleet *fleet = storm.sim->fleets[which];

	if (storm.is_dead[which])
		fleet_forget_dead(fleet, storm.tablet[which]);
	else if (storm.tablet[which]) {
		fleet_tablet(fleet, storm.tablet[which], TABLET_RESUME);
		fleet_tablet(fleet, storm.tablet[which], TABLET_START);
	}
	storm.tablet[which] = NULL;
	storm.is_dead[which] = false;
}

static void strike_fleet(void)
{
	unsigned which = chance((unsigned)storm.sim->config.keyspace_count);
	struct fleet *fleet = storm.sim->fleets[which];

	switch (chance(6)) {
	case 0:
		fleet_vtctld(fleet, false);
		storm.vtctld_up_ms[which] = storm.sim->now_ms + 1000 + chance(180000);
		break;
	case 1:
		fleet_unready(fleet, any_shard(), chance(2));
		break;
	case 2:
		strike_tablet(which);
		break;
	default:
		strike_call(fleet);
		break;
	}
}

static void strike_clock(void)
{
	struct sim *sim = storm.sim;
	struct controller *controller = &sim->controllers[chance((unsigned)sim->controller_count)];

	controller->wall_offset_ms = chance(3) ? 0 : (int64_t)chance(172800000) - 86400000;
}

/* ---- People. ---- */

static bool may_ask(void)
{
	return storm.sim->controller_count < SIM_CONTROLLERS_MAX;
}

static void submit_one(void)
{
	static const char *const statements[] = { ADD, CREATE, "create view v as select id from orders",
						  "alter table orders add column y int" };
	struct ask ask = submit_ask(statements[chance(4)], chance(3) != 0);

	ask.keyspace = keyspaces[chance((unsigned)storm.sim->config.keyspace_count)];
	ask.deadline_ms = chance(4) ? 0 : 10 * HOUR_MS;
	if (may_ask())
		sim_ask(storm.sim, &ask);
}

static void note_changes(void)
{
	struct store_filter filter = { .cluster = "default" };
	cleanup(arena_release) struct arena arena = { 0 };
	struct change *changes;
	struct error error;
	size_t count;

	if (store_list(storm.sim->store, &filter, &arena, &changes, &count, &error) < 0)
		return;
	for (size_t i = storm.changes; i < count && i < CHANGES_MAX; i++) /* newest first */
		snprintf(storm.uuids[storm.changes++], UUID_LENGTH + 1, "%s", changes[count - 1 - i].uuid);
}

static void wish_one(bool cancel)
{
	struct ask ask = { .goal = cancel ? GOAL_CANCELLED : GOAL_SUBMITTED, .open_gate = !cancel };
	const struct change *change;

	note_changes();
	if (!storm.changes || !may_ask())
		return;
	ask.uuid = storm.uuids[chance(storm.changes)];
	change = store_model_change(storm.sim->model, "default", ask.uuid);
	ask.keyspace = strcmp(change->keyspace, keyspaces[0]) == 0 ? keyspaces[0] : keyspaces[1];
	storm.wishes += cancel;
	sim_ask(storm.sim, &ask);
}

/* ---- A storm, and the end of it. ---- */

static void heal_what_is_due(bool all)
{
	struct sim *sim = storm.sim;

	if (all || sim->now_ms >= storm.store_up_ms)
		store_model_set(sim->model, STORE_MODEL_UP);
	for (unsigned i = 0; i < sim->config.keyspace_count; i++) {
		if (all || sim->now_ms >= storm.vtctld_up_ms[i])
			fleet_vtctld(sim->fleets[i], true);
		if (all || sim->now_ms >= storm.tablet_up_ms[i])
			heal_tablet(i);
		for (size_t shard = 0; all && shard < storm.shard_count; shard++)
			fleet_unready(sim->fleets[i], storm.shards[shard], false);
	}
	for (size_t i = 0; all && i < sim->controller_count; i++) {
		struct controller *controller = &sim->controllers[i];

		controller->wall_offset_ms = 0;
		if (controller->state == CONTROLLER_PAUSED)
			sim_continue(controller);
		if (controller->state == CONTROLLER_DEAD && !controller->ended)
			sim_restart(controller);
	}
}

static void rage(void)
{
	int64_t until_ms = storm.sim->now_ms + STORM_MS;

	while (storm.sim->now_ms < until_ms) {
		heal_what_is_due(false);
		switch (chance(16)) {
		case 0: case 1: case 2: case 3: case 4:
			strike_controller();
			break;
		case 5: case 6: case 7:
			strike_store();
			break;
		case 8: case 9: case 10: case 11:
			strike_fleet();
			break;
		case 12:
			strike_clock();
			break;
		case 13:
			submit_one();
			break;
		case 14:
			wish_one(chance(4) == 0);
			break;
		default:
			break;
		}
		sim_pass(storm.sim, chance(12) ? chance(10000) : chance(90000));
	}
	heal_what_is_due(true);
}

static const struct change *change_of(unsigned number)
{
	return store_model_change(storm.sim->model, "default", storm.uuids[number]);
}

static bool has_ended(const struct change *change)
{
	return change->phase == PHASE_VERIFIED || change->phase == PHASE_CANCELLED || change->phase == PHASE_STOPPED ||
	       change->phase == PHASE_FAILED;
}

/* Vitess takes one change of a keyspace at a time: one that needs a person holds up those behind it. */
static bool is_held_up(const struct change *change)
{
	for (unsigned i = 0; change->phase == PHASE_SUBMITTING && i < storm.changes; i++) {
		const struct change *other = change_of(i);

		if ((other->phase == PHASE_STOPPED || other->phase == PHASE_FAILED) &&
		    strcmp(other->keyspace, change->keyspace) == 0)
			return true;
	}
	return false;
}

static bool all_at_their_end(struct sim *sim, void *user)
{
	(void)sim;
	(void)user;
	for (unsigned i = 0; i < storm.changes; i++)
		if (!has_ended(change_of(i)) && !is_held_up(change_of(i)))
			return false;
	return true;
}

/* A person looks at what still waits: releases it, and runs again what a wrong clock gave no time. */
static bool ask_for_all(void)
{
	bool any = false;

	for (unsigned i = 0; i < storm.changes; i++) {
		const struct change *change = change_of(i);
		struct ask ask = { .keyspace = strcmp(change->keyspace, keyspaces[0]) == 0 ? keyspaces[0] : keyspaces[1],
				   .uuid = storm.uuids[i], .goal = GOAL_SUBMITTED, .open_gate = true };

		bool is_late = store_model_now(storm.sim->model) >= change->deadline_at_ms;

		if ((change->gate == GATE_MANUAL || is_late) && !has_ended(change) && may_ask()) {
			sim_ask(storm.sim, &ask);
			any = true;
		}
	}
	return any;
}

static void judge(const char *uuid)
{
	const struct change *change = store_model_change(storm.sim->model, "default", uuid);
	struct fleet *fleet = sim_fleet(storm.sim, change->keyspace);

	ends[change->phase]++;
	assert_history_is_whole(storm.sim, uuid);
	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		unsigned applied = fleet_times_applied(fleet, i, uuid);

		if (change->phase == PHASE_VERIFIED && applied != 1)
			fail_msg("%s is verified and applied %u times on %s", uuid, applied, fleet_shard_name(fleet, i));
		if ((change->phase == PHASE_CANCELLED || change->phase == PHASE_FAILED) && applied != 0)
			fail_msg("%s is %s and applied on %s", uuid, phase_name(change->phase), fleet_shard_name(fleet, i));
	}
}

static void begin(uint64_t seed)
{
	size_t set;

	storm = (struct storm){ .seed = seed, .random = seed * 0x9e3779b97f4a7c15ULL, .trace = 14695981039346656037ULL };
	set = chance(3);
	storm.shards = shard_sets[set];
	storm.shard_count = shard_counts[set];
	storm.sim = sim_new(&(struct sim_config){ .shards = storm.shards, .shard_count = storm.shard_count, .seed = seed,
						  .shared_store = true, .keyspaces = keyspaces,
						  .keyspace_count = 1 + chance(KEYSPACES),
						  .copy_ms = chance(2) ? 0 : 30000 + chance(300000),
						  .server_per_keyspace = true, .ready_slack_ms = READY_SLACK_MS });
	storm.sim->on_boundary = trace;
	for (unsigned i = 1 + chance(3); i-- > 0;)
		sim_daemon_at(storm.sim, 80 + (int)chance(41));
	submit_one();
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
	}
}

/* Return: its trace. */
static uint64_t run_seed(uint64_t seed)
{
	begin(seed);
	rage();
	sim_pass(storm.sim, 5 * MINUTE_MS);
	note_changes();
	if (ask_for_all())
		sim_pass(storm.sim, MINUTE_MS);
	if (!sim_until(storm.sim, all_at_their_end, NULL, 12 * HOUR_MS)) {
		tell_residents();
		for (unsigned i = 0; i < storm.changes; i++)
			if (!has_ended(change_of(i)) && !is_held_up(change_of(i)))
				fail_msg("I11: half a day later %s is %s: %s", storm.uuids[i], phase_name(change_of(i)->phase),
					 change_of(i)->reason);
	}
	sim_pass(storm.sim, 10 * MINUTE_MS);
	for (unsigned i = 0; i < storm.changes; i++)
		judge(storm.uuids[i]);
	sim_free(storm.sim);
	return storm.trace;
}

static void test_a_storm_ends_as_it_must(void **state)
{
	unsigned all = 0;

	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
		uint64_t once = run_seed(seed), before = messages;

		if (seed % 100 && seed_count > 1)
			continue;
		if (run_seed(seed) != once)
			fail_msg("a second run of seed %llu is another", (unsigned long long)seed);
		assert_true(messages > before);
	}
	for (int i = 0; i < _PHASE_MAX; i++)
		all += ends[i];
	print_message("%u seeds, %u changes: %u verified, %u cancelled, %u failed, %u stopped, %u behind those\n",
		      (unsigned)seed_count, all, ends[PHASE_VERIFIED], ends[PHASE_CANCELLED], ends[PHASE_FAILED],
		      ends[PHASE_STOPPED], ends[PHASE_SUBMITTING]);
	if (seed_count >= 100)
		assert_true(ends[PHASE_VERIFIED] > all / 2);
	all_ended_well = true;
}

/* By write(): an assertion of the program ends it with a signal. */
static void tell_how_to_repeat(void)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "run it again: test_storm %llu\n", (unsigned long long)storm.seed);

	if (!all_ended_well && write(STDOUT_FILENO, line, (size_t)length) != length)
		return;
}

static int tell_seed(void **state)
{
	(void)state;
	tell_how_to_repeat();
	return 0;
}

static void on_abort(int number)
{
	(void)number;
	tell_how_to_repeat();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_storm_ends_as_it_must, tell_seed),
	};

	signal(SIGABRT, on_abort); /* which ends it all the same */
	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 10);
		seed_count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
