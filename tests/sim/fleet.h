#pragma once
/*
 * fleet: a pure model of one vtctld and the shards behind it, on a virtual clock.
 *
 * Used in process by the tests of the engine and behind gRPC by vtctldsim. It behaves as
 * Vitess 24.0.4 was read and measured to behave (docs/facts/), not as one would wish:
 * errors after the effect, partial fan-out, silence of dead tablets, stale readiness after a retry,
 * duplicates by context, a keyspace lock that is lost after 30 s. The contract suite runs on
 * it and on a real cluster.
 *
 * Nothing here reads a clock, sleeps or opens a file. Time moves only by fleet_advance().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/vtctld.h"

struct fleet;

struct fleet_config {
	const char *keyspace;
	const char *const *shards; /* names, e.g. "-80", "80-" */
	size_t shard_count;
	const char *schema;	/* CREATE statements, separated by ';'; NULL: the table orders */
	int64_t copy_ms;	/* how long the copy of an ALTER takes on a shard; 0: as measured on a small
				 * table, where it is held 4 to 5 s after the submit */
	int64_t rows;		/* rows of each table on each shard; 0: 1,000 */
	uint64_t seed;		/* spreads the shards' copy times by +-20 % and orders answers */
	int64_t wall_ms;	/* wall clock at virtual time 0 */
};

struct fleet *fleet_new(const struct fleet_config *config);
struct fleet *fleet_free(struct fleet *fleet);

/** fleet_advance() - let time pass up to @now_ms (virtual, from 0): ticks, copies, cut-overs, replies */
void fleet_advance(struct fleet *fleet, int64_t now_ms);

/** fleet_next_ms() - when something happens next by itself; INT64_MAX: never */
int64_t fleet_next_ms(struct fleet *fleet);

/**
 * fleet_start() - an RPC arrives; @request is copied, the reply will be built in @arena
 *
 * At the request's timeout the fleet itself answers code 4 as gRPC would at the client, and does
 * not go on with the work (measured: vtctld stops at the client's deadline or disconnect).
 */
void fleet_start(struct fleet *fleet, const struct vtctld_request *request, struct arena *arena);

/** fleet_take() - a finished reply, in the order they became due. False: none now */
bool fleet_take(struct fleet *fleet, struct vtctld_reply *ret);

/** fleet_abandon() - the client went away: no reply; work not yet done is not done */
void fleet_abandon(struct fleet *fleet, uint64_t tag);

/* ---- Faults: each is armed once and fires on the n-th matching call from now. ---- */

enum fault_when {
	FAULT_BEFORE, /* nothing is done */
	FAULT_AFTER,  /* everything is done, then the answer is spoiled */
	_FAULT_WHEN_MAX
};

struct fault {
	enum vtctld_method method;
	unsigned nth;	     /* 1: the next such call */
	unsigned times;	     /* fires on this many calls in a row; 0 is 1 */
	enum fault_when when;
	/* Effects: comma list of the shards on which it IS done although the call fails; only with
	 * FAULT_AFTER; NULL: on all. */
	const char *shards;
	int code;	     /* gRPC status of the answer; 0: a good answer, only late */
	const char *text;    /* NULL: a text Vitess would give */
	int64_t delay_ms;    /* answer so much later */
	bool drop;	     /* never answer: the client's deadline ends it */
	const char *missing; /* reads: leave this shard out of the answer; it stays OK */
	const char *doubled; /* reads: this shard's rows twice, the second as stale as the shard's start */
	bool stale_first;    /* ... and that one first */
	const char *unknown; /* rows: comma list of shards whose status is one that nobody knows yet */
	bool repeat;	     /* effects: it arrives a second time so much later, and within its deadline has its
			      * effect again, whatever becomes of its client */
	int64_t repeat_ms;
	unsigned *fired;     /* counted up whenever it fires; NULL: nobody counts */
};
void fleet_fault(struct fleet *fleet, const struct fault *fault);

/** fleet_faults_left() - armed and not fired yet: a test that planned a fault checks this */
size_t fleet_faults_left(const struct fleet *fleet);

/* ---- What happens to a fleet from outside. Shards by name; true if there is such a shard. ---- */

enum tablet_event {
	TABLET_STOP,	/* orderly: answers "tablet is shutdown" at once */
	TABLET_KILL,	/* kill -9: silence until the caller's deadline */
	TABLET_PAUSE,	/* SIGSTOP: silence, pending calls go on when it resumes */
	TABLET_RESUME,
	TABLET_START,	/* after STOP or KILL: leftovers of readiness for 10 s, then not ready until a tick */
	_TABLET_EVENT_MAX
};
bool fleet_tablet(struct fleet *fleet, const char *shard, enum tablet_event event);

/** fleet_reparent() - planned: reads miss the shard for a moment, effects fail there for 0.5 s;
 * emergency: the old primary stays dead, its record blinds GetSchemaMigrations until
 * fleet_forget_dead() or TABLET_START. The new primary has the next uid */
