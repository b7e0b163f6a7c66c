/*
 * The guard: what a statement is, which ones are refused, and the normal form.
 *
 * The rule of the normal form, by which two texts are one change. It never changes, for the
 * names of changes are made from it (tests/unit/test_ddl.c pins examples):
 *
 *  - Comments and white space become one blank, or none at either end. A closing semicolon goes.
 *  - No blank next to `(`, `)` and `,`, nor between `=` and anything that is no operator. Vitess
 *    sends its own text of the statement to MySQL, so a blank there never has a meaning.
 *    Everywhere else a blank stays if there was one, and none is added: COMMENT'x' and
 *    COMMENT 'x' are two changes.
 *  - Keywords become upper case, but only where they cannot be a name:
 *     1. the words that the parser asked for in their place (CREATE, VIEW, IF EXISTS, MODIFY, ...);
 *     2. words of a list that are reserved in MySQL and in Vitess, unless behind `.` or `=`;
 *     3. types and attributes of a list inside the definition of a column, behind its name,
 *	  but not behind DEFAULT, AFTER, COLLATE and the like, where a name or value stands;
 *     4. options of a list (ENGINE, COMMENT, ...) at the top of CREATE or ALTER TABLE before `=`.
 *    The lists are in ddl_parser.c.
 *  - All else is left as it is: names, literals, numbers, values of options, other words.
 *
 * So the normal form of a normal form is itself, it has the same tokens as the text, and when
 * in doubt two texts are two changes. What is sent to Vitess is always the text itself.
 */
#include "vtddl/ddl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ddl_parser.h"
#include "vtddl/banned.h"

#define TAKES "vtddl takes CREATE, ALTER and DROP of one table or view"
#define AT_ONCE "Vitess runs it at once on every shard, without a hold"
#define ROWS "it changes rows, not a definition; run it through VTGate"
#define NO_CHANGE "it changes no definition; run it on the tablets"

struct refusal {
	const char *word;
	const char *why;
};

/* What statements begin with, besides CREATE, ALTER and DROP. */
static const struct refusal verbs[] = {
	{ "TRUNCATE", AT_ONCE "; write DELETE through VTGate, or DROP and CREATE as changes of their own" },
	{ "RENAME",
	  AT_ONCE ", so for a while some shards have the old name; CREATE a new table, copy the rows and "
		  "DROP the old one as changes of their own" },
	{ "REVERT",
	  "it takes back a migration without the barrier of a change; write the ALTER that undoes it" },
	{ "SHOW", "it changes nothing; use `vtddl show`" },
	{ "INSERT", ROWS },
	{ "UPDATE", ROWS },
	{ "DELETE", ROWS },
	{ "REPLACE", ROWS },
	{ "LOAD", ROWS },
	{ "CALL", ROWS },
	{ "DO", ROWS },
	{ "SELECT", "it changes nothing" },
	{ "WITH", "it changes nothing" },
	{ "EXPLAIN", "it changes nothing" },
	{ "DESCRIBE", "it changes nothing" },
	{ "DESC", "it changes nothing" },
	{ "VALUES", "it changes nothing" },
	{ "TABLE", "it changes nothing" },
	{ "SET", "a setting of the session would not be there on the shards; leave it out" },
	{ "USE", "the keyspace is an argument of the command; leave it out" },
	{ "BEGIN", "a schema change cannot be in a transaction; leave it out" },
	{ "START", "a schema change cannot be in a transaction; leave it out" },
	{ "COMMIT", "a schema change cannot be in a transaction; leave it out" },
	{ "ANALYZE", NO_CHANGE },
	{ "OPTIMIZE", NO_CHANGE },
	{ "CHECK", NO_CHANGE },
	{ "REPAIR", NO_CHANGE },
	{ "LOCK", NO_CHANGE },
	{ "UNLOCK", NO_CHANGE },
	{ "FLUSH", NO_CHANGE },
	{ "DELIMITER", "it is a command of the mysql client; leave it out" },
	{ NULL, NULL },
};

/* What is created, altered or dropped, besides TABLE and VIEW. */
static const struct refusal objects[] = {
	{ "VITESS_MIGRATION",
	  "it acts at once on migrations of every shard; use `vtddl complete` or `vtddl cancel`" },
	{ "VSCHEMA", "it changes the VSchema and no shard; use vtctldclient ApplyVSchema" },
	{ "TEMPORARY", "such a table lives in one connection of one shard; leave TEMPORARY out" },
	{ "INDEX", "write ALTER TABLE ... ADD INDEX or ALTER TABLE ... DROP INDEX" },
	{ "UNIQUE", "write ALTER TABLE ... ADD UNIQUE INDEX" },
	{ "FULLTEXT", "write ALTER TABLE ... ADD FULLTEXT INDEX" },
	{ "SPATIAL", "write ALTER TABLE ... ADD SPATIAL INDEX" },
	{ "DATABASE", AT_ONCE "; use vtctldclient CreateKeyspace or DeleteKeyspace" },
	{ "SCHEMA", AT_ONCE "; use vtctldclient CreateKeyspace or DeleteKeyspace" },
	{ "TABLES", "write TABLE" },
	{ NULL, NULL },
};

