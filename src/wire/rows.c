#include "rows.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "varint.h"

#define TEXTS 12   /* of a row: the first members of struct migration */
#define TWINS 1024 /* changes of which the last row is remembered */
#define DEPTH 3	   /* answer, row, part of a row */
#define NOWHERE UINT16_MAX

/* ---- What the fields are and where they go ---- */

enum kind {
	UNKNOWN, /* to a later Vitess it means something */
	TEXT,	 /* const char * */
	CELL,	 /* char[CELL_MAX + 1] */
	ROW,	 /* one of the items */
	PART,	 /* @layout, from its offset on */
	FLAG,	 /* bool */
	ENUM,	 /* int */
	NUMBER,	 /* int64_t */
	COUNT,	 /* int64_t; more than fits is the largest that fits */
	COUNT32, /* int64_t, of which the wire has 32 bits */
	UID,	 /* uint32_t */
	FLOAT,	 /* double */
	_KIND_MAX
};

static const uint8_t wire_types[_KIND_MAX] = {
    [TEXT] = WIRE_LENGTH, [CELL] = WIRE_LENGTH, [ROW] = WIRE_LENGTH,	[PART] = WIRE_LENGTH,
    [FLAG] = WIRE_VARINT, [ENUM] = WIRE_VARINT, [NUMBER] = WIRE_VARINT, [COUNT] = WIRE_VARINT,
    [UID] = WIRE_VARINT,  [FLOAT] = WIRE_32BIT, [COUNT32] = WIRE_VARINT,
};

struct field {
	const char *name;
	uint16_t kind;
	uint16_t offset; /* NOWHERE: checked, and dropped */
	const struct layout *layout;
};

struct layout {
	const char *name;
	const struct field *fields; /* by number */
	size_t field_count;	    /* numbers from here on are unknown */
};

#define LAYOUT(name, fields)                                                                                 \
	{                                                                                                    \
		name, fields, sizeof(fields) / sizeof((fields)[0])                                           \
	}
#define OF(member) offsetof(struct migration, member)
_Static_assert(OF(uuid) == 0 && OF(special_plan) == (TEXTS - 1) * sizeof(const char *),
	       "texts are told apart by their place");

static const struct field time_fields[] = {
    [1] = {"seconds", NUMBER, 0},
    [2] = {"nanoseconds", NUMBER, NOWHERE},
};
static const struct layout time_layout = LAYOUT("vttime.Time", time_fields);

static const struct field duration_fields[] = {
    [1] = {"seconds", NUMBER, NOWHERE},
    [2] = {"nanos", NUMBER, NOWHERE},
};
static const struct layout duration_layout = LAYOUT("vttime.Duration", duration_fields);

static const struct field alias_fields[] = {
    [1] = {"cell", CELL, offsetof(struct tablet_alias, cell)},
    [2] = {"uid", UID, offsetof(struct tablet_alias, uid)},
};
static const struct layout alias_layout = LAYOUT("topodata.TabletAlias", alias_fields);

