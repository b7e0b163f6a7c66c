#include "store_model.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_model_private.h"
#include "vtddl/clock.h"

static const char scheme[] = "model:";
static struct store_model *models;

static int64_t machine_clock(void *user)
{
	(void)user;
	return clock_monotonic_ms();
}

struct store_model *store_model_new(const char *name, int64_t (*now_ms)(void *user), void *user)
{
	struct store_model *model = calloc(1, sizeof(*model));

	if (!model)
		abort();
	snprintf(model->name, sizeof(model->name), "%s", name);
	model->clock = now_ms ? now_ms : machine_clock;
	model->clock_user = user;
	model->next = models;
	models = model;
	return model;
}

struct store_model *store_model_free(struct store_model *model)
{
	struct store_model **at = &models;

	if (!model)
		return NULL;
	while (*at != model)
		at = &(*at)->next;
	*at = model->next;
	model_data_free(&model->data);
	model_data_free(&model->snapshot);
	tdestroy(model->texts, free);
	free(model);
	return NULL;
}

struct store_model *store_model_find(const char *name)
{
	for (struct store_model *model = models; model; model = model->next)
		if (strcmp(model->name, name) == 0)
			return model;
	return NULL;
}

struct store_model *store_model_of_url(const char *url)
{
	return strncmp(url, scheme, sizeof(scheme) - 1) == 0 ? store_model_find(url + sizeof(scheme) - 1) : NULL;
}

void store_model_set(struct store_model *model, enum store_model_state state)
{
	model->state = state;
}

void store_model_snapshot(struct store_model *model)
{
	model_data_free(&model->snapshot);
	model_data_copy(&model->data, &model->snapshot);
}

void store_model_fail_over(struct store_model *model)
{
	model_data_free(&model->data);
	model_data_copy(&model->snapshot, &model->data);
}

void store_model_set_clock(struct store_model *model, int64_t by_ms)
{
	model->clock_offset_ms += by_ms;
}

int64_t store_model_now(const struct store_model *model)
{
	return model->clock(model->clock_user) + model->clock_offset_ms;
}

void store_model_expire(struct store_model *model, const char *scope)
{
	struct model_lock *lock = model_lock_find(&model->data, scope);

	if (lock)
		lock->lease.ends_ms = store_model_now(model) - 1;
}

bool store_model_lease(const struct store_model *model, const char *scope, struct store_model_lease *ret)
{
	const struct model_lock *lock = model_lock_find(&model->data, scope);

	if (lock)
		*ret = lock->lease;
	return lock;
}

const struct change *store_model_change(const struct store_model *model, const char *cluster,
					const char *uuid)
{
	const struct model_record *record = model_find(&model->data, cluster, uuid);

	return record ? &record->change : NULL;
}

enum phase store_model_moved_from(const struct store_model *model, const char *cluster, const char *uuid)
{
	const struct model_record *record = model_find(&model->data, cluster, uuid);

	return record && record->history_count ? record->history[record->history_count - 1].from : _PHASE_INVALID;
}

void store_model_observe(struct store_model *model, const struct store_model_watch *watch)
{
	model->watch = *watch;
}

/* ---- A handle, and what stands in the way of a call. ---- */

static struct model_handle *handle_of(struct store *store)
{
	return (struct model_handle *)store;
}

void store_model_open(struct store_model *model, bool read_only, struct store **ret)
{
	struct model_handle *handle = calloc(1, sizeof(*handle));

	if (!handle || asprintf(&handle->base.url, "model:%s", model->name) < 0)
		abort();
	handle->base.ops = &store_model_ops;
	handle->model = model;
	handle->read_only = read_only;
	*ret = &handle->base;
}

static void model_close(struct store *store)
{
	free(handle_of(store)->known);
	free(store);
}

int store_model_open_url(const struct store_config *config, struct store **ret, struct error *reterr)
{
	struct store_model *model = store_model_of_url(config->url);

	if (strncmp(config->url, scheme, sizeof(scheme) - 1) != 0)
		return error_set(reterr, ERROR_CONFIG, "'%s' is no store model; use model:NAME", config->url);
	if (!model && config->read_only)
		return STORE_NOT_FOUND;
	if (!model)
		model = store_model_new(config->url + sizeof(scheme) - 1, NULL, NULL);
	store_model_open(model, config->read_only, ret);
	return 0;
}

