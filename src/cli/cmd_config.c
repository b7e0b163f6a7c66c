#include "command.h"

#include <stdio.h>

#include "json.h"
#include "output.h"
#include "servers.h"
#include "session.h"

/* The store is the one setting whose default is made from the environment. */
static const char *made_default(struct options *options, enum option_id id)
{
	return id == OPT_STORE ? session_store_url(options) : NULL;
}

static void print_setting(enum option_id id, const struct option_value *value, const char *text)
{
	printf("%-30s ", option_table[id].name);
	output_shown(stdout, text ? text : option_table[id].argument ? "(not set)" : "false", 200);
	printf("   # %s%s\n", value->where, option_table[id].reloadable ? ", reloadable" : "");
}

/* The servers of single keyspaces; they stand behind `server` itself. */
static void show_servers(const struct options *options, json_t *settings)
{
	for (size_t i = 0; i < options->server_count; i++) {
		const struct server_option *server = &options->servers[i];

		if (!server_is_in_force(options, server))
			continue;
		if (!output_is_json())
			printf("server.%-23s %s   # %s, reloadable\n", server->keyspace, server->address,
			       server->where);
		json_array_append_new(settings, json_pack("{s:o, s:o, s:o, s:b}", "name",
							  json_sprintf("server.%s", server->keyspace),
							  "value", json_text(server->address), "source",
							  json_text(server->where), "reloadable", 1));
	}
}

static json_t *setting_json(enum option_id id, const struct option_value *value, const char *preset)
{
	json_t *object = json_object(), *texts = json_array();

	for (size_t i = 0; i < value->count; i++)
		json_array_append_new(texts, json_text(value->texts[i]));
	json_object_set_new(object, "name", json_text(option_table[id].name));
	if (option_table[id].type == OPTION_LIST) {
		json_object_set_new(object, "value", texts);
	} else {
		json_decref(texts);
		json_object_set_new(object, "value", json_text(value->count ? value->texts[0] : preset));
	}
	json_object_set_new(object, "source", json_text(value->where));
	json_object_set_new(object, "reloadable", json_boolean(option_table[id].reloadable));
	return object;
}

int cmd_config_show(const struct call *call)
{
	json_t *settings = json_array(), *object;

	for (int id = 0; id < _OPTION_MAX; id++) {
		const struct option_value *value = &call->options->values[id];

		const char *preset = made_default(call->options, (enum option_id)id);

		if (!option_table[id].settable)
			continue;
		json_array_append_new(settings, setting_json((enum option_id)id, value, preset));
		for (size_t i = 0; i < (value->count ? value->count : 1) && !output_is_json(); i++)
			print_setting((enum option_id)id, value, value->count ? value->texts[i] : preset);
		if (id == OPT_SERVER)
			show_servers(call->options, settings);
	}
	if (!output_is_json()) {
		json_decref(settings);
		return EXIT_DONE;
	}
	object = json_object_of("config");
	json_object_set_new(object, "settings", settings);
	json_print(object);
	return EXIT_DONE;
}
