#pragma once
/*
 * metrics: Prometheus' text format 0.0.4, from a table of metrics and samples given in its order.
 *
 * Pure: writes into a strbuf. Names, types and help are data, so docs/metrics.md is made from the
 * same table.
 */
#include <stddef.h>
#include <stdint.h>

#include "vtddl/strbuf.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
	const char *name; /* "vtddl_changes": prefix, base units, counters end in _total */
	enum metric_type type;
	const char *help;
	const char *labels; /* their names in order, "keyspace,phase"; "" none */
};

/** metrics_head() - the # HELP and # TYPE lines of one metric; its samples follow, and no other's */
void metrics_head(struct strbuf *to, const struct metric *metric);

/** metrics_sample() - one line
 * @values:	of the labels, in their order; any bytes, escaped here
 */
void metrics_sample(struct strbuf *to, const struct metric *metric, const char *const *values, double value);

/* Counts of a histogram; the last bucket is +Inf. */
struct histogram {
	const double *bounds; /* upper, in the metric's unit; bound_count of them */
	size_t bound_count;
	uint64_t *counts; /* bound_count + 1; not cumulative */
	double sum;
};
void histogram_add(struct histogram *histogram, double value);

/** metrics_histogram() - its _bucket lines (cumulative, with le), _sum and _count */
void metrics_histogram(struct strbuf *to, const struct metric *metric, const char *const *values,
		       const struct histogram *histogram);
