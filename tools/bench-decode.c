/*
 * bench-decode: what it costs to read the rows of one answer of GetSchemaMigrations.
 *
 *	bench-decode           canned answers, four ways side by side; a table and, last, one line of JSON
 *	bench-decode --once N  decodes N rows once as the program does
 *
 * The second is for counting instructions, without those that make the answer:
 *
 *	valgrind --tool=callgrind --toggle-collect=rows_decode bench-decode --once 10000
 *
 * The ways: "rows" is the program's (checked, and filled into struct migration). "checked" is what it did
 * before: scan, then unpack by protobuf-c into an arena. "malloc" and "arena" are protobuf-c alone, which
 * checks little and whose tree would still have to be read: they are spared that. Each way allocates
 * and frees within its time. They take turns, so that a busy machine slows all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rows.h"
#include "vtctldata.pb-c.h"

#define REPEATS 41
#define ROWS_PER_REPEAT 20000 /* a repeat decodes the answer often enough for the clock */

enum way { ROWS, CHECKED, MALLOC, ARENA, _WAY_MAX };
static const char *const way_names[_WAY_MAX] = { "rows", "checked", "malloc", "arena" };

struct canned {
	const char *name;
	size_t changes, shards;
	bool is_shared; /* else every text of every row is another one */
	uint8_t *bytes;
	size_t length;
};

/* ---- Canned answers ---- */

static char *text(struct arena *arena, const char *what, size_t number, const char *rest)
{
	return arena_printf(arena, "%s%06zu%s", what, number, rest);
}

static Vttime__Time *time_of(struct arena *arena, int64_t seconds)
{
	Vttime__Time *time = arena_alloc(arena, sizeof(*time));

	vttime__time__init(time);
	time->seconds = seconds;
	return time;
}

/* A running ALTER, with the fields that Vitess fills for one: about 500 bytes. @number tells texts apart. */
static Vtctldata__SchemaMigration *row_make(struct arena *arena, size_t number, size_t shard)
{
	Vtctldata__SchemaMigration *row = arena_alloc(arena, sizeof(*row));

	vtctldata__schema_migration__init(row);
	row->uuid = text(arena, "9e2f", number, "01_4c1d_8a3b_9d55_0242ac110003") + 2;
	row->keyspace = text(arena, "commerce", number, "");
	row->shard = arena_printf(arena, "%02zx-%02zx", shard % 256, (shard + 1) % 256);
	row->schema = (char *)"vt_commerce";
	row->table = text(arena, "customer_order_", number, "");
	row->migration_statement =
		text(arena, "alter table `customer_order_", number,
		     "` add column `delivery_note` varchar(255) null, add index `by_note` (`delivery_note`)");
	row->strategy = VTCTLDATA__SCHEMA_MIGRATION__STRATEGY__VITESS;
	row->options = text(arena, "--postpone-completion --singleton-context --retain=", number, "");
	row->added_at = time_of(arena, 1750000000);
	row->requested_at = time_of(arena, 1750000001);
	row->ready_at = time_of(arena, 1750000030);
	row->started_at = time_of(arena, 1750000040);
	row->liveness_timestamp = time_of(arena, 1750003600 + (int64_t)shard);
	row->status = VTCTLDATA__SCHEMA_MIGRATION__STATUS__RUNNING;
	row->artifacts = text(arena, "_vt_vrp_9e2f0001_", number, "_20250615,");
	row->tablet = arena_alloc(arena, sizeof(*row->tablet));
	topodata__tablet_alias__init(row->tablet);
	row->tablet->cell = (char *)"zone1";
	row->tablet->uid = 100 + (uint32_t)shard * 100;
	row->progress = 62.5F;
	row->migration_context = text(arena, "ddl-commerce-0123456789", number, "-g1");
	row->ddl_action = (char *)"alter";
	row->eta_seconds = 1200 + (int64_t)shard;
	row->rows_copied = 12000000 + shard;
	row->table_rows = 19200000;
	row->artifact_retention = arena_alloc(arena, sizeof(*row->artifact_retention));
	vttime__duration__init(row->artifact_retention);
	row->artifact_retention->seconds = 86400;
	row->postpone_completion = true;
	row->vitess_liveness_indicator = 1750003600;
	row->stage = (char *)"vreplication running";
	row->reviewed_at = time_of(arena, 1750000035);
	return row;
}

/* In Vitess's order: one shard after the other, each with its changes. */
static void canned_make(struct canned *canned)
{
	Vtctldata__GetSchemaMigrationsResponse answer = VTCTLDATA__GET_SCHEMA_MIGRATIONS_RESPONSE__INIT;
	struct arena arena;

	arena_init(&arena, 0);
	answer.n_migrations = canned->changes * canned->shards;
	answer.migrations = arena_array(&arena, answer.n_migrations, sizeof(*answer.migrations));
	for (size_t i = 0; i < answer.n_migrations; i++)
		answer.migrations[i] =
			row_make(&arena, canned->is_shared ? i % canned->changes : i, i / canned->changes);
	canned->length = vtctldata__get_schema_migrations_response__get_packed_size(&answer);
	canned->bytes = malloc(canned->length);
	if (!canned->bytes)
		abort();
	vtctldata__get_schema_migrations_response__pack(&answer, canned->bytes);
	arena_release(&arena);
}

/* ---- The ways ---- */

static void die(const char *what)
{
	fprintf(stderr, "bench-decode: %s\n", what);
	exit(1);
}

static void *arena_take(void *data, size_t size)
{
	return arena_alloc(data, size);
}

