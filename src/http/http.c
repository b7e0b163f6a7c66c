#include "vtddl/http.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http_private.h"
#include "vtddl/clock.h"

#define CONNECTIONS 64
#define STREAMS 32
#define IDLE_MS 10000
#define REQUEST_MS 30000
#define KEEPALIVE_MS 15000
#define WATCH_MS 1000

/* ---- Connections ---- */

static void peer_new(struct http *http, struct MHD_Connection *connection, void **ret)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		abort();
	peer->fd = http->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	peer->since_ms = clock_monotonic_ms();
	pthread_mutex_lock(&http->mutex);
	peer->next = http->peers;
	http->peers = peer;
	pthread_cond_signal(&http->watch);
	pthread_mutex_unlock(&http->mutex);
	*ret = peer;
}

static void peer_free(struct http *http, struct peer *peer)
{
	pthread_mutex_lock(&http->mutex);
	for (struct peer **at = &http->peers; *at; at = &(*at)->next)
		if (*at == peer) {
			*at = peer->next;
			break;
		}
	if (peer->stream)
		peer->stream->peer = NULL;
	pthread_mutex_unlock(&http->mutex);
	free(peer);
}

static void notify_connection(void *user, struct MHD_Connection *connection, void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		peer_new(user, connection, context);
	else
		peer_free(user, *context);
}

void peer_cut(const struct peer *peer)
{
	struct linger at_once = { .l_onoff = 1 };

	/* What it did not take must not stay in the kernel either. */
	setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	shutdown(peer->fd, SHUT_RDWR);
}

/* libmicrohttpd knows idle connections only; who sends or takes a byte now and then would stay for ever. */
static void cut_slow(struct http *http, int64_t now_ms)
{
	for (struct peer *peer = http->peers; peer; peer = peer->next)
		if (!peer->answering && !peer->stream &&
		    now_ms - peer->since_ms >= (int64_t)http->config.request_ms)
			peer_cut(peer);
}

/* ---- Threads ---- */

static void answer_one(struct http *http)
{
	struct exchange *exchange = http->queue;

	http->queue = exchange->next;
	if (!http->queue)
		http->queue_end = &http->queue;
	pthread_mutex_unlock(&http->mutex);
	exchange_answer(exchange);
	pthread_mutex_lock(&http->mutex);
	exchange->stage = EXCHANGE_ANSWERED;
	/* From here it has request_ms to take the answer. */
	exchange_peer(http, exchange->connection)->since_ms = clock_monotonic_ms();
	exchange_peer(http, exchange->connection)->answering = false;
	http->mhd.resume_connection(exchange->connection);
}

/* At the end the queue is worked off: nobody is left without an answer. */
static void *work(void *user)
{
	struct http *http = user;

	pthread_mutex_lock(&http->mutex);
	while (http->queue || !http->is_closing) {
		if (http->queue)
			answer_one(http);
		else
			pthread_cond_wait(&http->work, &http->mutex);
	}
	pthread_mutex_unlock(&http->mutex);
	return NULL;
}

static unsigned watch_pause_ms(const struct http_config *config)
{
	unsigned least =
		config->keepalive_ms < config->request_ms ? config->keepalive_ms : config->request_ms;

	return least / 4 < WATCH_MS ? least / 4 + 1 : WATCH_MS;
}

/* Sleeps for good while nobody is connected. */
static void *watch(void *user)
{
	struct http *http = user;
	int64_t pause_ms = watch_pause_ms(&http->config);

	pthread_mutex_lock(&http->mutex);
	while (!http->is_closing) {
		struct timespec until;

		if (!http->peers) {
			pthread_cond_wait(&http->watch, &http->mutex);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += pause_ms * 1000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (!http->is_closing && pthread_cond_timedwait(&http->watch, &http->mutex, &until) == 0)
			; /* a new connection need not be looked at yet */
		stream_watch(http, clock_monotonic_ms());
		cut_slow(http, clock_monotonic_ms());
	}
	pthread_mutex_unlock(&http->mutex);
	return NULL;
}

static bool thread_start(pthread_t *thread, void *(*run)(void *), struct http *http)
{
	pthread_attr_t attributes;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)1024 * 1024);
	r = pthread_create(thread, &attributes, run, http);
	pthread_attr_destroy(&attributes);
	return r == 0;
}

