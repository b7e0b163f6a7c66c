/*
 * /metrics: one row of a table for each metric, and the function that has its samples. docs/metrics.md is
 * made from the same rows. No label names a change but those of vtddl_change_info, of which there are as many
 * as there are open changes.
 */
#include "serve_metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"
#include "version.h"
#include "vtddl/clock.h"
#include "vtddl/metrics.h"

#define PAGE_MAX ((size_t)64 * 1024 * 1024)
#define LEFT_OUT NAN

/* What one keyspace adds up to. */
struct sums {
	struct keyspace_view view;
	size_t phases[_PHASE_MAX], statuses[MIGRATION_FAILED + 1], ready, absent;
	size_t late, barrier_expected, barrier_there;
	int64_t oldest_hold_ms; /* since when the longest waits at the barrier; 0: none does */
};

struct state {
	const struct serve *serve;
	struct engine *engine;
	const struct engine_counters *counters;
	int64_t now_ms, live_at_ms;
	bool store_up;
	struct sums *sums;
	size_t sum_count;
};

/* ---- Adding up ---- */

static void add_shards(struct sums *sums, const struct resident_view *view)
{
	for (size_t i = 0; i < view->shard_count; i++) {
		const struct shard_brief *shard = &view->shards[i];

		if (shard->absent)
			sums->absent++;
		else if (shard->ready && shard->status != MIGRATION_COMPLETE)
			sums->ready++;
		else if (shard->status <= MIGRATION_FAILED)
			sums->statuses[shard->status]++;
	}
}

static void add_change(struct sums *sums, const struct resident_view *view, int64_t now_ms)
{
	const struct live_change *change = view->change;
	const struct progress *progress = &view->progress;

	sums->phases[change->phase]++;
	sums->late += !phase_is_final(change->phase) && change->deadline_at_ms < now_ms;
	add_shards(sums, view);
	if (change->phase != PHASE_SUBMITTED)
		return;
	sums->barrier_expected += progress->shards_expected;
	sums->barrier_there += progress->shards_ready;
	if (progress->shards_expected && progress->shards_ready == progress->shards_expected &&
	    (!sums->oldest_hold_ms || change->updated_at_ms < sums->oldest_hold_ms))
		sums->oldest_hold_ms = change->updated_at_ms;
}

static struct sums *sums_of(struct state *state, const char *keyspace)
{
	for (size_t i = 0; i < state->sum_count; i++)
		if (!strcmp(state->sums[i].view.name, keyspace))
			return &state->sums[i];
	return NULL;
}

static void add_up(struct state *state)
{
	struct sums *sums = NULL;

	state->sum_count = engine_keyspaces(state->engine);
	state->sums = calloc(state->sum_count + 1, sizeof *state->sums);
	if (!state->sums)
		abort();
	for (size_t i = 0; i < state->sum_count; i++)
		state->sums[i].view = *engine_keyspace(state->engine, i);
	for (size_t i = 0, count = engine_residents(state->engine); i < count; i++) {
		const struct resident_view *view = engine_resident(state->engine, i);

		if (!sums || strcmp(sums->view.name, view->change->keyspace)) /* they come by keyspace */
			sums = sums_of(state, view->change->keyspace);
		if (sums)
			add_change(sums, view, state->now_ms);
	}
}

/* ---- One number of the whole ---- */

#define COUNTER(name)                                                                                        \
	static double name(const struct state *state)                                                        \
	{                                                                                                    \
		return (double)state->counters->name;                                                        \
	}
COUNTER(sweeps)
COUNTER(looks)
COUNTER(store_calls)
COUNTER(store_failures)
COUNTER(store_conflicts)
COUNTER(leases_taken)
COUNTER(leases_lost)
COUNTER(renewals_failed)
#undef COUNTER

static double started(const struct state *state)
{
	return (double)state->serve->started_at_ms / 1000;
}

static double store_up(const struct state *state)
{
	return state->store_up;
}

