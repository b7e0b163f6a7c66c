/* What a log and a stream of events tell: a ring, of which a slow reader loses the oldest. */
#include "engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct news *news_add(struct engine *engine, enum news_kind kind, const struct keyspace *keyspace,
		      const struct resident *resident, const char *format, ...)
{
	static struct news unheard; /* nobody serves: nobody listens */
	struct news *news = &unheard;
	va_list arguments;

	if (!engine->serving)
		return news;
	if (!engine->news) {
		engine->news = calloc(NEWS_MAX, sizeof(*engine->news));
		if (!engine->news)
			abort();
	}
	if (engine->news_count == NEWS_MAX) {
		engine->news_head = (engine->news_head + 1) % NEWS_MAX;
		engine->news_count--;
	}
	news = &engine->news[(engine->news_head + engine->news_count++) % NEWS_MAX];
	*news = (struct news){ .kind = kind, .at_ms = engine->wall_ms, .from = _PHASE_INVALID, .phase = _PHASE_INVALID };
	if (keyspace) {
		snprintf(news->keyspace, sizeof(news->keyspace), "%s", keyspace->name);
		news->epoch = keyspace->leader ? keyspace->epoch : 0;
	}
	if (resident) {
		snprintf(news->uuid, sizeof(news->uuid), "%s", resident->change.uuid);
		snprintf(news->table, sizeof(news->table), "%s", resident->change.table);
		news->phase = resident->change.phase;
		news->rule = resident->change.rule;
	}
	va_start(arguments, format);
	vsnprintf(news->reason, sizeof(news->reason), format, arguments);
	va_end(arguments);
	return news;
}

bool engine_news(struct engine *engine, struct news *ret)
{
	if (engine->news_count == 0)
		return false;
	*ret = engine->news[engine->news_head];
	engine->news_head = (engine->news_head + 1) % NEWS_MAX;
	engine->news_count--;
	return true;
}
