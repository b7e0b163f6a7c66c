#include "codec.h"

#include <assert.h>
#include <string.h>

#include "vtctldata.pb-c.h"

#define SERVICE "/vtctlservice.Vtctld/"

typedef bool decode_fn(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret);
typedef ProtobufCMessage *encode_fn(const struct codec_call *call, const struct vtctld_reply *reply,
				    struct arena *arena);

struct codec_method {
	const char *name;
	enum vtctld_method method;
	const ProtobufCMessageDescriptor *request;
	decode_fn *decode;
	encode_fn *encode;
	const char *verb; /* of an ALTER VITESS_MIGRATION that this RPC is short for */
};

/* ---- Small help ---- */

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size > 0 ? size : 1);
}

static void forget(void *arena, void *memory)
{
	(void)arena, (void)memory; /* the arena frees all of it */
}

/* An initializer cannot stand in brackets. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define MESSAGE(arena, type, init) ((type *)arena_message(arena, &(type)init, sizeof(type)))

static void *arena_message(struct arena *arena, const void *init, size_t size)
{
	return memcpy(arena_alloc(arena, size), init, size);
}

static const char *absent_if_empty(const char *text)
{
	return text != NULL && *text != '\0' ? text : NULL;
}

static const char *principal(const Vtrpc__CallerID *caller)
{
	return caller != NULL ? absent_if_empty(caller->principal) : NULL;
}

static void alias_decode(const Topodata__TabletAlias *from, struct tablet_alias *ret)
{
	if (from == NULL)
		return;
	strncpy(ret->cell, from->cell, CELL_MAX);
	ret->uid = from->uid;
}

static Topodata__TabletAlias *alias_encode(const struct tablet_alias *from, struct arena *arena)
{
	Topodata__TabletAlias *alias = MESSAGE(arena, Topodata__TabletAlias, TOPODATA__TABLET_ALIAS__INIT);

	alias->cell = arena_strdup(arena, from->cell);
	alias->uid = from->uid;
	return alias;
}

static Vttime__Time *time_encode(int64_t seconds, struct arena *arena)
{
	Vttime__Time *time;

	if (seconds == 0)
		return NULL;
	time = MESSAGE(arena, Vttime__Time, VTTIME__TIME__INIT);
	time->seconds = seconds;
	return time;
}

/* ---- Requests ---- */

static bool decode_nothing(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	(void)message, (void)arena, (void)ret;
	return true;
}

static bool decode_shards(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	(void)arena;
	ret->request.keyspace = ((Vtctldata__FindAllShardsInKeyspaceRequest *)message)->keyspace;
	return true;
}

static bool decode_tablets(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__GetTabletsRequest *request = (Vtctldata__GetTabletsRequest *)message;

	(void)arena;
	ret->request.keyspace = request->keyspace;
	ret->tablet_type = (int)request->tablet_type;
	ret->shard = request->shard;
	return true;
}

static bool decode_migrations(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__GetSchemaMigrationsRequest *request =
		(Vtctldata__GetSchemaMigrationsRequest *)message;

	(void)arena;
	ret->request.keyspace = request->keyspace;
	ret->request.uuid = absent_if_empty(request->uuid);
	ret->request.context = absent_if_empty(request->migration_context);
	ret->request.limit = request->limit;
	ret->request.skip = request->skip;
	ret->descending = request->order == VTCTLDATA__QUERY_ORDERING__DESCENDING;
	/* Only the first filter that is there counts. */
	if (ret->request.uuid == NULL && ret->request.context == NULL)
		ret->status = (int)request->status;
	return true;
}

static bool decode_fetch(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__ExecuteFetchAsDBARequest *request = (Vtctldata__ExecuteFetchAsDBARequest *)message;

	(void)arena;
	alias_decode(request->tablet_alias, &ret->request.tablet);
	ret->request.sql = request->query;
	ret->request.limit = request->max_rows > 0 ? (uint64_t)request->max_rows : 0;
	return true;
}

static bool decode_schema(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__GetSchemaRequest *request = (Vtctldata__GetSchemaRequest *)message;

	(void)arena;
	alias_decode(request->tablet_alias, &ret->request.tablet);
	ret->include_views = request->include_views;
	if (request->n_tables == 1)
		ret->request.table = request->tables[0];
	if (request->n_tables > 1)
		ret->refusal = "the simulator takes one table, or none, in GetSchema";
	return true;
}

