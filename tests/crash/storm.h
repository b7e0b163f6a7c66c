#pragma once
/*
 * storm: one seed is one run of everything at once. What strikes, and when, is a list made from the seed: each entry
 * has a random stream of its own, so that entries can be left out and the others strike as before.
 *
 *	storm.c           a run: its beginning, the rage, the quiet after it, the end
 *	storm_judge.c     how every change must have ended
 *	storm_calls.c     faults of messages and of the fleet
 *	storm_world.c     faults of processes, stores and clocks, and people
 *	storm_moments.c   faults that wait for the moment in which they matter
 *	storm_faults.def  the table of them
 *	storm_trace.c     a hash of every message in its order
 *	storm_search.c    many runs in several processes, and the search for a smaller one that fails
 */
#include "controllers_fixture.h"

#define KEYSPACES 2
#define SHARDS_STORM_MAX 16
#define CHANGES_STORM_MAX 24
#define ENTRIES_MAX 512
#define SLOTS_KEPT 56 /* processes that only the end may start */

enum fault_name {
#define FAULT(name, weight, words) FAULT_##name,
#define COUNT(name, words) FAULT_##name,
#define MOMENT(name, weight, words)
#include "storm_faults.def"
#undef FAULT
#undef COUNT
#undef MOMENT
	_MOMENT_FIRST, /* these are planned apart from those above */
	_MOMENT_BEFORE = _MOMENT_FIRST - 1,
#define FAULT(name, weight, words)
#define COUNT(name, words)
#define MOMENT(name, weight, words) FAULT_##name,
#include "storm_faults.def"
#undef FAULT
#undef COUNT
#undef MOMENT
	_FAULT_NAME_MAX
};
#define MOMENTS ((int)_FAULT_NAME_MAX - (int)_MOMENT_FIRST)

/* A run, and what is left out of it. */
struct storm_case {
	uint64_t seed;
	unsigned controllers, changes, shards; /* at most; 0: as the seed says */
	bool without[ENTRIES_MAX];
	bool tells; /* what happens, on the standard output */
};

/* What a call is, for the table of crash boundaries. */
#define CALLS_MAX ((int)_REQUEST_KIND_MAX + (int)_VTCTLD_METHOD_MAX)

/* Counted over many runs; each process has one, where others can read it. */
struct storm_totals {
	uint64_t seeds, virtual_ms, messages, changes, twice;
	unsigned ends[_PHASE_MAX], held_up, late, forgotten, resharded;
	unsigned fired[_FAULT_NAME_MAX];
	unsigned kills[_BOUNDARY_KIND_MAX][CALLS_MAX];
	unsigned most_changes, most_shards, most_controllers;
	unsigned entries; /* of the run that is under way, so far */
};

struct storm_change {
	struct ask ask;
	char uuid[UUID_LENGTH + 1]; /* "": not in the store yet */
	const char *keyspace;
	int64_t looked_at_ms; /* at the end: by people, next */
};

struct boundary_plan {
	bool is_set, pauses, any_call;
	enum boundary_kind kind;
	unsigned nth;
	unsigned *fired;
};

/* A fault that waits for its moment. */
struct moment {
	bool is_set;
	unsigned nth;	 /* of those that fit */
	unsigned stage;	 /* of one that has several */
	bool is_whole;	 /* of one that releases some shards, or all */
	unsigned process; /* whose moment it was */
	uint64_t random;
	char uuid[UUID_LENGTH + 1];
};

struct storm {
	const struct storm_case *what;
	struct storm_totals *totals;
	struct sim *sim;
	uint64_t random; /* of the entry that strikes */
	unsigned *fired; /* its count, for one that strikes later */
	uint64_t delays; /* of the store */
	uint64_t trace;
	bool traces, serves, is_slow, has_snapshot, keeps_snapshot;
	unsigned controllers;
	size_t shard_count;
	const char *shards[SHARDS_STORM_MAX];
	char shard_names[SHARDS_STORM_MAX][8];
	struct boundary_plan at_boundary;
	struct moment moments[MOMENTS];
	unsigned armed; /* of those */
	char looking[SIM_CONTROLLERS_MAX][UUID_LENGTH + 1]; /* whose rows a process has asked for last */
	int64_t store_up_ms, store_slow_until_ms, store_takes_next_ms;
	struct { /* of a keyspace */
		int64_t vtctld_up_ms, tablet_up_ms, shards_free_ms;
		char tablet[SHARD_NAME_MAX + 1]; /* that is away; "": none */
		bool is_dead; /* an old primary whose record lingers */
		char foreign[UUID_LENGTH + 1];
		int64_t foreign_until_ms;
	} at[KEYSPACES];
	struct storm_change changes[CHANGES_STORM_MAX];
	unsigned change_count, change_limit;
};

