/*
 * stub-vtctld: a vtctld that costs next to nothing, so that a measurement shows its client. It answers canned
 * bytes for K keyspaces of C changes on S shards (bench-fleet.h), acknowledges effects and counts what it was
 * asked: RPCs, and the queries that a real vtctld would have sent to tablets for them. No model of Vitess
 * (that is vtctldsim): an effect moves its rows at once.
 *
 *	stub-vtctld [--listen 127.0.0.1:0] [--keyspaces 1] [--changes 1] [--shards 2]
 *		[--stage queued|copying|held|complete] [--moving] [--tls CERT KEY CA]
 *
 * Commands on standard input, each answered by one JSON line: counts, reset, stage NAME (of every change), hang
 * (take calls, never answer), refuse (UNAVAILABLE at once), answer (as usual again), down (close the port),
 * up, quit. Ends at the end of its input. SIGUSR1 prints the counts as well.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench-fleet.h"
#include "stub-query.h"
#include "stub-rows.h"
#include "vtctldsim/codec.h"
#include "vtctldsim/server.h"

#define SLICE_MS 5
#define EFFECTS_MAX 4096
#define SECONDS_MAX 7200

enum { STATUS_NOT_FOUND = 5, STATUS_UNIMPLEMENTED = 12, STATUS_UNAVAILABLE = 14 };
enum mode { MODE_ANSWER, MODE_HANG, MODE_REFUSE };

struct counts {
	uint64_t rpcs[_VTCTLD_METHOD_MAX], tablet_queries[_VTCTLD_METHOD_MAX];
	uint64_t rows, bytes, sweeps; /* sweeps: GetSchemaMigrations of a whole keyspace, its first page */
	uint64_t seen;		      /* changes whose rows were asked for since the reset */
	int64_t all_seen_us, reset_us, first_us; /* first_us: of the first call since the reset */
	int64_t effect_us[EFFECTS_MAX];
	uint64_t effects;
	uint32_t per_second[SECONDS_MAX];
};

struct stub {
	struct bench_size size;
	struct server_config server_config;
	struct server *server;
	struct rows *rows;
	bool *seen; /* of each change, since the reset */
	struct counts counts;
	enum mode mode;
	char listen[64];
	char line[256];
	size_t line_length;
};

static volatile sig_atomic_t counts_asked, stop_asked;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		counts_asked = 1;
	else
		stop_asked = 1;
}

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void die(const char *text)
{
	fprintf(stderr, "stub-vtctld: %s\n", text);
	exit(64);
}

/* ---- Counts ---- */

static void counts_reset(struct stub *stub)
{
	memset(&stub->counts, 0, sizeof(stub->counts));
	memset(stub->seen, 0, (size_t)stub->size.keyspaces * stub->size.changes);
	stub->counts.reset_us = now_us();
}

static void count_seen(struct stub *stub, const struct row_range *range)
{
	bool *seen = stub->seen + (size_t)range->keyspace * stub->size.changes;

	for (unsigned i = range->first; i < range->end; i++) {
		stub->counts.seen += !seen[i];
		seen[i] = true;
	}
	if (stub->counts.seen == (uint64_t)stub->size.keyspaces * stub->size.changes && !stub->counts.all_seen_us)
		stub->counts.all_seen_us = now_us();
}

static void count_call(struct stub *stub, enum vtctld_method method)
{
	int64_t second = (now_us() - stub->counts.reset_us) / 1000000;

	stub->counts.rpcs[method]++;
	if (!stub->counts.first_us)
		stub->counts.first_us = now_us();
	if (second < SECONDS_MAX)
		stub->counts.per_second[second]++;
}

static void print_array(const char *name, const uint64_t *values)
{
	const char *comma = "";

	printf(", \"%s\": {", name);
	for (int i = 0; i < _VTCTLD_METHOD_MAX; i++) {
		if (values[i] == 0)
			continue;
		printf("%s\"%s\": %llu", comma, vtctld_method_name(i), (unsigned long long)values[i]);
		comma = ", ";
	}
	putchar('}');
}

