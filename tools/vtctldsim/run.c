#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec.h"
#include "journal.h"
#include "script.h"
#include "vtddl/clock.h"

#define SLICE_MS 50 /* how long a signal may have to wait */

enum { STATUS_UNKNOWN = 2, STATUS_UNIMPLEMENTED = 12, STATUS_INTERNAL = 13 };

/* One RPC between its arrival and its answer. */
struct pending {
	struct pending *next;
	uint64_t tag;
	struct arena arena;
	struct codec_call call;
};

struct runner {
	const struct run_config *config;
	struct server *server;
	struct fleet *fleet;
	struct script *script;
	struct journal *journal;
	struct pending *pending;
	int64_t started_ms;
	char newest_uuid[UUID_LENGTH + 1]; /* "" while there is none */
};

static volatile sig_atomic_t stop_asked, reload_asked;

static void on_signal(int number)
{
	if (number == SIGHUP)
		reload_asked = 1;
	else
		stop_asked = 1;
}

static void signals_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int64_t virtual_now_ms(const struct runner *runner)
{
	return (int64_t)((double)(clock_monotonic_ms() - runner->started_ms) * runner->config->time_scale);
}

static const char *newest_uuid(const struct runner *runner)
{
	return runner->newest_uuid[0] != '\0' ? runner->newest_uuid : NULL;
}

static void note_uuid(struct runner *runner, const char *uuid)
{
	if (uuid != NULL && strlen(uuid) == UUID_LENGTH)
		memcpy(runner->newest_uuid, uuid, UUID_LENGTH + 1);
}

/* ---- Answers ---- */

static struct pending **pending_find(struct runner *runner, uint64_t tag)
{
	struct pending **link = &runner->pending;

	while (*link != NULL && (*link)->tag != tag)
		link = &(*link)->next;
	return link;
}

static void pending_drop(struct pending **link)
{
	struct pending *pending = *link;

	*link = pending->next;
	arena_release(&pending->arena);
	free(pending);
}

static void answer(struct runner *runner, const struct vtctld_reply *reply)
{
	struct pending **link = pending_find(runner, reply->tag), *pending = *link;
	const uint8_t *bytes = NULL;
	size_t length = 0;

	if (reply->code == 0)
		bytes = codec_encode(&pending->call, reply, &pending->arena, &length);
	if (reply->code == 0 && reply->method == VTCTLD_APPLY_SCHEMA && reply->effect.uuid_count > 0)
		note_uuid(runner, reply->effect.uuids[0]);
	server_answer(runner->server, reply->tag, reply->code, reply->text, bytes, length);
	pending_drop(link);
}

static void advance(struct runner *runner, int64_t now_ms)
{
	struct vtctld_reply reply;

	while (script_next_ms(runner->script) <= now_ms) {
		int64_t at_ms = script_next_ms(runner->script);

		fleet_advance(runner->fleet, at_ms);
		script_run(runner->script, runner->fleet, at_ms, newest_uuid(runner));
	}
	fleet_advance(runner->fleet, now_ms);
	while (fleet_take(runner->fleet, &reply))
		answer(runner, &reply);
}

/* ---- Calls ---- */

static void refuse(struct runner *runner, const struct pending *pending, int code, const char *text)
{
	struct fleet_journal_entry entry = { .at_ms = virtual_now_ms(runner),
					     .code = code,
					     .text = text,
					     .done = "",
					     .request = &pending->call.request };

	entry.ended_ms = entry.at_ms;
	if (runner->journal != NULL && pending->call.method != NULL)
		journal_write(runner->journal, &entry);
	server_answer(runner->server, pending->tag, code, text, NULL, 0);
}

/* True: the fleet has it now. */
static bool start(struct runner *runner, const struct server_event *event, struct pending *pending)
{
	const struct codec_method *method = codec_find(event->path);
	struct codec_call *call = &pending->call;

	if (method == NULL) {
		refuse(runner, pending, STATUS_UNIMPLEMENTED,
		       arena_printf(&pending->arena, "unknown method %s for service vtctlservice.Vtctld",
				    strrchr(event->path, '/') != NULL ? strrchr(event->path, '/') + 1
								      : event->path));
		return false;
	}
	if (!codec_decode(method, event->bytes, event->length, &pending->arena, call)) {
		refuse(runner, pending, STATUS_INTERNAL,
		       "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data");
		return false;
	}
	call->request.tag = event->tag;
	if (event->timeout_ms > 0)
		call->request.timeout_ms =
			(int64_t)((double)event->timeout_ms * runner->config->time_scale) + 1;
	if (call->refusal != NULL) {
		refuse(runner, pending, STATUS_UNKNOWN, call->refusal);
		return false;
	}
	if (call->request.method == VTCTLD_APPLY_SCHEMA)
		note_uuid(runner, call->request.uuid);
	script_on_call(runner->script, runner->fleet, call->request.method, newest_uuid(runner));
	fleet_start(runner->fleet, &call->request, &pending->arena);
	return true;
}

