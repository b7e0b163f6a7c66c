#include "alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The allocator of the C library under the names that it keeps for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct {
	struct alloc_call *call; /* NULL: the test's own code runs */
	enum alloc_fate (*judge)(unsigned n);
	unsigned count, deaths;
	enum alloc_fate fate;
	bool dead;
	const char *struck_in;
	void (*on_death)(void);
} alloc;

bool (*alloc_is_watch)(const void *store);

static void note_caller(const void *caller)
{
	Dl_info info;
	const char *slash;

	alloc.struck_in = "?";
	if (!dladdr(caller, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	alloc.struck_in = slash ? slash + 1 : info.dli_fname;
}

static bool fails(const void *caller)
{
	if (!alloc.call || alloc.fate == ALLOC_FAILS)
		return false;
	if (alloc.fate == ALLOC_WELL) {
		struct alloc_call *call = alloc.call;

		alloc.count++;
		alloc.call = NULL;
		alloc.fate = alloc.judge ? alloc.judge(alloc.count) : ALLOC_WELL;
		alloc.call = call;
		if (alloc.fate == ALLOC_WELL)
			return false;
		note_caller(caller);
	}
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

void *alloc_outside(void *memory, size_t size)
{
	return __libc_realloc(memory, size);
}

void alloc_judge(enum alloc_fate (*fn)(unsigned n))
{
	alloc.judge = fn;
	alloc.count = alloc.deaths = 0;
	alloc.fate = ALLOC_WELL;
	alloc.struck_in = NULL;
}

unsigned alloc_count(void)
{
	return alloc.count;
}

const char *alloc_struck_in(void)
{
	return alloc.struck_in;
}

bool alloc_process_is_dead(void)
{
	return alloc.dead;
}

unsigned alloc_deaths(void)
{
	return alloc.deaths;
}

void alloc_next_process(void)
{
	alloc.dead = false;
	if (alloc.fate == ALLOC_FAILS_FOR_ALL)
		alloc.fate = ALLOC_FAILS; /* the next one has memory */
}

bool alloc_enter(struct alloc_call *call)
{
	if (alloc.call)
		return false;
	alloc.call = call;
	return true;
}

void alloc_leave(void)
{
	alloc.call = NULL;
}

void alloc_on_death(void (*fn)(void))
{
	alloc.on_death = fn;
}

_Noreturn void alloc_abort(void)
{
	struct alloc_call *call = alloc.call;

	/* Nothing failed: it is no lack of memory that it dies of, but a bug. */
	if (!call || !alloc.struck_in)
		abort();
	alloc.call = NULL;
	alloc.dead = true;
	alloc.deaths++;
	if (alloc.on_death)
		alloc.on_death();
	longjmp(call->place, 1);
}
