#pragma once
/*
 * workers: a test spread over processes, so that all cores work and a crash of one is a finding, not the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKERS_MAX 8

/** workers_memory() - zeroed memory that parent and workers share */
void *workers_memory(size_t size);

/** workers_count() - as many as there are cores, at least 2 and at most WORKERS_MAX */
unsigned workers_count(void);

/** workers_know() - whether @key is in a set that all share (workers_memory() of WORKERS_SET_SIZE); it is from now on */
bool workers_know(uint64_t *set, uint64_t key);
#define WORKERS_SET_KEYS (1u << 16)
#define WORKERS_SET_SIZE (WORKERS_SET_KEYS * sizeof(uint64_t))

/**
 * workers_run() - @work(number, user) in @count processes, each of which must come back from it
 * @on_failure:	called in the parent for each that did not
 *
 * A failing assertion of cmocka ends a worker at once, its message is printed.
 *
 * Return: whether all came back.
 */
bool workers_run(unsigned count, void (*work)(unsigned number, void *user), void (*on_failure)(unsigned number, void *user),
		 void *user);
