#include "http_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

#define EVENTS_BYTES_MAX ((size_t)4 * 1024 * 1024)
#define CHUNK_MAX ((size_t)8 * 1024)
#define RETRY_MS 2000

/* ---- The events kept ---- */

void events_init(struct events *events)
{
	/* Ids of this run: a reader may come back after a restart with one that is not ours. */
	snprintf(events->run, sizeof(events->run), "%llx", (unsigned long long)clock_wall_ms());
	events->first = events->next = 1;
}

static struct event *event_at(struct events *events, uint64_t number)
{
	return &events->kept[number % HTTP_EVENTS_KEPT];
}

static void drop_first(struct events *events)
{
	struct event *event = event_at(events, events->first++);

	events->bytes -= event->length;
	free(event->text);
	*event = (struct event){ 0 };
}

void events_release(struct events *events)
{
	while (events->first < events->next)
		drop_first(events);
}

static bool is_word(const char *text)
{
	size_t length = strlen(text);

	return length && length <= 32 && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == length;
}

/* Half an object, or a line end that begins another field, helps nobody: then the name alone says that there
 * is news. */
static const char *one_line(const char *json)
{
	return strnlen(json, HTTP_EVENT_MAX + 1) <= HTTP_EVENT_MAX && !strpbrk(json, "\r\n") ? json : "{}";
}

void http_publish(struct http *http, const char *event, const char *json)
{
	struct events *events = &http->events;
	struct strbuf text;

	strbuf_init(&text, HTTP_EVENT_MAX + 256);
	pthread_mutex_lock(&http->mutex);
	strbuf_addf(&text, "id: %s-%llu\nevent: %s\ndata: %s\n\n", events->run,
		    (unsigned long long)events->next, is_word(event) ? event : "news", one_line(json));
	while (events->next - events->first >= HTTP_EVENTS_KEPT ||
	       events->bytes + text.length > EVENTS_BYTES_MAX)
		drop_first(events);
	events->bytes += text.length;
	*event_at(events, events->next++) = (struct event){ text.text, text.length };
	for (struct peer *peer = http->peers; peer; peer = peer->next)
		if (peer->stream)
			stream_wake(peer->stream);
	pthread_mutex_unlock(&http->mutex);
}

/* ---- Readers ---- */

void stream_wake(struct stream *stream)
{
	if (!stream->is_suspended)
		return;
	stream->is_suspended = false;
	stream->http->mhd.resume_connection(stream->connection);
}

static bool is_behind(const struct stream *stream)
{
	return stream->number < stream->http->events.first;
}

static size_t take(const char *text, size_t length, size_t *done, char *buffer, size_t room)
{
	size_t size = length - *done < room ? length - *done : room;

	memcpy(buffer, text + *done, size);
	*done += size;
	return size;
}

/* What there is to say, at most @room bytes of it; an event may be cut and goes on the next time. */
static size_t fill(struct stream *stream, char *buffer, size_t room)
{
	struct events *events = &stream->http->events;
	size_t size = take(stream->greeting, strlen(stream->greeting), &stream->greeted, buffer, room);

	while (stream->number < events->next && size < room) {
		const struct event *event = event_at(events, stream->number);

		size += take(event->text, event->length, &stream->offset, buffer + size, room - size);
		if (stream->offset == event->length) {
			stream->number++;
			stream->offset = 0;
		}
	}
	if (size == 0 && stream->is_due && room >= 3) {
		memcpy(buffer, ":\n\n", 3); /* bytes of a stream, NOLINT(bugprone-not-null-terminated-result) */
		size = 3;
	}
	stream->is_due = false;
	return size;
}

