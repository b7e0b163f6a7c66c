#pragma once
/*
 * mhd: libmicrohttpd, loaded when it is needed.
 *
 * Linked in, it and the GnuTLS behind it would cost every start of the program 3 ms and 5.5 million
 * instructions (docs/http.md), of which only a server has any use. The types are those of its own header,
 * so a call that does not fit does not compile.
 */
#include <microhttpd.h>

#include "vtddl/error.h"

/* clang-format off */
#define MHD_TABLE_CALLS(call)         \
	call(start_daemon)            \
	call(stop_daemon)             \
	call(queue_response)          \
	call(suspend_connection)      \
	call(resume_connection)       \
	call(create_response_from_buffer)   \
	call(create_response_from_callback) \
	call(destroy_response)        \
	call(add_response_header)     \
	call(lookup_connection_value) \
	call(get_connection_values)   \
	call(get_connection_info)
/* clang-format on */

struct mhd {
/* A member's name cannot stand in brackets. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define MHD_TABLE_MEMBER(name) __typeof__(MHD_##name) *name;
	MHD_TABLE_CALLS(MHD_TABLE_MEMBER)
#undef MHD_TABLE_MEMBER
};

/** mhd_load() - once per process; it stays. Negative with ERROR_CONFIG: what to install */
int must_check mhd_load(struct mhd *ret, struct error *reterr);
