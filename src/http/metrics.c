#include "vtddl/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/banned.h"

#define VALUE_MAX ((size_t)1024) /* bytes of the value of a label */
#define LABELS_MAX 8
#define LABEL_MAX 32
#define WHOLE_MAX 9007199254740992.0 /* 2^53: every whole number up to here is one double */

static const char *const type_names[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
};

static bool is_name(const char *text, size_t length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";

	if (!length || !memchr(letters, text[0], sizeof(letters) - 1))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!memchr(letters, text[i], sizeof(letters) - 1) && (text[i] < '0' || text[i] > '9'))
			return false;
	return true;
}

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static void add_escaped(struct strbuf *to, const char *text, const char *escaped)
{
	for (const char *at = text; *at; at++) {
		if (*at == '\n') {
			strbuf_adds(to, "\\n");
			continue;
		}
		if (strchr(escaped, *at))
			strbuf_adds(to, "\\");
		strbuf_add(to, at, 1);
	}
}

/* The format wants UTF-8; names of the fleet are bytes. A line end is the one control character it knows. */
static void add_value(struct strbuf *to, const char *text)
{
	struct strbuf line, shown;

	strbuf_init(&line, VALUE_MAX);
	strbuf_init(&shown, 5 * VALUE_MAX);
	for (const char *at = text; *at; at += strcspn(at, "\n")) {
		if (at != text || *at == '\n') {
			strbuf_adds(&shown, "\n");
			at++;
		}
		strbuf_clear(&line);
		strbuf_add(&line, at, strcspn(at, "\n"));
		strbuf_add_shown(&shown, line.text, VALUE_MAX);
	}
	add_escaped(to, shown.text, "\\\"");
	strbuf_release(&shown);
	strbuf_release(&line);
}

/* The shortest form that reads back as the same number; whole numbers without an exponent. */
static void add_number(struct strbuf *to, double value)
{
	char text[64];

	if (isnan(value)) {
		strbuf_adds(to, "NaN");
		return;
	}
	if (isinf(value)) {
		strbuf_adds(to, value > 0 ? "+Inf" : "-Inf");
		return;
	}
	if (value == 0)
		value = 0; /* and not -0 */
	if (value == trunc(value) && fabs(value) <= WHOLE_MAX) {
		strbuf_addf(to, "%.0f", value);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	strbuf_adds(to, text);
}

static void add_line(struct strbuf *to, const struct metric *metric, const char *suffix,
		     const char *const *values, const double *le)
{
	const char *name = metric->labels, *separator = "{";
	size_t length;

	strbuf_adds(to, metric->name);
	strbuf_adds(to, suffix);
	for (size_t i = 0; *name; i++, name += length + (name[length] == ',')) {
		length = strcspn(name, ",");
		assert(i < LABELS_MAX && length <= LABEL_MAX && is_name(name, length));
		strbuf_adds(to, separator);
		strbuf_add(to, name, length);
		strbuf_adds(to, "=\"");
		add_value(to, values[i] ? values[i] : "");
		strbuf_adds(to, "\"");
		separator = ",";
	}
	if (le) {
		strbuf_adds(to, separator);
		strbuf_adds(to, "le=\"");
		add_number(to, *le);
		strbuf_adds(to, "\"");
		separator = ",";
	}
	strbuf_adds(to, *separator == ',' ? "} " : " ");
}

void metrics_head(struct strbuf *to, const struct metric *metric)
{
	assert(is_name(metric->name, strlen(metric->name)));
	assert(ends_in(metric->name, "_total") == (metric->type == METRIC_COUNTER));
	strbuf_addf(to, "# HELP %s ", metric->name);
	add_escaped(to, metric->help, "\\");
	strbuf_addf(to, "\n# TYPE %s %s\n", metric->name, type_names[metric->type]);
}

void metrics_sample(struct strbuf *to, const struct metric *metric, const char *const *values, double value)
{
	assert(metric->type != METRIC_HISTOGRAM);
	add_line(to, metric, "", values, NULL);
	add_number(to, value);
	strbuf_adds(to, "\n");
}

void histogram_add(struct histogram *histogram, double value)
{
	size_t i = 0;

	while (i < histogram->bound_count && !(value <= histogram->bounds[i]))
		i++;
	histogram->counts[i]++;
	histogram->sum += value;
}

void metrics_histogram(struct strbuf *to, const struct metric *metric, const char *const *values,
		       const struct histogram *histogram)
{
	uint64_t count = 0;

	assert(metric->type == METRIC_HISTOGRAM);
	for (size_t i = 0; i <= histogram->bound_count; i++) {
		double bound = i < histogram->bound_count ? histogram->bounds[i] : INFINITY;

		count += histogram->counts[i];
		add_line(to, metric, "_bucket", values, &bound);
		strbuf_addf(to, "%" PRIu64 "\n", count);
	}
	add_line(to, metric, "_sum", values, NULL);
	add_number(to, histogram->sum);
	strbuf_adds(to, "\n");
	add_line(to, metric, "_count", values, NULL);
	strbuf_addf(to, "%" PRIu64 "\n", count);
}
