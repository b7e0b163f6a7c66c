#include "sim_disk.h"

#include "sim_private.h"
#include "sqlite.h"

#define CHANGES_MAX 4

/* What a process was told that is written, or what was found to be. */
struct noted {
	char uuid[UUID_LENGTH + 1];
	enum phase phase;
	int64_t revision;
};

static struct {
	struct noted noted[CHANGES_MAX];
	size_t noted_count;
	bool is_unsure; /* a write failed, or its process died: the store may have more than was told */
	unsigned lives;
	void (*on_death)(struct sim *sim, void *user);
	sim_boundary_fn *on_boundary;
	void *death_user, *boundary_user;
} world;

static struct noted *noted_of(const char *uuid)
{
	for (size_t i = 0; i < world.noted_count; i++)
		if (strcmp(world.noted[i].uuid, uuid) == 0)
			return &world.noted[i];
	assert_true(world.noted_count < CHANGES_MAX);
	world.noted[world.noted_count] = (struct noted){ .phase = _PHASE_INVALID };
	snprintf(world.noted[world.noted_count].uuid, UUID_LENGTH + 1, "%s", uuid);
	return &world.noted[world.noted_count++];
}

static void note(const struct change *change)
{
	struct noted *noted = noted_of(change->uuid);

	noted->phase = change->phase;
	noted->revision = change->revision;
}

/* What is in the store and was not told is checked as a write, what was told must be there. */
static void look_at_store(struct sim *sim)
{
	struct store_filter filter = { .cluster = "default" };
	cleanup(arena_release) struct arena arena = { 0 };
	struct change *changes;
	struct error error;
	size_t count = 0;

	if (store_list(sim->store, &filter, &arena, &changes, &count, &error) < 0)
		fail_msg("the store cannot be read by another: %s", error.text);
	for (size_t i = 0; i < count; i++) {
		struct noted *noted = noted_of(changes[i].uuid);

		if (changes[i].revision < noted->revision)
			fail_msg("I2: revision %lld of %s was told, and the store has %lld", (long long)noted->revision,
				 noted->uuid, (long long)changes[i].revision);
		if (changes[i].revision == noted->revision)
			continue;
		check_write(sim, &sim->controllers[0], noted->phase, changes[i].revision - 1, &changes[i]);
		note(&changes[i]);
	}
	if (count < world.noted_count)
		fail_msg("I2: %zu changes were told, and the store has %zu", world.noted_count, count);
	world.is_unsure = false;
}

/* Without the checks of a start: a process has just made them, and they are most of the time of a run. */
static void open_watch(struct sim *sim)
{
	struct sqlite_store *watch = calloc(1, sizeof(*watch));

	assert_non_null(watch);
	watch->path = strdup(sim->url + strlen("sqlite:"));
	watch->lock_fd = -1;
	watch->base.ops = &store_sqlite_ops;
	watch->base.url = strdup(sim->url);
	disk_watch(true);
	if (sqlite3_open_v2(watch->path, &watch->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		fail_msg("the store cannot be opened by another: %s", sqlite3_errmsg(watch->db));
	disk_watch(false);
	sqlite3_extended_result_codes(watch->db, 1);
	sim->store = &watch->base;
}

void sim_disk_close_watch(struct sim *sim)
{
	sim->store = store_close(sim->store);
}

static void bury(struct sim *sim)
{
	disk_bury();
	world.is_unsure = true;
	if (world.on_death)
		world.on_death(sim, world.death_user);
}

static int open_store(struct sim *sim, struct store **ret, struct error *reterr)
{
	int result;

	world.lives++;
	if (disk_process_is_dead())
		bury(sim); /* it died while it left */
	result = store_open(&(struct store_config){ .url = sim->url }, ret, reterr);
	if (result == 0 && disk_process_is_dead()) {
		*ret = store_close(*ret);
		result = -1;
	}
	if (result != 0) {
		*ret = NULL;
		world.is_unsure = true;
		if (disk_process_is_dead())
			bury(sim);
		return -1;
	}
	if (!sim->store)
		open_watch(sim);
	look_at_store(sim);
	return 0;
}

static bool asks_to_write(const struct request *request)
{
	return request->kind == REQUEST_STORE_INSERT || request->kind == REQUEST_STORE_UPDATE;
}

static void boundary(struct controller *controller, enum boundary_kind kind, void *user)
{
	const struct sim_held *held = controller->held;
	struct sim *sim = controller->sim;

	(void)user;
	if (disk_process_is_dead()) {
		sim_kill(controller);
		bury(sim);
		return;
	}
	for (size_t i = 0; kind == BOUNDARY_STORE_AFTER && i < held->count; i++)
		if (asks_to_write(&held->requests[i]) && held->replies[i].result == 0)
			note(held->requests[i].change);
		else if (asks_to_write(&held->requests[i]) && held->replies[i].result < 0)
			world.is_unsure = true;
	if (world.on_boundary)
		world.on_boundary(controller, kind, world.boundary_user);
	if (world.is_unsure && kind == BOUNDARY_RPC_BEFORE && controller->state == CONTROLLER_ALIVE)
		look_at_store(sim);
}

/* It may die where no boundary follows. */
static void reap(struct sim *sim, void *user)
{
	struct controller *controller = &sim->controllers[0];

	(void)user;
	if (!disk_process_is_dead() || controller->state == CONTROLLER_DEAD)
		return;
	sim_kill(controller);
	bury(sim);
}

void sim_disk_begin_with(struct sim *sim, const struct disk_copy *copy)
{
	disk_put_back(copy, sim->url + strlen("sqlite:"));
}

struct sim *sim_disk_new(const struct sim_config *config)
{
	struct sim_config own = *config;
	struct sim *sim;

	disk_install();
	disk_judge(NULL, NULL);
	disk_reset(config->seed);
	memset(&world, 0, sizeof(world));
	own.open_store = open_store;
	sim = sim_new(&own);
	sim->on_boundary = boundary;
	sim->hook = reap;
	return sim;
}

void sim_disk_free(struct sim *sim)
{
	disk_judge(NULL, NULL);
	sim_free(sim);
	disk_reset(0);
}

void sim_disk_on_death(void (*fn)(struct sim *sim, void *user), void *user)
{
	world.on_death = fn;
	world.death_user = user;
}

void sim_disk_on_boundary(sim_boundary_fn *fn, void *user)
{
	world.on_boundary = fn;
	world.boundary_user = user;
}

void sim_disk_forget(struct sim *sim)
{
	world.noted_count = 0;
	check_forget(sim);
}

uint64_t sim_disk_state(const struct sim *sim)
{
	const uint64_t numbers[] = { (uint64_t)sim->now_ms, sim->boundaries, sim->next_tag, sim->applies, sim->completes,
				     sim->call_count, (uint64_t)fleet_row_count(sim->fleet, 0) };
	uint64_t hash = disk_hash();

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		hash = (hash ^ numbers[i]) * 0x9e3779b97f4a7c15ULL + 1;
	return hash;
}

unsigned sim_disk_lives(void)
{
	return world.lives;
}
