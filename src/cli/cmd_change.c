/* run, submit, wait, complete, verify, cancel: one function, driven by a row of the table. */
#include "change_command.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "session.h"
#include "statement.h"
#include "vtddl/clock.h"
#include "vtddl/identity.h"

#define PLAIN_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+%"
#define STOP_MAX_MS 10000   /* after a signal, for what is in flight */
#define RELEASE_MAX_MS 2000 /* for leases that do not end with the process */
#define STEP_MAX_MS 1000    /* so that the clock on the terminal goes on */

/* ---- What is asked ---- */

static int check_keyspace(const char *keyspace, struct error *reterr)
{
	if (!strcasecmp(keyspace, "all"))
		return error_set(reterr, ERROR_USAGE,
				 "\"all\" is not a keyspace; a change is of one keyspace, name it");
	if (!keyspace_is_valid(keyspace))
		return error_set(
			reterr, ERROR_USAGE,
			"\"%.80s\" is not a keyspace's name: 1 to 64 letters, digits, underscores or dashes",
			keyspace);
	return 0;
}

static int check_uuid(const struct call *call, const char *uuid, struct error *reterr)
{
	if (!strcasecmp(uuid, "all"))
		return error_set(
			reterr, ERROR_USAGE,
			"`vtddl %s` refuses \"all\": it would also act on migrations that others hold back; "
			"name one uuid or context, `vtddl show %s` lists them",
			call->command->name, call->args[0]);
	if (!uuid_is_valid(uuid) && !context_is_valid(uuid))
		return error_set(reterr, ERROR_USAGE,
				 "\"%.80s\" is neither a uuid (lower-case hex with underscores) nor a "
				 "migration context",
				 uuid);
	return 0;
}

static enum goal goal_of(const struct call *call, const struct change_command *stage)
{
	const char *state = options_text(call->options, OPT_FOR);

	if (!stage->goal_from_for || !strcmp(state, "verified"))
		return stage->goal;
	return strcmp(state, "ready") ? GOAL_COMPLETED : GOAL_READY;
}

static int read_ask(const struct call *call, struct ask *ret, struct error *reterr)
{
	const struct change_command *stage = call->command->data;
	const char *uuid = call->arg_count > 1 ? call->args[1] : NULL;
	bool has_sql = options_text(call->options, OPT_SQL) || options_text(call->options, OPT_SQL_FILE);

	if (check_keyspace(call->args[0], reterr) < 0 || (uuid && check_uuid(call, uuid, reterr) < 0))
		return -1;
	if (uuid && has_sql)
		return error_set(reterr, ERROR_USAGE,
				 "a uuid and a statement exclude each other; give one of them");
	*ret = (struct ask){
		.keyspace = call->args[0],
		.uuid = uuid,
		.goal = goal_of(call, stage),
		.open_gate = stage->open_gate,
		.take_up = stage->take_up,
		.again = options_flag(call->options, OPT_AGAIN),
		.deadline_ms = options_is_set(call->options, OPT_DEADLINE)
				       ? options_number(call->options, OPT_DEADLINE)
				       : 0,
		.strategy_extras = stage->makes_changes ? options_strategy(call->options) : NULL,
	};
	if (!uuid && statement_read(call->options, stage->makes_changes, &ret->ddl, reterr) < 0)
		return -1;
	if (!uuid && !ret->ddl)
		return error_set(reterr, ERROR_USAGE,
				 "`vtddl %s` needs a uuid, a context, --sql or --sql-file",
				 call->command->name);
	return 0;
}

/* ---- Signals ---- */

static struct loop *volatile interrupted_loop; /* NULL: the work is done */
static volatile sig_atomic_t signal_number;

static void on_signal(int number)
{
	if (signal_number)
		_exit(128 + number);
	signal_number = number;
	if (interrupted_loop)
		loop_interrupt(interrupted_loop);
}

static void catch_signals(struct loop *loop)
{
	struct sigaction action = { .sa_handler = on_signal };

	interrupted_loop = loop;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* ---- How to go on ---- */

static bool has_control(const char *word)
{
	while (*word && !iscntrl((unsigned char)*word))
		word++;
	return *word != '\0';
}

/* In single quotes; in $'...' (bash, zsh, ksh) where there are control characters, which are shown and not
 * sent to a terminal. */
static void add_quoted(struct strbuf *to, const char *word)
{
	bool ansi = has_control(word);

	if (*word && strspn(word, PLAIN_CHARACTERS) == strlen(word)) {
		strbuf_adds(to, word);
		return;
	}
	strbuf_adds(to, ansi ? "$'" : "'");
	for (const char *at = word; *at; at++) {
		if (ansi && iscntrl((unsigned char)*at))
			strbuf_addf(to, "\\%03o", (unsigned char)*at);
		else if (ansi && (*at == '\'' || *at == '\\'))
			strbuf_addf(to, "\\%c", *at);
		else if (*at == '\'')
			strbuf_adds(to, "'\\''");
		else
			strbuf_add(to, at, 1);
	}
	strbuf_adds(to, "'");
}

static bool is_again(const char *word)
{
	return !strcmp(word, "--again") || !strncmp(word, "--again=", 8);
}

/* The command that was given. It may be given again as it is, but for a statement that came from
 * standard input, and for --again, which would ask for one generation more once this one is written down. */
static const char *resume_command(const struct call *call, bool recorded)
{
	const struct change_command *stage = call->command->data;
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, DDL_MAX * 4);
	strbuf_adds(&text, "vtddl");
	for (int i = 1; i < call->argc; i++) {
		if (recorded && is_again(call->argv[i]))
			continue;
		strbuf_adds(&text, " ");
		add_quoted(&text, call->argv[i]);
	}
	if (stage->makes_changes && statement_is_from_stdin(call->options))
		strbuf_adds(&text, "   (with the same statement on standard input)");
	return arena_strdup(&call->options->arena, text.text);
}

