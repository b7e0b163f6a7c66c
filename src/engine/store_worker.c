#include "store_worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "../base/crash_point.h"

struct job {
	STAILQ_ENTRY(job) link;
	struct request request;
	struct history_entry entry;
	struct arena arena; /* the request's texts, then the answer as well */
	struct reply reply;
};

STAILQ_HEAD(job_list, job);

struct store_worker {
	struct store_worker_config config;
	pthread_t thread;
	bool started;
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t given;
	struct job_list asked, answered;
	bool stop;
};

static bool is_write(const struct job *job)
{
	return job->request.kind == REQUEST_STORE_INSERT || job->request.kind == REQUEST_STORE_UPDATE;
}

/* ---- A job ---- */

static struct job *job_new(const struct request *request)
{
	struct job *job = calloc(1, sizeof *job);
	struct request *copy;

	if (!job)
		abort();
	copy = &job->request;
	*copy = *request;
	arena_init(&job->arena, 0);
	copy->scope = arena_strdup(&job->arena, request->scope);
	copy->evidence = arena_strdup(&job->arena, request->evidence);
	copy->filter.cluster = arena_strdup(&job->arena, request->filter.cluster);
	copy->filter.keyspace = arena_strdup(&job->arena, request->filter.keyspace);
	copy->filter.ddl_sha256 = arena_strdup(&job->arena, request->filter.ddl_sha256);
	copy->filter.table = arena_strdup(&job->arena, request->filter.table);
	copy->filter.uuid_or_context = arena_strdup(&job->arena, request->filter.uuid_or_context);
	if (request->entry) {
		job->entry = *request->entry;
		job->entry.actor = arena_strdup(&job->arena, request->entry->actor);
		job->entry.reason = arena_strdup(&job->arena, request->entry->reason);
		job->entry.evidence = arena_strdup(&job->arena, request->entry->evidence);
		copy->entry = &job->entry;
	}
	job->reply.tag = request->tag;
	job->reply.kind = request->kind;
	return job;
}

static void job_free(struct job *job)
{
	arena_release(&job->arena);
	free(job);
}

static void drop(struct job_list *jobs)
{
	struct job *job;

	while ((job = STAILQ_FIRST(jobs))) {
		STAILQ_REMOVE_HEAD(jobs, link);
		job_free(job);
	}
}

/* ---- One function for each kind of request ---- */

static void lease(struct store_worker *worker, struct job *job)
{
	CRASH_POINT("store-lease-before");
	job->reply.result = store_lease(worker->config.store, job->request.scope, worker->config.owner,
					job->request.lease_ms, &job->reply.lease, &job->reply.error);
	CRASH_POINT("store-lease-after");
}

static void release(struct store_worker *worker, struct job *job)
{
	CRASH_POINT("store-release-before");
	store_release(worker->config.store, job->request.scope, worker->config.owner);
	CRASH_POINT("store-release-after");
}

static void live(struct store_worker *worker, struct job *job)
{
	CRASH_POINT("store-live-before");
	job->reply.result =
		store_live(worker->config.store, worker->config.cluster, job->request.cancelled_since_ms,
			   &job->arena, &job->reply.live, &job->reply.error);
	CRASH_POINT("store-live-after");
}

static void list(struct store_worker *worker, struct job *job)
{
	CRASH_POINT("store-list-before");
	job->reply.result = store_list(worker->config.store, &job->request.filter, &job->arena,
				       &job->reply.changes, &job->reply.change_count, &job->reply.error);
	CRASH_POINT("store-list-after");
}

typedef void store_call(struct store_worker *worker, struct job *job);

static store_call *const calls[_REQUEST_KIND_MAX] = {
	[REQUEST_STORE_LEASE] = lease,
	[REQUEST_STORE_RELEASE] = release,
	[REQUEST_STORE_LIVE] = live,
	[REQUEST_STORE_LIST] = list,
};

/* ---- Writes ---- */

static void describe_write(const struct store_worker *worker, const struct job *job, struct store_write *ret)
{
	const struct request *request = &job->request;

	*ret = (struct store_write){ .change = request->change };
	if (request->kind == REQUEST_STORE_INSERT) {
		CRASH_POINT("store-insert-before");
		ret->actor = worker->config.actor;
		ret->evidence = request->evidence;
	} else {
		CRASH_POINT("store-update-before");
		ret->expect = &request->expect;
		ret->entry = request->entry;
	}
}

