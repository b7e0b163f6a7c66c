#pragma once
/*
 * engine_hand: the shipped engine, answered by hand. One keyspace of one shard; unless a test says otherwise the
 * lease is ours, the store has `record` and takes every write, the fleet shows `row`, and effects are answered OK.
 * A test stops at the request that it is about, answers that itself, and lets the rest go on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/engine/engine_private.h"

#define HAND_UUID "01234567_89ab_8cde_8f01_23456789abcd"
#define HAND_CONTEXT "ddl-commerce-0123456789abcdef-g1"
#define HAND_DDL "alter table orders add column x int"
#define HAND_EPOCH 7
#define HAND_WALL_MS 1700000000000
#define HAND_OPEN_MAX 32

static struct hand {
	struct engine *engine;
	struct arena arena;
	int64_t now_ms;
	unsigned id; /* of the one that was asked for */
	struct change record;
	struct change_shard shard;
	bool has_record;
	struct topo_shard topo;
	struct topo_tablet tablet;
	struct migration row;
	bool has_row;
	struct lease lease;
	int lease_result;
	struct live_change live; /* for one that serves */
	struct request open[HAND_OPEN_MAX]; /* not answered yet, oldest first */
	size_t open_count;
	unsigned effects; /* that were sent */
} h;

static inline void hand_record(enum phase phase)
{
	h.shard = (struct change_shard){ .name = "0", .primary = { "zone1", 100 }, .definition_before = "" };
	h.record = (struct change){
		.cluster = "default", .keyspace = "commerce", .table = "orders", .ddl = HAND_DDL, .uuid = HAND_UUID,
		.context = HAND_CONTEXT, .generation = 1, .strategy = "vitess --postpone-completion", .phase = phase,
		.gate = GATE_AUTO, .epoch = HAND_EPOCH, .revision = 3, .created_by = "ci@host",
		.created_at_ms = HAND_WALL_MS, .updated_at_ms = HAND_WALL_MS,
		.deadline_at_ms = HAND_WALL_MS + DEADLINE_DEFAULT_MS, .shards = &h.shard, .shard_count = 1,
	};
	h.has_record = true;
}

static inline void hand_start(enum phase phase, bool read_only)
{
	memset(&h, 0, sizeof(h));
	arena_init(&h.arena, 0);
	hand_record(phase);
	h.topo = (struct topo_shard){ .name = "0", .has_primary = true, .is_serving = true, .primary = { "zone1", 100 },
				      .primary_term_start_s = 900 };
	h.tablet = (struct topo_tablet){ .alias = h.topo.primary, .type = TABLET_PRIMARY, .start_s = 800 };
	h.row = (struct migration){
		.uuid = HAND_UUID, .keyspace = "commerce", .shard = "0", .table = "orders", .context = HAND_CONTEXT,
		.statement = HAND_DDL, .options = "", .ddl_action = "alter", .message = "", .stage = "", .artifacts = "",
		.special_plan = "", .status = MIGRATION_RUNNING, .postpone_completion = true, .started_at_s = 1000,
		.liveness_s = 1010, .eta_s = -1, .progress = 10,
	};
	h.lease = (struct lease){ .epoch = HAND_EPOCH, .left_ms = LEASE_DEFAULT_MS, .holder = "host:1:a" };
	h.now_ms = 1000;
	h.engine = engine_new(&(struct engine_config){ .cluster = "default", .actor = "ci@host", .owner = "host:1:a",
						       .poll_interval_ms = 15000, .read_timeout_ms = 5000,
						       .effect_timeout_ms = 75000, .seed = 1, .read_only = read_only },
			      h.now_ms, HAND_WALL_MS);
}

static inline void hand_stop(void)
{
	engine_free(h.engine);
	arena_release(&h.arena);
}

static inline void hand_ask(struct ask ask)
{
	struct error error = { 0 };

	ask.keyspace = "commerce";
	if (!ask.ddl && !ask.uuid)
		ask.uuid = HAND_UUID;
	if (engine_add(h.engine, &ask, &h.id, &error) != 0)
		fail_msg("%s", error.text);
}

static inline struct task *hand_task(void)
{
	return h.engine->tasks[h.id];
}

static inline const struct view *hand_view(void)
{
	return engine_view(h.engine, h.id);
}

static inline void hand_time(int64_t more_ms)
{
	h.now_ms += more_ms;
	engine_advance(h.engine, h.now_ms, HAND_WALL_MS + h.now_ms - 1000);
}

static inline void hand_answer(const struct request *request, struct reply reply)
{
	reply.tag = request->tag;
	reply.kind = request->kind;
	reply.rpc.tag = request->tag;
	reply.rpc.method = request->rpc.method;
	if (!reply.rpc.text)
		reply.rpc.text = "";
	if (reply.result < 0 && !reply.error.text[0])
		error_set(&reply.error, ERROR_STORE, "the store failed on purpose");
	engine_reply(h.engine, &reply);
}

