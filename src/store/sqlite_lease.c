#include "sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_sql.h"
#include "vtddl/clock.h"

/*
 * A lease is a lock of the kernel on one byte of PATH-lock, by open file description: it is
 * gone the moment its process is, however that ended. The epoch in ddl_lock grows with every
 * taking, in the same transaction that looked at the lock; the compare-and-set of store_update()
 * is what makes an old holder harmless, the lock only saves work.
 *
 * PATH-lock is never deleted: two holders could each have one of that name.
 */

struct sqlite_lease {
	struct sqlite_lease *next;
	int64_t id; /* row of ddl_lock and byte of the lock file */
	int64_t epoch;
	bool held;
	char owner[ACTOR_MAX + 1]; /* while it is held */
	char scope[];
};

static struct sqlite_lease *lease_find(struct sqlite_store *store, const char *scope)
{
	for (struct sqlite_lease *lease = store->leases; lease; lease = lease->next)
		if (strcmp(lease->scope, scope) == 0)
			return lease;
	return NULL;
}

static struct sqlite_lease *lease_add(struct sqlite_store *store, const char *scope)
{
	size_t length = strlen(scope) + 1;
	struct sqlite_lease *lease = calloc(1, sizeof(*lease) + length);

	if (!lease)
		abort();
	memcpy(lease->scope, scope, length);
	lease->next = store->leases;
	store->leases = lease;
	return lease;
}

/* ---- The lock file ---- */

static int lock_path(const struct sqlite_store *store, char **ret)
{
	if (asprintf(ret, "%s-lock", store->path) < 0) /* GCOVR_EXCL_BR_LINE: test_alloc fails it */
		abort();
	return 0;
}

static int lock_fail(const struct sqlite_store *store, const char *what, struct error *reterr)
{
	return error_set_detail(
		reterr, ERROR_STORE, errno,
		"Cannot take a lease: the lock file %s-lock %s (%s); it must be a plain file that this user"
		" may write, beside the store",
		store->path, what, strerror(errno));
}

static void lock_close(struct sqlite_store *store)
{
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	store->lock_fd = -1;
	for (struct sqlite_lease *lease = store->leases; lease; lease = lease->next)
		lease->held = false;
}

