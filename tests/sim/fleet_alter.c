/* The half of fleet_schema that reads column and key definitions and the clauses of ALTER TABLE. */
#include "fleet_schema.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "vtddl/strbuf.h"

#define LINE_MAX_BYTES (1u << 20)
#define NOT_FOUND ((size_t)-1)

struct alter {
	struct arena *arena;
	struct schema_table *table;
	const struct sql_token *tokens;
	struct mysql_error *err;
};

static size_t line_find(const struct schema_line *lines, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(lines[i].name, name) == 0)
			return i;
	return NOT_FOUND;
}

static void line_remove(struct schema_line *lines, size_t *count, size_t at)
{
	(*count)--;
	memmove(&lines[at], &lines[at + 1], (*count - at) * sizeof(*lines));
}

static void line_insert(struct schema_line *lines, size_t *count, size_t at, struct schema_line line)
{
	memmove(&lines[at + 1], &lines[at], (*count - at) * sizeof(*lines));
	lines[at] = line;
	(*count)++;
}

/* The end of the clause that begins at @at: the next comma or closing parenthesis outside of any. */
static size_t clause_end(const struct sql_token *tokens, size_t at)
{
	while (tokens[at].kind != SQL_END && !sql_is(&tokens[at], ",") && !sql_is(&tokens[at], ")"))
		at = sql_is(&tokens[at], "(") ? sql_skip(tokens, at) : at + 1;
	return at;
}

static size_t skip_words(const struct sql_token *tokens, size_t at, const char *const *words)
{
	for (; *words != NULL; words++)
		if (sql_is(&tokens[at], *words))
			at++;
	return at;
}

static const char *cased(struct arena *arena, const char *text, int (*change)(int))
{
	char *copy = arena_strdup(arena, text);

	for (char *c = copy; *c != '\0'; c++)
		*c = (char)change((unsigned char)*c);
	return copy;
}

/* What MySQL prints for a type: lower case, no words of old. */
static size_t type_read(struct alter *a, size_t at, struct strbuf *buf, bool *ret_is_blob)
{
	static const char *const shown[][2] = { { "integer", "int" },
						{ "bool", "tinyint(1)" },
						{ "boolean", "tinyint(1)" },
						{ "numeric", "decimal" } };
	const char *type = cased(a->arena, a->tokens[at].text, tolower);
	size_t end;

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strcmp(type, shown[i][0]) == 0)
			type = shown[i][1];
	*ret_is_blob = strstr(type, "text") != NULL || strstr(type, "blob") != NULL;
	strbuf_adds(buf, type);
	at++;
	if (sql_is(&a->tokens[at], "(")) {
		end = sql_skip(a->tokens, at);
		strbuf_adds(buf, sql_join(a->arena, a->tokens, at, end));
		at = end;
	}
	for (; sql_is(&a->tokens[at], "unsigned") || sql_is(&a->tokens[at], "zerofill"); at++)
		strbuf_addf(buf, " %s", cased(a->arena, a->tokens[at].text, tolower));
	return at;
}

struct column {
	struct schema_line line;
	bool is_primary, is_unique, is_first;
	const char *after; /* NULL: not said */
};

struct attributes {
	bool not_null, has_default;
	const char *default_text, *comment;
	bool auto_increment;
	struct strbuf rest;
};

static size_t default_read(struct alter *a, size_t at, struct attributes *attributes)
{
	const struct sql_token *token = &a->tokens[at];
	size_t end = at + 1;

	if (sql_is(token, "(") || sql_is(&a->tokens[end], "("))
		end = sql_skip(a->tokens, sql_is(token, "(") ? at : end);
	if (sql_is(token, "-"))
		end++;
	attributes->has_default = true;
	attributes->default_text = sql_join(a->arena, a->tokens, at, end);
	if (sql_is(token, "null"))
		attributes->default_text = "NULL";
	else if (token->kind == SQL_NUMBER || sql_is(token, "-"))
		attributes->default_text = arena_printf(a->arena, "'%s'", attributes->default_text);
	else if (sql_is(token, "true") || sql_is(token, "false"))
		attributes->default_text = sql_is(token, "true") ? "'1'" : "'0'";
	else if (token->kind == SQL_WORD)
		attributes->default_text = cased(a->arena, attributes->default_text, toupper);
	return end;
}

