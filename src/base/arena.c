#include "vtddl/arena.h"

#include <stdarg.h>
#include <stdint.h>

#include "vtddl/banned.h"

#define BLOCK_SIZE_MIN ((size_t)4096)
#define BLOCK_SIZE_MAX ((size_t)1024 * 1024)
#define ALIGNMENT _Alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	size_t size;
	size_t used;
	_Alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *arena, size_t limit)
{
	*arena = (struct arena){ .limit = limit };
}

void arena_release(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->used = 0;
}

void arena_adopt(struct arena *arena, struct arena *from)
{
	struct arena_block **last = &from->blocks;

	while (*last)
		last = &(*last)->next;
	/* Behind our first block, for that one still has room. */
	if (arena->blocks && from->blocks) {
		*last = arena->blocks->next;
		arena->blocks->next = from->blocks;
	} else if (from->blocks) {
		arena->blocks = from->blocks;
	}
	arena->used += from->used;
	from->blocks = NULL;
	from->used = 0;
}

/* Blocks double, so that a large observation costs few calls and a small one little memory. */
static struct arena_block *block_new(const struct arena *arena, size_t needed)
{
	size_t size = arena->blocks ? arena->blocks->size : BLOCK_SIZE_MIN / 2;
	struct arena_block *block;

	size = size < BLOCK_SIZE_MAX / 2 ? size * 2 : BLOCK_SIZE_MAX;
	if (size < needed)
		size = needed;
	block = malloc(sizeof(*block) + size);
	if (!block)
		abort();
	block->size = size;
	block->used = 0;
	return block;
}

/* What does not fit into the size type fits into no limit and no machine. */
static void *refuse(const struct arena *arena)
{
	if (!arena->limit)
		abort();
	return NULL;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *block = arena->blocks;
	size_t rounded;
	void *memory;

	if (size > SIZE_MAX / 2)
		return refuse(arena);
	/* Nothing still gets its own address. */
	rounded = ((size ? size : 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (arena->limit && (arena->used > arena->limit || rounded > arena->limit - arena->used))
		return NULL;
	if (!block || block->size - block->used < rounded) {
		block = block_new(arena, rounded);
		block->next = arena->blocks;
		arena->blocks = block;
	}
	memory = block->bytes + block->used;
	block->used += rounded;
	arena->used += rounded;
	return memset(memory, 0, rounded);
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		return refuse(arena);
	return arena_alloc(arena, bytes);
}

char *arena_memdup(struct arena *arena, const void *bytes, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		return refuse(arena);
	copy = arena_alloc(arena, length + 1);
	if (copy && length)
		memcpy(copy, bytes, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return text ? arena_memdup(arena, text, strlen(text)) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text, brief[128]; /* most are short, and formatted once */
	int length;

	va_start(args, format);
	length = vsnprintf(brief, sizeof(brief), format, args);
	va_end(args);
	if (length < 0)
		abort();
	if ((size_t)length < sizeof(brief))
		return arena_memdup(arena, brief, (size_t)length);
	text = arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}
