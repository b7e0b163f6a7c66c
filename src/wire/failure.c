#include "failure.h"

#include <string.h>

#include "scan.h"
#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

#define TEXT_MAX (2 * 1024 * 1024) /* more than the metadata limit lets in */

enum { /* grpc status codes; only wire.c includes <grpc/...> */
       CODE_OK = 0,
       CODE_INVALID_ARGUMENT = 3,
       CODE_DEADLINE_EXCEEDED = 4,
       CODE_PERMISSION_DENIED = 7,
       CODE_RESOURCE_EXHAUSTED = 8,
       CODE_UNIMPLEMENTED = 12,
       CODE_UNAVAILABLE = 14,
       CODE_UNAUTHENTICATED = 16,
};

enum vtctld_outcome failure_outcome(int code)
{
	switch (code) {
	case CODE_OK:
		return VTCTLD_DONE;
	case CODE_INVALID_ARGUMENT:
	case CODE_PERMISSION_DENIED:
	case CODE_UNIMPLEMENTED:
	case CODE_UNAUTHENTICATED:
		return VTCTLD_REFUSED;
	default:
		return VTCTLD_UNKNOWN;
	}
}

char *failure_clean(struct arena *arena, const char *text, size_t length)
{
	bool is_clean = scan_text_is_clean((const uint8_t *)text, length);
	char *copy = arena_memdup(arena, text, length);

	if (!copy || is_clean)
		return copy;
	for (size_t i = 0; i < length; i++)
		if (!copy[i] || (unsigned char)copy[i] >= 0x80)
			copy[i] = '?';
	return copy;
}

static void add_date(struct strbuf *buf, int64_t time_s)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(time_s * 1000, text);
	strbuf_addf(buf, "%.10s %.8s UTC", text, text + 11);
}

static bool is_dated_wrong(const struct certificate_dates *dates, int64_t now_s)
{
	return dates->not_after_s && (dates->not_after_s < now_s || dates->not_before_s > now_s);
}

/* Says it only where a file of ours is the likely cause. */
static void add_dates(struct strbuf *buf, const char *what, const char *path,
		      const struct certificate_dates *dates, int64_t now_s)
{
	bool is_over = dates->not_after_s < now_s;

	if (!path || !is_dated_wrong(dates, now_s))
		return;
	strbuf_addf(buf, "; the %s %s %s ", what, path, is_over ? "expired on" : "is valid only from");
	add_date(buf, is_over ? dates->not_after_s : dates->not_before_s);
}

static void add_own_dates(struct strbuf *buf, const struct failure *failure)
{
	add_dates(buf, "CA certificate", failure->config->grpc_ca, &failure->credentials->ca_dates,
		  failure->now_s);
	add_dates(buf, "client certificate", failure->config->grpc_cert, &failure->credentials->cert_dates,
		  failure->now_s);
}

/* ---- No connection ---- */

enum transport { ANY, PLAIN, TLS };

/* The first row whose marker is in the library's text says what it means. */
static const struct {
	const char *marker;
	enum transport transport;
	const char *meaning;
	bool is_about_certificates;
	bool is_certain; /* ... and nothing else can be meant */
} causes[] = {
    {"Connection refused", ANY, "connection refused: nothing listens there", false},
    {"wrong version number", TLS,
     "the server does not speak TLS on this port: leave the --vtctld-grpc-... files out or use its TLS port",
     false},
    {"certificate verify failed", TLS,
     "the server's certificate was not accepted: it was issued by an authority that --vtctld-grpc-ca does "
     "not hold, or it has expired",
     true, true},
    {"is not in peer certificate", TLS,
     "the server's certificate is for another name: --vtctld-grpc-server-name says which one to expect",
     true, true},
    {"Endpoint read failed", TLS,
     "the server ended the TLS handshake: most often it did not accept the client certificate (none given, "
     "expired, or of an authority it does not know)",
     true},
    {"Socket closed", TLS,
     "the server ended the connection: most often it did not accept the client certificate (none given, "
     "expired, or of an authority it does not know)",
     true},
    {"Ssl handshake failed", TLS, "the TLS handshake failed", true},
    {"Socket closed", PLAIN, "the server closed the connection at once: it may want TLS (--vtctld-grpc-ca)",
     false},
    {"Endpoint read failed", PLAIN,
     "the server closed the connection at once: it may want TLS (--vtctld-grpc-ca)", false},
    {"DNS resolution failed", ANY, "the name cannot be resolved", false},
    {"No route to host", ANY, "no route to host", false},
    {"Network is unreachable", ANY, "the network is unreachable", false},
    {"imeout", ANY, "the connection was not accepted in time", false},
    {"imed out", ANY, "the connection was not accepted in time", false},
};

/* What only a connection that was never made is said to be. */
static bool is_connect_failure(const char *details)
{
	return strstr(details, "failed to connect to all addresses") ||
	       strstr(details, "DNS resolution failed") || strstr(details, "empty address list");
}