bool fleet_reparent(struct fleet *fleet, const char *shard, bool emergency);
void fleet_forget_dead(struct fleet *fleet, const char *shard); /* DeleteTablets of the dead alias */
void fleet_vtctld(struct fleet *fleet, bool up); /* down: code 14; the lock stays up to 30 s */
bool fleet_remove_shard(struct fleet *fleet, const char *shard); /* from the topology */
bool fleet_add_shard(struct fleet *fleet, const char *shard, bool serving);
/** fleet_split() - a reshard begins: two new shards that do not serve, with the tables of this one */
bool fleet_split(struct fleet *fleet, const char *shard);
/** fleet_end_split() - @switched: they serve and the old shard is gone; else they are withdrawn */
void fleet_end_split(struct fleet *fleet, bool switched);
bool fleet_block_cutover(struct fleet *fleet, const char *shard, bool blocked); /* an open transaction */
bool fleet_hold_copy(struct fleet *fleet, const char *shard, bool held); /* never becomes ready while held */
bool fleet_unready(struct fleet *fleet, const char *shard, bool unready); /* lag: not ready to complete */
/** fleet_throttle() - CheckThrottler says that copies are held back; they are not: nothing else follows */
bool fleet_throttle(struct fleet *fleet, const char *shard, bool held);
/** fleet_variable() - what that mysqld answers from now on; @variable: @@version, @@global.read_only or
 * @@performance_schema, false for any other. Nothing else follows */
bool fleet_variable(struct fleet *fleet, const char *shard, const char *variable, const char *value);
/** fleet_exec() - straight to that mysqld. False also where MySQL refuses it */
bool fleet_exec(struct fleet *fleet, const char *shard, const char *ddl);

/* Other people's control verbs through vtctldclient; uuid on all shards, or on one (shard not NULL). */
void fleet_cancel(struct fleet *fleet, const char *uuid, const char *shard);
void fleet_complete(struct fleet *fleet, const char *uuid, const char *shard);
void fleet_retry(struct fleet *fleet, const char *uuid, const char *shard);
void fleet_cleanup(struct fleet *fleet, const char *uuid, const char *shard);
/** fleet_lose_row() - an emergency reparent to a primary that never had that row */
void fleet_lose_row(struct fleet *fleet, const char *uuid, const char *shard);
/** fleet_fail() - the migration fails on that shard with @message */
void fleet_fail(struct fleet *fleet, const char *uuid, const char *shard, const char *message);
/** fleet_rerun() - the migration fails on that shard, is retried, and runs again at this moment */
void fleet_rerun(struct fleet *fleet, const char *uuid, const char *shard);
/** fleet_submit_foreign() - somebody's ALTER TABLE under its own uuid and context, on one shard or all */
void fleet_submit_foreign(struct fleet *fleet, const char *uuid, const char *context, const char *shard,
			  const char *ddl);

/* ---- What a test may look at: the truth, not an answer. ---- */

size_t fleet_shard_count(const struct fleet *fleet);
const char *fleet_shard_name(const struct fleet *fleet, size_t shard);
/** fleet_shard_number() - of its making, from 0: stays when other shards come and go */
size_t fleet_shard_number(const struct fleet *fleet, size_t shard);
/** fleet_changes() - grows whenever anything of what is shown here may have changed */
uint64_t fleet_changes(const struct fleet *fleet);
/** fleet_row() - the row of @uuid on a shard; NULL: none. Valid until the fleet changes */
const struct migration *fleet_row(const struct fleet *fleet, size_t shard, const char *uuid);
/** fleet_ready() - the row of @uuid on a shard is held and ready, and no leftover of an earlier run or primary */
bool fleet_ready(const struct fleet *fleet, size_t shard, const char *uuid);
/** fleet_moved_ms() - when the shard got its present primary; -1: it was made with it */
int64_t fleet_moved_ms(const struct fleet *fleet, size_t shard);
/** fleet_row_count() - rows on a shard, of all uuids */
size_t fleet_row_count(const struct fleet *fleet, size_t shard);
/** fleet_definition() - CREATE statement of a table or view on a shard; NULL: none */
const char *fleet_definition(const struct fleet *fleet, size_t shard, const char *table);
/** fleet_times_applied() - how often the DDL of @uuid really changed that shard's schema */
unsigned fleet_times_applied(const struct fleet *fleet, size_t shard, const char *uuid);
/** fleet_calls() - RPCs of a method that arrived so far */
unsigned fleet_calls(const struct fleet *fleet, enum vtctld_method method);

/* Journal: called once for each RPC when it ends, before the reply can be taken. @done names the
 * shards on which an effect took place, comma list, "" for none. */
struct fleet_journal_entry {
	int64_t at_ms, ended_ms;
	const struct vtctld_request *request;
	int code;
	const char *text;
	const char *done;
};
typedef void fleet_journal_fn(void *user, const struct fleet_journal_entry *entry);
void fleet_set_journal(struct fleet *fleet, fleet_journal_fn *journal, void *user);
