/*
 * The invariants of docs/reliability.md, by the truth of the fleet and of the store, for all controllers
 * together.
 */
#include "sim_private.h"

#include "vtddl/observation.h"

/* A row that revives so soon behind `cancelled` is on watch, and is cancelled again within that time. */
#define WATCH_MS 120000
#define EVIDENCE_MS 10000 /* from a look's first answer to the write that it leads to */
#define SHARDS_KNOWN_MAX 64

/* What was seen of one change, by whomever. */
struct sim_truth {
	char uuid[UUID_LENGTH + 1];
	char context[CONTEXT_MAX + 1], keyspace[KEYSPACE_MAX + 1], table[TABLE_MAX + 1];
	uint64_t sql; /* a digest */
	struct fleet *fleet;
	enum phase phase;
	int64_t revision;
	bool complete_sent, cancel_sent;
	uint64_t released; /* shards whose hold a Complete took away; bits by number of making */
	uint64_t ready;	   /* shards that are ready ... */
	int64_t ready_at_ms[SHARDS_KNOWN_MAX]; /* ... or were last */
	int64_t shard_seen_ms[SHARDS_KNOWN_MAX]; /* the topology has it since */
	bool dead;	    /* a shard is failed or cancelled ... */
	int64_t dead_at_ms; /* ... or was last */
	int64_t dead_since_ms[SHARDS_KNOWN_MAX]; /* this one; -1: it is not */
	uint64_t scanned;   /* how often the fleet had changed then */
	unsigned effects;  /* since the phase moved last */
	int64_t moved_at_ms, live_since_ms;
	int64_t written_at_ms; /* its record, last */
	struct sim_others others;
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
	*truth = (struct sim_truth){ .phase = _PHASE_INVALID, .moved_at_ms = sim->now_ms, .live_since_ms = -1,
				     .dead_at_ms = INT64_MIN / 2, .scanned = UINT64_MAX };
	for (size_t i = 0; i < SHARDS_KNOWN_MAX; i++)
		truth->ready_at_ms[i] = INT64_MIN / 2, truth->dead_since_ms[i] = -1;
	snprintf(truth->uuid, sizeof(truth->uuid), "%s", uuid);
	return truth;
}

static uint64_t shard_bit(const struct fleet *fleet, size_t shard)
{
	size_t number = fleet_shard_number(fleet, shard);

	assert_true(number < SHARDS_KNOWN_MAX);
	return UINT64_C(1) << number;
}

/* The store went back to what it had some time ago. What it knows no more, nobody does. */
void check_forget(struct sim *sim)
{
	sim->failed_over_at_ms = sim->now_ms;
	for (size_t i = 0; i < sim->truth_count; i++) {
		struct sim_truth *truth = &sim->truth[i];
		const struct change *change = sim->model ? store_model_change(sim->model, "default", truth->uuid) : NULL;
		enum phase phase = change ? change->phase : _PHASE_INVALID;

		truth->revision = 0;
		truth->effects = 0;
		if (!sim->model || phase == truth->phase)
			continue;
		truth->others.rewound = true;
		if (truth->complete_sent && phase != PHASE_COMPLETING && phase != PHASE_COMPLETED && phase != PHASE_STOPPED) {
			truth->others.release_forgotten = true;
			truth->complete_sent = false;
		}
		if (truth->cancel_sent && phase != PHASE_CANCELLING && phase != PHASE_CANCELLED) {
			truth->others.cancel_forgotten = true;
			truth->cancel_sent = false;
		}
		truth->phase = phase;
	}
}

const struct sim_others *sim_others(struct sim *sim, const char *uuid)
{
	return &truth_of(sim, uuid)->others;
}

uint64_t sim_released(struct sim *sim, const char *uuid)
{
	return truth_of(sim, uuid)->released;
}

const char *check_table(struct sim *sim, const char *uuid)
{
	return truth_of(sim, uuid)->table;
}

