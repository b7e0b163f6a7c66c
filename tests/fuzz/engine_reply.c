/*
 * What vtctld answers. First what the plan says, which takes no bytes, in full and well-formed as src/wire/
 * hands it on; then, where the bytes want it so, a few things in it become others: any number, any name, a
 * row too many or too few. What wire promises is kept: texts are there and end, shards are sorted and there
 * once, an answer is DONE or it has no content.
 */
#include <inttypes.h>

#include "engine_world.h"

static const struct {
	size_t count;
	const char *names[WORLD_SHARDS];
	const char *ranges[WORLD_SHARDS + 1]; /* borders, in hex; "" is open */
} shard_sets[] = {
	{ 2, { "-80", "80-" }, { "", "80", "" } },
	{ 1, { "0" }, { "", "" } },
	{ 3, { "-40", "40-80", "80-" }, { "", "40", "80", "" } },
	{ 4, { "-40", "40-80", "80-c0", "c0-" }, { "", "40", "80", "c0", "" } },
	{ 1, { "-" }, { "", "" } },
	{ 2, { "-80", "a name with spaces" }, { "", "80", "" } },
};

#define SHARD_SETS (sizeof(shard_sets) / sizeof(shard_sets[0]))

static const char *const definitions[] = {
	"CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `extra` int DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB",
	"CREATE TABLE `t` (\n  `id` int NOT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB",
	"",
	"CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `extra` int DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) AUTO_INCREMENT=7",
	"CREATE VIEW `v` AS select 1 AS `1` from `t`",
	"CREATE TABLE `t` (\n  `id` int",
	"not a definition",
};

static const char *const texts[] = {
	"",
	"all",
	"ALL",
	"-80",
	"80-",
	"commerce",
	"t",
	"n",
	"running",
	"duplicate DDL as 'x'",
	"_vt_x",
	"-1",
	"0",
	"1",
	"99999999999999999999",
	"1.5e3",
	"nan",
	"zone1-0000000100",
	"\x1b[31mred\x07\n",
	"a'; drop table t; --",
	"\xc3\xa9",
	"ddl-commerce-0000000000000000-g1",
	"00000000_0000_8000_8000_000000000000",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"{\"Err\": \"\", \"ExecutorErr\": \"rpc error: desc = no\"}",
	"Err\": \"",
	"desc = ",
};

#define COUNT(array) ((unsigned)(sizeof(array) / sizeof((array)[0])))

/* One of those above, or any; never a NUL within. */
const char *reply_text(struct world *world, struct arena *arena)
{
	unsigned choice = fuzz_byte(&world->bytes);
	size_t length;
	char *text;

	if (choice < 0xe0)
		return texts[choice % COUNT(texts)];
	length = fuzz_below(&world->bytes, 48);
	text = arena_alloc(arena, length + 1);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)(fuzz_byte(&world->bytes) % 127 + 1);
	return text;
}

/* ---- The plan ---- */

size_t plan_shard_count(const struct world *world)
{
	return shard_sets[world->plan.shard_set % SHARD_SETS].count;
}

static void border(const char *hex, const uint8_t **ret, size_t *ret_length)
{
	static const uint8_t bytes[] = { 0x40, 0x80, 0xc0 };

	*ret = hex[0] == '4' ? &bytes[0] : hex[0] == '8' ? &bytes[1] : &bytes[2];
	*ret_length = hex[0] != '\0';
}

struct topo_shard plan_shard(const struct world *world, size_t shard)
{
	const struct plan *plan = &world->plan;
	size_t set = plan->shard_set % SHARD_SETS;
	struct topo_shard ret = { .name = shard_sets[set].names[shard],
				  .has_primary = !plan->no_primary[shard],
				  .is_serving = !plan->not_serving[shard],
				  .primary_term_start_s = 500 };

	if (ret.has_primary)
		ret.primary =
			(struct tablet_alias){ "zone1", 100 * (uint32_t)(shard + 1) + plan->uid_offset };
	border(shard_sets[set].ranges[shard], &ret.range_start, &ret.range_start_length);
	border(shard_sets[set].ranges[shard + 1], &ret.range_end, &ret.range_end_length);
	return ret;
}