#define NO_FOREIGN_KEYS                                                                                      \
	"foreign keys are refused: Vitess does not take them in Online DDL; leave the clause out"
#define NO_SELECT                                                                                            \
	"CREATE TABLE ... SELECT is refused: every shard would fill the table with rows of its own; "        \
	"write the columns, and fill it through VTGate afterwards"
#define NO_TABLESPACE                                                                                        \
	"DISCARD and IMPORT TABLESPACE are refused: they exchange files of one server, which Online DDL "    \
	"cannot do; leave the clause out"
#define NO_MAINTENANCE                                                                                       \
	"this clause of ALTER TABLE is refused: it changes no definition, and Online DDL copies every row "  \
	"into a new table instead; write ALTER TABLE ... FORCE for a rebuild"

static const struct ddl_forbidden forbidden_in_create[] = {
	{ "FOREIGN", NULL, false, NO_FOREIGN_KEYS },
	{ "REFERENCES", NULL, false, NO_FOREIGN_KEYS },
	{ "SELECT", NULL, false, NO_SELECT },
	{ "AS", NULL, true, NO_SELECT }, /* inside parentheses it is that of a generated column */
	{ "VALUES", NULL, true, NO_SELECT },
	{ "TABLE", NULL, true, NO_SELECT },
	{ NULL, NULL, false, NULL },
};

static const struct ddl_forbidden forbidden_in_alter[] = {
	{ "FOREIGN", NULL, false, NO_FOREIGN_KEYS },
	{ "REFERENCES", NULL, false, NO_FOREIGN_KEYS },
	{ "RENAME", "COLUMN", false, NULL },
	{ "RENAME", "INDEX", false, NULL },
	{ "RENAME", "KEY", false, NULL },
	{ "RENAME", NULL, false,
	  "ALTER TABLE ... RENAME is refused: Vitess does not take it in Online DDL; CREATE a new "
	  "table, copy the rows and DROP the old one as changes of their own" },
	{ "EXCHANGE", "PARTITION", false,
	  "EXCHANGE PARTITION is refused: it changes a second table at the same time; "
	  "move the rows through VTGate" },
	{ "DISCARD", "TABLESPACE", false, NO_TABLESPACE },
	{ "DISCARD", "PARTITION", false, NO_TABLESPACE },
	{ "IMPORT", "TABLESPACE", false, NO_TABLESPACE },
	{ "IMPORT", "PARTITION", false, NO_TABLESPACE },
	{ "TRUNCATE", "PARTITION", false,
	  "TRUNCATE PARTITION is refused: Online DDL copies the rows back into the new "
	  "table; write DELETE through VTGate, or DROP PARTITION and ADD PARTITION" },
	{ "ANALYZE", "PARTITION", false, NO_MAINTENANCE },
	{ "CHECK", "PARTITION", false, NO_MAINTENANCE },
	{ "OPTIMIZE", "PARTITION", false, NO_MAINTENANCE },
	{ "REBUILD", "PARTITION", false, NO_MAINTENANCE },
	{ "REPAIR", "PARTITION", false, NO_MAINTENANCE },
	{ NULL, NULL, false, NULL },
};

/* ---- Names ---- */

static bool has_strange_sign(const char *name)
{
	return name[strcspn(name, "/\\.`'\"%")] != '\0' || name[strlen(name) - 1] == ' ';
}

/* The table or view that the statement is about. */
static void take_target(struct ddl_parser *parser)
{
	const struct ddl_token name = parser->token;
	char *table = parser->ddl->table;
	bool fits;

	if (name.kind == DDL_STRING)
		ddl_parser_refuse(
			parser,
			"a text in quotes stands where a name is expected; write the name in backticks");
	if (!ddl_parser_at_name(parser))
		ddl_parser_refuse(parser, "the name of a table or view is expected here; "
					  "add it, in backticks if it is a keyword");
	if (parser->failed)
		return;
	fits = ddl_parser_take_name(parser, table);
	if (ddl_parser_at(parser, "."))
		ddl_parser_refuse_at(parser, &name,
				     "the name of the table is qualified with a database; "
				     "write it alone, for the keyspace is an argument of the command");
	else if (!fits)
		ddl_parser_refuse_at(parser, &name, "the name of the table has over %d bytes; shorten it",
				     TABLE_MAX);
	else if (strncasecmp(table, "_vt_", 4) == 0)
		ddl_parser_refuse_at(parser, &name,
				     "%s is named like an internal table of Vitess (_vt_...), which "
				     "Vitess drops by itself; choose another name",
				     table);
	else if (has_strange_sign(table))
		ddl_parser_refuse_at(parser, &name,
				     "the name %s has a quote, slash, dot or percent sign in it, or ends "
				     "in a blank, which vtctld may take for a pattern; choose another name",
				     table);
}

