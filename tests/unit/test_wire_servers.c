/* Goal: servers do not disturb each other, and a server gets other files or another address without harm
 * to what is under way. Method: two servers of gRPC's C core in this process (wire_server.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vtddl/clock.h"
#include "wire_bytes.h"
#include "wire_certificates.h"
#include "wire_private.h"
#include "wire_server.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define UUID "aaaaaaaa_bbbb_8ccc_8ddd_eeeeeeeeeeee"
#define LONG_MS 20000 /* never reached where the test passes */
#define DAY_S ((int64_t)86400)

static const struct wire_server_answer never = {.is_never = true};
static const struct wire_server_answer at_once = {.code = 0};

static char folder[64];
static struct arena arena;
static struct wire_server *servers[2];
static char addresses[2][32];
static struct wire_config configs[2];
static struct wire *wire;
static struct error error;

static int setup(void **state)
{
	unsigned second = 0;

	(void)state;
	error = (struct error){0};
	arena_init(&arena, 0);
	strncpy(folder, "/tmp/vtddl-test-XXXXXX", sizeof(folder) - 1);
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		servers[i] = wire_server_start(0, NULL);
		assert_non_null(servers[i]);
		snprintf(addresses[i], sizeof(addresses[i]), "127.0.0.1:%d", wire_server_port(servers[i]));
		configs[i] = (struct wire_config){.server = addresses[i]};
	}
	assert_int_equal(wire_open(&configs[0], &wire, &error), 0);
	assert_int_equal(wire_add(wire, &configs[1], &second, &error), 0);
	assert_int_equal(second, 1);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {"ca", "other", "cert", "key", "creds"};

	(void)state;
	wire = wire_close(wire);
	for (int i = 0; i < 2; i++)
		servers[i] = wire_server_stop(servers[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(arena_printf(&arena, "%s/%s", folder, names[i]));
	arena_release(&arena);
	return rmdir(folder);
}

static const char *file_put(const char *name, const char *text)
{
	const char *path = arena_printf(&arena, "%s/%s", folder, name);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

/* The tag is the server's number, so that a reply tells where it comes from. */
static void start(unsigned server, enum vtctld_method method)
{
	struct vtctld_request request = {.tag = server,
					 .method = method,
					 .server = server,
					 .keyspace = "ks",
					 .uuid = UUID,
					 .timeout_ms = LONG_MS};

	wire_start(wire, &request, &arena);
}

static struct vtctld_reply next(void)
{
	struct vtctld_reply reply;

	if (!wire_next(wire, clock_monotonic_ms() + LONG_MS, &reply))
		fail_msg("no reply");
	return reply;
}

static struct vtctld_reply call(unsigned server, enum vtctld_method method)
{
	struct vtctld_reply reply;

	start(server, method);
	reply = next();
	assert_int_equal(reply.tag, server);
	return reply;
}

static void connect(unsigned server)
{
	struct vtctld_reply reply = call(server, VTCTLD_GET_KEYSPACES);

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("%s", reply.text);
}

/* Waiting drives the connection. */
static void wait_for_calls(struct wire_server *server, size_t count)
{
	struct vtctld_reply reply;

	while (wire_server_call_count(server) < count)
		assert_false(wire_next(wire, clock_monotonic_ms() + 1, &reply));
}

static void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%.500s\" does not say \"%s\"", text ? text : "", part);
}

/* ---- Several servers ---- */

static void test_a_request_goes_to_the_server_that_it_names(void **state)
{
	(void)state;
	connect(0);
	connect(1);
	assert_int_equal(call(1, VTCTLD_COMPLETE).outcome, VTCTLD_DONE);
	assert_int_equal(wire_server_call_count(servers[0]), 1);
	assert_int_equal(wire_server_call_count(servers[1]), 2);
	assert_string_equal(wire_server_wait(servers[1], 2).path,
			    "/vtctlservice.Vtctld/CompleteSchemaMigration");
}

static void test_a_hung_server_does_not_delay_the_other(void **state)
{
	int64_t before_ms = clock_monotonic_ms();

	(void)state;
	connect(0);
	connect(1);
	wire_server_answer(servers[0], &never);
	for (int i = 0; i < 50; i++)
		start(0, i % 2 ? VTCTLD_COMPLETE : VTCTLD_GET_KEYSPACES);
	for (int i = 0; i < 50; i++) /* each reply that comes is the other server's */
		assert_int_equal(call(1, i % 2 ? VTCTLD_COMPLETE : VTCTLD_GET_KEYSPACES).outcome,
				 VTCTLD_DONE);
	assert_true(clock_monotonic_ms() - before_ms < LONG_MS);
	assert_int_equal(wire_calls_under_way(wire), 50);
}