static const struct names *names_of(const struct world *world, const char *uuid)
{
	for (size_t i = 0; uuid && i < WORLD_STATEMENTS; i++)
		for (size_t j = 0; j < WORLD_GENERATIONS; j++)
			if (strncmp(world->names[i][j].change.uuid, uuid, UUID_LENGTH) == 0)
				return &world->names[i][j];
	return &world->names[0][0];
}

static struct migration plan_row(const struct world *world, const struct names *names, size_t shard)
{
	static const struct {
		int status;
		bool held, ready, immediate;
	} rows[_PLAN_MAX] = {
		[PLAN_QUEUED] = { MIGRATION_QUEUED, true, false, false },
		[PLAN_RUNNING] = { MIGRATION_RUNNING, true, false, false },
		[PLAN_READY] = { MIGRATION_RUNNING, true, true, false },
		[PLAN_IMMEDIATE] = { MIGRATION_QUEUED, true, true, true },
		[PLAN_RELEASED] = { MIGRATION_RUNNING, false, true, false },
		[PLAN_COMPLETE] = { MIGRATION_COMPLETE, false, true, false },
		[PLAN_DUPLICATE] = { MIGRATION_COMPLETE, false, true, false },
		[PLAN_FAILED] = { MIGRATION_FAILED, true, false, false },
		[PLAN_CANCELLED] = { MIGRATION_CANCELLED, true, false, false },
		[PLAN_STRANGE] = { 99, true, true, false },
		[PLAN_FOREIGN] = { MIGRATION_RUNNING, true, true, false },
	};
	enum row_plan plan = world->plan.rows[shard];
	const struct topo_shard topo = plan_shard(world, shard);
	int64_t now_s = (WORLD_WALL_MS + world->now_ms) / 1000;

	return (struct migration){
		.uuid = names->change.uuid,
		.keyspace = names->change.keyspace,
		.shard = topo.name,
		.table = plan == PLAN_FOREIGN ? "other" : names->change.table,
		.statement = names->change.ddl,
		.options = "--postpone-completion --singleton-context",
		.context = names->change.context,
		.ddl_action = "alter",
		.message = plan == PLAN_DUPLICATE ? "duplicate DDL as 'x'" : "",
		.stage = "",
		.artifacts = "_vt_hld_x,",
		.special_plan = "",
		.status = rows[plan].status,
		.postpone_completion = rows[plan].held,
		.ready_to_complete = rows[plan].ready,
		.is_immediate_operation = rows[plan].immediate,
		.retries = world->plan.retries,
		.requested_at_s = 1000,
		.started_at_s = 1001,
		.liveness_s = now_s,
		.completed_at_s = plan == PLAN_COMPLETE ? now_s : 0,
		.reviewed_at_s = 1000,
		.ready_to_complete_at_s = 1002,
		.progress = rows[plan].ready ? 100 : 40,
		.eta_s = rows[plan].ready ? 0 : 60,
		.rows_copied = 400,
		.table_rows = 1000,
		.tablet = topo.primary,
	};
}

/* ---- Something odd ---- */

static void odd_row(struct world *world, struct arena *arena, struct migration *row)
{
	struct fuzz_bytes *bytes = &world->bytes;
	const char **row_texts[] = { &row->uuid,    &row->keyspace,  &row->shard,   &row->table,
				     &row->context, &row->statement, &row->options, &row->ddl_action,
				     &row->message, &row->artifacts, &row->stage,   &row->special_plan };
	int64_t *numbers[] = {
		&row->retries,	      &row->requested_at_s, &row->started_at_s,		  &row->liveness_s,
		&row->completed_at_s, &row->reviewed_at_s,  &row->ready_to_complete_at_s, &row->eta_s,
		&row->rows_copied,    &row->table_rows,	    &row->cutover_attempts
	};
	bool *flags[] = { &row->postpone_completion,	&row->postpone_launch, &row->ready_to_complete,
			  &row->is_immediate_operation, &row->is_view,	       &row->tablet_failure };
	unsigned choice = fuzz_below(bytes, COUNT(row_texts) + COUNT(numbers) + COUNT(flags) + 4);
	double real;
	int64_t number;

	if (choice < COUNT(row_texts)) {
		*row_texts[choice] = reply_text(world, arena);
	} else if ((choice -= COUNT(row_texts)) < COUNT(numbers)) {
		*numbers[choice] = fuzz_number(bytes);
	} else if ((choice -= COUNT(numbers)) < COUNT(flags)) {
		*flags[choice] = !*flags[choice];
	} else if ((choice -= COUNT(flags)) == 0) {
		row->status = (int)fuzz_number(bytes);
	} else if (choice == 1) {
		row->strategy = (int)fuzz_number(bytes);
	} else if (choice == 2) {
		number = fuzz_number(bytes);
		memcpy(&real, &number, sizeof(real));
		row->progress = real;
	} else { /* as Vitess would write it in capitals */
		char *upper = arena_strdup(arena, row->uuid);

		for (char *at = upper; *at; at++)
			*at = (char)(*at >= 'a' && *at <= 'f' ? *at - 32 : *at);
		row->uuid = upper;
	}
}

