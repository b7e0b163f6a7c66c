/*
 * Goal: rows read straight from the wire are those that protobuf-c reads, for any bytes whatever.
 * Method: libFuzzer where the compiler is clang; else, and in the test suite, a plain main()
 * that runs the files it is given. Of every input (tests/unit/wire_reference.h):
 *
 *  - what protobuf-c or the scan refuses is refused, with a reason;
 *  - what both take is taken alike, field by field;
 *  - it is refused alone only where that is meant: a cell too long, too many rows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	/* Of the exact size: a byte too many is seen by AddressSanitizer. */
	uint8_t *exact = malloc(length ? length : 1);
	const char *what;

	if (!exact)
		abort();
	if (length)
		memcpy(exact, bytes, length);
	what = reference_check(exact, length, NULL);
	free(exact);
	if (what) {
		fprintf(stderr, "not alike: %s\n", what);
		abort();
	}
	return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		static uint8_t bytes[1 << 20];
		FILE *file = fopen(argv[i], "rb");
		size_t length;

		if (!file) {
			perror(argv[i]);
			return 1;
		}
		length = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		LLVMFuzzerTestOneInput(bytes, length);
	}
	if (argc == 1) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 1;
	}
	return 0;
}
#endif
