/* Goal: every call ends in exactly one reply, and what that reply says about the effect is true.
 * Method: a real server of gRPC's C core in this process (wire_server.h) that does as it is told. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/clock.h"
#include "wire_bytes.h"
#include "wire_private.h"
#include "wire_server.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define UUID "aaaaaaaa_bbbb_8ccc_8ddd_eeeeeeeeeeee"
#define LONG_MS 20000 /* never reached where the test passes */

static struct arena arena;
static struct wire_server *server;
static struct wire *wire;
static struct wire_config config;
static char address[32];

static const struct vtctld_request a_read = {.tag = 1, .method = VTCTLD_GET_KEYSPACES, .timeout_ms = LONG_MS};
static const struct vtctld_request an_effect = {
    .tag = 2, .method = VTCTLD_COMPLETE, .keyspace = "ks", .uuid = UUID, .timeout_ms = LONG_MS};

static void wire_reopen(void)
{
	struct error error = {0};

	wire = wire_close(wire);
	snprintf(address, sizeof(address), "127.0.0.1:%d", wire_server_port(server));
	config = (struct wire_config){.server = address};
	if (wire_open(&config, &wire, &error) < 0)
		fail_msg("%s", error.text);
}

static int setup(void **state)
{
	(void)state;
	arena_init(&arena, 0);
	server = wire_server_start(0, NULL);
	assert_non_null(server);
	wire_reopen();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	wire = wire_close(wire);
	server = wire_server_stop(server);
	arena_release(&arena);
	return 0;
}

static struct vtctld_reply next(void)
{
	struct vtctld_reply reply;

	if (!wire_next(wire, clock_monotonic_ms() + LONG_MS, &reply))
		fail_msg("no reply");
	return reply;
}

static struct vtctld_reply call(const struct vtctld_request *request)
{
	wire_start(wire, request, &arena);
	return next();
}

static void connect(void)
{
	assert_int_equal(call(&a_read).outcome, VTCTLD_DONE);
}

static void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%.500s\" does not say \"%s\"", text ? text : "", part);
}

/* ---- Outcomes ---- */

static void test_a_read_is_answered(void **state)
{
	struct bytes answer = {0}, keyspace = {0};
	struct vtctld_reply reply;

	(void)state;
	put_text(&keyspace, 1, "commerce");
	put_part(&answer, 1, &keyspace);
	wire_server_answer(server, &(struct wire_server_answer){.bytes = answer.at, .length = answer.length});
	reply = call(&a_read);
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(reply.tag, 1);
	assert_int_equal(reply.method, VTCTLD_GET_KEYSPACES);
	assert_string_equal(reply.text, "");
	assert_int_equal(reply.keyspaces.count, 1);
	assert_string_equal(reply.keyspaces.names[0], "commerce");
	assert_string_equal(wire_server_wait(server, 1).path, "/vtctlservice.Vtctld/GetKeyspaces");
	bytes_release(&answer);
}

static void test_an_effect_without_a_connection_is_not_sent(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	reply = call(&an_effect);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_int_equal(reply.tag, 2);
	assert_has(reply.text, "CompleteSchemaMigration was not sent: there is no connection to 127.0.0.1:");
	connect();
	assert_int_equal(wire_server_call_count(server), 1); /* the read alone */
}

static void test_an_effect_that_was_not_sent_begins_to_connect(void **state)
{
	struct vtctld_reply reply;
	int64_t until_ms = clock_monotonic_ms() + LONG_MS;

	(void)state;
	do {
		reply = call(&an_effect);
		if (reply.outcome == VTCTLD_NOT_SENT)
			assert_false(wire_next(wire, clock_monotonic_ms() + 5, &reply));
	} while (reply.outcome == VTCTLD_NOT_SENT && clock_monotonic_ms() < until_ms);
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(wire_server_call_count(server), 1);
}

static void test_an_effect_on_a_connection_is_sent_once(void **state)
{
	struct wire_server_call got;
	struct bytes expected = {0};

	(void)state;
	connect();
	assert_int_equal(call(&an_effect).outcome, VTCTLD_DONE);
	got = wire_server_wait(server, 2);
	put_text(&expected, 1, "ks");
	put_text(&expected, 2, UUID);
	assert_string_equal(got.path, "/vtctlservice.Vtctld/CompleteSchemaMigration");
	assert_int_equal(got.message_length, expected.length);
	assert_memory_equal(got.message, expected.at, expected.length);
	assert_int_equal(wire_server_call_count(server), 2);
	bytes_release(&expected);
}

static void test_only_four_codes_say_that_nothing_was_done(void **state)
{
	(void)state;
	connect();
	for (int code = 1; code <= 16; code++) {
		bool is_refusal = code == 3 || code == 7 || code == 12 || code == 16;
		struct vtctld_reply reply;

		wire_server_answer(server, &(struct wire_server_answer){.code = code, .text = "the reason"});
		reply = call(&an_effect);
		assert_int_equal(reply.outcome, is_refusal ? VTCTLD_REFUSED : VTCTLD_UNKNOWN);
		assert_int_equal(reply.code, code);
		assert_has(reply.text, "the reason");
	}
	assert_int_equal(wire_server_call_count(server), 17); /* nothing was sent twice */
}