static void odd_shard(struct world *world, struct arena *arena, struct topo_shard *shard)
{
	struct fuzz_bytes *bytes = &world->bytes;

	switch (fuzz_below(bytes, 7)) {
	case 0:
		shard->name = reply_text(world, arena);
		break;
	case 1:
		shard->has_primary = !shard->has_primary;
		break;
	case 2:
		shard->is_serving = !shard->is_serving;
		break;
	case 3:
		shard->primary.uid = (uint32_t)fuzz_number(bytes);
		break;
	case 4:
		snprintf(shard->primary.cell, sizeof(shard->primary.cell), "%s", reply_text(world, arena));
		break;
	case 5:
		shard->primary_term_start_s = fuzz_number(bytes);
		break;
	default:
		shard->range_start_length = fuzz_below(bytes, 2);
		shard->range_end_length = fuzz_below(bytes, 2);
	}
	/* src/wire/decode.c: a primary is one that has a name */
	if (!shard->has_primary || !shard->primary.cell[0]) {
		shard->has_primary = false;
		shard->primary = (struct tablet_alias){ 0 };
	}
}

/* ---- Answers ---- */

static int compare_shards(const void *a, const void *b)
{
	return strcmp(((const struct topo_shard *)a)->name, ((const struct topo_shard *)b)->name);
}

static void answer_shards(struct world *world, struct arena *arena, bool odd, struct vtctld_reply *reply)
{
	size_t count = plan_shard_count(world), kept = 0;
	struct topo_shard *items = arena_array(arena, count + 1, sizeof(*items));

	for (size_t i = 0; i < count; i++)
		items[i] = plan_shard(world, i);
	for (unsigned i = odd ? fuzz_below(&world->bytes, 4) : 0; i > 0; i--)
		odd_shard(world, arena, &items[fuzz_below(&world->bytes, (unsigned)count)]);
	if (odd && fuzz_below(&world->bytes, 4) == 0)
		count--;
	qsort(items, count, sizeof(*items), compare_shards);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || strcmp(items[kept - 1].name, items[i].name) != 0)
			items[kept++] = items[i];
	reply->shards.items = items;
	reply->shards.count = kept;
}

static void answer_tablets(struct world *world, struct arena *arena, bool odd, struct vtctld_reply *reply)
{
	size_t count = plan_shard_count(world);
	struct topo_tablet *items = arena_array(arena, count + 1, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		const struct topo_shard shard = plan_shard(world, i);

		items[i] = (struct topo_tablet){ .alias = shard.primary,
						 .keyspace = "commerce",
						 .shard = shard.name,
						 .hostname = "host",
						 .type = TABLET_PRIMARY,
						 .start_s = 400 };
	}
	for (unsigned i = odd ? fuzz_below(&world->bytes, 4) : 0; i > 0; i--) {
		struct topo_tablet *tablet = &items[fuzz_below(&world->bytes, (unsigned)count)];

		switch (fuzz_below(&world->bytes, 5)) {
		case 0:
			tablet->type = (int)fuzz_number(&world->bytes);
			break;
		case 1:
			tablet->start_s = fuzz_number(&world->bytes);
			break;
		case 2:
			tablet->shutdown_s = fuzz_number(&world->bytes);
			break;
		case 3:
			tablet->shard = reply_text(world, arena);
			break;
		default:
			tablet->alias.uid++;
		}
	}
	reply->tablets.items = items;
	reply->tablets.count = count;
}