static void print_counts(const struct stub *stub)
{
	const struct counts *counts = &stub->counts;
	struct rusage usage;
	size_t seconds = 0, effects = counts->effects < EFFECTS_MAX ? counts->effects : EFFECTS_MAX;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"at_us\": %lld, \"reset_us\": %lld, \"first_us\": %lld", (long long)now_us(),
	       (long long)counts->reset_us, (long long)counts->first_us);
	print_array("rpcs", counts->rpcs);
	print_array("tablet_queries", counts->tablet_queries);
	printf(", \"rows\": %llu, \"bytes\": %llu, \"sweeps\": %llu, \"seen\": %llu, \"all_seen_us\": %lld"
	       ", \"cpu_us\": %lld, \"effects\": %llu, \"effect_us\": [",
	       (unsigned long long)counts->rows, (unsigned long long)counts->bytes,
	       (unsigned long long)counts->sweeps, (unsigned long long)counts->seen,
	       (long long)counts->all_seen_us,
	       (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000LL + usage.ru_utime.tv_usec +
		       usage.ru_stime.tv_usec,
	       (unsigned long long)counts->effects);
	for (size_t i = 0; i < effects; i++)
		printf("%s%lld", i ? ", " : "", (long long)counts->effect_us[i]);
	printf("], \"per_second\": [");
	for (size_t i = 0; i < SECONDS_MAX; i++)
		if (counts->per_second[i])
			seconds = i + 1;
	for (size_t i = 0; i < seconds; i++)
		printf("%s%u", i ? ", " : "", counts->per_second[i]);
	puts("]}");
	fflush(stdout);
}

/* ---- Answers ---- */

static bool keyspace_number(const struct stub *stub, const char *name, unsigned *ret)
{
	char again[KEYSPACE_MAX + 1];

	if (name == NULL || sscanf(name, "bench%u", ret) != 1 || *ret >= stub->size.keyspaces)
		return false;
	bench_keyspace(*ret, again);
	return strcmp(name, again) == 0;
}

static void send_reply(struct stub *stub, uint64_t tag, const struct codec_call *call,
		       const struct vtctld_reply *reply, struct arena *arena)
{
	size_t length;
	const uint8_t *bytes = codec_encode(call, reply, arena, &length);

	stub->counts.bytes += length;
	server_answer(stub->server, tag, 0, "", bytes, length);
}

static void refuse(struct stub *stub, uint64_t tag, int code, const char *text)
{
	server_answer(stub->server, tag, code, text, NULL, 0);
}

static void answer_migrations(struct stub *stub, uint64_t tag, const struct codec_call *call)
{
	const struct row_filter filter = { call->status, call->request.limit, call->request.skip, call->descending };
	struct row_range range = { .end = stub->size.changes };
	struct row_bytes rows = { .bytes = (const uint8_t *)"" };
	bool one = call->request.uuid != NULL || call->request.context != NULL;
	unsigned keyspace;

	if (!keyspace_number(stub, call->request.keyspace, &keyspace)) {
		refuse(stub, tag, STATUS_NOT_FOUND, "no such keyspace");
		return;
	}
	range.keyspace = keyspace;
	stub->counts.tablet_queries[VTCTLD_GET_SCHEMA_MIGRATIONS] += stub->size.shards;
	if (!one || (rows_find(stub->rows, call->request.uuid, call->request.context, &range) &&
		     range.keyspace == keyspace)) {
		rows = rows_answer(stub->rows, &range, &filter, time(NULL));
		count_seen(stub, &range);
	}
	stub->counts.sweeps += !one && call->request.skip == 0;
	stub->counts.rows += rows.count;
	stub->counts.bytes += rows.length;
	server_answer(stub->server, tag, 0, "", rows.bytes, rows.length);
}

static void answer_keyspaces(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	struct vtctld_reply reply = { .method = VTCTLD_GET_KEYSPACES };

	reply.keyspaces.count = stub->size.keyspaces;
	reply.keyspaces.names = arena_array(arena, stub->size.keyspaces, sizeof(char *));
	for (unsigned i = 0; i < stub->size.keyspaces; i++) {
		char name[KEYSPACE_MAX + 1];

		bench_keyspace(i, name);
		reply.keyspaces.names[i] = arena_strdup(arena, name);
	}
	send_reply(stub, tag, call, &reply, arena);
}

static void answer_shards(struct stub *stub, uint64_t tag, const struct codec_call *call, unsigned keyspace,
			  struct arena *arena)
{
	struct vtctld_reply reply = { .method = VTCTLD_FIND_ALL_SHARDS };
	size_t bytes = stub->size.shards > 256 ? 2 : 1;

