#pragma once
/*
 * rules: the one table that decides. Given a change and the facts of one look, which single
 * step comes next.
 *
 * First match wins; the last row of every phase matches everything, so the function is total.
 * Rows are numbered, hundreds by phase, in steps of two so that a row fits between; the
 * number goes into the log line, the history and a metric. `vtddl rules` prints the table and
 * docs/rules.md is that output.
 *
 * Pure: no I/O, no clock, no memory.
 */
#include "vtddl/change.h"
#include "vtddl/observation.h"

enum action {
	ACTION_WAIT,	/* look again later */
	ACTION_MOVE,	/* one compare-and-set write to phase `to` */
	ACTION_SUBMIT,	/* write the attempt, then ApplySchema */
	ACTION_COMPLETE,
	ACTION_CANCEL,
	ACTION_CONFIRM, /* read the topology again, for the barrier */
	ACTION_VERIFY,	/* read the definitions, ask VTGate, run the probes */
	ACTION_REST,	/* nothing more to do in this phase without a person */
	_ACTION_MAX
};
const char *action_name(enum action action);

/* How a rest or a wait reads for a pipeline. Values are exit codes. */
enum verdict {
	VERDICT_DONE = 0,
	VERDICT_FAILED = 1,	  /* failed or cancelled, fleet consistent */
	VERDICT_UNSAFE = 3,	  /* refused without an override, such as --again */
	VERDICT_LATE = 4,	  /* deadline passed, change still healthy */
	VERDICT_GATE = 5,	  /* waits for a person, a window, a foreign migration */
	VERDICT_INCONSISTENT = 6, /* partially cut, breached barrier */
	VERDICT_UNSEEN = 7,	  /* cannot observe, ambiguous */
	VERDICT_RUNNING = -1	  /* goes on by itself */
};

struct rule {
	int number;
	enum phase at;
	uint32_t yes; /* facts that must be set */
	uint32_t no;  /* facts that must be clear */
	enum action action;
	enum phase to; /* ACTION_MOVE */
	enum verdict verdict; /* of a wait or rest */
	const char *reason; /* a sentence for the log, the history and people */
};

/** rules_next() - the row that decides; never NULL */
const struct rule *rules_next(enum phase phase, uint32_t facts);

/** rules_table() - all rows in order; @ret_count of them */
const struct rule *rules_table(size_t *ret_count);

/** rules_find() - the rule of that number; NULL: there is none */
const struct rule *rules_find(int number);
