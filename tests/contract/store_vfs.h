#pragma once
/*
 * store_vfs: a disk for SQLite on which a process can die, or a sync fail, at the n-th operation.
 *
 * Operations that change a file are counted: write, truncate, sync, delete. What a killed process
 * wrote stays written, as with kill -9, so nothing is synced here; a power cut is not played.
 */
#include <stdbool.h>

enum vfs_fault {
	VFS_NONE,
	VFS_DIE_BEFORE, /* _exit(137) instead of the operation */
	VFS_DIE_AFTER,	/* _exit(137) behind it */
	VFS_TEAR, /* half of the bytes of a write, then _exit(137); other operations: as VFS_DIE_BEFORE */
	VFS_FAIL_SYNC,	/* the n-th sync says that it failed */
	VFS_FAIL_WRITE, /* the n-th operation and all behind it fail like a full disk */
	_VFS_FAULT_MAX
};

/** store_vfs_install() - becomes the disk of every store that is opened from now on */
void store_vfs_install(void);

/** store_vfs_arm() - @fault at the @n-th operation from now (1: the next) */
void store_vfs_arm(enum vfs_fault fault, unsigned n);
