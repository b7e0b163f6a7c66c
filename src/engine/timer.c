/* A binary heap of timers, from slot 1; the parent of slot n is n / 2. */
#include "engine_private.h"

#include <stdlib.h>

#define SOON_MS 500

static void put(struct engine *engine, size_t slot, struct timer *timer)
{
	engine->timers[slot] = timer;
	timer->slot = slot;
}

static void rise(struct engine *engine, size_t slot, struct timer *timer)
{
	while (slot > 1 && engine->timers[slot / 2]->at_ms > timer->at_ms) {
		put(engine, slot, engine->timers[slot / 2]);
		slot /= 2;
	}
	put(engine, slot, timer);
}

static void sink(struct engine *engine, size_t slot, struct timer *timer)
{
	size_t child;

	while ((child = 2 * slot) <= engine->timer_count) {
		if (child < engine->timer_count && engine->timers[child + 1]->at_ms < engine->timers[child]->at_ms)
			child++;
		if (engine->timers[child]->at_ms >= timer->at_ms)
			break;
		put(engine, slot, engine->timers[child]);
		slot = child;
	}
	put(engine, slot, timer);
}

void timer_clear(struct engine *engine, struct timer *timer)
{
	size_t slot = timer->slot;
	struct timer *last;

	timer->at_ms = INT64_MAX;
	timer->slot = 0;
	if (slot == 0)
		return;
	last = engine->timers[engine->timer_count--];
	if (last == timer)
		return;
	if (slot > 1 && engine->timers[slot / 2]->at_ms > last->at_ms)
		rise(engine, slot, last);
	else
		sink(engine, slot, last);
}

void timer_set(struct engine *engine, struct timer *timer, int64_t at_ms)
{
	timer_clear(engine, timer);
	timer->at_ms = at_ms;
	if (at_ms == INT64_MAX)
		return;
	if (engine->timer_count + 1 >= engine->timer_size) {
		engine->timer_size = engine->timer_size ? 2 * engine->timer_size : 64;
		engine->timers = realloc(engine->timers, engine->timer_size * sizeof(*engine->timers));
		if (!engine->timers)
			abort();
	}
	rise(engine, ++engine->timer_count, timer);
}

int64_t timer_soon_ms(struct engine *engine)
{
	return engine->now_ms + (int64_t)(engine_chance(engine) % SOON_MS);
}

void timer_hurry(struct engine *engine, struct timer *timer)
{
	int64_t at_ms = timer_soon_ms(engine);

	if (timer->at_ms != INT64_MAX && timer->at_ms > at_ms)
		timer_set(engine, timer, at_ms);
}