static const struct field migration_fields[] = {
    [1] = {"uuid", TEXT, OF(uuid)},
    [2] = {"keyspace", TEXT, OF(keyspace)},
    [3] = {"shard", TEXT, OF(shard)},
    [4] = {"schema", TEXT, NOWHERE},
    [5] = {"table", TEXT, OF(table)},
    [6] = {"migration_statement", TEXT, OF(statement)},
    [7] = {"strategy", ENUM, OF(strategy)},
    [8] = {"options", TEXT, OF(options)},
    [9] = {"added_at", PART, NOWHERE, &time_layout},
    [10] = {"requested_at", PART, OF(requested_at_s), &time_layout},
    [11] = {"ready_at", PART, NOWHERE, &time_layout},
    [12] = {"started_at", PART, OF(started_at_s), &time_layout},
    [13] = {"liveness_timestamp", PART, OF(liveness_s), &time_layout},
    [14] = {"completed_at", PART, OF(completed_at_s), &time_layout},
    [15] = {"cleaned_up_at", PART, NOWHERE, &time_layout},
    [16] = {"status", ENUM, OF(status)},
    [17] = {"log_path", TEXT, NOWHERE},
    [18] = {"artifacts", TEXT, OF(artifacts)},
    [19] = {"retries", COUNT, OF(retries)},
    [20] = {"tablet", PART, OF(tablet), &alias_layout},
    [21] = {"tablet_failure", FLAG, OF(tablet_failure)},
    [22] = {"progress", FLOAT, OF(progress)},
    [23] = {"migration_context", TEXT, OF(context)},
    [24] = {"ddl_action", TEXT, OF(ddl_action)},
    [25] = {"message", TEXT, OF(message)},
    [26] = {"eta_seconds", NUMBER, OF(eta_s)},
    [27] = {"rows_copied", COUNT, OF(rows_copied)},
    [28] = {"table_rows", NUMBER, OF(table_rows)},
    [29] = {"added_unique_keys", COUNT32, NOWHERE},
    [30] = {"removed_unique_keys", COUNT32, NOWHERE},
    [31] = {"log_file", TEXT, NOWHERE},
    [32] = {"artifact_retention", PART, NOWHERE, &duration_layout},
    [33] = {"postpone_completion", FLAG, OF(postpone_completion)},
    [34] = {"removed_unique_key_names", TEXT, NOWHERE},
    [35] = {"dropped_no_default_column_names", TEXT, NOWHERE},
    [36] = {"expanded_column_names", TEXT, NOWHERE},
    [37] = {"revertible_notes", TEXT, NOWHERE},
    [38] = {"allow_concurrent", FLAG, NOWHERE},
    [39] = {"reverted_uuid", TEXT, NOWHERE},
    [40] = {"is_view", FLAG, OF(is_view)},
    [41] = {"ready_to_complete", FLAG, OF(ready_to_complete)},
    [42] = {"vitess_liveness_indicator", NUMBER, NOWHERE},
    [43] = {"user_throttle_ratio", FLOAT, NOWHERE},
    [44] = {"special_plan", TEXT, OF(special_plan)},
    [45] = {"last_throttled_at", PART, NOWHERE, &time_layout},
    [46] = {"component_throttled", TEXT, NOWHERE},
    [47] = {"cancelled_at", PART, NOWHERE, &time_layout},
    [48] = {"postpone_launch", FLAG, OF(postpone_launch)},
    [49] = {"stage", TEXT, OF(stage)},
    [50] = {"cutover_attempts", COUNT32, OF(cutover_attempts)},
    [51] = {"is_immediate_operation", FLAG, OF(is_immediate_operation)},
    [52] = {"reviewed_at", PART, OF(reviewed_at_s), &time_layout},
    [53] = {"ready_to_complete_at", PART, OF(ready_to_complete_at_s), &time_layout},
    [54] = {"removed_foreign_key_names", TEXT, NOWHERE},
    [55] = {"in_order_completion_pending_count", COUNT, NOWHERE},
};
static const struct layout migration_layout = LAYOUT("vtctldata.SchemaMigration", migration_fields);

static const struct field answer_fields[] = {
    [1] = {"migrations", ROW, 0, &migration_layout},
};
static const struct layout answer_layout = LAYOUT("vtctldata.GetSchemaMigrationsResponse", answer_fields);

/* ---- The bytes ---- */

struct rows {
	struct arena *arena;
	const struct scan_limits *limits;
	const uint8_t *start;
	struct migration *items;
	size_t count, room;
	size_t bytes; /* taken of the arena */
	struct error *reterr;

	/* The row under way. A text is copied when the row ends: another one may come in its place. */
	const struct migration *twin; /* the last row of the same change, else the row before; NULL: none */
	struct {
		const uint8_t *at;
		size_t length;
	} texts[TEXTS];
	unsigned texts_new; /* bit by place: to be copied */

	uint32_t twins[TWINS]; /* by the uuid's hash: the row's number, from 1 on */
};

/* A field as it stands on the wire. */
struct value {
	const struct layout *layout; /* of the message that it is in */
	const struct field *field;
	const uint8_t *at;
	size_t size;
	uint64_t number; /* of a varint */
};

static int refuse(const struct rows *rows, const struct value *value, const uint8_t *at, const char *why)
{
	const char *name = value->field ? value->field->name : NULL;

	return error_set(rows->reterr, ERROR_PROTOCOL, "the answer is unreadable at byte %zu, in %s%s%s: %s",
			 (size_t)(at - rows->start), value->layout->name, name ? "." : "", name ? name : "",
			 why);
}

static int no_room(const struct rows *rows)
{
	return error_set(rows->reterr, ERROR_PROTOCOL, "the answer would take more memory than is allowed");
}

static void *room(struct rows *rows, size_t size)
{
	if (size > rows->limits->tree_bytes - rows->bytes)
		return NULL;
	rows->bytes += size;
	return arena_alloc(rows->arena, size);
}

