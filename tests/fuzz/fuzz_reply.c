/*
 * Goal: whatever bytes vtctld answers to whichever RPC, they become plain values that keep their promises
 * (include/vtddl/vtctld.h), or one sentence; and they take no more memory than their length allows.
 * Method: the first byte is the RPC, the others are the answer. Of every input:
 *
 *  - what the scan takes can be unpacked, within the memory that the scan foretold;
 *  - a refusal is ERROR_PROTOCOL with a text that a terminal can show;
 *  - texts are UTF-8 without a NUL and end; shards are sorted and there once; a primary has a name; cells fit
 * their length;
 *  - the rows of migration_select() are read from it, or refused with a reason;
 *  - GetSchemaMigrations: fuzz_rows.c compares it with protobuf-c.
 */
#include <protobuf-c/protobuf-c.h>

#include "codec.h"
#include "fuzz.h"
#include "vtctlservice.pb-c.h"
#include "vtddl/vtctld.h"

/* The most that two bytes can become: an empty sub-message, unpacked, and then as a plain value. */
#define TIMES 700
#define BEYOND 20000

static void check_text(const char *text, const char *what)
{
	fuzz_check(text, "%s is missing", what);
	fuzz_check(fuzz_is_utf8(text), "%s is not UTF-8", what);
}

static void check_alias(const struct tablet_alias *alias)
{
	fuzz_check(memchr(alias->cell, 0, sizeof(alias->cell)), "a cell does not end");
	check_text(alias->cell, "a cell");
}

static void check_shards(const struct vtctld_reply *reply)
{
	for (size_t i = 0; i < reply->shards.count; i++) {
		const struct topo_shard *shard = &reply->shards.items[i];

		check_text(shard->name, "the name of a shard");
		check_alias(&shard->primary);
		fuzz_check(i == 0 || strcmp(shard[-1].name, shard->name) < 0,
			   "shards are not sorted, or one is there twice");
		fuzz_check(!shard->has_primary || shard->primary.cell[0],
			   "a primary has no cell: nobody can be asked");
		fuzz_check(shard->range_start || !shard->range_start_length, "a range without bytes");
		fuzz_check(shard->range_end || !shard->range_end_length, "a range without bytes");
	}
}

static void check_tablets(const struct vtctld_reply *reply)
{
	for (size_t i = 0; i < reply->tablets.count; i++) {
		const struct topo_tablet *tablet = &reply->tablets.items[i];

		check_alias(&tablet->alias);
		check_text(tablet->keyspace, "a tablet's keyspace");
		check_text(tablet->shard, "a tablet's shard");
		check_text(tablet->hostname, "a tablet's host");
	}
}

static void check_rows(const struct migration *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct migration *row = &rows[i];
		const char *texts[] = { row->uuid,	row->keyspace, row->shard,     row->table,
					row->statement, row->options,  row->context,   row->ddl_action,
					row->message,	row->stage,    row->artifacts, row->special_plan };

		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
			check_text(texts[k], "a text of a row");
		check_alias(&row->tablet);
	}
}

/* Cells are bytes without a NUL; a text column of theirs need not be UTF-8. */
static void check_result(struct arena *arena, const struct query_result *result)
{
	struct migration *rows = NULL;
	struct error error = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < result->column_count; i++)
		check_text(result->columns[i], "the name of a column");
	for (size_t i = 0; i < result->row_count * result->column_count; i++)
		fuzz_check(!result->cells[i].text || strlen(result->cells[i].text) == result->cells[i].length,
			   "a cell does not have the length that it says");
	if (migration_from_result(arena, result, "-80", &rows, &count, &error) < 0)
		fuzz_check(error.code == ERROR_PROTOCOL && error.text[0],
			   "rows are refused without a reason");
	else
		fuzz_check(count <= result->row_count, "more rows than there are");
}

static void check_effect(const struct vtctld_reply *reply)
{
	for (size_t i = 0; i < reply->effect.uuid_count; i++)
		check_text(reply->effect.uuids[i], "a uuid");
	for (size_t i = 0; i < reply->effect.count; i++) {
		check_text(reply->effect.counts[i].shard, "a shard");
		fuzz_check(i == 0 || strcmp(reply->effect.counts[i - 1].shard,
					    reply->effect.counts[i].shard) < 0,
			   "a shard is counted twice");
	}
}

static void check_reply(struct arena *arena, const struct vtctld_reply *reply)
{
	switch (reply->method) {
	case VTCTLD_GET_KEYSPACES:
		for (size_t i = 0; i < reply->keyspaces.count; i++)
			check_text(reply->keyspaces.names[i], "the name of a keyspace");
		return;
	case VTCTLD_FIND_ALL_SHARDS:
		check_shards(reply);
		return;
	case VTCTLD_GET_TABLETS:
		check_tablets(reply);
		return;
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		check_rows(reply->migrations.items, reply->migrations.count);
		return;
	case VTCTLD_EXECUTE_FETCH_AS_DBA:
		check_result(arena, &reply->result);
		return;
	case VTCTLD_GET_SCHEMA:
		for (size_t i = 0; i < reply->definitions.count; i++) {
			check_text(reply->definitions.items[i].name, "the name of a table");
			check_text(reply->definitions.items[i].schema, "a definition");
			check_text(reply->definitions.items[i].type, "the type of a table");
		}
		return;
	case VTCTLD_CHECK_THROTTLER:
		check_text(reply->throttler.message, "a message");
		return;
	default:
		check_effect(reply);
		return;
	}
}

/* The scan alone, and then protobuf-c with all the memory it wants. */
static bool scan_takes(enum vtctld_method method, const uint8_t *bytes, size_t length)
{
	const ProtobufCMethodDescriptor *descriptor = protobuf_c_service_descriptor_get_method_by_name(
		&vtctlservice__vtctld__descriptor, vtctld_method_name(method));
	ProtobufCMessage *message;
	size_t tree_bytes = 0;

	fuzz_check(descriptor, "an RPC that the service does not have");
	if (scan_message(descriptor->output, bytes, length, &scan_limits_default, &tree_bytes, NULL) < 0)
		return false;
	message = protobuf_c_message_unpack(descriptor->output, NULL, length, bytes);
	fuzz_check(message, "%s: the scan takes what protobuf-c does not", vtctld_method_name(method));
	protobuf_c_message_free_unpacked(message, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct vtctld_reply reply = { .outcome = VTCTLD_DONE };
	struct error error = { 0 };
	struct arena arena;
	bool taken, scanned;
	uint8_t *exact;

	if (length == 0)
		return 0;
	reply.method = (enum vtctld_method)(bytes[0] % _VTCTLD_METHOD_MAX);
	exact = fuzz_copy(bytes + 1, --length, false);
	arena_init(&arena, 0);
	scanned = scan_takes(reply.method, exact, length);
	taken = codec_reply(&arena, &scan_limits_default, exact, length, &reply, &error) == 0;
	fuzz_check(arena.used <= TIMES * length + BEYOND, "%s: %zu bytes become %zu",
		   vtctld_method_name(reply.method), length, arena.used);
	if (taken)
		check_reply(&arena, &reply);
	else
		fuzz_check(error.code == ERROR_PROTOCOL && error.text[0] && fuzz_is_quiet(error.text),
			   "a refusal has its reason");
	fuzz_check(taken || !scanned || !strstr(error.text, "cannot be unpacked"),
		   "the scan foretells too little: %s", error.text);
	fuzz_check(!taken || scanned || reply.method == VTCTLD_GET_SCHEMA_MIGRATIONS,
		   "taken, though the scan refuses it");
	arena_release(&arena);
	free(exact);
	return 0;
}
