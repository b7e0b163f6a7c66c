/* Goal: who we are and whom we trust is proved or refused, and a refusal says why and what to do.
 * Method: files of this test's own, certificates made on the spot, a server in this process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vtddl/clock.h"
#include "vtddl/wire.h"
#include "wire_certificates.h"
#include "wire_server.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define LONG_MS 20000
#define DAY_S ((int64_t)86400)
#define LONG_AGO_S ((int64_t)1577934245) /* 2020-01-02 03:04:05 UTC */

static char folder[64];
static char address[32];
static struct arena arena;
static struct wire_server *server;
static struct wire *wire;
static struct wire_config config;
static struct error error;
static struct certificate ca, other_ca, host, old_host, client, old_client;

/* ---- Files ---- */

static const char *path_of(const char *name)
{
	return arena_printf(&arena, "%s/%s", folder, name);
}

static const char *file_put(const char *name, const char *text, mode_t mode)
{
	const char *path = path_of(name);
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static int group_setup(void **state)
{
	int64_t now_s = clock_wall_ms() / 1000;

	(void)state;
	strncpy(folder, "/tmp/vtddl-test-XXXXXX", sizeof(folder) - 1);
	assert_non_null(mkdtemp(folder));
	certificate_make(&ca, NULL, "test authority", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&other_ca, NULL, "other authority", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&host, &ca, "vtctld.example", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&old_host, &ca, "vtctld.example", LONG_AGO_S - DAY_S, LONG_AGO_S);
	certificate_make(&client, &ca, "vtddl", now_s - DAY_S, now_s + DAY_S);
	certificate_make(&old_client, &ca, "vtddl", LONG_AGO_S - DAY_S, LONG_AGO_S);
	return 0;
}

static int group_teardown(void **state)
{
	static const char *const names[] = {"ca",    "other",  "cert", "key", "creds",
					    "empty", "folder", "link", "pipe"};
	struct certificate *all[] = {&ca, &other_ca, &host, &old_host, &client, &old_client};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		certificate_release(all[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(path_of(names[i]));
	arena_release(&arena);
	return rmdir(folder);
}

/* ---- The pair of client and server ---- */

static int setup(void **state)
{
	(void)state;
	error = (struct error){0};
	config = (struct wire_config){.server = "127.0.0.1:1"};
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

static void serve(const struct wire_server_tls *tls)
{
	server = wire_server_start(0, tls);
	assert_non_null(server);
	snprintf(address, sizeof(address), "127.0.0.1:%d", wire_server_port(server));
	config.server = address;
}

static void serve_tls(const struct certificate *certificate, const struct certificate *client_ca)
{
	serve(&(struct wire_server_tls){certificate->cert, certificate->key,
					client_ca ? client_ca->cert : NULL});
}

static struct vtctld_reply read_once(void)
{
	struct vtctld_request request = {.method = VTCTLD_GET_KEYSPACES, .timeout_ms = LONG_MS};
	struct vtctld_reply reply;

	if (wire_open(&config, &wire, &error) < 0)
		fail_msg("%s", error.text);
	wire_start(wire, &request, &arena);
	assert_true(wire_next(wire, clock_monotonic_ms() + LONG_MS, &reply));
	return reply;
}

static void assert_has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("\"%s\" does not say \"%s\"", text ? text : "", part);
}

static void assert_hasnt(const char *text, const char *part)
{
	if (!text || strstr(text, part))
		fail_msg("\"%s\" says \"%s\"", text ? text : "", part);
}

static void assert_connects(void)
{
	struct vtctld_reply reply = read_once();

	if (reply.outcome != VTCTLD_DONE)
		fail_msg("%s", reply.text);
}

static void assert_connect_fails(enum vtctld_outcome outcome, int code, const char *why)
{
	struct vtctld_reply reply = read_once();

	assert_int_equal(reply.outcome, outcome);
	assert_int_equal(reply.code, code);
	assert_has(reply.text, "cannot connect to 127.0.0.1:");
	assert_has(reply.text, why);
	assert_int_equal(wire_server_call_count(server), 0);
}

/* Perhaps only for now. */
static void assert_does_not_connect(const char *why)
{
	assert_connect_fails(VTCTLD_UNKNOWN, 14, why);
}

/* For good: somebody has to look at the certificates. */
static void assert_certificate_is_refused(const char *why)
{
	assert_connect_fails(VTCTLD_REFUSED, 16, why);
}

static void assert_does_not_open(enum error_code code, const char *why)
{
	assert_true(wire_open(&config, &wire, &error) < 0);
	assert_int_equal(error.code, code);
	assert_has(error.text, why);
	assert_null(wire);
}

/* ---- Password ---- */

static void test_user_and_password_go_with_each_call(void **state)
{
	struct wire_server_call call;

	(void)state;
	serve(NULL);
	config.auth_static_client_creds =
	    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"s3cret \\\"x\"}", 0600);
	assert_connects();
	call = wire_server_wait(server, 1);
	assert_string_equal(call.username, "ci");
	assert_string_equal(call.password, "s3cret \"x");
}

static void test_without_a_file_no_credentials_are_sent(void **state)
{
	(void)state;
	serve(NULL);
	assert_connects();
	assert_string_equal(wire_server_wait(server, 1).username, "");
}

static void test_refused_credentials_are_named_by_their_file_not_their_content(void **state)
{
	struct vtctld_reply reply;

	(void)state;
	serve(NULL);
	wire_server_answer(server, &(struct wire_server_answer){.code = 7, .text = "auth failure"});
	config.auth_static_client_creds =
	    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"s3cret\"}", 0600);
	reply = read_once();
	assert_int_equal(reply.outcome, VTCTLD_REFUSED);
	assert_has(reply.text, config.auth_static_client_creds);
	assert_has(reply.text, "auth failure");
	assert_hasnt(reply.text, "s3cret");
}

static void test_a_password_file_that_others_may_use_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0644, 0666};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		config.auth_static_client_creds =
		    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"s3cret\"}", modes[i]);
		assert_does_not_open(ERROR_CONFIG, arena_printf(&arena, "chmod 0600 %s", path_of("creds")));
		assert_hasnt(error.text, "s3cret");
	}
}

