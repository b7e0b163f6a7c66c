/* vtctldsim: a vtctld without Vitess. Reads the command line, then run.c does the work. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "tools/vtctldsim/version.h"
#include "vtddl/change.h"
#include "vtddl/clock.h"
#include "vtddl/identity.h"

#define SCHEMA_MAX (1 << 20)

static const char usage[] =
	"usage: vtctldsim [options]\n"
	"\n"
	"A vtctld without Vitess: answers vtctlservice.Vtctld over gRPC from a model of a fleet.\n"
	"docs/vtctldsim.md describes the script and the journal.\n"
	"\n"
	"  --listen HOST:PORT     where to listen (127.0.0.1:0; port 0: any free one)\n"
	"  --port-file FILE       write the port into FILE once it listens\n"
	"  --keyspace NAME        the keyspace (commerce)\n"
	"  --shards NAME,...      its shards (-80,80-)\n"
	"  --schema FILE          CREATE statements, separated by ';' (a table orders)\n"
	"  --copy-time TIME       how long an ALTER copies on a shard: 500ms, 30s, 5m, 1h (3300ms)\n"
	"  --time-scale N         virtual seconds in a real one (1)\n"
	"  --rows N               rows of each table on each shard (1000)\n"
	"  --seed N               spreads copy times and other chances (1)\n"
	"  --script FILE          faults and events; SIGHUP reads it again\n"
	"  --journal FILE         append one JSON line for each RPC\n"
	"  --grpc-cert FILE       serve TLS; with --grpc-key\n"
	"  --grpc-key FILE\n"
	"  --grpc-ca FILE         and ask clients for a certificate of this CA\n"
	"  --auth-static FILE     JSON array of {\"Username\":..,\"Password\":..}: who may call\n"
	"  --help\n"
	"  --version\n";

enum option_id {
	OPTION_LISTEN = 1,
	OPTION_PORT_FILE,
	OPTION_KEYSPACE,
	OPTION_SHARDS,
	OPTION_SCHEMA,
	OPTION_COPY_TIME,
	OPTION_TIME_SCALE,
	OPTION_ROWS,
	OPTION_SEED,
	OPTION_SCRIPT,
	OPTION_JOURNAL,
	OPTION_CERT,
	OPTION_KEY,
	OPTION_CA,
	OPTION_AUTH,
	OPTION_HELP,
	OPTION_VERSION
};

static const struct option options[] = {
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "port-file", required_argument, NULL, OPTION_PORT_FILE },
	{ "keyspace", required_argument, NULL, OPTION_KEYSPACE },
	{ "shards", required_argument, NULL, OPTION_SHARDS },
	{ "schema", required_argument, NULL, OPTION_SCHEMA },
	{ "copy-time", required_argument, NULL, OPTION_COPY_TIME },
	{ "time-scale", required_argument, NULL, OPTION_TIME_SCALE },
	{ "rows", required_argument, NULL, OPTION_ROWS },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "script", required_argument, NULL, OPTION_SCRIPT },
	{ "journal", required_argument, NULL, OPTION_JOURNAL },
	{ "grpc-cert", required_argument, NULL, OPTION_CERT },
	{ "grpc-key", required_argument, NULL, OPTION_KEY },
	{ "grpc-ca", required_argument, NULL, OPTION_CA },
	{ "auth-static", required_argument, NULL, OPTION_AUTH },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ 0 },
};

/* ---- Values ---- */

static int read_number(const char *name, const char *text, int64_t low, int64_t *ret, struct error *reterr)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *ret < low)
		return error_set(reterr, ERROR_USAGE, "%s takes a whole number from %lld on, not '%s'", name,
				 (long long)low, text);
	return 0;
}

static int read_time(const char *name, const char *text, int64_t *ret, struct error *reterr)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; end != text && value > 0 && value < 1e9 && i < sizeof(units) / sizeof(units[0]);
	     i++)
		if (strcmp(units[i].unit, end) == 0) {
			*ret = (int64_t)(value * (double)units[i].ms);
			return 0;
		}
	return error_set(reterr, ERROR_USAGE, "%s takes a time such as 500ms, 30s, 5m or 1h, not '%s'", name,
			 text);
}

static int read_scale(const char *text, double *ret, struct error *reterr)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end != '\0' || !(*ret > 0) || *ret > 100000)
		return error_set(reterr, ERROR_USAGE, "--time-scale takes a number above 0, not '%s'", text);
	return 0;
}

