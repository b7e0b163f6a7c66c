#pragma once
/*
 * log: structured lines on standard error, for the command line and the loop only.
 *
 * One line per change of state, never per poll: text for people, or with
 * --log-format json one JSON object with `time`, `level`, `msg` and the fields.
 */
#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log_field {
	const char *key;
	const char *value; /* shown escaped; NULL: the field is left out */
};

/** log_setup() - @json: JSON lines, else text; lines below @level are dropped */
void log_setup(bool json, enum log_level level);

/** log_write() - one line; @fields ends with a field whose key is NULL, may be NULL */
void log_write(enum log_level level, const char *message, const struct log_field *fields);
