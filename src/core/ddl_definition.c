/*
 * What a CREATE statement read from a shard says: is a column or index in it, are two the same.
 *
 * The text is MySQL's own (SHOW CREATE TABLE), so it is read by its quotes and parentheses
 * alone: at depth 1 every part between commas is a column, an index or a constraint. What
 * cannot be read as such, or ends before it is closed, keeps no promise.
 */
#include "vtddl/ddl.h"

#include <string.h>
#include <strings.h>

#include "vtddl/banned.h"

/* Behind the quoted text that @at begins; its end if it is not closed. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	while (*at) {
		if (*at == '\\' && quote != '`' && at[1]) {
			at += 2;
		} else if (*at != quote) {
			at++;
		} else if (at[1] == quote) {
			at += 2;
		} else {
			return at + 1;
		}
	}
	return at;
}

static bool is_quote(char c)
{
	return c == '`' || c == '\'' || c == '"';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at)
{
	while (is_blank(*at))
		at++;
	return at;
}

/* If @word is next, goes behind it and the blanks there. */
static bool skip_word(const char **at, const char *word)
{
	size_t length = strlen(word);

	if (strncasecmp(*at, word, length) != 0 || !is_blank((*at)[length]))
		return false;
	*at = skip_blanks(*at + length);
	return true;
}

/* Is the name in backticks at @at this one, apart from the case of ASCII letters? */
static bool is_name(const char *at, const char *name)
{
	if (*at++ != '`')
		return false;
	for (; *name; name++, at++) {
		if (*at == '\0' || strncasecmp(at, name, 1) != 0)
			return false;
		if (*at == '`' && *++at != '`')
			return false;
	}
	return at[0] == '`' && at[1] != '`';
}

/* Is the part of a definition at @at the column or index of this name? */
static bool is_part(const char *at, bool is_column, const char *name)
{
	if (is_column)
		return is_name(at, name);
	if (skip_word(&at, "PRIMARY"))
		return strcasecmp(name, "PRIMARY") == 0;
	if (!skip_word(&at, "UNIQUE") && !skip_word(&at, "FULLTEXT"))
		skip_word(&at, "SPATIAL");
	return (skip_word(&at, "KEY") || skip_word(&at, "INDEX")) && is_name(at, name);
}

enum found { FOUND_UNREADABLE, FOUND_NOTHING, FOUND_IT };

static enum found find_part(const char *definition, bool is_column, const char *name)
{
	enum found found = FOUND_NOTHING;
	size_t depth = 0;
	const char *at = definition;

	if (!skip_word(&at, "CREATE") || !skip_word(&at, "TABLE"))
		return FOUND_UNREADABLE;
	while (*at) {
		char c = *at;

		if (is_quote(c)) {
			at = skip_quoted(at);
			continue;
		}
		at++;
		depth += c == '(';
		if (((c == '(' && depth == 1) || (c == ',' && depth == 1)) &&
		    is_part(skip_blanks(at), is_column, name))
			found = FOUND_IT;
		if (c == ')' && depth > 0 && --depth == 0)
			return found; /* options and partitions follow */
	}
	return FOUND_UNREADABLE;
}

bool ddl_definition_keeps(const char *definition, const struct ddl_promise *promise)
{
	bool is_column = promise->kind == DDL_COLUMN_PRESENT || promise->kind == DDL_COLUMN_ABSENT;
	bool is_present = promise->kind == DDL_COLUMN_PRESENT || promise->kind == DDL_INDEX_PRESENT;

	if (!definition)
		return false;
	return find_part(definition, is_column, promise->name) == (is_present ? FOUND_IT : FOUND_NOTHING);
}

/* Behind " AUTO_INCREMENT=123" at @at, or @at. */
static const char *skip_counter(const char *at)
{
	static const char option[] = " AUTO_INCREMENT=";
	const char *number;

	if (strncmp(at, option, strlen(option)) != 0)
		return at;
	number = at + strlen(option);
	if (strspn(number, "0123456789") == 0)
		return at;
	return number + strspn(number, "0123456789");
}

/* The next stretch of text to compare: something quoted as a whole, or one character. The
 * counter is only skipped where table options stand: behind the last closing parenthesis. */
static size_t next_stretch(const char **at, size_t *depth, bool *in_options)
{
	if (*in_options && *depth == 0)
		*at = skip_counter(*at);
	if (**at == '\0')
		return 0;
	if (is_quote(**at))
		return (size_t)(skip_quoted(*at) - *at);
	*depth += **at == '(';
	if (**at == ')' && *depth > 0)
		*in_options = --*depth == 0;
	return 1;
}

bool ddl_definition_equal(const char *a, const char *b)
{
	size_t a_depth = 0, b_depth = 0;
	bool a_options = false, b_options = false;

	if (!a || !b)
		return false;
	for (;;) {
		size_t a_length = next_stretch(&a, &a_depth, &a_options);
		size_t b_length = next_stretch(&b, &b_depth, &b_options);

		if (a_length != b_length || memcmp(a, b, a_length) != 0)
			return false;
		if (a_length == 0)
			return true;
		a += a_length;
		b += a_length;
	}
}
