#include "session.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "servers.h"
#include "vtddl/clock.h"

#define FILE_NAME "vtddl.db"
#define LEASE_MS 30000
#define SCHEME "sqlite:"

void session_init(struct session *session, struct options *options)
{
	memset(session, 0, sizeof *session);
	session->options = options;
}

void session_close(struct session *session)
{
	session->loop = loop_free(session->loop);
	session->wire = wire_close(session->wire);
	session->engine = engine_free(session->engine);
	session->store = store_close(session->store);
	free(session->servers);
	session->servers = NULL;
}

void session_leave(struct session *session)
{
#ifdef __SANITIZE_ADDRESS__
	session_close(session);
#else
	session->store = store_close(session->store);
#endif
}

/* ---- vtctld ---- */

static struct wire_config wire_config(const struct options *options, const char *server)
{
	return (struct wire_config){
		.server = server,
		.grpc_ca = options_text(options, OPT_GRPC_CA),
		.grpc_cert = options_text(options, OPT_GRPC_CERT),
		.grpc_key = options_text(options, OPT_GRPC_KEY),
		.grpc_crl = options_text(options, OPT_GRPC_CRL),
		.grpc_server_name = options_text(options, OPT_GRPC_SERVER_NAME),
		.auth_static_client_creds = options_text(options, OPT_AUTH_CREDS),
		.allow_plaintext_auth = options_flag(options, OPT_ALLOW_PLAINTEXT_AUTH),
		.keepalive_time_ms = options_number(options, OPT_KEEPALIVE_TIME),
		.keepalive_timeout_ms = options_number(options, OPT_KEEPALIVE_TIMEOUT),
		.max_message_size = (size_t)options_number(options, OPT_MAX_MESSAGE_SIZE),
		.use_http_proxy = options_flag(options, OPT_HTTP_PROXY),
	};
}

int session_open_wire(struct session *session, const char *keyspace, struct error *reterr)
{
	struct wire_config config = wire_config(session->options, server_of(session->options, keyspace));

	return wire_open(&config, &session->wire, reterr);
}

/* Return: the number of @address; session->server_count where it is a new one. */
static unsigned find_server(const struct session *session, const char *address)
{
	unsigned number = 0;

	while (number < session->server_count && strcmp(session->servers[number], address))
		number++;
	return number;
}

static void keep_server(struct session *session, unsigned number, const char *address)
{
	snprintf(session->servers[number], SERVER_ADDRESS_SIZE, "%s", address);
	if (number == session->server_count)
		session->server_count++;
}

static int add_server(struct session *session, const struct options *options, const char *address,
		      struct error *reterr)
{
	struct wire_config config = wire_config(options, address);
	unsigned number;

	if (find_server(session, address) < session->server_count)
		return 0;
	if (session->server_count == SERVERS_MAX)
		return error_set(reterr, ERROR_CONFIG, "%s is one server too many; there may be %d", address,
				 SERVERS_MAX);
	if (wire_add(session->wire, &config, &number, reterr) < 0)
		return -1;
	assert(number == session->server_count);
	keep_server(session, number, address);
	return 0;
}

static int add_servers(struct session *session, const struct options *options, struct error *reterr)
{
	for (size_t i = 0; i < options->server_count; i++)
		if (add_server(session, options, options->servers[i].address, reterr) < 0)
			return -1;
	return 0;
}

int session_open_wires(struct session *session, struct error *reterr)
{
	if (session_open_wire(session, /* keyspace= */ NULL, reterr) < 0)
		return -1;
	session->servers = calloc(SERVERS_MAX, sizeof *session->servers);
	if (!session->servers)
		abort();
	keep_server(session, 0, options_text(session->options, OPT_SERVER));
	return add_servers(session, session->options, reterr);
}

int session_replace_wires(struct session *session, const struct options *options, struct error *reterr)
{
	int failed = 0;

	/* The plain one is number 0 whatever its address is. */
	for (unsigned number = 0; number < session->server_count; number++) {
		const char *address = number ? session->servers[number] : options_text(options, OPT_SERVER);
		struct wire_config config = wire_config(options, address);

		if (wire_replace(session->wire, number, &config, reterr) < 0)
			failed = -1;
		else
			keep_server(session, number, address);
	}
	return add_servers(session, options, reterr) < 0 ? -1 : failed;
}

