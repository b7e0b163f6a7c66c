#pragma once
/*
 * decode: unpacked answers of vtctld to the plain values of vtctld.h.
 *
 * Texts stay where protobuf-c put them; only what needs another shape is copied, into the
 * same arena. Absent sub-messages are tolerated: they become zero values.
 */
#include <protobuf-c/protobuf-c.h>

#include "vtddl/error.h"
#include "vtddl/vtctld.h"

/* @message is of the method's output type. Return: 0; negative with ERROR_PROTOCOL. */
typedef int decode_fn(struct arena *arena, const ProtobufCMessage *message, struct vtctld_reply *reply,
		      struct error *reterr);

decode_fn decode_keyspaces;
decode_fn decode_shards;
decode_fn decode_tablets;
decode_fn decode_query_result;
decode_fn decode_definitions;
decode_fn decode_throttler;
decode_fn decode_apply_schema;
decode_fn decode_complete;
decode_fn decode_cancel;
