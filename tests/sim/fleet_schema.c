#include "fleet_schema.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vtddl/strbuf.h"

#define DEFINITION_MAX (4u << 20)
#define TABLE_OPTIONS "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"

static const struct mysql_text {
	int number;
	const char *state, *format; /* two strings: name, other */
} mysql_texts[] = {
	{ 1050, "42S01", "Table '%s' already exists%s" },
	{ 1051, "42S02", "Unknown table '%s'%s" },
	{ 1054, "42S22", "Unknown column '%s' in '%s'" },
	{ 1060, "42S21", "Duplicate column name '%s'%s" },
	{ 1061, "42000", "Duplicate key name '%s'%s" },
	{ 1064, "42000",
	  "You have an error in your SQL syntax; check the manual that corresponds to your "
	  "MySQL server version for the right syntax to use near '%s'%s" },
	{ 1072, "42000", "Key column '%s' doesn't exist in table%s" },
	{ 1091, "42000", "Can't DROP '%s'; check that column/key exists%s" },
	{ 1146, "42S02", "Table 'vt_%s' doesn't exist%s" },
	{ 1347, "HY000", "'%s' is not %s" },
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats are those of the table above */
bool mysql_fail(struct arena *arena, struct mysql_error *reterr, int number, const char *name,
		const char *other)
{
	const char *text = "?", *state = "HY000";

	for (size_t i = 0; i < sizeof(mysql_texts) / sizeof(mysql_texts[0]); i++)
		if (mysql_texts[i].number == number) {
			text = arena_printf(arena, mysql_texts[i].format, name, other);
			state = mysql_texts[i].state;
		}
	reterr->number = number;
	reterr->text = arena_printf(arena, "%s (errno %d) (sqlstate %s)", text, number, state);
	return false;
}
#pragma GCC diagnostic pop

void schema_init(struct schema *schema, struct arena *arena)
{
	*schema = (struct schema){ .arena = arena };
}

void schema_release(struct schema *schema)
{
	free(schema->tables);
	*schema = (struct schema){ 0 };
}

static size_t schema_index(const struct schema *schema, const char *name)
{
	size_t i = 0;

	while (i < schema->count && strcmp(schema->tables[i]->name, name) != 0)
		i++;
	return i;
}

const struct schema_table *schema_find(const struct schema *schema, const char *name)
{
	size_t i = schema_index(schema, name);

	return i < schema->count ? schema->tables[i] : NULL;
}

void schema_put(struct schema *schema, struct schema_table *table)
{
	size_t i = schema_index(schema, table->name);

	if (i == schema->count) {
		if (schema->count == schema->capacity) {
			schema->capacity = schema->capacity * 2 + 8;
			schema->tables = realloc(schema->tables, schema->capacity * sizeof(*schema->tables));
			if (schema->tables == NULL)
				abort();
		}
		schema->count++;
	}
	schema->tables[i] = table;
}

static void schema_remove(struct schema *schema, const char *name)
{
	size_t i = schema_index(schema, name);

	if (i == schema->count)
		return;
	schema->count--;
	memmove(&schema->tables[i], &schema->tables[i + 1], (schema->count - i) * sizeof(*schema->tables));
}

void table_render(struct arena *arena, struct schema_table *table)
{
	const char *comma = "";
	struct strbuf buf;

	strbuf_init(&buf, DEFINITION_MAX);
	if (table->is_view) {
		strbuf_addf(&buf,
			    "CREATE ALGORITHM=UNDEFINED DEFINER=`vt_dba`@`localhost` SQL SECURITY DEFINER "
			    "VIEW {{.DatabaseName}}.`%s` AS %s", /* the tablet puts that for vt_<keyspace> */
			    table->name, table->options);
	} else {
		strbuf_addf(&buf, "CREATE TABLE `%s` (\n", table->name);
		for (size_t i = 0; i < table->column_count; i++, comma = ",\n")
			strbuf_addf(&buf, "%s  %s", comma, table->columns[i].text);
		for (size_t i = 0; i < table->key_count; i++, comma = ",\n")
			strbuf_addf(&buf, "%s  %s", comma, table->keys[i].text);
		strbuf_addf(&buf, "\n) %s", table->options);
	}
	table->definition = arena_memdup(arena, buf.text, buf.length);
	strbuf_release(&buf);
}

/* A copy that table_alter() may change: each clause adds at most one line per token. */
static struct schema_table *table_copy(struct arena *arena, const struct schema_table *from, size_t room)
{
	struct schema_table *copy = arena_alloc(arena, sizeof(*copy));

	*copy = *from;
	copy->capacity = from->column_count + from->key_count + room;
	copy->columns = arena_array(arena, copy->capacity, sizeof(*copy->columns));
	copy->keys = arena_array(arena, copy->capacity, sizeof(*copy->keys));
	if (from->column_count > 0)
		memcpy(copy->columns, from->columns, from->column_count * sizeof(*copy->columns));
	if (from->key_count > 0)
		memcpy(copy->keys, from->keys, from->key_count * sizeof(*copy->keys));
	return copy;
}

static bool plan_create_table(const struct schema *schema, const struct statement *statement,
			      const struct schema_table *old, struct schema_table **ret,
			      struct mysql_error *reterr)
{
	const struct schema_table fresh = { .name = arena_strdup(schema->arena, statement->table),
					    .options = TABLE_OPTIONS };
	struct schema_table *table;

	if (old != NULL && statement->if_not_exists)
		return true;
	if (old != NULL)
		return mysql_fail(schema->arena, reterr, 1050, statement->table, "");
	table = table_copy(schema->arena, &fresh, statement->count);
	if (!table_create(schema->arena, table, statement, reterr))
		return false;
	table_render(schema->arena, table);
	*ret = table;
	return true;
}

static bool plan_alter_table(const struct schema *schema, const struct statement *statement,
			     const struct schema_table *old, struct schema_table **ret,
			     struct mysql_error *reterr)
{
	struct schema_table *table;

	if (old == NULL)
		return mysql_fail(schema->arena, reterr, 1146, statement->table, "");
	table = table_copy(schema->arena, old, statement->count);
	if (!table_alter(schema->arena, table, statement, reterr))
		return false;
	table_render(schema->arena, table);
	*ret = table;
	return true;
}

static bool plan_view(const struct schema *schema, const struct statement *statement,
		      const struct schema_table *old, struct schema_table **ret, struct mysql_error *reterr)
{
	bool must_exist = statement->kind == STATEMENT_ALTER_VIEW;
	struct schema_table *view;
	size_t at = statement->body;

	if (old == NULL && must_exist)
		return mysql_fail(schema->arena, reterr, 1146, statement->table, "");
	if (old != NULL && !must_exist && !statement->or_replace)
		return mysql_fail(schema->arena, reterr, 1050, statement->table, "");
	if (old != NULL && !old->is_view)
		return mysql_fail(schema->arena, reterr, 1347, statement->table, "VIEW");
	while (at < statement->count && !sql_is(&statement->tokens[at], "as"))
		at++;
	if (at + 1 >= statement->count)
		return mysql_fail(schema->arena, reterr, 1064, statement->canonical, "");
	view = arena_alloc(schema->arena, sizeof(*view));
	view->name = arena_strdup(schema->arena, statement->table);
	view->is_view = true;
	view->options = sql_join(schema->arena, statement->tokens, at + 1, statement->count);
	table_render(schema->arena, view);
	*ret = view;
	return true;
}

bool schema_plan(const struct schema *schema, const struct statement *statement, struct schema_table **ret,
		 struct mysql_error *reterr)
{
	const struct schema_table *old = schema_find(schema, statement->table);

	*ret = NULL;
	switch (statement->kind) {
	case STATEMENT_CREATE_TABLE:
		return plan_create_table(schema, statement, old, ret, reterr);
	case STATEMENT_ALTER_TABLE:
		return plan_alter_table(schema, statement, old, ret, reterr);
	case STATEMENT_CREATE_VIEW:
	case STATEMENT_ALTER_VIEW:
		return plan_view(schema, statement, old, ret, reterr);
	case STATEMENT_DROP_TABLE:
	case STATEMENT_DROP_VIEW:
		/* Online DDL drops by renaming away, hence 1146 and not 1051. */
		if (old == NULL && !statement->if_exists)
			return mysql_fail(schema->arena, reterr, 1146, statement->table, "");
		return true;
	case STATEMENT_TRUNCATE:
	case STATEMENT_RENAME:
		if (old == NULL)
			return mysql_fail(schema->arena, reterr, 1146, statement->table, "");
		return true;
	default:
		return mysql_fail(schema->arena, reterr, 1064, statement->canonical, "");
	}
}

static bool schema_rename(struct schema *schema, const struct statement *statement,
			  struct mysql_error *reterr)
{
	const struct schema_table *old = schema_find(schema, statement->table);
	const struct sql_token *tokens = &statement->tokens[statement->body];
	struct schema_table *table;

	if (!sql_is(&tokens[0], "to") || tokens[1].kind == SQL_END)
		return mysql_fail(schema->arena, reterr, 1064, statement->canonical, "");
	if (schema_find(schema, tokens[1].text) != NULL)
		return mysql_fail(schema->arena, reterr, 1050, tokens[1].text, "");
	table = table_copy(schema->arena, old, 0);
	table->name = arena_strdup(schema->arena, tokens[1].text);
	table_render(schema->arena, table);
	schema_remove(schema, statement->table);
	schema_put(schema, table);
	return true;
}

bool schema_apply(struct schema *schema, const struct statement *statement, struct mysql_error *reterr)
{
	struct schema_table *table;

	if (!schema_plan(schema, statement, &table, reterr))
		return false;
	if (statement->kind == STATEMENT_RENAME)
		return schema_rename(schema, statement, reterr);
	if (statement->kind == STATEMENT_DROP_TABLE || statement->kind == STATEMENT_DROP_VIEW)
		schema_remove(schema, statement->table);
	if (table != NULL)
		schema_put(schema, table);
	return true;
}