static inline void hand_answer_update(const struct request *request)
{
	request->change->revision = request->expect.revision + 1;
	request->change->epoch = request->expect.epoch;
	change_copy(&h.arena, request->change, &h.record);
	hand_answer(request, (struct reply){ 0 });
}

static inline void hand_answer_rpc(const struct request *request)
{
	struct reply reply = { .rpc = { .outcome = VTCTLD_DONE } };

	switch (request->rpc.method) {
	case VTCTLD_FIND_ALL_SHARDS:
		reply.rpc.shards.items = &h.topo;
		reply.rpc.shards.count = 1;
		break;
	case VTCTLD_GET_TABLETS:
		reply.rpc.tablets.items = &h.tablet;
		reply.rpc.tablets.count = 1;
		break;
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		reply.rpc.migrations.items = &h.row;
		reply.rpc.migrations.count = h.has_row;
		break;
	case VTCTLD_EXECUTE_FETCH_AS_DBA: /* its columns are not those of the table: no answer */
		reply.rpc.outcome = VTCTLD_UNKNOWN;
		break;
	default:
		h.effects += vtctld_method_is_effect(request->rpc.method);
		break;
	}
	hand_answer(request, reply);
}

/* As it is where nothing is in the way. */
static inline void hand_answer_well(const struct request *request)
{
	switch (request->kind) {
	case REQUEST_STORE_LEASE:
		hand_answer(request, (struct reply){ .result = h.lease_result, .lease = h.lease });
		break;
	case REQUEST_STORE_LIST:
		hand_answer(request, (struct reply){ .changes = &h.record, .change_count = h.has_record });
		break;
	case REQUEST_STORE_UPDATE:
		hand_answer_update(request);
		break;
	case REQUEST_STORE_LIVE:
		h.live = (struct live_change){ .keyspace = h.record.keyspace, .table = h.record.table, .uuid = h.record.uuid,
					       .reason = "", .phase = h.record.phase, .gate = h.record.gate,
					       .revision = h.record.revision, .updated_at_ms = h.record.updated_at_ms,
					       .shard_count = 1 };
		hand_answer(request, (struct reply){ .live = { .changes = &h.live, .change_count = 1 } });
		break;
	case REQUEST_RPC:
		hand_answer_rpc(request);
		break;
	default:
		hand_answer(request, (struct reply){ 0 });
		break;
	}
}

static inline void hand_pull(void)
{
	while (h.open_count < HAND_OPEN_MAX && engine_next(h.engine, &h.open[h.open_count]))
		h.open_count++;
	assert_true(h.open_count < HAND_OPEN_MAX);
}

static inline struct request hand_take(size_t index)
{
	struct request request = h.open[index];

	memmove(&h.open[index], &h.open[index + 1], (h.open_count - index - 1) * sizeof(request));
	h.open_count--;
	return request;
}

/* What a test waits for. */
typedef bool hand_wanted(const struct request *request);

static inline bool is_update(const struct request *request)
{
	return request->kind == REQUEST_STORE_UPDATE;
}

static inline bool is_list(const struct request *request)
{
	return request->kind == REQUEST_STORE_LIST;
}

static inline bool is_lease(const struct request *request)
{
	return request->kind == REQUEST_STORE_LEASE;
}

static inline bool is_effect(const struct request *request)
{
	return request->kind == REQUEST_RPC && vtctld_method_is_effect(request->rpc.method);
}

static inline bool is_look(const struct request *request)
{
	return request->kind == REQUEST_RPC && request->rpc.method == VTCTLD_GET_SCHEMA_MIGRATIONS;
}

static inline bool is_nothing(const struct request *request)
{
	(void)request;
	return false;
}

/* Lets all go well until such a request comes, which is not answered; or until @for_ms are over: false. */
static inline bool hand_until(hand_wanted *wanted, int64_t for_ms, struct request *ret)
{
	int64_t until_ms = h.now_ms + for_ms;

	for (;;) {
		int64_t wake_ms;

		hand_pull();
		for (size_t i = 0; i < h.open_count; i++) {
			if (!wanted(&h.open[i]))
				continue;
			*ret = hand_take(i);
			return true;
		}
		if (h.open_count) {
			struct request request = hand_take(0);

			hand_answer_well(&request);
			continue;
		}
		wake_ms = engine_wake_ms(h.engine);
		if (wake_ms > until_ms) {
			hand_time(until_ms - h.now_ms);
			hand_pull();
			if (h.open_count == 0)
				return false;
			continue;
		}
		hand_time(wake_ms > h.now_ms ? wake_ms - h.now_ms : 0);
	}
}

static inline struct request hand_must(hand_wanted *wanted)
{
	struct request request = { 0 };

	if (!hand_until(wanted, 600000, &request))
		fail_msg("within ten minutes there is no such request");
	return request;
}

static inline void hand_run(int64_t for_ms)
{
	struct request request;

	assert_false(hand_until(is_nothing, for_ms, &request));
}
