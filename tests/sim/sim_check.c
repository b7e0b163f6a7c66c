/*
 * The invariants of docs/reliability.md, by the truth of the fleet and of the store, for all controllers
 * together.
 */
#include "sim_private.h"

#include "vtddl/observation.h"

/* A row that revives so soon behind `cancelled` is on watch, and is cancelled again within that time. */
#define WATCH_MS 120000

/* What was seen of one change, by whomever. */
struct sim_truth {
	char uuid[UUID_LENGTH + 1];
	char context[CONTEXT_MAX + 1], keyspace[KEYSPACE_MAX + 1];
	enum phase phase;
	int64_t revision;
	bool complete_sent, cancel_sent;
	uint64_t released; /* shards whose hold a Complete took away */
	int64_t ready_at_ms[64]; /* a shard was seen ready last */
	unsigned effects;  /* since the phase moved last */
	int64_t moved_at_ms, live_since_ms;
};

static struct sim_truth *truth_of(struct sim *sim, const char *uuid)
{
	struct sim_truth *truth;

	for (size_t i = 0; i < sim->truth_count; i++)
		if (strcmp(sim->truth[i].uuid, uuid) == 0)
			return &sim->truth[i];
	sim->truth = reallocarray(sim->truth, sim->truth_count + 1, sizeof(*sim->truth));
	assert_non_null(sim->truth);
	truth = &sim->truth[sim->truth_count++];
	*truth = (struct sim_truth){ .phase = _PHASE_INVALID, .moved_at_ms = sim->now_ms, .live_since_ms = -1 };
	for (size_t i = 0; i < 64; i++)
		truth->ready_at_ms[i] = INT64_MIN / 2;
	snprintf(truth->uuid, sizeof(truth->uuid), "%s", uuid);
	return truth;
}

void check_forget(struct sim *sim)
{
	for (size_t i = 0; i < sim->truth_count; i++)
		sim->truth[i].revision = 0;
}

/* ---- Effects. ---- */

static bool load(struct controller *controller, const char *uuid, struct arena *arena, struct change *ret)
{
	struct sim *sim = controller->sim;
	const struct change *change;
	struct error error;

	if (!sim->model)
		return store_load(sim->store, "default", uuid, arena, ret, &error) == 0;
	change = store_model_change(sim->model, "default", uuid);
	if (change)
		*ret = *change;
	return change;
}

/* One name for one context, and in a run of one process one name at all (I1). */
static void check_name(struct sim *sim, const struct vtctld_request *request, struct sim_truth *truth)
{
	snprintf(truth->context, sizeof(truth->context), "%s", request->context);
	snprintf(truth->keyspace, sizeof(truth->keyspace), "%s", request->keyspace);
	for (size_t i = 0; i < sim->truth_count; i++)
		if (&sim->truth[i] != truth && strcmp(sim->truth[i].context, truth->context) == 0)
			fail_msg("I1: a second uuid %s after %s for %s", truth->uuid, sim->truth[i].uuid, truth->context);
	if (!sim->model && sim->first_uuid[0] && strcmp(sim->first_uuid, request->uuid) != 0)
		fail_msg("I1: a second uuid %s after %s", request->uuid, sim->first_uuid);
	snprintf(sim->first_uuid, sizeof(sim->first_uuid), "%s", request->uuid);
}

/* R3: at the moment of sending the lease is the sender's until the effect's deadline, by the store's clock. */
static void check_fence(const struct controller *controller, const struct vtctld_request *request)
{
	const struct store_model *model = controller->sim->model;
	struct store_model_lease lease;
	char scope[SCOPE_MAX + 1];

	if (!model || controller->was_paused)
		return;
	snprintf(scope, sizeof(scope), "default/%s", request->keyspace);
	if (!store_model_lease(model, scope, &lease) || strcmp(lease.owner, controller->owner) != 0)
		fail_msg("R3: %s sends %s and the lease is '%s'", controller->owner, vtctld_method_name(request->method),
			 lease.owner);
	if (lease.ends_ms - store_model_now(model) < request->timeout_ms)
		fail_msg("R3: %s sends %s with a deadline of %lld ms, and its lease lasts %lld ms", controller->owner,
			 vtctld_method_name(request->method), (long long)request->timeout_ms,
			 (long long)(lease.ends_ms - store_model_now(model)));
}

