#pragma once
/* digest: SHA-256 through libcrypto, for names of changes. */
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32
#define SHA256_HEX_SIZE (2 * SHA256_SIZE)

struct digest_part {
	const void *bytes;
	size_t length;
};

/**
 * digest_sha256() - hash of several parts, each preceded by its length
 *
 * Every part goes in as eight bytes of length, most significant first, then the
 * bytes, so that ("ab","c") and ("a","bc") differ. Aborts if libcrypto fails.
 */
void digest_sha256(const struct digest_part *parts, size_t count, uint8_t ret[SHA256_SIZE]);

/** digest_hex() - lower-case hex of @length bytes; @ret has room for 2 * @length + 1 */
void digest_hex(const uint8_t *bytes, size_t length, char *ret);
