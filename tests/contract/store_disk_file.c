#include "store_disk_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512

static struct name names[DISK_NAMES_MAX];
static uint64_t random_state;

unsigned disk_chance(unsigned below)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)((random_state >> 33) % below);
}

void disk_seed(uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ULL + 1;
}

void *(*disk_realloc)(void *memory, size_t size) = realloc;

void *disk_memory(void *memory, size_t size)
{
	void *ret = disk_realloc(memory, size ? size : 1);

	if (!ret)
		abort();
	return memory ? ret : memset(ret, 0, size);
}

void content_size(struct content *content, size_t size)
{
	if (size > content->capacity) {
		content->capacity = 2 * size + 4096;
		content->bytes = disk_memory(content->bytes, content->capacity);
	}
	if (size > content->size)
		memset(content->bytes + content->size, 0, size - content->size);
	content->size = size;
}

void content_write(struct content *content, const void *bytes, size_t offset, size_t length)
{
	if (offset + length > content->size)
		content_size(content, offset + length);
	memcpy(content->bytes + offset, bytes, length);
}

static void content_copy(struct content *to, const struct content *from)
{
	content_size(to, 0);
	if (from->size)
		content_write(to, from->bytes, 0, from->size);
}

void pending_add(struct file *file, const void *bytes, size_t offset, size_t length)
{
	struct pending *pending;

	if (file->pending_count == file->pending_size) {
		file->pending_size = 2 * file->pending_size + 16;
		file->pending = disk_memory(file->pending, file->pending_size * sizeof(*file->pending));
	}
	pending = &file->pending[file->pending_count++];
	*pending = (struct pending){ .offset = offset, .length = length };
	if (bytes)
		pending->bytes = memcpy(disk_memory(NULL, length), bytes, length);
}

static void pending_clear(struct file *file)
{
	for (size_t i = 0; i < file->pending_count; i++)
		free(file->pending[i].bytes);
	file->pending_count = 0;
}

/* Sectors before a cut, or those behind it. */
static void write_torn(struct file *file, const struct pending *pending)
{
	size_t end = pending->offset + pending->length;
	size_t sectors = end / SECTOR - pending->offset / SECTOR;
	size_t cut = (pending->offset / SECTOR + disk_chance((unsigned)sectors + 1)) * SECTOR;

	if (cut <= pending->offset || cut >= end)
		return;
	if (disk_chance(2))
		content_write(&file->platter, pending->bytes, pending->offset, cut - pending->offset);
	else
		content_write(&file->platter, pending->bytes + (cut - pending->offset), cut, end - cut);
}

void file_flush(struct file *file, enum disk_loss loss)
{
	for (size_t i = 0; i < file->pending_count && loss != DISK_LOSE_ALL; i++) {
		const struct pending *pending = &file->pending[i];
		unsigned fate = loss == DISK_LOSE_NONE ? 2 : disk_chance(4);

		if (fate == 0)
			continue;
		if (!pending->bytes)
			content_size(&file->platter, pending->offset);
		else if (fate == 1)
			write_torn(file, pending);
		else
			content_write(&file->platter, pending->bytes, pending->offset, pending->length);
	}
	pending_clear(file);
}

void file_drop(struct file *file)
{
	if (!file || --file->refs)
		return;
	pending_clear(file);
	free(file->pending);
	free(file->seen.bytes);
	free(file->platter.bytes);
	free(file);
}

struct file *file_ref(struct file *file)
{
	if (file)
		file->refs++;
	return file;
}

/* ---- The folder. ---- */

struct name *name_find(const char *text, bool make)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		if (!names[i].text[0]) {
			if (!make)
				return NULL;
			snprintf(names[i].text, sizeof(names[i].text), "%s", text);
		}
		if (strcmp(names[i].text, text) == 0)
			return &names[i];
	}
	abort();
}

void folder_sync(void)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		struct file *before = names[i].platter;

		names[i].platter = file_ref(names[i].seen);
		file_drop(before);
	}
}

void name_set(struct name *name, struct file *file)
{
	struct file *before = name->seen;

	name->seen = file_ref(file);
	file_drop(before);
}

bool name_is_real(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && strcmp(dot, ".db") == 0;
}

bool file_has_a_name(const struct file *file)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++)
		if (names[i].seen == file)
			return true;
	return false;
}

void folder_forget(void)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		name_set(&names[i], NULL);
		file_drop(names[i].platter);
		names[i].platter = NULL;
		names[i].text[0] = '\0';
	}
}

/* ---- From outside. ---- */

/* PATH as the store's own code sees it. */
static void make_real(const struct name *name)
{
	int fd;

	if (!name->text[0] || !name_is_real(name->text))
		return;
	if (!name->seen) {
		unlink(name->text);
		return;
	}
	fd = open(name->text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

void disk_power_loss(enum disk_loss loss)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++)
		for (int which = 0; which < 2; which++) {
			struct file *file = which ? names[i].platter : names[i].seen;

			if (!file)
				continue;
			file_flush(file, loss);
		}
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		if (loss == DISK_LOSE_ALL || (loss == DISK_LOSE_SOME && disk_chance(2)))
			name_set(&names[i], names[i].platter);
		if (names[i].seen)
			content_copy(&names[i].seen->seen, &names[i].seen->platter);
		make_real(&names[i]);
	}
	folder_sync();
}

void disk_remove_all(void)
{
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		name_set(&names[i], NULL);
		make_real(&names[i]);
	}
	folder_sync();
}

struct disk_copy {
	struct content contents[DISK_NAMES_MAX];
	char endings[DISK_NAMES_MAX][16]; /* behind the name of the store; "": there is no such file */
};

struct disk_copy *disk_copy(void)
{
	struct disk_copy *copy = disk_memory(NULL, sizeof(*copy));

	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		if (!names[i].seen)
			continue;
		snprintf(copy->endings[i], sizeof(copy->endings[i]), "%s", strrchr(names[i].text, '.'));
		content_copy(&copy->contents[i], &names[i].seen->seen);
	}
	return copy;
}

void disk_put_back(const struct disk_copy *copy, const char *path)
{
	disk_remove_all();
	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		char text[DISK_NAME_SIZE];
		struct name *name;

		if (!copy->endings[i][0])
			continue;
		snprintf(text, sizeof(text), "%.*s%s", (int)(strrchr(path, '.') - path), path, copy->endings[i]);
		name = name_find(text, true);
		name_set(name, disk_memory(NULL, sizeof(struct file)));
		content_copy(&name->seen->seen, &copy->contents[i]);
		content_copy(&name->seen->platter, &copy->contents[i]);
		make_real(name);
	}
	folder_sync();
}

uint64_t disk_hash(void)
{
	uint64_t hash = 14695981039346656037ULL;

	for (size_t i = 0; i < DISK_NAMES_MAX; i++) {
		const struct content *content = names[i].seen ? &names[i].seen->seen : NULL;
		uint64_t word;

		hash = (hash ^ (content ? content->size + 1 : 0)) * 1099511628211ULL;
		for (size_t at = 0; content && at + sizeof(word) <= content->size; at += sizeof(word)) {
			memcpy(&word, content->bytes + at, sizeof(word));
			hash = (hash ^ word) * 1099511628211ULL;
			hash ^= hash >> 29;
		}
	}
	return hash;
}

void disk_copy_free(struct disk_copy *copy)
{
	for (size_t i = 0; copy && i < DISK_NAMES_MAX; i++)
		free(copy->contents[i].bytes);
	free(copy);
}
