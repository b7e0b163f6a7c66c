#include "stub-rows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtctldsim/codec.h"

#define FIELD_SHARD 3
#define FIELD_TABLET 20
#define PIECE_MAX 128
#define PATH "/vtctlservice.Vtctld/GetSchemaMigrations"
#define OPTIONS "--postpone-completion --singleton-context"
#define TABLE_ROWS 1000000

static const struct {
	const char *name;
	int status;
	double progress;
	bool ready, started;
} stages[] = {
	[ROW_QUEUED] = { "queued", MIGRATION_QUEUED, 0, false, false },
	[ROW_COPYING] = { "copying", MIGRATION_RUNNING, 40, false, true },
	[ROW_HELD] = { "held", MIGRATION_RUNNING, 100, true, true },
	[ROW_COMPLETE] = { "complete", MIGRATION_COMPLETE, 100, true, true },
	[ROW_CANCELLED] = { "cancelled", MIGRATION_CANCELLED, 40, false, true },
};

/* A row without its shard and tablet: [0, shard_at), shard, [shard_at, tablet_at), tablet, [tablet_at, length). */
struct template {
	uint8_t *bytes;
	size_t length, shard_at, tablet_at;
	int64_t made_s;
	enum row_stage stage;
	char uuid[UUID_LENGTH + 1], context[CONTEXT_MAX + 1];
};

struct piece {
	uint8_t bytes[PIECE_MAX];
	size_t length;
};

struct rows {
	struct bench_size size;
	bool moving;
	int64_t began_s;
	struct template *templates;
	unsigned *by_uuid, *by_context; /* indexes of templates, sorted */
	struct piece *shards;
	struct bench_shard *names;
	uint8_t *answer;
	size_t capacity;
};

enum row_stage row_stage_from_name(const char *name)
{
	enum row_stage stage = 0;

	while (stage < _ROW_STAGE_MAX && strcmp(stages[stage].name, name) != 0)
		stage++;
	return stage;
}

static void *must_alloc(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* ---- Wire format: enough of it to cut a message into its fields ---- */

static size_t varint_put(uint64_t value, uint8_t *to)
{
	size_t length = 0;

	for (; value > 0x7f; value >>= 7)
		to[length++] = (uint8_t)(value | 0x80);
	to[length++] = (uint8_t)value;
	return length;
}

static uint64_t varint_take(const uint8_t **from)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do
		value |= (uint64_t)(**from & 0x7f) << shift;
	while (shift += 7, *(*from)++ & 0x80);
	return value;
}

/* Past one field; its number is returned. Only kinds that our own encoder writes. */
static unsigned field_take(const uint8_t **from)
{
	uint64_t tag = varint_take(from);

	switch (tag & 7) {
	case 0:
		(void)varint_take(from);
		break;
	case 1:
		*from += 8;
		break;
	case 2: {
		uint64_t length = varint_take(from);

		*from += length;
		break;
	}
	default:
		assert((tag & 7) == 5);
		*from += 4;
	}
	return (unsigned)(tag >> 3);
}

static size_t bytes_put(unsigned field, const void *bytes, size_t length, uint8_t *to)
{
	size_t used = varint_put(field << 3 | 2, to);

	used += varint_put(length, to + used);
	memcpy(to + used, bytes, length);
	return used + length;
}

static void tablet_piece(const struct bench_size *size, unsigned keyspace, unsigned shard, struct piece *ret)
{
	uint8_t inner[PIECE_MAX];
	struct tablet_alias alias;
	size_t length;

	bench_primary(size, keyspace, shard, &alias);
	length = bytes_put(1, alias.cell, strlen(alias.cell), inner);
	inner[length++] = 2 << 3;
	length += varint_put(alias.uid, inner + length);
	ret->length = bytes_put(FIELD_TABLET, inner, length, ret->bytes);
}

/* ---- One change ---- */

static struct template *template_of(const struct rows *rows, unsigned keyspace, unsigned number)
{
	return &rows->templates[(size_t)keyspace * rows->size.changes + number];
}

static int64_t copied(const struct rows *rows, enum row_stage stage, int64_t wall_s)
{
	int64_t at = (int64_t)(stages[stage].progress * TABLE_ROWS / 100);

	if (stage == ROW_COPYING && rows->moving)
		at += (wall_s - rows->began_s) * 100 % (TABLE_ROWS / 2);
	return at;
}

