/*
 * show: what the store and the shards say, without writing or changing anything.
 *
 * Made to start fast: one RPC, no folder is made, no database is opened that is not there.
 */
#include "command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "migrations.h"
#include "output.h"
#include "rpc.h"
#include "session.h"
#include "vtddl/clock.h"
#include "vtddl/identity.h"

#define RECENT_S (7 * 86400)

enum filter_kind { FILTER_ALL, FILTER_RECENT, FILTER_STATUS, FILTER_UUID, FILTER_CONTEXT };

struct filter {
	enum filter_kind kind;
	const char *text;
	enum migration_status status;
};

/* Everything that was found out. */
struct findings {
	struct migration *rows; /* grouped by uuid, newest first unless --order asc */
	size_t row_count;
	size_t hidden;		/* rows cut by --limit */
	const char *note;	/* how the rows were read, where that matters; NULL */
	struct change *changes; /* records of the store that belong to them */
	size_t change_count;
};

static int read_filter(const struct call *call, struct filter *ret, struct error *reterr)
{
	const char *text = call->arg_count > 1 ? call->args[1] : "all";

	char lower[32] = "";

	for (size_t i = 0; i + 1 < sizeof lower && text[i]; i++) /* --json prints RUNNING */
		lower[i] = (char)tolower((unsigned char)text[i]);
	*ret = (struct filter){ .text = text, .status = migration_status_from_name(lower) };
	if (!keyspace_is_valid(call->args[0]))
		return error_set(
			reterr, ERROR_USAGE,
			"\"%.80s\" is not a keyspace's name: 1 to 64 letters, digits, underscores or dashes",
			call->args[0]);
	if (!strcmp(text, "all"))
		ret->kind = FILTER_ALL;
	else if (!strcmp(text, "recent"))
		ret->kind = FILTER_RECENT;
	else if (ret->status != MIGRATION_UNKNOWN)
		ret->kind = FILTER_STATUS;
	else if (uuid_is_valid(text))
		ret->kind = FILTER_UUID;
	else if (context_is_valid(text))
		ret->kind = FILTER_CONTEXT;
	else
		return error_set(reterr, ERROR_USAGE,
				 "\"%.80s\" is neither a uuid, a migration context, a status, recent nor all",
				 text);
	return 0;
}

/* ---- Reading ---- */

static int read_store(struct session *session, const struct call *call, const struct filter *filter,
		      struct findings *found, struct error *reterr)
{
	bool one = filter && (filter->kind == FILTER_UUID || filter->kind == FILTER_CONTEXT);
	const struct store_filter which = {
		.cluster = options_text(call->options, OPT_CLUSTER),
		.keyspace = filter ? call->args[0] : NULL,
		.uuid_or_context = one ? filter->text : NULL,
		.limit = filter ? 0 : (unsigned)options_number(call->options, OPT_LIMIT),
	};
	int got = session_open_store(session, /* read_only= */ true, reterr);

	if (got < 0)
		return -1;
	if (got == STORE_NOT_FOUND)
		return 0;
	return store_list(session->store, &which, &call->options->arena, &found->changes,
			  &found->change_count, reterr);
}

static int read_migrations(struct session *session, const struct call *call, const struct filter *filter,
			   struct findings *found, struct error *reterr)
{
	struct migrations_query query = {
		.keyspace = call->args[0],
		.uuid = filter->kind == FILTER_UUID ? filter->text : NULL,
		.context = filter->kind == FILTER_CONTEXT ? filter->text : NULL,
		.timeout_ms = options_number(call->options, OPT_READ_TIMEOUT),
	};

	if (session_open_wire(session, query.keyspace, reterr) < 0)
		return -1;
	return migrations_read(session->wire, &query, &call->options->arena, &found->rows, &found->row_count,
			       &found->note, reterr);
}

static bool is_wanted(const struct filter *filter, const struct migration *row)
{
	switch (filter->kind) {
	case FILTER_RECENT:
		return row->requested_at_s >= clock_wall_ms() / 1000 - RECENT_S;
	case FILTER_STATUS:
		return row->status == (int)filter->status;
	default:
		return true;
	}
}

