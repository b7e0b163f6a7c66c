#pragma once
/* rpc: reads of vtctld that a command waits for, one or several side by side. */
#include "vtddl/wire.h"

/**
 * rpc_call_all() - send @count requests at once and wait for all replies
 * @replies:	in the order of @requests; their contents live in @arena
 *
 * Tags are set here. Every call has a deadline, so this ends.
 */
void rpc_call_all(struct wire *wire, struct vtctld_request *requests, size_t count, struct arena *arena,
		  struct vtctld_reply *replies);

/**
 * rpc_call() - one read
 *
 * Return: 0; negative, with an error that names the RPC, the server's words and what to do.
 */
int must_check rpc_call(struct wire *wire, struct vtctld_request *request, struct arena *arena,
			struct vtctld_reply *ret, struct error *reterr);

/** rpc_error() - a reply that is not DONE as an error */
int rpc_error(const struct vtctld_reply *reply, struct error *reterr);