static void test_one_connection_is_no_connection_to_the_other(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	connect(0);
	reply = call(1, VTCTLD_COMPLETE);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_has(reply.text, addresses[1]);
	assert_int_equal(wire_server_call_count(servers[0]), 1);
	assert_int_equal(wire_server_call_count(servers[1]), 0);
}

static void test_a_failure_to_connect_is_told_of_its_own_server(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	servers[1] = wire_server_stop(servers[1]);
	assert_has(call(1, VTCTLD_GET_KEYSPACES).text, addresses[1]);
	reply = call(0, VTCTLD_COMPLETE); /* never asked for before */
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_null(strstr(reply.text, "the last attempt"));
	reply = call(1, VTCTLD_COMPLETE);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_has(reply.text, "the last attempt: cannot connect to");
	connect(0);
}

static void test_the_watchdog_looks_after_each_server(void **state)
{
	(void)state;
	connect(0);
	connect(1);
	wire_server_answer(servers[0], &never);
	wire_server_answer(servers[1], &never);
	wire_set_watchdog_ms(wire, -LONG_MS); /* as if the deadlines were long past */
	for (unsigned i = 0; i < 2; i++) {
		struct vtctld_reply reply = call(i, VTCTLD_COMPLETE);

		assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
		assert_has(reply.text, addresses[i]);
	}
}

static void test_a_server_that_cannot_be_added_changes_nothing(void **state)
{
	struct wire_config bad = {.server = "no port"};
	unsigned number = 77;

	(void)state;
	assert_true(wire_add(wire, &bad, &number, &error) < 0);
	assert_int_equal(error.code, ERROR_CONFIG);
	assert_int_equal(number, 77);
	assert_int_equal(wire_add(wire, &configs[0], &number, &error), 0);
	assert_int_equal(number, 2);
	connect(2);
	connect(0);
	connect(1);
	assert_int_equal(wire_server_call_count(servers[0]), 2);
}

static void test_closing_cancels_the_calls_on_every_server(void **state)
{
	int64_t before_ms = clock_monotonic_ms();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		wire_server_answer(servers[i], &never);
		for (int k = 0; k < 3; k++)
			start(i, VTCTLD_GET_KEYSPACES);
	}
	for (unsigned i = 0; i < 2; i++)
		wait_for_calls(servers[i], 3);
	wire = wire_close(wire);
	assert_true(clock_monotonic_ms() - before_ms < LONG_MS / 2);
}

/* ---- Another address, other files ---- */

static void test_a_replaced_address_is_used_from_now_on(void **state)
{
	(void)state;
	connect(0);
	assert_int_equal(wire_replace(wire, 0, &configs[1], &error), 0);
	connect(0);
	assert_int_equal(wire_server_call_count(servers[0]), 1);
	assert_int_equal(wire_server_call_count(servers[1]), 1);
}

static void test_an_effect_does_not_go_out_on_the_old_connection(void **state)
{
	int64_t until_ms = clock_monotonic_ms() + LONG_MS;
	struct vtctld_reply reply;

	(void)state;
	connect(0);
	servers[1] = wire_server_stop(servers[1]); /* nobody is there yet */
	assert_int_equal(wire_replace(wire, 0, &configs[1], &error), 0);
	reply = call(0, VTCTLD_COMPLETE);
	assert_int_equal(reply.outcome, VTCTLD_NOT_SENT);
	assert_has(reply.text, addresses[1]);
	servers[1] = wire_server_start((int)strtol(strchr(addresses[1], ':') + 1, NULL, 10), NULL);
	assert_non_null(servers[1]);
	while (reply.outcome == VTCTLD_NOT_SENT && clock_monotonic_ms() < until_ms) {
		assert_false(wire_next(wire, clock_monotonic_ms() + 5, &reply));
		reply = call(0, VTCTLD_COMPLETE);
	}
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_int_equal(wire_server_call_count(servers[0]), 1);
	assert_int_equal(wire_server_call_count(servers[1]), 1);
}

static void test_calls_under_way_end_on_the_old_connection(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	connect(0);
	wire_server_answer(servers[0], &never);
	start(0, VTCTLD_COMPLETE);
	wait_for_calls(servers[0], 2);
	assert_int_equal(wire_replace(wire, 0, &configs[1], &error), 0);
	connect(0);
	assert_int_equal(wire_calls_under_way(wire), 1);
	servers[0] = wire_server_stop(servers[0]);
	reply = next(); /* it ends as the old server lets it end, and names that one */
	assert_int_equal(reply.method, VTCTLD_COMPLETE);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(wire_calls_under_way(wire), 0);
	assert_int_equal(wire_server_call_count(servers[1]), 1);
}