/* Rows of one change on one shard or on all of them, odd ones too. */
static size_t make_rows(struct world *world, struct arena *arena, const struct names *names, size_t first,
			size_t count, bool odd, struct migration **ret)
{
	struct migration *items = arena_array(arena, 2 * count + 1, sizeof(*items));
	size_t made = 0, shards = plan_shard_count(world);

	for (size_t i = first; i < first + count && i < shards; i++)
		if (world->plan.rows[i] != PLAN_ABSENT)
			items[made++] = plan_row(world, names, i);
	for (unsigned i = odd && made ? fuzz_below(&world->bytes, 5) : 0; i > 0; i--)
		odd_row(world, arena, &items[fuzz_below(&world->bytes, (unsigned)made)]);
	if (odd && made && fuzz_below(&world->bytes, 3) == 0) { /* one twice */
		items[made] = items[fuzz_below(&world->bytes, (unsigned)made)];
		if (fuzz_below(&world->bytes, 2))
			odd_row(world, arena, &items[made]);
		made++;
	}
	if (odd && made && fuzz_below(&world->bytes, 4) == 0)
		made--;
	*ret = items;
	return made;
}

static void answer_migrations(struct world *world, const struct vtctld_request *request, struct arena *arena,
			      bool odd, struct vtctld_reply *reply)
{
	reply->migrations.count = make_rows(world, arena, names_of(world, request->uuid), 0,
					    plan_shard_count(world), odd, &reply->migrations.items);
}

enum kind { TEXT, NUMBER, FLAG, PERCENT, STATUS, STRATEGY, ALIAS };

static const struct {
	const char *name;
	enum kind kind;
	size_t offset;
} columns[] = {
#define COLUMN(name, kind, member)                                                                           \
	{                                                                                                    \
		name, kind, offsetof(struct migration, member)                                               \
	}
	COLUMN("migration_uuid", TEXT, uuid),
	COLUMN("keyspace", TEXT, keyspace),
	COLUMN("shard", TEXT, shard),
	COLUMN("mysql_table", TEXT, table),
	COLUMN("migration_statement", TEXT, statement),
	COLUMN("options", TEXT, options),
	COLUMN("migration_context", TEXT, context),
	COLUMN("ddl_action", TEXT, ddl_action),
	COLUMN("message", TEXT, message),
	COLUMN("stage", TEXT, stage),
	COLUMN("artifacts", TEXT, artifacts),
	COLUMN("special_plan", TEXT, special_plan),
	COLUMN("strategy", STRATEGY, strategy),
	COLUMN("migration_status", STATUS, status),
	COLUMN("postpone_completion", FLAG, postpone_completion),
	COLUMN("postpone_launch", FLAG, postpone_launch),
	COLUMN("ready_to_complete", FLAG, ready_to_complete),
	COLUMN("is_immediate_operation", FLAG, is_immediate_operation),
	COLUMN("is_view", FLAG, is_view),
	COLUMN("tablet_failure", FLAG, tablet_failure),
	COLUMN("retries", NUMBER, retries),
	COLUMN("requested_timestamp", NUMBER, requested_at_s),
	COLUMN("started_timestamp", NUMBER, started_at_s),
	COLUMN("liveness_timestamp", NUMBER, liveness_s),
	COLUMN("completed_timestamp", NUMBER, completed_at_s),
	COLUMN("reviewed_timestamp", NUMBER, reviewed_at_s),
	COLUMN("ready_to_complete_timestamp", NUMBER, ready_to_complete_at_s),
	COLUMN("progress", PERCENT, progress),
	COLUMN("eta_seconds", NUMBER, eta_s),
	COLUMN("rows_copied", NUMBER, rows_copied),
	COLUMN("table_rows", NUMBER, table_rows),
	COLUMN("cutover_attempts", NUMBER, cutover_attempts),
	COLUMN("tablet", ALIAS, tablet),
};

