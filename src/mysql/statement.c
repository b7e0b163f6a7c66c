#include "connection.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vtddl/strbuf.h"

#define STATEMENT_MAX ((size_t)64 * 1024)

/* MariaDB's library tells what went wrong between two rows of its connection only, not of the statement. */
static int statement_fail(struct connection *connection, MYSQL_STMT *stmt, const char *sql,
			  struct error *reterr)
{
	unsigned number = mysql_stmt_errno(stmt);
	const char *message = number ? mysql_stmt_error(stmt) : mysql_error(connection->mysql);
	int answer;

	number = number ? number : mysql_errno(connection->mysql);
	answer = connection_answer(connection, number);
	if (answer)
		return answer;
	return connection_fail(connection, sql, number, message, reterr);
}

static int lost_fail(const struct connection *connection, struct error *reterr)
{
	return error_set(reterr, ERROR_UNAVAILABLE, "%s is not connected any more", connection->name);
}

/* ---- Preparing ---- */

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* ":name" becomes "?", and the statement remembers the name. In a literal of ours no letter follows a colon.
 */
static void name_values(struct statement *statement, const char *sql, struct strbuf *text)
{
	while (*sql) {
		size_t length = strcspn(sql, ":");

		strbuf_add(text, sql, length);
		sql += length;
		if (!*sql)
			break;
		length = 0;
		if (sql[1] >= 'a' && sql[1] <= 'z')
			while (is_name_char(sql[1 + length]))
				length++;
		if (length == 0) {
			strbuf_add(text, sql++, 1);
			continue;
		}
		assert(statement->name_count < SQL_NAMES_MAX);
		assert(length < sizeof statement->names[0]);
		memcpy(statement->names[statement->name_count++], sql + 1, length);
		strbuf_adds(text, "?");
		sql += 1 + length;
	}
}

static bool is_integer(enum enum_field_types type)
{
	switch (type) {
	case MYSQL_TYPE_TINY:
	case MYSQL_TYPE_SHORT:
	case MYSQL_TYPE_INT24:
	case MYSQL_TYPE_LONG:
	case MYSQL_TYPE_LONGLONG:
		return true;
	default:
		return false;
	}
}

/* Where each column goes: a number here, a text is fetched once its length is known. */
static bool bind_results(struct statement *statement)
{
	MYSQL_RES *meta = mysql_stmt_result_metadata(statement->stmt);
	unsigned count = meta ? mysql_num_fields(meta) : 0;

	if (count > SQL_COLUMNS_MAX) {
		mysql_free_result(meta);
		return false;
	}
	for (unsigned i = 0; i < count; i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(meta, i);
		MYSQL_BIND *bind = &statement->results[i];

		*bind = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_STRING,
				      .length = &statement->lengths[i],
				      .is_null = &statement->nulls[i] };
		if (!is_integer(field->type))
			continue;
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->buffer = &statement->numbers[i];
		bind->buffer_length = sizeof statement->numbers[i];
	}
	if (meta)
		mysql_free_result(meta);
	statement->column_count = count;
	return true;
}

static struct statement *statement_free(struct statement *statement)
{
	if (statement) {
		mysql_stmt_close(statement->stmt);
		free(statement->sql);
		free(statement);
	}
	return NULL;
}

/* Rows nobody asked for any more. */
static void drop_rows(struct connection *connection)
{
	connection->column_count = 0;
	if (connection->current && !connection->lost)
		mysql_stmt_free_result(connection->current->stmt);
	connection->current = NULL;
}

void connection_forget_statements(struct connection *connection)
{
	/* First: closing another statement would eat its rows, and closing it then wait for them in vain. */
	drop_rows(connection);
	for (unsigned i = 0; i < STATEMENTS_MAX; i++)
		connection->statements[i] = statement_free(connection->statements[i]);
}

static struct statement *statement_find(const struct connection *connection, const char *sql)
{
	for (unsigned i = 0; i < STATEMENTS_MAX && connection->statements[i]; i++)
		if (strcmp(connection->statements[i]->sql, sql) == 0)
			return connection->statements[i];
	return NULL;
}

static int statement_prepare(struct connection *connection, const char *sql, struct statement **ret,
			     struct error *reterr)
{
	struct statement *statement = calloc(1, sizeof *statement);
	struct strbuf text cleanup(strbuf_release);
	int result = 0;

	if (!statement)
		abort();
	statement->sql = strdup(sql);
	statement->stmt = mysql_stmt_init(connection->mysql);
	if (!statement->sql || !statement->stmt)
		abort();
	strbuf_init(&text, STATEMENT_MAX);
	name_values(statement, sql, &text);
	assert(!text.overflow);
	if (mysql_stmt_prepare(statement->stmt, text.text, text.length))
		result = statement_fail(connection, statement->stmt, sql, reterr);
	else if (mysql_stmt_param_count(statement->stmt) != statement->name_count || !bind_results(statement))
		result = error_set(reterr, ERROR_PROTOCOL,
				   "%s prepared a statement into another one than was asked for",
				   connection->name);
	if (result != 0) {
		statement_free(statement);
		return result;
	}
	statement_free(connection->statements[connection->statement_next]);
	connection->statements[connection->statement_next] = statement;
	connection->statement_next = (connection->statement_next + 1) % STATEMENTS_MAX;
	*ret = statement;
	return 0;
}

/* ---- Running ---- */

static const struct sql_value *value_find(const struct sql_value *values, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(values[i].name, name) == 0)
			return &values[i];
	return NULL;
}

