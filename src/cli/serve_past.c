#include "serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vtddl/strbuf.h"

#define WAIT_S 2
#define CALL_MS 2000

struct past {
	struct store_config config;
	const char *cluster;
	pthread_mutex_t mutex; /* of @taken */
	pthread_cond_t left;
	bool taken;	     /* one reader at a time has the handle */
	struct store *store; /* NULL: not open */
};

struct past *past_new(const struct store_config *config, const char *cluster)
{
	struct past *past = calloc(1, sizeof *past);
	pthread_condattr_t monotonic;

	if (!past)
		abort();
	past->config = *config;
	past->config.read_only = true;
	past->config.timeout_ms = CALL_MS;
	past->cluster = cluster;
	pthread_mutex_init(&past->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&past->left, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return past;
}

struct past *past_free(struct past *past)
{
	if (!past)
		return NULL;
	store_close(past->store);
	pthread_cond_destroy(&past->left);
	pthread_mutex_destroy(&past->mutex);
	free(past);
	return NULL;
}

static bool take_handle(struct past *past)
{
	struct timespec until;
	bool taken, late = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&past->mutex);
	while (past->taken && !late)
		late = pthread_cond_timedwait(&past->left, &past->mutex, &until) == ETIMEDOUT;
	taken = !past->taken;
	past->taken = true;
	pthread_mutex_unlock(&past->mutex);
	return taken;
}

static void leave_handle(struct past *past)
{
	pthread_mutex_lock(&past->mutex);
	past->taken = false;
	pthread_cond_signal(&past->left);
	pthread_mutex_unlock(&past->mutex);
}

/* Return: 0, the handle is ours until leave(). */
static int enter(struct past *past, struct error *reterr)
{
	int result = 0;

	if (!take_handle(past))
		return error_set(reterr, ERROR_STORE,
				 "the store is being read for others just now; ask again in a moment");
	if (!past->store)
		result = store_open(&past->config, &past->store, reterr);
	if (result > 0)
		result = error_set(reterr, ERROR_STORE, "the store %s is not there", past->config.url);
	if (result < 0)
		leave_handle(past);
	return result;
}

/* A handle that failed is opened anew by the next reader. */
static int leave(struct past *past, int result)
{
	if (result < 0)
		past->store = store_close(past->store);
	leave_handle(past);
	return result;
}

int past_change(struct past *past, const char *uuid, struct arena *arena, struct change *ret,
		struct history_entry **ret_history, size_t *ret_count, struct error *reterr)
{
	int result = enter(past, reterr);

	if (result < 0)
		return result;
	result = store_load(past->store, past->cluster, uuid, arena, ret, reterr);
	if (result == 0)
		result = store_history(past->store, past->cluster, uuid, arena, ret_history, ret_count,
				       reterr);
	return leave(past, result);
}

/* The store lists what is live as well; a record may carry the definitions of a thousand shards, so not for
 * ever. */
#define LIST_MAX 200

static size_t keep_ended(struct change *changes, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (!phase_is_live(changes[i].phase))
			changes[kept++] = changes[i];
	return kept;
}

int past_ended(struct past *past, unsigned limit, struct arena *arena, struct change **ret, size_t *ret_count,
	       struct error *reterr)
{
	struct store_filter filter = { .cluster = past->cluster, .limit = limit };
	int result = enter(past, reterr);
	size_t found = 0;
	bool all = false;

	if (result < 0)
		return result;
	for (; result == 0 && !all; filter.limit = LIST_MAX) {
		arena_release(arena);
		result = store_list(past->store, &filter, arena, ret, &found, reterr);
		*ret_count = result == 0 ? keep_ended(*ret, found) : 0;
		all = *ret_count >= limit || found < filter.limit || filter.limit >= LIST_MAX;
	}
	if (*ret_count > limit)
		*ret_count = limit;
	return leave(past, result);
}
