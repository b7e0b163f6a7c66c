/* Answers of the reads. What is asked of a silent tablet has no answer until something changes. */
#include "fleet_model.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROWS_MAX 10000 /* of one shard */
#define ADDRESS_MAX 64

static const char *remote_error(struct call *call, const char *rpc, const struct tablet *tablet,
				const char *text)
{
	char alias[ALIAS_TEXT_SIZE];

	tablet_alias_format(&tablet->alias, alias);
	return arena_printf(&call->memory, "rpc error: code = Unknown desc = TabletManager.%s on %s: %s", rpc,
			    alias, text);
}

const char *fleet_keyspace_error(const struct fleet *fleet, struct call *call)
{
	if (strcmp(call->request.keyspace, fleet->keyspace) == 0)
		return NULL;
	return arena_printf(&call->memory,
			    "unable to get shards for keyspace: %s, error: node doesn't exist: "
			    "keyspaces/%s",
			    call->request.keyspace, call->request.keyspace);
}

static bool is_missing(const struct call *call, const struct shard *shard)
{
	return call->has_fault && list_has(call->fault.missing, shard->name);
}

/* ---- Topology ---- */

static void read_keyspaces(struct fleet *fleet, struct call *call)
{
	call->reply.keyspaces.names = arena_array(call->arena, 1, sizeof(*call->reply.keyspaces.names));
	call->reply.keyspaces.names[0] = arena_strdup(call->arena, fleet->keyspace);
	call->reply.keyspaces.count = 1;
	call_end(fleet, call, CODE_OK, "");
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at != NULL ? (int)(at - digits) : -1;
}

/* "80" of "80-c0" as bytes; nothing for a name that is no key range. */
static const uint8_t *range_bytes(struct arena *arena, const char *text, size_t length, size_t *ret_length)
{
	uint8_t *bytes = arena_alloc(arena, length / 2 + 1);

	*ret_length = 0;
	for (size_t i = 0; i + 1 < length; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return bytes;
		bytes[(*ret_length)++] = (uint8_t)(high << 4 | low);
	}
	return bytes;
}

static struct topo_shard shard_record(struct call *call, const struct shard *shard)
{
	const char *dash = strchr(shard->name, '-');
	struct topo_shard record = { .name = arena_strdup(call->arena, shard->name),
				     .has_primary = true,
				     .primary = shard->primary->alias,
				     .is_serving = shard->is_serving,
				     .primary_term_start_s = shard->term_start_s };

	if (dash != NULL) {
		record.range_start = range_bytes(call->arena, shard->name, (size_t)(dash - shard->name),
						 &record.range_start_length);
		record.range_end =
			range_bytes(call->arena, dash + 1, strlen(dash + 1), &record.range_end_length);
	}
	return record;
}

static void read_shards(struct fleet *fleet, struct call *call)
{
	struct topo_shard *items = arena_array(call->arena, fleet->shard_count + 1, sizeof(*items));
	size_t count = 0;

	if (fleet_keyspace_error(fleet, call) != NULL) {
		call_end(fleet, call, CODE_UNKNOWN,
			 arena_printf(&call->memory,
				      "FindAllShardsInKeyspace(%s): List: node doesn't exist: "
				      "/vitess/global/keyspaces/%s/shards",
				      call->request.keyspace, call->request.keyspace));
		return;
	}
	for (size_t i = 0; i < fleet->shard_count; i++)
		if (!is_missing(call, fleet->shards[i]))
			items[count++] = shard_record(call, fleet->shards[i]);
	call->reply.shards.items = items;
	call->reply.shards.count = count;
	call_end(fleet, call, CODE_OK, "");
}

static size_t tablet_count(const struct fleet *fleet)
{
	size_t count = 0;

	for (size_t i = 0; i < fleet->shard_count; i++)
		for (const struct tablet *t = fleet->shards[i]->tablets; t != NULL; t = t->next)
			count++;
	return count;
}

static void read_tablets(struct fleet *fleet, struct call *call)
{
	struct topo_tablet *items = arena_array(call->arena, tablet_count(fleet) + 1, sizeof(*items));
	bool is_ours = fleet_keyspace_error(fleet, call) == NULL; /* of another keyspace: OK, and none */
	size_t count = 0;

	for (size_t i = 0; is_ours && i < fleet->shard_count; i++) {
		const struct shard *shard = fleet->shards[i];

		for (const struct tablet *t = shard->tablets; t != NULL && !is_missing(call, shard);
		     t = t->next)
			items[count++] =
				(struct topo_tablet){ .alias = t->alias,
						      .type = t->type,
						      .start_s = t->start_s,
						      .shutdown_s = t->shutdown_s,
						      .keyspace = arena_strdup(call->arena, fleet->keyspace),
						      .shard = arena_strdup(call->arena, shard->name),
						      .hostname = arena_printf(call->arena, "vttablet-%u",
									       t->alias.uid) };
	}
	call->reply.tablets.items = items;
	call->reply.tablets.count = count;
	call_end(fleet, call, CODE_OK, "");
}

