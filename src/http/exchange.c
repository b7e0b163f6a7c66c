#include "http_private.h"

#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

static const char page_etag[] = PAGE_ETAG;

static const char json_type[] = "application/json; charset=utf-8";
static const char no_store[] = "no-store";

static const struct refusal not_found = { 404, "not_found", "there is nothing under this address" };
static const struct refusal no_stream = { 503, "busy",
					  "as many readers as are allowed follow the events already" };
static const struct refusal is_ending = { 503, "ending", "the server is ending" };

/* ---- Answers ---- */

void exchange_add_headers(const struct http *http, struct MHD_Response *response, const char *content_type,
			  const char *cache)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{ "Content-Type", content_type },
		{ "Cache-Control", cache },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
		{ "Content-Security-Policy", PAGE_POLICY },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (http->mhd.add_response_header(response, headers[i].name, headers[i].value) != MHD_YES)
			abort(); /* out of memory */
}

/* Takes over the reference; the answer is on its way, or the connection is closed. */
static enum MHD_Result reply(const struct exchange *exchange, int status, struct MHD_Response *response)
{
	const struct mhd *mhd = &exchange->http->mhd;
	enum MHD_Result result = mhd->queue_response(exchange->connection, (unsigned)status, response);

	mhd->destroy_response(response);
	return result;
}

static struct MHD_Response *response_of(const struct http *http, const char *content_type, char *body,
					size_t length)
{
	struct MHD_Response *response = http->mhd.create_response_from_buffer(
		body ? length : 0, body ? body : "", body ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);

	if (!response)
		abort();
	exchange_add_headers(http, response, content_type, no_store);
	return response;
}

static enum MHD_Result refuse(const struct exchange *exchange, const struct refusal *refusal)
{
	const struct http *http = exchange->http;
	struct MHD_Response *response;
	struct strbuf body;

	/* Texts of ours alone: nothing of the request comes back. */
	strbuf_init(&body, 1024);
	strbuf_addf(&body,
		    "{\"schema_version\":1,\"kind\":\"error\",\"error\":{\"code\":\"%s\",\"text\":\"%s\"}}\n",
		    refusal->code, refusal->text);
	response = response_of(http, json_type, body.text, body.length);
	if (refusal->status == 405)
		http->mhd.add_response_header(response, "Allow", "GET, HEAD");
	if (refusal->status == 503)
		http->mhd.add_response_header(response, "Retry-After", "5");
	return reply(exchange, refusal->status, response);
}

struct MHD_Response *page_make(const struct http *http)
{
	struct MHD_Response *response = http->mhd.create_response_from_buffer(
		sizeof(page_text) - 1, (void *)page_text, MHD_RESPMEM_PERSISTENT);

	if (!response)
		abort();
	exchange_add_headers(http, response, "text/html; charset=utf-8", "no-cache");
	if (http->mhd.add_response_header(response, "ETag", page_etag) != MHD_YES)
		abort();
	return response;
}

static enum MHD_Result send_page(const struct exchange *exchange)
{
	const struct http *http = exchange->http;
	const char *known =
		http->mhd.lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "If-None-Match");
	struct MHD_Response *response;

	/* A tag is 64 hex digits in quotes, so a list of tags needs no parser. */
	if (!known || !strstr(known, page_etag))
		return http->mhd.queue_response(exchange->connection, 200, http->page);
	response = http->mhd.create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	if (!response)
		abort();
	exchange_add_headers(http, response, "text/html; charset=utf-8", "no-cache");
	http->mhd.add_response_header(response, "ETag", page_etag);
	return reply(exchange, 304, response);
}

static enum MHD_Result send_events(const struct exchange *exchange, const char *method)
{
	struct http *http = exchange->http;
	struct MHD_Response *response;

	if (strcmp(method, "HEAD") == 0)
		return reply(exchange, 200, response_of(http, "text/event-stream", NULL, 0));
	response = stream_open(
		http, exchange->connection,
		http->mhd.lookup_connection_value(exchange->connection, MHD_HEADER_KIND, "Last-Event-ID"));
	return response ? reply(exchange, 200, response) : refuse(exchange, &no_stream);
}

