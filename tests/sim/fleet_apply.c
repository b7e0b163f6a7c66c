/* vtctld's own part of ApplySchema and of the control verbs: checks, and the text of a failure. */
#include "fleet_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_MAX (16u << 20)

/* ---- Strategy ---- */

static const char *const strategy_flags[] = {
	"postpone-completion", "postpone-launch",  "singleton",		  "singleton-context",
	"singleton-table",     "allow-concurrent", "in-order-completion", "prefer-instant-ddl",
	"fast-range-rotation", "declarative",	   "allow-zero-in-date",  "unsafe-allow-foreign-keys",
	"analyze-table",       "skip-topo",	   "cut-over-threshold=", "force-cut-over-after=",
	"retain-artifacts=",
};

static bool flag_is_known(const char *flag, size_t length)
{
	for (size_t skip = 0; skip < 2 && length > 0 && *flag == '-'; skip++)
		flag++, length--;
	for (size_t i = 0; i < sizeof(strategy_flags) / sizeof(strategy_flags[0]); i++) {
		size_t known = strlen(strategy_flags[i]);
		bool has_value = strategy_flags[i][known - 1] == '=';

		if (strncmp(flag, strategy_flags[i], known < length ? known : length) == 0 &&
		    (has_value ? length > known : length == known))
			return true;
	}
	return false;
}

static const char *strategy_read(struct call *call)
{
	static const struct {
		const char *name;
		bool is_direct;
		int number;
	} strategies[] = { { "", true, 3 },
			   { "direct", true, 3 },
			   { "vitess", false, 0 },
			   { "online", false, 0 },
			   { "mysql", false, 4 } };
	const char *text = call->request.strategy != NULL ? call->request.strategy : "";
	size_t length = strcspn(text, " \t"), i = 0, count = sizeof(strategies) / sizeof(strategies[0]);

	while (i < count &&
	       (strlen(strategies[i].name) != length || strncmp(strategies[i].name, text, length) != 0))
		i++;
	if (i == count)
		return arena_printf(&call->memory, "invalid DdlStrategy: Unknown online DDL strategy: '%.*s'",
				    (int)length, text);
	call->is_direct = strategies[i].is_direct;
	call->strategy = strategies[i].number;
	call->options = text + length + strspn(text + length, " \t");
	for (const char *flag = call->options; *flag != '\0'; flag += strspn(flag, " \t")) {
		length = strcspn(flag, " \t");
		if (!flag_is_known(flag, length))
			return arena_printf(&call->memory,
					    "invalid DdlStrategy: invalid flags for %s strategy: %s",
					    strategies[i].name, flag);
		flag += length;
	}
	return NULL;
}

/* ---- Uuid ---- */

/* Vitess's pattern says [0-f], which is a range of 55 characters and not the hex digits. */
bool uuid_is_accepted(const char *uuid)
{
	static const char dashes[] = "........_...._...._...._............";

	if (uuid == NULL || strlen(uuid) != UUID_LENGTH)
		return false;
	for (size_t i = 0; i < UUID_LENGTH; i++)
		if (dashes[i] == '_' ? uuid[i] != '_' : uuid[i] < '0' || uuid[i] > 'f')
			return false;
	return true;
}

/* ---- Statement ---- */

static const struct {
	const char *words[2];
	enum control_verb verb;
} controls[] = {
	{ { "complete" }, CONTROL_COMPLETE },
	{ { "cancel" }, CONTROL_CANCEL },
	{ { "retry" }, CONTROL_RETRY },
	{ { "launch" }, CONTROL_LAUNCH },
	{ { "cleanup" }, CONTROL_CLEANUP },
	{ { "force_cutover" }, CONTROL_FORCE_CUTOVER },
	{ { "postpone", "complete" }, CONTROL_POSTPONE },
};

/* alter vitess_migration 'uuid' verb [vitess_shards '...'], or verb all; shards only behind launch and complete */
static const char *control_read(struct call *call)
{
	const struct sql_token *t = &call->statement.tokens[call->statement.body];
	bool names_one = false;

	call->control = (struct control){ .uuid = "all" };
	if (t->kind == SQL_STRING) {
		call->control.uuid = (t++)->text;
		names_one = true;
	}
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (sql_is(&t[0], controls[i].words[0]) &&
		    (controls[i].words[1] == NULL || sql_is(&t[1], controls[i].words[1]))) {
			call->control.verb = controls[i].verb;
			t += controls[i].words[1] != NULL ? 2 : 1;
			break;
		}
	if (call->control.verb == CONTROL_NONE ||
	    (strcasecmp(call->control.uuid, "all") == 0 && call->control.verb == CONTROL_RETRY))
		return "failed to parse sql: syntax error at position 24";
	if (names_one && (call->control.verb == CONTROL_COMPLETE || call->control.verb == CONTROL_LAUNCH) &&
	    sql_is(&t[0], "vitess_shards") && t[1].kind == SQL_STRING) {
		call->control.shards = t[1].text;
		t += 2;
	} else if (!names_one && sql_is(&t[0], "all")) {
		t++;
	}
	return t->kind == SQL_END ? NULL
				  : arena_printf(&call->memory,
						 "failed to parse sql: %s, got error: Code: INVALID_ARGUMENT\n"
						 "syntax error at position %td near '%.*s'\n",
						 call->request.sql, t->start - call->request.sql + 1 +
						 (ptrdiff_t)t->length, (int)t->length, t->start);
}

