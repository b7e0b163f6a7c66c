/*
 * http_demo: the real server with a made-up fleet behind it, for the tests of the dashboard and for whoever
 *works on it.
 *
 *	http_demo [--listen ADDRESS] [--changes N] [--streams N] [--lively] [--hostile] [--trouble]
 *
 * Prints the port, then obeys lines on standard input and ends with it:
 *	move UUID PHASE REASON    a change moves, and an event says so
 *	quiet UUID PHASE REASON   it moves, and nothing says so
 *	busy, free                every answer is an error, or is not
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo_fleet.h"
#include "vtddl/http.h"
#include "vtddl/metrics.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct demo_fleet fleet;
static struct http *http;
static atomic_bool is_busy;

static size_t number(const struct http_request *request, const char *name, size_t standard)
{
	const char *text;

	return request->argument(request, name, &text) ? strtoul(text, NULL, 10) : standard;
}

static bool say(struct http_response *response, json_t *object)
{
	response->body = json_dumps(object, JSON_COMPACT);
	response->length = strlen(response->body);
	response->content_type = "application/json; charset=utf-8";
	json_decref(object);
	return true;
}

static bool refuse(struct http_response *response, int status, const char *code, const char *text)
{
	response->status = status;
	return say(response, json_pack("{s:i, s:s, s:{s:s, s:s}}", "schema_version", 1, "kind", "error",
				       "error", "code", code, "text", text));
}

static bool say_change(struct http_response *response, const char *uuid)
{
	json_t *object = fleet_change(&fleet, uuid);

	return object ? say(response, object) : refuse(response, 404, "not_found", "no such change");
}

/* Some of everything that metrics.h can write; with --hostile, labels that try to break out. */
static void metrics(struct http_response *response)
{
	static const struct metric changes = { "vtddl_changes", METRIC_GAUGE, "Open changes,\nby \\ phase.",
					       "keyspace,phase" };
	static const struct metric looks = { "vtddl_looks_total", METRIC_COUNTER, "Looks at the fleet.", "" };
	static const struct metric seconds = { "vtddl_rpc_seconds", METRIC_HISTOGRAM, "Duration of calls.",
					       "method" };
	static const double bounds[] = { 0.005, 0.05, 0.5, 5 };
	uint64_t counts[5] = { 0 };
	struct histogram histogram = { .bounds = bounds, .bound_count = 4, .counts = counts };
	const char *method = "GetSchemaMigrations";
	struct strbuf text;

	strbuf_init(&text, (size_t)16 * 1024 * 1024);
	metrics_head(&text, &changes);
	for (size_t i = 0; i < fleet.count; i++) {
		const char *values[] = { fleet.changes[i].table, fleet.changes[i].phase };

		metrics_sample(&text, &changes, values, fleet.changes[i].shards[0].progress);
	}
	if (fleet.options.hostile) {
		const char *values[] = { "line\nend \"quoted\" back\\slash \xff} 5", "" };

		metrics_sample(&text, &changes, values, 1.0 / 0.0);
	}
	metrics_head(&text, &looks);
	metrics_sample(&text, &looks, NULL, 12345678901234.0);
	metrics_head(&text, &seconds);
	histogram_add(&histogram, 0.004);
	histogram_add(&histogram, 0.3);
	histogram_add(&histogram, 60);
	metrics_histogram(&text, &seconds, &method, &histogram);
	response->body = text.text;
	response->length = text.length;
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
}

static bool answer(void *user, const struct http_request *request, struct http_response *response)
{
	static const char one[] = "/api/v1/changes/";
	const char *phase = NULL, *q = NULL;
	bool found = true;

	(void)user;
	request->argument(request, "phase", &phase);
	request->argument(request, "q", &q);
	pthread_mutex_lock(&mutex);
	/* The limits of the real one. */
	if ((q && strlen(q) > 128) ||
	    number(request, "limit", 50) > (strstr(request->path, "history") ? 100 : 1000))
		refuse(response, 400, "bad_argument", "limit is too large, or q too long");
	else if (atomic_load(&is_busy))
		refuse(response, 503, "busy", "the thread that does the work did not answer");
	else if (strcmp(request->path, "/api/v1/changes") == 0)
		say(response, fleet_list(&fleet, number(request, "limit", 200), number(request, "offset", 0),
					 phase, q));
	else if (strncmp(request->path, one, sizeof(one) - 1) == 0)
		say_change(response, request->path + sizeof(one) - 1);
	else if (strcmp(request->path, "/api/v1/history") == 0)
		say(response, fleet_history(&fleet, number(request, "limit", 50)));
	else if (strcmp(request->path, "/metrics") == 0)
		metrics(response);
	else
		found = false;
	pthread_mutex_unlock(&mutex);
	return found;
}

static void publish(const struct demo_change *change, const char *from)
{
	json_t *event = fleet_event(change, from);
	char *text = json_dumps(event, JSON_COMPACT);

	http_publish(http, "change", text);
	free(text);
	json_decref(event);
}

static void obey(char *line)
{
	static char reasons[16][1024];
	static unsigned reason_count;
	char uuid[64], phase[32], *reason = reasons[reason_count++ % 16];
	struct demo_change *change;
	const char *from;

	if (strcmp(line, "busy\n") == 0 || strcmp(line, "free\n") == 0) {
		atomic_store(&is_busy, line[0] == 'b');
		return;
	}
	if (sscanf(line, "%*s %63s %31s %1023[^\n]", uuid, phase, reason) != 3 ||
	    !(change = fleet_find(&fleet, uuid))) {
		fprintf(stderr, "not understood: %s", line);
		return;
	}
	pthread_mutex_lock(&mutex);
	from = change->phase;
	fleet_move(change, phase, reason);
	pthread_mutex_unlock(&mutex);
	if (strncmp(line, "move", 4) == 0)
		publish(change, from);
}

static void run(bool lively)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[2048];

	for (;;) {
		struct demo_change *moved;

		if (poll(&input, 1, lively ? 1000 : -1) > 0) {
			if (!fgets(line, sizeof(line), stdin))
				return;
			obey(line);
			continue;
		}
		pthread_mutex_lock(&mutex);
		moved = fleet_tick(&fleet);
		pthread_mutex_unlock(&mutex);
		if (moved)
			publish(moved, strcmp(moved->phase, "completing") ? "completing" : "submitted");
	}
}

int main(int argc, char **argv)
{
	struct http_config config = { .listen = "127.0.0.1:0", .answer = answer };
	struct demo_options options = { .changes = 8 };
	bool lively = false;
	struct error error;

	setvbuf(stdin, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--listen") == 0 && i + 1 < argc)
			config.listen = argv[++i];
		else if (strcmp(argv[i], "--changes") == 0 && i + 1 < argc)
			options.changes = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--streams") == 0 && i + 1 < argc)
			config.streams_max = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--lively") == 0)
			lively = true;
		else if (strcmp(argv[i], "--hostile") == 0)
			options.hostile = true;
		else if (strcmp(argv[i], "--trouble") == 0)
			options.trouble = true;
		else
			return fprintf(stderr, "unknown: %s\n", argv[i]), 64;
	}
	fleet_make(&fleet, &options);
	if (http_open(&config, &http, &error) < 0)
		return fprintf(stderr, "%s\n", error.text), 78;
	printf("%u\n", http_port(http));
	fflush(stdout);
	run(lively);
	http_close(http);
	fleet_free(&fleet);
	return 0;
}
