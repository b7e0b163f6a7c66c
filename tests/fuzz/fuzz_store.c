/*
 * Goal: whatever another program wrote into the store, it is told in one sentence or it is a record that
 * vtddl could have written itself; and what is read is what is there. Method: a store that vtddl made, with
 * two changes, is opened; then values of any type are put into any columns by SQLite itself, behind its back
 * and past all constraints. All ways to read it are tried. Of what is read:
 *
 *  - numbers of an enum are of the enum, names keep their grammar, texts end;
 *  - phase, gate, effect, names and numbers are those in the table, byte by byte;
 *  - a refusal is ERROR_STORE with a text that a terminal can show.
 */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "vtddl/identity.h"
#include "vtddl/store.h"

static char folder[64], path[96], url[112];
static sqlite3 *template, *other; /* as it should be, in memory; the other program's connection to the file */
static struct store *stores[2];	  /* that writes; that only reads */

/* ---- The store as it should be ---- */

static struct change change_of(unsigned number)
{
	static struct change_shard shards[] = {
		{ .name = "-80",
		  .primary = { "zone1", 100 },
		  .definition_before = "create table t (id int)" },
		{ .name = "80-", .primary = { "zone1", 200 }, .definition_before = "" },
	};
	struct change change = {
		.cluster = "default",
		.ddl = "alter table t add column c int",
		.strategy = "vitess --postpone-completion",
		.phase = PHASE_SUBMITTING,
		.epoch = 1,
		.reason = "the intent is written",
		.gate = GATE_AUTO,
		.created_at_ms = 1790000000000,
		.updated_at_ms = 1790000000000,
		.deadline_at_ms = 1790000360000,
		.created_by = "fuzz@host",
		.shards = shards,
		.shard_count = 2,
	};

	identity_derive(&change, "commerce", number ? "alter table u add column c int" : change.ddl, 1);
	snprintf(change.table, sizeof(change.table), "%s", number ? "u" : "t");
	return change;
}

static void clean_up(void)
{
	char lock[112];

	snprintf(lock, sizeof(lock), "%s-lock", path);
	unlink(lock);
	unlink(path);
	rmdir(folder);
}

static void must(int result, const struct error *error)
{
	fuzz_check(result == 0, "the store cannot be made: %s", result < 0 ? error->text : "refused");
}

static void template_make(void)
{
	struct change changes[] = { change_of(0), change_of(1) };
	struct history_entry entry = { .at_ms = 1790000001000,
				       .actor = "fuzz",
				       .from = PHASE_SUBMITTING,
				       .to = PHASE_SUBMITTED,
				       .rule = 131,
				       .reason = "every shard has it",
				       .evidence = "-80 running" };
	struct store_config config = { .url = url };
	struct error error;
	struct lease lease;
	struct store *store;

	snprintf(folder, sizeof(folder), "/dev/shm/vtddl-fuzz-XXXXXX");
	fuzz_check(mkdtemp(folder), "no folder for the store");
	snprintf(path, sizeof(path), "%s/store.db", folder);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	atexit(clean_up);
	must(store_open(&config, &store, &error), &error);
	must(store_lease(store, "default/commerce", "fuzz:1", 30000, &lease, &error), &error);
	for (size_t i = 0; i < 2; i++) {
		changes[i].epoch = lease.epoch;
		must(store_insert(store, &changes[i], "fuzz", "", &error), &error);
	}
	changes[0].phase = PHASE_SUBMITTED;
	must(store_update(store, &changes[0], &(struct store_expect){ PHASE_SUBMITTING, 1, lease.epoch, 0 },
			  &entry, &error),
	     &error);
	store_close(store);
}

/* All from one file to the other, by SQLite: who has it open sees that it changed. */
static void copy_all(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

	fuzz_check(backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE &&
			   sqlite3_backup_finish(backup) == SQLITE_OK,
		   "the store cannot be put back: %s", sqlite3_errmsg(to));
}

