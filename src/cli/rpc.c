#include "rpc.h"

#include <assert.h>

#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

/* A reply always comes; this only bounds one wait. */
#define WAIT_MS 1000

void rpc_call_all(struct wire *wire, struct vtctld_request *requests, size_t count, struct arena *arena,
		  struct vtctld_reply *replies)
{
	struct vtctld_reply reply;

	for (size_t i = 0; i < count; i++) {
		requests[i].tag = i + 1;
		wire_start(wire, &requests[i], arena);
	}
	for (size_t left = count; left;) {
		if (!wire_next(wire, clock_monotonic_ms() + WAIT_MS, &reply))
			continue;
		assert(reply.tag >= 1 && reply.tag <= count);
		replies[reply.tag - 1] = reply;
		left--;
	}
}

/* What a gRPC status means for a read. */
static const struct {
	int code;
	enum error_code error;
	const char *advice;
} meanings[] = {
	{ 4, ERROR_UNAVAILABLE,
	  "; nothing answered in time: is a primary or vtctld itself down? try `vtddl doctor`" },
	{ 7, ERROR_AUTH, "; check --grpc-auth-static-client-creds" },
	{ 14, ERROR_UNAVAILABLE, "; check --server and the TLS flags, and that vtctld runs" },
	{ 16, ERROR_AUTH, "; check --grpc-auth-static-client-creds and the --vtctld-grpc-... files" },
};

int rpc_error(const struct vtctld_reply *reply, struct error *reterr)
{
	enum error_code code = ERROR_PROTOCOL;
	const char *advice = "";
	struct strbuf text cleanup(strbuf_release);

	for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
		if (meanings[i].code == reply->code) {
			code = meanings[i].error;
			advice = meanings[i].advice;
		}
	}
	strbuf_init(&text, 800);
	strbuf_add_shown(&text, reply->text, 500);
	return error_set_detail(reterr, code, reply->code, "%s failed: %s (code %d)%s",
				vtctld_method_name(reply->method), text.text, reply->code, advice);
}

int rpc_call(struct wire *wire, struct vtctld_request *request, struct arena *arena, struct vtctld_reply *ret,
	     struct error *reterr)
{
	rpc_call_all(wire, request, 1, arena, ret);
	return ret->outcome == VTCTLD_DONE ? 0 : rpc_error(ret, reterr);
}
