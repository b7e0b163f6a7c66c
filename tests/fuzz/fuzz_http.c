/*
 * Goal: whatever comes as a request, it is refused, not found, or answered by JSON; and what the loop is
 * asked lies within its borders. Method: the bytes are texts, each ended by a NUL: the address as it came,
 * its path decoded, then headers and arguments by turns. The guard sees them through a libmicrohttpd that is
 * a table; the pages ask a board and a store that answer by chance.
 */
#include <jansson.h>

#include "fuzz.h"
#include "http_private.h"
#include "json.h"
#include "serve.h"

#define TEXTS 16

static const char *texts[TEXTS];
static size_t text_count;
static unsigned chance;

/* ---- libmicrohttpd ---- */

static const char *const header_names[] = { "Host", "Content-Length", "Sec-Fetch-Site", "Sec-Fetch-Mode",
					    "Transfer-Encoding" };

static const char *lookup(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *name)
{
	(void)connection, (void)kind;
	for (size_t i = 0; i < 5 && i + 2 < text_count; i++)
		if (strcmp(header_names[i], name) == 0 && texts[i + 2][0])
			return texts[i + 2];
	return NULL;
}

static int get_values(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator take,
		      void *user)
{
	(void)connection;
	if (lookup(NULL, kind, "Host"))
		take(user, kind, chance & 1 ? "host" : "Host", lookup(NULL, kind, "Host"));
	if (chance & 2)
		take(user, kind, "Host", NULL);
	return 1;
}

/* ---- What the pages ask ---- */

static bool argument(const struct http_request *request, const char *name, const char **ret)
{
	static const char *const names[] = { "limit", "offset", "phase", "q" };

	(void)request;
	for (size_t i = 0; i < 4 && i + 7 < text_count; i++)
		if (strcmp(names[i], name) == 0) {
			*ret = texts[i + 7];
			return true;
		}
	return false;
}

static void check_question(const struct question *question)
{
	fuzz_check(question->phase == _PHASE_INVALID || (unsigned)question->phase < _PHASE_MAX,
		   "phase %d is asked for", question->phase);
	fuzz_check(question->limit <= 1000 && question->offset <= 1000000,
		   "%zu changes from %zu on are asked for", question->limit, question->offset);
	fuzz_check(memchr(question->search, 0, sizeof(question->search)) &&
			   memchr(question->uuid, 0, sizeof(question->uuid)),
		   "a question without an end");
}

bool board_ask(struct board *board, page_fn *page, const struct question *question, struct answer *ret)
{
	(void)board;
	check_question(question);
	if (chance & 4)
		return false;
	*ret = (struct answer){ .status = chance & 8 ? 404 : 200 };
	if (page == metrics_page) {
		strbuf_init(&ret->text, 64);
		strbuf_adds(&ret->text, "vtddl_up 1\n");
	} else if (page != api_change || !(chance & 8)) {
		ret->json = json_object_of("page");
		json_object_set_new(ret->json, "change", json_object());
	}
	return true;
}

/* Told apart by their addresses; the board is all that would call them. */
#define PAGE(name)                                                                                           \
	void name(const struct serve *serve, const struct question *question, struct answer *ret)            \
	{                                                                                                    \
		(void)serve, (void)question;                                                                 \
		ret->status = __LINE__;                                                                      \
	}
PAGE(api_changes)
PAGE(api_change)
PAGE(health_ready)
PAGE(health_vars)
PAGE(metrics_page)

int past_change(struct past *past, const char *uuid, struct arena *arena, struct change *ret,
		struct history_entry **ret_history, size_t *ret_count, struct error *reterr)
{
	(void)past, (void)arena;
	fuzz_check(strlen(uuid) == UUID_LENGTH, "the store is asked for '%s'", uuid);
	*ret = (struct change){ 0 };
	*ret_history = NULL;
	*ret_count = 0;
	return chance & 16   ? error_set(reterr, ERROR_STORE, "the store is down")
	       : chance & 32 ? STORE_NOT_FOUND
			     : 0;
}

