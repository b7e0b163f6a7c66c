#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vtddl/strbuf.h"

#define PASSWORD_MAX 1024
#define PACKET_MAX (64ul * 1024 * 1024) /* of one answer; a row is bounded again (SQL_ROW_MAX) */
#define STATEMENT_SHOWN 200
#define CLIENT_ERRORS 2000 /* 2000 to 2999 are made by the client library: no answer came */

/* Numbers of the server; MySQL's header for them differs from MariaDB's. */
enum {
	NUMBER_RECORD_CHANGED = 1020, /* MariaDB: a snapshot is too old to write on */
	NUMBER_NO_ACCESS_TO_DATABASE = 1044,
	NUMBER_ACCESS_DENIED = 1045,
	NUMBER_SHUTDOWN = 1053,
	NUMBER_DUPLICATE = 1062,
	NUMBER_NO_TABLE = 1146,
	NUMBER_LOCK_WAIT = 1205,
	NUMBER_DEADLOCK = 1213,
	NUMBER_ACCESS_DENIED_NO_PASSWORD = 1698,
	NUMBER_KILLED = 1927, /* MariaDB */
	NUMBER_LOCK_NOWAIT = 3572,
	NUMBER_IDLE_TOO_LONG = 4031,
	NUMBER_TLS = 2026,
	NUMBER_PLUGIN_NOT_LOADED = 2059,
	NUMBER_PLUGIN_FAILED = 2061,
	NUMBER_PLUGIN_RESTRICTED = 5010, /* MariaDB: the server wants the password in a way we refuse */
};

/* ---- Addresses ---- */

bool connection_split_address(const char *address, char ret_host[HOST_MAX + 1], unsigned *ret_port)
{
	bool bracketed = address[0] == '[';
	const char *end = bracketed ? strchr(address, ']') : address + strcspn(address, ":");
	const char *host = bracketed ? address + 1 : address;
	const char *port = end ? end + bracketed : NULL;
	size_t length = end ? (size_t)(end - host) : 0;
	unsigned long number = 0;

	if (length == 0 || length > HOST_MAX || (*port && *port != ':'))
		return false;
	if (*port) {
		size_t digits = strspn(port + 1, "0123456789");

		number = strtoul(port + 1, NULL, 10);
		if (digits == 0 || digits > 5 || port[1 + digits] || number == 0 || number > 65535)
			return false;
	}
	memcpy(ret_host, host, length);
	ret_host[length] = '\0';
	*ret_port = (unsigned)number;
	return true;
}

bool connection_host_is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcasecmp(host, "localhost") == 0;
}

/* ---- Files that hold a secret ---- */

static int open_secret(const struct connection_config *config, const char *what, const char *path,
		       struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return error_set_detail(reterr, ERROR_CONFIG, errno, "%s: the %s %s cannot be opened: %s",
					config->name, what, path, strerror(errno));
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || (status.st_mode & S_IRWXO)) {
		close(fd);
		return error_set(reterr, ERROR_CONFIG,
				 "%s: the %s %s must be a plain file that others may not read; chmod 600 it",
				 config->name, what, path);
	}
	return fd;
}

/* The first line of the file, which nobody but its owner and group may read. */
static int read_password(const struct connection_config *config, char ret[PASSWORD_MAX + 1],
			 struct error *reterr)
{
	int fd = open_secret(config, "password file", config->password_file, reterr);
	ssize_t length;
	size_t line;

	if (fd < 0)
		return -1;
	length = read(fd, ret, PASSWORD_MAX + 1);
	close(fd);
	line = length > 0 ? strnlen(ret, (size_t)length) : 0;
	for (size_t i = 0; i < line; i++)
		if (ret[i] == '\r' || ret[i] == '\n')
			line = i;
	if (length < 0 || line > PASSWORD_MAX || line == 0)
		return error_set(reterr, ERROR_CONFIG,
				 "%s: the first line of the password file %s cannot be read, is empty, or "
				 "is longer than %d bytes",
				 config->name, config->password_file, PASSWORD_MAX);
	ret[line] = '\0';
	return 0;
}

