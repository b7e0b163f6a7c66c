#include "session.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vtddl/clock.h"

#define FILE_NAME "vtddl.db"
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

int session_open_wire(struct session *session, struct error *reterr)
{
	const struct options *options = session->options;
	struct wire_config config = {
		.server = options_text(options, OPT_SERVER),
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

	return wire_open(&config, &session->wire, reterr);
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

int session_open_store(struct session *session, bool read_only, struct error *reterr)
{
	const char *url = session_store_url(session->options), *path;

	if (!url)
		return error_set(
			reterr, ERROR_CONFIG,
			"there is no place for the store, for neither STATE_DIRECTORY nor HOME is set; "
			"give --store sqlite:PATH");
	path = url + strlen(SCHEME);
	if (read_only && access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return STORE_NOT_FOUND;
	if (!read_only && !options_is_set(session->options, OPT_STORE) && make_folders(path, reterr) < 0)
		return -1;
	return store_open(url, read_only, &session->store, reterr);
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
	const struct passwd *user = caller ? NULL : getpwuid(geteuid());
	char host[65] = "";

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
		.owner = session->owner,
		.actor = session->actor,
		.vtgate = session_vtgate(session),
		.probes = probes->texts,
		.probe_count = probes->count,
	};

	session->loop = loop_new(&config);
}

int session_open_drivers(struct session *session, struct error *reterr)
{
	if (session_open_wire(session, reterr) < 0 ||
	    session_open_store(session, /* read_only= */ false, reterr) < 0)
		return -1;
	open_loop(session);
	return 0;
}
