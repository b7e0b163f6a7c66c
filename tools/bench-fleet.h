#pragma once
/*
 * bench-fleet: the changes that tools/bench measures with. stub-vtctld answers for them and bench-store writes
 * them down, so both derive them here, with the names that vtddl itself would give them.
 *
 *	keyspaces bench000, bench001, ...; in each one statement for each of the tables t0, t1, ...
 */
#include <stdbool.h>
#include <stddef.h>

#include "vtddl/arena.h"
#include "vtddl/change.h"

struct bench_size {
	unsigned keyspaces, changes, shards; /* changes of each keyspace; shards: a power of two */
};

#define BENCH_KEYSPACES_MAX 1000
#define BENCH_CHANGES_MAX 200000
#define BENCH_CELL "zone1"

/** bench_size_problem() - what is wrong with a size; NULL: nothing */
const char *bench_size_problem(const struct bench_size *size);

struct bench_shard {
	char name[SHARD_NAME_MAX + 1];
	unsigned char start[2], end[2]; /* of the key range, most significant byte first */
	bool has_start, has_end;
};

/** bench_shard() - shard @number of @count: "-", "-80", "80-", ... */
void bench_shard(unsigned number, unsigned count, struct bench_shard *ret);

void bench_keyspace(unsigned number, char ret[KEYSPACE_MAX + 1]);

/** bench_primary() - the alias of a shard's primary, of the whole fleet the only one */
void bench_primary(const struct bench_size *size, unsigned keyspace, unsigned shard, struct tablet_alias *ret);

/** bench_shards() - the expected set of a keyspace's changes, as a record has it */
struct change_shard *bench_shards(struct arena *arena, const struct bench_size *size, unsigned keyspace);

/** bench_definition() - what a shard says of table t<@number>, before or after the change */
char *bench_definition(struct arena *arena, unsigned number, bool after);

/** bench_change() - change @number of a keyspace: names, statement and strategy; no shards, no phase */
void bench_change(struct arena *arena, unsigned keyspace, unsigned number, struct change *ret);
