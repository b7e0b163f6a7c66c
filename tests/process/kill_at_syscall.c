/*
 * Runs a program and kills it, all threads at once, when it enters its n-th system call.
 *
 *	kill-at-syscall [--effects] [--after] [--at N] [--list FILE] PROGRAM [WORD...]
 *
 * The calls of all threads are counted together. Number 1 is the first one that others can see the effect of (a lock, a
 * byte in a file or on a socket); the loader's before it are not counted. With --effects only such calls have numbers.
 * The call is not carried out; with --after it is, and the process dies at its end. Exit code: 137 where it was killed,
 * else the program's own. --list writes one line for each call: its number, its number with --effects (0: none), its
 * name, its thread. Why --effects is enough: between two such calls nothing changes that outlives the process, so a
 * death at any call in between leaves the same files, locks and bytes as a death at the next one of them. Stores into
 * shared memory would break that; "shared-mapping" in the list says that there are such.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 256
#define FDS_MAX 1024

enum effect {
	EFFECT_NEVER,
	EFFECT_ALWAYS,
	EFFECT_BY_FD,	/* unless the descriptor is the program's own affair */
	EFFECT_IF_LOCK, /* fcntl */
	EFFECT_IF_MADE, /* open: only where the file may be made or emptied */
	EFFECT_IF_INET, /* connect: not to a daemon of this machine, such as nscd */
};

static const struct call {
	uint64_t number;
	const char *name;
	enum effect effect;
} calls[] = {
#define CALL(name, effect) { SYS_##name, #name, EFFECT_##effect }
	CALL(write, BY_FD),
	CALL(writev, BY_FD),
	CALL(close, BY_FD),
	CALL(pwrite64, ALWAYS),
	CALL(pwritev, ALWAYS),
	CALL(fsync, ALWAYS),
	CALL(fdatasync, ALWAYS),
	CALL(ftruncate, ALWAYS),
	CALL(fallocate, ALWAYS),
	CALL(unlink, ALWAYS),
	CALL(unlinkat, ALWAYS),
	CALL(rename, ALWAYS),
	CALL(renameat2, ALWAYS),
	CALL(mkdir, ALWAYS),
	CALL(mkdirat, ALWAYS),
	CALL(rmdir, ALWAYS),
	CALL(link, ALWAYS),
	CALL(symlink, ALWAYS),
	CALL(chmod, ALWAYS),
	CALL(fchmod, ALWAYS),
	CALL(chown, ALWAYS),
	CALL(fchown, ALWAYS),
	CALL(flock, ALWAYS),
	CALL(fcntl, IF_LOCK),
	CALL(open, IF_MADE),
	CALL(openat, IF_MADE),
	CALL(connect, IF_INET),
	CALL(sendto, ALWAYS),
	CALL(sendmsg, ALWAYS),
	CALL(sendmmsg, ALWAYS),
	CALL(sendfile, ALWAYS),
	CALL(splice, ALWAYS),
	CALL(copy_file_range, ALWAYS),
	CALL(shutdown, ALWAYS),
	CALL(bind, ALWAYS),
	CALL(listen, ALWAYS),
	CALL(kill, ALWAYS),
	CALL(exit_group, ALWAYS),
	CALL(read, NEVER),
	CALL(recvmsg, NEVER),
	CALL(futex, NEVER),
	CALL(epoll_wait, NEVER),
	CALL(mmap, NEVER),
	CALL(munmap, NEVER),
	CALL(mprotect, NEVER),
	CALL(pread64, NEVER),
	CALL(newfstatat, NEVER),
	CALL(getpid, NEVER),
	CALL(socket, NEVER),
	CALL(setsockopt, NEVER),
	CALL(clone3, NEVER),
	CALL(eventfd2, NEVER),
	CALL(epoll_ctl, NEVER),
};

static struct thread {
	pid_t tid; /* 0: free */
	uint64_t number;
	uint64_t flags; /* of an open */
	bool is_last;	/* dies when this call is over */
} threads[THREADS_MAX];

static struct {
	bool effects_only, after;
	long at; /* 0: never */
	FILE *list;
	pid_t pid;
	long all, effects;
	bool own_fd[FDS_MAX]; /* nothing outside sees what is written to it */
} state;

static void die(const char *what)
{
	fprintf(stderr, "kill-at-syscall: %s: %s\n", what, strerror(errno));
	if (state.pid)
		kill(state.pid, SIGKILL);
	exit(70);
}

static struct thread *thread_of(pid_t tid)
{
	struct thread *unused = NULL;

	for (size_t i = 0; i < THREADS_MAX; i++) {
		if (threads[i].tid == tid)
			return &threads[i];
		if (!threads[i].tid && !unused)
			unused = &threads[i];
	}
	if (!unused)
		die("too many threads");
	*unused = (struct thread){ .tid = tid };
	return unused;
}

