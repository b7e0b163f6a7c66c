#include "bench-fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/ddl.h"
#include "vtddl/identity.h"

/* As long as people write them: a row of a change is half a kilobyte on the wire. */
#define STATEMENT \
	"alter table t%u add column note varchar(255) character set utf8mb4 not null default '' " \
	"comment 'why the row was changed by hand, and by whom', add index note_idx (note(32))"
#define STATEMENT_MAX 256
#define STRATEGY "vitess --postpone-completion --singleton-context"
#define FIRST_UID 100

const char *bench_size_problem(const struct bench_size *size)
{
	if (size->keyspaces < 1 || size->keyspaces > BENCH_KEYSPACES_MAX)
		return "between 1 and 1,000 keyspaces, please";
	if (size->changes < 1 || size->changes > BENCH_CHANGES_MAX)
		return "between 1 and 200,000 changes of each keyspace, please";
	if (size->shards < 1 || size->shards > SHARDS_MAX || (size->shards & (size->shards - 1)) != 0)
		return "a power of two of shards up to 1,024, please";
	return NULL;
}

/* Where shard @number begins, in @bytes bytes; their hex goes into @ret. */
static void bound(unsigned number, unsigned count, unsigned bytes, unsigned char ret_bytes[2], char ret[5])
{
	unsigned value = number * (0x10000 / count);

	ret_bytes[0] = (unsigned char)(value >> 8);
	ret_bytes[1] = (unsigned char)value;
	snprintf(ret, 5, "%0*x", (int)(2 * bytes), bytes == 1 ? value >> 8 : value);
}

void bench_shard(unsigned number, unsigned count, struct bench_shard *ret)
{
	char start[5] = "", end[5] = "";
	unsigned bytes = count > 256 ? 2 : 1;

	memset(ret, 0, sizeof(*ret));
	ret->has_start = number > 0;
	ret->has_end = number + 1 < count;
	if (ret->has_start)
		bound(number, count, bytes, ret->start, start);
	if (ret->has_end)
		bound(number + 1, count, bytes, ret->end, end);
	snprintf(ret->name, sizeof(ret->name), "%s-%s", start, end);
}

void bench_keyspace(unsigned number, char ret[KEYSPACE_MAX + 1])
{
	snprintf(ret, KEYSPACE_MAX + 1, "bench%03u", number);
}

void bench_primary(const struct bench_size *size, unsigned keyspace, unsigned shard, struct tablet_alias *ret)
{
	*ret = (struct tablet_alias){ .cell = BENCH_CELL, .uid = FIRST_UID + keyspace * size->shards + shard };
}

struct change_shard *bench_shards(struct arena *arena, const struct bench_size *size, unsigned keyspace)
{
	struct change_shard *shards = arena_array(arena, size->shards, sizeof(*shards));

	for (unsigned i = 0; i < size->shards; i++) {
		struct bench_shard shard;

		bench_shard(i, size->shards, &shard);
		memcpy(shards[i].name, shard.name, sizeof(shard.name));
		bench_primary(size, keyspace, i, &shards[i].primary);
	}
	return shards;
}

char *bench_definition(struct arena *arena, unsigned number, bool after)
{
	return arena_printf(arena,
			    "CREATE TABLE `t%u` (\n  `id` bigint NOT NULL,\n%s  PRIMARY KEY (`id`)\n"
			    ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
			    number,
			    after ? "  `note` varchar(255) NOT NULL DEFAULT '',\n  KEY `note_idx` (`note`(32)),\n" : "");
}

void bench_change(struct arena *arena, unsigned keyspace, unsigned number, struct change *ret)
{
	char name[KEYSPACE_MAX + 1], normal[STATEMENT_MAX];
	struct error error;
	struct ddl ddl;

	memset(ret, 0, sizeof(*ret));
	ret->ddl = arena_printf(arena, STATEMENT, number);
	if (ddl_parse(ret->ddl, strlen(ret->ddl), &ddl, normal, &error) < 0) {
		fprintf(stderr, "bench-fleet: %s\n", error.text);
		exit(70);
	}
	bench_keyspace(keyspace, name);
	identity_derive(ret, name, normal, 1);
	memcpy(ret->table, ddl.table, sizeof(ret->table));
	memcpy(ret->cluster, "default", sizeof("default"));
	ret->strategy = STRATEGY;
}