/* One attribute of a column; the index behind it. */
static size_t attribute_read(struct alter *a, size_t at, struct column *column, struct attributes *attributes)
{
	const struct sql_token *t = &a->tokens[at];

	if (sql_is(t, "not") && sql_is(t + 1, "null")) {
		attributes->not_null = true;
		return at + 2;
	}
	if (sql_is(t, "null"))
		return at + 1;
	if (sql_is(t, "default"))
		return default_read(a, at + 1, attributes);
	if (sql_is(t, "auto_increment")) {
		attributes->auto_increment = true;
		return at + 1;
	}
	if (sql_is(t, "comment")) {
		attributes->comment = sql_join(a->arena, a->tokens, at + 1, at + 2);
		return at + 2;
	}
	if (sql_is(t, "primary") || sql_is(t, "unique")) {
		column->is_primary |= sql_is(t, "primary");
		column->is_unique |= sql_is(t, "unique");
		return at + 1 + (sql_is(t + 1, "key") ? 1 : 0);
	}
	if (sql_is(t, "first")) {
		column->is_first = true;
		return at + 1;
	}
	if (sql_is(t, "after")) {
		column->after = t[1].text;
		return at + 2;
	}
	strbuf_addf(&attributes->rest, " %s",
		    sql_join(a->arena, a->tokens, at, sql_is(t, "(") ? sql_skip(a->tokens, at) : at + 1));
	return sql_is(t, "(") ? sql_skip(a->tokens, at) : at + 1;
}

/* "name type attributes" in [at, end), as SHOW CREATE TABLE prints it. */
static bool column_read(struct alter *a, size_t at, size_t end, struct column *ret)
{
	struct attributes attributes = { 0 };
	struct strbuf buf;
	bool is_blob;

	*ret = (struct column){ 0 };
	if (at + 1 >= end)
		return mysql_fail(a->arena, a->err, 1064, a->tokens[at].text, "");
	strbuf_init(&buf, LINE_MAX_BYTES);
	strbuf_init(&attributes.rest, LINE_MAX_BYTES);
	ret->line.name = a->tokens[at].text;
	strbuf_addf(&buf, "`%s` ", ret->line.name);
	at = type_read(a, at + 1, &buf, &is_blob);
	while (at < end)
		at = attribute_read(a, at, ret, &attributes);
	if (attributes.rest.length > 0)
		strbuf_adds(&buf, attributes.rest.text);
	if (attributes.not_null || ret->is_primary)
		strbuf_adds(&buf, " NOT NULL");
	if (attributes.has_default && !(attributes.not_null && strcmp(attributes.default_text, "NULL") == 0))
		strbuf_addf(&buf, " DEFAULT %s", attributes.default_text);
	else if (!attributes.not_null && !ret->is_primary && !is_blob && attributes.rest.length == 0)
		strbuf_adds(&buf, " DEFAULT NULL");
	if (attributes.auto_increment)
		strbuf_adds(&buf, " AUTO_INCREMENT");
	if (attributes.comment != NULL)
		strbuf_addf(&buf, " COMMENT %s", attributes.comment);
	ret->line.text = arena_memdup(a->arena, buf.text, buf.length);
	strbuf_release(&attributes.rest);
	strbuf_release(&buf);
	return true;
}

/* A column of the primary key is never NULL, whether its definition says so or not. */
static void column_forbid_null(struct alter *a, size_t index)
{
	struct schema_line *line = &a->table->columns[index];
	const char *end = strstr(line->text, " DEFAULT NULL");

	if (end != NULL)
		line->text = arena_printf(a->arena, "%.*s NOT NULL%s", (int)(end - line->text), line->text,
					  end + strlen(" DEFAULT NULL"));
}