	reply.shards.count = stub->size.shards;
	reply.shards.items = arena_array(arena, stub->size.shards, sizeof(*reply.shards.items));
	for (unsigned i = 0; i < stub->size.shards; i++) {
		struct bench_shard *shard = arena_alloc(arena, sizeof(*shard));
		struct topo_shard *to = &reply.shards.items[i];

		bench_shard(i, stub->size.shards, shard);
		*to = (struct topo_shard){ .name = shard->name, .has_primary = true, .is_serving = true,
					   .primary_term_start_s = 1700000000,
					   .range_start = shard->start, .range_end = shard->end,
					   .range_start_length = shard->has_start ? bytes : 0,
					   .range_end_length = shard->has_end ? bytes : 0 };
		bench_primary(&stub->size, keyspace, i, &to->primary);
	}
	send_reply(stub, tag, call, &reply, arena);
}

static void answer_tablets(struct stub *stub, uint64_t tag, const struct codec_call *call, unsigned keyspace,
			   struct arena *arena)
{
	struct vtctld_reply reply = { .method = VTCTLD_GET_TABLETS };

	reply.tablets.count = stub->size.shards;
	reply.tablets.items = arena_array(arena, stub->size.shards, sizeof(*reply.tablets.items));
	for (unsigned i = 0; i < stub->size.shards; i++) {
		struct bench_shard *shard = arena_alloc(arena, sizeof(*shard));
		struct topo_tablet *to = &reply.tablets.items[i];

		bench_shard(i, stub->size.shards, shard);
		*to = (struct topo_tablet){ .keyspace = call->request.keyspace, .shard = shard->name,
					    .hostname = "localhost", .type = TABLET_PRIMARY, .start_s = 1700000000 };
		bench_primary(&stub->size, keyspace, i, &to->alias);
	}
	send_reply(stub, tag, call, &reply, arena);
}

static bool tablet_find(const struct stub *stub, const struct tablet_alias *alias, unsigned *ret_keyspace,
			unsigned *ret_shard)
{
	struct tablet_alias first;

	bench_primary(&stub->size, 0, 0, &first);
	*ret_keyspace = (alias->uid - first.uid) / stub->size.shards;
	*ret_shard = (alias->uid - first.uid) % stub->size.shards;
	return alias->uid >= first.uid && *ret_keyspace < stub->size.keyspaces;
}

static void answer_schema(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	struct vtctld_reply reply = { .method = VTCTLD_GET_SCHEMA };
	struct table_definition table = { .type = "BASE TABLE", .name = call->request.table };
	unsigned keyspace, shard, number;

	if (tablet_find(stub, &call->request.tablet, &keyspace, &shard) && table.name != NULL &&
	    sscanf(table.name, "t%u", &number) == 1 && number < stub->size.changes) {
		bool after = rows_stage(stub->rows, keyspace, number) == ROW_COMPLETE;

		table.schema = bench_definition(arena, number, after);
		reply.definitions.items = &table;
		reply.definitions.count = 1;
	}
	stub->counts.tablet_queries[VTCTLD_GET_SCHEMA]++;
	send_reply(stub, tag, call, &reply, arena);
}

static void answer_fetch(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	struct vtctld_reply reply = { .method = VTCTLD_EXECUTE_FETCH_AS_DBA };
	unsigned keyspace, shard;
	struct row_range range;

	if (!tablet_find(stub, &call->request.tablet, &keyspace, &shard)) {
		refuse(stub, tag, STATUS_NOT_FOUND, "no such tablet");
		return;
	}
	query_answer(stub->rows, arena, call->request.sql, keyspace, shard, &reply.result, &range);
	count_seen(stub, &range);
	stub->counts.tablet_queries[VTCTLD_EXECUTE_FETCH_AS_DBA]++;
	stub->counts.rows += reply.result.row_count;
	send_reply(stub, tag, call, &reply, arena);
}

/* ---- Effects ---- */

static void answer_effect(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	enum vtctld_method method = call->request.method;
	struct vtctld_reply reply = { .method = method };
	const char *uuids[] = { call->request.uuid };
	struct row_range range;

	if (stub->counts.effects < EFFECTS_MAX)
		stub->counts.effect_us[stub->counts.effects] = now_us();
	stub->counts.effects++;
	stub->counts.tablet_queries[method] += stub->size.shards;
	if (call->request.uuid != NULL && method != VTCTLD_APPLY_SCHEMA &&
	    rows_find(stub->rows, call->request.uuid, NULL, &range))
		rows_move(stub->rows, &range, method == VTCTLD_COMPLETE ? ROW_COMPLETE : ROW_CANCELLED);
	reply.effect.uuids = uuids;
	reply.effect.uuid_count = call->request.uuid != NULL;
	reply.effect.counts = arena_array(arena, stub->size.shards, sizeof(*reply.effect.counts));
	for (unsigned i = 0; i < stub->size.shards; i++) {
		struct bench_shard shard;

		bench_shard(i, stub->size.shards, &shard);
		reply.effect.counts[i] = (struct shard_count){ arena_strdup(arena, shard.name), 1 };
	}
	reply.effect.count = stub->size.shards;
	send_reply(stub, tag, call, &reply, arena);
}

