/* serve: the daemon. It opens everything, lets the engine serve, and turns the loop until it is told to stop.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "config.h"
#include "notify.h"
#include "output.h"
#include "serve.h"
#include "serve_reload.h"
#include "vtddl/clock.h"
#include "vtddl/log.h"

#define TURN_MS 1000	  /* the longest turn of the loop, for the watchdog and the status */
#define STATUS_MS 5000	  /* between two lines of status for systemd */
#define STOP_MAX_MS 10000 /* for effects in flight, and for leases to be given up */
#define END_MAX_S 14	  /* then the program ends whatever still hangs; killing it is safe at any time */

/* ---- Signals ---- */

static struct loop *volatile interrupted_loop;
static volatile sig_atomic_t stop_asked, reload_asked;

static void on_stop(int number)
{
	if (stop_asked)
		_exit(128 + number);
	stop_asked = number;
	if (interrupted_loop)
		loop_interrupt(interrupted_loop);
}

static void on_hangup(int number)
{
	(void)number;
	reload_asked = 1;
	if (interrupted_loop)
		loop_interrupt(interrupted_loop);
}

static void on_alarm(int number)
{
	(void)number;
	_exit(EXIT_DONE);
}

static void catch_signals(void)
{
	const struct {
		int number;
		void (*handler)(int);
	} handlers[] = {
		{ SIGINT, on_stop }, { SIGTERM, on_stop }, { SIGHUP, on_hangup }, { SIGALRM, on_alarm }
	};

	for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
		struct sigaction action = { .sa_handler = handlers[i].handler };

		sigemptyset(&action.sa_mask);
		sigaction(handlers[i].number, &action, NULL);
	}
}

/* ---- Opening ---- */

static int open_http(struct serve *serve, struct error *reterr)
{
	const struct store_config store = session_store_config(serve->session.options, /* read_only= */ true);
	const struct http_config config = {
		.listen = options_text(serve->session.options, OPT_HTTP),
		.answer = serve_answer,
		.user = serve,
	};

	if (!strcmp(config.listen, "off"))
		return 0;
	serve->past = past_new(&store, options_text(serve->session.options, OPT_CLUSTER));
	serve->board = board_new(serve->session.loop);
	return http_open(&config, &serve->http, reterr);
}

static int open_all(struct serve *serve, struct error *reterr)
{
	struct session *session = &serve->session;

	if (session_open_wires(session, reterr) < 0 || session_open_engine(session, reterr) < 0 ||
	    session_open_loop(session, reterr) < 0 || open_http(serve, reterr) < 0)
		return -1;
	engine_serve(session->engine);
	return 0;
}

static void say_started(const struct serve *serve)
{
	char http[32] = "off";
	const struct log_field fields[] = {
		{ "cluster", options_text(serve->session.options, OPT_CLUSTER) },
		{ "store", store_url(serve->session.store) },
		{ "server", serve->session.servers[0] },
		{ "owner", serve->session.owner },
		{ "http_port", http },
		{ NULL, NULL },
	};

	if (serve->http)
		snprintf(http, sizeof http, "%u", http_port(serve->http));
	log_write(LOG_INFO, "vtddl serves", fields);
	if (getenv("KUBERNETES_SERVICE_HOST") && session_store_is_file(serve->session.options))
		log_write(
			LOG_WARNING,
			"the store is a file in a container: on an emptyDir it is lost when the pod moves, and with "
			"it what is under way; put it on a persistent volume with one replica, or use --store "
			"mysql://USER@HOST/DATABASE",
			NULL);
}

/* ---- Turning ---- */

struct pulse {
	bool ready; /* systemd was told */
	int64_t watchdog_ms, beaten_at_ms, status_at_ms;
	char status[128];
};

/* The first survey of the store is what a follower and a leader both need. */
static void tell_ready(struct pulse *pulse, const struct serve *serve)
{
	int64_t live_at_ms;

	engine_store_trouble(serve->session.engine, &live_at_ms);
	if (pulse->ready || !live_at_ms)
		return;
	pulse->ready = notify_send("READY=1"); /* else with the next turn: it is waited for */
}

