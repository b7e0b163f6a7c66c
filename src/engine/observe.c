/*
 * One look at the fleet for one change: topology, tablets and rows side by side, and every shard that
 * GetSchemaMigrations did not show exactly once is asked at its primary. A look ends when all its
 * reads have ended, each by its own deadline, so a dead primary delays it but blinds nobody.
 */
#include "engine_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vtddl/identity.h"

#define ROWS_LIMIT 4 /* of one uuid on one shard: there can be one */
#define LOOKS_MAX 32 /* under way at the same time; each may ask every primary */
#define LOOK_TURN_MS 100

static void ask_rest(struct task *task, struct look *look)
{
	struct request *request;

	engine_emit_rpc(task, VTCTLD_GET_TABLETS, FOR_TABLETS, 0, &look->arena);
	request = engine_emit_rpc(task, VTCTLD_GET_SCHEMA_MIGRATIONS, FOR_ROWS, 0, &look->arena);
	request->rpc.uuid = task->record.uuid;
	request->rpc.limit = ROWS_LIMIT;
}

/* Return: how long to wait for a turn; 0: it is now. */
static int64_t turn_ms(struct task *task)
{
	struct engine *engine = task->engine;

	if (engine->looks >= LOOKS_MAX)
		return LOOK_TURN_MS / 2 + (int64_t)(engine_chance(engine) % LOOK_TURN_MS);
	return server_wait_ms(engine, task->keyspace->server);
}

void observe_start(struct task *task)
{
	struct look *look = &task->looks[!task->current];
	bool down = server_is_down(task->engine, task->keyspace->server);
	int64_t wait_ms = task->engine->stopping ? 0 : turn_ms(task);

	if (task->engine->stopping || wait_ms) {
		task_idle(task, wait_ms);
		return;
	}
	task->engine->looks++;
	task->engine->counters.looks++;
	arena_release(&look->arena);
	memset(look, 0, sizeof(*look));
	look->shards = arena_array(&look->arena, task->record.shard_count + 1, sizeof(*look->shards));
	look->direct = arena_array(&look->arena, task->record.shard_count + 1, sizeof(*look->direct));
	look->effects_ended = task->effects_ended;
	look->seen = (struct observation){ .at_ms = task->engine->now_ms, .wall_ms = task->engine->wall_ms,
					   .looks = look->shards };
	for (size_t i = 0; i < task->record.shard_count; i++)
		look->shards[i].trouble = look->direct[i].trouble = "";
	task->stage = STAGE_LOOK;
	engine_emit_rpc(task, VTCTLD_FIND_ALL_SHARDS, FOR_TOPOLOGY, 0, &look->arena);
	look->probing = down;
	if (!down)
		ask_rest(task, look);
}

void observe_confirm(struct task *task)
{
	task->stage = STAGE_CONFIRM;
	engine_emit_rpc(task, VTCTLD_FIND_ALL_SHARDS, FOR_CONFIRM, 0, &task_look(task)->arena);
}

static size_t shard_index(const struct change *record, const char *name)
{
	size_t i = 0;

	while (i < record->shard_count && strcmp(record->shards[i].name, name) != 0)
		i++;
	return i;
}

/* How far a row is, so that of two for one shard the least advanced is shown. */
static int advance(const struct migration *row)
{
	static const int order[] = {
		[MIGRATION_CANCELLED] = 0, [MIGRATION_FAILED] = 1,  [MIGRATION_QUEUED] = 2, [MIGRATION_READY] = 3,
		[MIGRATION_RUNNING] = 4,   [MIGRATION_COMPLETE] = 5,
	};

	return row->status >= 0 && row->status <= MIGRATION_FAILED ? order[row->status] : 0;
}

