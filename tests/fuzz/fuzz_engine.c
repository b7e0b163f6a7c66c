/*
 * Goal: whatever vtctld answers, whenever, and whatever happens to the store, the lease and the process, the
 * engine keeps its promises (engine_check.c), does not fall, and comes to rest. Method: the bytes say, step
 * by step, what happens next: a request is answered as the plan says or oddly, a call fails, time passes, a
 * process dies and another begins, a person wishes something. See engine_world.h.
 */
#include "engine_world.h"

#include "vtddl/identity.h"

#define STEPS_MAX 2000

static const char *const statements[WORLD_STATEMENTS] = {
	"alter table t add column extra int",
	"create table n (id int primary key)",
	"drop table t",
	"alter table t engine=innodb",
	"create view v as select 1 from t",
	"alter table t drop column extra",
};

int64_t world_wall_ms(const struct world *world)
{
	return WORLD_WALL_MS + world->now_ms + world->wall_offset_ms;
}

/* ---- Requests: taken from the engine as soon as they are there, and answered some time. ---- */

static bool is_rpc(const struct call *call)
{
	return call->request.kind == REQUEST_RPC || call->request.kind == REQUEST_PROOF;
}

static void take_requests(struct controller *controller)
{
	struct engine *engine = controller->engine;
	struct request request;

	while (engine_next(engine, &request)) {
		const struct pending *pending = &engine->pending[(uint32_t)request.tag];
		struct call *call;

		fuzz_check(controller->call_count < WORLD_CALLS_MAX, "%u requests at once", WORLD_CALLS_MAX);
		call = &controller->calls[controller->call_count++];
		*call = (struct call){ .request = request,
				       .purpose = pending->purpose,
				       .task = pending->task,
				       .index = pending->index,
				       .sent_at_ms = controller->world->now_ms };
		show_call(controller, call, "asks");
		check_request(controller, call);
	}
}

/* What is due now is done now; then nothing more is due until time passes. */
static void settle(struct controller *controller)
{
	struct world *world = controller->world;

	take_requests(controller);
	for (unsigned i = 0; engine_wake_ms(controller->engine) <= world->now_ms; i++) {
		fuzz_check(i < 1000, "a timer is due and does nothing");
		engine_advance(controller->engine, world->now_ms, world_wall_ms(world));
		take_requests(controller);
	}
}

/* vtctld may still be at work on an effect whose answer says nothing of it. Code 2 is its own answer. */
static void note_orphan(struct world *world, const struct call *call)
{
	if (call->purpose == FOR_EFFECT && world->orphan_count < WORLD_CALLS_MAX) {
		struct orphan *orphan = &world->orphans[world->orphan_count++];

		orphan->method = call->request.rpc.method;
		orphan->until_ms = call->sent_at_ms + call->request.rpc.timeout_ms;
		snprintf(orphan->uuid, sizeof(orphan->uuid), "%s", call->request.rpc.uuid);
	}
}

static void deliver(struct controller *controller, size_t index, const struct reply *reply)
{
	struct call call = controller->calls[index];

	controller->call_count--;
	memmove(&controller->calls[index], &controller->calls[index + 1],
		(controller->call_count - index) * sizeof(*controller->calls));
	show_call(controller, &call,
	     reply->kind == REQUEST_RPC ? vtctld_outcome_name(reply->rpc.outcome)
	     : reply->result		? "is refused"
					: "done");
	check_reply(controller, &call, reply);
	if (reply->kind == REQUEST_RPC && reply->rpc.outcome == VTCTLD_UNKNOWN && reply->rpc.code != 2)
		note_orphan(controller->world, &call);
	engine_reply(controller->engine, reply);
	settle(controller);
}

