#include "journal.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/clock.h"

struct journal {
	FILE *file;
};

int journal_open(const char *path, struct journal **ret, struct error *reterr)
{
	FILE *file = fopen(path, "ae");
	struct journal *journal;

	if (file == NULL)
		return error_set(reterr, ERROR_CONFIG, "Cannot write the journal %s: %s", path,
				 strerror(errno));
	journal = calloc(1, sizeof(*journal));
	if (journal == NULL)
		abort();
	journal->file = file;
	*ret = journal;
	return 0;
}

struct journal *journal_close(struct journal *journal)
{
	if (journal == NULL)
		return NULL;
	fclose(journal->file);
	free(journal);
	return NULL;
}

/* Text of a client may be no UTF-8; jansson refuses that, so it is shown as \xNN by byte. */
static json_t *shown(const char *text)
{
	json_t *value = json_string(text);
	char *safe;
	size_t length = 0;

	if (value != NULL)
		return value;
	safe = calloc(strlen(text) * 4 + 1, 1);
	if (safe == NULL)
		abort();
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
		length += (size_t)snprintf(safe + length, 5, *c < 0x80 ? "%c" : "\\x%02x", *c);
	value = json_string(safe);
	free(safe);
	return value;
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text != NULL && *text != '\0')
		json_object_set_new(object, key, shown(text));
}

static json_t *request_json(const struct vtctld_request *request)
{
	json_t *object = json_object();
	char alias[ALIAS_TEXT_SIZE];

	set_text(object, "keyspace", request->keyspace);
	set_text(object, "uuid", request->uuid);
	set_text(object, "migration_context", request->context);
	set_text(object, "ddl_strategy", request->strategy);
	set_text(object, "sql", request->sql);
	set_text(object, "table", request->table);
	set_text(object, "caller_id", request->caller_id);
	if (request->tablet.uid != 0) {
		tablet_alias_format(&request->tablet, alias);
		set_text(object, "tablet", alias);
	}
	if (request->limit != 0)
		json_object_set_new(object, "limit", json_integer((json_int_t)request->limit));
	json_object_set_new(object, "timeout_ms", json_integer(request->timeout_ms));
	return object;
}

static json_t *list_json(const char *list)
{
	json_t *array = json_array();

	while (*list != '\0') {
		size_t length = strcspn(list, ",");

		json_array_append_new(array, json_stringn(list, length));
		list += length + (list[length] == ',' ? 1 : 0);
	}
	return array;
}

void journal_write(void *user, const struct fleet_journal_entry *entry)
{
	struct journal *journal = user;
	json_t *line = json_object();
	char time[CLOCK_TEXT_SIZE];

	clock_format(clock_wall_ms(), time);
	json_object_set_new(line, "time", json_string(time));
	json_object_set_new(line, "at_ms", json_integer(entry->at_ms));
	json_object_set_new(line, "ended_ms", json_integer(entry->ended_ms));
	json_object_set_new(line, "method", json_string(vtctld_method_name(entry->request->method)));
	json_object_set_new(line, "request", request_json(entry->request));
	json_object_set_new(line, "code", json_integer(entry->code));
	json_object_set_new(line, "text", shown(entry->text));
	json_object_set_new(line, "done", list_json(entry->done));
	(void)json_dumpf(line, journal->file, JSON_COMPACT);
	fputc('\n', journal->file);
	fflush(journal->file);
	json_decref(line);
}
