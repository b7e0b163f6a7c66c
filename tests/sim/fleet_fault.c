/* Faults of single calls, and everything that happens to the fleet from outside. */
#include "fleet_model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define START_MS 500	  /* until a started vttablet answers */
#define LEFTOVER_MS 10000 /* after a restart the row still reads ready (measured) */
#define STREAM_MS 30000	  /* after a restart until copies go on (measured) */
#define MOVING_EFFECTS_MS 500
#define MOVING_READS_MS 200
#define MINUTE_MS 60000

/* ---- Faults ---- */

const char *fault_text(int code)
{
	static const char *const texts[17] = {
		[1] = "context canceled",
		[2] = "rpc error: code = Unknown desc = unknown error",
		[3] = "invalid argument",
		[4] = "context deadline exceeded",
		[5] = "node doesn't exist",
		[7] = "auth failure: caller \"ctl\" provided invalid credentials",
		[8] = "grpc: received message larger than max",
		[10] = "aborted",
		[12] = "unknown method for service vtctlservice.Vtctld",
		[13] = "Received RST_STREAM with error code 2",
		[14] = "error reading from server: EOF",
		[16] = "username and password must be provided",
	};

	return code > 0 && code < 17 && texts[code] != NULL ? texts[code] : "";
}

void fleet_fault(struct fleet *fleet, const struct fault *fault)
{
	struct armed_fault *armed = calloc(1, sizeof(*armed)), **link = &fleet->faults;

	if (armed == NULL)
		abort();
	armed->fault = *fault;
	armed->fault.shards = arena_strdup(&fleet->memory, fault->shards);
	armed->fault.text = arena_strdup(&fleet->memory, fault->text);
	armed->fault.missing = arena_strdup(&fleet->memory, fault->missing);
	armed->fault.doubled = arena_strdup(&fleet->memory, fault->doubled);
	armed->fault.unknown = arena_strdup(&fleet->memory, fault->unknown);
	if (armed->fault.nth == 0)
		armed->fault.nth = 1;
	if (armed->fault.times == 0)
		armed->fault.times = 1;
	/* Partial effects with no status would be a good answer that lies: give it the usual one. */
	if (armed->fault.shards != NULL && armed->fault.code == CODE_OK && !armed->fault.drop)
		armed->fault.code = CODE_UNKNOWN;
	while (*link != NULL)
		link = &(*link)->next;
	*link = armed;
}

size_t fleet_faults_left(const struct fleet *fleet)
{
	size_t left = 0;

	for (const struct armed_fault *armed = fleet->faults; armed != NULL; armed = armed->next)
		left += armed->fired < armed->fault.times ? 1 : 0;
	return left;
}

void call_take_fault(struct fleet *fleet, struct call *call)
{
	for (struct armed_fault *armed = fleet->faults; armed != NULL; armed = armed->next) {
		if (armed->fault.method != call->request.method || armed->fired == armed->fault.times)
			continue;
		armed->seen++;
		if (armed->seen < armed->fault.nth || call->has_fault)
			continue;
		armed->fired++;
		if (armed->fault.fired != NULL)
			++*armed->fault.fired;
		call->fault = armed->fault;
		call->has_fault = true;
	}
}

/* ---- Tablets ---- */

static void tablet_open(struct fleet *fleet, struct shard *shard)
{
	shard->minute_ms = fleet->now_ms + MINUTE_MS; /* its ticker starts now */
	shard_event(fleet, shard);
}

/* What is due after a start: it answers; later its leftovers of readiness go. */
void shard_moments(struct fleet *fleet, struct shard *shard)
{
	struct tablet *primary = shard->primary;

	if (primary->life == LIFE_STARTING && primary->ready_ms <= fleet->now_ms) {
		primary->life = LIFE_UP;
		tablet_open(fleet, shard);
		fleet_poke(fleet);
	}
	if (primary->life != LIFE_UP || shard->leftover_ms > fleet->now_ms)
		return;
	shard->leftover_ms = NEVER;
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i]->now.status == MIGRATION_RUNNING && !shard->rows[i]->is_frozen)
			shard->rows[i]->now.ready_to_complete = false;
}

static struct tablet *tablet_dead_old(struct shard *shard)
{
	for (struct tablet *t = shard->tablets; t != NULL; t = t->next)
		if (t->blinds)
			return t;
	return NULL;
}