static bool decode_throttler(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	(void)arena;
	alias_decode(((Vtctldata__CheckThrottlerRequest *)message)->tablet_alias, &ret->request.tablet);
	return true;
}

static bool decode_apply(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__ApplySchemaRequest *request = (Vtctldata__ApplySchemaRequest *)message;

	ret->request.keyspace = request->keyspace;
	ret->request.strategy = request->ddl_strategy;
	ret->request.context = absent_if_empty(request->migration_context);
	ret->request.caller_id = principal(request->caller_id);
	if (request->n_sql != 1)
		ret->refusal = "the simulator takes one statement in each ApplySchema";
	else
		ret->request.sql = request->sql[0];
	if (request->n_uuid_list > 1)
		ret->refusal = arena_printf(arena,
					    "schema change failed, ExecuteResult: {\n  \"ExecutorErr\": "
					    "\"provided %zu UUIDs do not match number of DDLs 1\"\n}",
					    request->n_uuid_list);
	else if (request->n_uuid_list == 1)
		ret->request.uuid = request->uuid_list[0];
	return true;
}

/* The six control requests have one shape. */
static bool decode_control(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	const Vtctldata__CompleteSchemaMigrationRequest *request =
		(Vtctldata__CompleteSchemaMigrationRequest *)message;

	(void)arena;
	ret->request.keyspace = request->keyspace;
	ret->request.uuid = request->uuid;
	ret->request.caller_id = principal(request->caller_id);
	return true;
}

/* RPCs that the model has only as a statement. */
static bool decode_verb(ProtobufCMessage *message, struct arena *arena, struct codec_call *ret)
{
	bool all;

	(void)decode_control(message, arena, ret);
	all = strcmp(ret->request.uuid, "all") == 0;
	ret->request.sql = all ? arena_printf(arena, "alter vitess_migration %s all", ret->method->verb)
			       : arena_printf(arena, "alter vitess_migration '%s' %s", ret->request.uuid,
					      ret->method->verb);
	ret->request.uuid = NULL;
	return true;
}

/* ---- Replies ---- */

static ProtobufCMessage *encode_keyspaces(const struct codec_call *call, const struct vtctld_reply *reply,
					  struct arena *arena)
{
	Vtctldata__GetKeyspacesResponse *response =
		MESSAGE(arena, Vtctldata__GetKeyspacesResponse, VTCTLDATA__GET_KEYSPACES_RESPONSE__INIT);

	(void)call;
	response->n_keyspaces = reply->keyspaces.count;
	response->keyspaces = arena_array(arena, response->n_keyspaces + 1, sizeof(*response->keyspaces));
	for (size_t i = 0; i < response->n_keyspaces; i++) {
		response->keyspaces[i] = MESSAGE(arena, Vtctldata__Keyspace, VTCTLDATA__KEYSPACE__INIT);
		response->keyspaces[i]->name = arena_strdup(arena, reply->keyspaces.names[i]);
	}
	return &response->base;
}

static ProtobufCBinaryData bytes_encode(const uint8_t *bytes, size_t length, struct arena *arena)
{
	ProtobufCBinaryData data = { .len = length };

	if (length > 0)
		data.data = (uint8_t *)arena_memdup(arena, bytes, length);
	return data;
}

static Topodata__Shard *shard_encode(const struct topo_shard *from, struct arena *arena)
{
	Topodata__Shard *shard = MESSAGE(arena, Topodata__Shard, TOPODATA__SHARD__INIT);

	if (from->has_primary)
		shard->primary_alias = alias_encode(&from->primary, arena);
	shard->is_primary_serving = from->is_serving;
	shard->primary_term_start_time = time_encode(from->primary_term_start_s, arena);
	shard->key_range = MESSAGE(arena, Topodata__KeyRange, TOPODATA__KEY_RANGE__INIT);
	shard->key_range->start = bytes_encode(from->range_start, from->range_start_length, arena);
	shard->key_range->end = bytes_encode(from->range_end, from->range_end_length, arena);
	return shard;
}

