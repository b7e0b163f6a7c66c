#pragma once
/*
 * options: the one table of everything that can be set, and the values that were set.
 *
 * A row feeds the parser, --help, the environment (VTDDL_NAME_IN_CAPS), the configuration file
 * and `config show`. To add an option: a value in the enum, a row in options_table.c, and the
 * code that uses it; tests/cli compares the documentation with --help.
 *
 * Every value is checked when it is set, so the functions that read one cannot fail.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/arena.h"
#include "vtddl/error.h"

enum option_id {
	/* general */
	OPT_HELP,
	OPT_JSON,
	OPT_NO_COLOR,
	OPT_LOG_FORMAT,
	OPT_LOG_LEVEL,
	OPT_CONFIG,
	/* the statement */
	OPT_SQL,
	OPT_SQL_FILE,
	OPT_AGAIN,
	OPT_DDL_STRATEGY_FLAGS,
	/* how a change is driven */
	OPT_DEADLINE,
	OPT_POLL_INTERVAL,
	OPT_EFFECT_TIMEOUT,
	OPT_CALLER_ID,
	/* vtctld */
	OPT_SERVER,
	OPT_READ_TIMEOUT,
	OPT_GRPC_CA,
	OPT_GRPC_CERT,
	OPT_GRPC_KEY,
	OPT_GRPC_CRL,
	OPT_GRPC_SERVER_NAME,
	OPT_AUTH_CREDS,
	OPT_ALLOW_PLAINTEXT_AUTH,
	OPT_KEEPALIVE_TIME,
	OPT_KEEPALIVE_TIMEOUT,
	OPT_MAX_MESSAGE_SIZE,
	OPT_HTTP_PROXY,
	/* the store */
	OPT_STORE,
	OPT_STORE_PASSWORD_FILE,
	OPT_STORE_OPTION_FILE,
	OPT_STORE_SSL_CA,
	OPT_STORE_SSL_CERT,
	OPT_STORE_SSL_KEY,
	OPT_STORE_ALLOW_PLAINTEXT,
	OPT_CLUSTER,
	/* VTGate */
	OPT_VTGATE,
	OPT_VTGATE_USER,
	OPT_VTGATE_PASSWORD_FILE,
	OPT_VTGATE_SSL_CA,
	OPT_VTGATE_SSL_CERT,
	OPT_VTGATE_SSL_KEY,
	OPT_PROBE,
	/* of one command */
	OPT_FOR,
	OPT_LIMIT,
	OPT_ORDER,
	OPT_FORMAT,
	OPT_HTTP,
	_OPTION_MAX,
	_OPTION_INVALID = -1
};

enum option_type {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_LIST,	  /* may be given several times */
	OPTION_ADDRESS,	  /* host:port */
	OPTION_SERVER,	  /* the same, or KEYSPACE=host:port (servers.h) */
	OPTION_LISTEN,	  /* host:port, where port may be 0, or "off" */
	OPTION_DURATION,  /* "6h", "1m30s", "500ms"; between min and max, in milliseconds */
	OPTION_NUMBER,	  /* between min and max */
	OPTION_CHOICE,	  /* one of choices, "a|b" */
	OPTION_STRATEGY,  /* allow-listed flags of ddl_strategy */
	OPTION_STORE_URL, /* sqlite:PATH, mysql://USER@HOST[:PORT]/DATABASE */
	OPTION_CLUSTER_NAME,
	_OPTION_TYPE_MAX
};

/* A command takes whole groups. Order is the order in --help. */
enum option_group {
	GROUP_STATEMENT = 1 << 0,
	GROUP_NEW = 1 << 1,
	GROUP_WAIT = 1 << 2,
	GROUP_SHOW = 1 << 3,
	GROUP_FORMAT = 1 << 4,
	GROUP_PACE = 1 << 5,
	GROUP_VTGATE = 1 << 6,
	GROUP_SERVER = 1 << 7,
	GROUP_STORE = 1 << 8,
	GROUP_SERVE = 1 << 9,
	GROUP_GENERAL = 1 << 10,
};

struct option_spec {
	const char *name;     /* with dashes; underscores are accepted too */
	const char *argument; /* as --help shows it; NULL: a flag */
	enum option_type type;
	const char *preset;	  /* the default; NULL: none, or made at run time */
	const char *preset_shown; /* how --help shows a default made at run time */
	int64_t min, max;
	const char *choices;
	enum option_group group;
	bool settable;	 /* also in the environment and the file */
	bool reloadable; /* may change in a running daemon */
	const char *help;
};

extern const struct option_spec option_table[_OPTION_MAX];

/** option_group_title() - heading in --help; groups are walked by their bits */
const char *option_group_title(enum option_group group);

/** option_find() - by name, dashes or underscores; _OPTION_INVALID: none */
enum option_id option_find(const char *name);

/** option_nearest() - the option that was probably meant; NULL: none is near */
const char *option_nearest(const char *name, bool settable_only);

/* Who set a value; a higher one wins. */
enum option_source { SOURCE_DEFAULT, SOURCE_FILE, SOURCE_ENVIRONMENT, SOURCE_FLAG };

struct option_value {
	enum option_source source;
	const char *where;  /* "default", "/etc/vtddl/vtddl.conf:12", "VTDDL_SERVER", "--server" */
	const char **texts; /* count of them; a scalar has one or none */
	size_t count;
};

/* The vtctld of one keyspace: `--server KEYSPACE=host:port`, `server.KEYSPACE = host:port`. */
struct server_option {
	enum option_source source;
	const char *where, *keyspace, *address; /* a keyspace that ends in * is a prefix */
};

#define SERVERS_MAX 256

struct options {
	struct arena arena;
	struct option_value values[_OPTION_MAX];
	struct server_option *servers; /* server_count of them; SERVERS_MAX at most */
	size_t server_count;
};

void options_init(struct options *options);
void options_release(struct options *options);

/**
 * options_set() - check a value and keep it, unless a higher source has set the option
 * @where:	named in the error and in `config show`
 *
 * Return: 0; negative with ERROR_USAGE (a flag) or ERROR_CONFIG (environment, file).
 */
int must_check options_set(struct options *options, enum option_id id, const char *text,
			   enum option_source source, const char *where, struct error *reterr);

/**
 * options_parse() - options and positionals of a command line, in any order; "--" ends the options
 * @ret_args:	the positionals, in the options' arena
 */
int must_check options_parse(struct options *options, int argc, char **argv, const char ***ret_args,
			     size_t *ret_count, struct error *reterr);

bool options_is_set(const struct options *options, enum option_id id); /* by anything but its default */
bool options_flag(const struct options *options, enum option_id id);
const char *options_text(const struct options *options, enum option_id id); /* NULL: not set */
int64_t options_number(const struct options *options, enum option_id id);   /* durations: milliseconds */

/** options_strategy() - the allow-listed flags, one space between; NULL: none. In the arena */
const char *options_strategy(struct options *options);