void store_model_fail(struct store *store, unsigned nth, unsigned times, enum store_model_when when)
{
	struct model_handle *handle = handle_of(store);

	handle->fail_in = nth;
	handle->fail_times = times;
	handle->fail_when = when;
}

unsigned store_model_failed(const struct store_model *model, enum store_model_when when)
{
	return model->failed[when];
}

enum passage { PASS, FAIL_BEFORE, FAIL_AFTER };

static enum passage enter(struct model_handle *handle, bool writes)
{
	enum store_model_state state = handle->model->state;

	if (state == STORE_MODEL_DOWN || (writes && (state == STORE_MODEL_READ_ONLY || handle->read_only)))
		return FAIL_BEFORE;
	if (handle->fail_in == 0 || --handle->fail_in > 0)
		return PASS;
	if (--handle->fail_times > 0)
		handle->fail_in = 1;
	handle->model->failed[handle->fail_when]++;
	return handle->fail_when == STORE_MODEL_BEFORE ? FAIL_BEFORE : FAIL_AFTER;
}

static int refuse(struct model_handle *handle, struct error *reterr)
{
	if (handle->read_only || handle->model->state == STORE_MODEL_READ_ONLY)
		return error_set_detail(reterr, ERROR_STORE, 1290,
					"The store %s takes no writes; look for its primary, then run this again",
					handle->base.url);
	return error_set_detail(reterr, ERROR_STORE, 2013,
				"The store %s was lost during a call; look at its server, then run this again",
				handle->base.url);
}

static int too_much(const struct model_handle *handle, struct error *reterr)
{
	return error_set(reterr, ERROR_STORE, "The store %s has more than may be read at once; ask for less",
			 handle->base.url);
}

/* ---- Calls. ---- */

static struct model_known *known(struct model_handle *handle, const char *scope);

static const char *owner_of(struct model_handle *handle, const struct change *change)
{
	char scope[SCOPE_MAX + 1];

	snprintf(scope, sizeof(scope), "%s/%s", change->cluster, change->keyspace);
	return known(handle, scope)->owner;
}

static void model_write_all(struct store *store, struct store_write *writes, size_t count)
{
	struct model_handle *handle = handle_of(store);
	struct store_model *model = handle->model;
	enum passage passage = enter(handle, true);

	for (size_t i = 0; i < count; i++) {
		struct store_write write = writes[i];
		struct change change = *write.change, before;

		write.change = &change; /* who is not told learns no new revision */
		writes[i].result = passage == FAIL_BEFORE ? refuse(handle, &writes[i].error) :
							    model_write(model, &write, owner_of(handle, &change), &before);
		if (passage != FAIL_BEFORE && writes[i].result == 0 && model->watch.on_write)
			model->watch.on_write(model->watch.user, store, write.expect ? &before : NULL,
					      store_model_change(model, change.cluster, change.uuid));
		if (passage == FAIL_AFTER)
			writes[i].result = refuse(handle, &writes[i].error);
		else if (passage == PASS)
			*writes[i].change = change;
	}
}

static bool matches(const struct model_record *record, const struct store_filter *filter)
{
	const struct change *change = &record->change;
	const char *name = filter->uuid_or_context;

	return strcmp(change->cluster, filter->cluster) == 0 &&
	       (!filter->keyspace || strcmp(change->keyspace, filter->keyspace) == 0) &&
	       (!filter->ddl_sha256 || strcmp(change->ddl_sha256, filter->ddl_sha256) == 0) &&
	       (!filter->table || strcmp(change->table, filter->table) == 0) &&
	       (!name || strcmp(change->uuid, name) == 0 || strcmp(change->context, name) == 0) &&
	       (!filter->live_only || record->holds_table);
}

static int model_list(struct store *store, const struct store_filter *filter, struct arena *arena,
		      struct change **ret, size_t *ret_count, struct error *reterr)
{
	struct model_handle *handle = handle_of(store);
	const struct model_data *data = &handle->model->data;
	size_t count = 0, matching = 0;