static void tablet_start(struct fleet *fleet, struct shard *shard)
{
	struct tablet *primary = shard->primary, *old = tablet_dead_old(shard);

	if (primary->life == LIFE_UP && old != NULL) { /* comes back as a replica */
		old->life = LIFE_UP;
		old->type = TABLET_REPLICA;
		old->blinds = false;
		old->start_s = fleet_wall_s(fleet);
		return;
	}
	shard_interrupt(fleet, shard);
	primary->life = LIFE_STARTING;
	primary->ready_ms = fleet->now_ms + START_MS;
	primary->start_s = fleet_wall_s(fleet);
	primary->shutdown_s = 0;
	shard->opened_ms = fleet->now_ms;
	shard->leftover_ms = fleet->now_ms + LEFTOVER_MS;
	shard->stream_ms = fleet->now_ms + STREAM_MS;
}

bool fleet_tablet(struct fleet *fleet, const char *name, enum tablet_event event)
{
	struct shard *shard = fleet_find_shard(fleet, name);

	if (shard == NULL)
		return false;
	fleet_touch(fleet);
	if (event == TABLET_START) {
		tablet_start(fleet, shard);
	} else if (event == TABLET_PAUSE || event == TABLET_RESUME) {
		shard_copy(fleet, shard); /* nothing is copied in between; a cut-over goes on where it was */
		if (event == TABLET_PAUSE)
			shard->primary->life = LIFE_PAUSED;
		else if (shard->primary->life == LIFE_PAUSED)
			shard->primary->life = LIFE_UP;
	} else {
		shard_interrupt(fleet, shard);
		shard->primary->life = event == TABLET_STOP ? LIFE_STOPPED : LIFE_DEAD;
		shard->primary->shutdown_s = event == TABLET_STOP ? fleet_wall_s(fleet) : 0;
	}
	fleet_poke(fleet);
	return true;
}

/* ---- Reparents ---- */

bool fleet_reparent(struct fleet *fleet, const char *name, bool emergency)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct tablet *old;

	if (shard == NULL)
		return false;
	fleet_touch(fleet);
	old = shard->primary;
	shard_interrupt(fleet, shard);
	shard->primary = tablet_new(fleet, shard);
	shard->term_start_s = fleet_wall_s(fleet);
	shard->moved_ms = shard->opened_ms = fleet->now_ms;
	shard->stream_ms = fleet->now_ms;
	shard->leftover_ms = NEVER;
	old->type = emergency ? TABLET_UNKNOWN : TABLET_REPLICA;
	if (emergency) {
		old->life = LIFE_DEAD;
		old->blinds = true; /* asked by its record, although that is shown as UNKNOWN */
	} else {
		shard->moving_ms = fleet->now_ms;
	}
	tablet_open(fleet, shard);
	fleet_poke(fleet);
	return true;
}

bool shard_hides_from_reads(const struct fleet *fleet, const struct shard *shard)
{
	return shard->moving_ms != NEVER && fleet->now_ms < shard->moving_ms + MOVING_READS_MS;
}

const char *shard_refuses_effects(const struct fleet *fleet, const struct shard *shard)
{
	static const char *const texts[] = { "online DDL is disabled",
					     "operation not allowed in state SHUTTING_DOWN",
					     "operation not allowed in state NOT_SERVING" };
	int64_t since_ms = fleet->now_ms - shard->moving_ms;

	if (shard->moving_ms == NEVER || since_ms >= MOVING_EFFECTS_MS)
		return NULL;
	return texts[since_ms * 3 / MOVING_EFFECTS_MS];
}

void fleet_forget_dead(struct fleet *fleet, const char *name)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct tablet **link;

	if (shard == NULL)
		return;
	for (link = &shard->tablets; *link != NULL;)
		if ((*link)->blinds)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	fleet_poke(fleet);
}

void fleet_vtctld(struct fleet *fleet, bool up)
{
	fleet_touch(fleet);
	fleet->vtctld_is_up = up;
	if (!up)
		fleet_end_calls(fleet);
}

/* ---- Shards ---- */

static int shard_compare(const void *a, const void *b)
{
	return strcmp((*(struct shard *const *)a)->name, (*(struct shard *const *)b)->name);
}

