#include "proof.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vtddl/clock.h"
#include "vtddl/strbuf.h"

#define WINDOW_RUNS 20		/* of each probe in one window */
#define WINDOW_PAUSE_MS 1000	/* between windows */
#define SETTLE_MAX_MS 60000	/* then the probes are reported as not settled */
#define SETTLED_ANYWAY_US 50000 /* a p99 below this needs no comparison */
#define SETTLED_FACTOR 2	/* against the best earlier window */

struct proof_worker {
	struct proof_config config;
	struct vtgate_config vtgate;
	char table[TABLE_MAX + 1];
	char keyspace[KEYSPACE_MAX + 1];
	pthread_t thread;
	bool started;
	atomic_bool stop, done;
	struct arena arena; /* of the thread until it is done */
	struct proof proof;
};

/* What is known about one probe: p99 of the last window, and the best window before it. */
struct probe_state {
	int64_t last_us, best_us; /* 0: no window yet */
};

static int compare_us(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The 99th percentile by nearest rank; with 20 runs that is the slowest one. */
static int64_t p99(int64_t *us, size_t count)
{
	size_t rank = (count * 99 + 99) / 100;

	qsort(us, count, sizeof *us, compare_us);
	return us[rank - 1];
}

static bool is_settled(const struct probe_state *state)
{
	return state->last_us <= SETTLED_ANYWAY_US ||
	       (state->best_us && state->last_us <= SETTLED_FACTOR * state->best_us);
}

/* One window of one probe. False: it did not answer, or we are to stop. */
static bool run_window(struct proof_worker *worker, struct vtgate *vtgate, size_t probe,
		       struct probe_state *state, struct error *reterr)
{
	int64_t us[WINDOW_RUNS];

	for (size_t i = 0; i < WINDOW_RUNS; i++) {
		if (worker->stop) {
			error_set(reterr, ERROR_UNAVAILABLE, "stopped before the probes had ended");
			return false;
		}
		if (vtgate_probe(vtgate, worker->config.probes[probe], &us[i], reterr) < 0)
			return false;
	}
	if (state->last_us && (!state->best_us || state->last_us < state->best_us))
		state->best_us = state->last_us;
	state->last_us = p99(us, WINDOW_RUNS);
	return true;
}

static void pause_between_windows(struct proof_worker *worker)
{
	struct timespec slice = { .tv_nsec = 50 * 1000000L };

	for (int64_t slept = 0; slept < WINDOW_PAUSE_MS && !worker->stop; slept += 50)
		nanosleep(&slice, NULL);
}

static void describe_probes(struct proof_worker *worker, const struct probe_state *states, unsigned windows)
{
	struct strbuf text cleanup(strbuf_release);

	strbuf_init(&text, REASON_MAX - 1);
	for (size_t i = 0; i < worker->config.probe_count; i++) {
		strbuf_addf(&text, "%sprobe %zu: p99 %.1f ms", i ? "; " : "", i + 1,
			    (double)states[i].last_us / 1000);
		if (states[i].best_us)
			strbuf_addf(&text, " (best earlier window %.1f ms)",
				    (double)states[i].best_us / 1000);
	}
	strbuf_addf(&text, "; %u window%s of %d runs each", windows, windows == 1 ? "" : "s", WINDOW_RUNS);
	worker->proof.probe_text = arena_strdup(&worker->arena, text.text);
}

static void run_probes(struct proof_worker *worker, struct vtgate *vtgate)
{
	size_t count = worker->config.probe_count;
	struct probe_state *states;
	int64_t until_ms = clock_monotonic_ms() + SETTLE_MAX_MS;
	struct error err = { 0 };
	unsigned windows = 0;
	bool settled;

	worker->proof.probes_ok = worker->proof.probes_settled = true;
	if (count == 0)
		return;
	states = arena_array(&worker->arena, count, sizeof *states);
	do {
		if (windows)
			pause_between_windows(worker);
		settled = true;
		for (size_t i = 0; i < count; i++) {
			if (!run_window(worker, vtgate, i, &states[i], &err)) {
				worker->proof.probes_ok = worker->proof.probes_settled = false;
				worker->proof.probe_text =
					arena_printf(&worker->arena, "probe %zu: %s", i + 1, err.text);
				return;
			}
			settled = settled && is_settled(&states[i]);
		}
		windows++;
	} while (!settled && !worker->stop && clock_monotonic_ms() < until_ms);
	worker->proof.probes_settled = settled;
	describe_probes(worker, states, windows);
}

static void fail(struct proof_worker *worker, const struct error *err)
{
	worker->proof.reachable = false;
	worker->proof.text = arena_strdup(&worker->arena, err->text);
}

static void ask_vtgate(struct proof_worker *worker)
{
	struct vtgate *vtgate = NULL;
	struct error err = { 0 };

	if (vtgate_open(&worker->vtgate, &vtgate, &err) < 0) {
		fail(worker, &err);
		return;
	}
	worker->proof.reachable = true;
	if (vtgate_definition(vtgate, worker->table, &worker->arena, &worker->proof.definition, &err) < 0 ||
	    vtgate_columns(vtgate, worker->table, &worker->arena, &worker->proof.columns, &err) < 0)
		fail(worker, &err);
	else
		run_probes(worker, vtgate);
	vtgate_close(vtgate);
}

static void *run(void *argument)
{
	struct proof_worker *worker = argument;

	ask_vtgate(worker);
	worker->done = true;
	worker->config.wake(worker->config.user);
	return NULL;
}

struct proof_worker *proof_start(const struct proof_config *config, const struct request *request)
{
	struct proof_worker *worker = calloc(1, sizeof *worker);
	sigset_t all, before;

	if (!worker)
		abort();
	worker->config = *config;
	worker->vtgate = *config->vtgate;
	strncpy(worker->table, request->table, TABLE_MAX);
	strncpy(worker->keyspace, request->keyspace, KEYSPACE_MAX);
	worker->vtgate.keyspace = worker->keyspace;
	worker->proof = (struct proof){
		.asked = true, .text = "", .definition = "", .columns = "", .probe_text = ""
	};
	arena_init(&worker->arena, 0);

	/* Signals are for the thread that runs the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	worker->started = pthread_create(&worker->thread, NULL, run, worker) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!worker->started) {
		worker->proof.text = "VTGate was not asked because no thread could be started; "
				     "raise the limit of processes and run `vtddl verify` again";
		worker->done = true;
	}
	return worker;
}

bool proof_is_done(struct proof_worker *worker)
{
	return worker->done;
}

void proof_take(struct proof_worker *worker, struct arena *arena, struct proof *ret)
{
	if (worker->started)
		pthread_join(worker->thread, NULL);
	worker->started = false;
	*ret = worker->proof;
	ret->text = arena_strdup(arena, worker->proof.text);
	ret->definition = arena_strdup(arena, worker->proof.definition);
	ret->columns = arena_strdup(arena, worker->proof.columns);
	ret->probe_text = arena_strdup(arena, worker->proof.probe_text);
}

struct proof_worker *proof_free(struct proof_worker *worker)
{
	if (!worker)
		return NULL;
	worker->stop = true;
	if (worker->started)
		pthread_join(worker->thread, NULL);
	arena_release(&worker->arena);
	free(worker);
	return NULL;
}
