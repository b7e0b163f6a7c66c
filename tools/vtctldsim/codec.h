#pragma once
/*
 * codec: the messages of vtctlservice.Vtctld, server side: bytes to a request of the model, its
 * reply to bytes. Written apart from vtddl's own codec, so that one checks the other.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/arena.h"
#include "vtddl/vtctld.h"

struct codec_method;

struct codec_call {
	const struct codec_method *method;
	struct vtctld_request request; /* strings in the call's arena; tag and timeout are the server's */
	int status;		       /* GetSchemaMigrations: only these; 0: all */
	bool descending;	       /* GetSchemaMigrations */
	int tablet_type;	       /* GetTablets: only these; 0: all */
	const char *shard;	       /* GetTablets: only this; "": all */
	bool include_views;	       /* GetSchema */
	const char *refusal;	       /* the request is none the model can answer: code 2 with this text */
};

/** codec_find() - the method of a path "/vtctlservice.Vtctld/ApplySchema"; NULL: not known */
const struct codec_method *codec_find(const char *path);

/** codec_decode() - false: the bytes are no such message */
bool codec_decode(const struct codec_method *method, const uint8_t *bytes, size_t length, struct arena *arena,
		  struct codec_call *ret);

/** codec_encode() - bytes of a good reply, in @arena */
const uint8_t *codec_encode(const struct codec_call *call, const struct vtctld_reply *reply,
			    struct arena *arena, size_t *ret_length);
