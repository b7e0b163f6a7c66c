#pragma once
/*
 * error: one error type for the whole program.
 *
 * A function that can fail takes `struct error *reterr` last and returns
 *
 *	   0  done;
 *	 > 0  an answer that its header lists and that the caller must handle;
 *	 < 0  failure: @reterr holds one full sentence, ready to print, that says
 *	      what failed, where, and what to do next.
 *
 * @reterr is untouched unless the result is negative. Nothing below the command
 * line and the loop prints. Out of memory aborts (every abort point is a tested
 * crash point); the size of anything that comes from a peer is bounded first.
 */
#include <stdarg.h>

#include "vtddl/banned.h"

enum error_code {
	ERROR_NONE,
	ERROR_USAGE,       /* wrong words on the command line            exit 64 */
	ERROR_INPUT,       /* bad SQL or other input                     exit 65 */
	ERROR_UNAVAILABLE, /* the peer cannot be reached                 exit 69 */
	ERROR_BUG,         /* cannot happen; identity mismatch           exit 70 */
	ERROR_CONFIG,      /* bad configuration                          exit 78 */
	ERROR_AUTH,        /* credentials or certificate refused         exit 77 */
	ERROR_STORE,       /* the store cannot be used                   exit 74 */
	ERROR_BLOCKED,     /* unsafe, or refused without an override     exit 3  */
	ERROR_PROTOCOL,    /* the peer answered something unreadable     exit 7  */
	ERROR_WAITING,	   /* something else must end first              exit 5  */
	_ERROR_MAX
};

#define ERROR_TEXT_MAX 1024

struct error {
	enum error_code code;
	int detail; /* grpc status, sqlite code or errno, as @code says; else 0 */
	char text[ERROR_TEXT_MAX];
};

#define must_check __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define cleanup(f) __attribute__((cleanup(f)))

/**
 * error_set() - describe a failure
 * @err:	may be NULL: then nothing is stored
 * @code:	what kind of failure
 * @format:	one full sentence without a closing full stop
 *
 * Return: always -1, so that a caller can write `return error_set(...)`.
 */
int error_set(struct error *err, enum error_code code, const char *format, ...) printf_like(3, 4);

/** error_set_detail() - error_set() that also keeps a number of the failing library */
int error_set_detail(struct error *err, enum error_code code, int detail, const char *format, ...)
	printf_like(4, 5);

/**
 * error_prefix() - put the caller's context in front of a text that is set already
 *
 * Return: always -1.
 */
int error_prefix(struct error *err, const char *format, ...) printf_like(2, 3);

/** error_exit_code() - the exit code of conventions (docs/exit-codes.md) for @code */
int error_exit_code(enum error_code code);
