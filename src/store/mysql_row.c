#include "mysql_private.h"

#include "field.h"

_Static_assert(FIELD_LIVE_COUNT == MYSTORE_LIVE_COLUMNS, "the lease's columns come behind");

/* ---- Binding ---- */

static struct sql_value field_value(const struct field *field, const void *base)
{
	switch (field->kind) {
	case FIELD_TEXT: /* any bytes */
	case FIELD_STRING:
	case FIELD_STRING_NULL:
		return sql_bytes(field->column, field_text(field, base));
	default:
		return field_is_number(field) ? sql_i64(field->column, field_number(field, base))
					      : sql_text(field->column, field_text(field, base));
	}
}

static void add_fields(struct mystore_values *values, const struct field_list *list, const void *base)
{
	for (size_t i = 0; i < list->count; i++)
		mystore_add(values, field_value(&list->fields[i], base));
}

void mystore_add_change(struct mystore_values *values, const struct change *change)
{
	add_fields(values, &field_change, change);
}

void mystore_add_shard(struct mystore_values *values, const struct change_shard *shard)
{
	add_fields(values, &field_shard, shard);
}

void mystore_add_history(struct mystore_values *values, const struct history_entry *entry)
{
	add_fields(values, &field_history, entry);
}

/* ---- Reading ---- */

static bool read_field(const struct sql_value *value, const struct field *field, struct arena *arena,
		       void *base)
{
	switch (value->kind) {
	case SQL_I64:
		return field_read_number(field, value->number, base);
	case SQL_NULL:
		if (field->kind == FIELD_HELD)
			return field_read_number(field, 0, base);
		return field_read_null(field, base);
	default:
		return field_read_text(field, value->text, value->length, arena, base);
	}
}

static int read_fields(struct mystore *store, unsigned column, const struct field_list *list,
		       struct arena *arena, void *base, struct error *reterr)
{
	for (size_t i = 0; i < list->count; i++, column++)
		if (!read_field(connection_column(store->connection, column), &list->fields[i], arena, base))
			return error_set(
				reterr, ERROR_STORE,
				"%s has a record whose %s cannot be read, so another program wrote it or it is"
				" too large; put back a backup of the store and run the same command again",
				store->name, list->fields[i].column);
	return 0;
}

int mystore_read_change(struct mystore *store, unsigned column, struct arena *arena, struct change *ret,
			struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, column, &field_change, arena, ret, reterr);
}

int mystore_read_shard(struct mystore *store, unsigned column, struct arena *arena, struct change_shard *ret,
		       struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, column, &field_shard, arena, ret, reterr);
}

int mystore_read_history(struct mystore *store, struct arena *arena, struct history_entry *ret,
			 struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, 0, &field_history, arena, ret, reterr);
}

int mystore_read_live(struct mystore *store, struct arena *arena, struct live_change *ret,
		      struct error *reterr)
{
	memset(ret, 0, sizeof(*ret));
	return read_fields(store, 0, &field_live, arena, ret, reterr);
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