/* What the fleet shows of a change now; what it showed until it changed. */
static void scan(struct sim *sim, struct sim_truth *truth)
{
	uint64_t was_ready = truth->ready;
	struct fleet *fleet;
	bool live = false;

	if (!truth->fleet && truth->keyspace[0])
		truth->fleet = sim_fleet(sim, truth->keyspace);
	fleet = truth->fleet;
	if (!fleet || truth->scanned == fleet_changes(fleet))
		return;
	truth->scanned = fleet_changes(fleet);
	truth->dead_at_ms = truth->dead ? sim->now_ms : truth->dead_at_ms;
	truth->dead = false;
	truth->ready = 0;
	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, truth->uuid);
		size_t number = fleet_shard_number(fleet, i);
		uint64_t bit = shard_bit(fleet, i);

		if (!truth->shard_seen_ms[number])
			truth->shard_seen_ms[number] = sim->now_ms ? sim->now_ms : 1;
		if (fleet_ready(fleet, i, truth->uuid))
			truth->ready |= bit;
		if ((truth->ready | was_ready) & bit)
			truth->ready_at_ms[number] = sim->now_ms;
		live |= row && migration_is_live(row);
		if (!row || (row->status != MIGRATION_FAILED && row->status != MIGRATION_CANCELLED))
			truth->dead_since_ms[number] = -1;
		else if (truth->dead_since_ms[number] < 0)
			truth->dead_since_ms[number] = sim->now_ms;
		truth->dead |= truth->dead_since_ms[number] >= 0;
	}
	if (!live)
		truth->live_since_ms = -1;
	else if (truth->live_since_ms < 0)
		truth->live_since_ms = sim->now_ms;
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

static uint64_t digest(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 1099511628211u;
	return hash;
}

/* One name for one context and, unless --again was asked, for one statement; in a run of one process one at all (I1). */
static void check_name(struct sim *sim, const struct vtctld_request *request, struct sim_truth *truth)
{
	snprintf(truth->context, sizeof(truth->context), "%s", request->context);
	snprintf(truth->keyspace, sizeof(truth->keyspace), "%s", request->keyspace);
	truth->sql = digest(request->sql);
	for (size_t i = 0; i < sim->truth_count; i++) {
		const struct sim_truth *other = &sim->truth[i];

		if (other == truth || strcmp(other->keyspace, truth->keyspace) != 0 || !other->context[0])
			continue;
		if (strcmp(other->context, truth->context) == 0 || (other->sql == truth->sql && !sim->again_was_asked))
			fail_msg("I1: a second uuid %s after %s for %s", truth->uuid, other->uuid, truth->context);
	}
	if (!sim->model && sim->first_uuid[0] && strcmp(sim->first_uuid, request->uuid) != 0)
		fail_msg("I1: a second uuid %s after %s", request->uuid, sim->first_uuid);
	snprintf(sim->first_uuid, sizeof(sim->first_uuid), "%s", request->uuid);
}