static void arena_keep(void *data, void *pointer)
{
	(void)data;
	(void)pointer;
}

static size_t unpack(const struct canned *canned, ProtobufCAllocator *allocator)
{
	Vtctldata__GetSchemaMigrationsResponse *answer =
		vtctldata__get_schema_migrations_response__unpack(allocator, canned->length, canned->bytes);
	size_t count;

	if (!answer)
		die("protobuf-c refuses the canned answer");
	count = answer->n_migrations;
	if (!allocator)
		vtctldata__get_schema_migrations_response__free_unpacked(answer, NULL);
	return count;
}

static size_t decode_rows(const struct canned *canned, struct arena *arena)
{
	struct migration *rows;
	struct error error = { 0 };
	size_t count;

	if (rows_decode(arena, &scan_limits_default, canned->bytes, canned->length, &rows, &count, &error) <
	    0)
		die(error.text);
	return count;
}

static void decode(enum way way, const struct canned *canned)
{
	struct arena arena;
	ProtobufCAllocator allocator = { arena_take, arena_keep, &arena };
	struct error error = { 0 };
	size_t count, ignored;

	arena_init(&arena, 0);
	if (way == CHECKED &&
	    scan_message(&vtctldata__get_schema_migrations_response__descriptor, canned->bytes,
			 canned->length, &scan_limits_default, &ignored, &error) < 0)
		die(error.text);
	count = way == ROWS ? decode_rows(canned, &arena) : unpack(canned, way == MALLOC ? NULL : &allocator);
	if (count != canned->changes * canned->shards)
		die("rows are missing");
	arena_release(&arena);
}

/* ---- Measuring ---- */

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int double_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* The median of each way, in CPU nanoseconds a row. */
static void measure(const struct canned *canned, double ret[_WAY_MAX])
{
	static double times[_WAY_MAX][REPEATS];
	size_t rows = canned->changes * canned->shards;
	size_t passes = rows < ROWS_PER_REPEAT ? ROWS_PER_REPEAT / rows : 1;

	for (int way = 0; way < _WAY_MAX; way++)
		decode((enum way)way, canned); /* warms up */
	for (size_t repeat = 0; repeat < REPEATS; repeat++) {
		for (int turn = 0; turn < _WAY_MAX; turn++) {
			size_t way = (repeat + (size_t)turn) % _WAY_MAX;
			double start = now_ns();

			for (size_t pass = 0; pass < passes; pass++)
				decode((enum way)way, canned);
			times[way][repeat] = (now_ns() - start) / (double)(passes * rows);
		}
	}
	for (int way = 0; way < _WAY_MAX; way++) {
		qsort(times[way], REPEATS, sizeof(double), double_compare);
		ret[way] = times[way][REPEATS / 2];
	}
}

/* What a decoded answer keeps in memory, in bytes a row. */
static double memory_of(const struct canned *canned)
{
	struct arena arena;
	double bytes;

	arena_init(&arena, 0);
	bytes = (double)decode_rows(canned, &arena);
	bytes = (double)arena.used / bytes;
	arena_release(&arena);
	return bytes;
}

static void report(const struct canned *canned, const double ns[_WAY_MAX], FILE *json, bool is_first)
{
	size_t rows = canned->changes * canned->shards;

	printf("%s: %zu rows of %zu bytes; %.0f bytes of memory a row\n", canned->name, rows,
	       canned->length / rows, memory_of(canned));
	fprintf(json, "%s{\"answer\":\"%s\",\"rows\":%zu,\"bytes_per_row\":%.1f,\"memory_per_row\":%.1f",
		is_first ? "" : ",", canned->name, rows, (double)canned->length / (double)rows,
		memory_of(canned));
	for (int way = 0; way < _WAY_MAX; way++) {
		printf("  %-8s %8.1f ns/row %12.0f rows/s  x%.2f\n", way_names[way], ns[way], 1e9 / ns[way],
		       ns[way] / ns[ROWS]);
		fprintf(json, ",\"%s\":{\"ns_per_row\":%.1f,\"rows_per_s\":%.0f,\"ratio\":%.2f}",
			way_names[way], ns[way], 1e9 / ns[way], ns[way] / ns[ROWS]);
	}
	fprintf(json, "}");
}

static int bench(void)
{
	static struct canned all[] = {
		{ .name = "one change", .changes = 1, .shards = 256, .is_shared = true },
		{ .name = "many changes", .changes = 100, .shards = 100, .is_shared = true },
		{ .name = "nothing shared", .changes = 100, .shards = 100, .is_shared = false },
		{ .name = "fifty changes", .changes = 50, .shards = 64, .is_shared = true },
	};
	char *line = NULL;
	size_t length;
	FILE *json = open_memstream(&line, &length);

	if (!json)
		die("out of memory");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		double ns[_WAY_MAX];

		canned_make(&all[i]);
		measure(&all[i], ns);
		report(&all[i], ns, json, i == 0);
		free(all[i].bytes);
	}
	fclose(json);
	printf("{\"bench\":\"decode\",\"repeats\":%d,\"answers\":[%s]}\n", REPEATS, line);
	free(line);
	return 0;
}

static int once(size_t rows)
{
	struct canned canned = { .changes = 1, .shards = rows, .is_shared = true };

	if (!rows)
		die("--once needs a number of rows");
	canned_make(&canned);
	decode(ROWS, &canned);
	free(canned.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return bench();
	if (argc != 3 || strcmp(argv[1], "--once") != 0)
		die("usage: bench-decode [--once ROWS]");
	return once(strtoul(argv[2], NULL, 10));
}
