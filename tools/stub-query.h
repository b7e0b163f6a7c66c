#pragma once
/*
 * stub-query: what stub-vtctld answers to a SELECT from _vt.schema_migrations by ExecuteFetchAsDBA: whatever columns
 * are asked for, of one change (by uuid or by its context) or of all of the keyspace.
 */
#include "stub-rows.h"

/** query_answer() - rows of one shard, in @arena; @ret_range: the changes they are of */
void query_answer(struct rows *rows, struct arena *arena, const char *sql, unsigned keyspace, unsigned shard,
		  struct query_result *ret, struct row_range *ret_range);
