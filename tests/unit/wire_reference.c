#include "wire_reference.h"

#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "vtctldata.pb-c.h"
#include "wire_bytes.h"

#define ANSWER (&vtctldata__get_schema_migrations_response__descriptor)
#define ROW (&vtctldata__schema_migration__descriptor)

/* ---- Sub-messages that come twice ----
 *
 * protobuf's rule is that they are merged as if their bytes stood one behind the other. protobuf-c merges
 * the unpacked structs instead, where a number set to 0 is no longer one that was set. So they are put
 * one behind the other first. */

struct piece { /* of the wire: a field with its tag */
	unsigned number, wire_type;
	const uint8_t *at, *content, *end;
};

static bool number_read(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; *at < end && shift < 70; shift += 7) {
		uint8_t byte = *(*at)++;

		*ret |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool piece_read(const uint8_t **at, const uint8_t *end, struct piece *ret)
{
	uint64_t tag, size = 0;

	ret->at = *at;
	if (!number_read(at, end, &tag))
		return false;
	ret->number = (unsigned)(tag >> 3);
	ret->wire_type = tag & 7;
	ret->content = *at;
	if (ret->wire_type == 0 && !number_read(at, end, &size))
		return false;
	if (ret->wire_type == 2 && !number_read(at, end, &size))
		return false;
	if (ret->wire_type != 0) {
		ret->content = *at;
		size = ret->wire_type == 1 ? 8 : ret->wire_type == 5 ? 4 : size;
		if (ret->wire_type == 3 || ret->wire_type == 4 || size > (size_t)(end - *at))
			return false;
		*at += size;
	}
	ret->end = *at;
	return true;
}

static bool is_part(const struct piece *piece)
{
	const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(ROW, piece->number);

	return field && field->type == PROTOBUF_C_TYPE_MESSAGE && piece->wire_type == 2;
}

/* All contents of @number in the row, one behind the other. */
static void put_joined(struct bytes *into, unsigned number, const uint8_t *at, const uint8_t *end)
{
	struct bytes joined = { 0 };
	struct piece piece;

	while (at < end && piece_read(&at, end, &piece))
		if (is_part(&piece) && piece.number == number)
			put_raw(&joined, piece.content, (size_t)(piece.end - piece.content));
	put_part(into, number, &joined);
}

static void put_row(struct bytes *into, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *start = at;
	struct bytes row = { 0 };
	struct piece piece;
	uint64_t seen = 0;

	while (at < end && piece_read(&at, end, &piece)) {
		if (!is_part(&piece)) {
			put_raw(&row, piece.at, (size_t)(piece.end - piece.at));
		} else if (!(seen >> piece.number & 1)) {
			seen |= UINT64_C(1) << piece.number;
			put_joined(&row, piece.number, start, end);
		}
	}
	if (at < end || (end > start && piece.end != end)) { /* not to be read: left as it is */
		row.length = 0;
		put_raw(&row, start, (size_t)(end - start));
	}
	put_part(into, 1, &row);
}

static struct bytes joined_of(const uint8_t *bytes, size_t length)
{
	const uint8_t *at = bytes, *end = bytes + length;
	struct bytes joined = { 0 };

	while (at < end) {
		struct piece piece = { .at = at };

		if (!piece_read(&at, end, &piece)) {
			put_raw(&joined, piece.at, (size_t)(end - piece.at));
			break;
		}
		if (piece.number == 1 && piece.wire_type == 2)
			put_row(&joined, piece.content, piece.end);
		else
			put_raw(&joined, piece.at, (size_t)(piece.end - piece.at));
	}
	return joined;
}

/* ---- The conversion ---- */

static int64_t seconds_of(const Vttime__Time *time)
{
	return time ? time->seconds : 0;
}

static int64_t count_of(uint64_t count)
{
	return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static void row_convert(struct arena *arena, const Vtctldata__SchemaMigration *row, struct migration *ret)
{
	*ret = (struct migration){
		.uuid = arena_strdup(arena, row->uuid),
		.keyspace = arena_strdup(arena, row->keyspace),
		.shard = arena_strdup(arena, row->shard),
		.table = arena_strdup(arena, row->table),
		.statement = arena_strdup(arena, row->migration_statement),
		.options = arena_strdup(arena, row->options),
		.context = arena_strdup(arena, row->migration_context),
		.ddl_action = arena_strdup(arena, row->ddl_action),
		.message = arena_strdup(arena, row->message),
		.stage = arena_strdup(arena, row->stage),
		.artifacts = arena_strdup(arena, row->artifacts),
		.special_plan = arena_strdup(arena, row->special_plan),
		.strategy = (int)row->strategy,
		.status = (int)row->status,
		.postpone_completion = row->postpone_completion,
		.postpone_launch = row->postpone_launch,
		.ready_to_complete = row->ready_to_complete,
		.is_immediate_operation = row->is_immediate_operation,
		.is_view = row->is_view,
		.tablet_failure = row->tablet_failure,
		.retries = count_of(row->retries),
		.requested_at_s = seconds_of(row->requested_at),
		.started_at_s = seconds_of(row->started_at),
		.liveness_s = seconds_of(row->liveness_timestamp),
		.completed_at_s = seconds_of(row->completed_at),
		.reviewed_at_s = seconds_of(row->reviewed_at),
		.ready_to_complete_at_s = seconds_of(row->ready_to_complete_at),
		.progress = (double)row->progress,
		.eta_s = row->eta_seconds,
		.rows_copied = count_of(row->rows_copied),
		.table_rows = row->table_rows,
		.cutover_attempts = row->cutover_attempts,
	};
	if (row->tablet) {
		strncpy(ret->tablet.cell, row->tablet->cell, CELL_MAX);
		ret->tablet.uid = row->tablet->uid;
	}
}

static bool is_accepted(const struct bytes *joined)
{
	size_t ignored;

	return scan_message(ANSWER, joined->at, joined->length, &scan_limits_default, &ignored, NULL) == 0;
}

bool reference_decode(struct arena *arena, const uint8_t *bytes, size_t length, struct migration **ret,
		      size_t *ret_count)
{
	Vtctldata__GetSchemaMigrationsResponse *raw =
		vtctldata__get_schema_migrations_response__unpack(NULL, length, bytes);
	struct bytes joined = joined_of(bytes, length);
	Vtctldata__GetSchemaMigrationsResponse *answer = NULL;

	if (raw && is_accepted(&joined))
		answer = vtctldata__get_schema_migrations_response__unpack(NULL, joined.length, joined.at);
	if (answer) {
		*ret_count = answer->n_migrations;
		*ret = arena_array(arena, answer->n_migrations, sizeof(**ret));
		for (size_t i = 0; i < answer->n_migrations; i++)
			row_convert(arena, answer->migrations[i], &(*ret)[i]);
		vtctldata__get_schema_migrations_response__free_unpacked(answer, NULL);
	}
	if (raw)
		vtctldata__get_schema_migrations_response__free_unpacked(raw, NULL);
	bytes_release(&joined);
	return answer;
}

/* ---- Comparing ---- */

const char *reference_difference(const struct migration *a, const struct migration *b)
{
#define TEXT(member)                                                                                          \
	if (strcmp(a->member, b->member) != 0)                                                                \
		return #member;
#define VALUE(member)                                                                                         \
	if (memcmp(&a->member, &b->member, sizeof(a->member)) != 0)                                           \
		return #member;
	TEXT(uuid) TEXT(keyspace) TEXT(shard) TEXT(table) TEXT(statement) TEXT(options) TEXT(context)
	TEXT(ddl_action) TEXT(message) TEXT(stage) TEXT(artifacts) TEXT(special_plan) TEXT(tablet.cell)
	VALUE(strategy) VALUE(status) VALUE(postpone_completion) VALUE(postpone_launch)
	VALUE(ready_to_complete) VALUE(is_immediate_operation) VALUE(is_view) VALUE(tablet_failure)
	VALUE(retries) VALUE(requested_at_s) VALUE(started_at_s) VALUE(liveness_s) VALUE(completed_at_s)
	VALUE(reviewed_at_s) VALUE(ready_to_complete_at_s) VALUE(progress) VALUE(eta_s) VALUE(rows_copied)
	VALUE(table_rows) VALUE(cutover_attempts) VALUE(tablet.uid)
#undef TEXT
#undef VALUE
	return NULL;
}

static const char *rows_compare(const struct migration *ours, size_t our_count,
				const struct migration *theirs, size_t their_count)
{
	const char *what = our_count == their_count ? NULL : "how many rows";

	for (size_t i = 0; i < our_count && !what; i++)
		what = reference_difference(&ours[i], &theirs[i]);
	return what;
}

/* What rows.c is stricter about than the reference. */
static bool is_own_refusal(const struct error *error)
{
	return strstr(error->text, "TabletAlias.cell: longer") || strstr(error->text, "rows, ") ||
	       strstr(error->text, "more memory");
}

const char *reference_check(const uint8_t *bytes, size_t length, struct reference_tally *tally)
{
	struct arena arena;
	struct migration *ours = NULL, *theirs = NULL;
	size_t our_count = 0, their_count = 0;
	struct error error = { 0 };
	const char *what = NULL;
	bool is_taken, is_right;

	arena_init(&arena, 0);
	is_right = reference_decode(&arena, bytes, length, &theirs, &their_count);
	is_taken = rows_decode(&arena, &scan_limits_default, bytes, length, &ours, &our_count, &error) == 0;
	if (is_taken && !is_right)
		what = "taken, though the reference refuses it";
	else if (is_right && !is_taken && !is_own_refusal(&error))
		what = "refused, though the reference takes it";
	else if (!is_taken && (error.code != ERROR_PROTOCOL || !error.text[0]))
		what = "a refusal has no reason";
	else if (is_taken)
		what = rows_compare(ours, our_count, theirs, their_count);
	if (tally && !what) {
		tally->accepted += is_taken && is_right;
		tally->refused += !is_taken && !is_right;
	}
	arena_release(&arena);
	return what;
}
