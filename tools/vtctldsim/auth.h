#pragma once
/* auth: Vitess's static authentication: a file with users and passwords. */
#include "vtddl/error.h"

struct auth;

int must_check auth_open(const char *path, struct auth **ret, struct error *reterr);
struct auth *auth_free(struct auth *auth);

/** auth_check() - 0, or the gRPC status Vitess answers; *ret_text lives until the next call */
int auth_check(struct auth *auth, const char *username, const char *password, const char **ret_text);
