#pragma once
/* SIGHUP: the configuration and the files of credentials are read again. */
#include "command.h"
#include "serve.h"

/**
 * serve_reload() - on the loop's thread
 *
 * What is marked reloadable holds from now on, all else is said to need a restart. Where anything is wrong
 * with the configuration, or a file of credentials is refused, the old one stays, and the log says so.
 */
void serve_reload(struct serve *serve, const struct call *call);

/** serve_forget_reloads() - frees what was read; everything else is closed */
void serve_forget_reloads(void);
