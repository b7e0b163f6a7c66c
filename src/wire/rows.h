#pragma once
/*
 * rows: the rows of a GetSchemaMigrationsResponse, from the bytes straight to struct migration.
 *
 * The one answer that is large: a keyspace has a row for each change and shard, and it is read
 * at each poll. So it is not unpacked into protobuf-c's tree. One walk over the bytes, led by
 * tables, checks what scan.c checks of other answers and fills the rows. A text that the last
 * row of the same change has too (all but the shard's own) is not copied again: rows share it.
 *
 * As protobuf demands: of a field that comes twice the last one holds, a sub-message that comes
 * twice is merged, unknown fields are skipped, absent ones are "" or zero.
 */
#include <stddef.h>
#include <stdint.h>

#include "scan.h"
#include "vtddl/vtctld.h"

/**
 * rows_decode() - check and decode
 * @ret:	never NULL where there is no row; lives in @arena, with the texts
 *
 * What the arena gives is bounded by the limits: rows, tree_bytes.
 *
 * Return: 0; negative with ERROR_PROTOCOL saying which field, at which byte, and why.
 */
int must_check rows_decode(struct arena *arena, const struct scan_limits *limits, const uint8_t *bytes,
			   size_t length, struct migration **ret, size_t *ret_count, struct error *reterr);
