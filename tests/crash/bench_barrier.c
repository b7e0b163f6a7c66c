/*
 * bench-barrier: how long the engine takes from the moment the last shard is ready to the arrival of Complete,
 * in virtual time, over many seeds.
 *
 *	bench-barrier [SEEDS [POLL_INTERVAL_MS]]	one JSON object on standard output
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim.h"

#define HOUR_MS (3600 * 1000LL)

static const char *const shards[] = { "-40", "40-80", "80-c0", "c0-" };

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A copy of one to eleven minutes, so that the end falls anywhere between two looks. */
static int64_t reaction_ms(uint64_t seed, int64_t interval_ms)
{
	struct sim_config config = { .shards = shards, .shard_count = 4, .seed = seed,
				     .copy_ms = 60000 + (int64_t)(seed * 7919 % 600000),
				     .poll_interval_ms = interval_ms };
	struct ask ask = { .keyspace = "commerce", .ddl = "alter table orders add column x int",
			   .goal = GOAL_VERIFIED, .open_gate = true };
	struct sim *sim = sim_new(&config);
	int64_t took_ms;

	sim_run(sim, &ask, HOUR_MS);
	if (sim->verdict != VERDICT_DONE || sim->ready_at_ms < 0 || sim->complete_at_ms < sim->ready_at_ms) {
		fprintf(stderr, "bench-barrier: seed %llu: %s\n", (unsigned long long)seed, sim->reason);
		exit(1);
	}
	took_ms = sim->complete_at_ms - sim->ready_at_ms;
	sim_free(sim);
	return took_ms;
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	int64_t interval_ms = argc > 2 ? strtoll(argv[2], NULL, 10) : 15000, *all;

	if (count < 1 || interval_ms < 1 || !(all = calloc(count, sizeof(*all)))) {
		fputs("usage: bench-barrier [SEEDS [POLL_INTERVAL_MS]]\n", stderr);
		return 64;
	}
	for (size_t i = 0; i < count; i++)
		all[i] = reaction_ms(i + 1, interval_ms);
	qsort(all, count, sizeof(*all), compare);
	printf("{\"seeds\": %zu, \"poll_interval_ms\": %lld, \"p50_ms\": %lld, \"p90_ms\": %lld, \"p99_ms\": %lld, "
	       "\"max_ms\": %lld}\n",
	       count, (long long)interval_ms, (long long)all[count / 2], (long long)all[count * 9 / 10],
	       (long long)all[count * 99 / 100], (long long)all[count - 1]);
	free(all);
	return 0;
}
