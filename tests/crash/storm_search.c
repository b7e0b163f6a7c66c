/*
 * Many runs in several processes, for an assertion that fails ends its process; and, where one fails, the search for a
 * smaller one that fails alike: fewer processes, shards and changes, and as little as possible of what strikes.
 */
#include "storm.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX 64
#define SAID_MAX 8192
#define RUN_MAX_S 120 /* of processor time: longer is for ever */
#define CLASS_MAX 12  /* so much of what a run said tells failures from each other */
#define PROGRESS_S 10
#define SEARCH_S 90 /* the longest search for a smaller run */
#define TWICE_EVERY 100

/* What a process tells the others while it runs. */
struct board {
	struct storm_totals totals;
	uint64_t seed;
};

static struct shared {
	atomic_uint_fast64_t next;
	atomic_bool stop;
	struct board boards[JOBS_MAX];
} *shared;

/* What a process that was started has to do. */
static struct {
	const struct search *search;
	const struct storm_case *one;
	struct board *board;
} work;

static void share(void)
{
	if (shared)
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("memory that processes share");
		exit(2);
	}
}

/* ---- In a process of its own. ---- */

static void run_seed(const struct storm_case *what)
{
	const struct itimerval limit = { .it_value = { .tv_sec = RUN_MAX_S } };
	bool twice = what->seed % TWICE_EVERY == 0;
	uint64_t once, before;

	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	work.board->seed = what->seed;
	once = storm_run(what, twice, &work.board->totals);
	if (!twice)
		return;
	before = work.board->totals.messages;
	if (storm_run(what, true, &work.board->totals) != once)
		fail_msg("trace: a second run of seed %llu is another", (unsigned long long)what->seed);
	assert_true(work.board->totals.messages > before);
	work.board->totals.twice++;
	work.board->totals.seeds--; /* it is the same */
}

static void test_a_storm_ends_as_it_must(void **state)
{
	struct storm_case what = { 0 };

	(void)state;
	if (work.one) {
		run_seed(work.one);
		return;
	}
	while (!atomic_load(&shared->stop)) {
		uint64_t at = atomic_fetch_add(&shared->next, 1);

		if (!work.search->seconds && at >= work.search->count)
			return;
		what.seed = work.search->first + at;
		run_seed(&what);
	}
}

static _Noreturn void run_child(int said)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_a_storm_ends_as_it_must) };
	int failed;

	if (!work.one || !work.one->tells) {
		dup2(said, STDOUT_FILENO);
		dup2(said, STDERR_FILENO);
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	fflush(stdout);
	if (failed) /* what it left behind is no leak */
		_exit(1);
	exit(0);
}

static pid_t start(int said)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (pid == 0)
		run_child(said);
	return pid;
}

static int note_file(void)
{
	int file = memfd_create("said", MFD_CLOEXEC);

	if (file < 0) {
		perror("memfd_create");
		exit(2);
	}
	return file;
}

/* What a process said, without what cmocka says of every run. */
static void read_said(int file, int status, char ret[SAID_MAX])
{
	static char all[SAID_MAX];
	ssize_t length = pread(file, all, sizeof(all) - 1, 0);
	size_t used = 0;

	all[length > 0 ? length : 0] = '\0';
	ret[0] = '\0';
	for (char *save = NULL, *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "[=====", 6) == 0 || strncmp(line, "[ RUN", 5) == 0 || strncmp(line, "[  PASSED", 9) == 0 ||
		    strncmp(line, "[  FAILED", 9) == 0 || strncmp(line, " 1 FAILED", 9) == 0)
			continue;
		if (used + strlen(line) + 2 < SAID_MAX)
			used += (size_t)snprintf(ret + used, SAID_MAX - used, "%s\n", line);
	}
	if (WIFSIGNALED(status) && used < SAID_MAX)
		snprintf(ret + used, SAID_MAX - used, "ERROR: it ended by signal %d%s\n", WTERMSIG(status),
			 WTERMSIG(status) == SIGVTALRM ? ": it does not come to an end" : "");
}

