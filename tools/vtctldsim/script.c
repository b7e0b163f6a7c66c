#include "script.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define NEVER INT64_MAX

struct script_event {
	int64_t at_ms; /* NEVER: bound to a call */
	enum vtctld_method method;
	unsigned nth; /* calls to go */
	bool is_over;
	const json_t *entry; /* in script->root */
};

struct script {
	json_t *root;
	struct script_event *events;
	size_t count;
};

/* ---- What an entry may say ---- */

static const char *const fault_keys[] = { "on",	  "nth",      "times", "when",	  "shards",  "code",
					  "text", "delay_ms", "drop",  "missing", "doubled", NULL };

struct verb {
	const char *name;
	const char *keys[6]; /* beside do, at_ms, on, nth */
	const char *needs;   /* a key that must be there; NULL: none */
	void (*act)(struct fleet *fleet, const json_t *entry, const char *newest_uuid);
};

static const char *text_of(const json_t *entry, const char *key)
{
	return json_string_value(json_object_get(entry, key));
}

static bool truth_of(const json_t *entry, const char *key, bool if_absent)
{
	const json_t *value = json_object_get(entry, key);

	return value != NULL ? json_is_true(value) : if_absent;
}

static const char *uuid_of(const json_t *entry, const char *newest_uuid)
{
	const char *uuid = text_of(entry, "uuid");

	if (uuid == NULL || strcmp(uuid, "*") == 0)
		uuid = newest_uuid;
	return uuid != NULL ? uuid : "";
}

/* _TABLET_EVENT_MAX: none of them. */
static int tablet_event_find(const char *name)
{
	static const char *const names[_TABLET_EVENT_MAX] = { [TABLET_STOP] = "stop",
							      [TABLET_KILL] = "kill",
							      [TABLET_PAUSE] = "pause",
							      [TABLET_RESUME] = "resume",
							      [TABLET_START] = "start" };
	int event = 0;

	while (event < _TABLET_EVENT_MAX && (name == NULL || strcmp(names[event], name) != 0))
		event++;
	return event;
}

static void act_tablet(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_tablet(fleet, text_of(entry, "shard"),
			   (enum tablet_event)tablet_event_find(text_of(entry, "event")));
}

static void act_reparent(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_reparent(fleet, text_of(entry, "shard"), truth_of(entry, "emergency", false));
}

static void act_forget_dead(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	fleet_forget_dead(fleet, text_of(entry, "shard"));
}

static void act_vtctld(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	fleet_vtctld(fleet, truth_of(entry, "up", true));
}

static void act_remove_shard(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_remove_shard(fleet, text_of(entry, "shard"));
}

static void act_add_shard(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_add_shard(fleet, text_of(entry, "shard"), truth_of(entry, "serving", true));
}

static void act_block_cutover(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_block_cutover(fleet, text_of(entry, "shard"), truth_of(entry, "blocked", true));
}

static void act_hold_copy(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_hold_copy(fleet, text_of(entry, "shard"), truth_of(entry, "held", true));
}

static void act_unready(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_unready(fleet, text_of(entry, "shard"), truth_of(entry, "unready", true));
}

static void act_throttle(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_throttle(fleet, text_of(entry, "shard"), truth_of(entry, "held", true));
}

static void act_mysqld(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	static const struct {
		const char *key, *variable;
	} said[] = { { "version", "@@version" },
		     { "read_only", "@@global.read_only" },
		     { "performance_schema", "@@performance_schema" } };

	(void)newest_uuid;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const json_t *value = json_object_get(entry, said[i].key);

		if (value != NULL)
			(void)fleet_variable(fleet, text_of(entry, "shard"), said[i].variable,
					     json_is_string(value) ? json_string_value(value)
					     : json_is_true(value) ? "1"
								   : "0");
	}
}

static void act_exec(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	(void)newest_uuid;
	(void)fleet_exec(fleet, text_of(entry, "shard"), text_of(entry, "ddl"));
}

static void act_cancel(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	fleet_cancel(fleet, uuid_of(entry, newest_uuid), text_of(entry, "shard"));
}

