#pragma once
/*
 * http_private: what the files of the server share.
 *
 *	http.c      opening, closing, threads that answer, the watch over connections
 *	exchange.c  one request and what is said to it
 *	guard.c     which requests are let in
 *	stream.c    the events kept, and their readers
 *	listen.c    the socket
 *
 * Threads: libmicrohttpd's one, on which no call of ours blocks; HTTP_WORKERS that call
 * config.answer; one that watches over connections once a second. All that they share is
 * guarded by `mutex`, which is held for moments only and is taken before libmicrohttpd's own.
 */
#include <pthread.h>
#include <stdint.h>

#include "mhd.h"
#include "vtddl/http.h"

/* Headers and query of one request; a browser sends its cookies of every port of this host. */
#define MEMORY_PER_CONNECTION ((size_t)24 * 1024)
#define URI_MAX 2048

/* A connection, from its start to its end. */
struct peer {
	struct peer *next;
	int fd;
	int64_t since_ms; /* of the request that is awaited or answered; or of a stream's last word */
	bool answering;	  /* it waits for us, not we for it */
	struct stream *stream;
};

/* One request. */
struct exchange {
	struct http *http;
	struct MHD_Connection *connection;
	bool uri_is_valid;
	enum { EXCHANGE_NEW, EXCHANGE_COME, EXCHANGE_ASKED, EXCHANGE_ANSWERED } stage;
	bool found;
	struct http_request request;
	struct http_response response;
	struct exchange *next; /* in the queue of the workers */
};

/* One event, in the form in which it is sent. */
struct event {
	char *text;
	size_t length;
};

struct events {
	char run[24]; /* tells ids of this run of the server from those of another */
	struct event kept[HTTP_EVENTS_KEPT];
	uint64_t first, next; /* numbers: kept are first <= n < next */
	size_t bytes;
};

/* One reader of the events. */
struct stream {
	struct http *http;
	struct MHD_Connection *connection;
	struct peer *peer;
	char greeting[96];
	size_t greeted;	 /* bytes of it sent */
	uint64_t number; /* of the event that is sent next, or being sent */
	size_t offset;	 /* bytes of it sent */
	int64_t spoke_ms;
	bool is_suspended, is_gone, is_due; /* due: for a comment */
};

struct http {
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct MHD_Response *page;
	struct http_config config;
	unsigned port;
	bool is_loopback;
	int listen_fd; /* the daemon's, once there is one */

	pthread_mutex_t mutex;
	pthread_cond_t work;  /* for the workers */
	pthread_cond_t watch; /* for the watch */
	pthread_t workers[HTTP_WORKERS], watcher;
	unsigned worker_count;
	bool has_watcher, is_closing;
	struct exchange *queue, **queue_end;
	struct peer *peers;
	unsigned stream_count;
	struct events events;
};

/* ---- listen.c ---- */

/** listen_open() - a listening socket of @address; fills port and is_loopback */
int must_check listen_open(const char *address, struct http *http, struct error *reterr);

/* ---- guard.c ---- */

/* Why a request is not let in. */
struct refusal {
	int status;
	const char *code, *text;
};

/** guard_uri_is_valid() - @uri as it came: short, no control character in it, every % followed by two digits
 */
bool guard_uri_is_valid(const char *uri);

/** guard_check() - NULL: let in */
const struct refusal *guard_check(const struct exchange *exchange, const char *url, const char *method,
				  const char *version);

/* ---- http.c ---- */

/** peer_cut() - with the mutex: libmicrohttpd sees the end of it and closes it */
void peer_cut(const struct peer *peer);

/* ---- exchange.c: the callbacks of libmicrohttpd, @user is the server ---- */

void *exchange_begin(void *user, const char *uri, struct MHD_Connection *connection);
enum MHD_Result exchange_handle(void *user, struct MHD_Connection *connection, const char *url,
				const char *method, const char *version, const char *data, size_t *size,
				void **private);
void exchange_end(void *user, struct MHD_Connection *connection, void **private,
		  enum MHD_RequestTerminationCode code);

/** exchange_answer() - ask the caller; on a worker, without the mutex */
void exchange_answer(struct exchange *exchange);

/** exchange_peer() - the connection's own record */
struct peer *exchange_peer(struct http *http, struct MHD_Connection *connection);

/** exchange_add_headers() - those that every answer has */
void exchange_add_headers(const struct http *http, struct MHD_Response *response, const char *content_type,
			  const char *cache);

/** page_make() - the dashboard, ready to be sent */
struct MHD_Response *page_make(const struct http *http);

/* ---- stream.c ---- */

void events_init(struct events *events);
void events_release(struct events *events);

/** stream_open() - an answer that goes on; NULL: too many readers. @last_id may be NULL */
struct MHD_Response *stream_open(struct http *http, struct MHD_Connection *connection, const char *last_id);

/** stream_wake() - something is to be said, or it is to end; with the mutex */
void stream_wake(struct stream *stream);

/** stream_watch() - with the mutex, once in a while: comments in silent streams, the end of lost ones */
void stream_watch(struct http *http, int64_t now_ms);
