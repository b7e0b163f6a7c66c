#include "fleet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fleet_model.h"
#include "vtddl/observation.h"

#define COPY_DEFAULT_MS 3300 /* with the tick before and the one after: held 5 s after the submit */
#define ROWS_DEFAULT 1000
#define UID_FIRST 101
#define UID_STEP 10
#define MINUTE_MS 60000

static const char orders[] =
	"CREATE TABLE orders (id bigint, customer_id bigint, note varchar(64), PRIMARY KEY (id))";

/* ---- Small help ---- */

void *array_grow(void *array, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity * 2 + 8;
	array = realloc(array, *capacity * size);
	if (array == NULL)
		abort();
	return array;
}

bool list_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (list != NULL && *list != '\0') {
		size_t item = strcspn(list, ",");

		if (item == length && strncmp(list, name, length) == 0)
			return true;
		list += item + (list[item] == ',' ? 1 : 0);
	}
	return false;
}

/* FNV-1a over the parts, then the finish of splitmix64: no state, so no order matters. */
int64_t fleet_spread(const struct fleet *fleet, uint64_t a, const char *b, int64_t low, int64_t high)
{
	uint64_t hash = 14695981039346656037u ^ fleet->seed;

	for (size_t i = 0; i < sizeof(a); i++)
		hash = (hash ^ (a >> (8 * i) & 0xff)) * 1099511628211u;
	for (; *b != '\0'; b++)
		hash = (hash ^ (uint8_t)*b) * 1099511628211u;
	hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
	hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
	hash ^= hash >> 31;
	return low + (int64_t)(hash % (uint64_t)(high - low + 1));
}

int64_t fleet_wall_s(const struct fleet *fleet)
{
	return (fleet->wall_ms + fleet->now_ms) / 1000;
}

struct shard *fleet_find_shard(const struct fleet *fleet, const char *name)
{
	for (size_t i = 0; name != NULL && i < fleet->shard_count; i++)
		if (strcmp(fleet->shards[i]->name, name) == 0)
			return fleet->shards[i];
	return NULL;
}

struct row *shard_find_row(const struct shard *shard, const char *uuid)
{
	for (size_t i = 0; uuid != NULL && i < shard->row_count; i++)
		if (((uuid[0] ^ shard->rows[i]->now.uuid[0]) & ~0x20) == 0 && strcasecmp(shard->rows[i]->now.uuid, uuid) == 0) /* the column's collation */
			return shard->rows[i];
	return NULL;
}

/* ---- Making and freeing ---- */

struct tablet *tablet_new(struct fleet *fleet, struct shard *shard)
{
	struct tablet *tablet = arena_alloc(&fleet->memory, sizeof(*tablet));

	tablet->alias = (struct tablet_alias){ .cell = "zone1" };
	tablet->alias.uid = shard->tablets != NULL ? shard->tablets->alias.uid + 1
						   : (uint32_t)(UID_FIRST + UID_STEP * shard->number);
	tablet->type = TABLET_PRIMARY;
	tablet->start_s = fleet_wall_s(fleet);
	tablet->next = shard->tablets;
	shard->tablets = tablet;
	return tablet;
}

static void schema_load(struct fleet *fleet, struct schema *schema, const char *text)
{
	while (text != NULL && *text != '\0') {
		size_t length = strcspn(text, ";");
		struct mysql_error error = { 0 };
		struct statement statement;

		statement_parse(&fleet->memory, arena_memdup(&fleet->memory, text, length), &statement);
		if (statement.count > 0)
			(void)schema_apply(schema, &statement, &error);
		text += length + (text[length] == ';' ? 1 : 0);
	}
}

struct shard *shard_new(struct fleet *fleet, const char *name, bool serving)
{
	struct shard *shard = calloc(1, sizeof(*shard));

