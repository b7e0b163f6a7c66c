#include "fleet_sql.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "vtddl/strbuf.h"

#define SQL_TEXT_MAX (4u << 20)

/* Words that Vitess prints in lower case. Everything else stays as the user wrote it. */
static const char *const keywords[] = {
	"add",	   "after",	 "all",	      "alter",	 "as",	     "auto_increment",
	"by",	   "change",	 "character", "charset", "collate",  "column",
	"comment", "constraint", "create",    "default", "drop",     "engine",
	"exists",  "first",	 "from",      "group",	 "if",	     "index",
	"into",	   "join",	 "key",	      "modify",	 "not",	     "null",
	"on",	   "or",	 "order",     "primary", "rename",   "replace",
	"select",  "set",	 "table",     "to",	 "truncate", "unique",
	"update",  "view",	 "where",
};

bool sql_is(const struct sql_token *token, const char *word)
{
	return (token->kind == SQL_WORD || token->kind == SQL_PUNCT) && strlen(word) == token->length &&
	       strncasecmp(token->start, word, token->length) == 0;
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '@' || (c & 0x80) != 0;
}

/* Length of a comment that begins at @text; 0: there is none. */
static size_t comment_length(const char *text)
{
	const char *end;

	if (text[0] == '#' ||
	    (text[0] == '-' && text[1] == '-' && (text[2] == '\0' || isspace((unsigned char)text[2]))))
		return strcspn(text, "\n");
	if (text[0] != '/' || text[1] != '*')
		return 0;
	end = strstr(text + 2, "*/");
	return end == NULL ? strlen(text) : (size_t)(end - text) + 2;
}

/* Length of a quoted text with its quotes; 0: it does not end. */
static size_t quoted_length(const char *text)
{
	char quote = text[0];
	size_t at = 1;

	for (; text[at] != '\0'; at++) {
		if (text[at] == '\\' && quote != '`' && text[at + 1] != '\0')
			at++;
		else if (text[at] == quote && text[at + 1] == quote)
			at++;
		else if (text[at] == quote)
			return at + 1;
	}
	return 0;
}

static char *unquote(struct arena *arena, const char *text, size_t length)
{
	char *value = arena_memdup(arena, text + 1, length - 2);
	char quote = text[0];
	size_t to = 0;

	for (size_t from = 0; value[from] != '\0'; from++) {
		if (value[from] == '\\' && quote != '`') {
			/* MySQL keeps the backslash of \_ and \%: they mean something to LIKE. */
			if (value[from + 1] == '_' || value[from + 1] == '%')
				value[to++] = value[from];
			from++;
		} else if (value[from] == quote) {
			from++;
		}
		value[to++] = value[from];
	}
	value[to] = '\0';
	return value;
}

/* Reads the token at @text; false: a quote that does not end. */
static bool token_read(struct arena *arena, const char *text, struct sql_token *ret)
{
	*ret = (struct sql_token){ .start = text, .length = 1, .kind = SQL_PUNCT };
	if (*text == '`' || *text == '\'' || *text == '"') {
		ret->kind = *text == '`' ? SQL_NAME : SQL_STRING;
		ret->length = quoted_length(text);
		if (ret->length == 0)
			return false;
		ret->text = unquote(arena, text, ret->length);
		return true;
	}
	if (is_word_byte(*text)) {
		ret->kind = isdigit((unsigned char)*text) ? SQL_NUMBER : SQL_WORD;
		while (is_word_byte(text[ret->length]) ||
		       (ret->kind == SQL_NUMBER && text[ret->length] == '.'))
			ret->length++;
	}
	ret->text = arena_memdup(arena, text, ret->length);
	return true;
}

static const char *tokens_read(struct arena *arena, const char *sql, struct statement *ret)
{
	size_t capacity = strlen(sql) / 4 + 8, skip; /* of words; where that is too little it grows */

	ret->tokens = arena_array(arena, capacity, sizeof(*ret->tokens));
	while (*sql != '\0') {
		if (ret->count + 1 == capacity) {
			struct sql_token *more = arena_array(arena, 2 * capacity, sizeof(*more));

			ret->tokens = memcpy(more, ret->tokens, capacity * sizeof(*more));
			capacity *= 2;
		}
		if (isspace((unsigned char)*sql)) {
			sql++;
			continue;
		}
		skip = comment_length(sql);
		if (skip > 0) {
			sql += skip;
			continue;
		}
		if (!token_read(arena, sql, &ret->tokens[ret->count]))
			return "syntax error at the end of the text: a quote does not end";
		sql += ret->tokens[ret->count++].length;
	}
	while (ret->count > 0 && sql_is(&ret->tokens[ret->count - 1], ";"))
		ret->count--;
	ret->tokens[ret->count] = (struct sql_token){ .kind = SQL_END, .start = "", .text = "" };
	return NULL;
}

size_t sql_skip(const struct sql_token *tokens, size_t at)
{
	size_t depth = 0;

	for (; tokens[at].kind != SQL_END; at++) {
		if (sql_is(&tokens[at], "("))
			depth++;
		else if (sql_is(&tokens[at], ")") && --depth == 0)
			return at + 1;
	}
	return at;
}

static const char *tokens_check(const struct statement *statement)
{
	int depth = 0;

	for (size_t i = 0; i < statement->count; i++) {
		if (sql_is(&statement->tokens[i], ";"))
			return "Expected a single statement";
		if (sql_is(&statement->tokens[i], "("))
			depth++;
		if (sql_is(&statement->tokens[i], ")") && --depth < 0)
			break;
	}
	return depth == 0 ? NULL : "syntax error: unbalanced parentheses";
}

