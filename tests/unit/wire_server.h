#pragma once
/*
 * wire_server: a gRPC server in this process, for the tests of src/wire/wire.c.
 *
 * It answers every method with what it was last told to, and remembers the last call. It
 * knows nothing of Vitess; tools/vtctldsim is the server that does.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_server;

struct wire_server_tls { /* PEM texts */
	const char *cert, *key;
	const char *client_ca; /* NULL: no client certificate is asked for */
};

struct wire_server_answer {
	int code;
	const char *text;     /* of the error */
	const uint8_t *bytes; /* of the message, where code is 0 */
	size_t length;
	bool is_never; /* the call is kept until the client gives up */
};

struct wire_server_call {
	char path[128];
	char username[64], password[64]; /* "": not sent */
	char peer[64];			 /* whence it came: one connection is one text */
	uint8_t message[4096];
	size_t message_length;
};

/** wire_server_start() - on 127.0.0.1; @port 0: any free one. @tls NULL: plain text. NULL: the port is taken
 */
struct wire_server *wire_server_start(int port, const struct wire_server_tls *tls);
int wire_server_port(const struct wire_server *server);

/** wire_server_answer() - for calls that come from now on; the bytes must stay */
void wire_server_answer(struct wire_server *server, const struct wire_server_answer *answer);

/** wire_server_wait() - until @count calls have come in all. Returns the last of them */
struct wire_server_call wire_server_wait(struct wire_server *server, size_t count);

size_t wire_server_call_count(struct wire_server *server);

/** wire_server_stop() - cuts every connection. Returns NULL */
struct wire_server *wire_server_stop(struct wire_server *server);