bool fleet_remove_shard(struct fleet *fleet, const char *name)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	size_t capacity, kept = 0;

	if (shard == NULL)
		return false;
	fleet_touch(fleet);
	for (size_t i = 0; i < fleet->shard_count; i++)
		if (fleet->shards[i] != shard)
			fleet->shards[kept++] = fleet->shards[i];
	fleet->shard_count = kept;
	capacity = fleet->removed_count;
	fleet->removed = array_grow(fleet->removed, fleet->removed_count, &capacity, sizeof(struct shard *));
	fleet->removed[fleet->removed_count++] = shard;
	return true;
}

bool fleet_add_shard(struct fleet *fleet, const char *name, bool serving)
{
	size_t capacity = fleet->shard_count;

	if (fleet_find_shard(fleet, name) != NULL)
		return false;
	fleet_touch(fleet);
	fleet->shards = array_grow(fleet->shards, fleet->shard_count, &capacity, sizeof(struct shard *));
	fleet->shards[fleet->shard_count++] = shard_new(fleet, name, serving);
	qsort(fleet->shards, fleet->shard_count, sizeof(struct shard *), shard_compare);
	return true;
}

/* Bounds of a key range as 64 bits; the end of the last one is 0. */
static uint64_t range_bound(const char *hex, size_t length)
{
	uint64_t bound = 0;

	for (size_t i = 0; i < 16; i++)
		bound = bound << 4 | (uint64_t)(i >= length ? 0 : hex[i] >= 'a' ? hex[i] - 'a' + 10 : hex[i] - '0');
	return bound;
}

static void range_text(uint64_t bound, char ret[17])
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;

	for (; bound != 0; bound <<= 8) {
		ret[length++] = digits[bound >> 60];
		ret[length++] = digits[bound >> 56 & 0xf];
	}
	ret[length] = '\0';
}

bool fleet_split(struct fleet *fleet, const char *name)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	const char *dash = shard != NULL ? strchr(name, '-') : NULL;
	uint64_t start, middle;
	char text[17];

	if (dash == NULL || fleet->split[0] != NULL)
		return false;
	start = range_bound(name, (size_t)(dash - name));
	middle = range_bound(dash + 1, strlen(dash + 1)) - start; /* of all: 0 - 0 */
	middle = start + (middle != 0 ? middle / 2 : UINT64_C(1) << 63);
	range_text(middle, text);
	fleet->split[0] = shard->name;
	fleet->split[1] = arena_printf(&fleet->memory, "%.*s-%s", (int)(dash - name), name, text);
	fleet->split[2] = arena_printf(&fleet->memory, "%s-%s", text, dash + 1);
	for (size_t i = 1; i <= 2; i++) {
		struct shard *child;

		(void)fleet_add_shard(fleet, fleet->split[i], false);
		child = fleet_find_shard(fleet, fleet->split[i]);
		child->schema.count = 0;
		for (size_t t = 0; t < shard->schema.count; t++)
			schema_put(&child->schema, shard->schema.tables[t]);
	}
	return true;
}

void fleet_end_split(struct fleet *fleet, bool switched)
{
	struct shard *child;

	if (fleet->split[0] == NULL)
		return;
	for (size_t i = 1; i <= 2; i++)
		if (!switched)
			(void)fleet_remove_shard(fleet, fleet->split[i]);
		else if ((child = fleet_find_shard(fleet, fleet->split[i])) != NULL)
			child->is_serving = true;
	if (switched)
		(void)fleet_remove_shard(fleet, fleet->split[0]);
	fleet->split[0] = NULL;
}

bool fleet_block_cutover(struct fleet *fleet, const char *name, bool blocked)
{
	struct shard *shard = fleet_find_shard(fleet, name);

	if (shard == NULL)
		return false;
	fleet_touch(fleet);
	shard->is_blocked = blocked;
	if (!blocked && shard->cutover.row != NULL && shard->cutover.waits_for_lock)
		shard->cutover.step_ms = fleet->now_ms;
	return true;
}

bool fleet_hold_copy(struct fleet *fleet, const char *name, bool held)
{
	struct shard *shard = fleet_find_shard(fleet, name);

	if (shard == NULL)
		return false;
	fleet_touch(fleet);
	shard_copy(fleet, shard);
	shard->is_copy_held = held;
	return true;
}

