#include "crash_point.h"

#ifdef CRASH_POINTS
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct point {
	const char *name;
	unsigned long passed;
};

#define CRASH_POINT_ROW(name, when) { name, 0 },
static struct point points[] = {
#include "crash_points.def"
};
#undef CRASH_POINT_ROW

/* Points are passed by the loop's thread and by the store's. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long passed_overall;

static void write_count(void)
{
	FILE *file = fopen(getenv("VTDDL_CRASH_COUNT"), "we");

	if (!file)
		return;
	pthread_mutex_lock(&mutex);
	fprintf(file, "%lu\n", passed_overall);
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		fprintf(file, "%s %lu\n", points[i].name, points[i].passed);
	pthread_mutex_unlock(&mutex);
	fclose(file);
}

static struct point *find(const char *name)
{
	for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
		if (!strcmp(points[i].name, name))
			return &points[i];
	return NULL;
}

static int is_the_place(const struct point *point, const char *at)
{
	const char *colon = strrchr(at, ':');
	size_t length;

	if (at[0] == '#')
		return strtoul(at + 1, NULL, 10) == passed_overall;
	if (!colon)
		return !strcmp(at, point->name) && point->passed == 1;
	length = (size_t)(colon - at);
	return strlen(point->name) == length && !strncmp(at, point->name, length) &&
	       strtoul(colon + 1, NULL, 10) == point->passed;
}

void crash_point(const char *name)
{
	const char *at = getenv("VTDDL_CRASH_AT");
	struct point *point = find(name);

	assert(point && "the name is missing in crash_points.def");
	pthread_mutex_lock(&mutex);
	if (passed_overall == 0 && getenv("VTDDL_CRASH_COUNT"))
		at_quick_exit(write_count);
	passed_overall++;
	point->passed++;
	if (at && is_the_place(point, at)) /* no other thread gets any further */
		_exit(137);
	pthread_mutex_unlock(&mutex);
}
#else
/* ISO C forbids an empty file. */
extern int crash_points_are_compiled_out;
#endif
