#include "vtddl/observation.h"

#include <string.h>
#include <strings.h>

/* The marker of go/vt/vttablet/onlineddl/executor.go; it can only lower trust. */
#define DUPLICATE_MARKER "duplicate DDL as"

static const char *const fact_names[] = {
	"leader",      "shards_known", "shards_changed", "all_seen",	"all_rows",	"settling",
	"mismatch",    "doubled",      "dead",		 "failed",	"cancelled",	"duplicate",
	"any_held",    "any_released", "any_complete",	 "any_live",	"all_ready",	"all_forward",
	"all_complete", "all_gone",    "confirmed",	 "gate_open",	"cancel_asked", "take_up",
	"sent",	       "busy",	       "due",		 "late",	"proven",	"disproven",
};
_Static_assert(_FACT_MAX == 1 << (sizeof(fact_names) / sizeof(fact_names[0])), "a name for every fact");

const char *fact_name(enum fact fact)
{
	for (size_t bit = 0; bit < sizeof(fact_names) / sizeof(fact_names[0]); bit++)
		if ((unsigned)fact == 1u << bit)
			return fact_names[bit];
	return "unknown";
}

void watch_init(struct watch *watch, struct shard_watch *shards, size_t count)
{
	memset(watch, 0, sizeof(*watch));
	memset(shards, 0, count * sizeof(*shards));
	watch->shards = shards;
}

bool migration_is_live(const struct migration *row)
{
	switch (row->status) {
	case MIGRATION_COMPLETE:
	case MIGRATION_FAILED:
	case MIGRATION_CANCELLED:
		return false;
	default: /* a status we do not know may still act (I10) */
		return true;
	}
}

bool migration_is_ready(const struct migration *row)
{
	if (!row->postpone_completion || !row->ready_to_complete)
		return false;
	if (row->status == MIGRATION_RUNNING)
		return !row->is_immediate_operation;
	return row->status == MIGRATION_QUEUED && row->is_immediate_operation && row->reviewed_at_s > 0;
}

bool migration_is_fresh(const struct migration *row, const struct topo_shard *shard,
			const struct topo_tablet *tablet)
{
	if (row->status != MIGRATION_RUNNING)
		return true; /* an immediate operation has no stream that could lag */
	if (row->liveness_s < row->started_at_s)
		return false;
	/* in whole seconds: what was written in the same one may have been written by the one before */
	if (!shard || row->liveness_s <= shard->primary_term_start_s)
		return false;
	return tablet && row->liveness_s > tablet->start_s;
}

bool migration_says_duplicate(const struct migration *row)
{
	return row->message && strncmp(row->message, DUPLICATE_MARKER, strlen(DUPLICATE_MARKER)) == 0;
}

bool migration_is_ours(const struct migration *row, const struct change *change)
{
	return row->context && strcmp(row->context, change->context) == 0 && row->table &&
	       strcmp(row->table, change->table) == 0 && row->keyspace &&
	       strcmp(row->keyspace, change->keyspace) == 0;
}

static const struct topo_shard *find_shard(const struct topo_shard *shards, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(shards[i].name, name) == 0)
			return &shards[i];
	return NULL;
}

static const struct topo_tablet *find_tablet(const struct observation *observation,
					     const struct topo_shard *shard)
{
	if (!shard->has_primary)
		return NULL;
	for (size_t i = 0; i < observation->tablet_count; i++)
		if (tablet_alias_equal(&observation->tablets[i].alias, &shard->primary))
			return &observation->tablets[i];
	return NULL;
}

static bool same_shard_set(const struct change *change, const struct topo_shard *shards, size_t count)
{
	if (count != change->shard_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(shards[i].name, change->shards[i].name) != 0)
			return false;
	return true;
}

static bool same_primary(const struct topo_shard *before, const struct topo_shard *after)
{
	return before && after && before->has_primary && after->has_primary &&
	       tablet_alias_equal(&before->primary, &after->primary) &&
	       before->primary_term_start_s == after->primary_term_start_s;
}

