#include "sim_private.h"

#include <unistd.h>

static const char *const one_keyspace[] = { "commerce" };

static void die(const struct error *error)
{
	fail_msg("store: %s", error->text);
}

void sim_open_store(struct sim *sim, struct store **ret)
{
	struct error error;

	if (sim->model)
		store_model_open(sim->model, false, ret);
	else if (store_open(&(struct store_config){ .url = sim->url }, ret, &error) != 0)
		die(&error);
}

static int64_t store_clock(void *user)
{
	return WALL_START_MS + ((struct sim *)user)->now_ms;
}

/* NULL: a handle of the test's own. */
static const struct controller *controller_of(const struct sim *sim, const struct store *store)
{
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].store == store)
			return &sim->controllers[i];
	return NULL;
}

static void on_write(void *user, struct store *store, const struct change *before, const struct change *after)
{
	check_write(user, controller_of(user, store), before ? before->phase : _PHASE_INVALID, before ? before->revision : 0, after);
}

static void on_lease(void *user, struct store *store, const char *scope, int result)
{
	struct sim *sim = user;
	const struct controller *controller = controller_of(sim, store);
	struct store_model_lease lease;

	if (result == 0 && controller)
		check_lease(controller, scope);
	if (result != 0 || strcmp(strchr(scope, '/') + 1, sim->config.keyspaces[0]) != 0 ||
	    !store_model_lease(sim->model, scope, &lease) || !lease.owner[0])
		return;
	if (strcmp(sim->taken_by, lease.owner) != 0)
		sim->taken_at_ms = sim->now_ms;
	snprintf(sim->taken_by, sizeof(sim->taken_by), "%s", lease.owner);
}

static void make_store(struct sim *sim)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	if (sim->config.shared_store) {
		/* the same name for the same run: it occurs in texts */
		snprintf(sim->url, sizeof(sim->url), "sim");
		for (unsigned i = 2; store_model_find(sim->url); i++)
			snprintf(sim->url, sizeof(sim->url), "sim-%u", i);
		sim->model = store_model_new(sim->url, store_clock, sim);
		store_model_observe(sim->model, &(struct store_model_watch){ on_write, on_lease, sim });
	} else {
		snprintf(sim->folder, sizeof(sim->folder), "%s/vtddl-sim-XXXXXX", base);
		assert_non_null(mkdtemp(sim->folder));
		snprintf(sim->url, sizeof(sim->url), "sqlite:%s/s.db", sim->folder);
	}
	if (!sim->config.open_store)
		sim_open_store(sim, &sim->store);
}

struct sim *sim_new(const struct sim_config *config)
{
	struct sim *sim = calloc(1, sizeof(*sim));

	assert_non_null(sim);
	sim->config = *config;
	if (!config->keyspaces) {
		sim->config.keyspaces = one_keyspace;
		sim->config.keyspace_count = 1;
	}
	assert_true(sim->config.keyspace_count <= SIM_KEYSPACES_MAX);
	for (size_t i = 0; i < sim->config.keyspace_count; i++) {
		sim->fleets[i] = fleet_new(&(struct fleet_config){
			.keyspace = sim->config.keyspaces[i], .shards = config->shards, .shard_count = config->shard_count,
			.schema = config->schema, .copy_ms = config->copy_ms, .seed = config->seed + i,
			.wall_ms = WALL_START_MS });
		fleet_set_journal(sim->fleets[i], check_journal, sim);
	}
	sim->fleet = sim->fleets[0];
	sim->controllers = calloc(SIM_CONTROLLERS_MAX, sizeof(*sim->controllers));
	assert_non_null(sim->controllers);
	sim->ready_at_ms = sim->complete_at_ms = sim->taken_at_ms = -1;
	sim->failed_over_at_ms = sim->store_clock_set_at_ms = -1;
	make_store(sim);
	return sim;
}

