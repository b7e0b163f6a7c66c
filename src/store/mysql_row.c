#include "mysql_private.h"

/*
 * The members of the structs and the columns of the tables are one list each; binding and
 * reading walk the same list. What comes from the database is checked like any other input: a
 * record that does not fit its struct is refused, never cut.
 */

enum field_kind {
	FIELD_NAME,	   /* char[size], keeps a grammar of ASCII */
	FIELD_TEXT,	   /* char[size], any bytes */
	FIELD_STRING,	   /* const char *; NULL is written as "" */
	FIELD_STRING_NULL, /* const char *; NULL stays NULL */
	FIELD_I64,
	FIELD_U32,
	FIELD_INT,
	FIELD_BOOL,
	FIELD_HELD,  /* bool; false is NULL in the table */
	FIELD_COUNT, /* size_t, of shards */
	FIELD_PHASE, /* by name; _PHASE_INVALID is NULL */
	FIELD_GATE,
	FIELD_EFFECT,
};

struct field {
	const char *column;
	enum field_kind kind;
	size_t offset;
	size_t size;
};

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
	FIELD_AS(history_entry, from, "from_phase", FIELD_PHASE),
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

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
_Static_assert(COUNT(live_fields) == MYSTORE_LIVE_COLUMNS, "the lease's columns come behind");

/* ---- Binding ---- */

#define AT(type, base, field) ((type *)((char *)(base) + (field)->offset))
#define AT_CONST(type, base, field) ((const type *)((const char *)(base) + (field)->offset))

static struct sql_value field_value(const struct field *field, const void *base)
{
	const char *name = field->column, *text;

	switch (field->kind) {
	case FIELD_NAME:
		return sql_text(name, AT_CONST(char, base, field));
	case FIELD_TEXT:
		return sql_bytes(name, AT_CONST(char, base, field));
	case FIELD_STRING:
		text = *AT_CONST(char *, base, field);
		return sql_bytes(name, text ? text : "");
	case FIELD_STRING_NULL:
		return sql_bytes(name, *AT_CONST(char *, base, field));
	case FIELD_I64:
		return sql_i64(name, *AT_CONST(int64_t, base, field));
	case FIELD_U32:
		return sql_i64(name, *AT_CONST(uint32_t, base, field));
	case FIELD_INT:
		return sql_i64(name, *AT_CONST(int, base, field));
	case FIELD_COUNT:
		return sql_i64(name, (int64_t)*AT_CONST(size_t, base, field));
	case FIELD_BOOL:
	case FIELD_HELD:
		return sql_i64(name, *AT_CONST(bool, base, field) ? 1 : 0);
	case FIELD_PHASE:
		if (*AT_CONST(enum phase, base, field) == _PHASE_INVALID)
			return sql_text(name, NULL);
		return sql_text(name, phase_name(*AT_CONST(enum phase, base, field)));
	case FIELD_GATE:
		return sql_text(name, gate_name(*AT_CONST(enum gate, base, field)));
	case FIELD_EFFECT:
		return sql_text(name, effect_name(*AT_CONST(enum effect, base, field)));
	}
	abort();
}

static void add_fields(struct mystore_values *values, const struct field *fields, size_t count,
		       const void *base)
{
	for (size_t i = 0; i < count; i++)
		mystore_add(values, field_value(&fields[i], base));
}

void mystore_add_change(struct mystore_values *values, const struct change *change)
{
	add_fields(values, change_fields, COUNT(change_fields), change);
}

void mystore_add_shard(struct mystore_values *values, const struct change_shard *shard)
{
	add_fields(values, shard_fields, COUNT(shard_fields), shard);
}

void mystore_add_history(struct mystore_values *values, const struct history_entry *entry)
{
	add_fields(values, history_fields, COUNT(history_fields), entry);
}

/* ---- Reading ---- */

