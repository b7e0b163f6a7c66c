#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* An RPC under way: where its reply will be. */
struct sim_call {
	uint64_t tag;
};

static const int64_t wall_start_ms = 1790000000000;

static void die(const struct error *error)
{
	fail_msg("store: %s", error->text);
}

static void open_store(struct sim *sim)
{
	struct error error;

	if (store_open(sim->url, false, &sim->store, &error) != 0)
		die(&error);
}

static void on_journal(void *user, const struct fleet_journal_entry *entry);

struct sim *sim_new(const struct sim_config *config)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	assert_non_null(sim);
	sim->config = *config;
	snprintf(sim->folder, sizeof(sim->folder), "%s/vtddl-sim-XXXXXX", base);
	assert_non_null(mkdtemp(sim->folder));
	snprintf(sim->url, sizeof(sim->url), "sqlite:%s/s.db", sim->folder);
	sim->fleet = fleet_new(&(struct fleet_config){ .keyspace = "commerce", .shards = config->shards,
						       .shard_count = config->shard_count, .schema = config->schema,
						       .copy_ms = config->copy_ms, .seed = config->seed,
						       .wall_ms = wall_start_ms });
	fleet_set_journal(sim->fleet, on_journal, sim);
	sim->ready_at_ms = sim->complete_at_ms = -1;
	open_store(sim);
	return sim;
}

static void delete_files(struct sim *sim)
{
	static const char *const names[] = { "s.db", "s.db-journal", "s.db-lock", "s.db-wal", "s.db-shm" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", sim->folder, names[i]);
		unlink(path);
	}
}

void sim_free(struct sim *sim)
{
	if (sim->engine)
		engine_free(sim->engine);
	store_close(sim->store);
	fleet_free(sim->fleet);
	delete_files(sim);
	rmdir(sim->folder);
	free(sim->calls);
	free(sim);
}

void sim_lose_store(struct sim *sim)
{
	store_close(sim->store);
	delete_files(sim);
	open_store(sim);
}

bool sim_load(struct sim *sim, struct arena *arena, struct change *ret)
{
	struct store_filter filter = { .cluster = "default", .keyspace = "commerce" };
	struct change *changes;
	struct error error;
	size_t count;

	if (store_list(sim->store, &filter, arena, &changes, &count, &error) < 0)
		die(&error);
	if (!count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sim->uuid[0] == '\0' || strcmp(changes[i].uuid, sim->uuid) == 0)
			*ret = changes[i];
	return true;
}

/* ---- Invariants, at the moment an effect reaches the fleet. ---- */

static bool all_ready(struct sim *sim, const char *uuid)
{
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, uuid);

		if (!row)
			return false;
		if (!migration_is_ready(row) && row->postpone_completion)
			return false;
	}
	return true;
}

static void on_journal(void *user, const struct fleet_journal_entry *entry)
{
	struct sim *sim = user;
	const struct vtctld_request *request = entry->request;

	if (request->method == VTCTLD_APPLY_SCHEMA)
		sim->applies += entry->done[0] != '\0';
	if (request->method == VTCTLD_COMPLETE)
		sim->completes += entry->done[0] != '\0';
	if (request->method == VTCTLD_CANCEL)
		sim->cancels += entry->done[0] != '\0';
}

static void check_effect(struct sim *sim, const struct vtctld_request *request)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct change record;
	struct error error;

	if (!vtctld_method_is_effect(request->method))
		return;
	if (store_load(sim->store, "default", request->uuid, &arena, &record, &error) != 0)
		fail_msg("I2: %s is sent for %s, which the store does not have", vtctld_method_name(request->method),
			 request->uuid);
	if (request->method == VTCTLD_APPLY_SCHEMA) {
		if (record.phase != PHASE_SUBMITTING && record.phase != PHASE_SUBMITTED)
			fail_msg("I2: ApplySchema is sent in phase %s", phase_name(record.phase));
		if (sim->first_uuid[0] && strcmp(sim->first_uuid, request->uuid) != 0)
			fail_msg("I1: a second uuid %s after %s", request->uuid, sim->first_uuid);
		snprintf(sim->first_uuid, sizeof(sim->first_uuid), "%s", request->uuid);
	}
	if (request->method == VTCTLD_COMPLETE) {
		if (record.phase != PHASE_COMPLETING)
			fail_msg("I3: CompleteSchemaMigration is sent in phase %s", phase_name(record.phase));
		if (sim->cancel_sent)
			fail_msg("I4: CompleteSchemaMigration after a cancel");
		if (sim->complete_at_ms < 0)
			sim->complete_at_ms = sim->now_ms;
		sim->complete_sent = true;
	}
	if (request->method == VTCTLD_CANCEL) {
		if (record.phase != PHASE_CANCELLING && record.phase != PHASE_CANCELLED)
			fail_msg("R6: CancelSchemaMigration is sent in phase %s", phase_name(record.phase));
		if (sim->complete_sent)
			fail_msg("I4: CancelSchemaMigration after a complete");
		sim->cancel_sent = true;
	}
}