/*
 * I3: a topology read begun after the rows shows the same shards and the same primaries. Behind the release the recorded
 * shards are finished and proven, whatever shards came since.
 */
static bool topology_confirmed(const struct change *change, const struct observation *observation)
{
	if (!observation->confirmed_known)
		return false;
	if (change->phase != PHASE_COMPLETED &&
	    (!same_shard_set(change, observation->topo, observation->topo_count) ||
	     !same_shard_set(change, observation->confirm, observation->confirm_count)))
		return false;
	for (size_t i = 0; i < change->shard_count; i++) {
		const char *name = change->shards[i].name;

		if (!same_primary(find_shard(observation->topo, observation->topo_count, name),
				  find_shard(observation->confirm, observation->confirm_count, name)))
			return false;
	}
	return true;
}

static uint32_t fold_topology(const struct change *change, const struct observation *observation,
			      struct watch *watch)
{
	uint32_t facts = 0;

	if (!observation->topology_known)
		return 0;
	facts |= FACT_SHARDS_KNOWN;
	if (same_shard_set(change, observation->topo, observation->topo_count)) {
		watch->topology_changed = false;
	} else if (!watch->topology_changed) {
		watch->topology_changed = true;
		watch->topology_changed_since_ms = observation->at_ms;
		facts |= FACT_SETTLING;
	} else if (observation->at_ms - watch->topology_changed_since_ms >= DEAD_CONFIRM_MS) {
		facts |= FACT_SHARDS_CHANGED;
	} else {
		facts |= FACT_SETTLING;
	}
	if (topology_confirmed(change, observation))
		facts |= FACT_CONFIRMED;
	return facts;
}

/* Ready counts when two looks READY_CONFIRM_MS apart show it for the same run of the migration. */
static bool ready_twice(struct shard_watch *memory, const struct migration *row, bool ready_now, int64_t at_ms)
{
	if (!ready_now) {
		memory->ready = false;
		return false;
	}
	if (!memory->ready || memory->ready_retries != row->retries ||
	    memory->ready_started_s != row->started_at_s) {
		memory->ready = true;
		memory->ready_since_ms = at_ms;
		memory->ready_retries = row->retries;
		memory->ready_started_s = row->started_at_s;
	}
	return at_ms - memory->ready_since_ms >= READY_CONFIRM_MS;
}

static bool dead_twice(struct shard_watch *memory, const struct migration *row, int64_t at_ms)
{
	int64_t wait_ms = DEAD_CONFIRM_MS;

	if (!memory->dead || memory->dead_status != row->status) {
		memory->dead = true;
		memory->dead_since_ms = at_ms;
		memory->dead_status = row->status;
	}
	if (row->tablet_failure && row->retries == 0)
		wait_ms = REVIVE_MS;
	return at_ms - memory->dead_since_ms >= wait_ms;
}

/* What one row adds: facts that hold as soon as one shard has them. */
static uint32_t fold_row(const struct migration *row, struct shard_watch *memory, int64_t at_ms)
{
	if (row->status == MIGRATION_FAILED || row->status == MIGRATION_CANCELLED) {
		uint32_t confirmed = row->status == MIGRATION_FAILED ? FACT_FAILED : FACT_CANCELLED;

		return FACT_DEAD | (dead_twice(memory, row, at_ms) ? confirmed : FACT_SETTLING);
	}
	memory->dead = false;
	/* Vitess writes the status a moment before the message, but only what it did not do keeps its hold. */
	if (row->status == MIGRATION_COMPLETE)
		return FACT_ANY_COMPLETE | FACT_ANY_RELEASED |
		       (migration_says_duplicate(row) || row->postpone_completion ? FACT_DUPLICATE : 0);
	return FACT_ANY_LIVE | (row->postpone_completion ? FACT_ANY_HELD : FACT_ANY_RELEASED);
}

