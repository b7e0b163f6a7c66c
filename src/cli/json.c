#include "json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

json_t *json_text(const char *text)
{
	struct strbuf shown cleanup(strbuf_release);
	json_t *string;

	strbuf_init(&shown, 0);
	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	strbuf_init(&shown, 4 * strlen(text) + 8);
	strbuf_add_shown(&shown, text, strlen(text));
	return json_string(shown.text);
}

json_t *json_time(int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms == 0)
		return json_null();
	clock_format(wall_ms, text);
	return json_string(text);
}

json_t *json_object_of(const char *kind)
{
	return json_pack("{s:i, s:s}", "schema_version", JSON_SCHEMA_VERSION, "kind", kind);
}

json_t *json_error(int exit_code, const struct error *err)
{
	json_t *object = json_object_of("error");

	json_object_set_new(object, "exit_code", json_integer(exit_code));
	json_object_set_new(object, "reasons",
			    json_pack("[{s:s, s:n, s:o, s:n}]", "code", "error", "shard", "text",
				      json_text(err->text), "evidence"));
	return object;
}

/* ---- The record ---- */

json_t *json_change(const struct change *change)
{
	json_t *object;

	if (!change)
		return json_null();
	object = json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:s}", "cluster", change->cluster, "keyspace",
			   change->keyspace, "table", json_text(change->table), "uuid", change->uuid,
			   "migration_context", change->context, "generation", (json_int_t)change->generation,
			   "phase", phase_name(change->phase));
	if (!object)
		return json_null();
	json_object_set_new(object, "statement", json_text(change->ddl));
	json_object_set_new(object, "strategy", json_text(change->strategy));
	json_object_set_new(object, "gate", json_text(gate_name(change->gate)));
	json_object_set_new(object, "rule", change->rule ? json_integer(change->rule) : json_null());
	json_object_set_new(object, "reason", json_text(change->reason));
	json_object_set_new(object, "cancel_asked", json_boolean(change->cancel_asked));
	json_object_set_new(object, "adopted", json_boolean(change->adopted));
	json_object_set_new(object, "last_effect", json_text(effect_name(change->last_effect)));
	json_object_set_new(object, "attempts", json_integer(change->attempts));
	json_object_set_new(object, "epoch", json_integer(change->epoch));
	json_object_set_new(object, "revision", json_integer(change->revision));
	json_object_set_new(object, "created_at", json_time(change->created_at_ms));
	json_object_set_new(object, "created_by", json_text(change->created_by));
	json_object_set_new(object, "updated_at", json_time(change->updated_at_ms));
	json_object_set_new(object, "deadline_at", json_time(change->deadline_at_ms));
	return object;
}

json_t *json_history(const struct history_entry *entries, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct history_entry *entry = &entries[i];
		json_t *object = json_object();

		json_object_set_new(object, "at", json_time(entry->at_ms));
		json_object_set_new(object, "actor", json_text(entry->actor));
		json_object_set_new(object, "from",
				    entry->from == _PHASE_INVALID ? json_null()
								  : json_text(phase_name(entry->from)));
		json_object_set_new(object, "to", json_text(phase_name(entry->to)));
		json_object_set_new(object, "rule", entry->rule ? json_integer(entry->rule) : json_null());
		json_object_set_new(object, "reason", json_text(entry->reason));
		json_object_set_new(object, "evidence", json_text(entry->evidence));
		json_array_append_new(array, object);
	}
	return array;
}

/* ---- A row of schema_migrations, as vtctldclient prints it ---- */

/* 64-bit numbers are strings there. */
static json_t *proto_int64(int64_t number)
{
	return json_sprintf("%lld", (long long)number);
}

/* vttime.Time; vtddl reads whole seconds. */
static json_t *proto_time(int64_t seconds)
{
	return seconds ? json_pack("{s:o, s:i}", "seconds", proto_int64(seconds), "nanoseconds", 0)
		       : json_null();
}