static ProtobufCMessage *encode_shards(const struct codec_call *call, const struct vtctld_reply *reply,
				       struct arena *arena)
{
	Vtctldata__FindAllShardsInKeyspaceResponse *response =
		MESSAGE(arena, Vtctldata__FindAllShardsInKeyspaceResponse,
			VTCTLDATA__FIND_ALL_SHARDS_IN_KEYSPACE_RESPONSE__INIT);

	response->n_shards = reply->shards.count;
	response->shards = arena_array(arena, response->n_shards + 1, sizeof(*response->shards));
	for (size_t i = 0; i < response->n_shards; i++) {
		Vtctldata__FindAllShardsInKeyspaceResponse__ShardsEntry *entry =
			MESSAGE(arena, Vtctldata__FindAllShardsInKeyspaceResponse__ShardsEntry,
				VTCTLDATA__FIND_ALL_SHARDS_IN_KEYSPACE_RESPONSE__SHARDS_ENTRY__INIT);

		entry->key = arena_strdup(arena, reply->shards.items[i].name);
		entry->value = MESSAGE(arena, Vtctldata__Shard, VTCTLDATA__SHARD__INIT);
		entry->value->keyspace = arena_strdup(arena, call->request.keyspace);
		entry->value->name = entry->key;
		entry->value->shard = shard_encode(&reply->shards.items[i], arena);
		response->shards[i] = entry;
	}
	return &response->base;
}

static ProtobufCMessage *encode_tablets(const struct codec_call *call, const struct vtctld_reply *reply,
					struct arena *arena)
{
	Vtctldata__GetTabletsResponse *response =
		MESSAGE(arena, Vtctldata__GetTabletsResponse, VTCTLDATA__GET_TABLETS_RESPONSE__INIT);

	response->tablets = arena_array(arena, reply->tablets.count + 1, sizeof(*response->tablets));
	for (size_t i = 0; i < reply->tablets.count; i++) {
		const struct topo_tablet *from = &reply->tablets.items[i];
		Topodata__Tablet *tablet;

		if ((call->tablet_type != 0 && call->tablet_type != from->type) ||
		    (*call->shard != '\0' && strcmp(call->shard, from->shard) != 0))
			continue;
		tablet = MESSAGE(arena, Topodata__Tablet, TOPODATA__TABLET__INIT);
		tablet->alias = alias_encode(&from->alias, arena);
		tablet->keyspace = arena_strdup(arena, from->keyspace);
		tablet->shard = arena_strdup(arena, from->shard);
		tablet->hostname = arena_strdup(arena, from->hostname);
		tablet->type = (Topodata__TabletType)from->type;
		tablet->tablet_start_time = time_encode(from->start_s, arena);
		tablet->tablet_shutdown_time = time_encode(from->shutdown_s, arena);
		response->tablets[response->n_tablets++] = tablet;
	}
	return &response->base;
}

static Vtctldata__SchemaMigration *migration_encode(const struct migration *from, struct arena *arena)
{
	Vtctldata__SchemaMigration *m =
		MESSAGE(arena, Vtctldata__SchemaMigration, VTCTLDATA__SCHEMA_MIGRATION__INIT);

	m->uuid = arena_strdup(arena, from->uuid);
	m->keyspace = arena_strdup(arena, from->keyspace);
	m->shard = arena_strdup(arena, from->shard);
	m->schema = arena_printf(arena, "vt_%s", from->keyspace);
	m->table = arena_strdup(arena, from->table);
	m->migration_statement = arena_strdup(arena, from->statement);
	m->strategy = (Vtctldata__SchemaMigration__Strategy)from->strategy;
	m->options = arena_strdup(arena, from->options);
	m->added_at = time_encode(from->requested_at_s, arena);
	m->requested_at = time_encode(from->requested_at_s, arena);
	m->started_at = time_encode(from->started_at_s, arena);
	m->liveness_timestamp = time_encode(from->liveness_s, arena);
	m->completed_at = time_encode(from->completed_at_s, arena);
	m->status = (Vtctldata__SchemaMigration__Status)from->status;
	m->artifacts = arena_strdup(arena, from->artifacts);
	m->retries = (uint64_t)from->retries;
	m->tablet = alias_encode(&from->tablet, arena);
	m->progress = (float)from->progress;
	m->migration_context = arena_strdup(arena, from->context);
	m->ddl_action = arena_strdup(arena, from->ddl_action);
	m->message = arena_strdup(arena, from->message);
	m->eta_seconds = from->eta_s;
	m->rows_copied = (uint64_t)from->rows_copied;
	m->table_rows = from->table_rows;
	m->postpone_completion = from->postpone_completion;
	m->is_view = from->is_view;
	m->ready_to_complete = from->ready_to_complete;
	m->special_plan = arena_strdup(arena, from->special_plan);
	m->postpone_launch = from->postpone_launch;
	m->stage = arena_strdup(arena, from->stage);
	m->cutover_attempts = (uint32_t)from->cutover_attempts;
	m->is_immediate_operation = from->is_immediate_operation;
	m->reviewed_at = time_encode(from->reviewed_at_s, arena);
	m->ready_to_complete_at = time_encode(from->ready_to_complete_at_s, arena);
	return m;
}

