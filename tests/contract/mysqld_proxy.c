#include "mysqld_proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared by the tests and the proxy. */
struct wish {
	volatile int nth, seen;
	volatile bool after, cut;
};

struct mysqld_proxy {
	unsigned port, server_port;
	int listener;
	pid_t pid;
	struct wish *wish;
};

#define CONNECTIONS_MAX 16

struct pair {
	int client, server;
	bool doomed; /* the next answer is the last thing that happens */
};

static struct sockaddr_in loopback(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons((unsigned short)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void pair_close(struct pair *pair)
{
	close(pair->client);
	close(pair->server);
	pair->client = pair->server = -1;
}

static void pair_accept(const struct mysqld_proxy *proxy, struct pair *pairs)
{
	struct sockaddr_in address = loopback(proxy->server_port);
	int client = accept(proxy->listener, NULL, NULL), server = socket(AF_INET, SOCK_STREAM, 0);

	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (pairs[i].client < 0 &&
		    connect(server, (struct sockaddr *)&address, sizeof(address)) == 0) {
			pairs[i] = (struct pair){ client, server, false };
			return;
		}
	close(client);
	close(server);
}

/* False: the connection has ended. */
static bool pass(int from, int to, char *buffer, size_t size)
{
	ssize_t length = read(from, buffer, size);

	for (ssize_t at = 0, sent; length > 0 && at < length; at += sent) {
		sent = write(to, buffer + at, (size_t)(length - at));
		if (sent < 0)
			return false;
	}
	return length > 0;
}

static void from_client(struct wish *wish, struct pair *pair, char *buffer, size_t size)
{
	bool now = wish->nth > 0 && ++wish->seen == wish->nth;

	if (now)
		wish->cut = true;
	if ((now && !wish->after) || !pass(pair->client, pair->server, buffer, size))
		pair_close(pair);
	else
		pair->doomed = pair->doomed || now;
}

static void from_server(struct pair *pair, char *buffer, size_t size)
{
	if (pair->doomed || !pass(pair->server, pair->client, buffer, size))
		pair_close(pair);
}

__attribute__((noreturn)) static void proxy_run(const struct mysqld_proxy *proxy)
{
	struct pair pairs[CONNECTIONS_MAX];
	struct pollfd polled[2 * CONNECTIONS_MAX + 1];
	static char buffer[1 << 20];

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		pairs[i] = (struct pair){ -1, -1, false };
	for (;;) {
		polled[0] = (struct pollfd){ .fd = proxy->listener, .events = POLLIN };
		for (int i = 0; i < CONNECTIONS_MAX; i++) {
			polled[2 * i + 1] = (struct pollfd){ .fd = pairs[i].client, .events = POLLIN };
			polled[2 * i + 2] = (struct pollfd){ .fd = pairs[i].server, .events = POLLIN };
		}
		if (poll(polled, 2 * CONNECTIONS_MAX + 1, -1) < 0)
			_exit(1);
		for (int i = 0; i < CONNECTIONS_MAX; i++) {
			if (pairs[i].client >= 0 && polled[2 * i + 1].revents)
				from_client(proxy->wish, &pairs[i], buffer, sizeof(buffer));
			if (pairs[i].server >= 0 && polled[2 * i + 2].revents)
				from_server(&pairs[i], buffer, sizeof(buffer));
		}
		if (polled[0].revents)
			pair_accept(proxy, pairs);
	}
}

struct mysqld_proxy *mysqld_proxy_start(unsigned server_port)
{
	struct mysqld_proxy *proxy = calloc(1, sizeof(*proxy));
	struct sockaddr_in address = loopback(0);
	socklen_t length = sizeof(address);

	if (!proxy)
		abort();
	proxy->server_port = server_port;
	proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	proxy->wish =
		mmap(NULL, sizeof(*proxy->wish), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (proxy->wish == MAP_FAILED || bind(proxy->listener, (struct sockaddr *)&address, length) ||
	    listen(proxy->listener, 16) ||
	    getsockname(proxy->listener, (struct sockaddr *)&address, &length)) {
		fprintf(stderr, "proxy: %s\n", strerror(errno));
		exit(1);
	}
	proxy->port = ntohs(address.sin_port);
	proxy->pid = fork();
	if (proxy->pid < 0)
		abort();
	if (proxy->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		proxy_run(proxy);
	}
	return proxy;
}

struct mysqld_proxy *mysqld_proxy_free(struct mysqld_proxy *proxy)
{
	if (!proxy)
		return NULL;
	kill(proxy->pid, SIGKILL);
	waitpid(proxy->pid, NULL, 0);
	close(proxy->listener);
	munmap(proxy->wish, sizeof(*proxy->wish));
	free(proxy);
	return NULL;
}

unsigned mysqld_proxy_port(const struct mysqld_proxy *proxy)
{
	return proxy->port;
}

void mysqld_proxy_cut(struct mysqld_proxy *proxy, int nth, bool after)
{
	proxy->wish->nth = 0;
	proxy->wish->seen = 0;
	proxy->wish->after = after;
	proxy->wish->cut = false;
	proxy->wish->nth = nth;
}

bool mysqld_proxy_was_cut(const struct mysqld_proxy *proxy)
{
	return proxy->wish->cut;
}
