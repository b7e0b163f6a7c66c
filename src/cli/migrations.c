#include "migrations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "rpc.h"
#include "vtddl/clock.h"

#define SELECT_ROWS_MAX 10000
#define STATEMENT_SHOWN 400
#define MESSAGE_SHOWN 300

/* ---- Reading ---- */

/* Reads @query from every primary, side by side. */
static int read_primaries(struct wire *wire, const struct migrations_query *query,
			  const struct topo_shard *shards, size_t shard_count, struct arena *arena,
			  struct migration **ret, size_t *ret_count, struct strbuf *missing)
{
	struct vtctld_request *requests = arena_array(arena, shard_count + 1, sizeof *requests);
	struct vtctld_reply *replies = arena_array(arena, shard_count + 1, sizeof *replies);
	char *sql = migration_select(arena, query->uuid, query->context);
	size_t total = 0;

	for (size_t i = 0; i < shard_count; i++)
		requests[i] = (struct vtctld_request){
			.method = VTCTLD_EXECUTE_FETCH_AS_DBA,
			.keyspace = query->keyspace,
			.sql = sql,
			.tablet = shards[i].primary,
			.limit = SELECT_ROWS_MAX,
			.timeout_ms = query->timeout_ms,
		};
	rpc_call_all(wire, requests, shard_count, arena, replies);
	*ret = NULL;
	for (size_t i = 0; i < shard_count; i++) {
		struct migration *rows = NULL, *all;
		size_t count = 0;
		struct error err;

		if (replies[i].outcome != VTCTLD_DONE ||
		    migration_from_result(arena, &replies[i].result, shards[i].name, &rows, &count, &err) <
			    0) {
			strbuf_addf(missing, "%s%s", missing->length ? ", " : "", shards[i].name);
			continue;
		}
		all = arena_array(arena, total + count + 1, sizeof *all);
		if (total)
			memcpy(all, *ret, total * sizeof *all);
		if (count)
			memcpy(all + total, rows, count * sizeof *all);
		*ret = all;
		total += count;
	}
	*ret_count = total;
	return missing->length && !total ? -1 : 0;
}

static int read_directly(struct wire *wire, const struct migrations_query *query, const struct error *first,
			 struct arena *arena, struct migration **ret, size_t *ret_count,
			 const char **ret_note)
{
	struct vtctld_request request = { .method = VTCTLD_FIND_ALL_SHARDS,
					  .keyspace = query->keyspace,
					  .timeout_ms = query->timeout_ms };
	struct strbuf missing cleanup(strbuf_release);
	struct vtctld_reply reply;
	struct error ignored;

	strbuf_init(&missing, 512);
	if (rpc_call(wire, &request, arena, &reply, &ignored) < 0)
		return -1;
	if (read_primaries(wire, query, reply.shards.items, reply.shards.count, arena, ret, ret_count,
			   &missing) < 0)
		return -1;
	*ret_note = arena_printf(arena, "%s; so each primary was read directly%s%s%s", first->text,
				 missing.length ? ", and there was no answer from shard " : "",
				 missing.length ? missing.text : "",
				 missing.length ? ", whose rows are missing below" : "");
	return 0;
}

int migrations_read(struct wire *wire, const struct migrations_query *query, struct arena *arena,
		    struct migration **ret, size_t *ret_count, const char **ret_note, struct error *reterr)
{
	struct vtctld_request request = {
		.method = VTCTLD_GET_SCHEMA_MIGRATIONS,
		.keyspace = query->keyspace,
		.uuid = query->uuid,
		.context = query->context,
		.timeout_ms = query->timeout_ms,
	};
	struct vtctld_reply reply;
	struct error err;

	*ret_note = NULL;
	if (rpc_call(wire, &request, arena, &reply, &err) == 0) {
		*ret = reply.migrations.items;
		*ret_count = reply.migrations.count;
		return 0;
	}
	if ((err.code == ERROR_PROTOCOL || reply.code == 4) && (query->uuid || query->context) &&
	    read_directly(wire, query, &err, arena, ret, ret_count, ret_note) == 0)
		return 0;
	if (reterr)
		*reterr = err;
	return -1;
}

