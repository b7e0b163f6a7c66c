#include "wire_server.h"

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { STAGE_ACCEPT, STAGE_READ, STAGE_ANSWER };

struct server_call {
	enum stage stage;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *request, *answer;
	int was_cancelled;
};

struct wire_server {
	grpc_server *server;
	grpc_completion_queue *queue;
	pthread_t thread;
	int port;
	pthread_mutex_t lock; /* for all below */
	pthread_cond_t has_come;
	struct wire_server_answer answer;
	struct wire_server_call last;
	size_t count;
};

static char shutdown_tag;

static void accept_next(struct wire_server *server)
{
	struct server_call *call = calloc(1, sizeof(*call));

	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);
	grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata, server->queue,
				 server->queue, call);
}

static void call_free(struct server_call *call)
{
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->metadata);
	grpc_byte_buffer_destroy(call->request);
	grpc_byte_buffer_destroy(call->answer);
	if (call->call)
		grpc_call_unref(call->call);
	free(call);
}

static void slice_copy(grpc_slice slice, char *ret, size_t size)
{
	snprintf(ret, size, "%.*s", (int)GRPC_SLICE_LENGTH(slice), (const char *)GRPC_SLICE_START_PTR(slice));
}

static void call_read(struct server_call *call)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->request};

	call->stage = STAGE_READ;
	grpc_call_start_batch(call->call, &op, 1, call, NULL);
}

static void message_copy(grpc_byte_buffer *request, struct wire_server_call *ret)
{
	grpc_byte_buffer_reader reader;
	grpc_slice bytes;

	if (!request || !grpc_byte_buffer_reader_init(&reader, request))
		return;
	bytes = grpc_byte_buffer_reader_readall(&reader);
	if (GRPC_SLICE_LENGTH(bytes) <= sizeof(ret->message)) {
		ret->message_length = GRPC_SLICE_LENGTH(bytes);
		memcpy(ret->message, GRPC_SLICE_START_PTR(bytes), ret->message_length);
	}
	grpc_slice_unref(bytes);
	grpc_byte_buffer_reader_destroy(&reader);
}

/* Notes the call and tells those who wait for it. */
static struct wire_server_answer call_note(struct wire_server *server, struct server_call *call)
{
	struct wire_server_call note = {0};
	char *peer;
	struct wire_server_answer answer;

	slice_copy(call->details.method, note.path, sizeof(note.path));
	for (size_t i = 0; i < call->metadata.count; i++) {
		const grpc_metadata *pair = &call->metadata.metadata[i];

		if (grpc_slice_str_cmp(pair->key, "username") == 0)
			slice_copy(pair->value, note.username, sizeof(note.username));
		if (grpc_slice_str_cmp(pair->key, "password") == 0)
			slice_copy(pair->value, note.password, sizeof(note.password));
	}
	peer = grpc_call_get_peer(call->call);
	snprintf(note.peer, sizeof(note.peer), "%s", peer);
	gpr_free(peer);
	message_copy(call->request, &note);
	pthread_mutex_lock(&server->lock);
	server->last = note;
	server->count++;
	answer = server->answer;
	pthread_cond_broadcast(&server->has_come);
	pthread_mutex_unlock(&server->lock);
	return answer;
}

static void call_answer(struct wire_server *server, struct server_call *call)
{
	struct wire_server_answer answer = call_note(server, call);
	grpc_slice bytes = grpc_slice_from_copied_buffer((const char *)answer.bytes, answer.length);
	grpc_slice text = grpc_slice_from_copied_string(answer.text ? answer.text : "");
	grpc_op ops[4] = {{.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
			   .data.recv_close_on_server.cancelled = &call->was_cancelled}};
	size_t count = 1;

	if (!answer.is_never) {
		ops[count++] = (grpc_op){.op = GRPC_OP_SEND_INITIAL_METADATA};
		if (!answer.code) {
			call->answer = grpc_raw_byte_buffer_create(&bytes, 1);
			ops[count++] = (grpc_op){.op = GRPC_OP_SEND_MESSAGE,
						 .data.send_message.send_message = call->answer};
		}
		ops[count++] =
		    (grpc_op){.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
			      .data.send_status_from_server = {.status = (grpc_status_code)answer.code,
							       .status_details = &text}};
	}
	call->stage = STAGE_ANSWER;
	grpc_call_start_batch(call->call, ops, count, call, NULL);
	grpc_slice_unref(bytes);
	grpc_slice_unref(text);
}

