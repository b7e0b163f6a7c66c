#include "codec.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "rows.h"
#include "vtctldata.pb-c.h"
#include "vtctlservice.pb-c.h"

#define THROTTLER_APP "online-ddl" /* the throttler's name for schema changes */

/* ---- Requests ---- */

/* protobuf-c's structs are for both ways, so its texts are not const; packing only reads them. */
static char *text(const char *value)
{
	return value ? (char *)value : (char *)protobuf_c_empty_string;
}

static uint8_t *pack(const ProtobufCMessage *message, size_t *ret_length)
{
	size_t length = protobuf_c_message_get_packed_size(message);
	uint8_t *bytes = malloc(length ? length : 1);

	if (!bytes)
		abort();
	*ret_length = protobuf_c_message_pack(message, bytes);
	return bytes;
}

static Topodata__TabletAlias alias_of(const struct vtctld_request *request)
{
	Topodata__TabletAlias alias = TOPODATA__TABLET_ALIAS__INIT;

	assert(request->tablet.cell[0]);
	alias.cell = text(request->tablet.cell);
	alias.uid = request->tablet.uid;
	return alias;
}

static Vtrpc__CallerID caller_of(const struct vtctld_request *request)
{
	Vtrpc__CallerID caller = VTRPC__CALLER_ID__INIT;

	caller.principal = text(request->caller_id);
	return caller;
}

static uint8_t *encode_get_keyspaces(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__GetKeyspacesRequest message = VTCTLDATA__GET_KEYSPACES_REQUEST__INIT;

	(void)request;
	return pack(&message.base, ret_length);
}

static uint8_t *encode_find_all_shards(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__FindAllShardsInKeyspaceRequest message =
	    VTCTLDATA__FIND_ALL_SHARDS_IN_KEYSPACE_REQUEST__INIT;

	message.keyspace = text(request->keyspace);
	return pack(&message.base, ret_length);
}

static uint8_t *encode_get_tablets(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__GetTabletsRequest message = VTCTLDATA__GET_TABLETS_REQUEST__INIT;

	message.keyspace = text(request->keyspace);
	return pack(&message.base, ret_length);
}

/* Vitess uses the first filter it finds and ignores the others, so only one is sent. */
static uint8_t *encode_get_schema_migrations(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__GetSchemaMigrationsRequest message = VTCTLDATA__GET_SCHEMA_MIGRATIONS_REQUEST__INIT;

	message.keyspace = text(request->keyspace);
	if (request->uuid) {
		message.uuid = text(request->uuid);
	} else {
		message.migration_context = text(request->context);
		message.order = VTCTLDATA__QUERY_ORDERING__DESCENDING; /* the limit keeps the newest */
	}
	message.limit = request->limit;
	message.skip = request->skip;
	return pack(&message.base, ret_length);
}

static uint8_t *encode_execute_fetch(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__ExecuteFetchAsDBARequest message = VTCTLDATA__EXECUTE_FETCH_AS_DBAREQUEST__INIT;
	Topodata__TabletAlias alias = alias_of(request);

	assert(request->sql && request->sql[0]);
	message.tablet_alias = &alias;
	message.query = text(request->sql);
	message.max_rows = request->limit > INT64_MAX ? INT64_MAX : (int64_t)request->limit;
	return pack(&message.base, ret_length);
}

static uint8_t *encode_get_schema(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__GetSchemaRequest message = VTCTLDATA__GET_SCHEMA_REQUEST__INIT;
	Topodata__TabletAlias alias = alias_of(request);
	char *tables[] = {text(request->table)};

	assert(request->table && request->table[0]);
	message.tablet_alias = &alias;
	message.tables = tables;
	message.n_tables = 1;
	message.include_views = true;
	message.table_schema_only = true;
	return pack(&message.base, ret_length);
}

static uint8_t *encode_check_throttler(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__CheckThrottlerRequest message = VTCTLDATA__CHECK_THROTTLER_REQUEST__INIT;
	Topodata__TabletAlias alias = alias_of(request);

	message.tablet_alias = &alias;
	message.app_name = text(THROTTLER_APP);
	return pack(&message.base, ret_length);
}

/* An empty statement makes vtctld panic; an empty context becomes a random one there. */
static uint8_t *encode_apply_schema(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__ApplySchemaRequest message = VTCTLDATA__APPLY_SCHEMA_REQUEST__INIT;
	Vtrpc__CallerID caller = caller_of(request);
	char *sql[] = {text(request->sql)};
	char *uuids[] = {text(request->uuid)};

	assert(request->sql && request->sql[0]);
	assert(request->uuid && request->uuid[0]);
	assert(request->context && request->context[0]);
	assert(request->strategy && request->strategy[0]);
	message.keyspace = text(request->keyspace);
	message.sql = sql;
	message.n_sql = 1;
	message.ddl_strategy = text(request->strategy);
	message.uuid_list = uuids;
	message.n_uuid_list = 1;
	message.migration_context = text(request->context);
	message.caller_id = request->caller_id ? &caller : NULL;
	return pack(&message.base, ret_length);
}

/* The uuid "all", in any case, would reach every migration of the keyspace, whoever owns it. */
static void assert_one_migration(const struct vtctld_request *request)
{
	assert(request->uuid && strlen(request->uuid) == UUID_LENGTH);
}

