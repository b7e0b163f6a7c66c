#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "vtctldata.pb-c.h"

/* ---- Small things ---- */

static int no_room(struct error *reterr)
{
	return error_set(reterr, ERROR_PROTOCOL, "the answer needs more memory than is allowed");
}

/* Room for @count members, never of size 0. NULL: over the arena's limit. */
static void *room(struct arena *arena, size_t count, size_t size)
{
	return arena_array(arena, count ? count : 1, size);
}

static int64_t seconds_of(const Vttime__Time *time)
{
	return time ? time->seconds : 0;
}

static int alias_copy(const Topodata__TabletAlias *alias, struct tablet_alias *ret, struct error *reterr)
{
	size_t length;

	*ret = (struct tablet_alias){0};
	if (!alias)
		return 0;
	length = strlen(alias->cell);
	if (length >= sizeof(ret->cell)) /* a name cut short would be another tablet's */
		return error_set(reterr, ERROR_PROTOCOL,
				 "a tablet alias names a cell of %zu bytes, %zu are allowed", length,
				 sizeof(ret->cell) - 1);
	memcpy(ret->cell, alias->cell, length + 1);
	ret->uid = alias->uid;
	return 0;
}

/* ---- Maps: repeated entries; a key that comes again replaces the earlier one ---- */

struct key {
	const char *text;
	size_t index;
};

static int key_compare(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	int order = strcmp(left->text, right->text);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* Sorts, and drops all but the last of equal keys. Return: how many are left. */
static size_t keys_sort(struct key *keys, size_t count)
{
	size_t kept = 0;

	qsort(keys, count, sizeof(*keys), key_compare);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count && !strcmp(keys[i].text, keys[i + 1].text))
			continue;
		keys[kept++] = keys[i];
	}
	return kept;
}

/* ---- Topology ---- */

int decode_keyspaces(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		     struct error *reterr)
{
	const Vtctldata__GetKeyspacesResponse *answer = (const void *)message;
	const char **names = room(arena, answer->n_keyspaces, sizeof(*names));

	if (!names)
		return no_room(reterr);
	for (size_t i = 0; i < answer->n_keyspaces; i++)
		names[i] = answer->keyspaces[i]->name;
	reply->keyspaces.names = names;
	reply->keyspaces.count = answer->n_keyspaces;
	return 0;
}

static int shard_copy(const char *name, const Vtctldata__Shard *record, struct topo_shard *ret,
		      struct error *reterr)
{
	const Topodata__Shard *shard = record ? record->shard : NULL;

	ret->name = name;
	if (!shard)
		return 0;
	if (alias_copy(shard->primary_alias, &ret->primary, reterr) < 0)
		return -1;
	ret->has_primary = ret->primary.cell[0] != '\0'; /* a number without a cell is nobody: it cannot be asked */
	ret->is_serving = shard->is_primary_serving;
	ret->primary_term_start_s = seconds_of(shard->primary_term_start_time);
	if (shard->key_range) {
		ret->range_start = shard->key_range->start.data;
		ret->range_start_length = shard->key_range->start.len;
		ret->range_end = shard->key_range->end.data;
		ret->range_end_length = shard->key_range->end.len;
	}
	return 0;
}

int decode_shards(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		  struct error *reterr)
{
	const Vtctldata__FindAllShardsInKeyspaceResponse *answer = (const void *)message;
	struct key *keys = room(arena, answer->n_shards, sizeof(*keys));
	struct topo_shard *items = room(arena, answer->n_shards, sizeof(*items));
	size_t count;

	if (!keys || !items)
		return no_room(reterr);
	for (size_t i = 0; i < answer->n_shards; i++)
		keys[i] = (struct key){answer->shards[i]->key, i};
	count = keys_sort(keys, answer->n_shards);
	for (size_t i = 0; i < count; i++)
		if (shard_copy(keys[i].text, answer->shards[keys[i].index]->value, &items[i], reterr) < 0)
			return -1;
	reply->shards.items = items;
	reply->shards.count = count;
	return 0;
}