void rows_migration(struct rows *rows, struct arena *arena, unsigned keyspace, unsigned number, unsigned shard,
		    int64_t wall_s, struct migration *ret)
{
	enum row_stage stage = template_of(rows, keyspace, number)->stage;
	char name[KEYSPACE_MAX + 1];
	struct change change;

	bench_keyspace(keyspace, name);
	bench_change(arena, keyspace, number, &change);
	*ret = (struct migration){
		.uuid = arena_strdup(arena, change.uuid), .keyspace = arena_strdup(arena, name),
		.shard = rows->names[shard].name, .table = arena_strdup(arena, change.table),
		.statement = arena_strdup(arena, change.ddl),
		.options = OPTIONS, .context = arena_strdup(arena, change.context), .ddl_action = "alter",
		.message = "", .stage = stages[stage].started ? "vreplication" : "",
		.artifacts = stages[stage].started ? "_vt_vrp_8b57bf9d6e2f11f0a9d70242ac120002_20261129120000_," : "",
		.special_plan = "", .status = stages[stage].status,
		.postpone_completion = stage != ROW_COMPLETE, .ready_to_complete = stages[stage].ready,
		.requested_at_s = rows->began_s - 600, .reviewed_at_s = rows->began_s - 590,
		.started_at_s = stages[stage].started ? rows->began_s - 580 : 0,
		.liveness_s = !stages[stage].started ? 0 : rows->moving ? wall_s : rows->began_s,
		.completed_at_s = stage == ROW_COMPLETE ? rows->began_s : 0,
		.ready_to_complete_at_s = stages[stage].ready ? rows->began_s - 60 : 0,
		.progress = stages[stage].progress, .eta_s = stages[stage].ready ? 0 : 3600,
		.rows_copied = copied(rows, stage, wall_s), .table_rows = TABLE_ROWS,
	};
	bench_primary(&rows->size, keyspace, shard, &ret->tablet);
}

/* The row of shard 0 by the codec, with the two fields taken out. */
static void template_make(struct rows *rows, unsigned keyspace, unsigned number, int64_t wall_s)
{
	struct template *template = template_of(rows, keyspace, number);
	const struct codec_call call = { .method = codec_find(PATH) };
	struct vtctld_reply reply = { .method = VTCTLD_GET_SCHEMA_MIGRATIONS };
	struct migration row;
	const uint8_t *bytes, *at, *end;
	struct arena arena;
	size_t length;

	arena_init(&arena, 0);
	rows_migration(rows, &arena, keyspace, number, 0, wall_s, &row);
	reply.migrations.items = &row;
	reply.migrations.count = 1;
	bytes = codec_encode(&call, &reply, &arena, &length);
	end = bytes + length;
	at = bytes + 1; /* past the tag of the response's field 1 */
	(void)varint_take(&at);
	template->bytes = must_alloc(realloc(template->bytes, length));
	template->length = template->shard_at = template->tablet_at = 0;
	while (at < end) {
		const uint8_t *field = at;
		unsigned tag = field_take(&at);

		if (tag == FIELD_SHARD || tag == FIELD_TABLET) {
			*(tag == FIELD_SHARD ? &template->shard_at : &template->tablet_at) = template->length;
			continue;
		}
		memcpy(template->bytes + template->length, field, (size_t)(at - field));
		template->length += (size_t)(at - field);
	}
	assert(template->shard_at > 0 && template->tablet_at > template->shard_at);
	template->made_s = wall_s;
	arena_release(&arena);
}

/* ---- The fleet ---- */

static int compare_uuid(const void *a, const void *b, void *rows)
{
	const struct template *templates = ((struct rows *)rows)->templates;

	return strcmp(templates[*(const unsigned *)a].uuid, templates[*(const unsigned *)b].uuid);
}

static int compare_context(const void *a, const void *b, void *rows)
{
	const struct template *templates = ((struct rows *)rows)->templates;

	return strcmp(templates[*(const unsigned *)a].context, templates[*(const unsigned *)b].context);
}

static void rows_fill(struct rows *rows, enum row_stage stage, int64_t wall_s)
{
	for (unsigned keyspace = 0; keyspace < rows->size.keyspaces; keyspace++)
		for (unsigned number = 0; number < rows->size.changes; number++) {
			struct template *template = template_of(rows, keyspace, number);
			struct change change;
			struct arena arena;

			arena_init(&arena, 0);
			bench_change(&arena, keyspace, number, &change);
			memcpy(template->uuid, change.uuid, sizeof(template->uuid));
			memcpy(template->context, change.context, sizeof(template->context));
			arena_release(&arena);
			template->stage = stage;
			template_make(rows, keyspace, number, wall_s);
		}
}

struct rows *rows_new(const struct bench_size *size, enum row_stage stage, bool moving, int64_t wall_s)
{
	struct rows *rows = must_alloc(calloc(1, sizeof(*rows)));
	size_t count = (size_t)size->keyspaces * size->changes;

