#include "ddl_parser.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/banned.h"

/* ---- Words of the normal form. Never add one: it would rename changes that are under way. ---- */

/* clang-format off */
/* Reserved by MySQL 8 and by Vitess 24 (sql.y, reserved_keyword), so they are no names without quotes. */
static const char *const reserved[] = {
	"ADD", "ALL", "AND", "AS", "ASC", "BETWEEN", "BINARY", "BOTH", "BY", "CASE", "CHANGE", "CHARACTER",
	"CHECK", "COLLATE", "COLUMN", "CONSTRAINT", "CONVERT", "CREATE", "CROSS", "CURRENT_DATE",
	"CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_USER", "DEFAULT", "DESC", "DISTINCT", "DIV", "DROP",
	"ELSE", "EXISTS", "FALSE", "FOR", "FORCE", "FROM", "FULLTEXT", "GENERATED", "GROUP", "HAVING", "IF",
	"IGNORE", "IN", "INDEX", "INNER", "INTERVAL", "INTO", "IS", "JOIN", "KEY", "LEADING", "LEFT",
	"LIKE", "LIMIT", "LOCALTIME", "LOCALTIMESTAMP", "LOCK", "MATCH", "MAXVALUE", "MOD", "NATURAL",
	"NOT", "NULL", "ON", "OR", "ORDER", "OUTER", "PARTITION", "PRIMARY", "RANGE", "REGEXP", "RENAME",
	"REPLACE", "RIGHT", "RLIKE", "SELECT", "SET", "SPATIAL", "STORED", "STRAIGHT_JOIN", "TABLE", "THEN",
	"TO", "TRAILING", "TRUE", "UNION", "UNIQUE", "UPDATE", "USING", "UTC_DATE", "UTC_TIME",
	"UTC_TIMESTAMP", "VALUES", "VIRTUAL", "WHEN", "WHERE", "WITH", "XOR", NULL,
};

/* Types and attributes inside the definition of a column. */
static const char *const attributes[] = {
	"AFTER", "ALWAYS", "AUTO_INCREMENT", "BIGINT", "BIT", "BLOB", "BOOL", "BOOLEAN", "CHAR", "CHARSET",
	"COLUMN_FORMAT", "COMMENT", "DATE", "DATETIME", "DEC", "DECIMAL", "DOUBLE", "ENUM", "FIRST",
	"FIXED", "FLOAT", "GEOMETRY", "GEOMETRYCOLLECTION", "INT", "INTEGER", "INVISIBLE", "JSON",
	"LINESTRING", "LONGBLOB", "LONGTEXT", "MEDIUMBLOB", "MEDIUMINT", "MEDIUMTEXT", "MULTILINESTRING",
	"MULTIPOINT", "MULTIPOLYGON", "NATIONAL", "NCHAR", "NUMERIC", "NVARCHAR", "POINT", "POLYGON",
	"PRECISION", "REAL", "SIGNED", "SMALLINT", "SRID", "STORAGE", "TEXT", "TIME", "TIMESTAMP",
	"TINYBLOB", "TINYINT", "TINYTEXT", "UNSIGNED", "VARBINARY", "VARCHAR", "VARYING", "VECTOR",
	"VISIBLE", "YEAR", "ZEROFILL", NULL,
};

/* What follows one of these inside the definition of a column is a name or a value. */
static const char *const before_names[] = {
	"AFTER", "CHARSET", "COLLATE", "COLUMN_FORMAT", "CONSTRAINT", "DEFAULT", "SET", "SRID", "STORAGE",
	NULL,
};

/* Options of a table and of ALTER TABLE, where `=` follows. */
static const char *const options[] = {
	"ALGORITHM", "AUTO_INCREMENT", "AUTOEXTEND_SIZE", "AVG_ROW_LENGTH", "CHARSET", "CHECKSUM",
	"COMMENT", "COMPRESSION", "CONNECTION", "DELAY_KEY_WRITE", "ENCRYPTION", "ENGINE", "INSERT_METHOD",
	"KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "PASSWORD", "ROW_FORMAT",
	"STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", NULL,
};
/* clang-format on */

