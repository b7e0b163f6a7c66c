/*
 * Goal: whatever texts the fleet, a person or another program left behind, what is told of them is JSON that
 * a parser takes, lines that a terminal only shows, log lines that stay lines, and metrics that are in their
 * format. Method: the bytes are cut into texts, each ended by a NUL, which stand for every text that can be
 * told; numbers come from them too. All that prints is called with these.
 */
#include <jansson.h>

#include "fuzz.h"
#include "json.h"
#include "migrations.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "rpc.h"
#include "vtddl/metrics.h"
#include "vtddl/strbuf.h"

/* The log writes to file descriptor 2: here into a text. */
static struct strbuf logged;
static ssize_t log_take(int fd, const void *bytes, size_t length)
{
	(void)fd;
	strbuf_add(&logged, bytes, length);
	return (ssize_t)length;
}
#define write log_take
#include "../../src/base/log.c"
#undef write

/* No vtctld here. */
int rpc_call(struct wire *wire, struct vtctld_request *request, struct arena *arena, struct vtctld_reply *ret,
	     struct error *reterr)
{
	(void)wire, (void)request, (void)arena, (void)ret;
	return error_set(reterr, ERROR_UNAVAILABLE, "no vtctld");
}

void rpc_call_all(struct wire *wire, struct vtctld_request *requests, size_t count, struct arena *arena,
		  struct vtctld_reply *replies)
{
	(void)wire, (void)requests, (void)count, (void)arena, (void)replies;
}

#define TEXTS 16

struct texts {
	const char *texts[TEXTS];
	struct fuzz_bytes numbers;
};

/* ---- What was told ---- */

static void check_clean(const char *text, const char *what)
{
	fuzz_check(fuzz_is_utf8(text), "%s is not UTF-8", what);
}

/* Lines: line ends are ours, everything else is only to be seen. */
static void check_lines(char *text, const char *what)
{
	check_clean(text, what);
	for (char *at = text; *at; at++)
		if (*at == '\n')
			*at = ' ';
	fuzz_check(fuzz_is_quiet(text), "%s has a control character", what);
}

static void check_json(const char *text, const char *what)
{
	json_error_t error;
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	fuzz_check(object, "%s is no JSON: %s", what, error.text);
	json_decref(object);
}

/* Takes over @object, as all do. */
static void check_object(json_t *object, const char *key, const char *what)
{
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;

	fuzz_check(text, "%s cannot be told", what);
	fuzz_check(!key || json_object_get(object, key), "%s has no %s", what, key);
	check_json(text, what);
	free(text);
	json_decref(object);
}

/* ---- What is to be told ---- */

static void fill(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
}

static struct migration row_of(struct texts *from)
{
	const char *const *texts = from->texts;
	int64_t number = fuzz_number(&from->numbers);
	struct migration row = {
		.uuid = texts[0],
		.keyspace = texts[1],
		.shard = texts[2],
		.table = texts[3],
		.statement = texts[4],
		.options = texts[5],
		.context = texts[6],
		.ddl_action = texts[7],
		.message = texts[8],
		.stage = texts[9],
		.artifacts = texts[10],
		.special_plan = texts[11],
		.status = (int)fuzz_number(&from->numbers),
		.strategy = (int)fuzz_number(&from->numbers),
		.retries = fuzz_number(&from->numbers),
		.requested_at_s = fuzz_number(&from->numbers) % 100000000000,
		.eta_s = fuzz_number(&from->numbers) % 1000000000000,
		.rows_copied = fuzz_number(&from->numbers),
		.table_rows = fuzz_number(&from->numbers),
		.cutover_attempts = fuzz_number(&from->numbers),
	};

	memcpy(&row.progress, &number, sizeof(row.progress));
	fill(row.tablet.cell, sizeof(row.tablet.cell), texts[12]);
	row.tablet.uid = (uint32_t)number;
	return row;
}

static struct change change_of(struct texts *from, struct change_shard *shard)
{
	const char *const *texts = from->texts;
	struct change change = { .cluster = "default",
				 .keyspace = "commerce",
				 .ddl = texts[4],
				 .strategy = texts[5],
				 .uuid = "9e2f0101_4c1d_8a3b_9d55_0242ac110003",
				 .context = "ctx",
				 .generation = 1,
				 .phase = (enum phase)fuzz_below(&from->numbers, _PHASE_MAX),
				 .shards = shard,
				 .shard_count = 1,
				 .created_at_ms = fuzz_number(&from->numbers) % 100000000000000,
				 .epoch = fuzz_number(&from->numbers) };

	fill(change.table, sizeof(change.table), texts[3]);
	fill(change.reason, sizeof(change.reason), texts[8]);
	fill(change.created_by, sizeof(change.created_by), texts[9]);
	fill(shard->name, sizeof(shard->name), "-80");
	fill(shard->primary.cell, sizeof(shard->primary.cell), texts[12]);
	return change;
}

static void tell_json(const struct migration *row, const struct change *change,
		      const struct shard_view *shard, const struct history_entry *line,
		      const struct error *error)
{
	check_object(json_migration(row), "progress", "a row");
	check_object(json_change(change), "statement", "a record");
	check_object(json_history(line, 1), NULL, "a history");
	check_object(json_shard_view(change, shard, 0), "shard", "a shard");
	check_object(json_error(1, error), "reasons", "an error");
}

