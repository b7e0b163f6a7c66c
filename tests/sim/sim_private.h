#pragma once
/*
 * Inside of the simulator.
 *
 *	sim.c             the world: fleets, the store, virtual time; one process with SQLite
 *	sim_controller.c  one process: its clock, its requests, its death
 *	sim_slow.c        calls to a store that takes its time
 *	sim_check.c       the invariants
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
	char uuid[UUID_LENGTH + 1];
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
void check_write(struct sim *sim, enum phase from, int64_t from_revision, const struct change *after);
void check_journal(void *user, const struct fleet_journal_entry *entry);
void check_step(struct sim *sim);
void check_forget(struct sim *sim); /* the store went back in time */
