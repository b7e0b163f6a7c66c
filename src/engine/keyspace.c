/*
 * The lease of a keyspace, as far as this engine knows it. Every time is of our monotonic clock and counted
 * from before the call was made, so ours is over for us before it is for the store (R3).
 */
#include "engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MS 2000	 /* after a renewal that failed */
#define CROWD_MS 1500	 /* those who wait for the end of a lease come within so long after it */
#define CROWD_FIRST_MS 500
#define CROWD_HOST_MS 100 /* of one host: a lease that ends with its process */

/* ---- The table of keyspaces ---- */

static size_t find(const struct engine *engine, const char *name, bool *ret_found)
{
	size_t low = 0, high = engine->keyspace_count;

	*ret_found = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(engine->keyspaces[middle]->name, name);

		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void on_timer(struct timer *timer);

struct keyspace *keyspace_get(struct engine *engine, const char *name)
{
	bool found;
	size_t index = find(engine, name, &found);
	struct keyspace *keyspace;

	if (found)
		return engine->keyspaces[index];
	keyspace = calloc(1, sizeof(*keyspace));
	engine->keyspaces = realloc(engine->keyspaces, (engine->keyspace_count + 1) * sizeof(*engine->keyspaces));
	if (!keyspace || !engine->keyspaces)
		abort();
	memmove(engine->keyspaces + index + 1, engine->keyspaces + index,
		(engine->keyspace_count - index) * sizeof(*engine->keyspaces));
	engine->keyspaces[index] = keyspace;
	engine->keyspace_count++;
	keyspace->engine = engine;
	snprintf(keyspace->name, sizeof(keyspace->name), "%s", name);
	snprintf(keyspace->scope, sizeof(keyspace->scope), "%s/%s", engine->config.cluster, name);
	if (engine->config.server_of)
		keyspace->server = engine->config.server_of(engine->config.user, name);
	keyspace->renewal = (struct timer){ .at_ms = INT64_MAX, .fire = on_timer };
	keyspace->sweep_timer = (struct timer){ .at_ms = INT64_MAX, .fire = sweep_fire };
	return keyspace;
}

void keyspaces_free(struct engine *engine)
{
	for (size_t i = 0; i < engine->keyspace_count; i++) {
		struct keyspace *keyspace = engine->keyspaces[i];

		for (size_t j = 0; j < keyspace->resident_count; j++)
			resident_free(keyspace->residents[j]);
		sweep_free(keyspace);
		timer_clear(engine, &keyspace->renewal); /* the heap is still walked for those that follow */
		timer_clear(engine, &keyspace->sweep_timer);
		free(keyspace->residents);
		free(keyspace);
	}
	free(engine->keyspaces);
}

/* ---- Asking ---- */

int64_t keyspace_lease_ms(const struct keyspace *keyspace)
{
	const struct engine *engine = keyspace->engine;
	int64_t wanted_ms = engine->config.lease_ms;

	if (keyspace->effects && keyspace->effects_until_ms + LEASE_MARGIN_MS - engine->now_ms > wanted_ms)
		wanted_ms = keyspace->effects_until_ms + LEASE_MARGIN_MS - engine->now_ms;
	return wanted_ms;
}

static void ask(struct keyspace *keyspace)
{
	struct request *request;

	keyspace->renewing = true;
	request = engine_emit_for(keyspace->engine, keyspace, REQUEST_STORE_LEASE, FOR_RENEWAL, NULL);
	request->scope = keyspace->scope;
	request->lease_ms = keyspace_lease_ms(keyspace);
}

static void on_timer(struct timer *timer)
{
	struct keyspace *keyspace = container_of(timer, struct keyspace, renewal);

	if (keyspace->engine->stopping || keyspace->renewing)
		return;
	if (keyspace->tasks || serve_has_work(keyspace))
		ask(keyspace);
	else
		keyspace_release(keyspace);
}

static int64_t crowd_ms(struct engine *engine, int64_t most_ms)
{
	return (int64_t)(engine_chance(engine) % (uint64_t)most_ms);
}

/* ---- Answers ---- */

static void held_by_us(struct keyspace *keyspace, const struct lease *lease, int64_t sent_at_ms)
{
	struct engine *engine = keyspace->engine;
	bool anew = !keyspace->leader || keyspace->epoch != lease->epoch;
	bool lapsed = !keyspace_leads(keyspace); /* what came due meanwhile was not done: it is looked at again */

	keyspace->leader = true;
	keyspace->epoch = lease->epoch;
	keyspace->until_ms = lease->left_ms == LEASE_NO_END ? INT64_MAX : sent_at_ms + lease->left_ms;
	keyspace->holder[0] = '\0';
	if (keyspace->until_ms != INT64_MAX)
		timer_set(engine, &keyspace->renewal, sent_at_ms + engine->config.lease_ms / 3);
	if (anew) {
		engine->counters.leases_taken++;
		news_add(engine, NEWS_LEASE, keyspace, NULL, "the lease of this keyspace is taken");
	}
	if (anew || lapsed)
		serve_lease_changed(keyspace);
}

static void held_by_another(struct keyspace *keyspace, const struct lease *lease)
{
	struct engine *engine = keyspace->engine;
	bool lost = keyspace->leader, another = lost || strcmp(keyspace->holder, lease->holder) != 0;
	int64_t left_ms = lease->left_ms, third_ms = engine->config.lease_ms / 3;

	keyspace->leader = false;
	keyspace->epoch = lease->epoch;
	snprintf(keyspace->holder, sizeof(keyspace->holder), "%s", lease->holder);
	if (left_ms == LEASE_NO_END) { /* it ends with its process: a cheap call tells */
		keyspace->until_ms = engine->now_ms;
		timer_clear(engine, &keyspace->renewal);
	} else {
		left_ms = left_ms > 0 ? left_ms : 0;
		keyspace->until_ms = engine->now_ms + (left_ms < third_ms ? left_ms : third_ms) + crowd_ms(engine, CROWD_MS);
		timer_set(engine, &keyspace->renewal, engine->now_ms + left_ms + crowd_ms(engine, CROWD_MS));
	}
	if (!another)
		return;
	engine->counters.leases_lost += lost;
	news_add(engine, NEWS_LEASE, keyspace, NULL, "the lease of this keyspace is %s %s", lost ? "lost to" : "held by",
		 keyspace->holder[0] ? keyspace->holder : "another")->warning = lost;
	serve_lease_changed(keyspace);
}

void keyspace_lease_reply(struct keyspace *keyspace, const struct reply *reply, int64_t sent_at_ms)
{
	struct engine *engine = keyspace->engine;

	if (engine->stopping)
		return;
	if (reply->result < 0) {
		engine->counters.renewals_failed++;
		if (keyspace->leader && keyspace->until_ms != INT64_MAX)
			timer_set(engine, &keyspace->renewal, engine->now_ms + RETRY_MS);
		return;
	}
	keyspace->asked = true;
	keyspace->asked_at_ms = sent_at_ms;
	if (reply->result == 0)
		held_by_us(keyspace, &reply->lease, sent_at_ms);
	else
		held_by_another(keyspace, &reply->lease);
}

void keyspace_reply(struct keyspace *keyspace, const struct pending *pending, const struct reply *reply)
{
	if (pending->purpose == FOR_RELEASE)
		return;
	keyspace->renewing = false;
	keyspace_lease_reply(keyspace, reply, pending->sent_at_ms);
	if (reply->result < 0 && !keyspace->leader && keyspace->engine->serving)
		timer_set(keyspace->engine, &keyspace->renewal, keyspace->engine->now_ms + RETRY_MS +
			  crowd_ms(keyspace->engine, RETRY_MS));
}

void keyspace_follow(struct keyspace *keyspace, const struct lease_row *row)
{
	struct engine *engine = keyspace->engine;
	int64_t left_ms = row ? row->left_ms : 0, most_ms = keyspace->asked ? CROWD_MS : CROWD_FIRST_MS, at_ms;

	if (keyspace->leader || keyspace->renewing)
		return;
	snprintf(keyspace->holder, sizeof(keyspace->holder), "%s", row && left_ms > 0 ? row->holder : "");
	if (left_ms == LEASE_NO_END) {
		keyspace->no_end = true;
		timer_clear(engine, &keyspace->renewal);
		return;
	}
	at_ms = engine->now_ms + (left_ms > 0 ? left_ms : 0) + crowd_ms(engine, keyspace->no_end ? CROWD_HOST_MS : most_ms);
	/* once it is over the first plan stands: another survey does not put it off */
	if (left_ms > 0 || keyspace->renewal.at_ms > at_ms)
		timer_set(engine, &keyspace->renewal, at_ms);
}

/* ---- What may be done under it ---- */

bool keyspace_leads(const struct keyspace *keyspace)
{
	return keyspace->leader && keyspace->engine->now_ms < keyspace->until_ms - LEASE_MARGIN_MS;
}

bool keyspace_covers(const struct keyspace *keyspace, int64_t effect_ms)
{
	return keyspace->leader && keyspace->engine->now_ms + effect_ms <= keyspace->until_ms - LEASE_MARGIN_MS;
}

bool keyspace_lease_is_fresh(const struct keyspace *keyspace)
{
	const struct engine *engine = keyspace->engine;

	if (!keyspace->asked)
		return false;
	if (!keyspace->leader)
		return engine->now_ms < keyspace->until_ms;
	return keyspace_leads(keyspace) && engine->now_ms - keyspace->asked_at_ms < engine->config.lease_ms / 3;
}

void keyspace_extended(struct keyspace *keyspace, int64_t until_ms)
{
	if (keyspace->leader && until_ms > keyspace->until_ms)
		keyspace->until_ms = until_ms;
}

void keyspace_effect_began(struct keyspace *keyspace, int64_t until_ms)
{
	if (keyspace->effects++ == 0 || until_ms > keyspace->effects_until_ms)
		keyspace->effects_until_ms = until_ms;
}

/* The lease was made long for it; whoever waits for its end need not wait so long now. */
void keyspace_effect_ended(struct keyspace *keyspace)
{
	struct engine *engine = keyspace->engine;

	keyspace->effects--;
	if (keyspace->effects || !keyspace->leader)
		return;
	if (engine->stopping)
		keyspace_release(keyspace);
	else if (keyspace->until_ms != INT64_MAX)
		timer_set(engine, &keyspace->renewal, engine->now_ms);
}

void keyspace_release(struct keyspace *keyspace)
{
	struct engine *engine = keyspace->engine;

	/* the answer to a renewal under way would say that it is still ours: then another time */
	if (keyspace->renewing && !engine->stopping)
		return;
	timer_clear(engine, &keyspace->renewal);
	if (!keyspace->leader || keyspace->effects)
		return;
	keyspace->leader = keyspace->asked = false;
	engine_emit_for(engine, keyspace, REQUEST_STORE_RELEASE, FOR_RELEASE, NULL)->scope = keyspace->scope;
}

/* ---- What to show ---- */

size_t engine_keyspaces(const struct engine *engine)
{
	return engine->keyspace_count;
}

const struct keyspace_view *engine_keyspace(struct engine *engine, size_t index)
{
	const struct keyspace *keyspace = engine->keyspaces[index];
	struct keyspace_view *view = &engine->shown_keyspace;
	int64_t left_ms = keyspace->until_ms - engine->now_ms;

	*view = (struct keyspace_view){
		.name = keyspace->name, .server = keyspace->server, .leader = keyspace_leads(keyspace),
		.holder = keyspace->leader ? engine->config.owner : keyspace->holder, .epoch = keyspace->epoch,
		.observed_at_ms = keyspace->observed_at_ms, .changes = keyspace->resident_count,
	};
	if (keyspace->leader)
		view->lease_left_ms = keyspace->until_ms == INT64_MAX ? LEASE_NO_END : left_ms > 0 ? left_ms : 0;
	return view;
}
