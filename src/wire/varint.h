#pragma once
/*
 * varint: protobuf's numbers of 1 to 10 bytes, for those who walk the wire.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { /* 3 and 4 are groups, which are refused */
		 WIRE_VARINT = 0,
		 WIRE_64BIT = 1,
		 WIRE_LENGTH = 2,
		 WIRE_32BIT = 5
};

/* Return: false, where the varint is cut off, or has more than @max bytes or 64 bits. */
static inline bool varint_read_long(const uint8_t **at, const uint8_t *end, size_t max, uint64_t *ret)
{
	const uint8_t *from = *at;
	size_t limit = (size_t)(end - from) < max ? (size_t)(end - from) : max;
	uint64_t value = 0;

	for (size_t i = 0; i < limit; i++) {
		value |= (uint64_t)(from[i] & 0x7f) << (7 * i);
		if (from[i] < 0x80) {
			*ret = value;
			*at = from + i + 1;
			return i < 9 || from[i] <= 1;
		}
	}
	*at = from + limit;
	return false;
}

/* The same. Most have one byte or two: those cost no loop. */
static inline bool varint_read(const uint8_t **at, const uint8_t *end, size_t max, uint64_t *ret)
{
	const uint8_t *from = *at;

	if (from < end && from[0] < 0x80) {
		*ret = from[0];
		*at += 1;
		return true;
	}
	if (end - from >= 2 && from[1] < 0x80) {
		*ret = (uint64_t)(from[0] & 0x7f) | (uint64_t)from[1] << 7;
		*at += 2;
		return true;
	}
	return varint_read_long(at, end, max, ret);
}