/* "(a, b(10) desc)" as "(`a`,`b`(10) DESC)"; @ret_first: name of the first column. */
static bool key_columns(struct alter *a, size_t at, bool is_primary, struct strbuf *buf,
			const char **ret_first)
{
	size_t end = sql_skip(a->tokens, at), index;
	const char *comma = "";

	for (at++; at < end - 1; at = clause_end(a->tokens, at) + 1) {
		size_t stop = clause_end(a->tokens, at), next = at + 1;
		const char *name = a->tokens[at].text;

		if (sql_is(&a->tokens[at], "(")) {
			strbuf_addf(buf, "%s%s", comma, sql_join(a->arena, a->tokens, at, stop));
		} else {
			index = line_find(a->table->columns, a->table->column_count, name);
			if (index == NOT_FOUND)
				return mysql_fail(a->arena, a->err, 1072, name, "");
			if (is_primary)
				column_forbid_null(a, index);
			strbuf_addf(buf, "%s`%s`", comma, name);
			if (sql_is(&a->tokens[next], "(")) {
				size_t behind = sql_skip(a->tokens, next);

				strbuf_adds(buf, sql_join(a->arena, a->tokens, next, behind));
				next = behind;
			}
			if (next < stop && sql_is(&a->tokens[next], "desc"))
				strbuf_adds(buf, " DESC");
		}
		if (*ret_first == NULL)
			*ret_first = name;
		comma = ",";
	}
	return true;
}

static bool key_add(struct alter *a, const char *kind, const char *name, size_t open, size_t end)
{
	bool is_primary = strcmp(kind, "PRIMARY KEY") == 0, ok;
	const char *first = NULL;
	struct strbuf columns;
	struct schema_line line = { .is_unique = strcmp(kind, "UNIQUE KEY") == 0 };

	if (open >= end || !sql_is(&a->tokens[open], "("))
		return mysql_fail(a->arena, a->err, 1064, a->tokens[open].text, "");
	strbuf_init(&columns, LINE_MAX_BYTES);
	ok = key_columns(a, open, is_primary, &columns, &first);
	if (ok && name == NULL && !is_primary) { /* MySQL names a key after its first column */
		name = first != NULL ? first : "key";
		for (unsigned n = 2; line_find(a->table->keys, a->table->key_count, name) != NOT_FOUND; n++)
			name = arena_printf(a->arena, "%s_%u", first, n);
	}
	line.name = is_primary ? "PRIMARY" : name;
	if (ok && line_find(a->table->keys, a->table->key_count, line.name) != NOT_FOUND)
		ok = mysql_fail(a->arena, a->err, 1061, line.name, "");
	if (ok) {
		line.text = is_primary ? arena_printf(a->arena, "%s (%s)", kind, columns.text)
				       : arena_printf(a->arena, "%s `%s` (%s)", kind, name, columns.text);
		/* PRIMARY first, then the unique ones, then the rest: MySQL's order. */
		size_t at = 0;
		while (!is_primary && at < a->table->key_count &&
		       (!line.is_unique || a->table->keys[at].is_unique ||
			strcmp(a->table->keys[at].name, "PRIMARY") == 0))
			at++;
		line_insert(a->table->keys, &a->table->key_count, at, line);
	}
	strbuf_release(&columns);
	return ok;
}

/* Is [at, end) a key definition? Then add it and set *ret_ok. */
static bool key_read(struct alter *a, size_t at, size_t end, bool *ret_ok)
{
	static const struct {
		const char *word, *kind;
	} kinds[] = {
		{ "primary", "PRIMARY KEY" }, { "unique", "UNIQUE KEY" }, { "fulltext", "FULLTEXT KEY" },
		{ "spatial", "SPATIAL KEY" }, { "key", "KEY" },		  { "index", "KEY" }
	};
	static const char *const noise[] = { "key", "index", NULL };
	const char *kind = NULL, *name = NULL;

	if (sql_is(&a->tokens[at], "constraint"))
		for (at++;
		     at < end && !sql_is(&a->tokens[at], "primary") && !sql_is(&a->tokens[at], "unique");
		     at++)
			name = a->tokens[at].text;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && kind == NULL; i++)
		if (sql_is(&a->tokens[at], kinds[i].word))
			kind = kinds[i].kind;
	if (kind == NULL)
		return false;
	at = skip_words(a->tokens, at + 1, noise);
	if (!sql_is(&a->tokens[at], "("))
		name = a->tokens[at++].text;
	while (at < end && !sql_is(&a->tokens[at], "(")) /* USING BTREE */
		at++;
	*ret_ok = key_add(a, kind, name, at, end);
	return true;
}

