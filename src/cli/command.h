#pragma once
/*
 * command: the command tree as data, and the way from argv to one function.
 *
 * To add a command: a row in command_table.c and a function `cmd_x` declared below. The tests
 * under tests/cli find it by themselves: its --help must be in docs/cli.md.
 */
#include "options.h"

struct command;

/* One invocation. */
struct call {
	const struct command *command;
	struct options *options;
	const char *const *args; /* positionals behind the command's name; NULL-terminated */
	size_t arg_count;
	int argc; /* as given, to print how to resume */
	char **argv;
};

struct command {
	const char *name;
	const char *arguments; /* "KEYSPACE [UUID]", "" for none */
	const char *summary;   /* one line */
	const char *details;   /* paragraphs for --help; lines of at most 78 columns */
	const char *example;
	unsigned groups; /* enum option_group */
	size_t min_args, max_args;
	int (*run)(const struct call *call); /* returns the exit code */
	const void *data;		     /* for commands that share a function */
	const struct command *subcommands;   /* ends with a row without a name; then run is NULL */
};

extern const struct command command_root;

/** command_main() - runs the program. Return: the exit code */
int command_main(int argc, char **argv);

int cmd_change(const struct call *call);
int cmd_show(const struct call *call);
int cmd_doctor(const struct call *call);
int cmd_serve(const struct call *call);
int cmd_rules(const struct call *call);
int cmd_config_show(const struct call *call);
int cmd_version(const struct call *call);
int cmd_help(const struct call *call);
