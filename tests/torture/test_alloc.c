/*
 * Goal: memory that runs out does a change no harm: vtddl's own code aborts, SQLite fails or does without, and the
 * same command run again takes the change to its end.
 * Method: for every n the n-th allocation fails, of the engine, the store, SQLite and OpenSSL, in a whole change;
 * where the process can do without that one, also all behind it, until it is dead. One run goes on undisturbed and
 * forks at every allocation; what the child leaves is followed to the end, unless another one has left the same
 * at the same moment.
 *
 *	test_alloc [SCENARIO [once|lasting N]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "sim_disk.h"
#include "torture.h"
#include "workers.h"

#define COMMANDS_MAX 3
#define LIBRARIES_MAX 8

enum mode { ONCE, LASTING, MODES };
static const char *const mode_names[] = { "once", "lasting" };
/* What a child found; its exit code. */
enum finding { ENDED_WELL, STATE_IS_KNOWN, STATE_IS_NEW, OTHER_LIBRARY_LEAKED, FINDINGS };

static struct results {
	unsigned points[SCENARIOS][MODES], findings[MODES][FINDINGS];
	struct {
		char name[40];
		unsigned count;
	} libraries[WORKERS_MAX][LIBRARIES_MAX];
	struct {
		unsigned scenario, mode, n;
	} now[WORKERS_MAX];
} *results;

static uint64_t *known; /* states of the dead that were followed to the end */
static unsigned worker, worker_count = 1;
static unsigned only_scenario = SCENARIOS, only_mode = MODES, only_n;

/* Of the present run. */
static struct sim *current;
static unsigned now_scenario, now_n;
static enum mode now_mode;
static bool is_child, awaits_open;
static enum finding last_finding;
static size_t bytes_before;

static bool is_watch(const void *store)
{
	return !current || store == current->store;
}

/* ---- Death. ---- */

/* The kernel closes what a dead process had open; without this its lease would outlive it. */
static void on_process_death(void)
{
	char link[64], target[256];

	disk_kill();
	for (int fd = 3; fd < 32; fd++) {
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		length = readlink(link, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strstr(target, "/s.db"))
			close(fd);
	}
}

static void note_library(const char *name)
{
	for (size_t i = 0; i < LIBRARIES_MAX; i++) {
		if (!results->libraries[worker][i].name[0])
			snprintf(results->libraries[worker][i].name, sizeof(results->libraries[worker][i].name), "%s", name);
		if (strncmp(results->libraries[worker][i].name, name, 39) == 0) {
			results->libraries[worker][i].count++;
			return;
		}
	}
}

static void on_burial(struct sim *sim, void *user)
{
	(void)user;
	alloc_next_process();
	if (is_child)
		note_library(alloc_struck_in());
	if (is_child)
		_exit(workers_know(known, sim_disk_state(sim)) ? STATE_IS_KNOWN : STATE_IS_NEW);
}

/* ---- A fault, alone or in a child. ---- */

static enum alloc_fate fate_of(enum mode mode)
{
	return mode == LASTING ? ALLOC_FAILS_FOR_ALL : ALLOC_FAILS;
}

static enum alloc_fate strike_alone(unsigned n)
{
	return n == now_n ? fate_of(now_mode) : ALLOC_WELL;
}

static void run_alone(unsigned scenario, enum mode mode, unsigned n);

static void spread(enum finding finding)
{
	last_finding = finding;
	__atomic_fetch_add(&results->findings[now_mode][finding], 1, __ATOMIC_RELAXED);
	if (finding == STATE_IS_NEW) {
		/* Files, locks and fleet are those of this process too: from the beginning, with its own. */
		pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			run_alone(now_scenario, now_mode, now_n);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			_exit(1);
	}
}

/* Return: in the child, that it fails. */
static bool split(enum mode mode, unsigned n)
{
	int status = -1;
	pid_t pid;

	now_mode = mode;
	now_n = n;
	results->now[worker].scenario = now_scenario;
	results->now[worker].mode = mode;
	results->now[worker].n = n;
	pid = fork();
	if (pid == 0) {
		is_child = true;
		return true;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) >= FINDINGS)
		_exit(1);
	__atomic_fetch_add(&results->points[now_scenario][mode], 1, __ATOMIC_RELAXED);
	spread((enum finding)WEXITSTATUS(status));
	return false;
}

static enum alloc_fate strike_in_a_child(unsigned n)
{
	if (n % worker_count != worker)
		return ALLOC_WELL;
	if (split(ONCE, n))
		return ALLOC_FAILS;
	if (last_finding == STATE_IS_KNOWN || last_finding == STATE_IS_NEW)
		return ALLOC_WELL;
	return split(LASTING, n) ? ALLOC_FAILS_FOR_ALL : ALLOC_WELL;
}

/* ---- A run. ---- */

static enum alloc_fate (*judge_of_run)(unsigned n);

static void on_boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	(void)controller;
	(void)kind;
	(void)user;
	if (awaits_open)
		alloc_judge(judge_of_run);
	awaits_open = false;
}

