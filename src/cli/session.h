#pragma once
/*
 * session: what a command needs from the world, opened from its options, and only what it asks for:
 * a look at the store must not wait for a channel, a look at vtctld not for a database, and a refused
 * statement leaves no empty store behind.
 */
#include "options.h"
#include "vtddl/loop.h"

struct session {
	struct options *options;
	struct wire *wire;
	struct store *store;
	struct engine *engine;
	struct loop *loop;
	struct vtgate_config vtgate;
	char actor[ACTOR_MAX + 1]; /* "user@host", or --caller-id */
	char owner[ACTOR_MAX + 1]; /* "host:pid:incarnation" */
};

void session_init(struct session *session, struct options *options);
void session_close(struct session *session); /* in the order that loop.h asks for */

/** session_leave() - session_close() where only answered reads were made and the process ends right now: the
 * channel is left to the kernel, for gRPC's own end takes as long as a call */
void session_leave(struct session *session);

int must_check session_open_wire(struct session *session, struct error *reterr);

/**
 * session_open_store() - the store of --store, or the default one
 * @read_only:	nothing is made; a missing file is STORE_NOT_FOUND
 */
int must_check session_open_store(struct session *session, bool read_only, struct error *reterr);

/** session_store_url() - what --store says, or the default; NULL: nothing in the environment names a place */
const char *session_store_url(struct options *options);

/** session_open_engine() - checks the probes; touches neither a file nor the network */
int must_check session_open_engine(struct session *session, struct error *reterr);

/** session_open_drivers() - channel, store and loop for the engine */
int must_check session_open_drivers(struct session *session, struct error *reterr);

/** session_vtgate() - from the options; NULL: no --vtgate */
const struct vtgate_config *session_vtgate(struct session *session);

/** session_check_probes() - every --probe is one SELECT, and there is a --vtgate */
int must_check session_check_probes(const struct session *session, struct error *reterr);