/* ---- One run. ---- */

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Return: whether it failed; @said: what it said then. */
static bool fails(const struct storm_case *what, char said[SAID_MAX], unsigned *ret_entries)
{
	int file = note_file(), status = 0;
	pid_t pid;

	share();
	work.one = what;
	work.board = &shared->boards[JOBS_MAX - 1];
	*work.board = (struct board){ 0 };
	pid = start(file);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	read_said(file, status, said);
	close(file);
	work.one = NULL;
	*ret_entries = work.board->totals.entries;
	return status != 0;
}

/* "I5", "I11", "the assertion of that line": so that another failure is not taken for this one. */
static void class_of(const char *said, char ret[CLASS_MAX + 1])
{
	const char *error = strstr(said, "ERROR");

	error = error ? error + strcspn(error, ":-") : said;
	error += strspn(error, ":- ");
	snprintf(ret, CLASS_MAX + 1, "%.*s", (int)strcspn(error, ":\n"), error);
}

struct smaller {
	struct storm_case best;
	char class[CLASS_MAX + 1];
	unsigned entries, tries;
	time_t until_s;
};

static bool still_fails(struct smaller *smaller, const struct storm_case *what)
{
	static char said[SAID_MAX];
	char class[CLASS_MAX + 1];
	unsigned entries;

	if (!smaller->tries || now_s() >= smaller->until_s)
		return false;
	smaller->tries--;
	if (!fails(what, said, &entries))
		return false;
	class_of(said, class);
	if (strcmp(class, smaller->class) != 0)
		return false;
	smaller->best = *what;
	return true;
}

static void fewer(struct smaller *smaller, size_t member, unsigned most)
{
	for (unsigned number = 1; number < most; number++) {
		struct storm_case what = smaller->best;

		*(unsigned *)((char *)&what + member) = number;
		if (still_fails(smaller, &what))
			return;
	}
}

static bool leave_out(struct smaller *smaller, unsigned from, unsigned size)
{
	struct storm_case what = smaller->best;
	bool any = false;

	for (unsigned i = from; i < from + size && i <= smaller->entries; i++) {
		any |= !what.without[i];
		what.without[i] = true;
	}
	return any && still_fails(smaller, &what);
}

static void search_smaller(struct smaller *smaller)
{
	fewer(smaller, offsetof(struct storm_case, controllers), 3);
	fewer(smaller, offsetof(struct storm_case, changes), 4);
	fewer(smaller, offsetof(struct storm_case, shards), 5);
	for (unsigned size = (smaller->entries + 1) / 2; size >= 1; size /= 2) {
		bool any = false;

		for (unsigned from = 1; from <= smaller->entries; from += size)
			any |= leave_out(smaller, from, size);
		if (any && size == 1)
			size = 2; /* once more */
	}
}

static void tell_case(const struct storm_case *what, unsigned entries)
{
	bool first = true;

	printf("run it again: test_storm %llu", (unsigned long long)what->seed);
	if (what->controllers)
		printf(" --controllers %u", what->controllers);
	if (what->changes)
		printf(" --changes %u", what->changes);
	if (what->shards)
		printf(" --shards %u", what->shards);
	for (unsigned i = 1; i <= entries && i < ENTRIES_MAX; i++) {
		unsigned to = i;

		if (!what->without[i])
			continue;
		while (to + 1 < ENTRIES_MAX && to < entries && what->without[to + 1])
			to++;
		printf(to > i ? "%s%u-%u" : "%s%u", first ? " --without " : ",", i, to);
		first = false;
		i = to;
	}
	printf("\n");
	fflush(stdout);
}

