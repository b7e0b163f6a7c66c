#include "demo_fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "vtddl/clock.h"

#define MINUTE_MS 60000LL

static const char *const phases[] = { "submitting", "submitted", "completing", "completed", "verified",
				      "cancelling", "cancelled", "failed",     "stopped" };

/* The first ones are written by hand: one of each kind that a person meets. */
static const struct row {
	const char *keyspace, *table, *phase, *gate, *reason, *advice, *ddl;
	int rule;
	unsigned shards, ready, complete;
	double progress;
	int64_t age_min;
} rows[] = {
	{ "commerce", "orders", "submitted", "auto", "not every shard is ready; those that are stay held", "",
	  "alter table orders\n  add column gift_note varchar(255) null,\n  add index idx_customer_created (customer_id, created_at)",
	  299, 8, 5, 0, 61.4, 47 },
	{ "commerce", "customers", "submitted", "manual",
	  "every shard is held and ready; waiting for a person to release it",
	  "release it with: vtddl complete commerce 3f0a64c2_8d4e_8b1c_9a70_0000000000b1",
	  "alter table customers drop column fax", 229, 8, 8, 0, 100, 190 },
	{ "billing", "invoices", "completing", "auto", "released; waiting for every shard to cut over", "",
	  "alter table invoices modify column total decimal(14,2) not null", 399, 16, 0, 11, 100, 205 },
	{ "billing", "ledger", "stopped", "auto",
	  "a shard is past the hold although vtddl has not released it: somebody else completed it (a person, or a vtddl with another store)",
	  "shards 40-80 and 80-c0 have the new definition, the others do not. Look at each with: vtddl show billing; then take it up with: vtddl verify billing --take-up",
	  "alter table ledger add column currency char(3) not null default 'EUR'", 211, 4, 2, 1, 88, 1500 },
	{ "inventory", "stock", "failed", "auto",
	  "the migration failed on a shard; no other shard was released",
	  "shard c0-: Duplicate entry '42-7' for key 'uniq_sku_site'. Mend the rows, then: vtddl run inventory --sql '...' --again",
	  "alter table stock add unique key uniq_sku_site (sku, site)", 215, 4, 3, 0, 40, 300 },
	{ "commerce", "carts", "completed", "auto", "reading the definition on every primary", "",
	  "alter table carts add column expires_at datetime(6) null", 415, 8, 0, 8, 100, 96 },
	{ "search", "terms", "submitting", "auto", "a shard's primary has no row of this migration", "",
	  "create table terms (id bigint unsigned not null primary key, term varbinary(190) not null)", 193,
	  32, 0, 0, 0, 1 },
	{ "inventory", "sites", "cancelling", "auto", "a person asked to cancel", "",
	  "alter table sites drop index idx_old", 605, 4, 1, 0, 22, 33 },
};

static const char *const keyspaces[] = {
	"commerce", "billing", "inventory", "search", "identity", "messaging"
};

static const struct row hostile_row = {
	"<b>ks</b>",
	"<img src=x onerror=\"window.hacked=1\">",
	"submitted",
	"auto",
	"<script>window.hacked=1</script>\"'><svg onload=window.hacked=1> \xe2\x80\xae gnp.exe {{7*7}} ${7*7}",
	"javascript:window.hacked=1",
	"alter table `</pre><script>window.hacked=1</script>` add column `\" onmouseover=\"window.hacked=1` int",
	299,
	4,
	1,
	0,
	50,
	5
};

