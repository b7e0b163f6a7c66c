#pragma once
/*
 * failure: a text that a person can use, from a failed call.
 *
 * gRPC's C core has one text for many causes ("certificate verify failed" for a foreign and
 * for an expired certificate, "Endpoint read failed" for every refused client certificate).
 * This names the likely causes and what is known of our own files. Only for reading: whether
 * an effect was done is never decided by a text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credentials.h"
#include "vtddl/vtctld.h"

struct failure {
	const struct wire_config *config;
	const struct credentials *credentials;
	enum vtctld_method method;
	int code;	     /* grpc status */
	const char *details; /* of the server or of the library: gRPC does not say whose it is */
	size_t details_length;
	bool is_connected; /* after the failure */
	int64_t timeout_ms;
	int64_t now_s; /* wall clock */
};

/**
 * failure_outcome() - what a status code alone says of the effect
 *
 * Four codes say that vtctld's handler was not run, or refused before it did anything.
 */
enum vtctld_outcome failure_outcome(int code);

/** failure_text() - never NULL, without NUL inside, valid UTF-8 */
const char *failure_text(struct arena *arena, const struct failure *failure);

/** failure_is_about_certificates() - no connection was made, for a certificate was refused beyond doubt */
bool failure_is_about_certificates(const struct failure *failure);

/** failure_clean() - a copy of @text in which nothing but valid UTF-8 is left */
char *failure_clean(struct arena *arena, const char *text, size_t length);
