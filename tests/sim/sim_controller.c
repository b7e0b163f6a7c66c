/*
 * One process: its clock, what its engine asks for, and its death. The real loop (engine/loop.c) is what this
 * stands for; the engine is the one that ships.
 */
#include "sim_private.h"

/* A monotonic clock of a machine that was up before: never near 0, never another's. */
#define LOCAL_BORN_MS 1000000
#define LEASE_MS 30000

struct controller *controller_new(struct sim *sim)
{
	struct controller *controller = &sim->controllers[sim->controller_count];

	assert_true(sim->controller_count < SIM_CONTROLLERS_MAX);
	*controller = (struct controller){ .sim = sim, .index = (unsigned)sim->controller_count++ };
	controller->held = calloc(1, sizeof(*controller->held));
	assert_non_null(controller->held);
	return controller;
}

static int64_t rate_of(const struct controller *controller)
{
	return controller->rate_percent ? controller->rate_percent : 100;
}

static int64_t local_ms(const struct controller *controller)
{
	return controller->local_born_ms +
	       (controller->sim->now_ms - controller->born_ms) * rate_of(controller) / 100;
}

static int64_t wall_ms(const struct controller *controller)
{
	const struct sim *sim = controller->sim;

	return WALL_START_MS + sim->now_ms + sim->wall_offset_ms + controller->wall_offset_ms;
}

/* When its clock shows @local_ms. */
static int64_t virtual_ms(const struct controller *controller, int64_t local)
{
	int64_t rate = rate_of(controller);

	if (local == INT64_MAX)
		return INT64_MAX;
	return controller->born_ms + ((local - controller->local_born_ms) * 100 + rate - 1) / rate;
}

void controller_tell_time(struct controller *controller)
{
	if (controller->state == CONTROLLER_PAUSED && controller->sim->now_ms >= controller->continue_at_ms)
		sim_continue(controller);
	else if (controller->state == CONTROLLER_ALIVE)
		engine_advance(controller->engine, local_ms(controller), wall_ms(controller));
}

int64_t controller_wake_ms(const struct controller *controller)
{
	int64_t wake_ms, store_ms;

	if (controller->state == CONTROLLER_DEAD)
		return INT64_MAX;
	store_ms = slow_wake_ms(controller);
	if (controller->state == CONTROLLER_PAUSED)
		wake_ms = controller->continue_at_ms;
	else
		wake_ms = virtual_ms(controller, engine_wake_ms(controller->engine));
	if (controller->state == CONTROLLER_ALIVE && controller->stopping && controller->exit_at_ms < wake_ms)
		wake_ms = controller->exit_at_ms;
	return store_ms < wake_ms ? store_ms : wake_ms;
}

/* ---- Birth and death. ---- */

static unsigned server_of(void *user, const char *keyspace)
{
	const struct sim *sim = user;

	for (size_t i = 0; sim->config.server_per_keyspace && i < sim->config.keyspace_count; i++)
		if (strcmp(sim->config.keyspaces[i], keyspace) == 0)
			return (unsigned)i;
	return 0;
}

void controller_start(struct controller *controller)
{
	struct sim *sim = controller->sim;
	struct engine_config config = {
		.cluster = "default", .actor = "sim", .owner = controller->owner, .read_timeout_ms = 5000,
		.effect_timeout_ms = 75000, .lease_ms = LEASE_MS, .server_of = server_of, .user = sim,
		.poll_interval_ms = sim->config.poll_interval_ms ? sim->config.poll_interval_ms : 15000,
		.seed = sim->config.seed + 1000003ULL * controller->index + controller->life,
	};
	struct error error;

	assert_int_equal(controller->state, CONTROLLER_DEAD);
	controller->life++;
	snprintf(controller->owner, sizeof(controller->owner), "sim:%u:%u", controller->index, controller->life);
	controller->ended = controller->stopping = controller->was_paused = controller->is_late = false;
	if (sim->config.open_store && sim->config.open_store(sim, &controller->store, &controller->error) != 0)
		return; /* it says so and ends */
	controller->state = CONTROLLER_ALIVE;
	controller->born_ms = sim->now_ms;
	controller->local_born_ms = LOCAL_BORN_MS * (1 + controller->index) + sim->now_ms;
	if (!sim->config.open_store)
		sim_open_store(sim, &controller->store);
	controller->engine = engine_new(&config, local_ms(controller), wall_ms(controller));
	if (controller->serves)
		engine_serve(controller->engine);
	else if (engine_add(controller->engine, &controller->ask, &controller->id, &error) < 0)
		fail_msg("refused: %s", error.text);
}

