/* Goal: requests are exactly the bytes that Vitess reads.
 * Method: the expected bytes by hand (wire_bytes.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "codec.h"
#include "wire_bytes.h"

#define UUID "aaaaaaaa_bbbb_8ccc_8ddd_eeeeeeeeeeee"

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

static struct bytes bytes, inner;

static int teardown(void **state)
{
	(void)state;
	bytes_release(&bytes);
	bytes_release(&inner);
	return 0;
}

/* @bytes holds what is expected. */
static void assert_request(const struct vtctld_request *request)
{
	size_t length = 0;
	uint8_t *made = codec_request(request, &length);

	assert_int_equal(length, bytes.length);
	if (length)
		assert_memory_equal(made, bytes.at, length);
	free(made);
}

static void put_alias(struct bytes *into, unsigned field, const char *cell, uint32_t uid)
{
	put_text(&inner, 1, cell);
	put_number(&inner, 2, uid);
	put_part(into, field, &inner);
}

static void test_apply_schema_has_one_statement_one_uuid_and_the_context(void **state)
{
	struct vtctld_request request = {.method = VTCTLD_APPLY_SCHEMA,
					 .keyspace = "ks",
					 .uuid = UUID,
					 .context = "ddl-ks-1",
					 .sql = "alter table t add c int",
					 .strategy = "vitess --postpone-completion",
					 .caller_id = "ci",
					 .limit = 7};

	(void)state;
	put_text(&bytes, 1, "ks");
	put_text(&bytes, 3, "alter table t add c int");
	put_text(&bytes, 4, "vitess --postpone-completion");
	put_text(&bytes, 5, UUID);
	put_text(&bytes, 6, "ddl-ks-1");
	put_text(&inner, 1, "ci");
	put_part(&bytes, 9, &inner);
	assert_request(&request);
}

static void test_complete_and_cancel_name_one_uuid(void **state)
{
	struct vtctld_request request = {.keyspace = "ks", .uuid = UUID, .caller_id = "ci"};

	(void)state;
	put_text(&bytes, 1, "ks");
	put_text(&bytes, 2, UUID);
	put_text(&inner, 1, "ci");
	put_part(&bytes, 3, &inner);
	request.method = VTCTLD_COMPLETE;
	assert_request(&request);
	request.method = VTCTLD_CANCEL;
	assert_request(&request);
}

static void test_without_a_caller_none_is_sent(void **state)
{
	struct vtctld_request request = {.method = VTCTLD_CANCEL, .keyspace = "ks", .uuid = UUID};

	(void)state;
	put_text(&bytes, 1, "ks");
	put_text(&bytes, 2, UUID);
	assert_request(&request);
}

static void test_migrations_are_asked_for_by_uuid_or_by_context(void **state)
{
	struct vtctld_request request = {.method = VTCTLD_GET_SCHEMA_MIGRATIONS,
					 .keyspace = "ks",
					 .uuid = UUID,
					 .context = "ddl-ks-1",
					 .limit = 300};

	(void)state;
	put_text(&bytes, 1, "ks");
	put_text(&bytes, 2, UUID); /* Vitess would ignore the context */
	put_number(&bytes, 7, 300);
	assert_request(&request);
	bytes.length = 0;
	request.uuid = NULL;
	put_text(&bytes, 1, "ks");
	put_text(&bytes, 3, "ddl-ks-1");
	put_number(&bytes, 6, 2); /* descending: the limit keeps the newest */
	put_number(&bytes, 7, 300);
	assert_request(&request);
}

static void test_reads_of_one_tablet_name_it(void **state)
{
	struct vtctld_request request = {
	    .keyspace = "ks", .table = "t", .sql = "select 1", .limit = 5, .tablet = {"zone1", 101}};

	(void)state;
	request.method = VTCTLD_EXECUTE_FETCH_AS_DBA;
	put_alias(&bytes, 1, "zone1", 101);
	put_text(&bytes, 2, "select 1");
	put_number(&bytes, 3, 5);
	assert_request(&request);
	bytes.length = 0;
	request.method = VTCTLD_GET_SCHEMA;
	put_alias(&bytes, 1, "zone1", 101);
	put_text(&bytes, 2, "t");
	put_number(&bytes, 4, 1); /* include_views */
	put_number(&bytes, 7, 1); /* table_schema_only */
	assert_request(&request);
	bytes.length = 0;
	request.method = VTCTLD_CHECK_THROTTLER;
	put_alias(&bytes, 1, "zone1", 101);
	put_text(&bytes, 2, "online-ddl");
	assert_request(&request);
}

static void test_reads_of_the_topology_name_the_keyspace_only(void **state)
{
	struct vtctld_request request = {.method = VTCTLD_GET_KEYSPACES, .keyspace = "ks"};

	(void)state;
	assert_request(&request); /* no bytes at all */
	put_text(&bytes, 1, "ks");
	request.method = VTCTLD_FIND_ALL_SHARDS;
	assert_request(&request);
	request.method = VTCTLD_GET_TABLETS;
	assert_request(&request);
}

static void test_paths_are_those_of_the_service(void **state)
{
	static const char *const paths[_VTCTLD_METHOD_MAX] = {
	    [VTCTLD_GET_KEYSPACES] = "/vtctlservice.Vtctld/GetKeyspaces",
	    [VTCTLD_FIND_ALL_SHARDS] = "/vtctlservice.Vtctld/FindAllShardsInKeyspace",
	    [VTCTLD_GET_TABLETS] = "/vtctlservice.Vtctld/GetTablets",
	    [VTCTLD_GET_SCHEMA_MIGRATIONS] = "/vtctlservice.Vtctld/GetSchemaMigrations",
	    [VTCTLD_EXECUTE_FETCH_AS_DBA] = "/vtctlservice.Vtctld/ExecuteFetchAsDBA",
	    [VTCTLD_GET_SCHEMA] = "/vtctlservice.Vtctld/GetSchema",
	    [VTCTLD_CHECK_THROTTLER] = "/vtctlservice.Vtctld/CheckThrottler",
	    [VTCTLD_APPLY_SCHEMA] = "/vtctlservice.Vtctld/ApplySchema",
	    [VTCTLD_COMPLETE] = "/vtctlservice.Vtctld/CompleteSchemaMigration",
	    [VTCTLD_CANCEL] = "/vtctlservice.Vtctld/CancelSchemaMigration",
	};

	(void)state;
	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++) {
		char path[CODEC_PATH_SIZE];

		codec_path((enum vtctld_method)i, path);
		assert_string_equal(path, paths[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_apply_schema_has_one_statement_one_uuid_and_the_context),
	    TEST(test_complete_and_cancel_name_one_uuid),
	    TEST(test_without_a_caller_none_is_sent),
	    TEST(test_migrations_are_asked_for_by_uuid_or_by_context),
	    TEST(test_reads_of_one_tablet_name_it),
	    TEST(test_reads_of_the_topology_name_the_keyspace_only),
	    TEST(test_paths_are_those_of_the_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
