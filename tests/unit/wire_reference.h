#pragma once
/*
 * wire_reference: rows of GetSchemaMigrations the long way round, to hold src/wire/rows.c against.
 *
 * protobuf-c unpacks the whole tree, scan.c checks the bytes, and a plain conversion makes
 * struct migration of it. Shares no code with rows.c but the check of texts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/vtctld.h"

/** reference_decode() - the rows, in @arena. Return: false, protobuf-c or the scan refuses the bytes */
bool reference_decode(struct arena *arena, const uint8_t *bytes, size_t length, struct migration **ret,
		      size_t *ret_count);

/** reference_difference() - the first member in which two rows differ; NULL: none */
const char *reference_difference(const struct migration *a, const struct migration *b);

struct reference_tally {
	size_t accepted, refused; /* by both */
};

/**
 * reference_check() - decodes @bytes both ways
 * @tally:	may be NULL
 *
 * Return: NULL, the two agree; else what they do not agree on.
 */
const char *reference_check(const uint8_t *bytes, size_t length, struct reference_tally *tally);
