#pragma once
/*
 * script: a JSON file with faults of calls and with things that happen to the fleet, at a time or
 * when a call arrives (docs/vtctldsim.md). Faults are armed as soon as the file is read.
 */
#include <stdint.h>

#include "fleet.h"
#include "vtddl/error.h"

struct script;

/**
 * script_open() - read a file and arm its faults
 * @now_ms:	virtual time that "at_ms" counts from
 *
 * Return: 0; negative with ERROR_CONFIG naming the entry: then nothing was armed.
 */
int must_check script_open(const char *path, struct fleet *fleet, int64_t now_ms, struct script **ret,
			   struct error *reterr);
struct script *script_free(struct script *script);

/** script_next_ms() - when the next event is due; INT64_MAX: none */
int64_t script_next_ms(const struct script *script);

/** script_run() - do what is due. @newest_uuid: what "*" stands for; NULL: no migration yet */
void script_run(struct script *script, struct fleet *fleet, int64_t now_ms, const char *newest_uuid);

/** script_on_call() - a call arrives: do what is bound to it, before the fleet sees it */
void script_on_call(struct script *script, struct fleet *fleet, enum vtctld_method method,
		    const char *newest_uuid);