static void act_complete(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	fleet_complete(fleet, uuid_of(entry, newest_uuid), text_of(entry, "shard"));
}

static void act_retry(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	fleet_retry(fleet, uuid_of(entry, newest_uuid), text_of(entry, "shard"));
}

static void act_fail(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	fleet_fail(fleet, uuid_of(entry, newest_uuid), text_of(entry, "shard"), text_of(entry, "message"));
}

static void act_submit_foreign(struct fleet *fleet, const json_t *entry, const char *newest_uuid)
{
	const char *uuid = text_of(entry, "uuid"), *context = text_of(entry, "context");

	(void)newest_uuid;
	fleet_submit_foreign(fleet, uuid != NULL ? uuid : "f0e1d2c3_0000_4000_8000_000000000001",
			     context != NULL ? context : "foreign", text_of(entry, "shard"),
			     text_of(entry, "ddl"));
}

static const struct verb verbs[] = {
	{ "tablet", { "shard", "event" }, "event", act_tablet },
	{ "reparent", { "shard", "emergency" }, "shard", act_reparent },
	{ "forget_dead", { "shard" }, "shard", act_forget_dead },
	{ "vtctld", { "up" }, "up", act_vtctld },
	{ "remove_shard", { "shard" }, "shard", act_remove_shard },
	{ "add_shard", { "shard", "serving" }, "shard", act_add_shard },
	{ "block_cutover", { "shard", "blocked" }, "shard", act_block_cutover },
	{ "hold_copy", { "shard", "held" }, "shard", act_hold_copy },
	{ "unready", { "shard", "unready" }, "shard", act_unready },
	{ "throttle", { "shard", "held" }, "shard", act_throttle },
	{ "mysqld", { "shard", "version", "read_only", "performance_schema" }, "shard", act_mysqld },
	{ "exec", { "shard", "ddl" }, "ddl", act_exec },
	{ "cancel", { "uuid", "shard" }, NULL, act_cancel },
	{ "complete", { "uuid", "shard" }, NULL, act_complete },
	{ "retry", { "uuid", "shard" }, NULL, act_retry },
	{ "fail", { "uuid", "shard", "message" }, "shard", act_fail },
	{ "submit_foreign", { "uuid", "context", "shard", "ddl" }, "ddl", act_submit_foreign },
};

/* ---- Reading ---- */

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static bool keys_have(const char *const *keys, const char *key)
{
	for (; *keys != NULL; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

static int keys_check(const char *path, size_t number, const json_t *entry, const char *const *keys,
		      const char *const *more, struct error *reterr)
{
	static const char *const words[] = { "on",    "when",  "shards", "text", "missing", "doubled", "do",
					     "shard", "event", "ddl",	 "uuid", "context", "message", "version", NULL };
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)entry, key, value)
	{
		bool is_number = strcmp(key, "nth") == 0 || strcmp(key, "times") == 0 ||
				 strcmp(key, "code") == 0 || strcmp(key, "delay_ms") == 0 ||
				 strcmp(key, "at_ms") == 0;

		if (!keys_have(keys, key) && !keys_have(more, key))
			return error_set(reterr, ERROR_CONFIG,
					 "%s, entry %zu: the key \"%s\" is not known there", path, number,
					 key);
		if (is_number		    ? !json_is_integer(value) || json_integer_value(value) < 0
		    : keys_have(words, key) ? !json_is_string(value)
					    : !json_is_boolean(value))
			return error_set(reterr, ERROR_CONFIG,
					 "%s, entry %zu: the value of \"%s\" must be %s", path, number, key,
					 is_number		 ? "a number, not below 0"
					 : keys_have(words, key) ? "a text"
								 : "true or false");
	}
	return 0;
}

