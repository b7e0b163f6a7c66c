#pragma once
/*
 * session: what a command needs from the world, opened from its options, and only what it asks for:
 * a look at the store must not wait for a channel, a look at vtctld not for a database, and a refused
 * statement leaves no empty store behind.
 */
#include "options.h"
#include "vtddl/loop.h"

#define SERVER_ADDRESS_SIZE 264

struct session {
	struct options *options;
	struct wire *wire;
	struct store *store;
	struct engine *engine;
	struct loop *loop;
	struct vtgate_config vtgate;
	char actor[ACTOR_MAX + 1]; /* "user@host", or --caller-id */
	char owner[ACTOR_MAX + 1]; /* "host:pid:incarnation" */
	/* of session_open_wires(), by their numbers in the wire; the first is the plain --server */
	char (*servers)[SERVER_ADDRESS_SIZE];
	unsigned server_count;
};

void session_init(struct session *session, struct options *options);
void session_close(struct session *session); /* in the order that loop.h asks for */

/** session_leave() - session_close() where only answered reads were made and the process ends right now: the
 * channel is left to the kernel, for gRPC's own end takes as long as a call */
void session_leave(struct session *session);

/** session_open_wire() - to the vtctld of one keyspace; NULL: to that of --server HOST:PORT */
int must_check session_open_wire(struct session *session, const char *keyspace, struct error *reterr);

/** session_open_wires() - to every vtctld there is in the options; before session_open_engine() */
int must_check session_open_wires(struct session *session, struct error *reterr);

/**
 * session_replace_wires() - other credentials, and other addresses, from now on
 * @options:	newly read; session->options is left to the caller
 *
 * Return: 0; negative, @reterr names what was refused: there the old channel stays.
 */
int must_check session_replace_wires(struct session *session, const struct options *options,
				     struct error *reterr);

/** session_reload() - what is reloadable comes from @options from now on; they live as long as the session */
void session_reload(struct session *session, struct options *options);

/** session_server_of() - the number of a keyspace's vtctld; @session is one */
unsigned session_server_of(void *session, const char *keyspace);

/**
 * session_open_store() - the store of --store, or the default one
 * @read_only:	nothing is made; a missing file is STORE_NOT_FOUND
 */
int must_check session_open_store(struct session *session, bool read_only, struct error *reterr);

/** session_store_config() - the store of the options; the texts live as long as these */
struct store_config session_store_config(struct options *options, bool read_only);

/** session_store_is_file() - SQLite: it serves one host */
bool session_store_is_file(struct options *options);

/** session_store_url() - what --store says, or the default; NULL: nothing in the environment names a place */
const char *session_store_url(struct options *options);

/** session_open_engine() - checks the probes; touches neither a file nor the network */
int must_check session_open_engine(struct session *session, struct error *reterr);

/** session_open_drivers() - channel to the keyspace's vtctld, store and loop for the engine */
int must_check session_open_drivers(struct session *session, const char *keyspace, struct error *reterr);

/** session_open_loop() - store and loop, where the channels are open */
int must_check session_open_loop(struct session *session, struct error *reterr);

/** session_vtgate() - from the options; NULL: no --vtgate */
const struct vtgate_config *session_vtgate(struct session *session);

/** session_check_probes() - every --probe is one SELECT, and there is a --vtgate */
int must_check session_check_probes(const struct session *session, struct error *reterr);
