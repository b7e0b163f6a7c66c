/* Which path is answered by whom: at once, by the loop's thread, or from the store. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "serve.h"
#include "vtddl/identity.h"

#define JSON_TYPE "application/json; charset=utf-8"
#define TEXT_TYPE "text/plain; charset=utf-8"
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define CHANGES "/api/v1/changes/"
#define LIMIT_DEFAULT 200
#define LIMIT_MAX 1000
#define HISTORY_DEFAULT 50
#define HISTORY_MAX 100
#define OFFSET_MAX 1000000

/* ---- Answers ---- */

static bool say_text(struct http_response *response, int status, const char *type, const char *text)
{
	response->status = status;
	response->content_type = type;
	response->length = strlen(text);
	response->body = strdup(text);
	if (!response->body)
		abort();
	return true;
}

/* Takes over @object. */
static bool say_json(struct http_response *response, int status, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));

	json_decref(object);
	if (!text)
		abort();
	response->status = status;
	response->content_type = JSON_TYPE;
	response->body = text;
	response->length = strlen(text);
	return true;
}

static bool say_error(struct http_response *response, int status, const char *code, const char *text)
{
	return say_json(response, status, api_error(code, text));
}

static bool say_not_found(struct http_response *response, const char *uuid)
{
	struct error err;

	error_set(&err, ERROR_INPUT, "there is no change %.40s in the store", uuid);
	return say_error(response, 404, "not_found", err.text);
}

static bool say_busy(struct http_response *response)
{
	return say_error(
		response, 503, "busy",
		"the thread that does the work did not answer in two seconds, or the program is ending");
}

/* ---- Arguments ---- */

