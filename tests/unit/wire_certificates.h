#pragma once
/*
 * wire_certificates: certificates for tests, made on the spot and never written to the tree.
 */
#include <stdint.h>

struct certificate {
	char *cert, *key; /* PEM */
	void *x509, *pkey;
};

/**
 * certificate_make() - a certificate for the DNS name @name
 * @issuer:	signs it; NULL: it signs itself and is an authority
 * @from_s:	Unix seconds, as is @to_s
 */
void certificate_make(struct certificate *ret, const struct certificate *issuer, const char *name,
		      int64_t from_s, int64_t to_s);
void certificate_release(struct certificate *certificate);