static bool is_one_of(const struct ddl_token *token, const char *const *words)
{
	if (token->kind != DDL_WORD)
		return false;
	for (; *words; words++) {
		if (ddl_token_is(token, *words))
			return true;
	}
	return false;
}

static bool is_folded(const struct ddl_parser *parser, enum ddl_fold fold)
{
	if (parser->token.kind != DDL_WORD || fold == DDL_IS_NAME)
		return false;
	if (fold == DDL_IS_KEYWORD)
		return true;
	if (ddl_token_is(&parser->last, ".") || ddl_token_is(&parser->last, "="))
		return false;
	if (is_one_of(&parser->token, reserved))
		return true;
	if (parser->has_options && parser->depth == 0 && ddl_token_is(&parser->ahead, "=") &&
	    is_one_of(&parser->token, options))
		return true;
	return fold == DDL_IS_ATTRIBUTE && is_one_of(&parser->token, attributes) &&
	       !is_one_of(&parser->last, before_names);
}

/* ---- The normal form ---- */

static bool is_bracket(const struct ddl_token *token)
{
	return token->kind == DDL_SIGN && token->length == 1 && strchr("(),", token->text[0]);
}

static bool keeps_blank(const struct ddl_token *left, const struct ddl_token *right)
{
	if (is_bracket(left) || is_bracket(right))
		return false;
	/* what is still a sign is an operator */
	if (ddl_token_is(left, "=") && right->kind != DDL_SIGN)
		return false;
	if (ddl_token_is(right, "=") && left->kind != DDL_SIGN)
		return false;
	return right->spaced;
}

/* Of a word: nothing in it is behind 'z'. */
static char upper(char c)
{
	return c >= 'a' ? (char)(c - 'a' + 'A') : c;
}

static void write_token(struct ddl_parser *parser, bool folded)
{
	const struct ddl_token *token = &parser->token;

	if (!parser->normal)
		return;
	if (parser->last.kind != DDL_END && keeps_blank(&parser->last, token))
		parser->normal[parser->used++] = ' ';
	for (size_t i = 0; i < token->length; i++)
		parser->normal[parser->used++] = folded ? upper(token->text[i]) : token->text[i];
	assert(parser->used <= parser->lexer.length);
	parser->normal[parser->used] = '\0';
}

/* ---- Taking ---- */

static void fail(struct ddl_parser *parser)
{
	parser->failed = true;
	parser->token.kind = parser->ahead.kind = DDL_END;
}

static void printf_like(3, 0)
	refuse(struct ddl_parser *parser, const struct ddl_token *where, const char *format, va_list args)
{
	char text[ERROR_TEXT_MAX];

	if (parser->failed)
		return;
	vsnprintf(text, sizeof(text), format, args);
	ddl_refuse(parser->reterr, where, "%s", text);
	fail(parser);
}

void ddl_parser_refuse(struct ddl_parser *parser, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refuse(parser, &parser->token, format, args);
	va_end(args);
}

void ddl_parser_refuse_at(struct ddl_parser *parser, const struct ddl_token *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refuse(parser, where, format, args);
	va_end(args);
}

/* Behind a closing semicolon only white space: Vitess takes even a comment for a second statement. */
static void check_behind(struct ddl_parser *parser)
{
	const struct ddl_token semicolon = parser->ahead;
	struct ddl_token behind;
	size_t at = parser->lexer.at;

	while (at < parser->lexer.length && strchr(" \t\r\n", parser->lexer.text[at]))
		at++;
	if (at == parser->lexer.length)
		return;
	if (ddl_lex_next(&parser->lexer, &behind, parser->reterr) < 0)
		fail(parser);
	else if (behind.kind == DDL_END)
		ddl_parser_refuse_at(parser, &semicolon,
				     "a comment is behind the closing semicolon, which Vitess takes for a second "
				     "statement; put it before the statement, or remove the semicolon");
	else
		ddl_parser_refuse_at(parser, &behind,
				     "there is something behind the closing semicolon: one change is one "
				     "statement; submit several statements as changes of their own");
}

/* Reads `ahead`; a closing semicolon becomes the end. */
static void read_ahead(struct ddl_parser *parser)
{
	if (ddl_lex_next(&parser->lexer, &parser->ahead, parser->reterr) < 0) {
		fail(parser);
	} else if (ddl_token_is(&parser->ahead, ";")) {
		check_behind(parser);
		parser->ahead.kind = DDL_END;
	}
}