static const char *cell_text(struct arena *arena, size_t column, const struct migration *row)
{
	const void *member = (const char *)row + columns[column].offset;
	char alias[ALIAS_TEXT_SIZE];

	switch (columns[column].kind) {
	case TEXT:
		return *(const char *const *)member;
	case NUMBER:
		return arena_printf(arena, "%" PRId64, *(const int64_t *)member);
	case FLAG:
		return *(const bool *)member ? "1" : "0";
	case PERCENT:
		return arena_printf(arena, "%f", *(const double *)member);
	case STATUS:
		return migration_status_name(*(const int *)member);
	case STRATEGY:
		return "vitess";
	default:
		tablet_alias_format(member, alias);
		return arena_strdup(arena, alias);
	}
}

static void odd_cells(struct world *world, struct arena *arena, struct query_result *result)
{
	struct query_cell *cell;

	if (fuzz_below(&world->bytes, 6) == 0) /* an older Vitess; or an empty message */
		result->columns[fuzz_below(&world->bytes, COUNT(columns))] = reply_text(world, arena);
	if (fuzz_below(&world->bytes, 12) == 0)
		*result = (struct query_result){ 0 };
	if (!result->row_count)
		return;
	cell = &result->cells[fuzz_byte(&world->bytes) % (result->row_count * result->column_count)];
	cell->text = fuzz_below(&world->bytes, 3) ? reply_text(world, arena) : NULL;
	cell->length = cell->text ? strlen(cell->text) : 0;
}

/* The rows of a primary: by uuid, or, as far as the plan knows one, by the prefix of a context. */
static void answer_select(struct world *world, const struct call *call, struct arena *arena, bool odd,
			  struct vtctld_reply *reply)
{
	const char *uuid = strstr(call->request.rpc.sql, "migration_uuid = '"), *prefix;
	const struct names *names = names_of(world, uuid ? uuid + strlen("migration_uuid = '") : NULL);
	struct query_result *result = &reply->result;
	size_t shard = call->request.rpc.tablet.uid / 100 - 1, count;
	struct migration *rows = NULL;

	prefix = strstr(call->request.rpc.sql, "like '");
	for (size_t i = 0; !uuid && prefix && i < WORLD_STATEMENTS; i++) /* all but the number at its end */
		if (strncmp(prefix + 6, world->names[i][0].change.context,
			    strlen(world->names[i][0].change.context) - 1) == 0)
			names = &world->names[i][(world->plan.known_generation + WORLD_GENERATIONS - 1) %
						 WORLD_GENERATIONS];
	count = !uuid && !world->plan.known_generation ? 0
						       : make_rows(world, arena, names, shard, 1, odd, &rows);
	*result = (struct query_result){ .column_count = COUNT(columns), .row_count = count };
	result->columns = arena_array(arena, COUNT(columns), sizeof(*result->columns));
	result->cells = arena_array(arena, COUNT(columns) * count + 1, sizeof(*result->cells));
	for (size_t i = 0; i < COUNT(columns); i++) {
		result->columns[i] = columns[i].name;
		for (size_t row = 0; row < count; row++) {
			struct query_cell *cell = &result->cells[row * COUNT(columns) + i];

			cell->text = cell_text(arena, i, &rows[row]);
			cell->length = strlen(cell->text);
		}
	}
	if (odd)
		odd_cells(world, arena, result);
}

static void answer_definition(struct world *world, const struct call *call, struct arena *arena, bool odd,
			      struct vtctld_reply *reply)
{
	size_t shard = (call->request.rpc.tablet.uid / 100 - 1) % WORLD_SHARDS;
	struct table_definition *items = arena_array(arena, 2, sizeof(*items));
	const char *text = definitions[world->plan.definition[shard] % COUNT(definitions)];

	items[0] = (struct table_definition){ call->request.rpc.table, text, "BASE TABLE" };
	items[1] = (struct table_definition){ "other", definitions[0], "BASE TABLE" };
	reply->definitions.items = items;
	reply->definitions.count = text[0] ? 2 : 0;
	if (!odd)
		return;
	reply->definitions.count = fuzz_below(&world->bytes, 3);
	items[0].schema = fuzz_below(&world->bytes, 2)
				  ? reply_text(world, arena)
				  : definitions[fuzz_below(&world->bytes, COUNT(definitions))];
	if (fuzz_below(&world->bytes, 4) == 0)
		items[0].name = reply_text(world, arena);
}

