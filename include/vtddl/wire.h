#pragma once
/*
 * wire: vtctlservice.Vtctld over gRPC's C core. The driver behind vtctld.h.
 *
 * One channel for each vtctld, one completion queue, any number of calls under way. Every call has a deadline.
 * Nothing is retried inside: one request is one attempt on the network (grpc.enable_retries 0,
 * no service config from DNS). src/wire/wire.c and channel.c are the only files of the program that
 * include <grpc/...>: gRPC calls that interface private to its own wrappers.
 *
 * An effect is started only on a channel that is READY, else it is VTCTLD_NOT_SENT at once:
 * so "not sent" is a fact and no guess from a text.
 */
#include "vtddl/error.h"
#include "vtddl/vtctld.h"

struct wire;

struct wire_config { /* names follow vtctldclient's flags */
	const char *server;		/* host:port */
	const char *grpc_ca, *grpc_cert, *grpc_key, *grpc_crl, *grpc_server_name; /* file paths; NULL: not set */
	const char *auth_static_client_creds; /* file {"Username":..,"Password":..}; NULL: none */
	bool allow_plaintext_auth;	/* send the password over plain text to another host */
	int64_t keepalive_time_ms;	/* 0: default 30 s; below 20 s Vitess answers too_many_pings */
	int64_t keepalive_timeout_ms;	/* 0: default 10 s. After both together without an answer to any call
					   there is another connection */
	size_t max_message_size;	/* 0: default 16 MiB, both ways */
	bool use_http_proxy;		/* obey http_proxy: off unless asked */
};

/**
 * wire_open() - prepare a channel to server 0; connects lazily
 *
 * TLS exactly when vtctldclient does it: cert and key, or ca, or crl is set. Files are read
 * and checked here: missing, unreadable, a password file that others may read.
 *
 * Return: 0; negative with ERROR_CONFIG or ERROR_AUTH naming the file and the reason.
 */
int must_check wire_open(const struct wire_config *config, struct wire **ret, struct error *reterr);

/**
 * wire_add() - prepare a channel to a further vtctld
 * @ret_server:	its number, for vtctld_request.server
 *
 * Return: as wire_open(); nothing was added where it is negative.
 */
int must_check wire_add(struct wire *wire, const struct wire_config *config, unsigned *ret_server,
			struct error *reterr);

/**
 * wire_replace() - use other credentials, or another address, for a server from now on
 *
 * For SIGHUP. Calls under way end on the old channel. Where the new files are refused the old
 * channel stays in use.
 *
 * Return: as wire_open().
 */
int must_check wire_replace(struct wire *wire, unsigned server, const struct wire_config *config,
			    struct error *reterr);

/** wire_close() - cancels what is under way, waits for it, frees all. Returns NULL; NULL is fine */
struct wire *wire_close(struct wire *wire);

/**
 * wire_start() - send one request; never blocks
 * @arena:	the reply is put there; it must live until the reply has been taken
 *
 * The request is copied: it may go away after the call. Always leads to exactly one reply with
 * the same tag, also where nothing could be sent.
 */
void wire_start(struct wire *wire, const struct vtctld_request *request, struct arena *arena);

/**
 * wire_next() - wait for a reply
 * @until_ms:	clock_monotonic_ms() time; a past time does not wait
 *
 * A watchdog answers VTCTLD_UNKNOWN for a call that the library has not ended 2 s after its deadline.
 *
 * Return: true, *ret filled; false, the time has come, or wire_wake() was called.
 */
bool wire_next(struct wire *wire, int64_t until_ms, struct vtctld_reply *ret);

/** wire_wake() - makes wire_next() return; async-signal-safe is NOT promised: call it from a thread */
void wire_wake(struct wire *wire);
