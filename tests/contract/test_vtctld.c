/*
 * Goal: what vtddl relies on in a vtctld holds on a real one, and the simulator does the same.
 * Method: one suite, over the real client (wire.h), for whatever server CONTRACT_SERVER names. Each test
 * names the section of docs/facts/vitess-measured.md that it holds to. Where the two differ, Vitess is right.
 *
 *	CONTRACT_SERVER=127.0.0.1:15999 CONTRACT_KEYSPACE=commerce CONTRACT_SHARDS=-80,80- test_vtctld
 *[TOPIC...]
 *
 * CONTRACT_ONLY is a pattern for the names of the tests, with * and ?.
 */
#include "vtctld_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define SKIPPED 77

static const struct topic {
	const char *name;
	int (*run)(void);
} topics[] = {
	{ "submit", contract_submit }, { "hold", contract_hold },     { "cancel", contract_cancel },
	{ "read", contract_read },     { "errors", contract_errors },
};
#define TOPIC_COUNT (sizeof(topics) / sizeof(topics[0]))

static const struct topic *topic_find(const char *name)
{
	for (size_t i = 0; i < TOPIC_COUNT; i++)
		if (strcmp(topics[i].name, name) == 0)
			return &topics[i];
	fprintf(stderr, "contract: no topic \"%s\"\n", name);
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (!contract_open()) {
		puts("skipped: CONTRACT_SERVER is not set");
		return SKIPPED;
	}
	if (getenv("CONTRACT_ONLY"))
		cmocka_set_test_filter(getenv("CONTRACT_ONLY"));
	for (int i = 1; i < argc; i++)
		failed += topic_find(argv[i])->run();
	for (size_t i = 0; argc == 1 && i < TOPIC_COUNT; i++)
		failed += topics[i].run();
	contract_close();
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