	if (shard == NULL)
		abort();
	shard->name = arena_strdup(&fleet->memory, name);
	shard->number = fleet->shards_made++;
	shard->is_serving = serving;
	shard->term_start_s = fleet_wall_s(fleet);
	shard->cutover.step_ms = NEVER;
	shard->leftover_ms = NEVER;
	shard->moving_ms = NEVER;
	shard->moved_ms = shard->opened_ms = -1;
	shard->minute_ms = fleet->now_ms + fleet_spread(fleet, shard->number, "minute", 1, MINUTE_MS);
	shard->primary = tablet_new(fleet, shard);
	schema_init(&shard->schema, &fleet->memory);
	if (fleet->first.count == 0)
		schema_load(fleet, &fleet->first, fleet->schema);
	for (size_t i = 0; i < fleet->first.count; i++) /* a table is never changed, another takes its place */
		schema_put(&shard->schema, fleet->first.tables[i]);
	return shard;
}

void shard_free(struct shard *shard)
{
	schema_release(&shard->schema);
	free(shard->rows);
	free(shard);
}

struct fleet *fleet_new(const struct fleet_config *config)
{
	struct fleet *fleet = calloc(1, sizeof(*fleet));

	if (fleet == NULL)
		abort();
	arena_init(&fleet->memory, 0);
	fleet->keyspace = arena_strdup(&fleet->memory, config->keyspace);
	fleet->schema = arena_strdup(&fleet->memory, config->schema != NULL ? config->schema : orders);
	schema_init(&fleet->first, &fleet->memory);
	fleet->copy_ms = config->copy_ms > 0 ? config->copy_ms : COPY_DEFAULT_MS;
	fleet->rows = config->rows > 0 ? config->rows : ROWS_DEFAULT;
	fleet->seed = config->seed;
	fleet->wall_ms = config->wall_ms;
	fleet->vtctld_is_up = true;
	fleet->lock = (struct keyspace_lock){ .taken_ms = NEVER, .free_ms = NEVER };
	for (size_t i = 0; i < config->shard_count; i++)
		(void)fleet_add_shard(fleet, config->shards[i], true);
	return fleet;
}

struct fleet *fleet_free(struct fleet *fleet)
{
	struct call *call, *next;

	if (fleet == NULL)
		return NULL;
	for (call = fleet->calls; call != NULL; call = next) {
		next = call->next;
		call_free(call);
	}
	for (size_t i = 0; i < fleet->shard_count; i++)
		shard_free(fleet->shards[i]);
	for (size_t i = 0; i < fleet->removed_count; i++)
		shard_free(fleet->removed[i]);
	while (fleet->faults != NULL) {
		struct armed_fault *fault = fleet->faults;

		fleet->faults = fault->next;
		free(fault);
	}
	free(fleet->shards);
	free(fleet->removed);
	schema_release(&fleet->first);
	free(fleet->replies);
	arena_release(&fleet->memory);
	free(fleet);
	return NULL;
}

/* ---- Time ---- */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t event_next_ms(const struct fleet *fleet)
{
	int64_t next = NEVER;

	for (const struct call *call = fleet->calls; call != NULL; call = call->next)
		next = least(next, call_next_ms(call));
	for (size_t i = 0; i < fleet->shard_count; i++)
		next = least(next, shard_next_ms(fleet->shards[i]));
	return next;
}

void fleet_touch(struct fleet *fleet)
{
	fleet->next_is_known = false;
	fleet->changes++;
}

/* Asked for far more often than it changes. */
static int64_t known_next_ms(struct fleet *fleet)
{
	if (!fleet->next_is_known)
		fleet->next_ms = event_next_ms(fleet);
	fleet->next_is_known = true;
	return fleet->next_ms;
}

int64_t fleet_next_ms(struct fleet *fleet)
{
	int64_t next = known_next_ms(fleet);

	/* What a tablet was late for when it was paused is due at once. */
	return fleet->reply_count > fleet->reply_first || next < fleet->now_ms ? fleet->now_ms : next;
}