/* An effect that is carried out changes the plan, where the bytes want that. */
static void carry_out(struct world *world, const struct call *call)
{
	static const enum row_plan becomes[_VTCTLD_METHOD_MAX] = {
		[VTCTLD_APPLY_SCHEMA] = PLAN_RUNNING,
		[VTCTLD_COMPLETE] = PLAN_COMPLETE,
		[VTCTLD_CANCEL] = PLAN_CANCELLED,
	};

	for (size_t i = 0; call->purpose == FOR_EFFECT && i < WORLD_SHARDS; i++)
		if (call->request.rpc.method != VTCTLD_APPLY_SCHEMA || world->plan.rows[i] == PLAN_ABSENT)
			world->plan.rows[i] = becomes[call->request.rpc.method];
}

/* ---- The store: the oldest call first, as by its one worker. ---- */

static bool store_call(struct controller *controller, struct call *call, struct reply *reply)
{
	struct request *request = &call->request;
	struct store *store = controller->store;
	bool is_update = request->kind == REQUEST_STORE_UPDATE;
	struct store_write write = { .change = request->change,
				     .expect = is_update ? &request->expect : NULL,
				     .entry = request->entry,
				     .actor = "fuzz",
				     .evidence = request->evidence };

	*reply = (struct reply){ .tag = request->tag, .kind = request->kind };
	switch (request->kind) {
	case REQUEST_STORE_INSERT:
	case REQUEST_STORE_UPDATE:
		controller->world->writing = call;
		controller->world->writer = controller;
		store_write(store, &write, 1);
		controller->world->writing = NULL;
		reply->result = write.result;
		reply->error = write.error;
		fuzz_check(write.result >= 0 || write.error.code != ERROR_BUG, "%s", write.error.text);
		return true;
	case REQUEST_STORE_LEASE:
		reply->result = store_lease(store, request->scope, controller->owner, request->lease_ms,
					    &reply->lease, &reply->error);
		return true;
	case REQUEST_STORE_RELEASE:
		store_release(store, request->scope, controller->owner);
		return true;
	case REQUEST_STORE_LIVE:
		reply->result = store_live(store, "default", request->cancelled_since_ms, request->arena,
					   &reply->live, &reply->error);
		return true;
	case REQUEST_STORE_LIST:
		reply->result = store_list(store, &request->filter, request->arena, &reply->changes,
					   &reply->change_count, &reply->error);
		return true;
	default:
		return false;
	}
}

/* ---- Controllers ---- */

static void begin(struct controller *controller, bool serves, bool read_only, bool check_vtgate)
{
	struct world *world = controller->world;
	struct engine_config config = {
		.cluster = "default",
		.actor = "fuzz",
		.owner = controller->owner,
		.poll_interval_ms = 15000,
		.read_timeout_ms = 5000,
		.effect_timeout_ms = 75000,
		.lease_ms = 30000,
		.check_vtgate = check_vtgate,
		.seed = controller->life,
		.read_only = read_only,
	};

	controller->life++;
	snprintf(controller->owner, sizeof(controller->owner), "fuzz:%u:%u", controller->index,
		 controller->life);
	controller->alive = true;
	controller->stopping = false;
	controller->serves = serves && !read_only;
	controller->read_only = read_only;
	controller->asks = 0;
	store_model_open(world->model, false, &controller->store);
	controller->engine = engine_new(&config, world->now_ms, world_wall_ms(world));
	if (controller->serves)
		engine_serve(controller->engine);
	settle(controller);
}

static void die(struct controller *controller)
{
	if (!controller->alive)
		return;
	for (size_t i = 0; i < controller->call_count; i++)
		note_orphan(controller->world, &controller->calls[i]);
	controller->alive = false;
	controller->call_count = 0;
	check_forget(controller);
	controller->engine = engine_free(controller->engine);
	controller->store = store_close(controller->store);
}

/* ---- Steps ---- */

static void answer(struct controller *controller, size_t index, bool odd)
{
	struct world *world = controller->world;
	struct call *call = &controller->calls[index];
	struct reply reply;

	if (!is_rpc(call)) {
		for (index = 0; is_rpc(&controller->calls[index]);)
			index++;
		store_call(controller, &controller->calls[index], &reply);
	} else {
		reply_make(world, call, odd, &reply);
		carry_out(world, call);
	}
	deliver(controller, index, &reply);
}

