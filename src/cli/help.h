#pragma once
/* help: the text of --help, made from the tables of commands and options. */
#include <stdio.h>

#include "command.h"

/** help_print() - @path: "vtddl config show" */
void help_print(FILE *to, const char *path, const struct command *command);

/** help_list() - only the names and summaries of the sub-commands */
void help_list(FILE *to, const struct command *command);