	if (enter(handle, false) != PASS)
		return refuse(handle, reterr);
	for (size_t i = 0; i < data->record_count; i++)
		matching += matches(data->records[i], filter);
	if (filter->limit && matching > filter->limit)
		matching = filter->limit;
	*ret = arena_array(arena, matching + 1, sizeof(**ret));
	for (size_t i = data->record_count; *ret && i-- > 0 && count < matching;)
		if (matches(data->records[i], filter) &&
		    !model_change_out(arena, &data->records[i]->change, &(*ret)[count++]))
			return too_much(handle, reterr);
	if (!*ret)
		return too_much(handle, reterr);
	*ret_count = count;
	return 0;
}

static int model_history(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
			 struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	struct model_handle *handle = handle_of(store);
	const struct model_record *record;

	if (enter(handle, false) != PASS)
		return refuse(handle, reterr);
	record = model_find(&handle->model->data, cluster, uuid);
	if (!record)
		return 0;
	*ret = arena_array(arena, record->history_count, sizeof(**ret));
	if (!*ret)
		return too_much(handle, reterr);
	/* the texts live as long as the database */
	memcpy(*ret, record->history, record->history_count * sizeof(**ret));
	*ret_count = record->history_count;
	return 0;
}

/* ---- Live. ---- */

static int compare_live(const void *a, const void *b)
{
	const struct live_change *x = a, *y = b;
	int order = strcmp(x->keyspace, y->keyspace);

	return order ? order : strcmp(x->uuid, y->uuid);
}

static struct live_change live_of(const struct model_record *record)
{
	const struct change *change = &record->change;

	return (struct live_change){
		.keyspace = change->keyspace, .table = change->table, .uuid = change->uuid, .reason = change->reason,
		.phase = change->phase, .gate = change->gate, .cancel_asked = change->cancel_asked,
		.holds_table = record->holds_table, .rule = change->rule, .shard_count = (uint32_t)change->shard_count,
		.epoch = change->epoch, .revision = change->revision, .created_at_ms = change->created_at_ms,
		.updated_at_ms = change->updated_at_ms, .deadline_at_ms = change->deadline_at_ms,
	};
}

static bool live_out(struct arena *arena, struct live_change *change)
{
	const char **texts[] = { &change->keyspace, &change->table, &change->uuid, &change->reason };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i] = arena_strdup(arena, *texts[i]);
		if (!*texts[i])
			return false;
	}
	return true;
}

/* Those of the keyspaces of the changes, which are sorted. */
static bool leases_out(const struct store_model *model, const char *cluster, struct arena *arena, struct live *ret)
{
	ret->leases = arena_array(arena, ret->change_count + 1, sizeof(*ret->leases));
	for (size_t i = 0; ret->leases && i < ret->change_count; i++) {
		const char *keyspace = ret->changes[i].keyspace;
		struct store_model_lease lease;
		char scope[SCOPE_MAX + 1];

		if (i > 0 && strcmp(ret->changes[i - 1].keyspace, keyspace) == 0)
			continue;
		snprintf(scope, sizeof(scope), "%s/%s", cluster, keyspace);
		if (!store_model_lease(model, scope, &lease))
			continue;
		ret->leases[ret->lease_count] = (struct lease_row){
			.keyspace = keyspace, .holder = arena_strdup(arena, lease.owner), .epoch = lease.epoch,
			.left_ms = lease.owner[0] ? lease.ends_ms - store_model_now(model) : 0,
		};
		if (!ret->leases[ret->lease_count++].holder)
			return false;
	}
	return ret->leases;
}

static int model_live(struct store *store, const char *cluster, int64_t cancelled_since_ms, struct arena *arena,
		      struct live *ret, struct error *reterr)
{
	struct model_handle *handle = handle_of(store);
	const struct model_data *data = &handle->model->data;
	struct live live = { 0 };

	if (enter(handle, false) != PASS)
		return refuse(handle, reterr);
	live.changes = arena_array(arena, data->record_count + 1, sizeof(*live.changes));
	for (size_t i = 0; live.changes && i < data->record_count; i++) {
		const struct model_record *record = data->records[i];
		bool on_watch = record->change.phase == PHASE_CANCELLED &&
				record->change.updated_at_ms >= cancelled_since_ms;

		if (strcmp(record->change.cluster, cluster) != 0 || (!record->holds_table && !on_watch))
			continue;
		live.changes[live.change_count] = live_of(record);
		if (!live_out(arena, &live.changes[live.change_count++]))
			return too_much(handle, reterr);
	}
	if (!live.changes)
		return too_much(handle, reterr);
	qsort(live.changes, live.change_count, sizeof(*live.changes), compare_live);
	if (!leases_out(handle->model, cluster, arena, &live))
		return too_much(handle, reterr);
	*ret = live;
	return 0;
}

