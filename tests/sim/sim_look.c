/*
 * What each process has seen: when it asked for the rows, the definitions and the topology, and what was odd in the
 * answers. So a check need not allow a span of time for what happens behind the back of an engine: it knows which of it
 * the engine could see.
 */
#include "sim_private.h"

struct sim_look *look_of(const struct controller *controller, const char *uuid)
{
	for (size_t i = 0; i < controller->look_count; i++)
		if (strcmp(controller->looks[i].uuid, uuid) == 0)
			return &controller->looks[i];
	return NULL;
}

static struct sim_look *look_make(struct controller *controller, const char *uuid, const char *keyspace)
{
	struct sim_look *look = look_of(controller, uuid);

	if (look)
		return look;
	controller->looks = reallocarray(controller->looks, controller->look_count + 1, sizeof(*controller->looks));
	assert_non_null(controller->looks);
	look = &controller->looks[controller->look_count++];
	*look = (struct sim_look){ .begun_ms = -1 };
	snprintf(look->uuid, sizeof(look->uuid), "%s", uuid);
	snprintf(look->keyspace, sizeof(look->keyspace), "%s", keyspace);
	return look;
}

static void begin(struct controller *controller, const struct vtctld_request *request)
{
	struct sim_look *look = look_make(controller, request->uuid, request->keyspace);

	look->begun_ms = controller->sim->now_ms;
	look->answered_ms = look->proof_begun_ms = look->proof_answered_ms = look->second_ms = -1;
	look->doubled = look->unknown = 0;
	look->short_topology = look->is_direct = false;
}

static void ask_topology(struct controller *controller, const struct vtctld_request *request)
{
	for (size_t i = 0; i < controller->look_count; i++) {
		struct sim_look *look = &controller->looks[i];

		/* a daemon reads it for other changes too: the first one behind the answers is the earliest it can be */
		if (strcmp(look->keyspace, request->keyspace) == 0 && look->answered_ms >= 0 && look->second_ms < 0)
			look->second_ms = controller->sim->now_ms;
	}
}

static void ask_definition(struct controller *controller, const struct vtctld_request *request)
{
	for (size_t i = 0; i < controller->look_count; i++) {
		struct sim_look *look = &controller->looks[i];

		if (look->proof_begun_ms < 0 && strcmp(look->keyspace, request->keyspace) == 0 &&
		    strcmp(check_table(controller->sim, look->uuid), request->table) == 0)
			look->proof_begun_ms = controller->sim->now_ms;
	}
}

bool look_sends(struct controller *controller, const struct vtctld_request *request)
{
	/* a look asks for the tablets right before; a sweep of one change asks for its rows alone */
	bool is_look = request->method == VTCTLD_GET_SCHEMA_MIGRATIONS && controller->last_method == VTCTLD_GET_TABLETS;

	controller->last_method = request->method;
	if (is_look)
		begin(controller, request);
	else if (request->method == VTCTLD_FIND_ALL_SHARDS)
		ask_topology(controller, request);
	else if (request->method == VTCTLD_GET_SCHEMA && request->table)
		ask_definition(controller, request);
	else if (request->method == VTCTLD_EXECUTE_FETCH_AS_DBA) /* what a primary says itself goes before that */
		for (size_t i = 0; i < controller->look_count; i++)
			if (strstr(request->sql, controller->looks[i].uuid))
				controller->looks[i].is_direct = true;
	return is_look;
}

/* ---- Answers. ---- */

static uint64_t bit_of(const struct fleet *fleet, const char *shard)
{
	for (size_t i = 0; i < fleet_shard_count(fleet); i++)
		if (strcmp(fleet_shard_name(fleet, i), shard) == 0)
			return UINT64_C(1) << fleet_shard_number(fleet, i);
	return 0;
}

static void take_rows(const struct sim_call *call, struct sim_look *look, const struct vtctld_reply *reply)
{
	uint64_t seen = 0;

	look->answered_ms = call->controller->sim->now_ms;
	for (size_t i = 0; i < reply->migrations.count; i++) {
		const struct migration *row = &reply->migrations.items[i];
		uint64_t bit = bit_of(call->fleet, row->shard);

		look->doubled |= seen & bit;
		seen |= bit;
		look->unknown |= row->status == MIGRATION_UNKNOWN ? bit : 0;
	}
}

static void take_topology(const struct sim_call *call, const struct vtctld_reply *reply)
{
	struct controller *controller = call->controller;

	for (size_t i = 0; i < controller->look_count; i++)
		controller->looks[i].short_topology |= reply->shards.count < fleet_shard_count(call->fleet);
}

static void take_definition(const struct sim_call *call)
{
	struct controller *controller = call->controller;

	for (size_t i = 0; i < controller->look_count; i++)
		if (controller->looks[i].proof_begun_ms >= 0) {
			controller->looks[i].proof_answered_ms = controller->sim->now_ms;
			controller->looks[i].second_ms = -1;
		}
}

void look_is_answered(const struct sim_call *call, const struct vtctld_reply *reply)
{
	struct sim_look *look;

	if (reply->outcome != VTCTLD_DONE)
		return;
	if (call->method == VTCTLD_FIND_ALL_SHARDS)
		take_topology(call, reply);
	else if (call->method == VTCTLD_GET_SCHEMA)
		take_definition(call);
	else if (call->is_look && (look = look_of(call->controller, call->uuid)))
		take_rows(call, look, reply);
}

