#include "workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void *workers_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

bool workers_know(uint64_t *set, uint64_t key)
{
	key = key ? key : 1;
	for (uint64_t at = key, tries = 0; tries < WORKERS_SET_KEYS; at++, tries++) {
		uint64_t found = 0;

		if (__atomic_compare_exchange_n(&set[at % WORKERS_SET_KEYS], &found, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return false;
		if (found == key)
			return true;
	}
	return false;
}

unsigned workers_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores < 2 ? 2 : cores > WORKERS_MAX ? WORKERS_MAX : (unsigned)cores;
}

bool workers_run(unsigned count, void (*work)(unsigned number, void *user), void (*on_failure)(unsigned number, void *user),
		 void *user)
{
	pid_t pids[WORKERS_MAX];
	bool all_well = true;

	fflush(NULL);
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	for (unsigned i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			abort();
		if (pids[i] == 0) {
			work(i, user);
			fflush(NULL);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < count; i++) {
		int status = -1;

		if (waitpid(pids[i], &status, 0) == pids[i] && status == 0)
			continue;
		all_well = false;
		if (on_failure)
			on_failure(i, user);
	}
	unsetenv("CMOCKA_TEST_ABORT");
	return all_well;
}
