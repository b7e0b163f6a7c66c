/*
 * The life of an RPC:
 *
 *	ARRIVED --> READING ------------> ENDED   reads
 *	        \-> LOCKING --> LEGS ---> ENDED   effects: keyspace lock, then all shards at once
 *
 * The deadline or a client that goes away ends it anywhere; shards that were not reached then
 * never are. A shard that is reached does its part at once, whatever becomes of the answer.
 */
#include "fleet_model.h"

#include <stdlib.h>
#include <string.h>

#define TO_VTCTLD_MS 1
#define READ_MS 4
#define LEG_MIN_MS 6 /* behind vtctld; measured: 7 to 9 ms after the start, answered after 12 */
#define LEG_MAX_MS 8
#define TO_CLIENT_MS 4
#define SHUTDOWN_MS 11	    /* a stopped tablet answers in 12 to 30 ms */
#define LOCK_WAIT_MS 45000  /* --lock-timeout */
#define LOCK_LEASE_MS 30000 /* --topo-etcd-lease-ttl: nobody keeps it alive */
#define LOCK_NOTICE_MS 500  /* until vtctld sees that its client has gone */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t call_next_ms(const struct call *call)
{
	return least(call->wake_ms, call->deadline_ms);
}

void call_free(struct call *call)
{
	arena_release(&call->memory);
	free(call->legs);
	free(call);
}

void fleet_poke(struct fleet *fleet)
{
	fleet_touch(fleet);
	for (struct call *call = fleet->calls; call != NULL; call = call->next) {
		if ((call->state != CALL_READING || call->wake_ms != NEVER) && call->state != CALL_LEGS)
			continue;
		call->wake_ms = fleet->now_ms;
		for (size_t i = 0; i < call->leg_count; i++)
			if (call->legs[i].state == LEG_WAITING && call->legs[i].due_ms == NEVER)
				call->legs[i].due_ms = fleet->now_ms;
	}
}

/* ---- The keyspace lock ---- */

static int64_t lock_free_ms(const struct keyspace_lock *lock)
{
	return lock->taken_ms == NEVER ? 0 : least(lock->free_ms, lock->taken_ms + LOCK_LEASE_MS);
}

static void lock_wake_waiters(struct fleet *fleet)
{
	int64_t free_ms = lock_free_ms(&fleet->lock);

	for (struct call *call = fleet->calls; call != NULL; call = call->next)
		if (call->state == CALL_LOCKING)
			call->wake_ms = least(free_ms, call->lock_since_ms + LOCK_WAIT_MS);
}

/* @later_ms: 0 at the end of the work; else how long vtctld needs to notice that nobody waits. */
static void lock_release(struct fleet *fleet, const struct call *call, int64_t later_ms)
{
	if (fleet->lock.holder != call)
		return;
	fleet->lock.holder = NULL;
	fleet->lock.free_ms = fleet->now_ms + later_ms;
	lock_wake_waiters(fleet);
}

static bool lock_was_lost(const struct fleet *fleet, const struct call *call)
{
	return fleet->lock.holder != call || fleet->now_ms >= fleet->lock.taken_ms + LOCK_LEASE_MS;
}

static bool lock_has_earlier_waiter(const struct fleet *fleet, const struct call *call)
{
	for (const struct call *other = fleet->calls; other != call; other = other->next)
		if (other->state == CALL_LOCKING)
			return true;
	return false;
}

/* ---- Ends ---- */

static enum vtctld_outcome outcome_of(int code)
{
	static const enum vtctld_outcome outcomes[17] = {
		[0] = VTCTLD_DONE,     [1] = VTCTLD_UNKNOWN,  [2] = VTCTLD_UNKNOWN,  [3] = VTCTLD_REFUSED,
		[4] = VTCTLD_UNKNOWN,  [5] = VTCTLD_UNKNOWN,  [6] = VTCTLD_UNKNOWN,  [7] = VTCTLD_REFUSED,
		[8] = VTCTLD_UNKNOWN,  [9] = VTCTLD_UNKNOWN,  [10] = VTCTLD_UNKNOWN, [11] = VTCTLD_UNKNOWN,
		[12] = VTCTLD_REFUSED, [13] = VTCTLD_UNKNOWN, [14] = VTCTLD_UNKNOWN, [15] = VTCTLD_UNKNOWN,
		[16] = VTCTLD_REFUSED,
	};

	return code >= 0 && code < 17 ? outcomes[code] : VTCTLD_UNKNOWN;
}

