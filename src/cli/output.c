#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "vtddl/log.h"

/* clang-format off */
static const struct exit_row {
	enum exit_code code;
	const char *name;
	const char *meaning;
	const char *reading; /* by a pipeline */
} exit_rows[] = {
	{ EXIT_DONE, "done", "the goal of the command is reached, or there was nothing to do", "go on" },
	{ EXIT_FAILED, "failed", "the change failed or was cancelled; the fleet is consistent", "stop" },
	{ EXIT_BLOCKED, "blocked", "refused as unsafe without an override", "stop; a person decides" },
	{ EXIT_LATE, "late", "the deadline passed; the change is still healthy", "run the same command again: it resumes" },
	{ EXIT_GATE, "gate", "it waits for a person, a window, another process or a foreign migration",
	  "run again later" },
	{ EXIT_INCONSISTENT, "inconsistent", "the shards differ: partly cut over, or a breached barrier", "page somebody" },
	{ EXIT_UNSEEN, "unseen", "the shards cannot be observed, or what they show is ambiguous", "page if it lasts" },
	{ EXIT_USAGE, "usage", "wrong words on the command line", "fix the command" },
	{ EXIT_INPUT, "input", "the statement or other input is refused", "fix the input" },
	{ EXIT_UNAVAILABLE, "unavailable", "vtctld cannot be reached", "try again; look at the network" },
	{ EXIT_BUG, "bug", "internal error, or an identity that does not match", "report it" },
	{ EXIT_STORE, "store", "the store, or standard output, cannot be used", "look at the disk" },
	{ EXIT_TRY_AGAIN, "try-again", "somebody else was first; nothing was decided", "run again" },
	{ EXIT_AUTH, "auth", "credentials or a certificate are refused", "fix the credentials" },
	{ EXIT_CONFIG, "config", "the configuration is wrong", "fix the configuration" },
	{ EXIT_INTERRUPTED, "interrupted", "SIGINT; the change keeps running in the fleet", "run the printed command" },
	{ EXIT_TERMINATED, "terminated", "SIGTERM; the change keeps running in the fleet", "run the printed command" },
};
/* clang-format on */

#define EXIT_ROWS (sizeof exit_rows / sizeof exit_rows[0])

void output_exit_codes(FILE *to)
{
	fprintf(to, "%-5s %-13s %-76s %s\n", "CODE", "NAME", "MEANING", "A PIPELINE SHOULD");
	for (size_t i = 0; i < EXIT_ROWS; i++)
		fprintf(to, "%-5d %-13s %-76s %s\n", exit_rows[i].code, exit_rows[i].name,
			exit_rows[i].meaning, exit_rows[i].reading);
}

const char *exit_code_name(int code)
{
	for (size_t i = 0; i < EXIT_ROWS; i++)
		if ((int)exit_rows[i].code == code)
			return exit_rows[i].name;
	return "bug";
}

/* ---- How to print; set once ---- */

static struct {
	bool json, color, live, json_log;
	enum log_level level;
} form;

static bool environment_says(const char *name)
{
	const char *text = getenv(name);

	return text && *text && strcmp(text, "0") && strcmp(text, "false");
}

static enum log_level log_level_of(const char *name)
{
	static const char *const names[] = { "debug", "info", "warning", "error" };
	size_t level = 0;

	while (level < 3 && strcmp(names[level], name))
		level++;
	return (enum log_level)level;
}

void output_setup(const struct options *options)
{
	const char *term = getenv("TERM");
	bool dumb = !term || !*term || !strcmp(term, "dumb");
	bool ci = environment_says("CI");

	form.json = options_flag(options, OPT_JSON);
	form.json_log = !strcmp(options_text(options, OPT_LOG_FORMAT), "json");
	form.color = !dumb && !ci && !environment_says("NO_COLOR") && !options_flag(options, OPT_NO_COLOR);
	form.live = !dumb && !ci && !form.json_log && isatty(STDERR_FILENO);
	form.level = log_level_of(options_text(options, OPT_LOG_LEVEL));
	log_setup(form.json_log, form.level);
}

void output_log_json(void)
{
	form.json_log = true;
	form.live = false;
	log_setup(true, form.level);
}

void output_log_level(const struct options *options)
{
	form.level = log_level_of(options_text(options, OPT_LOG_LEVEL));
	log_setup(form.json_log, form.level);
}

bool output_is_json(void)
{
	return form.json;
}

bool output_has_color(FILE *to)
{
	return form.color && isatty(fileno(to));
}

bool output_is_live(void)
{
	return form.live;
}

static void say(enum log_level level, const char *text)
{
	if (form.json_log) {
		log_write(level, text, NULL);
		return;
	}
	fputs("vtddl: ", stderr);
	output_shown(stderr, text, strlen(text));
	fputc('\n', stderr);
}

void output_say(const char *format, ...)
{
	va_list arguments;
	char *line;

	va_start(arguments, format);
	if (vasprintf(&line, format, arguments) < 0)
		abort();
	va_end(arguments);
	say(LOG_WARNING, line);
	free(line);
}

int output_error(const struct error *err)
{
	int code = error_exit_code(err->code);

	say(LOG_ERROR, err->text);
	if (form.json)
		json_print(json_error(code, err));
	return code;
}

int output_flush(int code)
{
	int failed = fflush(stdout) || ferror(stdout);

	if (!failed || errno == EPIPE)
		return code;
	output_say("standard output cannot be written: %s", strerror(errno));
	return code ? code : EXIT_STORE;
}

void output_shown(FILE *to, const char *text, size_t max)
{
	struct strbuf shown cleanup(strbuf_release);

	strbuf_init(&shown, 4 * max + 8);
	strbuf_add_shown(&shown, text, max);
	fputs(shown.length ? shown.text : "", to);
}

void output_column(FILE *to, const char *text, int width)
{
	struct strbuf shown cleanup(strbuf_release);

	strbuf_init(&shown, 1024);
	strbuf_add_shown(&shown, text, 200);
	fprintf(to, "%-*s", width, shown.text);
}

void output_duration(int64_t ms, char ret[DURATION_TEXT_SIZE])
{
	long long s = ms / 1000;

	if (s >= 86400)
		snprintf(ret, DURATION_TEXT_SIZE, "%lldd%02lldh", s / 86400, s / 3600 % 24);
	else if (s >= 3600)
		snprintf(ret, DURATION_TEXT_SIZE, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else if (s >= 60)
		snprintf(ret, DURATION_TEXT_SIZE, "%lldm%02llds", s / 60, s % 60);
	else
		snprintf(ret, DURATION_TEXT_SIZE, "%lld.%llds", s, (long long)(ms / 100 % 10));
}