static const char *statement_check(struct fleet *fleet, struct call *call)
{
	struct statement *statement = &call->statement;

	statement_parse(&call->memory, call->request.sql, statement);
	switch (statement->kind) {
	case STATEMENT_BROKEN:
		return arena_printf(&call->memory, "failed to parse sql: %s, got error: %s",
				    call->request.sql, statement->broken);
	case STATEMENT_OTHER:
		call->is_direct = true;
		return fleet->shard_count == 1
			       ? NULL
			       : arena_printf(&call->memory,
					      "non-ddl statements can only be executed for single "
					      "shard keyspaces: %s",
					      call->request.sql);
	case STATEMENT_ALTER_MIGRATION:
		return control_read(call);
	case STATEMENT_REVERT:
		return "the simulator does not model REVERT VITESS_MIGRATION";
	case STATEMENT_TRUNCATE:
	case STATEMENT_RENAME:
		call->is_direct = true; /* at once, under any strategy */
		return NULL;
	default:
		return NULL;
	}
}

/* What vtctld makes up where the client gives none: at random, so a repeat is another migration. */
static void names_fill(struct fleet *fleet, struct call *call)
{
	struct vtctld_request *request = &call->request;
	unsigned chance = (unsigned)fleet_spread(fleet, request->tag, "names", 0, UINT32_MAX);
	unsigned long long number = (unsigned long long)(fleet->call_counts[VTCTLD_APPLY_SCHEMA]);

	if (request->uuid == NULL)
		request->uuid = arena_printf(&call->memory, "%08x_5140_11f0_8000_%012llx", chance, number);
	if (request->context == NULL || *request->context == '\0')
		request->context =
			arena_printf(&call->memory, "vtctl:%08x-5140-11f0-8000-%012llx", ~chance, number);
}

const char *apply_prepare(struct fleet *fleet, struct call *call)
{
	struct vtctld_request *request = &call->request;
	const char *error;

	if (request->method == VTCTLD_APPLY_SCHEMA) {
		if (request->sql == NULL || *request->sql == '\0')
			return "uncaught panic: runtime error: invalid memory address or nil pointer "
			       "dereference, "
			       "from: goroutine 4711 [running]:";
		error = strategy_read(call);
		if (error != NULL)
			return error;
		if (request->uuid != NULL && !call->is_direct && !uuid_is_accepted(request->uuid))
			return arena_printf(&call->memory, "invalid UuidList: [%s]: Not a valid UUID: %s",
					    request->uuid, request->uuid);
	} else {
		call->control.verb = request->method == VTCTLD_COMPLETE ? CONTROL_COMPLETE : CONTROL_CANCEL;
		call->control.uuid = request->uuid != NULL ? request->uuid : "";
	}
	error = fleet_keyspace_error(fleet, call);
	if (error != NULL)
		return error;
	if (request->method != VTCTLD_APPLY_SCHEMA)
		return NULL;
	error = statement_check(fleet, call);
	if (error == NULL && call->control.verb == CONTROL_NONE && !call->is_direct)
		names_fill(fleet, call);
	return error;
}

const char *apply_execute_error(struct call *call)
{
	const struct statement *statement = &call->statement;

	if (call->is_direct || call->control.verb != CONTROL_NONE)
		return NULL;
	if (statement->kind == STATEMENT_ALTER_TABLE &&
	    sql_is(&statement->tokens[statement->body], "rename") &&
	    !sql_is(&statement->tokens[statement->body + 1], "column") &&
	    !sql_is(&statement->tokens[statement->body + 1], "index") &&
	    !sql_is(&statement->tokens[statement->body + 1], "key"))
		return "ALTER TABLE ... RENAME is not supported in online DDL";
	if (statement_has_word(statement, "foreign") || statement_has_word(statement, "references"))
		return "foreign key constraints are not supported in online DDL, see "
		       "https://vitess.io/blog/2021-06-15-online-ddl-why-no-fk/";
	if ((statement->kind == STATEMENT_DROP_TABLE || statement->kind == STATEMENT_DROP_VIEW) &&
	    sql_is(&statement->tokens[statement->body], ","))
		return arena_printf(&call->memory, "UUID %s provided but multiple DDLs generated",
				    call->request.uuid);
	return NULL;
}

