#include "wire_private.h"

#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

#include "channel.h"
#include "codec.h"
#include "failure.h"
#include "vtddl/clock.h"

#define WATCHDOG_MS 2000
#define DEADLINE_SLACK_MS 50 /* a call that ends so close to its deadline was ended by that */

/* A call from wire_start() until the library has ended it. */
struct call {
	LIST_ENTRY(call) link;
	uint64_t tag;
	enum vtctld_method method;
	struct channel *channel;
	struct connection *connection;
	struct arena *arena; /* NULL: the watchdog has answered, the arena is the caller's again */
	int64_t deadline_ms;
	int64_t timeout_ms;
	grpc_call *call;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *answer;
	grpc_status_code status;
	grpc_slice details;
};

/* A reply that needed no network. */
struct early_reply {
	STAILQ_ENTRY(early_reply) link;
	struct vtctld_reply reply;
};

struct wire {
	struct channel **servers; /* by number */
	unsigned server_count;
	grpc_completion_queue *queue; /* of the calls of all servers */
	grpc_channel *wake_channel;   /* leads nowhere */
	grpc_call *wake_call;	      /* never started: an empty batch on it is an event on the queue */
	atomic_bool wake_asked;
	LIST_HEAD(, call) calls;
	STAILQ_HEAD(, early_reply) early;
	int64_t watchdog_ms;
};

/* ---- Opening ---- */

/* gRPC would print to standard error what a reply's text says anyway. */
static void log_nothing(gpr_log_func_args *args)
{
	(void)args;
}

static grpc_call *call_create(struct wire *wire, grpc_channel *to, const char *path, gpr_timespec deadline)
{
	grpc_slice method = grpc_slice_from_copied_string(path);
	grpc_call *call = grpc_channel_create_call(to, NULL, GRPC_PROPAGATE_DEFAULTS, wire->queue, method,
						   NULL, deadline, NULL);

	grpc_slice_unref(method);
	return call;
}

static unsigned server_add(struct wire *wire, const struct peer *peer)
{
	wire->servers = reallocarray(wire->servers, wire->server_count + 1, sizeof(wire->servers[0]));
	if (!wire->servers)
		abort();
	wire->servers[wire->server_count] = channel_open(peer);
	return wire->server_count++;
}

int wire_open(const struct wire_config *config, struct wire **ret, struct error *reterr)
{
	struct wire *wire;
	struct peer peer;

	if (peer_load(config, &peer, reterr) < 0)
		return -1;
	wire = calloc(1, sizeof(*wire));
	if (!wire)
		abort();
	wire->watchdog_ms = WATCHDOG_MS;
	LIST_INIT(&wire->calls);
	STAILQ_INIT(&wire->early);
	if (!getenv("GRPC_VERBOSITY")) /* set by a person who looks for a fault in gRPC */
		gpr_set_log_function(log_nothing);
	grpc_init();
	wire->queue = grpc_completion_queue_create_for_next(NULL);
	wire->wake_channel = grpc_lame_client_channel_create(NULL, GRPC_STATUS_UNAVAILABLE, "only to wake");
	wire->wake_call =
	    call_create(wire, wire->wake_channel, "/wake", gpr_inf_future(GPR_CLOCK_MONOTONIC));
	server_add(wire, &peer);
	*ret = wire;
	return 0;
}

int wire_add(struct wire *wire, const struct wire_config *config, unsigned *ret_server, struct error *reterr)
{
	struct peer peer;

	if (peer_load(config, &peer, reterr) < 0)
		return -1;
	*ret_server = server_add(wire, &peer);
	return 0;
}

int wire_replace(struct wire *wire, unsigned server, const struct wire_config *config, struct error *reterr)
{
	struct channel *old;
	struct peer peer;

	assert(server < wire->server_count);
	if (peer_load(config, &peer, reterr) < 0)
		return -1;
	old = wire->servers[server];
	wire->servers[server] = channel_open(&peer);
	channel_connect(wire->servers[server]); /* an effect is not sent before that */
	channel_unuse(old);
	return 0;
}

/* ---- Starting ---- */