extern struct storm storm;

struct storm_fault {
	const char *name, *words;
	unsigned weight;
	bool (*strike)(void); /* false: there was nothing to strike, or it counts itself later. NULL: only counted */
	/* asked at every boundary while it waits: true when it has struck */
	bool (*moment)(struct controller *controller, enum boundary_kind kind, struct moment *moment);
};
extern const struct storm_fault storm_faults[_FAULT_NAME_MAX];

#define FAULT(name, weight, words) bool strike_##name(void);
#define COUNT(name, words)
#define MOMENT(name, weight, words) \
	bool moment_##name(struct controller *controller, enum boundary_kind kind, struct moment *moment);
#include "storm_faults.def"
#undef FAULT
#undef COUNT
#undef MOMENT

/** chance() - a number below @below, of the stream of the entry that strikes */
unsigned chance(unsigned below);
uint64_t mix(uint64_t a, uint64_t b);

/** storm_run() - fails by cmocka's fail(). Return: its trace, if that is asked for; else 0 */
uint64_t storm_run(const struct storm_case *what, bool traces, struct storm_totals *totals);

/* storm_world.c */
extern const char *const storm_keyspaces[KEYSPACES];
struct storm_statement {
	const char *ddl, *fragment; /* NULL: the table itself */
	bool is_there;
	const char *undo;
};
const struct storm_statement *statement_of(const char *ddl);
bool is_intended(const struct change *change, const char *definition);
void boundary_strikes(struct controller *controller, enum boundary_kind kind);
int64_t store_takes_ms(struct controller *controller, const struct request *request, void *user);
bool may_start(unsigned kept);
void ask_again(struct storm_change *change, enum goal goal, bool open_gate);
void note_changes(void);
const struct change *change_of(const struct storm_change *change);
void heal_processes(void);

/* storm_calls.c */
void heal_fleet(unsigned keyspace, bool all);
unsigned any_keyspace(void);
const char *any_shard(unsigned keyspace);
const char *any_shards(unsigned keyspace, char *ret, size_t size);
/** shards_lag() - for a while; then all that do not get on in a keyspace do again */
void shards_lag(unsigned keyspace);
/** store_goes_back() - to its last snapshot, which is no more */
void store_goes_back(void);
void make_uuid(char ret[UUID_LENGTH + 1]);

/* storm_moments.c */
void moment_arm(int fault, uint64_t random);
void moments_strike(struct controller *controller, enum boundary_kind kind);
void moments_end(void);

/* storm_judge.c */
bool has_ended(const struct change *change);
bool is_late(const struct change *change);
bool lost_a_shard(const struct change *change);
bool is_held_up(const struct change *change);
bool lives_in_fleet(const char *keyspace, const char *uuid);
void judge(void);

/* storm_trace.c */
void trace_boundary(struct controller *controller, enum boundary_kind kind);
void tell_boundary(const struct controller *controller, enum boundary_kind kind);
void trace_reply(struct controller *controller, const struct reply *reply);

/* storm_search.c */
struct search {
	uint64_t first, count;
	unsigned jobs, seconds; /* seconds: instead of @count; 0: not */
	unsigned tries;		/* of the search for a smaller run; 0: none */
	bool tells_progress;
};
/** search_run() - Return: 0, or 1 where a seed failed, and how to repeat it was told */
int search_run(const struct search *search, struct storm_totals *ret);
/** search_one() - one case, and if it fails a smaller one */
int search_one(const struct storm_case *what, unsigned tries);