static const struct call *call_of(uint64_t number)
{
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

static uint64_t open_flags(uint64_t number, const uint64_t *args)
{
	return number == SYS_open ? args[1] : number == SYS_openat ? args[2] : 0;
}

static bool has_effect(pid_t tid, const struct call *call, const uint64_t *args)
{
	long family;

	switch (call ? call->effect : EFFECT_NEVER) {
	case EFFECT_NEVER:
		return false;
	case EFFECT_ALWAYS:
		return true;
	case EFFECT_BY_FD:
		return args[0] >= FDS_MAX || !state.own_fd[args[0]];
	case EFFECT_IF_LOCK:
		return args[1] == F_SETLK || args[1] == F_SETLKW || args[1] == F_OFD_SETLK || args[1] == F_OFD_SETLKW;
	case EFFECT_IF_MADE:
		return open_flags(call->number, args) & (O_CREAT | O_TRUNC);
	case EFFECT_IF_INET:
		errno = 0;
		family = ptrace(PTRACE_PEEKDATA, tid, args[1], NULL) & 0xffff;
		return errno || (family != AF_UNIX && family != AF_UNSPEC);
	}
	return true;
}

/* Return: whether it is to die here. */
static bool on_entry(struct thread *thread, uint64_t number, const uint64_t *args)
{
	const struct call *call = call_of(number);
	bool effect = has_effect(thread->tid, call, args), is_it;

	thread->number = number;
	thread->flags = open_flags(number, args);
	if (!state.all && !effect)
		return false;
	state.all++;
	state.effects += effect;
	if (state.list) {
		fprintf(state.list, "%ld %ld ", state.all, effect ? state.effects : 0);
		if (call)
			fprintf(state.list, "%s", call->name);
		else
			fprintf(state.list, "%llu", (unsigned long long)number);
		fprintf(state.list, " %d\n", (int)(thread->tid - state.pid));
		if (number == SYS_mmap && (args[3] & MAP_SHARED) && (args[2] & PROT_WRITE) && !(args[3] & MAP_ANONYMOUS))
			fputs("shared-mapping\n", state.list);
	}
	is_it = state.at && (state.effects_only ? effect && state.effects == state.at : state.all == state.at);
	thread->is_last = is_it && state.after;
	return is_it && !state.after;
}

/* Return: whether it is to die here. */
static bool on_exit_of(struct thread *thread, int64_t value)
{
	bool opens = thread->number == SYS_open || thread->number == SYS_openat;
	bool wakes = thread->number == SYS_eventfd2 || thread->number == SYS_epoll_create1;
	bool speaks = thread->number == SYS_socket || thread->number == SYS_accept4;

	if ((opens || wakes || speaks) && value >= 0 && value < FDS_MAX)
		state.own_fd[value] = wakes || (opens && (thread->flags & O_ACCMODE) == O_RDONLY);
	return thread->is_last;
}

static bool on_syscall(pid_t tid)
{
	struct __ptrace_syscall_info info;
	struct thread *thread = thread_of(tid);

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) < 0)
		return false; /* it dies already */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		return on_entry(thread, info.entry.nr, (const uint64_t *)info.entry.args);
	return info.op == PTRACE_SYSCALL_INFO_EXIT && on_exit_of(thread, info.exit.rval);
}

static int code_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until the program is over. Return: its exit code. */
static int trace(void)
{
	bool begun = false;
	int status;

	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);
		int number = 0;

		if (tid < 0)
			die("waitpid");
		if (!WIFSTOPPED(status)) {
			thread_of(tid)->tid = 0;
			if (tid == state.pid)
				return code_of(status);
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			if (on_syscall(tid))
				kill(state.pid, SIGKILL);
		} else if (status >> 16 == PTRACE_EVENT_EXEC) {
			begun = true;
		} else if (status >> 16 == 0) {
			number = WSTOPSIG(status);
		}
		ptrace(begun ? PTRACE_SYSCALL : PTRACE_CONT, tid, NULL, number);
	}
}

static void start(char **words)
{
	int gate[2];
	char byte;

	if (pipe2(gate, O_CLOEXEC) < 0 || (state.pid = fork()) < 0)
		die("start");
	if (!state.pid) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(70);
		execvp(words[0], words);
		fprintf(stderr, "kill-at-syscall: %s: %s\n", words[0], strerror(errno));
		_exit(70);
	}
	if (ptrace(PTRACE_SEIZE, state.pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		die("this system does not let a process be traced");
	if (write(gate[1], "", 1) != 1)
		die("start");
	close(gate[0]);
	close(gate[1]);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "effects", no_argument, NULL, 'e' }, { "after", no_argument, NULL, 'a' },
		{ "at", required_argument, NULL, 'n' }, { "list", required_argument, NULL, 'l' }, { 0 },
	};
	int code;

	while ((code = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (code == '?')
			return 64;
		state.effects_only |= code == 'e';
		state.after |= code == 'a';
		if (code == 'n')
			state.at = strtol(optarg, NULL, 10);
		if (code == 'l' && !(state.list = fopen(optarg, "we")))
			die(optarg);
	}
	if (optind == argc)
		return 64;
	start(argv + optind);
	code = trace();
	if (state.list && fclose(state.list) != 0)
		die("the list");
	return code;
}
