/* /api/v1/...: JSON of what the engine and the store know, for the dashboard and for scripts. */
#include <string.h>

#include "json.h"
#include "serve.h"
#include "version.h"
#include "vtddl/clock.h"

json_t *api_error(const char *code, const char *text)
{
	json_t *object = json_object_of("error");

	json_object_set_new(object, "error", json_pack("{s:s, s:o}", "code", code, "text", json_text(text)));
	return object;
}

static json_t *seconds_or_null(int64_t seconds)
{
	return seconds < 0 ? json_null() : json_integer(seconds);
}

/* ---- One change ---- */

static json_t *change_json(const struct resident_view *view)
{
	const struct live_change *change = view->change;
	const struct progress *progress = &view->progress;
	json_t *object = json_object();

	json_object_set_new(object, "keyspace", json_text(change->keyspace));
	json_object_set_new(object, "table", json_text(change->table));
	json_object_set_new(object, "uuid", json_text(change->uuid));
	json_object_set_new(object, "phase", json_string(phase_name(change->phase)));
	json_object_set_new(object, "gate", json_string(gate_name(change->gate)));
	json_object_set_new(object, "cancel_asked", json_boolean(change->cancel_asked));
	json_object_set_new(object, "reason", json_text(view->reason));
	json_object_set_new(object, "rule", json_integer(view->rule ? view->rule : change->rule));
	json_object_set_new(object, "leader", json_boolean(view->leader));
	json_object_set_new(object, "holder", json_text(view->holder));
	json_object_set_new(object, "created_at", json_time(change->created_at_ms));
	json_object_set_new(object, "updated_at", json_time(change->updated_at_ms));
	json_object_set_new(object, "deadline_at", json_time(change->deadline_at_ms));
	json_object_set_new(object, "seen_at", json_time(view->seen_at_ms));
	json_object_set_new(object, "shards_expected", json_integer((json_int_t)progress->shards_expected));
	json_object_set_new(object, "shards_seen", json_integer((json_int_t)progress->shards_seen));
	json_object_set_new(object, "shards_ready", json_integer((json_int_t)progress->shards_ready));
	json_object_set_new(object, "shards_complete", json_integer((json_int_t)progress->shards_complete));
	json_object_set_new(object, "progress", json_real(progress->slowest));
	json_object_set_new(object, "eta_seconds", seconds_or_null(progress->worst_eta_s));
	return object;
}

static json_t *shards_json(const struct resident_view *view)
{
	json_t *array = json_array();

	for (size_t i = 0; i < view->shard_count; i++) {
		const struct shard_brief *shard = &view->shards[i];
		json_t *object = json_object();

		json_object_set_new(object, "shard", json_text(view->shard_names[i]));
		json_object_set_new(object, "status", json_string(migration_status_name(shard->status)));
		json_object_set_new(object, "held", json_boolean(shard->held));
		json_object_set_new(object, "ready", json_boolean(shard->ready));
		json_object_set_new(object, "absent", json_boolean(shard->absent));
		json_object_set_new(object, "progress", json_integer(shard->progress));
		json_object_set_new(object, "eta_seconds", seconds_or_null(shard->eta_s));
		json_array_append_new(array, object);
	}
	return array;
}

void api_change(const struct serve *serve, const struct question *question, struct answer *ret)
{
	struct engine *engine = serve->session.engine;
	const struct resident_view *view = NULL;

	for (size_t i = 0, count = engine_residents(engine); i < count; i++) {
		view = engine_resident(engine, i);
		if (!strcmp(view->change->uuid, question->uuid))
			break;
		view = NULL;
	}
	if (!view) {
		ret->status = 404;
		return;
	}
	ret->json = json_object_of("change");
	json_object_set_new(ret->json, "change", change_json(view));
	json_object_set_new(ret->json, "shards", shards_json(view));
}

/* What a person may do. */
static json_t *advice_json(const struct change *change)
{
	const char *keyspace = change->keyspace, *uuid = change->uuid;

	if (change->phase == PHASE_SUBMITTED && change->gate == GATE_MANUAL && !change->cancel_asked)
		return json_sprintf("`vtddl complete %s %s` releases it, `vtddl cancel %s %s` withdraws it",
				    keyspace, uuid, keyspace, uuid);
	if (change->phase == PHASE_FAILED)
		return json_sprintf(
			"fix the cause, withdraw the shards that are held with `vtddl cancel %s %s`, "
			"then run the statement with --again",
			keyspace, uuid);
	if (change->phase == PHASE_STOPPED)
		return json_sprintf("look at every shard with `vtddl show %s %s`", keyspace, uuid);
	return json_string("");
}

static json_t *record_json(const struct change *change)
{
	const struct live_change live = {
		.keyspace = change->keyspace,
		.table = change->table,
		.uuid = change->uuid,
		.phase = change->phase,
		.gate = change->gate,
		.cancel_asked = change->cancel_asked,
		.rule = change->rule,
		.created_at_ms = change->created_at_ms,
		.updated_at_ms = change->updated_at_ms,
		.deadline_at_ms = change->deadline_at_ms,
	};
	const struct resident_view view = {
		.change = &live,
		.reason = change->reason,
		.holder = "",
		.progress = { .shards_expected = change->shard_count, .worst_eta_s = -1 },
	};

	return change_json(&view);
}

/* Another process may have written the record since this one surveyed the store: what the record says is so,
 * and what it waits for is known only while it is where we think. */
