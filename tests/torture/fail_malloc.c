/*
 * For LD_PRELOAD: the allocation number ALLOC_FAILS_AT of the process fails, whoever asked for it; with
 * ALLOC_FAILS_ON all behind it too. How many there were is written to the file ALLOC_COUNT at a quick_exit().
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static long fails_at, allocations;
static int fails_on;

static void write_count(void)
{
	const char *path = getenv("ALLOC_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%ld\n", allocations);
		fclose(file);
	}
}

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("ALLOC_FAILS_AT");

	fails_on = getenv("ALLOC_FAILS_ON") != NULL;
	at_quick_exit(write_count);
	__atomic_store_n(&allocations, 0, __ATOMIC_RELAXED); /* those of the loader are not the program's */
	fails_at = at ? atol(at) : 0;
}

static int fails(void)
{
	long number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);

	if (!fails_at || (number != fails_at && !(fails_on && number > fails_at)))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}