static void expect_end(struct ddl_parser *parser)
{
	if (ddl_parser_at(parser, ","))
		ddl_parser_refuse(
			parser,
			"several tables or views in one statement are refused: Vitess makes one migration of "
			"each, and one change is one migration; submit each as a change of its own");
	if (!ddl_parser_at_end(parser))
		ddl_parser_refuse(parser, "the statement should end here; remove what follows");
}

/* ---- Statements ---- */

static void take_if_not_exists(struct ddl_parser *parser)
{
	if (!ddl_parser_take_if(parser, "IF"))
		return;
	if (!ddl_parser_take_if(parser, "NOT") || !ddl_parser_take_if(parser, "EXISTS"))
		ddl_parser_refuse(parser, "IF NOT EXISTS is expected here; complete it");
	parser->ddl->if_not_exists = true;
}

static void create_table(struct ddl_parser *parser)
{
	parser->has_options = true;
	parser->forbidden = forbidden_in_create;
	take_if_not_exists(parser);
	take_target(parser);
	if (ddl_parser_at(parser, "LIKE") ||
	    (ddl_parser_at(parser, "(") && ddl_token_is(&parser->ahead, "LIKE")))
		ddl_parser_refuse(
			parser,
			"CREATE TABLE ... LIKE is refused: what it makes depends on a table that may "
			"differ from shard to shard; write the columns (vtctldclient GetSchema shows them)");
	if (ddl_parser_at(parser, "("))
		ddl_clause_columns(parser);
	else if (ddl_parser_at_end(parser))
		ddl_parser_refuse(parser, "CREATE TABLE has no columns; add them");
	else if (!ddl_parser_at(parser, "AS") && !ddl_parser_at(parser, "SELECT"))
		ddl_parser_refuse(
			parser,
			"the columns in parentheses are expected behind the name of the table; add them");
	ddl_parser_take_rest(parser);
}

static void alter_table(struct ddl_parser *parser)
{
	parser->has_options = true;
	parser->forbidden = forbidden_in_alter;
	take_target(parser);
	ddl_clause_alter(parser);
}

static void drop_thing(struct ddl_parser *parser)
{
	if (ddl_parser_take_if(parser, "IF")) {
		if (!ddl_parser_take_if(parser, "EXISTS"))
			ddl_parser_refuse(parser, "IF EXISTS is expected here; complete it");
		parser->ddl->if_exists = true;
	}
	take_target(parser);
	if (!ddl_parser_take_if(parser, "RESTRICT"))
		ddl_parser_take_if(parser, "CASCADE");
	expect_end(parser);
}

/* CREATE VIEW and ALTER VIEW, behind VIEW. */
static void define_view(struct ddl_parser *parser)
{
	if (parser->ddl->action == DDL_CREATE_VIEW)
		take_if_not_exists(parser);
	take_target(parser);
	if (ddl_parser_at(parser, "("))
		ddl_parser_take_group(parser);
	if (!ddl_parser_take_if(parser, "AS") || ddl_parser_at_end(parser))
		ddl_parser_refuse(parser, "AS SELECT ... is expected here; add it");
	ddl_parser_take_rest(parser);
}

static void take_word(struct ddl_parser *parser, enum ddl_fold fold)
{
	if (ddl_parser_at_end(parser) || parser->token.kind == DDL_SIGN)
		ddl_parser_refuse(parser, "a word is missing here; complete the statement");
	ddl_parser_take(parser, fold);
}

/* ALGORITHM = x, DEFINER = user[@host], SQL SECURITY x. Return: whether there was one */
static bool take_view_option(struct ddl_parser *parser)
{
	if (ddl_parser_take_if(parser, "ALGORITHM")) {
		ddl_parser_take_if(parser, "=");
		take_word(parser, DDL_IS_KEYWORD);
	} else if (ddl_parser_take_if(parser, "DEFINER")) {
		ddl_parser_take_if(parser, "=");
		take_word(parser, DDL_IS_NAME);
		if (parser->token.kind == DDL_VARIABLE)
			ddl_parser_take(parser, DDL_IS_NAME);
		else if (ddl_parser_at(parser, "("))
			ddl_parser_take_group(parser);
	} else if (ddl_parser_take_if(parser, "SQL")) {
		ddl_parser_take_if(parser, "SECURITY");
		take_word(parser, DDL_IS_KEYWORD);
	} else {
		return false;
	}
	return true;
}