/* ---- A request ---- */

struct argument {
	const char *name, *value;
	bool found;
};

static enum MHD_Result find_argument(void *user, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct argument *argument = user;

	(void)kind;
	if (strcmp(key, argument->name) != 0)
		return MHD_YES;
	argument->value = value ? value : "";
	argument->found = true;
	return MHD_NO; /* the first one counts */
}

static bool request_argument(const struct http_request *request, const char *name, const char **ret)
{
	const struct exchange *exchange = request->private;
	struct argument argument = { .name = name };

	exchange->http->mhd.get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, find_argument,
						  &argument);
	if (argument.found)
		*ret = argument.value;
	return argument.found;
}

struct peer *exchange_peer(struct http *http, struct MHD_Connection *connection)
{
	return http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void *exchange_begin(void *user, const char *uri, struct MHD_Connection *connection)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		abort();
	exchange->http = user;
	exchange->connection = connection;
	exchange->uri_is_valid = guard_uri_is_valid(uri);
	return exchange;
}

void exchange_end(void *user, struct MHD_Connection *connection, void **private,
		  enum MHD_RequestTerminationCode code)
{
	struct exchange *exchange = *private;
	struct http *http = user;
	struct peer *peer = exchange_peer(http, connection);

	(void)code;
	pthread_mutex_lock(&http->mutex);
	peer->since_ms = clock_monotonic_ms();
	peer->answering = false;
	pthread_mutex_unlock(&http->mutex);
	if (exchange)
		free(exchange->response.body);
	free(exchange);
	*private = NULL;
}

void exchange_answer(struct exchange *exchange)
{
	const struct http_config *config = &exchange->http->config;

	exchange->found = config->answer(config->user, &exchange->request, &exchange->response);
}

/* To a worker; libmicrohttpd's thread goes on with others and comes back here when it is done. */
static enum MHD_Result ask(struct exchange *exchange, const char *url)
{
	struct http *http = exchange->http;
	bool is_closing;

	exchange->request = (struct http_request){
		.path = url,
		.argument = request_argument,
		.private = exchange,
	};
	pthread_mutex_lock(&http->mutex);
	is_closing = http->is_closing;
	if (!is_closing) {
		exchange->stage = EXCHANGE_ASKED;
		exchange_peer(http, exchange->connection)->answering = true;
		*http->queue_end = exchange;
		http->queue_end = &exchange->next;
		http->mhd.suspend_connection(exchange->connection);
		pthread_cond_signal(&http->work);
	}
	pthread_mutex_unlock(&http->mutex);
	return is_closing ? refuse(exchange, &is_ending) : MHD_YES;
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	struct http_response *given = &exchange->response;
	struct MHD_Response *response;

	if (!exchange->found)
		return refuse(exchange, &not_found);
	response = response_of(exchange->http, given->content_type ? given->content_type : json_type,
			       given->body, given->length);
	given->body = NULL;
	return reply(exchange, given->status ? given->status : 200, response);
}

/*
 * Called when the headers are there, again when the request is complete, and again when a worker has
 * answered. A refusal is said at once, and closes the connection.
 */
enum MHD_Result exchange_handle(void *user, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *data, size_t *size,
				void **private)
{
	struct exchange *exchange = *private;
	const struct refusal *refusal;

	(void)user;
	(void)connection;
	(void)data;
	if (!exchange || *size)
		return MHD_NO;
	switch (exchange->stage) {
	case EXCHANGE_NEW:
		refusal = guard_check(exchange, url, method, version);
		exchange->stage = EXCHANGE_COME;
		return refusal ? refuse(exchange, refusal) : MHD_YES;
	case EXCHANGE_COME:
		if (strcmp(url, "/") == 0)
			return send_page(exchange);
		if (strcmp(url, "/api/v1/events") == 0)
			return send_events(exchange, method);
		return ask(exchange, url);
	case EXCHANGE_ANSWERED:
		return send_answer(exchange);
	case EXCHANGE_ASKED:
		break; /* nobody resumes it before its answer is there */
	}
	return MHD_NO;
}