static void token_add(struct strbuf *buf, const struct sql_token *token)
{
	if (token->kind == SQL_STRING) {
		strbuf_adds(buf, "'");
		for (const char *c = token->text; *c != '\0'; c++) {
			if (*c == '\'' || (*c == '\\' && c[1] != '_' && c[1] != '%'))
				strbuf_adds(buf, "\\");
			strbuf_add(buf, c, 1);
		}
		strbuf_adds(buf, "'");
		return;
	}
	for (size_t i = 0; token->kind == SQL_WORD && i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (((keywords[i][0] ^ token->start[0]) & ~0x20) == 0 && sql_is(token, keywords[i])) {
			strbuf_adds(buf, keywords[i]);
			return;
		}
	strbuf_add(buf, token->start, token->length);
}

char *sql_join(struct arena *arena, const struct sql_token *tokens, size_t from, size_t to)
{
	struct strbuf buf;
	char *text;

	strbuf_init(&buf, SQL_TEXT_MAX);
	for (size_t i = from; i < to; i++) {
		if (i > from && tokens[i].start != tokens[i - 1].start + tokens[i - 1].length)
			strbuf_adds(&buf, " ");
		token_add(&buf, &tokens[i]);
	}
	text = arena_memdup(arena, buf.length > 0 ? buf.text : "", buf.length);
	strbuf_release(&buf);
	return text;
}

bool statement_has_word(const struct statement *statement, const char *word)
{
	for (size_t i = 0; i < statement->count; i++)
		if (sql_is(&statement->tokens[i], word))
			return true;
	return false;
}

/* How statements begin. '?': may be there; the table's name follows. */
static const struct opening {
	const char *words[6];
	enum statement_kind kind;
} openings[] = {
	{ { "create", "table" }, STATEMENT_CREATE_TABLE },
	{ { "alter", "table" }, STATEMENT_ALTER_TABLE },
	{ { "drop", "table" }, STATEMENT_DROP_TABLE },
	{ { "create", "view" }, STATEMENT_CREATE_VIEW },
	{ { "create", "or", "replace", "view" }, STATEMENT_CREATE_VIEW },
	{ { "alter", "view" }, STATEMENT_ALTER_VIEW },
	{ { "drop", "view" }, STATEMENT_DROP_VIEW },
	{ { "truncate", "table" }, STATEMENT_TRUNCATE },
	{ { "truncate" }, STATEMENT_TRUNCATE },
	{ { "rename", "table" }, STATEMENT_RENAME },
	{ { "alter", "vitess_migration" }, STATEMENT_ALTER_MIGRATION },
	{ { "revert", "vitess_migration" }, STATEMENT_REVERT },
	{ { "select" }, STATEMENT_OTHER },
	{ { "insert" }, STATEMENT_OTHER },
	{ { "update" }, STATEMENT_OTHER },
	{ { "delete" }, STATEMENT_OTHER },
	{ { "set" }, STATEMENT_OTHER },
};

static size_t opening_match(const struct opening *opening, const struct sql_token *tokens)
{
	size_t at = 0;

	for (; opening->words[at] != NULL; at++)
		if (!sql_is(&tokens[at], opening->words[at]))
			return 0;
	return at;
}

static size_t words_match(const struct sql_token *tokens, const char *a, const char *b, const char *c)
{
	size_t count = c != NULL ? 3 : 2;

	if (!sql_is(&tokens[0], a) || !sql_is(&tokens[1], b) || (c != NULL && !sql_is(&tokens[2], c)))
		return 0;
	return count;
}

static void table_read(struct statement *ret, size_t at)
{
	size_t skip = words_match(&ret->tokens[at], "if", "not", "exists");

	ret->if_not_exists = skip > 0;
	at += skip;
	if (skip == 0) {
		skip = words_match(&ret->tokens[at], "if", "exists", NULL);
		ret->if_exists = skip > 0;
		at += skip;
	}
	if (ret->tokens[at].kind != SQL_WORD && ret->tokens[at].kind != SQL_NAME) {
		ret->kind = STATEMENT_BROKEN;
		ret->broken = "syntax error: a name is missing";
		return;
	}
	if (sql_is(&ret->tokens[at + 1], ".")) /* database.table */
		at += 2;
	ret->table = ret->tokens[at].text;
	ret->body = at + 1;
}

void statement_parse(struct arena *arena, const char *sql, struct statement *ret)
{
	size_t at = 0;

	*ret = (struct statement){ .kind = STATEMENT_BROKEN, .table = "" };
	ret->broken = tokens_read(arena, sql, ret);
	if (ret->broken == NULL)
		ret->broken = tokens_check(ret);
	ret->canonical = sql_join(arena, ret->tokens, 0, ret->count);
	if (ret->broken != NULL)
		return;
	ret->broken = "syntax error at position 1";
	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]) && at == 0; i++) {
		at = opening_match(&openings[i], ret->tokens);
		if (at > 0)
			ret->kind = openings[i].kind;
	}
	ret->body = at;
	if (at > 0 && ret->kind < STATEMENT_ALTER_MIGRATION) {
		ret->or_replace = sql_is(&ret->tokens[1], "or");
		table_read(ret, at);
	}
}
