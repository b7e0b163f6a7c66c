#include "store_disk_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR_OF_SQLITE 4096 /* as its own VFS says for a disk that spares the neighbours of a write */

struct handle {
	sqlite3_file base;
	struct handle *next;
	struct file *file;
	int lock;
	bool watches, buried, is_temporary;
};

static sqlite3_vfs vfs;
static struct handle *handles;
static disk_judge_fn *judge_fn;
static void *judge_user;
static bool watching, dead;
static bool last_watches; /* of the handle that did something last: its journal is its own */
static unsigned fired[_DISK_OP_MAX][_DISK_FAULT_MAX];

/* ---- What happens to an operation. ---- */

bool disk_fault_fits(enum disk_fault fault, enum disk_op op)
{
	bool changes = op == DISK_WRITE || op == DISK_TRUNCATE || op == DISK_SYNC || op == DISK_DELETE;

	switch (fault) {
	case DISK_SHORT:
		return op == DISK_READ || op == DISK_WRITE;
	case DISK_LATE_ERROR:
		return changes;
	case DISK_FULL:
		return op == DISK_WRITE || op == DISK_TRUNCATE || op == DISK_OPEN;
	case DISK_BUSY:
		return op == DISK_LOCK;
	case DISK_DIE_HALF:
		return op == DISK_WRITE;
	case DISK_DIE_AFTER:
		return changes || op == DISK_OPEN;
	default:
		return true;
	}
}

static const char *const op_names[] = { "open", "read", "write", "truncate", "sync", "size", "lock", "access", "delete" };
static const char *const fault_names[] = { "well", "error", "short", "late-error", "full", "busy",
					   "die-before", "die-half", "die-after" };

const char *disk_op_name(enum disk_op op)
{
	return op_names[op];
}

const char *disk_fault_name(enum disk_fault fault)
{
	return fault_names[fault];
}

unsigned disk_fired(enum disk_op op, enum disk_fault fault)
{
	return fired[op][fault];
}

/* Return: what is left to be done; DISK_ERROR for the dead. */
static enum disk_fault judge(enum disk_op op, bool watches)
{
	enum disk_fault fault;

	last_watches = watches;
	if (watches)
		return DISK_WELL;
	if (dead)
		return DISK_ERROR;
	fault = judge_fn ? judge_fn(op, judge_user) : DISK_WELL;
	if (!disk_fault_fits(fault, op))
		return DISK_WELL;
	fired[op][fault]++;
	dead |= fault == DISK_DIE_BEFORE || fault == DISK_DIE_HALF || fault == DISK_DIE_AFTER;
	return fault == DISK_DIE_BEFORE ? DISK_ERROR : fault;
}

static bool is_late(enum disk_fault fault)
{
	return fault == DISK_LATE_ERROR || fault == DISK_DIE_AFTER;
}

#define HANDLE(sqlite_file) ((struct handle *)(sqlite_file))
#define JUDGE(op, handle) ((handle)->buried ? DISK_ERROR : judge(op, (handle)->watches))

/* ---- SQLite's calls: a file. ---- */

static int io_close(sqlite3_file *base)
{
	struct handle *handle = HANDLE(base);

	if (handle->buried)
		return SQLITE_OK;
	for (struct handle **at = &handles; *at; at = &(*at)->next)
		if (*at == handle) {
			*at = handle->next;
			break;
		}
	file_drop(handle->file);
	return SQLITE_OK;
}

static int io_read(sqlite3_file *base, void *bytes, int size, sqlite3_int64 offset)
{
	struct handle *handle = HANDLE(base);
	const struct content *content;
	enum disk_fault fault = JUDGE(DISK_READ, handle);
	size_t there, at = (size_t)offset;

	if (fault == DISK_ERROR)
		return SQLITE_IOERR_READ;
	content = &handle->file->seen;
	there = at < content->size ? content->size - at : 0;
	there = there < (size_t)size ? there : (size_t)size;
	if (fault == DISK_SHORT) {
		memcpy(bytes, content->bytes + at, there / 2);
		return SQLITE_IOERR_READ;
	}
	if (there)
		memcpy(bytes, content->bytes + at, there);
	memset((char *)bytes + there, 0, (size_t)size - there);
	return there == (size_t)size ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int io_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset)
{
	struct handle *handle = HANDLE(base);
	enum disk_fault fault = JUDGE(DISK_WRITE, handle);
	size_t length = (size_t)size;

	if (fault == DISK_ERROR)
		return SQLITE_IOERR_WRITE;
	if (fault == DISK_FULL)
		return SQLITE_FULL;
	if (fault == DISK_SHORT || fault == DISK_DIE_HALF)
		length /= 2;
	content_write(&handle->file->seen, bytes, (size_t)offset, length);
	pending_add(handle->file, bytes, (size_t)offset, length);
	return fault == DISK_WELL ? SQLITE_OK : SQLITE_IOERR_WRITE;
}

