#pragma once
/*
 * store_disk: a disk in memory for SQLite, that can fail in every way a disk can, whose process can die at any
 * operation, and whose power can fail.
 *
 *	disk_install();
 *	disk_reset(seed);
 *	disk_judge(judge, user);	asked before every operation of a process
 *	... store_open("sqlite:PATH"), and whatever follows ...
 *	if (disk_process_is_dead()) {
 *		store_close(store);	or not: nothing of it reaches the disk any more
 *		disk_bury();		its locks are gone, the next process may come
 *		disk_power_loss();	unsynced writes are lost, torn or kept, in any subset
 *	}
 *
 * What a process sees is what was written last, as in the page cache of a kernel. What is on the platter is what
 * was synced; a new name, or the removal of one, needs a sync of the folder. After a failed sync the pages count
 * as written although some are lost, as on Linux. A sector of 512 bytes is written whole or not at all.
 *
 * Only SQLite's files are here: of the store and its journal. The store's own code looks at PATH itself and at
 * PATH-lock, which are on a real disk: PATH is empty there, and is kept in step. WAL, and with it shared memory,
 * is not there: the store never uses it. The locks are those between the handles of one program.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_op {
	DISK_OPEN,
	DISK_READ,
	DISK_WRITE,
	DISK_TRUNCATE,
	DISK_SYNC,
	DISK_SIZE,
	DISK_LOCK, /* also the question whether another has the reserved lock; giving one up never fails */
	DISK_ACCESS,
	DISK_DELETE,
	_DISK_OP_MAX
};

enum disk_fault {
	DISK_WELL,
	DISK_ERROR,	  /* nothing is done, and it says so */
	DISK_SHORT,	  /* half of a read or write is done, then it fails; others: as DISK_LATE_ERROR */
	DISK_LATE_ERROR,  /* it is done and says that it failed; a sync: some of it is done; a removal: its folder
			     is not synced */
	DISK_FULL,	  /* no room for a write, a greater size or a new file; others: as DISK_WELL */
	DISK_BUSY,	  /* a lock is another's; others: as DISK_WELL */
	DISK_DIE_BEFORE,
	DISK_DIE_HALF,	  /* half of a write; others: as DISK_DIE_BEFORE */
	DISK_DIE_AFTER,
	_DISK_FAULT_MAX
};

typedef enum disk_fault disk_judge_fn(enum disk_op op, void *user);

/** disk_realloc() - of the disk itself: it is no part of a process that runs out of memory */
extern void *(*disk_realloc)(void *memory, size_t size);

/** disk_install() - becomes the disk of every store that is opened from now on */
void disk_install(void);
/** disk_reset() - an empty disk; @seed of what is lost. No handle may be open, but those of the buried */
void disk_reset(uint64_t seed);
/** disk_shuffle() - another seed of what is lost from here on */
void disk_shuffle(uint64_t seed);
/** disk_judge() - who says what happens to an operation; NULL: all is well */
void disk_judge(disk_judge_fn *fn, void *user);
/** disk_watch() - handles that are opened while this is on are no process: nobody judges them */
void disk_watch(bool on);

/** disk_fault_fits() - whether that fault can happen to that operation, and is not another one by its name */
bool disk_fault_fits(enum disk_fault fault, enum disk_op op);
const char *disk_op_name(enum disk_op op);
const char *disk_fault_name(enum disk_fault fault);
/** disk_fired() - how often that fault happened to that operation, in all */
unsigned disk_fired(enum disk_op op, enum disk_fault fault);

bool disk_process_is_dead(void);
/** disk_kill() - as if it had died at an operation */
void disk_kill(void);
/** disk_bury() - every handle of the process is gone, with its locks */
void disk_bury(void);

enum disk_loss {
	DISK_LOSE_ALL, /* that was not synced */
	DISK_LOSE_NONE,
	DISK_LOSE_SOME, /* any subset, torn at any sector; the seed tells which */
	_DISK_LOSS_MAX
};
/** disk_power_loss() - only while no handle is open, but those of the buried */
void disk_power_loss(enum disk_loss loss);

/** disk_remove_all() - the files are deleted, whoever has them open */
void disk_remove_all(void);
struct disk_copy;
/** disk_copy() - of all files, as a person makes one while no process writes */
struct disk_copy *disk_copy(void);
/** disk_put_back() - those files take the place of the present ones, as of the store @path */
void disk_put_back(const struct disk_copy *copy, const char *path);
/** disk_hash() - of what a process would see in all files now */
uint64_t disk_hash(void);
void disk_copy_free(struct disk_copy *copy);