static void change_make(struct demo_change *change, const struct row *row, unsigned number, int64_t now_ms)
{
	memset(change, 0, sizeof(*change));
	snprintf(change->keyspace, sizeof(change->keyspace), "%s", row->keyspace);
	snprintf(change->table, sizeof(change->table), "%s", row->table);
	snprintf(change->uuid, sizeof(change->uuid), "3f0a64c2_8d4e_8b1c_9a70_%012x", number + 0xb0);
	change->phase = row->phase;
	change->gate = row->gate;
	change->reason = row->reason;
	change->advice = row->advice;
	change->ddl = row->ddl;
	change->rule = row->rule;
	change->cancel_asked = strcmp(row->phase, "cancelling") == 0;
	change->created_ms = now_ms - row->age_min * MINUTE_MS;
	change->updated_ms = now_ms - row->age_min * MINUTE_MS / 3;
	change->seen_ms = row->progress > 0 ? now_ms - 4000 : 0;
	change->speed = 0.4;
	change->shard_count = row->shards;
	for (unsigned i = 0; i < row->shards; i++) {
		struct demo_shard *shard = &change->shards[i];

		shard->complete = i < row->complete;
		shard->ready = !shard->complete && i < row->complete + row->ready;
		shard->failed = i == row->shards - 1 && strcmp(row->phase, "failed") == 0;
		shard->absent = strcmp(row->phase, "submitting") == 0 && i > 20;
		shard->progress = shard->ready || shard->complete ? 100 : row->progress + (i * 7) % 20;
		if (shard->progress > 99 && !shard->ready && !shard->complete)
			shard->progress = 99;
		if (i == row->shards - 1)
			shard->progress = row->progress;
	}
}

static struct row row_of(unsigned i, char table[32])
{
	static const char *const live[] = { "submitted",  "submitted",	"submitted",
					    "completing", "submitting", "failed" };
	struct row row = rows[0];

	snprintf(table, 32, "table_%05u", i);
	row.keyspace = keyspaces[i % (sizeof(keyspaces) / sizeof(keyspaces[0]))];
	row.table = table;
	row.phase = live[(i * 7) % 6];
	row.reason = strcmp(row.phase, "failed")
			     ? "not every shard is ready; those that are stay held"
			     : "the migration failed on a shard; no other shard was released";
	row.shards = 4;
	row.ready = i % 4;
	row.progress = (i * 37) % 100;
	row.age_min = 10 + (i * 13) % 2000;
	return row;
}

void fleet_make(struct demo_fleet *fleet, const struct demo_options *options)
{
	int64_t now_ms = clock_wall_ms();
	size_t known = sizeof(rows) / sizeof(rows[0]);

	fleet->options = *options;
	fleet->count = options->changes;
	fleet->changes = calloc(options->changes + 1, sizeof(*fleet->changes));
	for (unsigned i = 0; i < options->changes; i++) {
		char table[32];
		struct row row = i < known ? rows[i] : row_of(i, table);

		if (options->hostile && i == 0)
			row = hostile_row;
		change_make(&fleet->changes[i], &row, i, now_ms);
	}
}

void fleet_free(struct demo_fleet *fleet)
{
	free(fleet->changes);
}

struct demo_change *fleet_find(const struct demo_fleet *fleet, const char *uuid)
{
	for (size_t i = 0; i < fleet->count; i++)
		if (strcmp(fleet->changes[i].uuid, uuid) == 0)
			return &fleet->changes[i];
	return NULL;
}

void fleet_move(struct demo_change *change, const char *phase, const char *reason)
{
	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		if (strcmp(phase, phases[i]) == 0)
			change->phase = phases[i];
	change->reason = reason;
	change->updated_ms = change->seen_ms = clock_wall_ms();
}

static unsigned count_of(const struct demo_change *change, char what)
{
	unsigned count = 0;

	for (unsigned i = 0; i < change->shard_count; i++)
		count += what == 'r'   ? change->shards[i].ready
			 : what == 'c' ? change->shards[i].complete
				       : !change->shards[i].absent;
	return count;
}

static bool is(const struct demo_change *change, const char *phase)
{
	return strcmp(change->phase, phase) == 0;
}

