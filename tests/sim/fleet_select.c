/*
 * SELECTs on _vt.schema_migrations, as far as a reader of migrations needs them: columns and
 * unix_timestamp(column) as alias, WHERE migration_uuid = '...' or migration_context LIKE '...',
 * ORDER BY id, LIMIT.
 */
#include "fleet_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum cell_kind {
	CELL_TEXT,
	CELL_INT64,
	CELL_BOOL,
	CELL_FLOAT,
	CELL_TIME,
	CELL_STATUS,
	CELL_STRATEGY,
	CELL_ALIAS,
	CELL_COMPLETED
};

#define MEMBER(member) offsetof(struct migration, member)

static const struct {
	const char *name;
	enum cell_kind kind;
	size_t offset; /* in struct migration */
} columns[] = {
	{ "migration_uuid", CELL_TEXT, MEMBER(uuid) },
	{ "keyspace", CELL_TEXT, MEMBER(keyspace) },
	{ "shard", CELL_TEXT, MEMBER(shard) },
	{ "mysql_table", CELL_TEXT, MEMBER(table) },
	{ "migration_statement", CELL_TEXT, MEMBER(statement) },
	{ "strategy", CELL_STRATEGY, MEMBER(strategy) },
	{ "options", CELL_TEXT, MEMBER(options) },
	{ "added_timestamp", CELL_TIME, MEMBER(requested_at_s) },
	{ "requested_timestamp", CELL_TIME, MEMBER(requested_at_s) },
	{ "started_timestamp", CELL_TIME, MEMBER(started_at_s) },
	{ "liveness_timestamp", CELL_TIME, MEMBER(liveness_s) },
	{ "completed_timestamp", CELL_COMPLETED, MEMBER(completed_at_s) },
	{ "reviewed_timestamp", CELL_TIME, MEMBER(reviewed_at_s) },
	{ "ready_to_complete_timestamp", CELL_TIME, MEMBER(ready_to_complete_at_s) },
	{ "migration_status", CELL_STATUS, MEMBER(status) },
	{ "artifacts", CELL_TEXT, MEMBER(artifacts) },
	{ "retries", CELL_INT64, MEMBER(retries) },
	{ "tablet", CELL_ALIAS, MEMBER(tablet) },
	{ "progress", CELL_FLOAT, MEMBER(progress) },
	{ "migration_context", CELL_TEXT, MEMBER(context) },
	{ "ddl_action", CELL_TEXT, MEMBER(ddl_action) },
	{ "message", CELL_TEXT, MEMBER(message) },
	{ "eta_seconds", CELL_INT64, MEMBER(eta_s) },
	{ "rows_copied", CELL_INT64, MEMBER(rows_copied) },
	{ "table_rows", CELL_INT64, MEMBER(table_rows) },
	{ "postpone_completion", CELL_BOOL, MEMBER(postpone_completion) },
	{ "postpone_launch", CELL_BOOL, MEMBER(postpone_launch) },
	{ "is_view", CELL_BOOL, MEMBER(is_view) },
	{ "tablet_failure", CELL_BOOL, MEMBER(tablet_failure) },
	{ "ready_to_complete", CELL_BOOL, MEMBER(ready_to_complete) },
	{ "special_plan", CELL_TEXT, MEMBER(special_plan) },
	{ "stage", CELL_TEXT, MEMBER(stage) },
	{ "cutover_attempts", CELL_INT64, MEMBER(cutover_attempts) },
	{ "is_immediate_operation", CELL_BOOL, MEMBER(is_immediate_operation) },
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct select {
	struct select *next;
	const char *sql, *error;
	struct arena *arena;
	size_t column_count;
	size_t *columns; /* indexes into columns[] */
	bool *as_number; /* unix_timestamp() */
	const char **names;
	const char *uuid, *like;
	uint64_t limit;
};

static const char *time_text(struct arena *arena, int64_t seconds)
{
	time_t when = (time_t)seconds;
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", gmtime_r(&when, &tm));
	return arena_strdup(arena, text);
}

/* As printf("%lld") has it, which would be called some thirty times a row. */
static const char *number_text(struct arena *arena, int64_t number)
{
	char digits[24], *at = digits + sizeof(digits) - 1;
	uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	*at = '\0';
	do
		*--at = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (number < 0)
		*--at = '-';
	return arena_strdup(arena, at);
}

/* Texts of a row live as long as the fleet. */
static const char *cell_text(struct arena *arena, const struct row *row, size_t column, bool as_number)
{
	const char *member = (const char *)&row->now + columns[column].offset;
	static const char *const strategies[] = { "vitess", "?", "?", "direct", "mysql" };
	char alias[ALIAS_TEXT_SIZE];
	int64_t seconds;

	switch (columns[column].kind) {
	case CELL_TEXT:
		return *(const char *const *)member;
	case CELL_INT64:
		return number_text(arena, *(const int64_t *)member);
	case CELL_BOOL:
		return *(const bool *)member ? "1" : "0";
	case CELL_FLOAT:
		return *(const double *)member == 100 ? "100" : arena_printf(arena, "%g", *(const double *)member);
	case CELL_STATUS:
		return migration_status_name(*(const int *)member);
	case CELL_STRATEGY:
		return strategies[*(const int *)member];
	case CELL_ALIAS:
		tablet_alias_format((const struct tablet_alias *)member, alias);
		return arena_strdup(arena, alias);
	case CELL_TIME:
	case CELL_COMPLETED:
		break;
	}
	seconds = *(const int64_t *)member;
	if (seconds == 0)
		return NULL;
	if (!as_number)
		return time_text(arena, seconds);
	if (columns[column].kind == CELL_COMPLETED) /* the one column with microseconds */
		return arena_printf(arena, "%lld.%03lld000", (long long)seconds,
				    (long long)(row->completed_ms % 1000));
	return number_text(arena, seconds);
}

/* LIKE of MySQL: case does not count under the column's collation. */
static bool like_matches(const char *pattern, const char *text)
{
	for (; *pattern != '\0'; pattern++, text++) {
		if (*pattern == '%') {
			for (; *text != '\0'; text++)
				if (like_matches(pattern + 1, text))
					return true;
			return like_matches(pattern + 1, text);
		}
		if (*text == '\0')
			return false;
		if (*pattern == '_')
			continue;
		if (*pattern == '\\' && pattern[1] != '\0')
			pattern++;
		if (tolower((unsigned char)*pattern) != tolower((unsigned char)*text))
			return false;
	}
	return *text == '\0';
}

static size_t column_find(const char *name)
{
	size_t i = 0;

	while (i < COLUMN_COUNT && strcasecmp(columns[i].name, name) != 0)
		i++;
	return i;
}

/* One expression of the list, tokens [at, end). */
static const char *select_column(struct select *select, const struct sql_token *t, size_t at, size_t end)
{
	const char *name = t[end - 1].text;
	size_t column = COLUMN_COUNT, n = select->column_count++;

	for (size_t i = at; i < end && column == COLUMN_COUNT; i++)
		column = column_find(t[i].text);
	if (column == COLUMN_COUNT)
		return arena_printf(select->arena,
				    "Unknown column '%s' in 'field list' (errno 1054) (sqlstate 42S22)",
				    t[at].text);
	select->columns[n] = column;
	select->as_number[n] = sql_is(&t[at], "unix_timestamp");
	select->names[n] =
		end - at > 2 && sql_is(&t[end - 2], "as") ? name : sql_join(select->arena, t, at, end);
	return NULL;
}

static const char *select_list(struct select *select, const struct sql_token *t, size_t *at)
{
	const char *error;
	size_t end;

	for (;; *at = end + 1) {
		for (end = *at; t[end].kind != SQL_END && !sql_is(&t[end], ",") && !sql_is(&t[end], "from");)
			end = sql_is(&t[end], "(") ? sql_skip(t, end) : end + 1;
		if (end == *at)
			return "You have an error in your SQL syntax (errno 1064) (sqlstate 42000)";
		error = select_column(select, t, *at, end);
		if (error != NULL)
			return error;
		if (!sql_is(&t[end], ","))
			break;
	}
	*at = end;
	return NULL;
}

static const char *select_where(struct select *select, const struct sql_token *t, size_t at)
{
	for (; t[at].kind != SQL_END; at++) {
		if (sql_is(&t[at], "migration_uuid") && sql_is(&t[at + 1], "=") &&
		    t[at + 2].kind == SQL_STRING)
			select->uuid = t[at + 2].text;
		if (sql_is(&t[at], "migration_context") && t[at + 2].kind == SQL_STRING &&
		    (sql_is(&t[at + 1], "like") || sql_is(&t[at + 1], "=")))
			select->like = t[at + 2].text;
		if (sql_is(&t[at], "limit") && t[at + 1].kind == SQL_NUMBER)
			select->limit = strtoull(t[at + 1].text, NULL, 10);
	}
	return select->uuid != NULL || select->like != NULL
		       ? NULL
		       : "the simulator answers SELECTs by migration_uuid or migration_context only";
}

static const char *select_read(struct select *select, const char *sql)
{
	struct statement statement;
	const char *error;
	size_t at = 1;

	statement_parse(select->arena, sql, &statement);
	if (statement.count == 0 || !sql_is(&statement.tokens[0], "select"))
		return "the simulator answers SELECTs on _vt.schema_migrations only";
	select->columns = arena_array(select->arena, statement.count, sizeof(*select->columns));
	select->as_number = arena_array(select->arena, statement.count, sizeof(*select->as_number));
	select->names = arena_array(select->arena, statement.count, sizeof(*select->names));
	error = select_list(select, statement.tokens, &at);
	if (error != NULL)
		return error;
	if (!sql_is(&statement.tokens[at], "from") || !sql_is(&statement.tokens[at + 1], "_vt") ||
	    !sql_is(&statement.tokens[at + 3], "schema_migrations"))
		return "the simulator answers SELECTs on _vt.schema_migrations only";
	return select_where(select, statement.tokens, at + 4);
}

/* The same few statements come again and again. */
static const struct select *select_of(struct fleet *fleet, const char *sql)
{
	struct select **link = &fleet->selects, *select;

	while ((select = *link) != NULL && strcmp(select->sql, sql) != 0)
		link = &select->next;
	if (select != NULL) {
		*link = select->next;
	} else {
		select = arena_alloc(&fleet->memory, sizeof(*select));
		select->arena = &fleet->memory;
		select->limit = UINT64_MAX;
		select->sql = arena_strdup(&fleet->memory, sql);
		select->error = select_read(select, select->sql);
	}
	select->next = fleet->selects;
	fleet->selects = select;
	return select;
}

static bool select_takes(const struct select *select, const struct row *row)
{
	return (select->uuid == NULL || strcasecmp(select->uuid, row->now.uuid) == 0) &&
	       (select->like == NULL || like_matches(select->like, row->now.context));
}

/* ---- System variables, for doctor. ---- */

static const struct {
	const char *name, *value; /* of a healthy primary */
} variables[VARIABLES_MAX] = {
	{ "@@version", "9.7.0" },
	{ "@@global.read_only", "0" },
	{ "@@performance_schema", "1" },
};

/* VARIABLES_MAX: there is none of that name. */
static size_t variable_find(const char *name)
{
	size_t i = 0;

	while (i < VARIABLES_MAX && strcasecmp(name, variables[i].name) != 0)
		i++;
	return i;
}

bool fleet_variable(struct fleet *fleet, const char *name, const char *variable, const char *value)
{
	struct shard *shard = fleet_find_shard(fleet, name);
	size_t i = variable_find(variable);

	if (shard == NULL || i == VARIABLES_MAX)
		return false;
	shard->variables[i] = arena_strdup(&fleet->memory, value);
	return true;
}

static bool select_variables(const struct shard *shard, struct arena *arena, const char *list, struct query_result *ret,
			     const char **reterr)
{
	char *at = arena_strdup(arena, list), *name;

	ret->columns = arena_array(arena, strlen(list) + 1, sizeof(*ret->columns));
	ret->cells = arena_array(arena, strlen(list) + 1, sizeof(*ret->cells));
	ret->row_count = 1;
	while ((name = strsep(&at, ", ")) != NULL) {
		struct query_cell *cell = &ret->cells[ret->column_count];
		size_t i = variable_find(name);

		if (name[0] == '\0')
			continue;
		if (i == VARIABLES_MAX) {
			*reterr = arena_printf(arena, "Unknown system variable '%s' (errno 1193) (sqlstate HY000)", name);
			return false;
		}
		cell->text = shard->variables[i] != NULL ? shard->variables[i] : variables[i].value;
		cell->length = strlen(cell->text);
		ret->columns[ret->column_count++] = name;
	}
	return true;
}

bool fleet_select(struct fleet *fleet, const struct shard *shard, const struct call *call,
		  struct query_result *ret, const char **reterr)
{
	uint64_t max = call->request.limit > 0 ? call->request.limit : UINT64_MAX;
	const struct select *select;

	if (call->request.sql != NULL && strncasecmp(call->request.sql, "select @@", strlen("select @@")) == 0)
		return select_variables(shard, call->arena, call->request.sql + strlen("select "), ret, reterr);
	select = select_of(fleet, call->request.sql != NULL ? call->request.sql : "");
	*reterr = select->error;
	if (*reterr != NULL)
		return false;
	ret->columns = select->names;
	ret->column_count = select->column_count;
	ret->cells =
		arena_array(call->arena, (shard->row_count + 1) * ret->column_count, sizeof(*ret->cells));
	for (size_t i = 0; i < shard->row_count; i++) {
		struct query_cell *cells = &ret->cells[ret->row_count * ret->column_count];

		if (!select_takes(select, shard->rows[i]) || ret->row_count >= select->limit)
			continue;
		if (ret->row_count++ >= max) {
			*reterr =
				arena_printf(call->arena, "Row count exceeded %llu", (unsigned long long)max);
			return false;
		}
		for (size_t c = 0; c < ret->column_count; c++) {
			cells[c].text = cell_text(call->arena, shard->rows[i], select->columns[c],
						  select->as_number[c]);
			cells[c].length = cells[c].text != NULL ? strlen(cells[c].text) : 0;
		}
	}
	return true;
}