static void delete_files(struct sim *sim)
{
	static const char *const names[] = { "s.db", "s.db-journal", "s.db-lock", "s.db-wal", "s.db-shm" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", sim->folder, names[i]);
		unlink(path);
	}
}

void sim_free(struct sim *sim)
{
	for (size_t i = 0; i < sim->controller_count; i++)
		controller_free(&sim->controllers[i]);
	store_close(sim->store);
	store_model_free(sim->model);
	for (size_t i = 0; i < sim->config.keyspace_count; i++)
		fleet_free(sim->fleets[i]);
	if (!sim->model) {
		delete_files(sim);
		rmdir(sim->folder);
	}
	free(sim->controllers);
	free(sim->calls);
	free(sim->marks);
	free(sim->truth);
	free(sim);
}

void sim_lose_store(struct sim *sim)
{
	store_close(sim->store);
	if (sim->model)
		store_model_free(sim->model);
	else
		delete_files(sim);
	if (sim->model)
		make_store(sim);
	else
		sim_open_store(sim, &sim->store);
}

int64_t sim_wall_ms(const struct sim *sim)
{
	return WALL_START_MS + sim->now_ms;
}

void sim_set_store_clock(struct sim *sim, int64_t by_ms)
{
	sim->store_clock_set_at_ms = sim->now_ms;
	store_model_set_clock(sim->model, by_ms);
}

void sim_fail_over(struct sim *sim)
{
	store_model_fail_over(sim->model);
	check_forget(sim);
}

bool sim_load(struct sim *sim, struct arena *arena, struct change *ret)
{
	struct store_filter filter = { .cluster = "default", .keyspace = sim->config.keyspaces[0] };
	struct change *changes;
	struct error error;
	size_t count;

	if (store_list(sim->store, &filter, arena, &changes, &count, &error) < 0)
		die(&error);
	if (!count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (sim->uuid[0] == '\0' || strcmp(changes[i].uuid, sim->uuid) == 0)
			*ret = changes[i];
	return true;
}

struct fleet *sim_fleet(struct sim *sim, const char *keyspace)
{
	for (size_t i = 0; i < sim->config.keyspace_count; i++)
		if (strcmp(sim->config.keyspaces[i], keyspace) == 0)
			return sim->fleets[i];
	return NULL;
}

struct fleet *sim_fleet_of(struct sim *sim, const struct vtctld_request *request)
{
	struct fleet *fleet = request->keyspace ? sim_fleet(sim, request->keyspace) : NULL;

	return fleet ? fleet : sim->fleet;
}

/* ---- Who holds a keyspace. ---- */

static bool lease_of(struct sim *sim, const char *keyspace, struct store_model_lease *ret)
{
	char scope[SCOPE_MAX + 1];

	snprintf(scope, sizeof(scope), "default/%s", keyspace);
	return store_model_lease(sim->model, scope, ret) && ret->owner[0];
}

int64_t sim_lease_ends_ms(struct sim *sim, const char *keyspace)
{
	struct store_model_lease lease;

	if (!lease_of(sim, keyspace, &lease))
		return INT64_MIN;
	return sim->now_ms + lease.ends_ms - store_model_now(sim->model);
}

struct controller *sim_holder(struct sim *sim, const char *keyspace)
{
	struct store_model_lease lease;

	if (!lease_of(sim, keyspace, &lease) || lease.ends_ms <= store_model_now(sim->model))
		return NULL;
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim->controllers[i].state != CONTROLLER_DEAD && strcmp(sim->controllers[i].owner, lease.owner) == 0)
			return &sim->controllers[i];
	return NULL;
}

bool sim_effect_is_in_flight(const struct controller *controller)
{
	const struct sim *sim = controller->sim;

	for (size_t i = 0; i < sim->call_count; i++)
		if (sim->calls[i].controller == controller && sim->calls[i].is_effect)
			return true;
	return false;
}

/* ---- How often. ---- */

