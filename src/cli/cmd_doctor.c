/*
 * doctor: one line for each thing that a change will need: ok, warn or FAIL, and what to do.
 * Everything is only read. The exit code is that of the first check that failed.
 */
#include "command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "rpc.h"
#include "servers.h"
#include "session.h"
#include "vtddl/identity.h"
#include "vtddl/observation.h"

#define LINE_MAX_BYTES 2048

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL };

static const struct {
	const char *name, *color;
} levels[] = {
	[LEVEL_OK] = { "ok", "\033[32m" },
	[LEVEL_WARN] = { "warn", "\033[33m" },
	[LEVEL_FAIL] = { "FAIL", "\033[31m" },
};

struct doctor {
	struct session session;
	const struct call *call;
	struct arena *arena;
	json_t *checks;
	int exit_code; /* of the first failure */
	/* found out on the way */
	const char *keyspace;
	const struct topo_shard *shards;
	size_t shard_count;
};

static void add_line(struct doctor *doctor, enum level level, enum error_code code, const char *name,
		     const char *format, ...) printf_like(5, 6);

static void add_line(struct doctor *doctor, enum level level, enum error_code code, const char *name,
		     const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	int exit_code = level == LEVEL_FAIL ? error_exit_code(code) : EXIT_DONE;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (!doctor->exit_code)
		doctor->exit_code = exit_code;
	if (output_is_json()) {
		json_array_append_new(doctor->checks, json_pack("{s:s, s:s, s:o, s:i}", "check", name,
								"result", levels[level].name, "text",
								json_text(text), "exit_code", exit_code));
		return;
	}
	if (output_has_color(stdout))
		printf("%s%-4s\033[0m  %-10s ", levels[level].color, levels[level].name, name);
	else
		printf("%-4s  %-10s ", levels[level].name, name);
	output_shown(stdout, text, sizeof text);
	fputc('\n', stdout);
	fflush(stdout); /* a later check may take its whole deadline */
}

static void add_failure(struct doctor *doctor, const char *name, const struct error *err)
{
	add_line(doctor, LEVEL_FAIL, err->code, name, "%s", err->text);
}

static struct vtctld_request read_request(const struct doctor *doctor, enum vtctld_method method)
{
	return (struct vtctld_request){ .method = method,
					.keyspace = doctor->keyspace,
					.timeout_ms =
						options_number(doctor->call->options, OPT_READ_TIMEOUT) };
}

/* ---- Checks. Each returns whether those that build on it make sense. ---- */

static bool check_store(struct doctor *doctor)
{
	char text[REASON_MAX];
	struct error err;
	int got = session_open_store(&doctor->session, /* read_only= */ true, &err);

	if (got == STORE_NOT_FOUND)
		add_line(doctor, LEVEL_OK, 0, "store", "there is none yet; the first change makes it");
	else if (got < 0 || store_check(doctor->session.store, text, &err) < 0)
		add_failure(doctor, "store", &err);
	else
		add_line(doctor, LEVEL_OK, 0, "store", "%s", text);
	return true;
}

static bool check_server(struct doctor *doctor)
{
	struct vtctld_request request = read_request(doctor, VTCTLD_GET_KEYSPACES);
	struct vtctld_reply reply;
	struct error err;
	struct strbuf names cleanup(strbuf_release);
	bool found = !doctor->keyspace;

	if (session_open_wire(&doctor->session, doctor->keyspace, &err) < 0 ||
	    rpc_call(doctor->session.wire, &request, doctor->arena, &reply, &err) < 0) {
		add_failure(doctor, "server", &err);
		return false;
	}
	strbuf_init(&names, 1024);
	for (size_t i = 0; i < reply.keyspaces.count; i++) {
		strbuf_addf(&names, "%s%s", i ? ", " : "", reply.keyspaces.names[i]);
		found = found || !strcmp(reply.keyspaces.names[i], doctor->keyspace);
	}
	add_line(doctor, LEVEL_OK, 0, "server", "vtctld at %s answers; keyspaces: %s%s",
		 server_of(doctor->call->options, doctor->keyspace), names.length ? names.text : "none",
		 doctor->keyspace ? "" : "; name one to have its shards checked");
	if (!found)
		add_line(doctor, LEVEL_FAIL, ERROR_USAGE, "keyspace",
			 "there is no keyspace %s; check the name and --server", doctor->keyspace);
	return found && doctor->keyspace;
}

static bool check_shards(struct doctor *doctor)
{
	struct vtctld_request request = read_request(doctor, VTCTLD_FIND_ALL_SHARDS);
	struct vtctld_reply reply;
	struct error err;
	const char *problem;
	struct strbuf names cleanup(strbuf_release);

	if (rpc_call(doctor->session.wire, &request, doctor->arena, &reply, &err) < 0) {
		add_failure(doctor, "shards", &err);
		return false;
	}
	doctor->shards = reply.shards.items;
	doctor->shard_count = reply.shards.count;
	strbuf_init(&names, 1024);
	for (size_t i = 0; i < doctor->shard_count; i++)
		strbuf_addf(&names, "%s%s", i ? " " : "", doctor->shards[i].name);
	problem = topology_problem(doctor->arena, doctor->shards, doctor->shard_count);
	if (problem)
		add_line(doctor, LEVEL_FAIL, ERROR_BLOCKED, "shards", "%s", problem);
	else
		add_line(doctor, LEVEL_OK, 0, "shards",
			 "%zu, each with a primary, the ranges fit together: %s", doctor->shard_count,
			 names.text);
	return doctor->shard_count > 0;
}

