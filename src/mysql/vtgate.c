#include "vtddl/vtgate.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mysql_compat.h"
#include "vtddl/change.h"
#include "vtddl/strbuf.h"

#define HOST_MAX 255
#define PASSWORD_MAX 1024
#define PROBE_MAX (16 * 1024)
#define DEFINITION_MAX (1024 * 1024)
#define NO_SUCH_TABLE 1146
#define CLIENT_ERRORS 2000 /* 2000 to 2999 are made by the client library: no answer */

struct vtgate {
	MYSQL *mysql;
	char address[HOST_MAX + 8];
};

/* ---- Opening ---- */

/* "host:port" or "[v6]:port"; the form was checked where the option was read. */
static int split_address(const char *address, char host[HOST_MAX + 1], unsigned *port, struct error *reterr)
{
	const char *colon = strrchr(address, ':');
	size_t length = colon ? (size_t)(colon - address) : 0;
	unsigned long number = colon ? strtoul(colon + 1, NULL, 10) : 0;

	if (length > 2 && address[0] == '[' && address[length - 1] == ']') {
		address++;
		length -= 2;
	}
	if (length == 0 || length > HOST_MAX || number == 0 || number > 65535)
		return error_set(reterr, ERROR_CONFIG,
				 "the address of VTGate \"%s\" is not of the form host:port", address);
	memcpy(host, address, length);
	host[length] = '\0';
	*port = (unsigned)number;
	return 0;
}

/* The first line of the file, which nobody but its owner and group may read. */
static int read_password(const char *path, char ret[PASSWORD_MAX + 1], struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	ssize_t length;

	if (fd < 0)
		return error_set(reterr, ERROR_CONFIG, "VTGate's password file %s cannot be opened: %s", path,
				 strerror(errno));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || (status.st_mode & S_IRWXO)) {
		close(fd);
		return error_set(reterr, ERROR_CONFIG,
				 "VTGate's password file %s must be a plain file that others may not read; "
				 "chmod 600 it",
				 path);
	}
	length = read(fd, ret, PASSWORD_MAX + 1);
	close(fd);
	if (length < 0 || length > PASSWORD_MAX)
		return error_set(reterr, ERROR_CONFIG,
				 "VTGate's password file %s cannot be read, or holds more than %d bytes",
				 path, PASSWORD_MAX);
	ret[length] = '\0';
	ret[strcspn(ret, "\r\n")] = '\0';
	return 0;
}

static int set_options(MYSQL *mysql, const struct vtgate_config *config, struct error *reterr)
{
	unsigned seconds = (unsigned)((config->timeout_ms + 999) / 1000);
	unsigned local_infile = 0, protocol = MYSQL_PROTOCOL_TCP;
	mysql_flag reconnect = 0;
	int bad = 0;

	bad |= mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile);
	bad |= mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
	bad |= mysql_options(mysql, MYSQL_OPT_RECONNECT, &reconnect);
	bad |= mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (config->ssl_ca) {
		mysql_ssl_set(mysql, config->ssl_key, config->ssl_cert, config->ssl_ca, NULL, NULL);
		bad |= mysql_compat_require_tls(mysql);
	} else {
		bad |= mysql_compat_refuse_clear_password(mysql);
	}
	if (bad)
		return error_set(reterr, ERROR_BUG,
				 "the MySQL client library refuses an option that VTGate's connection needs");
	return 0;
}

static int connect_error(const struct vtgate *vtgate, struct error *reterr)
{
	unsigned number = mysql_errno(vtgate->mysql);
	enum error_code code = number == 1044 || number == 1045 ? ERROR_AUTH : ERROR_UNAVAILABLE;
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, 512);
	strbuf_add_shown(&text, mysql_error(vtgate->mysql), 400);
	return error_set_detail(reterr, code, (int)number,
				"VTGate at %s cannot be reached: %s (%u); check --vtgate, its user, password "
				"file and TLS files",
				vtgate->address, text.text ? text.text : "", number);
}

static void begin_library(void)
{
	if (mysql_library_init(0, NULL, NULL))
		abort();
}

int vtgate_open(const struct vtgate_config *config, struct vtgate **ret, struct error *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char host[HOST_MAX + 1], password[PASSWORD_MAX + 1] = "";
	struct vtgate *vtgate;
	unsigned port = 0;
	MYSQL *connected;

	if (split_address(config->address, host, &port, reterr) < 0)
		return -1;
	if (config->password_file && read_password(config->password_file, password, reterr) < 0)
		return -1;
	pthread_once(&once, begin_library);
	vtgate = calloc(1, sizeof *vtgate);
	if (!vtgate)
		abort();
	strncpy(vtgate->address, config->address, sizeof vtgate->address - 1);
	vtgate->mysql = mysql_init(NULL);
	if (!vtgate->mysql)
		abort();
	if (set_options(vtgate->mysql, config, reterr) < 0) {
		vtgate_close(vtgate);
		return -1;
	}
	/* No flags: one statement in one query (CLIENT_MULTI_STATEMENTS stays off). */
	connected = mysql_real_connect(vtgate->mysql, host, config->user, password, config->keyspace, port,
				       NULL, 0);
	explicit_bzero(password, sizeof password);
	if (!connected) {
		connect_error(vtgate, reterr);
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
	mysql_close(vtgate->mysql);
	mysql_thread_end();
	free(vtgate);
	return NULL;
}

/* ---- Asking ---- */

static int query_error(const struct vtgate *vtgate, const char *sql, struct error *reterr)
{
	unsigned number = mysql_errno(vtgate->mysql);
	bool unanswered = number >= CLIENT_ERRORS && number < CLIENT_ERRORS + 1000;
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, 900);
	strbuf_addf(&text, "VTGate at %s %s \"", vtgate->address, unanswered ? "did not answer" : "refused");
	strbuf_add_shown(&text, sql, 200);
	strbuf_adds(&text, "\": ");
	strbuf_add_shown(&text, mysql_error(vtgate->mysql), 400);
	return error_set_detail(reterr, unanswered ? ERROR_UNAVAILABLE : ERROR_PROTOCOL, (int)number,
				"%s (%u)", text.text, number);
}

/* Runs @sql. Return: 0, *ret is to be freed; 1, no such table; negative. */
static int query(struct vtgate *vtgate, const char *sql, MYSQL_RES **ret, struct error *reterr)
{
	if (mysql_real_query(vtgate->mysql, sql, strlen(sql))) {
		if (mysql_errno(vtgate->mysql) == NO_SUCH_TABLE)
			return 1;
		return query_error(vtgate, sql, reterr);
	}
	*ret = mysql_store_result(vtgate->mysql);
	if (!*ret && mysql_errno(vtgate->mysql))
		return query_error(vtgate, sql, reterr);
	if (!*ret)
		return error_set(reterr, ERROR_PROTOCOL, "VTGate at %s answered a query without a result",
				 vtgate->address);
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
	MYSQL_RES *result;
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
		return error_set(reterr, ERROR_PROTOCOL,
				 "VTGate at %s answered SHOW CREATE TABLE without a definition",
				 vtgate->address);
	}
	*ret = arena_memdup(arena, row[1], lengths[1]);
	mysql_free_result(result);
	return 0;
}

int vtgate_columns(struct vtgate *vtgate, const char *table, struct arena *arena, const char **ret,
		   struct error *reterr)
{
	struct strbuf names cleanup(strbuf_release);
	MYSQL_RES *result;
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
	MYSQL_RES *result;
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