static void take_rows(struct task *task, struct look *look)
{
	for (size_t i = 0; i < look->rows.migrations.count; i++) {
		const struct migration *row = &look->rows.migrations.items[i];
		size_t shard = shard_index(&task->record, row->shard);

		if (strcasecmp(row->uuid, task->record.uuid) != 0 || shard == task->record.shard_count) {
			look->seen.foreign_rows++;
			look->seen.stray |= strcasecmp(row->uuid, task->record.uuid) == 0 && migration_is_live(row);
			continue;
		}
		if (look->shards[shard].state == ROW_UNKNOWN) {
			look->shards[shard].state = ROW_ONE;
			look->shards[shard].row = *row;
			continue;
		}
		look->shards[shard].state = ROW_DOUBLE;
		if (advance(row) < advance(&look->shards[shard].row))
			look->shards[shard].row = *row;
	}
}

const struct topo_shard *observe_shard(const struct look *look, const char *name)
{
	for (size_t i = 0; i < look->seen.topo_count; i++)
		if (strcmp(look->seen.topo[i].name, name) == 0)
			return &look->seen.topo[i];
	return NULL;
}

/* Asks the primaries of the shards that were not shown exactly once; of all if the last look needed that. */
static void ask_primaries(struct task *task, struct look *look)
{
	const char *sql = NULL;

	look->direct_sent = true;
	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct topo_shard *shard = observe_shard(look, task->record.shards[i].name);
		struct request *request;

		if (look->shards[i].state == ROW_ONE && !task->prefer_direct)
			continue;
		if (!shard || !shard->has_primary) {
			look->direct[i].trouble = shard ? "the shard record has no primary" : "the topology has no such shard";
			continue;
		}
		if (!sql)
			sql = migration_select(&look->arena, task->record.uuid, NULL);
		request = engine_emit_rpc(task, VTCTLD_EXECUTE_FETCH_AS_DBA, FOR_DIRECT, i, &look->arena);
		request->rpc.sql = sql;
		request->rpc.limit = ROWS_LIMIT;
		request->rpc.tablet = shard->primary;
	}
}

static const char *primary_trouble(struct task *task, struct look *look, size_t shard, const char *text)
{
	const struct topo_shard *topo = observe_shard(look, task->record.shards[shard].name);
	char alias[ALIAS_TEXT_SIZE];

	tablet_alias_format(&topo->primary, alias);
	for (size_t i = 0; i < look->seen.tablet_count; i++)
		if (tablet_alias_equal(&look->seen.tablets[i].alias, &topo->primary) && look->seen.tablets[i].shutdown_s)
			return arena_printf(&look->arena, "its primary %s was shut down; start it again, or reparent the shard", alias);
	return arena_printf(&look->arena, "its primary %s does not answer (%.300s)", alias, text);
}

static void on_direct(struct task *task, struct look *look, size_t shard, const struct vtctld_reply *reply)
{
	struct shard_look *out = &look->direct[shard];
	struct migration *rows;
	struct error error;
	size_t count, ours = 0;

	if (reply->outcome != VTCTLD_DONE) {
		out->silent = true;
		out->trouble = reply->text;
		return;
	}
	if (migration_from_result(&look->arena, &reply->result, task->record.shards[shard].name, &rows, &count, &error) < 0) {
		out->trouble = arena_strdup(&look->arena, error.text);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(rows[i].uuid, task->record.uuid) != 0)
			continue;
		out->row = rows[i];
		ours++;
	}
	out->direct = true;
	out->state = ours == 0 ? ROW_ABSENT : ours == 1 ? ROW_ONE : ROW_DOUBLE;
}

/* A primary's own answer beats the keyspace-wide one, but a second claim to a shard is not settled by
 * asking one of the two. */
static void merge_direct(struct shard_look *look, const struct shard_look *direct)
{
	if (look->state == ROW_DOUBLE) {
		if (direct->state == ROW_ONE)
			look->row = direct->row;
		return;
	}
	if (direct->direct)
		*look = *direct;
	else
		look->trouble = direct->trouble;
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 0x100000001b3ULL;
}