/* ---- Migrations of the keyspace ---- */

struct migration migration_copy(struct arena *arena, const struct migration *from)
{
	struct migration m = *from;
	const char **texts[] = { &m.uuid,      &m.keyspace, &m.shard,	  &m.table,
				 &m.statement, &m.options,  &m.context,	  &m.ddl_action,
				 &m.message,   &m.stage,    &m.artifacts, &m.special_plan };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = arena_strdup(arena, *texts[i]);
	return m;
}

static bool row_is_asked(const struct call *call, const struct row *row)
{
	const struct vtctld_request *request = &call->request;

	if (request->uuid != NULL && *request->uuid != '\0')
		return strcasecmp(request->uuid, row->now.uuid) == 0;
	return request->context == NULL || *request->context == '\0' ||
	       strcasecmp(request->context, row->now.context) == 0;
}

/* True: every tablet that GetSchemaMigrations asks has answered, well or badly (*reterr). */
static bool tablets_answer(struct fleet *fleet, struct call *call, const char **reterr)
{
	*reterr = NULL;
	for (size_t i = 0; i < fleet->shard_count; i++) {
		const struct shard *shard = fleet->shards[i];

		for (const struct tablet *t = shard->tablets; t != NULL; t = t->next) {
			if (t != shard->primary && !t->blinds)
				continue;
			if (t->life == LIFE_STOPPED)
				*reterr = "tablet is shutdown";
			else if (t->life != LIFE_UP)
				return false;
		}
		if (shard->row_count > ROWS_MAX && call->request.uuid == NULL &&
		    call->request.context == NULL)
			*reterr = remote_error(call, "ExecuteFetchAsDba", shard->primary,
					       "rpc error: code = Aborted desc = Row count exceeded 10000");
	}
	return true;
}

static void read_row(struct call *call, const struct migration *row, bool unknown)
{
	struct migration *shown = &call->reply.migrations.items[call->reply.migrations.count++];

	*shown = migration_copy(call->arena, row);
	if (unknown)
		shown->status = MIGRATION_UNKNOWN;
}

static void read_shard_rows(struct fleet *fleet, struct call *call, const struct shard *shard)
{
	bool doubled = call->has_fault && list_has(call->fault.doubled, shard->name);
	size_t asked = 0, first = 0, end, at = 0;

	if (is_missing(call, shard) || shard_hides_from_reads(fleet, shard))
		return;
	for (size_t i = 0; i < shard->row_count; i++)
		asked += row_is_asked(call, shard->rows[i]);
	end = asked;
	if (call->request.limit > 0) { /* skip without limit is ignored; the newest are kept */
		end -= call->request.skip < asked ? (size_t)call->request.skip : asked;
		first = end > call->request.limit ? end - (size_t)call->request.limit : 0;
	}
	for (size_t i = 0; i < shard->row_count; i++) {
		const struct row *row = shard->rows[i];

		if (!row_is_asked(call, row))
			continue;
		if (at < first || at >= end) {
			at++;
			continue;
		}
		at++;
		if (doubled && call->fault.stale_first)
			read_row(call, &row->first, false);
		read_row(call, &row->now, call->has_fault && list_has(call->fault.unknown, shard->name));
		if (doubled && !call->fault.stale_first) /* what an old primary still shows: the row as it was inserted */
			read_row(call, &row->first, false);
	}
}