/* I12: beyond the first few one in a quarter of a minute, whoever sends them. */
static void check_count(const struct sim *sim, struct sim_truth *truth)
{
	int64_t allowed = 10 + (sim->now_ms - truth->moved_at_ms) / 15000;

	if (++truth->effects > allowed)
		fail_msg("I12: %u effects for %s within %lld ms in one phase", truth->effects, truth->uuid,
			 (long long)(sim->now_ms - truth->moved_at_ms));
}

static enum effect effect_of(enum vtctld_method method)
{
	if (method == VTCTLD_APPLY_SCHEMA)
		return EFFECT_SUBMIT;
	return method == VTCTLD_COMPLETE ? EFFECT_COMPLETE : EFFECT_CANCEL;
}

/* A process that was paused between its check and its send is late: what it sends must still agree. */
static bool phase_allows(enum phase phase, enum vtctld_method method, bool is_late)
{
	if (method == VTCTLD_APPLY_SCHEMA)
		return phase == PHASE_SUBMITTING || phase == PHASE_SUBMITTED || is_late;
	if (method == VTCTLD_COMPLETE)
		return phase == PHASE_COMPLETING ||
		       (is_late && (phase == PHASE_COMPLETED || phase == PHASE_VERIFIED || phase == PHASE_STOPPED));
	return phase == PHASE_CANCELLING || phase == PHASE_CANCELLED || (is_late && phase == PHASE_STOPPED);
}

void check_effect(struct controller *controller, const struct vtctld_request *request)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct sim *sim = controller->sim;
	const char *method = vtctld_method_name(request->method);
	bool is_late = controller->was_paused;
	struct sim_truth *truth;
	struct change record;

	if (!vtctld_method_is_effect(request->method))
		return;
	if (!load(controller, request->uuid, &arena, &record))
		fail_msg("I2: %s is sent for %s, which the store does not have", method, request->uuid);
	truth = truth_of(sim, request->uuid);
	if (!phase_allows(record.phase, request->method, is_late))
		fail_msg("I2, I3, R6: %s is sent in phase %s", method, phase_name(record.phase));
	if (!is_late && record.last_effect != effect_of(request->method))
		fail_msg("R1: %s is sent and its attempt is not written down", method);
	if (request->method == VTCTLD_APPLY_SCHEMA)
		check_name(sim, request, truth);
	truth->complete_sent |= request->method == VTCTLD_COMPLETE;
	truth->cancel_sent |= request->method == VTCTLD_CANCEL;
	if (truth->complete_sent && truth->cancel_sent)
		fail_msg("I4: %s is sent for %s, which has the other already", method, request->uuid);
	check_fence(controller, request);
	check_count(sim, truth);
	if (request->method == VTCTLD_COMPLETE && sim->complete_at_ms < 0)
		sim->complete_at_ms = sim->now_ms;
	sim->complete_sent |= request->method == VTCTLD_COMPLETE;
	sim->cancel_sent |= request->method == VTCTLD_CANCEL;
}

/* ---- What effects did. ---- */

static bool list_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += length)
		if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* I5: a hold is taken away once. */
static void check_release(struct sim *sim, const struct fleet_journal_entry *entry)
{
	struct fleet *fleet = sim_fleet_of(sim, entry->request);
	struct sim_truth *truth = truth_of(sim, entry->request->uuid);

	for (size_t i = 0; i < fleet_shard_count(fleet) && i < 64; i++) {
		const char *name = fleet_shard_name(fleet, i);

		if (!list_has(entry->done, name))
			continue;
		if (truth->released & 1ULL << i)
			fail_msg("I5: the hold of %s on %s is taken away a second time", truth->uuid, name);
		truth->released |= 1ULL << i;
	}
}

void check_journal(void *user, const struct fleet_journal_entry *entry)
{
	struct sim *sim = user;
	const struct vtctld_request *request = entry->request;

	if (request->method == VTCTLD_APPLY_SCHEMA)
		sim->applies += entry->done[0] != '\0';
	if (request->method == VTCTLD_CANCEL)
		sim->cancels += entry->done[0] != '\0';
	if (request->method != VTCTLD_COMPLETE)
		return;
	sim->completes += entry->done[0] != '\0';
	check_release(sim, entry);
}

/* ---- Writes. ---- */

/* The point of no return: by the truth, not by what was read. Later a shard may fall back, and is released
 * all the same (C12). */