static void fail(struct controller *controller, size_t index)
{
	static const struct {
		enum vtctld_outcome outcome;
		int code;
	} failures[] = { { VTCTLD_UNKNOWN, 4 },	  { VTCTLD_UNKNOWN, 14 }, { VTCTLD_UNKNOWN, 2 },
			 { VTCTLD_NOT_SENT, 14 }, { VTCTLD_REFUSED, 3 },  { VTCTLD_REFUSED, 7 },
			 { VTCTLD_REFUSED, 12 },  { VTCTLD_REFUSED, 16 }, { VTCTLD_UNKNOWN, 13 },
			 { VTCTLD_UNKNOWN, 999 } };
	unsigned choice = fuzz_byte(&controller->world->bytes);
	struct call *call = &controller->calls[index];
	struct reply reply;

	if (!is_rpc(call)) {
		answer(controller, index, false);
		return;
	}
	if (choice & 0x80)
		carry_out(controller->world, call);
	choice %= sizeof(failures) / sizeof(failures[0]);
	reply_fail(call, failures[choice].outcome, failures[choice].code, &reply);
	if (choice % 2)
		reply.rpc.text = reply_text(controller->world, call->request.arena);
	deliver(controller, index, &reply);
}

/* An RPC has a deadline, which the client itself keeps. */
static void time_out(struct controller *controller)
{
	for (size_t i = 0; controller->alive && i < controller->call_count;) {
		struct call *call = &controller->calls[i];
		struct reply reply;

		if (call->request.kind != REQUEST_RPC ||
		    call->sent_at_ms + call->request.rpc.timeout_ms > controller->world->now_ms) {
			i++;
			continue;
		}
		reply_fail(call, VTCTLD_UNKNOWN, 4, &reply);
		deliver(controller, i, &reply);
		i = 0;
	}
}

static void pass(struct world *world, int64_t ms)
{
	world->now_ms += ms > 0 ? ms : 0;
	world->sent_now = 0;
	for (size_t i = 0; i < WORLD_CONTROLLERS; i++)
		if (world->controllers[i].alive) {
			engine_advance(world->controllers[i].engine, world->now_ms, world_wall_ms(world));
			settle(&world->controllers[i]);
			time_out(&world->controllers[i]);
		}
}

static void pass_to_wake(struct world *world)
{
	int64_t wake_ms = INT64_MAX;

	for (size_t i = 0; i < WORLD_CONTROLLERS; i++)
		if (world->controllers[i].alive && engine_wake_ms(world->controllers[i].engine) < wake_ms)
			wake_ms = engine_wake_ms(world->controllers[i].engine);
	pass(world, wake_ms == INT64_MAX ? 1000 : wake_ms - world->now_ms);
}

/* A while in which all goes as the plan says. */
static void run(struct world *world, unsigned turns)
{
	for (unsigned turn = 0; turn < turns; turn++) {
		for (size_t i = 0; i < WORLD_CONTROLLERS; i++)
			while (world->controllers[i].alive && world->controllers[i].call_count)
				answer(&world->controllers[i], 0, false);
		pass_to_wake(world);
	}
}

static void wish(struct controller *controller)
{
	static const struct ask asks[] = {
		{ .goal = GOAL_VERIFIED, .open_gate = true },
		{ .goal = GOAL_SUBMITTED },
		{ .goal = GOAL_COMPLETED, .open_gate = true },
		{ .goal = GOAL_CANCELLED },
		{ .goal = GOAL_VERIFIED, .take_up = true },
		{ .goal = GOAL_READY },
		{ .goal = GOAL_LOOK },
		{ .goal = GOAL_VERIFIED, .open_gate = true, .again = true },
	};
	struct world *world = controller->world;
	unsigned choice = fuzz_byte(&world->bytes), which = fuzz_byte(&world->bytes);
	struct ask ask = asks[choice % 8];
	const struct names *names = &world->names[which % WORLD_STATEMENTS][which / 16 % WORLD_GENERATIONS];
	struct arena arena = { 0 };
	struct error error;
	unsigned id;

	ask.keyspace = "commerce";
	if (choice & 8 && !ask.again)
		ask.uuid = choice & 16 ? names->change.context : names->change.uuid;
	else
		ask.ddl = names->change.ddl;
	if (choice & 32)
		ask.deadline_ms = 1000LL << which % 16;
	if (choice & 64)
		ask.strategy_extras = "--allow-concurrent";
	if ((choice & 0xc0) == 0xc0) { /* a person who mistypes */
		ask.keyspace = which & 1 ? reply_text(world, &arena) : ask.keyspace;
		ask.ddl = which & 2 ? reply_text(world, &arena) : NULL;
		ask.uuid = reply_text(world, &arena);
	}
	if (controller->asks < 6 && engine_add(controller->engine, &ask, &id, &error) == 0)
		controller->asks++;
	arena_release(&arena);
	settle(controller);
}