/* One shard of a change that is released cuts over; one that copies goes on. */
static bool change_tick(struct demo_change *change)
{
	change->seen_ms = clock_wall_ms();
	for (unsigned i = 0; i < change->shard_count; i++) {
		struct demo_shard *shard = &change->shards[i];

		if (is(change, "completing") && !shard->complete) {
			shard->ready = false;
			shard->complete = true;
			shard->progress = 100;
			break;
		}
		if (!is(change, "submitted") || shard->ready || shard->complete)
			continue;
		shard->progress += change->speed * (1 + i % 3);
		shard->ready = shard->progress >= 100;
		shard->progress = shard->progress > 100 ? 100 : shard->progress;
	}
	if (is(change, "submitted") && count_of(change, 'r') == change->shard_count &&
	    strcmp(change->gate, "auto") == 0) {
		fleet_move(
			change, "completing",
			"every shard is held and ready, the gate is open, shards and primaries are as before");
		return true;
	}
	if (is(change, "completing") && count_of(change, 'c') == change->shard_count) {
		fleet_move(change, "completed", "every shard is complete");
		return true;
	}
	return false;
}

struct demo_change *fleet_tick(struct demo_fleet *fleet)
{
	struct demo_change *moved = NULL;

	for (size_t i = 0; i < fleet->count; i++)
		if ((is(&fleet->changes[i], "submitted") || is(&fleet->changes[i], "completing")) &&
		    change_tick(&fleet->changes[i]))
			moved = &fleet->changes[i];
	return moved;
}

/* ---- JSON ---- */

static json_t *when(int64_t ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (!ms)
		return json_null();
	clock_format(ms, text);
	return json_string(text);
}

static double slowest(const struct demo_change *change)
{
	double least = 100;

	for (unsigned i = 0; i < change->shard_count; i++)
		if (change->shards[i].progress < least)
			least = change->shards[i].progress;
	return least;
}

static json_t *eta(const struct demo_change *change, double progress)
{
	return is(change, "submitted") && progress < 100 ? json_integer((json_int_t)((100 - progress) * 9))
							 : json_null();
}

static bool leads(const char *keyspace)
{
	return strcmp(keyspace, "search") != 0 && strcmp(keyspace, "identity") != 0;
}

static json_t *change_json(const struct demo_change *change)
{
	json_t *object = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:i, s:b, s:s}", "keyspace", change->keyspace,
		"table", change->table, "uuid", change->uuid, "context", "ddl-commerce-5f2d9c0a7be1d344-g1",
		"phase", change->phase, "gate", change->gate, "cancel_asked", change->cancel_asked, "reason",
		change->reason, "rule", change->rule, "leader", leads(change->keyspace), "holder",
		leads(change->keyspace)		     ? "vtctld-0:4711:9f21"
		: strcmp(change->keyspace, "search") ? ""
						     : "vtctld-1:88:77ac");

	json_object_set_new(object, "created_at", when(change->created_ms));
	json_object_set_new(object, "updated_at", when(change->updated_ms));
	json_object_set_new(object, "deadline_at", when(change->created_ms + 360 * MINUTE_MS));
	json_object_set_new(object, "seen_at", when(change->seen_ms));
	json_object_set_new(object, "shards_expected", json_integer(change->shard_count));
	json_object_set_new(object, "shards_seen", json_integer(change->seen_ms ? count_of(change, 's') : 0));
	json_object_set_new(object, "shards_ready", json_integer(count_of(change, 'r')));
	json_object_set_new(object, "shards_complete", json_integer(count_of(change, 'c')));
	json_object_set_new(object, "progress", json_real(slowest(change)));
	json_object_set_new(object, "eta_seconds", eta(change, slowest(change)));
	return object;
}

