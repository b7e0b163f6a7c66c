#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "output.h"
#include "vtddl/clock.h"
#include "vtddl/log.h"
#include "vtddl/strbuf.h"

#define REDRAW_MS 250	       /* at most so often, while something changes */
#define TICK_MS 1000	       /* and for the clock in the header */
#define PROGRESS_LINE_MS 30000 /* of one shard, where lines cannot be redrawn */
#define WAITING_MS 10000       /* a reason that has stood for so long is said */
#define ADVICE_MS 5000	       /* and an advice */
#define BAR_WIDTH 20
#define LINE_MAX_BYTES 4096
#define FRAME_MAX_BYTES (256 * 1024)

/* What was said last about a shard. */
struct said {
	char state[32];
	char message[160]; /* of the row: a cut-over that failed says why */
	double percent;
	int64_t at_ms;
};

/* A text, and since when it has been the same: by its start, for error texts vary at their end. */
struct standing {
	char text[80];
	int64_t since_ms;
	bool said;
};

struct progress_view {
	const char *keyspace;
	bool live;
	int64_t began_ms, drawn_at_ms;
	uint64_t serial;
	size_t drawn_lines;
	struct strbuf frame; /* written at once, so that nothing flickers */
	int phase;	     /* said last; _PHASE_INVALID: none */
	bool said_holder;
	struct standing reason, advice;
	char refusal[80]; /* the last one that was said */
	struct said *said;
	size_t said_count;
};

struct progress_view *progress_new(const char *keyspace)
{
	struct progress_view *progress = calloc(1, sizeof *progress);

	if (!progress)
		abort();
	progress->keyspace = keyspace;
	progress->live = output_is_live();
	progress->began_ms = clock_monotonic_ms();
	progress->phase = _PHASE_INVALID;
	strbuf_init(&progress->frame, FRAME_MAX_BYTES);
	return progress;
}

/* ---- Words for a shard ---- */

static const char *state_of(const struct shard_view *shard)
{
	if (!shard->look)
		return "not seen yet";
	switch (shard->look->state) {
	case ROW_UNKNOWN:
		return "unknown";
	case ROW_ABSENT:
		return "absent";
	case ROW_DOUBLE:
		return "double";
	default:
		return shard->ready && shard->look->row.status != MIGRATION_COMPLETE
			       ? "ready"
			       : migration_status_name(shard->look->row.status);
	}
}

static bool has_row(const struct shard_view *shard)
{
	return shard->look && (shard->look->state == ROW_ONE || shard->look->state == ROW_DOUBLE);
}

static bool is_forward(const struct shard_view *shard)
{
	return shard->ready || (has_row(shard) && shard->look->row.status == MIGRATION_COMPLETE);
}

/* ---- News: lines of a log ---- */

/* @next is advice while nothing moves, of the rule that waits; NULL in every other line. */
static void say(const struct progress_view *progress, const struct view *view, const char *message,
		const char *shard, const char *reason, const char *next)
{
	int rule_number = next && view->rule ? view->rule->number : view->change ? view->change->rule : 0;
	char epoch[24] = "", rule[16] = "";
	const struct log_field fields[] = {
		{ "keyspace", progress->keyspace },
		{ "uuid", view->change ? view->change->uuid : NULL },
		{ "phase", view->change ? phase_name(view->change->phase) : NULL },
		{ "epoch", view->change ? epoch : NULL },
		{ "shard", shard },
		{ "rule", view->change && rule_number && !shard ? rule : NULL },
		{ "reason", reason && reason[0] ? reason : NULL },
		{ "next", next && next[0] ? next : NULL },
		{ NULL, NULL },
	};

	if (view->change) {
		snprintf(epoch, sizeof epoch, "%lld", (long long)view->change->epoch);
		snprintf(rule, sizeof rule, "%d",
			 rule_number);
	}
	log_write(LOG_INFO, message, fields);
}

/* ---- The block on a terminal: drawn into a frame ---- */