static void replan(struct world *world)
{
	struct plan *plan = &world->plan;
	unsigned choice = fuzz_byte(&world->bytes), shard = choice / 16 % WORLD_SHARDS;

	switch (choice % 16) {
	case 12:
		plan->shard_set = fuzz_byte(&world->bytes);
		break;
	case 13:
		plan->no_primary[shard] = fuzz_below(&world->bytes, 4) == 1;
		plan->not_serving[shard] = fuzz_below(&world->bytes, 4) == 1;
		plan->uid_offset = fuzz_below(&world->bytes, 3);
		break;
	case 14:
		plan->definition[shard] = fuzz_byte(&world->bytes);
		break;
	case 15:
		plan->known_generation = fuzz_below(&world->bytes, WORLD_GENERATIONS + 1);
		plan->retries = fuzz_below(&world->bytes, 3);
		for (size_t i = 0; i < WORLD_SHARDS; i++)
			plan->definition[i] = fuzz_byte(&world->bytes) % 8;
		break;
	default: /* one shard, or all */
		for (size_t i = 0; i < WORLD_SHARDS; i++)
			if (!(choice & 0x80) || i == shard)
				plan->rows[i] = choice % 16;
	}
}

static void trouble_store(struct controller *controller)
{
	struct world *world = controller->world;
	unsigned choice = fuzz_byte(&world->bytes);

	switch (choice % 4) {
	case 0:
		store_model_set(world->model, STORE_MODEL_UP);
		break;
	case 1:
		store_model_set(world->model, choice & 16 ? STORE_MODEL_DOWN : STORE_MODEL_READ_ONLY);
		break;
	default:
		store_model_fail(controller->store, 1 + choice / 64, 1 + choice / 16 % 4,
				 choice & 1 ? STORE_MODEL_AFTER : STORE_MODEL_BEFORE);
	}
}

/* Somebody else takes the lease, where it is free, and keeps it for a while. */
static void thief(struct world *world, unsigned choice)
{
	struct lease lease;
	struct store *store;
	struct error error;

	store_model_open(world->model, false, &store);
	if (store_lease(store, "default/commerce", "thief", 1000 << choice % 6, &lease, &error) == 0 &&
	    choice & 64)
		store_release(store, "default/commerce", "thief");
	store_close(store);
}

static void live_or_die(struct controller *controller)
{
	unsigned choice = fuzz_byte(&controller->world->bytes);
	struct reply reply;
	size_t index = 0;

	switch (choice % 8) {
	case 0: /* at once; or behind a store call that it never hears of */
		while (index < controller->call_count && is_rpc(&controller->calls[index]))
			index++;
		if (choice & 16 && index < controller->call_count)
			store_call(controller, &controller->calls[index], &reply);
		die(controller);
		begin(controller, choice & 32, false, choice & 64);
		break;
	case 1:
		die(controller);
		break;
	case 2:
		controller->stopping = true;
		engine_stop(controller->engine);
		settle(controller);
		break;
	case 3:
		thief(controller->world, choice / 8);
		break;
	case 4:
		die(controller);
		begin(controller, false, true, false);
		break;
	case 5:
		controller->world->wall_jumped = true;
		controller->world->wall_offset_ms += choice & 16 ? 3600000 : choice & 32 ? -3600000 : -20000;
		break;
	case 6:
		engine_reconfigure(controller->engine, 1000 + 1000 * (choice / 8), 1000 + 500 * (choice / 8),
				   75000);
		break;
	default:
		controller->world->plan.retries++;
	}
}

