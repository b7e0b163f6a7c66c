#pragma once
/*
 * identity: names of a change, made from what it is.
 *
 *	context = ddl-<keyspace>-<16 hex of SHA-256(keyspace, normal form)>-g<generation>
 *	uuid    = 128 bits of SHA-256(label, keyspace, normal form, generation), RFC 9562
 *	          version 8, lower-case hex with underscores
 *
 * Vitess takes the caller's uuid and treats a second ApplySchema with the same uuid and
 * the same explicit context as a repeat (go/vt/vttablet/onlineddl/executor.go,
 * SubmitMigration; measured on 24.0.4). The generation is in both names because Vitess
 * marks a migration complete without doing it when a complete one with the same context
 * and statement exists ("duplicate DDL as").
 */
#include "vtddl/change.h"

/**
 * identity_derive() - fill keyspace, ddl_sha256, uuid, context and generation of @change
 * @normal:	normal form of the statement (ddl.h)
 * @generation:	1 or more
 */
void identity_derive(struct change *change, const char *keyspace, const char *normal,
		     uint32_t generation);

/** identity_context_prefix() - context of any generation without its number: "ddl-ks-0123456789abcdef-g" */
void identity_context_prefix(const struct change *change, char ret[CONTEXT_MAX + 1]);

/** identity_context_generation() - generation in a context with that prefix; 0: not one of ours */
uint32_t identity_context_generation(const char *prefix, const char *context);

/* The grammars of names that come from people or from the fleet. All are ASCII and
 * refuse the word "all" in any case where Vitess gives it a meaning. */
bool keyspace_is_valid(const char *name);	 /* [A-Za-z0-9_-]{1,64}, not "all" */
bool shard_name_is_valid(const char *name);	 /* "0", "-", "-80", "80-c0", any [0-9A-Za-z_-]{1,64} */
bool uuid_is_valid(const char *text);		 /* 8_4_4_4_12, lower-case hex only */
bool context_is_valid(const char *text);	 /* [A-Za-z0-9_:-]{1,128} */
bool cluster_is_valid(const char *text);	 /* [A-Za-z0-9_.-]{1,64} */
