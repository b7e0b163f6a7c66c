/*
 * The clauses of ALTER TABLE, and what each promises about the definition afterwards.
 *
 * A promise is only made where the clause can be read without doubt; for all else `understood`
 * becomes false, and whoever verifies the change must see the definition differ. MySQL works on
 * the definition before the statement: whatever a statement drops and adds under one name is
 * there afterwards, in whichever order it says so. Such a name was there before as well, so
 * its promise proves nothing and `understood` is false.
 */
#include "ddl_parser.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vtddl/banned.h"

static bool same_kind_of_thing(enum ddl_promise_kind a, enum ddl_promise_kind b)
{
	bool a_is_column = a == DDL_COLUMN_PRESENT || a == DDL_COLUMN_ABSENT;
	bool b_is_column = b == DDL_COLUMN_PRESENT || b == DDL_COLUMN_ABSENT;

	return a_is_column == b_is_column;
}

static void promise(struct ddl_parser *parser, enum ddl_promise_kind kind, const char *name)
{
	struct ddl *ddl = parser->ddl;

	for (size_t i = 0; i < ddl->promise_count; i++) {
		struct ddl_promise *other = &ddl->promises[i];

		if (!same_kind_of_thing(other->kind, kind) || strcasecmp(other->name, name) != 0)
			continue;
		if (other->kind == kind)
			return;
		ddl->understood = false;
		if (kind == DDL_COLUMN_PRESENT || kind == DDL_INDEX_PRESENT) {
			other->kind = kind;
			snprintf(other->name, sizeof(other->name), "%s", name);
		}
		return;
	}
	if (ddl->promise_count == DDL_PROMISES_MAX) {
		parser->too_many = true;
		return;
	}
	ddl->promises[ddl->promise_count].kind = kind;
	snprintf(ddl->promises[ddl->promise_count++].name, sizeof(ddl->promises[0].name), "%s", name);
}

static bool at_boundary(const struct ddl_parser *parser)
{
	return ddl_parser_at_end(parser) || ddl_parser_at(parser, ",") || ddl_parser_at(parser, ")");
}

/* Names compare by letter case in ASCII only (ddl_definition.c), so others are not promised. */
static bool is_ascii(const char *name)
{
	for (; *name; name++) {
		if (*name & 0x80)
			return false;
	}
	return true;
}

/* A name that a promise can be made about. False: it is none; if it was a name, it is taken. */
static bool take_promised(struct ddl_parser *parser, char ret[TABLE_MAX + 1])
{
	if (!ddl_parser_at_name(parser))
		return false;
	return ddl_parser_take_name(parser, ret) && is_ascii(ret) && !ddl_parser_at(parser, ".");
}

/* The rest of a clause or list item. Return: whether nothing in it is a change of its own, such as
 * an index or check of a column, or PARTITION BY behind the last clause. */
static bool take_tail(struct ddl_parser *parser, enum ddl_fold fold)
{
	static const char *const changes[] = { "KEY",	"PRIMARY",    "UNIQUE",	   "SERIAL",
					       "CHECK", "CONSTRAINT", "PARTITION", "PARTITIONING" };
	bool plain = true;

	while (!at_boundary(parser)) {
		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
			plain = plain && !ddl_parser_at(parser, changes[i]);
		if (ddl_parser_at(parser, "("))
			ddl_parser_take_group(parser);
		else
			ddl_parser_take(parser, fold);
	}
	return plain;
}

/* name type attributes */
static bool take_column(struct ddl_parser *parser)
{
	char name[TABLE_MAX + 1];
	bool known = take_promised(parser, name);

	if (known)
		promise(parser, DDL_COLUMN_PRESENT, name);
	return take_tail(parser, DDL_IS_ATTRIBUTE) && known;
}

static bool at_index(const struct ddl_parser *parser)
{
	static const char *const starts[] = { "INDEX",	 "KEY",	       "UNIQUE", "FULLTEXT", "SPATIAL",
					      "PRIMARY", "CONSTRAINT", "CHECK",	 "FOREIGN" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		if (ddl_parser_at(parser, starts[i]))
			return true;
	}
	return false;
}

/* [CONSTRAINT [symbol]] {PRIMARY KEY | [UNIQUE|FULLTEXT|SPATIAL] [INDEX|KEY] [name]} ...
 * MySQL names a unique index by its own name, else by the symbol, else by a rule of its own. */
static bool take_index(struct ddl_parser *parser)
{
	char name[TABLE_MAX + 1];
	bool named = false;

	if (ddl_parser_take_if(parser, "CONSTRAINT"))
		named = take_promised(parser, name);
	if (ddl_parser_take_if(parser, "PRIMARY")) {
		named = ddl_parser_take_if(parser, "KEY");
		snprintf(name, sizeof(name), "PRIMARY");
	} else if (ddl_parser_at(parser, "CHECK") || ddl_parser_at(parser, "FOREIGN")) {
		named = false;
	} else {
		if (!ddl_parser_take_if(parser, "UNIQUE") && !ddl_parser_take_if(parser, "FULLTEXT"))
			ddl_parser_take_if(parser, "SPATIAL");
		if (!ddl_parser_take_if(parser, "INDEX"))
			ddl_parser_take_if(parser, "KEY");
		if (ddl_parser_at_name(parser))
			named = take_promised(parser, name);
	}
	if (named)
		promise(parser, DDL_INDEX_PRESENT, name);
	return take_tail(parser, DDL_IS_ANY) && named;
}