static uint8_t *encode_complete(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__CompleteSchemaMigrationRequest message =
	    VTCTLDATA__COMPLETE_SCHEMA_MIGRATION_REQUEST__INIT;
	Vtrpc__CallerID caller = caller_of(request);

	assert_one_migration(request);
	message.keyspace = text(request->keyspace);
	message.uuid = text(request->uuid);
	message.caller_id = request->caller_id ? &caller : NULL;
	return pack(&message.base, ret_length);
}

static uint8_t *encode_cancel(const struct vtctld_request *request, size_t *ret_length)
{
	Vtctldata__CancelSchemaMigrationRequest message = VTCTLDATA__CANCEL_SCHEMA_MIGRATION_REQUEST__INIT;
	Vtrpc__CallerID caller = caller_of(request);

	assert_one_migration(request);
	message.keyspace = text(request->keyspace);
	message.uuid = text(request->uuid);
	message.caller_id = request->caller_id ? &caller : NULL;
	return pack(&message.base, ret_length);
}

/* ---- The methods ---- */

static const struct method {
	const char *name; /* in the service descriptor, which knows the type of the answer */
	uint8_t *(*encode)(const struct vtctld_request *request, size_t *ret_length);
	decode_fn *decode; /* NULL: rows.h decodes it */
} methods[_VTCTLD_METHOD_MAX] = {
    [VTCTLD_GET_KEYSPACES] = {"GetKeyspaces", encode_get_keyspaces, decode_keyspaces},
    [VTCTLD_FIND_ALL_SHARDS] = {"FindAllShardsInKeyspace", encode_find_all_shards, decode_shards},
    [VTCTLD_GET_TABLETS] = {"GetTablets", encode_get_tablets, decode_tablets},
    [VTCTLD_GET_SCHEMA_MIGRATIONS] = {"GetSchemaMigrations", encode_get_schema_migrations, NULL},
    [VTCTLD_EXECUTE_FETCH_AS_DBA] = {"ExecuteFetchAsDBA", encode_execute_fetch, decode_query_result},
    [VTCTLD_GET_SCHEMA] = {"GetSchema", encode_get_schema, decode_definitions},
    [VTCTLD_CHECK_THROTTLER] = {"CheckThrottler", encode_check_throttler, decode_throttler},
    [VTCTLD_APPLY_SCHEMA] = {"ApplySchema", encode_apply_schema, decode_apply_schema},
    [VTCTLD_COMPLETE] = {"CompleteSchemaMigration", encode_complete, decode_complete},
    [VTCTLD_CANCEL] = {"CancelSchemaMigration", encode_cancel, decode_cancel},
};

void codec_path(enum vtctld_method method, char ret[CODEC_PATH_SIZE])
{
	const ProtobufCServiceDescriptor *service = &vtctlservice__vtctld__descriptor;
	int length = snprintf(ret, CODEC_PATH_SIZE, "/%s/%s", service->name, methods[method].name);

	assert(length > 0 && length < CODEC_PATH_SIZE);
}

uint8_t *codec_request(const struct vtctld_request *request, size_t *ret_length)
{
	return methods[request->method].encode(request, ret_length);
}

/* ---- Answers ---- */

/* What is left of the size that the scan foretold: the scan is held to its word. */
struct tree {
	struct arena *arena;
	size_t left;
};

static void *tree_alloc(void *data, size_t size)
{
	struct tree *tree = data;
	size_t taken = (size + 15) / 16 * 16;

	if (taken > tree->left)
		return NULL;
	tree->left -= taken;
	return arena_alloc(tree->arena, size);
}

static void tree_free(void *data, void *pointer)
{
	(void)data; /* the arena frees all at once */
	(void)pointer;
}

static int reply_unpack(struct arena *arena, const struct scan_limits *limits, const uint8_t *bytes,
			size_t length, struct vtctld_reply *reply, struct error *reterr)
{
	const struct method *method = &methods[reply->method];
	const ProtobufCMethodDescriptor *descriptor =
	    protobuf_c_service_descriptor_get_method_by_name(&vtctlservice__vtctld__descriptor, method->name);
	struct tree tree = {.arena = arena};
	ProtobufCAllocator allocator = {.alloc = tree_alloc, .free = tree_free, .allocator_data = &tree};
	const ProtobufCMessage *message;

	assert(descriptor);
	if (scan_message(descriptor->output, bytes, length, limits, &tree.left, reterr) < 0)
		return -1;
	message = protobuf_c_message_unpack(descriptor->output, &allocator, length, bytes);
	if (!message)
		return error_set(reterr, ERROR_PROTOCOL,
				 "the answer of %zu bytes cannot be unpacked within the memory limit",
				 length);
	return method->decode(arena, message, reply, reterr);
}

int codec_reply(struct arena *arena, const struct scan_limits *limits, const uint8_t *bytes, size_t length,
		struct vtctld_reply *reply, struct error *reterr)
{
	const struct method *method = &methods[reply->method];
	int r = method->decode ? reply_unpack(arena, limits, bytes, length, reply, reterr)
			       : rows_decode(arena, limits, bytes, length, &reply->migrations.items,
					     &reply->migrations.count, reterr);

	return r < 0 ? error_prefix(reterr, "%s: ", method->name) : 0;
}
