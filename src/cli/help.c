#include "help.h"

#include <string.h>

#define WIDTH 78
#define INDENT 6

/* Prints @text broken at spaces, each line indented. */
static void print_wrapped(FILE *to, const char *text, int indent)
{
	int column = 0;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column && column + 1 + length > WIDTH) {
			fputc('\n', to);
			column = 0;
		}
		if (column)
			column += fprintf(to, " %.*s", length, text);
		else
			column = fprintf(to, "%*s%.*s", indent, "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

static void print_option(FILE *to, const struct option_spec *spec)
{
	const char *preset = spec->preset ? spec->preset : spec->preset_shown;

	fprintf(to, "  %s--%s%s%s", spec == &option_table[OPT_HELP] ? "-h, " : "", spec->name,
		spec->argument ? " " : "", spec->argument ? spec->argument : "");
	if (preset)
		fprintf(to, " (default: %s)", preset);
	fputc('\n', to);
	print_wrapped(to, spec->help, INDENT);
}

static void print_group(FILE *to, enum option_group group)
{
	fprintf(to, "\noptions: %s\n", option_group_title(group));
	for (int id = 0; id < _OPTION_MAX; id++)
		if (option_table[id].group == group)
			print_option(to, &option_table[id]);
}

void help_list(FILE *to, const struct command *command)
{
	for (const struct command *sub = command->subcommands; sub && sub->name; sub++)
		fprintf(to, "  %-10s %s\n", sub->name, sub->summary);
}

void help_print(FILE *to, const char *path, const struct command *command)
{
	fprintf(to, "%s: %s\n\nusage: %s", path, command->summary, path);
	if (command->subcommands)
		fputs(" COMMAND", to);
	if (command->arguments[0])
		fprintf(to, " %s", command->arguments);
	fputs(" [options]\n", to);
	if (command->details[0])
		fprintf(to, "\n%s\n", command->details);
	if (command->subcommands) {
		fputs("\ncommands:\n", to);
		help_list(to, command);
	}
	fprintf(to, "\nexample:\n  %s\n", command->example);
	if (command->run == cmd_config_show) {
		print_group(to, GROUP_GENERAL);
		return; /* it takes all the options only to show them */
	}
	for (unsigned group = 1; group <= GROUP_GENERAL; group <<= 1)
		if (command->groups & group)
			print_group(to, (enum option_group)group);
	if (command->subcommands)
		fprintf(to,
			"\n`%s help COMMAND` explains a command, `vtddl help exit-codes` what the exit codes "
			"mean.\n",
			command == &command_root ? path : "vtddl");
}