static void call_collect_done(struct call *call)
{
	struct strbuf buf;

	strbuf_init(&buf, 1u << 20);
	for (size_t i = 0; i < call->leg_count; i++)
		if (call->legs[i].had_effect)
			strbuf_addf(&buf, "%s%s", buf.length > 0 ? "," : "", call->legs[i].shard->name);
	call->done = arena_memdup(&call->memory, buf.length > 0 ? buf.text : "", buf.length);
	strbuf_release(&buf);
}

/* From here on only the answer is under way. */
static void call_settle(struct call *call, int code, const char *text, int64_t at_ms)
{
	call_collect_done(call);
	call->reply.tag = call->request.tag;
	call->reply.method = call->request.method;
	call->reply.code = code;
	call->reply.outcome = outcome_of(code);
	call->reply.text = arena_strdup(call->arena, text);
	call->state = CALL_ENDED;
	call->wake_ms = at_ms;
}

void call_end(struct fleet *fleet, struct call *call, int code, const char *text)
{
	int64_t at_ms = fleet->now_ms + TO_CLIENT_MS;

	if (call->has_fault && call->fault.when == FAULT_AFTER) {
		if (call->fault.code != CODE_OK) {
			code = call->fault.code;
			text = call->fault.text != NULL ? call->fault.text
			       : code == CODE_UNKNOWN && call->leg_count > 0
				       ? apply_result_text(fleet, call, "")
				       : fault_text(code);
		}
		at_ms = call->fault.drop ? NEVER : at_ms + call->fault.delay_ms;
	}
	call_settle(call, code, text, at_ms);
}

static void call_deliver(struct fleet *fleet, struct call *call)
{
	struct fleet_journal_entry entry = { .at_ms = call->arrived_ms,
					     .ended_ms = fleet->now_ms,
					     .request = &call->request,
					     .code = call->reply.code,
					     .text = call->reply.text,
					     .done = call->done };

	if (fleet->journal != NULL)
		fleet->journal(fleet->journal_user, &entry);
	if (call->is_copy)
		return;
	fleet->replies = array_grow(fleet->replies, fleet->reply_count, &fleet->reply_capacity,
				    sizeof(*fleet->replies));
	fleet->replies[fleet->reply_count++] = call->reply;
}

static void call_reach_deadline(struct fleet *fleet, struct call *call)
{
	lock_release(fleet, call, LOCK_NOTICE_MS);
	call_settle(call, CODE_DEADLINE, fault_text(CODE_DEADLINE), fleet->now_ms);
}

void fleet_end_calls(struct fleet *fleet)
{
	for (struct call *call = fleet->calls; call != NULL; call = call->next) {
		if (call->state == CALL_ENDED && call->wake_ms <= fleet->now_ms)
			continue;
		call_settle(call, CODE_UNAVAILABLE, "error reading from server: EOF", fleet->now_ms);
	}
	/* Nobody is left to give the lock back: its lease must run out. */
	fleet->lock.holder = NULL;
}

void fleet_abandon(struct fleet *fleet, uint64_t tag)
{
	struct call **link = &fleet->calls, *call;

	while ((call = *link) != NULL && (call->request.tag != tag || call->is_copy))
		link = &call->next;
	if (call == NULL)
		return;
	fleet_touch(fleet);
	lock_release(fleet, call, LOCK_NOTICE_MS);
	call_collect_done(call);
	if (fleet->journal != NULL) {
		struct fleet_journal_entry entry = { .at_ms = call->arrived_ms,
						     .ended_ms = fleet->now_ms,
						     .request = &call->request,
						     .code = CODE_CANCELLED,
						     .text = "the client went away",
						     .done = call->done };

		fleet->journal(fleet->journal_user, &entry);
	}
	*link = call->next;
	call_free(call);
}

/* ---- Effects ---- */

static void reply_fill_effect(struct call *call)
{
	struct vtctld_reply *reply = &call->reply;
	bool has_uuid = call->request.method == VTCTLD_APPLY_SCHEMA && !call->is_direct &&
			call->control.verb == CONTROL_NONE;

	reply->effect.counts = arena_array(call->arena, call->leg_count + 1, sizeof(*reply->effect.counts));
	for (size_t i = 0; i < call->leg_count; i++) {
		reply->effect.counts[i].shard = arena_strdup(call->arena, call->legs[i].shard->name);
		reply->effect.counts[i].rows = call->legs[i].rows;
	}
	reply->effect.count = call->leg_count;
	if (!has_uuid)
		return;
	reply->effect.uuids = arena_array(call->arena, 1, sizeof(*reply->effect.uuids));
	reply->effect.uuids[0] = arena_strdup(call->arena, call->request.uuid);
	reply->effect.uuid_count = 1;
}