/* Answers @request without the network. */
static void reply_early(struct wire *wire, const struct vtctld_request *request, int code, const char *text)
{
	struct early_reply *early = calloc(1, sizeof(*early));

	if (!early)
		abort();
	early->reply = (struct vtctld_reply){
	    .tag = request->tag,
	    .method = request->method,
	    .outcome = VTCTLD_NOT_SENT,
	    .code = code,
	    .text = text ? text : "not sent",
	};
	STAILQ_INSERT_TAIL(&wire->early, early, link);
}

static size_t call_metadata(const struct channel *channel, grpc_metadata metadata[2])
{
	if (GRPC_SLICE_IS_EMPTY(channel->username))
		return 0;
	memset(metadata, 0, 2 * sizeof(*metadata));
	metadata[0].key = grpc_slice_from_static_string("username");
	metadata[0].value = channel->username;
	metadata[1].key = grpc_slice_from_static_string("password");
	metadata[1].value = channel->password;
	return 2;
}

static void call_send(struct call *call, const struct vtctld_request *request)
{
	size_t length;
	uint8_t *bytes = codec_request(request, &length);
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)bytes, length);
	grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_metadata metadata[2];
	grpc_op ops[6] = {
	    {.op =
		 GRPC_OP_SEND_INITIAL_METADATA}, /* fails fast: else the reason of a failed connect is lost */
	    {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message},
	    {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
	    {.op = GRPC_OP_RECV_INITIAL_METADATA,
	     .data.recv_initial_metadata.recv_initial_metadata = &call->initial},
	    {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->answer},
	    {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
	     .data.recv_status_on_client = {.trailing_metadata = &call->trailing,
					    .status = &call->status,
					    .status_details = &call->details}},
	};
	grpc_call_error error;

	ops[0].data.send_initial_metadata.count = call_metadata(call->channel, metadata);
	ops[0].data.send_initial_metadata.metadata = metadata;
	ops[0].flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET;
	error = grpc_call_start_batch(call->call, ops, sizeof(ops) / sizeof(ops[0]), call, NULL);
	assert(error == GRPC_CALL_OK);
	grpc_byte_buffer_destroy(message);
	grpc_slice_unref(slice);
	free(bytes);
}

static void reply_not_connected(struct wire *wire, struct channel *channel,
				const struct vtctld_request *request, struct arena *arena)
{
	channel_connect(channel);
	reply_early(wire, request, GRPC_STATUS_UNAVAILABLE,
		    arena_printf(arena, "%s was not sent: there is no connection to %s%s%s",
				 vtctld_method_name(request->method), channel->peer.config.server,
				 *channel->last_failure ? "; the last attempt: " : " yet",
				 channel->last_failure));
}

void wire_start(struct wire *wire, const struct vtctld_request *request, struct arena *arena)
{
	gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					     gpr_time_from_millis(request->timeout_ms, GPR_TIMESPAN));
	char path[CODEC_PATH_SIZE];
	struct channel *channel;
	struct call *call;

	assert(request->server < wire->server_count);
	channel = wire->servers[request->server];
	if (request->timeout_ms <= 0) {
		reply_early(wire, request, GRPC_STATUS_DEADLINE_EXCEEDED, "no time was left for the call");
		return;
	}
	if (vtctld_method_is_effect(request->method) && !channel_is_connected(channel)) {
		reply_not_connected(wire, channel, request, arena);
		return;
	}
	call = calloc(1, sizeof(*call));
	if (!call)
		abort();
	call->tag = request->tag;
	call->method = request->method;
	call->channel = channel_use(channel);
	call->connection = connection_use(channel->connection);
	call->arena = arena;
	call->timeout_ms = request->timeout_ms;
	call->deadline_ms = clock_monotonic_ms() + request->timeout_ms;
	grpc_metadata_array_init(&call->initial);
	grpc_metadata_array_init(&call->trailing);
	call->details = grpc_empty_slice();
	codec_path(request->method, path);
	call->call = call_create(wire, channel->connection->channel, path, deadline);
	LIST_INSERT_HEAD(&wire->calls, call, link);
	call_send(call, request);
}

/* ---- Ending ---- */

