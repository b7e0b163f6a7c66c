#include "sqlite.h"

#include <assert.h>

#include "field.h"

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

static void bind_field(sqlite3_stmt *stmt, int at, const struct field *field, const void *base)
{
	if (field_is_number(field))
		must(sqlite3_bind_int64(stmt, at, field_number(field, base)));
	else
		must(sqlite3_bind_text(stmt, at, field_text(field, base), -1, SQLITE_STATIC));
}

static void bind_fields(sqlite3_stmt *stmt, const struct field_list *list, const void *base)
{
	for (size_t i = 0; i < list->count; i++) {
		int at = parameter(stmt, list->fields[i].column);

		if (at)
			bind_field(stmt, at, &list->fields[i], base);
	}
}

void sqlite_bind_change(sqlite3_stmt *stmt, const struct change *change)
{
	bind_fields(stmt, &field_change, change);
}

void sqlite_bind_shard(sqlite3_stmt *stmt, const struct change_shard *shard)
{
	bind_fields(stmt, &field_shard, shard);
}

void sqlite_bind_history(sqlite3_stmt *stmt, const struct history_entry *entry)
{
	bind_fields(stmt, &field_history, entry);
}

/* ---- Reading ---- */

static bool read_field(sqlite3_stmt *stmt, int column, const struct field *field, struct arena *arena,
		       void *base)
{
	const char *text;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		return field_read_number(field, sqlite3_column_int64(stmt, column), base);
	case SQLITE_NULL:
		return field_read_null(field, base);
	case SQLITE_TEXT:
		text = (const char *)sqlite3_column_text(stmt, column);
		if (!text)
			abort();
		return field_read_text(field, text, (size_t)sqlite3_column_bytes(stmt, column), arena, base);
	default:
		return false;
	}
}

static int read_fields(struct sqlite_store *store, sqlite3_stmt *stmt, int column, const struct field_list *list,
		       struct arena *arena, void *base, struct error *reterr)
{
	for (size_t i = 0; i < list->count; i++, column++) {
		assert(strcmp(sqlite3_column_name(stmt, column), list->fields[i].column) == 0);
		if (!read_field(stmt, column, &list->fields[i], arena, base))
			return error_set(
				reterr, ERROR_STORE,
				"The store %s has a record whose %s cannot be read, so another program wrote "
				"it "
				"or it is"
				" too large; put back a backup of the store and run the same command again",
				store->path, list->fields[i].column);
	}
	return 0;
}

int sqlite_read_change(struct sqlite_store *store, sqlite3_stmt *stmt, int column, struct arena *arena,
		       struct change *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, column, &field_change, arena, ret, reterr);
}

int sqlite_read_shard(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		      struct change_shard *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, &field_shard, arena, ret, reterr);
}

int sqlite_read_history(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
			struct history_entry *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, &field_history, arena, ret, reterr);
}

int sqlite_read_live(struct sqlite_store *store, sqlite3_stmt *stmt, struct arena *arena,
		     struct live_change *ret, struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, stmt, 0, &field_live, arena, ret, reterr);
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