bool fleet_unready(struct fleet *fleet, const char *name, bool unready)
{
	struct shard *shard = fleet_find_shard(fleet, name);

	if (shard == NULL)
		return false;
	shard->is_unready = unready;
	for (size_t i = 0; i < shard->row_count; i++)
		if (unready && shard->rows[i]->now.status == MIGRATION_RUNNING)
			shard->rows[i]->now.ready_to_complete = false;
	return true;
}

bool fleet_throttle(struct fleet *fleet, const char *name, bool held)
{
	struct shard *shard = fleet_find_shard(fleet, name);

	if (shard == NULL)
		return false;
	shard->is_throttled = held;
	return true;
}

bool fleet_exec(struct fleet *fleet, const char *name, const char *ddl)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct mysql_error error = { 0 };
	struct statement statement;

	if (shard == NULL)
		return false;
	statement_parse(&fleet->memory, arena_strdup(&fleet->memory, ddl), &statement);
	return schema_apply(&shard->schema, &statement, &error);
}

/* ---- Other people ---- */

typedef bool row_act_fn(struct fleet *fleet, struct shard *shard, struct row *row);

static void fleet_act(struct fleet *fleet, const char *uuid, const char *name, row_act_fn *act)
{
	fleet_touch(fleet);
	for (size_t i = 0; i < fleet->shard_count; i++) {
		struct row *row = shard_find_row(fleet->shards[i], uuid);

		if (row != NULL && (name == NULL || strcmp(name, fleet->shards[i]->name) == 0))
			(void)act(fleet, fleet->shards[i], row);
	}
}

void fleet_cancel(struct fleet *fleet, const char *uuid, const char *shard)
{
	fleet_act(fleet, uuid, shard, row_cancel);
}

void fleet_complete(struct fleet *fleet, const char *uuid, const char *shard)
{
	fleet_act(fleet, uuid, shard, row_release);
}

void fleet_retry(struct fleet *fleet, const char *uuid, const char *shard)
{
	fleet_act(fleet, uuid, shard, row_retry);
}

void fleet_cleanup(struct fleet *fleet, const char *uuid, const char *shard)
{
	fleet_act(fleet, uuid, shard, row_cleanup);
}

void fleet_lose_row(struct fleet *fleet, const char *uuid, const char *name)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct row *row = shard != NULL ? shard_find_row(shard, uuid) : NULL;
	size_t kept = 0;

	if (row == NULL)
		return;
	(void)fleet_reparent(fleet, name, true);
	for (size_t i = 0; i < shard->row_count; i++)
		if (shard->rows[i] != row)
			shard->rows[kept++] = shard->rows[i];
	shard->row_count = kept;
}

void fleet_fail(struct fleet *fleet, const char *uuid, const char *name, const char *message)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct row *row = shard != NULL ? shard_find_row(shard, uuid) : NULL;

	fleet_touch(fleet);
	if (row != NULL && row_is_live(row))
		row_end(fleet, shard, row, MIGRATION_FAILED,
			message != NULL ? message : "vreplication: terminal error");
}

void fleet_rerun(struct fleet *fleet, const char *uuid, const char *name)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	struct row *row = shard != NULL ? shard_find_row(shard, uuid) : NULL;

	fleet_fail(fleet, uuid, name, NULL);
	if (row == NULL || !row_retry(fleet, shard, row))
		return;
	row->now.status = MIGRATION_READY;
	row->step = STEP_RUN;
	row->step_ms = fleet->now_ms + 1;
	fleet_touch(fleet);
}

void fleet_submit_foreign(struct fleet *fleet, const char *uuid, const char *context, const char *name,
			  const char *ddl)
{
	struct call call = {
		.request = { .method = VTCTLD_APPLY_SCHEMA, .uuid = uuid, .context = context, .sql = ddl },
		.options = ""
	};

	fleet_touch(fleet);
	arena_init(&call.memory, 0);
	statement_parse(&call.memory, ddl, &call.statement);
	for (size_t i = 0; i < fleet->shard_count; i++) {
		struct leg leg = { .shard = fleet->shards[i] };

		if (name == NULL || strcmp(name, leg.shard->name) == 0)
			(void)shard_execute(fleet, leg.shard, &call, &leg);
	}
	arena_release(&call.memory);
}
