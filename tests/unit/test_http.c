/* Goal: whoever connects can read what is meant for him, and can neither stop the server nor make it say
 * more. Method: the real server, and requests byte for byte over a bare socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "http_client.h"

static atomic_bool gate; /* set: answers of /slow wait */
static atomic_uint begun, answered;

/* "/echo" says path and arguments; "/slow" waits for the gate; "/empty" has no body; "/teapot" another
 * status. */
static bool answer(void *user, const struct http_request *request, struct http_response *response)
{
	const char *one = "-", *two = "-";
	char text[1024];

	assert_ptr_equal(user, &gate);
	atomic_fetch_add(&begun, 1);
	while (strcmp(request->path, "/slow") == 0 && atomic_load(&gate))
		pause_ms(1);
	atomic_fetch_add(&answered, 1);
	if (strncmp(request->path, "/echo", 5) != 0 && strcmp(request->path, "/slow") != 0 &&
	    strcmp(request->path, "/teapot") != 0)
		return strcmp(request->path, "/empty") == 0;
	request->argument(request, "one", &one);
	request->argument(request, "two", &two);
	snprintf(text, sizeof(text), "path=%s one=%s two=%s", request->path, one, two);
	response->body = strdup(text);
	response->length = strlen(text);
	response->content_type = "text/plain; charset=utf-8";
	response->status = strcmp(request->path, "/teapot") == 0 ? 418 : 0;
	return true;
}

static int setup(void **state)
{
	(void)state;
	atomic_store(&begun, 0);
	atomic_store(&answered, 0);
	server_open((struct http_config){ .answer = answer, .user = &gate });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	http = http_close(http);
	return 0;
}

static void reopen(struct http_config config)
{
	http = http_close(http);
	config.answer = answer;
	config.user = &gate;
	server_open(config);
}

static void test_what_the_caller_answers_is_sent(void **state)
{
	const char *got = get("/echo/%7bx%7d/%C3%A9?two=b%26+c&one=%3Ca%3E&one=again");

	(void)state;
	assert_int_equal(status_of(got), 200);
	assert_contains(got, "Content-Type: text/plain; charset=utf-8\r\n");
	assert_contains(got, "Cache-Control: no-store\r\n");
	assert_string_equal(body_of(got), "path=/echo/{x}/\xc3\xa9 one=<a> two=b& c");
	assert_string_equal(body_of(get("/echo?one")), "path=/echo one= two=-");
	assert_int_equal(status_of(get("/teapot")), 418);
	got = get("/empty");
	assert_int_equal(status_of(got), 200);
	assert_string_equal(body_of(got), "");
}

static void test_every_answer_has_the_headers_of_safety(void **state)
{
	static const char *const paths[] = { "/", "/echo", "/nothing", "/%00" };
	static const char *const headers[] = {
		"\r\nX-Content-Type-Options: nosniff\r\n",
		"\r\nReferrer-Policy: no-referrer\r\n",
		"\r\nX-Frame-Options: DENY\r\n",
		"\r\nCross-Origin-Resource-Policy: same-origin\r\n",
		"\r\nContent-Security-Policy: default-src 'none'; script-src 'sha256-",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *got = get(paths[i]), *policy;

		for (size_t j = 0; j < sizeof(headers) / sizeof(headers[0]); j++)
			assert_contains(got, headers[j]);
		policy = strstr(got, "Content-Security-Policy");
		assert_null(memmem(policy, strcspn(policy, "\r"), "http", 4));
		assert_null(memmem(policy, strcspn(policy, "\r"), "unsafe", 6));
		assert_null(strstr(got, "Access-Control"));
	}
}

static void test_the_page_is_asked_for_once(void **state)
{
	char request[512], tag[80] = "";
	const char *got = get("/"), *at = strstr(got, "ETag: ");

	(void)state;
	assert_int_equal(status_of(got), 200);
	assert_contains(got, "Content-Type: text/html; charset=utf-8\r\n");
	assert_contains(got, "Cache-Control: no-cache\r\n");
	assert_int_equal(strncmp(body_of(got), "<!doctype html>", 15), 0);
	assert_non_null(at);
	memcpy(tag, at + 6, strcspn(at + 6, "\r"));
	snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n" HOST "If-None-Match: W/\"x\", %s\r\n" LAST,
		 tag);
	got = ask(request);
	assert_int_equal(status_of(got), 304);
	assert_string_equal(body_of(got), "");
	assert_contains(got, tag);
	assert_int_equal(status_of(ask("GET / HTTP/1.1\r\n" HOST "If-None-Match: \"other\"\r\n" LAST)), 200);
	assert_int_equal(atomic_load(&begun), 0);
}

