#include "vtddl/loop.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crash_point.h"
#include "proof.h"
#include "store_worker.h"
#include "vtddl/clock.h"

/* loop_interrupt() only sets a flag; a wait is cut into slices so that the flag is seen in time. */
#define SLICE_MS 100
#define EVENTS_MAX 64 /* handed over in one step, so that the caller has its turn */

/* A proof under way, with what its reply needs. */
struct pending_proof {
	struct pending_proof *next;
	struct proof_worker *worker;
	uint64_t tag;
	struct arena *arena;
};

struct loop {
	struct loop_config config;
	struct store_worker *store; /* NULL: no store */
	struct pending_proof *proofs;
	atomic_int interrupted;
};

static void wake(void *user)
{
	struct loop *loop = user;

	wire_wake(loop->config.wire);
}

struct loop *loop_new(const struct loop_config *config)
{
	struct loop *loop = calloc(1, sizeof *loop);
	struct store_worker_config worker = {
		.store = config->store,
		.cluster = config->cluster,
		.owner = config->owner,
		.actor = config->actor,
		.wake = wake,
		.user = loop,
	};

	if (!loop)
		abort();
	loop->config = *config;
	if (config->store)
		loop->store = store_worker_new(&worker);
	return loop;
}

struct loop *loop_free(struct loop *loop)
{
	struct pending_proof *proof, *next;

	if (!loop)
		return NULL;
	for (proof = loop->proofs; proof; proof = next) {
		next = proof->next;
		proof_free(proof->worker);
		free(proof);
	}
	store_worker_free(loop->store);
	free(loop);
	return NULL;
}

void loop_interrupt(struct loop *loop)
{
	loop->interrupted = 1;
}

void loop_wake(struct loop *loop)
{
	loop->interrupted = 1;
	wake(loop);
}

void loop_set_probes(struct loop *loop, const char *const *probes, size_t count)
{
	loop->config.probes = probes;
	loop->config.probe_count = count;
}

static void tell_time(struct loop *loop)
{
	engine_advance(loop->config.engine, clock_monotonic_ms(), clock_wall_ms());
}

/* ---- One function for each kind of request ---- */

static void start_rpc(struct loop *loop, struct request *request)
{
	if (vtctld_method_is_effect(request->rpc.method)) {
		CRASH_POINT("effect-start-before");
		wire_start(loop->config.wire, &request->rpc, request->arena);
		CRASH_POINT("effect-start-after");
	} else {
		CRASH_POINT("read-start-before");
		wire_start(loop->config.wire, &request->rpc, request->arena);
		CRASH_POINT("read-start-after");
	}
}

/* Without a store there is nothing to find; a list is empty. */
static void reply_without_store(struct loop *loop, const struct request *request)
{
	bool is_list = request->kind == REQUEST_STORE_LIST || request->kind == REQUEST_STORE_LIVE;
	struct reply reply = { .tag = request->tag, .kind = request->kind };

	reply.result = is_list || request->kind == REQUEST_STORE_RELEASE ? 0 : STORE_NOT_FOUND;
	engine_reply(loop->config.engine, &reply);
}

/* Return: true, the request has had its reply already. */
static bool ask_store(struct loop *loop, const struct request *request)
{
	if (!loop->store) {
		reply_without_store(loop, request);
		return true;
	}
	store_worker_give(loop->store, request);
	return false;
}

static void reply_nothing_asked(struct loop *loop, const struct request *request)
{
	struct reply reply = { .tag = request->tag, .kind = REQUEST_PROOF };

	reply.proof = (struct proof){ .text = "",
				      .definition = "",
				      .columns = "",
				      .probe_text = "",
				      .probes_ok = true,
				      .probes_settled = true };
	engine_reply(loop->config.engine, &reply);
}

static void start_proof(struct loop *loop, const struct request *request)
{
	struct proof_config config = {
		.vtgate = loop->config.vtgate,
		.probes = loop->config.probes,
		.probe_count = loop->config.probe_count,
		.wake = wake,
		.user = loop,
	};
	struct pending_proof *proof;

	if (!loop->config.vtgate) {
		reply_nothing_asked(loop, request);
		return;
	}
	CRASH_POINT("proof-start-before");
	proof = calloc(1, sizeof *proof);
	if (!proof)
		abort();
	proof->tag = request->tag;
	proof->arena = request->arena;
	proof->worker = proof_start(&config, request);
	proof->next = loop->proofs;
	loop->proofs = proof;
}

