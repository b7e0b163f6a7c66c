/* A hash of every message in its order: the same seed is the same run. */
#include "storm.h"

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

static void trace_definitions(const struct vtctld_reply *reply)
{
	for (size_t i = 0; i < reply->definitions.count; i++) {
		trace_text(reply->definitions.items[i].name);
		trace_text(reply->definitions.items[i].schema);
	}
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
	else if (reply->method == VTCTLD_GET_SCHEMA)
		trace_definitions(reply);
}

static void trace_live(const struct live *live)
{
	for (size_t i = 0; i < live->change_count; i++) {
		trace_text(live->changes[i].uuid);
		trace_number(live->changes[i].phase);
		trace_number(live->changes[i].revision);
	}
	for (size_t i = 0; i < live->lease_count; i++) {
		trace_text(live->leases[i].holder);
		trace_number(live->leases[i].left_ms);
	}
}

static void trace_head(const struct controller *controller, int kind)
{
	trace_number(storm.sim->now_ms);
	trace_number(controller->index);
	trace_number(kind);
}

void trace_boundary(struct controller *controller, enum boundary_kind kind)
{
	const struct sim_held *held = controller->held;

	trace_head(controller, (int)kind);
	for (size_t i = 0; i < held->count; i++, storm.totals->messages++)
		if (kind == BOUNDARY_STORE_BEFORE || kind == BOUNDARY_RPC_BEFORE)
			trace_request(&held->requests[i]);
}

/* For people: writes and effects. */
void tell_boundary(const struct controller *controller, enum boundary_kind kind)
{
	static const char *const words[] = { "writes", "has written", "sends", "is told" };
	const struct request *request = &controller->held->requests[0];
	const struct vtctld_reply *reply = &controller->held->replies[0].rpc;
	double at_s = (double)storm.sim->now_ms / 1000;

	if (request->kind == REQUEST_STORE_INSERT || request->kind == REQUEST_STORE_UPDATE)
		for (size_t i = 0; i < controller->held->count; i++)
			print_message("%7.1f s    %s %s %.8s %s, effect %s, attempt %u, epoch %lld revision %lld: %d\n", at_s,
				      controller->owner, words[kind], request[i].change->uuid, phase_name(request[i].change->phase),
				      effect_name(request[i].change->last_effect), request[i].change->attempts,
				      (long long)request[i].expect.epoch, (long long)request[i].expect.revision,
				      kind == BOUNDARY_STORE_AFTER ? controller->held->replies[i].result : 0);
	else if (request->kind == REQUEST_STORE_LEASE || request->kind == REQUEST_STORE_RELEASE)
		print_message("%7.1f s    %s %s lease of %s for %lld ms: %d epoch %lld\n", at_s, controller->owner,
			      request->kind == REQUEST_STORE_LEASE ? "asks for the" : "gives back the", request->scope,
			      (long long)request->lease_ms, kind == BOUNDARY_STORE_AFTER ? controller->held->replies[0].result : 0,
			      (long long)controller->held->replies[0].lease.epoch);
	else if (kind == BOUNDARY_RPC_BEFORE && vtctld_method_is_effect(request->rpc.method))
		print_message("%7.1f s    %s %s %s of %.8s\n", at_s, controller->owner, words[kind],
			      vtctld_method_name(request->rpc.method), request->rpc.uuid);
	else if (kind == BOUNDARY_RPC_AFTER && vtctld_method_is_effect(reply->method))
		print_message("%7.1f s    %s %s of %s: code %d %.80s\n", at_s, controller->owner, words[kind],
			      vtctld_method_name(reply->method), reply->code, reply->text);
}

void trace_reply(struct controller *controller, const struct reply *reply)
{
	trace_head(controller, _BOUNDARY_KIND_MAX);
	storm.totals->messages++;
	trace_number(reply->kind);
	trace_number(reply->result);
	trace_number(reply->lease.epoch);
	trace_number(reply->lease.left_ms);
	if (reply->kind == REQUEST_RPC)
		trace_answer(&reply->rpc);
	else if (reply->kind == REQUEST_STORE_LIVE && reply->result == 0)
		trace_live(&reply->live);
	for (size_t i = 0; reply->result == 0 && i < reply->change_count; i++)
		trace_change(&reply->changes[i]);
}
