#pragma once
/*
 * stub-rows: the migrations of stub-vtctld as bytes.
 *
 * All rows of a change are the same but for the shard's name and its tablet, so each change is encoded once, by the
 * simulator's codec, with these two fields cut out; an answer is made by copying. That keeps 2.5 million rows
 * of half a kilobyte within a few megabytes, and a row costs a few copies.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench-fleet.h"
#include "vtddl/vtctld.h"

enum row_stage { ROW_QUEUED, ROW_COPYING, ROW_HELD, ROW_COMPLETE, ROW_CANCELLED, _ROW_STAGE_MAX };
/** row_stage_from_name() - "queued", "copying", "held", "complete"; _ROW_STAGE_MAX: none of them */
enum row_stage row_stage_from_name(const char *name);

struct rows;

/** rows_new() - every change in @stage; @moving: copies go on, so that a row differs from second to second */
struct rows *rows_new(const struct bench_size *size, enum row_stage stage, bool moving, int64_t wall_s);
struct rows *rows_free(struct rows *rows);
const struct bench_size *rows_size(const struct rows *rows);

struct row_range { /* changes first ... end-1 of a keyspace */
	unsigned keyspace, first, end;
};

/** rows_find() - the change of a uuid, or of a context where @uuid is NULL. False: none */
bool rows_find(const struct rows *rows, const char *uuid, const char *context, struct row_range *ret);

struct row_filter {
	int status;	 /* enum migration_status; 0: all */
	uint64_t limit;	 /* of each shard; 0: none */
	uint64_t skip;	 /* rows of each shard that are left out first */
	bool descending; /* newest first */
};

struct row_bytes {
	const uint8_t *bytes; /* a GetSchemaMigrationsResponse; until the next call */
	size_t length, count; /* count: of rows */
};
/** rows_answer() - the rows of some changes on every shard */
struct row_bytes rows_answer(struct rows *rows, const struct row_range *range, const struct row_filter *filter,
			     int64_t wall_s);

/** rows_migration() - one row as a value, for ExecuteFetchAsDBA; texts live as long as @rows */
void rows_migration(struct rows *rows, struct arena *arena, unsigned keyspace, unsigned number, unsigned shard,
		    int64_t wall_s, struct migration *ret);

enum row_stage rows_stage(const struct rows *rows, unsigned keyspace, unsigned number);
void rows_move(struct rows *rows, const struct row_range *range, enum row_stage stage);
