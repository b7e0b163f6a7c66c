#pragma once
/*
 * address: "host:port" to what gRPC's C core calls a target.
 *
 * An address in digits is never looked up: "ipv4:10.0.0.1:15999", "ipv6:[::1]:15999".
 */
#include <stdbool.h>

#include "vtddl/error.h"

#define ADDRESS_MAX 512

struct address {
	char target[ADDRESS_MAX];
	bool is_loopback; /* what is sent there does not leave this host */
};

/** address_parse() - Return: 0; negative with ERROR_CONFIG */
int must_check address_parse(const char *server, struct address *ret, struct error *reterr);