static void test_what_is_not_there_is_404(void **state)
{
	static const char *const paths[] = {
		"/nothing", "/index.html", "/../etc/passwd", "/api/v1/events/", "/%3Cscript%3E", "//", "/./"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *got = get(paths[i]);

		assert_int_equal(status_of(got), 404);
		assert_contains(got, "Content-Type: application/json");
		assert_string_equal(
			body_of(got),
			"{\"schema_version\":1,\"kind\":\"error\",\"error\":{\"code\":\"not_found\","
			"\"text\":\"there is nothing under this address\"}}\n");
	}
}

static void test_only_reading_is_allowed(void **state)
{
	static const char *const methods[] = { "POST",	"PUT",	   "DELETE", "PATCH", "OPTIONS",
					       "TRACE", "CONNECT", "get",    "FOO" };
	char request[256];

	(void)state;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const char *got;

		snprintf(request, sizeof(request),
			 "%s /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n" LAST "abc", methods[i]);
		got = ask(request);
		assert_int_equal(status_of(got), 405);
		assert_contains(got, "\r\nAllow: GET, HEAD\r\n");
	}
	assert_int_equal(atomic_load(&begun), 0);
}

static size_t length_of(const char *answer)
{
	const char *at = strstr(answer, "Content-Length: ");

	return at ? (size_t)strtoul(at + 16, NULL, 10) : 0;
}

static void test_head_has_the_headers_and_no_body(void **state)
{
	static const char *const paths[] = { "/", "/echo", "/nothing" };
	char request[256];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *got = get(paths[i]);
		int status = status_of(got);
		size_t length = length_of(got);

		assert_true(length > 0 && length == strlen(body_of(got)));
		snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\n" HOST LAST, paths[i]);
		got = ask(request);
		assert_int_equal(status_of(got), status);
		assert_int_equal(length_of(got), length);
		assert_string_equal(body_of(got), "");
	}
}

static void test_bad_addresses_are_refused(void **state)
{
	static const char *const paths[] = {
		"/%00",	       "/echo%00x", "/%0a",  "/%0D%0AX:%20y", "/%7f",
		"/%1f",	       "/%",	    "/%4",   "/%zz",	      "/echo?a=%0",
		"/echo?%00=b", "/\x01",	    "/\x80", "/a\tb",	      "http://localhost/echo"
	};
	char request[4096], path[3000];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (status_of(get(paths[i])) != 400)
			fail_msg("%s", paths[i]);
	memset(path, 'a', sizeof(path));
	memcpy(path, "/echo/", 6);
	path[HTTP_PATH_MAX] = '\0';
	assert_int_equal(status_of(get(path)), 200);
	path[HTTP_PATH_MAX] = 'a';
	path[HTTP_PATH_MAX + 1] = '\0';
	assert_int_equal(status_of(get(path)), 400);
	path[HTTP_PATH_MAX + 1] = 'a';
	path[6] = '?';
	path[sizeof(path) - 1] = '\0';
	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" HOST LAST, path);
	assert_int_equal(status_of(ask(request)), 400);
	assert_int_equal(status_of(ask("GET * HTTP/1.1\r\n" HOST LAST)), 400);
}

static void test_a_request_has_no_body(void **state)
{
	(void)state;
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc")), 400);
	assert_int_equal(
		status_of(ask("GET /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")),
		400);
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n" LAST)), 200);
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\n" HOST
				       "Content-Length: 99999999999999999999999\r\n" LAST)),
			 413); /* libmicrohttpd's own answer */
	assert_int_equal(atomic_load(&begun), 1);
}

static void test_on_loopback_the_host_must_be_this_one(void **state)
{
	static const struct {
		const char *headers;
		int status;
	} rows[] = {
		{ "Host: localhost\r\n", 200 },
		{ "Host: LocalHost:1\r\n", 200 },
		{ "Host: 127.0.0.1:15960\r\n", 200 },
		{ "Host: [::1]:65535\r\n", 200 },
		{ "host: [::1]\r\n", 200 },
		{ "Host: evil.example\r\n", 421 },
		{ "Host: localhost.evil.example\r\n", 421 },
		{ "Host: 127.0.0.1.evil.example\r\n", 421 },
		{ "Host: localhost:\r\n", 200 },
		{ "Host: localhost:80x\r\n", 421 },
		{ "Host: localhost:1234567\r\n", 421 },
		{ "Host: 127.0.0.2\r\n", 421 },
		{ "Host: user@localhost\r\n", 421 },
		{ "Host: \r\n", 421 },
		{ "", 400 },
		{ "Host: localhost\r\nHost: localhost\r\n", 400 },
	};
	char request[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(request, sizeof(request), "GET /echo HTTP/1.1\r\n%s" LAST, rows[i].headers);
		if (status_of(ask(request)) != rows[i].status)
			fail_msg("%s: %d", rows[i].headers, status_of(ask(request)));
	}
	assert_non_null(strstr(ask("GET /echo HTTP/1.0\r\n\r\n"), " 200 "));
}