static ProtobufCMessage *encode_migrations(const struct codec_call *call, const struct vtctld_reply *reply,
					   struct arena *arena)
{
	Vtctldata__GetSchemaMigrationsResponse *response =
		MESSAGE(arena, Vtctldata__GetSchemaMigrationsResponse,
			VTCTLDATA__GET_SCHEMA_MIGRATIONS_RESPONSE__INIT);
	size_t count = reply->migrations.count;

	response->migrations = arena_array(arena, count + 1, sizeof(*response->migrations));
	for (size_t i = 0; i < count; i++) {
		const struct migration *from = &reply->migrations.items[call->descending ? count - 1 - i : i];

		if (call->status == 0 || call->status == from->status)
			response->migrations[response->n_migrations++] = migration_encode(from, arena);
	}
	return &response->base;
}

static Query__Row *row_encode(const struct query_cell *cells, size_t count, struct arena *arena)
{
	Query__Row *row = MESSAGE(arena, Query__Row, QUERY__ROW__INIT);
	size_t total = 0;

	row->n_lengths = count;
	row->lengths = arena_array(arena, count + 1, sizeof(*row->lengths));
	for (size_t i = 0; i < count; i++) {
		row->lengths[i] = cells[i].text != NULL ? (int64_t)cells[i].length : -1;
		total += cells[i].length;
	}
	row->values.data = arena_alloc(arena, total + 1);
	for (size_t i = 0; i < count; i++) {
		if (cells[i].text != NULL)
			memcpy(row->values.data + row->values.len, cells[i].text, cells[i].length);
		row->values.len += cells[i].length;
	}
	return row;
}

static ProtobufCMessage *encode_fetch(const struct codec_call *call, const struct vtctld_reply *reply,
				      struct arena *arena)
{
	const struct query_result *from = &reply->result;
	Vtctldata__ExecuteFetchAsDBAResponse *response = MESSAGE(
		arena, Vtctldata__ExecuteFetchAsDBAResponse, VTCTLDATA__EXECUTE_FETCH_AS_DBARESPONSE__INIT);
	Query__QueryResult *result = MESSAGE(arena, Query__QueryResult, QUERY__QUERY_RESULT__INIT);

	(void)call;
	result->n_fields = from->column_count;
	result->fields = arena_array(arena, from->column_count + 1, sizeof(*result->fields));
	for (size_t i = 0; i < from->column_count; i++) {
		result->fields[i] = MESSAGE(arena, Query__Field, QUERY__FIELD__INIT);
		result->fields[i]->name = arena_strdup(arena, from->columns[i]);
		result->fields[i]->type = QUERY__TYPE__VARCHAR;
	}
	result->n_rows = from->row_count;
	result->rows = arena_array(arena, from->row_count + 1, sizeof(*result->rows));
	for (size_t i = 0; i < from->row_count; i++)
		result->rows[i] = row_encode(&from->cells[i * from->column_count], from->column_count, arena);
	response->result = result;
	return &response->base;
}

static ProtobufCMessage *encode_schema(const struct codec_call *call, const struct vtctld_reply *reply,
				       struct arena *arena)
{
	Vtctldata__GetSchemaResponse *response =
		MESSAGE(arena, Vtctldata__GetSchemaResponse, VTCTLDATA__GET_SCHEMA_RESPONSE__INIT);
	Tabletmanagerdata__SchemaDefinition *schema = MESSAGE(arena, Tabletmanagerdata__SchemaDefinition,
							      TABLETMANAGERDATA__SCHEMA_DEFINITION__INIT);