static void test_a_deadline_leaves_the_outcome_unknown(void **state)
{
	struct vtctld_request request = an_effect;
	struct vtctld_reply reply;

	(void)state;
	connect();
	wire_server_answer(server, &(struct wire_server_answer){.is_never = true});
	request.timeout_ms = 100;
	reply = call(&request);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(reply.code, 4);
	assert_has(reply.text, "no answer to CompleteSchemaMigration from 127.0.0.1:");
	assert_has(reply.text, "within 0.1 s");
}

static void test_without_time_nothing_is_sent(void **state)
{
	struct vtctld_request request = an_effect;

	(void)state;
	connect();
	request.timeout_ms = 0;
	assert_int_equal(call(&request).outcome, VTCTLD_NOT_SENT);
	assert_int_equal(wire_server_call_count(server), 1);
}

static void test_a_server_that_dies_in_mid_effect_leaves_the_outcome_unknown(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	connect();
	wire_server_answer(server, &(struct wire_server_answer){.is_never = true});
	wire_start(wire, &an_effect, &arena);
	while (wire_server_call_count(server) < 2) /* waiting drives the connection */
		assert_false(wire_next(wire, clock_monotonic_ms() + 1, &reply));
	server = wire_server_stop(server);
	reply = next();
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_true(strlen(reply.text) > 0);
}

static void test_calls_side_by_side_end_with_their_own_tags(void **state)
{
	struct vtctld_request request = a_read;
	bool has_come[20] = {false};

	(void)state;
	for (request.tag = 0; request.tag < 20; request.tag++)
		wire_start(wire, &request, &arena);
	for (int i = 0; i < 20; i++) {
		struct vtctld_reply reply = next();

		assert_in_range(reply.tag, 0, 19);
		assert_false(has_come[reply.tag]);
		has_come[reply.tag] = true;
	}
	assert_int_equal(wire_calls_under_way(wire), 0);
}

/* ---- Answers that are too much ---- */

static void test_long_error_texts_arrive_whole(void **state)
{
	static const size_t sizes[] = {9000, 70000};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *text = calloc(1, sizes[i] + 1);
		struct vtctld_reply reply;

		memset(text, 'x', sizes[i]);
		memcpy(text, "\xc3\xa9\n", 3); /* percent-encoded on the way */
		wire_server_answer(server, &(struct wire_server_answer){.code = 2, .text = text});
		reply = call(&a_read);
		assert_int_equal(reply.code, 2);
		assert_string_equal(reply.text, text);
		wire_server_answer(server, &(struct wire_server_answer){0});
		free(text);
	}
}

static void test_an_answer_over_the_limit_is_refused_and_the_effect_is_unknown(void **state)
{
	size_t length = 17 * 1024 * 1024;
	uint8_t *answer = calloc(1, length);
	struct vtctld_reply reply;

	(void)state;
	connect();
	wire_server_answer(server, &(struct wire_server_answer){.bytes = answer, .length = length});
	reply = call(&a_read);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_has(reply.text, "the answer to GetKeyspaces is too large to be read: ");
	reply = call(&an_effect);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(reply.code, 8);
	assert_has(reply.text, "though the call was carried out");
	free(answer);
}

static void test_an_answer_just_below_the_limit_is_scanned(void **state)
{
	size_t length = 16 * 1024 * 1024;
	uint8_t *answer = calloc(1, length); /* zeroes: field number 0 */
	struct vtctld_reply reply;

	(void)state;
	wire_server_answer(server, &(struct wire_server_answer){.bytes = answer, .length = length});
	reply = call(&a_read);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_has(reply.text, "GetKeyspaces: the answer is unreadable at byte 0");
	free(answer);
}

static void test_an_unreadable_answer_to_an_effect_is_unknown(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	connect();
	wire_server_answer(server,
			   &(struct wire_server_answer){.bytes = (const uint8_t *)"\x0a\x05", .length = 2});
	reply = call(&an_effect);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_has(reply.text, "cut off");
	assert_has(reply.text, "the call itself was carried out");
}

static void test_a_full_arena_is_an_answer_too(void **state)
{
	struct arena small;
	struct vtctld_reply reply;

	(void)state;
	arena_init(&small, 1);
	wire_start(wire, &a_read, &small);
	reply = next();
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_has(reply.text, "more memory than is allowed");
	wire_server_answer(server, &(struct wire_server_answer){.code = 2, .text = "reason"});
	wire_start(wire, &a_read, &small);
	assert_has(next().text, "more memory than is allowed");
	arena_release(&small);
}

/* ---- Connections ---- */

static void test_a_refused_connection_says_so(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	server = wire_server_stop(server);
	reply = call(&a_read);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(reply.code, 14);
	assert_has(reply.text, "cannot connect to 127.0.0.1:");
	assert_has(reply.text, ": connection refused");
	reply = call(&an_effect);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_has(reply.text, "the last attempt: cannot connect to");
}

