#pragma once
/*
 * http: a small HTTP/1.1 server for eyes and scrapers. Read-only: GET and HEAD, nothing else.
 *
 * It knows the embedded dashboard ("/") and the stream of events ("/api/v1/events"); what else is
 * said comes from the caller. Over libmicrohttpd, which is loaded when a server is opened: a one-shot
 * command does not pay for it. A fixed number of threads of its own: a slow reader, or an answer that
 * takes long, delays neither the caller nor another reader.
 *
 *	struct http_config config = { .listen = "127.0.0.1:15960", .answer = answer };
 *	r = http_open(&config, &http, reterr);
 *	http_publish(http, "change", "{\"keyspace\":\"commerce\"}");
 *	http = http_close(http);
 *
 * It has no TLS and asks nobody who he is: docs/http.md says how to put it behind what does.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/error.h"

#define HTTP_PATH_MAX 512
#define HTTP_EVENT_MAX (16 * 1024) /* bytes of the data of one event */
#define HTTP_EVENTS_KEPT 1000

struct http;

struct http_request {
	const char *path; /* "/api/v1/changes/<uuid>", decoded; no control characters, at most HTTP_PATH_MAX bytes */
	/* The value of ?name=, decoded. False: it is not there; "?name" alone is "". */
	bool (*argument)(const struct http_request *request, const char *name, const char **ret);
	void *private;
};

struct http_response {
	int status;		  /* 200 */
	const char *content_type; /* a constant */
	char *body;		  /* malloc()ed, becomes the server's; NULL: empty */
	size_t length;
};

struct http_config {
	const char *listen; /* "127.0.0.1:15960", "[::1]:15960", "localhost:0"; port 0: any; ":15960": every address */
	/*
	 * Answers whatever is neither "/" nor "/api/v1/events". Called on threads of the server, up to HTTP_WORKERS
	 * at once. False: there is nothing of that path (404), and @response is not looked at.
	 */
	bool (*answer)(void *user, const struct http_request *request, struct http_response *response);
	void *user;
	unsigned connections_max; /* 0: 64; the next ones wait in the kernel */
	unsigned streams_max;	  /* readers of the event stream; 0: 32; the next one gets 503 */
	/* Times, in ms; 0: as said. Tests set them. */
	unsigned idle_ms;	  /* a connection on which no byte moves is closed, 10,000; whole seconds */
	unsigned request_ms;	  /* a request must have come, and its answer gone, within, 30,000; not the streams */
	unsigned keepalive_ms;	  /* a comment in a silent stream, 15,000 */
};

#define HTTP_WORKERS 4

/**
 * http_open() - listen and serve
 *
 * Return: 0; negative with ERROR_CONFIG (a bad address, in use, not ours; libmicrohttpd is not installed)
 * naming it.
 */
int must_check http_open(const struct http_config *config, struct http **ret, struct error *reterr);

/** http_close() - ends streams, waits for answers under way, frees. Returns NULL; NULL is fine.
 * Nobody may publish any more */
struct http *http_close(struct http *http);

/** http_port() - the port it listens on */
unsigned http_port(const struct http *http);

/** http_is_loopback() - whether only this machine can reach it; else people should be told */
bool http_is_loopback(const struct http *http);

/**
 * http_publish() - tell every reader of /api/v1/events (text/event-stream); from any thread, never blocks
 * @event:	its name, [a-z_]
 * @json:	one line, at most HTTP_EVENT_MAX bytes, copied; what is neither is sent as {}
 *
 * The last HTTP_EVENTS_KEPT are kept for readers that come back with Last-Event-ID; one whose id is no
 * longer known (or is of another run of the server) gets the event "reset" first: read the state anew.
 * A reader too slow to keep up is closed; it comes back by itself.
 */
void http_publish(struct http *http, const char *event, const char *json);