static bool read_number(const struct http_request *request, const char *name, size_t max, size_t *number)
{
	const char *text;
	char *end;

	if (!request->argument(request, name, &text))
		return true;
	errno = 0;
	*number = strtoul(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *number <= max;
}

static bool read_arguments(const struct http_request *request, size_t limit, size_t limit_max,
			   struct question *ret, struct http_response *response)
{
	const char *text;

	*ret = (struct question){ .phase = _PHASE_INVALID, .limit = limit };
	if (!read_number(request, "limit", limit_max, &ret->limit) ||
	    !read_number(request, "offset", OFFSET_MAX, &ret->offset))
		return !say_error(response, 400, "bad_argument",
				  "limit and offset are numbers, and not too large");
	if (request->argument(request, "phase", &text) && text[0]) {
		ret->phase = phase_from_name(text);
		if (ret->phase == _PHASE_INVALID)
			return !say_error(response, 400, "bad_argument", "there is no such phase");
	}
	if (request->argument(request, "q", &text)) {
		if (strlen(text) > SEARCH_MAX)
			return !say_error(response, 400, "bad_argument", "q is too long");
		snprintf(ret->search, sizeof ret->search, "%s", text);
	}
	return true;
}

/* ---- Pages ---- */

static bool changes(struct serve *serve, const struct http_request *request, struct http_response *response)
{
	struct question question;
	struct answer answer;

	if (!read_arguments(request, LIMIT_DEFAULT, LIMIT_MAX, &question, response))
		return true;
	if (!board_ask(serve->board, api_changes, &question, &answer))
		return say_busy(response);
	return say_json(response, answer.status, answer.json);
}

/* The engine knows where it stands, the store what it is. Either may not have it. */
static bool one_change(struct serve *serve, const char *uuid, struct http_response *response)
{
	struct question question = { .phase = _PHASE_INVALID };
	struct answer live = { 0 };
	struct history_entry *history = NULL;
	struct change change;
	struct arena arena;
	struct error err;
	size_t count = 0;
	int found;

	if (!uuid_is_valid(uuid))
		return say_not_found(response, uuid);
	memcpy(question.uuid, uuid, UUID_LENGTH);
	if (!board_ask(serve->board, api_change, &question, &live))
		return say_busy(response);
	arena_init(&arena, 0);
	found = past_change(serve->past, uuid, &arena, &change, &history, &count, &err);
	if (found == 0)
		say_json(response, 200, api_record(live.json, &change, history, count));
	else if (found > 0)
		say_not_found(response, uuid);
	else
		say_error(response, 503, "store", err.text);
	if (found)
		json_decref(live.json);
	arena_release(&arena);
	return true;
}

static bool ended(struct serve *serve, const struct http_request *request, struct http_response *response)
{
	struct question question;
	struct change *items;
	struct arena arena;
	struct error err;
	size_t count;

	if (!read_arguments(request, HISTORY_DEFAULT, HISTORY_MAX, &question, response))
		return true;
	arena_init(&arena, 0);
	if (past_ended(serve->past, (unsigned)question.limit, &arena, &items, &count, &err) == 0)
		say_json(response, 200, api_history(items, count));
	else
		say_error(response, 503, "store", err.text);
	arena_release(&arena);
	return true;
}

static bool ask_page(struct serve *serve, page_fn *page, struct answer *ret)
{
	const struct question question = { .phase = _PHASE_INVALID };

	return board_ask(serve->board, page, &question, ret);
}

/* Alive: this thread is, and nothing else is said by it. */
static bool healthz(struct serve *serve, const struct http_request *request, struct http_response *response)
{
	(void)serve;
	(void)request;
	return say_text(response, 200, TEXT_TYPE, "ok\n");
}

static bool readyz(struct serve *serve, const struct http_request *request, struct http_response *response)
{
	struct answer answer;

	(void)request;
	if (!ask_page(serve, health_ready, &answer)) {
		answer.json = json_object_of("ready");
		json_object_set_new(answer.json, "ready", json_false());
		json_object_set_new(answer.json, "reasons",
				    json_pack("[{s:s, s:s}]", "code", "loop", "text",
					      "the thread that does the work did not answer in two seconds"));
		answer.status = 503;
	}
	return say_json(response, answer.status, answer.json);
}

/* As vtctld says it, but with a status that a probe sees. */
static bool debug_health(struct serve *serve, const struct http_request *request,
			 struct http_response *response)
{
	struct answer answer;
	bool ready = false;

	(void)request;
	if (ask_page(serve, health_ready, &answer)) {
		ready = answer.status == 200;
		json_decref(answer.json);
	}
	return say_text(response, ready ? 200 : 503, TEXT_TYPE, ready ? "ok" : "not ok");
}

static bool debug_vars(struct serve *serve, const struct http_request *request,
		       struct http_response *response)
{
	struct answer answer;

	(void)request;
	if (!ask_page(serve, health_vars, &answer))
		return say_busy(response);
	return say_json(response, answer.status, answer.json);
}

static bool metrics(struct serve *serve, const struct http_request *request, struct http_response *response)
{
	struct answer answer;

	(void)request;
	if (!ask_page(serve, metrics_page, &answer))
		return say_busy(response);
	response->status = answer.status;
	response->content_type = METRICS_TYPE;
	response->body = answer.text.text; /* becomes the server's */
	response->length = answer.text.length;
	return true;
}

static const struct {
	const char *path;
	bool (*answer)(struct serve *serve, const struct http_request *request,
		       struct http_response *response);
} pages[] = {
	{ "/api/v1/changes", changes }, { "/api/v1/history", ended },	   { "/healthz", healthz },
	{ "/readyz", readyz },		{ "/debug/health", debug_health }, { "/debug/vars", debug_vars },
	{ "/metrics", metrics },
};

bool serve_answer(void *user, const struct http_request *request, struct http_response *response)
{
	struct serve *serve = user;

	if (!strncmp(request->path, CHANGES, strlen(CHANGES)))
		return one_change(serve, request->path + strlen(CHANGES), response);
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
		if (!strcmp(request->path, pages[i].path))
			return pages[i].answer(serve, request, response);
	return false;
}