static const struct topo_shard *shard_of(const struct doctor *doctor, const struct topo_tablet *tablet)
{
	for (size_t i = 0; i < doctor->shard_count; i++)
		if (!strcmp(doctor->shards[i].name, tablet->shard))
			return &doctor->shards[i];
	return NULL;
}

/* Return: whether there was something to say. */
static bool check_tablet(struct doctor *doctor, const struct topo_tablet *tablet)
{
	const struct topo_shard *shard = shard_of(doctor, tablet);
	bool is_primary = shard && shard->has_primary && tablet_alias_equal(&shard->primary, &tablet->alias);
	char alias[ALIAS_TEXT_SIZE];

	tablet_alias_format(&tablet->alias, alias);
	if (is_primary && tablet->shutdown_s) {
		add_line(doctor, LEVEL_FAIL, ERROR_UNAVAILABLE, "tablets",
			 "%s, the primary of %s, was shut down; start it, or reparent the shard", alias,
			 tablet->shard);
		return true;
	}
	if (!is_primary && (tablet->type == TABLET_PRIMARY || tablet->type == TABLET_UNKNOWN)) {
		add_line(doctor, LEVEL_WARN, 0, "tablets",
			 "%s of %s is recorded as %s but is not the shard's primary; while it is down "
			 "GetSchemaMigrations "
			 "may hang for the whole keyspace: start it, or `vtctldclient DeleteTablets %s`",
			 alias, tablet->shard, tablet->type == TABLET_PRIMARY ? "PRIMARY" : "UNKNOWN", alias);
		return true;
	}
	if (tablet->shutdown_s)
		add_line(doctor, LEVEL_WARN, 0, "tablets",
			 "%s of %s was shut down; a change does not need it", alias, tablet->shard);
	return tablet->shutdown_s != 0;
}

static bool check_tablets(struct doctor *doctor)
{
	struct vtctld_request request = read_request(doctor, VTCTLD_GET_TABLETS);
	struct vtctld_reply reply;
	struct error err;
	size_t odd = 0;

	if (rpc_call(doctor->session.wire, &request, doctor->arena, &reply, &err) < 0) {
		add_failure(doctor, "tablets", &err);
		return true;
	}
	for (size_t i = 0; i < reply.tablets.count; i++)
		odd += check_tablet(doctor, &reply.tablets.items[i]);
	if (!odd)
		add_line(doctor, LEVEL_OK, 0, "tablets", "%zu, none shut down, no stale primary record",
			 reply.tablets.count);
	return true;
}

/* Asks every primary the same, side by side. */
static struct vtctld_reply *ask_primaries(struct doctor *doctor, enum vtctld_method method, const char *sql)
{
	struct vtctld_request *requests = arena_array(doctor->arena, doctor->shard_count, sizeof *requests);
	struct vtctld_reply *replies = arena_array(doctor->arena, doctor->shard_count, sizeof *replies);

	for (size_t i = 0; i < doctor->shard_count; i++) {
		requests[i] = read_request(doctor, method);
		requests[i].sql = sql;
		requests[i].limit = 1;
		requests[i].tablet = doctor->shards[i].primary;
	}
	rpc_call_all(doctor->session.wire, requests, doctor->shard_count, doctor->arena, replies);
	return replies;
}

static const char *cell(const struct query_result *result, size_t column)
{
	const char *text =
		result->row_count && column < result->column_count ? result->cells[column].text : NULL;

	return text ? text : "";
}

static bool is_on(const char *text)
{
	return !strcmp(text, "1") || !strcmp(text, "ON");
}

static void check_primary(struct doctor *doctor, const struct topo_shard *shard,
			  const struct vtctld_reply *reply)
{
	const char *version = cell(&reply->result, 0);
	char alias[ALIAS_TEXT_SIZE];
	struct error err;

	tablet_alias_format(&shard->primary, alias);
	if (reply->outcome != VTCTLD_DONE) {
		rpc_error(reply, &err);
		add_line(doctor, LEVEL_FAIL, err.code, "primary", "%s %s cannot be asked: %s", shard->name,
			 alias, err.text);
	} else if (!*version) {
		add_line(doctor, LEVEL_FAIL, ERROR_PROTOCOL, "primary", "%s %s answered without a version",
			 shard->name, alias);
	} else if (is_on(cell(&reply->result, 1))) {
		add_line(doctor, LEVEL_FAIL, ERROR_BLOCKED, "primary",
			 "%s %s, MySQL %s, is read only: no migration can run on it; a reparent that did not "
			 "end?",
			 shard->name, alias, version);
	} else if (!is_on(cell(&reply->result, 2))) {
		add_line(doctor, LEVEL_WARN, 0, "primary",
			 "%s %s, MySQL %s: performance_schema is off, so a forced cut-over cannot end what "
			 "blocks it",
			 shard->name, alias, version);
	} else {
		add_line(doctor, LEVEL_OK, 0, "primary", "%s %s, MySQL %s, writable, performance_schema on",
			 shard->name, alias, version);
	}
}