int decode_tablets(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		   struct error *reterr)
{
	const Vtctldata__GetTabletsResponse *answer = (const void *)message;
	struct topo_tablet *items = room(arena, answer->n_tablets, sizeof(*items));

	if (!items)
		return no_room(reterr);
	for (size_t i = 0; i < answer->n_tablets; i++) {
		const Topodata__Tablet *tablet = answer->tablets[i];

		if (alias_copy(tablet->alias, &items[i].alias, reterr) < 0)
			return -1;
		items[i].keyspace = tablet->keyspace;
		items[i].shard = tablet->shard;
		items[i].hostname = tablet->hostname;
		items[i].type = (int)tablet->type;
		items[i].start_s = seconds_of(tablet->tablet_start_time);
		items[i].shutdown_s = seconds_of(tablet->tablet_shutdown_time);
	}
	reply->tablets.items = items;
	reply->tablets.count = answer->n_tablets;
	return 0;
}

/* ---- One tablet ---- */

/*
 * The cells of a row, each with a NUL behind it, in one piece: on the wire they stand one
 * behind another and only @row->lengths tells them apart, so these must add up.
 */
static int row_copy(struct arena *arena, const Query__Row *row, struct query_cell *cells,
		    struct error *reterr)
{
	char *texts = room(arena, row->values.len + row->n_lengths, 1);
	size_t at = 0;

	if (!texts)
		return no_room(reterr);
	for (size_t i = 0; i < row->n_lengths; i++) {
		int64_t length = row->lengths[i];

		if (length == -1)
			continue;
		if (length < 0 || (uint64_t)length > row->values.len - at)
			return error_set(reterr, ERROR_PROTOCOL, "a row's lengths do not fit its bytes");
		if (length) {
			memcpy(texts, row->values.data + at, (size_t)length);
			if (memchr(texts, 0, (size_t)length))
				return error_set(reterr, ERROR_PROTOCOL,
						 "a row has a NUL inside the text of column %zu", i + 1);
		}
		cells[i] = (struct query_cell){texts, (size_t)length};
		texts[length] = 0;
		texts += length + 1;
		at += (size_t)length;
	}
	if (at != row->values.len)
		return error_set(reterr, ERROR_PROTOCOL, "a row's lengths do not fit its bytes");
	return 0;
}

int decode_query_result(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
			struct error *reterr)
{
	const Vtctldata__ExecuteFetchAsDBAResponse *answer = (const void *)message;
	const Query__QueryResult *result = answer->result;
	struct query_result *ret = &reply->result;

	*ret = (struct query_result){0};
	if (!result)
		return 0;
	ret->columns = room(arena, result->n_fields, sizeof(*ret->columns));
	/* Every row must have as many lengths as there are columns, so this is not more than was scanned. */
	for (size_t i = 0; i < result->n_rows; i++)
		if (result->rows[i]->n_lengths != result->n_fields)
			return error_set(reterr, ERROR_PROTOCOL, "a row has %zu columns, %zu are announced",
					 result->rows[i]->n_lengths, result->n_fields);
	ret->cells = result->n_fields ? room(arena, result->n_rows, result->n_fields * sizeof(*ret->cells))
				      : room(arena, 0, sizeof(*ret->cells));
	if (!ret->columns || !ret->cells)
		return no_room(reterr);
	for (size_t i = 0; i < result->n_fields; i++)
		ret->columns[i] = result->fields[i]->name;
	for (size_t i = 0; i < result->n_rows; i++)
		if (row_copy(arena, result->rows[i], ret->cells + i * result->n_fields, reterr) < 0)
			return -1;
	ret->column_count = result->n_fields;
	ret->row_count = result->n_rows;
	return 0;
}

