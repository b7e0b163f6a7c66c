#include "mysql_private.h"

#include <stdio.h>

#include "store_sql.h"

#define LEASE_MAX_MS ((int64_t)366 * 24 * 3600 * 1000) /* a DATETIME has room for it */

/*
 * A lease is a row of ddl_lock with an end. The row is locked first, and only then does a second statement
 * ask for the time: that of the first would be of before it waited. A row that is locked by another
 * transaction belongs to somebody who is alive, so it is not waited for.
 *
 * The epoch grows with every taking. The greatest one seen by this handle is remembered: after a fail-over
 * to a replica that lagged behind, the row may carry a lower one, under which old writes would be accepted.
 * Another handle, which has not seen it, may then take the lease under the very epoch that this one had: so
 * whose the lease is, is remembered too, and a write that announces an effect is made under our own row only.
 */

struct mystore_lease {
	struct mystore_lease *next;
	int64_t epoch; /* the greatest seen; 0: none */
	char owner[ACTOR_MAX + 1]; /* for whom it was taken last; "": another has it, or nobody */
	char scope[];
};

static struct mystore_lease *lease_find(struct mystore *store, const char *scope)
{
	size_t length = strlen(scope) + 1;
	struct mystore_lease *lease;

	for (lease = store->leases; lease; lease = lease->next)
		if (strcmp(lease->scope, scope) == 0)
			return lease;
	lease = calloc(1, sizeof(*lease) + length);
	if (!lease)
		abort();
	memcpy(lease->scope, scope, length);
	lease->next = store->leases;
	store->leases = lease;
	return lease;
}

bool mystore_lease_is_ours(struct mystore *store, const char *scope, const char *holder)
{
	const struct mystore_lease *lease = lease_find(store, scope);

	return lease->owner[0] && strcmp(lease->owner, holder) == 0;
}

void mystore_leases_free(struct mystore *store)
{
	while (store->leases) {
		struct mystore_lease *next = store->leases->next;

		free(store->leases);
		store->leases = next;
	}
}

/* ---- The row ---- */

/* Return: 1; 0 there is no row; CONNECTION_LOCKED and the like; negative. */
static int row_run(struct mystore *store, const char *sql, const char *scope, struct error *reterr)
{
	struct mystore_values values = { 0 };
	int result;

	mystore_add(&values, sql_text("scope", scope));
	result = mystore_run(store, sql, &values, reterr);
	return result == 0 ? mystore_next(store, reterr) : result;
}

/* Microseconds of DATETIME to whole milliseconds that are certainly left. */
static int64_t left_ms(int64_t left_us)
{
	return left_us >= 0 ? left_us / 1000 : -((999 - left_us) / 1000);
}

static int row_find(struct mystore *store, const char *scope, struct lease *ret, struct error *reterr)
{
	int result = row_run(store, sql_mysql_lock_find, scope, reterr);

	if (result != 1)
		return result;
	snprintf(ret->holder, sizeof(ret->holder), "%s", mystore_string(store, 0));
	ret->epoch = mystore_number(store, 1);
	ret->left_ms = left_ms(mystore_number(store, 2));
	return 1;
}

/* The gap where the row will be is not kept locked over this. Return: 0; negative. */
static int row_add(struct mystore *store, const char *scope, struct error *reterr)
{
	struct mystore_values values = { 0 };
	int result;

	mystore_rollback(store);
	mystore_add(&values, sql_text("scope", scope));
	result = mystore_begin(store, MYSTORE_WRITE, reterr);
	if (result == 0)
		result = mystore_run(store, sql_mysql_lock_add, &values, reterr);
	if (result == 0)
		result = mystore_commit(store, reterr);
	else
		mystore_rollback(store);
	/* Another one is making it just now: then it is there in a moment. */
	return result < 0 ? result : mystore_begin(store, MYSTORE_WRITE, reterr);
}

static int row_take(struct mystore *store, const char *scope, const char *owner, int64_t epoch,
		    int64_t for_ms, struct error *reterr)
{
	struct mystore_values values = { 0 };

	mystore_add(&values, sql_text("scope", scope));
	mystore_add(&values, sql_bytes("owner", owner));
	mystore_add(&values, sql_i64("epoch", epoch));
	mystore_add(&values, sql_i64("for_us", for_ms * 1000));
	return mystore_run(store, sql_mysql_lock_take, &values, reterr);
}