static json_t *keyspaces_json(const struct demo_fleet *fleet)
{
	json_t *array = json_array();

	for (size_t k = 0; k < sizeof(keyspaces) / sizeof(keyspaces[0]); k++) {
		size_t count = 0;
		bool leader = leads(keyspaces[k]);

		for (size_t i = 0; i < fleet->count; i++)
			count += strcmp(fleet->changes[i].keyspace, keyspaces[k]) == 0;
		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:b, s:s, s:i, s:o, s:o, s:I}", "keyspace", keyspaces[k],
				  "server", "vtctld-0:15999", "leader", leader, "holder",
				  leader   ? "vtctld-0:4711:9f21"
				  : k == 3 ? "vtctld-1:88:77ac"
					   : "",
				  "epoch", 7, "lease_left_seconds", leader ? json_integer(24) : json_null(),
				  "observed_at",
				  k == 4 ? json_null() : when(clock_wall_ms() - (k == 3 ? 240000 : 3000)),
				  "changes", (json_int_t)count));
	}
	return array;
}

static bool matches(const struct demo_change *change, const char *phase, const char *q)
{
	if (phase && *phase && !is(change, phase))
		return false;
	return !q || !*q || strcasestr(change->keyspace, q) || strcasestr(change->table, q) ||
	       strcasestr(change->uuid, q) || strcasestr(change->reason, q);
}

json_t *fleet_list(const struct demo_fleet *fleet, size_t limit, size_t offset, const char *phase,
		   const char *q)
{
	json_t *totals = json_object(), *list = json_array(), *object;
	bool trouble = fleet->options.trouble;
	size_t found = 0;

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
		json_object_set_new(totals, phases[i], json_integer(0));
	for (size_t i = 0; i < fleet->count; i++) {
		const struct demo_change *change = &fleet->changes[i];
		json_int_t total = json_integer_value(json_object_get(totals, change->phase));

		json_object_set_new(totals, change->phase, json_integer(total + 1));
		if (matches(change, phase, q) && found++ >= offset && json_array_size(list) < limit)
			json_array_append_new(list, change_json(change));
	}
	object = json_pack("{s:i, s:s, s:s, s:o, s:s, s:s}", "schema_version", 1, "kind", "changes",
			   "cluster", "production", "now", when(clock_wall_ms()), "version", "0.2.0", "actor",
			   "vtddl@vtctld-0");
	json_object_set_new(object, "totals", totals);
	json_object_set_new(object, "keyspaces", keyspaces_json(fleet));
	json_object_set_new(object, "servers",
			    json_pack("[{s:s, s:b, s:n}, {s:s, s:b, s:o}]", "server", "vtctld-0:15999",
				      "answering", 1, "down_since", "server", "vtctld-1:15999", "answering",
				      !trouble, "down_since",
				      trouble ? when(clock_wall_ms() - 3 * MINUTE_MS) : json_null()));
	json_object_set_new(
		object, "store",
		json_pack("{s:s, s:s}", "url", "mysql://vtddl@store.internal/vtddl", "trouble",
			  trouble ? "the store cannot be written: the disk is full; free some space" : ""));
	json_object_set_new(object, "count", json_integer((json_int_t)found));
	json_object_set_new(object, "changes", list);
	return object;
}

static json_t *shards_json(const struct demo_change *change)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < change->shard_count; i++) {
		const struct demo_shard *shard = &change->shards[i];
		unsigned width = 256 / change->shard_count;
		char from[8] = "", to[8] = "", name[20];

		if (i)
			snprintf(from, sizeof(from), "%02x", i * width);
		if (i + 1 < change->shard_count)
			snprintf(to, sizeof(to), "%02x", (i + 1) * width);
		snprintf(name, sizeof(name), "%s-%s", from, to);
		json_array_append_new(
			array, json_pack("{s:s, s:s, s:b, s:b, s:b, s:f, s:o, s:b}", "shard", name, "status",
					 shard->failed	       ? "failed"
					 : shard->absent       ? "unknown"
					 : shard->complete     ? "complete"
					 : shard->progress > 0 ? "running"
							       : "queued",
					 "held", !shard->complete && !is(change, "completing"), "ready",
					 shard->ready, "absent", shard->absent, "progress", shard->progress,
					 "eta_seconds", eta(change, shard->progress), "definition_verified",
					 shard->complete && i % 2 == 0));
	}
	return array;
}