int past_ended(struct past *past, unsigned limit, struct arena *arena, struct change **ret, size_t *ret_count,
	       struct error *reterr)
{
	(void)past, (void)arena;
	fuzz_check(limit <= 1000, "%u changes are asked for", limit);
	*ret = NULL;
	*ret_count = 0;
	return chance & 16 ? error_set(reterr, ERROR_STORE, "the store is down") : 0;
}

json_t *api_error(const char *code, const char *text)
{
	json_t *object = json_object_of("error");

	json_object_set_new(object, "code", json_string(code));
	json_object_set_new(object, "text", json_text(text));
	return object;
}

json_t *api_record(json_t *object, const struct change *change, const struct history_entry *history,
		   size_t count)
{
	(void)change, (void)history, (void)count;
	return object ? object : json_object_of("change");
}

json_t *api_history(const struct change *changes, size_t count)
{
	(void)changes, (void)count;
	return json_object_of("history");
}

/* ---- One request ---- */

static void check_guard(const char *uri, const char *path)
{
	static const char *const methods[] = { "GET", "HEAD", "POST", "get", "" };
	struct http http = { .is_loopback = chance & 64,
			     .mhd = { .lookup_connection_value = lookup,
				      .get_connection_values = get_values } };
	struct exchange exchange = { .http = &http, .uri_is_valid = guard_uri_is_valid(uri) };
	const char *method = methods[chance % 5], *version = chance & 128 ? "HTTP/1.0" : "HTTP/1.1",
		   *host = lookup(NULL, MHD_HEADER_KIND, "Host");
	const struct refusal *refusal = guard_check(&exchange, path, method, version);

	if (exchange.uri_is_valid)
		fuzz_check(uri[0] == '/' && strlen(uri) <= URI_MAX && fuzz_is_quiet(uri) &&
				   !strstr(uri, "%0") && !strstr(uri, "%1"),
			   "an address is taken that is none: %s", uri);
	if (refusal) {
		fuzz_check(refusal->status >= 400 && refusal->code[0] && refusal->text[0],
			   "a refusal without a reason");
		return;
	}
	fuzz_check(exchange.uri_is_valid && strlen(path) <= HTTP_PATH_MAX,
		   "an address is let in that is none");
	fuzz_check(chance % 5 < 2 && !lookup(NULL, MHD_HEADER_KIND, "Transfer-Encoding"),
		   "more than a question is let in");
	fuzz_check(!http.is_loopback || !host || strncasecmp(host, "localhost", 9) == 0 ||
			   strncmp(host, "127.0.0.1", 9) == 0 || strncmp(host, "[::1]", 5) == 0,
		   "a foreign name is let in: %s", host);
}

static void check_pages(const char *path)
{
	const struct http_request request = { .path = path, .argument = argument };
	struct http_response response = { .status = 200 };
	struct serve serve = { 0 };
	json_t *object;

	if (strlen(path) > HTTP_PATH_MAX || !serve_answer(&serve, &request, &response))
		return;
	fuzz_check(response.status == 200 || response.status == 400 || response.status == 404 ||
			   response.status == 503,
		   "status %d", response.status);
	fuzz_check(response.body && strlen(response.body) == response.length && response.content_type,
		   "an answer without an end");
	if (strncmp(response.content_type, "application/json", 16) == 0) {
		object = json_loads(response.body, JSON_REJECT_DUPLICATES, NULL);
		fuzz_check(object && json_object_get(object, "kind"), "an answer that is no JSON: %s",
			   response.body);
		json_decref(object);
	}
	free(response.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text;

	if (length == 0)
		return 0;
	chance = bytes[0];
	text = fuzz_copy(bytes + 1, --length, true);
	text_count = 0;
	for (char *at = text; at <= text + length && text_count < TEXTS; at += strlen(at) + 1)
		texts[text_count++] = at;
	check_guard(texts[0], text_count > 1 ? texts[1] : "/");
	check_pages(text_count > 1 ? texts[1] : texts[0]);
	free(text);
	return 0;
}
