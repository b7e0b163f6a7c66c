/*
 * Goal: rows read straight from the wire are those that protobuf-c reads, for any bytes whatever.
 * Method: of every input (tests/unit/wire_reference.h):
 *
 *  - what protobuf-c or the scan refuses is refused, with a reason;
 *  - what both take is taken alike, field by field;
 *  - it is refused alone only where that is meant: a cell too long, too many rows.
 */
#include "fuzz.h"
#include "wire_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = fuzz_copy(bytes, length, false);
	const char *what;

	what = reference_check(exact, length, NULL);
	free(exact);
	fuzz_check(!what, "not alike: %s", what);
	return 0;
}
