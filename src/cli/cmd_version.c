#include "command.h"

#include <stdio.h>

#include "json.h"
#include "output.h"
#include "version.h"

int cmd_version(const struct call *call)
{
	json_t *object;

	(void)call;
	if (!output_is_json()) {
		printf("vtddl %s (commit %s)\nbuilt with %s\n", VTDDL_VERSION, VTDDL_COMMIT, LIBRARIES);
		return EXIT_DONE;
	}
	object = json_object_of("version");
	json_object_set_new(object, "version", json_text(VTDDL_VERSION));
	json_object_set_new(object, "commit", json_text(VTDDL_COMMIT));
	json_object_set_new(object, "libraries", json_text(LIBRARIES));
	json_print(object);
	return EXIT_DONE;
}
