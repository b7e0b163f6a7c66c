#include "ddl_lex.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vtddl/banned.h"
#include "vtddl/change.h"

int ddl_refuse(struct error *reterr, const struct ddl_token *where, const char *format, ...)
{
	char text[ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(reterr, ERROR_INPUT, "%.900s (byte %zu, line %zu of the statement)", text,
			 where->byte, where->line);
}

bool ddl_token_is(const struct ddl_token *token, const char *word)
{
	if (token->kind != DDL_WORD && token->kind != DDL_SIGN)
		return false;
	return strlen(word) == token->length && strncasecmp(token->text, word, token->length) == 0;
}

/* ---- The text as a whole ---- */

/* Length of the well-formed UTF-8 character at @text; 0: it is none (RFC 3629, table 3-7 of Unicode). */
static size_t utf8_length(const unsigned char *text, size_t left)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high, length;
	} shapes[] = {
		{ 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (text[0] < shapes[i].first_low || text[0] > shapes[i].first_high)
			continue;
		if (left < shapes[i].length)
			return 0;
		if (shapes[i].length > 1 &&
		    (text[1] < shapes[i].second_low || text[1] > shapes[i].second_high))
			return 0;
		for (size_t j = 2; j < shapes[i].length; j++) {
			if ((text[j] & 0xc0) != 0x80)
				return 0;
		}
		return shapes[i].length;
	}
	return 0;
}

int ddl_lex_init(struct ddl_lexer *lexer, const char *text, size_t length, struct error *reterr)
{
	struct ddl_token where = { .byte = 1, .line = 1 };

	if (length > DDL_MAX)
		return error_set(reterr, ERROR_INPUT,
				 "the statement has %zu bytes and the limit is %d: Vitess cuts a "
				 "longer one and fails only after the release; split it into several changes",
				 length, DDL_MAX);
	if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		return ddl_refuse(reterr, &where,
				  "the statement begins with a byte order mark; "
				  "save the file as UTF-8 without one");
	for (size_t at = 0, step; at < length; at += step) {
		where.byte = at + 1;
		if (text[at] == '\0')
			return ddl_refuse(reterr, &where, "the statement has a NUL byte in it; remove it");
		step = utf8_length((const unsigned char *)text + at, length - at);
		if (step == 0)
			return ddl_refuse(reterr, &where,
					  "the statement is not valid UTF-8; save the file as UTF-8");
		where.line += text[at] == '\n';
	}
	*lexer = (struct ddl_lexer){ .text = text, .length = length, .line = 1 };
	return 0;
}

/* ---- Between tokens ---- */