/* The client is gone: what is not done yet is not done, and answers on the way find nobody. */
static void drop_calls(struct controller *controller)
{
	struct sim *sim = controller->sim;

	for (size_t i = 0; i < sim->call_count;)
		if (sim->calls[i].controller == controller) {
			fleet_abandon(sim->calls[i].fleet, sim->calls[i].tag);
			sim->calls[i] = sim->calls[--sim->call_count];
		} else {
			i++;
		}
	slow_drop(controller);
	controller->inbox_count = controller->held->count = 0;
	controller->have_ahead = false;
}

void controller_exit(struct controller *controller)
{
	if (controller->state == CONTROLLER_DEAD)
		return;
	controller->state = CONTROLLER_DEAD;
	drop_calls(controller);
	controller->engine = engine_free(controller->engine);
	controller->store = store_close(controller->store); /* SQLite: the kernel drops the lock of a dead process */
}

void controller_free(struct controller *controller)
{
	controller_exit(controller);
	slow_free(controller);
	free(controller->looks);
	free(controller->inbox);
	free(controller->held);
}

void sim_kill(struct controller *controller)
{
	controller_exit(controller);
}

void sim_pause(struct controller *controller, int64_t for_ms)
{
	assert_int_equal(controller->state, CONTROLLER_ALIVE);
	controller->state = CONTROLLER_PAUSED;
	controller->paused_at_ms = controller->sim->now_ms;
	controller->continue_at_ms = for_ms == INT64_MAX ? INT64_MAX : controller->sim->now_ms + for_ms;
}

void sim_terminate(struct controller *controller)
{
	if (controller->state != CONTROLLER_ALIVE || controller->stopping)
		return;
	controller->stopping = true;
	controller->exit_at_ms = controller->sim->now_ms + EXIT_MS;
	engine_stop(controller->engine);
}

void sim_restart(struct controller *controller)
{
	controller_start(controller);
}

struct controller *sim_daemon_at(struct sim *sim, int rate_percent)
{
	struct controller *controller = controller_new(sim);

	controller->serves = true;
	controller->rate_percent = rate_percent;
	controller_start(controller);
	return controller;
}

struct controller *sim_daemon(struct sim *sim)
{
	return sim_daemon_at(sim, 100);
}

struct controller *sim_ask(struct sim *sim, const struct ask *ask)
{
	struct controller *controller = controller_new(sim);

	controller->ask = *ask;
	sim->again_was_asked |= ask->again;
	controller_start(controller);
	return controller;
}

/* ---- Boundaries. ---- */

/* Return: false if the process is dead or paused now. */
bool controller_boundary(struct controller *controller, enum boundary_kind kind)
{
	struct sim *sim = controller->sim;

	sim->boundaries++;
	if (sim->next_crash < SIM_CRASHES_MAX && sim->config.crashes[sim->next_crash] == sim->boundaries) {
		sim->next_crash++;
		sim_kill(controller);
		return false;
	}
	if (sim->on_boundary)
		sim->on_boundary(controller, kind, sim->boundary_user);
	return controller->state == CONTROLLER_ALIVE;
}

/* ---- The store: one transaction at a time. ---- */

bool is_write(const struct request *request)
{
	return request->kind == REQUEST_STORE_INSERT || request->kind == REQUEST_STORE_UPDATE;
}

static void write_all(struct controller *controller, struct sim_held *held)
{
	struct sim *sim = controller->sim;
	static struct store_write writes[SIM_BATCH_MAX]; /* large, and set below as far as it is used */

	for (size_t i = 0; i < held->count; i++) {
		const struct request *request = &held->requests[i];
		bool is_update = request->kind == REQUEST_STORE_UPDATE;

		writes[i] = (struct store_write){ .change = request->change, .expect = is_update ? &request->expect : NULL,
						  .entry = request->entry, .actor = "sim", .evidence = request->evidence };
		sim->store_writes++;
		sim_mark(controller, MARK_STORE_WRITE);
	}
	store_write(controller->store, writes, held->count);
	for (size_t i = 0; i < held->count; i++) {
		const struct request *request = &held->requests[i];

		held->replies[i].result = writes[i].result;
		held->replies[i].error = writes[i].error;
		if (!sim->model && writes[i].result == 0)
			check_write(sim, controller, writes[i].expect ? request->expect.phase : _PHASE_INVALID,
				    writes[i].expect ? request->expect.revision : 0, request->change);
	}
}

