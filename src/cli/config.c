#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vtddl/strbuf.h"

#define SYSTEM_FILE "/etc/vtddl/vtddl.conf"
#define PREFIX "VTDDL_"
#define SERVER_OF "server."

/* ---- Files ---- */

struct reading {
	struct options *options;
	FILE *file;
	const char *path;
	unsigned line;
	bool failed; /* only the first error is kept */
	struct error *reterr;
	bool seen[_OPTION_MAX];
};

/* The library would take the rest of a long line for a line of its own; refuse instead. */
static char *read_line(char *to, int size, void *stream)
{
	struct reading *reading = stream;
	char *line = fgets(to, size, reading->file);

	if (!line)
		return NULL;
	reading->line++;
	if (!strchr(line, '\n') && !feof(reading->file) && !reading->failed) {
		reading->failed = true;
		error_set(reading->reterr, ERROR_CONFIG,
			  "%s:%u is longer than %d bytes, and none of it was used; shorten it", reading->path,
			  reading->line, size - 3);
	}
	return reading->failed ? NULL : line;
}

/* A file may hold anything: what is said of it must not reach the terminal as it is. */
static const char *shown(struct options *options, const char *text)
{
	struct strbuf buf cleanup(strbuf_release);

	strbuf_init(&buf, 256);
	strbuf_add_shown(&buf, text, 80);
	return arena_strdup(&options->arena, buf.length ? buf.text : "");
}

static int unknown_key(struct options *options, const char *key, const char *where, struct error *reterr)
{
	enum option_id id = option_find(key);
	const char *nearest = option_nearest(key, true);

	if (id != _OPTION_INVALID)
		return error_set(reterr, ERROR_CONFIG,
				 "%s: %s can only be given on the command line, as --%s", where,
				 option_table[id].name, option_table[id].name);
	if (nearest)
		return error_set(reterr, ERROR_CONFIG, "%s: there is no setting %s; did you mean %s?",
				 where, shown(options, key), nearest);
	return error_set(reterr, ERROR_CONFIG,
			 "%s: there is no setting %s; `vtddl config show` lists them", where, shown(options, key));
}

/* "server.KEYSPACE" as the option has it. Return: NULL, the key is another one. */
static const char *keyed_server(struct options *options, const char *key, const char *text)
{
	return strncmp(key, SERVER_OF, strlen(SERVER_OF))
		       ? NULL
		       : arena_printf(&options->arena, "%s=%s", key + strlen(SERVER_OF), text);
}

static int set_from_file(struct reading *reading, const char *section, const char *key, const char *text)
{
	char where[512];
	enum option_id id = option_find(key);
	const char *keyed = keyed_server(reading->options, key, text);
	struct option_value *value;

	snprintf(where, sizeof where, "%s:%u", reading->path, reading->line);
	if (section[0])
		return error_set(reading->reterr, ERROR_CONFIG,
				 "%s: the file has no sections; remove [%s]", where,
				 shown(reading->options, section));
	if (keyed)
		return options_set(reading->options, OPT_SERVER, keyed, SOURCE_FILE, where, reading->reterr) <
				       0
			       ? error_prefix(reading->reterr, "%s, in ", shown(reading->options, key))
			       : 0;
	if (id == _OPTION_INVALID || !option_table[id].settable)
		return unknown_key(reading->options, key, where, reading->reterr);
	if (reading->seen[id] && option_table[id].type != OPTION_LIST)
		return error_set(reading->reterr, ERROR_CONFIG, "%s: %s is set twice in this file", where,
				 key);
	value = &reading->options->values[id];
	if (!reading->seen[id] && value->source == SOURCE_FILE)
		value->count = 0; /* a list of an earlier file is replaced, not lengthened */
	reading->seen[id] = true;
	if (options_set(reading->options, id, text, SOURCE_FILE, where, reading->reterr) < 0)
		return error_prefix(reading->reterr, "%s, in ", option_table[id].name);
	return 0;
}

