#pragma once
/*
 * server: gRPC's C core, server side, for unary calls of any method. The only file of the simulator
 * that includes <grpc/...>. It knows no message: bytes in, bytes or a status out.
 *
 * One thread, one completion queue. Every call that comes in leads to SERVER_CALL, and later to
 * SERVER_GONE if its client gives up before server_answer().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/error.h"

struct server;

struct server_config {
	const char *listen;	     /* HOST:PORT; port 0: any */
	const char *cert, *key, *ca; /* files; NULL: plain text; with ca, clients must have a certificate */
	const char *auth_static;     /* file: [{"Username":..,"Password":..}]; NULL: everybody may call */
};

enum server_event_kind { SERVER_CALL, SERVER_GONE };

struct server_event {
	enum server_event_kind kind;
	uint64_t tag;
	const char *path;     /* "/vtctlservice.Vtctld/ApplySchema"; until server_answer() */
	const uint8_t *bytes; /* the request; until server_answer() */
	size_t length;
	int64_t timeout_ms; /* of the client, from now; 0: none */
};

int must_check server_open(const struct server_config *config, struct server **ret, struct error *reterr);
int server_port(const struct server *server);

/** server_next() - wait at most @wait_ms. False: nothing happened */
bool server_next(struct server *server, int64_t wait_ms, struct server_event *ret);

/** server_answer() - once for each SERVER_CALL, and nothing after its SERVER_GONE; @bytes only where code is
 * 0 */
void server_answer(struct server *server, uint64_t tag, int code, const char *text, const uint8_t *bytes,
		   size_t length);

struct server *server_close(struct server *server);