static json_t *proto_status(int status)
{
	char name[32];

	if (status < MIGRATION_UNKNOWN || status > MIGRATION_FAILED)
		return json_integer(status);
	snprintf(name, sizeof name, "%s", migration_status_name(status));
	for (char *at = name; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	return json_string(name);
}

static json_t *proto_strategy(int strategy)
{
	static const char *const names[] = { "VITESS", "GHOST", "PTOSC", "DIRECT", "MYSQL" };

	if (strategy < 0 || strategy >= (int)(sizeof names / sizeof names[0]))
		return json_integer(strategy);
	return json_string(names[strategy]);
}

static json_t *proto_tablet(const struct tablet_alias *alias)
{
	return alias->cell[0] ? json_pack("{s:o, s:I}", "cell", json_text(alias->cell), "uid",
					  (json_int_t)alias->uid)
			      : json_null();
}

static void add_texts(json_t *object, const struct migration *row)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "uuid", row->uuid },
		{ "keyspace", row->keyspace },
		{ "shard", row->shard },
		{ "table", row->table },
		{ "migration_statement", row->statement },
		{ "options", row->options },
		{ "migration_context", row->context },
		{ "ddl_action", row->ddl_action },
		{ "message", row->message },
		{ "stage", row->stage },
		{ "artifacts", row->artifacts },
		{ "special_plan", row->special_plan },
	};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		json_object_set_new(object, texts[i].key, json_text(texts[i].text ? texts[i].text : ""));
}

json_t *json_migration(const struct migration *row)
{
	json_t *object = json_object();

	add_texts(object, row);
	json_object_set_new(object, "strategy", proto_strategy(row->strategy));
	json_object_set_new(object, "status", proto_status(row->status));
	json_object_set_new(object, "requested_at", proto_time(row->requested_at_s));
	json_object_set_new(object, "started_at", proto_time(row->started_at_s));
	json_object_set_new(object, "liveness_timestamp", proto_time(row->liveness_s));
	json_object_set_new(object, "completed_at", proto_time(row->completed_at_s));
	json_object_set_new(object, "reviewed_at", proto_time(row->reviewed_at_s));
	json_object_set_new(object, "ready_to_complete_at", proto_time(row->ready_to_complete_at_s));
	json_object_set_new(object, "tablet", proto_tablet(&row->tablet));
	json_object_set_new(object, "retries", proto_int64(row->retries));
	/* JSON has no word for a number that is none, and the fleet may say one */
	json_object_set_new(object, "progress", isfinite(row->progress) ? json_real(row->progress) : json_null());
	json_object_set_new(object, "eta_seconds", proto_int64(row->eta_s));
	json_object_set_new(object, "rows_copied", proto_int64(row->rows_copied));
	json_object_set_new(object, "table_rows", proto_int64(row->table_rows));
	json_object_set_new(object, "cutover_attempts", json_integer(row->cutover_attempts));
	json_object_set_new(object, "postpone_completion", json_boolean(row->postpone_completion));
	json_object_set_new(object, "postpone_launch", json_boolean(row->postpone_launch));
	json_object_set_new(object, "ready_to_complete", json_boolean(row->ready_to_complete));
	json_object_set_new(object, "is_immediate_operation", json_boolean(row->is_immediate_operation));
	return object;
}

/* ---- A shard as the engine sees it ---- */

json_t *json_shard_view(const struct change *change, const struct shard_view *shard, size_t index)
{
	static const char *const states[_ROW_STATE_MAX] = { "unknown", "absent", "one", "double" };
	const struct shard_look *look = shard->look;
	bool has_row = look && (look->state == ROW_ONE || look->state == ROW_DOUBLE);
	char alias[ALIAS_TEXT_SIZE];
	json_t *object = json_object();

	json_object_set_new(object, "shard", json_text(shard->name));
	if (change && index < change->shard_count) {
		tablet_alias_format(&change->shards[index].primary, alias);
		json_object_set_new(object, "primary", json_text(alias));
	}
	json_object_set_new(object, "row_state", json_string(look ? states[look->state] : "unknown"));
	json_object_set_new(object, "ready", json_boolean(shard->ready));
	json_object_set_new(object, "reason", json_text(shard->reason));
	json_object_set_new(object, "read_directly", json_boolean(look && look->direct));
	json_object_set_new(object, "migration", has_row ? json_migration(&look->row) : json_null());
	return object;
}

void json_print(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	fputc('\n', stdout);
	json_decref(object);
}
