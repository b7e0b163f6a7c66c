#include "report.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "vtddl/clock.h"

static const struct {
	const char *name;    /* of the goal, in JSON */
	const char *reached; /* first words of the verdict */
	const char *state;
} goals[_GOAL_MAX] = {
	[GOAL_SUBMITTED] = { "submitted", "submitted", "held on every shard" },
	[GOAL_READY] = { "ready", "ready", "every shard is held and ready" },
	[GOAL_COMPLETED] = { "complete", "complete", "cut over on every shard" },
	[GOAL_VERIFIED] = { "verified", "verified", "proven on every shard" },
	[GOAL_CANCELLED] = { "cancelled", "cancelled", "no shard will do it" },
	[GOAL_LOOK] = { "look", "seen", "" },
};

int report_exit_code(const struct view *view)
{
	if (view->error.code != ERROR_NONE)
		return error_exit_code(view->error.code);
	if (view->goal_reached)
		return EXIT_DONE;
	/* Ended without a reason to end is a bug of ours, never success. */
	return view->verdict > VERDICT_DONE ? (int)view->verdict : EXIT_BUG;
}

static void print_names(const struct change *change)
{
	printf("  uuid     %s\n  context  %s\n  table    %s.", change->uuid, change->context, change->keyspace);
	output_shown(stdout, change->table, 4 * TABLE_MAX);
	fputc('\n', stdout);
}

static void print_checks(const struct view *view)
{
	if (view->check_count)
		puts("checks:");
	for (size_t i = 0; i < view->check_count; i++) {
		fputs("  ", stdout);
		output_shown(stdout, view->checks[i], REASON_MAX);
		fputc('\n', stdout);
	}
}

/* The shards that are the reason for a bad end; where all is well they say nothing new. */
static void print_shards(const struct view *view)
{
	for (size_t i = 0; i < view->shard_count; i++) {
		if (!view->shards[i].reason[0])
			continue;
		printf("  shard %s: ", view->shards[i].name);
		output_shown(stdout, view->shards[i].reason, REASON_MAX);
		fputc('\n', stdout);
	}
}

static void print_reached(const struct report *report)
{
	const struct view *view = report->view;
	char took[DURATION_TEXT_SIZE], when[CLOCK_TEXT_SIZE];

	if (view->already) {
		clock_format(view->change->updated_at_ms, when);
		printf("already %s on %s: nothing sent\n", goals[report->goal].reached, when);
		return;
	}
	output_duration(report->duration_ms, took);
	printf("%s: %s.", goals[report->goal].reached, view->change->keyspace);
	output_shown(stdout, view->change->table, 4 * TABLE_MAX);
	printf(", %s (%zu of %zu), in %s\n", goals[report->goal].state, view->shard_count, view->shard_count, took);
}

static void print_not_reached(const struct report *report)
{
	const struct view *view = report->view;
	char took[DURATION_TEXT_SIZE];

	print_shards(view);
	output_duration(report->duration_ms, took);
	/* exit code 1 means both; a person wants to know which */
	if (report->exit_code == EXIT_FAILED && view->change && view->change->phase == PHASE_CANCELLED)
		fputs("cancelled: ", stdout);
	else
		printf("%s: ", exit_code_name(report->exit_code));
	output_shown(stdout, view->reason && view->reason[0] ? view->reason : "no reason was given",
		     REASON_MAX);
	printf(" (exit code %d, after %s)\n", report->exit_code, took);
	if (view->advice && view->advice[0]) {
		fputs("next: ", stdout);
		output_shown(stdout, view->advice, REASON_MAX);
		fputc('\n', stdout);
	}
	if (report->resume && report->exit_code == EXIT_LATE)
		printf("to go on: %s (with a longer --deadline if one was given)\n", report->resume);
}

void report_print(const struct report *report)
{
	const struct view *view = report->view;

	if (report->interrupted)
		return; /* said on standard error; there is no verdict yet */
	if (view->change)
		print_names(view->change);
	print_checks(view);
	if (view->goal_reached && view->change)
		print_reached(report);
	else
		print_not_reached(report);
}

/* ---- JSON ---- */

static json_t *reason_of(const char *code, const char *shard, const char *text, const char *evidence)
{
	json_t *object = json_object();

	json_object_set_new(object, "code", json_text(code));
	json_object_set_new(object, "shard", json_text(shard));
	json_object_set_new(object, "text", json_text(text));
	json_object_set_new(object, "evidence", json_text(evidence));
	return object;
}

static json_t *reasons_of(const struct report *report)
{
	const struct view *view = report->view;
	json_t *array = json_array();
	char code[32] = "none";

	if (view->error.code != ERROR_NONE) {
		json_array_append_new(array, reason_of("error", NULL, view->error.text, NULL));
		return array;
	}
	if (view->rule)
		snprintf(code, sizeof code, "rule-%d", view->rule->number);
	if (view->reason && view->reason[0])
		json_array_append_new(array, reason_of(code, NULL, view->reason, view->advice));
	for (size_t i = 0; i < view->shard_count && !view->goal_reached; i++)
		if (view->shards[i].reason[0])
			json_array_append_new(array, reason_of("shard", view->shards[i].name,
							       view->shards[i].reason, NULL));
	return array;
}

static json_t *effects_of(const struct view *view)
{
	json_t *object = json_object();

	for (int effect = EFFECT_SUBMIT; effect < _EFFECT_MAX; effect++)
		json_object_set_new(object, effect_name((enum effect)effect),
				    json_integer(view->effects_sent[effect]));
	return object;
}

static json_t *checks_of(const struct view *view)
{
	json_t *array = json_array();

	for (size_t i = 0; i < view->check_count; i++)
		json_array_append_new(array, json_text(view->checks[i]));
	return array;
}

static const char *verdict_of(const struct report *report)
{
	if (report->view->goal_reached && report->exit_code == EXIT_DONE)
		return goals[report->goal].name;
	return exit_code_name(report->exit_code);
}

void report_print_json(const struct report *report)
{
	const struct view *view = report->view;
	json_t *object = json_object_of("change"), *shards = json_array();

	for (size_t i = 0; i < view->shard_count; i++)
		json_array_append_new(shards, json_shard_view(view->change, &view->shards[i], i));
	json_object_set_new(object, "goal", json_text(goals[report->goal].name));
	json_object_set_new(object, "goal_reached", json_boolean(view->goal_reached));
	json_object_set_new(object, "verdict", json_text(verdict_of(report)));
	json_object_set_new(object, "exit_code", json_integer(report->exit_code));
	json_object_set_new(object, "already", json_boolean(view->already));
	json_object_set_new(object, "reasons", reasons_of(report));
	json_object_set_new(object, "change", json_change(view->change));
	json_object_set_new(object, "shards", shards);
	json_object_set_new(object, "checks", checks_of(view));
	json_object_set_new(object, "effects_sent", effects_of(view));
	json_object_set_new(object, "history", json_history(report->history, report->history_count));
	json_object_set_new(object, "duration_seconds", json_real((double)report->duration_ms / 1000));
	json_object_set_new(object, "resume", json_text(report->resume));
	json_print(object);
}