/* The point of no return: by the truth, not by what was read. Later a shard may fall back, and is released
 * all the same (C12). */
static void check_barrier(struct sim *sim, const struct request *request)
{
	if (request->expect.phase != PHASE_SUBMITTED || request->change->phase != PHASE_COMPLETING)
		return;
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, request->change->uuid);

		if (!row || !migration_is_ready(row))
			fail_msg("I3: completing is written while shard %s is not ready", fleet_shard_name(sim->fleet, i));
	}
}

/* ---- A life of the process. ---- */

static bool crash_here(struct sim *sim)
{
	sim->boundaries++;
	if (sim->next_crash >= SIM_CRASHES_MAX || sim->config.crashes[sim->next_crash] != sim->boundaries)
		return false;
	sim->next_crash++;
	return true;
}

static uint64_t life_mask(const struct sim *sim)
{
	return (uint64_t)sim->lives << 48;
}

/* The client is gone: what is not done yet is not done, and answers on the way find nobody. */
static void drop_calls(struct sim *sim)
{
	struct vtctld_reply unread;

	for (size_t i = 0; i < sim->call_count; i++)
		fleet_abandon(sim->fleet, sim->calls[i].tag);
	while (fleet_take(sim->fleet, &unread))
		;
	sim->call_count = 0;
}

static void kill_process(struct sim *sim)
{
	drop_calls(sim);
	sim->engine = engine_free(sim->engine);
	store_close(sim->store); /* the kernel drops the lock of a dead process */
	if (sim->config.lose_store_at_crash)
		delete_files(sim);
	open_store(sim);
}

static void call_add(struct sim *sim, uint64_t tag)
{
	if (sim->call_count == sim->call_size) {
		sim->call_size = sim->call_size ? 2 * sim->call_size : 16;
		sim->calls = realloc(sim->calls, sim->call_size * sizeof(*sim->calls));
		assert_non_null(sim->calls);
	}
	sim->calls[sim->call_count++].tag = tag;
}

static void call_remove(struct sim *sim, uint64_t tag)
{
	for (size_t i = 0; i < sim->call_count; i++)
		if (sim->calls[i].tag == tag) {
			sim->calls[i] = sim->calls[--sim->call_count];
			return;
		}
	fail_msg("a reply to a call that was never made");
}

static void do_store(struct sim *sim, const struct request *request, struct reply *reply)
{
	struct error *error = &reply->error;

	switch (request->kind) {
	case REQUEST_STORE_LEASE:
		reply->result = store_lease(sim->store, request->scope, "sim:1:1", &reply->epoch, reply->holder, error);
		break;
	case REQUEST_STORE_LIST:
		reply->result = store_list(sim->store, &request->filter, request->arena, &reply->changes,
					   &reply->change_count, error);
		break;
	case REQUEST_STORE_INSERT:
		sim->store_writes++;
		reply->result = store_insert(sim->store, request->change, "sim", request->evidence, error);
		break;
	default:
		sim->store_writes++;
		check_barrier(sim, request);
		reply->result = store_update(sim->store, request->change, &request->expect, request->entry, error);
		break;
	}
	if (reply->result < 0)
		die(error);
}

/* Carries out one request. Return: false if the process died. */
static bool carry_out(struct sim *sim, struct request *request)
{
	struct reply reply = { .tag = request->tag, .kind = request->kind };

	if (request->kind == REQUEST_PROOF)
		fail_msg("no VTGate in the simulator");
	if (request->kind == REQUEST_RPC) {
		if (crash_here(sim))
			return false;
		check_effect(sim, &request->rpc);
		request->rpc.tag ^= life_mask(sim); /* a reply to a dead process must find nobody */
		call_add(sim, request->rpc.tag);
		fleet_start(sim->fleet, &request->rpc, request->arena);
		return true;
	}
	if (crash_here(sim))
		return false;
	do_store(sim, request, &reply);
	/* dying after a read is dying before the next call */
	if (request->kind != REQUEST_STORE_LIST && crash_here(sim))
		return false;
	engine_reply(sim->engine, &reply);
	return true;
}