static bool read_migrations(struct fleet *fleet, struct call *call)
{
	const char *uuid = call->request.uuid, *error;
	size_t capacity = 1, start;

	if (uuid != NULL && *uuid != '\0' && !uuid_is_accepted(uuid)) {
		call_end(fleet, call, CODE_UNKNOWN, arena_printf(&call->memory, "%s is not a valid UUID", uuid));
		return true;
	}
	if (fleet_keyspace_error(fleet, call) != NULL) { /* no shard, no row: not an error */
		call_end(fleet, call, CODE_OK, "");
		return true;
	}
	if (!tablets_answer(fleet, call, &error))
		return false;
	if (error != NULL) {
		call_end(fleet, call, CODE_UNKNOWN, error);
		return true;
	}
	for (size_t i = 0; i < fleet->shard_count; i++)
		capacity += 2 * fleet->shards[i]->row_count;
	call->reply.migrations.items =
		arena_array(call->arena, capacity, sizeof(*call->reply.migrations.items));
	/* The order of the shards changes from one answer to the next. */
	start = fleet->shard_count == 0 ? 0
					: (size_t)fleet_spread(fleet, call->request.tag, "order", 0,
							       (int64_t)fleet->shard_count - 1);
	for (size_t i = 0; i < fleet->shard_count; i++)
		read_shard_rows(fleet, call, fleet->shards[(start + i) % fleet->shard_count]);
	call_end(fleet, call, CODE_OK, "");
	return true;
}

/* ---- One tablet ---- */

static const struct tablet *tablet_find(const struct fleet *fleet, const struct tablet_alias *alias,
					struct shard **ret_shard)
{
	for (size_t i = 0; i < fleet->shard_count; i++)
		for (const struct tablet *t = fleet->shards[i]->tablets; t != NULL; t = t->next)
			if (tablet_alias_equal(&t->alias, alias)) {
				*ret_shard = fleet->shards[i];
				return t;
			}
	return NULL;
}

static void read_definitions(struct fleet *fleet, struct call *call, const struct shard *shard)
{
	const struct schema *schema = &shard->schema;
	struct table_definition *items = arena_array(call->arena, schema->count + 1, sizeof(*items));
	size_t count = 0;

	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_table *table = schema->tables[i];

		if (call->request.table != NULL && strcmp(call->request.table, table->name) != 0)
			continue;
		items[count++] =
			(struct table_definition){ .name = arena_strdup(call->arena, table->name),
						   .schema = arena_strdup(call->arena, table->definition),
						   .type = table->is_view ? "VIEW" : "BASE TABLE" };
	}
	call->reply.definitions.items = items;
	call->reply.definitions.count = count;
	call_end(fleet, call, CODE_OK, "");
}

static void read_select(struct fleet *fleet, struct call *call, const struct shard *shard,
			const struct tablet *tablet)
{
	struct query_result result = { 0 };
	const char *error;

	if (!fleet_select(fleet, shard, call, &result, &error)) {
		call_end(fleet, call, CODE_UNKNOWN,
			 remote_error(
				 call, "ExecuteFetchAsDba", tablet,
				 arena_printf(&call->memory, "rpc error: code = Unknown desc = %s", error)));
		return;
	}
	call->reply.result = result;
	call_end(fleet, call, CODE_OK, "");
}

static bool read_tablet(struct fleet *fleet, struct call *call)
{
	const struct tablet *tablet;
	char alias[ALIAS_TEXT_SIZE];
	struct shard *shard;

	tablet = tablet_find(fleet, &call->request.tablet, &shard);
	if (tablet == NULL) {
		tablet_alias_format(&call->request.tablet, alias);
		call_end(fleet, call, CODE_UNKNOWN,
			 arena_printf(&call->memory, "node doesn't exist: tablets/%s/Tablet", alias));
		return true;
	}
	if (tablet->life == LIFE_STOPPED) {
		call_end(fleet, call, CODE_UNKNOWN, "tablet is shutdown");
		return true;
	}
	if (tablet->life != LIFE_UP)
		return false;
	switch (call->request.method) {
	case VTCTLD_GET_SCHEMA:
		read_definitions(fleet, call, shard);
		break;
	case VTCTLD_EXECUTE_FETCH_AS_DBA:
		read_select(fleet, call, shard, tablet);
		break;
	default:
		call->reply.throttler = shard->is_throttled ? (struct throttler_check){
			.response_code = 2, .value = 7.5, .threshold = 5, .message = "threshold exceeded"
		} : (struct throttler_check){ .response_code = 1, .value = 0, .threshold = 1, .message = "" };
		call_end(fleet, call, CODE_OK, "");
		break;
	}
	return true;
}

bool fleet_read(struct fleet *fleet, struct call *call)
{
	switch (call->request.method) {
	case VTCTLD_GET_KEYSPACES:
		read_keyspaces(fleet, call);
		return true;
	case VTCTLD_FIND_ALL_SHARDS:
		read_shards(fleet, call);
		return true;
	case VTCTLD_GET_TABLETS:
		read_tablets(fleet, call);
		return true;
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		return read_migrations(fleet, call);
	default:
		return read_tablet(fleet, call);
	}
}
