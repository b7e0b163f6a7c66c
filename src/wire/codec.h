#pragma once
/*
 * codec: requests to bytes, bytes to replies, through protobuf-c.
 *
 * The bytes of an answer are scanned (scan.h) before they are unpacked, and unpacked into
 * the caller's arena: texts of a reply point into the unpacked message. The rows of
 * GetSchemaMigrations are read without unpacking (rows.h). What is decoded is bounded and
 * well-formed; whether it makes sense is for core to judge.
 */
#include <stddef.h>
#include <stdint.h>

#include "scan.h"
#include "vtddl/vtctld.h"

/** codec_path() - "/vtctlservice.Vtctld/ApplySchema", in @ret of CODEC_PATH_SIZE bytes */
#define CODEC_PATH_SIZE 96
void codec_path(enum vtctld_method method, char ret[CODEC_PATH_SIZE]);

/** codec_request() - the bytes of a request, to be freed by the caller */
uint8_t *codec_request(const struct vtctld_request *request, size_t *ret_length);

/**
 * codec_reply() - decode an answer
 * @reply:	its method says what the bytes are; the part for that method is filled
 *
 * Return: 0; negative with ERROR_PROTOCOL, and the reply must not be read as DONE.
 */
int must_check codec_reply(struct arena *arena, const struct scan_limits *limits, const uint8_t *bytes,
			   size_t length, struct vtctld_reply *reply, struct error *reterr);