static void call_finish_effect(struct fleet *fleet, struct call *call)
{
	bool failed = false, lost = lock_was_lost(fleet, call);

	for (size_t i = 0; i < call->leg_count; i++)
		failed |= call->legs[i].state == LEG_FAILED;
	lock_release(fleet, call, 0);
	if (lost || failed) {
		const char *text = lost ? arena_printf(&call->memory,
						       "unlockErr in ApplySchemaKeyspace %s: node "
						       "doesn't exist: lease",
						       fleet->keyspace)
					: "";

		call_end(fleet, call, CODE_UNKNOWN, apply_result_text(fleet, call, text));
		return;
	}
	reply_fill_effect(call);
	call_end(fleet, call, CODE_OK, "");
}

static void leg_fail(struct leg *leg, const char *error)
{
	leg->state = LEG_FAILED;
	leg->error = error;
}

static void leg_run(struct fleet *fleet, struct call *call, struct leg *leg)
{
	const struct tablet *primary = leg->shard->primary;

	leg->due_ms = NEVER;
	if (call->has_fault && call->fault.when == FAULT_AFTER && call->fault.shards != NULL &&
	    !list_has(call->fault.shards, leg->shard->name))
		leg_fail(leg, "rpc error: code = Unavailable desc = error reading from server: EOF");
	else if (primary->life == LIFE_STOPPED)
		leg_fail(leg, "tablet is shutdown");
	else if (primary->life == LIFE_UP && !shard_waits_for_mutex(leg->shard, call))
		leg->state = shard_execute(fleet, leg->shard, call, leg) ? LEG_DONE : LEG_FAILED;
}

static void call_run_legs(struct fleet *fleet, struct call *call)
{
	bool ended = true;

	call->wake_ms = NEVER;
	for (size_t i = 0; i < call->leg_count; i++) {
		struct leg *leg = &call->legs[i];

		if (leg->state == LEG_WAITING && leg->due_ms <= fleet->now_ms)
			leg_run(fleet, call, leg);
		if (leg->state != LEG_WAITING)
			continue;
		ended = false;
		call->wake_ms = least(call->wake_ms, leg->due_ms);
	}
	if (ended)
		call_finish_effect(fleet, call);
}

static void call_start_legs(struct fleet *fleet, struct call *call)
{
	call->legs = calloc(fleet->shard_count + 1, sizeof(*call->legs));
	if (call->legs == NULL)
		abort();
	call->leg_count = fleet->shard_count;
	for (size_t i = 0; i < call->leg_count; i++) {
		struct leg *leg = &call->legs[i];

		leg->shard = fleet->shards[i];
		leg->due_ms = fleet->now_ms + fleet_spread(fleet, call->request.tag, leg->shard->name,
							   LEG_MIN_MS, LEG_MAX_MS);
		if (leg->shard->primary->life == LIFE_STOPPED)
			leg->due_ms = fleet->now_ms + SHUTDOWN_MS;
	}
	call->state = CALL_LEGS;
	call_run_legs(fleet, call);
}

static void call_lock(struct fleet *fleet, struct call *call)
{
	int64_t last_ms = call->lock_since_ms + LOCK_WAIT_MS, free_ms = lock_free_ms(&fleet->lock);
	const char *refusal;

	if (free_ms > fleet->now_ms || lock_has_earlier_waiter(fleet, call)) {
		if (fleet->now_ms >= last_ms)
			call_end(fleet, call, CODE_UNKNOWN,
				 apply_result_text(fleet, call,
						   arena_printf(&call->memory,
								"lockErr in ApplySchemaKeyspace %s: "
								"deadline exceeded: keyspaces/%s",
								fleet->keyspace, fleet->keyspace)));
		else
			call->wake_ms = least(free_ms > fleet->now_ms ? free_ms : fleet->now_ms + 1, last_ms);
		return;
	}
	fleet->lock = (struct keyspace_lock){ .holder = call, .taken_ms = fleet->now_ms, .free_ms = NEVER };
	call->state = CALL_LEGS; /* no longer a waiter */
	lock_wake_waiters(fleet);
	refusal = apply_execute_error(call);
	if (refusal != NULL) {
		lock_release(fleet, call, 0);
		call_end(fleet, call, CODE_UNKNOWN, apply_result_text(fleet, call, refusal));
		return;
	}
	call_start_legs(fleet, call);
}

