#pragma once
/*
 * fleet_schema: the tables and views of one mysqld, as text. A table is a list of column lines
 * and key lines; statements change them, SHOW CREATE TABLE prints them.
 *
 * A table is never changed in place: a statement makes a new one, which is either put into the
 * schema or kept aside as the shadow table of a running migration. No data, no types: any type
 * name is taken.
 */
#include "fleet_sql.h"

struct schema_line {
	const char *name; /* of the column or key; "" for PRIMARY */
	const char *text; /* as printed, without indent and comma */
	bool is_unique;	  /* keys */
};

struct schema_table {
	const char *name;
	bool is_view;
	struct schema_line *columns, *keys;
	size_t column_count, key_count, capacity;
	const char *options;	/* what follows the closing parenthesis; of a view: the SELECT */
	const char *definition; /* CREATE statement */
};

struct schema {
	struct arena *arena;
	struct schema_table **tables;
	size_t count, capacity;
};

struct mysql_error {
	int number;	  /* 0: none */
	const char *text; /* "Duplicate column name 'a' (errno 1060) (sqlstate 42S21)" */
};

void schema_init(struct schema *schema, struct arena *arena);
void schema_release(struct schema *schema);
const struct schema_table *schema_find(const struct schema *schema, const char *name);

/**
 * schema_plan() - the table that a statement would leave behind; the schema is not changed
 * @ret:	NULL for DROP and where nothing is left to do
 */
bool schema_plan(const struct schema *schema, const struct statement *statement, struct schema_table **ret,
		 struct mysql_error *reterr);

/** schema_apply() - do it. False: nothing changed, *reterr says why */
bool schema_apply(struct schema *schema, const struct statement *statement, struct mysql_error *reterr);

/** schema_put() - put a planned table in the place of the one of its name (the RENAME of a cut-over) */
void schema_put(struct schema *schema, struct schema_table *table);

/* ---- Used by both halves, fleet_schema.c and fleet_alter.c ---- */

/** table_render() - fill table->definition */
void table_render(struct arena *arena, struct schema_table *table);

/** table_alter() - carry out the clauses of an ALTER TABLE on a copy */
bool table_alter(struct arena *arena, struct schema_table *table, const struct statement *statement,
		 struct mysql_error *reterr);

/** table_create() - the columns, keys and options of a CREATE TABLE */
bool table_create(struct arena *arena, struct schema_table *table, const struct statement *statement,
		  struct mysql_error *reterr);

bool mysql_fail(struct arena *arena, struct mysql_error *reterr, int number, const char *name,
		const char *other);
