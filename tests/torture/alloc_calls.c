/*
 * Every call of the simulator into what ships (the linker's --wrap=NAME turns NAME() into __wrap_NAME()). Of a dead
 * process every call says nothing.
 */
#include "alloc.h"
#include "vtddl/engine.h"

#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name

_Noreturn void WRAP(abort)(void);
_Noreturn void WRAP(abort)(void)
{
	alloc_abort();
}

/* @type of the result, what the dead say, the names of the arguments. */
#define CALL(type, dead_says, name, parameters, ...)                   \
	type REAL(name) parameters;                                    \
	type WRAP(name) parameters;                                    \
	type WRAP(name) parameters                                     \
	{                                                              \
		struct alloc_call call;                                \
		type result;                                           \
                                                                       \
		if (alloc_process_is_dead())                           \
			return dead_says;                              \
		if (!alloc_enter(&call))                               \
			return REAL(name)(__VA_ARGS__);                \
		if (setjmp(call.place))                                \
			return dead_says;                              \
		result = REAL(name)(__VA_ARGS__);                      \
		alloc_leave();                                         \
		return result;                                         \
	}

/* What the dead do: a statement. */
#define VOID_CALL(dead_do, name, parameters, ...)                      \
	void REAL(name) parameters;                                    \
	void WRAP(name) parameters;                                    \
	void WRAP(name) parameters                                     \
	{                                                              \
		struct alloc_call call;                                \
                                                                       \
		if (alloc_process_is_dead()) {                         \
			dead_do;                                       \
			return;                                        \
		}                                                      \
		if (!alloc_enter(&call)) {                             \
			REAL(name)(__VA_ARGS__);                       \
			return;                                        \
		}                                                      \
		if (setjmp(call.place)) {                              \
			dead_do;                                       \
			return;                                        \
		}                                                      \
		REAL(name)(__VA_ARGS__);                               \
		alloc_leave();                                         \
	}

static const struct view nothing_to_see;

CALL(struct engine *, NULL, engine_new, (const struct engine_config *config, int64_t now_ms, int64_t wall_ms), config,
     now_ms, wall_ms)
CALL(struct engine *, NULL, engine_free, (struct engine * engine), engine)
CALL(int, 0, engine_add, (struct engine * engine, const struct ask *ask, unsigned *ret_id, struct error *reterr), engine,
     ask, ret_id, reterr)
VOID_CALL((void)0, engine_advance, (struct engine * engine, int64_t now_ms, int64_t wall_ms), engine, now_ms, wall_ms)
CALL(int64_t, INT64_MAX, engine_wake_ms, (const struct engine *engine), engine)
CALL(bool, false, engine_next, (struct engine * engine, struct request *ret), engine, ret)
VOID_CALL((void)0, engine_reply, (struct engine * engine, const struct reply *reply), engine, reply)
VOID_CALL((void)0, engine_stop, (struct engine * engine), engine)
CALL(bool, false, engine_is_idle, (const struct engine *engine), engine)
CALL(const struct view *, &nothing_to_see, engine_view, (struct engine * engine, unsigned id), engine, id)

CALL(int, -1, store_open, (const struct store_config *config, struct store **ret, struct error *reterr), config, ret,
     reterr)
CALL(int, -1, store_lease, (struct store * store, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
     struct error *reterr), store, scope, owner, for_ms, ret, reterr)
VOID_CALL((void)0, store_release, (struct store * store, const char *scope, const char *owner), store, scope, owner)

/* Whatever became of it, nothing was told: no caller may take it for written. */
static void tell_nothing(struct store_write *writes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		writes[i].result = -1;
}

VOID_CALL(tell_nothing(writes, count), store_write, (struct store * store, struct store_write *writes, size_t count), store,
	  writes, count)

/* These are the test's own too. */

struct store *REAL(store_close)(struct store *store);
struct store *WRAP(store_close)(struct store *store);
struct store *WRAP(store_close)(struct store *store)
{
	struct alloc_call call;

	if (alloc_is_watch(store) || !store)
		return REAL(store_close)(store);
	if (alloc_process_is_dead() || !alloc_enter(&call) || setjmp(call.place))
		return NULL;
	store = REAL(store_close)(store);
	alloc_leave();
	return store;
}

int REAL(store_list)(struct store *store, const struct store_filter *filter, struct arena *arena, struct change **ret,
		     size_t *ret_count, struct error *reterr);
int WRAP(store_list)(struct store *store, const struct store_filter *filter, struct arena *arena, struct change **ret,
		     size_t *ret_count, struct error *reterr);
int WRAP(store_list)(struct store *store, const struct store_filter *filter, struct arena *arena, struct change **ret,
		     size_t *ret_count, struct error *reterr)
{
	struct alloc_call call;
	int result;

	if (alloc_is_watch(store))
		return REAL(store_list)(store, filter, arena, ret, ret_count, reterr);
	if (alloc_process_is_dead() || !alloc_enter(&call) || setjmp(call.place))
		return -1;
	result = REAL(store_list)(store, filter, arena, ret, ret_count, reterr);
	alloc_leave();
	return result;
}