/* Reads the tag at *@at and what belongs to it; steps behind it. A call for each field would cost a fifth. */
__attribute__((always_inline)) static inline int value_read(struct rows *rows, const uint8_t **at,
							    const uint8_t *end, struct value *ret)
{
	static const struct field unknown = {.kind = UNKNOWN, .offset = NOWHERE};
	const uint8_t *start = *at;
	uint64_t tag, size = 0;
	unsigned wire_type;

	ret->field = NULL;
	if (!varint_read(at, end, 5, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
		return refuse(rows, ret, start, "no field number");
	wire_type = tag & 7;
	ret->field = tag >> 3 < ret->layout->field_count ? &ret->layout->fields[tag >> 3] : &unknown;
	if (ret->field->kind != UNKNOWN && wire_type != wire_types[ret->field->kind])
		return refuse(rows, ret, start, "a wire type that this field cannot have");
	switch (wire_type) {
	case WIRE_VARINT:
		if (!varint_read(at, end, 10, &ret->number))
			return refuse(rows, ret, *at, "a number that does not end or has more than 64 bits");
		break;
	case WIRE_LENGTH:
		if (!varint_read(at, end, 5, &size) || size > INT_MAX)
			return refuse(rows, ret, *at, "a length that does not end or is too large");
		break;
	case WIRE_64BIT:
		size = 8;
		break;
	case WIRE_32BIT:
		size = 4;
		break;
	default:
		return refuse(rows, ret, start, "a wire type that this field cannot have");
	}
	if (size > (size_t)(end - *at))
		return refuse(rows, ret, *at, "cut off: the field is longer than what is left");
	ret->at = *at;
	ret->size = (size_t)size;
	*at += size;
	return 0;
}

/* ---- Texts ---- */

static bool text_is(const char *text, const uint8_t *at, size_t length)
{
	return strnlen(text, length + 1) == length && memcmp(text, at, length) == 0;
}

static size_t text_hash(const uint8_t *at, size_t length)
{
	uint64_t hash = length, word = 0;

	for (; length > sizeof(word); at += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, at, length);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32);
}

/* Rows come by shard or by change: so the row of the same change is not always the one before. */
static void twin_find(struct rows *rows, const struct value *uuid)
{
	uint32_t *last = &rows->twins[text_hash(uuid->at, uuid->size) % TWINS];

	if (*last && text_is(rows->items[*last - 1].uuid, uuid->at, uuid->size))
		rows->twin = &rows->items[*last - 1];
	*last = (uint32_t)rows->count;
}

static int text_take(struct rows *rows, const struct value *value, char *into)
{
	bool is_kept = value->field->offset != NOWHERE;
	size_t place = value->field->offset / sizeof(const char *);
	const char *same;

	if (value->size > rows->limits->text_bytes)
		return refuse(rows, value, value->at, "longer than is allowed for this field");
	if (value->field->offset == OF(uuid))
		twin_find(rows, value);
	if (is_kept && rows->twin) {
		same = ((const char *const *)rows->twin)[place];
		if (text_is(same, value->at, value->size)) { /* and so it was checked already */
			/* only a row has texts, and it is never dropped. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
			((const char **)(void *)into)[place] = same;
			rows->texts_new &= ~(1U << place);
			return 0;
		}
	}
	if (!scan_text_is_clean(value->at, value->size))
		return refuse(rows, value, value->at, "not UTF-8, or a NUL inside");
	if (is_kept) {
		rows->texts[place].at = value->at;
		rows->texts[place].length = value->size;
		rows->texts_new |= 1U << place;
	}
	return 0;
}

static int cell_take(struct rows *rows, const struct value *value, char *into)
{
	if (value->size > CELL_MAX) /* a name cut short would be another tablet's */
		return refuse(rows, value, value->at, "longer than is allowed for this field");
	if (!scan_text_is_clean(value->at, value->size))
		return refuse(rows, value, value->at, "not UTF-8, or a NUL inside");
	/* the one alias is kept. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
	memcpy(into + value->field->offset, value->at, value->size);
	into[value->field->offset + value->size] = 0;
	return 0;
}

/* Copies what the row does not share, in one piece. */
static int texts_copy(struct rows *rows, char *into)
{
	const char **texts = (const char **)(void *)into;
	size_t size = 0;
	char *to;

	for (unsigned left = rows->texts_new; left; left &= left - 1)
		size += rows->texts[__builtin_ctz(left)].length + 1;
	if (!size)
		return 0;
	to = room(rows, size);
	if (!to)
		return no_room(rows);
	for (unsigned left = rows->texts_new; left; left &= left - 1) {
		unsigned place = (unsigned)__builtin_ctz(left);
		size_t length = rows->texts[place].length;

		texts[place] = memcpy(to, rows->texts[place].at, length); /* the NUL is there: arenas are zeroed */
		to += length + 1;
	}
	return 0;
}

/* ---- The walk ---- */

/* A message that the walk is in. */
struct frame {
	const struct layout *layout;
	const uint8_t *end;
	char *into; /* NULL: all of it is dropped */
};

static struct migration *row_begin(struct rows *rows)
{
	struct migration *row = &rows->items[rows->count];
	const char **texts = (const char **)(void *)row;

	assert(rows->count < rows->room);
	rows->twin = rows->count ? row - 1 : NULL;
	rows->texts_new = 0;
	rows->count++;
	for (size_t i = 0; i < TEXTS; i++)
		texts[i] = "";
	return row;
}

static inline void number_take(const struct value *value, void *to)
{
	uint64_t number = value->number;
	float real;

	switch (value->field->kind) {
	case FLAG:
		*(bool *)to = number != 0;
		break;
	case ENUM:
		*(int *)to = (int)(uint32_t)number;
		break;
	case UID:
		*(uint32_t *)to = (uint32_t)number;
		break;
	case COUNT32:
		*(int64_t *)to = (uint32_t)number;
		break;
	case COUNT:
		*(int64_t *)to = number > INT64_MAX ? INT64_MAX : (int64_t)number;
		break;
	case NUMBER:
		*(int64_t *)to = (int64_t)number;
		break;
	case FLOAT:
		memcpy(&real, value->at, sizeof(real));
		*(double *)to = (double)real;
		break;
	}
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of fixed size are read as they stand");

/* Puts a field where it goes. Return: 1, it is a message, to be walked through next. */
static inline int value_take(struct rows *rows, const struct value *value, const struct frame *frame)
{
	bool is_kept = frame->into && value->field->offset != NOWHERE;

	switch (value->field->kind) {
	case UNKNOWN:
		return 0;
	case TEXT:
		return text_take(rows, value, frame->into);
	case CELL:
		return cell_take(rows, value, frame->into);
	case ROW:
	case PART:
		return 1;
	default:
		if (is_kept)
			number_take(value, frame->into + value->field->offset);
		return 0;
	}
}

static struct frame frame_of(struct rows *rows, const struct value *value, const struct frame *outer)
{
	struct frame frame = {.layout = value->field->layout, .end = value->at + value->size};

	if (value->field->kind == ROW)
		frame.into = (char *)row_begin(rows);
	else if (value->field->offset != NOWHERE)
		frame.into = outer->into + value->field->offset;
	return frame;
}

static int walk(struct rows *rows, const uint8_t *at, const uint8_t *end)
{
	struct frame frames[DEPTH] = {{.layout = &answer_layout, .end = end}}, *frame = frames;
	struct value value = {0};
	int r;

	for (;;) {
		if (at == frame->end) {
			if (frame->layout == &migration_layout && texts_copy(rows, frame->into) < 0)
				return -1;
			if (frame == frames)
				return 0;
			frame--;
			continue;
		}
		value.layout = frame->layout;
		r = value_read(rows, &at, frame->end, &value);
		if (r == 0)
			r = value_take(rows, &value, frame);
		if (r < 0)
			return -1;
		if (r > 0) {
			assert(frame < frames + DEPTH - 1);
			frame[1] = frame_of(rows, &value, frame);
			frame++;
			at = value.at;
		}
	}
}

/* By their lengths alone. Stops at what is malformed, as the walk itself will. */
static size_t rows_count(struct rows *rows, const uint8_t *at, const uint8_t *end)
{
	struct value value = {.layout = &answer_layout};
	struct error *reterr = rows->reterr;
	size_t count = 0;

	rows->reterr = NULL;
	while (at < end && value_read(rows, &at, end, &value) == 0)
		count += value.field->kind == ROW;
	rows->reterr = reterr;
	return count;
}

int rows_decode(struct arena *arena, const struct scan_limits *limits, const uint8_t *bytes, size_t length,
		struct migration **ret, size_t *ret_count, struct error *reterr)
{
	struct rows rows = {.arena = arena, .limits = limits, .start = bytes, .reterr = reterr};

	if (length > limits->total_bytes)
		return error_set(reterr, ERROR_PROTOCOL, "the answer %s has %zu bytes, %zu are allowed",
				 answer_layout.name, length, limits->total_bytes);
	rows.room = rows_count(&rows, bytes, bytes + length);
	if (rows.room > limits->rows)
		return error_set(reterr, ERROR_PROTOCOL, "the answer has %zu rows, %zu are allowed", rows.room,
				 limits->rows);
	rows.items = room(&rows, (rows.room ? rows.room : 1) * sizeof(*rows.items));
	if (!rows.items)
		return no_room(&rows);
	if (walk(&rows, bytes, bytes + length) < 0)
		return -1;
	*ret = rows.items;
	*ret_count = rows.count;
	return 0;
}
