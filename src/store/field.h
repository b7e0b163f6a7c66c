#pragma once
/*
 * field: the members of the structs and the columns of the tables, one list for each, for every backend.
 *
 * Private to this folder. Binding and reading walk the same list. What comes from a database is checked
 * like any other input: a record that does not fit its struct is refused, never cut.
 */
#include "vtddl/store.h"

enum field_kind {
	FIELD_NAME,	   /* char[size], keeps a grammar of ASCII */
	FIELD_TEXT,	   /* char[size], any bytes */
	FIELD_STRING,	   /* const char *; NULL is written as "" */
	FIELD_STRING_NULL, /* const char *; NULL stays NULL */
	FIELD_I64,
	FIELD_U32,
	FIELD_INT,
	FIELD_BOOL,
	FIELD_HELD,  /* bool; in MySQL false is NULL in the table */
	FIELD_COUNT, /* size_t, of shards */
	FIELD_PHASE,	   /* by name */
	FIELD_PHASE_NULL,  /* by name; _PHASE_INVALID is NULL */
	FIELD_GATE,
	FIELD_EFFECT,
};

struct field {
	const char *column;
	enum field_kind kind;
	size_t offset;
	size_t size;
};

struct field_list {
	const struct field *fields;
	size_t count;
};

/* In the order of the columns of each backend's SELECT. */
extern const struct field_list field_change, field_shard, field_history, field_live;
#define FIELD_LIVE_COUNT 15

/** field_is_number() - whether its value is field_number(); else it is field_text() */
bool field_is_number(const struct field *field);
int64_t field_number(const struct field *field, const void *base);
/** field_text() - NULL: the value is NULL in the table */
const char *field_text(const struct field *field, const void *base);

/* A value of the database into the struct at @base. False: it does not fit. A text has a NUL behind it;
 * one with a NUL within would make two names equal that are not, and is refused. */
bool field_read_text(const struct field *field, const char *text, size_t length, struct arena *arena, void *base);
bool field_read_number(const struct field *field, int64_t number, void *base);
bool field_read_null(const struct field *field, void *base);