static void begin(void)
{
	struct store_config config = { .url = url };
	struct error error;

	if (template)
		return;
	template_make();
	fuzz_check(sqlite3_open(path, &other) == SQLITE_OK &&
			   sqlite3_open(":memory:", &template) == SQLITE_OK,
		   "no store");
	sqlite3_db_config(other, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	copy_all(other, template);
	for (size_t i = 0; i < 2; i++) {
		config.read_only = i;
		must(store_open(&config, &stores[i], &error), &error);
	}
}

/* ---- Another program ---- */

static const struct table {
	const char *name;
	const char *columns[27];
} tables[] = {
	{ "ddl_pipeline",
	  { "cluster",
	    "keyspace_name",
	    "table_name",
	    "ddl",
	    "ddl_sha256",
	    "uuid",
	    "context",
	    "generation",
	    "strategy",
	    "phase",
	    "holds_table",
	    "epoch",
	    "revision",
	    "rule",
	    "reason",
	    "gate",
	    "cancel_asked",
	    "adopted",
	    "last_effect",
	    "attempts",
	    "next_attempt_at_ms",
	    "in_flight_until_ms",
	    "created_at_ms",
	    "updated_at_ms",
	    "deadline_at_ms",
	    "created_by",
	    "shard_count" } },
	{ "ddl_pipeline_shard",
	  { "change_id", "name", "primary_cell", "primary_uid", "definition_before", "definition_after" } },
	{ "ddl_history",
	  { "change_id", "at_ms", "actor", "from_phase", "to_phase", "rule", "reason", "evidence" } },
	{ "ddl_lock", { "scope", "owner", "epoch", "taken_at_ms" } },
};

static void run_sql(sqlite3 *db, const char *sql)
{
	fuzz_check(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
}

static void bind_any(struct fuzz_bytes *bytes, sqlite3_stmt *stmt)
{
	static const char *const words[] = { "",
					     "all",
					     "submitted",
					     "completing",
					     "verified",
					     "cancelled",
					     "stopped",
					     "none",
					     "complete",
					     "manual",
					     "auto",
					     "Submitted",
					     "unknown",
					     "default",
					     "commerce",
					     "t",
					     "-80",
					     "zone1",
					     "ddl-x-1",
					     "00000000_0000_8000_8000_000000000000",
					     "\x1b[31mred\n",
					     "default/commerce",
					     "1",
					     "-1" };
	static char long_text[70000];
	unsigned choice = fuzz_byte(bytes);
	size_t length;

	switch (choice % 8) {
	case 0:
		sqlite3_bind_null(stmt, 1);
		return;
	case 1:
	case 2:
		sqlite3_bind_int64(stmt, 1, fuzz_number(bytes));
		return;
	case 3:
		sqlite3_bind_text(stmt, 1, words[choice / 8 % (sizeof(words) / sizeof(words[0]))], -1,
				  SQLITE_STATIC);
		return;
	case 4:
	case 5:
		length = choice / 8 < fuzz_left(bytes) ? choice / 8 : fuzz_left(bytes);
		if (choice % 8 == 4)
			sqlite3_bind_text(stmt, 1, (const char *)bytes->at, (int)length, SQLITE_TRANSIENT);
		else
			sqlite3_bind_blob(stmt, 1, bytes->at, (int)length, SQLITE_TRANSIENT);
		bytes->at += length;
		return;
	case 6:
		sqlite3_bind_double(stmt, 1, (double)fuzz_number(bytes) / 3);
		return;
	default:
		memset(long_text, 'a', sizeof(long_text));
		length = choice & 128 ? sizeof(long_text) : choice / 8 * 10;
		sqlite3_bind_text(stmt, 1, long_text, (int)length, SQLITE_STATIC);
	}
}

static void spoil_one(struct fuzz_bytes *bytes, sqlite3 *db)
{
	unsigned which = fuzz_byte(bytes), count = 0;
	const struct table *table = &tables[which & 8 ? 0 : which & 3];
	sqlite3_stmt *stmt;
	char sql[160];

	while (count < 27 && table->columns[count])
		count++;
	snprintf(sql, sizeof(sql), "UPDATE %s SET %s = ? WHERE rowid = %u", table->name,
		 table->columns[fuzz_below(bytes, count)], 1 + (which >> 4) % 3);
	fuzz_check(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK, "%s: %s", sql,
		   sqlite3_errmsg(db));
	bind_any(bytes, stmt);
	sqlite3_step(stmt); /* a unique index may refuse it */
	sqlite3_finalize(stmt);
}

/* The declarations are taken away for a moment, and put back: the file says nothing of that. */
static void spoil(struct fuzz_bytes *bytes)
{
	run_sql(other,
		"PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA ignore_check_constraints = ON;"
		" PRAGMA writable_schema = ON; CREATE TEMP TABLE kept AS SELECT name, sql FROM main.sqlite_master;"
		" UPDATE main.sqlite_master SET sql = replace(replace(replace(replace(replace(replace(sql, ' STRICT', ''),"
		" 'INTEGER NOT NULL', ''), 'TEXT NOT NULL', ''), 'definition_before TEXT', 'definition_before'),"
		" 'definition_after TEXT', 'definition_after'), 'from_phase TEXT', 'from_phase') WHERE type = 'table';"
		" PRAGMA writable_schema = RESET; BEGIN");
	for (unsigned left = 1 + fuzz_below(bytes, 4); left > 0; left--)
		spoil_one(bytes, other);
	run_sql(other,
		"COMMIT; PRAGMA writable_schema = ON; UPDATE main.sqlite_master AS now SET sql = (SELECT sql FROM kept"
		" WHERE kept.name = now.name) WHERE type = 'table'; PRAGMA schema_version = 1000;"
		" PRAGMA writable_schema = RESET; DROP TABLE temp.kept");
}

/* ---- What is read ---- */

static void check_refusal(int result, const struct error *error)
{
	if (result < 0)
		fuzz_check(error->code == ERROR_STORE && error->text[0] && fuzz_is_quiet(error->text),
			   "a refusal: code %d, %s", error->code, error->text);
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static void check_change(const struct change *change)
{
	fuzz_check((unsigned)change->phase < _PHASE_MAX && (unsigned)change->gate < _GATE_MAX &&
			   (unsigned)change->last_effect < _EFFECT_MAX,
		   "a record of phase %d, gate %d, effect %d", change->phase, change->gate,
		   change->last_effect);
	fuzz_check(cluster_is_valid(change->cluster) && keyspace_is_valid(change->keyspace) &&
			   uuid_is_valid(change->uuid) && context_is_valid(change->context),
		   "a record whose names are none");
	fuzz_check(change->ddl && change->ddl[0] && change->strategy && change->generation,
		   "a record without a statement");
	fuzz_check(ends(change->table, sizeof(change->table)) && change->table[0] &&
			   ends(change->reason, sizeof(change->reason)) &&
			   ends(change->created_by, sizeof(change->created_by)),
		   "a text that does not end");
	fuzz_check(change->shard_count <= SHARDS_MAX, "a record of %zu shards", change->shard_count);
	for (size_t i = 0; i < change->shard_count; i++)
		fuzz_check(shard_name_is_valid(change->shards[i].name) &&
				   ends(change->shards[i].primary.cell,
					sizeof(change->shards[i].primary.cell)) &&
				   (i == 0 || strcmp(change->shards[i - 1].name, change->shards[i].name) < 0),
			   "a shard whose name is none, or that is there twice");
}

static bool is_text(sqlite3_stmt *stmt, int column, const char *text)
{
	const char *there = (const char *)sqlite3_column_text(stmt, column);

	return sqlite3_column_type(stmt, column) == SQLITE_TEXT && strcmp(there, text) == 0 &&
	       (size_t)sqlite3_column_bytes(stmt, column) == strlen(text);
}

static bool is_number(sqlite3_stmt *stmt, int column, int64_t number)
{
	return sqlite3_column_type(stmt, column) == SQLITE_INTEGER &&
	       sqlite3_column_int64(stmt, column) == number;
}

/* Read a second time, by no code of the store. */
static void check_same(const struct change *change)
{
	sqlite3_stmt *stmt;

	fuzz_check(
		sqlite3_prepare_v2(
			other,
			"SELECT cluster, keyspace_name, table_name, ddl, uuid, context, generation, phase, epoch,"
			" revision, rule, reason, gate, cancel_asked, adopted, last_effect, attempts,"
			" in_flight_until_ms, deadline_at_ms FROM ddl_pipeline WHERE cluster = ? AND uuid = ?",
			-1, &stmt, NULL) == SQLITE_OK,
		"%s", sqlite3_errmsg(other));
	sqlite3_bind_text(stmt, 1, change->cluster, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, change->uuid, -1, SQLITE_STATIC);
	fuzz_check(sqlite3_step(stmt) == SQLITE_ROW, "a record that the table does not have");
	fuzz_check(is_text(stmt, 0, change->cluster) && is_text(stmt, 1, change->keyspace) &&
			   is_text(stmt, 2, change->table) && is_text(stmt, 3, change->ddl) &&
			   is_text(stmt, 4, change->uuid) && is_text(stmt, 5, change->context) &&
			   is_text(stmt, 7, phase_name(change->phase)) && is_text(stmt, 11, change->reason) &&
			   is_text(stmt, 12, gate_name(change->gate)) &&
			   is_text(stmt, 15, effect_name(change->last_effect)),
		   "a text is not the one in the table");
	fuzz_check(is_number(stmt, 6, change->generation) && is_number(stmt, 8, change->epoch) &&
			   is_number(stmt, 9, change->revision) && is_number(stmt, 10, change->rule) &&
			   is_number(stmt, 13, change->cancel_asked) &&
			   is_number(stmt, 14, change->adopted) && is_number(stmt, 16, change->attempts) &&
			   is_number(stmt, 17, change->in_flight_until_ms) &&
			   is_number(stmt, 18, change->deadline_at_ms),
		   "a number is not the one in the table");
	sqlite3_finalize(stmt);
}

static void read_lists(struct store *store, struct arena *arena)
{
	static const struct store_filter filters[] = {
		{ .cluster = "default" },
		{ .cluster = "default", .live_only = true },
		{ .cluster = "default", .keyspace = "commerce", .table = "t", .limit = 1 },
	};
	struct change *changes;
	struct error error;
	size_t count;

	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		int result = store_list(store, &filters[i], arena, &changes, &count, &error);

		check_refusal(result, &error);
		fuzz_check(result == 0 || count == 0, "a refusal with records");
		for (size_t k = 0; k < count; k++) {
			check_change(&changes[k]);
			check_same(&changes[k]);
		}
	}
}

static void read_one(struct store *store, const char *uuid, struct arena *arena)
{
	struct history_entry *lines;
	struct change change;
	struct error error;
	size_t count;
	int result = store_load(store, "default", uuid, arena, &change, &error);

	check_refusal(result, &error);
	if (result == 0) {
		check_change(&change);
		check_same(&change);
	}
	result = store_history(store, "default", uuid, arena, &lines, &count, &error);
	check_refusal(result, &error);
	for (size_t i = 0; result == 0 && i < count; i++)
		fuzz_check((lines[i].from == _PHASE_INVALID || (unsigned)lines[i].from < _PHASE_MAX) &&
				   (unsigned)lines[i].to < _PHASE_MAX && lines[i].actor && lines[i].reason &&
				   lines[i].evidence,
			   "a line of history from %d to %d", lines[i].from, lines[i].to);
}

static void read_live(struct store *store, struct arena *arena)
{
	char text[REASON_MAX];
	struct lease lease;
	struct error error;
	struct live live;
	int result = store_live(store, "default", 0, arena, &live, &error);

	check_refusal(result, &error);
	for (size_t i = 0; i < live.change_count; i++) {
		const struct live_change *change = &live.changes[i];

		fuzz_check((unsigned)change->phase < _PHASE_MAX && (unsigned)change->gate < _GATE_MAX &&
				   keyspace_is_valid(change->keyspace) && uuid_is_valid(change->uuid) &&
				   change->table[0] && change->reason,
			   "a live change that is none");
	}
	for (size_t i = 0; i < live.lease_count; i++)
		fuzz_check(live.leases[i].keyspace && live.leases[i].holder, "a lease of nobody");
	result = store_lease(store, "default/commerce", "fuzz:2", 1000, &lease, &error);
	if (result < 0 &&
	    error.code == ERROR_BUG) /* the last epoch there is: the table refuses the next one */
		error.code = ERROR_STORE;
	check_refusal(result, &error);
	fuzz_check(result != 0 || (lease.epoch > 0 && ends(lease.holder, sizeof(lease.holder))),
		   "a lease of epoch %lld", (long long)lease.epoch);
	check_refusal(store_check(store, text, &error), &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct fuzz_bytes rest = { bytes, bytes + length };
	unsigned first = length ? bytes[0] : 0;
	struct store_config config = { .url = url };
	struct store *store;
	struct error error;
	struct arena arena;

	begin();
	copy_all(template, other);
	spoil(&rest);
	store = stores[first >> 7];
	arena_init(&arena, 0);
	read_lists(store, &arena);
	read_one(store, change_of(0).uuid, &arena);
	read_one(store, change_of(1).uuid, &arena);
	if (store == stores[0])
		read_live(store, &arena);
	if ((first & 0x70) == 0x70) { /* the next process: it finds the damage, or none. It takes its time */
		int result = store_open(&config, &store, &error);

		check_refusal(result, &error);
		if (result == 0)
			store_close(store);
	}
	arena_release(&arena);
	return 0;
}