static void tell_text(const struct view *view, struct migration *row, const struct error *error,
		      struct texts *from)
{
	const struct report report = { .view = view,
				       .goal = (enum goal)fuzz_below(&from->numbers, _GOAL_MAX),
				       .keyspace = "commerce",
				       .exit_code = report_exit_code(view),
				       .duration_ms = fuzz_number(&from->numbers) % 1000000000000,
				       .resume = "vtddl run" };
	struct progress_view *progress = progress_new("commerce");
	FILE *kept_out = stdout, *kept_error = stderr;
	char *out = NULL, *errors = NULL, *json = NULL;
	size_t size;

	stderr = open_memstream(&errors, &size);
	stdout = open_memstream(&out, &size);
	migrations_sort(row, 1, false);
	migrations_print(row, 1);
	report_print(&report);
	progress_update(progress, view);
	progress_free(progress);
	output_error(error);
	output_say("%s", from->texts[0]);
	fclose(stdout);
	stdout = open_memstream(&json, &size);
	report_print_json(&report);
	fclose(stdout);
	fclose(stderr);
	stdout = kept_out;
	stderr = kept_error;
	check_lines(out, "what is printed");
	check_lines(errors, "what is said");
	check_json(json, "a report");
	free(out);
	free(errors);
	free(json);
}

/* One line each, whatever is in it; and JSON where that was asked for. */
static void tell_log(struct texts *from)
{
	const struct log_field fields[] = {
		{ "keyspace", from->texts[1] }, { "reason", from->texts[8] }, { "uuid", NULL }, { NULL, NULL }
	};

	for (int json = 0; json < 2; json++) {
		strbuf_init(&logged, 1 << 20);
		log_setup(json, LOG_DEBUG);
		log_write(LOG_WARNING, from->texts[4], fields);
		fuzz_check(logged.length && strchr(logged.text, '\n') == logged.text + logged.length - 1,
			   "a log line is not one line");
		if (json)
			check_json(logged.text, "a log line");
		check_lines(logged.text, "a log line");
		strbuf_release(&logged);
	}
	log_setup(false, LOG_ERROR);
}

static void tell_metrics(struct texts *from)
{
	static const struct metric metric = { "vtddl_changes", METRIC_GAUGE, "Changes.", "keyspace,phase" };
	const char *values[] = { from->texts[1], from->texts[8] };
	struct strbuf text;
	const char *at;

	strbuf_init(&text, 1 << 16);
	metrics_sample(&text, &metric, values, (double)fuzz_number(&from->numbers));
	fuzz_check(strncmp(text.text, "vtddl_changes{keyspace=\"", 24) == 0 &&
			   strchr(text.text, '\n') == text.text + text.length - 1,
		   "a sample is not one line: %s", text.text);
	for (at = text.text + 24; *at && *at != '"'; at++)
		at += *at == '\\';
	fuzz_check(strncmp(at, "\",phase=\"", 9) == 0, "the value of a label leaves its quotes: %s",
		   text.text);
	check_lines(text.text, "a sample");
	strbuf_release(&text);
}

static void tell_shown(const char *text, size_t max)
{
	struct strbuf shown;

	strbuf_init(&shown, 1 << 16);
	strbuf_add_shown(&shown, text, max);
	fuzz_check(shown.length <= max, "%zu bytes are shown where %zu are allowed", shown.length, max);
	if (shown.length)
		check_lines(shown.text, "what is shown");
	strbuf_release(&shown);
}

static void tell(struct texts *from)
{
	const char *const *texts = from->texts;
	struct migration row = row_of(from);
	struct change_shard record = { 0 };
	const struct change change = change_of(from, &record);
	const struct shard_look look = { .state = ROW_ONE, .row = row, .trouble = texts[8] };
	const char *checks[] = { texts[10], texts[11] };
	struct history_entry line = { .actor = texts[13],
				      .from = _PHASE_INVALID,
				      .to = change.phase,
				      .reason = texts[8],
				      .evidence = texts[14] };
	struct shard_view shard = { .name = record.name, .look = &look };
	struct error error = { .code = (enum error_code)(1 + fuzz_below(&from->numbers, _ERROR_MAX - 1)) };
	struct view view = { .serial = 1,
			     .ended = true,
			     .change = fuzz_below(&from->numbers, 4) ? &change : NULL,
			     .recorded = true,
			     .holder = texts[13],
			     .reason = texts[8],
			     .advice = texts[9],
			     .refusal = texts[15],
			     .shards = &shard,
			     .shard_count = 1,
			     .checks = checks,
			     .check_count = 2,
			     .goal_reached = fuzz_below(&from->numbers, 2),
			     .verdict = VERDICT_FAILED,
			     .rule = rules_find(131) };

	fill(shard.reason, sizeof(shard.reason), texts[8]);
	fill(error.text, sizeof(error.text), texts[15]);
	tell_json(&row, &change, &shard, &line, &error);
	tell_text(&view, &row, &error, from);
	tell_log(from);
	tell_metrics(from);
	tell_shown(texts[0], fuzz_byte(&from->numbers));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = fuzz_copy(bytes, length, true), *at = text;
	struct texts from = { 0 };

	for (size_t i = 0; i < TEXTS; i++) { /* where there are fewer, the first one again */
		from.texts[i] = at <= text + length ? at : text;
		at += at <= text + length ? strlen(at) + 1 : 0;
	}
	from.numbers = (struct fuzz_bytes){ bytes, bytes + length };
	tell(&from);
	free(text);
	return 0;
}
