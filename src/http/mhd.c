#include "mhd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* The interface that <microhttpd.h> describes; Debian 12 and 13 both have it under this name. */
#define LIBRARY "libmicrohttpd.so.12"

static const struct {
	const char *name;
	size_t offset;
} calls[] = {
#define MHD_TABLE_ROW(call) { "MHD_" #call, offsetof(struct mhd, call) },
	MHD_TABLE_CALLS(MHD_TABLE_ROW)
#undef MHD_TABLE_ROW
};

int mhd_load(struct mhd *ret, struct error *reterr)
{
	/* Never closed: GnuTLS keeps state of its own for the life of the process. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library)
		return error_set(
			reterr, ERROR_CONFIG,
			"the HTTP server needs %s: %s; install libmicrohttpd12, or give --http off",
			LIBRARY, dlerror());
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *call = dlsym(library, calls[i].name);

		if (!call)
			return error_set(
				reterr, ERROR_CONFIG,
				"%s has no %s: it is another version than 0.9.75 or later; install libmicrohttpd12",
				LIBRARY, calls[i].name);
		memcpy((char *)ret + calls[i].offset, &call, sizeof(call));
	}
	return 0;
}