static int peek(const struct ddl_lexer *lexer, size_t ahead)
{
	return lexer->at + ahead < lexer->length ? (unsigned char)lexer->text[lexer->at + ahead] : -1;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static void skip(struct ddl_lexer *lexer, size_t count)
{
	while (count-- > 0 && lexer->at < lexer->length)
		lexer->line += lexer->text[lexer->at++] == '\n';
}

static struct ddl_token here(const struct ddl_lexer *lexer)
{
	return (struct ddl_token){ .text = lexer->text + lexer->at,
				   .byte = lexer->at + 1,
				   .line = lexer->line };
}

static void skip_line(struct ddl_lexer *lexer)
{
	while (lexer->at < lexer->length && peek(lexer, 0) != '\n')
		skip(lexer, 1);
}

static bool starts_with(const struct ddl_lexer *lexer, const char *word)
{
	size_t length = strlen(word);

	return lexer->length - lexer->at >= length && strncasecmp(lexer->text + lexer->at, word, length) == 0;
}

static int skip_block_comment(struct ddl_lexer *lexer, struct error *reterr)
{
	struct ddl_token start = here(lexer);

	skip(lexer, 2);
	if (peek(lexer, 0) == '!' || starts_with(lexer, "M!"))
		return ddl_refuse(reterr, &start,
				  "an executable comment /*! */ is refused, "
				  "for servers differ in whether they run it; write its text out or drop it");
	if (peek(lexer, 0) == '+')
		return ddl_refuse(reterr, &start,
				  "an optimizer hint /*+ */ is refused in a schema change; drop it");
	while (is_blank(peek(lexer, 0)))
		skip(lexer, 1);
	if (starts_with(lexer, "vt+"))
		return ddl_refuse(reterr, &start,
				  "a Vitess directive /*vt+ */ is refused, "
				  "for it changes how Vitess runs the statement; drop it");
	while (lexer->at < lexer->length && !starts_with(lexer, "*/"))
		skip(lexer, 1);
	if (lexer->at == lexer->length)
		return ddl_refuse(reterr, &start, "a comment is opened with /* and not closed; add */");
	skip(lexer, 2);
	return 0;
}

static int skip_between(struct ddl_lexer *lexer, bool *ret_spaced, struct error *reterr)
{
	*ret_spaced = false;
	for (;; *ret_spaced = true) {
		struct ddl_token start = here(lexer);

		if (is_blank(peek(lexer, 0))) {
			skip(lexer, 1);
		} else if (peek(lexer, 0) == '#') {
			skip_line(lexer);
		} else if (starts_with(lexer, "--")) {
			if (!is_blank(peek(lexer, 2)) && peek(lexer, 2) != -1)
				return ddl_refuse(reterr, &start,
						  "-- without a blank behind it is refused; write a blank "
						  "behind it for a comment, or between two minus signs");
			skip_line(lexer);
		} else if (starts_with(lexer, "/*")) {
			if (skip_block_comment(lexer, reterr) < 0)
				return -1;
		} else {
			return 0;
		}
	}
}

/* ---- Tokens ---- */

/* A control character: C0, DEL, or C1 as UTF-8. @c is in the text, which is well-formed: behind 0xc2 comes
 * one of 0x80 to 0xbf. */
static bool is_control(int c, int next)
{
	return c < 0x20 || c == 0x7f || (c == 0xc2 && next <= 0x9f);
}

/* The lexer stands on the opening quote; it is doubled, or in strings escaped with \, inside. */
static int skip_quoted(struct ddl_lexer *lexer, struct error *reterr)
{
	struct ddl_token start = here(lexer);
	int quote = peek(lexer, 0);

	skip(lexer, 1);
	if (quote == '`' && peek(lexer, 0) == '`' && peek(lexer, 1) != '`')
		return ddl_refuse(reterr, &start, "there is an empty name in backticks; name it");
	while (lexer->at < lexer->length) {
		if (quote == '`' && is_control(peek(lexer, 0), peek(lexer, 1)))
			return ddl_refuse(reterr, &start, "a name has a control character in it; rename it");
		if (quote != '`' && peek(lexer, 0) == '\\') {
			skip(lexer, 2);
		} else if (peek(lexer, 0) != quote) {
			skip(lexer, 1);
		} else if (peek(lexer, 1) == quote) {
			skip(lexer, 2);
		} else {
			skip(lexer, 1);
			return 0;
		}
	}
	return ddl_refuse(reterr, &start, "the quote %c is opened and not closed; close it", quote);
}

static void skip_digits(struct ddl_lexer *lexer)
{
	while (is_digit(peek(lexer, 0)))
		skip(lexer, 1);
}

static int skip_number(struct ddl_lexer *lexer, struct error *reterr)
{
	struct ddl_token start = here(lexer);
	int base = peek(lexer, 1);

	if (peek(lexer, 0) == '0' && (base == 'x' || base == 'b')) {
		do
			skip(lexer, 1);
		while (is_word(peek(lexer, 0)));
		return 0;
	}
	skip_digits(lexer);
	if (peek(lexer, 0) == '.') {
		skip(lexer, 1);
		skip_digits(lexer);
	}
	if (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E') {
		size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';

		if (is_digit(peek(lexer, 1 + sign))) {
			skip(lexer, 2 + sign);
			skip_digits(lexer);
		}
	}
	if (is_word(peek(lexer, 0)))
		return ddl_refuse(reterr, &start,
				  "a letter follows a number; "
				  "if it is a name, write it in backticks, or else put a blank between");
	return 0;
}

static int skip_variable(struct ddl_lexer *lexer, enum ddl_token_kind *ret, struct error *reterr)
{
	skip(lexer, starts_with(lexer, "@@") ? 2 : 1);
	*ret = DDL_VARIABLE;
	if (peek(lexer, 0) == '`' || peek(lexer, 0) == '\'' || peek(lexer, 0) == '"')
		return skip_quoted(lexer, reterr);
	if (!is_word(peek(lexer, 0)))
		*ret = DDL_SIGN;
	while (is_word(peek(lexer, 0)) || (*ret == DDL_VARIABLE && peek(lexer, 0) == '.'))
		skip(lexer, 1);
	return 0;
}

/* Signs are single characters, but an operator that ends in `=` is one token: a lone `=` loses the
 * blanks around it in the normal form, so `> =` must not become `>=`. */
static int skip_sign(struct ddl_lexer *lexer, struct error *reterr)
{
	static const char *const operators[] = { "<=", ">=", "!=", ":=" };
	struct ddl_token start = here(lexer);
	int c = peek(lexer, 0);

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (starts_with(lexer, operators[i])) {
			skip(lexer, strlen(operators[i]));
			return 0;
		}
	}
	if (c >= 0x80)
		return ddl_refuse(
			reterr, &start,
			"a character outside ASCII stands without quotes "
			"(perhaps a blank or a quote that only looks like one); write names in backticks");
	if (c == '\\' || !strchr("(),;.=<>!+-*/%&|^~", c))
		return ddl_refuse(reterr, &start,
				  "the character 0x%02x cannot stand outside quotes; remove it", c);
	skip(lexer, 1);
	return 0;
}

int ddl_lex_next(struct ddl_lexer *lexer, struct ddl_token *ret, struct error *reterr)
{
	struct ddl_token token;
	bool spaced;
	int result = 0, c;

	if (skip_between(lexer, &spaced, reterr) < 0)
		return -1;
	token = here(lexer);
	token.spaced = spaced;
	c = peek(lexer, 0);
	if (c == -1) {
		token.kind = DDL_END;
	} else if (c == '`' || c == '\'' || c == '"') {
		token.kind = c == '`' ? DDL_NAME : DDL_STRING;
		result = skip_quoted(lexer, reterr);
	} else if (is_digit(c)) {
		token.kind = DDL_NUMBER;
		result = skip_number(lexer, reterr);
	} else if (is_word(c)) {
		token.kind = DDL_WORD;
		while (is_word(peek(lexer, 0)))
			skip(lexer, 1);
	} else if (c == '@') {
		result = skip_variable(lexer, &token.kind, reterr);
	} else {
		token.kind = DDL_SIGN;
		result = skip_sign(lexer, reterr);
	}
	token.length = (size_t)(lexer->text + lexer->at - token.text);
	*ret = token;
	return result;
}