void sim_mark(struct controller *controller, enum sim_mark_kind kind)
{
	struct sim *sim = controller->sim;

	if (sim->mark_count == sim->mark_size) {
		sim->mark_size = sim->mark_size ? 2 * sim->mark_size : 256;
		sim->marks = reallocarray(sim->marks, sim->mark_size, sizeof(*sim->marks));
		assert_non_null(sim->marks);
	}
	sim->marks[sim->mark_count++] = (struct sim_mark){ sim->now_ms, kind, controller->index };
}

struct sim_rate sim_rate(struct sim *sim, unsigned kinds, int64_t from_ms, int64_t span_ms)
{
	struct sim_rate rate = { 0 };
	int64_t span = -1;
	unsigned here = 0;

	for (size_t i = 0; i < sim->mark_count; i++) {
		const struct sim_mark *mark = &sim->marks[i];

		if (!(kinds & 1u << mark->kind) || mark->at_ms < from_ms)
			continue;
		here = (mark->at_ms - from_ms) / span_ms == span ? here + 1 : 1;
		span = (mark->at_ms - from_ms) / span_ms;
		rate.count++;
		rate.peak = here > rate.peak ? here : rate.peak;
	}
	if (rate.count)
		rate.peak_to_mean = rate.peak * (double)(sim->now_ms - from_ms) / (double)(rate.count * span_ms);
	return rate;
}

unsigned sim_most_of(struct sim *sim, const struct controller *controller, unsigned kinds, int64_t from_ms,
		     int64_t span_ms)
{
	unsigned most = 0;

	for (size_t i = 0; i < sim->mark_count; i++) {
		unsigned here = 0;

		if (sim->marks[i].at_ms < from_ms)
			continue;
		for (size_t j = i; j < sim->mark_count && sim->marks[j].at_ms < sim->marks[i].at_ms + span_ms; j++)
			here += sim->marks[j].controller == controller->index && (kinds & 1u << sim->marks[j].kind);
		most = here > most ? here : most;
	}
	return most;
}

/* ---- Time. ---- */

static void take_replies(struct sim *sim, bool *ret_any)
{
	struct vtctld_reply reply;

	for (size_t f = 0; f < sim->config.keyspace_count; f++)
		while (fleet_take(sim->fleets[f], &reply)) {
			size_t i = 0;

			while (i < sim->call_count && sim->calls[i].tag != reply.tag)
				i++;
			if (i == sim->call_count)
				fail_msg("a reply to a call that was never made");
			*ret_any = true;
			look_is_answered(&sim->calls[i], &reply);
			reply.tag = sim->calls[i].engine_tag;
			controller_deliver(sim->calls[i].controller, &reply);
			sim->calls[i] = sim->calls[--sim->call_count];
		}
}

/* Everything that happens at this moment, one thing after the other. Return: whether there was anything. */
static bool turn(struct sim *sim)
{
	bool any = false;

	take_replies(sim, &any);
	for (size_t i = 0; i < sim->controller_count; i++)
		any |= controller_turn(&sim->controllers[i]);
	check_step(sim);
	if (sim->hook)
		sim->hook(sim, sim->hook_user);
	return any;
}

static int64_t next_ms(struct sim *sim)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < sim->config.keyspace_count; i++)
		if (fleet_next_ms(sim->fleets[i]) < next)
			next = fleet_next_ms(sim->fleets[i]);
	for (size_t i = 0; i < sim->controller_count; i++)
		if (controller_wake_ms(&sim->controllers[i]) < next)
			next = controller_wake_ms(&sim->controllers[i]);
	return next > sim->now_ms ? next : sim->now_ms;
}

static void advance_to(struct sim *sim, int64_t to_ms)
{
	sim->now_ms = to_ms;
	for (size_t i = 0; i < sim->config.keyspace_count; i++)
		fleet_advance(sim->fleets[i], to_ms);
	for (size_t i = 0; i < sim->controller_count; i++)
		controller_tell_time(&sim->controllers[i]);
}