static double store_age(const struct state *state)
{
	return state->live_at_ms ? (double)(state->now_ms - state->live_at_ms) / 1000 : LEFT_OUT;
}

/* ---- One number of a keyspace ---- */

static double leader(const struct state *state, const struct sums *sums)
{
	(void)state;
	return sums->view.leader;
}

static double epoch(const struct state *state, const struct sums *sums)
{
	(void)state;
	return sums->view.leader ? (double)sums->view.epoch : LEFT_OUT;
}

static double lease_left(const struct state *state, const struct sums *sums)
{
	(void)state;
	return sums->view.leader && sums->view.lease_left_ms != LEASE_NO_END
		       ? (double)sums->view.lease_left_ms / 1000
		       : LEFT_OUT;
}

static double observation_age(const struct state *state, const struct sums *sums)
{
	return sums->view.observed_at_ms ? (double)(state->now_ms - sums->view.observed_at_ms) / 1000
					 : LEFT_OUT;
}

static double ready_ratio(const struct state *state, const struct sums *sums)
{
	(void)state;
	return sums->barrier_expected ? (double)sums->barrier_there / (double)sums->barrier_expected
				      : LEFT_OUT;
}

static double oldest_hold(const struct state *state, const struct sums *sums)
{
	return sums->oldest_hold_ms ? (double)(state->now_ms - sums->oldest_hold_ms) / 1000 : 0;
}

static double late(const struct state *state, const struct sums *sums)
{
	(void)state;
	return (double)sums->late;
}

/* ---- Several samples ---- */

typedef void samples(const struct state *state, const struct metric *metric, struct strbuf *to);

static void sample(struct strbuf *to, const struct metric *metric, const char *a, const char *b, double value)
{
	const char *values[] = { a, b };

	metrics_sample(to, metric, values, value);
}

static void build_info(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	(void)state;
	sample(to, metric, VTDDL_VERSION, VTDDL_COMMIT, 1);
}

static void changes(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (size_t i = 0; i < state->sum_count; i++)
		for (int phase = 0; phase < _PHASE_MAX; phase++)
			sample(to, metric, state->sums[i].view.name, phase_name((enum phase)phase),
			       (double)state->sums[i].phases[phase]);
}

static void change_info(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (size_t i = 0, count = engine_residents(state->engine); i < count; i++) {
		const struct live_change *change = engine_resident(state->engine, i)->change;
		const char *values[] = { change->keyspace, change->table, change->uuid,
					 phase_name(change->phase) };

		metrics_sample(to, metric, values, 1);
	}
}

static void shards(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (size_t i = 0; i < state->sum_count; i++) {
		const struct sums *sums = &state->sums[i];

		for (int status = 0; status <= MIGRATION_FAILED; status++)
			if (status != MIGRATION_READY) /* a word of Vitess for what ours does not mean */
				sample(to, metric, sums->view.name, migration_status_name(status),
				       (double)sums->statuses[status]);
		sample(to, metric, sums->view.name, "held_ready", (double)sums->ready);
		sample(to, metric, sums->view.name, "absent", (double)sums->absent);
	}
}

static void rpcs(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (int method = 0; method < _VTCTLD_METHOD_MAX; method++)
		for (int outcome = 0; outcome < _VTCTLD_OUTCOME_MAX; outcome++)
			sample(to, metric, vtctld_method_name((enum vtctld_method)method),
			       vtctld_outcome_name((enum vtctld_outcome)outcome),
			       (double)state->counters->rpcs[method][outcome]);
}

static void ambiguous(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (int method = 0; method < _VTCTLD_METHOD_MAX; method++)
		if (vtctld_method_is_effect((enum vtctld_method)method))
			sample(to, metric, vtctld_method_name((enum vtctld_method)method), NULL,
			       (double)state->counters->rpcs[method][VTCTLD_UNKNOWN]);
}