/* ---- Taking ---- */

static int64_t epoch_for(const struct mystore_lease *lease, const struct lease *found, const char *owner)
{
	/* Ours, also after its end, as long as nobody took it and the row did not go back in time. */
	if (strcmp(found->holder, owner) == 0 && found->epoch == lease->epoch && found->epoch > 0)
		return found->epoch;
	return lease->epoch + 1;
}

/* In a transaction. Return: 0; STORE_HELD, *ret is the other's; CONNECTION_LOCKED and the like; negative. */
static int lease_take(struct mystore *store, const char *scope, const char *owner, int64_t for_ms,
		      struct lease *ret, struct error *reterr)
{
	struct mystore_lease *lease = lease_find(store, scope);
	int64_t epoch;
	int result = row_run(store, sql_mysql_lock_lock, scope, reterr);

	if (result == 0) {
		result = row_add(store, scope, reterr);
		if (result == 0)
			result = row_run(store, sql_mysql_lock_lock, scope, reterr);
		if (result == 0)
			result = CONNECTION_LOCKED;
	}
	if (result != 1)
		return result;
	result = row_find(store, scope, ret, reterr);
	if (result != 1)
		return result ? result : CONNECTION_LOCKED;
	if (lease->epoch < ret->epoch)
		lease->epoch = ret->epoch;
	lease->owner[0] = '\0';
	if (ret->holder[0] && ret->left_ms > 0 && strcmp(ret->holder, owner) != 0)
		return STORE_HELD;
	epoch = epoch_for(lease, ret, owner);
	result = row_take(store, scope, owner, epoch, for_ms, reterr);
	if (result == 0)
		result = mystore_commit(store, reterr);
	if (result != 0)
		return result;
	lease->epoch = epoch;
	snprintf(lease->owner, sizeof(lease->owner), "%s", owner);
	ret->epoch = epoch;
	ret->left_ms = for_ms;
	snprintf(ret->holder, sizeof(ret->holder), "%s", owner);
	return 0;
}

/* Somebody has the row locked: who holds it is read as it was last committed. */
static int lease_look(struct mystore *store, const char *scope, struct lease *ret, struct error *reterr)
{
	int result = mystore_begin(store, MYSTORE_READ, reterr);

	if (result == 0)
		result = row_find(store, scope, ret, reterr);
	mystore_rollback(store);
	if (result < 0)
		return result;
	return result <= 1 ? STORE_HELD : mystore_busy_fail(store, result, reterr);
}

int mystore_lease(struct store *base, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
		  struct error *reterr)
{
	struct mystore *store = mystore_of(base);
	int result;

	if (store->read_only)
		return error_set(
			reterr, ERROR_BUG,
			"A lease was asked for in %s, which was opened only to read; this is a bug of vtddl",
			store->name);
	*ret = (struct lease){ 0 };
	for_ms = for_ms < 0 ? 0 : for_ms > LEASE_MAX_MS ? LEASE_MAX_MS : for_ms;
	result = mystore_begin(store, MYSTORE_WRITE, reterr);
	if (result == 0)
		result = lease_take(store, scope, owner, for_ms, ret, reterr);
	if (result == 0)
		return 0;
	mystore_rollback(store);
	if (result == CONNECTION_LOCKED || result == CONNECTION_DEADLOCK)
		return lease_look(store, scope, ret, reterr);
	if (result < 0 || result == STORE_HELD)
		return result;
	return mystore_busy_fail(store, result, reterr);
}

void mystore_release(struct store *base, const char *scope, const char *owner)
{
	struct mystore *store = mystore_of(base);
	struct mystore_values values = { 0 };
	struct error err = { 0 };

	if (store->read_only)
		return;
	mystore_add(&values, sql_text("scope", scope));
	mystore_add(&values, sql_bytes("owner", owner));
	if (mystore_begin(store, MYSTORE_WRITE, &err) != 0)
		return;
	/* Where this fails the lease ends by itself. */
	if (mystore_run(store, sql_mysql_lock_release, &values, &err) != 0 ||
	    mystore_commit(store, &err) != 0)
		mystore_rollback(store);
}