/* Whether anything moved since the last look decides how soon the next one is. */
static uint64_t look_digest(const struct task *task, const struct look *look)
{
	uint64_t digest = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < task->record.shard_count; i++) {
		const struct shard_look *shard = &look->shards[i];

		digest = mix(digest, shard->state);
		if (shard->state != ROW_ONE)
			continue;
		digest = mix(digest, (uint64_t)shard->row.status);
		digest = mix(digest, (uint64_t)shard->row.rows_copied);
		digest = mix(digest, shard->row.ready_to_complete + 2u * shard->row.postpone_completion);
		digest = mix(digest, (uint64_t)shard->row.cutover_attempts);
	}
	return digest;
}

/* When all has been read, so that a tablet's record can tell more than its silence. */
static void explain_silence(struct task *task, struct look *look)
{
	for (size_t i = 0; i < task->record.shard_count; i++)
		if (look->direct[i].silent)
			look->direct[i].trouble = primary_trouble(task, look, i, look->direct[i].trouble);
}

/* Without the topology no primary could be asked: what failed there is why nothing is known here. */
static void blame_topology(struct task *task, struct look *look)
{
	for (size_t i = 0; i < task->record.shard_count; i++)
		if (look->shards[i].state == ROW_UNKNOWN)
			look->direct[i].trouble = look->topology.text;
}

static void finish(struct task *task, struct look *look)
{
	uint64_t digest = look_digest(task, look);

	task->engine->looks--;
	if (!task->ever_seen && look->topology.outcome != VTCTLD_DONE) {
		open_unreachable(task, &look->topology);
		return;
	}
	task->ever_seen = true;
	if (!look->seen.topology_known)
		blame_topology(task, look);
	explain_silence(task, look);
	for (size_t i = 0; i < task->record.shard_count; i++)
		merge_direct(&look->shards[i], &look->direct[i]);
	task->prefer_direct = look->rows.outcome != VTCTLD_DONE;
	if (digest != task->look_digest || !task->have_look)
		task->quiet_since_ms = task->engine->now_ms;
	task->look_digest = digest;
	task->failed_looks = look->seen.topology_known ? 0 : task->failed_looks + 1;
	look->finished_ms = task->engine->now_ms;
	task->current = !task->current;
	task->have_look = true;
	task->verified_now = false;
	if (task->resident)
		resident_looked(task);
	decide(task);
}

void observe_reply(struct task *task, enum purpose purpose, size_t index, const struct reply *reply)
{
	struct look *look = &task->looks[!task->current];
	const struct vtctld_reply *rpc = &reply->rpc;

	if (task->stage == STAGE_CONFIRM && purpose == FOR_CONFIRM) {
		look = task_look(task);
		look->confirm_tried = true;
		look->seen.confirmed_known = rpc->outcome == VTCTLD_DONE;
		look->seen.confirm = rpc->shards.items;
		look->seen.confirm_count = rpc->shards.count;
		decide(task);
		return;
	}
	if (task->stage != STAGE_LOOK)
		return;
	switch (purpose) {
	case FOR_TOPOLOGY:
		look->topology = *rpc;
		look->topology_done = true;
		look->seen.topology_known = rpc->outcome == VTCTLD_DONE;
		if (rpc->outcome == VTCTLD_DONE) {
			look->seen.topo = rpc->shards.items;
			look->seen.topo_count = rpc->shards.count;
			if (look->probing)
				ask_rest(task, look);
			look->probing = false;
		}
		break;
	case FOR_TABLETS:
		if (rpc->outcome == VTCTLD_DONE) {
			look->seen.tablets = rpc->tablets.items;
			look->seen.tablet_count = rpc->tablets.count;
		}
		break;
	case FOR_ROWS:
		look->rows = *rpc;
		look->rows_done = true;
		if (rpc->outcome == VTCTLD_DONE)
			take_rows(task, look);
		break;
	default:
		on_direct(task, look, index, rpc);
		break;
	}
	if (!look->direct_sent && look->seen.topology_known && (look->rows_done || task->prefer_direct))
		ask_primaries(task, look);
	if (task->waiting == 0)
		finish(task, look);
}
