/*
 * Names, and the direct read: the constant SELECT that is sent to a primary, and its rows.
 *
 * The SELECT only ever holds a checked uuid or context prefix. In LIKE the prefix's `_` stands
 * for any character, so the caller compares what comes back (identity_context_generation()).
 */
#include "vtddl/vtctld.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/banned.h"
#include "vtddl/error.h"
#include "vtddl/identity.h"

#define ROWS_MAX 1000
#define CELL_TEXT_MAX 65535 /* of a MySQL TEXT column */

static const struct {
	const char *name;
	bool is_effect;
} methods[] = {
	[VTCTLD_GET_KEYSPACES] = { "GetKeyspaces", false },
	[VTCTLD_FIND_ALL_SHARDS] = { "FindAllShardsInKeyspace", false },
	[VTCTLD_GET_TABLETS] = { "GetTablets", false },
	[VTCTLD_GET_SCHEMA_MIGRATIONS] = { "GetSchemaMigrations", false },
	[VTCTLD_EXECUTE_FETCH_AS_DBA] = { "ExecuteFetchAsDBA", false }, /* our one SELECT */
	[VTCTLD_GET_SCHEMA] = { "GetSchema", false },
	[VTCTLD_CHECK_THROTTLER] = { "CheckThrottler", false },
	[VTCTLD_APPLY_SCHEMA] = { "ApplySchema", true },
	[VTCTLD_COMPLETE] = { "CompleteSchemaMigration", true },
	[VTCTLD_CANCEL] = { "CancelSchemaMigration", true },
};
_Static_assert(sizeof(methods) / sizeof(methods[0]) == _VTCTLD_METHOD_MAX, "every method has its name");

const char *vtctld_method_name(enum vtctld_method method)
{
	assert((unsigned)method < _VTCTLD_METHOD_MAX);
	return methods[method].name;
}

bool vtctld_method_is_effect(enum vtctld_method method)
{
	assert((unsigned)method < _VTCTLD_METHOD_MAX);
	return methods[method].is_effect;
}

static const char *const outcomes[] = {
	[VTCTLD_DONE] = "done",
	[VTCTLD_REFUSED] = "refused",
	[VTCTLD_NOT_SENT] = "not_sent",
	[VTCTLD_UNKNOWN] = "unknown",
};
_Static_assert(sizeof(outcomes) / sizeof(outcomes[0]) == _VTCTLD_OUTCOME_MAX, "every outcome has its name");

const char *vtctld_outcome_name(enum vtctld_outcome outcome)
{
	assert((unsigned)outcome < _VTCTLD_OUTCOME_MAX);
	return outcomes[outcome];
}

static const char *const statuses[] = {
	[MIGRATION_UNKNOWN] = "unknown",     [MIGRATION_REQUESTED] = "requested",
	[MIGRATION_CANCELLED] = "cancelled", [MIGRATION_QUEUED] = "queued",
	[MIGRATION_READY] = "ready",	     [MIGRATION_RUNNING] = "running",
	[MIGRATION_COMPLETE] = "complete",   [MIGRATION_FAILED] = "failed",
};
#define STATUS_COUNT ((int)(sizeof(statuses) / sizeof(statuses[0])))

bool migration_status_is_known(int status)
{
	return status > MIGRATION_UNKNOWN && status < STATUS_COUNT;
}

const char *migration_status_name(int status)
{
	return statuses[migration_status_is_known(status) ? status : MIGRATION_UNKNOWN];
}

enum migration_status migration_status_from_name(const char *name)
{
	for (int status = 1; status < STATUS_COUNT; status++) {
		if (strcmp(statuses[status], name) == 0)
			return (enum migration_status)status;
	}
	return MIGRATION_UNKNOWN;
}

/* ---- The columns: one table makes the SELECT and takes its rows apart ---- */

enum cell_kind {
	CELL_TEXT,
	CELL_BOOL,
	CELL_COUNT, /* integer; NULL is 0 */
	CELL_ETA,   /* integer; NULL is -1 */
	CELL_TIME,  /* unix_timestamp(); NULL is 0, a fraction is cut off */
	CELL_PERCENT,
	CELL_STATUS,
	CELL_STRATEGY,
	CELL_ALIAS,
};

#define MEMBER(member) offsetof(struct migration, member)

