#pragma once
/*
 * channel: the way to one vtctld: the connection, who we are there, and since when nothing is heard.
 *
 * A connection that leads nowhere, as when a proxy or a firewall in between has forgotten it, looks whole. The
 * library's keepalive finds that out only while a call is under way when its time has come: Vitess refuses pings
 * without calls (too_many_pings), and a vtctld that seems down is asked for a few seconds in each half minute. So the
 * calls themselves are the measure: where none was answered for as long as keepalive would take, there is another
 * connection.
 */
#include <grpc/grpc.h>

#include "peer.h"
#include "scan.h"

#define LAST_FAILURE_MAX 512

/* A call keeps the one it began on. */
struct connection {
	grpc_channel *channel;
	size_t users; /* the channel that it belongs to, and calls under way */
};

/* A call keeps the one it began on, also where its server has got another since. */
struct channel {
	struct peer peer;
	struct scan_limits limits;
	struct connection *connection;
	grpc_slice username, password;	     /* empty: none */
	size_t users;			     /* the server that it belongs to, and calls under way */
	char last_failure[LAST_FAILURE_MAX]; /* of connecting; "" after a success */
	int64_t heard_ms;		     /* when a call of this connection ended otherwise than by its deadline; 0: never */
	int64_t silent_since_ms;	     /* 0: the last one did */
	int64_t silence_ms;		     /* after so much of it there is another connection */
};

/** channel_open() - takes what is in @peer over; connects lazily */
struct channel *channel_open(const struct peer *peer);
struct channel *channel_use(struct channel *channel); /* returns it */
void channel_unuse(struct channel *channel);	      /* the last one frees it */
struct connection *connection_use(struct connection *connection);
void connection_unuse(struct connection *connection);

bool channel_is_connected(const struct channel *channel);
void channel_connect(struct channel *channel); /* begins to; does not block */

/**
 * channel_call_ended() - a call of @connection that began at @began_ms (clock_monotonic_ms()) has ended
 * @is_silence:	by its deadline, and not by an answer or the end of the connection
 *
 * Makes another connection where this one was silent for too long; calls under way stay on theirs.
 */
void channel_call_ended(struct channel *channel, const struct connection *connection, int64_t began_ms,
			bool is_silence);
