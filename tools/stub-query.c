#include "stub-query.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 64

static char *integer(struct arena *arena, int64_t value)
{
	return arena_printf(arena, "%lld", (long long)value);
}

static const char *cell_text(struct arena *arena, const char *column, const struct migration *row)
{
	static const struct {
		const char *name;
		size_t offset;
		bool is_number;
	} cells[] = {
		{ "migration_uuid", offsetof(struct migration, uuid), false },
		{ "keyspace", offsetof(struct migration, keyspace), false },
		{ "shard", offsetof(struct migration, shard), false },
		{ "mysql_table", offsetof(struct migration, table), false },
		{ "migration_statement", offsetof(struct migration, statement), false },
		{ "options", offsetof(struct migration, options), false },
		{ "migration_context", offsetof(struct migration, context), false },
		{ "ddl_action", offsetof(struct migration, ddl_action), false },
		{ "message", offsetof(struct migration, message), false },
		{ "stage", offsetof(struct migration, stage), false },
		{ "artifacts", offsetof(struct migration, artifacts), false },
		{ "special_plan", offsetof(struct migration, special_plan), false },
		{ "retries", offsetof(struct migration, retries), true },
		{ "requested_timestamp", offsetof(struct migration, requested_at_s), true },
		{ "started_timestamp", offsetof(struct migration, started_at_s), true },
		{ "liveness_timestamp", offsetof(struct migration, liveness_s), true },
		{ "completed_timestamp", offsetof(struct migration, completed_at_s), true },
		{ "reviewed_timestamp", offsetof(struct migration, reviewed_at_s), true },
		{ "ready_to_complete_timestamp", offsetof(struct migration, ready_to_complete_at_s), true },
		{ "eta_seconds", offsetof(struct migration, eta_s), true },
		{ "rows_copied", offsetof(struct migration, rows_copied), true },
		{ "table_rows", offsetof(struct migration, table_rows), true },
	};
	char alias[ALIAS_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		const char *member = (const char *)row + cells[i].offset;

		if (strcmp(column, cells[i].name) == 0)
			return cells[i].is_number ? integer(arena, *(const int64_t *)member) : *(const char *const *)member;
	}
	if (strcmp(column, "migration_status") == 0)
		return migration_status_name(row->status);
	if (strcmp(column, "strategy") == 0)
		return "vitess";
	if (strcmp(column, "progress") == 0)
		return integer(arena, (int64_t)row->progress);
	if (strcmp(column, "postpone_completion") == 0)
		return row->postpone_completion ? "1" : "0";
	if (strcmp(column, "ready_to_complete") == 0)
		return row->ready_to_complete ? "1" : "0";
	if (strcmp(column, "tablet") != 0)
		return "0";
	tablet_alias_format(&row->tablet, alias);
	return arena_strdup(arena, alias);
}

/* "select a, unix_timestamp(b) as b, ... from": the last word of each is the column's name. */
static size_t columns_of(struct arena *arena, const char *sql, const char *ret[COLUMNS_MAX])
{
	const char *end = strstr(sql, " from ");
	char *list = end != NULL && strncmp(sql, "select ", 7) == 0
			     ? arena_memdup(arena, sql + 7, (size_t)(end - sql - 7)) : NULL;
	size_t count = 0;

	for (char *save = NULL, *word = list ? strtok_r(list, ",", &save) : NULL;
	     word != NULL && count < COLUMNS_MAX; word = strtok_r(NULL, ",", &save)) {
		char *space = strrchr(word, ' ');

		ret[count++] = space != NULL ? space + 1 : word;
	}
	return count;
}

static struct row_range range_of(const struct rows *rows, struct arena *arena, const char *sql, unsigned keyspace)
{
	struct row_range range = { keyspace, 0, rows_size(rows)->changes };
	const char *uuid = strstr(sql, "migration_uuid = '"), *context = strstr(sql, "migration_context like '");

	if (uuid == NULL && context == NULL)
		return range;
	if (uuid != NULL)
		uuid = arena_memdup(arena, uuid + strlen("migration_uuid = '"), UUID_LENGTH);
	else
		context = arena_printf(arena, "%.*s1", (int)strcspn(context + strlen("migration_context like '"), "%'"),
				       context + strlen("migration_context like '")); /* generation 1 */
	if (!rows_find(rows, uuid, context, &range) || range.keyspace != keyspace)
		range.end = range.first;
	return range;
}

void query_answer(struct rows *rows, struct arena *arena, const char *sql, unsigned keyspace, unsigned shard,
		  struct query_result *ret, struct row_range *ret_range)
{
	struct row_range range = range_of(rows, arena, sql, keyspace);

	ret->columns = arena_array(arena, COLUMNS_MAX, sizeof(*ret->columns));
	ret->column_count = columns_of(arena, sql, ret->columns);
	ret->cells = arena_array(arena, (size_t)(range.end - range.first + 1) * (ret->column_count + 1),
				 sizeof(*ret->cells));
	for (unsigned i = range.first; i < range.end; i++) {
		struct query_cell *cells = ret->cells + ret->row_count++ * ret->column_count;
		struct migration row;

		rows_migration(rows, arena, keyspace, i, shard, time(NULL), &row);
		for (size_t column = 0; column < ret->column_count; column++) {
			cells[column].text = cell_text(arena, ret->columns[column], &row);
			cells[column].length = strlen(cells[column].text);
		}
	}
	*ret_range = range;
}