static void test_a_server_that_comes_back_is_found_again(void **state)
{
	int port = wire_server_port(server);
	int64_t until_ms = clock_monotonic_ms() + LONG_MS;
	struct vtctld_reply reply;

	(void)state;
	connect();
	server = wire_server_stop(server);
	assert_int_equal(call(&a_read).code, 14);
	server = wire_server_start(port, NULL);
	assert_non_null(server);
	do {
		reply = call(&a_read);
		if (reply.outcome != VTCTLD_DONE)
			assert_false(wire_next(wire, clock_monotonic_ms() + 20, &reply));
	} while (reply.outcome != VTCTLD_DONE && clock_monotonic_ms() < until_ms);
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(call(&an_effect).outcome, VTCTLD_DONE);
}

static void test_closing_cancels_what_is_under_way(void **state)
{
	struct vtctld_reply reply;
	int64_t before_ms = clock_monotonic_ms();

	(void)state;
	wire_server_answer(server, &(struct wire_server_answer){.is_never = true});
	for (int i = 0; i < 3; i++)
		wire_start(wire, &a_read, &arena);
	while (wire_server_call_count(server) < 3)
		assert_false(wire_next(wire, clock_monotonic_ms() + 1, &reply));
	wire_start(wire, &an_effect, &arena);
	wire = wire_close(wire);
	assert_true(clock_monotonic_ms() - before_ms < LONG_MS / 2);
	assert_null(wire_close(NULL));
}

/* ---- Waiting ---- */

static void test_a_past_time_does_not_wait(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	assert_false(wire_next(wire, clock_monotonic_ms() - 1000, &reply));
	assert_false(wire_next(wire, INT64_MIN / 2, &reply));
	wire_start(wire, &an_effect, &arena);
	assert_true(wire_next(wire, 0, &reply)); /* what is there already is handed out */
}

static void *wake(void *data)
{
	wire_wake(data);
	return NULL;
}

static void test_waking_ends_the_wait_each_time(void **state)
{
	struct vtctld_reply reply;
	int64_t before_ms = clock_monotonic_ms();

	(void)state;
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, wake, wire), 0);
		assert_false(wire_next(wire, clock_monotonic_ms() + LONG_MS, &reply));
		pthread_join(thread, NULL);
	}
	wire_wake(wire);
	wire_wake(wire); /* two before the wait are one */
	assert_false(wire_next(wire, clock_monotonic_ms() + LONG_MS, &reply));
	assert_true(clock_monotonic_ms() - before_ms < LONG_MS);
	connect();
	wire_wake(wire); /* and closing copes with one that nobody took */
}

static void test_the_watchdog_answers_for_the_library(void **state)
{
	struct arena gone;
	struct vtctld_reply reply;

	(void)state;
	arena_init(&gone, 0);
	connect();
	wire_server_answer(server, &(struct wire_server_answer){.is_never = true});
	wire_set_watchdog_ms(wire, -LONG_MS); /* as if the deadline were long past */
	wire_start(wire, &an_effect, &gone);
	reply = next();
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(reply.tag, 2);
	assert_has(reply.text, "its deadline did not end it");
	arena_release(&gone); /* the late end of the call must not touch it */
	wire_set_watchdog_ms(wire, 2000);
	wire_server_answer(server, &(struct wire_server_answer){0});
	assert_int_equal(call(&a_read).tag, 1); /* and is no second reply */
	assert_false(wire_next(wire, 0, &reply));
	assert_int_equal(wire_calls_under_way(wire), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_a_read_is_answered),
	    TEST(test_an_effect_without_a_connection_is_not_sent),
	    TEST(test_an_effect_that_was_not_sent_begins_to_connect),
	    TEST(test_an_effect_on_a_connection_is_sent_once),
	    TEST(test_only_four_codes_say_that_nothing_was_done),
	    TEST(test_a_deadline_leaves_the_outcome_unknown),
	    TEST(test_without_time_nothing_is_sent),
	    TEST(test_a_server_that_dies_in_mid_effect_leaves_the_outcome_unknown),
	    TEST(test_calls_side_by_side_end_with_their_own_tags),
	    TEST(test_long_error_texts_arrive_whole),
	    TEST(test_an_answer_over_the_limit_is_refused_and_the_effect_is_unknown),
	    TEST(test_an_answer_just_below_the_limit_is_scanned),
	    TEST(test_an_unreadable_answer_to_an_effect_is_unknown),
	    TEST(test_a_full_arena_is_an_answer_too),
	    TEST(test_a_refused_connection_says_so),
	    TEST(test_a_server_that_comes_back_is_found_again),
	    TEST(test_closing_cancels_what_is_under_way),
	    TEST(test_a_past_time_does_not_wait),
	    TEST(test_waking_ends_the_wait_each_time),
	    TEST(test_the_watchdog_answers_for_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
