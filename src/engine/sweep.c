/*
 * One observation for all changes of a keyspace: the newest rows of every shard, and now and then the
 * topology. It decides nothing. It tells which residents moved, and those take a look of their own, so what
 * follows from a sweep that is partial, late or wrong is a look too many.
 */
#include "engine_private.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SLACK 32	     /* beside our changes: foreign ones, and those that just ended */
#define ROWS_MAX 16000	     /* of all shards together in one reply: half of its 16 MiB; then comes another page */
#define TOPOLOGY_MS 60000    /* how old it may be for a sweep; a decision reads its own */
#define SWEEPS_MAX 4	     /* under way at one vtctld; each holds a reply of some megabytes */
#define BUSY_MS 50

struct sweep {
	struct arena arena;
	struct vtctld_reply rows, topology;
	bool rows_asked, topology_asked, begun;
	bool again; /* soon, when it has ended */
	size_t skip, limit; /* of the page, for each shard */
	unsigned waiting;
	unsigned server;
};

static void forget_shards(struct keyspace *keyspace)
{
	for (size_t i = 0; i < keyspace->shard_count; i++)
		free(keyspace->shard_names[i]);
	free(keyspace->shard_names);
	keyspace->shard_names = NULL;
	keyspace->shard_count = 0;
}

void sweep_free(struct keyspace *keyspace)
{
	if (keyspace->sweep) {
		arena_release(&keyspace->sweep->arena);
		free(keyspace->sweep);
	}
	keyspace->sweep = NULL;
	forget_shards(keyspace);
}

/* ---- Asking ---- */

static bool sweeps_help(const struct resident *resident)
{
	return resident->change.phase == PHASE_SUBMITTED;
}

static size_t helped(const struct keyspace *keyspace)
{
	size_t count = 0;

	for (size_t i = 0; i < keyspace->resident_count; i++)
		count += sweeps_help(keyspace->residents[i]);
	return count;
}

static void ask_rows(struct keyspace *keyspace, struct sweep *sweep)
{
	struct request *request = engine_emit_rpc_for(keyspace, VTCTLD_GET_SCHEMA_MIGRATIONS, FOR_SWEEP, &sweep->arena);
	size_t wanted = keyspace->resident_count + ROWS_SLACK, most = ROWS_MAX / (keyspace->shard_count + 1) + 1;

	sweep->limit = wanted < most ? wanted : most;
	if (keyspace->resident_count == 1 && sweep->skip == 0) {
		request->rpc.uuid = arena_strdup(&sweep->arena, keyspace->residents[0]->change.uuid);
		sweep->limit = wanted;
	}
	request->rpc.limit = sweep->limit;
	request->rpc.skip = sweep->skip;
	sweep->rows_asked = true;
	sweep->waiting++;
}

void sweep_fire(struct timer *timer)
{
	struct keyspace *keyspace = container_of(timer, struct keyspace, sweep_timer);
	struct engine *engine = keyspace->engine;
	/* alone, and the rows behind it: it tells whether vtctld is back, and how many shards will answer */
	bool topology_first = server_is_down(engine, keyspace->server) || !keyspace->topology_at_ms;
	struct sweep *sweep;
	int64_t wait_ms;

	if (engine->stopping || keyspace->sweep || !keyspace_leads(keyspace) || helped(keyspace) == 0)
		return;
	wait_ms = server_wait_ms(engine, keyspace->server);
	if (wait_ms == 0 && engine->servers[keyspace->server].sweeps >= SWEEPS_MAX)
		wait_ms = BUSY_MS;
	if (wait_ms) {
		timer_set(engine, timer, engine->now_ms + wait_ms);
		return;
	}
	sweep = calloc(1, sizeof(*sweep));
	if (!sweep)
		abort();
	arena_init(&sweep->arena, 0);
	sweep->server = keyspace->server;
	keyspace->sweep = sweep;
	engine->servers[sweep->server].sweeps++;
	engine->counters.sweeps++;
	if (topology_first || engine->now_ms - keyspace->topology_at_ms >= TOPOLOGY_MS) {
		engine_emit_rpc_for(keyspace, VTCTLD_FIND_ALL_SHARDS, FOR_SWEEP_TOPOLOGY, &sweep->arena);
		sweep->topology_asked = true;
		sweep->waiting++;
	}
	if (!topology_first)
		ask_rows(keyspace, sweep);
}

void sweep_hurry(struct keyspace *keyspace)
{
	if (keyspace->sweep)
		keyspace->sweep->again = true;
	else
		timer_hurry(keyspace->engine, &keyspace->sweep_timer);
}

/* ---- Topology ---- */