bool sim_until(struct sim *sim, bool (*done)(struct sim *sim, void *user), void *user, int64_t limit_ms)
{
	unsigned still = 0; /* turns at one moment: an engine that spins is a bug, not a test that hangs */

	limit_ms += sim->now_ms;
	for (;;) {
		bool any = turn(sim);
		int64_t next;

		if (done && done(sim, user))
			return true;
		if (any) {
			if (++still > 100000)
				fail_msg("at %lld ms time stands still", (long long)sim->now_ms);
			continue;
		}
		next = next_ms(sim);
		still = next == sim->now_ms ? still + 1 : 0;
		if (still > 100000)
			fail_msg("at %lld ms a timer is due and does nothing", (long long)sim->now_ms);
		if (next > limit_ms) {
			advance_to(sim, limit_ms);
			return false;
		}
		advance_to(sim, next);
	}
}

void sim_pass(struct sim *sim, int64_t ms)
{
	sim_until(sim, NULL, NULL, ms);
}

bool sim_all_verified(struct sim *sim, void *user)
{
	struct store_filter filter = { .cluster = "default" };
	cleanup(arena_release) struct arena arena = { 0 };
	struct change *changes;
	struct error error;
	size_t count = 0, wanted = user ? *(const unsigned *)user : 1;

	if (store_list(sim->store, &filter, &arena, &changes, &count, &error) < 0)
		return false; /* it is down */
	for (size_t i = 0; i < count; i++)
		if (changes[i].phase != PHASE_VERIFIED)
			return false;
	return count >= wanted;
}

/* ---- One process. ---- */

static void note_controller(struct sim *sim, struct controller *controller)
{
	sim->verdict = controller->verdict;
	sim->ended = controller->ended;
	sim->error = controller->error;
	snprintf(sim->reason, sizeof(sim->reason), "%s", controller->reason);
}

static bool ended_or_dead(struct sim *sim, void *user)
{
	struct controller *controller = user;

	note_controller(sim, controller);
	return controller->ended || controller->state == CONTROLLER_DEAD;
}

static bool is_gone(struct sim *sim, void *user)
{
	(void)sim;
	return ((struct controller *)user)->state == CONTROLLER_DEAD;
}

void sim_run(struct sim *sim, const struct ask *ask, int64_t limit_ms)
{
	struct controller *controller = sim->controller_count ? &sim->controllers[0] : controller_new(sim);

	limit_ms += sim->now_ms;
	sim->timed_out = false;
	controller->ask = *ask;
	sim->again_was_asked |= ask->again;
	for (;;) {
		controller_start(controller);
		if (!sim_until(sim, ended_or_dead, controller, limit_ms - sim->now_ms)) {
			sim->timed_out = true;
			break;
		}
		if (controller->ended) {
			sim_until(sim, is_gone, controller, EXIT_MS); /* it gives the lease back */
			break;
		}
		if (sim->config.lose_store_at_crash)
			sim_lose_store(sim);
		advance_to(sim, sim->now_ms + 500); /* a pipeline takes a moment to run it again */
	}
	controller_exit(controller);
}

void sim_assert_done(struct sim *sim, const char *table, const char *fragment)
{
	if (sim->timed_out || sim->error.code || sim->verdict != VERDICT_DONE)
		fail_msg("not done: verdict %d, phase %s, %s", sim->verdict, phase_name(sim->phase), sim->reason);
	assert_string_equal(phase_name(sim->phase), "verified");
	for (size_t i = 0; i < fleet_shard_count(sim->fleet); i++) {
		const struct migration *row = fleet_row(sim->fleet, i, sim->uuid);
		const char *definition = fleet_definition(sim->fleet, i, table);

		assert_non_null(row);
		assert_int_equal(row->status, MIGRATION_COMPLETE);
		assert_int_equal(row->retries, 0);
		assert_int_equal(fleet_row_count(sim->fleet, i), 1);
		assert_int_equal(fleet_times_applied(sim->fleet, i, sim->uuid), 1);
		assert_non_null(definition);
		assert_non_null(strstr(definition, fragment));
	}
}