static const struct column {
	const char *name; /* in the table and in the answer */
	enum cell_kind kind;
	size_t offset;
} columns[] = {
	{ "migration_uuid", CELL_TEXT, MEMBER(uuid) },
	{ "keyspace", CELL_TEXT, MEMBER(keyspace) },
	{ "shard", CELL_TEXT, MEMBER(shard) },
	{ "mysql_table", CELL_TEXT, MEMBER(table) },
	{ "migration_statement", CELL_TEXT, MEMBER(statement) },
	{ "options", CELL_TEXT, MEMBER(options) },
	{ "migration_context", CELL_TEXT, MEMBER(context) },
	{ "ddl_action", CELL_TEXT, MEMBER(ddl_action) },
	{ "message", CELL_TEXT, MEMBER(message) },
	{ "stage", CELL_TEXT, MEMBER(stage) },
	{ "artifacts", CELL_TEXT, MEMBER(artifacts) },
	{ "special_plan", CELL_TEXT, MEMBER(special_plan) },
	{ "strategy", CELL_STRATEGY, MEMBER(strategy) },
	{ "migration_status", CELL_STATUS, MEMBER(status) },
	{ "postpone_completion", CELL_BOOL, MEMBER(postpone_completion) },
	{ "postpone_launch", CELL_BOOL, MEMBER(postpone_launch) },
	{ "ready_to_complete", CELL_BOOL, MEMBER(ready_to_complete) },
	{ "is_immediate_operation", CELL_BOOL, MEMBER(is_immediate_operation) },
	{ "is_view", CELL_BOOL, MEMBER(is_view) },
	{ "tablet_failure", CELL_BOOL, MEMBER(tablet_failure) },
	{ "retries", CELL_COUNT, MEMBER(retries) },
	{ "requested_timestamp", CELL_TIME, MEMBER(requested_at_s) },
	{ "started_timestamp", CELL_TIME, MEMBER(started_at_s) },
	{ "liveness_timestamp", CELL_TIME, MEMBER(liveness_s) },
	{ "completed_timestamp", CELL_TIME, MEMBER(completed_at_s) },
	{ "reviewed_timestamp", CELL_TIME, MEMBER(reviewed_at_s) },
	{ "ready_to_complete_timestamp", CELL_TIME, MEMBER(ready_to_complete_at_s) },
	{ "progress", CELL_PERCENT, MEMBER(progress) },
	{ "eta_seconds", CELL_ETA, MEMBER(eta_s) },
	{ "rows_copied", CELL_COUNT, MEMBER(rows_copied) },
	{ "table_rows", CELL_COUNT, MEMBER(table_rows) },
	{ "cutover_attempts", CELL_COUNT, MEMBER(cutover_attempts) },
	{ "tablet", CELL_ALIAS, MEMBER(tablet) },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

/* "migration_uuid, ..., unix_timestamp(started_timestamp) as started_timestamp, ..." */
static void list_columns(char *ret, size_t size)
{
	const char *last = ret + size - 1;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		bool is_time = columns[i].kind == CELL_TIME;
		const char *const parts[] = { i ? ", " : "", is_time ? "unix_timestamp(" : "", columns[i].name,
					      is_time ? ") as " : "", is_time ? columns[i].name : "" };

		for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
			size_t length = strlen(parts[part]);

			assert(length <= (size_t)(last - ret));
			memcpy(ret, parts[part], length + 1);
			ret += length;
		}
	}
}

char *migration_select(struct arena *arena, const char *uuid, const char *context_prefix)
{
	char names[1024];
	const char *condition = uuid ? "migration_uuid = '" : "migration_context like '";
	const char *name = uuid ? uuid : context_prefix;

	if (uuid ? !uuid_is_valid(uuid) : !context_prefix || !context_is_valid(context_prefix))
		return NULL;
	list_columns(names, sizeof(names));
	return arena_printf(arena, "select %s from _vt.schema_migrations where %s%s%s order by id limit %d",
			    names, condition, name, uuid ? "'" : "%'", ROWS_MAX);
}

/* ---- One cell ---- */

/* Nothing but [-]digits[.digits][e[+-]digits]: strtod() also takes "nan", "0x1" and blanks. */
static bool looks_like_number(const char *text)
{
	const char *digits = "0123456789";

	text += *text == '-';
	if (strspn(text, digits) == 0)
		return false;
	text += strspn(text, digits);
	if (*text == '.') {
		text++;
		text += strspn(text, digits);
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		if (strspn(text, digits) == 0)
			return false;
		text += strspn(text, digits);
	}
	return *text == '\0';
}

/* A number that is too large becomes the largest: rows_copied is unsigned in the table. */
static bool read_integer(const char *text, int64_t *ret)
{
	char *end;

	if (!looks_like_number(text))
		return false;
	*ret = strtoll(text, &end, 10); /* saturates */
	return *end == '\0';
}

/* "1764435000" or "1764435000.123456" */
static bool read_time(const char *text, int64_t *ret)
{
	char *end;

	if (!looks_like_number(text))
		return false;
	*ret = strtoll(text, &end, 10);
	return *end == '\0' || *end == '.';
}

static bool read_percent(const char *text, double *ret)
{
	if (!looks_like_number(text))
		return false;
	*ret = strtod(text, NULL);
	return isfinite(*ret);
}

/* "zone1-0000000101": the uid is what follows the last dash. Anything else is no alias: no owner. */
static void read_alias(const char *text, struct tablet_alias *ret)
{
	const char *dash = strrchr(text, '-');
	size_t cell = dash ? (size_t)(dash - text) : 0;
	uint64_t uid = 0;

	*ret = (struct tablet_alias){ 0 };
	if (cell == 0 || cell > CELL_MAX || dash[1] == '\0')
		return;
	for (const char *digit = dash + 1; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return;
		uid = uid * 10 + (uint64_t)(*digit - '0');
		if (uid > UINT32_MAX)
			return;
	}
	memcpy(ret->cell, text, cell);
	ret->uid = (uint32_t)uid;
}