	rows->size = *size;
	rows->moving = moving;
	rows->began_s = wall_s;
	rows->templates = must_alloc(calloc(count, sizeof(*rows->templates)));
	rows->by_uuid = must_alloc(calloc(count, sizeof(*rows->by_uuid)));
	rows->by_context = must_alloc(calloc(count, sizeof(*rows->by_context)));
	rows->shards = must_alloc(calloc(size->shards, sizeof(*rows->shards)));
	rows->names = must_alloc(calloc(size->shards, sizeof(*rows->names)));
	for (unsigned i = 0; i < size->shards; i++) {
		bench_shard(i, size->shards, &rows->names[i]);
		rows->shards[i].length = bytes_put(FIELD_SHARD, rows->names[i].name,
						   strlen(rows->names[i].name), rows->shards[i].bytes);
	}
	rows_fill(rows, stage, wall_s);
	for (size_t i = 0; i < count; i++)
		rows->by_uuid[i] = rows->by_context[i] = (unsigned)i;
	qsort_r(rows->by_uuid, count, sizeof(unsigned), compare_uuid, rows);
	qsort_r(rows->by_context, count, sizeof(unsigned), compare_context, rows);
	return rows;
}

struct rows *rows_free(struct rows *rows)
{
	for (size_t i = 0; i < (size_t)rows->size.keyspaces * rows->size.changes; i++)
		free(rows->templates[i].bytes);
	free(rows->templates);
	free(rows->by_uuid);
	free(rows->by_context);
	free(rows->shards);
	free(rows->names);
	free(rows->answer);
	free(rows);
	return NULL;
}

const struct bench_size *rows_size(const struct rows *rows)
{
	return &rows->size;
}

bool rows_find(const struct rows *rows, const char *uuid, const char *context, struct row_range *ret)
{
	size_t low = 0, high = (size_t)rows->size.keyspaces * rows->size.changes;

	while (low < high) {
		size_t middle = (low + high) / 2;
		unsigned at = uuid ? rows->by_uuid[middle] : rows->by_context[middle];
		int order = uuid ? strcmp(uuid, rows->templates[at].uuid) : strcmp(context, rows->templates[at].context);

		if (order == 0) {
			unsigned number = at % rows->size.changes;

			*ret = (struct row_range){ at / rows->size.changes, number, number + 1 };
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

enum row_stage rows_stage(const struct rows *rows, unsigned keyspace, unsigned number)
{
	return template_of(rows, keyspace, number)->stage;
}

void rows_move(struct rows *rows, const struct row_range *range, enum row_stage stage)
{
	for (unsigned number = range->first; number < range->end; number++) {
		struct template *template = template_of(rows, range->keyspace, number);

		template->stage = stage;
		template->made_s = 0;
	}
}

/* ---- Answers ---- */

static uint8_t *copy(uint8_t *to, const void *from, size_t length)
{
	memcpy(to, from, length);
	return to + length;
}

static uint8_t *row_put(const struct template *template, const struct piece *shard, const struct piece *tablet,
			uint8_t *to)
{
	*to++ = 1 << 3 | 2;
	to += varint_put(template->length + shard->length + tablet->length, to);
	to = copy(to, template->bytes, template->shard_at);
	to = copy(to, shard->bytes, shard->length);
	to = copy(to, template->bytes + template->shard_at, template->tablet_at - template->shard_at);
	to = copy(to, tablet->bytes, tablet->length);
	return copy(to, template->bytes + template->tablet_at, template->length - template->tablet_at);
}

/* Brings the templates up to date; how many bytes their rows take at most. */
static size_t rows_refresh(struct rows *rows, const struct row_range *range, int64_t wall_s)
{
	size_t bytes = 0;

	for (unsigned number = range->first; number < range->end; number++) {
		struct template *template = template_of(rows, range->keyspace, number);

		if (template->made_s == 0 || (rows->moving && template->made_s != wall_s))
			template_make(rows, range->keyspace, number, wall_s);
		bytes += template->length + sizeof(uint64_t) + 2 * PIECE_MAX;
	}
	return bytes * rows->size.shards;
}

struct row_bytes rows_answer(struct rows *rows, const struct row_range *range, const struct row_filter *filter,
			     int64_t wall_s)
{
	size_t needed = rows_refresh(rows, range, wall_s), count = 0;
	uint8_t *to;

	if (needed > rows->capacity) {
		free(rows->answer);
		rows->answer = must_alloc(malloc(needed));
		rows->capacity = needed;
	}
	to = rows->answer;
	for (unsigned shard = 0; shard < rows->size.shards; shard++) {
		struct piece tablet;
		uint64_t taken = 0, skipped = 0;

		tablet_piece(&rows->size, range->keyspace, shard, &tablet);
		for (unsigned i = range->first; i < range->end; i++) {
			unsigned number = filter->descending ? range->end - 1 - (i - range->first) : i;
			const struct template *template = template_of(rows, range->keyspace, number);

			if (filter->status != 0 && stages[template->stage].status != filter->status)
				continue;
			if (skipped < filter->skip) {
				skipped++;
				continue;
			}
			if (filter->limit != 0 && taken++ == filter->limit)
				break;
			to = row_put(template, &rows->shards[shard], &tablet, to);
			count++;
		}
	}
	return (struct row_bytes){ rows->answer, (size_t)(to - rows->answer), count };
}