static void test_an_old_call_may_still_be_answered(void **state)
{
	struct bytes answer = {0}, keyspace = {0};
	struct vtctld_reply reply;

	(void)state;
	put_text(&keyspace, 1, "commerce");
	put_part(&answer, 1, &keyspace);
	wire_server_answer(servers[0],
			   &(struct wire_server_answer){.bytes = answer.at, .length = answer.length});
	start(0, VTCTLD_GET_KEYSPACES);
	assert_int_equal(wire_replace(wire, 0, &configs[1], &error), 0);
	reply = next();
	assert_int_equal(reply.outcome, VTCTLD_DONE);
	assert_string_equal(reply.keyspaces.names[0], "commerce");
	assert_int_equal(wire_server_call_count(servers[1]), 0);
	bytes_release(&answer);
}

static void test_replacing_again_and_again_keeps_every_call(void **state)
{
	(void)state;
	wire_server_answer(servers[0], &never);
	for (size_t i = 1; i <= 5; i++) {
		start(0, VTCTLD_GET_KEYSPACES);
		wait_for_calls(servers[0], i);
		assert_int_equal(wire_replace(wire, 0, &configs[0], &error), 0);
	}
	assert_int_equal(wire_calls_under_way(wire), 5);
	wire_wake(wire); /* and waking needs none of the old connections */
	assert_false(wire_next(wire, clock_monotonic_ms() + LONG_MS, &(struct vtctld_reply){0}));
	wire_server_answer(servers[0], &at_once);
	connect(0);
	wire = wire_close(wire);
}

/* ---- A connection that leads nowhere ---- */

static struct vtctld_reply read_within(int64_t timeout_ms)
{
	struct vtctld_request request = {.method = VTCTLD_GET_KEYSPACES, .timeout_ms = timeout_ms};

	wire_start(wire, &request, &arena);
	return next();
}

static void assert_silent(int64_t timeout_ms)
{
	struct vtctld_reply reply = read_within(timeout_ms);

	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
	assert_int_equal(reply.code, 4);
}

static struct wire_server_call last_call(void)
{
	return wire_server_wait(servers[0], wire_server_call_count(servers[0]));
}

static void test_where_nothing_is_heard_there_is_another_connection(void **state)
{
	struct wire_server_call before;
	struct vtctld_reply reply;

	(void)state;
	connect(0);
	before = last_call();
	wire_server_answer(servers[0], &never);
	wire_set_silence_ms(wire, 100);
	start(0, VTCTLD_COMPLETE);
	assert_silent(60);
	assert_silent(60);
	wire_server_answer(servers[0], &at_once);
	connect(0);
	assert_string_not_equal(last_call().peer, before.peer);
	assert_int_equal(call(0, VTCTLD_CANCEL).outcome, VTCTLD_DONE);
	/* What was sent before stays where it was sent, and ends there. */
	assert_int_equal(wire_calls_under_way(wire), 1);
	servers[0] = wire_server_stop(servers[0]);
	reply = next();
	assert_int_equal(reply.method, VTCTLD_COMPLETE);
	assert_int_equal(reply.outcome, VTCTLD_UNKNOWN);
}

/* Slow calls, or a tablet that does not answer: vtctld itself is heard now and then. */
static void test_where_anything_is_heard_the_connection_stays(void **state)
{
	struct wire_server_call before;

	(void)state;
	connect(0);
	before = last_call();
	wire_set_silence_ms(wire, 1000);
	for (int i = 0; i < 25; i++) {
		wire_server_answer(servers[0], &never);
		assert_silent(50);
		wire_server_answer(servers[0], i % 2 ? &at_once : &(struct wire_server_answer){.code = 4});
		assert_int_equal(read_within(LONG_MS).code, i % 2 ? 0 : 4);
	}
	assert_string_equal(last_call().peer, before.peer);
}

/* Not from when the last one was answered: nobody had asked meanwhile. */
static void test_a_time_without_calls_is_no_silence(void **state)
{
	struct wire_server_call before;
	struct vtctld_reply ignored;

	(void)state;
	connect(0);
	before = last_call();
	wire_set_silence_ms(wire, 1000);
	assert_false(wire_next(wire, clock_monotonic_ms() + 1100, &ignored));
	wire_server_answer(servers[0], &never);
	assert_silent(50);
	wire_server_answer(servers[0], &at_once);
	connect(0);
	assert_string_equal(last_call().peer, before.peer);
}