static const struct refusal *find_refusal(const struct ddl_parser *parser, const struct refusal *rows)
{
	while (rows->word && !ddl_parser_at(parser, rows->word))
		rows++;
	return rows;
}

static const struct {
	const char *verb, *object;
	enum ddl_action action;
	const char *name;
	void (*take)(struct ddl_parser *parser);
} statements[] = {
	{ "CREATE", "TABLE", DDL_CREATE_TABLE, "create table", create_table },
	{ "ALTER", "TABLE", DDL_ALTER_TABLE, "alter table", alter_table },
	{ "DROP", "TABLE", DDL_DROP_TABLE, "drop table", drop_thing },
	{ "CREATE", "VIEW", DDL_CREATE_VIEW, "create view", define_view },
	{ "ALTER", "VIEW", DDL_ALTER_VIEW, "alter view", define_view },
	{ "DROP", "VIEW", DDL_DROP_VIEW, "drop view", drop_thing },
};
#define STATEMENT_COUNT (sizeof(statements) / sizeof(statements[0]))

static void take_object(struct ddl_parser *parser, const char *verb, bool has_view_options)
{
	const struct refusal *refusal = find_refusal(parser, objects);

	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		if (strcmp(statements[i].verb, verb) != 0 || !ddl_parser_at(parser, statements[i].object))
			continue;
		if (strcmp(statements[i].object, "TABLE") == 0 &&
		    (parser->ddl->or_replace || has_view_options))
			ddl_parser_refuse(parser,
					  "OR REPLACE, ALGORITHM, DEFINER and SQL SECURITY belong to a view, "
					  "not to a table; leave them out");
		parser->ddl->action = statements[i].action;
		ddl_parser_take(parser, DDL_IS_KEYWORD);
		statements[i].take(parser);
		return;
	}
	if (parser->token.kind != DDL_WORD)
		ddl_parser_refuse(parser, "TABLE or VIEW is expected behind %s; complete the statement",
				  verb);
	else
		ddl_parser_refuse(parser, "%s %.*s is refused: %s", verb,
				  (int)(parser->token.length < TABLE_MAX ? parser->token.length : TABLE_MAX),
				  parser->token.text,
				  refusal->word ? refusal->why : TAKES "; leave this one out");
}

static void take_statement(struct ddl_parser *parser)
{
	const struct refusal *refusal = find_refusal(parser, verbs);
	const char *verb;
	bool has_view_options = false;

	if (ddl_parser_at_end(parser)) {
		ddl_parser_refuse(parser, "there is no statement, only white space or comments; write one");
		return;
	}
	if (parser->token.kind != DDL_WORD) {
		ddl_parser_refuse(parser, "a statement begins with a word; " TAKES);
		return;
	}
	verb = ddl_parser_at(parser, "CREATE") ? "CREATE" : ddl_parser_at(parser, "ALTER") ? "ALTER" : "DROP";
	if (!ddl_parser_at(parser, verb)) {
		ddl_parser_refuse(parser, "%s is refused: %s",
				  refusal->word ? refusal->word : "a statement of this kind",
				  refusal->word ? refusal->why : TAKES "; leave this one out");
		return;
	}
	ddl_parser_take(parser, DDL_IS_KEYWORD);
	if (strcmp(verb, "CREATE") == 0 && ddl_parser_take_if(parser, "OR")) {
		if (!ddl_parser_take_if(parser, "REPLACE"))
			ddl_parser_refuse(parser, "OR REPLACE is expected here; complete it");
		parser->ddl->or_replace = true;
	}
	while (strcmp(verb, "DROP") != 0 && take_view_option(parser))
		has_view_options = true;
	take_object(parser, verb, has_view_options);
}

int ddl_parse(const char *text, size_t length, struct ddl *ret, char *normal, struct error *reterr)
{
	struct ddl_parser parser;
	struct ddl ddl = { 0 };

	ddl_parser_init(&parser, text, length, &ddl, normal, reterr);
	if (!parser.failed)
		take_statement(&parser);
	if (parser.failed)
		return -1;
	*ret = ddl;
	return 0;
}

const char *ddl_action_name(enum ddl_action action)
{
	for (size_t i = 0; i < STATEMENT_COUNT; i++) {
		if (statements[i].action == action)
			return statements[i].name;
	}
	return "unknown";
}
