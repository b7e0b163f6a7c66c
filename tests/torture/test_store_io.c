/*
 * Goal: whatever a disk does at whichever operation of SQLite, a change is neither lost nor done twice, and the
 * same command run again takes it to its end.
 * Method: for every n the n-th operation that a fault fits fails, once or from then on, or the process dies there,
 * or the power fails there, while the shipped engine takes a whole change through the shipped SQLite store. A death
 * that leaves what another one has left, at the same moment, is not followed again.
 *
 *	test_store_io [SCENARIO [MODE [N]]]	all; those of one; one alone
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim_disk.h"
#include "torture.h"
#include "workers.h"

#define MINUTE_MS (60 * 1000LL)
#define N_MAX 20000
#define REPAIRED_MS (3 * MINUTE_MS) /* so long a disk stays broken */
#define COMMANDS_MAX 4

#define ONLY(op) (1u << (op))

static const struct mode {
	const char *name;
	enum disk_fault fault;
	bool lasts;
	unsigned ops; /* 0: all that it fits */
	bool power;
	enum disk_loss loss;
} modes[] = {
	{ "error", DISK_ERROR, false, 0, false, 0 },
	{ "error-lasting", DISK_ERROR, true, 0, false, 0 },
	{ "short", DISK_SHORT, false, 0, false, 0 },
	{ "short-lasting", DISK_SHORT, true, 0, false, 0 },
	{ "done-but-error", DISK_LATE_ERROR, false, 0, false, 0 },
	{ "done-but-error-lasting", DISK_LATE_ERROR, true, 0, false, 0 },
	{ "full", DISK_FULL, false, 0, false, 0 },
	{ "full-lasting", DISK_FULL, true, 0, false, 0 },
	{ "sync-fails-lasting", DISK_ERROR, true, ONLY(DISK_SYNC), false, 0 },
	{ "busy", DISK_BUSY, false, 0, false, 0 },
	{ "busy-lasting", DISK_BUSY, true, 0, false, 0 },
	{ "killed-before", DISK_DIE_BEFORE, false, 0, false, 0 },
	{ "killed-half", DISK_DIE_HALF, false, 0, false, 0 },
	{ "killed-after", DISK_DIE_AFTER, false, 0, false, 0 },
	{ "power-before-lose-all", DISK_DIE_BEFORE, false, 0, true, DISK_LOSE_ALL },
	{ "power-before-lose-some", DISK_DIE_BEFORE, false, 0, true, DISK_LOSE_SOME },
	{ "power-half-lose-some", DISK_DIE_HALF, false, 0, true, DISK_LOSE_SOME },
	{ "power-after-lose-all", DISK_DIE_AFTER, false, 0, true, DISK_LOSE_ALL },
	{ "power-after-lose-some", DISK_DIE_AFTER, false, 0, true, DISK_LOSE_SOME },
	{ "power-after-lose-none", DISK_DIE_AFTER, false, 0, true, DISK_LOSE_NONE },
	{ "power-half-lose-all", DISK_DIE_HALF, false, 0, true, DISK_LOSE_ALL },
};
#define MODES (sizeof(modes) / sizeof(modes[0]))

/* What one run is about. */
static struct {
	const struct mode *mode;
	struct sim *sim;
	unsigned scenario, n, at, lives_at_strike;
	bool struck, repaired, awaits_open, is_known;
	int64_t struck_ms;
} torture;

/* What came of all; shared by the workers. */
static struct results {
	unsigned points[SCENARIOS][MODES], errors[MODES], again[MODES], hung[MODES], followed;
	unsigned fired[_DISK_OP_MAX][_DISK_FAULT_MAX];
	struct {
		unsigned scenario, mode, n;
	} now[WORKERS_MAX];
} *results;

static uint64_t *known; /* states of the dead that were followed to the end */
static unsigned worker_count = 1;
static unsigned only_scenario = SCENARIOS, only_mode = MODES, only_n;

/* ---- One run. ---- */

static bool is_repaired(void)
{
	return torture.repaired || torture.sim->now_ms - torture.struck_ms > REPAIRED_MS ||
	       sim_disk_lives() > torture.lives_at_strike + 2;
}

static enum disk_fault judge(enum disk_op op, void *user)
{
	const struct mode *mode = torture.mode;

	(void)user;
	if (torture.awaits_open || !disk_fault_fits(mode->fault, op) || (mode->ops && !(mode->ops & ONLY(op))))
		return DISK_WELL;
	if (torture.struck)
		return mode->lasts && !is_repaired() ? mode->fault : DISK_WELL;
	if (++torture.at < torture.n)
		return DISK_WELL;
	torture.struck = true;
	torture.struck_ms = torture.sim->now_ms;
	torture.lives_at_strike = sim_disk_lives();
	return mode->fault;
}

static void on_death(struct sim *sim, void *user)
{
	(void)user;
	if (torture.mode->power) {
		sim_disk_close_watch(sim);
		disk_shuffle(torture.n);
		disk_power_loss(torture.mode->loss);
	}
	torture.is_known = !only_n && workers_know(known, sim_disk_state(sim) + torture.scenario);
	if (torture.is_known)
		sim->controllers[0].ended = true; /* no next life */
}

static void on_boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	(void)controller;
	(void)kind;
	(void)user;
	torture.awaits_open = false;
}

