/*
 * bench-store: fills a store with the changes that stub-vtctld answers for, through store.h alone.
 *
 *	bench-store STORE_URL [--keyspaces 1] [--changes 1] [--shards 2] [--phase submitted|verified]
 *		[--gate auto|manual] [--first 0] [--password-file FILE]
 *
 * A verified change goes through its phases as the engine would write them; a submitted one is inserted as such,
 * for ten thousand of them on 256 shards are written often enough. One JSON line: how many, how long.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench-fleet.h"
#include "vtddl/clock.h"
#include "vtddl/store.h"

#define BATCH 256
#define LEASE_MS 600000
#define HOUR_MS (3600 * 1000LL)

static const enum phase path[] = { PHASE_SUBMITTING, PHASE_SUBMITTED, PHASE_COMPLETING, PHASE_COMPLETED,
				   PHASE_VERIFIED };
#define PATH_LENGTH ((int)(sizeof(path) / sizeof(path[0])))

struct filler {
	struct store *store;
	struct bench_size size;
	enum phase last;
	enum gate gate;
	int64_t now_ms;
	const char *password_file;
	unsigned number; /* of the first change of each keyspace */
	size_t written;
};

static void die(const char *text)
{
	fprintf(stderr, "bench-store: %s\n", text);
	exit(1);
}

static void batch_write(struct filler *filler, struct store_write *writes, size_t count)
{
	store_write(filler->store, writes, count);
	for (size_t i = 0; i < count; i++)
		if (writes[i].result != 0)
			die(writes[i].result < 0 ? writes[i].error.text
						 : "the store has these changes already; give it an empty one");
	filler->written += count;
}

static void batch_insert(struct filler *filler, struct change *changes, size_t count)
{
	struct store_write writes[BATCH];

	for (size_t i = 0; i < count; i++) {
		changes[i].phase = filler->last == PHASE_VERIFIED ? path[0] : filler->last;
		writes[i] = (struct store_write){ .change = &changes[i], .actor = "bench",
						  .evidence = "written by bench-store" };
	}
	batch_write(filler, writes, count);
}

/* From path[step - 1] to path[step]. */
static void batch_move(struct filler *filler, struct change *changes, size_t count, int step, int64_t epoch)
{
	struct store_write writes[BATCH];
	struct store_expect expects[BATCH];
	const struct history_entry entry = { .at_ms = filler->now_ms, .actor = "bench", .from = path[step - 1],
					     .to = path[step], .rule = 131, .reason = "written by bench-store",
					     .evidence = "" };

	for (size_t i = 0; i < count; i++) {
		expects[i] = (struct store_expect){ path[step - 1], changes[i].revision, epoch, 0 };
		changes[i].phase = path[step];
		writes[i] = (struct store_write){ .change = &changes[i], .expect = &expects[i], .entry = &entry };
	}
	batch_write(filler, writes, count);
}

static void change_make(const struct filler *filler, struct arena *arena, unsigned keyspace, unsigned number,
			struct change_shard *shards, struct change *ret)
{
	bench_change(arena, keyspace, number, ret);
	ret->shards = shards;
	ret->shard_count = filler->size.shards;
	ret->gate = filler->gate;
	ret->last_effect = EFFECT_SUBMIT;
	ret->attempts = 1;
	ret->rule = 131;
	memcpy(ret->reason, "written by bench-store", sizeof("written by bench-store"));
	memcpy(ret->created_by, "bench", sizeof("bench"));
	ret->created_at_ms = ret->updated_at_ms = filler->now_ms - HOUR_MS / 6;
	ret->deadline_at_ms = filler->now_ms + 240 * HOUR_MS;
}

static void keyspace_fill(struct filler *filler, unsigned keyspace, const char *owner)
{
	char name[KEYSPACE_MAX + 1], scope[SCOPE_MAX + 1];
	struct lease lease;
	struct error error;

	bench_keyspace(keyspace, name);
	snprintf(scope, sizeof(scope), "default/%s", name);
	if (store_lease(filler->store, scope, owner, LEASE_MS, &lease, &error) != 0)
		die("the lease of a keyspace is another's");
	for (unsigned first = 0; first < filler->size.changes; first += BATCH) {
		static struct change changes[BATCH];
		size_t count = filler->size.changes - first < BATCH ? filler->size.changes - first : BATCH;
		struct change_shard *shards;
		struct arena arena;

		arena_init(&arena, 0);
		shards = bench_shards(&arena, &filler->size, keyspace);
		for (size_t i = 0; i < count; i++) {
			unsigned number = filler->number + first + (unsigned)i;

			change_make(filler, &arena, keyspace, number, shards, &changes[i]);
			changes[i].epoch = lease.epoch;
		}
		batch_insert(filler, changes, count);
		for (int step = 1; filler->last == PHASE_VERIFIED && step < PATH_LENGTH; step++)
			batch_move(filler, changes, count, step, lease.epoch);
		arena_release(&arena);
	}
	store_release(filler->store, scope, owner);
}

static unsigned number_of(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value > BENCH_CHANGES_MAX)
		die("a number is missing, or too large");
	return (unsigned)value;
}

static void option(struct filler *filler, const char *name, const char *value)
{
	if (strcmp(name, "--keyspaces") == 0)
		filler->size.keyspaces = number_of(value);
	else if (strcmp(name, "--changes") == 0)
		filler->size.changes = number_of(value);
	else if (strcmp(name, "--shards") == 0)
		filler->size.shards = number_of(value);
	else if (strcmp(name, "--password-file") == 0)
		filler->password_file = value;
	else if (strcmp(name, "--first") == 0)
		filler->number = number_of(value);
	else if (strcmp(name, "--phase") == 0)
		filler->last = phase_from_name(value);
	else if (strcmp(name, "--gate") == 0)
		filler->gate = gate_from_name(value);
	else
		die("no such option; its source says which there are");
}

int main(int argc, char **argv)
{
	struct filler filler = { .size = { 1, 1, 2 }, .last = PHASE_SUBMITTED, .gate = GATE_AUTO,
				 .now_ms = clock_wall_ms() };
	int64_t began_ms = clock_monotonic_ms();
	struct store_config config = { .url = argc > 1 ? argv[1] : NULL };
	struct error error;
	char owner[64];

	if (argc < 2 || argc % 2 != 0)
		die("usage: bench-store STORE_URL [OPTION VALUE]...");
	for (int i = 2; i < argc; i += 2)
		option(&filler, argv[i], argv[i + 1]);
	if (bench_size_problem(&filler.size) != NULL)
		die(bench_size_problem(&filler.size));
	if ((filler.last != PHASE_SUBMITTED && filler.last != PHASE_VERIFIED) || filler.gate == _GATE_INVALID)
		die("the phase is submitted or verified, the gate auto or manual");
	config.password_file = filler.password_file;
	if (store_open(&config, &filler.store, &error) != 0)
		die(error.text);
	snprintf(owner, sizeof(owner), "bench:%d:1", (int)getpid());
	for (unsigned keyspace = 0; keyspace < filler.size.keyspaces; keyspace++)
		keyspace_fill(&filler, keyspace, owner);
	store_close(filler.store);
	printf("{\"changes\": %u, \"writes\": %zu, \"took_ms\": %lld}\n", filler.size.keyspaces * filler.size.changes,
	       filler.written, (long long)(clock_monotonic_ms() - began_ms));
	return 0;
}