static void call_free(struct call *call)
{
	LIST_REMOVE(call, link);
	grpc_metadata_array_destroy(&call->initial);
	grpc_metadata_array_destroy(&call->trailing);
	grpc_byte_buffer_destroy(call->answer);
	grpc_slice_unref(call->details);
	grpc_call_unref(call->call);
	connection_unuse(call->connection);
	channel_unuse(call->channel);
	free(call);
}

static void reply_failure(const struct call *call, struct vtctld_reply *ret)
{
	struct channel *channel = call->channel;
	struct failure failure = {
	    .config = &channel->peer.config,
	    .credentials = &channel->peer.credentials,
	    .method = call->method,
	    .code = (int)call->status,
	    .details = (const char *)GRPC_SLICE_START_PTR(call->details),
	    .details_length = GRPC_SLICE_LENGTH(call->details),
	    .is_connected = channel_is_connected(channel),
	    .timeout_ms = call->timeout_ms,
	    .now_s = clock_wall_ms() / 1000,
	};

	ret->text = failure_text(call->arena, &failure);
	/* To try again would be of no use. Never of an effect: what became of it is not told by a text. */
	if (!vtctld_method_is_effect(call->method) && failure_is_about_certificates(&failure)) {
		ret->outcome = VTCTLD_REFUSED;
		ret->code = GRPC_STATUS_UNAUTHENTICATED;
	}
	if (!failure.is_connected)
		snprintf(channel->last_failure, sizeof(channel->last_failure), "%s", ret->text);
}

static void reply_unreadable(const struct call *call, const char *why, struct vtctld_reply *ret)
{
	ret->outcome = VTCTLD_UNKNOWN;
	ret->code = GRPC_STATUS_INTERNAL;
	ret->text =
	    arena_printf(call->arena, "%s%s", why,
			 vtctld_method_is_effect(call->method) ? " (the call itself was carried out)" : "");
	if (!ret->text)
		ret->text = "the answer needs more memory than is allowed";
}

static void reply_decode(const struct call *call, struct vtctld_reply *ret)
{
	struct error error = {0};
	grpc_byte_buffer_reader reader;
	grpc_slice bytes;

	if (!call->answer) {
		reply_unreadable(call, "the server said OK without an answer", ret);
		return;
	}
	if (call->answer->data.raw.compression != GRPC_COMPRESS_NONE ||
	    !grpc_byte_buffer_reader_init(&reader, call->answer)) {
		reply_unreadable(call, "the answer is compressed, which was not asked for", ret);
		return;
	}
	bytes = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	if (codec_reply(call->arena, &call->channel->limits, GRPC_SLICE_START_PTR(bytes),
			GRPC_SLICE_LENGTH(bytes), ret, &error) < 0)
		reply_unreadable(call, error.text, ret);
	grpc_slice_unref(bytes);
}

static void tell_channel(const struct call *call)
{
	bool is_silence = call->status == GRPC_STATUS_DEADLINE_EXCEEDED &&
			  clock_monotonic_ms() >= call->deadline_ms - DEADLINE_SLACK_MS;

	channel_call_ended(call->channel, call->connection, call->deadline_ms - call->timeout_ms, is_silence);
}

static void reply_fill(const struct call *call, struct vtctld_reply *ret)
{
	*ret = (struct vtctld_reply){
	    .tag = call->tag,
	    .method = call->method,
	    .outcome = failure_outcome((int)call->status),
	    .code = (int)call->status,
	    .text = "",
	};
	if (ret->outcome != VTCTLD_DONE) {
		reply_failure(call, ret);
		return;
	}
	call->channel->last_failure[0] = 0;
	reply_decode(call, ret);
}

/* ---- Waiting ---- */

static bool take_early(struct wire *wire, struct vtctld_reply *ret)
{
	struct early_reply *early = STAILQ_FIRST(&wire->early);

	if (!early)
		return false;
	*ret = early->reply;
	STAILQ_REMOVE_HEAD(&wire->early, link);
	free(early);
	return true;
}