/* The high bits of a step choose among the requests, or say how long. */
static void step(struct world *world)
{
	static const int64_t spans[] = { 1,	 100,	 1000,	  2500,	       5000, 15000, 30000, 80000,
					 150000, 600000, 3600000, 6 * 3600000, 0,    500,   10000, 61000 };
	unsigned choice = fuzz_byte(&world->bytes), high = choice / 16;
	struct controller *controller = &world->controllers[world->controllers[1].alive && high & 1];

	world->sent_now = 0;
	if (!controller->alive)
		begin(controller, high & 2, false, high & 4);
	switch (choice % 16) {
	case 0:
	case 1:
	case 2:
	case 3:
		if (controller->call_count)
			answer(controller, high % controller->call_count, false);
		break;
	case 4:
	case 5:
	case 6:
		if (controller->call_count)
			answer(controller, high % controller->call_count, true);
		break;
	case 7:
		if (controller->call_count)
			fail(controller, high % controller->call_count);
		break;
	case 8:
		pass(world, spans[high]);
		break;
	case 9:
		pass_to_wake(world);
		break;
	case 10:
		run(world, 1 + high);
		break;
	case 11:
		replan(world);
		break;
	case 12:
		trouble_store(controller);
		break;
	case 13:
		live_or_die(controller);
		break;
	case 14:
		wish(controller);
		break;
	default: /* the second one begins, or leaves */
		if (world->controllers[1].alive)
			die(&world->controllers[1]);
		else
			begin(&world->controllers[1], high & 1, false, false);
	}
}

/* ---- The world ---- */

static void name_all(struct names (*all)[WORLD_GENERATIONS])
{
	static const uint32_t generations[WORLD_GENERATIONS] = { 1, 2, UINT32_MAX };
	char normal[256];
	struct error error;

	for (size_t i = 0; i < WORLD_STATEMENTS; i++)
		for (size_t j = 0; j < WORLD_GENERATIONS; j++) {
			struct names *names = &all[i][j];

			fuzz_check(ddl_parse(statements[i], strlen(statements[i]), &names->ddl, normal,
					     &error) == 0,
				   "%s", error.text);
			identity_derive(&names->change, "commerce", normal, generations[j]);
			names->change.ddl = statements[i];
			snprintf(names->change.table, sizeof(names->change.table), "%s", names->ddl.table);
		}
}

static int64_t store_clock(void *user)
{
	return ((const struct world *)user)->now_ms;
}

static void world_begin(struct world *world, const uint8_t *bytes, size_t length)
{
	static struct names names[WORLD_STATEMENTS][WORLD_GENERATIONS];
	const struct store_model_watch watch = { .on_write = check_write, .user = world };

	if (!names[0][0].change.uuid[0])
		name_all(names);
	*world = (struct world){ .bytes = { bytes, bytes + length }, .now_ms = 1000000, .names = names };
	for (size_t i = 0; i < WORLD_SHARDS; i++)
		world->plan.definition[i] = 1;
	world->model = store_model_new("fuzz", store_clock, world);
	store_model_observe(world->model, &watch);
	for (unsigned i = 0; i < WORLD_CONTROLLERS; i++) {
		world->controllers[i].world = world;
		world->controllers[i].index = i;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct world world;
	unsigned steps = 0;

	world_begin(&world, bytes, length);
	while (fuzz_left(&world.bytes) && steps++ < STEPS_MAX) {
		step(&world);
		for (unsigned i = 0; i < WORLD_CONTROLLERS; i++)
			if (world.controllers[i].alive)
				check_shown(&world.controllers[i]);
	}
	if (getenv("FUZZ_SHOW"))
		show_end(&world);
	for (unsigned i = 0; i < WORLD_CONTROLLERS; i++)
		die(&world.controllers[i]);
	store_model_free(world.model);
	return 0;
}
