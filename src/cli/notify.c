#include "notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define STATE_MAX 1024

bool notify_send(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char state[STATE_MAX];
	va_list arguments;
	size_t length;
	bool sent;
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path)
		return true;
	memcpy(address.sun_path, path, strlen(path));
	if (path[0] == '@') /* a name that is in no file system */
		address.sun_path[0] = '\0';
	va_start(arguments, format);
	length = (size_t)vsnprintf(state, sizeof state, format, arguments);
	va_end(arguments);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (length >= sizeof state)
		length = sizeof state - 1;
	sent = sendto(fd, state, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))) >= 0;
	close(fd);
	return sent;
}

int64_t notify_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long long limit = usec ? strtoll(usec, NULL, 10) / 1000 : 0;

	if (limit <= 0 || (pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	return limit > 2 ? limit / 2 : 1;
}