	schema->table_definitions =
		arena_array(arena, reply->definitions.count + 1, sizeof(*schema->table_definitions));
	for (size_t i = 0; i < reply->definitions.count; i++) {
		const struct table_definition *from = &reply->definitions.items[i];
		Tabletmanagerdata__TableDefinition *table;

		if (!call->include_views && strcmp(from->type, "VIEW") == 0)
			continue;
		table = MESSAGE(arena, Tabletmanagerdata__TableDefinition,
				TABLETMANAGERDATA__TABLE_DEFINITION__INIT);
		table->name = arena_strdup(arena, from->name);
		table->schema = arena_strdup(arena, from->schema);
		table->type = arena_strdup(arena, from->type);
		schema->table_definitions[schema->n_table_definitions++] = table;
	}
	response->schema = schema;
	return &response->base;
}

static ProtobufCMessage *encode_throttler(const struct codec_call *call, const struct vtctld_reply *reply,
					  struct arena *arena)
{
	Vtctldata__CheckThrottlerResponse *response =
		MESSAGE(arena, Vtctldata__CheckThrottlerResponse, VTCTLDATA__CHECK_THROTTLER_RESPONSE__INIT);

	response->tablet_alias = alias_encode(&call->request.tablet, arena);
	response->check = MESSAGE(arena, Tabletmanagerdata__CheckThrottlerResponse,
				  TABLETMANAGERDATA__CHECK_THROTTLER_RESPONSE__INIT);
	response->check->response_code =
		(Tabletmanagerdata__CheckThrottlerResponseCode)reply->throttler.response_code;
	response->check->value = reply->throttler.value;
	response->check->threshold = reply->throttler.threshold;
	response->check->message = arena_strdup(arena, reply->throttler.message);
	return &response->base;
}

static ProtobufCMessage *encode_apply(const struct codec_call *call, const struct vtctld_reply *reply,
				      struct arena *arena)
{
	Vtctldata__ApplySchemaResponse *response =
		MESSAGE(arena, Vtctldata__ApplySchemaResponse, VTCTLDATA__APPLY_SCHEMA_RESPONSE__INIT);

	(void)call;
	response->n_uuid_list = reply->effect.uuid_count;
	response->uuid_list = (char **)reply->effect.uuids;
	response->n_rows_affected_by_shard = reply->effect.count;
	response->rows_affected_by_shard =
		arena_array(arena, reply->effect.count + 1, sizeof(*response->rows_affected_by_shard));
	for (size_t i = 0; i < reply->effect.count; i++) {
		Vtctldata__ApplySchemaResponse__RowsAffectedByShardEntry *entry =
			MESSAGE(arena, Vtctldata__ApplySchemaResponse__RowsAffectedByShardEntry,
				VTCTLDATA__APPLY_SCHEMA_RESPONSE__ROWS_AFFECTED_BY_SHARD_ENTRY__INIT);

		entry->key = arena_strdup(arena, reply->effect.counts[i].shard);
		entry->value = reply->effect.counts[i].rows;
		response->rows_affected_by_shard[i] = entry;
	}
	return &response->base;
}

/* The six control responses have one shape, too. */
static ProtobufCMessage *encode_control(const struct codec_call *call, const struct vtctld_reply *reply,
					struct arena *arena)
{
	Vtctldata__CompleteSchemaMigrationResponse *response =
		MESSAGE(arena, Vtctldata__CompleteSchemaMigrationResponse,
			VTCTLDATA__COMPLETE_SCHEMA_MIGRATION_RESPONSE__INIT);

	(void)call;
	response->n_rows_affected_by_shard = reply->effect.count;
	response->rows_affected_by_shard =
		arena_array(arena, reply->effect.count + 1, sizeof(*response->rows_affected_by_shard));
	for (size_t i = 0; i < reply->effect.count; i++) {
		Vtctldata__CompleteSchemaMigrationResponse__RowsAffectedByShardEntry *entry = MESSAGE(
			arena, Vtctldata__CompleteSchemaMigrationResponse__RowsAffectedByShardEntry,
			VTCTLDATA__COMPLETE_SCHEMA_MIGRATION_RESPONSE__ROWS_AFFECTED_BY_SHARD_ENTRY__INIT);

		entry->key = arena_strdup(arena, reply->effect.counts[i].shard);
		entry->value = reply->effect.counts[i].rows;
		response->rows_affected_by_shard[i] = entry;
	}
	return &response->base;
}

