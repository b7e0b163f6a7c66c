#include "serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#define WAIT_S 2
#define ANSWERS_MAX 4 /* between two steps */

enum slip_state { SLIP_ASKED, SLIP_ANSWERED, SLIP_ABANDONED };

/* A question on the board. Whoever comes last frees it. */
struct slip {
	STAILQ_ENTRY(slip) link;
	page_fn *page;
	struct question question;
	struct answer answer;
	enum slip_state state;
};

struct board {
	struct loop *loop;
	pthread_mutex_t mutex; /* of all below */
	pthread_cond_t answered;
	STAILQ_HEAD(, slip) asked;
	bool closed;
};

struct board *board_new(struct loop *loop)
{
	struct board *board = calloc(1, sizeof *board);
	pthread_condattr_t monotonic;

	if (!board)
		abort();
	board->loop = loop;
	STAILQ_INIT(&board->asked);
	pthread_mutex_init(&board->mutex, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&board->answered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return board;
}

struct board *board_free(struct board *board)
{
	struct slip *slip;

	if (!board)
		return NULL;
	while ((slip = STAILQ_FIRST(&board->asked))) {
		STAILQ_REMOVE_HEAD(&board->asked, link);
		free(slip);
	}
	pthread_cond_destroy(&board->answered);
	pthread_mutex_destroy(&board->mutex);
	free(board);
	return NULL;
}

void board_close(struct board *board)
{
	pthread_mutex_lock(&board->mutex);
	board->closed = true;
	pthread_cond_broadcast(&board->answered);
	pthread_mutex_unlock(&board->mutex);
}

/* Waits for the loop's thread; under the mutex. Return: false, it gave up, and the slip is no longer ours. */
static bool wait_for_answer(struct board *board, struct slip *slip)
{
	struct timespec until;
	bool late = false;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	STAILQ_INSERT_TAIL(&board->asked, slip, link);
	loop_wake(board->loop);
	while (slip->state == SLIP_ASKED && !board->closed && !late)
		late = pthread_cond_timedwait(&board->answered, &board->mutex, &until) == ETIMEDOUT;
	if (slip->state == SLIP_ANSWERED)
		return true;
	slip->state = SLIP_ABANDONED;
	return false;
}

bool board_ask(struct board *board, page_fn *page, const struct question *question, struct answer *ret)
{
	struct slip *slip = calloc(1, sizeof *slip);
	bool answered;

	if (!slip)
		abort();
	slip->page = page;
	slip->question = *question;
	pthread_mutex_lock(&board->mutex);
	if (board->closed) {
		answered = false;
		free(slip);
	} else {
		answered = wait_for_answer(board, slip);
		if (answered) {
			*ret = slip->answer;
			free(slip);
		}
	}
	pthread_mutex_unlock(&board->mutex);
	return answered;
}

/* Return: NULL, nothing is asked. */
static struct slip *take_slip(struct board *board)
{
	struct slip *slip;

	pthread_mutex_lock(&board->mutex);
	while ((slip = STAILQ_FIRST(&board->asked))) {
		STAILQ_REMOVE_HEAD(&board->asked, link);
		if (slip->state == SLIP_ASKED)
			break;
		free(slip);
	}
	pthread_mutex_unlock(&board->mutex);
	return slip;
}

static void give_answer(struct board *board, struct slip *slip)
{
	pthread_mutex_lock(&board->mutex);
	if (slip->state == SLIP_ASKED) {
		slip->state = SLIP_ANSWERED;
		pthread_cond_broadcast(&board->answered);
	} else { /* nobody waits for it any more */
		json_decref(slip->answer.json);
		strbuf_release(&slip->answer.text);
		free(slip);
	}
	pthread_mutex_unlock(&board->mutex);
}

void board_serve(struct board *board, const struct serve *serve)
{
	struct slip *slip;

	for (unsigned i = 0; i < ANSWERS_MAX && (slip = take_slip(board)); i++) {
		slip->answer.status = 200;
		slip->page(serve, &slip->question, &slip->answer);
		give_answer(board, slip);
		if (i + 1 == ANSWERS_MAX)
			loop_wake(board->loop); /* the others after the next step */
	}
}
