/* Reads: migrations by both ways, definitions, and the topology. */
#include "vtctld_fixture.h"

#include "vtddl/error.h"
#include "vtddl/observation.h"

#define UNKNOWN_KEYSPACE "no_such_keyspace"

static const char *create_of(const char *table)
{
	return text("create table %s " COLUMNS, table);
}

static struct vtctld_reply read_migrations(struct vtctld_request request)
{
	struct vtctld_reply reply;

	request.method = VTCTLD_GET_SCHEMA_MIGRATIONS;
	reply = call(request);
	if (reply.outcome != VTCTLD_DONE)
		fail_msg("GetSchemaMigrations: %s", reply.text);
	return reply;
}

/* ---- GetSchemaMigrations ---- */

/* §5, unknown keyspace: OK and empty. */
static void test_migrations_of_an_unknown_keyspace_are_none(void **state)
{
	struct vtctld_reply reply =
		read_migrations((struct vtctld_request){ .keyspace = UNKNOWN_KEYSPACE, .uuid = new_uuid() });

	(void)state;
	assert_int_equal(reply.migrations.count, 0);
}

/* §5, "GetSchemaMigrations with uuid and context": the context is ignored. */
static void test_the_uuid_counts_and_not_the_context(void **state)
{
	const char *context = new_context(), *uuid = hold(context, create_of(new_name()));
	struct vtctld_reply reply;

	(void)state;
	reply = read_migrations((struct vtctld_request){ .uuid = uuid, .context = new_context() });
	assert_int_equal(reply.migrations.count, shard_count());
	reply = read_migrations((struct vtctld_request){ .uuid = new_uuid(), .context = context });
	assert_int_equal(reply.migrations.count, 0);
}

/* The loose pattern of the server: what is no uuid at all is an error and no empty answer. */
static void test_migrations_of_what_is_no_uuid_are_an_error(void **state)
{
	(void)state;
	assert_refused(call((struct vtctld_request){ .method = VTCTLD_GET_SCHEMA_MIGRATIONS,
						     .uuid = "aaaaaaaa-0000-8000-8000-000000000001" }),
		       "aaaaaaaa-0000-8000-8000-000000000001 is not a valid UUID");
}

/* §1, context in another case: matches, too. */
static void test_the_context_is_matched_without_regard_to_case(void **state)
{
	const char *context = new_context();
	char *other = arena_strdup(arena(), context);
	struct vtctld_reply reply;

	(void)state;
	hold(context, create_of(new_name()));
	memcpy(other, "CONTRACT", strlen("CONTRACT"));
	reply = read_migrations((struct vtctld_request){ .context = other });
	assert_int_equal(reply.migrations.count, shard_count());
	for (size_t i = 0; i < reply.migrations.count; i++)
		assert_string_equal(reply.migrations.items[i].context, context);
}

/* §5, limit: rows per shard; by context the newest come first. */
static void test_the_limit_is_for_each_shard_and_keeps_the_newest(void **state)
{
	const char *context = new_context(), *newest = NULL;
	struct vtctld_reply reply;

	(void)state;
	for (int i = 0; i < 3; i++)
		newest = hold(context, create_of(new_name()));
	reply = read_migrations((struct vtctld_request){ .context = context });
	assert_int_equal(reply.migrations.count, 3 * shard_count());
	reply = read_migrations((struct vtctld_request){ .context = context, .limit = 1 });
	assert_int_equal(reply.migrations.count, shard_count());
	for (size_t i = 0; i < reply.migrations.count; i++)
		assert_string_equal(reply.migrations.items[i].uuid, newest);
}

/* ---- ExecuteFetchAsDBA ---- */

static struct vtctld_reply fetch(size_t shard, const char *sql, uint64_t limit)
{
	return call((struct vtctld_request){ .method = VTCTLD_EXECUTE_FETCH_AS_DBA,
					     .tablet = shard_record(shard)->primary,
					     .sql = sql,
					     .limit = limit });
}

static const struct migration *fetch_rows(size_t shard, const char *uuid, const char *prefix,
					  size_t *ret_count)
{
	char *sql = migration_select(arena(), uuid, prefix);
	struct error error = { 0 };
	struct migration *found;
	struct vtctld_reply reply;

	assert_non_null(sql);
	reply = fetch(shard, sql, 100);
	if (reply.outcome != VTCTLD_DONE)
		fail_msg("ExecuteFetchAsDBA on %s: %s", shard_name(shard), reply.text);
	if (migration_from_result(arena(), &reply.result, shard_name(shard), &found, ret_count, &error) < 0)
		fail_msg("%s", error.text);
	return found;
}

/* Both ways show the same (§0.2: the direct read stands in where GetSchemaMigrations is blind). The tablet
 * writes to a live row now and then: what is compared was the same before and after the direct read. */