/* ---- The table ---- */

static const struct codec_method methods[] = {
	{ "GetKeyspaces", VTCTLD_GET_KEYSPACES, &vtctldata__get_keyspaces_request__descriptor, decode_nothing,
	  encode_keyspaces, NULL },
	{ "FindAllShardsInKeyspace", VTCTLD_FIND_ALL_SHARDS,
	  &vtctldata__find_all_shards_in_keyspace_request__descriptor, decode_shards, encode_shards, NULL },
	{ "GetTablets", VTCTLD_GET_TABLETS, &vtctldata__get_tablets_request__descriptor, decode_tablets,
	  encode_tablets, NULL },
	{ "GetSchemaMigrations", VTCTLD_GET_SCHEMA_MIGRATIONS,
	  &vtctldata__get_schema_migrations_request__descriptor, decode_migrations, encode_migrations, NULL },
	{ "ExecuteFetchAsDBA", VTCTLD_EXECUTE_FETCH_AS_DBA,
	  &vtctldata__execute_fetch_as_dbarequest__descriptor, decode_fetch, encode_fetch, NULL },
	{ "GetSchema", VTCTLD_GET_SCHEMA, &vtctldata__get_schema_request__descriptor, decode_schema,
	  encode_schema, NULL },
	{ "CheckThrottler", VTCTLD_CHECK_THROTTLER, &vtctldata__check_throttler_request__descriptor,
	  decode_throttler, encode_throttler, NULL },
	{ "ApplySchema", VTCTLD_APPLY_SCHEMA, &vtctldata__apply_schema_request__descriptor, decode_apply,
	  encode_apply, NULL },
	{ "CompleteSchemaMigration", VTCTLD_COMPLETE,
	  &vtctldata__complete_schema_migration_request__descriptor, decode_control, encode_control, NULL },
	{ "CancelSchemaMigration", VTCTLD_CANCEL, &vtctldata__cancel_schema_migration_request__descriptor,
	  decode_control, encode_control, NULL },
	{ "RetrySchemaMigration", VTCTLD_APPLY_SCHEMA, &vtctldata__retry_schema_migration_request__descriptor,
	  decode_verb, encode_control, "retry" },
	{ "CleanupSchemaMigration", VTCTLD_APPLY_SCHEMA,
	  &vtctldata__cleanup_schema_migration_request__descriptor, decode_verb, encode_control, "cleanup" },
	{ "LaunchSchemaMigration", VTCTLD_APPLY_SCHEMA,
	  &vtctldata__launch_schema_migration_request__descriptor, decode_verb, encode_control, "launch" },
	{ "ForceCutOverSchemaMigration", VTCTLD_APPLY_SCHEMA,
	  &vtctldata__force_cut_over_schema_migration_request__descriptor, decode_verb, encode_control,
	  "force_cutover" },
};

const struct codec_method *codec_find(const char *path)
{
	if (strncmp(path, SERVICE, strlen(SERVICE)) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].name, path + strlen(SERVICE)) == 0)
			return &methods[i];
	return NULL;
}

bool codec_decode(const struct codec_method *method, const uint8_t *bytes, size_t length, struct arena *arena,
		  struct codec_call *ret)
{
	ProtobufCAllocator allocator = { .alloc = allocate, .free = forget, .allocator_data = arena };
	ProtobufCMessage *message;

	*ret = (struct codec_call){ .method = method, .shard = "" };
	ret->request.method = method->method;
	message = protobuf_c_message_unpack(method->request, &allocator, length, bytes);
	return message != NULL && method->decode(message, arena, ret);
}

const uint8_t *codec_encode(const struct codec_call *call, const struct vtctld_reply *reply,
			    struct arena *arena, size_t *ret_length)
{
	ProtobufCMessage *message = call->method->encode(call, reply, arena);
	uint8_t *bytes;

	*ret_length = protobuf_c_message_get_packed_size(message);
	bytes = arena_alloc(arena, *ret_length + 1);
	protobuf_c_message_pack(message, bytes);
	return bytes;
}
