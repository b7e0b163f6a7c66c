#include "peer.h"

#include <limits.h>
#include <stdio.h>

#include "scan.h"

#define KEEPALIVE_TIME_MS 30000
#define KEEPALIVE_TIMEOUT_MS 10000
#define MESSAGE_SIZE_MAX (1024 * 1024 * 1024)

static void config_copy(const struct wire_config *config, struct peer *peer)
{
	const char **texts[] = {
	    &peer->config.server,
	    &peer->config.grpc_ca,
	    &peer->config.grpc_cert,
	    &peer->config.grpc_key,
	    &peer->config.grpc_crl,
	    &peer->config.grpc_server_name,
	    &peer->config.auth_static_client_creds,
	};

	peer->config = *config;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		*texts[i] = arena_strdup(&peer->arena, *texts[i]);
	if (!peer->config.keepalive_time_ms)
		peer->config.keepalive_time_ms = KEEPALIVE_TIME_MS;
	if (!peer->config.keepalive_timeout_ms)
		peer->config.keepalive_timeout_ms = KEEPALIVE_TIMEOUT_MS;
	if (!peer->config.max_message_size)
		peer->config.max_message_size = scan_limits_default.total_bytes;
}

static int config_check(const struct wire_config *config, struct error *reterr)
{
	if (config->keepalive_time_ms < 0 || config->keepalive_time_ms > INT_MAX ||
	    config->keepalive_timeout_ms < 0 || config->keepalive_timeout_ms > INT_MAX)
		return error_set(reterr, ERROR_CONFIG, "the keepalive times must lie between 0 and %d ms",
				 INT_MAX);
	if (config->max_message_size > MESSAGE_SIZE_MAX)
		return error_set(reterr, ERROR_CONFIG,
				 "--grpc-max-message-size is %zu, more than 1 GiB is not allowed",
				 config->max_message_size);
	return 0;
}

int peer_load(const struct wire_config *config, struct peer *ret, struct error *reterr)
{
	struct address address;

	*ret = (struct peer){0};
	if (address_parse(config->server, &address, reterr) < 0 || config_check(config, reterr) < 0)
		return -1;
	config_copy(config, ret);
	snprintf(ret->target, sizeof(ret->target), "%s", address.target);
	if (credentials_load(&ret->config, address.is_loopback, &ret->credentials, reterr) < 0) {
		peer_wipe(ret);
		return -1;
	}
	return 0;
}

void peer_wipe(struct peer *peer)
{
	credentials_wipe(&peer->credentials);
	arena_release(&peer->arena);
}
