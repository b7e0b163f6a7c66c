#pragma once
/*
 * credentials: the files that prove who we are and whom we trust, read and checked once.
 *
 * Says what is wrong with a file before the first connection does, since gRPC's C core has
 * one text for many causes. Secrets are wiped when they are let go.
 */
#include <stdbool.h>
#include <stdint.h>

#include "vtddl/error.h"
#include "vtddl/wire.h"

/* When the certificates of a file are valid, Unix seconds. Of several: the widest span. */
struct certificate_dates {
	int64_t not_before_s;
	int64_t not_after_s;
};

struct credentials {	       /* NULL: not set */
	char *ca, *cert, *key; /* PEM */
	struct certificate_dates ca_dates, cert_dates;
	char *username, *password;
};

/** credentials_use_tls() - whether this configuration means TLS, by vtctldclient's rule */
bool credentials_use_tls(const struct wire_config *config);

/**
 * credentials_load() - read and check the files of @config
 * @is_loopback:	the server is this host, so a password over plain text stays here
 *
 * Return: 0, @ret is to be wiped; negative with ERROR_CONFIG or ERROR_AUTH, @ret holds nothing.
 */
int must_check credentials_load(const struct wire_config *config, bool is_loopback, struct credentials *ret,
				struct error *reterr);

/** credentials_wipe() - overwrites and frees; may be called again and on a zeroed struct */
void credentials_wipe(struct credentials *credentials);