static void test_a_password_file_must_be_readable_and_complete(void **state)
{
	static const char *const texts[] = {
	    "[]",
	    "{",
	    "{}",
	    "{\"Username\": \"ci\"}",
	    "{\"Password\": \"x\"}",
	    "{\"Username\": 1, \"Password\": \"x\"}",
	    "{\"Username\": \"a\", \"Username\": \"b\", \"Password\": \"x\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		config.auth_static_client_creds = file_put("creds", texts[i], 0600);
		assert_does_not_open(ERROR_CONFIG, "must hold one JSON object");
	}
	config.auth_static_client_creds =
	    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"\\n\"}", 0600);
	assert_does_not_open(ERROR_CONFIG, "printable ASCII");
	config.auth_static_client_creds =
	    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"\"}", 0600);
	assert_does_not_open(ERROR_CONFIG, "printable ASCII");
	config.auth_static_client_creds = file_put("empty", "", 0600);
	assert_does_not_open(ERROR_CONFIG, "it is empty");
	config.auth_static_client_creds = path_of("missing");
	assert_does_not_open(ERROR_CONFIG, "No such file or directory");
}

static void test_what_is_no_regular_file_is_refused_without_waiting(void **state)
{
	(void)state;
	config.auth_static_client_creds = folder;
	assert_does_not_open(ERROR_CONFIG, "is not a regular file");
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	config.auth_static_client_creds = path_of("pipe");
	assert_does_not_open(ERROR_CONFIG, "is not a regular file");
}

static void test_a_password_leaves_this_host_only_over_tls_or_if_allowed(void **state)
{
	static const char *const near[] = {"127.0.0.1:15999", "127.9.9.9:15999", "localhost:15999",
					   "[::1]:15999"};

	(void)state;
	config.auth_static_client_creds =
	    file_put("creds", "{\"Username\": \"ci\", \"Password\": \"x\"}", 0600);
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		config.server = near[i];
		assert_int_equal(wire_open(&config, &wire, &error), 0);
		wire = wire_close(wire);
	}
	config.server = "vtctld.example:15999";
	assert_does_not_open(ERROR_CONFIG, "in plain text to vtctld.example:15999");
	config.server = "10.0.0.1:15999";
	assert_does_not_open(ERROR_CONFIG, "in plain text");
	config.allow_plaintext_auth = true;
	assert_int_equal(wire_open(&config, &wire, &error), 0);
	wire = wire_close(wire);
	config.allow_plaintext_auth = false;
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	assert_int_equal(wire_open(&config, &wire, &error), 0);
}

/* ---- TLS ---- */

static void test_a_server_of_the_right_authority_and_name_is_trusted(void **state)
{
	(void)state;
	serve_tls(&host, NULL);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	assert_connects();
}

