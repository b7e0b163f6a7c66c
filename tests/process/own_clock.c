/*
 * Preloaded (LD_PRELOAD), it gives a program clocks of its own, for tests: they run `rate` times as fast, and the wall
 * clock is `wall_offset_ns` off. Both stand in the file that OWN_CLOCK names (struct control), which is read all the
 * time, so a test can set the wall clock while the program runs. The monotonic clocks never jump. Waits end by these
 * clocks: a wait that is bound to the wall clock ends early, or late, when that one is set, as the kernel's would.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ll
#define SLICE_NS (20 * 1000000ll)

/* Written by own_clock.py. The bases make one time of several processes. */
static const volatile struct control {
	int64_t rate;
	int64_t wall_offset_ns;
	int64_t base_wall_ns, base_monotonic_ns, base_boottime_ns;
} *control;

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*real_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static long (*real_syscall)(long, ...);
static int (*real_pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);

static void *find(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("OWN_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (real_gettime)
		return;
	real_clockwait = (int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))find(
		"pthread_cond_clockwait");
	real_nanosleep = (int (*)(clockid_t, int, const struct timespec *, struct timespec *))find("clock_nanosleep");
	real_epoll_wait = (int (*)(int, struct epoll_event *, int, int))find("epoll_wait");
	real_ppoll = (int (*)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))find("ppoll");
	real_pselect = (int (*)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))find(
		"pselect");
	real_syscall = (long (*)(long, ...))find("syscall");
	real_gettime = (int (*)(clockid_t, struct timespec *))find("clock_gettime");
	if (fd < 0)
		abort();
	control = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, fd, 0);
	if (control == MAP_FAILED)
		abort();
	close(fd);
}

/* ---- Times ---- */

static int64_t to_ns(const struct timespec *time)
{
	return time->tv_sec * SECOND_NS + time->tv_nsec;
}

static struct timespec from_ns(int64_t ns)
{
	int64_t part = (ns % SECOND_NS + SECOND_NS) % SECOND_NS;

	return (struct timespec){ .tv_sec = (ns - part) / SECOND_NS, .tv_nsec = part };
}

static int64_t real_now(clockid_t id)
{
	struct timespec now;

	if (!real_gettime)
		begin();
	if (real_gettime(id, &now) != 0)
		abort();
	return to_ns(&now);
}

static int64_t run_from(int64_t base, int64_t now)
{
	return base + (now - base) * control->rate;
}

static int64_t own_now(clockid_t id)
{
	int64_t now = real_now(id);

	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return run_from(control->base_wall_ns, now) + control->wall_offset_ns;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
		return run_from(control->base_monotonic_ns, now);
	case CLOCK_BOOTTIME:
		return run_from(control->base_boottime_ns, now);
	default: /* of the processor */
		return now;
	}
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	*ret = from_ns(own_now(id));
	return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	struct timespec now = from_ns(own_now(CLOCK_REALTIME));

	(void)zone;
	*ret = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	time_t now = from_ns(own_now(CLOCK_REALTIME)).tv_sec;

	if (ret)
		*ret = now;
	return now;
}

/* ---- Waits ---- */

/* What is left of a time by these clocks, in real time; at least a little where it is not over. */
static int64_t shorter(int64_t ns)
{
	return ns <= 0 ? 0 : ns / control->rate + 1;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t id, const struct timespec *until)
{
	int64_t left = to_ns(until) - own_now(id), real = shorter(left);
	bool whole = id != CLOCK_REALTIME || real <= SLICE_NS;
	struct timespec end = from_ns(real_now(CLOCK_MONOTONIC) + (whole ? real : SLICE_NS));
	int result = real_clockwait(condition, mutex, CLOCK_MONOTONIC, &end);

	/* The end of a slice is a wake-up for nothing, which every caller has to bear. */
	return result == ETIMEDOUT && !whole ? 0 : result;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	/* Where glibc keeps the clock that the condition was made for. */
	bool monotonic = condition->__data.__wrefs & 2;

	return pthread_cond_clockwait(condition, mutex, monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, until);
}

/* Abseil, below gRPC, waits with the bare system call, and until a time of the wall clock. */
static long futex_wait(const long *args)
{
	const struct timespec *until = (const struct timespec *)args[3];
	int64_t real = shorter(to_ns(until) - own_now(CLOCK_REALTIME));
	bool whole = real <= SLICE_NS;
	struct timespec end = from_ns(real_now(CLOCK_REALTIME) + (whole ? real : SLICE_NS));
	long result = real_syscall(SYS_futex, args[0], args[1], args[2], &end, args[4], args[5]);

	if (result < 0 && errno == ETIMEDOUT && !whole)
		errno = EINTR;
	return result;
}

long syscall(long number, ...)
{
	long args[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (!real_gettime)
		begin();
	if (number == SYS_futex && (args[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
	    (args[1] & FUTEX_CLOCK_REALTIME) && args[3])
		return futex_wait(args);
	return real_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	int64_t real = shorter(timeout_ms * 1000000ll);

	return real_epoll_wait(fd, events, max, timeout_ms < 0 ? -1 : (int)((real + 999999) / 1000000));
}

int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask)
{
	if (mask)
		abort(); /* nobody asks for one */
	return epoll_wait(fd, events, max, timeout_ms);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec real = timeout ? from_ns(shorter(to_ns(timeout))) : (struct timespec){ 0 };

	return real_ppoll(fds, count, timeout ? &real : NULL, mask);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = from_ns(timeout_ms * 1000000ll);

	return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd, struct timeval *restrict timeout)
{
	struct timespec real = { 0 };

	if (timeout)
		real = from_ns(shorter(timeout->tv_sec * SECOND_NS + timeout->tv_usec * 1000));
	return real_pselect(count, in, out, odd, timeout ? &real : NULL, NULL);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left)
{
	int64_t ns = to_ns(until) - (flags & TIMER_ABSTIME ? own_now(id) : 0);
	struct timespec real = from_ns(shorter(ns));

	return real_nanosleep(CLOCK_MONOTONIC, 0, &real, left);
}

int nanosleep(const struct timespec *span, struct timespec *left)
{
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, span, left);
	return errno ? -1 : 0;
}

int usleep(useconds_t us)
{
	struct timespec span = from_ns(us * 1000ll);

	return nanosleep(&span, NULL);
}

unsigned sleep(unsigned seconds)
{
	struct timespec span = { .tv_sec = seconds };

	nanosleep(&span, NULL);
	return 0;
}