/* @list is cut up in place. */
static int read_shards(char *list, struct fleet_config *fleet, struct error *reterr)
{
	const char **names = calloc(SHARDS_MAX, sizeof(*names));
	char *rest = NULL;

	if (names == NULL)
		abort();
	free((void *)fleet->shards);
	fleet->shards = names;
	fleet->shard_count = 0;
	for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		if (!shard_name_is_valid(name) || fleet->shard_count == SHARDS_MAX)
			return error_set(reterr, ERROR_USAGE,
					 "--shards takes at most %d names such as -80,80-, "
					 "not '%s'",
					 SHARDS_MAX, name);
		for (size_t i = 0; i < fleet->shard_count; i++)
			if (strcmp(names[i], name) == 0)
				return error_set(reterr, ERROR_USAGE, "--shards names '%s' twice", name);
		names[fleet->shard_count++] = name;
	}
	if (fleet->shard_count == 0)
		return error_set(reterr, ERROR_USAGE,
				 "--shards takes names such as -80,80-, not an empty list");
	return 0;
}

static int read_schema(const char *path, char **ret, struct error *reterr)
{
	FILE *file = fopen(path, "re");
	size_t length;

	if (file == NULL)
		return error_set(reterr, ERROR_CONFIG, "Cannot read --schema %s: %s", path, strerror(errno));
	free(*ret);
	*ret = calloc(1, SCHEMA_MAX);
	if (*ret == NULL)
		abort();
	length = fread(*ret, 1, SCHEMA_MAX, file);
	fclose(file);
	if (length == SCHEMA_MAX)
		return error_set(reterr, ERROR_CONFIG, "--schema %s is larger than %d bytes", path,
				 SCHEMA_MAX - 1);
	return 0;
}

/* ---- The command line ---- */

struct command_line {
	struct run_config config;
	char *schema;
	char default_shards[sizeof("-80,80-")];
};

static int take_value(struct command_line *line, int id, char *value, struct error *reterr)
{
	struct run_config *config = &line->config;
	const char **texts[] = {
		[OPTION_LISTEN] = &config->server.listen, [OPTION_PORT_FILE] = &config->port_file,
		[OPTION_SCRIPT] = &config->script,	  [OPTION_JOURNAL] = &config->journal,
		[OPTION_CERT] = &config->server.cert,	  [OPTION_KEY] = &config->server.key,
		[OPTION_CA] = &config->server.ca,	  [OPTION_AUTH] = &config->server.auth_static
	};
	int64_t seed;

	switch (id) {
	case OPTION_KEYSPACE:
		config->fleet.keyspace = value;
		if (!keyspace_is_valid(value))
			return error_set(reterr, ERROR_USAGE, "--keyspace takes a name, not '%s'", value);
		return 0;
	case OPTION_SHARDS:
		return read_shards(value, &config->fleet, reterr);
	case OPTION_SCHEMA:
		return read_schema(value, &line->schema, reterr);
	case OPTION_COPY_TIME:
		return read_time("--copy-time", value, &config->fleet.copy_ms, reterr);
	case OPTION_TIME_SCALE:
		return read_scale(value, &config->time_scale, reterr);
	case OPTION_ROWS:
		return read_number("--rows", value, 1, &config->fleet.rows, reterr);
	case OPTION_SEED:
		if (read_number("--seed", value, 0, &seed, reterr) < 0)
			return -1;
		config->fleet.seed = (uint64_t)seed;
		return 0;
	default:
		*texts[id] = value;
		return 0;
	}
}

/* Return: 0 run; 1 done already; negative. */
static int read_command_line(struct command_line *line, int argc, char **argv, struct error *reterr)
{
	int id;

	opterr = 0;
	while ((id = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (id == OPTION_HELP || id == OPTION_VERSION) {
			fputs(id == OPTION_HELP ? usage : "vtctldsim " VTCTLDSIM_VERSION "\n", stdout);
			return 1;
		}
		if (id == ':')
			return error_set(reterr, ERROR_USAGE, "%s needs a value; see vtctldsim --help",
					 argv[optind - 1]);
		if (id == '?')
			return error_set(reterr, ERROR_USAGE, "%s is not an option; see vtctldsim --help",
					 argv[optind - 1]);
		if (take_value(line, id, optarg, reterr) < 0)
			return -1;
	}
	if (optind < argc)
		return error_set(reterr, ERROR_USAGE, "'%s' is one word too many; see vtctldsim --help",
				 argv[optind]);
	return line->config.fleet.shards == NULL
		       ? read_shards(line->default_shards, &line->config.fleet, reterr)
		       : 0;
}

int main(int argc, char **argv)
{
	struct command_line line = { .config = { .server.listen = "127.0.0.1:0",
						 .fleet = { .keyspace = "commerce", .seed = 1 },
						 .time_scale = 1 },
				     .default_shards = "-80,80-" };
	struct error error = { 0 };
	int result = read_command_line(&line, argc, argv, &error);

	line.config.fleet.schema = line.schema;
	line.config.fleet.wall_ms = clock_wall_ms();
	if (result == 0)
		result = run(&line.config, &error);
	if (result < 0)
		fprintf(stderr, "vtctldsim: %s\n", error.text);
	free(line.schema);
	free((void *)line.config.fleet.shards);
	return result < 0 ? error_exit_code(error.code) : 0;
}
