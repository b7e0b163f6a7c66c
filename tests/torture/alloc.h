#pragma once
/*
 * alloc: an allocation of a process of the simulation fails, and its death by that is played.
 *
 * malloc() and its kin of the whole test program are ours, so those of SQLite, of OpenSSL and of the C library
 * too. Only what is allocated inside of a call of the engine or of a store counts (alloc_calls.c, by the linker's
 * --wrap); the models and the test itself always have memory. Where vtddl says abort(), the call is left by
 * longjmp(), and nothing of that engine and store is used or freed any more: a process that is gone.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

enum alloc_fate {
	ALLOC_WELL,
	ALLOC_FAILS,	    /* this one */
	ALLOC_FAILS_FOR_ALL, /* and all behind it */
};

/** alloc_judge() - asked for the @n-th allocation from now, 1 and so on, until one fails; NULL: all is well */
void alloc_judge(enum alloc_fate (*fn)(unsigned n));
/** alloc_count() - since alloc_judge() */
unsigned alloc_count(void);
/** alloc_struck_in() - whose allocation failed: the file name of the program or library; NULL: none failed */
const char *alloc_struck_in(void);

/** alloc_process_is_dead() - it said abort() */
bool alloc_process_is_dead(void);
/** alloc_deaths() - since alloc_judge() */
unsigned alloc_deaths(void);
/** alloc_next_process() - the dead one is buried */
void alloc_next_process(void);
/** alloc_outside() - realloc() that always has memory and does not count */
void *alloc_outside(void *memory, size_t size);

/* For alloc_calls.c. */
struct alloc_call {
	jmp_buf place;
};
/** alloc_enter() - false: we are in such a call already */
bool alloc_enter(struct alloc_call *call);
void alloc_leave(void);
/** alloc_abort() - instead of abort() */
_Noreturn void alloc_abort(void);
/** alloc_on_death() - called when a process has died, before the call comes back */
void alloc_on_death(void (*fn)(void));
/** alloc_is_watch() - a store that the test itself looks through */
extern bool (*alloc_is_watch)(const void *store);
