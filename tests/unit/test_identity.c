/* Goal: the names of a change never change, and no name that is not ours passes for one.
 * Method: vectors made by Python's hashlib (below), and tables of good and bad names.
 *
 *	def H(*parts):
 *	    h = hashlib.sha256()
 *	    for p in parts:
 *	        b = p.encode(); h.update(len(b).to_bytes(8, 'big')); h.update(b)
 *	    return h.digest()
 *	def names(keyspace, normal, generation):
 *	    u = bytearray(H('vtddl/1', keyspace, normal, str(generation))[:16])
 *	    u[6] = u[6] & 15 | 0x80; u[8] = u[8] & 63 | 0x80; x = u.hex()
 *	    return (H(normal).hex(), '_'.join([x[:8], x[8:12], x[12:16], x[16:20], x[20:]]),
 *	            'ddl-%s-%s-g%d' % (keyspace, H(keyspace, normal).hex()[:16], generation))
 *
 * A failing vector means that a change under way would be submitted again under a second name:
 * put the code right, never the vector. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "vtddl/identity.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define TEN "aaaaaaaaaa"
#define SIXTY_FOUR TEN TEN TEN TEN TEN TEN "aaaa"

static const struct {
	const char *keyspace, *normal;
	uint32_t generation;
	const char *sha256, *uuid, *context;
} vectors[] = {
	{ "commerce", "ALTER TABLE orders ADD COLUMN c int", 1,
	  "5eae259dc80cc2861b8ca8d1bb2489f4f87320b32c8b13d65dc59e79f5690e8e",
	  "c98ec72c_20fc_8fe5_8f02_36e3929d3fc6", "ddl-commerce-b4bce216549de546-g1" },
	{ "commerce", "ALTER TABLE orders ADD COLUMN c int", 2,
	  "5eae259dc80cc2861b8ca8d1bb2489f4f87320b32c8b13d65dc59e79f5690e8e",
	  "818652bf_0b1e_8f31_b311_ba5b1c6a7faa", "ddl-commerce-b4bce216549de546-g2" },
	{ "customer", "ALTER TABLE orders ADD COLUMN c int", 1,
	  "5eae259dc80cc2861b8ca8d1bb2489f4f87320b32c8b13d65dc59e79f5690e8e",
	  "782bc797_f417_8ea6_802e_cddfdd40e074", "ddl-customer-3a070dfd31c30b94-g1" },
	{ "ks-1_x",
	  "DROP TABLE `gr\xc3\xb6\xc3\x9f"
	  "e`",
	  UINT32_MAX, "a1bccdd3f0de596c410981079d5db81aaf10b7a40054d54de8d27006f7a4cbcc",
	  "66e6fea0_4e28_81b8_9628_83fb7b14ec54", "ddl-ks-1_x-a2418475cbfd344b-g4294967295" },
};

static void test_names_are_those_of_the_fixed_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(vectors); i++) {
		struct change change = { 0 };

		identity_derive(&change, vectors[i].keyspace, vectors[i].normal, vectors[i].generation);
		assert_string_equal(change.keyspace, vectors[i].keyspace);
		assert_int_equal(change.generation, vectors[i].generation);
		assert_string_equal(change.ddl_sha256, vectors[i].sha256);
		assert_string_equal(change.uuid, vectors[i].uuid);
		assert_string_equal(change.context, vectors[i].context);
		assert_true(uuid_is_valid(change.uuid));
		assert_true(context_is_valid(change.context));
	}
}

static void test_the_longest_names_fit(void **state)
{
	struct change change = { 0 };
	char prefix[CONTEXT_MAX + 1];

	(void)state;
	identity_derive(&change, SIXTY_FOUR, "DROP TABLE t", UINT32_MAX);
	assert_int_equal(strlen(change.context), strlen("ddl--") + 64 + 16 + strlen("-g4294967295"));
	assert_true(context_is_valid(change.context));
	identity_context_prefix(&change, prefix);
	assert_int_equal(identity_context_generation(prefix, change.context), UINT32_MAX);
}

static void test_a_prefix_is_the_context_without_its_generation(void **state)
{
	struct change change = { 0 };
	char prefix[CONTEXT_MAX + 1];

	(void)state;
	identity_derive(&change, "big-g7", "DROP TABLE t", 12); /* a keyspace that looks like a generation */
	identity_context_prefix(&change, prefix);
	assert_memory_equal(prefix, "ddl-big-g7-", strlen("ddl-big-g7-"));
	assert_int_equal(strlen(prefix), strlen("ddl-big-g7-") + 16 + strlen("-g"));
	assert_int_equal(identity_context_generation(prefix, change.context), 12);
}