static void correct(json_t *known, json_t *record)
{
	static const char *const always[] = { "phase", "gate", "cancel_asked", "updated_at", "deadline_at" };
	static const char *const if_moved[] = { "rule", "reason" };
	bool moved = !json_equal(json_object_get(known, "phase"), json_object_get(record, "phase"));

	for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
		json_object_set(known, always[i], json_object_get(record, always[i]));
	for (size_t i = 0; moved && i < sizeof if_moved / sizeof if_moved[0]; i++)
		json_object_set(known, if_moved[i], json_object_get(record, if_moved[i]));
}

/* What only the record knows, and of one that has ended all there is. */
json_t *api_record(json_t *object, const struct change *change, const struct history_entry *history,
		   size_t count)
{
	json_t *known, *record = record_json(change);

	if (object) {
		correct(json_object_get(object, "change"), record);
		json_decref(record);
	} else {
		object = json_object_of("change");
		json_object_set_new(object, "change", record);
		json_object_set_new(object, "shards", json_array());
	}
	known = json_object_get(object, "change");
	json_object_set_new(known, "context", json_text(change->context));
	json_object_set_new(known, "generation", json_integer(change->generation));
	json_object_set_new(known, "ddl", json_text(change->ddl));
	json_object_set_new(known, "strategy", json_text(change->strategy));
	json_object_set_new(known, "created_by", json_text(change->created_by));
	json_object_set_new(known, "adopted", json_boolean(change->adopted));
	json_object_set_new(known, "advice", advice_json(change));
	json_object_set_new(object, "history", json_history(history, count));
	return object;
}

json_t *api_history(const struct change *changes, size_t count)
{
	json_t *object = json_object_of("history"), *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			array,
			json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "keyspace",
				  json_text(changes[i].keyspace), "table", json_text(changes[i].table),
				  "uuid", json_text(changes[i].uuid), "phase", phase_name(changes[i].phase),
				  "created_at", json_time(changes[i].created_at_ms), "updated_at",
				  json_time(changes[i].updated_at_ms), "created_by",
				  json_text(changes[i].created_by), "reason", json_text(changes[i].reason)));
	json_object_set_new(object, "changes", array);
	return object;
}

/* ---- The list ---- */

static bool matches(const struct resident_view *view, const struct question *question)
{
	const struct live_change *change = view->change;
	const char *search = question->search;

	if (question->phase != _PHASE_INVALID && change->phase != question->phase)
		return false;
	return !search[0] || strcasestr(change->keyspace, search) || strcasestr(change->table, search) ||
	       strcasestr(change->uuid, search) || strcasestr(view->reason, search);
}

static void add_changes(struct engine *engine, const struct question *question, json_t *object)
{
	size_t totals[_PHASE_MAX] = { 0 }, matching = 0;
	json_t *array = json_array(), *phases = json_object();

	for (size_t i = 0, count = engine_residents(engine); i < count; i++) {
		const struct resident_view *view = engine_resident(engine, i);

		totals[view->change->phase]++;
		if (!matches(view, question))
			continue;
		if (matching >= question->offset && matching - question->offset < question->limit)
			json_array_append_new(array, change_json(view));
		matching++;
	}
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		json_object_set_new(phases, phase_name((enum phase)phase),
				    json_integer((json_int_t)totals[phase]));
	json_object_set_new(object, "totals", phases);
	json_object_set_new(object, "count", json_integer((json_int_t)matching));
	json_object_set_new(object, "changes", array);
}

static json_t *keyspaces_json(const struct serve *serve)
{
	json_t *array = json_array();

	for (size_t i = 0, count = engine_keyspaces(serve->session.engine); i < count; i++) {
		const struct keyspace_view *view = engine_keyspace(serve->session.engine, i);
		bool ends = view->leader && view->lease_left_ms != LEASE_NO_END;
		json_t *object = json_object();

		json_object_set_new(object, "keyspace", json_text(view->name));
		json_object_set_new(object, "server", json_text(serve->session.servers[view->server]));
		json_object_set_new(object, "leader", json_boolean(view->leader));
		json_object_set_new(object, "holder", json_text(view->holder));
		json_object_set_new(object, "epoch", json_integer(view->epoch));
		json_object_set_new(object, "lease_left_seconds",
				    ends ? json_integer(view->lease_left_ms / 1000) : json_null());
		json_object_set_new(object, "observed_at", json_time(view->observed_at_ms));
		json_object_set_new(object, "changes", json_integer((json_int_t)view->changes));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *servers_json(const struct serve *serve)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < serve->session.server_count; i++) {
		int64_t down_ms = engine_server_down_ms(serve->session.engine, i);

		json_array_append_new(array, json_pack("{s:o, s:b, s:o}", "server",
						       json_text(serve->session.servers[i]), "answering",
						       down_ms == 0, "down_since", json_time(down_ms)));
	}
	return array;
}

void api_changes(const struct serve *serve, const struct question *question, struct answer *ret)
{
	const struct session *session = &serve->session;
	int64_t live_at_ms;
	json_t *object = json_object_of("changes");

	ret->json = object;
	json_object_set_new(object, "cluster", json_text(options_text(session->options, OPT_CLUSTER)));
	json_object_set_new(object, "now", json_time(clock_wall_ms()));
	json_object_set_new(object, "version", json_string(VTDDL_VERSION));
	json_object_set_new(object, "actor", json_text(session->actor));
	json_object_set_new(object, "keyspaces", keyspaces_json(serve));
	json_object_set_new(object, "servers", servers_json(serve));
	json_object_set_new(object, "store",
			    json_pack("{s:o, s:o}", "url", json_text(store_url(session->store)), "trouble",
				      json_text(engine_store_trouble(session->engine, &live_at_ms))));
	add_changes(session->engine, question, object);
}
