#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "help.h"
#include "nearest.h"
#include "output.h"
#include "serve_metrics.h"

#define PATH_SIZE 64

static const struct command *find_sub(const struct command *command, const char *name)
{
	for (const struct command *sub = command->subcommands; sub && sub->name; sub++)
		if (!strcmp(sub->name, name))
			return sub;
	return NULL;
}

static int unknown_word(const struct command *command, const char *path, const char *word)
{
	struct nearest nearest = { .word = word };

	for (const struct command *sub = command->subcommands; sub->name; sub++)
		nearest_offer(&nearest, sub->name);
	fprintf(stderr, "vtddl: `%s` has no command \"", path);
	output_shown(stderr, word, 80);
	if (nearest.best)
		fprintf(stderr, "\"; did you mean %s?\n", nearest.best);
	else
		fputs("\"; there are:\n", stderr);
	help_list(stderr, command);
	return EXIT_USAGE;
}

/*
 * Walks down the tree along the positionals. Return: the number of words used; *ret_bad is the
 * word that fits nowhere, or NULL.
 */
static size_t resolve(const char *const *args, size_t count, const struct command **ret, char path[PATH_SIZE],
		      const char **ret_bad)
{
	size_t used = 0;

	*ret = &command_root;
	*ret_bad = NULL;
	snprintf(path, PATH_SIZE, "vtddl");
	while ((*ret)->subcommands && used < count) {
		const struct command *sub = find_sub(*ret, args[used]);

		if (!sub) {
			*ret_bad = args[used];
			break;
		}
		*ret = sub;
		used++;
		snprintf(path + strlen(path), PATH_SIZE - strlen(path), " %s", sub->name);
	}
	return used;
}

int cmd_help(const struct call *call)
{
	const struct command *command;
	const char *bad;
	char path[PATH_SIZE];

	if (call->arg_count == 1 && !strcmp(call->args[0], "exit-codes")) {
		output_exit_codes(stdout);
		return EXIT_DONE;
	}
	if (call->arg_count == 1 && !strcmp(call->args[0], "metrics")) {
		metrics_list(stdout);
		return EXIT_DONE;
	}
	if (resolve(call->args, call->arg_count, &command, path, &bad) < call->arg_count)
		return command->subcommands
			       ? unknown_word(command, path, bad)
			       : unknown_word(&command_root, "vtddl", call->args[call->arg_count - 1]);
	help_print(stdout, path, command);
	return EXIT_DONE;
}

/* Names of the commands that take an option, for the sentence about a misplaced one. */
static void list_takers(const struct command *command, unsigned group, struct strbuf *to)
{
	for (const struct command *sub = command->subcommands; sub && sub->name; sub++) {
		if (sub->run && sub->run != cmd_config_show && (sub->groups & group))
			strbuf_addf(to, "%s%s", to->length ? ", " : "", sub->name);
	}
}

static int check_options(const struct call *call, const char *path, struct error *reterr)
{
	for (int id = 0; id < _OPTION_MAX; id++) {
		struct strbuf takers cleanup(strbuf_release);

		strbuf_init(&takers, 256);
		if (call->options->values[id].source != SOURCE_FLAG ||
		    (option_table[id].group & call->command->groups))
			continue;
		list_takers(&command_root, option_table[id].group, &takers);
		return error_set(reterr, ERROR_USAGE, "--%s is not an option of `%s`; it belongs to %s",
				 option_table[id].name, path, takers.text);
	}
	return 0;
}

static int check_arguments(const struct call *call, const char *path, struct error *reterr)
{
	struct strbuf shown cleanup(strbuf_release);

	strbuf_init(&shown, 256);
	if (call->arg_count < call->command->min_args)
		return error_set(reterr, ERROR_USAGE, "`%s` needs more words: %s %s", path, path,
				 call->command->arguments);
	if (call->arg_count <= call->command->max_args)
		return 0;
	strbuf_add_shown(&shown, call->args[call->command->max_args], 80);
	return error_set(reterr, ERROR_USAGE, "`%s` has no use for the word \"%s\"; usage: %s %s [options]",
			 path, shown.text, path, call->command->arguments);
}

/* help and version work whatever the configuration is. */
static bool needs_config(const struct command *command)
{
	return command->run != cmd_help && command->run != cmd_version;
}

static int run(struct call *call, const char *path)
{
	struct error err = { 0 };

	/* So that --json holds for errors of the configuration itself. */
	output_setup(call->options);
	if (needs_config(call->command) && config_load(call->options, &err) < 0)
		return output_error(&err);
	output_setup(call->options);
	if (check_options(call, path, &err) < 0 || check_arguments(call, path, &err) < 0)
		return output_error(&err);
	return call->command->run(call);
}

static int without_command(const struct command *command, const char *path, const char *bad, bool help)
{
	if (bad)
		return unknown_word(command, path, bad);
	help_print(help ? stdout : stderr, path, command);
	return help ? EXIT_DONE : EXIT_USAGE;
}

static int dispatch(int argc, char **argv, struct options *options)
{
	struct call call = { .options = options, .argc = argc, .argv = argv };
	struct error err = { 0 };
	const char **args, *bad;
	char path[PATH_SIZE];
	size_t count, used;
	int parsed = options_parse(options, argc, argv, &args, &count, &err);
	bool help = options_flag(options, OPT_HELP);

	used = resolve(args, count, &call.command, path, &bad);
	if (bad)
		return without_command(call.command, path, bad, false);
	if (parsed < 0) {
		output_setup(options);
		return output_error(&err);
	}
	if (call.command->subcommands)
		return without_command(call.command, path, NULL, help);
	if (help) {
		help_print(stdout, path, call.command);
		return EXIT_DONE;
	}
	call.args = args + used;
	call.arg_count = count - used;
	return run(&call, path);
}

/* A file that is opened later must never get the number of a standard stream. */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* Whoever said abort(), vtddl or a library: what it means to the one who reads it. The process ends all the same. */
static void on_abort(int number)
{
	static const char words[] =
		"vtddl: out of memory, or a state that cannot be, so the process ends here; nothing is half written: give it"
		" more memory and run the same command again, it goes on where this one stood\n";

	(void)number;
	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		return; /* nobody reads it */
}

int command_main(int argc, char **argv)
{
	struct options options;
	int code;

	fill_standard_streams();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGABRT, on_abort);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write, as a full disk is */
	options_init(&options);
	/* The spelling everybody tries first. */
	if (argc == 2 && !strcmp(argv[1], "--version"))
		argv[1] = (char *)"version";
	code = output_flush(dispatch(argc, argv, &options));
	options_release(&options);
	return code;
}