/* On libmicrohttpd's thread. */
static ssize_t stream_read(void *user, uint64_t position, char *buffer, size_t room)
{
	struct stream *stream = user;
	struct http *http = stream->http;
	ssize_t size;

	(void)position;
	pthread_mutex_lock(&http->mutex);
	if (http->is_closing) {
		size = MHD_CONTENT_READER_END_OF_STREAM;
	} else if (stream->is_gone || is_behind(stream)) {
		size = MHD_CONTENT_READER_END_WITH_ERROR;
	} else {
		size = (ssize_t)fill(stream, buffer, room);
		if (size > 0) {
			stream->spoke_ms = clock_monotonic_ms();
		} else {
			stream->is_suspended = true;
			http->mhd.suspend_connection(stream->connection);
		}
	}
	pthread_mutex_unlock(&http->mutex);
	return size;
}

static void stream_free(void *user)
{
	struct stream *stream = user;
	struct http *http = stream->http;

	pthread_mutex_lock(&http->mutex);
	if (stream->peer)
		stream->peer->stream = NULL;
	http->stream_count--;
	pthread_mutex_unlock(&http->mutex);
	free(stream);
}

/* Where a reader goes on that has seen @last_id. False: it cannot, events between are not known any more. */
static bool resume_at(const struct events *events, const char *last_id, uint64_t *ret)
{
	size_t length = strlen(events->run);
	unsigned long long number;
	char *end;

	if (strncmp(last_id, events->run, length) != 0 || last_id[length] != '-' ||
	    strspn(last_id + length + 1, "0123456789") != strlen(last_id + length + 1))
		return false;
	number = strtoull(last_id + length + 1, &end, 10);
	if (end == last_id + length + 1 || number + 1 < events->first || number >= events->next)
		return false;
	*ret = number + 1;
	return true;
}

static struct stream *stream_new(struct http *http, struct MHD_Connection *connection, const char *last_id)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	bool goes_on;

	if (!stream)
		abort();
	*stream = (struct stream){
		.http = http,
		.connection = connection,
		.peer = exchange_peer(http, connection),
		.number = http->events.next,
		.spoke_ms = clock_monotonic_ms(),
	};
	goes_on = !last_id || !*last_id || resume_at(&http->events, last_id, &stream->number);
	snprintf(stream->greeting, sizeof(stream->greeting), "retry: %d\n\n%s", RETRY_MS,
		 goes_on ? "" : "event: reset\ndata: {}\n\n");
	return stream;
}

struct MHD_Response *stream_open(struct http *http, struct MHD_Connection *connection, const char *last_id)
{
	struct stream *stream = NULL;
	struct MHD_Response *response;

	pthread_mutex_lock(&http->mutex);
	if (http->stream_count < http->config.streams_max && !http->is_closing) {
		stream = stream_new(http, connection, last_id);
		stream->peer->stream = stream;
		http->stream_count++;
		pthread_cond_signal(&http->watch);
	}
	pthread_mutex_unlock(&http->mutex);
	if (!stream)
		return NULL;
	response = http->mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK_MAX, stream_read, stream,
							   stream_free);
	if (!response)
		abort();
	exchange_add_headers(http, response, "text/event-stream", "no-store");
	/* Else nginx keeps events back until a page of them is full. */
	if (http->mhd.add_response_header(response, "X-Accel-Buffering", "no") != MHD_YES)
		abort();
	return response;
}

/*
 * A connection that waits for news is not looked at by libmicrohttpd: that its reader has gone is seen
 * here. One that is written to, and takes nothing until what comes next is no longer kept, is cut.
 */
void stream_watch(struct http *http, int64_t now_ms)
{
	for (struct peer *peer = http->peers; peer; peer = peer->next) {
		struct stream *stream = peer->stream;
		struct pollfd end = { .fd = peer->fd, .events = POLLRDHUP };

		if (!stream)
			continue;
		if (is_behind(stream))
			peer_cut(peer);
		else if (stream->is_suspended && poll(&end, 1, 0) > 0)
			stream->is_gone = true;
		else if (now_ms - stream->spoke_ms >= (int64_t)http->config.keepalive_ms)
			stream->is_due = true;
		else
			continue;
		stream_wake(stream);
	}
}
