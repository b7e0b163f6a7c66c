#pragma once
/*
 * ddl: the guard in front of everything: which statements vtddl takes, and their normal form.
 *
 * Exactly one statement on exactly one table or view: CREATE, ALTER or DROP of a table or
 * a view. Everything else is refused before any RPC, with the reason. This matters because
 * Vitess runs TRUNCATE and RENAME TABLE at once on every shard even under the strategy
 * `vitess --postpone-completion` (measured), and fails others only after the release.
 *
 * The text is tokenised, never rewritten: what is sent is what the user wrote.
 */
#include "vtddl/change.h"
#include "vtddl/error.h"

enum ddl_action {
	DDL_CREATE_TABLE,
	DDL_ALTER_TABLE,
	DDL_DROP_TABLE,
	DDL_CREATE_VIEW,
	DDL_ALTER_VIEW,
	DDL_DROP_VIEW,
	_DDL_ACTION_MAX
};

/* What a clause of an ALTER TABLE promises about the definition afterwards. */
enum ddl_promise_kind {
	DDL_COLUMN_PRESENT,
	DDL_COLUMN_ABSENT,
	DDL_INDEX_PRESENT,
	DDL_INDEX_ABSENT,
	_DDL_PROMISE_MAX
};

#define DDL_PROMISES_MAX 64

struct ddl_promise {
	enum ddl_promise_kind kind;
	char name[TABLE_MAX + 1];
};

struct ddl {
	enum ddl_action action;
	bool or_replace;    /* CREATE OR REPLACE VIEW */
	bool if_exists;     /* DROP ... IF EXISTS */
	bool if_not_exists; /* CREATE ... IF NOT EXISTS */
	char table[TABLE_MAX + 1]; /* unquoted */
	struct ddl_promise promises[DDL_PROMISES_MAX];
	size_t promise_count;
	/* Every clause of an ALTER TABLE has its promises above. False: at least one is not understood,
	 * or a name was there before as well, or it is another action: the definition must differ. */
	bool understood;
};

/**
 * ddl_parse() - check a statement and take it apart
 * @text:	the statement; comments and white space are allowed, and a closing semicolon with only
 *		white space behind it (Vitess takes a comment there for a second statement)
 * @length:	of @text, without NUL; the text is refused if it holds a NUL or is not UTF-8
 * @ret:	what was understood
 * @normal:	receives the normal form, NUL-terminated; has @length + 1 bytes. May be NULL
 *
 * Refused, each with its reason: empty text; over DDL_MAX; NUL, bad UTF-8, byte order mark; two
 * statements; several tables; any other verb (TRUNCATE, RENAME, DML, `alter vitess_migration`,
 * `revert`); CREATE and DROP INDEX; ALTER ... RENAME TO; foreign keys; EXCHANGE, TRUNCATE and
 * upkeep of partitions; DISCARD and IMPORT TABLESPACE; `vt+` comment directives, hints and
 * executable comments; TEMPORARY; CREATE TABLE ... SELECT or LIKE; a table qualified with a
 * database, named `_vt_...`, over 64 bytes or with strange signs; unbalanced quotes or parentheses.
 *
 * Return: 0; negative with ERROR_INPUT: one sentence that names what and where.
 */
int must_check ddl_parse(const char *text, size_t length, struct ddl *ret, char *normal,
			 struct error *reterr);

/** ddl_action_name() - "create table", ... */
const char *ddl_action_name(enum ddl_action action);

/**
 * ddl_definition_keeps() - does a CREATE statement read from a shard keep a promise?
 * @definition:	text of SHOW CREATE TABLE
 *
 * Names are compared without regard to the case of ASCII letters (MySQL's rule for columns and
 * indexes; ddl_parse() promises nothing about other names). A text that is NULL, "", cut off or
 * no CREATE TABLE keeps no promise, not even one of absence.
 */
bool ddl_definition_keeps(const char *definition, const struct ddl_promise *promise);

/**
 * ddl_definition_equal() - are two CREATE statements the same, apart from AUTO_INCREMENT=n,
 * which counts rows and differs between shards. False if one is NULL: not known
 */
bool ddl_definition_equal(const char *a, const char *b);