/* ---- Calls ---- */

static void answer_of_keyspace(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	unsigned keyspace;

	if (!keyspace_number(stub, call->request.keyspace, &keyspace))
		refuse(stub, tag, STATUS_NOT_FOUND, "no such keyspace");
	else if (call->request.method == VTCTLD_FIND_ALL_SHARDS)
		answer_shards(stub, tag, call, keyspace, arena);
	else
		answer_tablets(stub, tag, call, keyspace, arena);
}

static void answer(struct stub *stub, uint64_t tag, const struct codec_call *call, struct arena *arena)
{
	const struct vtctld_reply throttler = { .method = VTCTLD_CHECK_THROTTLER,
						.throttler = { .response_code = 1, .message = "" } };

	switch (call->request.method) {
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		answer_migrations(stub, tag, call);
		break;
	case VTCTLD_GET_KEYSPACES:
		answer_keyspaces(stub, tag, call, arena);
		break;
	case VTCTLD_FIND_ALL_SHARDS:
	case VTCTLD_GET_TABLETS:
		answer_of_keyspace(stub, tag, call, arena);
		break;
	case VTCTLD_EXECUTE_FETCH_AS_DBA:
		answer_fetch(stub, tag, call, arena);
		break;
	case VTCTLD_GET_SCHEMA:
		answer_schema(stub, tag, call, arena);
		break;
	case VTCTLD_CHECK_THROTTLER:
		stub->counts.tablet_queries[VTCTLD_CHECK_THROTTLER]++;
		send_reply(stub, tag, call, &throttler, arena);
		break;
	default:
		answer_effect(stub, tag, call, arena);
	}
}

static void handle(struct stub *stub, const struct server_event *event)
{
	const struct codec_method *method;
	struct codec_call call;
	struct arena arena;

	if (event->kind == SERVER_GONE)
		return;
	method = codec_find(event->path);
	arena_init(&arena, 0);
	if (method == NULL || !codec_decode(method, event->bytes, event->length, &arena, &call)) {
		refuse(stub, event->tag, STATUS_UNIMPLEMENTED, "the stub has no such method");
	} else {
		count_call(stub, call.request.method);
		if (stub->mode == MODE_ANSWER)
			answer(stub, event->tag, &call, &arena);
		else if (stub->mode == MODE_REFUSE)
			refuse(stub, event->tag, STATUS_UNAVAILABLE, "the stub plays a vtctld that is down");
	}
	arena_release(&arena);
}

/* ---- Commands ---- */

static void up(struct stub *stub)
{
	struct error error;
	char *port;

	if (stub->server == NULL && server_open(&stub->server_config, &stub->server, &error) < 0)
		die(error.text);
	/* The same port when it comes up again. */
	port = strrchr(stub->listen, ':') + 1;
	snprintf(port, sizeof(stub->listen) - (size_t)(port - stub->listen), "%d", server_port(stub->server));
}

static void stage_all(struct stub *stub, const char *name)
{
	enum row_stage stage = row_stage_from_name(name);

	if (stage == _ROW_STAGE_MAX)
		die("no such stage");
	for (unsigned keyspace = 0; keyspace < stub->size.keyspaces; keyspace++)
		rows_move(stub->rows, &(struct row_range){ keyspace, 0, stub->size.changes }, stage);
}

static void obey(struct stub *stub, const char *command)
{
	if (strcmp(command, "counts") == 0) {
		print_counts(stub);
		return;
	}
	if (strcmp(command, "reset") == 0)
		counts_reset(stub);
	else if (strncmp(command, "stage ", 6) == 0)
		stage_all(stub, command + 6);
	else if (strcmp(command, "hang") == 0)
		stub->mode = MODE_HANG;
	else if (strcmp(command, "refuse") == 0)
		stub->mode = MODE_REFUSE;
	else if (strcmp(command, "answer") == 0)
		stub->mode = MODE_ANSWER;
	else if (strcmp(command, "down") == 0)
		stub->server = server_close(stub->server);
	else if (strcmp(command, "up") == 0)
		up(stub);
	else if (strcmp(command, "quit") == 0)
		stop_asked = 1;
	else
		die("no such command");
	printf("{\"done\": \"%s\", \"at_us\": %lld}\n", command, (long long)now_us());
	fflush(stdout);
}