static void read_or_lease(struct controller *controller, const struct request *request, struct reply *reply)
{
	struct error *error = &reply->error;

	switch (request->kind) {
	case REQUEST_STORE_LEASE:
		sim_mark(controller, MARK_LEASE);
		reply->result = store_lease(controller->store, request->scope, controller->owner, request->lease_ms,
					    &reply->lease, error);
		break;
	case REQUEST_STORE_RELEASE:
		check_give_back(controller, request->scope);
		store_release(controller->store, request->scope, controller->owner);
		break;
	case REQUEST_STORE_LIVE:
		sim_mark(controller, MARK_LIVE);
		reply->result = store_live(controller->store, "default", request->cancelled_since_ms, request->arena,
					   &reply->live, error);
		break;
	default:
		reply->result = store_list(controller->store, &request->filter, request->arena, &reply->changes,
					   &reply->change_count, error);
		break;
	}
}

void controller_tell(struct controller *controller, const struct reply *reply)
{
	if (controller->sim->on_reply)
		controller->sim->on_reply(controller, reply);
	engine_reply(controller->engine, reply);
}

static void answer(struct controller *controller)
{
	struct sim_held *held = controller->held;
	size_t count = held->count;

	held->count = 0;
	controller->was_told = true;
	for (size_t i = 0; i < count; i++) {
		if (held->replies[i].kind == REQUEST_RPC)
			look_is_told(controller, &held->replies[i].rpc);
		controller_tell(controller, &held->replies[i]);
	}
}

void controller_store(struct controller *controller, struct sim_held *held)
{
	const struct sim *sim = controller->sim;

	controller->sim->asked_ms = held->asked_ms;
	for (size_t i = 0; i < held->count; i++)
		held->replies[i] = (struct reply){ .tag = held->requests[i].tag, .kind = held->requests[i].kind };
	if (is_write(&held->requests[0]))
		write_all(controller, held);
	else
		read_or_lease(controller, &held->requests[0], &held->replies[0]);
	if (!sim->model && !sim->config.open_store && held->replies[0].result < 0)
		fail_msg("store: %s", held->replies[0].error.text);
	held->done = true;
}

static void make_store_call(struct controller *controller)
{
	struct sim_held *held = controller->held;
	enum request_kind kind = held->requests[0].kind;

	controller_store(controller, held);
	/* dying after a read is dying before the next call, unless the disk says otherwise */
	if (((kind != REQUEST_STORE_LIST && kind != REQUEST_STORE_LIVE) || controller->sim->config.open_store) &&
	    !controller_boundary(controller, BOUNDARY_STORE_AFTER))
		return;
	answer(controller);
}

/* ---- RPCs. ---- */

static void send_rpc(struct controller *controller, const struct request *request)
{
	struct sim *sim = controller->sim;
	struct vtctld_request rpc = request->rpc;
	bool is_effect = vtctld_method_is_effect(rpc.method), is_look;

	check_effect(controller, &rpc);
	controller->effects += is_effect;
	sim_mark(controller, is_effect ? MARK_EFFECT : MARK_READ);
	if (sim->call_count == sim->call_size) {
		sim->call_size = sim->call_size ? 2 * sim->call_size : 16;
		sim->calls = reallocarray(sim->calls, sim->call_size, sizeof(*sim->calls));
		assert_non_null(sim->calls);
	}
	is_look = look_sends(controller, &rpc);
	sim->calls[sim->call_count++] = (struct sim_call){ ++sim->next_tag, request->tag, controller,
							    sim_fleet_of(sim, &rpc), is_effect, rpc.method, "",
							    sim->now_ms, rpc.timeout_ms, is_look, controller->was_paused || controller->is_late };
	if (rpc.uuid)
		snprintf(sim->calls[sim->call_count - 1].uuid, UUID_LENGTH + 1, "%s", rpc.uuid);
	rpc.tag = sim->next_tag; /* a reply to a dead process must find nobody */
	fleet_start(sim_fleet_of(sim, &rpc), &rpc, request->arena);
}

void controller_deliver(struct controller *controller, const struct vtctld_reply *reply)
{
	if (controller->inbox_count == controller->inbox_size) {
		controller->inbox_size = controller->inbox_size ? 2 * controller->inbox_size : 16;
		controller->inbox = reallocarray(controller->inbox, controller->inbox_size, sizeof(*controller->inbox));
		assert_non_null(controller->inbox);
	}
	controller->inbox[controller->inbox_count++] = *reply;
}