static void answer_keyspaces(struct world *world, struct arena *arena, bool odd, struct vtctld_reply *reply)
{
	const char **names = arena_array(arena, 3, sizeof(*names));

	names[0] = "commerce";
	names[1] = "other";
	names[2] = odd ? reply_text(world, arena) : "third";
	reply->keyspaces.names = names + (odd ? fuzz_below(&world->bytes, 3) : 0);
	reply->keyspaces.count = odd ? fuzz_below(&world->bytes, 2) : 3;
}

static void answer_effect(struct world *world, struct arena *arena, bool odd, struct vtctld_reply *reply)
{
	const char **uuids = arena_array(arena, 1, sizeof(*uuids));
	struct shard_count *counts = arena_array(arena, 1, sizeof(*counts));

	uuids[0] = odd ? reply_text(world, arena) : "";
	counts[0] = (struct shard_count){ odd ? reply_text(world, arena) : "-80",
					  odd ? (uint64_t)fuzz_number(&world->bytes) : 1 };
	reply->effect.uuids = uuids;
	reply->effect.uuid_count = odd ? fuzz_below(&world->bytes, 2) : 0;
	reply->effect.counts = counts;
	reply->effect.count = 1;
}

static void answer_proof(struct world *world, struct arena *arena, bool odd, struct proof *proof)
{
	*proof = (struct proof){ .asked = true,
				 .reachable = true,
				 .text = "",
				 .definition = definitions[0],
				 .columns = "id,extra",
				 .probes_ok = true,
				 .probes_settled = true,
				 .probe_text = "" };
	if (!odd)
		return;
	proof->asked = fuzz_below(&world->bytes, 4);
	proof->reachable = fuzz_below(&world->bytes, 2);
	proof->text = reply_text(world, arena);
	proof->definition = reply_text(world, arena);
	proof->columns = reply_text(world, arena);
	proof->probes_ok = fuzz_below(&world->bytes, 2);
	proof->probes_settled = fuzz_below(&world->bytes, 2);
	proof->probe_text = reply_text(world, arena);
}

void reply_make(struct world *world, const struct call *call, bool odd, struct reply *ret)
{
	const struct vtctld_request *request = &call->request.rpc;
	struct arena *arena = call->request.arena;
	struct vtctld_reply *reply = &ret->rpc;

	*ret = (struct reply){ .tag = call->request.tag, .kind = call->request.kind };
	if (ret->kind == REQUEST_PROOF) {
		answer_proof(world, arena, odd, &ret->proof);
		return;
	}
	*reply = (struct vtctld_reply){
		.tag = ret->tag, .method = request->method, .outcome = VTCTLD_DONE, .text = ""
	};
	switch (request->method) {
	case VTCTLD_GET_KEYSPACES:
		answer_keyspaces(world, arena, odd, reply);
		return;
	case VTCTLD_FIND_ALL_SHARDS:
		answer_shards(world, arena, odd, reply);
		return;
	case VTCTLD_GET_TABLETS:
		answer_tablets(world, arena, odd, reply);
		return;
	case VTCTLD_GET_SCHEMA_MIGRATIONS:
		answer_migrations(world, request, arena, odd, reply);
		return;
	case VTCTLD_EXECUTE_FETCH_AS_DBA:
		answer_select(world, call, arena, odd, reply);
		return;
	case VTCTLD_GET_SCHEMA:
		answer_definition(world, call, arena, odd, reply);
		return;
	default:
		answer_effect(world, arena, odd, reply);
		return;
	}
}

void reply_fail(struct call *call, enum vtctld_outcome outcome, int code, struct reply *ret)
{
	*ret = (struct reply){ .tag = call->request.tag, .kind = call->request.kind };
	if (ret->kind == REQUEST_PROOF) {
		ret->proof = (struct proof){ .asked = true, .text = "it does not answer" };
		return;
	}
	ret->rpc = (struct vtctld_reply){ .tag = ret->tag,
					  .method = call->request.rpc.method,
					  .outcome = outcome,
					  .code = code,
					  .text = "no answer" };
}