static void test_a_record_without_a_context_has_no_prefix(void **state)
{
	struct change change = { 0 };
	char prefix[CONTEXT_MAX + 1] = "x";

	(void)state;
	identity_context_prefix(&change, prefix);
	assert_string_equal(prefix, "");
	assert_int_equal(identity_context_generation(prefix, "7"), 0);
}

static void test_a_context_of_others_has_no_generation(void **state)
{
	static const char prefix[] = "ddl-k_s-0123456789abcdef-g";
	static const char *const foreign[] = {
		"",
		"ddl-k_s-0123456789abcdef-g",
		"ddl-k_s-0123456789abcdef-g0",
		"ddl-k_s-0123456789abcdef-g01",
		"ddl-k_s-0123456789abcdef-g1x",
		"ddl-k_s-0123456789abcdef-g-1",
		"ddl-k_s-0123456789abcdef-g 1",
		"ddl-k_s-0123456789abcdef-g4294967296",
		"ddl-k_s-0123456789abcdef-g99999999999999999999999",
		"ddl-kxs-0123456789abcdef-g1", /* LIKE's _ takes it */
		"DDL-k_s-0123456789abcdef-g1",
		"vtctl:0123",
		"xddl-k_s-0123456789abcdef-g1",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(foreign); i++)
		assert_int_equal(identity_context_generation(prefix, foreign[i]), 0);
	assert_int_equal(identity_context_generation(prefix, "ddl-k_s-0123456789abcdef-g1"), 1);
	assert_int_equal(identity_context_generation(prefix, "ddl-k_s-0123456789abcdef-g4294967295"),
			 UINT32_MAX);
}

enum grammar { KEYSPACE = 1, SHARD = 2, UUID = 4, CONTEXT = 8, CLUSTER = 16 };

static const struct {
	const char *text;
	unsigned valid; /* for these grammars, and for no other */
} names[] = {
	{ "", 0 },
	{ "commerce", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "all", SHARD | CONTEXT | CLUSTER },
	{ "aLL", SHARD | CONTEXT | CLUSTER },
	{ "all1", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "-", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "0", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "80-c0", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "a.b", CLUSTER },
	{ "a:b", CONTEXT },
	{ "a b", 0 },
	{ "a/b", 0 },
	{ "a'b", 0 },
	{ "a%b", 0 },
	{ "a\nb", 0 },
	{ "k\xc3\xa4se", 0 },
	{ "a`", 0 },
	{ SIXTY_FOUR, KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ SIXTY_FOUR "a", CONTEXT },
	{ SIXTY_FOUR SIXTY_FOUR, CONTEXT },
	{ SIXTY_FOUR SIXTY_FOUR "a", 0 },
	{ "c98ec72c_20fc_8fe5_8f02_36e3929d3fc6", KEYSPACE | SHARD | UUID | CONTEXT | CLUSTER },
	{ "C98ec72c_20fc_8fe5_8f02_36e3929d3fc6", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c-20fc-8fe5-8f02-36e3929d3fc6", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c_20fc_8fe5_8f02_36e3929d3fc", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c_20fc_8fe5_8f02_36e3929d3fc66", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c_20fc_8fe5_8f02_36e3929d3fcg", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c020fc08fe508f02036e3929d3fc6", KEYSPACE | SHARD | CONTEXT | CLUSTER },
	{ "c98ec72c_20fc_8fe5_8f02_36e3929d3fc`", 0 }, /* Vitess's own [0-f] takes a backtick */
};

static void test_each_name_is_valid_in_its_grammars_only(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(names); i++) {
		unsigned valid = (keyspace_is_valid(names[i].text) ? KEYSPACE : 0) |
				 (shard_name_is_valid(names[i].text) ? SHARD : 0) |
				 (uuid_is_valid(names[i].text) ? UUID : 0) |
				 (context_is_valid(names[i].text) ? CONTEXT : 0) |
				 (cluster_is_valid(names[i].text) ? CLUSTER : 0);

		if (valid != names[i].valid)
			print_error("name \"%s\"\n", names[i].text);
		assert_int_equal(valid, names[i].valid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_of_the_fixed_vectors),
		cmocka_unit_test(test_the_longest_names_fit),
		cmocka_unit_test(test_a_prefix_is_the_context_without_its_generation),
		cmocka_unit_test(test_a_record_without_a_context_has_no_prefix),
		cmocka_unit_test(test_a_context_of_others_has_no_generation),
		cmocka_unit_test(test_each_name_is_valid_in_its_grammars_only),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