static bool column_keys(struct alter *a, const struct column *column)
{
	const char *text = column->line.name;
	size_t count = a->table->key_count;

	if (column->is_primary) {
		if (line_find(a->table->keys, count, "PRIMARY") != NOT_FOUND)
			return mysql_fail(a->arena, a->err, 1061, "PRIMARY", "");
		line_insert(
			a->table->keys, &a->table->key_count, 0,
			(struct schema_line){ .name = "PRIMARY",
					      .text = arena_printf(a->arena, "PRIMARY KEY (`%s`)", text) });
	}
	if (column->is_unique) {
		size_t at = line_find(a->table->keys, a->table->key_count, "PRIMARY") == 0 ? 1 : 0;

		line_insert(a->table->keys, &a->table->key_count, at,
			    (struct schema_line){
				    .name = text,
				    .is_unique = true,
				    .text = arena_printf(a->arena, "UNIQUE KEY `%s` (`%s`)", text, text) });
	}
	return true;
}

/* Puts a column in its place; @at: where it stands without FIRST or AFTER. */
static bool column_place(struct alter *a, const struct column *column, size_t at)
{
	if (column->is_first)
		at = 0;
	if (column->after != NULL) {
		at = line_find(a->table->columns, a->table->column_count, column->after);
		if (at++ == NOT_FOUND)
			return mysql_fail(a->arena, a->err, 1054, column->after, a->table->name);
	}
	line_insert(a->table->columns, &a->table->column_count, at, column->line);
	return column_keys(a, column);
}

static bool column_add(struct alter *a, size_t at, size_t end)
{
	struct column column;

	if (!column_read(a, at, end, &column))
		return false;
	if (line_find(a->table->columns, a->table->column_count, column.line.name) != NOT_FOUND)
		return mysql_fail(a->arena, a->err, 1060, column.line.name, "");
	return column_place(a, &column, a->table->column_count);
}

static bool column_replace(struct alter *a, const char *old, size_t at, size_t end)
{
	size_t index = line_find(a->table->columns, a->table->column_count, old);
	struct column column;

	if (index == NOT_FOUND)
		return mysql_fail(a->arena, a->err, 1054, old, a->table->name);
	if (!column_read(a, at, end, &column))
		return false;
	line_remove(a->table->columns, &a->table->column_count, index);
	if (line_find(a->table->columns, a->table->column_count, column.line.name) != NOT_FOUND)
		return mysql_fail(a->arena, a->err, 1060, column.line.name, "");
	return column_place(a, &column, index);
}

static bool clause_add(struct alter *a, size_t at, size_t end)
{
	static const char *const noise[] = { "column", NULL };
	bool ok;

	if (key_read(a, at, end, &ok))
		return ok;
	at = skip_words(a->tokens, at, noise);
	if (!sql_is(&a->tokens[at], "("))
		return column_add(a, at, end);
	for (end = sql_skip(a->tokens, at) - 1, at++; at < end; at = clause_end(a->tokens, at) + 1)
		if (!column_add(a, at, clause_end(a->tokens, at)))
			return false;
	return true;
}

static bool clause_drop(struct alter *a, size_t at, size_t end)
{
	static const char *const noise[] = { "column", NULL };
	bool is_key = sql_is(&a->tokens[at], "index") || sql_is(&a->tokens[at], "key") ||
		      sql_is(&a->tokens[at], "primary");
	struct schema_line *lines = is_key ? a->table->keys : a->table->columns;
	size_t *count = is_key ? &a->table->key_count : &a->table->column_count, index;
	const char *name;

	if (at >= end)
		return mysql_fail(a->arena, a->err, 1064, "drop", "");
	if (!is_key)
		at = skip_words(a->tokens, at, noise);
	name = sql_is(&a->tokens[at], "primary") ? "PRIMARY" : a->tokens[is_key ? at + 1 : at].text;
	index = line_find(lines, *count, name);
	if (index == NOT_FOUND)
		return mysql_fail(a->arena, a->err, 1091, name, "");
	line_remove(lines, count, index);
	return true;
}

static bool clause_modify(struct alter *a, size_t at, size_t end)
{
	static const char *const noise[] = { "column", NULL };

	at = skip_words(a->tokens, at, noise);
	return column_replace(a, a->tokens[at].text, at, end);
}

static bool clause_change(struct alter *a, size_t at, size_t end)
{
	static const char *const noise[] = { "column", NULL };

	at = skip_words(a->tokens, at, noise);
	return column_replace(a, a->tokens[at].text, at + 1, end);
}