static int on_key(void *user, const char *section, const char *key, const char *text)
{
	struct reading *reading = user;

	if (!reading->failed && set_from_file(reading, section, key, text) < 0)
		reading->failed = true;
	return 1;
}

/* Return: 0; 1, there is no such file; negative. */
static int read_file(struct options *options, const char *path, struct error *reterr)
{
	struct reading reading = { .options = options, .path = path, .reterr = reterr };
	struct stat status;
	int bad_line;

	reading.file = fopen(path, "re");
	if (!reading.file && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	if (!reading.file)
		return error_set(reterr, ERROR_CONFIG, "the configuration file %s cannot be opened: %s", path,
				 strerror(errno));
	if (fstat(fileno(reading.file), &status) < 0 || S_ISDIR(status.st_mode)) {
		fclose(reading.file);
		return error_set(reterr, ERROR_CONFIG, "the configuration file %s is a folder", path);
	}
	bad_line = ini_parse_stream(read_line, &reading, on_key, &reading);
	if (ferror(reading.file) && !reading.failed) {
		reading.failed = true;
		error_set(reterr, ERROR_CONFIG, "the configuration file %s cannot be read: %s", path,
			  strerror(errno));
	}
	fclose(reading.file);
	if (reading.failed)
		return -1;
	if (bad_line)
		return error_set(reterr, ERROR_CONFIG, "%s:%d is neither `key = value` nor a comment", path,
				 bad_line);
	return 0;
}

static int read_files(struct options *options, struct error *reterr)
{
	const char *given = options_text(options, OPT_CONFIG), *home = getenv("HOME");
	const char *xdg = getenv("XDG_CONFIG_HOME"), *user = NULL;
	int got;

	if (given) {
		got = read_file(options, given, reterr);
		if (got > 0)
			return error_set(reterr, ERROR_CONFIG, "the configuration file %s does not exist",
					 given);
		return got;
	}
	if (read_file(options, SYSTEM_FILE, reterr) < 0)
		return -1;
	if (xdg && xdg[0] == '/')
		user = arena_printf(&options->arena, "%s/vtddl/vtddl.conf", xdg);
	else if (home && home[0] == '/')
		user = arena_printf(&options->arena, "%s/.config/vtddl/vtddl.conf", home);
	return user && read_file(options, user, reterr) < 0 ? -1 : 0;
}

/* ---- Environment ---- */

/* No settings although they look so: Kubernetes sets the first two for a service named vtddl, the
 * others are of the tests. */
static const char *const foreign[] = { "SERVICE_", "PORT", "CRASH_", "BUILD" };

static bool is_foreign(const char *name)
{
	for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
		if (!strncmp(name, foreign[i], strlen(foreign[i])))
			return true;
	return false;
}

/* An empty variable is one that is not set, as CI systems have it. */
static int set_from_variable(struct options *options, const char *variable, struct error *reterr)
{
	const char *equals = strchr(variable, '=');
	char *where, *key;
	enum option_id id;

	if (!equals || !equals[1] || is_foreign(variable + strlen(PREFIX)))
		return 0;
	where = arena_memdup(&options->arena, variable, (size_t)(equals - variable));
	key = arena_strdup(&options->arena, where + strlen(PREFIX));
	for (char *at = key; *at; at++)
		*at = (char)(*at == '_' ? '-' : tolower((unsigned char)*at));
	id = option_find(key);
	if (id != OPT_CONFIG && (id == _OPTION_INVALID || !option_table[id].settable))
		return unknown_key(options, key, shown(options, where), reterr);
	return options_set(options, id, equals + 1, SOURCE_ENVIRONMENT, where, reterr);
}

static int read_environment(struct options *options, struct error *reterr)
{
	for (char **variable = environ; *variable; variable++)
		if (!strncmp(*variable, PREFIX, strlen(PREFIX)) &&
		    set_from_variable(options, *variable, reterr) < 0)
			return -1;
	return 0;
}

int config_load(struct options *options, struct error *reterr)
{
	/* The environment first: it may name the file. Order does not matter for who wins. */
	if (read_environment(options, reterr) < 0)
		return -1;
	return read_files(options, reterr);
}
