#include "options.h"

#define MS 1LL
#define SECOND (1000 * MS)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* clang-format off */
const struct option_spec option_table[_OPTION_MAX] = {
	/* ---- the statement ---- */
	[OPT_SQL] = { "sql", "STATEMENT", OPTION_TEXT, .group = GROUP_STATEMENT,
		.help = "the DDL statement; excludes --sql-file" },
	[OPT_SQL_FILE] = { "sql-file", "FILE", OPTION_TEXT, .group = GROUP_STATEMENT,
		.help = "read the statement from a file, or from standard input where FILE is -" },
	[OPT_AGAIN] = { "again", NULL, OPTION_FLAG, .group = GROUP_NEW,
		.help = "run a statement that has ended once more, as a new generation" },
	[OPT_DDL_STRATEGY_FLAGS] = { "ddl-strategy-flags", "FLAGS", OPTION_STRATEGY, .group = GROUP_NEW,
		.settable = true, .reloadable = true,
		.help = "flags added to the strategy, in one argument: --allow-concurrent --prefer-instant-ddl "
			"--analyze-table --retain-artifacts=D --force-cut-over-after=D --cut-over-threshold=D (5s to 30s)" },
	/* ---- of one command ---- */
	[OPT_FOR] = { "for", "STATE", OPTION_CHOICE, "verified", .choices = "ready|complete|verified",
		.group = GROUP_WAIT, .help = "what to wait for: ready, complete or verified" },
	[OPT_LIMIT] = { "limit", "N", OPTION_NUMBER, "0", .min = 0, .max = 1000000, .group = GROUP_SHOW,
		.help = "show at most N migrations; 0 shows all" },
	[OPT_ORDER] = { "order", "ORDER", OPTION_CHOICE, "desc", .choices = "asc|desc", .group = GROUP_SHOW,
		.help = "asc shows the oldest first, desc the newest" },
	[OPT_FORMAT] = { "format", "FORMAT", OPTION_CHOICE, "table", .choices = "table|json|mermaid|markdown",
		.group = GROUP_FORMAT, .help = "table, json, mermaid or markdown" },
	[OPT_HTTP] = { "http", "HOST:PORT", OPTION_LISTEN, "127.0.0.1:15960", .group = GROUP_SERVE, .settable = true,
		.help = "where the dashboard, the metrics and the health checks are served; off for none. It only "
			"shows, but to everybody who reaches it" },
	/* ---- how a change is driven ---- */
	[OPT_DEADLINE] = { "deadline", "DURATION", OPTION_DURATION, "6h", .min = SECOND, .max = 90 * DAY,
		.group = GROUP_PACE, .settable = true, .reloadable = true,
		.help = "no effect is started later than this after the change began; for a change that exists "
			"the stored deadline counts unless this is given" },
	[OPT_POLL_INTERVAL] = { "poll-interval", "DURATION", OPTION_DURATION, "15s", .min = 100 * MS, .max = HOUR,
		.group = GROUP_PACE, .settable = true, .reloadable = true,
		.help = "how often the shards are looked at; sooner near the end, later when nothing moves" },
	[OPT_EFFECT_TIMEOUT] = { "effect-timeout", "DURATION", OPTION_DURATION, "75s", .min = SECOND,
		.max = 10 * MINUTE, .group = GROUP_PACE, .settable = true, .reloadable = true,
		.help = "deadline of an RPC that changes the fleet; Vitess itself may wait 45 s for a lock" },
	[OPT_CALLER_ID] = { "caller-id", "NAME", OPTION_TEXT, .group = GROUP_PACE, .settable = true,
		.help = "principal sent with effects and written into the history" },
	/* ---- VTGate ---- */
	[OPT_VTGATE] = { "vtgate", "HOST:PORT", OPTION_ADDRESS, .group = GROUP_VTGATE, .settable = true,
		.help = "verify through this VTGate (MySQL protocol) too" },
	[OPT_VTGATE_USER] = { "vtgate-user", "NAME", OPTION_TEXT, .group = GROUP_VTGATE, .settable = true,
		.help = "user of the MySQL protocol" },
	[OPT_VTGATE_PASSWORD_FILE] = { "vtgate-password-file", "FILE", OPTION_TEXT, .group = GROUP_VTGATE,
		.settable = true, .help = "file whose first line is the password; others may not read it" },
	[OPT_VTGATE_SSL_CA] = { "vtgate-ssl-ca", "FILE", OPTION_TEXT, .group = GROUP_VTGATE, .settable = true,
		.help = "require TLS and check VTGate's certificate and name against this CA" },
	[OPT_VTGATE_SSL_CERT] = { "vtgate-ssl-cert", "FILE", OPTION_TEXT, .group = GROUP_VTGATE,
		.settable = true, .help = "client certificate" },
	[OPT_VTGATE_SSL_KEY] = { "vtgate-ssl-key", "FILE", OPTION_TEXT, .group = GROUP_VTGATE,
		.settable = true, .help = "its private key" },
	[OPT_PROBE] = { "probe", "SELECT", OPTION_LIST, .group = GROUP_VTGATE, .settable = true,
		.reloadable = true,
		.help = "a query that must answer, and whose p99 must settle, before the change is verified; "
			"may be given several times; needs --vtgate" },
	/* ---- vtctld ---- */
	[OPT_SERVER] = { "server", "[KEYSPACE=]HOST:PORT", OPTION_SERVER, "localhost:15999", .group = GROUP_SERVER,
		.settable = true, .reloadable = true,
		.help = "vtctld's gRPC address; with KEYSPACE= that of one keyspace, or of all that begin so where "
			"KEYSPACE ends in *; may be given once for each" },
	[OPT_READ_TIMEOUT] = { "read-timeout", "DURATION", OPTION_DURATION, "5s", .min = 100 * MS,
		.max = 10 * MINUTE, .group = GROUP_SERVER, .settable = true, .reloadable = true,
		.help = "deadline of an RPC that only reads; a dead primary answers nothing until then" },
	[OPT_GRPC_CA] = { "vtctld-grpc-ca", "FILE", OPTION_TEXT, .group = GROUP_SERVER, .settable = true,
		.reloadable = true, .help = "CA that signed vtctld's certificate; turns TLS on" },
	[OPT_GRPC_CERT] = { "vtctld-grpc-cert", "FILE", OPTION_TEXT, .group = GROUP_SERVER, .settable = true,
		.reloadable = true, .help = "client certificate; with --vtctld-grpc-key" },
	[OPT_GRPC_KEY] = { "vtctld-grpc-key", "FILE", OPTION_TEXT, .group = GROUP_SERVER, .settable = true,
		.reloadable = true, .help = "private key of the client certificate" },
	[OPT_GRPC_CRL] = { "vtctld-grpc-crl", "FILE", OPTION_TEXT, .group = GROUP_SERVER, .settable = true,
		.reloadable = true, .help = "revocation list of server certificates" },
	[OPT_GRPC_SERVER_NAME] = { "vtctld-grpc-server-name", "NAME", OPTION_TEXT, .group = GROUP_SERVER,
		.settable = true, .reloadable = true, .help = "name to look for in the certificate instead of the host" },
	[OPT_AUTH_CREDS] = { "grpc-auth-static-client-creds", "FILE", OPTION_TEXT, .group = GROUP_SERVER,
		.settable = true, .reloadable = true, .help = "JSON file {\"Username\": ..., \"Password\": ...}" },
	[OPT_ALLOW_PLAINTEXT_AUTH] = { "allow-plaintext-auth", NULL, OPTION_FLAG, .group = GROUP_SERVER,
		.settable = true, .reloadable = true, .help = "send that password over plain text to another host" },
	[OPT_KEEPALIVE_TIME] = { "grpc-keepalive-time", "DURATION", OPTION_DURATION, "30s", .min = 20 * SECOND,
		.max = DAY, .group = GROUP_SERVER, .settable = true, .reloadable = true,
		.help = "ping an idle connection so often; Vitess refuses less than 20s" },
	[OPT_KEEPALIVE_TIMEOUT] = { "grpc-keepalive-timeout", "DURATION", OPTION_DURATION, "10s", .min = SECOND,
		.max = HOUR, .group = GROUP_SERVER, .settable = true, .reloadable = true,
		.help = "a ping not answered within this ends the connection; so do calls that nobody answers for both times "
			"together" },
	[OPT_MAX_MESSAGE_SIZE] = { "grpc-max-message-size", "BYTES", OPTION_NUMBER, "16777216", .min = 65536,
		.max = 1 << 30, .group = GROUP_SERVER, .settable = true, .reloadable = true,
		.help = "largest message, both ways" },
	[OPT_HTTP_PROXY] = { "grpc-use-http-proxy", NULL, OPTION_FLAG, .group = GROUP_SERVER, .settable = true,
		.reloadable = true, .help = "obey http_proxy for gRPC; off unless asked for" },
	/* ---- the store ---- */
	[OPT_STORE] = { "store", "URL", OPTION_STORE_URL, .group = GROUP_STORE, .settable = true,
		.preset_shown = "vtddl.db in $STATE_DIRECTORY, $XDG_STATE_HOME/vtddl or ~/.local/state/vtddl",
		.help = "where changes are written down: sqlite:PATH for one host, "
			"mysql://USER@HOST[:PORT]/DATABASE for several" },
	[OPT_STORE_PASSWORD_FILE] = { "store-password-file", "FILE", OPTION_TEXT, .group = GROUP_STORE,
		.settable = true, .help = "MySQL: file whose first line is the password; others may not read it" },
	[OPT_STORE_OPTION_FILE] = { "store-option-file", "FILE", OPTION_TEXT, .group = GROUP_STORE,
		.settable = true, .help = "MySQL: option file of the client library; its group [client] is read" },
	[OPT_STORE_SSL_CA] = { "store-ssl-ca", "FILE", OPTION_TEXT, .group = GROUP_STORE, .settable = true,
		.help = "MySQL: CA that signed the server's certificate" },
	[OPT_STORE_SSL_CERT] = { "store-ssl-cert", "FILE", OPTION_TEXT, .group = GROUP_STORE, .settable = true,
		.help = "MySQL: client certificate" },
	[OPT_STORE_SSL_KEY] = { "store-ssl-key", "FILE", OPTION_TEXT, .group = GROUP_STORE, .settable = true,
		.help = "MySQL: its private key" },
	[OPT_STORE_ALLOW_PLAINTEXT] = { "store-allow-plaintext", NULL, OPTION_FLAG, .group = GROUP_STORE,
		.settable = true, .help = "MySQL: plain text to another host" },
	[OPT_CLUSTER] = { "cluster", "NAME", OPTION_CLUSTER_NAME, "default", .group = GROUP_STORE,
		.settable = true, .help = "which fleet this is; one store can serve several" },
	/* ---- general ---- */
	[OPT_HELP] = { "help", NULL, OPTION_FLAG, .group = GROUP_GENERAL, .help = "print this text" },
	[OPT_JSON] = { "json", NULL, OPTION_FLAG, .group = GROUP_GENERAL, .settable = true,
		.help = "print one JSON object on standard output instead of text" },
	[OPT_NO_COLOR] = { "no-color", NULL, OPTION_FLAG, .group = GROUP_GENERAL, .settable = true,
		.help = "no colours; NO_COLOR, TERM=dumb and CI=true are honoured as well" },
	[OPT_LOG_FORMAT] = { "log-format", "FORMAT", OPTION_CHOICE, "text", .choices = "json|text",
		.group = GROUP_GENERAL, .settable = true,
		.help = "form of the lines on standard error: json or text; `serve` writes json unless it is a "
			"terminal" },
	[OPT_LOG_LEVEL] = { "log-level", "LEVEL", OPTION_CHOICE, "info", .choices = "debug|info|warning|error",
		.group = GROUP_GENERAL, .settable = true, .reloadable = true,
		.help = "least important line that is written: debug, info, warning or error" },
	[OPT_CONFIG] = { "config", "FILE", OPTION_TEXT, .group = GROUP_GENERAL, .settable = false,
		.preset_shown = "/etc/vtddl/vtddl.conf, then $XDG_CONFIG_HOME/vtddl/vtddl.conf",
		.help = "read this configuration file and no other; VTDDL_CONFIG does the same" },
};
/* clang-format on */

const char *option_group_title(enum option_group group)
{
	switch (group) {
	case GROUP_STATEMENT:
		return "statement";
	case GROUP_NEW:
		return "new change";
	case GROUP_WAIT:
	case GROUP_SHOW:
	case GROUP_FORMAT:
	case GROUP_SERVE:
		return "this command";
	case GROUP_PACE:
		return "how it is driven";
	case GROUP_VTGATE:
		return "VTGate";
	case GROUP_SERVER:
		return "vtctld";
	case GROUP_STORE:
		return "store";
	case GROUP_GENERAL:
		return "general";
	}
	return "";
}