unsigned session_server_of(void *session, const char *keyspace)
{
	const struct session *self = session;
	unsigned number = find_server(self, server_of(self->options, keyspace));

	return number < self->server_count ? number : 0;
}

/* ---- The store ---- */

/* Makes the missing folders of @path's parent, mode 0700. */
static int make_folders(const char *path, struct error *reterr)
{
	char *folder = strdup(path);
	int failed = 0;

	if (!folder)
		abort();
	for (char *slash = strchr(folder + 1, '/'); slash && !failed; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		failed = mkdir(folder, 0700) < 0 && errno != EEXIST;
		*slash = '/';
	}
	free(folder);
	if (failed)
		return error_set(reterr, ERROR_CONFIG,
				 "the folder of the store %s cannot be made: %s; give --store", path,
				 strerror(errno));
	return 0;
}

static const char *default_url(struct arena *arena)
{
	const char *state = getenv("STATE_DIRECTORY"), *xdg = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");

	if (state && state[0] == '/') /* systemd gives a list where several are configured */
		return arena_printf(arena, SCHEME "%.*s/" FILE_NAME, (int)strcspn(state, ":"), state);
	if (xdg && xdg[0] == '/')
		return arena_printf(arena, SCHEME "%s/vtddl/" FILE_NAME, xdg);
	if (home && home[0] == '/')
		return arena_printf(arena, SCHEME "%s/.local/state/vtddl/" FILE_NAME, home);
	return NULL;
}

const char *session_store_url(struct options *options)
{
	const char *url = options_text(options, OPT_STORE);

	return url ? url : default_url(&options->arena);
}

struct store_config session_store_config(struct options *options, bool read_only)
{
	return (struct store_config){
		.url = session_store_url(options),
		.read_only = read_only,
		.password_file = options_text(options, OPT_STORE_PASSWORD_FILE),
		.option_file = options_text(options, OPT_STORE_OPTION_FILE),
		.ssl_ca = options_text(options, OPT_STORE_SSL_CA),
		.ssl_cert = options_text(options, OPT_STORE_SSL_CERT),
		.ssl_key = options_text(options, OPT_STORE_SSL_KEY),
		.ssl_off = options_flag(options, OPT_STORE_ALLOW_PLAINTEXT),
	};
}

bool session_store_is_file(struct options *options)
{
	const char *url = session_store_url(options);

	return url && !strncmp(url, SCHEME, strlen(SCHEME));
}

int session_open_store(struct session *session, bool read_only, struct error *reterr)
{
	struct options *options = session->options;
	const struct store_config config = session_store_config(options, read_only);
	const char *path;

	if (!config.url)
		return error_set(
			reterr, ERROR_CONFIG,
			"there is no place for the store, for neither STATE_DIRECTORY nor HOME is set; "
			"give --store sqlite:PATH");
	if (session_store_is_file(options)) {
		path = config.url + strlen(SCHEME);
		if (read_only && access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
			return STORE_NOT_FOUND;
		if (!read_only && !options_is_set(options, OPT_STORE) && make_folders(path, reterr) < 0)
			return -1;
	}
	return store_open(&config, &session->store, reterr);
}

/* ---- VTGate ---- */

const struct vtgate_config *session_vtgate(struct session *session)
{
	const struct options *options = session->options;

	session->vtgate = (struct vtgate_config){
		.address = options_text(options, OPT_VTGATE),
		.user = options_text(options, OPT_VTGATE_USER),
		.password_file = options_text(options, OPT_VTGATE_PASSWORD_FILE),
		.ssl_ca = options_text(options, OPT_VTGATE_SSL_CA),
		.ssl_cert = options_text(options, OPT_VTGATE_SSL_CERT),
		.ssl_key = options_text(options, OPT_VTGATE_SSL_KEY),
		.timeout_ms = options_number(options, OPT_READ_TIMEOUT),
	};
	return session->vtgate.address ? &session->vtgate : NULL;
}

int session_check_probes(const struct session *session, struct error *reterr)
{
	const struct option_value *probes = &session->options->values[OPT_PROBE];

	if (probes->count && !options_is_set(session->options, OPT_VTGATE))
		return error_set(reterr, probes->source == SOURCE_FLAG ? ERROR_USAGE : ERROR_CONFIG,
				 "%s needs --vtgate, for a probe is run through VTGate", probes->where);
	for (size_t i = 0; i < probes->count; i++)
		if (vtgate_probe_check(probes->texts[i], reterr) < 0)
			return -1;
	return 0;
}

/* ---- Driving a change ---- */

static uint64_t some_number(void)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		number = (uint64_t)clock_wall_ms() ^ (uint64_t)getpid();
	return number;
}