static void commands_read(struct stub *stub)
{
	char *end;
	ssize_t got = read(STDIN_FILENO, stub->line + stub->line_length,
			   sizeof(stub->line) - 1 - stub->line_length);

	if (got == 0)
		stop_asked = 1;
	if (got <= 0)
		return;
	stub->line_length += (size_t)got;
	stub->line[stub->line_length] = '\0';
	while ((end = strchr(stub->line, '\n')) != NULL) {
		*end = '\0';
		obey(stub, stub->line);
		stub->line_length -= (size_t)(end + 1 - stub->line);
		memmove(stub->line, end + 1, stub->line_length + 1);
	}
}

static void loop(struct stub *stub)
{
	struct server_event event;
	int64_t read_us = 0;

	while (!stop_asked) {
		if (stub->server == NULL)
			usleep(SLICE_MS * 1000);
		else if (server_next(stub->server, SLICE_MS, &event))
			handle(stub, &event);
		if (now_us() - read_us >= SLICE_MS * 1000) {
			read_us = now_us();
			commands_read(stub);
		}
		if (counts_asked) {
			counts_asked = 0;
			print_counts(stub);
		}
	}
}

/* ---- Options ---- */

static unsigned number_of(const char *text)
{
	char *end;
	unsigned long value = strtoul(text ? text : "", &end, 10);

	if (text == NULL || *text == '\0' || *end != '\0' || value > BENCH_CHANGES_MAX)
		die("a number is missing, or too large");
	return (unsigned)value;
}

/* How many words the option took. */
static int option(struct stub *stub, char **words, enum row_stage *stage, bool *moving)
{
	const char *value = words[1];

	if (strcmp(words[0], "--moving") == 0) {
		*moving = true;
		return 1;
	}
	if (value == NULL)
		die("an option lacks its value");
	if (strcmp(words[0], "--listen") == 0 && strchr(value, ':') != NULL) {
		snprintf(stub->listen, sizeof(stub->listen), "%s", value);
	} else if (strcmp(words[0], "--keyspaces") == 0) {
		stub->size.keyspaces = number_of(value);
	} else if (strcmp(words[0], "--changes") == 0) {
		stub->size.changes = number_of(value);
	} else if (strcmp(words[0], "--shards") == 0) {
		stub->size.shards = number_of(value);
	} else if (strcmp(words[0], "--stage") == 0) {
		*stage = row_stage_from_name(value);
	} else if (strcmp(words[0], "--tls") == 0 && words[2] != NULL && words[3] != NULL) {
		stub->server_config.cert = words[1];
		stub->server_config.key = words[2];
		stub->server_config.ca = words[3];
		return 4;
	} else {
		die("no such option; its source says which there are");
	}
	return 2;
}

int main(int argc, char **argv)
{
	static struct stub stub = { .size = { 1, 1, 2 }, .listen = "127.0.0.1:0" };
	struct sigaction action = { .sa_handler = on_signal };
	enum row_stage stage = ROW_COPYING;
	bool moving = false;

	for (int i = 1; i < argc;)
		i += option(&stub, argv + i, &stage, &moving);
	if (stage == _ROW_STAGE_MAX || bench_size_problem(&stub.size) != NULL)
		die(stage == _ROW_STAGE_MAX ? "no such stage" : bench_size_problem(&stub.size));
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	stub.seen = calloc((size_t)stub.size.keyspaces * stub.size.changes, sizeof(bool));
	if (stub.seen == NULL || fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0)
		die("no memory, or no standard input");
	stub.server_config.listen = stub.listen;
	stub.rows = rows_new(&stub.size, stage, moving, time(NULL));
	counts_reset(&stub);
	up(&stub);
	printf("{\"port\": %d, \"at_us\": %lld}\n", server_port(stub.server), (long long)now_us());
	fflush(stdout);
	loop(&stub);
	print_counts(&stub);
	server_close(stub.server);
	rows_free(stub.rows);
	free(stub.seen);
	return 0;
}