static json_t *history_json(const struct demo_change *change)
{
	json_t *array = json_array();
	const char *at[] = { NULL, "submitting", "submitted", "completing", "completed" };
	int64_t ms = change->created_ms;

	json_array_append_new(array, json_pack("{s:o, s:s, s:n, s:s, s:n, s:s, s:s}", "at", when(ms), "actor",
					       "deploy-bot@ci-runner-17", "from", "to", "submitting", "rule",
					       "reason", "asked for by a pipeline", "evidence",
					       "shards 8, primaries zone1-100, zone1-200, zone1-300"));
	for (size_t i = 1; i < sizeof(at) / sizeof(at[0]) && !is(change, at[i]); i++) {
		const char *to = i + 1 < sizeof(at) / sizeof(at[0]) &&
						 !strstr("failed stopped cancelling", change->phase)
					 ? at[i + 1]
					 : change->phase;

		ms += (change->updated_ms - change->created_ms) / 3;
		json_array_append_new(array,
				      json_pack("{s:o, s:s, s:s, s:s, s:i, s:s, s:s}", "at", when(ms),
						"actor", "vtddl@vtctld-0", "from", at[i], "to", to, "rule",
						change->rule, "reason", change->reason, "evidence", ""));
		if (to == change->phase)
			break;
	}
	return array;
}

json_t *fleet_change(const struct demo_fleet *fleet, const char *uuid)
{
	const struct demo_change *change = fleet_find(fleet, uuid);
	json_t *object;

	if (!change)
		return NULL;
	object = change_json(change);
	json_object_set_new(object, "generation", json_integer(1));
	json_object_set_new(object, "ddl", json_string(change->ddl));
	json_object_set_new(object, "strategy",
			    json_string("vitess --postpone-completion --singleton-context"));
	json_object_set_new(object, "created_by", json_string("deploy-bot@ci-runner-17"));
	json_object_set_new(object, "adopted", json_false());
	json_object_set_new(object, "advice", json_string(change->advice));
	return json_pack("{s:i, s:s, s:o, s:o, s:o}", "schema_version", 1, "kind", "change", "change", object,
			 "shards", shards_json(change), "history", history_json(change));
}

json_t *fleet_history(const struct demo_fleet *fleet, size_t limit)
{
	json_t *array = json_array();

	for (size_t i = 0; i < limit && i < 30 && fleet->count; i++) {
		char table[32], uuid[40];

		snprintf(table, sizeof(table), "done_%02zu", i);
		snprintf(uuid, sizeof(uuid), "aaaaaaaa_8d4e_8b1c_9a70_%012zx", i);
		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:s}", "keyspace", keyspaces[i % 6],
				  "table", table, "uuid", uuid, "phase",
				  i % 7 == 3 ? "cancelled" : "verified", "created_at",
				  when(clock_wall_ms() - (int64_t)(i + 3) * 200 * MINUTE_MS), "updated_at",
				  when(clock_wall_ms() - (int64_t)(i + 1) * 190 * MINUTE_MS), "created_by",
				  "deploy-bot@ci", "reason",
				  i % 7 == 3 ? "a person asked to cancel"
					     : "the intended definition is on every shard's primary"));
	}
	return json_pack("{s:i, s:s, s:o, s:o}", "schema_version", 1, "kind", "history", "now",
			 when(clock_wall_ms()), "changes", array);
}

json_t *fleet_event(const struct demo_change *change, const char *from)
{
	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:b}", "at", when(clock_wall_ms()),
			 "keyspace", change->keyspace, "uuid", change->uuid, "table", change->table, "from",
			 from, "phase", change->phase, "rule", change->rule, "epoch", 7, "reason",
			 change->reason, "warning", is(change, "failed") || is(change, "stopped"));
}
