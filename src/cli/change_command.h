#pragma once
/*
 * change_command: in what run, submit, wait, complete, verify and cancel differ. They are rows
 * of one table (command_table.c) over one function (cmd_change.c).
 */
#include "vtddl/engine.h"

struct change_command {
	enum goal goal;
	bool goal_from_for; /* wait: --for decides */
	bool open_gate;
	bool take_up; /* verify: goes on with a stopped change once every shard is complete */
	bool makes_changes; /* run, submit: by statement only, and standard input is read by default */
};
