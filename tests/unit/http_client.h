#pragma once
/* A server of the tests and a client on a bare socket, so that a request can be anything. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "vtddl/clock.h"
#include "vtddl/http.h"

#define PATIENCE_MS 20000 /* never reached where a test passes */

static struct http *http;

static inline void server_open(struct http_config config)
{
	struct error error = { 0 };

	if (!config.listen)
		config.listen = "127.0.0.1:0";
	if (http_open(&config, &http, &error) < 0)
		fail_msg("%s", error.text);
}

static inline int client_open_with(int receive_buffer)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)http_port(http)),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (receive_buffer)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static inline int client_open(void)
{
	return client_open_with(0);
}

/* False: the other side has gone. */
static inline bool client_send(int fd, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t n = send(fd, text, length, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		text += n;
		length -= (size_t)n;
	}
	return true;
}

/* What comes until @until is in it, or the end, or PATIENCE_MS; appended to @text. */
static inline size_t client_receive(int fd, const char *until, char *text, size_t size)
{
	int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;
	size_t length = strlen(text), seen = 0;

	while (!until || !strstr(text + seen, until)) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t n;

		seen = until && length > strlen(until) ? length - strlen(until) : 0;
		if (poll(&ready, 1, (int)(end_ms - clock_monotonic_ms())) <= 0)
			fail_msg("nothing more comes after: %s", text);
		n = recv(fd, text + length, size - length - 1, 0);
		if (n <= 0)
			break;
		length += (size_t)n;
		text[length] = '\0';
		assert_true(length < size - 1);
	}
	return length;
}

/* One request on a connection of its own, all that is answered. */
static inline const char *ask(const char *request)
{
	static char text[512 * 1024];
	int fd = client_open();

	text[0] = '\0';
	client_send(fd, request);
	client_receive(fd, NULL, text, sizeof(text));
	close(fd);
	return text;
}

#define HOST "Host: localhost\r\n"
#define LAST "Connection: close\r\n\r\n"

static inline const char *get(const char *path)
{
	char request[8192];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST LAST, path);
	return ask(request);
}

static inline int status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.1 ", 9) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

static inline const char *body_of(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");

	return end ? end + 4 : "";
}

static inline void pause_ms(long ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

#define assert_contains(text, part)                                                                          \
	do {                                                                                                 \
		if (!strstr(text, part))                                                                     \
			fail_msg("\"%s\" is not in: %.2000s", part, text);                                   \
	} while (0)
