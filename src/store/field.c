#include "field.h"

#include <assert.h>
#include <string.h>

#define FIELD_AS(type, member, column, kind)                                                                 \
	{                                                                                                    \
		column, kind, offsetof(struct type, member), sizeof(((struct type *)0)->member)              \
	}
#define FIELD(type, member, kind) FIELD_AS(type, member, #member, kind)

static const struct field change_fields[] = {
	FIELD(change, cluster, FIELD_NAME),
	FIELD_AS(change, keyspace, "keyspace_name", FIELD_NAME),
	FIELD_AS(change, table, "table_name", FIELD_TEXT),
	FIELD(change, ddl, FIELD_STRING),
	FIELD(change, ddl_sha256, FIELD_NAME),
	FIELD(change, uuid, FIELD_NAME),
	FIELD(change, context, FIELD_NAME),
	FIELD(change, generation, FIELD_U32),
	FIELD(change, strategy, FIELD_STRING),
	FIELD(change, phase, FIELD_PHASE),
	FIELD(change, epoch, FIELD_I64),
	FIELD(change, revision, FIELD_I64),
	FIELD(change, rule, FIELD_INT),
	FIELD(change, reason, FIELD_TEXT),
	FIELD(change, gate, FIELD_GATE),
	FIELD(change, cancel_asked, FIELD_BOOL),
	FIELD(change, adopted, FIELD_BOOL),
	FIELD(change, last_effect, FIELD_EFFECT),
	FIELD(change, attempts, FIELD_U32),
	FIELD(change, next_attempt_at_ms, FIELD_I64),
	FIELD(change, in_flight_until_ms, FIELD_I64),
	FIELD(change, created_at_ms, FIELD_I64),
	FIELD(change, updated_at_ms, FIELD_I64),
	FIELD(change, deadline_at_ms, FIELD_I64),
	FIELD(change, created_by, FIELD_TEXT),
	FIELD(change, shard_count, FIELD_COUNT),
};

static const struct field shard_fields[] = {
	FIELD(change_shard, name, FIELD_NAME),
	FIELD_AS(change_shard, primary.cell, "primary_cell", FIELD_TEXT),
	FIELD_AS(change_shard, primary.uid, "primary_uid", FIELD_U32),
	FIELD(change_shard, definition_before, FIELD_STRING_NULL),
	FIELD(change_shard, definition_after, FIELD_STRING_NULL),
};

static const struct field history_fields[] = {
	FIELD(history_entry, at_ms, FIELD_I64),
	FIELD(history_entry, actor, FIELD_STRING),
	FIELD_AS(history_entry, from, "from_phase", FIELD_PHASE_NULL),
	FIELD_AS(history_entry, to, "to_phase", FIELD_PHASE),
	FIELD(history_entry, rule, FIELD_INT),
	FIELD(history_entry, reason, FIELD_STRING),
	FIELD(history_entry, evidence, FIELD_STRING),
};

static const struct field live_fields[] = {
	FIELD_AS(live_change, keyspace, "keyspace_name", FIELD_STRING),
	FIELD_AS(live_change, table, "table_name", FIELD_STRING),
	FIELD(live_change, uuid, FIELD_STRING),
	FIELD(live_change, reason, FIELD_STRING),
	FIELD(live_change, phase, FIELD_PHASE),
	FIELD(live_change, gate, FIELD_GATE),
	FIELD(live_change, cancel_asked, FIELD_BOOL),
	FIELD(live_change, holds_table, FIELD_HELD),
	FIELD(live_change, rule, FIELD_INT),
	FIELD(live_change, shard_count, FIELD_U32),
	FIELD(live_change, epoch, FIELD_I64),
	FIELD(live_change, revision, FIELD_I64),
	FIELD(live_change, created_at_ms, FIELD_I64),
	FIELD(live_change, updated_at_ms, FIELD_I64),
	FIELD(live_change, deadline_at_ms, FIELD_I64),
};

#define LIST(fields) { fields, sizeof(fields) / sizeof((fields)[0]) }

const struct field_list field_change = LIST(change_fields);
const struct field_list field_shard = LIST(shard_fields);
const struct field_list field_history = LIST(history_fields);
const struct field_list field_live = LIST(live_fields);
_Static_assert(sizeof(live_fields) / sizeof(live_fields[0]) == FIELD_LIVE_COUNT, "the lease's columns come behind");