static void name_ourselves(struct session *session)
{
	const char *caller = options_text(session->options, OPT_CALLER_ID);
	struct passwd entry, *user = NULL;
	char room[4096], host[65] = "";

	if (!caller && getpwuid_r(geteuid(), &entry, room, sizeof room, &user) != 0)
		user = NULL;
	gethostname(host, sizeof host - 1);
	if (caller)
		snprintf(session->actor, sizeof session->actor, "%s", caller);
	else if (user)
		snprintf(session->actor, sizeof session->actor, "%.60s@%s", user->pw_name, host);
	else
		snprintf(session->actor, sizeof session->actor, "uid %u@%s", (unsigned)geteuid(), host);
	snprintf(session->owner, sizeof session->owner, "%s:%d:%08x", host, (int)getpid(),
		 (unsigned)some_number());
}

int session_open_engine(struct session *session, struct error *reterr)
{
	const struct options *options = session->options;
	const struct engine_config config = {
		.cluster = options_text(options, OPT_CLUSTER),
		.actor = session->actor,
		.owner = session->owner,
		.caller_id = options_text(options, OPT_CALLER_ID),
		.poll_interval_ms = options_number(options, OPT_POLL_INTERVAL),
		.read_timeout_ms = options_number(options, OPT_READ_TIMEOUT),
		.effect_timeout_ms = options_number(options, OPT_EFFECT_TIMEOUT),
		.check_vtgate = session_vtgate(session) != NULL,
		.lease_ms = LEASE_MS,
		.server_of = session->server_count ? session_server_of : NULL,
		.user = session,
		.seed = some_number(),
	};

	if (session_check_probes(session, reterr) < 0)
		return -1;
	name_ourselves(session);
	session->engine = engine_new(&config, clock_monotonic_ms(), clock_wall_ms());
	return 0;
}

static void open_loop(struct session *session)
{
	const struct option_value *probes = &session->options->values[OPT_PROBE];
	const struct loop_config config = {
		.engine = session->engine,
		.wire = session->wire,
		.store = session->store,
		.cluster = options_text(session->options, OPT_CLUSTER),
		.owner = session->owner,
		.actor = session->actor,
		.vtgate = session_vtgate(session),
		.probes = probes->texts,
		.probe_count = probes->count,
	};

	session->loop = loop_new(&config);
}

int session_open_loop(struct session *session, struct error *reterr)
{
	if (session_open_store(session, /* read_only= */ false, reterr) < 0)
		return -1;
	open_loop(session);
	return 0;
}

int session_open_drivers(struct session *session, const char *keyspace, struct error *reterr)
{
	if (session_open_wire(session, keyspace, reterr) < 0)
		return -1;
	return session_open_loop(session, reterr);
}

void session_reload(struct session *session, struct options *options)
{
	const struct option_value *probes = &options->values[OPT_PROBE];

	session->options = options;
	session_vtgate(session);
	loop_set_probes(session->loop, probes->texts, probes->count);
	engine_reconfigure(session->engine, options_number(options, OPT_POLL_INTERVAL),
			   options_number(options, OPT_READ_TIMEOUT),
			   options_number(options, OPT_EFFECT_TIMEOUT));
}
