#pragma once
/*
 * sim_disk: a simulation of one process whose store is SQLite on a disk that fails (store_disk.h).
 *
 *	sim = sim_disk_new(&config);
 *	disk_judge(judge, user);
 *	sim_run(sim, &ask, limit_ms);	as often as a pipeline would run it
 *	sim_disk_free(sim);
 *
 * A process that dies at an operation of the disk is killed at once: nothing that it would do later is done.
 * Checked beside the invariants of the simulation: what a process was told that it is written is never lost.
 */
#include "sim.h"
#include "store_disk.h"

/** sim_disk_new() - sim_new() with an empty disk; @config's open_store is set by it, its on_boundary is taken */
struct sim *sim_disk_new(const struct sim_config *config);
void sim_disk_free(struct sim *sim);

/** sim_disk_begin_with() - with these files instead of none */
void sim_disk_begin_with(struct sim *sim, const struct disk_copy *copy);

/** sim_disk_on_death() - called when a process is gone and before the next one: power may fail, files may go */
void sim_disk_on_death(void (*fn)(struct sim *sim, void *user), void *user);
/** sim_disk_on_boundary() - sees every boundary of a living process */
void sim_disk_on_boundary(sim_boundary_fn *fn, void *user);
/** sim_disk_close_watch() - the test's own handle: before power fails or another file takes the place of this one */
void sim_disk_close_watch(struct sim *sim);
/** sim_disk_forget() - the store is an older one now, or gone: what was told is not expected of it */
void sim_disk_forget(struct sim *sim);
/**
 * sim_disk_state() - names the state that a dead process left: what is on the disk, the time, what was done so far
 *
 * Of two runs of one seed that were the same up to the death, equal names mean an equal future.
 */
uint64_t sim_disk_state(const struct sim *sim);
/** sim_disk_lives() - processes that were started or tried to, in this simulation */
unsigned sim_disk_lives(void);