/* Return: false if the process died. *ret_any: whether there was one. */
static bool take_replies(struct sim *sim, bool *ret_any)
{
	struct reply reply = { .kind = REQUEST_RPC };

	while (fleet_take(sim->fleet, &reply.rpc)) {
		*ret_any = true;
		call_remove(sim, reply.rpc.tag);
		reply.tag = reply.rpc.tag ^= life_mask(sim);
		if (crash_here(sim))
			return false;
		engine_reply(sim->engine, &reply);
	}
	return true;
}

static void note_ready(struct sim *sim, const char *uuid)
{
	if (sim->ready_at_ms < 0 && uuid && all_ready(sim, uuid))
		sim->ready_at_ms = sim->now_ms;
}

static void note_view(struct sim *sim, const struct view *view)
{
	sim->last = *view;
	sim->error = view->error;
	snprintf(sim->reason, sizeof(sim->reason), "%s", view->reason ? view->reason : "");
	if (view->change) {
		snprintf(sim->uuid, sizeof(sim->uuid), "%s", view->change->uuid);
		sim->phase = view->change->phase;
		note_ready(sim, view->change->uuid);
	}
}

static void advance_to(struct sim *sim, int64_t until_ms)
{
	sim->now_ms = until_ms;
	fleet_advance(sim->fleet, sim->now_ms);
	engine_advance(sim->engine, sim->now_ms, wall_start_ms + sim->now_ms + sim->wall_offset_ms);
}

/* Return: true if the ask ended, false if the process was killed on the way. */
static bool live_once(struct sim *sim, const struct ask *ask, int64_t limit_ms)
{
	struct engine_config config = {
		.cluster = "default", .actor = "sim", .owner = "sim:1:1", .read_timeout_ms = 5000, .effect_timeout_ms = 75000,
		.poll_interval_ms = sim->config.poll_interval_ms ? sim->config.poll_interval_ms : 15000,
		.seed = sim->config.seed + sim->lives,
	};
	struct request request;
	struct error error;
	unsigned id;

	sim->lives++;
	sim->engine = engine_new(&config, sim->now_ms, wall_start_ms + sim->now_ms + sim->wall_offset_ms);
	if (engine_add(sim->engine, ask, &id, &error) < 0)
		fail_msg("refused: %s", error.text);
	for (;;) {
		bool any = false;

		while (engine_next(sim->engine, &request))
			if (!carry_out(sim, &request))
				return false;
		if (!take_replies(sim, &any))
			return false;
		note_view(sim, engine_view(sim->engine, id));
		if (sim->hook)
			sim->hook(sim, sim->hook_user);
		if (sim->last.ended)
			return true;
		if (!any) { /* nothing more happens at this moment */
			int64_t fleet_ms = fleet_next_ms(sim->fleet), engine_ms = engine_wake_ms(sim->engine);
			int64_t next_ms = fleet_ms < engine_ms ? fleet_ms : engine_ms;

			if (next_ms > limit_ms) {
				sim->timed_out = true;
				return true;
			}
			advance_to(sim, next_ms > sim->now_ms ? next_ms : sim->now_ms);
		}
	}
}

void sim_run(struct sim *sim, const struct ask *ask, int64_t limit_ms)
{
	limit_ms += sim->now_ms;
	sim->timed_out = false;
	while (!live_once(sim, ask, limit_ms)) {
		kill_process(sim);
		sim->now_ms += 500; /* a pipeline takes a moment to run it again */
		fleet_advance(sim->fleet, sim->now_ms);
	}
	sim->verdict = sim->last.verdict;
	sim->ended = sim->last.ended;
	drop_calls(sim);
	sim->engine = engine_free(sim->engine);
	store_close(sim->store);
	open_store(sim);
}

void sim_assert_done(struct sim *sim, const char *table, const char *fragment)
{
	if (sim->timed_out || sim->error.code || sim->verdict != VERDICT_DONE)
		fail_msg("not done: verdict %d, phase %s, %s", sim->verdict, phase_name(sim->phase), sim->reason);
	assert_string_equal(phase_name(sim->phase), "verified");
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, sim->uuid);
		const char *definition = fleet_definition(sim->fleet, i, table);

		assert_non_null(row);
		assert_int_equal(row->status, MIGRATION_COMPLETE);
		assert_int_equal(row->retries, 0);
		assert_int_equal(fleet_row_count(sim->fleet, i), 1);
		assert_int_equal(fleet_times_applied(sim->fleet, i, sim->uuid), 1);
		assert_non_null(definition);
		assert_non_null(strstr(definition, fragment));
	}
}
