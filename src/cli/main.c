#include "command.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	int code = command_main(argc, argv);

#ifdef __SANITIZE_ADDRESS__
	return code; /* the search for leaks is run by exit() */
#else
	/* All is closed or of no importance (session_leave()), and what was printed is flushed: the destructors of
	 * some sixty libraries have nothing to do, and must not run beside a thread of gRPC. */
	quick_exit(code);
#endif
}
