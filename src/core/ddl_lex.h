#pragma once
/*
 * ddl_lex: the words, names, strings, numbers and signs of a MySQL statement.
 *
 * Comments and white space lie between tokens and only show as `spaced`. What MySQL or Vitess
 * would run although it looks like a comment, what the two might read differently, and what no
 * DDL needs is refused here: executable comments and hints, `--` without a blank behind it,
 * signs and letters outside ASCII without quotes, control characters in names.
 */
#include <stdbool.h>
#include <stddef.h>

#include "vtddl/error.h"

enum ddl_token_kind {
	DDL_END,
	DDL_WORD,   /* keyword or unquoted name */
	DDL_NAME,   /* in backticks */
	DDL_STRING, /* in ' or " */
	DDL_NUMBER,
	DDL_VARIABLE, /* @x, @@x, @`x`, @'x' */
	DDL_SIGN,     /* one character, or an operator that ends in = */
};

struct ddl_token {
	enum ddl_token_kind kind;
	const char *text; /* in the statement, with its quotes */
	size_t length;
	size_t byte, line; /* where it begins; both count from 1 */
	bool spaced;	   /* white space or a comment is before it */
};

struct ddl_lexer {
	const char *text;
	size_t length;
	size_t at;
	size_t line;
};

/** ddl_lex_init() - checks the text as a whole: size, NUL, UTF-8, byte order mark */
int must_check ddl_lex_init(struct ddl_lexer *lexer, const char *text, size_t length, struct error *reterr);

/** ddl_lex_next() - the next token; DDL_END for ever after the last one */
int must_check ddl_lex_next(struct ddl_lexer *lexer, struct ddl_token *ret, struct error *reterr);

/** ddl_token_is() - is it this word in any case, unquoted, or this sign */
bool ddl_token_is(const struct ddl_token *token, const char *word);

/** ddl_refuse() - ERROR_INPUT: the sentence, and where the token is. Return: -1 */
int ddl_refuse(struct error *reterr, const struct ddl_token *where, const char *format, ...)
	printf_like(3, 4);
