#include "vtddl/strbuf.h"

#include <stdarg.h>
#include <stdint.h>

#include "vtddl/banned.h"

/* Shared by every empty text, so that `text` is never NULL; capacity 0 says it is not ours. */
static char empty_text[1];

void strbuf_init(struct strbuf *buf, size_t ceiling)
{
	*buf = (struct strbuf){ .text = empty_text, .ceiling = ceiling };
}

void strbuf_release(struct strbuf *buf)
{
	if (buf->capacity)
		free(buf->text);
	strbuf_init(buf, buf->ceiling);
}

void strbuf_clear(struct strbuf *buf)
{
	buf->length = 0;
	buf->overflow = false;
	if (buf->capacity)
		buf->text[0] = '\0';
}

static void strbuf_reserve(struct strbuf *buf, size_t length)
{
	size_t capacity = buf->capacity ? buf->capacity : 64;

	if (length == SIZE_MAX)
		abort();
	if (length < buf->capacity)
		return;
	while (capacity <= length)
		capacity = capacity > SIZE_MAX / 2 ? length + 1 : capacity * 2;
	buf->text = realloc(buf->capacity ? buf->text : NULL, capacity);
	if (!buf->text)
		abort();
	buf->capacity = capacity;
}

void strbuf_add(struct strbuf *buf, const void *bytes, size_t length)
{
	size_t room = buf->ceiling - buf->length;

	/* Nothing follows a cut, or the text would have a hole. */
	if (buf->overflow || !length)
		return;
	if (length > room) {
		buf->overflow = true;
		length = room;
		if (!length)
			return;
	}
	strbuf_reserve(buf, buf->length + length);
	memcpy(buf->text + buf->length, bytes, length);
	buf->length += length;
	buf->text[buf->length] = '\0';
}

void strbuf_adds(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_addf(struct strbuf *buf, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		abort();
	strbuf_add(buf, text, (size_t)length);
	free(text);
}

/* ---- Showing text of others ---- */

/* Characters that a terminal obeys or that hide or reorder what a person reads. */
static const struct {
	uint32_t first, last;
} not_shown[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0x061c, 0x061c }, { 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xe0000, 0xe007f },
};

static bool is_shown(uint32_t character)
{
	for (size_t i = 0; i < sizeof(not_shown) / sizeof(not_shown[0]); i++)
		if (character >= not_shown[i].first && character <= not_shown[i].last)
			return false;
	return true;
}

/* Length of the valid UTF-8 sequence that @text begins with, 0 if it is none. RFC 3629: no
 * overlong form, no surrogate, nothing above U+10FFFF. */
static size_t utf8_decode(const unsigned char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t character = text[0];
	size_t length = 1;

	if (character >= 0x80) {
		length = character >= 0xf0 ? 4 : character >= 0xe0 ? 3 : 2;
		if (character < 0xc2 || character > 0xf4)
			return 0;
		character &= 0xffu >> (length + 1);
	}
	for (size_t i = 1; i < length; i++) {
		/* The closing NUL is no continuation, so this never reads past it. */
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3fu);
	}
	if (character < least[length] || character > 0x10ffff || (character >= 0xd800 && character <= 0xdfff))
		return 0;
	*ret = character;
	return length;
}

/* One character of @text, as it is shown; returns how much of @text that was. */
static size_t show_one(const unsigned char *text, char ret[4 * 4 + 1], size_t *ret_length)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t character = 0;
	size_t length = utf8_decode(text, &character);

	if (length && is_shown(character)) {
		memcpy(ret, text, length);
		*ret_length = length;
		return length;
	}
	length = length ? length : 1;
	*ret_length = 4 * length;
	for (size_t i = 0; i < length; i++) {
		ret[4 * i] = '\\';
		ret[4 * i + 1] = 'x';
		ret[4 * i + 2] = hex[text[i] >> 4];
		ret[4 * i + 3] = hex[text[i] & 0xf];
	}
	return length;
}

void strbuf_add_shown(struct strbuf *buf, const char *text, size_t max)
{
	static const char dots[] = "...";
	const unsigned char *end = (const unsigned char *)(text ? text : ""), *cut = end;
	size_t dots_length = max < 3 ? max : 3, total = 0, length;
	char shown[4 * 4 + 1];

	/* First how far it goes, then the adding: only then is it known whether it must be cut. */
	for (const unsigned char *at = end; *at && total <= max;) {
		at += show_one(at, shown, &length);
		total += length;
		if (total <= max - dots_length)
			cut = at;
		if (total <= max)
			end = at;
	}
	if (total > max)
		end = cut;
	for (const unsigned char *at = (const unsigned char *)(text ? text : ""); at < end;) {
		at += show_one(at, shown, &length);
		if (length > buf->ceiling - buf->length)
			buf->overflow = true; /* whole characters or nothing */
		strbuf_add(buf, shown, length);
	}
	if (total > max)
		strbuf_add(buf, dots, dots_length);
}
