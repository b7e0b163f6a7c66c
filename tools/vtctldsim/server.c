#include "server.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth.h"

#define MESSAGE_MAX (16 << 20)
#define METADATA_MAX (16 << 20) /* error texts travel in the trailers */
#define FILE_MAX (1 << 20)

/* What of a call is under way at the library; the address of an op is its tag there. */
enum op_kind { OP_REQUEST, OP_RECEIVE, OP_CLOSE, OP_ANSWER, OP_SHUTDOWN };

struct op {
	enum op_kind kind;
	struct slot *slot;
};

struct slot {
	struct slot *next;
	uint64_t tag;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message;
	char *path;
	uint8_t *bytes;
	size_t length;
	int was_cancelled;
	bool is_closed, is_announced, is_answered, answer_is_sent, is_gone;
	struct op request, receive, close, answer;
};

struct server {
	grpc_server *server;
	grpc_completion_queue *queue;
	struct auth *auth;
	struct slot *slots;
	uint64_t last_tag;
	int port;
	struct op shutdown;
};

/* ---- Slots ---- */

static void slot_free(struct slot *slot)
{
	if (slot->call != NULL)
		grpc_call_unref(slot->call);
	if (slot->message != NULL)
		grpc_byte_buffer_destroy(slot->message);
	grpc_call_details_destroy(&slot->details);
	grpc_metadata_array_destroy(&slot->metadata);
	free(slot->path);
	free(slot->bytes);
	free(slot);
}

static void server_await_call(struct server *server)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	grpc_call_error error;

	if (slot == NULL)
		abort();
	slot->tag = ++server->last_tag;
	slot->request = (struct op){ OP_REQUEST, slot };
	slot->receive = (struct op){ OP_RECEIVE, slot };
	slot->close = (struct op){ OP_CLOSE, slot };
	slot->answer = (struct op){ OP_ANSWER, slot };
	grpc_call_details_init(&slot->details);
	grpc_metadata_array_init(&slot->metadata);
	slot->next = server->slots;
	server->slots = slot;
	error = grpc_server_request_call(server->server, &slot->call, &slot->details, &slot->metadata,
					 server->queue, server->queue, &slot->request);
	assert(error == GRPC_CALL_OK);
	(void)error;
}

static struct slot *server_find(struct server *server, uint64_t tag)
{
	struct slot *slot = server->slots;

	while (slot != NULL && slot->tag != tag)
		slot = slot->next;
	return slot;
}

static void server_drop(struct server *server, struct slot *gone)
{
	struct slot **link = &server->slots;

	while (*link != gone)
		link = &(*link)->next;
	*link = gone->next;
	slot_free(gone);
}

/* A slot may go when nothing of it is at the library and nobody will answer it any more. */
static void server_drop_if_over(struct server *server, struct slot *slot)
{
	bool nobody_answers = slot->is_answered ? slot->answer_is_sent : slot->is_gone;

	if (slot->is_closed && nobody_answers)
		server_drop(server, slot);
}

/* ---- Opening ---- */

static char *file_read(const char *path, struct error *reterr)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, FILE_MAX);
	size_t length;

	if (text == NULL)
		abort();
	length = file != NULL ? fread(text, 1, FILE_MAX - 1, file) : 0;
	if (file != NULL)
		fclose(file);
	if (length > 0)
		return text;
	error_set(reterr, ERROR_CONFIG, "Cannot read %s, or it is empty", path);
	free(text);
	return NULL;
}

static int credentials_make(const struct server_config *config, grpc_server_credentials **ret,
			    struct error *reterr)
{
	grpc_ssl_pem_key_cert_pair pair = { 0 };
	char *cert = NULL, *key = NULL, *ca = NULL;
	int result = -1;

	if (config->cert == NULL && config->key == NULL) {
		*ret = grpc_insecure_server_credentials_create();
		return 0;
	}
	if (config->cert == NULL || config->key == NULL)
		return error_set(reterr, ERROR_USAGE, "--grpc-cert and --grpc-key go together");
	cert = file_read(config->cert, reterr);
	key = cert != NULL ? file_read(config->key, reterr) : NULL;
	if (key != NULL && config->ca != NULL)
		ca = file_read(config->ca, reterr);
	if (key != NULL && (config->ca == NULL || ca != NULL)) {
		pair.cert_chain = cert;
		pair.private_key = key;
		*ret = grpc_ssl_server_credentials_create_ex(
			ca, &pair, 1,
			ca != NULL ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
				   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
			NULL);
		result = 0;
	}
	free(cert);
	free(key);
	free(ca);
	return result;
}