static void test_elsewhere_any_host_is_fine(void **state)
{
	(void)state;
	reopen((struct http_config){ .listen = ":0" });
	assert_false(http_is_loopback(http));
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\nHost: vtddl.example:15960\r\n" LAST)), 200);
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\n" LAST)), 400);
}

static void test_pages_of_other_sites_may_link_but_not_read(void **state)
{
	(void)state;
	assert_int_equal(status_of(ask("GET / HTTP/1.1\r\n" HOST
				       "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n" LAST)),
			 200);
	assert_int_equal(status_of(ask("GET /api/v1/events HTTP/1.1\r\n" HOST
				       "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n" LAST)),
			 403);
	assert_int_equal(status_of(ask("GET /echo HTTP/1.1\r\n" HOST "Sec-Fetch-Site: same-origin\r\n" LAST)),
			 200);
}

static void test_header_bombs_are_cut_off(void **state)
{
	static char bomb[256 * 1024];
	int fd, status;

	(void)state;
	/* One header that has no end. */
	fd = client_open();
	memset(bomb, 'x', sizeof(bomb) - 1);
	memcpy(bomb, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", 36);
	client_send(fd, bomb);
	close(fd);
	status = status_of(ask(bomb));
	assert_true(status == 0 || status == 431 || status == 413);
	/* A great many of them. */
	memcpy(bomb, "GET / HTTP/1.1\r\nHost: localhost\r\n", 33);
	for (size_t at = 33; at + 5 < sizeof(bomb); at += 5)
		memcpy(bomb + at, "a:b\r\n", 5);
	status = status_of(ask(bomb));
	assert_true(status == 0 || status == 431 || status == 413);
	/* An address without an end. */
	memset(bomb, 'x', sizeof(bomb) - 1);
	memcpy(bomb, "GET /", 5);
	status = status_of(ask(bomb));
	assert_true(status == 0 || status == 431 || status == 414);
	/* No HTTP at all. */
	status = status_of(ask("\x16\x03\x01\x02\x01\x01\xfc\x03\x03\r\n\r\n"));
	assert_true(status == 0 || status == 400);
	assert_int_equal(status_of(get("/echo")), 200);
}

static void test_requests_in_one_packet_are_answered_in_order(void **state)
{
	char text[8192] = "";
	int fd = client_open();
	const char *a, *b, *c;

	(void)state;
	client_send(fd, "GET /echo/a HTTP/1.1\r\n" HOST "\r\nGET /nothing HTTP/1.1\r\n" HOST
			"\r\nHEAD /echo/x HTTP/1.1\r\n" HOST "\r\nGET /echo/c HTTP/1.1\r\n" HOST LAST);
	client_receive(fd, NULL, text, sizeof(text));
	close(fd);
	a = strstr(text, "path=/echo/a");
	b = strstr(text, "not_found");
	c = strstr(text, "path=/echo/c");
	assert_true(a && b && c && a < b && b < c);
	assert_null(strstr(text, "path=/echo/x"));
}

static void wait_for(atomic_uint *count, unsigned wanted)
{
	int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;

	while (atomic_load(count) < wanted && clock_monotonic_ms() < end_ms)
		pause_ms(1);
	assert_true(atomic_load(count) >= wanted);
}

static void test_a_slow_answer_delays_no_other(void **state)
{
	char text[8192] = "";
	int slow[HTTP_WORKERS + 2];

	(void)state;
	atomic_store(&gate, true);
	for (int i = 0; i < HTTP_WORKERS - 1; i++) {
		slow[i] = client_open();
		client_send(slow[i], "GET /slow HTTP/1.1\r\n" HOST LAST);
	}
	wait_for(&begun, HTTP_WORKERS - 1);
	assert_int_equal(status_of(get("/echo")), 200);
	for (int i = HTTP_WORKERS - 1; i < HTTP_WORKERS + 2; i++) {
		slow[i] = client_open();
		client_send(slow[i], "GET /slow HTTP/1.1\r\n" HOST LAST);
	}
	wait_for(&begun, HTTP_WORKERS + 1);
	/* Every worker is busy: what needs none is served. */
	assert_int_equal(status_of(get("/")), 200);
	close(slow[0]); /* gives up before it is answered */
	atomic_store(&gate, false);
	for (int i = 1; i < HTTP_WORKERS + 2; i++) {
		text[0] = '\0';
		client_receive(slow[i], NULL, text, sizeof(text));
		assert_contains(text, "path=/slow");
		close(slow[i]);
	}
}

static void *unlock_later(void *user)
{
	(void)user;
	pause_ms(50);
	assert_int_equal(atomic_load(&answered), 0);
	atomic_store(&gate, false);
	return NULL;
}

static void test_the_end_waits_for_answers_under_way(void **state)
{
	pthread_t thread;
	int fd[HTTP_WORKERS + 3];

	(void)state;
	atomic_store(&gate, true);
	for (int i = 0; i < HTTP_WORKERS + 3; i++) {
		fd[i] = client_open();
		client_send(fd[i], "GET /slow HTTP/1.1\r\n" HOST LAST);
	}
	wait_for(&begun, HTTP_WORKERS);
	pthread_create(&thread, NULL, unlock_later, NULL);
	http = http_close(http);
	assert_true(atomic_load(&answered) >= HTTP_WORKERS && atomic_load(&answered) == atomic_load(&begun));
	pthread_join(thread, NULL);
	for (int i = 0; i < HTTP_WORKERS + 3; i++)
		close(fd[i]);
}

static void test_who_dribbles_is_cut(void **state)
{
	char text[4096] = "";
	int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;
	int fd;

	(void)state;
	reopen((struct http_config){ .request_ms = 200 });
	fd = client_open();
	client_send(fd, "GET / HTTP/1.1\r\n" HOST "X: ");
	while (client_send(fd, "x") && clock_monotonic_ms() < end_ms)
		pause_ms(10);
	assert_true(clock_monotonic_ms() < end_ms);
	client_receive(fd, NULL, text, sizeof(text));
	assert_string_equal(text, "");
	close(fd);
	assert_int_equal(status_of(get("/echo")), 200);
}

static void test_an_answer_nobody_takes_is_cut(void **state)
{
	int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;
	struct pollfd hung = { .events = POLLRDHUP };
	unsigned sent = 0;

	(void)state;
	reopen((struct http_config){ .request_ms = 200, .connections_max = 1 });
	hung.fd = client_open_with(1024);
	/* Pages until neither side takes more. */
	while (sent < 100000 && client_send(hung.fd, "GET / HTTP/1.1\r\n" HOST "\r\n") &&
	       clock_monotonic_ms() < end_ms)
		sent++;
	assert_true(clock_monotonic_ms() < end_ms);
	/* Its place is free again. */
	assert_int_equal(status_of(get("/echo")), 200);
	close(hung.fd);
}

static void test_more_connections_wait_for_a_place(void **state)
{
	int fd[3];

	(void)state;
	reopen((struct http_config){ .connections_max = 3, .request_ms = 300 });
	for (int i = 0; i < 3; i++)
		fd[i] = client_open();
	/* Answered once the idle ones are cut, not before there is a place. */
	assert_int_equal(status_of(get("/echo")), 200);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	for (int i = 0; i < 100; i++)
		assert_int_equal(status_of(get("/echo")), 200);
}

static void test_an_address_that_cannot_be_is_named(void **state)
{
	static const char *const bad[] = {
		"",	 "127.0.0.1",	 "127.0.0.1:",	     "127.0.0.1:70000", "127.0.0.1:http",  "::1:80",
		"[::1]", "127.0.0.1:-1", "nobody.invalid:1", "192.0.2.1:1",	"127.0.0.1:123456"
	};
	char taken[32];
	struct http_config config = { .answer = answer, .user = &gate };
	struct http *other = NULL;
	struct error error;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error = (struct error){ 0 };
		config.listen = bad[i];
		assert_true(http_open(&config, &other, &error) < 0);
		assert_int_equal(error.code, ERROR_CONFIG);
		assert_contains(error.text, bad[i]);
	}
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_port(http));
	config.listen = taken;
	assert_true(http_open(&config, &other, &error) < 0);
	assert_contains(error.text, "another program");
	assert_contains(error.text, taken);
	assert_null(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_the_caller_answers_is_sent),
		TEST(test_every_answer_has_the_headers_of_safety),
		TEST(test_the_page_is_asked_for_once),
		TEST(test_what_is_not_there_is_404),
		TEST(test_only_reading_is_allowed),
		TEST(test_head_has_the_headers_and_no_body),
		TEST(test_bad_addresses_are_refused),
		TEST(test_a_request_has_no_body),
		TEST(test_on_loopback_the_host_must_be_this_one),
		TEST(test_elsewhere_any_host_is_fine),
		TEST(test_pages_of_other_sites_may_link_but_not_read),
		TEST(test_header_bombs_are_cut_off),
		TEST(test_requests_in_one_packet_are_answered_in_order),
		TEST(test_a_slow_answer_delays_no_other),
		TEST(test_the_end_waits_for_answers_under_way),
		TEST(test_who_dribbles_is_cut),
		TEST(test_an_answer_nobody_takes_is_cut),
		TEST(test_more_connections_wait_for_a_place),
		TEST(test_an_address_that_cannot_be_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
