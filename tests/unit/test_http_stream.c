/* Goal: every reader of the events hears each of them once and in order, or is told that it did not; and one
 * that does not listen costs nobody anything. Method: the real server, readers on bare sockets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "http_client.h"

#define EVENTS "GET /api/v1/events HTTP/1.1\r\n" HOST

static char text[8 * 1024 * 1024];

static bool answer(void *user, const struct http_request *request, struct http_response *response)
{
	(void)user;
	(void)request;
	(void)response;
	return false;
}

static void open_with(struct http_config config)
{
	http = http_close(http);
	config.answer = answer;
	server_open(config);
}

static int setup(void **state)
{
	(void)state;
	open_with((struct http_config){ 0 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	http = http_close(http);
	return 0;
}

static void publish(unsigned from, unsigned to)
{
	char json[64];

	for (unsigned i = from; i <= to; i++) {
		snprintf(json, sizeof(json), "{\"n\":%u}", i);
		http_publish(http, "change", json);
	}
}

/* A reader that is there: its greeting has come. @id: what it saw last, or NULL. */
static int reader_open(const char *id, int receive_buffer)
{
	int fd = client_open_with(receive_buffer);
	char request[256];

	snprintf(request, sizeof(request), EVENTS "%s%s%s\r\n", id ? "Last-Event-ID: " : "", id ? id : "",
		 id ? "\r\n" : "");
	client_send(fd, request);
	text[0] = '\0';
	client_receive(fd, "retry: 2000\n\n", text, sizeof(text));
	assert_int_equal(status_of(text), 200);
	assert_contains(text, "Content-Type: text/event-stream\r\n");
	assert_contains(text, "Cache-Control: no-store\r\n");
	return fd;
}

/* The numbers of the events in @text in order; the id of the last one. */
static unsigned numbers(unsigned *ret_first, unsigned *ret_last, char ret_id[64])
{
	unsigned count = 0, number = 0;

	for (const char *at = strstr(text, "data: {\"n\":"); at; at = strstr(at + 1, "data: {\"n\":")) {
		unsigned now = (unsigned)strtoul(at + 11, NULL, 10);

		if (count++)
			assert_int_equal(now, number + 1);
		else
			*ret_first = now;
		number = now;
	}
	*ret_last = number;
	for (const char *at = strstr(text, "id: "); at; at = strstr(at + 1, "id: ")) {
		size_t length = strcspn(at + 4, "\n");

		assert_true(length < 64);
		memcpy(ret_id, at + 4, length);
		ret_id[length] = '\0';
	}
	return count;
}

static void test_events_come_as_they_are_published(void **state)
{
	int a = reader_open(NULL, 0), b = reader_open(NULL, 0);

	(void)state;
	http_publish(http, "lease", "{\"keyspace\":\"a\"}");
	for (int i = 0; i < 2; i++) {
		const char *event;

		text[0] = '\0';
		client_receive(i ? b : a, "}\n\n", text, sizeof(text));
		event = strstr(text, "id: ");
		assert_non_null(event);
		event = strchr(event, '\n') + 1;
		assert_int_equal(strncmp(event, "event: lease\ndata: {\"keyspace\":\"a\"}\n\n", 37), 0);
		close(i ? b : a);
	}
}

static void test_what_would_break_the_stream_is_not_sent(void **state)
{
	static char big[HTTP_EVENT_MAX + 2];
	int fd = reader_open(NULL, 0);

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	http_publish(http, "change", "{\"a\":1}\ndata: evil");
	http_publish(http, "change", "{\"a\":1}\rid: 7");
	http_publish(http, "change", big);
	http_publish(http, "a\nid", "{\"b\":2}");
	http_publish(http, "end", "{\"n\":1}");
	client_receive(fd, "event: end\ndata: {\"n\":1}\n\n", text, sizeof(text));
	assert_null(strstr(text, "evil"));
	assert_null(strstr(text, "id: 7"));
	assert_null(strstr(text, "xxx"));
	assert_contains(text, "event: change\ndata: {}\n\n");
	assert_contains(text, "event: news\ndata: {\"b\":2}\n\n");
	close(fd);
}

static void test_the_longest_event_arrives_whole(void **state)
{
	static char big[HTTP_EVENT_MAX + 1];
	int fd = reader_open(NULL, 0);
	size_t count = 0;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	text[0] = '\0';
	http_publish(http, "change", big);
	publish(1, 1);
	client_receive(fd, "{\"n\":1}\n\n", text, sizeof(text));
	/* It comes in several chunks, whose lengths stand between. */
	for (const char *at = text; *at; at++)
		count += *at == 'x';
	assert_int_equal(count, HTTP_EVENT_MAX);
	close(fd);
}