/* False: somebody deleted or replaced the file, and our locks are on a file that nobody sees. */
static bool lock_is_current(const struct sqlite_store *store)
{
	struct stat ours, named;
	char *path;
	bool same;

	lock_path(store, &path);
	same = fstat(store->lock_fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
	       ours.st_ino == named.st_ino;
	free(path);
	return same;
}

static int lock_open(struct sqlite_store *store, struct error *reterr)
{
	struct stat st;
	char *path;

	if (store->lock_fd >= 0 && !lock_is_current(store))
		lock_close(store);
	if (store->lock_fd >= 0)
		return 0;
	lock_path(store, &path);
	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	free(path);
	if (store->lock_fd < 0)
		return lock_fail(store, "cannot be opened", reterr);
	if (fstat(store->lock_fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		lock_fail(store, "is not a plain file", reterr);
		lock_close(store);
		return -1;
	}
	return 0;
}

/* Return: 0; STORE_HELD; negative. */
static int lock_byte(struct sqlite_store *store, int64_t id, short type, struct error *reterr)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = id, .l_len = 1 };

	if (fcntl(store->lock_fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return STORE_HELD;
	return lock_fail(store, "cannot be locked", reterr);
}

/* ---- Taking ---- */

/* Whether what we hold is still ours. Without this a lost lock file, or a store put back from a
 * backup, would leave two leaders that both believe in themselves. */
static int lease_is_current(struct sqlite_store *store, const struct sqlite_lease *lease,
			    struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = NULL;

	if (!lock_is_current(store))
		return 0;
	stmt = sqlite_statement(store, sql_lock_epoch, reterr);
	if (!stmt)
		return -1;
	sqlite_bind_i64(stmt, "id", lease->id);
	sqlite_bind_text(stmt, "scope", lease->scope);
	sqlite_bind_i64(stmt, "epoch", lease->epoch);
	return sqlite_run(store, stmt, reterr);
}

/* The row, made if it is missing; epoch and holder of whoever had it last. */
static int lock_row_find(struct sqlite_store *store, const char *scope, int64_t *ret_id, struct lease *ret,
			 struct error *reterr)
{
	cleanup_use sqlite3_stmt *add = sqlite_statement(store, sql_lock_add, reterr);
	cleanup_use sqlite3_stmt *find = NULL;
	int result;

	if (!add)
		return -1;
	sqlite_bind_text(add, "scope", scope);
	result = sqlite_run(store, add, reterr);
	if (result < 0)
		return result;
	find = sqlite_statement(store, sql_lock_find, reterr);
	if (!find)
		return -1;
	sqlite_bind_text(find, "scope", scope);
	result = sqlite_run(store, find, reterr);
	if (result < 0)
		return result;
	assert(result == 1);
	*ret_id = sqlite3_column_int64(find, 0);
	ret->epoch = sqlite3_column_int64(find, 2);
	ret->left_ms = LEASE_NO_END;
	snprintf(ret->holder, sizeof(ret->holder), "%s", (const char *)sqlite3_column_text(find, 1));
	return 0;
}

static int lock_row_take(struct sqlite_store *store, struct sqlite_lease *lease, const char *owner,
			 int64_t *ret_epoch, struct error *reterr)
{
	cleanup_use sqlite3_stmt *stmt = sqlite_statement(store, sql_lock_take, reterr);
	int result;

	if (!stmt)
		return -1;
	sqlite_bind_text(stmt, "scope", lease->scope);
	sqlite_bind_text(stmt, "owner", owner);
	sqlite_bind_i64(stmt, "epoch", lease->epoch);
	sqlite_bind_i64(stmt, "taken_at_ms", clock_wall_ms());
	result = sqlite_run(store, stmt, reterr);
	if (result < 0)
		return result;
	assert(result == 1);
	*ret_epoch = sqlite3_column_int64(stmt, 2);
	return 0;
}

static void lease_describe(const struct sqlite_lease *lease, struct lease *ret)
{
	ret->epoch = lease->epoch;
	ret->left_ms = LEASE_NO_END;
	snprintf(ret->holder, sizeof(ret->holder), "%s", lease->owner);
}

/* In a write transaction, so the row cannot change between the look at the lock and the epoch. */
static int lease_take(struct sqlite_store *store, struct sqlite_lease *lease, const char *owner,
		      struct lease *ret, struct error *reterr)
{
	int64_t id = 0, epoch = 0;
	int result = sqlite_begin(store, true, reterr);

	if (result < 0)
		return result;
	result = lock_row_find(store, lease->scope, &id, ret, reterr);
	if (result == 0)
		result = lock_byte(store, id, F_WRLCK, reterr);
	if (result != 0) {
		sqlite_rollback(store);
		return result;
	}
	result = lock_row_take(store, lease, owner, &epoch, reterr);
	if (result == 0)
		result = sqlite_commit(store, reterr);
	if (result < 0) {
		sqlite_rollback(store);
		lock_byte(store, id, F_UNLCK, NULL);
		return result;
	}
	lease->id = id;
	lease->epoch = epoch;
	lease->held = true;
	snprintf(lease->owner, sizeof(lease->owner), "%s", owner);
	lease_describe(lease, ret);
	return 0;
}

static void lease_drop(struct sqlite_store *store, struct sqlite_lease *lease)
{
	lock_byte(store, lease->id, F_UNLCK, NULL);
	lease->held = false;
}

int sqlite_lease(struct store *base, const char *scope, const char *owner, int64_t for_ms, struct lease *ret,
		 struct error *reterr)
{
	struct sqlite_store *store = sqlite_store_of(base);
	struct sqlite_lease *lease = lease_find(store, scope);
	int result;

	(void)for_ms; /* a lock has no end of its own */
	if (store->read_only)
		return error_set(reterr, ERROR_BUG,
				 "A lease was asked for in the store %s, which was opened only to read; this "
				 "is a bug of vtddl",
				 store->path);
	if (!lease)
		lease = lease_add(store, scope);
	if (lease->held) {
		result = lease_is_current(store, lease, reterr);
		if (result < 0)
			return result;
		if (result == 1) {
			lease_describe(lease, ret);
			return strcmp(lease->owner, owner) == 0 ? 0 : STORE_HELD;
		}
		lease_drop(store, lease);
	}
	result = lock_open(store, reterr);
	if (result == 0)
		result = lease_take(store, lease, owner, ret, reterr);
	return result;
}

void sqlite_release(struct store *base, const char *scope, const char *owner)
{
	struct sqlite_store *store = sqlite_store_of(base);
	struct sqlite_lease *lease = lease_find(store, scope);

	if (lease && lease->held && strcmp(lease->owner, owner) == 0)
		lease_drop(store, lease);
}

/* ---- Looking ---- */

int sqlite_locks_open(struct sqlite_store *store, int *ret, struct error *reterr)
{
	char *path;
	int result = 0;

	lock_path(store, &path);
	/* A description of its own: it meets our own locks like those of anybody else. */
	*ret = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*ret < 0 && errno != ENOENT)
		result = lock_fail(store, "cannot be opened", reterr);
	free(path);
	return result;
}

int sqlite_lock_is_held(struct sqlite_store *store, int fd, int64_t id, bool *ret, struct error *reterr)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = id, .l_len = 1 };

	*ret = false;
	if (fd < 0) /* no file: nobody ever took a lease */
		return 0;
	if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
		return lock_fail(store, "cannot be looked at", reterr);
	*ret = lock.l_type != F_UNLCK;
	return 0;
}

void sqlite_leases_free(struct sqlite_store *store)
{
	lock_close(store);
	while (store->leases) {
		struct sqlite_lease *next = store->leases->next;

		free(store->leases);
		store->leases = next;
	}
}
