#pragma once
/*
 * connection: what the files of this folder know of a connection beside vtddl/mysql.h.
 *
 *	connection.c	files, options, connecting, what went wrong
 *	statement.c	prepared statements and their rows
 *	vtgate.c	the proof through VTGate
 */
#include "mysql_compat.h"
#include "vtddl/mysql.h"

#define STATEMENTS_MAX 64 /* prepared on one connection; the oldest makes room */

struct statement {
	MYSQL_STMT *stmt;
	char *sql;		       /* as it was asked for */
	char names[SQL_NAMES_MAX][32]; /* of each value in the order of the text */
	unsigned name_count, column_count;
	MYSQL_BIND results[SQL_COLUMNS_MAX];
	unsigned long lengths[SQL_COLUMNS_MAX];
	mysql_flag nulls[SQL_COLUMNS_MAX];
	long long numbers[SQL_COLUMNS_MAX];
};

struct connection {
	MYSQL *mysql;
	char *name;
	bool lost;
	struct statement *statements[STATEMENTS_MAX];
	unsigned statement_next;   /* the place that is used next */
	struct statement *current; /* whose rows may be unread */
	char *row;		   /* the texts of the row */
	size_t row_size;
	struct sql_value columns[SQL_COLUMNS_MAX];
	unsigned column_count; /* of the row; 0: there is none */
};

/** connection_answer() - what a number of the library means; 0: a failure, and a lost connection is marked */
int connection_answer(struct connection *connection, unsigned number);

/** connection_fail() - the sentence for a statement that failed; returns -1 */
int connection_fail(struct connection *connection, const char *sql, unsigned number, const char *message,
		    struct error *reterr);

/** connection_forget_statements() - frees what was prepared */
void connection_forget_statements(struct connection *connection);