static void test_who_comes_back_hears_what_it_missed(void **state)
{
	unsigned first = 0, last = 0;
	char id[64] = "";
	int fd = reader_open(NULL, 0);

	(void)state;
	publish(1, 3);
	client_receive(fd, "{\"n\":3}\n\n", text, sizeof(text));
	close(fd);
	assert_int_equal(numbers(&first, &last, id), 3);
	publish(4, 10);
	fd = reader_open(id, 0);
	client_receive(fd, "{\"n\":10}\n\n", text, sizeof(text));
	assert_int_equal(numbers(&first, &last, id), 7);
	assert_int_equal(first, 4);
	assert_null(strstr(text, "event: reset"));
	close(fd);
	/* Nothing was missed: nothing comes but what is new. */
	fd = reader_open(id, 0);
	publish(11, 11);
	client_receive(fd, "{\"n\":11}\n\n", text, sizeof(text));
	assert_int_equal(numbers(&first, &last, id), 1);
	close(fd);
}

static void test_the_last_thousand_are_kept(void **state)
{
	unsigned first = 0, last = 0;
	char id[64] = "", oldest[64] = "", second[64] = "";
	int fd = reader_open(NULL, 0);

	(void)state;
	publish(1, 1);
	client_receive(fd, "{\"n\":1}\n\n", text, sizeof(text));
	numbers(&first, &last, oldest);
	publish(2, 2);
	client_receive(fd, "{\"n\":2}\n\n", text, sizeof(text));
	numbers(&first, &last, second);
	close(fd);
	publish(3, HTTP_EVENTS_KEPT + 1);
	fd = reader_open(oldest, 0);
	client_receive(fd, "{\"n\":1001}\n\n", text, sizeof(text));
	assert_int_equal(numbers(&first, &last, id), HTTP_EVENTS_KEPT);
	assert_int_equal(first, 2);
	assert_null(strstr(text, "event: reset"));
	close(fd);
	/* One more, and what followed the first is not known any more. */
	publish(HTTP_EVENTS_KEPT + 2, HTTP_EVENTS_KEPT + 2);
	fd = reader_open(second, 0);
	client_receive(fd, "{\"n\":1002}\n\n", text, sizeof(text));
	assert_int_equal(numbers(&first, &last, id), HTTP_EVENTS_KEPT);
	close(fd);
	fd = reader_open(oldest, 0);
	client_receive(fd, "event: reset\ndata: {}\n\n", text, sizeof(text));
	assert_null(strstr(text, "{\"n\":"));
	close(fd);
}

static void test_an_id_that_is_not_known_gets_a_reset(void **state)
{
	static const char *const ids[] = { "1", "0-1", "x", "18446744073709551616", "-", "\xff" };

	(void)state;
	publish(1, 5);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		int fd = reader_open(ids[i], 0);

		publish(6, 6);
		client_receive(fd, "{\"n\":6}\n\n", text, sizeof(text));
		assert_contains(text, "retry: 2000\n\nevent: reset\ndata: {}\n\n");
		assert_null(strstr(text, "{\"n\":5}"));
		close(fd);
	}
}

static void test_an_id_of_the_run_before_gets_a_reset(void **state)
{
	unsigned first = 0, last = 0;
	char id[64] = "";
	int fd = reader_open(NULL, 0);

	(void)state;
	publish(1, 1);
	client_receive(fd, "{\"n\":1}\n\n", text, sizeof(text));
	numbers(&first, &last, id);
	close(fd);
	pause_ms(2); /* runs are told apart by the millisecond they began in */
	open_with((struct http_config){ 0 });
	publish(1, 3);
	fd = reader_open(id, 0);
	publish(4, 4);
	client_receive(fd, "{\"n\":4}\n\n", text, sizeof(text));
	assert_contains(text, "event: reset");
	assert_int_equal(numbers(&first, &last, id), 1);
	close(fd);
}

static void test_a_silent_stream_gets_comments(void **state)
{
	int fd;

	(void)state;
	open_with((struct http_config){ .keepalive_ms = 50, .request_ms = 400, .idle_ms = 1000 });
	fd = reader_open(NULL, 0);
	/* Far beyond the time a request may take: streams are no requests. */
	for (int i = 0; i < 16; i++) {
		text[0] = '\0';
		client_receive(fd, ":\n\n", text, sizeof(text));
	}
	publish(1, 1);
	client_receive(fd, "{\"n\":1}\n\n", text, sizeof(text));
	close(fd);
}