static void keep_result(struct job *job, const struct store_write *write)
{
	job->reply.result = write->result;
	job->reply.error = write->error;
	if (job->request.kind == REQUEST_STORE_INSERT)
		CRASH_POINT("store-insert-after");
	else
		CRASH_POINT("store-update-after");
}

static void write_batch(struct store_worker *worker, struct job_list *jobs, size_t count)
{
	struct store_write *writes = calloc(count, sizeof *writes);
	struct job *job;
	size_t at = 0;

	if (!writes)
		abort();
	STAILQ_FOREACH(job, jobs, link)
	{
		describe_write(worker, job, &writes[at++]);
	}
	store_write(worker->config.store, writes, count);
	at = 0;
	STAILQ_FOREACH(job, jobs, link)
	{
		keep_result(job, &writes[at++]);
	}
	free(writes);
}

/* ---- The thread ---- */

/* Moves the first request to @ret, and where it is a write those that follow it as well. Return: their
 * number. */
static size_t take_run(struct store_worker *worker, struct job_list *ret)
{
	struct job *job;
	size_t count = 0;

	while ((job = STAILQ_FIRST(&worker->asked)) && count < STORE_BATCH_MAX) {
		if (count && !(is_write(STAILQ_FIRST(ret)) && is_write(job)))
			break;
		STAILQ_REMOVE_HEAD(&worker->asked, link);
		STAILQ_INSERT_TAIL(ret, job, link);
		count++;
	}
	return count;
}

static void carry_out(struct store_worker *worker, struct job_list *jobs, size_t count)
{
	struct job *first = STAILQ_FIRST(jobs);

	if (is_write(first))
		write_batch(worker, jobs, count);
	else
		calls[first->request.kind](worker, first);
}

/* Return: false, it is time to go. */
static bool serve_one_run(struct store_worker *worker)
{
	struct job_list jobs = STAILQ_HEAD_INITIALIZER(jobs);
	size_t count;

	pthread_mutex_lock(&worker->mutex);
	while (!worker->stop && STAILQ_EMPTY(&worker->asked))
		pthread_cond_wait(&worker->given, &worker->mutex);
	count = worker->stop ? 0 : take_run(worker, &jobs);
	pthread_mutex_unlock(&worker->mutex);
	if (!count)
		return false;
	carry_out(worker, &jobs, count);
	pthread_mutex_lock(&worker->mutex);
	STAILQ_CONCAT(&worker->answered, &jobs);
	pthread_mutex_unlock(&worker->mutex);
	worker->config.wake(worker->config.user);
	return true;
}

static void *run(void *argument)
{
	while (serve_one_run(argument))
		;
	return NULL;
}

struct store_worker *store_worker_new(const struct store_worker_config *config)
{
	struct store_worker *worker = calloc(1, sizeof *worker);
	sigset_t all, before;

	if (!worker)
		abort();
	worker->config = *config;
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->given, NULL);
	STAILQ_INIT(&worker->asked);
	STAILQ_INIT(&worker->answered);
	/* Signals are for the thread that runs the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	worker->started = pthread_create(&worker->thread, NULL, run, worker) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return worker;
}

void store_worker_give(struct store_worker *worker, const struct request *request)
{
	struct job *job = job_new(request);

	pthread_mutex_lock(&worker->mutex);
	STAILQ_INSERT_TAIL(&worker->asked, job, link);
	pthread_cond_signal(&worker->given);
	pthread_mutex_unlock(&worker->mutex);
	if (!worker->started)
		serve_one_run(worker);
}

bool store_worker_take(struct store_worker *worker, struct reply *ret)
{
	struct job *job;

	pthread_mutex_lock(&worker->mutex);
	job = STAILQ_FIRST(&worker->answered);
	if (job)
		STAILQ_REMOVE_HEAD(&worker->answered, link);
	pthread_mutex_unlock(&worker->mutex);
	if (!job)
		return false;
	*ret = job->reply;
	if (job->request.kind == REQUEST_STORE_LIST || job->request.kind == REQUEST_STORE_LIVE)
		arena_adopt(job->request.arena, &job->arena);
	job_free(job);
	return true;
}

struct store_worker *store_worker_free(struct store_worker *worker)
{
	if (!worker)
		return NULL;
	pthread_mutex_lock(&worker->mutex);
	worker->stop = true;
	pthread_cond_signal(&worker->given);
	pthread_mutex_unlock(&worker->mutex);
	if (worker->started)
		pthread_join(worker->thread, NULL);
	drop(&worker->asked);
	drop(&worker->answered);
	pthread_cond_destroy(&worker->given);
	pthread_mutex_destroy(&worker->mutex);
	free(worker);
	return NULL;
}