static bool shard_is_known(const json_t *root, const struct fleet *fleet, const char *name, size_t length)
{
	const json_t *entry;
	size_t i;

	for (i = 0; i < fleet_shard_count(fleet); i++)
		if (strlen(fleet_shard_name(fleet, i)) == length &&
		    strncmp(fleet_shard_name(fleet, i), name, length) == 0)
			return true;
	json_array_foreach(root, i, entry)
	{
		const char *verb = text_of(entry, "do"), *added = text_of(entry, "shard");

		if (verb != NULL && strcmp(verb, "add_shard") == 0 && added != NULL &&
		    strlen(added) == length && strncmp(added, name, length) == 0)
			return true;
	}
	return false;
}

/* A misspelt shard would be an event that never happens, and a test that tests nothing. */
static int shards_check(const char *path, size_t number, const json_t *entry, const json_t *root,
			const struct fleet *fleet, struct error *reterr)
{
	static const char *const keys[] = { "shard", "shards", "missing", "doubled" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *list = text_of(entry, keys[i]);

		while (list != NULL && *list != '\0') {
			size_t length = strcspn(list, ",");

			if (!shard_is_known(root, fleet, list, length))
				return error_set(reterr, ERROR_CONFIG,
						 "%s, entry %zu: there is no shard '%.*s'", path, number,
						 (int)length, list);
			list += length + (list[length] == ',' ? 1 : 0);
		}
	}
	return 0;
}

static int method_read(const char *path, size_t number, const json_t *entry, enum vtctld_method *ret,
		       struct error *reterr)
{
	const char *name = text_of(entry, "on");

	for (int i = 0; name != NULL && i < _VTCTLD_METHOD_MAX; i++)
		if (strcmp(vtctld_method_name((enum vtctld_method)i), name) == 0) {
			*ret = (enum vtctld_method)i;
			return 0;
		}
	return error_set(reterr, ERROR_CONFIG, "%s, entry %zu: \"on\" must name an RPC, such as ApplySchema",
			 path, number);
}

static int fault_read(const char *path, size_t number, const json_t *entry, struct fault *ret,
		      struct error *reterr)
{
	static const char *const none[] = { NULL };
	const char *when = text_of(entry, "when");

	if (keys_check(path, number, entry, fault_keys, none, reterr) < 0 ||
	    method_read(path, number, entry, &ret->method, reterr) < 0)
		return -1;
	if (when != NULL && strcmp(when, "before") != 0 && strcmp(when, "after") != 0)
		return error_set(reterr, ERROR_CONFIG, "%s, entry %zu: \"when\" must be before or after",
				 path, number);
	ret->when = when != NULL && strcmp(when, "after") == 0 ? FAULT_AFTER : FAULT_BEFORE;
	ret->nth = (unsigned)json_integer_value(json_object_get(entry, "nth"));
	ret->times = (unsigned)json_integer_value(json_object_get(entry, "times"));
	ret->code = (int)json_integer_value(json_object_get(entry, "code"));
	ret->delay_ms = json_integer_value(json_object_get(entry, "delay_ms"));
	ret->drop = truth_of(entry, "drop", false);
	ret->shards = text_of(entry, "shards");
	ret->text = text_of(entry, "text");
	ret->missing = text_of(entry, "missing");
	ret->doubled = text_of(entry, "doubled");
	return 0;
}

static int event_read(const char *path, size_t number, const json_t *entry, int64_t now_ms,
		      struct script_event *ret, struct error *reterr)
{
	static const char *const common[] = { "do", "at_ms", "on", "nth", NULL };
	const struct verb *verb = verb_find(text_of(entry, "do"));
	bool is_bound = json_object_get(entry, "on") != NULL;

	*ret = (struct script_event){ .entry = entry, .at_ms = NEVER };
	if (verb == NULL)
		return error_set(reterr, ERROR_CONFIG, "%s, entry %zu: there is no such thing to \"do\"",
				 path, number);
	if (keys_check(path, number, entry, common, verb->keys, reterr) < 0)
		return -1;
	if (verb->needs != NULL && json_object_get(entry, verb->needs) == NULL)
		return error_set(reterr, ERROR_CONFIG, "%s, entry %zu: \"%s\" needs the key \"%s\"", path,
				 number, verb->name, verb->needs);
	if (json_object_get(entry, "event") != NULL &&
	    tablet_event_find(text_of(entry, "event")) == _TABLET_EVENT_MAX)
		return error_set(reterr, ERROR_CONFIG,
				 "%s, entry %zu: \"event\" must be stop, kill, pause, resume or start", path,
				 number);
	if (is_bound) {
		ret->nth = (unsigned)json_integer_value(json_object_get(entry, "nth"));
		ret->nth += ret->nth == 0 ? 1 : 0;
		return method_read(path, number, entry, &ret->method, reterr);
	}
	ret->at_ms = now_ms + json_integer_value(json_object_get(entry, "at_ms"));
	return 0;
}

