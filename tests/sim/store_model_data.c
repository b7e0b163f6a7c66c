#include "store_model_private.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *memory, size_t count, size_t size)
{
	void *more = reallocarray(memory, count, size);

	if (!more)
		abort();
	return more;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* One copy of each text for the whole life of the database. */
const char *model_text(struct store_model *model, const char *text)
{
	void *found;

	if (!text)
		return NULL;
	found = tfind(text, &model->texts, compare_texts);
	if (!found) {
		char *copy = strdup(text);

		if (!copy)
			abort();
		found = tsearch(copy, &model->texts, compare_texts);
	}
	return *(const char **)found;
}

/* ---- Records and leases. ---- */

struct model_record *model_find(const struct model_data *data, const char *cluster, const char *uuid)
{
	for (size_t i = 0; i < data->record_count; i++) {
		const struct change *change = &data->records[i]->change;

		if (strcmp(change->uuid, uuid) == 0 && strcmp(change->cluster, cluster) == 0)
			return data->records[i];
	}
	return NULL;
}

struct model_lock *model_lock_find(const struct model_data *data, const char *scope)
{
	for (size_t i = 0; i < data->lock_count; i++)
		if (strcmp(data->locks[i].scope, scope) == 0)
			return &data->locks[i];
	return NULL;
}

struct model_lock *model_lock_add(struct model_data *data, const char *scope)
{
	struct model_lock *lock;

	data->locks = grown(data->locks, data->lock_count + 1, sizeof(*data->locks));
	lock = &data->locks[data->lock_count++];
	*lock = (struct model_lock){ 0 };
	snprintf(lock->scope, sizeof(lock->scope), "%s", scope);
	return lock;
}

static struct change_shard *shards_copy(const struct change *change)
{
	struct change_shard *shards = grown(NULL, change->shard_count + 1, sizeof(*shards));

	if (change->shard_count)
		memcpy(shards, change->shards, change->shard_count * sizeof(*shards));
	return shards;
}

static void record_free(struct model_record *record)
{
	free(record->change.shards);
	free(record->history);
	free(record);
}

void model_data_free(struct model_data *data)
{
	for (size_t i = 0; i < data->record_count; i++)
		record_free(data->records[i]);
	free(data->records);
	free(data->locks);
	*data = (struct model_data){ 0 };
}

void model_data_copy(const struct model_data *from, struct model_data *ret)
{
	*ret = *from;
	ret->record_size = from->record_count;
	ret->records = grown(NULL, from->record_count + 1, sizeof(struct model_record *));
	for (size_t i = 0; i < from->record_count; i++) {
		struct model_record *record = grown(NULL, 1, sizeof(*record));

		*record = *from->records[i];
		record->change.shards = shards_copy(&record->change);
		record->history = grown(NULL, record->history_count + 1, sizeof(*record->history));
		memcpy(record->history, from->records[i]->history, record->history_count * sizeof(*record->history));
		ret->records[i] = record;
	}
	ret->locks = grown(NULL, from->lock_count + 1, sizeof(*ret->locks));
	if (from->lock_count)
		memcpy(ret->locks, from->locks, from->lock_count * sizeof(*ret->locks));
}

/* ---- Writes. ---- */

static void history_add(struct store_model *model, struct model_record *record, const struct history_entry *entry)
{
	struct history_entry *line;

	record->history = grown(record->history, record->history_count + 1, sizeof(*record->history));
	line = &record->history[record->history_count++];
	*line = *entry;
	line->actor = model_text(model, entry->actor ? entry->actor : "");
	line->reason = model_text(model, entry->reason ? entry->reason : "");
	line->evidence = model_text(model, entry->evidence ? entry->evidence : "");
}

static void shards_set(struct store_model *model, struct change *change)
{
	change->shards = shards_copy(change);
	for (size_t i = 0; i < change->shard_count; i++) {
		struct change_shard *shard = &change->shards[i];

		shard->definition_before = model_text(model, shard->definition_before);
		shard->definition_after = model_text(model, shard->definition_after);
	}
}

static bool same_table(const struct change *a, const struct change *b)
{
	return strcmp(a->cluster, b->cluster) == 0 && strcmp(a->keyspace, b->keyspace) == 0 &&
	       strcmp(a->table, b->table) == 0;
}

static struct model_record *table_holder(const struct model_data *data, const struct change *change)
{
	for (size_t i = 0; i < data->record_count; i++)
		if (data->records[i]->holds_table && same_table(&data->records[i]->change, change))
			return data->records[i];
	return NULL;
}

static bool name_exists(const struct model_data *data, const struct change *change)
{
	for (size_t i = 0; i < data->record_count; i++) {
		const struct change *other = &data->records[i]->change;

		if (strcmp(other->cluster, change->cluster) == 0 &&
		    (strcmp(other->uuid, change->uuid) == 0 || strcmp(other->context, change->context) == 0))
			return true;
	}
	return false;
}

static int64_t lock_epoch(const struct model_data *data, const struct change *change)
{
	char scope[SCOPE_MAX + 1];
	const struct model_lock *lock;

	snprintf(scope, sizeof(scope), "%s/%s", change->cluster, change->keyspace);
	lock = model_lock_find(data, scope);
	return lock ? lock->lease.epoch : -1;
}

/* An earlier generation that ended badly gives its table to the new one. */
static bool may_replace(const struct model_record *former, const struct change *change)
{
	return strcmp(former->change.ddl_sha256, change->ddl_sha256) == 0 &&
	       former->change.generation < change->generation &&
	       (former->change.phase == PHASE_FAILED || former->change.phase == PHASE_STOPPED);
}

static void replace(struct store_model *model, struct model_record *former, const struct store_write *write)
{
	struct history_entry entry = { .at_ms = write->change->created_at_ms, .actor = write->actor,
				       .from = former->change.phase, .to = former->change.phase };
	char reason[128];

	snprintf(reason, sizeof(reason), "generation %u of the same statement replaces it", write->change->generation);
	entry.reason = reason;
	former->holds_table = false;
	former->change.revision++;
	former->change.updated_at_ms = write->change->created_at_ms;
	history_add(model, former, &entry);
}

static int insert(struct store_model *model, const struct store_write *write)
{
	struct model_data *data = &model->data;
	struct change *change = write->change;
	struct model_record *former = table_holder(data, change), *record;
	struct history_entry entry = { .at_ms = change->created_at_ms, .actor = write->actor, .from = _PHASE_INVALID,
				       .to = change->phase, .rule = change->rule, .reason = change->reason,
				       .evidence = write->evidence };

	if (name_exists(data, change) || lock_epoch(data, change) != change->epoch)
		return STORE_CONFLICT;
	if (former && phase_is_live(change->phase) && !may_replace(former, change))
		return STORE_TABLE_BUSY;
	if (former && may_replace(former, change))
		replace(model, former, write);
	record = grown(NULL, 1, sizeof(*record));
	*record = (struct model_record){ .change = *change, .holds_table = phase_is_live(change->phase) };
	record->change.revision = 1;
	record->change.ddl = model_text(model, change->ddl);
	record->change.strategy = model_text(model, change->strategy);
	shards_set(model, &record->change);
	history_add(model, record, &entry);
	if (data->record_count == data->record_size) {
		data->record_size = data->record_size ? 2 * data->record_size : 16;
		data->records = grown(data->records, data->record_size, sizeof(struct model_record *));
	}
	data->records[data->record_count++] = record;
	change->revision = 1;
	return 0;
}

static struct model_record *expected(struct store_model *model, const struct store_write *write)
{
	const struct change *change = write->change;
	const struct store_expect *expect = write->expect;
	struct model_record *record = model_find(&model->data, change->cluster, change->uuid);

	if (!record || strcmp(record->change.context, change->context) != 0 ||
	    strcmp(record->change.ddl_sha256, change->ddl_sha256) != 0 || record->change.phase != expect->phase ||
	    record->change.revision != expect->revision || record->change.epoch > expect->epoch ||
	    lock_epoch(&model->data, &record->change) != expect->epoch)
		return NULL;
	return record;
}

/* R3: our lease lasts at least so long from now; what it has beyond that stays. */
static void extend_lease(struct store_model *model, const struct change *change, int64_t lease_ms)
{
	char scope[SCOPE_MAX + 1];
	struct model_lock *lock;
	int64_t ends_ms = store_model_now(model) + lease_ms;

	snprintf(scope, sizeof(scope), "%s/%s", change->cluster, change->keyspace);
	lock = model_lock_find(&model->data, scope);
	if (lease_ms > 0 && lock->lease.owner[0] && lock->lease.ends_ms < ends_ms)
		lock->lease.ends_ms = ends_ms;
}

/* What an update may write; the names, the statement and the strategy stay. */
static void take_over(struct store_model *model, struct model_record *record, const struct store_write *write)
{
	struct change *to = &record->change, from = *write->change;

	from.ddl = to->ddl;
	from.strategy = to->strategy;
	from.generation = to->generation;
	from.created_at_ms = to->created_at_ms;
	memcpy(from.created_by, to->created_by, sizeof(from.created_by));
	memcpy(from.keyspace, to->keyspace, sizeof(from.keyspace));
	memcpy(from.table, to->table, sizeof(from.table));
	from.epoch = write->expect->epoch;
	from.revision = write->expect->revision + 1;
	free(to->shards);
	*to = from;
	shards_set(model, to);
}

/* R3: a write that announces an effect is made by the holder. */
static bool is_holders(const struct model_data *data, const struct change *change, const char *owner)
{
	char scope[SCOPE_MAX + 1];
	const struct model_lock *lock;

	snprintf(scope, sizeof(scope), "%s/%s", change->cluster, change->keyspace);
	lock = model_lock_find(data, scope);
	return lock && owner[0] && strcmp(lock->lease.owner, owner) == 0;
}

static int update(struct store_model *model, const struct store_write *write, const char *owner, struct change *ret_before)
{
	struct model_record *record = expected(model, write), *holder;
	bool holds;

	if (!record || (write->expect->lease_ms > 0 && !is_holders(&model->data, &record->change, owner)))
		return STORE_CONFLICT;
	holds = phase_is_live(write->change->phase) &&
		(record->change.phase == write->change->phase ? record->holds_table : true);
	holder = table_holder(&model->data, &record->change);
	if (holds && holder && holder != record)
		return STORE_TABLE_BUSY;
	*ret_before = record->change;
	ret_before->shards = NULL;
	take_over(model, record, write);
	record->holds_table = holds;
	if (write->entry)
		history_add(model, record, write->entry);
	extend_lease(model, &record->change, write->expect->lease_ms);
	write->change->epoch = record->change.epoch;
	write->change->revision = record->change.revision;
	return 0;
}

int model_write(struct store_model *model, const struct store_write *write, const char *owner, struct change *ret_before)
{
	return write->expect ? update(model, write, owner, ret_before) : insert(model, write);
}

/* ---- Reads. ---- */

static bool text_out(struct arena *arena, const char **text)
{
	const char *copy = arena_strdup(arena, *text);
	bool fits = copy || !*text;

	*text = copy;
	return fits;
}

bool model_change_out(struct arena *arena, const struct change *from, struct change *ret)
{
	bool fits;

	*ret = *from;
	ret->shards = arena_array(arena, from->shard_count + 1, sizeof(*ret->shards));
	fits = ret->shards && text_out(arena, &ret->ddl) && text_out(arena, &ret->strategy);
	for (size_t i = 0; fits && i < from->shard_count; i++) {
		ret->shards[i] = from->shards[i];
		fits = text_out(arena, &ret->shards[i].definition_before) &&
		       text_out(arena, &ret->shards[i].definition_after);
	}
	return fits;
}
