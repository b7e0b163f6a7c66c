#include "http_private.h"

#include <string.h>
#include <strings.h>

static const struct refusal bad_uri = { 400, "bad_request",
					"the address is too long, or has a character in it that cannot be" };
static const struct refusal bad_method = { 405, "method_not_allowed",
					   "this server only reads: GET and HEAD" };
static const struct refusal bad_body = { 400, "bad_request", "a request here has no body" };
static const struct refusal no_host = { 400, "bad_request", "the request must name one Host" };
static const struct refusal foreign_host = {
	421, "misdirected",
	"this server listens on this machine alone and answers to localhost, 127.0.0.1 and [::1] only"
};
static const struct refusal foreign_site = { 403, "forbidden",
					     "a page of another site may not read this one" };

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What it decodes to has no control characters either: not NUL, which would cut it, and no line ends. */
bool guard_uri_is_valid(const char *uri)
{
	size_t length = strnlen(uri, URI_MAX + 1);

	if (length > URI_MAX || uri[0] != '/')
		return false;
	for (size_t i = 0; i < length; i++) {
		int high, low;

		if (uri[i] <= ' ' || uri[i] > '~')
			return false;
		if (uri[i] != '%')
			continue;
		high = hex_value(uri[i + 1]);
		low = high < 0 ? -1 : hex_value(uri[i + 2]);
		if (low < 0 || high < 2 || (high == 7 && low == 15))
			return false;
	}
	return true;
}

/*
 * A page of elsewhere whose name is made to point at 127.0.0.1 (DNS rebinding) could read what this
 * server says: its requests carry that name in Host. On any other address the names are not known.
 */
static bool host_is_loopback(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);
		const char *port = host + length;

		if (strncasecmp(host, names[i], length))
			continue;
		if (!*port ||
		    (*port == ':' && strlen(port) <= 6 && strspn(port + 1, "0123456789") == strlen(port + 1)))
			return true;
	}
	return false;
}

struct host_count {
	unsigned count;
	const char *value;
};

static enum MHD_Result count_host(void *user, enum MHD_ValueKind kind, const char *key, const char *value)
{
	struct host_count *host = user;

	(void)kind;
	if (strcasecmp(key, "Host") == 0) {
		host->count++;
		host->value = value ? value : "";
	}
	return MHD_YES;
}

static const struct refusal *check_host(const struct exchange *exchange, const char *version)
{
	struct host_count host = { 0 };

	exchange->http->mhd.get_connection_values(exchange->connection, MHD_HEADER_KIND, count_host, &host);
	/* A probe may speak HTTP/1.0, a browser never does. */
	if (host.count == 0 && strcmp(version, "HTTP/1.0") == 0)
		return NULL;
	if (host.count != 1)
		return &no_host;
	return exchange->http->is_loopback && !host_is_loopback(host.value) ? &foreign_host : NULL;
}

static const char *header(const struct exchange *exchange, const char *name)
{
	return exchange->http->mhd.lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const struct refusal *guard_check(const struct exchange *exchange, const char *url, const char *method,
				  const char *version)
{
	const char *length = header(exchange, "Content-Length"), *site = header(exchange, "Sec-Fetch-Site"),
		   *mode = header(exchange, "Sec-Fetch-Mode");
	const struct refusal *refusal;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return &bad_method;
	if (header(exchange, "Transfer-Encoding") || (length && strcmp(length, "0") != 0))
		return &bad_body;
	if (!exchange->uri_is_valid || strlen(url) > HTTP_PATH_MAX)
		return &bad_uri;
	refusal = check_host(exchange, version);
	if (refusal)
		return refusal;
	/* A link to the dashboard is fine; a script of elsewhere that takes up streams is not. */
	if (site && strcmp(site, "cross-site") == 0 && (!mode || strcmp(mode, "navigate") != 0))
		return &foreign_site;
	return NULL;
}