/* RENAME COLUMN|INDEX|KEY a TO b: the line keeps its text, but for the name in front. */
static bool clause_rename(struct alter *a, size_t at, size_t end)
{
	bool is_key = !sql_is(&a->tokens[at], "column");
	struct schema_line *lines = is_key ? a->table->keys : a->table->columns;
	size_t count = is_key ? a->table->key_count : a->table->column_count, index;
	const char *old = a->tokens[at + 1].text, *name, *quoted, *place;

	if (at + 4 > end)
		return mysql_fail(a->arena, a->err, 1064, "rename", "");
	name = a->tokens[at + 3].text;
	index = line_find(lines, count, old);
	if (index == NOT_FOUND)
		return is_key ? mysql_fail(a->arena, a->err, 1091, old, "")
			      : mysql_fail(a->arena, a->err, 1054, old, a->table->name);
	if (line_find(lines, count, name) != NOT_FOUND)
		return mysql_fail(a->arena, a->err, is_key ? 1061 : 1060, name, "");
	quoted = arena_printf(a->arena, "`%s`", lines[index].name);
	place = strstr(lines[index].text, quoted);
	lines[index].text = arena_printf(a->arena, "%.*s`%s`%s", (int)(place - lines[index].text),
					 lines[index].text, name, place + strlen(quoted));
	lines[index].name = name;
	return true;
}

/* Clauses that leave the definition as it is: a rebuild. */
static bool clause_none(struct alter *a, size_t at, size_t end)
{
	(void)a, (void)at, (void)end;
	return true;
}

/* A clause the model does not know: the definition must differ afterwards, so it is shown. */
static bool clause_option(struct alter *a, size_t at, size_t end)
{
	const char *text = sql_join(a->arena, a->tokens, at, end);

	if (sql_is(&a->tokens[at], "comment"))
		text = arena_printf(a->arena, "COMMENT=%s", sql_join(a->arena, a->tokens, end - 1, end));
	a->table->options = arena_printf(a->arena, "%s %s", a->table->options, text);
	return true;
}

static bool clause_apply(struct alter *a, size_t at, size_t end)
{
	static const struct {
		const char *word;
		bool (*apply)(struct alter *, size_t, size_t);
		size_t skip;
	} clauses[] = {
		{ "add", clause_add, 1 },	{ "drop", clause_drop, 1 },
		{ "modify", clause_modify, 1 }, { "change", clause_change, 1 },
		{ "rename", clause_rename, 1 }, { "engine", clause_none, 0 },
		{ "force", clause_none, 0 },	{ "algorithm", clause_none, 0 },
		{ "lock", clause_none, 0 },
	};

	if (at == end)
		return mysql_fail(a->arena, a->err, 1064, "", "");
	for (size_t i = 0; i < sizeof(clauses) / sizeof(clauses[0]); i++)
		if (sql_is(&a->tokens[at], clauses[i].word))
			return clauses[i].apply(a, at + clauses[i].skip, end);
	return clause_option(a, at, end);
}

bool table_alter(struct arena *arena, struct schema_table *table, const struct statement *statement,
		 struct mysql_error *reterr)
{
	struct alter a = { arena, table, statement->tokens, reterr };

	for (size_t at = statement->body; at < statement->count; at = clause_end(a.tokens, at) + 1)
		if (!clause_apply(&a, at, clause_end(a.tokens, at)))
			return false;
	return true;
}

bool table_create(struct arena *arena, struct schema_table *table, const struct statement *statement,
		  struct mysql_error *reterr)
{
	struct alter a = { arena, table, statement->tokens, reterr };
	size_t at = statement->body, end;
	bool ok = true;

	if (!sql_is(&a.tokens[at], "("))
		return mysql_fail(arena, reterr, 1064, a.tokens[at].text, "");
	end = sql_skip(a.tokens, at) - 1;
	for (size_t i = at + 1; ok && i < end; i = clause_end(a.tokens, i) + 1)
		if (!key_read(&a, i, clause_end(a.tokens, i), &ok))
			ok = column_add(&a, i, clause_end(a.tokens, i));
	for (at = end + 1; ok && at < statement->count; at++)
		if (sql_is(&a.tokens[at], "comment"))
			ok = clause_option(&a, at, at + (sql_is(&a.tokens[at + 1], "=") ? 3 : 2));
	return ok;
}