static void *serve(void *data)
{
	struct wire_server *server = data;
	bool is_shut = false;

	for (;;) {
		grpc_event event =
		    grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		struct server_call *call = event.tag;

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			return NULL;
		if (event.tag == &shutdown_tag) {
			is_shut = true;
			grpc_completion_queue_shutdown(server->queue);
			continue;
		}
		if (call->stage == STAGE_ANSWER || !event.success || is_shut) {
			call_free(call);
		} else if (call->stage == STAGE_ACCEPT) {
			accept_next(server);
			call_read(call);
		} else {
			call_answer(server, call);
		}
	}
}

static grpc_server_credentials *server_credentials(const struct wire_server_tls *tls)
{
	grpc_ssl_pem_key_cert_pair pair;

	if (!tls)
		return grpc_insecure_server_credentials_create();
	pair = (grpc_ssl_pem_key_cert_pair){tls->key, tls->cert};
	return grpc_ssl_server_credentials_create_ex(
	    tls->client_ca, &pair, 1,
	    tls->client_ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
			   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
	    NULL);
}

struct wire_server *wire_server_start(int port, const struct wire_server_tls *tls)
{
	grpc_arg args[] = {
	    {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, .value.integer = -1},
	    {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_ALLOW_REUSEPORT, .value.integer = 0},
	};
	grpc_channel_args all = {.num_args = 2, .args = args};
	struct wire_server *server = calloc(1, sizeof(*server));
	grpc_server_credentials *credentials;
	char address[32];

	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->has_come, NULL);
	grpc_init();
	server->queue = grpc_completion_queue_create_for_next(NULL);
	server->server = grpc_server_create(&all, NULL);
	grpc_server_register_completion_queue(server->server, server->queue, NULL);
	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	credentials = server_credentials(tls);
	server->port = grpc_server_add_http2_port(server->server, address, credentials);
	grpc_server_credentials_release(credentials);
	grpc_server_start(server->server);
	accept_next(server);
	pthread_create(&server->thread, NULL, serve, server);
	return server->port ? server : wire_server_stop(server);
}

int wire_server_port(const struct wire_server *server)
{
	return server->port;
}

void wire_server_answer(struct wire_server *server, const struct wire_server_answer *answer)
{
	pthread_mutex_lock(&server->lock);
	server->answer = *answer;
	pthread_mutex_unlock(&server->lock);
}

struct wire_server_call wire_server_wait(struct wire_server *server, size_t count)
{
	struct wire_server_call call;

	pthread_mutex_lock(&server->lock);
	while (server->count < count)
		pthread_cond_wait(&server->has_come, &server->lock);
	call = server->last;
	pthread_mutex_unlock(&server->lock);
	return call;
}

size_t wire_server_call_count(struct wire_server *server)
{
	size_t count;

	pthread_mutex_lock(&server->lock);
	count = server->count;
	pthread_mutex_unlock(&server->lock);
	return count;
}

struct wire_server *wire_server_stop(struct wire_server *server)
{
	if (!server)
		return NULL;
	grpc_server_shutdown_and_notify(server->server, server->queue, &shutdown_tag);
	grpc_server_cancel_all_calls(server->server);
	pthread_join(server->thread, NULL);
	grpc_server_destroy(server->server);
	grpc_completion_queue_destroy(server->queue);
	grpc_shutdown();
	pthread_cond_destroy(&server->has_come);
	pthread_mutex_destroy(&server->lock);
	free(server);
	return NULL;
}