/* Return: false, there is no n-th operation. */
static bool run(unsigned scenario, unsigned mode, unsigned n)
{
	struct sim *sim = sim_disk_new(&torture_config);
	unsigned commands = 0;
	bool struck;

	memset(&torture, 0, sizeof(torture));
	torture.mode = &modes[mode];
	torture.sim = sim;
	torture.scenario = scenario;
	torture.n = n;
	torture.awaits_open = scenarios[scenario].store_is_open;
	sim_disk_on_boundary(on_boundary, NULL);
	disk_judge(judge, NULL);
	sim_disk_on_death(on_death, NULL);
	do {
		run_command(sim, &scenarios[scenario]);
		if (++commands == 1) {
			__atomic_fetch_add(&results->errors[mode], sim->ended && sim->error.code != 0, __ATOMIC_RELAXED);
			__atomic_fetch_add(&results->hung[mode], sim->timed_out, __ATOMIC_RELAXED);
		}
		torture.repaired = true;
	} while (!torture.is_known && commands < COMMANDS_MAX && !is_verified(sim));
	__atomic_fetch_add(&results->again[mode], commands > 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&results->followed, !torture.is_known, __ATOMIC_RELAXED);
	if (!torture.is_known)
		sim_assert_done(sim, scenarios[scenario].table, scenarios[scenario].fragment);
	struck = torture.struck;
	sim_disk_free(sim);
	return struck;
}

/* ---- All of them. ---- */

static void work(unsigned number, void *user)
{
	(void)user;
	for (unsigned scenario = 0; scenario < SCENARIOS; scenario++)
		for (unsigned mode = 0; mode < MODES; mode++) {
			unsigned n = only_n ? only_n : 1 + number;

			if ((only_scenario != SCENARIOS && scenario != only_scenario) || (only_mode != MODES && mode != only_mode))
				continue;
			for (; n < N_MAX; n += worker_count) {
				results->now[number].scenario = scenario;
				results->now[number].mode = mode;
				results->now[number].n = n;
				if (!run(scenario, mode, n) || only_n)
					break;
				__atomic_fetch_add(&results->points[scenario][mode], 1, __ATOMIC_RELAXED);
			}
			assert_true(n < N_MAX);
		}
	for (int op = 0; op < _DISK_OP_MAX; op++)
		for (int fault = 0; fault < _DISK_FAULT_MAX; fault++)
			__atomic_fetch_add(&results->fired[op][fault], disk_fired(op, fault), __ATOMIC_RELAXED);
}

static void on_failure(unsigned number, void *user)
{
	(void)user;
	print_message("run it again: test_store_io %s %s %u\n", scenarios[results->now[number].scenario].name,
		      modes[results->now[number].mode].name, results->now[number].n);
}

static void print_results(void)
{
	unsigned all = 0;

	print_message("%-24s %6s %6s  %s\n", "", "alter", "create", "commands that said so, hung, were run again");
	for (unsigned mode = 0; mode < MODES; mode++) {
		print_message("%-24s %6u %6u  %u, %u, %u\n", modes[mode].name, results->points[0][mode],
			      results->points[1][mode], results->errors[mode], results->hung[mode], results->again[mode]);
		all += results->points[0][mode] + results->points[1][mode];
	}
	print_message("%u points in all, %u of them followed to the end; at an operation:\n", all, results->followed);
	for (int op = 0; op < _DISK_OP_MAX; op++) {
		print_message("%-10s", disk_op_name(op));
		for (int fault = 1; fault < _DISK_FAULT_MAX; fault++)
			if (disk_fault_fits(fault, op))
				print_message(" %s %u", disk_fault_name(fault), results->fired[op][fault]);
		print_message("\n");
	}
}

static void test_every_operation_of_the_disk_may_fail(void **state)
{
	(void)state;
	results = workers_memory(sizeof(*results));
	known = workers_memory(WORKERS_SET_SIZE);
	worker_count = only_n ? 1 : workers_count();
	assert_true(workers_run(worker_count, work, on_failure, NULL));
	print_results();
	for (int op = 0; op < _DISK_OP_MAX && only_mode == MODES; op++)
		for (int fault = 1; fault < _DISK_FAULT_MAX; fault++)
			if (op != DISK_TRUNCATE && /* only where a write is undone, which nothing here leads to */
			    disk_fault_fits(fault, op) && !results->fired[op][fault])
				fail_msg("%s never happened to %s", disk_fault_name(fault), disk_op_name(op));
	for (unsigned mode = 0; mode < MODES; mode++) {
		if (results->hung[mode])
			fail_msg("%u commands did not end when the disk was %s", results->hung[mode], modes[mode].name);
		if (only_mode == MODES)
			assert_true(results->points[0][mode] > 10);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_operation_of_the_disk_may_fail),
	};

	for (unsigned i = 0; argc > 1 && i < SCENARIOS; i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			only_scenario = i;
	for (unsigned i = 0; argc > 2 && i < MODES; i++)
		if (strcmp(modes[i].name, argv[2]) == 0)
			only_mode = i;
	only_n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	if ((argc > 1 && only_scenario == SCENARIOS) || (argc > 2 && only_mode == MODES)) {
		fprintf(stderr, "usage: test_store_io [SCENARIO [MODE [N]]]\n");
		return 64;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