static void bind_value(MYSQL_BIND *bind, const struct sql_value *value, unsigned long *length)
{
	switch (value->kind) {
	case SQL_NULL:
		bind->buffer_type = MYSQL_TYPE_NULL;
		return;
	case SQL_I64:
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->buffer = (void *)&value->number;
		bind->buffer_length = sizeof value->number;
		return;
	case SQL_TEXT:
	case SQL_BYTES:
		bind->buffer_type = value->kind == SQL_TEXT ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
		*length = strlen(value->text);
		bind->buffer = (void *)value->text;
		bind->buffer_length = *length;
		bind->length = length;
		return;
	}
}

int connection_run(struct connection *connection, const char *sql, const struct sql_value *values,
		   size_t count, struct error *reterr)
{
	MYSQL_BIND binds[SQL_NAMES_MAX] = { 0 };
	unsigned long lengths[SQL_NAMES_MAX] = { 0 };
	struct statement *statement;
	int result;

	if (connection->lost)
		return lost_fail(connection, reterr);
	drop_rows(connection);
	statement = statement_find(connection, sql);
	if (!statement) {
		result = statement_prepare(connection, sql, &statement, reterr);
		if (result != 0)
			return result;
	}
	for (unsigned i = 0; i < statement->name_count; i++) {
		const struct sql_value *value = value_find(values, count, statement->names[i]);

		assert(value);
		bind_value(&binds[i], value, &lengths[i]);
	}
	if (statement->name_count && mysql_stmt_bind_param(statement->stmt, binds))
		return statement_fail(connection, statement->stmt, sql, reterr);
	if (mysql_stmt_execute(statement->stmt))
		return statement_fail(connection, statement->stmt, sql, reterr);
	connection->current = statement;
	if (statement->column_count && mysql_stmt_bind_result(statement->stmt, statement->results))
		return statement_fail(connection, statement->stmt, sql, reterr);
	return 0;
}

int connection_do(struct connection *connection, const char *sql, struct error *reterr)
{
	MYSQL_RES *rows;
	int answer;

	if (connection->lost)
		return lost_fail(connection, reterr);
	drop_rows(connection);
	if (mysql_real_query(connection->mysql, sql, strlen(sql)) == 0) {
		rows = mysql_store_result(connection->mysql);
		if (rows)
			mysql_free_result(rows);
		if (!mysql_errno(connection->mysql))
			return 0;
	}
	answer = connection_answer(connection, mysql_errno(connection->mysql));
	if (answer)
		return answer;
	return connection_fail(connection, sql, mysql_errno(connection->mysql),
			       mysql_error(connection->mysql), reterr);
}

/* ---- Rows ---- */

/* Room for every text of the row, each with a NUL behind it. False: the server sends more than it may. */
static bool row_reserve(struct connection *connection, const struct statement *statement)
{
	size_t size = 0;

	for (unsigned i = 0; i < statement->column_count; i++) {
		if (statement->results[i].buffer_type == MYSQL_TYPE_LONGLONG || statement->nulls[i])
			continue;
		if (statement->lengths[i] > SQL_VALUE_MAX)
			return false;
		size += statement->lengths[i] + 1;
	}
	if (size > SQL_ROW_MAX)
		return false;
	if (size > connection->row_size) {
		free(connection->row);
		connection->row = malloc(size);
		if (!connection->row)
			abort();
		connection->row_size = size;
	}
	return true;
}

static int row_read(struct connection *connection, struct statement *statement, struct error *reterr)
{
	char *at = connection->row;

	for (unsigned i = 0; i < statement->column_count; i++) {
		struct sql_value *value = &connection->columns[i];
		MYSQL_BIND bind = { .buffer_type = MYSQL_TYPE_STRING, .buffer = at };
		mysql_flag is_null = 0;
		unsigned long length = 0;

		*value = (struct sql_value){ .kind = SQL_NULL };
		if (statement->nulls[i])
			continue;
		if (statement->results[i].buffer_type == MYSQL_TYPE_LONGLONG) {
			*value = sql_i64(NULL, statement->numbers[i]);
			continue;
		}
		bind.buffer_length = statement->lengths[i];
		bind.length = &length;
		bind.is_null = &is_null;
		if (statement->lengths[i] && mysql_stmt_fetch_column(statement->stmt, &bind, i, 0))
			return statement_fail(connection, statement->stmt, statement->sql, reterr);
		at[statement->lengths[i]] = '\0';
		*value = sql_bytes(NULL, at);
		value->length = statement->lengths[i];
		at += statement->lengths[i] + 1;
	}
	connection->column_count = statement->column_count;
	return 0;
}

int connection_next(struct connection *connection, struct error *reterr)
{
	struct statement *statement = connection->current;
	int result;

	connection->column_count = 0;
	if (connection->lost)
		return lost_fail(connection, reterr);
	if (!statement || statement->column_count == 0)
		return 0;
	switch (mysql_stmt_fetch(statement->stmt)) {
	case 0:
	case MYSQL_DATA_TRUNCATED:
		break;
	case MYSQL_NO_DATA:
		drop_rows(connection);
		return 0;
	default:
		return statement_fail(connection, statement->stmt, statement->sql, reterr);
	}
	if (!row_reserve(connection, statement)) {
		connection->lost = true;
		return error_set(reterr, ERROR_PROTOCOL, "%s sent a value that is larger than %zu bytes",
				 connection->name, SQL_VALUE_MAX);
	}
	result = row_read(connection, statement, reterr);
	return result ? result : 1;
}

const struct sql_value *connection_column(const struct connection *connection, unsigned column)
{
	assert(column < connection->column_count);
	return &connection->columns[column];
}

int64_t connection_changed(const struct connection *connection)
{
	return connection->current ? (int64_t)mysql_stmt_affected_rows(connection->current->stmt) : 0;
}

int64_t connection_insert_id(const struct connection *connection)
{
	return connection->current ? (int64_t)mysql_stmt_insert_id(connection->current->stmt) : 0;
}