/* ---- The call itself ---- */

static void call_arrive(struct fleet *fleet, struct call *call)
{
	const char *error;

	if (call->has_fault && call->fault.when == FAULT_BEFORE &&
	    (call->fault.code != CODE_OK || call->fault.drop)) {
		call_settle(call, call->fault.code,
			    call->fault.text != NULL ? call->fault.text : fault_text(call->fault.code),
			    call->fault.drop ? NEVER : fleet->now_ms);
		return;
	}
	if (!vtctld_method_is_effect(call->request.method)) {
		call->state = CALL_READING;
		call->wake_ms = fleet->now_ms + READ_MS;
		return;
	}
	error = apply_prepare(fleet, call);
	if (error != NULL) {
		call_end(fleet, call, CODE_UNKNOWN, error);
		return;
	}
	call->state = CALL_LOCKING;
	call->lock_since_ms = fleet->now_ms;
	call_lock(fleet, call);
}

static void call_progress(struct fleet *fleet, struct call *call)
{
	switch (call->state) {
	case CALL_ARRIVED:
		call_arrive(fleet, call);
		break;
	case CALL_LOCKING:
		call_lock(fleet, call);
		break;
	case CALL_LEGS:
		call_run_legs(fleet, call);
		break;
	case CALL_READING:
		if (!fleet_read(fleet, call))
			call->wake_ms = NEVER;
		break;
	case CALL_ENDED:
		break;
	}
}

void call_run(struct fleet *fleet, struct call *call)
{
	if (call->state != CALL_ENDED && call->wake_ms <= fleet->now_ms && fleet->now_ms < call->deadline_ms)
		call_progress(fleet, call);
	if (fleet->now_ms >= call->deadline_ms &&
	    !(call->state == CALL_ENDED && call->wake_ms <= fleet->now_ms))
		call_reach_deadline(fleet, call);
	if (call->state == CALL_ENDED && call->wake_ms <= fleet->now_ms)
		call_deliver(fleet, call);
}

static struct vtctld_request request_copy(struct arena *arena, const struct vtctld_request *from)
{
	struct vtctld_request request = *from;

	request.keyspace = arena_strdup(arena, from->keyspace != NULL ? from->keyspace : "");
	request.uuid = arena_strdup(arena, from->uuid);
	request.context = arena_strdup(arena, from->context);
	request.sql = arena_strdup(arena, from->sql);
	request.strategy = arena_strdup(arena, from->strategy);
	request.table = arena_strdup(arena, from->table);
	request.caller_id = arena_strdup(arena, from->caller_id);
	return request;
}

static struct call *call_new(struct fleet *fleet, const struct vtctld_request *request, struct arena *arena)
{
	struct call *call = calloc(1, sizeof(*call)), **link = &fleet->calls;

	if (call == NULL)
		abort();
	fleet_touch(fleet);
	arena_init(&call->memory, 0);
	call->arena = arena != NULL ? arena : &call->memory;
	call->request = request_copy(&call->memory, request);
	call->arrived_ms = fleet->now_ms;
	call->deadline_ms = request->timeout_ms > 0 ? fleet->now_ms + request->timeout_ms : NEVER;
	call->wake_ms = fleet->now_ms + TO_VTCTLD_MS;
	while (*link != NULL)
		link = &(*link)->next;
	*link = call;
	return call;
}

void fleet_start(struct fleet *fleet, const struct vtctld_request *request, struct arena *arena)
{
	struct call *call = call_new(fleet, request, arena);
	int64_t repeat_ms;

	fleet->call_counts[request->method]++;
	call_take_fault(fleet, call);
	if (call->has_fault && call->fault.when == FAULT_BEFORE)
		call->wake_ms += call->fault.delay_ms;
	if (!fleet->vtctld_is_up) {
		call_settle(call, CODE_UNAVAILABLE,
			    "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:15999: "
			    "Failed to connect to remote host: Connection refused",
			    call->wake_ms);
		call->reply.outcome = VTCTLD_NOT_SENT;
		return;
	}
	if (!call->has_fault || !call->fault.repeat || !vtctld_method_is_effect(request->method))
		return;
	repeat_ms = call->fault.repeat_ms;
	call = call_new(fleet, request, NULL);
	call->is_copy = true;
	call->wake_ms += repeat_ms;
}