static int check_option_file(const struct connection_config *config, struct error *reterr)
{
	int fd = open_secret(config, "option file", config->option_file, reterr);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* ---- Connecting ---- */

/* A server may ask for a file of ours in answer to any statement; whatever the options say, it gets none. */
static int infile_refuse(void **ret, const char *name, void *data)
{
	(void)name, (void)data;
	*ret = NULL;
	return 1;
}

static int infile_read(void *state, char *buffer, unsigned length)
{
	(void)state, (void)buffer, (void)length;
	return -1;
}

static void infile_end(void *state)
{
	(void)state;
}

static int infile_error(void *state, char *message, unsigned length)
{
	(void)state;
	if (length)
		message[0] = '\0';
	return 2000; /* CR_UNKNOWN_ERROR */
}

static bool must_encrypt(const struct connection_config *config)
{
	return config->ssl_required || config->ssl_ca;
}

static int set_options(MYSQL *mysql, const struct connection_config *config, struct error *reterr)
{
	unsigned seconds = (unsigned)((config->timeout_ms + 999) / 1000);
	unsigned local_infile = 0, protocol = MYSQL_PROTOCOL_TCP;
	unsigned long packet = PACKET_MAX;
	mysql_flag report = 1;
	int bad = 0;

	bad |= mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
	bad |= mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &local_infile);
	bad |= mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
	bad |= mysql_options(mysql, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
	bad |= mysql_options(mysql, MYSQL_REPORT_DATA_TRUNCATION, &report);
	bad |= mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	bad |= mysql_compat_never_reconnect(mysql);
	if (config->option_file) {
		bad |= mysql_options(mysql, MYSQL_READ_DEFAULT_FILE, config->option_file);
		bad |= mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, "client");
	}
	bad |= mysql_compat_set_tls_files(mysql, config->ssl_ca, config->ssl_cert, config->ssl_key);
	bad |= must_encrypt(config) ? mysql_compat_require_tls(mysql)
				    : mysql_compat_refuse_clear_password(mysql);
	mysql_set_local_infile_handler(mysql, infile_refuse, infile_read, infile_end, infile_error, NULL);
	if (bad)
		return error_set(reterr, ERROR_BUG,
				 "%s: the MySQL client library refuses an option that the connection needs",
				 config->name);
	return 0;
}

static bool is_refusal(unsigned number)
{
	static const unsigned refusals[] = {
		NUMBER_NO_ACCESS_TO_DATABASE,	  NUMBER_ACCESS_DENIED,
		NUMBER_ACCESS_DENIED_NO_PASSWORD, NUMBER_TLS,
		NUMBER_PLUGIN_NOT_LOADED,	  NUMBER_PLUGIN_FAILED,
		NUMBER_PLUGIN_RESTRICTED,
	};

	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		if (number == refusals[i])
			return true;
	return false;
}

static int connect_fail(const struct connection *connection, const struct connection_config *config,
			struct error *reterr)
{
	unsigned number = mysql_errno(connection->mysql);
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, 512);
	strbuf_add_shown(&text, mysql_error(connection->mysql), 400);
	return error_set_detail(reterr, is_refusal(number) ? ERROR_AUTH : ERROR_UNAVAILABLE, (int)number,
				"%s cannot be reached: %s (%u); %s", connection->name,
				text.text ? text.text : "", number, config->advice);
}

static void begin_library(void)
{
	if (mysql_library_init(0, NULL, NULL))
		abort();
}