static void test_a_refused_replacement_keeps_the_old(void **state)
{
	struct wire_config bad = configs[0];

	(void)state;
	connect(0);
	bad.auth_static_client_creds = file_put("creds", "{\"Username\": \"ci\"}");
	assert_true(wire_replace(wire, 0, &bad, &error) < 0);
	assert_int_equal(error.code, ERROR_CONFIG);
	assert_has(error.text, bad.auth_static_client_creds);
	/* An effect at once: so the connection itself is the old one. */
	assert_int_equal(call(0, VTCTLD_COMPLETE).outcome, VTCTLD_DONE);
	assert_int_equal(wire_server_call_count(servers[0]), 2);
}

static void test_a_new_password_is_used_from_now_on(void **state)
{
	struct wire_config with = configs[0];

	(void)state;
	with.auth_static_client_creds = file_put("creds", "{\"Username\": \"ci\", \"Password\": \"old\"}");
	assert_int_equal(wire_replace(wire, 0, &with, &error), 0);
	connect(0);
	assert_string_equal(wire_server_wait(servers[0], 1).password, "old");
	file_put("creds", "{\"Username\": \"ci2\", \"Password\": \"new\"}");
	connect(0); /* nobody said so yet */
	assert_string_equal(wire_server_wait(servers[0], 2).password, "old");
	assert_int_equal(wire_replace(wire, 0, &with, &error), 0);
	connect(0);
	assert_string_equal(wire_server_wait(servers[0], 3).password, "new");
	assert_string_equal(wire_server_wait(servers[0], 3).username, "ci2");
	connect(1);
	assert_string_equal(wire_server_wait(servers[1], 1).username, "");
}

static void test_new_certificates_are_used_from_now_on(void **state)
{
	int64_t now_s = clock_wall_ms() / 1000;
	struct certificate ca, other_ca, host;
	struct wire_config tls = configs[0];
	struct vtctld_reply reply;

	(void)state;
	certificate_make(&ca, NULL, "test authority", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&other_ca, NULL, "other authority", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&host, &ca, "vtctld.example", now_s - DAY_S, now_s + DAY_S);
	servers[0] = wire_server_stop(servers[0]);
	servers[0] = wire_server_start(0, &(struct wire_server_tls){host.cert, host.key, NULL});
	assert_non_null(servers[0]);
	snprintf(addresses[0], sizeof(addresses[0]), "127.0.0.1:%d", wire_server_port(servers[0]));
	tls.grpc_server_name = "vtctld.example";
	tls.grpc_ca = file_put("ca", other_ca.cert);
	assert_int_equal(wire_replace(wire, 0, &tls, &error), 0);
	reply = call(0, VTCTLD_GET_KEYSPACES);
	assert_int_equal(reply.outcome, VTCTLD_REFUSED);
	assert_has(reply.text, "issued by an authority");
	file_put("ca", ca.cert); /* as whoever rotates it does: the same path */
	assert_int_equal(wire_replace(wire, 0, &tls, &error), 0);
	connect(0);
	assert_int_equal(call(0, VTCTLD_COMPLETE).outcome, VTCTLD_DONE);
	file_put("ca", "half a file");
	assert_true(wire_replace(wire, 0, &tls, &error) < 0);
	assert_has(error.text, "has no PEM certificate");
	assert_int_equal(call(0, VTCTLD_COMPLETE).outcome, VTCTLD_DONE);
	certificate_release(&ca);
	certificate_release(&other_ca);
	certificate_release(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_a_request_goes_to_the_server_that_it_names),
	    TEST(test_a_hung_server_does_not_delay_the_other),
	    TEST(test_one_connection_is_no_connection_to_the_other),
	    TEST(test_a_failure_to_connect_is_told_of_its_own_server),
	    TEST(test_the_watchdog_looks_after_each_server),
	    TEST(test_a_server_that_cannot_be_added_changes_nothing),
	    TEST(test_closing_cancels_the_calls_on_every_server),
	    TEST(test_a_replaced_address_is_used_from_now_on),
	    TEST(test_an_effect_does_not_go_out_on_the_old_connection),
	    TEST(test_calls_under_way_end_on_the_old_connection),
	    TEST(test_an_old_call_may_still_be_answered),
	    TEST(test_replacing_again_and_again_keeps_every_call),
	    TEST(test_where_nothing_is_heard_there_is_another_connection),
	    TEST(test_where_anything_is_heard_the_connection_stays),
	    TEST(test_a_time_without_calls_is_no_silence),
	    TEST(test_a_refused_replacement_keeps_the_old),
	    TEST(test_a_new_password_is_used_from_now_on),
	    TEST(test_new_certificates_are_used_from_now_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
