#include "statement.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "vtddl/change.h"

/* Up to DDL_MAX + 1 bytes, so that one too many is seen. */
static ssize_t read_all(int fd, char *to)
{
	size_t length = 0;

	while (length <= DDL_MAX) {
		ssize_t got = read(fd, to + length, DDL_MAX + 1 - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		length += (size_t)got;
	}
	return (ssize_t)length;
}

static int check_text(const char *text, size_t length, const char *from, struct error *reterr)
{
	size_t blank = 0;

	if (length > DDL_MAX)
		return error_set(reterr, ERROR_INPUT,
				 "the statement from %s is longer than %d bytes, which Vitess would cut "
				 "without a word",
				 from, DDL_MAX);
	if (memchr(text, '\0', length))
		return error_set(reterr, ERROR_INPUT, "the statement from %s holds a NUL byte", from);
	while (blank < length && isspace((unsigned char)text[blank]))
		blank++;
	if (blank == length)
		return error_set(reterr, ERROR_INPUT, "the statement from %s is empty", from);
	return 0;
}

static int read_file(struct options *options, int fd, const char *from, const char **ret,
		     struct error *reterr)
{
	char *text = arena_alloc(&options->arena, DDL_MAX + 2);
	ssize_t length = read_all(fd, text);

	if (length < 0)
		return error_set(reterr, ERROR_INPUT, "the statement cannot be read from %s: %s", from,
				 strerror(errno));
	if (check_text(text, (size_t)length, from, reterr) < 0)
		return -1;
	*ret = text;
	return 0;
}

static int open_and_read(struct options *options, const char *path, const char **ret, struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), got;

	if (fd < 0)
		return error_set(reterr, ERROR_INPUT, "the file %s cannot be opened: %s", path,
				 strerror(errno));
	got = read_file(options, fd, path, ret, reterr);
	close(fd);
	return got;
}

bool statement_is_from_stdin(const struct options *options)
{
	const char *file = options_text(options, OPT_SQL_FILE);

	return !options_text(options, OPT_SQL) && (!file || !strcmp(file, "-"));
}

int statement_read(struct options *options, bool stdin_too, const char **ret, struct error *reterr)
{
	const char *sql = options_text(options, OPT_SQL), *file = options_text(options, OPT_SQL_FILE);

	*ret = NULL;
	if (sql && file)
		return error_set(reterr, ERROR_USAGE,
				 "--sql and --sql-file exclude each other; give one of them");
	if (sql) {
		*ret = sql;
		return check_text(sql, strlen(sql), "--sql", reterr);
	}
	if (file && strcmp(file, "-"))
		return open_and_read(options, file, ret, reterr);
	if (!file && !stdin_too)
		return 0;
	if (isatty(STDIN_FILENO))
		return error_set(reterr, ERROR_USAGE,
				 "no statement was given; use --sql '...' or --sql-file FILE, or pipe it "
				 "into standard input");
	return read_file(options, STDIN_FILENO, "standard input", ret, reterr);
}
