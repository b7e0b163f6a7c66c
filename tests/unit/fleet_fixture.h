#pragma once
/* A fleet of two shards on virtual time, and calls that look like those of a client. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fleet.h"

#define A 0 /* shard -80 */
#define B 1 /* shard 80- */
#define HELD "vitess --postpone-completion --singleton-context"
#define U1 "aaaaaaaa_0000_8000_8000_000000000001"
#define U2 "aaaaaaaa_0000_8000_8000_000000000002"
#define ADD_NOTE2 "alter table orders add column note2 varchar(10)"

struct fixture {
	struct fleet *fleet;
	struct arena arena;
	int64_t now_ms;
	uint64_t tag;
};

static inline int fixture_setup(void **state)
{
	static const char *const shards[] = {"-80", "80-"};
	struct fleet_config config = {
	    .keyspace = "commerce", .shards = shards, .shard_count = 2, .wall_ms = 1800000000000, .seed = 1};
	struct fixture *f = test_calloc(1, sizeof(*f));

	arena_init(&f->arena, 0);
	f->fleet = fleet_new(&config);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	fleet_free(f->fleet);
	arena_release(&f->arena);
	test_free(f);
	return 0;
}

static inline void wait_ms(struct fixture *f, int64_t ms)
{
	f->now_ms += ms;
	fleet_advance(f->fleet, f->now_ms);
}

static inline uint64_t start(struct fixture *f, struct vtctld_request request)
{
	request.tag = ++f->tag;
	if (request.keyspace == NULL)
		request.keyspace = "commerce";
	if (request.timeout_ms == 0)
		request.timeout_ms = 75000;
	fleet_start(f->fleet, &request, &f->arena);
	return request.tag;
}

/* Lets time pass until the next reply; the test fails if that takes longer than @most_ms. */
static inline struct vtctld_reply await(struct fixture *f, int64_t most_ms)
{
	int64_t last_ms = f->now_ms + most_ms;
	struct vtctld_reply reply;

	while (!fleet_take(f->fleet, &reply)) {
		int64_t next_ms = fleet_next_ms(f->fleet);

		assert_true(next_ms <= last_ms);
		if (next_ms > f->now_ms)
			f->now_ms = next_ms;
		fleet_advance(f->fleet, f->now_ms);
	}
	return reply;
}

static inline struct vtctld_reply call(struct fixture *f, struct vtctld_request request)
{
	uint64_t tag = start(f, request);
	struct vtctld_reply reply = await(f, 130000);

	assert_int_equal(reply.tag, tag);
	return reply;
}

static inline struct vtctld_request submit_of(const char *uuid, const char *context, const char *strategy,
					      const char *sql)
{
	return (struct vtctld_request){.method = VTCTLD_APPLY_SCHEMA,
				       .uuid = uuid,
				       .context = context,
				       .strategy = strategy,
				       .sql = sql};
}

static inline struct vtctld_reply submit(struct fixture *f, const char *uuid, const char *context,
					 const char *strategy, const char *sql)
{
	return call(f, submit_of(uuid, context, strategy, sql));
}

static inline struct vtctld_reply complete(struct fixture *f, const char *uuid)
{
	return call(f, (struct vtctld_request){.method = VTCTLD_COMPLETE, .uuid = uuid});
}

static inline struct vtctld_reply cancel(struct fixture *f, const char *uuid)
{
	return call(f, (struct vtctld_request){.method = VTCTLD_CANCEL, .uuid = uuid});
}

static inline struct vtctld_reply read_rows(struct fixture *f, const char *uuid)
{
	return call(f, (struct vtctld_request){
			   .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .uuid = uuid, .timeout_ms = 5000});
}

static inline void assert_counts(struct vtctld_reply reply, uint64_t a, uint64_t b)
{
	assert_int_equal(reply.code, 0);
	assert_int_equal(reply.effect.count, 2);
	assert_string_equal(reply.effect.counts[A].shard, "-80");
	assert_int_equal(reply.effect.counts[A].rows, a);
	assert_int_equal(reply.effect.counts[B].rows, b);
}

static inline void assert_error(struct vtctld_reply reply, int code, const char *text)
{
	assert_int_equal(reply.code, code);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	if (reply.text == NULL || strstr(reply.text, text) == NULL)
		fail_msg("\"%s\" is not in: %s", text, reply.text != NULL ? reply.text : "(null)");
}

static inline const struct migration *row(struct fixture *f, size_t shard, const char *uuid)
{
	const struct migration *found = fleet_row(f->fleet, shard, uuid);

	assert_non_null(found);
	return found;
}

static inline void assert_status(struct fixture *f, const char *uuid, int a, int b)
{
	assert_int_equal(row(f, A, uuid)->status, a);
	assert_int_equal(row(f, B, uuid)->status, b);
}

static inline bool has_column(struct fixture *f, size_t shard, const char *quoted)
{
	const char *definition = fleet_definition(f->fleet, shard, "orders");

	assert_non_null(definition);
	return strstr(definition, quoted) != NULL;
}

/* U1 adds note2, is held and ready on both shards. */
static inline void hold(struct fixture *f)
{
	assert_counts(submit(f, U1, "ctx", HELD, ADD_NOTE2), 1, 1);
	wait_ms(f, 5300);
	assert_true(row(f, A, U1)->ready_to_complete);
	assert_true(row(f, B, U1)->ready_to_complete);
}
