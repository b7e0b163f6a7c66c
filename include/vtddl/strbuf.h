#pragma once
/*
 * strbuf: a growing text with a ceiling.
 *
 * Going over the ceiling is not an error of each call: the text is cut there and
 * `overflow` is set, which the user of the finished text checks once.
 */
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
	char *text; /* always NUL-terminated once something was added; never NULL after strbuf_init() */
	size_t length;
	size_t capacity;
	size_t ceiling;
	bool overflow;
};

/** strbuf_init() - empty text, at most @ceiling bytes long; allocates nothing */
void strbuf_init(struct strbuf *buf, size_t ceiling);

/** strbuf_release() - frees the text; may be called again and on a zeroed struct */
void strbuf_release(struct strbuf *buf);

/** strbuf_clear() - empties the text, keeps the memory */
void strbuf_clear(struct strbuf *buf);

void strbuf_add(struct strbuf *buf, const void *bytes, size_t length);
void strbuf_adds(struct strbuf *buf, const char *text);
void strbuf_addf(struct strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * strbuf_add_shown() - adds text of the fleet so that a terminal or log can show it
 *
 * Control characters, escapes, characters that turn the direction of writing and invalid
 * UTF-8 become \xNN. At most @max bytes are added: what is longer is cut between two
 * characters and ends in "...". NULL adds nothing. The text of the fleet is data.
 */
void strbuf_add_shown(struct strbuf *buf, const char *text, size_t max);