/* R4: what vtctld itself did not answer, or nobody was told, may act until its deadline. */
void look_is_told(struct controller *controller, const struct vtctld_reply *reply)
{
	if (reply->method != VTCTLD_APPLY_SCHEMA || (reply->outcome == VTCTLD_UNKNOWN && reply->code != 2))
		return;
	for (size_t i = 0; i < controller->look_count; i++)
		for (struct sim_submit *submit = controller->looks[i].submits, *end = submit + 2; submit < end; submit++)
			if (submit->tag == reply->tag)
				submit->may_act_ms = 0;
}

int64_t look_covers_ms(const struct sim_look *look, int64_t answered_ms, int64_t asked_ms)
{
	return look->second_ms >= answered_ms && look->second_ms >= 0 ? look->second_ms : asked_ms + 1;
}

/* R4: of whoever sent one and may have died since. The clock that says when must not be set, and waits at its own rate. */
void check_submits(const struct sim *sim, const struct controller *writer, const char *uuid)
{
	int64_t rate = writer && writer->rate_percent > 100 ? writer->rate_percent : 100;

	for (size_t i = 0; i < sim->controller_count && !sim->walls_were_set && sim->failed_over_at_ms < 0; i++) {
		const struct sim_look *look = look_of(&sim->controllers[i], uuid);

		for (size_t j = 0; look && j < 2; j++)
			if (look->submits[j].may_act_ms > (sim->asked_ms - look->submits[j].at_ms) * rate / 100)
				fail_msg("R4: cancelling is written while a submit of %s by %s may still act, sent %lld ms ago", uuid,
					 sim->controllers[i].owner, (long long)(sim->asked_ms - look->submits[j].at_ms));
	}
}

/* ---- R3, of those whose effect is under way. ---- */

static bool is_of(const struct sim_call *call, const struct controller *controller, const char *keyspace)
{
	return call->controller == controller && call->is_effect && !call->is_late && call->fleet == sim_fleet(controller->sim, keyspace);
}

/* A lease that is taken again is no shorter than the effect; by the clock of whoever sent it. */
void check_lease(const struct controller *controller, const char *scope)
{
	const struct sim *sim = controller->sim;
	int rate = controller->rate_percent > 100 ? controller->rate_percent : 100;
	struct store_model_lease lease;

	if (!store_model_lease(sim->model, scope, &lease) || strcmp(lease.owner, controller->owner) != 0)
		return;
	for (size_t i = 0; i < sim->call_count; i++) {
		const struct sim_call *call = &sim->calls[i];
		int64_t left_ms = call->sent_ms + call->timeout_ms * 100 / rate - sim->now_ms;

		if (is_of(call, controller, strchr(scope, '/') + 1) && lease.ends_ms - store_model_now(sim->model) < left_ms)
			fail_msg("R3: %s has the lease for %lld ms, and its %s may last %lld ms", controller->owner,
				 (long long)(lease.ends_ms - store_model_now(sim->model)), vtctld_method_name(call->method),
				 (long long)left_ms);
	}
}

void check_give_back(const struct controller *controller, const char *scope)
{
	const struct sim *sim = controller->sim;

	for (size_t i = 0; i < sim->call_count; i++)
		if (is_of(&sim->calls[i], controller, strchr(scope, '/') + 1))
			fail_msg("R3: %s gives the lease back while its %s is under way", controller->owner,
				 vtctld_method_name(sim->calls[i].method));
}

/* ---- Who writes, and on what. ---- */

/* R2, R3: an update is made under the epoch that the store has; a move by nobody but the holder. */
void check_writer(const struct sim *sim, const struct controller *writer, const struct change *after, bool moves)
{
	struct store_model_lease lease;
	char scope[SCOPE_MAX + 1];
	enum phase from;

	snprintf(scope, sizeof(scope), "default/%s", after->keyspace);
	if (!sim->model || !store_model_lease(sim->model, scope, &lease))
		return;
	if (after->epoch != lease.epoch)
		fail_msg("R2: %s is written under epoch %lld, and the store has %lld", after->uuid, (long long)after->epoch,
			 (long long)lease.epoch);
	from = store_model_moved_from(sim->model, "default", after->uuid);
	if (moves && writer && lease.owner[0] && sim->failed_over_at_ms < 0 && strcmp(lease.owner, writer->owner) != 0)
		fail_msg("R3: %s moves %s from %s to %s, and the lease is that of %s", writer->owner, after->uuid, phase_name(from),
			 phase_name(after->phase), lease.owner);
}

/* What a move rests on: each shard was shown once, in a status that is known (I3, I10). */
void check_evidence(const struct controller *writer, const struct change *after)
{
	const struct sim_look *look = writer ? look_of(writer, after->uuid) : NULL;
	enum phase to = after->phase;

	if (!look || (to != PHASE_COMPLETING && to != PHASE_COMPLETED && to != PHASE_VERIFIED && to != PHASE_CANCELLED))
		return;
	if (look->doubled && to != PHASE_CANCELLED)
		fail_msg("I3: %s is written on rows that show a shard twice", phase_name(to));
	if (look->unknown && !look->is_direct)
		fail_msg("I10: %s is written on rows that show a status which nobody knows", phase_name(to));
}