static grpc_arg integer_arg(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

static int server_listen(struct server *server, const struct server_config *config, struct error *reterr)
{
	grpc_arg args[] = {
		integer_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_MAX),
		integer_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, MESSAGE_MAX),
		integer_arg(GRPC_ARG_MAX_METADATA_SIZE, METADATA_MAX),
		integer_arg(GRPC_ARG_ALLOW_REUSEPORT, 0),
		/* As Vitess: pings at most every 10 s. */
		integer_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000),
	};
	grpc_channel_args channel_args = { .num_args = sizeof(args) / sizeof(args[0]), .args = args };
	grpc_server_credentials *credentials = NULL;

	if (credentials_make(config, &credentials, reterr) < 0)
		return -1;
	server->queue = grpc_completion_queue_create_for_next(NULL);
	server->server = grpc_server_create(&channel_args, NULL);
	grpc_server_register_completion_queue(server->server, server->queue, NULL);
	server->port = grpc_server_add_http2_port(server->server, config->listen, credentials);
	grpc_server_credentials_release(credentials);
	grpc_server_start(server->server);
	if (server->port == 0)
		return error_set(reterr, ERROR_UNAVAILABLE,
				 "Cannot listen on %s; is the port in use, or the "
				 "certificate unusable?",
				 config->listen);
	return 0;
}

static void log_nothing(gpr_log_func_args *args)
{
	(void)args;
}

int server_open(const struct server_config *config, struct server **ret, struct error *reterr)
{
	struct server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		abort();
	/* Its lines would stand beside our one sentence about the same failure. */
	if (getenv("GRPC_VERBOSITY") == NULL)
		gpr_set_log_function(log_nothing);
	grpc_init();
	server->shutdown.kind = OP_SHUTDOWN;
	if ((config->auth_static != NULL && auth_open(config->auth_static, &server->auth, reterr) < 0) ||
	    server_listen(server, config, reterr) < 0) {
		(void)server_close(server);
		return -1;
	}
	server_await_call(server);
	*ret = server;
	return 0;
}

int server_port(const struct server *server)
{
	return server->port;
}

/* ---- Calls ---- */

static void slot_receive(struct slot *slot)
{
	grpc_op receive = { .op = GRPC_OP_RECV_MESSAGE };
	grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER };
	grpc_call_error error;

	slot->path = grpc_slice_to_c_string(slot->details.method);
	receive.data.recv_message.recv_message = &slot->message;
	close.data.recv_close_on_server.cancelled = &slot->was_cancelled;
	error = grpc_call_start_batch(slot->call, &close, 1, &slot->close, NULL);
	assert(error == GRPC_CALL_OK);
	error = grpc_call_start_batch(slot->call, &receive, 1, &slot->receive, NULL);
	assert(error == GRPC_CALL_OK);
	(void)error;
}

static char *metadata_find(const struct slot *slot, const char *key)
{
	for (size_t i = 0; i < slot->metadata.count; i++)
		if (grpc_slice_str_cmp(slot->metadata.metadata[i].key, key) == 0)
			return grpc_slice_to_c_string(slot->metadata.metadata[i].value);
	return NULL;
}

static bool slot_is_welcome(struct server *server, struct slot *slot)
{
	char *username, *password;
	const char *text = "";
	int code;

	if (server->auth == NULL)
		return true;
	username = metadata_find(slot, "username");
	password = metadata_find(slot, "password");
	code = auth_check(server->auth, username, password, &text);
	gpr_free(username);
	gpr_free(password);
	if (code != 0)
		server_answer(server, slot->tag, code, text, NULL, 0);
	return code == 0;
}

static void slot_take_message(struct slot *slot)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	if (slot->message == NULL || !grpc_byte_buffer_reader_init(&reader, slot->message))
		return;
	slice = grpc_byte_buffer_reader_readall(&reader);
	slot->length = GRPC_SLICE_LENGTH(slice);
	slot->bytes = malloc(slot->length + 1);
	if (slot->bytes == NULL)
		abort();
	memcpy(slot->bytes, GRPC_SLICE_START_PTR(slice), slot->length);
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
}

static int64_t slot_timeout_ms(const struct slot *slot)
{
	gpr_timespec left;

	if (gpr_time_cmp(slot->details.deadline, gpr_inf_future(slot->details.deadline.clock_type)) == 0)
		return 0;
	left = gpr_time_sub(slot->details.deadline, gpr_now(slot->details.deadline.clock_type));
	return left.tv_sec < 0 ? 1 : left.tv_sec * 1000 + left.tv_nsec / 1000000 + 1;
}

