#include "address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

static int refuse(const char *server, const char *why, struct error *reterr)
{
	return error_set(reterr, ERROR_CONFIG,
			 "the server \"%.200s\" %s: write host:port (vtctld's gRPC port is usually 15999)",
			 server, why);
}

static bool port_is_valid(const char *port)
{
	size_t length = strlen(port);
	long number = strtol(port, NULL, 10);

	return length > 0 && length <= 5 && strspn(port, "0123456789") == length && number >= 1 &&
	       number <= 65535;
}

static bool host_is_valid(const char *host)
{
	for (const char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr(".-_", *c))
			return false;
	return *host;
}

int address_parse(const char *server, struct address *ret, struct error *reterr)
{
	const char *colon = server ? strrchr(server, ':') : NULL;
	char host[ADDRESS_MAX / 2] = "";
	struct in6_addr six;
	struct in_addr four;
	const char *scheme = "dns";
	size_t length;

	if (!server || !*server)
		return refuse("", "is not set", reterr);
	if (!colon || !port_is_valid(colon + 1))
		return refuse(server, "has no port", reterr);
	length = (size_t)(colon - server);
	if (length >= sizeof(host))
		return refuse(server, "is too long", reterr);
	*ret = (struct address){0};
	if (length > 2 && server[0] == '[' && colon[-1] == ']') {
		memcpy(host, server + 1, length - 2);
		if (inet_pton(AF_INET6, host, &six) != 1)
			return refuse(server, "is not an IPv6 address", reterr);
		scheme = "ipv6";
		ret->is_loopback = IN6_IS_ADDR_LOOPBACK(&six);
	} else {
		memcpy(host, server, length);
		if (inet_pton(AF_INET, host, &four) == 1) {
			scheme = "ipv4";
			ret->is_loopback = ntohl(four.s_addr) >> 24 == 127;
		} else if (!host_is_valid(host)) {
			return refuse(server, "has a host name with other than letters, digits, - and .",
				      reterr);
		} else {
			ret->is_loopback = !strcmp(host, "localhost");
		}
	}
	snprintf(ret->target, sizeof(ret->target), "%s:%s", scheme, server);
	return 0;
}