void ddl_parser_init(struct ddl_parser *parser, const char *text, size_t length, struct ddl *ddl,
		     char *normal, struct error *reterr)
{
	*parser = (struct ddl_parser){ .ddl = ddl, .normal = normal, .reterr = reterr };
	if (normal)
		normal[0] = '\0';
	if (ddl_lex_init(&parser->lexer, text, length, reterr) < 0) {
		fail(parser);
		return;
	}
	read_ahead(parser);
	if (parser->failed)
		return;
	parser->token = parser->ahead;
	if (parser->token.kind != DDL_END)
		read_ahead(parser);
}

bool ddl_parser_at(const struct ddl_parser *parser, const char *word)
{
	return ddl_token_is(&parser->token, word);
}

bool ddl_parser_at_end(const struct ddl_parser *parser)
{
	return parser->token.kind == DDL_END;
}

static void check_forbidden(struct ddl_parser *parser)
{
	const struct ddl_forbidden *row = parser->forbidden;

	if (!row || parser->token.kind != DDL_WORD || ddl_token_is(&parser->last, "."))
		return;
	for (; row->word; row++) {
		if (!ddl_token_is(&parser->token, row->word) || (row->at_top && parser->depth > 0) ||
		    (row->next && !ddl_token_is(&parser->ahead, row->next)))
			continue;
		if (row->why)
			ddl_parser_refuse(parser, "%s", row->why);
		return;
	}
}

void ddl_parser_take(struct ddl_parser *parser, enum ddl_fold fold)
{
	check_forbidden(parser);
	if (ddl_parser_at(parser, ")") && parser->depth == 0)
		ddl_parser_refuse(parser,
				  "a parenthesis is closed that was not opened; remove it or open it");
	if (ddl_parser_at_end(parser))
		return;
	write_token(parser, is_folded(parser, fold));
	parser->depth += ddl_parser_at(parser, "(");
	parser->depth -= ddl_parser_at(parser, ")");
	parser->last = parser->token;
	parser->token = parser->ahead;
	if (parser->token.kind != DDL_END)
		read_ahead(parser);
	else if (parser->depth > 0)
		ddl_parser_refuse(parser, "%zu parentheses are opened and not closed; close them",
				  parser->depth);
}

bool ddl_parser_take_if(struct ddl_parser *parser, const char *word)
{
	if (!ddl_parser_at(parser, word))
		return false;
	ddl_parser_take(parser, DDL_IS_KEYWORD);
	return true;
}

void ddl_parser_take_group(struct ddl_parser *parser)
{
	size_t depth = parser->depth;

	do
		ddl_parser_take(parser, DDL_IS_ANY);
	while (parser->depth > depth && !ddl_parser_at_end(parser));
}

void ddl_parser_take_rest(struct ddl_parser *parser)
{
	while (!ddl_parser_at_end(parser))
		ddl_parser_take(parser, DDL_IS_ANY);
}

/* ---- Names ---- */

bool ddl_parser_at_name(const struct ddl_parser *parser)
{
	return parser->token.kind == DDL_NAME ||
	       (parser->token.kind == DDL_WORD && !is_one_of(&parser->token, reserved));
}

bool ddl_parser_take_name(struct ddl_parser *parser, char ret[TABLE_MAX + 1])
{
	const struct ddl_token token = parser->token;
	bool quoted = token.kind == DDL_NAME;
	size_t length = 0, characters = 0;

	for (size_t i = quoted; i + quoted < token.length; i++) {
		char c = token.text[i];

		i += quoted && c == '`'; /* the second one of a doubled backtick */
		characters += (c & 0xc0) != 0x80;
		if (length < TABLE_MAX)
			ret[length] = c;
		length++;
	}
	ret[length < TABLE_MAX ? length : TABLE_MAX] = '\0';
	if (characters > TABLE_MAX)
		ddl_parser_refuse(parser, "a name has %zu characters and MySQL allows %d; shorten it",
				  characters, TABLE_MAX);
	ddl_parser_take(parser, DDL_IS_NAME);
	return length <= TABLE_MAX;
}