static void tell_failure(const struct storm_case *what, const char *said, unsigned entries, unsigned tries)
{
	struct smaller smaller = { .best = *what, .tries = tries, .entries = entries, .until_s = now_s() + SEARCH_S };

	printf("%s", said);
	if (tries) {
		printf("seed %llu failed; looking for a smaller run that does\n", (unsigned long long)what->seed);
		fflush(stdout);
		class_of(said, smaller.class);
		search_smaller(&smaller);
	}
	tell_case(&smaller.best, smaller.entries);
}

int search_one(const struct storm_case *what, unsigned tries)
{
	static char said[SAID_MAX];
	unsigned entries;

	if (!fails(what, said, &entries)) {
		printf("seed %llu ends as it must; %u strikes\n", (unsigned long long)what->seed, entries);
		return 0;
	}
	tell_failure(what, said, entries, tries);
	return 1;
}

/* ---- Many. ---- */

static void add_totals(struct storm_totals *sum, const struct storm_totals *more)
{
	sum->seeds += more->seeds;
	sum->virtual_ms += more->virtual_ms;
	sum->messages += more->messages;
	sum->changes += more->changes;
	sum->twice += more->twice;
	sum->held_up += more->held_up;
	sum->late += more->late;
	sum->forgotten += more->forgotten;
	sum->resharded += more->resharded;
	for (int i = 0; i < _PHASE_MAX; i++)
		sum->ends[i] += more->ends[i];
	for (int i = 0; i < _FAULT_NAME_MAX; i++)
		sum->fired[i] += more->fired[i];
	for (int i = 0; i < _BOUNDARY_KIND_MAX; i++)
		for (int j = 0; j < CALLS_MAX; j++)
			sum->kills[i][j] += more->kills[i][j];
	if (more->most_changes > sum->most_changes)
		sum->most_changes = more->most_changes;
	if (more->most_shards > sum->most_shards)
		sum->most_shards = more->most_shards;
	if (more->most_controllers > sum->most_controllers)
		sum->most_controllers = more->most_controllers;
}

static void watch(const struct search *search, time_t began_s, time_t *told_s)
{
	uint64_t seeds = 0;

	if (search->seconds && now_s() - began_s >= (time_t)search->seconds)
		atomic_store(&shared->stop, true);
	if (!search->tells_progress || now_s() - *told_s < PROGRESS_S)
		return;
	*told_s = now_s();
	for (unsigned i = 0; i < search->jobs; i++)
		seeds += shared->boards[i].totals.seeds;
	printf("%llu seeds in %lld s\n", (unsigned long long)seeds, (long long)(now_s() - began_s));
	fflush(stdout);
}

int search_run(const struct search *search, struct storm_totals *ret)
{
	struct storm_case failed = { 0 };
	time_t began_s = now_s(), told_s = began_s;
	int files[JOBS_MAX], result = 0;
	static char said[SAID_MAX];
	pid_t pids[JOBS_MAX];
	unsigned left = search->jobs, entries = 0;

	share();
	atomic_store(&shared->next, 0);
	atomic_store(&shared->stop, false);
	work.search = search;
	for (unsigned i = 0; i < search->jobs; i++) {
		shared->boards[i] = (struct board){ 0 };
		work.board = &shared->boards[i];
		files[i] = note_file();
		pids[i] = start(files[i]);
	}
	while (left) {
		int status;

		usleep(20000);
		watch(search, began_s, &told_s);
		for (unsigned i = 0; i < search->jobs; i++) {
			if (!pids[i] || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			left--;
			if (status && !result) {
				result = 1;
				atomic_store(&shared->stop, true);
				failed.seed = shared->boards[i].seed;
				entries = shared->boards[i].totals.entries;
				read_said(files[i], status, said);
			}
		}
	}
	*ret = (struct storm_totals){ 0 };
	for (unsigned i = 0; i < search->jobs; i++) {
		add_totals(ret, &shared->boards[i].totals);
		close(files[i]);
	}
	if (result)
		tell_failure(&failed, said, entries, search->tries);
	return result;
}
