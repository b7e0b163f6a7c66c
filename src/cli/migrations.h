#pragma once
/*
 * migrations: rows of schema_migrations for `show`: read them, sort them, print them.
 */
#include "vtddl/wire.h"

struct migrations_query {
	const char *keyspace;
	const char *uuid;    /* NULL: any */
	const char *context; /* NULL: any */
	int64_t timeout_ms;
};

/**
 * migrations_read() - through GetSchemaMigrations, and where that gives no answer, from each primary
 * @ret_note:	a sentence when the rows were read the other way, with the shards that are missing; else NULL
 *
 * One dead primary makes GetSchemaMigrations silent for the whole keyspace; the others must
 * stay visible. Reading directly is only tried for one uuid or context.
 */
int must_check migrations_read(struct wire *wire, const struct migrations_query *query, struct arena *arena,
			       struct migration **ret, size_t *ret_count, const char **ret_note,
			       struct error *reterr);

/** migrations_sort() - rows of one uuid together, by shard; uuids by the time they were asked for */
void migrations_sort(struct migration *rows, size_t count, bool oldest_first);

/** migrations_print() - one migration: headline and one line for each shard */
void migrations_print(const struct migration *rows, size_t count);