static int entries_read(struct script *script, const char *path, struct fleet *fleet, int64_t now_ms,
			struct error *reterr)
{
	size_t count = json_array_size(script->root);
	struct fault *faults = calloc(count + 1, sizeof(*faults));
	size_t fault_count = 0, i;
	json_t *entry;
	int result = 0;

	script->events = calloc(count + 1, sizeof(*script->events));
	if (faults == NULL || script->events == NULL)
		abort();
	json_array_foreach(script->root, i, entry)
	{
		if (!json_is_object(entry))
			result = error_set(reterr, ERROR_CONFIG, "%s, entry %zu: it must be an object", path,
					   i + 1);
		else if (json_object_get(entry, "do") == NULL)
			result = fault_read(path, i + 1, entry, &faults[fault_count++], reterr);
		else
			result = event_read(path, i + 1, entry, now_ms, &script->events[script->count++],
					    reterr);
		if (result == 0)
			result = shards_check(path, i + 1, entry, script->root, fleet, reterr);
		if (result < 0)
			break;
	}
	for (i = 0; result == 0 && i < fault_count; i++)
		fleet_fault(fleet, &faults[i]);
	free(faults);
	return result;
}

int script_open(const char *path, struct fleet *fleet, int64_t now_ms, struct script **ret,
		struct error *reterr)
{
	struct script *script = calloc(1, sizeof(*script));
	json_error_t error;

	if (script == NULL)
		abort();
	script->root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (script->root == NULL) {
		script_free(script);
		return error_set(reterr, ERROR_CONFIG, "Cannot read the script %s (line %d): %s", path,
				 error.line > 0 ? error.line : 0, error.text);
	}
	if (!json_is_array(script->root)) {
		script_free(script);
		return error_set(reterr, ERROR_CONFIG, "The script %s must be a JSON array of objects", path);
	}
	if (entries_read(script, path, fleet, now_ms, reterr) < 0) {
		script_free(script);
		return -1;
	}
	*ret = script;
	return 0;
}

struct script *script_free(struct script *script)
{
	if (script == NULL)
		return NULL;
	json_decref(script->root);
	free(script->events);
	free(script);
	return NULL;
}

/* ---- Running ---- */

static void event_act(struct script_event *event, struct fleet *fleet, const char *newest_uuid)
{
	const struct verb *verb = verb_find(text_of(event->entry, "do"));

	assert(verb != NULL); /* event_read() refused what is no verb */
	event->is_over = true;
	verb->act(fleet, event->entry, newest_uuid);
}

int64_t script_next_ms(const struct script *script)
{
	int64_t next = NEVER;

	for (size_t i = 0; script != NULL && i < script->count; i++)
		if (!script->events[i].is_over && script->events[i].at_ms < next)
			next = script->events[i].at_ms;
	return next;
}

void script_run(struct script *script, struct fleet *fleet, int64_t now_ms, const char *newest_uuid)
{
	for (size_t i = 0; script != NULL && i < script->count; i++)
		if (!script->events[i].is_over && script->events[i].at_ms <= now_ms)
			event_act(&script->events[i], fleet, newest_uuid);
}

void script_on_call(struct script *script, struct fleet *fleet, enum vtctld_method method,
		    const char *newest_uuid)
{
	for (size_t i = 0; script != NULL && i < script->count; i++) {
		struct script_event *event = &script->events[i];

		if (!event->is_over && event->at_ms == NEVER && event->method == method && --event->nth == 0)
			event_act(event, fleet, newest_uuid);
	}
}
