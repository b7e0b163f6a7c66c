#include "vtddl/log.h"

#include <errno.h>
#include <unistd.h>

#include "vtddl/banned.h"
#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

#define LINE_MAX_BYTES ((size_t)64 * 1024)
#define VALUE_MAX_BYTES ((size_t)8 * 1024)

static const char *const level_names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARNING] = "warning",
	[LOG_ERROR] = "error",
};

static struct {
	bool json;
	enum log_level level;
} settings = { .level = LOG_INFO };

void log_setup(bool json, enum log_level level)
{
	settings.json = json;
	settings.level = level;
}

/* After strbuf_add_shown() the text is UTF-8 without controls: only two characters are left to
 * escape, in JSON and in text alike. */
static void add_quoted(struct strbuf *line, const char *text)
{
	struct strbuf shown;

	strbuf_init(&shown, VALUE_MAX_BYTES);
	strbuf_add_shown(&shown, text, VALUE_MAX_BYTES);
	strbuf_adds(line, "\"");
	for (const char *at = shown.text; *at; at++) {
		if (*at == '"' || *at == '\\')
			strbuf_adds(line, "\\");
		strbuf_add(line, at, 1);
	}
	strbuf_adds(line, "\"");
	strbuf_release(&shown);
}

static bool is_plain(const char *text)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f || strchr("\"\\=", *at))
			return false;
	return *text != '\0';
}

static void format_json(struct strbuf *line, const char *time, enum log_level level, const char *message,
			const struct log_field *fields)
{
	strbuf_addf(line, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", time, level_names[level]);
	add_quoted(line, message);
	for (; fields && fields->key; fields++) {
		if (!fields->value)
			continue;
		strbuf_adds(line, ",");
		add_quoted(line, fields->key);
		strbuf_adds(line, ":");
		add_quoted(line, fields->value);
	}
	strbuf_adds(line, "}");
}

static void format_text(struct strbuf *line, const char *time, enum log_level level, const char *message,
			const struct log_field *fields)
{
	strbuf_addf(line, "%s %-7s ", time, level_names[level]);
	strbuf_add_shown(line, message, VALUE_MAX_BYTES);
	for (; fields && fields->key; fields++) {
		if (!fields->value)
			continue;
		strbuf_addf(line, " %s=", fields->key);
		if (is_plain(fields->value))
			strbuf_add_shown(line, fields->value, VALUE_MAX_BYTES);
		else
			add_quoted(line, fields->value);
	}
}

/* One write for one line, so that lines of several processes do not mix. A log that cannot be
 * written must not stop the work: errors are dropped. */
static void write_line(const struct strbuf *line)
{
	size_t done = 0;

	while (done < line->length) {
		ssize_t n = write(STDERR_FILENO, line->text + done, line->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

void log_write(enum log_level level, const char *message, const struct log_field *fields)
{
	char time[CLOCK_TEXT_SIZE];
	int saved_errno = errno;
	struct strbuf line;

	if (level < settings.level)
		return;
	clock_format(clock_wall_ms(), time);
	strbuf_init(&line, LINE_MAX_BYTES);
	if (settings.json)
		format_json(&line, time, level, message, fields);
	else
		format_text(&line, time, level, message, fields);
	if (line.overflow && settings.json) {
		/* Half an object helps nobody: the message alone is always short enough. */
		strbuf_clear(&line);
		format_json(&line, time, level, message, NULL);
	}
	line.overflow = false;
	line.ceiling++;
	strbuf_adds(&line, "\n");
	write_line(&line);
	strbuf_release(&line);
	errno = saved_errno;
}