static void rpc_seconds(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (int method = 0; method < _VTCTLD_METHOD_MAX; method++) {
		const char *name = vtctld_method_name((enum vtctld_method)method);
		const struct histogram histogram = {
			.bounds = engine_rpc_bounds_s,
			.bound_count = RPC_BOUNDS,
			.counts = (uint64_t *)state->counters->rpc_seconds[method], /* is only read */
			.sum = state->counters->rpc_seconds_sum[method],
		};

		metrics_histogram(to, metric, &name, &histogram);
	}
}

static void servers(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	const struct session *session = &state->serve->session;

	for (unsigned i = 0; i < session->server_count; i++)
		sample(to, metric, session->servers[i], NULL, engine_server_down_ms(state->engine, i) == 0);
}

static void moves(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		sample(to, metric, phase_name((enum phase)phase), NULL,
		       (double)state->counters->moves[phase]);
}

static void decisions(const struct state *state, const struct metric *metric, struct strbuf *to)
{
	for (size_t rule = 0; rule < sizeof state->counters->rules / sizeof state->counters->rules[0];
	     rule++) {
		char number[16];

		if (!state->counters->rules[rule])
			continue;
		snprintf(number, sizeof number, "%zu", rule);
		sample(to, metric, number, NULL, (double)state->counters->rules[rule]);
	}
}

/* ---- The table; the order of the page and of docs/metrics.md ---- */

static const struct row {
	struct metric metric;
	double (*whole)(const struct state *state);
	double (*keyspace)(const struct state *state, const struct sums *sums);
	samples *samples;
} rows[] = {
	{ { "vtddl_build_info", METRIC_GAUGE, "The version that runs; always 1", "version,commit" },
	  .samples = build_info },
	{ { "vtddl_start_time_seconds", METRIC_GAUGE, "When the program started, as Unix time", "" },
	  started },
	{ { "vtddl_changes", METRIC_GAUGE, "Changes that are not over, by phase", "keyspace,phase" },
	  .samples = changes },
	{ { "vtddl_change_info", METRIC_GAUGE, "One for each change that is not over; always 1",
	    "keyspace,table,uuid,phase" },
	  .samples = change_info },
	{ { "vtddl_changes_late", METRIC_GAUGE,
	    "Changes behind their deadline: nothing more is begun for them", "keyspace" },
	  .keyspace = late },
	{ { "vtddl_shards", METRIC_GAUGE,
	    "Shards of all those changes, by what was seen last: a status of Vitess, held_ready (waits for the "
	    "release) or absent",
	    "keyspace,state" },
	  .samples = shards },
	{ { "vtddl_barrier_ready_ratio", METRIC_GAUGE,
	    "Of the shards of submitted changes those that are held and ready; missing where there are none",
	    "keyspace" },
	  .keyspace = ready_ratio },
	{ { "vtddl_oldest_hold_seconds", METRIC_GAUGE,
	    "How long the record of the oldest change that is ready on every shard has stood; 0 where none is",
	    "keyspace" },
	  .keyspace = oldest_hold },
	{ { "vtddl_observation_age_seconds", METRIC_GAUGE,
	    "Time since the shards were seen last; missing before the first time", "keyspace" },
	  .keyspace = observation_age },
	{ { "vtddl_lease_held", METRIC_GAUGE, "Whether this process drives the keyspace", "keyspace" },
	  .keyspace = leader },
	{ { "vtddl_lease_epoch", METRIC_GAUGE, "The epoch of our lease; missing where it is not ours",
	    "keyspace" },
	  .keyspace = epoch },
	{ { "vtddl_lease_left_seconds", METRIC_GAUGE,
	    "How long our lease lasts; missing where it is not ours or has no end", "keyspace" },
	  .keyspace = lease_left },
	{ { "vtddl_leases_taken_total", METRIC_COUNTER, "Leases taken", "" }, leases_taken },
	{ { "vtddl_leases_lost_total", METRIC_COUNTER, "Leases that ended or were taken from us", "" },
	  leases_lost },
	{ { "vtddl_lease_renewals_failed_total", METRIC_COUNTER, "Renewals that the store did not answer",
	    "" },
	  renewals_failed },
	{ { "vtddl_rpcs_total", METRIC_COUNTER,
	    "Calls of vtctld that ended; unknown is every end that proves nothing", "rpc,outcome" },
	  .samples = rpcs },
	{ { "vtddl_rpc_duration_seconds", METRIC_HISTOGRAM, "How long they took", "rpc" },
	  .samples = rpc_seconds },
	{ { "vtddl_ambiguous_effects_total", METRIC_COUNTER,
	    "Effects whose outcome was unknown: the shards were looked at before anything else", "rpc" },
	  .samples = ambiguous },
	{ { "vtddl_server_up", METRIC_GAUGE, "Whether a vtctld answers, or was not asked yet", "server" },
	  .samples = servers },
	{ { "vtddl_sweeps_total", METRIC_COUNTER, "Observations of a whole keyspace", "" }, sweeps },
	{ { "vtddl_looks_total", METRIC_COUNTER, "Observations of one change", "" }, looks },
	{ { "vtddl_decisions_total", METRIC_COUNTER, "Decisions by rule (`vtddl rules`)", "rule" },
	  .samples = decisions },
	{ { "vtddl_phase_moves_total", METRIC_COUNTER, "Moves into a phase, written by this process",
	    "phase" },
	  .samples = moves },
	{ { "vtddl_store_up", METRIC_GAUGE, "Whether the store answers", "" }, store_up },
	{ { "vtddl_store_survey_age_seconds", METRIC_GAUGE,
	    "Time since all live changes were read from the store", "" },
	  store_age },
	{ { "vtddl_store_calls_total", METRIC_COUNTER, "Calls of the store", "" }, store_calls },
	{ { "vtddl_store_failures_total", METRIC_COUNTER, "Calls of the store that failed", "" },
	  store_failures },
	{ { "vtddl_store_conflicts_total", METRIC_COUNTER,
	    "Writes that were refused because another process was first", "" },
	  store_conflicts },
};