/* The oldest answer that it has not read. */
static void read_reply(struct controller *controller)
{
	struct sim_held *held = controller->held;

	held->replies[0] = (struct reply){ .tag = controller->inbox[0].tag, .kind = REQUEST_RPC,
					   .rpc = controller->inbox[0] };
	held->requests[0].kind = REQUEST_RPC;
	held->count = 1;
	held->done = true;
	memmove(controller->inbox, controller->inbox + 1, --controller->inbox_count * sizeof(*controller->inbox));
	if (controller_boundary(controller, BOUNDARY_RPC_AFTER))
		answer(controller);
}

/* ---- A turn. ---- */

static void carry_out(struct controller *controller)
{
	struct sim_held *held = controller->held;

	held->done = false;
	held->asked_ms = controller->sim->now_ms;
	if (held->requests[0].kind == REQUEST_PROOF)
		fail_msg("no VTGate in the simulator");
	if (held->requests[0].kind != REQUEST_RPC && (controller->sim->store_delay || slow_has(controller))) {
		slow_ask(controller, held);
		held->count = 0;
	} else if (held->requests[0].kind != REQUEST_RPC) {
		if (controller_boundary(controller, BOUNDARY_STORE_BEFORE))
			make_store_call(controller);
	} else if (controller_boundary(controller, BOUNDARY_RPC_BEFORE)) {
		held->count = 0;
		send_rpc(controller, &held->requests[0]);
	}
}

/* What follows each other as writes is one transaction, as in the real loop. */
static bool next_requests(struct controller *controller)
{
	struct sim_held *held = controller->held;

	if (controller->have_ahead)
		held->requests[0] = controller->ahead;
	else if (!engine_next(controller->engine, &held->requests[0]))
		return false;
	controller->have_ahead = false;
	held->count = 1;
	while (is_write(&held->requests[0]) && held->count < SIM_BATCH_MAX &&
	       engine_next(controller->engine, &controller->ahead)) {
		controller->have_ahead = !is_write(&controller->ahead);
		if (controller->have_ahead)
			break;
		held->requests[held->count++] = controller->ahead;
	}
	return true;
}

static void note_view(struct controller *controller)
{
	struct sim *sim = controller->sim;
	const struct view *view = engine_view(controller->engine, controller->id);

	sim->last = *view;
	controller->verdict = view->verdict;
	controller->error = view->error;
	snprintf(controller->reason, sizeof(controller->reason), "%s", view->reason ? view->reason : "");
	if (view->change) {
		snprintf(sim->uuid, sizeof(sim->uuid), "%s", view->change->uuid);
		sim->phase = view->change->phase;
	}
	if (!view->ended || controller->ended)
		return;
	controller->ended = true;
	sim_terminate(controller);
}

bool controller_turn(struct controller *controller)
{
	bool any = false;

	while (controller->state == CONTROLLER_ALIVE && next_requests(controller)) {
		any = true;
		carry_out(controller);
	}
	any |= slow_turn(controller);
	while (controller->state == CONTROLLER_ALIVE && controller->inbox_count) {
		any = true;
		read_reply(controller);
	}
	if (controller->state != CONTROLLER_ALIVE)
		return any;
	if (!controller->serves && (any || controller->was_told))
		note_view(controller);
	controller->was_told = controller->is_late = false;
	if (controller->stopping &&
	    (engine_is_idle(controller->engine) || controller->sim->now_ms >= controller->exit_at_ms))
		controller_exit(controller);
	return any;
}

/* What was under way goes on where it stood; only then does it look at its clock. */
void sim_continue(struct controller *controller)
{
	struct sim_held *held = controller->held;

	assert_int_equal(controller->state, CONTROLLER_PAUSED);
	controller->state = CONTROLLER_ALIVE;
	controller->was_paused = true;
	controller->sim->long_pauses += controller->sim->now_ms - controller->paused_at_ms > LEASE_MS;
	if (held->count && !held->done && held->requests[0].kind == REQUEST_RPC) {
		held->count = 0;
		send_rpc(controller, &held->requests[0]);
	} else if (held->count && !held->done) {
		make_store_call(controller);
		controller->is_late = true;
	}
	controller->was_paused = false;
	if (controller->state != CONTROLLER_ALIVE)
		return;
	engine_advance(controller->engine, local_ms(controller), wall_ms(controller));
	if (held->count)
		answer(controller);
}
