#pragma once
/* A fleet that is not there: changes in every phase, enough of them, with whatever names are asked for. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DEMO_SHARDS 64

struct demo_shard {
	double progress; /* percent */
	bool absent, failed, ready, complete;
};

struct demo_change {
	char keyspace[65], table[65], uuid[40];
	const char *phase, *gate, *reason, *advice, *ddl;
	int rule;
	bool cancel_asked;
	int64_t created_ms, updated_ms, seen_ms;
	double speed; /* percent in a tick */
	unsigned shard_count;
	struct demo_shard shards[DEMO_SHARDS];
};

struct demo_options {
	unsigned changes;
	bool hostile; /* names and texts that try to get out of their place */
	bool trouble; /* a vtctld is down, the store cannot be written */
};

struct demo_fleet {
	struct demo_options options;
	struct demo_change *changes;
	size_t count;
};

void fleet_make(struct demo_fleet *fleet, const struct demo_options *options);
void fleet_free(struct demo_fleet *fleet);
struct demo_change *fleet_find(const struct demo_fleet *fleet, const char *uuid);

/** fleet_tick() - time goes on; the change that moved, or NULL */
struct demo_change *fleet_tick(struct demo_fleet *fleet);
/** fleet_move() - as if it had happened */
void fleet_move(struct demo_change *change, const char *phase, const char *reason);

/* What the server says; phase, q and sort may be NULL. */
json_t *fleet_list(const struct demo_fleet *fleet, size_t limit, size_t offset, const char *phase,
		   const char *q);
json_t *fleet_change(const struct demo_fleet *fleet, const char *uuid);
json_t *fleet_history(const struct demo_fleet *fleet, size_t limit);
json_t *fleet_event(const struct demo_change *change, const char *from);
