/*
 * bench-commit: what the commit of a state change costs, one by one and in groups.
 *
 *	bench-commit STORE_URL ROUNDS GROUP [PASSWORD_FILE]	one JSON line for each round and each way
 *
 * Every round takes new changes for either way, GROUP for one commit and SINGLES one by one, and moves them from
 * submitting to submitted: the compare-and-set, the shards and the line of history that the engine
 * writes. The ways take turns in going first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench-fleet.h"
#include "vtddl/clock.h"
#include "vtddl/store.h"

#define GROUP_MAX 256
#define SINGLES 16 /* each is a flush of the disk of its own */
#define SHARDS 2
#define LEASE_MS 3600000

static void die(const char *text)
{
	fprintf(stderr, "bench-commit: %s\n", text);
	exit(1);
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void check(const struct store_write *writes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (writes[i].result != 0)
			die(writes[i].result < 0 ? writes[i].error.text : "a write was refused; give it an empty store");
}

static void insert(struct store *store, struct arena *arena, unsigned first, size_t count, int64_t epoch,
		   struct change *changes)
{
	static const struct bench_size size = { 1, 1, SHARDS };
	static struct store_write writes[GROUP_MAX];
	struct change_shard *shards = bench_shards(arena, &size, 0);

	memset(writes, 0, sizeof(writes));
	for (size_t i = 0; i < count; i++) {
		bench_change(arena, 0, first + (unsigned)i, &changes[i]);
		changes[i].shards = shards;
		changes[i].shard_count = SHARDS;
		changes[i].created_at_ms = changes[i].updated_at_ms = clock_wall_ms();
		changes[i].epoch = epoch;
		memcpy(changes[i].created_by, "bench", sizeof("bench"));
		writes[i].change = &changes[i];
		writes[i].actor = "bench";
		writes[i].evidence = "";
	}
	store_write(store, writes, count);
	check(writes, count);
}

/* Moves all of @changes, @batch of them in each commit. */
static int64_t move_us(struct store *store, struct change *changes, size_t count, size_t batch)
{
	static struct store_write writes[GROUP_MAX];
	static struct store_expect expects[GROUP_MAX];
	const struct history_entry entry = { .at_ms = clock_wall_ms(), .actor = "bench", .from = PHASE_SUBMITTING,
					     .to = PHASE_SUBMITTED, .rule = 131,
					     .reason = "every shard has the migration", .evidence = "2 of 2 held" };
	int64_t began_us;

	memset(writes, 0, sizeof(writes));
	for (size_t i = 0; i < count; i++) {
		expects[i] = (struct store_expect){ PHASE_SUBMITTING, changes[i].revision, changes[i].epoch, 0 };
		changes[i].phase = PHASE_SUBMITTED;
		writes[i] = (struct store_write){ .change = &changes[i], .expect = &expects[i], .entry = &entry };
	}
	began_us = now_us();
	for (size_t at = 0; at < count; at += batch)
		store_write(store, writes + at, batch < count - at ? batch : count - at);
	began_us = now_us() - began_us;
	check(writes, count);
	return began_us;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned long group = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
	const struct store_config config = { .url = argc >= 4 ? argv[1] : "", .password_file = argc > 4 ? argv[4] : NULL };
	static struct change changes[2][GROUP_MAX];
	struct store *store;
	struct lease lease;
	struct error error;
	char owner[64];
	unsigned number = 0;

	if (rounds < 1 || group < 2 || group > GROUP_MAX || rounds * (group + SINGLES) > BENCH_CHANGES_MAX)
		die("usage: bench-commit STORE_URL ROUNDS GROUP; a group has 2 to 256 changes");
	if (store_open(&config, &store, &error) != 0)
		die(error.text);
	snprintf(owner, sizeof(owner), "bench:%d:1", (int)getpid());
	if (store_lease(store, "default/bench000", owner, LEASE_MS, &lease, &error) != 0)
		die("the lease is another's");
	for (unsigned round = 0; round < rounds; round++) {
		struct arena arena;

		arena_init(&arena, 0);
		insert(store, &arena, number, SINGLES, lease.epoch, changes[0]);
		insert(store, &arena, number + SINGLES, group, lease.epoch, changes[1]);
		number += SINGLES + (unsigned)group;
		for (unsigned turn = 0; turn < 2; turn++) {
			bool singly = (round + turn) % 2 == 0;
			size_t count = singly ? SINGLES : group;
			int64_t took_us = move_us(store, changes[!singly], count, singly ? 1 : group);

			printf("{\"batch\": %lu, \"writes\": %zu, \"us\": %lld}\n", singly ? 1 : group, count,
			       (long long)took_us);
		}
		arena_release(&arena);
	}
	store_release(store, "default/bench000", owner);
	store_close(store);
	return 0;
}