/* ---- Sorting ---- */

static bool sort_oldest_first; /* qsort() has no place for it */

static int compare_uuid(const void *a, const void *b)
{
	const struct migration *x = a, *y = b;
	int order = strcmp(x->uuid, y->uuid);

	return order ? order : strcmp(x->shard, y->shard);
}

/* A row with the time of its migration: the earliest request of any shard. */
struct keyed {
	struct migration row;
	int64_t group_s;
};

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = x->group_s < y->group_s ? -1 : x->group_s > y->group_s;

	if (order)
		return sort_oldest_first ? order : -order;
	return compare_uuid(&x->row, &y->row);
}

void migrations_sort(struct migration *rows, size_t count, bool oldest_first)
{
	struct keyed *keyed = calloc(count + 1, sizeof *keyed);

	if (!keyed)
		abort();
	if (count)
		qsort(rows, count, sizeof *rows, compare_uuid);
	for (size_t i = 0, end; i < count; i = end) {
		int64_t first_s = rows[i].requested_at_s;

		for (end = i; end < count && !strcmp(rows[end].uuid, rows[i].uuid); end++)
			if (rows[end].requested_at_s < first_s)
				first_s = rows[end].requested_at_s;
		for (size_t at = i; at < end; at++)
			keyed[at] = (struct keyed){ rows[at], first_s };
	}
	sort_oldest_first = oldest_first;
	if (count)
		qsort(keyed, count, sizeof *keyed, compare_keyed);
	for (size_t i = 0; i < count; i++)
		rows[i] = keyed[i].row;
	free(keyed);
}

/* ---- Printing ---- */

static const char *yes(bool flag)
{
	return flag ? "yes" : "no";
}

static void print_row(const struct migration *row, int shard_width)
{
	char alias[ALIAS_TEXT_SIZE] = "-", eta[DURATION_TEXT_SIZE] = "-", copied[48] = "-";

	if (row->tablet.cell[0])
		tablet_alias_format(&row->tablet, alias);
	if (row->eta_s > 0)
		output_duration(row->eta_s * 1000, eta);
	if (!row->is_immediate_operation)
		snprintf(copied, sizeof copied, "%lld/%lld", (long long)row->rows_copied,
			 (long long)row->table_rows);
	fputs("  ", stdout);
	output_column(stdout, row->shard, shard_width);
	printf("  %-9s  %-4s  %-5s  %6.1f %%  %-23s  %-6s  ", migration_status_name(row->status),
	       yes(row->postpone_completion), yes(row->ready_to_complete), row->progress, copied, eta);
	output_column(stdout, alias, 16);
	if (row->message && row->message[0]) {
		fputs("  ", stdout);
		output_shown(stdout, row->message, MESSAGE_SHOWN);
	}
	fputc('\n', stdout);
}

void migrations_print(const struct migration *rows, size_t count)
{
	char when[CLOCK_TEXT_SIZE];
	int shard_width = 5;

	for (size_t i = 0; i < count; i++)
		if ((int)strlen(rows[i].shard) > shard_width)
			shard_width = (int)strlen(rows[i].shard);
	clock_format(rows[0].requested_at_s * 1000, when);
	output_shown(stdout, rows[0].uuid, UUID_LENGTH);
	fputs("  ", stdout);
	output_shown(stdout, rows[0].ddl_action ? rows[0].ddl_action : "", 16);
	fputc(' ', stdout);
	output_shown(stdout, rows[0].table ? rows[0].table : "", TABLE_MAX);
	printf("  requested %s\n  ", when);
	output_shown(stdout, rows[0].statement ? rows[0].statement : "", STATEMENT_SHOWN);
	fputs("\n  context ", stdout);
	output_shown(stdout, rows[0].context ? rows[0].context : "", CONTEXT_MAX);
	printf("\n  %-*s  %-9s  %-4s  %-5s  %8s  %-23s  %-6s  %-16s  %s\n", shard_width, "SHARD", "STATUS",
	       "HELD", "READY", "PROGRESS", "ROWS", "ETA", "TABLET", "MESSAGE");
	for (size_t i = 0; i < count; i++)
		print_row(&rows[i], shard_width);
}