/* ---- Result, as Go's encoding/json indents it ---- */

static void json_string(struct strbuf *buf, const char *text)
{
	strbuf_adds(buf, "\"");
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			strbuf_addf(buf, "\\%c", *c);
		else if (*c == '\n' || *c == '\t')
			strbuf_adds(buf, *c == '\n' ? "\\n" : "\\t");
		else if (*c < 0x20 || *c == '<' || *c == '>' || *c == '&')
			strbuf_addf(buf, "\\u%04x", *c);
		else
			strbuf_add(buf, c, 1);
	}
	strbuf_adds(buf, "\"");
}

static void result_shards(const struct fleet *fleet, struct strbuf *buf, const struct call *call,
			  enum leg_state state)
{
	const char *separator = "[\n";

	for (size_t i = 0; i < call->leg_count; i++) {
		const struct leg *leg = &call->legs[i];

		if (leg->state != state)
			continue;
		strbuf_addf(buf, "%s    {\n      \"Shard\": ", separator);
		json_string(buf, leg->shard->name);
		if (state == LEG_FAILED) {
			strbuf_adds(buf, ",\n      \"Err\": ");
			json_string(buf, leg->error);
		} else {
			strbuf_addf(buf,
				    ",\n      \"Results\": [\n        {\n          \"rows_affected\": %llu\n"
				    "        }\n      ],\n      \"Position\": "
				    "\"MySQL56/a1b2c3d4-0000-11f0-8000-%012u:"
				    "1-%lld\"",
				    (unsigned long long)leg->rows, leg->shard->primary->alias.uid,
				    (long long)(fleet->now_ms / 100 + 100));
		}
		strbuf_adds(buf, "\n    }");
		separator = ",\n";
	}
	/* Go: a list that nothing was put in, or none, for no shard was asked. */
	strbuf_adds(buf, *separator != '[' ? "\n  ]" : call->leg_count > 0 ? "[]" : "null");
}

static const char *control_text(struct call *call)
{
	static const char *const names[_CONTROL_MAX] = {
		[CONTROL_COMPLETE] = "complete", [CONTROL_CANCEL] = "cancel"
	};

	if (call->request.method == VTCTLD_APPLY_SCHEMA)
		return call->request.sql;
	if (strcasecmp(call->control.uuid, "all") == 0)
		return arena_printf(&call->memory, "alter vitess_migration %s all",
				    names[call->control.verb]);
	return arena_printf(&call->memory, "alter vitess_migration '%s' %s", call->control.uuid,
			    names[call->control.verb]);
}

const char *apply_result_text(const struct fleet *fleet, struct call *call, const char *executor_error)
{
	bool has_uuid = false;
	struct strbuf buf;
	char *text;

	/* Noted for a migration that at least one shard took. */
	for (size_t i = 0; i < call->leg_count && !call->is_direct && call->control.verb == CONTROL_NONE; i++)
		has_uuid |= call->legs[i].state == LEG_DONE;
	strbuf_init(&buf, TEXT_MAX);
	strbuf_adds(&buf, "schema change failed, ExecuteResult: {\n  \"FailedShards\": ");
	result_shards(fleet, &buf, call, LEG_FAILED);
	strbuf_adds(&buf, ",\n  \"SuccessShards\": ");
	result_shards(fleet, &buf, call, LEG_DONE);
	strbuf_adds(&buf, ",\n  \"CurSQLIndex\": 0,\n  \"Sqls\": [\n    ");
	json_string(&buf, control_text(call));
	strbuf_adds(&buf, "\n  ],\n  \"UUIDs\": ");
	if (has_uuid) {
		strbuf_adds(&buf, "[\n    ");
		json_string(&buf, call->request.uuid);
	}
	strbuf_addf(&buf, "%s,\n  \"ExecutorErr\": ", has_uuid ? "\n  ]" : "null");
	json_string(&buf, executor_error);
	strbuf_addf(&buf, ",\n  \"TotalTimeSpent\": %lld\n}",
		    (long long)(fleet->now_ms - call->arrived_ms) * 1000000LL);
	text = arena_memdup(&call->memory, buf.text, buf.length);
	strbuf_release(&buf);
	return text;
}