#define AT(type, base, field) ((type *)((char *)(base) + (field)->offset))
#define AT_CONST(type, base, field) ((const type *)((const char *)(base) + (field)->offset))

/* ---- From the struct ---- */

bool field_is_number(const struct field *field)
{
	switch (field->kind) {
	case FIELD_I64: case FIELD_U32: case FIELD_INT: case FIELD_BOOL: case FIELD_HELD: case FIELD_COUNT:
		return true;
	default:
		return false;
	}
}

int64_t field_number(const struct field *field, const void *base)
{
	switch (field->kind) {
	case FIELD_I64:
		return *AT_CONST(int64_t, base, field);
	case FIELD_U32:
		return *AT_CONST(uint32_t, base, field);
	case FIELD_INT:
		return *AT_CONST(int, base, field);
	case FIELD_COUNT:
		return (int64_t)*AT_CONST(size_t, base, field);
	default:
		assert(field->kind == FIELD_BOOL || field->kind == FIELD_HELD);
		return *AT_CONST(bool, base, field) ? 1 : 0;
	}
}

const char *field_text(const struct field *field, const void *base)
{
	const char *text;

	switch (field->kind) {
	case FIELD_NAME:
	case FIELD_TEXT:
		return AT_CONST(char, base, field);
	case FIELD_STRING:
		text = *AT_CONST(char *, base, field);
		return text ? text : "";
	case FIELD_STRING_NULL:
		return *AT_CONST(char *, base, field);
	case FIELD_PHASE:
	case FIELD_PHASE_NULL:
		return *AT_CONST(enum phase, base, field) == _PHASE_INVALID
			       ? NULL
			       : phase_name(*AT_CONST(enum phase, base, field));
	case FIELD_GATE:
		return gate_name(*AT_CONST(enum gate, base, field));
	default:
		assert(field->kind == FIELD_EFFECT);
		return effect_name(*AT_CONST(enum effect, base, field));
	}
}

/* ---- Into the struct ---- */

bool field_read_text(const struct field *field, const char *text, size_t length, struct arena *arena, void *base)
{
	if (strlen(text) != length)
		return false;
	switch (field->kind) {
	case FIELD_NAME:
	case FIELD_TEXT:
		if (length >= field->size)
			return false;
		memcpy(AT(char, base, field), text, length + 1);
		return true;
	case FIELD_STRING:
	case FIELD_STRING_NULL:
		*AT(const char *, base, field) = arena_memdup(arena, text, length);
		return *AT(const char *, base, field) != NULL;
	case FIELD_PHASE:
	case FIELD_PHASE_NULL:
		*AT(enum phase, base, field) = phase_from_name(text);
		return *AT(enum phase, base, field) != _PHASE_INVALID;
	case FIELD_GATE:
		*AT(enum gate, base, field) = gate_from_name(text);
		return *AT(enum gate, base, field) != _GATE_INVALID;
	case FIELD_EFFECT:
		*AT(enum effect, base, field) = effect_from_name(text);
		return *AT(enum effect, base, field) != _EFFECT_INVALID;
	default:
		return false;
	}
}

bool field_read_number(const struct field *field, int64_t number, void *base)
{
	switch (field->kind) {
	case FIELD_I64:
		*AT(int64_t, base, field) = number;
		return true;
	case FIELD_U32:
		*AT(uint32_t, base, field) = (uint32_t)number;
		return number >= 0 && number <= UINT32_MAX;
	case FIELD_INT:
		*AT(int, base, field) = (int)number;
		return number >= INT32_MIN && number <= INT32_MAX;
	case FIELD_COUNT:
		*AT(size_t, base, field) = (size_t)number;
		return number >= 0 && number <= SHARDS_MAX;
	case FIELD_BOOL:
	case FIELD_HELD:
		*AT(bool, base, field) = number == 1;
		return number == 0 || number == 1;
	default:
		return false;
	}
}

bool field_read_null(const struct field *field, void *base)
{
	if (field->kind == FIELD_PHASE_NULL)
		*AT(enum phase, base, field) = _PHASE_INVALID;
	else if (field->kind == FIELD_STRING_NULL)
		*AT(const char *, base, field) = NULL;
	else
		return false;
	return true;
}
