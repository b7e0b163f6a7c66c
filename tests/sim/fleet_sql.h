#pragma once
/*
 * fleet_sql: as much of SQL as the model of MySQL and Vitess needs: tokens, what kind of
 * statement a text is, and the text as Vitess stores it.
 *
 * Own code on purpose: the model stands for the servers, so it must not share a parser with vtddl.
 */
#include <stdbool.h>
#include <stddef.h>

#include "vtddl/arena.h"

enum sql_token_kind {
	SQL_END,
	SQL_WORD,   /* identifier or keyword, unquoted */
	SQL_NAME,   /* in backticks */
	SQL_STRING, /* in single or double quotes */
	SQL_NUMBER,
	SQL_PUNCT,
	_SQL_TOKEN_MAX
};

struct sql_token {
	enum sql_token_kind kind;
	const char *start; /* as written, with quotes */
	size_t length;
	char *text; /* value: unquoted */
};

enum statement_kind {
	STATEMENT_CREATE_TABLE,
	STATEMENT_ALTER_TABLE,
	STATEMENT_DROP_TABLE,
	STATEMENT_CREATE_VIEW,
	STATEMENT_ALTER_VIEW,
	STATEMENT_DROP_VIEW,
	STATEMENT_TRUNCATE,
	STATEMENT_RENAME,
	STATEMENT_ALTER_MIGRATION, /* alter vitess_migration ... */
	STATEMENT_REVERT,	   /* revert vitess_migration ... */
	STATEMENT_OTHER,	   /* DML, SELECT, SET */
	STATEMENT_BROKEN,	   /* not SQL, unbalanced, or two statements */
	_STATEMENT_MAX
};

struct statement {
	enum statement_kind kind;
	const char *table;
	bool if_exists, if_not_exists, or_replace;
	struct sql_token *tokens; /* ends with SQL_END */
	size_t count;		  /* without SQL_END */
	size_t body;		  /* first token behind the table's name */
	const char *canonical;	  /* as Vitess stores it: comments and blanks folded */
	const char *broken;	  /* STATEMENT_BROKEN: why */
};

/** statement_parse() - all of it lives in @arena; never fails, see STATEMENT_BROKEN */
void statement_parse(struct arena *arena, const char *sql, struct statement *ret);

/** sql_is() - is token @at this keyword or punctuation, without regard to case? */
bool sql_is(const struct sql_token *token, const char *word);

/** sql_join() - the tokens [from, to) as one text, one space where there was any */
char *sql_join(struct arena *arena, const struct sql_token *tokens, size_t from, size_t to);

/** sql_skip() - the index behind the balanced parentheses that open at @at */
size_t sql_skip(const struct sql_token *tokens, size_t at);

/** statement_has_word() - does a keyword occur outside of quotes? */
bool statement_has_word(const struct statement *statement, const char *word);
