/*
 * A vtctld that does not answer. Every change of every keyspace would find that out for itself, again and
 * again; instead one call at a time does, at growing intervals, and the others wait for what it finds.
 */
#include "engine_private.h"

#include <stdlib.h>
#include <string.h>

#define TRY_BASE_MS 500
#define TRY_CAP_MS 30000
#define CROWD_MS 1000 /* when it answers again, not all come at once */

static struct server *server_get(struct engine *engine, unsigned number)
{
	if (number >= engine->server_count) {
		size_t count = number + 1u;

		engine->servers = realloc(engine->servers, count * sizeof(*engine->servers));
		if (!engine->servers)
			abort();
		memset(engine->servers + engine->server_count, 0,
		       (count - engine->server_count) * sizeof(*engine->servers));
		engine->server_count = count;
	}
	return &engine->servers[number];
}

bool server_is_down(const struct engine *engine, unsigned server)
{
	return server < engine->server_count && engine->servers[server].down_since_ms;
}

/* At the cap never less than the cap: with fifty controllers that is what vtctld sees of them. */
static int64_t try_delay_ms(struct engine *engine, unsigned failures)
{
	int64_t delay_ms = TRY_CAP_MS;

	if (failures < 6)
		delay_ms = (TRY_BASE_MS << failures) / 2;
	return delay_ms + (int64_t)(engine_chance(engine) % (uint64_t)(failures < 6 ? delay_ms : delay_ms / 5));
}

int64_t server_wait_ms(struct engine *engine, unsigned number)
{
	struct server *server = server_get(engine, number);

	if (!server->down_since_ms)
		return 0;
	if (engine->now_ms < server->next_try_ms)
		return server->next_try_ms - engine->now_ms + (int64_t)(engine_chance(engine) % CROWD_MS);
	server->next_try_ms = engine->now_ms + engine->config.read_timeout_ms + TRY_CAP_MS; /* until it is answered */
	return 0;
}

/*
 * Only the topology's calls tell: the others ask tablets, and a dead primary is no dead vtctld. Codes: 4
 * DEADLINE_EXCEEDED, 14 UNAVAILABLE.
 */
static bool is_silence(const struct vtctld_reply *reply)
{
	bool topology = reply->method == VTCTLD_GET_KEYSPACES || reply->method == VTCTLD_FIND_ALL_SHARDS;

	if (reply->outcome == VTCTLD_NOT_SENT)
		return true;
	return topology && reply->outcome == VTCTLD_UNKNOWN && (reply->code == 4 || reply->code == 14);
}

static void came_back(struct engine *engine, const struct keyspace *keyspace, struct server *server)
{
	news_add(engine, NEWS_SERVER, keyspace, NULL, "vtctld answers again after %lld s",
		 (long long)(engine->now_ms - server->down_since_ms) / 1000);
	server->down_since_ms = 0;
	server->failures = 0;
}

static void went_away(struct engine *engine, const struct keyspace *keyspace, struct server *server, const char *text)
{
	server->down_since_ms = engine->now_ms;
	news_add(engine, NEWS_SERVER, keyspace, NULL,
		 "vtctld does not answer: %.600s; nothing is sent, it is asked again until it does", text)->warning = true;
}

void server_answered(struct engine *engine, const struct pending *pending, const struct vtctld_reply *reply)
{
	struct server *server = server_get(engine, pending->server);

	if (is_silence(reply)) {
		/* several calls that were under way together are one failure */
		if (server->down_since_ms && pending->sent_at_ms < server->down_since_ms)
			return;
		if (!server->down_since_ms)
			went_away(engine, pending->keyspace, server, reply->text);
		server->next_try_ms = engine->now_ms + try_delay_ms(engine, server->failures++);
	} else if (server->down_since_ms && (reply->outcome == VTCTLD_DONE || reply->outcome == VTCTLD_REFUSED)) {
		came_back(engine, pending->keyspace, server);
	}
}

void server_hurry(struct engine *engine)
{
	for (size_t i = 0; i < engine->server_count; i++) {
		engine->servers[i].failures = 0;
		engine->servers[i].next_try_ms = engine->now_ms;
	}
}

int64_t engine_server_down_ms(const struct engine *engine, unsigned server)
{
	return server_is_down(engine, server) ? engine->wall_ms - (engine->now_ms - engine->servers[server].down_since_ms)
					      : 0;
}
