#include "channel.h"

#include <grpc/grpc_security.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/clock.h"

#define METADATA_MAX (1024 * 1024) /* error texts of vtctld travel as metadata */

static grpc_channel_credentials *channel_credentials(const struct peer *peer)
{
	grpc_ssl_pem_key_cert_pair pair = {peer->credentials.key, peer->credentials.cert};

	if (!credentials_use_tls(&peer->config))
		return grpc_insecure_credentials_create();
	return grpc_ssl_credentials_create(peer->credentials.ca, peer->credentials.cert ? &pair : NULL, NULL,
					   NULL);
}

static void secret_free(void *text)
{
	explicit_bzero(text, strlen(text));
	free(text);
}

/* A copy that is wiped when the last has let it go: the library may hold it longer than the call lasts. */
static grpc_slice secret_slice(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (!text)
		return grpc_empty_slice();
	if (!copy)
		abort();
	return grpc_slice_new_with_user_data(copy, strlen(copy), secret_free, copy);
}

static grpc_arg number_arg(const char *key, size_t value)
{
	return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = (int)value};
}

static grpc_channel *library_channel(const struct peer *peer)
{
	const struct wire_config *config = &peer->config;
	grpc_arg args[] = {
	    number_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, config->max_message_size),
	    number_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, config->max_message_size),
	    number_arg(GRPC_ARG_MAX_METADATA_SIZE, METADATA_MAX),
	    number_arg(GRPC_ARG_ENABLE_RETRIES, 0),
	    number_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
	    number_arg(GRPC_ARG_ENABLE_HTTP_PROXY, config->use_http_proxy),
	    number_arg(GRPC_ARG_KEEPALIVE_TIME_MS, (size_t)config->keepalive_time_ms),
	    number_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, (size_t)config->keepalive_timeout_ms),
	    number_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0),
	    number_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 500),
	    number_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000), /* how long one attempt may take */
	    number_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 10000),
	    /* Connections and back-off are this channel's own. */
	    number_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
	    /* A packed answer could unpack to any size: only plain ones are taken. */
	    number_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
	    number_arg(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1),
	    {.type = GRPC_ARG_STRING,
	     .key = (char *)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
	     .value.string = (char *)config->grpc_server_name}, /* last: left out where not set */
	};
	size_t count = sizeof(args) / sizeof(args[0]) - !config->grpc_server_name;
	grpc_channel_args all = {.num_args = count, .args = args};
	grpc_channel_credentials *credentials = channel_credentials(peer);
	grpc_channel *channel = grpc_channel_create(peer->target, credentials, &all);

	grpc_channel_credentials_release(credentials);
	return channel;
}

/* ---- Connections ---- */

static struct connection *connection_open(const struct peer *peer)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		abort();
	connection->channel = library_channel(peer);
	connection->users = 1;
	return connection;
}

struct connection *connection_use(struct connection *connection)
{
	connection->users++;
	return connection;
}

void connection_unuse(struct connection *connection)
{
	if (--connection->users)
		return;
	grpc_channel_destroy(connection->channel);
	free(connection);
}

/* ---- Channels ---- */

struct channel *channel_open(const struct peer *peer)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		abort();
	channel->peer = *peer;
	channel->limits = scan_limits_default;
	channel->limits.total_bytes = peer->config.max_message_size;
	channel->connection = connection_open(peer);
	channel->username = secret_slice(peer->credentials.username);
	channel->password = secret_slice(peer->credentials.password);
	channel->silence_ms = peer->config.keepalive_time_ms + peer->config.keepalive_timeout_ms;
	channel->users = 1;
	return channel;
}

struct channel *channel_use(struct channel *channel)
{
	channel->users++;
	return channel;
}

void channel_unuse(struct channel *channel)
{
	if (--channel->users)
		return;
	connection_unuse(channel->connection);
	grpc_slice_unref(channel->username);
	grpc_slice_unref(channel->password);
	peer_wipe(&channel->peer);
	free(channel);
}

bool channel_is_connected(const struct channel *channel)
{
	return grpc_channel_check_connectivity_state(channel->connection->channel, 0) == GRPC_CHANNEL_READY;
}

void channel_connect(struct channel *channel)
{
	grpc_channel_check_connectivity_state(channel->connection->channel, 1);
}

void channel_call_ended(struct channel *channel, const struct connection *connection, int64_t began_ms,
			bool is_silence)
{
	int64_t now_ms = clock_monotonic_ms();

	if (connection != channel->connection)
		return;
	if (!is_silence) {
		channel->heard_ms = now_ms;
		channel->silent_since_ms = 0;
		return;
	}
	if (!channel->silent_since_ms)
		channel->silent_since_ms = began_ms > channel->heard_ms ? began_ms : channel->heard_ms;
	if (now_ms - channel->silent_since_ms < channel->silence_ms || !channel_is_connected(channel))
		return;
	connection_unuse(channel->connection);
	channel->connection = connection_open(&channel->peer);
	channel->heard_ms = now_ms;
	channel->silent_since_ms = 0;
	channel_connect(channel); /* an effect is not sent before that */
}
