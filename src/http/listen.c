#include "http_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_MAX 256

static int refuse(const char *address, const char *why, struct error *reterr)
{
	return error_set(reterr, ERROR_CONFIG,
			 "cannot listen on \"%.200s\": %s; write host:port, such as 127.0.0.1:15960", address,
			 why);
}

/* "host:port" and "[v6]:port"; no host: every address. */
static int address_split(const char *address, char host[ADDRESS_MAX], const char **ret_port,
			 struct error *reterr)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	size_t digits = colon ? strlen(colon + 1) : 0;

	if (!digits || digits > 5 || strspn(colon + 1, "0123456789") != digits ||
	    strtol(colon + 1, NULL, 10) > 65535)
		return refuse(address, "it has no port, or one above 65535", reterr);
	if (length >= ADDRESS_MAX)
		return refuse(address, "it is too long", reterr);
	if (length >= 2 && address[0] == '[' && colon[-1] == ']') {
		address++;
		length -= 2;
	} else if (memchr(address, ':', length)) {
		return refuse(address, "an IPv6 address stands in brackets", reterr);
	}
	memcpy(host, address, length);
	host[length] = '\0';
	*ret_port = colon + 1;
	return 0;
}

static int socket_open(const struct addrinfo *info)
{
	int yes = 1, no = 0, saved;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (info->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, 128) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;

	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

static void look_at_socket(struct http *http)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof(address);

	getsockname(http->listen_fd, (struct sockaddr *)&address, &size);
	http->is_loopback = is_loopback(&address);
	http->port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
							 : ((struct sockaddr_in *)&address)->sin_port);
}

int listen_open(const char *address, struct http *http, struct error *reterr)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char host[ADDRESS_MAX];
	const char *port;
	int r, fd = -1;

	if (!address || address_split(address, host, &port, reterr) < 0)
		return address ? -1 : refuse("", "it is not set", reterr);
	if (!*host)
		hints.ai_family = AF_INET6; /* takes IPv4 too */
	r = getaddrinfo(*host ? host : NULL, port, &hints, &found);
	if (r)
		return refuse(address, gai_strerror(r), reterr);
	for (const struct addrinfo *info = found; info && fd < 0; info = info->ai_next)
		fd = socket_open(info);
	if (fd < 0 && !*host && errno == EAFNOSUPPORT) {
		/* A kernel without IPv6. */
		struct sockaddr_in any = { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)strtol(port, NULL, 10)) };
		struct addrinfo info = { .ai_family = AF_INET,
					 .ai_addr = (struct sockaddr *)&any,
					 .ai_addrlen = sizeof(any) };

		fd = socket_open(&info);
	}
	freeaddrinfo(found);
	if (fd < 0 && errno == EADDRINUSE)
		return error_set_detail(
			reterr, ERROR_CONFIG, errno,
			"cannot listen on %.200s: another program does already; stop it, or choose "
			"another port",
			address);
	if (fd < 0)
		return error_set_detail(reterr, ERROR_CONFIG, errno,
					"cannot listen on %.200s: %s; choose an address of this machine",
					address, strerrordesc_np(errno));
	http->listen_fd = fd;
	look_at_socket(http);
	return 0;
}
