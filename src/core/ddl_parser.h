#pragma once
/*
 * ddl_parser: the tokens of one statement, taken one by one, and its normal form, written on the way.
 *
 * The first failure is kept and every token after it is DDL_END, so a caller looks at `failed`
 * only at its end. How a taken word appears in the normal form is said by the one who takes it,
 * for only he knows what the word is there (the rule is in ddl.c).
 */
#include "ddl_lex.h"
#include "vtddl/ddl.h"

/* What a taken word is. */
enum ddl_fold {
	DDL_IS_NAME,	  /* a name: left as it is */
	DDL_IS_KEYWORD,	  /* a keyword: upper case */
	DDL_IS_ANY,	  /* upper case if it is a reserved word, or an option before `=` */
	DDL_IS_ATTRIBUTE, /* inside the definition of a column: types and attributes as well */
};

/* A word that has no place in a statement. Rows are tried in order. */
struct ddl_forbidden {
	const char *word;
	const char *next; /* NULL: whatever follows */
	bool at_top;	  /* only outside parentheses */
	const char *why;  /* one sentence; NULL: it is allowed here, look no further */
};

struct ddl_parser {
	struct ddl_lexer lexer;
	struct ddl_token last, token, ahead;   /* last taken, to be taken, behind it */
	size_t depth;			       /* of parentheses, before `token` */
	const struct ddl_forbidden *forbidden; /* ends with a NULL word; may be NULL */
	struct ddl *ddl;
	bool has_options; /* it is a table: `word =` at the top is an option */
	bool too_many;	  /* more promises than there is room for */
	char *normal;	  /* may be NULL */
	size_t used;
	struct error *reterr;
	bool failed;
};

void ddl_parser_init(struct ddl_parser *parser, const char *text, size_t length, struct ddl *ddl,
		     char *normal, struct error *reterr);

/** ddl_parser_refuse() - fail at the present token, unless it has failed already */
void ddl_parser_refuse(struct ddl_parser *parser, const char *format, ...) printf_like(2, 3);

/** ddl_parser_refuse_at() - the same, at a token that was taken before */
void ddl_parser_refuse_at(struct ddl_parser *parser, const struct ddl_token *where, const char *format, ...)
	printf_like(3, 4);

bool ddl_parser_at(const struct ddl_parser *parser, const char *word);
bool ddl_parser_at_end(const struct ddl_parser *parser);
void ddl_parser_take(struct ddl_parser *parser, enum ddl_fold fold);

/** ddl_parser_take_if() - take this keyword or sign if it is next */
bool ddl_parser_take_if(struct ddl_parser *parser, const char *word);

/** ddl_parser_take_group() - a parenthesis with all that is in it */
void ddl_parser_take_group(struct ddl_parser *parser);

/** ddl_parser_take_rest() - everything */
void ddl_parser_take_rest(struct ddl_parser *parser);

/** ddl_parser_at_name() - could the next token be a name: in backticks, or a word that is not reserved */
bool ddl_parser_at_name(const struct ddl_parser *parser);

/** ddl_parser_take_name() - takes it and unquotes it. Return: false if it has over TABLE_MAX bytes */
bool ddl_parser_take_name(struct ddl_parser *parser, char ret[TABLE_MAX + 1]);

/* ddl_clause.c */

/** ddl_clause_alter() - the clauses of ALTER TABLE; fills promises and understood */
void ddl_clause_alter(struct ddl_parser *parser);

/** ddl_clause_columns() - the columns and indexes of CREATE TABLE, with their parentheses */
void ddl_clause_columns(struct ddl_parser *parser);
