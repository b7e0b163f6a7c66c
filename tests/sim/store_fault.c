#include "store_fault.h"

#include <assert.h>

struct store_fault {
	struct store base;
	struct store *inner;
	unsigned calls;
	unsigned countdown; /* 0: nothing is armed */
	enum store_fault_when when;
	enum store_fault_how how;
	void (*on_death)(void *data);
	void *data;
	bool fired;
	bool dead;
};

static struct store_fault *fault_of(struct store *store)
{
	return (struct store_fault *)store;
}

/* What is to happen around one call. */
enum verdict { PASS, FAIL_BEFORE, FAIL_AFTER };

static enum verdict enter(struct store_fault *fault)
{
	fault->calls++;
	if (fault->dead)
		return FAIL_BEFORE;
	if (fault->countdown == 0 || --fault->countdown > 0)
		return PASS;
	fault->fired = true;
	return fault->when == STORE_FAULT_BEFORE ? FAIL_BEFORE : FAIL_AFTER;
}

static int fail(struct store_fault *fault, struct error *reterr)
{
	bool dies = fault->how == STORE_FAULT_DIE && !fault->dead;

	if (dies) {
		fault->dead = true;
		if (fault->on_death)
			fault->on_death(fault->data);
	}
	return error_set(reterr, ERROR_STORE, "The store failed on purpose at call %u (store_fault)",
			 fault->calls);
}

/* The one shape of all reads: @call is made unless the fault comes before it. */
#define AROUND(fault, call)                                                                                  \
	do {                                                                                                 \
		enum verdict verdict = enter(fault);                                                         \
		int result = verdict == FAIL_BEFORE ? 0 : (call);                                            \
                                                                                                             \
		return verdict == PASS ? result : fail(fault, reterr);                                       \
	} while (0)

/* Into copies, whatever comes of it: a caller who is not told learns no new revision. */
static void write_untold(struct store_fault *fault, const struct store_write *writes, size_t count)
{
	struct store_write *copies = calloc(count, sizeof(*copies));
	struct change *changes = calloc(count, sizeof(*changes));

	if (!copies || !changes)
		abort();
	for (size_t i = 0; i < count; i++) {
		changes[i] = *writes[i].change;
		copies[i] = writes[i];
		copies[i].change = &changes[i];
	}
	store_write(fault->inner, copies, count);
	free(changes);
	free(copies);
}

/* A batch is one call: one transaction. */
static void fault_write(struct store *store, struct store_write *writes, size_t count)
{
	struct store_fault *fault = fault_of(store);
	enum verdict verdict = enter(fault);
	struct error error;

	if (verdict == PASS) {
		store_write(fault->inner, writes, count);
		return;
	}
	if (verdict == FAIL_AFTER)
		write_untold(fault, writes, count);
	fail(fault, &error);
	for (size_t i = 0; i < count; i++) {
		writes[i].result = -1;
		writes[i].error = error;
	}
}

static int fault_list(struct store *store, const struct store_filter *filter, struct arena *arena,
		      struct change **ret, size_t *ret_count, struct error *reterr)
{
	AROUND(fault_of(store), store_list(fault_of(store)->inner, filter, arena, ret, ret_count, reterr));
}

static int fault_history(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
			 struct history_entry **ret, size_t *ret_count, struct error *reterr)
{
	AROUND(fault_of(store),
	       store_history(fault_of(store)->inner, cluster, uuid, arena, ret, ret_count, reterr));
}

static int fault_live(struct store *store, const char *cluster, int64_t cancelled_since_ms,
		      struct arena *arena, struct live *ret, struct error *reterr)
{
	AROUND(fault_of(store),
	       store_live(fault_of(store)->inner, cluster, cancelled_since_ms, arena, ret, reterr));
}

static int fault_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms,
		       struct lease *ret, struct error *reterr)
{
	AROUND(fault_of(store), store_lease(fault_of(store)->inner, scope, owner, for_ms, ret, reterr));
}

static void fault_release(struct store *store, const char *scope, const char *owner)
{
	struct store_fault *fault = fault_of(store);
	enum verdict verdict = enter(fault);

	if (verdict != FAIL_BEFORE)
		store_release(fault->inner, scope, owner);
	if (verdict != PASS)
		fail(fault, NULL);
}

static int fault_check(struct store *store, char *ret, struct error *reterr)
{
	AROUND(fault_of(store), store_check(fault_of(store)->inner, ret, reterr));
}

static void fault_close(struct store *store)
{
	store_close(fault_of(store)->inner);
	free(store);
}

static const struct store_ops fault_ops = {
	.scheme = "fault",
	.write = fault_write,
	.list = fault_list,
	.history = fault_history,
	.live = fault_live,
	.lease = fault_lease,
	.release = fault_release,
	.check = fault_check,
	.close = fault_close,
};

int store_fault_wrap(struct store *inner, struct store **ret)
{
	struct store_fault *fault = calloc(1, sizeof(*fault));

	if (!fault)
		abort();
	fault->base.ops = &fault_ops;
	fault->base.url = strdup(store_url(inner));
	if (!fault->base.url)
		abort();
	fault->inner = inner;
	*ret = &fault->base;
	return 0;
}

void store_fault_arm(struct store *store, unsigned n, enum store_fault_when when, enum store_fault_how how,
		     void (*on_death)(void *data), void *data)
{
	struct store_fault *fault = fault_of(store);

	assert(store->ops == &fault_ops);
	fault->countdown = n;
	fault->when = when;
	fault->how = how;
	fault->on_death = on_death;
	fault->data = data;
	fault->fired = false;
}

unsigned store_fault_calls(const struct store *store)
{
	return ((const struct store_fault *)store)->calls;
}

bool store_fault_fired(const struct store *store)
{
	return ((const struct store_fault *)store)->fired;
}

int store_fault_restart(struct store *store, struct error *reterr)
{
	struct store_fault *fault = fault_of(store);
	struct store *next = NULL;
	int result;

	/* First close: the leases of the dead must be free before anybody asks. */
	fault->inner = store_close(fault->inner);
	result = store_open(&(struct store_config){ .url = store->url }, &next, reterr);
	fault->inner = next;
	fault->calls = 0;
	fault->countdown = 0;
	fault->fired = false;
	/* Without an inner store nothing can be asked of it. */
	fault->dead = result != 0;
	return result;
}
