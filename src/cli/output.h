#pragma once
/*
 * output: what every command prints in the same way: errors, exit codes, colours, times.
 *
 * Standard output is data, standard error is talk. Text of the fleet goes through
 * output_shown(), so that it cannot drive the terminal.
 */
#include <stdio.h>

#include "options.h"
#include "vtddl/rules.h"
#include "vtddl/strbuf.h"

enum exit_code { /* docs/exit-codes.md is `vtddl help exit-codes` */
		 EXIT_DONE = 0,
		 EXIT_FAILED = 1,
		 EXIT_BLOCKED = 3,
		 EXIT_LATE = 4,
		 EXIT_GATE = 5,
		 EXIT_INCONSISTENT = 6,
		 EXIT_UNSEEN = 7,
		 EXIT_USAGE = 64,
		 EXIT_INPUT = 65,
		 EXIT_UNAVAILABLE = 69,
		 EXIT_BUG = 70,
		 EXIT_STORE = 74,
		 EXIT_TRY_AGAIN = 75,
		 EXIT_AUTH = 77,
		 EXIT_CONFIG = 78,
		 EXIT_INTERRUPTED = 130,
		 EXIT_TERMINATED = 143
};

/** output_exit_codes() - the table, for people */
void output_exit_codes(FILE *to);

/** exit_code_name() - "failed": the `verdict` of --json */
const char *exit_code_name(int code);

/** output_setup() - colours, form of errors and log, from the options */
void output_setup(const struct options *options);

/** output_log_json() - JSON lines where the options did not say otherwise: a daemon's log is collected */
void output_log_json(void);

/** output_log_level() - a running daemon was told another one */
void output_log_level(const struct options *options);

bool output_is_json(void);
bool output_has_color(FILE *to);
bool output_is_live(void); /* standard error is a terminal on which lines can be redrawn */

/** output_say() - one line of talk on standard error: "vtddl: ...", or a log line with --log-format json */
void output_say(const char *format, ...) printf_like(1, 2);

/**
 * output_error() - one sentence on standard error; with --json also an object of kind "error"
 *
 * Return: the exit code that belongs to it, so that a command can write `return output_error(&err)`.
 */
int output_error(const struct error *err);

/** output_flush() - @code, or EXIT_STORE where standard output could not be written (a closed pipe is no
 * error) */
int output_flush(int code);

/** output_shown() - prints text of the fleet, cut at @max bytes */
void output_shown(FILE *to, const char *text, size_t max);

/** output_column() - the same, filled up with spaces to @width columns */
void output_column(FILE *to, const char *text, int width);

/** output_duration() - "1h02m", "12.3s"; @ret has DURATION_TEXT_SIZE bytes */
#define DURATION_TEXT_SIZE 32
void output_duration(int64_t ms, char ret[DURATION_TEXT_SIZE]);