static void test_there_are_so_many_readers_and_no_more(void **state)
{
	int fd[2];
	const char *got;

	(void)state;
	open_with((struct http_config){ .streams_max = 2, .keepalive_ms = 60 });
	fd[0] = reader_open(NULL, 0);
	fd[1] = reader_open(NULL, 0);
	got = get("/api/v1/events");
	assert_int_equal(status_of(got), 503);
	assert_contains(got, "Retry-After: 5\r\n");
	assert_contains(got, "\"code\":\"busy\"");
	assert_int_equal(status_of(get("/")), 200);
	/* The place of one that goes without a word is free soon. */
	close(fd[0]);
	for (int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS; clock_monotonic_ms() < end_ms;
	     pause_ms(5)) {
		int next = client_open();

		client_send(next, EVENTS LAST);
		text[0] = '\0';
		client_receive(next, "\n\n", text, sizeof(text));
		close(next);
		if (status_of(text) == 200)
			break;
	}
	assert_int_equal(status_of(text), 200);
	close(fd[1]);
}

static void test_head_of_the_stream_ends(void **state)
{
	const char *got = ask("HEAD /api/v1/events HTTP/1.1\r\n" HOST LAST);

	(void)state;
	assert_int_equal(status_of(got), 200);
	assert_contains(got, "Content-Type: text/event-stream\r\n");
	assert_string_equal(body_of(got), "");
}

static void test_who_does_not_listen_is_closed(void **state)
{
	static char big[HTTP_EVENT_MAX];
	struct pollfd hung = { .events = POLLRDHUP };
	int fd;

	(void)state;
	open_with((struct http_config){ .keepalive_ms = 60 });
	hung.fd = reader_open(NULL, 1024);
	fd = reader_open(NULL, 0);
	memset(big, 'x', sizeof(big) - 2);
	/* More than any buffer on the way: it is left behind. The other one takes what comes. */
	for (unsigned i = 1; i <= 1500; i++) {
		http_publish(http, "change", big);
		publish(i, i);
		if (i % 50 == 0) {
			char end[32];

			snprintf(end, sizeof(end), "{\"n\":%u}\n\n", i);
			text[0] = '\0';
			client_receive(fd, end, text, sizeof(text));
		}
	}
	assert_int_equal(poll(&hung, 1, PATIENCE_MS), 1);
	assert_true(hung.revents & (POLLRDHUP | POLLHUP | POLLERR));
	publish(1501, 1501);
	client_receive(fd, "{\"n\":1501}\n\n", text, sizeof(text));
	close(fd);
	close(hung.fd);
}

static atomic_bool stop;

static void *publish_always(void *user)
{
	for (unsigned i = 0; !atomic_load(&stop); i++)
		http_publish(http, user, "{}");
	return NULL;
}

/* For the sanitizers: everything at once, and the end in the middle of it. */
static void test_readers_come_and_go_while_all_publish(void **state)
{
	pthread_t threads[2];
	int last[4];

	(void)state;
	atomic_store(&stop, false);
	pthread_create(&threads[0], NULL, publish_always, "change");
	pthread_create(&threads[1], NULL, publish_always, "lease");
	for (int i = 0; i < 40; i++) {
		int fd = client_open();

		client_send(fd, i % 3 ? EVENTS "\r\n" : "GET / HTTP/1.1\r\n" HOST LAST);
		text[0] = '\0';
		client_receive(fd, "\n\n", text, sizeof(text));
		close(fd);
	}
	for (int i = 0; i < 4; i++) {
		last[i] = client_open();
		client_send(last[i], EVENTS "\r\n");
	}
	atomic_store(&stop, true);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	http = http_close(http);
	for (int i = 0; i < 4; i++)
		close(last[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_events_come_as_they_are_published),
		TEST(test_what_would_break_the_stream_is_not_sent),
		TEST(test_the_longest_event_arrives_whole),
		TEST(test_who_comes_back_hears_what_it_missed),
		TEST(test_the_last_thousand_are_kept),
		TEST(test_an_id_that_is_not_known_gets_a_reset),
		TEST(test_an_id_of_the_run_before_gets_a_reset),
		TEST(test_a_silent_stream_gets_comments),
		TEST(test_there_are_so_many_readers_and_no_more),
		TEST(test_head_of_the_stream_ends),
		TEST(test_who_does_not_listen_is_closed),
		TEST(test_readers_come_and_go_while_all_publish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