/* Return: true, the request has had its reply already. */
static bool carry_out(struct loop *loop, struct request *request)
{
	switch (request->kind) {
	case REQUEST_RPC:
		start_rpc(loop, request);
		return false;
	case REQUEST_STORE_LEASE:
	case REQUEST_STORE_RELEASE:
	case REQUEST_STORE_LIVE:
	case REQUEST_STORE_LIST:
	case REQUEST_STORE_INSERT:
	case REQUEST_STORE_UPDATE:
		return ask_store(loop, request);
	case REQUEST_PROOF:
		start_proof(loop, request);
		return !loop->config.vtgate;
	case _REQUEST_KIND_MAX:
		break;
	}
	abort(); /* no such request */
}

/* ---- Replies ---- */

static void hand_over_rpc(struct loop *loop, const struct vtctld_reply *rpc)
{
	struct reply reply = { .tag = rpc->tag, .kind = REQUEST_RPC, .rpc = *rpc };

	if (vtctld_method_is_effect(rpc->method))
		CRASH_POINT("effect-reply");
	else
		CRASH_POINT("read-reply");
	tell_time(loop);
	engine_reply(loop->config.engine, &reply);
}

/* Hands over one finished proof. False: none is finished. */
static bool hand_over_proof(struct loop *loop)
{
	struct pending_proof **link = &loop->proofs, *proof;
	struct reply reply = { .kind = REQUEST_PROOF };

	while (*link && !proof_is_done((*link)->worker))
		link = &(*link)->next;
	proof = *link;
	if (!proof)
		return false;
	*link = proof->next;
	reply.tag = proof->tag;
	proof_take(proof->worker, proof->arena, &reply.proof);
	proof_free(proof->worker);
	free(proof);
	CRASH_POINT("proof-reply");
	tell_time(loop);
	engine_reply(loop->config.engine, &reply);
	return true;
}

/* Hands over one answer of the store. False: there is none. */
static bool hand_over_store(struct loop *loop)
{
	struct reply reply;

	if (!loop->store || !store_worker_take(loop->store, &reply))
		return false;
	tell_time(loop);
	engine_reply(loop->config.engine, &reply);
	return true;
}

static bool hand_over_reply(struct loop *loop, int64_t until_ms)
{
	struct vtctld_reply rpc;

	if (!wire_next(loop->config.wire, until_ms, &rpc))
		return false;
	hand_over_rpc(loop, &rpc);
	return true;
}

/* All that is there, but not for ever: what the engine asks for meanwhile is carried out in the next step. */
static bool hand_over_present(struct loop *loop)
{
	unsigned count = 0;

	while (count < EVENTS_MAX && hand_over_store(loop))
		count++;
	while (count < EVENTS_MAX && hand_over_proof(loop))
		count++;
	while (count < EVENTS_MAX && hand_over_reply(loop, 0))
		count++;
	return count > 0;
}

/* One slice of the wait for a reply; the threads wake it. */
static bool wait_for_event(struct loop *loop, int64_t until_ms)
{
	int64_t slice_ms = clock_monotonic_ms() + SLICE_MS;

	return hand_over_reply(loop, slice_ms < until_ms ? slice_ms : until_ms);
}

void loop_step(struct loop *loop, int64_t until_ms)
{
	struct engine *engine = loop->config.engine;
	struct request request;
	bool answered = false;

	tell_time(loop);
	while (engine_next(engine, &request))
		answered |= carry_out(loop, &request);
	if (answered) /* that was the event: the change may have ended with it */
		return;
	if (engine_wake_ms(engine) < until_ms)
		until_ms = engine_wake_ms(engine);
	do {
		if (loop->interrupted || hand_over_present(loop) || wait_for_event(loop, until_ms))
			break;
	} while (clock_monotonic_ms() < until_ms);
	loop->interrupted = 0;
}