static void assert_both_ways_agree(const char *uuid, const char *context)
{
	for (size_t i = 0; i < shard_count(); i++) {
		const struct migration *before, *after = &rows(uuid)[i], *direct, *by_context;
		size_t count, context_count;

		do {
			before = after;
			direct = fetch_rows(i, uuid, NULL, &count);
			by_context = fetch_rows(i, NULL, context, &context_count);
			after = &rows(uuid)[i];
		} while (before->liveness_s != after->liveness_s || before->status != after->status ||
			 before->eta_s != after->eta_s);
		assert_int_equal(count, 1);
		assert_same_row(direct, after);
		assert_int_equal(context_count, 1);
		assert_same_row(by_context, after);
	}
}

static void test_a_row_reads_the_same_by_both_ways_through_its_life(void **state)
{
	const char *context = new_context(), *uuid = hold(context, create_of(new_name()));

	(void)state;
	await_rows(uuid, is_held);
	assert_both_ways_agree(uuid, context);
	assert_counts(complete(uuid), 1);
	await_rows(uuid, is_complete);
	assert_both_ways_agree(uuid, context);
}

static void test_an_alter_reads_the_same_by_both_ways_through_its_life(void **state)
{
	const char *context = new_context();
	const char *uuid = hold(context, text("alter table %s add column memo int", new_table()));

	(void)state;
	await_rows(uuid, is_held);
	assert_both_ways_agree(uuid, context);
	assert_counts(cancel(uuid), 1);
	await_rows(uuid, is_cancelled);
	assert_both_ways_agree(uuid, context);
}

static void test_a_failed_row_reads_the_same_by_both_ways(void **state)
{
	const char *context = new_context();
	const char *uuid = hold(context, text("alter table %s add column memo int", new_name()));

	(void)state;
	await_rows(uuid, is_failed);
	assert_both_ways_agree(uuid, context);
}

static void test_a_context_prefix_finds_every_generation_oldest_first(void **state)
{
	const char *prefix = new_context(), *first, *second;
	const struct migration *found;
	size_t count;

	(void)state;
	first = hold(text("%s-g1", prefix), create_of(new_name()));
	assert_counts(cancel(first), 1);
	second = hold(text("%s-g2", prefix), create_of(new_name()));
	for (size_t i = 0; i < shard_count(); i++) {
		found = fetch_rows(i, NULL, text("%s-g", prefix), &count);
		assert_int_equal(count, 2);
		assert_string_equal(found[0].uuid, first);
		assert_string_equal(found[1].uuid, second);
	}
}

/* An answer without rows has its columns: that is what proves an absence. */
static void test_an_unknown_uuid_has_columns_and_no_row_by_direct_read(void **state)
{
	size_t count = 1;

	(void)state;
	for (size_t i = 0; i < shard_count(); i++) {
		(void)fetch_rows(i, new_uuid(), NULL, &count);
		assert_int_equal(count, 0);
	}
}

/* §5, history: "Row count exceeded" and no partial answer. */
static void test_more_rows_than_asked_for_are_an_error(void **state)
{
	const char *context = new_context();

	(void)state;
	hold(context, create_of(new_name()));
	hold(context, create_of(new_name()));
	assert_refused(fetch(0, migration_select(arena(), NULL, context), 1), "Row count exceeded 1");
	assert_int_equal(fetch(0, migration_select(arena(), NULL, context), 2).result.row_count, 2);
}

static void test_an_unknown_tablet_is_an_error(void **state)
{
	struct vtctld_request request = { .method = VTCTLD_EXECUTE_FETCH_AS_DBA,
					  .tablet = shard_record(0)->primary,
					  .sql = migration_select(arena(), new_uuid(), NULL) };

	(void)state;
	request.tablet.uid = 4000000;
	assert_refused(call(request), "node doesn't exist");
	request.method = VTCTLD_GET_SCHEMA;
	request.table = "orders";
	assert_refused(call(request), "node doesn't exist");
}

/* ---- GetSchema ---- */

/* §13: the CREATE statement of exactly that table. */
static void test_the_definition_of_one_table(void **state)
{
	const char *table = new_table(), *other = new_name();

	(void)state;
	run_direct(create_of(text("%s_and_more", other)));
	for (size_t i = 0; i < shard_count(); i++)
		assert_string_equal(definition(i, table),
				    text("CREATE TABLE `%s` (\n"
					 "  `id` bigint NOT NULL,\n"
					 "  `note` varchar(64) DEFAULT NULL,\n"
					 "  PRIMARY KEY (`id`)\n"
					 ") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
					 table));
	run_direct(text("drop table %s_and_more", other));
}

/* §13: code 0, empty. */
static void test_a_missing_table_has_no_definition(void **state)
{
	const char *missing = new_name();

	(void)state;
	for (size_t i = 0; i < shard_count(); i++)
		assert_null(definition(i, missing));
}