static bool read_text(const struct sql_value *value, const struct field *field, struct arena *arena,
		      void *base)
{
	/* A NUL within would make two names equal that are not. */
	if (strlen(value->text) != value->length)
		return false;
	switch (field->kind) {
	case FIELD_NAME:
	case FIELD_TEXT:
		if (value->length >= field->size)
			return false;
		memcpy(AT(char, base, field), value->text, value->length + 1);
		return true;
	case FIELD_STRING:
	case FIELD_STRING_NULL:
		*AT(const char *, base, field) = arena_memdup(arena, value->text, value->length);
		return *AT(const char *, base, field) != NULL;
	case FIELD_PHASE:
		*AT(enum phase, base, field) = phase_from_name(value->text);
		return *AT(enum phase, base, field) != _PHASE_INVALID;
	case FIELD_GATE:
		*AT(enum gate, base, field) = gate_from_name(value->text);
		return *AT(enum gate, base, field) != _GATE_INVALID;
	case FIELD_EFFECT:
		*AT(enum effect, base, field) = effect_from_name(value->text);
		return *AT(enum effect, base, field) != _EFFECT_INVALID;
	default:
		return false;
	}
}

static bool read_number(int64_t number, const struct field *field, void *base)
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

static bool read_null(const struct field *field, void *base)
{
	if (field->kind == FIELD_PHASE)
		*AT(enum phase, base, field) = _PHASE_INVALID;
	else if (field->kind == FIELD_STRING_NULL)
		*AT(const char *, base, field) = NULL;
	else if (field->kind == FIELD_HELD)
		*AT(bool, base, field) = false;
	else
		return false;
	return true;
}

static bool read_field(const struct sql_value *value, const struct field *field, struct arena *arena,
		       void *base)
{
	switch (value->kind) {
	case SQL_I64:
		return read_number(value->number, field, base);
	case SQL_NULL:
		return read_null(field, base);
	default:
		return read_text(value, field, arena, base);
	}
}

static int read_fields(struct mystore *store, unsigned column, const struct field *fields, size_t count,
		       struct arena *arena, void *base, struct error *reterr)
{
	for (size_t i = 0; i < count; i++, column++)
		if (!read_field(connection_column(store->connection, column), &fields[i], arena, base))
			return error_set(
				reterr, ERROR_STORE,
				"%s has a record whose %s cannot be read, so another program wrote it or it is"
				" too large; put back a backup of the store and run the same command again",
				store->name, fields[i].column);
	return 0;
}

int mystore_read_change(struct mystore *store, unsigned column, struct arena *arena, struct change *ret,
			struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, column, change_fields, COUNT(change_fields), arena, ret, reterr);
}

int mystore_read_shard(struct mystore *store, unsigned column, struct arena *arena, struct change_shard *ret,
		       struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, column, shard_fields, COUNT(shard_fields), arena, ret, reterr);
}

int mystore_read_history(struct mystore *store, struct arena *arena, struct history_entry *ret,
			 struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, 0, history_fields, COUNT(history_fields), arena, ret, reterr);
}

int mystore_read_live(struct mystore *store, struct arena *arena, struct live_change *ret,
		      struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, 0, live_fields, COUNT(live_fields), arena, ret, reterr);
}

/* ---- Lists ---- */

void *mystore_rows_next(struct mystore_rows *rows)
{
	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity ? rows->capacity * 2 : 16;
		rows->items = reallocarray(rows->items, rows->capacity, rows->size);
		if (!rows->items)
			abort();
	}
	return rows->items + rows->count++ * rows->size;
}

int mystore_too_much(const struct mystore *store, struct error *reterr)
{
	return error_set(reterr, ERROR_STORE, "%s has more than may be read at once; ask for less",
			 store->name);
}

int mystore_rows_finish(const struct mystore *store, const struct mystore_rows *rows, struct arena *arena,
			void **ret, struct error *reterr)
{
	*ret = arena_array(arena, rows->count, rows->size);
	if (!*ret)
		return mystore_too_much(store, reterr);
	if (rows->count)
		memcpy(*ret, rows->items, rows->count * rows->size);
	return 0;
}
