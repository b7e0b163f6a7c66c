#include "sqlite.h"

#include <assert.h>

/*
 * The members of the structs and the columns of the tables are one list each; binding and
 * reading walk the same list. What comes from the file is checked like any other input: a
 * record that does not fit its struct is refused, never cut.
 */

enum field_kind {
	FIELD_TEXT,	   /* char[size] */
	FIELD_STRING,	   /* const char *; NULL is written as "" */
	FIELD_STRING_NULL, /* const char *; NULL stays NULL */
	FIELD_I64,
	FIELD_U32,
	FIELD_INT,
	FIELD_BOOL,
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
	FIELD(change, cluster, FIELD_TEXT),
	FIELD_AS(change, keyspace, "keyspace_name", FIELD_TEXT),
	FIELD_AS(change, table, "table_name", FIELD_TEXT),
	FIELD(change, ddl, FIELD_STRING),
	FIELD(change, ddl_sha256, FIELD_TEXT),
	FIELD(change, uuid, FIELD_TEXT),
	FIELD(change, context, FIELD_TEXT),
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
};

static const struct field shard_fields[] = {
	FIELD(change_shard, name, FIELD_TEXT),
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
	FIELD(live_change, holds_table, FIELD_BOOL),
	FIELD(live_change, rule, FIELD_INT),
	FIELD(live_change, shard_count, FIELD_U32),
	FIELD(live_change, epoch, FIELD_I64),
	FIELD(live_change, revision, FIELD_I64),
	FIELD(live_change, created_at_ms, FIELD_I64),
	FIELD(live_change, updated_at_ms, FIELD_I64),
	FIELD(live_change, deadline_at_ms, FIELD_I64),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Binding ---- */

/* Position of ":name"; 0: the statement does not use it. */
static int parameter(sqlite3_stmt *stmt, const char *name)
{
	char text[40];

	snprintf(text, sizeof(text), ":%s", name);
	return sqlite3_bind_parameter_index(stmt, text);
}

/* The statement, the position and the type are right by construction; only memory can fail. */
static void must(int code)
{
	if (code == SQLITE_NOMEM)
		abort();
	assert(code == SQLITE_OK);
}

void sqlite_bind_i64(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	must(sqlite3_bind_int64(stmt, parameter(stmt, name), value));
}

/* Every value outlives its statement, so nothing is copied. */
void sqlite_bind_text(sqlite3_stmt *stmt, const char *name, const char *value)
{
	must(sqlite3_bind_text(stmt, parameter(stmt, name), value, -1, SQLITE_STATIC));
}

#define AT(type, base, field) ((type *)((char *)(base) + (field)->offset))
#define AT_CONST(type, base, field) ((const type *)((const char *)(base) + (field)->offset))

static void bind_field(sqlite3_stmt *stmt, int at, const struct field *field, const void *base)
{
	const char *text = NULL;

	switch (field->kind) {
	case FIELD_I64:
		must(sqlite3_bind_int64(stmt, at, *AT_CONST(int64_t, base, field)));
		return;
	case FIELD_U32:
		must(sqlite3_bind_int64(stmt, at, *AT_CONST(uint32_t, base, field)));
		return;
	case FIELD_INT:
		must(sqlite3_bind_int64(stmt, at, *AT_CONST(int, base, field)));
		return;
	case FIELD_BOOL:
		must(sqlite3_bind_int64(stmt, at, *AT_CONST(bool, base, field) ? 1 : 0));
		return;
	case FIELD_TEXT:
		text = AT_CONST(char, base, field);
		break;
	case FIELD_STRING:
		text = *AT_CONST(char *, base, field);
		text = text ? text : "";
		break;
	case FIELD_STRING_NULL:
		text = *AT_CONST(char *, base, field);
		break;
	case FIELD_PHASE:
		if (*AT_CONST(enum phase, base, field) != _PHASE_INVALID)
			text = phase_name(*AT_CONST(enum phase, base, field));
		break;
	case FIELD_GATE:
		text = gate_name(*AT_CONST(enum gate, base, field));
		break;
	case FIELD_EFFECT:
		text = effect_name(*AT_CONST(enum effect, base, field));
		break;
	}
	must(sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC));
}

