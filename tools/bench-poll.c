/*
 * bench-poll: what one poll costs this client. Polls one change N times over one channel, decodes each answer
 * and folds it into facts, as the engine does; tools/bench measures its CPU.
 *
 *	bench-poll HOST:PORT KEYSPACE UUID COUNT SHARD...
 *
 * COUNT 0: one poll for each line of standard input, and a line with the microseconds from the request to the facts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vtddl/clock.h"
#include "vtddl/observation.h"
#include "vtddl/wire.h"

#define TIMEOUT_MS 5000

static void die(const char *text)
{
	fprintf(stderr, "bench-poll: %s\n", text);
	exit(1);
}

static struct vtctld_reply poll_once(struct wire *wire, const struct change *change, struct arena *arena)
{
	struct vtctld_request request = {
		.method = VTCTLD_GET_SCHEMA_MIGRATIONS,
		.keyspace = change->keyspace,
		.uuid = change->uuid,
		.limit = 4,
		.timeout_ms = TIMEOUT_MS,
	};
	struct vtctld_reply reply;

	wire_start(wire, &request, arena);
	while (!wire_next(wire, clock_monotonic_ms() + TIMEOUT_MS, &reply))
		;
	if (reply.outcome != VTCTLD_DONE)
		die(reply.text);
	return reply;
}

/* The facts of one poll; 0 shards with a row would mean that nothing was measured. */
static uint32_t fold(const struct change *change, struct watch *watch, const struct vtctld_reply *reply)
{
	struct shard_look looks[SHARDS_MAX] = { { ROW_UNKNOWN } };
	struct observation seen = { .at_ms = clock_monotonic_ms(), .wall_ms = clock_wall_ms(), .looks = looks };

	for (size_t i = 0; i < reply->migrations.count; i++)
		for (size_t shard = 0; shard < change->shard_count; shard++)
			if (strcmp(change->shards[shard].name, reply->migrations.items[i].shard) == 0)
				looks[shard] = (struct shard_look){ ROW_ONE, reply->migrations.items[i], false, "" };
	for (size_t shard = 0; shard < change->shard_count; shard++)
		if (!looks[shard].trouble)
			looks[shard].trouble = "";
	return observation_fold(change, &seen, watch);
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static int64_t poll_us(struct wire *wire, const struct change *change, struct watch *watch)
{
	int64_t began_us = now_us();
	struct vtctld_reply reply;
	struct arena arena;

	arena_init(&arena, 0);
	reply = poll_once(wire, change, &arena);
	if (reply.migrations.count < change->shard_count)
		die("a shard is missing in the answer");
	(void)fold(change, watch, &reply);
	arena_release(&arena);
	return now_us() - began_us;
}

int main(int argc, char **argv)
{
	static struct change_shard shards[SHARDS_MAX];
	static struct shard_watch memories[SHARDS_MAX];
	struct change change = { .phase = PHASE_SUBMITTED, .shards = shards, .ddl = "" };
	struct watch watch;
	struct wire *wire;
	struct error error;
	long count;

	if (argc < 6 || argc - 5 > SHARDS_MAX)
		die("usage: bench-poll HOST:PORT KEYSPACE UUID COUNT SHARD...");
	snprintf(change.keyspace, sizeof(change.keyspace), "%s", argv[2]);
	snprintf(change.uuid, sizeof(change.uuid), "%s", argv[3]);
	count = strtol(argv[4], NULL, 10);
	for (; change.shard_count + 5 < (size_t)argc; change.shard_count++)
		snprintf(shards[change.shard_count].name, sizeof(shards[0].name), "%s", argv[change.shard_count + 5]);
	watch_init(&watch, memories, change.shard_count);
	if (wire_open(&(struct wire_config){ .server = argv[1] }, &wire, &error) < 0)
		die(error.text);
	for (long i = 0; i < count; i++)
		(void)poll_us(wire, &change, &watch);
	for (int c = count ? EOF : getchar(); c != EOF; c = getchar()) {
		if (c != '\n')
			continue;
		printf("%lld\n", (long long)poll_us(wire, &change, &watch));
		fflush(stdout);
	}
	wire_close(wire);
	return 0;
}