static bool check_primaries(struct doctor *doctor)
{
	struct vtctld_reply *replies =
		ask_primaries(doctor, VTCTLD_EXECUTE_FETCH_AS_DBA,
			      "select @@version, @@global.read_only, @@performance_schema");

	for (size_t i = 0; i < doctor->shard_count; i++)
		check_primary(doctor, &doctor->shards[i], &replies[i]);
	return true;
}

static bool check_throttler(struct doctor *doctor)
{
	struct vtctld_reply *replies = ask_primaries(doctor, VTCTLD_CHECK_THROTTLER, NULL);
	size_t good = 0;

	for (size_t i = 0; i < doctor->shard_count; i++) {
		const struct throttler_check *check = &replies[i].throttler;
		struct error err;

		if (replies[i].outcome != VTCTLD_DONE) {
			rpc_error(&replies[i], &err);
			add_line(doctor, LEVEL_WARN, 0, "throttler", "%s cannot say: %s",
				 doctor->shards[i].name, err.text);
		} else if (check->response_code > 1) {
			add_line(doctor, LEVEL_WARN, 0, "throttler",
				 "%s holds copies back now: value %g, threshold %g %s",
				 doctor->shards[i].name, check->value, check->threshold,
				 check->message ? check->message : "");
		} else {
			good++;
		}
	}
	if (good == doctor->shard_count)
		add_line(doctor, LEVEL_OK, 0, "throttler", "no shard holds copies back now");
	return true;
}

/* The read that every look begins with; a context nobody uses keeps the answer small. */
static bool check_migrations(struct doctor *doctor)
{
	struct vtctld_request request = read_request(doctor, VTCTLD_GET_SCHEMA_MIGRATIONS);
	struct vtctld_reply reply;
	struct error err;

	request.context = "vtddl-doctor";
	if (rpc_call(doctor->session.wire, &request, doctor->arena, &reply, &err) < 0)
		add_line(doctor, LEVEL_WARN, 0, "migrations",
			 "%s; a change would go on, reading each primary directly", err.text);
	else
		add_line(doctor, LEVEL_OK, 0, "migrations", "GetSchemaMigrations answers for all shards");
	return true;
}

static bool check_vtgate(struct doctor *doctor)
{
	const struct vtgate_config *given = session_vtgate(&doctor->session);
	const struct option_value *probes = &doctor->call->options->values[OPT_PROBE];
	struct vtgate_config config;
	struct vtgate *vtgate = NULL;
	struct error err;
	int64_t us;

	if (!given)
		return true;
	config = *given;
	config.keyspace = doctor->keyspace;
	if (vtgate_open(&config, &vtgate, &err) < 0 || vtgate_probe(vtgate, "select 1", &us, &err) < 0) {
		add_failure(doctor, "vtgate", &err);
		vtgate_close(vtgate);
		return false;
	}
	add_line(doctor, LEVEL_OK, 0, "vtgate", "%s answers in %.1f ms", config.address, (double)us / 1000);
	for (size_t i = 0; i < probes->count; i++) {
		if (vtgate_probe(vtgate, probes->texts[i], &us, &err) < 0)
			add_failure(doctor, "probe", &err);
		else
			add_line(doctor, LEVEL_OK, 0, "probe", "%zu answers in %.1f ms", i + 1,
				 (double)us / 1000);
	}
	vtgate_close(vtgate);
	return true;
}

static bool (*const checks[])(struct doctor *) = {
	check_store,	 check_server,	  check_shards,	    check_tablets,
	check_primaries, check_throttler, check_migrations, check_vtgate,
};

static void examine(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
		if (!checks[i](doctor))
			break;
}

int cmd_doctor(const struct call *call)
{
	struct doctor doctor = { .call = call, .arena = &call->options->arena, .keyspace = call->args[0] };
	struct error err;
	json_t *object;

	session_init(&doctor.session, call->options);
	if (session_check_probes(&doctor.session, &err) < 0)
		return output_error(&err);
	if (doctor.keyspace && !keyspace_is_valid(doctor.keyspace)) {
		error_set(&err, ERROR_USAGE, "\"%.80s\" is not a keyspace's name", doctor.keyspace);
		return output_error(&err);
	}
	doctor.checks = json_array();
	examine(&doctor);
	if (output_is_json()) {
		object = json_object_of("doctor");
		json_object_set(object, "checks", doctor.checks);
		json_object_set_new(object, "exit_code", json_integer(doctor.exit_code));
		json_print(object);
	}
	json_decref(doctor.checks);
	session_close(&doctor.session);
	return doctor.exit_code;
}
