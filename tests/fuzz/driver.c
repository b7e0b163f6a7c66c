/*
 * Runs a target over files, where it is not libFuzzer that does: the corpus as a regression test, and a file
 * that libFuzzer found, in a debugger. A folder stands for all files in it; an empty one is an error.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)

static unsigned files_run;

static void run_file(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t length;

	if (!file) {
		perror(path);
		exit(1);
	}
	length = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one is the one that broke */
	LLVMFuzzerTestOneInput(bytes, length);
	files_run++;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_folder(const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_visible, alphasort);

	if (count <= 0) {
		fprintf(stderr, "%s: %s\n", path, count < 0 ? strerror(errno) : "no file in it");
		exit(1);
	}
	for (int i = 0; i < count; i++) {
		char *name;

		if (asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0)
			abort();
		run_file(name);
		free(name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	struct stat status;

	for (int i = 1; i < argc; i++)
		if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode))
			run_folder(argv[i]);
		else
			run_file(argv[i]);
	if (!files_run) {
		fprintf(stderr, "usage: %s FILE|FOLDER...\n", argv[0]);
		return 1;
	}
	fprintf(stderr, "%u inputs, nothing broken\n", files_run);
	return 0;
}