#define ROWS (sizeof rows / sizeof rows[0])

static void add_row(const struct state *state, const struct row *row, struct strbuf *to)
{
	metrics_head(to, &row->metric);
	if (row->samples) {
		row->samples(state, &row->metric, to);
	} else if (row->whole) {
		double value = row->whole(state);

		if (!isnan(value))
			metrics_sample(to, &row->metric, NULL, value);
	}
	for (size_t i = 0; row->keyspace && i < state->sum_count; i++) {
		double value = row->keyspace(state, &state->sums[i]);

		if (!isnan(value))
			sample(to, &row->metric, state->sums[i].view.name, NULL, value);
	}
}

void metrics_page(const struct serve *serve, const struct question *question, struct answer *ret)
{
	struct state state = {
		.serve = serve,
		.engine = serve->session.engine,
		.counters = engine_counters(serve->session.engine),
		.now_ms = clock_wall_ms(),
	};

	(void)question;
	state.store_up = !engine_store_trouble(state.engine, &state.live_at_ms)[0] && state.live_at_ms;
	add_up(&state);
	strbuf_init(&ret->text, PAGE_MAX);
	for (size_t i = 0; i < ROWS; i++)
		add_row(&state, &rows[i], &ret->text);
	free(state.sums);
}

void metrics_list(FILE *to)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };

	fprintf(to, "%-35s %-10s %-26s %s\n", "METRIC", "TYPE", "LABELS", "MEANING");
	for (size_t i = 0; i < ROWS; i++) {
		const struct metric *metric = &rows[i].metric;

		fprintf(to, "%-35s %-10s %-26s %s\n", metric->name, types[metric->type],
			metric->labels[0] ? metric->labels : "-", metric->help);
	}
}