static void begin(unsigned scenario, enum alloc_fate (*judge)(unsigned n))
{
	now_scenario = scenario;
	bytes_before = mallinfo2().uordblks;
	current = sim_disk_new(&torture_config);
	sim_disk_on_death(on_burial, NULL);
	sim_disk_on_boundary(on_boundary, NULL);
	alloc_on_death(on_process_death);
	awaits_open = scenarios[scenario].store_is_open;
	judge_of_run = judge;
	alloc_judge(awaits_open ? NULL : judge);
}

static void end_well(void)
{
	if (alloc_deaths() > 1)
		fail_msg("one failure, %u deaths", alloc_deaths());
	sim_assert_done(current, scenarios[now_scenario].table, scenarios[now_scenario].fragment);
	sim_disk_free(current);
	current = NULL;
}

/* Of a run in which nobody died nothing is left; OpenSSL's table of names may be, which it keeps for ever. */
static enum finding end_of_child(void)
{
	size_t after;

	snprintf(current->folder, sizeof(current->folder), "/"); /* its files are the parent's */
	note_library(alloc_struck_in());
	end_well();
	after = mallinfo2().uordblks;
	if (after <= bytes_before)
		return ENDED_WELL;
	if (strncmp(alloc_struck_in(), "libcrypto", 9) == 0)
		return OTHER_LIBRARY_LEAKED;
	fail_msg("%zu bytes are left of a run in which nobody died (%s)", after - bytes_before, alloc_struck_in());
	return FINDINGS;
}

static void run_alone(unsigned scenario, enum mode mode, unsigned n)
{
	int commands = 0;

	is_child = false;
	now_mode = mode;
	now_n = n;
	begin(scenario, strike_alone);
	do
		run_command(current, &scenarios[now_scenario]);
	while (++commands < COMMANDS_MAX && !is_verified(current));
	end_well();
}

static void work(unsigned number, void *user)
{
	(void)user;
	worker = number;
	for (unsigned scenario = 0; scenario < SCENARIOS; scenario++) {
		if (only_scenario != SCENARIOS && scenario != only_scenario)
			continue;
		if (only_n) {
			results->now[number].scenario = scenario;
			results->now[number].mode = only_mode;
			results->now[number].n = only_n;
			run_alone(scenario, (enum mode)only_mode, only_n);
			print_message("%u allocations; in %s; %u deaths\n", alloc_count(), alloc_struck_in() ? alloc_struck_in() : "none",
				      alloc_deaths());
			continue;
		}
		begin(scenario, strike_in_a_child);
		run_command(current, &scenarios[now_scenario]);
		if (is_child) {
			if (!is_verified(current))
				fail_msg("it did without, and did not end: %s", current->reason);
			_exit(end_of_child());
		}
		end_well();
	}
}

static void on_failure(unsigned number, void *user)
{
	(void)user;
	print_message("run it again: test_alloc %s %s %u\n", scenarios[results->now[number].scenario].name,
		      mode_names[results->now[number].mode], results->now[number].n);
}

/* Whose allocations they were. */
static void print_libraries(void)
{
	for (unsigned i = 0; i < worker_count; i++)
		for (size_t j = 0; j < LIBRARIES_MAX && results->libraries[i][j].name[0]; j++)
			print_message("  worker %u: %u of %s\n", i, results->libraries[i][j].count,
				      results->libraries[i][j].name);
}

static void test_every_allocation_may_fail(void **state)
{
	(void)state;
	alloc_is_watch = is_watch;
	disk_realloc = alloc_outside;
	results = workers_memory(sizeof(*results));
	known = workers_memory(WORKERS_SET_SIZE);
	begin(0, NULL); /* what is made once and kept for ever is made now */
	run_command(current, &scenarios[now_scenario]);
	end_well();
	worker_count = only_n ? 1 : workers_count();
	assert_true(workers_run(worker_count, work, on_failure, NULL));
	for (unsigned mode = 0; mode < MODES && !only_n; mode++) {
		const unsigned *findings = results->findings[mode];

		print_message("%-8s alter %u, create %u allocations failed: %u aborts, %u of them left a new state; "
			      "%u done without, %u of them left something in OpenSSL\n",
			      mode_names[mode], results->points[0][mode], results->points[1][mode],
			      findings[STATE_IS_KNOWN] + findings[STATE_IS_NEW], findings[STATE_IS_NEW],
			      findings[ENDED_WELL] + findings[OTHER_LIBRARY_LEAKED], findings[OTHER_LIBRARY_LEAKED]);
		assert_true(findings[STATE_IS_NEW] > 10 || only_scenario != SCENARIOS);
	}
	print_libraries();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_allocation_may_fail),
	};

	/* What is kept back for the next allocation would look like a leak. */
	if (!getenv("GLIBC_TUNABLES")) {
		setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0", 1);
		execv("/proc/self/exe", argv);
	}
	/* A mutex that is its owner's again and again is a stranger's for a forked child. */
	if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK)
		return 1;
	for (unsigned i = 0; argc > 1 && i < SCENARIOS; i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			only_scenario = i;
	for (unsigned i = 0; argc > 3 && i < MODES; i++)
		if (strcmp(mode_names[i], argv[2]) == 0)
			only_mode = i;
	only_n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	if ((argc > 1 && only_scenario == SCENARIOS) || (argc > 2 && (only_mode == MODES || !only_n))) {
		fprintf(stderr, "usage: test_alloc [SCENARIO [once|lasting N]]\n");
		return 64;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