static void bind_fields(sqlite3_stmt *stmt, const struct field *fields, size_t count, const void *base)
{
	for (size_t i = 0; i < count; i++) {
		int at = parameter(stmt, fields[i].column);

		if (at)
			bind_field(stmt, at, &fields[i], base);
	}
}

void sqlite_bind_change(sqlite3_stmt *stmt, const struct change *change)
{
	bind_fields(stmt, change_fields, COUNT(change_fields), change);
}

void sqlite_bind_shard(sqlite3_stmt *stmt, const struct change_shard *shard)
{
	bind_fields(stmt, shard_fields, COUNT(shard_fields), shard);
}

void sqlite_bind_history(sqlite3_stmt *stmt, const struct history_entry *entry)
{
	bind_fields(stmt, history_fields, COUNT(history_fields), entry);
}

/* ---- Reading ---- */

static bool read_text(const char *text, size_t length, const struct field *field, struct arena *arena,
		      void *base)
{
	switch (field->kind) {
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
	case FIELD_BOOL:
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
	else
		return false;
	return true;
}

static bool read_field(sqlite3_stmt *stmt, int column, const struct field *field, struct arena *arena,
		       void *base)
{
	const char *text;
	size_t length;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		return read_number(sqlite3_column_int64(stmt, column), field, base);
	case SQLITE_NULL:
		return read_null(field, base);
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(stmt, column);
		if (!text)
			abort();
		length = (size_t)sqlite3_column_bytes(stmt, column);
		/* A NUL within would make two names equal that are not. */
		return strlen(text) == length && read_text(text, length, field, arena, base);
	default:
		return false;
	}
}

static int read_fields(struct sqlite_store *store, sqlite3_stmt *stmt, int column, const struct field *fields,
		       size_t count, struct arena *arena, void *base, struct error *reterr)
{
	for (size_t i = 0; i < count; i++, column++) {
		assert(strcmp(sqlite3_column_name(stmt, column), fields[i].column) == 0);
		if (!read_field(stmt, column, &fields[i], arena, base))
			return error_set(
				reterr, ERROR_STORE,
				"The store %s has a record whose %s cannot be read, so another program wrote "
				"it "
				"or it is"
				" too large; put back a backup of the store and run the same command again",
				store->path, fields[i].column);
	}
	return 0;
}

int sqlite_read_change(struct sqlite_store *store, sqlite3_stmt *stmt, int column, struct arena *arena,
		       struct change *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, column, change_fields, COUNT(change_fields), arena, ret, reterr);
}

int sqlite_read_shard(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		      struct change_shard *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, shard_fields, COUNT(shard_fields), arena, ret, reterr);
}

int sqlite_read_history(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
			struct history_entry *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, history_fields, COUNT(history_fields), arena, ret, reterr);
}

int sqlite_read_live(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		     struct live_change *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, live_fields, COUNT(live_fields), arena, ret, reterr);
}

/* ---- Lists ---- */

void *sqlite_rows_next(struct sqlite_rows *rows)
{
	if (rows->count == rows->capacity) {
		rows->capacity = rows->capacity ? rows->capacity * 2 : 16;
		rows->items = reallocarray(rows->items, rows->capacity, rows->size);
		if (!rows->items)
			abort();
	}
	return rows->items + rows->count++ * rows->size;
}

int sqlite_rows_finish(const struct sqlite_store *store, const struct sqlite_rows *rows, struct arena *arena,
		       void **ret, struct error *reterr)
{
	*ret = arena_array(arena, rows->count, rows->size);
	if (!*ret)
		return error_set(reterr, ERROR_STORE,
				 "The store %s has more than may be read at once (%zu records); ask for less",
				 store->path, rows->count);
	if (rows->count)
		memcpy(*ret, rows->items, rows->count * rows->size);
	return 0;
}
