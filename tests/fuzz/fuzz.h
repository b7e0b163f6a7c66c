#pragma once
/*
 * fuzz: what all targets share. A target has one function, LLVMFuzzerTestOneInput(), and nothing of it may
 * depend on what ran before. With clang libFuzzer calls it; else driver.c does, with the files of the corpus.
 *
 * Bytes are read as a list of choices; what is missing at the end is zero, so every input means something.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Not assert(): a fuzz target must check in every build. */
#define fuzz_check(holds, ...)                                                                               \
	do {                                                                                                 \
		if (!(holds)) {                                                                              \
			fprintf(stderr, "broken: ");                                                         \
			fprintf(stderr, __VA_ARGS__);                                                        \
			fputc('\n', stderr);                                                                 \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct fuzz_bytes {
	const uint8_t *at, *end;
};

static inline size_t fuzz_left(const struct fuzz_bytes *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static inline unsigned fuzz_byte(struct fuzz_bytes *bytes)
{
	return bytes->at < bytes->end ? *bytes->at++ : 0;
}

static inline unsigned fuzz_below(struct fuzz_bytes *bytes, unsigned count)
{
	return fuzz_byte(bytes) % count;
}

/* Mostly numbers at a border, else any. */
static inline int64_t fuzz_number(struct fuzz_bytes *bytes)
{
	static const int64_t borders[] = { 0,	      1,	  -1,	      2,	 3,	    5,
					   INT32_MAX, INT32_MIN,  UINT32_MAX, INT64_MAX, INT64_MIN, 1LL << 32,
					   1LL << 33, 1790000000, 65535,      1024 };
	unsigned choice = fuzz_byte(bytes);
	uint64_t number = 0;

	if (choice < 0xf0)
		return borders[choice % (sizeof(borders) / sizeof(borders[0]))];
	for (size_t i = 0; i < sizeof(number); i++)
		number = number << 8 | fuzz_byte(bytes);
	return (int64_t)number;
}

/* Of the exact size, so that a byte too many is seen by AddressSanitizer; and a NUL behind it if @terminate.
 */
static inline void *fuzz_copy(const void *bytes, size_t length, bool terminate)
{
	char *copy = malloc(length + terminate + (length + terminate == 0));

	fuzz_check(copy, "memory");
	if (length)
		memcpy(copy, bytes, length);
	if (terminate)
		copy[length] = '\0';
	return copy;
}

/** fuzz_is_quiet() - whether a terminal would show @text and do nothing: UTF-8 without control characters */
static inline bool fuzz_is_quiet(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++)
		if (*at < ' ' || *at == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0))
			return false;
	return true;
}

/** fuzz_is_utf8() - by RFC 3629, and by no code that is tested here */
static inline bool fuzz_is_utf8(const char *text)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		unsigned more = *at < 0x80 ? 0 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : 3;
		uint32_t letter = more ? *at & (0x3fu >> more) : *at;

		if ((*at >= 0x80 && *at < 0xc0) || *at > 0xf7)
			return false;
		at++;
		for (unsigned i = 0; i < more; i++, at++) {
			if ((*at & 0xc0) != 0x80)
				return false;
			letter = letter << 6 | (*at & 0x3f);
		}
		if (letter < least[more] || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000))
			return false;
	}
	return true;
}
