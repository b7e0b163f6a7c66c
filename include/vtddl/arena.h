#pragma once
/*
 * arena: memory that is released all at once.
 *
 * Everything decoded for one observation lives in one arena, so nothing in it is
 * freed alone. An arena may have a limit: it bounds what a hostile peer can make
 * the program allocate (I14).
 */
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used;  /* bytes handed out */
	size_t limit; /* 0: none */
};

/** arena_init() - an empty arena; allocates nothing. @limit in bytes, 0 for none */
void arena_init(struct arena *arena, size_t limit);

/** arena_release() - frees everything; the arena is empty and usable again */
void arena_release(struct arena *arena);

/**
 * arena_adopt() - take over everything that @from holds; it is empty and usable again
 *
 * For an answer that was put together on another thread. It is not held to the limit of @arena.
 */
void arena_adopt(struct arena *arena, struct arena *from);

/**
 * arena_alloc() - zeroed memory, aligned for any type
 *
 * Return: memory that lives until arena_release(); NULL only where the arena has a
 * limit and @size does not fit. Out of memory aborts.
 */
void *arena_alloc(struct arena *arena, size_t size);

/** arena_array() - arena_alloc() of @count members of @size, checked for overflow */
void *arena_array(struct arena *arena, size_t count, size_t size);

/** arena_strdup() - a copy of a string; NULL stays NULL */
char *arena_strdup(struct arena *arena, const char *text);

/** arena_memdup() - a copy of @length bytes with a NUL behind them */
char *arena_memdup(struct arena *arena, const void *bytes, size_t length);

/** arena_printf() - formatted text */
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
