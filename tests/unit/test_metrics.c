/* Goal: what is written is Prometheus' text format, whatever stands in a label.
 * Method: tables of what is given and of the line that it must be; tests/http/test_metrics_format.py parses
 * the same with Prometheus' own parser. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/metrics.h"

static const struct metric gauge = { "vtddl_changes", METRIC_GAUGE, "Open changes.", "keyspace,phase" };
static const struct metric plain = { "vtddl_up", METRIC_GAUGE, "Whether\nit is \\ up.", "" };
static const struct metric counter = { "vtddl_looks_total", METRIC_COUNTER, "Looks.", "keyspace" };
static const struct metric seconds = { "vtddl_rpc_seconds", METRIC_HISTOGRAM, "How long.", "method" };

static struct strbuf text;

static int setup(void **state)
{
	(void)state;
	strbuf_init(&text, 100000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	strbuf_release(&text);
	return 0;
}

static void test_a_head_has_help_and_type(void **state)
{
	(void)state;
	metrics_head(&text, &gauge);
	metrics_head(&text, &plain);
	metrics_head(&text, &counter);
	metrics_head(&text, &seconds);
	assert_string_equal(text.text,
			    "# HELP vtddl_changes Open changes.\n# TYPE vtddl_changes gauge\n"
			    "# HELP vtddl_up Whether\\nit is \\\\ up.\n# TYPE vtddl_up gauge\n"
			    "# HELP vtddl_looks_total Looks.\n# TYPE vtddl_looks_total counter\n"
			    "# HELP vtddl_rpc_seconds How long.\n# TYPE vtddl_rpc_seconds histogram\n");
}

static void test_numbers_read_back_as_they_were(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ -0.0, "0" },
		{ 1, "1" },
		{ -3, "-3" },
		{ 1e15, "1000000000000000" },
		{ 9007199254740992.0, "9007199254740992" },
		{ 1700000000123.0, "1700000000123" },
		{ 0.1, "0.1" },
		{ 0.005, "0.005" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 123.456, "123.456" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e-7, "1e-07" },
		{ 1e300, "1e+300" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[128];

		strbuf_clear(&text);
		metrics_sample(&text, &plain, NULL, rows[i].value);
		snprintf(line, sizeof(line), "vtddl_up %s\n", rows[i].text);
		assert_string_equal(text.text, line);
	}
}

static void test_labels_are_escaped(void **state)
{
	static const struct {
		const char *value, *text;
	} rows[] = {
		{ "commerce", "commerce" },
		{ "", "" },
		{ NULL, "" },
		{ "a\"b", "a\\\"b" },
		{ "a\\b", "a\\\\b" },
		{ "a\nb", "a\\nb" },
		{ "\n", "\\n" },
		{ "a\n\n", "a\\n\\n" },
		{ "\\\"\n", "\\\\\\\"\\n" },
		{ "}", "}" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xff", "\\\\xff" },
		{ "\xc3", "\\\\xc3" },
		{ "a\tb\x1b[0m", "a\\\\x09b\\\\x1b[0m" },
		{ "x} 1\nvtddl_up 0", "x} 1\\nvtddl_up 0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *values[] = { rows[i].value, "submitted" };
		char line[256];

		strbuf_clear(&text);
		metrics_sample(&text, &gauge, values, 7);
		snprintf(line, sizeof(line), "vtddl_changes{keyspace=\"%s\",phase=\"submitted\"} 7\n",
			 rows[i].text);
		assert_string_equal(text.text, line);
	}
}

static void test_a_label_has_an_end(void **state)
{
	static char value[100000];
	const char *values[] = { value };

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	metrics_sample(&text, &counter, values, 1);
	assert_true(text.length < 2000);
	assert_string_equal(text.text + text.length - 5, "\"} 1\n");
}

static void test_a_histogram_is_cumulative(void **state)
{
	static const double bounds[] = { 0.005, 0.25, 1, 10 };
	static const char *const values[] = { "GetSchemaMigrations" };
	uint64_t counts[5] = { 0 };
	struct histogram histogram = { .bounds = bounds, .bound_count = 4, .counts = counts };

	(void)state;
	histogram_add(&histogram, 0.005); /* a bound belongs to its bucket */
	histogram_add(&histogram, 0.0051);
	histogram_add(&histogram, 0.25);
	histogram_add(&histogram, 5);
	histogram_add(&histogram, 10.5);
	histogram_add(&histogram, 100);
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 2);
	assert_int_equal(counts[2], 0);
	assert_int_equal(counts[3], 1);
	assert_int_equal(counts[4], 2);
	histogram.sum = 115.75;
	metrics_histogram(&text, &seconds, values, &histogram);
	assert_string_equal(text.text,
			    "vtddl_rpc_seconds_bucket{method=\"GetSchemaMigrations\",le=\"0.005\"} 1\n"
			    "vtddl_rpc_seconds_bucket{method=\"GetSchemaMigrations\",le=\"0.25\"} 3\n"
			    "vtddl_rpc_seconds_bucket{method=\"GetSchemaMigrations\",le=\"1\"} 3\n"
			    "vtddl_rpc_seconds_bucket{method=\"GetSchemaMigrations\",le=\"10\"} 4\n"
			    "vtddl_rpc_seconds_bucket{method=\"GetSchemaMigrations\",le=\"+Inf\"} 6\n"
			    "vtddl_rpc_seconds_sum{method=\"GetSchemaMigrations\"} 115.75\n"
			    "vtddl_rpc_seconds_count{method=\"GetSchemaMigrations\"} 6\n");
}

static void test_the_sum_is_that_of_the_values(void **state)
{
	static const double bounds[] = { 1 };
	uint64_t counts[2] = { 0 };
	struct histogram histogram = { .bounds = bounds, .bound_count = 1, .counts = counts };
	static const struct metric bare = { "vtddl_x_seconds", METRIC_HISTOGRAM, "X.", "" };

	(void)state;
	histogram_add(&histogram, 0.5);
	histogram_add(&histogram, 2);
	metrics_histogram(&text, &bare, NULL, &histogram);
	assert_string_equal(text.text,
			    "vtddl_x_seconds_bucket{le=\"1\"} 1\nvtddl_x_seconds_bucket{le=\"+Inf\"} 2\n"
			    "vtddl_x_seconds_sum 2.5\nvtddl_x_seconds_count 2\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_head_has_help_and_type),  TEST(test_numbers_read_back_as_they_were),
		TEST(test_labels_are_escaped),	      TEST(test_a_label_has_an_end),
		TEST(test_a_histogram_is_cumulative), TEST(test_the_sum_is_that_of_the_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
