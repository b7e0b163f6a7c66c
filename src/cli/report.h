#pragma once
/*
 * report: how a change ended, on standard output: what was checked, why, and the verdict; or one
 * JSON object.
 */
#include "vtddl/engine.h"

struct report {
	const struct view *view;
	enum goal goal;
	const char *keyspace;
	int exit_code;
	int64_t duration_ms;
	bool interrupted;
	const char *resume; /* the command that goes on; NULL: none is needed */
	const struct history_entry *history;
	size_t history_count;
};

/** report_exit_code() - of a view that has ended */
int report_exit_code(const struct view *view);

void report_print(const struct report *report);
void report_print_json(const struct report *report);