/* Keeps the migrations that are wanted, whole: a shard in another state is part of the picture. */
static void select_rows(const struct call *call, const struct filter *filter, struct findings *found)
{
	size_t limit = (size_t)options_number(call->options, OPT_LIMIT), kept = 0, shown = 0;

	migrations_sort(found->rows, found->row_count,
			!strcmp(options_text(call->options, OPT_ORDER), "asc"));
	for (size_t i = 0, end; i < found->row_count; i = end) {
		bool wanted = false;

		for (end = i; end < found->row_count && !strcmp(found->rows[end].uuid, found->rows[i].uuid);
		     end++)
			wanted = wanted || is_wanted(filter, &found->rows[end]);
		if (!wanted)
			continue;
		if (limit && shown == limit) {
			found->hidden++;
			continue;
		}
		shown++;
		memmove(&found->rows[kept], &found->rows[i], (end - i) * sizeof *found->rows);
		kept += end - i;
	}
	found->row_count = kept;
}

/* ---- Printing ---- */

static const struct change *change_of(const struct findings *found, const char *uuid)
{
	for (size_t i = 0; i < found->change_count; i++)
		if (!strcmp(found->changes[i].uuid, uuid))
			return &found->changes[i];
	return NULL;
}

static void print_history(struct session *session, const struct change *change, struct arena *arena)
{
	struct history_entry *entries;
	size_t count;
	struct error err;
	char when[CLOCK_TEXT_SIZE];

	if (store_history(session->store, change->cluster, change->uuid, arena, &entries, &count, &err) != 0)
		return;
	for (size_t i = 0; i < count; i++) {
		clock_format(entries[i].at_ms, when);
		printf("    %s  %s  ", when, phase_name(entries[i].to));
		if (entries[i].rule)
			printf("rule %d: ", entries[i].rule);
		output_shown(stdout, entries[i].reason ? entries[i].reason : "", REASON_MAX);
		fputs("  by ", stdout);
		output_shown(stdout, entries[i].actor ? entries[i].actor : "?", ACTOR_MAX);
		fputc('\n', stdout);
	}
}

static void print_record(struct session *session, const struct change *change, struct arena *arena,
			 bool history)
{
	char when[CLOCK_TEXT_SIZE];

	clock_format(change->deadline_at_ms, when);
	printf("  phase %s, gate %s, generation %u, deadline %s\n", phase_name(change->phase),
	       gate_name(change->gate), change->generation, when);
	if (change->reason[0]) {
		printf("  rule %d: ", change->rule);
		output_shown(stdout, change->reason, REASON_MAX);
		fputc('\n', stdout);
	}
	if (history) {
		puts("  history:");
		print_history(session, change, arena);
	}
}

/* A shard of the record that the answer lacks: that proves nothing, and must not look like "none". */
static void print_missing(const struct change *change, const struct migration *rows, size_t count)
{
	for (size_t i = 0; i < change->shard_count; i++) {
		size_t at = 0;

		while (at < count && strcmp(rows[at].shard, change->shards[i].name))
			at++;
		if (at == count)
			printf("  %-10s not in this answer, which proves nothing; show the uuid again, or "
			       "`vtddl doctor %s`\n",
			       change->shards[i].name, change->keyspace);
	}
}

static void print_text(struct session *session, const struct call *call, const struct filter *filter,
		       const struct findings *found)
{
	bool one = filter->kind == FILTER_UUID || filter->kind == FILTER_CONTEXT;

	if (found->note)
		output_say("%s", found->note);
	for (size_t i = 0, end; i < found->row_count; i = end) {
		const struct change *change = change_of(found, found->rows[i].uuid);

		for (end = i; end < found->row_count && !strcmp(found->rows[end].uuid, found->rows[i].uuid);
		     end++)
			;
		if (i)
			fputc('\n', stdout);
		migrations_print(&found->rows[i], end - i);
		if (!change)
			continue;
		print_missing(change, &found->rows[i], end - i);
		print_record(session, change, &call->options->arena, one);
	}
	if (found->hidden)
		output_say("%zu more, cut by --limit", found->hidden);
	if (found->row_count)
		return;
	if (filter->kind == FILTER_ALL)
		output_say("keyspace %s has no migration", call->args[0]);
	else
		output_say("keyspace %s shows no migration for \"%s\"", call->args[0], filter->text);
	for (size_t i = 0; one && i < found->change_count; i++) {
		printf("%s  %s.%s\n", found->changes[i].uuid, found->changes[i].keyspace,
		       found->changes[i].table);
		print_record(session, &found->changes[i], &call->options->arena, true);
	}
}

