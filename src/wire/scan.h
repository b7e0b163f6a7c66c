#pragma once
/*
 * scan: looks over the bytes of an answer before protobuf-c unpacks them.
 *
 * protobuf-c believes what it reads: an empty row of 2 bytes becomes a struct of 400, a
 * text with a NUL inside looks shorter than it is, a sub-message that comes twice is merged
 * in quadratic time. So nothing is unpacked that has not passed here. The scan walks by
 * protobuf-c's own descriptors, allocates nothing and adds up what unpacking will take.
 *
 * It never judges meaning: unknown fields, unknown enum values, absent fields and
 * repeated map keys pass.
 */
#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/error.h"

struct scan_limits {
	size_t total_bytes;	/* of the whole message */
	size_t text_bytes;	/* of one string or bytes field */
	size_t long_text_bytes; /* of the fields listed in scan.c: CREATE statements, rows */
	size_t messages;	/* sub-messages in all */
	size_t rows;		/* of GetSchemaMigrations (rows.h) */
	size_t depth;		/* 1: no sub-message */
	size_t tree_bytes;	/* what decoding allocates, at most */
};

extern const struct scan_limits scan_limits_default;

/**
 * scan_message() - whether @bytes is a well-formed message within the limits
 * @ret_tree_bytes:	an upper bound of what unpacking will allocate
 *
 * Return: 0; negative with ERROR_PROTOCOL saying which field, at which byte, and why.
 */
int must_check scan_message(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t length,
			    const struct scan_limits *limits, size_t *ret_tree_bytes, struct error *reterr);

/** scan_text_is_clean() - valid UTF-8 without a NUL */
bool scan_text_is_clean(const uint8_t *text, size_t length);