static void erase(struct progress_view *progress)
{
	if (progress->drawn_lines)
		strbuf_addf(&progress->frame, "\r\033[%zuA\033[J", progress->drawn_lines);
	progress->drawn_lines = 0;
}

static void show_frame(struct progress_view *progress)
{
	fwrite(progress->frame.text, 1, progress->frame.length, stderr);
	strbuf_clear(&progress->frame);
}

/* A line that stays, above the block. */
static void draw_news(struct progress_view *progress, const char *headline, const char *text, int rule)
{
	char now[CLOCK_TEXT_SIZE];

	erase(progress);
	clock_format(clock_wall_ms(), now);
	strbuf_addf(&progress->frame, "%.19sZ  %s: ", now, headline);
	strbuf_add_shown(&progress->frame, text, REASON_MAX);
	if (rule)
		strbuf_addf(&progress->frame, " (rule %d)", rule);
	strbuf_adds(&progress->frame, "\n");
}

static void say_news(struct progress_view *progress, const struct view *view)
{
	const struct change *change = view->change;
	char message[64];

	if (view->holder && view->holder[0] && !progress->said_holder) {
		progress->said_holder = true;
		if (progress->live)
			draw_news(progress, "only watching, another process drives this keyspace",
				  view->holder, 0);
		else
			say(progress, view, "another process drives this keyspace", NULL, view->holder, NULL);
	}
	if (!change || !view->recorded || (int)change->phase == progress->phase)
		return;
	progress->phase = change->phase;
	snprintf(message, sizeof message, "phase %s", phase_name(change->phase));
	if (progress->live)
		draw_news(progress, phase_name(change->phase), change->reason, change->rule);
	else
		say(progress, view, message, NULL, change->reason, NULL);
}

/* Return: true once, when @text has not changed for @for_ms. */
static bool has_stood(struct standing *standing, const char *text, int64_t for_ms)
{
	int64_t now_ms = clock_monotonic_ms();

	if (strncmp(text, standing->text, sizeof standing->text - 1) != 0) {
		snprintf(standing->text, sizeof standing->text, "%s", text);
		standing->since_ms = now_ms;
		standing->said = false;
	}
	if (standing->said || !text[0] || now_ms - standing->since_ms < for_ms)
		return false;
	standing->said = true;
	return true;
}

/* While an effect is refused again and again, waiting and trying take turns, so neither stands for long. */
static bool is_another_refusal(struct progress_view *progress, const char *refusal)
{
	size_t size = sizeof progress->refusal;

	if (!refusal[0] || strncmp(refusal, progress->refusal, size - 1) == 0)
		return false;
	snprintf(progress->refusal, size, "%s", refusal);
	return true;
}

/* Why nothing moves, and what a person can do. A terminal shows the reason all the time. */
static void say_waiting(struct progress_view *progress, const struct view *view)
{
	const char *reason = view->reason ? view->reason : "", *advice = view->advice ? view->advice : "";
	bool new_reason = has_stood(&progress->reason, reason, WAITING_MS);
	bool new_advice = has_stood(&progress->advice, advice, ADVICE_MS);
	bool new_refusal = is_another_refusal(progress, view->refusal);

	if (progress->live && new_advice)
		draw_news(progress, "next", advice, 0);
	else if (!progress->live && (new_reason || new_advice || new_refusal))
		say(progress, view, "waiting", NULL, reason, advice);
}

static void say_shard(const struct progress_view *progress, const struct view *view, struct said *said,
		      const struct shard_view *shard)
{
	const char *state = state_of(shard);
	double percent = has_row(shard) ? shard->look->row.progress : 0;
	int64_t now_ms = clock_monotonic_ms();
	const char *message_now = has_row(shard) && shard->look->row.message ? shard->look->row.message : "";
	bool new_state = strcmp(said->state, state) != 0 ||
			 strncmp(said->message, message_now, sizeof said->message - 1) != 0;
	struct strbuf message cleanup(strbuf_release);

	if (!new_state && (percent == said->percent || now_ms - said->at_ms < PROGRESS_LINE_MS))
		return;
	snprintf(said->state, sizeof said->state, "%s", state);
	snprintf(said->message, sizeof said->message, "%s", message_now);
	said->percent = percent;
	said->at_ms = now_ms;
	strbuf_init(&message, 256);
	strbuf_adds(&message, "shard ");
	strbuf_add_shown(&message, shard->name, SHARD_NAME_MAX);
	strbuf_addf(&message, " %s", state);
	if (has_row(shard) && shard->look->row.status == MIGRATION_RUNNING && !shard->ready)
		strbuf_addf(&message, " %.0f %%", percent);
	say(progress, view, message.text, shard->name, shard->reason, NULL);
}