/* ---- Leases. ---- */

static struct model_known *known(struct model_handle *handle, const char *scope)
{
	for (size_t i = 0; i < handle->known_count; i++)
		if (strcmp(handle->known[i].scope, scope) == 0)
			return &handle->known[i];
	handle->known = reallocarray(handle->known, handle->known_count + 1, sizeof(*handle->known));
	if (!handle->known)
		abort();
	snprintf(handle->known[handle->known_count].scope, SCOPE_MAX + 1, "%s", scope);
	handle->known[handle->known_count].epoch = 0;
	handle->known[handle->known_count].owner[0] = '\0';
	return &handle->known[handle->known_count++];
}

static int take(struct model_handle *handle, const char *scope, const char *owner, int64_t for_ms, struct lease *ret)
{
	struct model_data *data = &handle->model->data;
	struct model_lock *lock = model_lock_find(data, scope);
	struct model_known *mine = known(handle, scope);
	int64_t now_ms = store_model_now(handle->model);
	bool ours;

	if (!lock)
		lock = model_lock_add(data, scope);
	ours = strcmp(lock->lease.owner, owner) == 0;
	mine->owner[0] = '\0';
	if (!ours && lock->lease.owner[0] && lock->lease.ends_ms > now_ms) {
		*ret = (struct lease){ .epoch = lock->lease.epoch, .left_ms = lock->lease.ends_ms - now_ms };
		snprintf(ret->holder, sizeof(ret->holder), "%s", lock->lease.owner);
		return STORE_HELD;
	}
	if (!ours || lock->lease.epoch < mine->epoch) /* the row of an older replica */
		lock->lease.epoch = (lock->lease.epoch > mine->epoch ? lock->lease.epoch : mine->epoch) + 1;
	snprintf(lock->lease.owner, sizeof(lock->lease.owner), "%s", owner);
	lock->lease.ends_ms = now_ms + for_ms;
	mine->epoch = lock->lease.epoch;
	snprintf(mine->owner, sizeof(mine->owner), "%s", owner);
	*ret = (struct lease){ .epoch = lock->lease.epoch, .left_ms = for_ms };
	snprintf(ret->holder, sizeof(ret->holder), "%s", owner);
	return 0;
}

static void tell_lease(struct model_handle *handle, const char *scope, int result)
{
	const struct store_model_watch *watch = &handle->model->watch;

	if (watch->on_lease)
		watch->on_lease(watch->user, &handle->base, scope, result);
}

static int model_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
		       struct error *reterr)
{
	struct model_handle *handle = handle_of(store);
	enum passage passage = enter(handle, true);
	struct lease lease;
	int result;

	if (passage == FAIL_BEFORE) {
		tell_lease(handle, scope, -1);
		return refuse(handle, reterr);
	}
	result = take(handle, scope, owner, for_ms, &lease);
	tell_lease(handle, scope, result);
	if (passage == FAIL_AFTER)
		return refuse(handle, reterr);
	*ret = lease;
	return result;
}

static void model_release(struct store *store, const char *scope, const char *owner)
{
	struct model_handle *handle = handle_of(store);
	struct model_lock *lock;

	if (enter(handle, true) == FAIL_BEFORE)
		return;
	lock = model_lock_find(&handle->model->data, scope);
	if (!lock || strcmp(lock->lease.owner, owner) != 0)
		return;
	lock->lease.owner[0] = '\0';
	lock->lease.ends_ms = 0;
	tell_lease(handle, scope, 0);
}

static int model_check(struct store *store, char *ret, struct error *reterr)
{
	struct model_handle *handle = handle_of(store);

	if (enter(handle, false) != PASS)
		return refuse(handle, reterr);
	snprintf(ret, REASON_MAX, "The store %s is whole: %zu changes, in memory", store->url,
		 handle->model->data.record_count);
	return 0;
}

const struct store_ops store_model_ops = {
	.scheme = "model",
	.write = model_write_all,
	.list = model_list,
	.history = model_history,
	.live = model_live,
	.lease = model_lease,
	.release = model_release,
	.check = model_check,
	.close = model_close,
};
