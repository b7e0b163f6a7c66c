#pragma once
/*
 * failing_calls: calls of the C library that fail when a test says so, else they are themselves. A test
 * that includes this is linked with --wrap for each of them (meson.build).
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The nth call from now fails with this errno; 0: none. */
struct failing_call {
	int error;
	unsigned nth;
};
static struct failing_call failing_fcntl __attribute__((unused)), failing_fstat __attribute__((unused));
static unsigned failing_memory; /* the nth allocation fails; 0: none */
static void *failing_last; /* what calloc() gave last: whoever aborts behind it does not free it */
static bool other_device __attribute__((unused)); /* what fstat() is asked about is on another disk than it is */

static inline bool call_fails(struct failing_call *call)
{
	if (call->nth == 0 || --call->nth > 0)
		return false;
	errno = call->error;
	return true;
}

int __real_fcntl64(int fd, int command, void *argument);
int __wrap_fcntl64(int fd, int command, void *argument);
int __wrap_fcntl64(int fd, int command, void *argument)
{
	return call_fails(&failing_fcntl) ? -1 : __real_fcntl64(fd, command, argument);
}

int __real_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret);
int __wrap_fstat64(int fd, struct stat *ret)
{
	int result = call_fails(&failing_fstat) ? -1 : __real_fstat64(fd, ret);

	if (result == 0 && other_device)
		ret->st_dev++;
	return result;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	failing_last = failing_memory > 0 && --failing_memory == 0 ? NULL : __real_calloc(count, size);
	return failing_last;
}

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	return failing_memory > 0 && --failing_memory == 0 ? NULL : __real_realloc(memory, size);
}

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
	va_list arguments;
	int result;

	if (failing_memory > 0 && --failing_memory == 0)
		return -1;
	va_start(arguments, format);
	result = vasprintf(ret, format, arguments);
	va_end(arguments);
	return result;
}

static sigjmp_buf after_abort;

static inline void on_abort(int number)
{
	(void)number;
	siglongjmp(after_abort, 1);
}

/** aborts_without_memory() - whether @call ends in abort() when its nth allocation fails */
static inline bool aborts_without_memory(void (*call)(void *), void *data, unsigned nth)
{
	struct sigaction handler = { .sa_handler = on_abort }, former;
	bool aborted = true;

	sigaction(SIGABRT, &handler, &former);
	failing_memory = nth;
	if (sigsetjmp(after_abort, 1) == 0) {
		call(data);
		aborted = false;
	}
	failing_memory = 0;
	sigaction(SIGABRT, &former, NULL);
	return aborted;
}