static void say_shards(struct progress_view *progress, const struct view *view)
{
	if (progress->said_count != view->shard_count) {
		free(progress->said);
		progress->said_count = view->shard_count;
		progress->said = calloc(view->shard_count + 1, sizeof *progress->said);
		if (!progress->said)
			abort();
	}
	for (size_t i = 0; i < view->shard_count; i++)
		if (view->shards[i].look)
			say_shard(progress, view, &progress->said[i], &view->shards[i]);
}

/* ---- Lines of the block ---- */

/* Cuts at @columns; bytes that go on a letter of UTF-8 take no column. */
static void draw_line(struct progress_view *progress, const struct strbuf *line, size_t columns,
		      const char *color)
{
	size_t bytes = 0, used = 0;

	for (; bytes < line->length; bytes++) {
		if (((unsigned char)line->text[bytes] & 0xc0) != 0x80 && used++ == columns)
			break;
	}
	strbuf_adds(&progress->frame, color);
	strbuf_add(&progress->frame, line->text, bytes);
	strbuf_adds(&progress->frame, color[0] ? "\033[0m\n" : "\n");
	progress->drawn_lines++;
}

static const char *color_of(const struct shard_view *shard)
{
	int status = has_row(shard) ? shard->look->row.status : MIGRATION_UNKNOWN;

	if (!output_has_color(stderr))
		return "";
	if (status == MIGRATION_FAILED || status == MIGRATION_CANCELLED)
		return "\033[31m";
	if (is_forward(shard))
		return "\033[32m";
	return shard->look && !has_row(shard) ? "\033[33m" : "";
}

static void add_bar(struct strbuf *line, double percent)
{
	int full = percent >= 100 ? BAR_WIDTH : percent <= 0 ? 0 : (int)(percent * BAR_WIDTH / 100);

	strbuf_adds(line, " [");
	for (int i = 0; i < BAR_WIDTH; i++)
		strbuf_adds(line, i < full ? "#" : ".");
	strbuf_addf(line, "] %3.0f %%", percent);
}

static void draw_shard(struct progress_view *progress, const struct shard_view *shard, int name_width,
		       size_t columns)
{
	struct strbuf line cleanup(strbuf_release);
	char eta[DURATION_TEXT_SIZE];

	strbuf_init(&line, LINE_MAX_BYTES);
	strbuf_adds(&line, "  ");
	strbuf_add_shown(&line, shard->name, SHARD_NAME_MAX);
	strbuf_addf(&line, "%*s %-12s", name_width - (int)strlen(shard->name), "", state_of(shard));
	if (has_row(shard)) {
		const struct migration *row = &shard->look->row;

		add_bar(&line, row->progress);
		if (row->table_rows > 0 && !row->is_immediate_operation)
			strbuf_addf(&line, " %lld/%lld rows", (long long)row->rows_copied,
				    (long long)row->table_rows);
		if (row->eta_s > 0 && !is_forward(shard)) {
			output_duration(row->eta_s * 1000, eta);
			strbuf_addf(&line, " ETA %s", eta);
		}
	}
	strbuf_adds(&line, "  ");
	strbuf_add_shown(&line, shard->reason, 400);
	draw_line(progress, &line, columns, color_of(shard));
}

