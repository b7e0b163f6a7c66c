#include "vtddl/vtgate.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "connection.h"
#include "vtddl/change.h"
#include "vtddl/strbuf.h"

#define PROBE_MAX (16 * 1024)
#define DEFINITION_MAX (1024 * 1024)

struct vtgate {
	struct connection *connection;
	char name[HOST_MAX + 32]; /* "VTGate at host:port" */
};

/* ---- Opening ---- */

int vtgate_open(const struct vtgate_config *config, struct vtgate **ret, struct error *reterr)
{
	char host[HOST_MAX + 1];
	struct connection_config wanted = {
		.advice = "check --vtgate, its user, password file and TLS files",
		.host = host,
		.user = config->user,
		.password_file = config->password_file,
		.database = config->keyspace,
		.ssl_ca = config->ssl_ca,
		.ssl_cert = config->ssl_cert,
		.ssl_key = config->ssl_key,
		.timeout_ms = config->timeout_ms,
	};
	struct vtgate *vtgate;

	if (!connection_split_address(config->address, host, &wanted.port) || wanted.port == 0)
		return error_set(reterr, ERROR_CONFIG,
				 "the address of VTGate \"%.300s\" is not of the form host:port",
				 config->address);
	vtgate = calloc(1, sizeof *vtgate);
	if (!vtgate)
		abort();
	snprintf(vtgate->name, sizeof vtgate->name, "VTGate at %s", config->address);
	wanted.name = vtgate->name;
	if (connection_open(&wanted, &vtgate->connection, reterr) < 0) {
		vtgate_close(vtgate);
		return -1;
	}
	*ret = vtgate;
	return 0;
}

struct vtgate *vtgate_close(struct vtgate *vtgate)
{
	if (!vtgate)
		return NULL;
	connection_close(vtgate->connection);
	mysql_thread_end();
	free(vtgate);
	return NULL;
}

/* ---- Asking ---- */

static int query_error(const struct vtgate *vtgate, const char *sql, struct error *reterr)
{
	MYSQL *mysql = vtgate->connection->mysql;

	return connection_fail(vtgate->connection, sql, mysql_errno(mysql), mysql_error(mysql), reterr);
}

/* Runs @sql. Return: 0, *ret is to be freed; 1, no such table; negative. */
static int query(struct vtgate *vtgate, const char *sql, MYSQL_RES **ret, struct error *reterr)
{
	MYSQL *mysql = vtgate->connection->mysql;

	if (mysql_real_query(mysql, sql, strlen(sql))) {
		if (connection_answer(vtgate->connection, mysql_errno(mysql)) == CONNECTION_NO_TABLE)
			return 1;
		return query_error(vtgate, sql, reterr);
	}
	*ret = mysql_store_result(mysql);
	if (!*ret && mysql_errno(mysql))
		return query_error(vtgate, sql, reterr);
	if (!*ret)
		return error_set(reterr, ERROR_PROTOCOL, "%s answered a query without a result",
				 vtgate->name);
	return 0;
}

/* `a``b`: the only way a name of the fleet gets into a statement. False: it is no name. */
static bool quote_name(const char *name, struct strbuf *to)
{
	size_t length = strlen(name);

	if (length == 0 || length > TABLE_MAX)
		return false;
	strbuf_adds(to, "`");
	for (; *name; name++) {
		if ((unsigned char)*name < ' ')
			return false;
		strbuf_add(to, name, 1);
		if (*name == '`')
			strbuf_adds(to, "`");
	}
	strbuf_adds(to, "`");
	return true;
}

static int query_table(struct vtgate *vtgate, const char *before, const char *table, const char *after,
		       MYSQL_RES **ret, struct error *reterr)
{
	struct strbuf sql cleanup(strbuf_release);

	strbuf_init(&sql, 512);
	strbuf_adds(&sql, before);
	if (!quote_name(table, &sql))
		return error_set(reterr, ERROR_INPUT,
				 "the table's name is empty, too long or holds a control character");
	strbuf_adds(&sql, after);
	return query(vtgate, sql.text, ret, reterr);
}

int vtgate_definition(struct vtgate *vtgate, const char *table, struct arena *arena, const char **ret,
		      struct error *reterr)
{
	MYSQL_RES *result = NULL;
	const unsigned long *lengths;
	MYSQL_ROW row;
	int got = query_table(vtgate, "show create table ", table, "", &result, reterr);

