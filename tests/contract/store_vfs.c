#include "store_vfs.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct vfs_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_vfs vfs, *real_vfs;
static enum vfs_fault armed;
static unsigned countdown;

#define REAL(file) (((struct vfs_file *)(file))->real)
#define FORWARD(method, file, ...) (REAL(file)->pMethods->method(REAL(file), ##__VA_ARGS__))

void store_vfs_arm(enum vfs_fault fault, unsigned n)
{
	armed = fault;
	countdown = n;
}

/* What happens to this operation. */
static enum vfs_fault next_fault(bool is_sync)
{
	if (armed == VFS_NONE || (armed == VFS_FAIL_SYNC && !is_sync))
		return VFS_NONE;
	if (countdown > 1) {
		countdown--;
		return VFS_NONE;
	}
	if (armed == VFS_FAIL_WRITE)
		return VFS_FAIL_WRITE;
	enum vfs_fault fault = armed;

	armed = VFS_NONE;
	if (fault == VFS_DIE_BEFORE)
		_exit(137);
	return fault;
}

static int done(enum vfs_fault fault, int code)
{
	if (fault == VFS_DIE_AFTER)
		_exit(137);
	return code;
}

static int file_close(sqlite3_file *file)
{
	return FORWARD(xClose, file);
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset)
{
	return FORWARD(xRead, file, bytes, size, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset)
{
	enum vfs_fault fault = next_fault(false);

	if (fault == VFS_FAIL_WRITE)
		return SQLITE_FULL;
	if (fault == VFS_TEAR) {
		FORWARD(xWrite, file, bytes, size / 2, offset);
		_exit(137);
	}
	return done(fault, FORWARD(xWrite, file, bytes, size, offset));
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	enum vfs_fault fault = next_fault(false);

	if (fault == VFS_TEAR)
		_exit(137);
	return done(fault, FORWARD(xTruncate, file, size));
}

static int file_sync(sqlite3_file *file, int flags)
{
	enum vfs_fault fault = next_fault(true);

	if (fault == VFS_TEAR)
		_exit(137);
	if (fault == VFS_FAIL_SYNC)
		return SQLITE_IOERR_FSYNC;
	/* What was written outlives this process with or without the sync, which is slow. */
	(void)file, (void)flags;
	return done(fault, SQLITE_OK);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *ret)
{
	return FORWARD(xFileSize, file, ret);
}

static int file_lock(sqlite3_file *file, int level)
{
	return FORWARD(xLock, file, level);
}

static int file_unlock(sqlite3_file *file, int level)
{
	return FORWARD(xUnlock, file, level);
}

static int file_is_reserved(sqlite3_file *file, int *ret)
{
	return FORWARD(xCheckReservedLock, file, ret);
}

static int file_control(sqlite3_file *file, int operation, void *argument)
{
	return FORWARD(xFileControl, file, operation, argument);
}

static int file_sector_size(sqlite3_file *file)
{
	return FORWARD(xSectorSize, file);
}

static int file_characteristics(sqlite3_file *file)
{
	return FORWARD(xDeviceCharacteristics, file);
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = file_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = file_sync,
	.xFileSize = file_size,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_is_reserved,
	.xFileControl = file_control,
	.xSectorSize = file_sector_size,
	.xDeviceCharacteristics = file_characteristics,
};

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct vfs_file *wrapper = (struct vfs_file *)file;
	int code;

	(void)self;
	wrapper->real = (sqlite3_file *)(wrapper + 1);
	wrapper->real->pMethods = NULL;
	code = real_vfs->xOpen(real_vfs, name, wrapper->real, flags, ret_flags);
	file->pMethods = wrapper->real->pMethods ? &methods : NULL;
	return code;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync_folder)
{
	enum vfs_fault fault = next_fault(false);

	(void)self, (void)sync_folder;
	if (fault == VFS_TEAR)
		_exit(137);
	return done(fault, real_vfs->xDelete(real_vfs, name, 0));
}

void store_vfs_install(void)
{
	if (real_vfs)
		return;
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "store_vfs";
	vfs.szOsFile = (int)sizeof(struct vfs_file) + real_vfs->szOsFile;
	vfs.xOpen = vfs_open;
	vfs.xDelete = vfs_delete;
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		abort();
}