static void draw_header(struct progress_view *progress, const struct view *view, size_t columns)
{
	struct strbuf line cleanup(strbuf_release);
	int64_t now_ms = clock_monotonic_ms(), wait_ms = view->next_look_ms - now_ms;
	char elapsed[DURATION_TEXT_SIZE];

	output_duration(now_ms - progress->began_ms, elapsed);
	strbuf_init(&line, LINE_MAX_BYTES);
	strbuf_add_shown(&line, progress->keyspace, KEYSPACE_MAX);
	if (view->change) {
		strbuf_adds(&line, ".");
		strbuf_add_shown(&line, view->change->table, TABLE_MAX);
		strbuf_addf(&line, "  %s  gate %s",
			    view->recorded ? phase_name(view->change->phase) : "not written down yet",
			    gate_name(view->change->gate));
	}
	strbuf_addf(&line, "  %s", elapsed);
	if (view->in_flight != EFFECT_NONE)
		strbuf_addf(&line, "  %s under way", effect_name(view->in_flight));
	else if (wait_ms > 0 && wait_ms < 3600000)
		strbuf_addf(&line, "  next look in %llds", (long long)(wait_ms + 999) / 1000);
	if (view->holder && view->holder[0])
		strbuf_adds(&line, "  only watching");
	draw_line(progress, &line, columns, "");
	strbuf_clear(&line);
	strbuf_adds(&line, "  ");
	strbuf_add_shown(&line, view->reason && view->reason[0] ? view->reason : "asking the fleet", 400);
	draw_line(progress, &line, columns, "");
}

static void draw_shards(struct progress_view *progress, const struct view *view, size_t columns, size_t lines)
{
	struct strbuf rest cleanup(strbuf_release);
	int name_width = 4;
	size_t drawn = 0;

	for (size_t i = 0; i < view->shard_count; i++)
		if ((int)strlen(view->shards[i].name) > name_width)
			name_width = (int)strlen(view->shards[i].name);
	/* Where all fit, in their order; else those that are behind come first. */
	for (int forward = 0; forward < 2; forward++) {
		for (size_t i = 0; i < view->shard_count && drawn < lines; i++) {
			bool fits = view->shard_count <= lines;

			if (fits ? forward == 0 : is_forward(&view->shards[i]) == (forward == 1)) {
				draw_shard(progress, &view->shards[i], name_width, columns);
				drawn++;
			}
		}
	}
	if (drawn == view->shard_count)
		return;
	strbuf_init(&rest, LINE_MAX_BYTES);
	strbuf_addf(&rest, "  and %zu more shards; in all %zu of %zu ready, %zu complete",
		    view->shard_count - drawn, view->progress.shards_ready, view->shard_count,
		    view->progress.shards_complete);
	draw_line(progress, &rest, columns, "");
}

static void draw(struct progress_view *progress, const struct view *view)
{
	struct winsize size = { 0 };
	size_t columns = 79, lines = 20;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 && size.ws_row > 6) {
		columns = size.ws_col - 1u;
		lines = size.ws_row - 5u;
	}
	erase(progress);
	draw_header(progress, view, columns);
	draw_shards(progress, view, columns, lines);
	show_frame(progress);
}

void progress_update(struct progress_view *progress, const struct view *view)
{
	int64_t now_ms = clock_monotonic_ms();
	bool is_new = view->serial != progress->serial || !progress->drawn_at_ms;

	if (view->already) /* nothing happened; the result says it all */
		return;
	if (!view->ended)
		say_waiting(progress, view);
	if (!progress->live && !is_new)
		return;
	if (is_new)
		say_news(progress, view);
	if (!progress->live) {
		progress->serial = view->serial;
		progress->drawn_at_ms = now_ms;
		say_shards(progress, view);
		return;
	}
	if (progress->drawn_lines && now_ms - progress->drawn_at_ms < (is_new ? REDRAW_MS : TICK_MS))
		return;
	progress->serial = view->serial;
	progress->drawn_at_ms = now_ms;
	draw(progress, view);
}

struct progress_view *progress_free(struct progress_view *progress)
{
	if (!progress)
		return NULL;
	erase(progress);
	show_frame(progress);
	strbuf_release(&progress->frame);
	free(progress->said);
	free(progress);
	return NULL;
}
