/*
 * bench-run: runs commands in turn and prints what each run cost.
 *
 *	bench-run COUNT -- COMMAND [WORD...] [-- COMMAND [WORD...]]...
 *
 * Each round runs every command once, in an order that is turned round by round, so that a busy moment of the
 * machine hits all alike. One JSON line a run: which command, wall and CPU microseconds, peak KiB, exit code. It is no
 * script, for Linux counts the memory of whoever forks into the peak of the child.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static long long time_us(const struct timeval *time)
{
	return time->tv_sec * 1000000LL + time->tv_usec;
}

static void run_once(int number, char **command)
{
	long long began_us = now_us(), took_us;
	struct rusage usage;
	pid_t child = vfork();
	int status;

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		execv(command[0], command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child) {
		perror("bench-run");
		exit(1);
	}
	took_us = now_us() - began_us;
	printf("{\"command\": %d, \"wall_us\": %lld, \"cpu_us\": %lld, \"peak_kib\": %ld, \"exit_code\": %d}\n", number,
	       took_us, time_us(&usage.ru_utime) + time_us(&usage.ru_stime), usage.ru_maxrss,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	char **commands[COMMANDS_MAX];
	int count = 0;
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		if (count == COMMANDS_MAX || i + 1 == argc) {
			count = 0;
			break;
		}
		argv[i] = NULL;
		commands[count++] = &argv[i + 1];
	}
	if (rounds < 1 || count == 0) {
		fputs("usage: bench-run COUNT -- COMMAND [WORD...] [-- COMMAND [WORD...]]...\n", stderr);
		return 64;
	}
	for (long round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++) {
			int number = (int)((round + i) % count);

			run_once(number, commands[number]);
			fflush(stdout);
		}
	return 0;
}