/* R3: at the moment of sending the lease is the sender's until the effect's deadline, by the store's clock. */
static void check_fence(const struct controller *controller, const struct vtctld_request *request,
			const struct sim_truth *truth)
{
	const struct sim *sim = controller->sim;
	const struct store_model *model = sim->model;
	struct store_model_lease lease;
	char scope[SCOPE_MAX + 1];

	if (!model || controller->was_paused || truth->written_at_ms <= sim->store_clock_set_at_ms)
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

/* I6: what is failed or cancelled on a shard since before its sender looked is not revived by a submit. */
static void check_dead(struct controller *controller, struct sim_truth *truth)
{
	const struct sim_look *look = look_of(controller, truth->uuid);
	struct fleet *fleet = truth->fleet;

	scan(controller->sim, truth);
	for (size_t i = 0; look && fleet && i < fleet_shard_count(fleet); i++) {
		int64_t since_ms = truth->dead_since_ms[fleet_shard_number(fleet, i)];

		if (since_ms >= 0 && since_ms < look->begun_ms)
			fail_msg("I6: ApplySchema is sent for %s, which was failed or cancelled on shard %s before the last look",
				 truth->uuid, fleet_shard_name(fleet, i));
	}
}

static void note_submit(struct controller *controller, const struct vtctld_request *request)
{
	struct sim_look *look = look_of(controller, request->uuid);

	if (!look || controller->was_paused || controller->is_late)
		return; /* between its check and its sending: nobody can wait for that */
	if (look->submits[0].may_act_ms)
		look->submits[1] = look->submits[0];
	look->submits[0] = (struct sim_submit){ request->tag, controller->sim->now_ms, request->timeout_ms };
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

/* The store went back between the write of the attempt and this: no client can know. */
static bool attempt_is_forgotten(const struct controller *controller, const struct vtctld_request *request)
{
	const struct sim *sim = controller->sim;
	struct sim_truth *truth = truth_of(controller->sim, request->uuid);
	int64_t decided_ms = controller->was_paused ? controller->paused_at_ms : truth->written_at_ms;

	if (sim->failed_over_at_ms < 0 || (decided_ms > sim->failed_over_at_ms && truth->written_at_ms > sim->failed_over_at_ms))
		return false;
	truth->others.release_forgotten |= request->method == VTCTLD_COMPLETE;
	truth->others.cancel_forgotten |= request->method == VTCTLD_CANCEL;
	return true;
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
	if (attempt_is_forgotten(controller, request))
		return;
	if (!load(controller, request->uuid, &arena, &record))
		fail_msg("I2: %s is sent for %s, which the store does not have", method, request->uuid);
	truth = truth_of(sim, request->uuid);
	if (!phase_allows(record.phase, request->method, is_late))
		fail_msg("I2, I3, R6: %s is sent in phase %s", method, phase_name(record.phase));
	if (!is_late && record.last_effect != effect_of(request->method))
		fail_msg("R1: %s is sent and its attempt is not written down", method);
	if (request->method == VTCTLD_APPLY_SCHEMA) {
		check_name(sim, request, truth);
		check_dead(controller, truth);
		note_submit(controller, request);
	}
	truth->complete_sent |= request->method == VTCTLD_COMPLETE;
	truth->cancel_sent |= request->method == VTCTLD_CANCEL;
	if (truth->complete_sent && truth->cancel_sent)
		fail_msg("I4: %s is sent for %s, which has the other already", method, request->uuid);
	check_fence(controller, request, truth);
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

	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		const char *name = fleet_shard_name(fleet, i);

		if (!list_has(entry->done, name))
			continue;
		if (truth->released & shard_bit(fleet, i))
			fail_msg("I5: the hold of %s on %s is taken away a second time", truth->uuid, name);
		truth->released |= shard_bit(fleet, i);
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

static bool is_recorded(const struct change *change, const char *shard)
{
	for (size_t i = 0; i < change->shard_count; i++)
		if (strcmp(change->shards[i].name, shard) == 0)
			return true;
	return false;
}

/* By what could be seen of a shard that is not ready now: whether it was, and that its primary has moved since. */
static void check_unready(const struct sim *sim, const struct sim_truth *truth, const struct sim_look *look, size_t shard)
{
	int64_t moved_ms = fleet_moved_ms(truth->fleet, shard);
	int64_t ready_at_ms = truth->ready_at_ms[fleet_shard_number(truth->fleet, shard)];
	const char *name = fleet_shard_name(truth->fleet, shard);

	if (ready_at_ms < (look && sim->config.world_moves ? look->begun_ms : sim->asked_ms))
		fail_msg("I3: completing is written while shard %s is not ready, for %lld ms", name,
			 (long long)(sim->now_ms - ready_at_ms));
	if (look && moved_ms >= look->begun_ms && ready_at_ms <= moved_ms &&
	    moved_ms < look_covers_ms(look, look->answered_ms, sim->asked_ms))
		fail_msg("I3: completing is written while shard %s is not ready on the primary that it has for %lld ms", name,
			 (long long)(sim->now_ms - moved_ms));
}

/* The point of no return: by the truth, not by what was read. Later a shard may fall back, and is released
 * all the same (C12). An adopted one may be released or complete already. */
static void check_barrier(struct sim *sim, const struct controller *writer, struct sim_truth *truth,
			  const struct change *change, bool adopted)
{
	const struct sim_look *look = writer ? look_of(writer, change->uuid) : NULL;
	struct fleet *fleet = sim_fleet(sim, change->keyspace);
	int64_t since_ms = sim->asked_ms;

	if (!adopted && change->gate != GATE_AUTO)
		fail_msg("I3: completing is written and nobody has opened the gate");
	if (look && sim->config.world_moves)
		since_ms = look->short_topology ? INT64_MIN : look_covers_ms(look, look->answered_ms, sim->asked_ms);
	scan(sim, truth);
	for (size_t i = 0; fleet && i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, change->uuid);
		const char *name = fleet_shard_name(fleet, i);

		if (!is_recorded(change, name)) {
			if (truth->shard_seen_ms[fleet_shard_number(fleet, i)] < since_ms)
				fail_msg("I3: completing is written while the keyspace has a shard %s, which is not recorded", name);
		} else if (!fleet_ready(fleet, i, change->uuid) && !(adopted && row && !row->postpone_completion)) {
			check_unready(sim, truth, look, i);
		}
	}
}

/* I9: only a shard that says so makes a change failed, or cancelled without anybody's wish. */
static void check_failure(const struct sim *sim, const struct controller *writer, const struct sim_truth *truth,
			  const struct change *change)
{
	const struct sim_look *look = writer ? look_of(writer, change->uuid) : NULL;

	if (!truth->dead && truth->dead_at_ms < (look ? look->begun_ms : sim->asked_ms - EVIDENCE_MS))
		fail_msg("I9: %s of %s is written, and no shard of it is failed or cancelled", phase_name(change->phase),
			 change->uuid);
}

/* R4: a reversal waits for the end of every submit, whoever sent it. The clock that says when must not be set. */
static void check_reversal(const struct sim *sim, const struct controller *writer, const struct sim_truth *truth)
{
	for (size_t i = 0; i < sim->call_count; i++)
		if (sim->calls[i].method == VTCTLD_APPLY_SCHEMA && strcmp(sim->calls[i].uuid, truth->uuid) == 0 &&
		    !sim->walls_were_set && sim->failed_over_at_ms < 0)
			fail_msg("R4: cancelling is written while a submit of %s is under way", truth->uuid);
	check_submits(sim, writer, truth->uuid);
}

/* I8, by the rows and the definitions of the recorded shards that there still are. */
static void check_success(struct sim *sim, const struct controller *writer, const struct change *change)
{
	const struct sim_look *look = writer ? look_of(writer, change->uuid) : NULL;
	struct fleet *fleet = sim_fleet(sim, change->keyspace);
	const char *first = NULL;

	for (size_t i = 0; fleet && i < fleet_shard_count(fleet); i++) {
		const struct migration *row = fleet_row(fleet, i, change->uuid);
		const char *name = fleet_shard_name(fleet, i), *definition = fleet_definition(fleet, i, change->table);

		if (!is_recorded(change, name))
			continue;
		if (!row || row->status != MIGRATION_COMPLETE || migration_says_duplicate(row))
			fail_msg("I8: verified is written while shard %s is not complete", name);
		if (look && look->proof_begun_ms >= 0 && fleet_moved_ms(fleet, i) >= look->proof_begun_ms &&
		    fleet_moved_ms(fleet, i) < look_covers_ms(look, look->proof_answered_ms, sim->asked_ms))
			fail_msg("I8: verified is written, and shard %s has another primary than the one that was read", name);
		if (sim->config.is_intended && !sim->config.is_intended(change, definition))
			fail_msg("I8: verified is written, and the definition of %s on shard %s is not what it promises",
				 change->table, name);
		definition = definition ? definition : "";
		if (first && strcmp(first, definition) != 0)
			fail_msg("I8: verified is written while table %s is another on shard %s", change->table, name);
		first = definition;
	}
}

/* I15, by every record there is. */
static void check_table_is_free(struct sim *sim, const struct change *change)
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

static void check_move(struct sim *sim, const struct controller *writer, struct sim_truth *truth, enum phase from,
		       const struct change *after)
{
	/* out of nothing: a backup that was put back, whose moment is past */
	if (after->phase == PHASE_COMPLETING && from != _PHASE_INVALID)
		check_barrier(sim, writer, truth, after, from == PHASE_SUBMITTING);
	if (after->phase == PHASE_VERIFIED)
		check_success(sim, writer, after);
	if (after->phase == PHASE_CANCELLING)
		check_reversal(sim, writer, truth);
	if (after->phase == PHASE_FAILED || (after->phase == PHASE_CANCELLED && from != PHASE_CANCELLING)) {
		scan(sim, truth);
		check_failure(sim, writer, truth, after);
	}
	if (from == _PHASE_INVALID)
		check_table_is_free(sim, after);
	else
		check_evidence(writer, after);
}

void check_write(struct sim *sim, const struct controller *writer, enum phase from, int64_t from_revision,
		 const struct change *after)
{
	struct sim_truth *truth = truth_of(sim, after->uuid);
	enum phase said = sim->model ? store_model_moved_from(sim->model, "default", after->uuid) : from;

	if (from != _PHASE_INVALID && (truth->revision > from_revision || after->revision != from_revision + 1))
		fail_msg("I7: %s is written out of revision %lld as %lld, and revision %lld is there already", after->uuid,
			 (long long)from_revision, (long long)after->revision, (long long)truth->revision);
	if (said != from)
		fail_msg("R2: %s is written out of phase %s, and it is %s", after->uuid, phase_name(said), phase_name(from));
	check_writer(sim, writer, after, from != after->phase && from != _PHASE_INVALID);
	truth->revision = after->revision;
	truth->written_at_ms = sim->now_ms;
	snprintf(truth->keyspace, sizeof(truth->keyspace), "%s", after->keyspace);
	snprintf(truth->table, sizeof(truth->table), "%s", after->table);
	if (from == after->phase)
		return;
	truth->phase = after->phase;
	truth->effects = 0;
	truth->moved_at_ms = sim->now_ms;
	check_move(sim, writer, truth, from, after);
}

/* ---- Every step. ---- */

/* I6: what was cancelled does not come to life for longer than the watch, unless somebody else revives it. */
static void check_cancelled(const struct sim *sim, const struct sim_truth *truth)
{
	if (truth->live_since_ms >= 0 && !truth->others.retried &&
	    truth->live_since_ms - truth->moved_at_ms <= WATCH_MS && sim->now_ms - truth->live_since_ms > WATCH_MS)
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

void check_step(struct sim *sim)
{
	for (size_t i = 0; i < sim->truth_count; i++) {
		struct sim_truth *truth = &sim->truth[i];

		if (truth->phase == PHASE_VERIFIED)
			continue;
		scan(sim, truth);
		if (truth->phase == PHASE_CANCELLED)
			check_cancelled(sim, truth);
	}
	if (sim->ready_at_ms < 0 && sim->uuid[0])
		note_ready(sim);
}

/* ---- Other people. ---- */

void sim_meddle(struct sim *sim, enum sim_verb verb, const char *keyspace, const char *uuid, const char *shard)
{
	struct fleet *fleet = sim_fleet(sim, keyspace);
	struct sim_truth *truth = truth_of(sim, uuid);

	scan(sim, truth);
	if (verb == SIM_COMPLETE) {
		for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
			const struct migration *row = fleet_row(fleet, i, uuid);

			if (row && row->postpone_completion && (!shard || strcmp(shard, fleet_shard_name(fleet, i)) == 0))
				truth->others.released |= shard_bit(fleet, i);
		}
		fleet_complete(fleet, uuid, shard);
	} else if (verb == SIM_CANCEL) {
		truth->others.cancelled = true;
		fleet_cancel(fleet, uuid, shard);
	} else if (verb == SIM_RETRY) {
		truth->others.retried = true;
		fleet_retry(fleet, uuid, shard);
	} else if (verb == SIM_FAIL) {
		truth->others.failed = true;
		fleet_fail(fleet, uuid, shard, NULL);
	} else if (verb == SIM_RERUN) {
		truth->others.failed = truth->others.retried = true;
		fleet_rerun(fleet, uuid, shard);
	} else if (verb == SIM_LOSE) {
		for (size_t i = 0; i < fleet_shard_count(fleet); i++)
			if (strcmp(shard, fleet_shard_name(fleet, i)) == 0)
				truth->released &= ~shard_bit(fleet, i); /* a new row has a hold of its own */
		truth->others.lost = true;
		fleet_lose_row(fleet, uuid, shard);
	} else {
		fleet_cleanup(fleet, uuid, shard);
	}
}