static int log_in(struct connection *connection, const struct connection_config *config, struct error *reterr)
{
	char password[PASSWORD_MAX + 2] = "";
	/* Only NULL lets the library take the password of the option file. */
	const char *given = config->option_file && !config->password_file ? NULL : password;
	MYSQL *connected;

	if (config->option_file && check_option_file(config, reterr) < 0)
		return -1;
	if (config->password_file && read_password(config, password, reterr) < 0)
		return -1;
	/* No flags: one statement in one query (CLIENT_MULTI_STATEMENTS stays off). */
	connected = mysql_real_connect(connection->mysql, config->host, config->user, given, config->database,
				       config->port, NULL, 0);
	explicit_bzero(password, sizeof password);
	if (!connected)
		return connect_fail(connection, config, reterr);
	if (must_encrypt(config) && !mysql_get_ssl_cipher(connection->mysql))
		return error_set(reterr, ERROR_AUTH,
				 "%s was reached without encryption although TLS is required; take what "
				 "turns TLS off out of the option file",
				 connection->name);
	return 0;
}

int connection_open(const struct connection_config *config, struct connection **ret, struct error *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct connection *connection;

	pthread_once(&once, begin_library);
	connection = calloc(1, sizeof *connection);
	if (!connection)
		abort();
	connection->name = strdup(config->name);
	connection->mysql = mysql_init(NULL);
	if (!connection->name || !connection->mysql)
		abort();
	if (set_options(connection->mysql, config, reterr) < 0 || log_in(connection, config, reterr) < 0) {
		connection_close(connection);
		return -1;
	}
	*ret = connection;
	return 0;
}

struct connection *connection_close(struct connection *connection)
{
	if (!connection)
		return NULL;
	connection_forget_statements(connection);
	mysql_close(connection->mysql);
	free(connection->row);
	free(connection->name);
	free(connection);
	return NULL;
}

bool connection_is_lost(const struct connection *connection)
{
	return connection->lost;
}

bool connection_is_vtgate(const struct connection *connection)
{
	return strcasestr(connection_server(connection), "vitess") != NULL;
}

const char *connection_server(const struct connection *connection)
{
	const char *text = mysql_get_server_info(connection->mysql);

	return text ? text : "";
}

/* ---- What went wrong ---- */

static bool is_unanswered(unsigned number)
{
	return (number >= CLIENT_ERRORS && number < CLIENT_ERRORS + 1000) || number == NUMBER_SHUTDOWN ||
	       number == NUMBER_KILLED || number == NUMBER_IDLE_TOO_LONG;
}

int connection_answer(struct connection *connection, unsigned number)
{
	switch (number) {
	case NUMBER_DUPLICATE:
		return CONNECTION_DUPLICATE;
	case NUMBER_LOCK_WAIT:
	case NUMBER_LOCK_NOWAIT:
		return CONNECTION_LOCKED;
	case NUMBER_DEADLOCK:
	case NUMBER_RECORD_CHANGED:
		return CONNECTION_DEADLOCK;
	case NUMBER_NO_TABLE:
		return CONNECTION_NO_TABLE;
	default:
		connection->lost = connection->lost || is_unanswered(number);
		return 0;
	}
}

/* The statements of the store span lines; in a sentence they are one. */
static void add_statement(struct strbuf *to, const char *sql)
{
	char line[STATEMENT_SHOWN + 1];
	size_t length = 0;

	for (; *sql && length < STATEMENT_SHOWN; sql++)
		if (*sql != '\n' && *sql != '\t')
			line[length++] = *sql;
		else if (length && line[length - 1] != ' ')
			line[length++] = ' ';
	while (length && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	strbuf_add_shown(to, line, sizeof line);
	strbuf_adds(to, *sql ? "..." : "");
}

int connection_fail(struct connection *connection, const char *sql, unsigned number, const char *message,
		    struct error *reterr)
{
	bool unanswered = is_unanswered(number);
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, 900);
	strbuf_addf(&text, "%s %s \"", connection->name, unanswered ? "did not answer" : "refused");
	add_statement(&text, sql);
	strbuf_adds(&text, "\": ");
	strbuf_add_shown(&text, message, 400);
	return error_set_detail(reterr, unanswered ? ERROR_UNAVAILABLE : ERROR_PROTOCOL, (int)number,
				"%s (%u)", text.text, number);
}