size_t sweep_shard(const struct keyspace *keyspace, const char *name)
{
	size_t low = 0, high = keyspace->shard_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(keyspace->shard_names[middle], name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return keyspace->shard_count;
}

static bool same_shards(const struct keyspace *keyspace, const struct topo_shard *shards, size_t count)
{
	if (count != keyspace->shard_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(shards[i].name, keyspace->shard_names[i]) != 0)
			return false;
	return true;
}

/* Where the shards are others than before, a look of its own tells each change what that means. */
void sweep_topology(struct keyspace *keyspace, const struct topo_shard *shards, size_t count)
{
	bool first = keyspace->topology_at_ms == 0;

	keyspace->topology_at_ms = keyspace->engine->now_ms;
	if (same_shards(keyspace, shards, count))
		return;
	forget_shards(keyspace);
	keyspace->shard_count = count;
	keyspace->shard_names = calloc(count + 1, sizeof(*keyspace->shard_names));
	if (!keyspace->shard_names)
		abort();
	for (size_t i = 0; i < count; i++) {
		keyspace->shard_names[i] = strdup(shards[i].name);
		if (!keyspace->shard_names[i])
			abort();
	}
	for (size_t i = 0; i < keyspace->resident_count; i++) {
		free(keyspace->residents[i]->shards);
		keyspace->residents[i]->shards = NULL;
		keyspace->residents[i]->shard_count = 0;
		if (!first)
			resident_want(keyspace->residents[i]);
	}
}

/* ---- Rows ---- */

void sweep_brief(struct shard_brief *brief, const struct migration *row)
{
	double percent = row->progress >= 0 && row->progress <= 100 ? row->progress : 0;

	*brief = (struct shard_brief){
		.status = migration_status_is_known(row->status) ? (uint8_t)row->status : MIGRATION_UNKNOWN,
		.progress = (uint8_t)percent,
		.held = row->postpone_completion,
		.ready = migration_is_ready(row),
		.eta_s = row->eta_s < 0 || row->eta_s > INT32_MAX ? -1 : (int32_t)row->eta_s,
	};
}

void sweep_forget(struct resident *resident)
{
	size_t count = resident->keyspace->shard_count;

	resident->marks = resident->ready_rows = 0;
	resident->odd = false;
	if (resident->shard_count != count) {
		free(resident->shards);
		resident->shards = calloc(count ? count : 1, sizeof(*resident->shards));
		if (!resident->shards)
			abort();
		resident->shard_count = (uint32_t)count;
	}
	if (count)
		memset(resident->shards, 0, count * sizeof(*resident->shards));
}

/*
 * Rows come shard by shard, and those of one change share the text of its uuid (wire/rows.c): what was found
 * once is found again by its address. Without it comparing texts would be a third of a sweep.
 */
#define KNOWN_COUNT 1024

struct reader {
	struct keyspace *keyspace;
	size_t shard; /* of the last row */
	struct {
		const char *uuid;
		struct resident *resident;
	} known[KNOWN_COUNT];
};

static struct resident *resident_of(struct reader *reader, const char *uuid)
{
	size_t slot = (size_t)(((uintptr_t)uuid >> 3) * 0x9e3779b1u) % KNOWN_COUNT;

	if (reader->known[slot].uuid != uuid) {
		reader->known[slot].uuid = uuid;
		reader->known[slot].resident = resident_find(reader->keyspace, uuid);
	}
	return reader->known[slot].resident;
}

static void take_row(struct reader *reader, const struct migration *row)
{
	const struct keyspace *keyspace = reader->keyspace;
	struct resident *resident = resident_of(reader, row->uuid);
	struct shard_brief *brief;

	if (!resident || !sweeps_help(resident))
		return;
	if (reader->shard >= keyspace->shard_count || strcmp(keyspace->shard_names[reader->shard], row->shard) != 0)
		reader->shard = sweep_shard(keyspace, row->shard);
	if (reader->shard >= resident->shard_count || resident->shards[reader->shard].status != MIGRATION_UNKNOWN) {
		resident->odd = true; /* no such shard, or it answered twice */
		return;
	}
	brief = &resident->shards[reader->shard];
	sweep_brief(brief, row);
	resident->marks++;
	resident->ready_rows += brief->ready;
	resident->odd |= !migration_is_live(row) || !row->postpone_completion || brief->status == MIGRATION_UNKNOWN ||
			 strcmp(row->table, resident->change.table) != 0;
}

/* The facts that the rows of a quiet change are, for the rule that says what it waits for. */
static void say_what_for(struct resident *resident)
{
	const struct live_change *change = &resident->change;
	uint32_t facts = FACT_LEADER | FACT_SHARDS_KNOWN | FACT_ALL_SEEN | FACT_ALL_ROWS | FACT_ANY_HELD | FACT_ANY_LIVE;

	facts |= resident->ready_rows == change->shard_count ? FACT_ALL_READY : 0;
	facts |= change->gate == GATE_AUTO ? FACT_GATE_OPEN : 0;
	facts |= resident->keyspace->engine->wall_ms >= change->deadline_at_ms ? FACT_LATE : 0;
	resident_waits(resident, rules_next(change->phase, facts)->number, NULL);
}

/*
 * A look of its own would find every shard's row, live and held, and not all ready behind an open gate: it would
 * do nothing but wait. Everything else is for that look to judge.
 */
static bool is_quiet(const struct resident *resident)
{
	const struct live_change *change = &resident->change;

	if (change->cancel_asked || resident->odd || resident->marks != change->shard_count)
		return false;
	return resident->ready_rows != change->shard_count || change->gate == GATE_MANUAL ||
	       resident->keyspace->engine->wall_ms >= change->deadline_at_ms;
}

/* How soon this one wants to be seen again. */
static int64_t interval_ms(struct resident *resident)
{
	struct engine *engine = resident->keyspace->engine;
	const struct progress progress = resident_progress(resident);
	int64_t quiet_ms = resident->rule_since_ms ? engine->now_ms - resident->rule_since_ms : 0;

	if (resident->change.gate == GATE_MANUAL && resident->ready_rows == resident->change.shard_count)
		return POLL_MAX_MS;
	/* rows move all the time while they copy: that is no quiet */
	return schedule_poll(engine->config.poll_interval_ms, resident->change.phase, 0, &progress,
			     progress.worst_eta_s > 0 ? 0 : quiet_ms, engine_chance(engine));
}

static void begin(struct keyspace *keyspace)
{
	keyspace->sweep->begun = true;
	for (size_t i = 0; i < keyspace->resident_count; i++)
		if (sweeps_help(keyspace->residents[i]))
			sweep_forget(keyspace->residents[i]);
}

static void take_page(struct keyspace *keyspace, const struct vtctld_reply *reply)
{
	struct reader reader = { .keyspace = keyspace };

	for (size_t i = 0; i < reply->migrations.count; i++)
		take_row(&reader, &reply->migrations.items[i]);
}

/* All pages are there: what does that mean for each? */
static void judge(struct keyspace *keyspace)
{
	int64_t next_ms = POLL_MAX_MS, one_ms;

	keyspace->observed_at_ms = keyspace->engine->wall_ms;
	keyspace->failed_sweeps = 0;
	for (size_t i = 0; i < keyspace->resident_count; i++) {
		struct resident *resident = keyspace->residents[i];

		if (!sweeps_help(resident))
			continue;
		if (resident->marks)
			resident->seen_at_ms = keyspace->engine->wall_ms;
		if (resident->task)
			continue;
		if (is_quiet(resident))
			say_what_for(resident);
		else
			resident_want(resident);
		one_ms = interval_ms(resident);
		next_ms = one_ms < next_ms ? one_ms : next_ms;
	}
	timer_set(keyspace->engine, &keyspace->sweep_timer, keyspace->engine->now_ms + next_ms);
}

/* GetSchemaMigrations fails as a whole for one dead primary: each change asks the primaries itself. */
static void rows_failed(struct keyspace *keyspace)
{
	struct engine *engine = keyspace->engine;
	bool down = server_is_down(engine, keyspace->server);

	for (size_t i = 0; !down && i < keyspace->resident_count; i++)
		if (sweeps_help(keyspace->residents[i]))
			resident_want(keyspace->residents[i]);
	timer_set(engine, &keyspace->sweep_timer,
		  engine->now_ms + schedule_backoff(2000, POLL_MAX_MS, keyspace->failed_sweeps++, engine_chance(engine)));
}

static void end(struct keyspace *keyspace)
{
	struct sweep *sweep = keyspace->sweep;

	if (sweep->again)
		timer_hurry(keyspace->engine, &keyspace->sweep_timer);
	keyspace->engine->servers[sweep->server].sweeps--;
	keyspace->sweep = NULL;
	arena_release(&sweep->arena);
	free(sweep);
}

/* Return: true, another page was asked for. */
static bool go_on(struct keyspace *keyspace, struct sweep *sweep)
{
	if (sweep->rows.migrations.count == 0 || sweep->skip + sweep->limit >= keyspace->resident_count + ROWS_SLACK)
		return false;
	arena_release(&sweep->arena);
	sweep->skip += sweep->limit;
	ask_rows(keyspace, sweep);
	return true;
}

static void turn(struct keyspace *keyspace)
{
	struct sweep *sweep = keyspace->sweep;
	struct engine *engine = keyspace->engine;

	if (sweep->topology_asked && sweep->topology.outcome == VTCTLD_DONE)
		sweep_topology(keyspace, sweep->topology.shards.items, sweep->topology.shards.count);
	sweep->topology_asked = false;
	if (engine->stopping || !keyspace->leader) {
		/* too late: what was seen is another's to judge */
	} else if (sweep->rows_asked && sweep->rows.outcome == VTCTLD_DONE && keyspace->topology_at_ms) {
		if (!sweep->begun)
			begin(keyspace);
		take_page(keyspace, &sweep->rows);
		if (go_on(keyspace, sweep))
			return;
		judge(keyspace);
	} else if (!sweep->rows_asked && !server_is_down(engine, keyspace->server) && keyspace->topology_at_ms) {
		ask_rows(keyspace, sweep);
		return;
	} else {
		rows_failed(keyspace);
	}
	end(keyspace);
}

void sweep_reply(struct keyspace *keyspace, enum purpose purpose, const struct reply *reply)
{
	struct sweep *sweep = keyspace->sweep;

	if (purpose == FOR_SWEEP)
		sweep->rows = reply->rpc;
	else
		sweep->topology = reply->rpc;
	if (--sweep->waiting == 0)
		turn(keyspace);
}