/* The numbers of vtctldata.SchemaMigration.Strategy; -1 is none of them. */
static int strategy_from_name(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} strategies[] = { { "vitess", 0 }, { "online", 0 }, { "gh-ost", 1 },
			   { "pt-osc", 2 }, { "direct", 3 }, { "mysql", 4 } };

	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
		if (strcmp(strategies[i].name, name) == 0)
			return strategies[i].number;
	}
	return -1;
}

static bool read_bool(const char *text, bool *ret)
{
	int64_t number;

	if (!read_integer(text, &number))
		return false;
	*ret = number != 0;
	return true;
}

static void set_null(const struct column *column, void *member)
{
	if (column->kind == CELL_TEXT)
		*(const char **)member = "";
	else if (column->kind == CELL_ETA)
		*(int64_t *)member = -1;
	else if (column->kind == CELL_STRATEGY)
		*(int *)member = -1;
	/* The rest is zeroed already: 0, false, unknown, no owner. */
}

/* @text is NUL-terminated and lives in the arena; false: it is not what its column holds. */
static bool set_cell(const struct column *column, const char *text, void *member)
{
	switch (column->kind) {
	case CELL_TEXT:
		*(const char **)member = text;
		return true;
	case CELL_BOOL:
		return read_bool(text, member);
	case CELL_COUNT:
	case CELL_ETA:
		return read_integer(text, member);
	case CELL_TIME:
		return read_time(text, member);
	case CELL_PERCENT:
		return read_percent(text, member);
	case CELL_STATUS:
		*(int *)member = migration_status_from_name(text);
		return true;
	case CELL_STRATEGY:
		*(int *)member = strategy_from_name(text);
		return true;
	default: /* CELL_ALIAS */
		read_alias(text, member);
		return true;
	}
}

/* ---- The answer ---- */

/* Where each of our columns is in the answer. */
static int find_columns(const struct query_result *result, const char *shard, size_t ret[COLUMN_COUNT],
			struct error *reterr)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		size_t at = i; /* where it was asked for; else anywhere */

		if (at >= result->column_count || strcmp(result->columns[at], columns[i].name) != 0)
			at = 0;
		while (at < result->column_count && strcmp(result->columns[at], columns[i].name) != 0)
			at++;
		if (at == result->column_count)
			return error_set(
				reterr, ERROR_PROTOCOL,
				"the primary of shard %.*s answered without the column %s of "
				"_vt.schema_migrations; check that its Vitess is supported (vtddl doctor)",
				SHARD_NAME_MAX, shard, columns[i].name);
		ret[i] = at;
	}
	return 0;
}

static int too_large(const char *shard, struct error *reterr)
{
	return error_set(reterr, ERROR_PROTOCOL,
			 "the primary of shard %.*s answered more than the limit for one look; "
			 "look at how many rows _vt.schema_migrations has there",
			 SHARD_NAME_MAX, shard);
}

static int bad_cell(const char *shard, const struct column *column, const char *what, struct error *reterr)
{
	return error_set(
		reterr, ERROR_PROTOCOL,
		"the primary of shard %.*s answered a %s that %s; look at _vt.schema_migrations there",
		SHARD_NAME_MAX, shard, column->name, what);
}

static int read_row(struct arena *arena, const struct query_cell *cells, const size_t at[COLUMN_COUNT],
		    const char *shard, struct migration *ret, struct error *reterr)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		const struct query_cell *cell = &cells[at[i]];
		void *member = (char *)ret + columns[i].offset;
		const char *text;

		if (!cell->text) {
			set_null(&columns[i], member);
			continue;
		}
		if (cell->length > CELL_TEXT_MAX)
			return bad_cell(shard, &columns[i], "is longer than its column", reterr);
		if (memchr(cell->text, '\0', cell->length))
			return bad_cell(shard, &columns[i], "has a NUL in it", reterr);
		text = arena_memdup(arena, cell->text, cell->length);
		if (!text)
			return too_large(shard, reterr);
		if (!set_cell(&columns[i], text, member))
			return bad_cell(shard, &columns[i], "is no number", reterr);
	}
	return 0;
}

int migration_from_result(struct arena *arena, const struct query_result *result, const char *shard,
			  struct migration **ret, size_t *ret_count, struct error *reterr)
{
	size_t at[COLUMN_COUNT];
	struct migration *rows;
	size_t count = 0;

	/* Also where there is no row: "this shard has no such row" allows a submit, so it must be the
	 * answer to our question and not an empty message (a SELECT has columns even without rows). */
	if (find_columns(result, shard, at, reterr) < 0)
		return -1;
	rows = arena_array(arena, result->row_count, sizeof(*rows));
	if (!rows)
		return too_large(shard, reterr);
	for (size_t i = 0; i < result->row_count; i++) {
		struct migration row = { 0 };

		if (read_row(arena, &result->cells[i * result->column_count], at, shard, &row, reterr) < 0)
			return -1;
		if (strcmp(row.shard, shard) == 0)
			rows[count++] = row;
	}
	*ret = rows;
	*ret_count = count;
	return 0;
}