static json_t *changes_json(struct session *session, const struct call *call, const struct filter *filter,
			    const struct findings *found)
{
	bool one = filter && (filter->kind == FILTER_UUID || filter->kind == FILTER_CONTEXT);
	json_t *array = json_array();

	for (size_t i = 0; i < found->change_count; i++) {
		json_t *object = json_change(&found->changes[i]);
		struct history_entry *entries = NULL;
		struct error ignored;
		size_t count = 0;

		if (one && store_history(session->store, found->changes[i].cluster, found->changes[i].uuid,
					 &call->options->arena, &entries, &count, &ignored) == 0)
			json_object_set_new(object, "history", json_history(entries, count));
		json_array_append_new(array, object);
	}
	return array;
}

static void print_json(struct session *session, const struct call *call, const struct filter *filter,
		       const struct findings *found)
{
	json_t *object = json_object_of(filter ? "migrations" : "changes"), *array = json_array();

	for (size_t i = 0; i < found->row_count; i++)
		json_array_append_new(array, json_migration(&found->rows[i]));
	if (filter) {
		json_object_set_new(object, "keyspace", json_text(call->args[0]));
		json_object_set_new(object, "migrations", array);
		json_object_set_new(object, "note", json_text(found->note));
	} else {
		json_decref(array);
	}
	json_object_set_new(object, "changes", changes_json(session, call, filter, found));
	json_print(object);
}

static void print_changes(const struct findings *found)
{
	char when[CLOCK_TEXT_SIZE];

	if (!found->change_count) {
		output_say("the store holds no change; `vtddl show KEYSPACE` asks the shards");
		return;
	}
	printf("%-36s  %-10s  %-24s  %s\n", "UUID", "PHASE", "UPDATED", "TABLE");
	for (size_t i = 0; i < found->change_count; i++) {
		clock_format(found->changes[i].updated_at_ms, when);
		printf("%s  %-10s  %-24s  %s.%s\n", found->changes[i].uuid,
		       phase_name(found->changes[i].phase), when, found->changes[i].keyspace,
		       found->changes[i].table);
	}
}

/* Vitess answers a keyspace that does not exist with success and no row: a typo must not look like "none". */
static int check_keyspace_exists(struct session *session, const struct call *call, struct error *reterr)
{
	struct vtctld_request request = { .method = VTCTLD_GET_KEYSPACES,
					  .timeout_ms = options_number(call->options, OPT_READ_TIMEOUT) };
	struct vtctld_reply reply;

	if (rpc_call(session->wire, &request, &call->options->arena, &reply, reterr) < 0)
		return -1;
	for (size_t i = 0; i < reply.keyspaces.count; i++)
		if (!strcmp(reply.keyspaces.names[i], call->args[0]))
			return 0;
	return error_set(reterr, ERROR_INPUT, "vtctld knows no keyspace '%s'; `vtddl doctor` lists those it has",
			 call->args[0]);
}

static int show(struct session *session, const struct call *call, struct error *reterr)
{
	struct findings found = { 0 };
	struct filter filter;
	int code = EXIT_DONE;

	if (call->arg_count == 0) {
		if (read_store(session, call, NULL, &found, reterr) < 0)
			return -1;
		if (output_is_json())
			print_json(session, call, NULL, &found);
		else
			print_changes(&found);
		return EXIT_DONE;
	}
	if (read_filter(call, &filter, reterr) < 0 ||
	    read_migrations(session, call, &filter, &found, reterr) < 0 ||
	    (!found.row_count && check_keyspace_exists(session, call, reterr) < 0))
		return -1;
	/* What the shards show is worth seeing even where the store cannot be read. */
	if (read_store(session, call, &filter, &found, reterr) < 0) {
		output_say("%s", reterr->text);
		code = error_exit_code(reterr->code);
	}
	select_rows(call, &filter, &found);
	if (output_is_json())
		print_json(session, call, &filter, &found);
	else
		print_text(session, call, &filter, &found);
	return code;
}

int cmd_show(const struct call *call)
{
	struct session session;
	struct error err = { 0 };
	int code;

	session_init(&session, call->options);
	code = show(&session, call, &err);
	if (code < 0)
		code = output_error(&err);
	session_leave(&session);
	return code;
}
