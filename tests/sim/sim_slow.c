/*
 * A store that takes its time: what the thread of the store does in the real loop (engine/store_worker.c). Calls
 * are made one after the other while the engine goes on; each is carried out some time after it was asked for,
 * and answered some time after that. The server does its part although the process is stopped or dead.
 */
#include "sim_private.h"

enum slow_state {
	SLOW_IDLE,
	SLOW_ASKED, /* not sent yet: the process is stopped */
	SLOW_SENT,  /* carried out at at_ms */
	SLOW_DONE,  /* answered at at_ms */
};

struct sim_slow {
	struct asked {
		struct request request;
		int64_t at_ms;
	} *queue;
	size_t head, tail, size;
	struct sim_held call;
	enum slow_state state;
	int64_t at_ms, answer_after_ms, took_ms;
	struct arena arena; /* of what is read, until the engine is told: as in the real loop */
};

void slow_free(struct controller *controller)
{
	if (controller->slow) {
		arena_release(&controller->slow->arena);
		free(controller->slow->queue);
	}
	free(controller->slow);
	controller->slow = NULL;
}

static void push(struct sim_slow *slow, const struct request *request, int64_t now_ms)
{
	if (slow->head == slow->tail)
		slow->head = slow->tail = 0;
	if (slow->tail == slow->size) {
		slow->size = slow->size ? 2 * slow->size : 8;
		slow->queue = reallocarray(slow->queue, slow->size, sizeof(*slow->queue));
		assert_non_null(slow->queue);
	}
	slow->queue[slow->tail++] = (struct asked){ *request, now_ms };
}

bool slow_has(const struct controller *controller)
{
	return controller->slow && (controller->slow->state != SLOW_IDLE || controller->slow->head < controller->slow->tail);
}

void slow_ask(struct controller *controller, const struct sim_held *held)
{
	if (!controller->slow) {
		controller->slow = calloc(1, sizeof(*controller->slow));
		assert_non_null(controller->slow);
	}
	for (size_t i = 0; i < held->count; i++)
		push(controller->slow, &held->requests[i], controller->sim->now_ms);
}

/* The boundaries are told of what is held: for the time of a call that is this one. */
static void tell_boundary(struct controller *controller, enum boundary_kind kind)
{
	struct sim_held *held = controller->held;

	controller->held = &controller->slow->call;
	(void)controller_boundary(controller, kind);
	controller->held = held;
}

static void take(struct controller *controller)
{
	struct sim_slow *slow = controller->slow;
	struct sim_held *call = &slow->call;

	call->asked_ms = slow->queue[slow->head].at_ms;
	call->requests[0] = slow->queue[slow->head++].request;
	call->count = 1;
	call->done = false;
	while (is_write(&call->requests[0]) && call->count < SIM_BATCH_MAX && slow->head < slow->tail &&
	       is_write(&slow->queue[slow->head].request))
		call->requests[call->count++] = slow->queue[slow->head++].request;
	slow->state = SLOW_ASKED;
	tell_boundary(controller, BOUNDARY_STORE_BEFORE);
}

static void send(struct controller *controller)
{
	struct sim *sim = controller->sim;
	struct sim_slow *slow = controller->slow;
	int64_t takes_ms = sim->store_delay ? sim->store_delay(controller, &slow->call.requests[0], sim->store_user) : 0;

	slow->state = SLOW_SENT;
	slow->took_ms = takes_ms;
	slow->answer_after_ms = takes_ms * (takes_ms % 5) / 4;
	slow->at_ms = sim->now_ms + takes_ms - slow->answer_after_ms;
}

static void carry_out(struct controller *controller)
{
	struct sim_slow *slow = controller->slow;
	struct request *request = &slow->call.requests[0];
	struct arena *engines = request->arena;
	enum request_kind kind = request->kind;

	request->arena = engines ? &slow->arena : NULL;
	controller_store(controller, &slow->call);
	request->arena = engines;
	slow->state = SLOW_DONE;
	slow->at_ms = controller->sim->now_ms + slow->answer_after_ms;
	if (controller->state == CONTROLLER_ALIVE && kind != REQUEST_STORE_LIST && kind != REQUEST_STORE_LIVE)
		tell_boundary(controller, BOUNDARY_STORE_AFTER);
}

static void tell_answers(struct controller *controller)
{
	struct sim_slow *slow = controller->slow;
	size_t count = slow->call.count;

	slow->state = SLOW_IDLE;
	slow->call.count = 0;
	controller->was_told = true;
	if (slow->call.requests[0].arena)
		arena_adopt(slow->call.requests[0].arena, &slow->arena);
	for (size_t i = 0; i < count; i++)
		controller_tell(controller, &slow->call.replies[i]);
}

bool slow_turn(struct controller *controller)
{
	struct sim_slow *slow = controller->slow;
	int64_t now_ms = controller->sim->now_ms;
	bool any = false;

	while (slow && controller->state != CONTROLLER_DEAD) {
		bool alive = controller->state == CONTROLLER_ALIVE;

		if (slow->state == SLOW_IDLE && alive && slow->head < slow->tail)
			take(controller);
		else if (slow->state == SLOW_ASKED && alive)
			send(controller);
		else if (slow->state == SLOW_SENT && now_ms >= slow->at_ms)
			carry_out(controller);
		else if (slow->state == SLOW_DONE && alive && now_ms >= slow->at_ms)
			tell_answers(controller);
		else
			break;
		any = true;
	}
	return any;
}

int64_t slow_wake_ms(const struct controller *controller)
{
	const struct sim_slow *slow = controller->slow;

	if (!slow || slow->state < SLOW_SENT || (slow->state == SLOW_DONE && controller->state != CONTROLLER_ALIVE))
		return INT64_MAX;
	return slow->at_ms;
}

/* The process dies. What was sent may still be carried out, and nobody is told. */
void slow_drop(struct controller *controller)
{
	struct sim_slow *slow = controller->slow;

	if (!slow)
		return;
	if (slow->state == SLOW_SENT && slow->took_ms % 2)
		controller_store(controller, &slow->call);
	arena_release(&slow->arena);
	slow->state = SLOW_IDLE;
	slow->call.count = 0;
	slow->head = slow->tail = 0;
}
