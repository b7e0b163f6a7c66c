#pragma once
/*
 * Inside of the disk in memory.
 *
 *	store_disk.c       what SQLite asks of it, and what goes wrong
 *	store_disk_file.c  files, their names, and what is on the platter
 */
#include "store_disk.h"

#define DISK_NAME_SIZE 160
#define DISK_NAMES_MAX 8

struct content {
	unsigned char *bytes;
	size_t size, capacity;
};

struct pending {
	unsigned char *bytes; /* NULL: a truncation to @offset */
	size_t offset, length;
};

struct file {
	struct content seen, platter;
	struct pending *pending; /* since the last sync */
	size_t pending_count, pending_size;
	unsigned refs;	   /* handles and names */
	bool syncs_folder; /* with its first sync */
};

struct name {
	char text[DISK_NAME_SIZE];
	struct file *seen, *platter;
};

/** disk_memory() - @memory (NULL: none) made @size bytes large; what is new is zeroed for NULL. Never NULL */
void *disk_memory(void *memory, size_t size);
unsigned disk_chance(unsigned below);
void disk_seed(uint64_t seed);

void content_size(struct content *content, size_t size);
void content_write(struct content *content, const void *bytes, size_t offset, size_t length);
void pending_add(struct file *file, const void *bytes, size_t offset, size_t length);
/** what was not synced goes to the platter, or not */
void file_flush(struct file *file, enum disk_loss loss);
struct file *file_ref(struct file *file);
void file_drop(struct file *file);

/** NULL: none, unless it is made */
struct name *name_find(const char *text, bool make);
void name_set(struct name *name, struct file *file);
/** the store itself: it is looked at, and made, behind SQLite's back */
bool name_is_real(const char *text);
bool file_has_a_name(const struct file *file);
void folder_sync(void);
void folder_forget(void);
