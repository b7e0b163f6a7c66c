#pragma once
/*
 * config: values from the environment and from configuration files.
 *
 * Flag > environment > file > default. Files are INI without sections, keys are the options'
 * long names. A key or a VTDDL_ variable that nobody knows is an error: a typo must not
 * silently mean the default.
 */
#include "options.h"

/**
 * config_load() - fill what the command line left open
 *
 * Reads --config or VTDDL_CONFIG; else /etc/vtddl/vtddl.conf, then $XDG_CONFIG_HOME/vtddl/vtddl.conf,
 * of which the second wins; those two may be missing.
 *
 * Return: 0; negative with ERROR_CONFIG naming the file and line, or the variable.
 */
int must_check config_load(struct options *options, struct error *reterr);