static void test_a_view_has_a_definition(void **state)
{
	const char *table = new_table(), *view = new_name();
	struct vtctld_reply reply;

	(void)state;
	run_direct(text("create view %s as select id from %s", view, table));
	reply = call((struct vtctld_request){
		.method = VTCTLD_GET_SCHEMA, .tablet = shard_record(0)->primary, .table = view });
	assert_int_equal(reply.definitions.count, 1);
	assert_string_equal(reply.definitions.items[0].type, "VIEW");
	assert_says(reply.definitions.items[0].schema, text("VIEW {{.DatabaseName}}.`%s` AS select ", view));
	reply = call((struct vtctld_request){
		.method = VTCTLD_GET_SCHEMA, .tablet = shard_record(0)->primary, .table = table });
	assert_string_equal(reply.definitions.items[0].type, "BASE TABLE");
}

/* ---- Topology ---- */

static void test_the_keyspace_is_listed(void **state)
{
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_GET_KEYSPACES });
	size_t found = 0;

	(void)state;
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	for (size_t i = 0; i < reply.keyspaces.count; i++)
		found += strcmp(reply.keyspaces.names[i], keyspace()) == 0;
	assert_int_equal(found, 1);
}

static void test_the_shards_cover_every_key_and_serve(void **state)
{
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_FIND_ALL_SHARDS });

	(void)state;
	assert_int_equal(reply.shards.count, shard_count());
	for (size_t i = 0; i < shard_count(); i++) {
		assert_string_equal(reply.shards.items[i].name, shard_name(i));
		assert_true(reply.shards.items[i].has_primary);
		assert_true(reply.shards.items[i].is_serving);
		assert_true(reply.shards.items[i].primary_term_start_s > 0);
	}
	assert_null(topology_problem(arena(), reply.shards.items, reply.shards.count));
}

/* §5: the shard's primary_alias is the tablet that says PRIMARY, and it tells since when it runs. */
static void test_every_shard_has_its_primary_among_the_tablets(void **state)
{
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_GET_TABLETS });

	(void)state;
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	for (size_t i = 0; i < shard_count(); i++) {
		const struct topo_tablet *primary = NULL;

		for (size_t t = 0; t < reply.tablets.count; t++)
			if (reply.tablets.items[t].type == TABLET_PRIMARY &&
			    strcmp(reply.tablets.items[t].shard, shard_name(i)) == 0) {
				assert_null(primary);
				primary = &reply.tablets.items[t];
			}
		assert_non_null(primary);
		assert_true(tablet_alias_equal(&primary->alias, &shard_record(i)->primary));
		assert_string_equal(primary->keyspace, keyspace());
		assert_true(primary->start_s > 0);
		assert_int_equal(primary->shutdown_s, 0);
		assert_string_not_equal(primary->hostname, "");
	}
}

/* A held ALTER is fresh by all four clocks of the fleet. */
static void test_a_held_alter_is_newer_than_its_tablet_and_term(void **state)
{
	const char *uuid = hold(new_context(), text("alter table %s add column memo int", new_table()));
	const struct migration *found = await_rows(uuid, is_held);
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_GET_TABLETS });

	(void)state;
	for (size_t i = 0; i < shard_count(); i++)
		for (size_t t = 0; t < reply.tablets.count; t++)
			if (tablet_alias_equal(&reply.tablets.items[t].alias, &shard_record(i)->primary))
				assert_true(migration_is_fresh(&found[i], shard_record(i),
							       &reply.tablets.items[t]));
}

/* The throttler is off on both fleets: it lets everything through. */
static void test_the_throttler_of_a_primary_answers(void **state)
{
	struct vtctld_reply reply = call((struct vtctld_request){ .method = VTCTLD_CHECK_THROTTLER,
								  .tablet = shard_record(0)->primary });

	(void)state;
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(reply.throttler.response_code, 1);
}

int contract_read(void)
{
	const struct CMUnitTest read_tests[] = {
		TEST(test_migrations_of_an_unknown_keyspace_are_none),
		TEST(test_the_uuid_counts_and_not_the_context),
		TEST(test_migrations_of_what_is_no_uuid_are_an_error),
		TEST(test_the_context_is_matched_without_regard_to_case),
		TEST(test_the_limit_is_for_each_shard_and_keeps_the_newest),
		TEST(test_a_row_reads_the_same_by_both_ways_through_its_life),
		TEST(test_an_alter_reads_the_same_by_both_ways_through_its_life),
		TEST(test_a_failed_row_reads_the_same_by_both_ways),
		TEST(test_a_context_prefix_finds_every_generation_oldest_first),
		TEST(test_an_unknown_uuid_has_columns_and_no_row_by_direct_read),
		TEST(test_more_rows_than_asked_for_are_an_error),
		TEST(test_an_unknown_tablet_is_an_error),
		TEST(test_the_definition_of_one_table),
		TEST(test_a_missing_table_has_no_definition),
		TEST(test_a_view_has_a_definition),
		TEST(test_the_keyspace_is_listed),
		TEST(test_the_shards_cover_every_key_and_serve),
		TEST(test_every_shard_has_its_primary_among_the_tablets),
		TEST(test_a_held_alter_is_newer_than_its_tablet_and_term),
		TEST(test_the_throttler_of_a_primary_answers),
	};

	return cmocka_run_group_tests(read_tests, NULL, NULL);
}
