#pragma once
/*
 * peer: one vtctld as it was configured: where it is, and who we are there.
 *
 * Everything is read and checked once; nothing of it changes afterwards. Who wants other
 * files loads another peer.
 */
#include "address.h"
#include "credentials.h"
#include "vtddl/arena.h"
#include "vtddl/wire.h"

struct peer {
	struct wire_config config; /* defaults filled in; texts are in @arena */
	char target[ADDRESS_MAX];
	struct credentials credentials;
	struct arena arena;
};

/**
 * peer_load() - check @config, read its files
 *
 * Return: 0, @ret is to be wiped; negative with ERROR_CONFIG or ERROR_AUTH, @ret holds nothing.
 */
int must_check peer_load(const struct wire_config *config, struct peer *ret, struct error *reterr);

/** peer_wipe() - overwrites the secrets and frees all */
void peer_wipe(struct peer *peer);