static void test_a_server_of_another_authority_is_not_trusted(void **state)
{
	(void)state;
	serve_tls(&host, NULL);
	config.grpc_ca = file_put("other", other_ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	assert_certificate_is_refused(
	    "issued by an authority that --vtctld-grpc-ca does not hold, or it has expired");
}

static void test_a_server_with_an_expired_certificate_is_not_trusted(void **state)
{
	(void)state;
	serve_tls(&old_host, NULL);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	assert_certificate_is_refused("or it has expired");
}

static void test_a_server_of_another_name_is_not_trusted(void **state)
{
	(void)state;
	serve_tls(&host, NULL);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	assert_certificate_is_refused("certificate is for another name: --vtctld-grpc-server-name");
}

static void test_a_client_certificate_is_shown(void **state)
{
	(void)state;
	serve_tls(&host, &ca);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	config.grpc_cert = file_put("cert", client.cert, 0644);
	config.grpc_key = file_put("key", client.key, 0600);
	assert_connects();
}

static void test_a_missing_client_certificate_is_named_as_a_cause(void **state)
{
	(void)state;
	serve_tls(&host, &ca);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	assert_does_not_connect("did not accept the client certificate (none given, expired");
}

static void test_an_expired_client_certificate_is_named_with_its_date(void **state)
{
	(void)state;
	serve_tls(&host, &ca);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	config.grpc_server_name = "vtctld.example";
	config.grpc_cert = file_put("cert", old_client.cert, 0644);
	config.grpc_key = file_put("key", old_client.key, 0600);
	assert_certificate_is_refused(arena_printf(
	    &arena, "the client certificate %s expired on 2020-01-02 03:04:05 UTC", path_of("cert")));
}

static void test_tls_meets_plain_text(void **state)
{
	(void)state;
	serve(NULL);
	config.grpc_ca = file_put("ca", ca.cert, 0644);
	assert_does_not_connect("does not speak TLS");
}

static void test_plain_text_meets_tls(void **state)
{
	(void)state;
	serve_tls(&host, NULL);
	assert_does_not_connect("it may want TLS");
}

static void test_certificate_files_are_checked_before_connecting(void **state)
{
	(void)state;
	config.grpc_ca = path_of("missing");
	assert_does_not_open(ERROR_CONFIG, "--vtctld-grpc-ca: cannot open");
	config.grpc_ca = file_put("ca", "no certificate\n", 0644);
	assert_does_not_open(ERROR_CONFIG, "has no PEM certificate");
	config.grpc_ca = NULL;
	config.grpc_cert = file_put("cert", client.cert, 0644);
	assert_does_not_open(ERROR_CONFIG, "go together");
	config.grpc_key = file_put("key", "no key\n", 0600);
	assert_does_not_open(ERROR_CONFIG, "has no PEM private key");
	config.grpc_key = file_put("key", host.key, 0600);
	assert_does_not_open(ERROR_CONFIG, "is not the key of the certificate");
	config.grpc_cert = NULL;
	assert_does_not_open(ERROR_CONFIG, "go together");
}

static void test_a_list_of_revoked_certificates_is_refused_not_ignored(void **state)
{
	(void)state;
	config.grpc_crl = path_of("crl");
	assert_does_not_open(ERROR_CONFIG, "--vtctld-grpc-crl cannot be honoured");
}

/* ---- Addresses ---- */

static void test_a_server_is_a_host_and_a_port(void **state)
{
	static const char *const good[] = {"localhost:1", "a-b.example:65535", "10.0.0.1:15999",
					   "[fe80::1]:15999"};
	static const char *const bad[] = {"",	      "localhost", ":15999", "h:",	   "h:0",
					  "h:65536",  "h:x",	   "h:-1",   "h:1 ",	   "[::1]",
					  "::1:1",    "[::zz]:1",  "h/x:1",  "dns:///h:1", "unix:/sock:1",
					  "h:000001", "h h:1",	   "h\n:1"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		config.server = good[i];
		if (wire_open(&config, &wire, &error) < 0)
			fail_msg("%s", error.text);
		wire = wire_close(wire);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config.server = bad[i];
		assert_does_not_open(ERROR_CONFIG, "write host:port");
	}
	config.server = NULL;
	assert_does_not_open(ERROR_CONFIG, "is not set");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_user_and_password_go_with_each_call),
	    TEST(test_without_a_file_no_credentials_are_sent),
	    TEST(test_refused_credentials_are_named_by_their_file_not_their_content),
	    TEST(test_a_password_file_that_others_may_use_is_refused),
	    TEST(test_a_password_file_must_be_readable_and_complete),
	    TEST(test_what_is_no_regular_file_is_refused_without_waiting),
	    TEST(test_a_password_leaves_this_host_only_over_tls_or_if_allowed),
	    TEST(test_a_server_of_the_right_authority_and_name_is_trusted),
	    TEST(test_a_server_of_another_authority_is_not_trusted),
	    TEST(test_a_server_with_an_expired_certificate_is_not_trusted),
	    TEST(test_a_server_of_another_name_is_not_trusted),
	    TEST(test_a_client_certificate_is_shown),
	    TEST(test_a_missing_client_certificate_is_named_as_a_cause),
	    TEST(test_an_expired_client_certificate_is_named_with_its_date),
	    TEST(test_tls_meets_plain_text),
	    TEST(test_plain_text_meets_tls),
	    TEST(test_certificate_files_are_checked_before_connecting),
	    TEST(test_a_list_of_revoked_certificates_is_refused_not_ignored),
	    TEST(test_a_server_is_a_host_and_a_port),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