static void check_barrier(struct sim *sim, const struct sim_truth *truth, const struct change *change)
{
	struct fleet *fleet = sim_fleet(sim, change->keyspace);

	for (size_t i = 0; fleet && i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, change->uuid);

		if (row && migration_is_ready(row))
			continue;
		if (i >= 64 || sim->now_ms - truth->ready_at_ms[i] > sim->config.ready_slack_ms)
			fail_msg("I3: completing is written while shard %s is not ready, for %lld ms",
				 fleet_shard_name(fleet, i), (long long)(sim->now_ms - truth->ready_at_ms[i]));
	}
}

/* I8, by the rows. */
static void check_success(struct sim *sim, const struct change *change)
{
	struct fleet *fleet = sim_fleet(sim, change->keyspace);

	for (size_t i = 0; fleet && i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, change->uuid);

		if (row && (row->status != MIGRATION_COMPLETE || migration_says_duplicate(row)))
			fail_msg("I8: verified is written while shard %s is not complete", fleet_shard_name(fleet, i));
	}
}

/* I15, by every record there is. */
static void check_table(struct sim *sim, const struct change *change)
{
	struct store_filter filter = { .cluster = "default", .keyspace = change->keyspace, .table = change->table,
				       .live_only = true };
	cleanup(arena_release) struct arena arena = { 0 };
	struct change *changes;
	struct error error;
	size_t count = 0;

	if (store_list(sim->store, &filter, &arena, &changes, &count, &error) == 0 && count > 1)
		fail_msg("I15: %zu live changes of table %s", count, change->table);
}

void check_write(struct sim *sim, enum phase from, int64_t from_revision, const struct change *after)
{
	struct sim_truth *truth = truth_of(sim, after->uuid);

	if (truth->revision > from_revision && from != _PHASE_INVALID)
		fail_msg("I7: %s is written out of revision %lld, and revision %lld is there already", after->uuid,
			 (long long)from_revision, (long long)truth->revision);
	truth->revision = after->revision;
	snprintf(truth->keyspace, sizeof(truth->keyspace), "%s", after->keyspace);
	if (from == after->phase)
		return;
	truth->phase = after->phase;
	truth->effects = 0;
	truth->moved_at_ms = sim->now_ms;
	if (from == PHASE_SUBMITTED && after->phase == PHASE_COMPLETING)
		check_barrier(sim, truth, after);
	if (after->phase == PHASE_VERIFIED)
		check_success(sim, after);
	if (from == _PHASE_INVALID)
		check_table(sim, after);
}

/* ---- Every step. ---- */

/* I6: what was cancelled does not come to life for longer than the watch. */
static void check_cancelled(struct sim *sim, struct sim_truth *truth)
{
	struct fleet *fleet = sim_fleet(sim, truth->keyspace);
	bool live = false;

	for (size_t i = 0; fleet && i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, truth->uuid);

		live |= row && migration_is_live(row);
	}
	if (!live)
		truth->live_since_ms = -1;
	else if (truth->live_since_ms < 0)
		truth->live_since_ms = sim->now_ms;
	else if (truth->live_since_ms - truth->moved_at_ms <= WATCH_MS && sim->now_ms - truth->live_since_ms > WATCH_MS)
		fail_msg("I6: %s is cancelled, and a shard of it lives for %lld ms", truth->uuid,
			 (long long)(sim->now_ms - truth->live_since_ms));
}

static void note_ready(struct sim *sim)
{
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, sim->uuid);

		if (!row || (!migration_is_ready(row) && row->postpone_completion))
			return;
	}
	sim->ready_at_ms = sim->now_ms;
}

static void note_shards(struct sim *sim, struct sim_truth *truth)
{
	struct fleet *fleet = sim_fleet(sim, truth->keyspace);

	for (size_t i = 0; fleet && i < fleet_shard_count(fleet) && i < 64; i++) {
		const struct migration *row = fleet_row(fleet, i, truth->uuid);

		if (row && migration_is_ready(row))
			truth->ready_at_ms[i] = sim->now_ms;
	}
}

void check_step(struct sim *sim)
{
	for (size_t i = 0; i < sim->truth_count; i++) {
		if (sim->truth[i].phase == PHASE_SUBMITTED && sim->config.ready_slack_ms)
			note_shards(sim, &sim->truth[i]);
		if (sim->truth[i].phase == PHASE_CANCELLED)
			check_cancelled(sim, &sim->truth[i]);
	}
	if (sim->ready_at_ms < 0 && sim->uuid[0])
		note_ready(sim);
}
