#pragma once
/*
 * wire_bytes: protobuf by hand, so that no test takes the program's own encoder for the truth.
 *
 *	struct bytes row = { 0 };
 *	put_text(&row, 1, "uuid");     field 1, wire type 2
 *	put_number(&row, 16, 5);       field 16, wire type 0
 *	put_bytes(&answer, 1, row.at, row.length);
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
	uint8_t *at;
	size_t length, capacity;
};

static inline void put_raw(struct bytes *bytes, const void *from, size_t length)
{
	if (bytes->length + length > bytes->capacity) {
		bytes->capacity = 2 * (bytes->length + length) + 64;
		bytes->at = realloc(bytes->at, bytes->capacity);
		assert(bytes->at);
	}
	if (length)
		memcpy(bytes->at + bytes->length, from, length);
	bytes->length += length;
}

static inline void put_byte(struct bytes *bytes, uint8_t byte)
{
	put_raw(bytes, &byte, 1);
}

static inline void put_varint(struct bytes *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(bytes, (uint8_t)(value | 0x80));
	put_byte(bytes, (uint8_t)value);
}

static inline void put_tag(struct bytes *bytes, unsigned field, unsigned wire_type)
{
	put_varint(bytes, (uint64_t)field << 3 | wire_type);
}

static inline void put_number(struct bytes *bytes, unsigned field, uint64_t value)
{
	put_tag(bytes, field, 0);
	put_varint(bytes, value);
}

static inline void put_bytes(struct bytes *bytes, unsigned field, const void *from, size_t length)
{
	put_tag(bytes, field, 2);
	put_varint(bytes, length);
	put_raw(bytes, from, length);
}

static inline void put_text(struct bytes *bytes, unsigned field, const char *text)
{
	put_bytes(bytes, field, text, strlen(text));
}

/* Puts @part into @bytes as field @field, and empties it. */
static inline void put_part(struct bytes *bytes, unsigned field, struct bytes *part)
{
	put_bytes(bytes, field, part->at, part->length);
	free(part->at);
	*part = (struct bytes){0};
}

static inline void bytes_release(struct bytes *bytes)
{
	free(bytes->at);
	*bytes = (struct bytes){0};
}