static bool row_is_dead(const struct migration *row)
{
	return row->status == MIGRATION_FAILED || row->status == MIGRATION_CANCELLED;
}

static bool fold_double(const struct shard_look *look, struct shard_watch *memory, int64_t at_ms)
{
	if (look->state != ROW_DOUBLE) {
		memory->doubled = false;
		return false;
	}
	if (!memory->doubled) {
		memory->doubled = true;
		memory->double_since_ms = at_ms;
	}
	return at_ms - memory->double_since_ms >= DOUBLE_STOP_MS;
}

struct fold {
	uint32_t any;	/* facts true because of one shard */
	uint32_t all;	/* facts that every shard so far has */
	const struct migration *first;
};

static void fold_shard(struct fold *fold, const struct change *change, const struct observation *observation,
		       struct shard_watch *memory, size_t i)
{
	const struct shard_look *look = &observation->looks[i];
	const struct migration *row = &look->row;
	uint32_t has = 0;
	bool mismatch, ready_now, ready;

	if (fold_double(look, memory, observation->at_ms))
		fold->any |= FACT_DOUBLED;
	if (look->state == ROW_ABSENT)
		has = FACT_ALL_SEEN | FACT_ALL_GONE;
	if (look->state != ROW_ONE) {
		memory->ready = false;
		fold->all &= has;
		return;
	}
	if (!fold->first)
		fold->first = row;
	mismatch = !migration_is_ours(row, change) || strcasecmp(row->uuid, change->uuid) != 0 ||
		   strcmp(row->statement, fold->first->statement) != 0;
	if (mismatch)
		fold->any |= FACT_MISMATCH;

	const struct topo_shard *shard = find_shard(observation->topo, observation->topo_count,
						    change->shards[i].name);
	ready_now = !mismatch && migration_is_ready(row) && shard &&
		    migration_is_fresh(row, shard, find_tablet(observation, shard));
	ready = ready_twice(memory, row, ready_now, observation->at_ms);
	fold->any |= fold_row(row, memory, observation->at_ms);
	if (ready_now && !ready)
		fold->any |= FACT_SETTLING;

	has = FACT_ALL_SEEN | FACT_ALL_ROWS;
	if (ready)
		has |= FACT_ALL_READY | FACT_ALL_FORWARD;
	if (row->status == MIGRATION_COMPLETE)
		has |= FACT_ALL_COMPLETE | FACT_ALL_FORWARD;
	if (migration_is_live(row) && !row->postpone_completion)
		has |= FACT_ALL_FORWARD;
	if (!migration_status_is_known(row->status) && !row->postpone_completion)
		has = FACT_ALL_ROWS; /* released, and nobody knows how far it is: that is not seen (I10) */
	if (row_is_dead(row))
		has |= FACT_ALL_GONE;
	fold->all &= has;
}

uint32_t observation_fold(const struct change *change, const struct observation *observation,
			  struct watch *watch)
{
	struct fold fold = {
		.all = FACT_ALL_SEEN | FACT_ALL_ROWS | FACT_ALL_READY | FACT_ALL_FORWARD | FACT_ALL_COMPLETE |
		       FACT_ALL_GONE,
	};
	uint32_t facts = fold_topology(change, observation, watch);

	if (change->shard_count == 0)
		return facts;
	for (size_t i = 0; i < change->shard_count; i++)
		fold_shard(&fold, change, observation, &watch->shards[i], i);
	/* what is withdrawn is withdrawn everywhere, on shards that came later too (I6) */
	if (observation->stray && (change->phase == PHASE_CANCELLING || change->phase == PHASE_CANCELLED)) {
		fold.any |= FACT_ANY_LIVE;
		fold.all &= ~(uint32_t)FACT_ALL_GONE;
	}
	return facts | fold.any | fold.all;
}