static int io_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct handle *handle = HANDLE(base);
	enum disk_fault fault = JUDGE(DISK_TRUNCATE, handle);

	if (fault == DISK_ERROR || fault == DISK_FULL)
		return fault == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_TRUNCATE;
	content_size(&handle->file->seen, (size_t)size);
	pending_add(handle->file, NULL, (size_t)size, 0);
	return fault == DISK_WELL ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int io_sync(sqlite3_file *base, int flags)
{
	struct handle *handle = HANDLE(base);
	enum disk_fault fault = JUDGE(DISK_SYNC, handle);

	(void)flags;
	if (handle->buried || (dead && fault == DISK_ERROR))
		return SQLITE_IOERR_FSYNC;
	/* The kernel marks them clean all the same. */
	if (fault == DISK_ERROR || fault == DISK_LATE_ERROR) {
		file_flush(handle->file, fault == DISK_ERROR ? DISK_LOSE_ALL : DISK_LOSE_SOME);
		return SQLITE_IOERR_FSYNC;
	}
	file_flush(handle->file, DISK_LOSE_NONE);
	if (handle->file->syncs_folder)
		folder_sync();
	handle->file->syncs_folder = false;
	return fault == DISK_WELL ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

static int io_size(sqlite3_file *base, sqlite3_int64 *ret)
{
	struct handle *handle = HANDLE(base);

	if (JUDGE(DISK_SIZE, handle) != DISK_WELL)
		return SQLITE_IOERR_FSTAT;
	*ret = (sqlite3_int64)handle->file->seen.size;
	return SQLITE_OK;
}

static int highest_lock_of_others(const struct handle *handle)
{
	int highest = SQLITE_LOCK_NONE;

	for (const struct handle *other = handles; other; other = other->next)
		if (other != handle && other->file == handle->file && other->lock > highest)
			highest = other->lock;
	return highest;
}

static int io_lock(sqlite3_file *base, int level)
{
	struct handle *handle = HANDLE(base);
	enum disk_fault fault = JUDGE(DISK_LOCK, handle);
	int others;

	if (fault != DISK_WELL)
		return fault == DISK_BUSY ? SQLITE_BUSY : SQLITE_IOERR_LOCK;
	if (level <= handle->lock)
		return SQLITE_OK;
	others = highest_lock_of_others(handle);
	if (level == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING)
		return SQLITE_BUSY;
	if (level >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED)
		return SQLITE_BUSY;
	if (level == SQLITE_LOCK_EXCLUSIVE && others > SQLITE_LOCK_NONE) {
		handle->lock = SQLITE_LOCK_PENDING;
		return SQLITE_BUSY;
	}
	handle->lock = level;
	return SQLITE_OK;
}

static int io_unlock(sqlite3_file *base, int level)
{
	struct handle *handle = HANDLE(base);

	if (handle->lock > level)
		handle->lock = level;
	return SQLITE_OK;
}

static int io_is_reserved(sqlite3_file *base, int *ret)
{
	struct handle *handle = HANDLE(base);
	enum disk_fault fault = JUDGE(DISK_LOCK, handle);

	if (fault == DISK_ERROR)
		return SQLITE_IOERR_CHECKRESERVEDLOCK;
	*ret = fault == DISK_BUSY || handle->lock >= SQLITE_LOCK_RESERVED ||
	       highest_lock_of_others(handle) >= SQLITE_LOCK_RESERVED;
	return SQLITE_OK;
}

static int io_control(sqlite3_file *base, int operation, void *argument)
{
	struct handle *handle = HANDLE(base);

	if (operation != SQLITE_FCNTL_HAS_MOVED)
		return SQLITE_NOTFOUND;
	*(int *)argument = !handle->buried && !handle->is_temporary && !file_has_a_name(handle->file);
	return SQLITE_OK;
}

static int io_sector_size(sqlite3_file *base)
{
	(void)base;
	return SECTOR_OF_SQLITE;
}

static int io_characteristics(sqlite3_file *base)
{
	(void)base;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = io_close,
	.xRead = io_read,
	.xWrite = io_write,
	.xTruncate = io_truncate,
	.xSync = io_sync,
	.xFileSize = io_size,
	.xLock = io_lock,
	.xUnlock = io_unlock,
	.xCheckReservedLock = io_is_reserved,
	.xFileControl = io_control,
	.xSectorSize = io_sector_size,
	.xDeviceCharacteristics = io_characteristics,
};

/* ---- SQLite's calls: the disk. ---- */

static int vfs_open(sqlite3_vfs *self, const char *text, sqlite3_file *base, int flags, int *ret_flags)
{
	struct handle *handle = HANDLE(base);
	bool is_main = flags & SQLITE_OPEN_MAIN_DB, makes = flags & SQLITE_OPEN_CREATE;
	struct name *name = text ? name_find(text, true) : NULL;
	enum disk_fault fault = judge(DISK_OPEN, is_main ? watching : last_watches);

	(void)self;
	*handle = (struct handle){ 0 };
	if (fault == DISK_ERROR)
		return SQLITE_CANTOPEN;
	if (name && name_is_real(text) && access(text, F_OK) != 0)
		name_set(name, NULL); /* somebody removed it */
	makes |= text && name_is_real(text) && access(text, F_OK) == 0;
	if (name && !name->seen && !makes)
		return SQLITE_CANTOPEN;
	if ((!name || !name->seen) && fault == DISK_FULL)
		return SQLITE_FULL;
	if (!name || !name->seen) {
		handle->file = disk_memory(NULL, sizeof(*handle->file));
		handle->file->syncs_folder = text && !is_main;
		if (name)
			name_set(name, handle->file);
	}
	handle->file = file_ref(name ? name->seen : handle->file);
	handle->watches = last_watches;
	handle->is_temporary = !name;
	handle->next = handles;
	handles = handle;
	base->pMethods = &methods;
	if (ret_flags)
		*ret_flags = flags;
	return fault == DISK_DIE_AFTER ? SQLITE_CANTOPEN : SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *self, const char *text, int sync_folder)
{
	enum disk_fault fault = judge(DISK_DELETE, last_watches);
	struct name *name = name_find(text, true);

	(void)self;
	if (fault == DISK_ERROR)
		return SQLITE_IOERR_DELETE;
	if (!name->seen)
		return SQLITE_IOERR_DELETE_NOENT;
	name_set(name, NULL);
	if (is_late(fault))
		return SQLITE_IOERR_DIR_FSYNC;
	if (sync_folder)
		folder_sync();
	return SQLITE_OK;
}

/* As SQLite's own: an empty file is none. */
static int vfs_access(sqlite3_vfs *self, const char *text, int flags, int *ret)
{
	const struct name *name = name_find(text, false);

	(void)self;
	(void)flags;
	if (judge(DISK_ACCESS, last_watches) != DISK_WELL)
		return SQLITE_IOERR_ACCESS;
	*ret = name && name->seen && name->seen->seen.size > 0;
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *self, const char *text, int size, char *ret)
{
	(void)self;
	return snprintf(ret, (size_t)size, "%s", text) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *self, int size, char *ret)
{
	(void)self;
	for (int i = 0; i < size; i++)
		ret[i] = (char)disk_chance(256);
	return size;
}

static int vfs_sleep(sqlite3_vfs *self, int us)
{
	(void)self;
	return us; /* nobody gives a lock back meanwhile */
}

static int vfs_time(sqlite3_vfs *self, double *ret)
{
	(void)self;
	*ret = 2460000.5;
	return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *self, int size, char *ret)
{
	(void)self;
	(void)size;
	(void)ret;
	return 0;
}

void disk_install(void)
{
	if (vfs.zName)
		return;
	vfs = (sqlite3_vfs){ .iVersion = 1, .szOsFile = sizeof(struct handle), .mxPathname = DISK_NAME_SIZE - 1,
			     .zName = "store_disk", .xOpen = vfs_open, .xDelete = vfs_delete, .xAccess = vfs_access,
			     .xFullPathname = vfs_full_path, .xRandomness = vfs_randomness, .xSleep = vfs_sleep,
			     .xCurrentTime = vfs_time, .xGetLastError = vfs_last_error };
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		abort();
}

/* ---- From outside. ---- */

void disk_judge(disk_judge_fn *fn, void *user)
{
	judge_fn = fn;
	judge_user = user;
}

void disk_watch(bool on)
{
	watching = on;
}

bool disk_process_is_dead(void)
{
	return dead;
}

void disk_shuffle(uint64_t seed)
{
	disk_seed(seed);
}

void disk_kill(void)
{
	dead = true;
}

void disk_bury(void)
{
	for (struct handle **at = &handles; *at;) {
		struct handle *handle = *at;

		if (handle->watches) {
			at = &handle->next;
			continue;
		}
		*at = handle->next;
		handle->buried = true;
		handle->lock = SQLITE_LOCK_NONE;
		file_drop(handle->file);
		handle->file = NULL;
	}
	dead = false;
}

void disk_reset(uint64_t seed)
{
	disk_bury();
	folder_forget();
	watching = last_watches = false;
	disk_seed(seed);
	sqlite3_randomness(0, NULL); /* its own begins anew with ours */
}
