#include "vtddl/loop.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crash_point.h"
#include "proof.h"
#include "vtddl/clock.h"

/* loop_interrupt() only sets a flag; a wait is cut into slices so that the flag is seen in time. */
#define SLICE_MS 100

/* A proof under way, with what its reply needs. */
struct pending_proof {
	struct pending_proof *next;
	struct proof_worker *worker;
	uint64_t tag;
	struct arena *arena;
};

struct loop {
	struct loop_config config;
	struct pending_proof *proofs;
	atomic_int interrupted;
};

struct loop *loop_new(const struct loop_config *config)
{
	struct loop *loop = calloc(1, sizeof *loop);

	if (!loop)
		abort();
	loop->config = *config;
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
	free(loop);
	return NULL;
}

void loop_interrupt(struct loop *loop)
{
	loop->interrupted = 1;
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

static void store_lease_of(struct loop *loop, const struct request *request, struct reply *reply)
{
	CRASH_POINT("store-lease-before");
	reply->result = store_lease(loop->config.store, request->scope, loop->config.owner, &reply->epoch,
				    reply->holder, &reply->error);
	CRASH_POINT("store-lease-after");
}

static void store_list_of(struct loop *loop, const struct request *request, struct reply *reply)
{
	CRASH_POINT("store-list-before");
	reply->result = store_list(loop->config.store, &request->filter, request->arena, &reply->changes,
				   &reply->change_count, &reply->error);
	CRASH_POINT("store-list-after");
}

static void store_insert_of(struct loop *loop, const struct request *request, struct reply *reply)
{
	CRASH_POINT("store-insert-before");
	reply->result = store_insert(loop->config.store, request->change, loop->config.actor,
				     request->evidence, &reply->error);
	CRASH_POINT("store-insert-after");
}

static void store_update_of(struct loop *loop, const struct request *request, struct reply *reply)
{
	CRASH_POINT("store-update-before");
	reply->result = store_update(loop->config.store, request->change, &request->expect, request->entry,
				     &reply->error);
	CRASH_POINT("store-update-after");
}

typedef void store_call(struct loop *loop, const struct request *request, struct reply *reply);

static store_call *const store_calls[_REQUEST_KIND_MAX] = {
	[REQUEST_STORE_LEASE] = store_lease_of,
	[REQUEST_STORE_LIST] = store_list_of,
	[REQUEST_STORE_INSERT] = store_insert_of,
	[REQUEST_STORE_UPDATE] = store_update_of,
};

/* Without a store there is nothing to find; a list is empty. */
static int result_without_store(enum request_kind kind)
{
	return kind == REQUEST_STORE_LIST ? 0 : STORE_NOT_FOUND;
}

static void call_store(struct loop *loop, const struct request *request)
{
	struct reply reply = { .tag = request->tag, .kind = request->kind };

	if (loop->config.store)
		store_calls[request->kind](loop, request, &reply);
	else
		reply.result = result_without_store(request->kind);
	tell_time(loop);
	engine_reply(loop->config.engine, &reply);
}

static void wake(void *user)
{
	struct loop *loop = user;

	wire_wake(loop->config.wire);
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
	case REQUEST_STORE_LIST:
	case REQUEST_STORE_INSERT:
	case REQUEST_STORE_UPDATE:
		call_store(loop, request);
		return true;
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

void loop_step(struct loop *loop, int64_t until_ms)
{
	struct engine *engine = loop->config.engine;
	struct vtctld_reply rpc;
	struct request request;
	int64_t now_ms, wait_ms;
	bool answered = false;

	tell_time(loop);
	while (engine_next(engine, &request))
		answered |= carry_out(loop, &request);
	if (answered) /* that was the event: the change may have ended with it */
		return;
	if (engine_wake_ms(engine) < until_ms)
		until_ms = engine_wake_ms(engine);
	do {
		if (loop->interrupted || hand_over_proof(loop))
			break;
		now_ms = clock_monotonic_ms();
		wait_ms = until_ms - now_ms > SLICE_MS ? now_ms + SLICE_MS : until_ms;
		if (wire_next(loop->config.wire, wait_ms, &rpc)) {
			hand_over_rpc(loop, &rpc);
			break;
		}
	} while (clock_monotonic_ms() < until_ms);
	loop->interrupted = 0;
}