/* Return: the index of the row that explains @details; the number of rows where none does. */
static size_t cause_find(const struct failure *failure, const char *details)
{
	enum transport transport = credentials_use_tls(failure->config) ? TLS : PLAIN;
	size_t i = 0;

	while (i < sizeof(causes) / sizeof(causes[0]) &&
	       (!strstr(details, causes[i].marker) ||
		(causes[i].transport != ANY && causes[i].transport != transport)))
		i++;
	return i;
}

static void add_connect_failure(struct strbuf *buf, const struct failure *failure, const char *details)
{
	size_t i = cause_find(failure, details);

	strbuf_addf(buf, "cannot connect to %s: ", failure->config->server);
	if (i == sizeof(causes) / sizeof(causes[0])) {
		strbuf_adds(buf, details);
		return;
	}
	strbuf_adds(buf, causes[i].meaning);
	if (causes[i].is_about_certificates)
		add_own_dates(buf, failure);
	if (!strstr(causes[i].meaning, "refused"))
		strbuf_addf(buf, " (%s)", details);
}

/* ---- The rest ---- */

static void add_deadline(struct strbuf *buf, const struct failure *failure)
{
	strbuf_addf(buf,
		    failure->is_connected ? "no answer to %s from %s within %.1f s"
					  : "no connection for %s to %s within %.1f s",
		    vtctld_method_name(failure->method), failure->config->server,
		    (double)failure->timeout_ms / 1000.0);
}

static void add_auth(struct strbuf *buf, const struct failure *failure, const char *details)
{
	const char *file = failure->config->auth_static_client_creds;

	strbuf_addf(buf, "%s refuses these credentials (%s%s): %s", failure->config->server,
		    file ? "user and password of " : "no --grpc-auth-static-client-creds is set",
		    file ? file : "", details);
	add_dates(buf, "client certificate", failure->config->grpc_cert, &failure->credentials->cert_dates,
		  failure->now_s);
}

/* Return: false where the words of the status are enough. */
static bool add_explained(struct strbuf *buf, const struct failure *failure, const char *details)
{
	switch (failure->code) {
	case CODE_UNAVAILABLE:
		if (failure->is_connected)
			return false;
		if (is_connect_failure(details))
			add_connect_failure(buf, failure, details);
		else
			strbuf_addf(buf, "the connection to %s was lost: %s", failure->config->server,
				    details);
		return true;
	case CODE_DEADLINE_EXCEEDED:
		if (strcmp(details, "Deadline Exceeded")) /* the library's text */
			return false;
		add_deadline(buf, failure);
		return true;
	case CODE_PERMISSION_DENIED:
	case CODE_UNAUTHENTICATED:
		add_auth(buf, failure, details);
		return true;
	case CODE_UNIMPLEMENTED:
		strbuf_addf(buf,
			    "%s does not know %s (is it vtctld, with grpc-vtctld in its --service-map?): %s",
			    failure->config->server, vtctld_method_name(failure->method), details);
		return true;
	case CODE_RESOURCE_EXHAUSTED:
		if (!strstr(details, "Received message larger than max")) /* the library's text */
			return false;
		strbuf_addf(buf, "the answer to %s is too large to be read%s: %s",
			    vtctld_method_name(failure->method),
			    vtctld_method_is_effect(failure->method) ? ", though the call was carried out"
								     : "",
			    details);
		return true;
	default:
		return false;
	}
}

const char *failure_text(struct arena *arena, const struct failure *failure)
{
	const char *details = failure_clean(arena, failure->details, failure->details_length);
	struct strbuf buf;
	const char *text;

	if (!details)
		return "the text of the failure needs more memory than is allowed";
	strbuf_init(&buf, TEXT_MAX);
	if (!add_explained(&buf, failure, details)) {
		strbuf_adds(&buf, details);
		if (!*details)
			strbuf_addf(&buf, "%s failed with code %d and no text",
				    vtctld_method_name(failure->method), failure->code);
	}
	text = arena_memdup(arena, buf.text, buf.length);
	strbuf_release(&buf);
	return text ? text : "the text of the failure needs more memory than is allowed";
}

bool failure_is_about_certificates(const struct failure *failure)
{
	struct arena arena cleanup(arena_release);
	const char *details;
	size_t i;

	arena_init(&arena, TEXT_MAX);
	details = failure_clean(&arena, failure->details, failure->details_length);
	if (failure->code != CODE_UNAVAILABLE || failure->is_connected || !details || !is_connect_failure(details))
		return false;
	i = cause_find(failure, details);
	return i < sizeof(causes) / sizeof(causes[0]) && causes[i].is_about_certificates &&
	       (causes[i].is_certain || is_dated_wrong(&failure->credentials->cert_dates, failure->now_s) ||
		is_dated_wrong(&failure->credentials->ca_dates, failure->now_s));
}
