#pragma once
/*
 * Inside of the simulator.
 *
 *	sim.c             the world: fleets, the store, virtual time; one process with SQLite
 *	sim_controller.c  one process: its clock, its requests, its death
 *	sim_slow.c        calls to a store that takes its time
 *	sim_check.c       the invariants
 *	sim_look.c        what each process has seen, and what it may do on that
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim.h"

#define WALL_START_MS 1790000000000
#define EXIT_MS 10000 /* SIGTERM: so long for what is in flight */

/* An RPC under way, and whose it is. The fleet knows it by @tag. */
struct sim_call {
	uint64_t tag, engine_tag;
	struct controller *controller;
	struct fleet *fleet;
	bool is_effect;
	enum vtctld_method method;
	char uuid[UUID_LENGTH + 1]; /* "": it names none */
	int64_t sent_ms, timeout_ms;
	bool is_look; /* rows that a decision is made on; a sweep's are not */
	bool is_late; /* its sender was stopped before the sending, and could not know */
};

/* An ApplySchema that may act for so long; 0: it ended, and its sender was told so. */
struct sim_submit {
	uint64_t tag;
	int64_t at_ms, may_act_ms;
};

/* What one process knows of one change, from the sending of its last look on. Times: -1 is not since then. */
struct sim_look {
	char uuid[UUID_LENGTH + 1], keyspace[KEYSPACE_MAX + 1];
	int64_t begun_ms, answered_ms;		   /* rows: asked for, answered */
	int64_t proof_begun_ms, proof_answered_ms; /* definitions: the first asked for, the last answered */
	int64_t second_ms; /* behind the last answer of these the topology was asked for */
	uint64_t doubled, unknown; /* shards that the rows showed twice, or in a status that nobody knows */
	bool is_direct;	     /* primaries were asked too */
	bool short_topology; /* an answer lacked a shard: new ones cannot be seen */
	struct sim_submit submits[2]; /* its last one, and the last one before that that did not end */
};

/* sim.c */
void sim_open_store(struct sim *sim, struct store **ret);
void sim_mark(struct controller *controller, enum sim_mark_kind kind);
struct fleet *sim_fleet_of(struct sim *sim, const struct vtctld_request *request);

/* sim_controller.c */
struct controller *controller_new(struct sim *sim);
/** a process is started: engine, store handle, and what it is asked */
void controller_start(struct controller *controller);
/** everything that it can do at this moment. Return: whether there was anything */
bool controller_turn(struct controller *controller);
/** virtual time at which it does something by itself next; INT64_MAX: never */
int64_t controller_wake_ms(const struct controller *controller);
void controller_tell_time(struct controller *controller);
void controller_exit(struct controller *controller);
/** an RPC's answer arrives at the process */
void controller_deliver(struct controller *controller, const struct vtctld_reply *reply);
void controller_free(struct controller *controller);
/** false: the process is dead or paused now */
bool controller_boundary(struct controller *controller, enum boundary_kind kind);
/** one transaction, or another call to the store */
void controller_store(struct controller *controller, struct sim_held *held);
bool is_write(const struct request *request);
void controller_tell(struct controller *controller, const struct reply *reply);

/* sim_slow.c */
void slow_ask(struct controller *controller, const struct sim_held *held);
bool slow_has(const struct controller *controller);
bool slow_turn(struct controller *controller);
int64_t slow_wake_ms(const struct controller *controller);
void slow_drop(struct controller *controller);
void slow_free(struct controller *controller);

/* sim_check.c */
void check_effect(struct controller *controller, const struct vtctld_request *request);
/** a write that took effect */
void check_write(struct sim *sim, const struct controller *writer, enum phase from, int64_t from_revision,
		 const struct change *after);
/** a lease was asked for and got */
void check_lease(const struct controller *controller, const char *scope);
/** a lease is given back */
void check_give_back(const struct controller *controller, const char *scope);
const char *check_table(struct sim *sim, const char *uuid); /* of a change; "": not known */
void check_journal(void *user, const struct fleet_journal_entry *entry);
void check_step(struct sim *sim);
void check_forget(struct sim *sim); /* the store went back in time */

/* sim_look.c */
/** look_sends() - Return: rows are asked for, for a look */
bool look_sends(struct controller *controller, const struct vtctld_request *request);
void look_is_answered(const struct sim_call *call, const struct vtctld_reply *reply);
void look_is_told(struct controller *controller, const struct vtctld_reply *reply);
/** look_of() - NULL: it never looked */
struct sim_look *look_of(const struct controller *controller, const char *uuid);
/** look_covers_ms() - a primary that moved before that must have been noticed by the second reading of the topology */
int64_t look_covers_ms(const struct sim_look *look, int64_t answered_ms, int64_t asked_ms);
void check_writer(const struct sim *sim, const struct controller *writer, const struct change *after, bool moves);
void check_submits(const struct sim *sim, const struct controller *writer, const char *uuid);
void check_evidence(const struct controller *writer, const struct change *after);