/* Everything that is due now. Shards first: what a shard did at this moment, an answer shows. */
static void fleet_run(struct fleet *fleet)
{
	struct call **link = &fleet->calls, *call;

	fleet_touch(fleet);
	for (size_t i = 0; i < fleet->shard_count; i++)
		if (shard_next_ms(fleet->shards[i]) <= fleet->now_ms)
			shard_run(fleet, fleet->shards[i]);
	while ((call = *link) != NULL) {
		if (call_next_ms(call) <= fleet->now_ms)
			call_run(fleet, call);
		if (call->state == CALL_ENDED && call->wake_ms <= fleet->now_ms) {
			*link = call->next;
			call_free(call);
		} else {
			link = &call->next;
		}
	}
}

void fleet_advance(struct fleet *fleet, int64_t now_ms)
{
	int64_t next;

	for (next = known_next_ms(fleet); next <= now_ms; next = known_next_ms(fleet)) {
		if (next > fleet->now_ms)
			fleet->now_ms = next;
		fleet_run(fleet);
	}
	if (now_ms > fleet->now_ms)
		fleet->now_ms = now_ms;
}

bool fleet_take(struct fleet *fleet, struct vtctld_reply *ret)
{
	if (fleet->reply_first == fleet->reply_count)
		return false;
	*ret = fleet->replies[fleet->reply_first++];
	if (fleet->reply_first == fleet->reply_count)
		fleet->reply_first = fleet->reply_count = 0;
	return true;
}

/* ---- The truth, for tests ---- */

size_t fleet_shard_count(const struct fleet *fleet)
{
	return fleet->shard_count;
}

const char *fleet_shard_name(const struct fleet *fleet, size_t shard)
{
	assert(shard < fleet->shard_count);
	return fleet->shards[shard]->name;
}

size_t fleet_shard_number(const struct fleet *fleet, size_t shard)
{
	assert(shard < fleet->shard_count);
	return fleet->shards[shard]->number;
}

uint64_t fleet_changes(const struct fleet *fleet)
{
	return fleet->changes;
}

const struct migration *fleet_row(const struct fleet *fleet, size_t shard, const char *uuid)
{
	const struct row *row;

	assert(shard < fleet->shard_count);
	row = shard_find_row(fleet->shards[shard], uuid);
	return row != NULL ? &row->now : NULL;
}

bool fleet_ready(const struct fleet *fleet, size_t number, const char *uuid)
{
	const struct shard *shard = fleet->shards[number];
	const struct row *row = shard_find_row(shard, uuid);

	if (row == NULL || !migration_is_ready(&row->now))
		return false;
	/* An immediate operation waits for nothing; a copy is ready when its stream is. */
	return row->now.status == MIGRATION_QUEUED ||
	       (row->shown_ms >= row->run_ms && row->shown_ms > shard->opened_ms);
}

int64_t fleet_moved_ms(const struct fleet *fleet, size_t shard)
{
	assert(shard < fleet->shard_count);
	return fleet->shards[shard]->moved_ms;
}

size_t fleet_row_count(const struct fleet *fleet, size_t shard)
{
	assert(shard < fleet->shard_count);
	return fleet->shards[shard]->row_count;
}

const char *fleet_definition(const struct fleet *fleet, size_t shard, const char *table)
{
	const struct schema_table *found;

	assert(shard < fleet->shard_count);
	found = schema_find(&fleet->shards[shard]->schema, table);
	return found != NULL ? found->definition : NULL;
}

unsigned fleet_times_applied(const struct fleet *fleet, size_t shard, const char *uuid)
{
	const struct row *row;

	assert(shard < fleet->shard_count);
	row = shard_find_row(fleet->shards[shard], uuid);
	return row != NULL ? row->times_applied : 0;
}

unsigned fleet_calls(const struct fleet *fleet, enum vtctld_method method)
{
	return fleet->call_counts[method];
}

void fleet_set_journal(struct fleet *fleet, fleet_journal_fn *journal, void *user)
{
	fleet->journal = journal;
	fleet->journal_user = user;
}
