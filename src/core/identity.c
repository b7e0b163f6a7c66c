#include "vtddl/identity.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vtddl/banned.h"
#include "vtddl/digest.h"

/* In every uuid. A new label would give every change a new name, and a change that is under
 * way would be submitted a second time: it never changes (tests/unit/test_identity.c). */
#define LABEL "vtddl/1"

#define CONTEXT_HASH_BYTES 8
#define UUID_BYTES 16

static const char letters_and_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

static struct digest_part part(const char *text)
{
	return (struct digest_part){ .bytes = text, .length = strlen(text) };
}

static void derive_uuid(const char *keyspace, const char *normal, const char *generation,
			char ret[UUID_LENGTH + 1])
{
	static const size_t groups[] = { 4, 2, 2, 2, 6 }; /* bytes between underscores */
	const struct digest_part parts[] = { part(LABEL), part(keyspace), part(normal), part(generation) };
	uint8_t hash[SHA256_SIZE];
	const uint8_t *from = hash;

	digest_sha256(parts, sizeof(parts) / sizeof(parts[0]), hash);
	hash[6] = (uint8_t)(0x80 | (hash[6] & 0x0f)); /* RFC 9562 5.8: version 8 */
	hash[8] = (uint8_t)(0x80 | (hash[8] & 0x3f)); /* 4.1: variant 10 */
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (i > 0)
			*ret++ = '_';
		digest_hex(from, groups[i], ret);
		from += groups[i];
		ret += 2 * groups[i];
	}
	assert(from == hash + UUID_BYTES);
}

void identity_derive(struct change *change, const char *keyspace, const char *normal, uint32_t generation)
{
	const struct digest_part statement = part(normal);
	const struct digest_part named[] = { part(keyspace), part(normal) };
	uint8_t hash[SHA256_SIZE];
	char text[2 * CONTEXT_HASH_BYTES + 1];
	char number[11];

	assert(keyspace_is_valid(keyspace));
	assert(generation > 0);
	memcpy(change->keyspace, keyspace, strlen(keyspace) + 1);
	change->generation = generation;
	digest_sha256(&statement, 1, hash);
	digest_hex(hash, sizeof(hash), change->ddl_sha256);
	snprintf(number, sizeof(number), "%u", generation);
	derive_uuid(keyspace, normal, number, change->uuid);
	digest_sha256(named, 2, hash);
	digest_hex(hash, CONTEXT_HASH_BYTES, text);
	snprintf(change->context, sizeof(change->context), "ddl-%s-%s-g%s", keyspace, text, number);
}

void identity_context_prefix(const struct change *change, char ret[CONTEXT_MAX + 1])
{
	const char *number = strrchr(change->context, 'g');
	size_t length = number ? (size_t)(number - change->context) + 1 : 0;

	memcpy(ret, change->context, length);
	ret[length] = '\0';
}

uint32_t identity_context_generation(const char *prefix, const char *context)
{
	size_t length = strlen(prefix);
	uint64_t generation = 0;

	if (length == 0 || strncmp(context, prefix, length) != 0)
		return 0;
	context += length;
	if (*context == '0')
		return 0; /* we never write a leading zero */
	for (; *context; context++) {
		if (*context < '0' || *context > '9')
			return 0;
		generation = generation * 10 + (uint64_t)(*context - '0');
		if (generation > UINT32_MAX)
			return 0;
	}
	return (uint32_t)generation;
}

/* Letters, digits and @extra, at least one and at most @max. */
static bool is_name(const char *text, const char *extra, size_t max)
{
	size_t length = 0;

	for (; text[length]; length++) {
		if (length == max ||
		    (!strchr(letters_and_digits, text[length]) && !strchr(extra, text[length])))
			return false;
	}
	return length > 0;
}

bool keyspace_is_valid(const char *name)
{
	return is_name(name, "_-", KEYSPACE_MAX) && strcasecmp(name, "all") != 0;
}

bool shard_name_is_valid(const char *name)
{
	return is_name(name, "_-", SHARD_NAME_MAX);
}

bool uuid_is_valid(const char *text)
{
	static const char shape[] = "xxxxxxxx_xxxx_xxxx_xxxx_xxxxxxxxxxxx";

	for (size_t i = 0; i < UUID_LENGTH; i++) {
		if (text[i] == '\0')
			return false;
		if (shape[i] == '_' ? text[i] != '_' : !strchr("0123456789abcdef", text[i]))
			return false;
	}
	return text[UUID_LENGTH] == '\0';
}

bool context_is_valid(const char *text)
{
	return is_name(text, "_:-", CONTEXT_MAX);
}

bool cluster_is_valid(const char *text)
{
	return is_name(text, "_.-", CLUSTER_MAX);
}
