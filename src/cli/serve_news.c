#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"
#include "serve.h"
#include "vtddl/log.h"

static const struct {
	const char *event, *message;
} kinds[_NEWS_KIND_MAX] = {
	[NEWS_CHANGE] = { "change", "change moved" },
	[NEWS_GONE] = { "gone", "change ended" },
	[NEWS_WAITING] = { "waiting", "change waits" },
	[NEWS_REFUSED] = { "refused", "effect refused" },
	[NEWS_LEASE] = { "lease", "lease" },
	[NEWS_SERVER] = { "server", "vtctld" },
	[NEWS_STORE] = { "store", "store" },
};

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static const char *phase_or_null(enum phase phase)
{
	return phase == _PHASE_INVALID ? NULL : phase_name(phase);
}

static void log_news(const struct serve *serve, const struct news *news)
{
	bool found = news->kind == NEWS_CHANGE && news->from == _PHASE_INVALID;
	char rule[16] = "", epoch[24] = "";
	const struct log_field fields[] = {
		{ "cluster", options_text(serve->session.options, OPT_CLUSTER) },
		{ "keyspace", or_null(news->keyspace) },
		{ "uuid", or_null(news->uuid) },
		{ "table", or_null(news->table) },
		{ "phase", phase_or_null(news->phase) },
		{ "from", phase_or_null(news->from) },
		{ "rule", news->rule ? rule : NULL },
		{ "epoch", news->epoch ? epoch : NULL },
		{ "reason", or_null(news->reason) },
		{ NULL, NULL },
	};

	snprintf(rule, sizeof rule, "%d", news->rule);
	snprintf(epoch, sizeof epoch, "%" PRId64, news->epoch);
	log_write(news->warning ? LOG_WARNING : LOG_INFO, found ? "change found" : kinds[news->kind].message,
		  fields);
}

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? json_text(text) : json_null();
}

static void publish(const struct serve *serve, const struct news *news)
{
	json_t *object = json_object();
	char *line;

	json_object_set_new(object, "at", json_time(news->at_ms));
	json_object_set_new(object, "keyspace", text_or_null(news->keyspace));
	json_object_set_new(object, "uuid", text_or_null(news->uuid));
	json_object_set_new(object, "table", text_or_null(news->table));
	json_object_set_new(object, "from", text_or_null(phase_or_null(news->from)));
	json_object_set_new(object, "phase", text_or_null(phase_or_null(news->phase)));
	json_object_set_new(object, "rule", news->rule ? json_integer(news->rule) : json_null());
	json_object_set_new(object, "epoch", news->epoch ? json_integer(news->epoch) : json_null());
	json_object_set_new(object, "reason", json_text(news->reason));
	json_object_set_new(object, "warning", json_boolean(news->warning));
	line = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (!line)
		abort();
	http_publish(serve->http, kinds[news->kind].event, line);
	free(line);
}

void news_tell(const struct serve *serve)
{
	struct news news;

	while (engine_news(serve->session.engine, &news)) {
		log_news(serve, &news);
		if (serve->http)
			publish(serve, &news);
	}
}
