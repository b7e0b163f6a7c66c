#include "vtddl/digest.h"

#include <openssl/evp.h>

#include "vtddl/banned.h"

/* libcrypto fails only out of memory or when it was built without SHA-256: both end us. */
static void must(int ok)
{
	if (ok != 1)
		abort();
}

void digest_sha256(const struct digest_part *parts, size_t count, uint8_t ret[SHA256_SIZE])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned length = 0;

	must(context != NULL);
	must(EVP_DigestInit_ex(context, EVP_sha256(), NULL));
	for (size_t i = 0; i < count; i++) {
		uint8_t prefix[8];

		for (size_t byte = 0; byte < sizeof(prefix); byte++)
			prefix[byte] = (uint8_t)((uint64_t)parts[i].length >> (8 * (7 - byte)));
		must(EVP_DigestUpdate(context, prefix, sizeof(prefix)));
		must(EVP_DigestUpdate(context, parts[i].bytes, parts[i].length));
	}
	must(EVP_DigestFinal_ex(context, ret, &length));
	must(length == SHA256_SIZE);
	EVP_MD_CTX_free(context);
}

void digest_hex(const uint8_t *bytes, size_t length, char *ret)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0; i < length; i++) {
		*ret++ = hex[bytes[i] >> 4];
		*ret++ = hex[bytes[i] & 0xf];
	}
	*ret = '\0';
}
