#include "loop_stubs.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/engine/proof.h"
#include "vtddl/clock.h"
#include "vtddl/wire.h"

static struct request asks[STUB_ITEMS_MAX];
static size_t ask_count, ask_next;
struct reply stub_replies[STUB_ITEMS_MAX];
size_t stub_reply_count;

void stub_ask(struct request request)
{
	asks[ask_count++] = request;
}

void engine_advance(struct engine *engine, int64_t now_ms, int64_t wall_ms)
{
	(void)engine;
	(void)now_ms;
	(void)wall_ms;
}

int64_t engine_wake_ms(const struct engine *engine)
{
	(void)engine;
	return INT64_MAX;
}

bool engine_next(struct engine *engine, struct request *ret)
{
	(void)engine;
	if (ask_next == ask_count)
		return false;
	*ret = asks[ask_next++];
	return true;
}

void engine_reply(struct engine *engine, const struct reply *reply)
{
	(void)engine;
	if (stub_reply_count == STUB_ITEMS_MAX)
		abort();
	stub_replies[stub_reply_count++] = *reply;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static unsigned rpcs_answered; /* that wait in the wire; under the mutex */
static bool wire_woken;

bool wire_next(struct wire *wire, int64_t until_ms, struct vtctld_reply *ret)
{
	bool answered, in_time = true;

	(void)wire;
	pthread_mutex_lock(&mutex);
	while (!rpcs_answered && !wire_woken && in_time && clock_monotonic_ms() < until_ms) {
		struct timespec soon;

		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_sec++;
		in_time = pthread_cond_timedwait(&moved, &mutex, &soon) == 0;
	}
	answered = !wire_woken && rpcs_answered > 0;
	if (answered)
		rpcs_answered--;
	wire_woken = false;
	pthread_mutex_unlock(&mutex);
	*ret = (struct vtctld_reply){ .tag = 1000, .method = VTCTLD_GET_KEYSPACES, .text = "" };
	return answered;
}

void wire_wake(struct wire *wire)
{
	(void)wire;
	pthread_mutex_lock(&mutex);
	wire_woken = true;
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&mutex);
}

void wire_start(struct wire *wire, const struct vtctld_request *request, struct arena *arena)
{
	(void)wire;
	(void)request;
	(void)arena;
	pthread_mutex_lock(&mutex);
	rpcs_answered++;
	pthread_mutex_unlock(&mutex);
}

bool vtctld_method_is_effect(enum vtctld_method method)
{
	return method == VTCTLD_COMPLETE;
}

struct proof_worker *proof_start(const struct proof_config *config, const struct request *request)
{
	(void)config;
	(void)request;
	abort();
}

bool proof_is_done(struct proof_worker *worker)
{
	return worker != NULL;
}

void proof_take(struct proof_worker *worker, struct arena *arena, struct proof *ret)
{
	(void)worker;
	(void)arena;
	(void)ret;
}

struct proof_worker *proof_free(struct proof_worker *worker)
{
	(void)worker;
	return NULL;
}

void stubs_reset(void)
{
	ask_count = ask_next = stub_reply_count = 0;
	rpcs_answered = 0;
	wire_woken = false;
}