/* What the fleet does while nobody drives. */
static const char *meanwhile(enum phase phase)
{
	switch (phase) {
	case PHASE_SUBMITTING:
	case PHASE_SUBMITTED:
		return "keeps running in the fleet; nothing cuts over until a vtddl goes on with it";
	case PHASE_COMPLETING:
		return "keeps running in the fleet; its release has begun, so shards may cut over meanwhile";
	default:
		return "stays as it is";
	}
}

static void say_interrupted(const struct view *view, const char *resume)
{
	if (view->change && view->recorded)
		output_say("interrupted; the change %s of keyspace %s (phase %s) %s", view->change->uuid,
			   view->change->keyspace, phase_name(view->change->phase),
			   meanwhile(view->change->phase));
	else
		output_say("interrupted before the change was written down; nothing was sent");
	output_say("to go on: %s", resume);
}

/* ---- Driving ---- */

/* Lets an effect that is in flight come in: for so long the lease is still ours. Reads are just dropped. */
static void settle(struct session *session, unsigned id)
{
	int64_t until_ms = clock_monotonic_ms() + STOP_MAX_MS;

	engine_stop(session->engine);
	while (engine_view(session->engine, id)->in_flight != EFFECT_NONE && clock_monotonic_ms() < until_ms)
		loop_step(session->loop, until_ms);
}

/* The engine gives up its lease once nothing is in flight. A lease of SQLite ends with the process anyway. */
static void release(struct session *session)
{
	int64_t until_ms = clock_monotonic_ms() + RELEASE_MAX_MS;

	while (!session_store_is_file(session->options) && !engine_is_idle(session->engine) &&
	       clock_monotonic_ms() < until_ms)
		loop_step(session->loop, until_ms);
}

static void drive(struct session *session, unsigned id, const char *keyspace)
{
	struct progress_view *progress = progress_new(keyspace);

	while (!signal_number) {
		const struct view *view = engine_view(session->engine, id);

		progress_update(progress, view);
		if (view->ended)
			break;
		loop_step(session->loop, clock_monotonic_ms() + STEP_MAX_MS);
	}
	progress_free(progress);
	settle(session, id);
	release(session);
	/* From here on the store is ours again. */
	interrupted_loop = NULL;
	session->loop = loop_free(session->loop);
}

static int report(struct session *session, const struct call *call, const struct ask *ask, unsigned id,
		  int64_t began_ms)
{
	struct report report = { .view = engine_view(session->engine, id),
				 .goal = ask->goal,
				 .keyspace = ask->keyspace };
	struct history_entry *history = NULL;
	struct error ignored;

	report.duration_ms = clock_monotonic_ms() - began_ms;
	report.interrupted = signal_number && !report.view->ended;
	report.resume = report.view->goal_reached ? NULL : resume_command(call, report.view->recorded);
	report.exit_code = report.interrupted ? 128 + (int)signal_number : report_exit_code(report.view);
	if (report.interrupted)
		say_interrupted(report.view, report.resume);
	if (!output_is_json()) {
		if (report.view->error.code != ERROR_NONE)
			return output_error(&report.view->error);
		report_print(&report);
		return report.exit_code;
	}
	if (report.view->error.code != ERROR_NONE)
		output_say("%s", report.view->error.text);
	if (report.view->change && report.view->recorded &&
	    store_history(session->store, report.view->change->cluster, report.view->change->uuid,
			  &call->options->arena, &history, &report.history_count, &ignored) == 0)
		report.history = history;
	report_print_json(&report);
	return report.exit_code;
}

static int run_session(struct session *session, const struct call *call, struct error *reterr)
{
	int64_t began_ms = clock_monotonic_ms();
	struct ask ask;
	unsigned id;

	if (read_ask(call, &ask, reterr) < 0 || session_open_engine(session, reterr) < 0 ||
	    engine_add(session->engine, &ask, &id, reterr) < 0 ||
	    session_open_drivers(session, ask.keyspace, reterr) < 0)
		return -1;
	catch_signals(session->loop);
	drive(session, id, ask.keyspace);
	return report(session, call, &ask, id, began_ms);
}

int cmd_change(const struct call *call)
{
	struct session session;
	struct error err = { 0 };
	int code;

	session_init(&session, call->options);
	code = run_session(&session, call, &err);
	if (code < 0)
		code = output_error(&err);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	session_close(&session);
	return code;
}
