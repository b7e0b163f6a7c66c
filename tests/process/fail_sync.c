/*
 * Preloaded (LD_PRELOAD), it lets every wait for the disk fail with EIO while the file that FAIL_SYNC names is there: what
 * a program is told whose disk, or whose network block device, has lost a write.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sync_unless_in_trouble(long number, int fd)
{
	const char *trouble = getenv("FAIL_SYNC");

	if (trouble && access(trouble, F_OK) == 0) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(number, fd);
}

int fsync(int fd)
{
	return sync_unless_in_trouble(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return sync_unless_in_trouble(SYS_fdatasync, fd);
}
