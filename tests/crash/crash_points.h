#pragma once
/*
 * crash_points: what a boundary of the simulator is in the list of the program's crash points
 * (src/base/crash_points.def), and how often each was struck. Included by test_crash_points.c and test_controllers.c.
 *
 * A boundary that has no name in the list fails the test, and so does a name at which nothing was ever struck,
 * but for those that the simulator does not have (elsewhere_points).
 */
#include "sim.h"
#include "workers.h"

#define STRIKES_MAX 3 /* in one run */

#define CRASH_POINT_ROW(name, when) name,
static const char *const crash_points[] = {
#include "../../src/base/crash_points.def"
};
#undef CRASH_POINT_ROW
#define CRASH_POINTS (sizeof(crash_points) / sizeof(crash_points[0]))

/* Points of the real process alone: tests/process/test_kill.py and tests/cli/test_crash.py die there. */
static const char *const elsewhere_points[] = {
	"store-live-after", "store-list-after", "read-start-after", /* to die there is to die before the next call */
	"proof-start-before", "proof-reply",			    /* there is no VTGate in the simulator */
};

/* Shared by all workers of a test program. */
struct crash_counts {
	unsigned runs;
	unsigned struck[STRIKES_MAX][CRASH_POINTS]; /* as the first, second, third of a run */
};

static inline size_t crash_point_index(const char *name)
{
	for (size_t i = 0; i < CRASH_POINTS; i++)
		if (strcmp(crash_points[i], name) == 0)
			return i;
	fail_msg("the boundary '%s' is not in crash_points.def", name);
	return 0;
}

static inline size_t crash_point_of(const struct controller *controller, enum boundary_kind kind)
{
	static const char *const calls[_REQUEST_KIND_MAX] = {
		[REQUEST_STORE_LEASE] = "store-lease",	 [REQUEST_STORE_RELEASE] = "store-release",
		[REQUEST_STORE_LIVE] = "store-live",	 [REQUEST_STORE_LIST] = "store-list",
		[REQUEST_STORE_INSERT] = "store-insert", [REQUEST_STORE_UPDATE] = "store-update",
	};
	const struct sim_held *held = controller->held;
	bool is_rpc = kind == BOUNDARY_RPC_BEFORE || kind == BOUNDARY_RPC_AFTER;
	enum vtctld_method method = kind == BOUNDARY_RPC_AFTER ? held->replies[0].rpc.method : held->requests[0].rpc.method;
	const char *call = is_rpc ? vtctld_method_is_effect(method) ? "effect" : "read" : calls[held->requests[0].kind];
	static const char *const ends[_BOUNDARY_KIND_MAX] = {
		[BOUNDARY_STORE_BEFORE] = "-before", [BOUNDARY_STORE_AFTER] = "-after",
		[BOUNDARY_RPC_BEFORE] = "-start-before", [BOUNDARY_RPC_AFTER] = "-reply",
	};
	char name[64];

	snprintf(name, sizeof(name), "%s%s", call ? call : "?", ends[kind]);
	return crash_point_index(name);
}

static inline void crash_count(struct crash_counts *counts, unsigned strike, size_t point)
{
	__atomic_fetch_add(&counts->struck[strike < STRIKES_MAX ? strike : STRIKES_MAX - 1][point], 1, __ATOMIC_RELAXED);
}

static inline bool crash_point_is_in(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The counts of @strikes, by name; the first @whole of them must each have met every point of the simulator (the others
 * are samples), but for those whose name begins with @without: they are the other program's. */
static inline void crash_counts_check(const struct crash_counts *counts, unsigned strikes, unsigned whole, const char *without)
{
	const size_t elsewhere = sizeof(elsewhere_points) / sizeof(elsewhere_points[0]);

	print_message("%u runs; struck at each point as the first%s:\n", counts->runs,
		      strikes > 2 ? ", second and third" : strikes > 1 ? " and as the second" : "");
	for (size_t i = 0; i < CRASH_POINTS; i++) {
		bool is_without = without && strncmp(without, crash_points[i], strlen(without)) == 0;

		if (crash_point_is_in(elsewhere_points, elsewhere, crash_points[i])) {
			print_message("  %-22s of the real process alone\n", crash_points[i]);
			continue;
		}
		print_message("  %-22s", crash_points[i]);
		for (unsigned strike = 0; strike < strikes; strike++)
			print_message(" %6u", counts->struck[strike][i]);
		print_message("\n");
		for (unsigned strike = 0; strike < whole; strike++)
			if (!counts->struck[strike][i] && !is_without)
				fail_msg("nothing was struck at %s", crash_points[i]);
	}
}