static void tell_status(struct pulse *pulse, const struct serve *serve, int64_t now_ms)
{
	struct engine *engine = serve->session.engine;
	size_t keyspaces = engine_keyspaces(engine), led = 0;
	char status[sizeof pulse->status];

	if (now_ms - pulse->status_at_ms < STATUS_MS && pulse->status[0])
		return;
	pulse->status_at_ms = now_ms;
	for (size_t i = 0; i < keyspaces; i++)
		led += engine_keyspace(engine, i)->leader;
	snprintf(status, sizeof status, "%zu open changes; drives %zu of %zu keyspaces",
		 engine_residents(engine), led, keyspaces);
	if (!strcmp(status, pulse->status))
		return;
	memcpy(pulse->status, status, sizeof status);
	notify_send("STATUS=%s", status);
}

/* Here and nowhere else: what is told is that the loop turns. */
static void beat(struct pulse *pulse, const struct serve *serve)
{
	int64_t now_ms = clock_monotonic_ms();

	tell_ready(pulse, serve);
	tell_status(pulse, serve, now_ms);
	if (!pulse->watchdog_ms || now_ms - pulse->beaten_at_ms < pulse->watchdog_ms / 2)
		return;
	pulse->beaten_at_ms = now_ms;
	notify_send("WATCHDOG=1");
}

static void turn(struct serve *serve, struct pulse *pulse, int64_t until_ms)
{
	int64_t turn_ms =
		pulse->watchdog_ms && pulse->watchdog_ms / 4 < TURN_MS ? pulse->watchdog_ms / 4 : TURN_MS;
	int64_t turn_until_ms = clock_monotonic_ms() + turn_ms;

	loop_step(serve->session.loop, turn_until_ms < until_ms ? turn_until_ms : until_ms);
	news_tell(serve);
	if (serve->board)
		board_serve(serve->board, serve);
	beat(pulse, serve);
}

static void serve_until_stopped(struct serve *serve, const struct call *call, struct pulse *pulse)
{
	while (!stop_asked && !engine_store_is_lost(serve->session.engine)) {
		if (reload_asked) {
			reload_asked = 0;
			serve_reload(serve, call);
		}
		turn(serve, pulse, INT64_MAX);
	}
}

/* ---- Ending ---- */

static void stop(struct serve *serve, struct pulse *pulse)
{
	int64_t until_ms = clock_monotonic_ms() + STOP_MAX_MS;

	alarm(END_MAX_S);
	notify_send("STOPPING=1\nSTATUS=waits for what is in flight");
	log_write(LOG_INFO, "stopping: nothing new is sent, what is in flight is waited for", NULL);
	engine_stop(serve->session.engine);
	while (!engine_is_idle(serve->session.engine) && clock_monotonic_ms() < until_ms)
		turn(serve, pulse, until_ms);
	log_write(LOG_INFO,
		  engine_is_idle(serve->session.engine)
			  ? "stopped; the leases are given up, changes go on in the fleet"
			  : "stopped; something is in flight still, and its lease ends by itself",
		  NULL);
}

/* A sync of the store failed: only a new process may trust what it reads there. */
static int end_without_store(const struct serve *serve)
{
	struct error err;

	error_set(&err, ERROR_STORE,
		  "the disk of the store %s could not confirm a write, so this process uses it no more and ends; "
		  "check the disk, then start vtddl serve again",
		  store_url(serve->session.store));
	return output_error(&err);
}

static void close_all(struct serve *serve)
{
	interrupted_loop = NULL;
	if (serve->board)
		board_close(serve->board);
	serve->http = http_close(serve->http);
	serve->board = board_free(serve->board);
	serve->past = past_free(serve->past);
	session_close(&serve->session);
}

/* JSON for whoever collects it; text for a person, and where a form was asked for that one. */
static void set_log_form(const struct options *options)
{
	if (!options_is_set(options, OPT_LOG_FORMAT) && !isatty(STDERR_FILENO))
		output_log_json();
}

int cmd_serve(const struct call *call)
{
	struct serve serve = { .started_at_ms = clock_wall_ms() };
	struct pulse pulse = { .watchdog_ms = notify_watchdog_ms() };
	struct error err = { 0 };
	int code = EXIT_DONE;

	set_log_form(call->options);
	catch_signals();
	session_init(&serve.session, call->options);
	if (open_all(&serve, &err) < 0) {
		code = output_error(&err);
		notify_send("STATUS=%.900s", err.text);
	} else {
		interrupted_loop = serve.session.loop;
		say_started(&serve);
		serve_until_stopped(&serve, call, &pulse);
		if (engine_store_is_lost(serve.session.engine))
			code = end_without_store(&serve);
		stop(&serve, &pulse);
	}
	close_all(&serve);
	serve_forget_reloads();
	return code;
}