static void handle(struct runner *runner, const struct server_event *event)
{
	struct pending **link, *pending;

	if (event->kind == SERVER_GONE) {
		link = pending_find(runner, event->tag);
		if (*link == NULL)
			return;
		fleet_abandon(runner->fleet, event->tag);
		pending_drop(link);
		return;
	}
	pending = calloc(1, sizeof(*pending));
	if (pending == NULL)
		abort();
	pending->tag = event->tag;
	pending->next = runner->pending;
	runner->pending = pending;
	arena_init(&pending->arena, 0);
	if (!start(runner, event, pending))
		pending_drop(pending_find(runner, event->tag));
}

/* ---- The loop ---- */

static void reload(struct runner *runner)
{
	struct script *script;
	struct error error = { 0 };

	reload_asked = 0;
	if (runner->config->script == NULL)
		return;
	if (script_open(runner->config->script, runner->fleet, virtual_now_ms(runner), &script, &error) < 0) {
		fprintf(stderr, "vtctldsim: %s; the former script goes on\n", error.text);
		return;
	}
	script_free(runner->script);
	runner->script = script;
	fprintf(stderr, "vtctldsim: the script was read again\n");
}

static int64_t wait_ms(const struct runner *runner)
{
	int64_t next_ms = fleet_next_ms(runner->fleet), script_ms = script_next_ms(runner->script);
	double left_ms;

	if (script_ms < next_ms)
		next_ms = script_ms;
	left_ms = (double)(next_ms - virtual_now_ms(runner)) / runner->config->time_scale;
	if (left_ms >= SLICE_MS)
		return SLICE_MS;
	return left_ms <= 0 ? 0 : (int64_t)left_ms + 1;
}

static void loop(struct runner *runner)
{
	struct server_event event;

	while (!stop_asked) {
		if (reload_asked)
			reload(runner);
		advance(runner, virtual_now_ms(runner));
		if (!server_next(runner->server, wait_ms(runner), &event))
			continue;
		/* A call that is gone must not be answered any more, so it is taken back first. */
		if (event.kind == SERVER_CALL)
			advance(runner, virtual_now_ms(runner));
		handle(runner, &event);
	}
}

static int port_write(const struct run_config *config, int port, struct error *reterr)
{
	char *temporary;
	FILE *file;
	int result = 0;

	if (config->port_file == NULL)
		return 0;
	if (asprintf(&temporary, "%s.tmp", config->port_file) < 0)
		abort();
	file = fopen(temporary, "we");
	if (file == NULL || fprintf(file, "%d\n", port) < 0)
		result = -1;
	if (file != NULL && fclose(file) != 0)
		result = -1;
	if (result == 0 && rename(temporary, config->port_file) != 0)
		result = -1;
	if (result < 0)
		error_set(reterr, ERROR_CONFIG, "Cannot write --port-file %s: %s", config->port_file,
			  strerror(errno));
	free(temporary);
	return result;
}

static int runner_open(struct runner *runner, struct error *reterr)
{
	const struct run_config *config = runner->config;

	runner->fleet = fleet_new(&config->fleet);
	if (config->journal != NULL) {
		if (journal_open(config->journal, &runner->journal, reterr) < 0)
			return -1;
		fleet_set_journal(runner->fleet, journal_write, runner->journal);
	}
	if (config->script != NULL &&
	    script_open(config->script, runner->fleet, 0, &runner->script, reterr) < 0)
		return -1;
	if (server_open(&config->server, &runner->server, reterr) < 0)
		return -1;
	runner->started_ms = clock_monotonic_ms();
	return port_write(config, server_port(runner->server), reterr);
}

int run(const struct run_config *config, struct error *reterr)
{
	struct runner runner = { .config = config };
	int result;

	signals_catch();
	result = runner_open(&runner, reterr);
	if (result == 0) {
		fprintf(stderr, "vtctldsim: keyspace %s with %zu shards, port %d\n", config->fleet.keyspace,
			config->fleet.shard_count, server_port(runner.server));
		loop(&runner);
	}
	server_close(runner.server);
	while (runner.pending != NULL)
		pending_drop(&runner.pending);
	fleet_free(runner.fleet);
	script_free(runner.script);
	journal_close(runner.journal);
	return result;
}
