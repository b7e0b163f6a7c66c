/*
 * Is a shard set fit for a change: every key in exactly one shard, each with a serving primary.
 *
 * Only the records of the topology are looked at: they say nothing about whether a tablet lives.
 */
#include "vtddl/observation.h"

#include <stdio.h>
#include <string.h>

#include "vtddl/banned.h"
#include "vtddl/identity.h"

#define NAMES_SHOWN 5
#define NAMES_SIZE (NAMES_SHOWN * (SHARD_NAME_MAX + 2) + 32)

static const char arena_is_full[] = "the shard set cannot be used, and the answer is too large to say why";

static const char *or_full(const char *text)
{
	return text ? text : arena_is_full;
}

/* Names of the shards that @is_bad picks: "-40, 40-80 and 3 more"; their number is returned. */
static size_t list_names(const struct topo_shard *shards, size_t count,
			 bool (*is_bad)(const struct topo_shard *), char ret[NAMES_SIZE])
{
	size_t used = 0, bad = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (!is_bad(&shards[i]) || bad++ >= NAMES_SHOWN)
			continue;
		used += (size_t)snprintf(ret + used, NAMES_SIZE - used, "%s%.*s", used ? ", " : "",
					 SHARD_NAME_MAX, shards[i].name);
	}
	if (bad > NAMES_SHOWN)
		snprintf(ret + used, NAMES_SIZE - used, " and %zu more", bad - NAMES_SHOWN);
	return bad;
}

static bool has_no_primary(const struct topo_shard *shard)
{
	return !shard->has_primary;
}

static bool has_bad_name(const struct topo_shard *shard)
{
	return !shard_name_is_valid(shard->name);
}

static bool does_not_serve(const struct topo_shard *shard)
{
	return !shard->is_serving;
}

/* Vitess takes "80" and "8000" for the same border: bytes of zero at the end say nothing. */
static size_t border_length(const uint8_t *border, size_t length)
{
	while (length > 0 && border[length - 1] == 0)
		length--;
	return length;
}

static int border_compare(const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length)
{
	size_t common;
	int order;

	a_length = border_length(a, a_length);
	b_length = border_length(b, b_length);
	common = a_length < b_length ? a_length : b_length;
	order = common ? memcmp(a, b, common) : 0;
	if (order)
		return order;
	return a_length < b_length ? -1 : a_length > b_length;
}

static int start_compare(const struct topo_shard *a, const struct topo_shard *b)
{
	return border_compare(a->range_start, a->range_start_length, b->range_start, b->range_start_length);
}

/* How far @end lies behind @start: 0 they meet, > 0 overlap, < 0 gap. No end is the end of all. */
static int end_compare(const struct topo_shard *end, const struct topo_shard *start)
{
	if (end->range_end_length == 0)
		return 1;
	return border_compare(end->range_end, end->range_end_length, start->range_start,
			      start->range_start_length);
}

/* Sorts pointers by start of the range; few shards, and they come nearly sorted. */
static void sort_by_start(const struct topo_shard **sorted, const struct topo_shard *shards, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = i;

		for (; at > 0 && start_compare(&shards[i], sorted[at - 1]) < 0; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &shards[i];
	}
}

static const char *gap(struct arena *arena, const char *where)
{
	static const char format[] =
		"no shard has the keys %s: ApplySchema would miss them; finish or cancel the reshard "
		"(vtctldclient Workflow, FindAllShardsInKeyspace) and run this again";

	return or_full(arena_printf(arena, format, where));
}

static const char *overlap(struct arena *arena, const struct topo_shard *a, const struct topo_shard *b)
{
	static const char format[] =
		"shards %.*s and %.*s overlap, so a reshard is under way: ApplySchema goes to both; finish "
		"or cancel it (vtctldclient Reshard complete or cancel) and run this again";

	return or_full(arena_printf(arena, format, SHARD_NAME_MAX, a->name, SHARD_NAME_MAX, b->name));
}

static const char *range_problem(struct arena *arena, const struct topo_shard *shards, size_t count)
{
	const struct topo_shard **sorted = arena_array(arena, count, sizeof(*sorted));
	char where[2 * SHARD_NAME_MAX + 64];

	if (!sorted)
		return arena_is_full;
	sort_by_start(sorted, shards, count);
	if (border_length(sorted[0]->range_start, sorted[0]->range_start_length) > 0) {
		snprintf(where, sizeof(where), "before shard %.*s", SHARD_NAME_MAX, sorted[0]->name);
		return gap(arena, where);
	}
	for (size_t i = 0; i + 1 < count; i++) {
		int order = end_compare(sorted[i], sorted[i + 1]);

		if (order > 0)
			return overlap(arena, sorted[i], sorted[i + 1]);
		if (order < 0) {
			snprintf(where, sizeof(where), "between shards %.*s and %.*s", SHARD_NAME_MAX,
				 sorted[i]->name, SHARD_NAME_MAX, sorted[i + 1]->name);
			return gap(arena, where);
		}
	}
	if (sorted[count - 1]->range_end_length > 0) {
		snprintf(where, sizeof(where), "behind shard %.*s", SHARD_NAME_MAX, sorted[count - 1]->name);
		return gap(arena, where);
	}
	return NULL;
}

const char *topology_problem(struct arena *arena, const struct topo_shard *shards, size_t count)
{
	char names[NAMES_SIZE];
	size_t bad;

	if (count == 0)
		return "the keyspace has no shard: check its name with vtctldclient GetKeyspaces";
	if (count > SHARDS_MAX)
		return or_full(arena_printf(arena, "the keyspace has %zu shards, and vtddl drives at most %d", count,
					    SHARDS_MAX));
	bad = list_names(shards, count, has_bad_name, names);
	if (bad)
		return or_full(arena_printf(
			arena,
			"the topology has the shard%s %s, which is no name of a shard; look at it with vtctldclient "
			"FindAllShardsInKeyspace",
			bad == 1 ? "" : "s", names));
	bad = list_names(shards, count, has_no_primary, names);
	if (bad)
		return or_full(arena_printf(
			arena,
			"%s %s %s no primary: ApplySchema refuses the whole keyspace then; give it one "
			"(vtctldclient PlannedReparentShard or EmergencyReparentShard) and run this again",
			bad == 1 ? "shard" : "shards", names, bad == 1 ? "has" : "have"));
	bad = list_names(shards, count, does_not_serve, names);
	if (bad)
		return or_full(arena_printf(
			arena,
			"%s %s %s not serving, so a reshard is probably under way: ApplySchema goes to every "
			"shard record, serving or not; finish or cancel the reshard and run this again",
			bad == 1 ? "shard" : "shards", names, bad == 1 ? "is" : "are"));
	return range_problem(arena, shards, count);
}