	if (got < 0)
		return -1;
	if (got > 0) {
		*ret = "";
		return 0;
	}
	row = mysql_num_fields(result) >= 2 ? mysql_fetch_row(result) : NULL;
	lengths = row ? mysql_fetch_lengths(result) : NULL;
	if (!row || !row[1] || lengths[1] > DEFINITION_MAX) {
		mysql_free_result(result);
		return error_set(reterr, ERROR_PROTOCOL, "%s answered SHOW CREATE TABLE without a definition",
				 vtgate->name);
	}
	*ret = arena_memdup(arena, row[1], lengths[1]);
	mysql_free_result(result);
	return 0;
}

int vtgate_columns(struct vtgate *vtgate, const char *table, struct arena *arena, const char **ret,
		   struct error *reterr)
{
	struct strbuf names cleanup(strbuf_release);
	MYSQL_RES *result = NULL;
	MYSQL_FIELD *field;
	int got = query_table(vtgate, "select * from ", table, " where 1 != 1", &result, reterr);

	if (got < 0)
		return -1;
	if (got > 0) {
		*ret = "";
		return 0;
	}
	strbuf_init(&names, DEFINITION_MAX);
	while ((field = mysql_fetch_field(result)))
		strbuf_addf(&names, "%s%s", names.length ? "," : "", field->name);
	mysql_free_result(result);
	*ret = arena_strdup(arena, names.length ? names.text : "");
	return 0;
}

int vtgate_probe(struct vtgate *vtgate, const char *sql, int64_t *ret_us, struct error *reterr)
{
	struct timespec before, after;
	MYSQL_RES *result = NULL;
	int got;

	clock_gettime(CLOCK_MONOTONIC, &before);
	got = query(vtgate, sql, &result, reterr);
	if (got > 0)
		return query_error(vtgate, sql, reterr);
	if (got < 0)
		return -1;
	mysql_free_result(result);
	clock_gettime(CLOCK_MONOTONIC, &after);
	*ret_us = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
	return 0;
}

/* ---- What a probe may be ---- */

/* Length of a quoted text that begins at @text, both quotes included; 0: it does not end. */
static size_t quoted_length(const char *text)
{
	char quote = text[0];

	for (size_t i = 1; text[i]; i++) {
		if (text[i] == '\\' && quote != '`' && text[i + 1])
			i++;
		else if (text[i] == quote && text[i + 1] == quote)
			i++;
		else if (text[i] == quote)
			return i + 1;
	}
	return 0;
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Words that make a SELECT write or lock. */
static const char *const refused_words[] = { "into",	 "update",	 "share", "lock",
					     "get_lock", "release_lock", "sleep" };

static const char *refused_word(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof refused_words / sizeof refused_words[0]; i++)
		if (strlen(refused_words[i]) == length && !strncasecmp(refused_words[i], word, length))
			return refused_words[i];
	return NULL;
}

static bool begins_comment(const char *text)
{
	return text[0] == '#' || !strncmp(text, "/*", 2) || !strncmp(text, "--", 2);
}

int vtgate_probe_check(const char *sql, struct error *reterr)
{
	size_t length, words = 0;
	const char *at = sql, *bad;

	if (strlen(sql) > PROBE_MAX)
		return error_set(reterr, ERROR_INPUT, "a probe is longer than %d bytes", PROBE_MAX);
	for (; *at; at += length) {
		length = 1;
		if (*at == '\'' || *at == '"' || *at == '`') {
			length = quoted_length(at);
			if (length == 0)
				return error_set(reterr, ERROR_INPUT,
						 "a probe has a quote that is not closed");
		} else if (begins_comment(at)) {
			return error_set(reterr, ERROR_INPUT, "a probe may not hold comments");
		} else if (*at == ';' && at[1 + strspn(at + 1, " \t\r\n;")]) {
			return error_set(reterr, ERROR_INPUT, "a probe must be one statement");
		} else if (is_word_char(*at)) {
			for (length = 0; is_word_char(at[length]); length++)
				;
			if (words++ == 0 && (length != 6 || strncasecmp(at, "select", 6)))
				return error_set(reterr, ERROR_INPUT, "a probe must begin with SELECT");
			bad = refused_word(at, length);
			if (bad)
				return error_set(
					reterr, ERROR_INPUT,
					"a probe may not use the word %s; it must only read, and not wait",
					bad);
		} else if (words == 0 && !isspace((unsigned char)*at)) {
			return error_set(reterr, ERROR_INPUT, "a probe must begin with SELECT");
		}
	}
	if (words == 0)
		return error_set(reterr, ERROR_INPUT, "a probe is empty; it must be one SELECT");
	return 0;
}