/* A call that the library should have ended long ago. It goes on without an arena. */
static bool take_overdue(struct wire *wire, int64_t now_ms, struct vtctld_reply *ret)
{
	struct call *call;

	LIST_FOREACH(call, &wire->calls, link)
	{
		if (!call->arena || now_ms < call->deadline_ms + wire->watchdog_ms)
			continue;
		*ret = (struct vtctld_reply){
		    .tag = call->tag,
		    .method = call->method,
		    .outcome = VTCTLD_UNKNOWN,
		    .code = GRPC_STATUS_DEADLINE_EXCEEDED,
		    .text =
			arena_printf(call->arena, "no answer to %s from %s, and its deadline did not end it",
				     vtctld_method_name(call->method),
					 call->channel->peer.config.server),
		};
		if (!ret->text)
			ret->text = "no answer";
		call->arena = NULL;
		grpc_call_cancel(call->call, NULL);
		return true;
	}
	return false;
}

static int64_t next_overdue_ms(const struct wire *wire, int64_t until_ms)
{
	const struct call *call;

	LIST_FOREACH(call, &wire->calls, link)
	if (call->arena && call->deadline_ms + wire->watchdog_ms < until_ms)
		until_ms = call->deadline_ms + wire->watchdog_ms;
	return until_ms;
}

static grpc_event queue_wait(struct wire *wire, int64_t wait_ms)
{
	gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
					  gpr_time_from_millis(wait_ms > 0 ? wait_ms : 0, GPR_TIMESPAN));

	return grpc_completion_queue_next(wire->queue, until, NULL);
}

bool wire_next(struct wire *wire, int64_t until_ms, struct vtctld_reply *ret)
{
	for (;;) {
		int64_t now_ms = clock_monotonic_ms();
		bool was_answered;
		struct call *call;
		grpc_event event;

		if (take_early(wire, ret) || take_overdue(wire, now_ms, ret))
			return true;
		event = queue_wait(wire, next_overdue_ms(wire, until_ms) - now_ms);
		if (event.type == GRPC_OP_COMPLETE && !event.tag) {
			atomic_store(&wire->wake_asked, false);
			return false;
		}
		if (event.type != GRPC_OP_COMPLETE) {
			if (clock_monotonic_ms() >= until_ms)
				return false;
			continue;
		}
		call = event.tag;
		was_answered = !call->arena;
		if (!was_answered) {
			reply_fill(call, ret);
			tell_channel(call);
		}
		call_free(call);
		if (!was_answered)
			return true;
	}
}

void wire_wake(struct wire *wire)
{
	if (atomic_exchange(&wire->wake_asked, true))
		return;
	grpc_call_start_batch(wire->wake_call, NULL, 0, NULL, NULL);
}

/* ---- Closing ---- */

struct wire *wire_close(struct wire *wire)
{
	struct vtctld_reply ignored;
	struct call *call;
	grpc_event event;

	if (!wire)
		return NULL;
	LIST_FOREACH(call, &wire->calls, link)
	{
		call->arena = NULL;
		grpc_call_cancel(call->call, NULL);
	}
	while (take_early(wire, &ignored))
		;
	grpc_call_unref(wire->wake_call);
	grpc_completion_queue_shutdown(wire->queue);
	while ((event = grpc_completion_queue_next(wire->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL))
		   .type != GRPC_QUEUE_SHUTDOWN)
		if (event.tag)
			call_free(event.tag);
	for (unsigned i = 0; i < wire->server_count; i++)
		channel_unuse(wire->servers[i]);
	grpc_channel_destroy(wire->wake_channel);
	grpc_completion_queue_destroy(wire->queue);
	grpc_shutdown();
	free(wire->servers);
	free(wire);
	return NULL;
}

/* ---- For tests ---- */

void wire_set_watchdog_ms(struct wire *wire, int64_t grace_ms)
{
	wire->watchdog_ms = grace_ms;
}

void wire_set_silence_ms(struct wire *wire, int64_t silence_ms)
{
	for (unsigned i = 0; i < wire->server_count; i++)
		wire->servers[i]->silence_ms = silence_ms;
}

size_t wire_calls_under_way(const struct wire *wire)
{
	const struct call *call;
	size_t count = 0;

	LIST_FOREACH(call, &wire->calls, link)
	count++;
	return count;
}