/* An event for the caller? Then true and *ret is filled. */
static bool server_received(struct server *server, struct slot *slot, bool ok, struct server_event *ret)
{
	if (!ok || slot->message == NULL ||
	    slot->is_closed) { /* the client went away before it had said anything */
		slot->is_gone = true;
		server_drop_if_over(server, slot);
		return false;
	}
	if (!slot_is_welcome(server, slot))
		return false;
	slot_take_message(slot);
	slot->is_announced = true;
	*ret = (struct server_event){ .kind = SERVER_CALL,
				      .tag = slot->tag,
				      .path = slot->path,
				      .bytes = slot->bytes,
				      .length = slot->length,
				      .timeout_ms = slot_timeout_ms(slot) };
	return true;
}

static bool server_closed(struct server *server, struct slot *slot, struct server_event *ret)
{
	bool tell = slot->is_announced && !slot->is_answered;

	slot->is_closed = true;
	if (tell) {
		slot->is_gone = true;
		*ret = (struct server_event){ .kind = SERVER_GONE, .tag = slot->tag };
	}
	server_drop_if_over(server, slot);
	return tell;
}

static bool server_handle(struct server *server, const grpc_event *event, struct server_event *ret)
{
	struct op *op = event->tag;
	struct slot *slot = op->slot;

	switch (op->kind) {
	case OP_REQUEST:
		if (!event->success) { /* the server shuts down */
			server_drop(server, slot);
			return false;
		}
		server_await_call(server);
		slot_receive(slot);
		return false;
	case OP_RECEIVE:
		return server_received(server, slot, event->success != 0, ret);
	case OP_CLOSE:
		return server_closed(server, slot, ret);
	case OP_ANSWER:
		slot->answer_is_sent = true;
		server_drop_if_over(server, slot);
		return false;
	case OP_SHUTDOWN:
		return false;
	}
	return false;
}

bool server_next(struct server *server, int64_t wait_ms, struct server_event *ret)
{
	gpr_timespec until =
		gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(wait_ms, GPR_TIMESPAN));
	grpc_event event;

	for (;;) {
		event = grpc_completion_queue_next(server->queue, until, NULL);
		if (event.type != GRPC_OP_COMPLETE)
			return false;
		if (server_handle(server, &event, ret))
			return true;
	}
}

void server_answer(struct server *server, uint64_t tag, int code, const char *text, const uint8_t *bytes,
		   size_t length)
{
	struct slot *slot = server_find(server, tag);
	grpc_slice details, body = grpc_empty_slice();
	grpc_byte_buffer *message = NULL;
	grpc_op ops[3] = { { .op = GRPC_OP_SEND_INITIAL_METADATA },
			   { .op = GRPC_OP_SEND_STATUS_FROM_SERVER } };
	size_t count = 2;

	if (slot == NULL) /* its SERVER_GONE is handed out, and not yet read by the caller */
		return;
	assert(!slot->is_answered);
	details = grpc_slice_from_copied_string(text);
	ops[1].data.send_status_from_server.status = (grpc_status_code)code;
	ops[1].data.send_status_from_server.status_details = &details;
	if (code == 0) {
		body = grpc_slice_from_copied_buffer((const char *)bytes, length);
		message = grpc_raw_byte_buffer_create(&body, 1);
		ops[count].op = GRPC_OP_SEND_MESSAGE;
		ops[count++].data.send_message.send_message = message;
	}
	slot->is_answered = true;
	if (grpc_call_start_batch(slot->call, ops, count, &slot->answer, NULL) != GRPC_CALL_OK)
		abort();
	if (message != NULL)
		grpc_byte_buffer_destroy(message);
	grpc_slice_unref(body);
	grpc_slice_unref(details);
}

static void server_drain(struct server *server)
{
	gpr_timespec forever = gpr_inf_future(GPR_CLOCK_MONOTONIC);
	struct server_event event;
	grpc_event next;

	grpc_server_shutdown_and_notify(server->server, server->queue, &server->shutdown);
	grpc_server_cancel_all_calls(server->server);
	do {
		next = grpc_completion_queue_next(server->queue, forever, NULL);
		(void)server_handle(server, &next, &event);
	} while (next.tag != &server->shutdown);
	grpc_completion_queue_shutdown(server->queue);
	for (next = grpc_completion_queue_next(server->queue, forever, NULL);
	     next.type != GRPC_QUEUE_SHUTDOWN;
	     next = grpc_completion_queue_next(server->queue, forever, NULL))
		(void)server_handle(server, &next, &event);
}

struct server *server_close(struct server *server)
{
	if (server == NULL)
		return NULL;
	if (server->server != NULL) {
		server_drain(server);
		grpc_server_destroy(server->server);
		grpc_completion_queue_destroy(server->queue);
	}
	while (server->slots != NULL)
		server_drop(server, server->slots);
	auth_free(server->auth);
	free(server);
	grpc_shutdown_blocking();
	return NULL;
}