int decode_definitions(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		       struct error *reterr)
{
	const Vtctldata__GetSchemaResponse *answer = (const void *)message;
	size_t count = answer->schema ? answer->schema->n_table_definitions : 0;
	struct table_definition *items = room(arena, count, sizeof(*items));

	if (!items)
		return no_room(reterr);
	for (size_t i = 0; i < count; i++) {
		const Tabletmanagerdata__TableDefinition *definition = answer->schema->table_definitions[i];

		items[i] = (struct table_definition){definition->name, definition->schema, definition->type};
	}
	reply->definitions.items = items;
	reply->definitions.count = count;
	return 0;
}

int decode_throttler(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		     struct error *reterr)
{
	const Vtctldata__CheckThrottlerResponse *answer = (const void *)message;
	const Tabletmanagerdata__CheckThrottlerResponse *check = answer->check;

	(void)arena;
	(void)reterr;
	reply->throttler = (struct throttler_check){.message = ""};
	if (!check)
		return 0;
	reply->throttler.response_code = (int)check->response_code;
	reply->throttler.value = check->value;
	reply->throttler.threshold = check->threshold;
	reply->throttler.message = check->message[0] ? check->message : check->error;
	return 0;
}

/* ---- Effects ---- */

/* The six control answers and ApplySchema's have this entry each under a name of its own. */
struct count_entry {
	ProtobufCMessage base;
	char *key;
	uint64_t value;
};

#define CHECK_ENTRY(type)                                                                                    \
	_Static_assert(sizeof(type) == sizeof(struct count_entry) &&                                         \
			   offsetof(type, key) == offsetof(struct count_entry, key) &&                       \
			   offsetof(type, value) == offsetof(struct count_entry, value),                     \
		       "an entry of rows_affected_by_shard")
CHECK_ENTRY(Vtctldata__ApplySchemaResponse__RowsAffectedByShardEntry);
CHECK_ENTRY(Vtctldata__CompleteSchemaMigrationResponse__RowsAffectedByShardEntry);
CHECK_ENTRY(Vtctldata__CancelSchemaMigrationResponse__RowsAffectedByShardEntry);

static int counts_copy(struct arena *arena, void *const *entries, size_t entry_count,
		       struct vtctld_reply *reply, struct error *reterr)
{
	struct key *keys = room(arena, entry_count, sizeof(*keys));
	struct shard_count *counts = room(arena, entry_count, sizeof(*counts));
	size_t count;

	if (!keys || !counts)
		return no_room(reterr);
	for (size_t i = 0; i < entry_count; i++)
		keys[i] = (struct key){((const struct count_entry *)entries[i])->key, i};
	count = keys_sort(keys, entry_count);
	for (size_t i = 0; i < count; i++)
		counts[i] = (struct shard_count){keys[i].text,
						 ((const struct count_entry *)entries[keys[i].index])->value};
	reply->effect.counts = counts;
	reply->effect.count = count;
	return 0;
}

int decode_apply_schema(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
			struct error *reterr)
{
	const Vtctldata__ApplySchemaResponse *answer = (const void *)message;

	reply->effect.uuids = (const char **)answer->uuid_list;
	reply->effect.uuid_count = answer->n_uuid_list;
	return counts_copy(arena, (void *const *)answer->rows_affected_by_shard,
			   answer->n_rows_affected_by_shard, reply, reterr);
}

int decode_complete(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		    struct error *reterr)
{
	const Vtctldata__CompleteSchemaMigrationResponse *answer = (const void *)message;

	return counts_copy(arena, (void *const *)answer->rows_affected_by_shard,
			   answer->n_rows_affected_by_shard, reply, reterr);
}

int decode_cancel(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		  struct error *reterr)
{
	const Vtctldata__CancelSchemaMigrationResponse *answer = (const void *)message;

	return counts_copy(arena, (void *const *)answer->rows_affected_by_shard,
			   answer->n_rows_affected_by_shard, reply, reterr);
}
