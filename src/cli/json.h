#pragma once
/*
 * json: the objects that --json prints. Every object has schema_version and kind; a migration
 * has the field names and forms of vtctldclient (protojson: 64-bit numbers are strings).
 */
#include <jansson.h>

#include "vtddl/change.h"
#include "vtddl/engine.h"
#include "vtddl/error.h"
#include "vtddl/vtctld.h"

#define JSON_SCHEMA_VERSION 1

/** json_text() - a string; what is not UTF-8 is escaped as on a terminal. NULL: null */
json_t *json_text(const char *text);

/** json_time() - RFC 3339 in UTC; 0: null */
json_t *json_time(int64_t wall_ms);

/** json_object_of() - {"schema_version": 1, "kind": @kind} */
json_t *json_object_of(const char *kind);

json_t *json_error(int exit_code, const struct error *err);
json_t *json_change(const struct change *change);
json_t *json_history(const struct history_entry *entries, size_t count);
json_t *json_migration(const struct migration *row);
json_t *json_shard_view(const struct change *change, const struct shard_view *shard, size_t index);

/** json_print() - on standard output, with a line feed; takes over @object */
void json_print(json_t *object);