static bool take_definition(struct ddl_parser *parser)
{
	return at_index(parser) ? take_index(parser) : take_column(parser);
}

/* ( definition, ... ) */
static bool take_definitions(struct ddl_parser *parser)
{
	bool understood = true;

	ddl_parser_take(parser, DDL_IS_ANY);
	do {
		if (at_boundary(parser))
			ddl_parser_refuse(
				parser,
				"a definition is missing between commas or parentheses; add or remove it");
		understood &= take_definition(parser);
	} while (ddl_parser_take_if(parser, ","));
	ddl_parser_take(parser, DDL_IS_ANY); /* the closing one, or the end */
	return understood;
}

static bool clause_add(struct ddl_parser *parser)
{
	bool understood;

	if (!ddl_parser_take_if(parser, "COLUMN") && at_index(parser))
		return take_index(parser);
	if (!ddl_parser_at(parser, "("))
		return take_column(parser);
	understood = take_definitions(parser);
	return take_tail(parser, DDL_IS_ANY) && understood;
}

static bool clause_drop(struct ddl_parser *parser)
{
	enum ddl_promise_kind kind = DDL_COLUMN_ABSENT;
	char name[TABLE_MAX + 1];
	bool known;

	if (ddl_parser_take_if(parser, "PRIMARY")) {
		kind = DDL_INDEX_ABSENT;
		known = ddl_parser_take_if(parser, "KEY");
		snprintf(name, sizeof(name), "PRIMARY");
	} else if (ddl_parser_take_if(parser, "INDEX") || ddl_parser_take_if(parser, "KEY")) {
		kind = DDL_INDEX_ABSENT;
		known = take_promised(parser, name);
	} else {
		ddl_parser_take_if(parser, "COLUMN");
		known = take_promised(parser, name); /* not CHECK, CONSTRAINT, PARTITION: they are reserved */
	}
	if (!at_boundary(parser))
		known = false;
	if (known)
		promise(parser, kind, name);
	return take_tail(parser, DDL_IS_ANY) && known;
}

/* The column stays; what it becomes is not promised. */
static bool clause_modify(struct ddl_parser *parser)
{
	ddl_parser_take_if(parser, "COLUMN");
	take_column(parser);
	return false;
}

static bool clause_change(struct ddl_parser *parser)
{
	char old[TABLE_MAX + 1];
	bool known;

	ddl_parser_take_if(parser, "COLUMN");
	known = take_promised(parser, old);
	if (known)
		promise(parser, DDL_COLUMN_ABSENT, old);
	return take_column(parser) && known;
}

/* RENAME {COLUMN | INDEX | KEY} old TO new; every other RENAME is forbidden (ddl.c). */
static bool clause_rename(struct ddl_parser *parser)
{
	char old[TABLE_MAX + 1], new[TABLE_MAX + 1];
	bool column = ddl_parser_take_if(parser, "COLUMN");
	bool known;

	if (!column && !ddl_parser_take_if(parser, "INDEX"))
		ddl_parser_take_if(parser, "KEY");
	known = take_promised(parser, old);
	known = ddl_parser_take_if(parser, "TO") && known;
	known = take_promised(parser, new) && known && at_boundary(parser);
	if (known) {
		promise(parser, column ? DDL_COLUMN_ABSENT : DDL_INDEX_ABSENT, old);
		promise(parser, column ? DDL_COLUMN_PRESENT : DDL_INDEX_PRESENT, new);
	}
	return take_tail(parser, DDL_IS_ANY) && known;
}

static bool take_clause(struct ddl_parser *parser)
{
	static const struct {
		const char *word;
		bool (*take)(struct ddl_parser *parser);
	} clauses[] = {
		{ "ADD", clause_add },	     { "DROP", clause_drop },	  { "MODIFY", clause_modify },
		{ "CHANGE", clause_change }, { "RENAME", clause_rename },
	};
	bool opens;

	if (at_boundary(parser))
		ddl_parser_refuse(parser, "a clause of ALTER TABLE is missing; add it, or remove the comma");
	/* MODIFY is not reserved: behind a comma it may be the name of a partition. */
	opens = parser->ahead.kind == DDL_WORD || parser->ahead.kind == DDL_NAME ||
		ddl_token_is(&parser->ahead, "(");
	for (size_t i = 0; opens && i < sizeof(clauses) / sizeof(clauses[0]); i++) {
		if (ddl_parser_take_if(parser, clauses[i].word))
			return clauses[i].take(parser);
	}
	take_tail(parser, DDL_IS_ANY);
	return false;
}

void ddl_clause_alter(struct ddl_parser *parser)
{
	struct ddl *ddl = parser->ddl;

	ddl->understood = true;
	do {
		if (!take_clause(parser))
			ddl->understood = false;
	} while (ddl_parser_take_if(parser, ","));
	if (ddl_parser_at(parser, ")"))
		ddl_parser_take(parser, DDL_IS_ANY); /* refused there */
	if (parser->too_many) {
		ddl->promise_count = 0;
		ddl->understood = false;
	}
}

void ddl_clause_columns(struct ddl_parser *parser)
{
	take_definitions(parser);
	/* Whoever verifies a CREATE TABLE compares the whole definition. */
	parser->ddl->promise_count = 0;
}