static bool daemon_start(struct http *http)
{
	/* Beyond this machine one address may not take every place. */
	unsigned per_address =
		http->is_loopback ? 0 : http->config.connections_max - http->config.connections_max / 4;

	http->daemon = http->mhd.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, exchange_handle,
		http, MHD_OPTION_LISTEN_SOCKET, http->listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		http->config.connections_max, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_PER_CONNECTION, MHD_OPTION_CONNECTION_TIMEOUT,
		(http->config.idle_ms + 999) / 1000, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, http, MHD_OPTION_NOTIFY_COMPLETED, exchange_end,
		http, MHD_OPTION_NOTIFY_CONNECTION, notify_connection, http, MHD_OPTION_END);
	http->listen_fd = -1; /* libmicrohttpd's now; where it failed it may have closed it */
	return http->daemon;
}

/* Signals are the main thread's. */
static bool threads_start(struct http *http)
{
	sigset_t all, before;
	bool good = true;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (good && http->worker_count < HTTP_WORKERS) {
		good = thread_start(&http->workers[http->worker_count], work, http);
		http->worker_count += good;
	}
	if (good)
		good = http->has_watcher = thread_start(&http->watcher, watch, http);
	good = good && daemon_start(http);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}

/* ---- The server ---- */

static struct http *http_new(const struct http_config *config)
{
	struct http *http = calloc(1, sizeof(*http));
	pthread_condattr_t attributes;

	if (!http)
		abort();
	http->config = *config;
	http->config.connections_max = config->connections_max ? config->connections_max : CONNECTIONS;
	http->config.streams_max = config->streams_max ? config->streams_max : STREAMS;
	http->config.idle_ms = config->idle_ms ? config->idle_ms : IDLE_MS;
	http->config.request_ms = config->request_ms ? config->request_ms : REQUEST_MS;
	http->config.keepalive_ms = config->keepalive_ms ? config->keepalive_ms : KEEPALIVE_MS;
	http->listen_fd = -1;
	http->queue_end = &http->queue;
	pthread_mutex_init(&http->mutex, NULL);
	pthread_cond_init(&http->work, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&http->watch, &attributes);
	pthread_condattr_destroy(&attributes);
	events_init(&http->events);
	return http;
}

int http_open(const struct http_config *config, struct http **ret, struct error *reterr)
{
	struct http *http = http_new(config);

	if (listen_open(config->listen, http, reterr) < 0 || mhd_load(&http->mhd, reterr) < 0) {
		http_close(http);
		return -1;
	}
	http->page = page_make(http);
	if (!threads_start(http)) {
		http_close(http);
		return error_set(
			reterr, ERROR_CONFIG,
			"cannot serve HTTP on %.200s: this process may start no more threads or open no more "
			"files; raise its limits (TasksMax, LimitNOFILE)",
			config->listen);
	}
	http->config.listen = NULL; /* the caller's */
	*ret = http;
	return 0;
}

/* Answers first, for they may still be suspended; then nothing may be, says libmicrohttpd. */
static void threads_stop(struct http *http)
{
	pthread_mutex_lock(&http->mutex);
	http->is_closing = true;
	pthread_cond_broadcast(&http->work);
	pthread_cond_broadcast(&http->watch);
	pthread_mutex_unlock(&http->mutex);
	for (unsigned i = 0; i < http->worker_count; i++)
		pthread_join(http->workers[i], NULL);
	if (http->has_watcher)
		pthread_join(http->watcher, NULL);
	pthread_mutex_lock(&http->mutex);
	for (struct peer *peer = http->peers; peer; peer = peer->next)
		if (peer->stream)
			stream_wake(peer->stream);
	pthread_mutex_unlock(&http->mutex);
}

struct http *http_close(struct http *http)
{
	if (!http)
		return NULL;
	threads_stop(http);
	if (http->daemon)
		http->mhd.stop_daemon(http->daemon);
	if (http->listen_fd >= 0)
		close(http->listen_fd);
	if (http->page)
		http->mhd.destroy_response(http->page);
	events_release(&http->events);
	pthread_cond_destroy(&http->watch);
	pthread_cond_destroy(&http->work);
	pthread_mutex_destroy(&http->mutex);
	free(http);
	return NULL;
}

unsigned http_port(const struct http *http)
{
	return http->port;
}

bool http_is_loopback(const struct http *http)
{
	return http->is_loopback;
}
