#include "mysqld.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vtddl/mysql.h"

#define READY_SECONDS 120 /* the machine may be busy */
#define OPTIONS_MAX 48

struct mysqld {
	char *flavor, *folder, *program;
	unsigned port;
	pid_t pid; /* 0: it does not run */
	struct mysqld *next;
};

static struct mysqld *all;
static pid_t tests; /* whose servers they are: not a child's */

__attribute__((noreturn)) static void give_up(const char *what, const char *which)
{
	fprintf(stderr, "mysqld: %s %s: %s\n", what, which, strerror(errno));
	exit(1);
}

static char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text_of(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return text;
}

/* ---- Other programs ---- */

static const struct passwd *server_user(void)
{
	return geteuid() == 0 ? getpwnam("nobody") : NULL;
}

/* In the child. What is said goes to @log; NULL: where the tests say what they have to. */
__attribute__((noreturn)) static void become(char *const *argv, bool as_server, const char *log)
{
	const struct passwd *user = as_server ? server_user() : NULL;
	int fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : 2;

	dup2(fd, 1);
	dup2(fd, 2);
	if (user && (setgroups(0, NULL) || setgid(user->pw_gid) || setuid(user->pw_uid)))
		_exit(126);
	/* Behind setuid(), which clears it. */
	if (as_server)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != tests)
		_exit(125);
	execvp(argv[0], argv);
	_exit(127);
}

static pid_t begin(char *const *argv, bool as_server, const char *log)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork for", argv[0]);
	if (pid == 0)
		become(argv, as_server, log);
	return pid;
}

static bool ran(char *const *argv, bool as_server, const char *log)
{
	pid_t pid = begin(argv, as_server, log);
	int status;

	if (waitpid(pid, &status, 0) != pid)
		give_up("wait for", argv[0]);
	return status == 0;
}

static bool shell(const char *script, const char *a, const char *b)
{
	return ran((char *[]){ "sh", "-c", (char *)script, "sh", (char *)a, (char *)b, NULL }, false, NULL);
}

/* ---- Where the programs are ---- */

static bool is_mysql(const char *flavor)
{
	return strcmp(flavor, "mysql") == 0;
}

/* MySQL with its own libraries, as tools/lib/vitess.sh puts it together. */
static char *mysql_cache(void)
{
	const char *cache = getenv("LOCAL_VITESS_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");

	if (cache)
		return text_of("%s/mysql/sid", cache);
	return xdg ? text_of("%s/vtddl/mysql/sid", xdg)
		   : text_of("%s/.cache/vtddl/mysql/sid", home ? home : "");
}

bool mysqld_is_there(const char *flavor)
{
	const char *only = getenv("MYSQLD_ONLY");
	char *cache, *program;
	bool is;

	if (only && strcmp(only, flavor) != 0)
		return false;
	if (!is_mysql(flavor))
		return access("/usr/sbin/mariadbd", X_OK) == 0 &&
		       access("/usr/bin/mariadb-install-db", X_OK) == 0;
	cache = mysql_cache();
	program = text_of("%s/bin/mysqld", cache);
	is = access(program, X_OK) == 0;
	free(program);
	free(cache);
	return is;
}

/* ---- An empty database ---- */

static bool data_make(const struct mysqld *mysqld, const char *data, const char *log)
{
	char *option = text_of("--datadir=%s", data);
	bool made = is_mysql(mysqld->flavor)
			    ? ran((char *[]){ mysqld->program, "--no-defaults", "--initialize-insecure",
					      option, NULL },
				  true, log)
			    : ran((char *[]){ "mariadb-install-db", "--no-defaults", option, "--skip-test-db",
					      "--auth-root-authentication-method=normal", NULL },
				  true, log);

	free(option);
	return made;
}

static void folder_for_server(const char *folder)
{
	const struct passwd *user = server_user();

	if (mkdir(folder, 0700) && errno != EEXIST)
		give_up("make", folder);
	if (user && chown(folder, user->pw_uid, user->pw_gid))
		give_up("chown", folder);
}

/* Made once for each build by whichever test program comes first; the others wait and copy. */
static void data_provide(const struct mysqld *mysqld)
{
	char *data = text_of("%s/data", mysqld->folder), *log = text_of("%s/log", mysqld->folder);
	char *kept = text_of("%s/%s", MYSQLD_CACHE, mysqld->flavor), *lock = text_of("%s.lock", kept);
	int fd;

	mkdir(MYSQLD_CACHE, 0755);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX))
		give_up("lock", lock);
	if (access(kept, F_OK) != 0) {
		folder_for_server(data);
		if (!data_make(mysqld, data, log)) {
			shell("cat \"$1\"", log, "");
			give_up("make a database with", mysqld->program);
		}
		if (!shell("rm -rf \"$2.new\" && cp -a \"$1\" \"$2.new\" && mv \"$2.new\" \"$2\"", data,
			   kept))
			give_up("keep", kept);
	} else if (!shell("cp -a \"$1\" \"$2\"", kept, data)) {
		give_up("copy", kept);
	}
	close(fd);
	free(data);
	free(log);
	free(kept);
	free(lock);
}

/* ---- Starting and ending ---- */

static unsigned free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) ||
	    getsockname(fd, (struct sockaddr *)&address, &length))
		give_up("find", "a free port");
	close(fd);
	return ntohs(address.sin_port);
}

static struct connection *administrator(const struct mysqld *mysqld, const char *database, struct error *err)
{
	const struct connection_config config = { .name = "the test's server",
						  .advice = "look into its log",
						  .host = "127.0.0.1",
						  .port = mysqld->port,
						  .user = "admin",
						  .database = database,
						  .timeout_ms = 60000 };
	struct connection *connection = NULL;

	return connection_open(&config, &connection, err) == 0 ? connection : NULL;
}

static void await_ready(struct mysqld *mysqld)
{
	const struct timespec moment = { .tv_nsec = 50 * 1000 * 1000 };
	struct error err = { 0 };
	char *log;

	for (int i = 0; i < READY_SECONDS * 20; i++) {
		struct connection *connection = administrator(mysqld, NULL, &err);

		if (connection) {
			connection_close(connection);
			return;
		}
		if (waitpid(mysqld->pid, NULL, WNOHANG) == mysqld->pid) {
			mysqld->pid = 0;
			break;
		}
		nanosleep(&moment, NULL);
	}
	log = text_of("%s/log", mysqld->folder);
	fprintf(stderr, "mysqld: the server did not start: %s\n", err.text);
	shell("tail -n 30 \"$1\"", log, "");
	exit(1);
}

void mysqld_again(struct mysqld *mysqld, const char *const *options)
{
	char *made[16], *argv[OPTIONS_MAX] = { 0 }, *log = text_of("%s/log", mysqld->folder);
	char *temporary = text_of("%s/tmp", mysqld->folder); /* one that starts in the same removes the tables of others */
	size_t made_count = 0, count = 0;

	folder_for_server(temporary);
	made[made_count++] = text_of("--tmpdir=%s", temporary);
	made[made_count++] = text_of("--datadir=%s/data", mysqld->folder);
	made[made_count++] = text_of("--port=%u", mysqld->port);
	made[made_count++] = text_of("--socket=%s/socket", mysqld->folder);
	made[made_count++] = text_of("--pid-file=%s/pid", mysqld->folder);
	made[made_count++] = text_of("--init-file=%s/init.sql", mysqld->folder);
	made[made_count++] = text_of("--%s", is_mysql(mysqld->flavor) ? "mysqlx=OFF" : "log-bin");
	made[made_count++] = text_of("--%s", is_mysql(mysqld->flavor) ? "innodb-redo-log-capacity=16M"
								      : "innodb-log-file-size=8M");
	argv[count++] = mysqld->program;
	argv[count++] = "--no-defaults";
	for (size_t i = 0; i < made_count; i++)
		argv[count++] = made[i];
	argv[count++] = "--bind-address=127.0.0.1";
	argv[count++] = "--sync-binlog=1";
	argv[count++] = "--innodb-flush-log-at-trx-commit=1";
	argv[count++] = "--innodb-buffer-pool-size=64M";
	argv[count++] = "--innodb-autoextend-increment=1"; /* megabytes: a test bounds the file to a few */
	argv[count++] = "--performance-schema=OFF";
	if (is_mysql(mysqld->flavor))
		argv[count++] = "--secure-file-priv=NULL"; /* the default is a folder of a package */
	for (size_t i = 0; options && options[i] && count + 1 < OPTIONS_MAX; i++)
		argv[count++] = (char *)options[i];
	mysqld->pid = begin(argv, true, log);
	await_ready(mysqld);
	for (size_t i = 0; i < made_count; i++)
		free(made[i]);
	free(temporary);
	free(log);
}

static void kill_all(void)
{
	if (getpid() != tests)
		return;
	while (all)
		mysqld_free(all);
}

struct mysqld *mysqld_start(const char *flavor, const char *const *options)
{
	struct mysqld *mysqld = calloc(1, sizeof(*mysqld));
	const char *root = getenv("TMPDIR");
	char *cache = mysql_cache();

	if (!mysqld)
		abort();
	if (!tests) {
		tests = getpid();
		atexit(kill_all);
	}
	mysqld->flavor = text_of("%s", flavor);
	mysqld->folder = text_of("%s/vtddl-mysqld-XXXXXX", root ? root : "/tmp");
	mysqld->port = free_port();
	mysqld->next = all;
	all = mysqld;
	if (!mkdtemp(mysqld->folder))
		give_up("make", mysqld->folder);
	folder_for_server(mysqld->folder);
	/* The cache may lie in a home that "nobody" cannot enter. */
	mysqld->program = is_mysql(flavor) ? text_of("%s/sid/bin/mysqld", mysqld->folder)
					   : text_of("/usr/sbin/mariadbd");
	if (is_mysql(flavor) &&
	    !shell("cp -al \"$1\" \"$2/sid\" || cp -a \"$1\" \"$2/sid\"", cache, mysqld->folder))
		give_up("copy", cache);
	free(cache);
	data_provide(mysqld);
	free(mysqld_write(mysqld, "init.sql",
			  "CREATE USER IF NOT EXISTS admin@'%', vtddl@'%';\n"
			  "GRANT ALL ON *.* TO admin@'%' WITH GRANT OPTION;\n"
			  "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON *.* TO vtddl@'%';\n"));
	mysqld_again(mysqld, options);
	return mysqld;
}

void mysqld_kill(struct mysqld *mysqld)
{
	if (mysqld->pid == 0)
		return;
	kill(mysqld->pid, SIGKILL);
	waitpid(mysqld->pid, NULL, 0);
	mysqld->pid = 0;
}

struct mysqld *mysqld_free(struct mysqld *mysqld)
{
	struct mysqld **at = &all;

	if (!mysqld)
		return NULL;
	while (*at && *at != mysqld)
		at = &(*at)->next;
	if (*at)
		*at = mysqld->next;
	mysqld_kill(mysqld);
	shell("rm -rf -- \"$1\"", mysqld->folder, "");
	free(mysqld->flavor);
	free(mysqld->folder);
	free(mysqld->program);
	free(mysqld);
	return NULL;
}

void mysqld_stop(struct mysqld *mysqld)
{
	siginfo_t info;

	kill(mysqld->pid, SIGSTOP);
	/* One thread takes the signal and stops the others; until it comes to run they go on. */
	if (waitid(P_PID, (id_t)mysqld->pid, &info, WSTOPPED))
		give_up("wait for the stop of", mysqld->program);
}

void mysqld_go_on(struct mysqld *mysqld)
{
	kill(mysqld->pid, SIGCONT);
}

void mysqld_mend(struct mysqld *mysqld)
{
	if (mysqld->pid)
		mysqld_go_on(mysqld);
	else
		mysqld_again(mysqld, NULL);
}

unsigned mysqld_port(const struct mysqld *mysqld)
{
	return mysqld->port;
}

const char *mysqld_folder(const struct mysqld *mysqld)
{
	return mysqld->folder;
}

/* ---- What the administrator does ---- */

static struct connection *must_connect(struct mysqld *mysqld, const char *database)
{
	struct error err = { 0 };
	struct connection *connection = administrator(mysqld, database, &err);

	if (!connection) {
		fprintf(stderr, "mysqld: %s\n", err.text);
		exit(1);
	}
	return connection;
}

void mysqld_run(struct mysqld *mysqld, const char *database, const char *sql)
{
	struct connection *connection = must_connect(mysqld, database);
	struct error err = { 0 };
	int result = connection_do(connection, sql, &err);

	if (result != 0) {
		fprintf(stderr, "mysqld: %s: %d %s\n", sql, result, err.text);
		exit(1);
	}
	connection_close(connection);
}

long long mysqld_number(struct mysqld *mysqld, const char *database, const char *sql)
{
	struct connection *connection = must_connect(mysqld, database);
	struct error err = { 0 };
	long long number = INT64_MIN;

	if (connection_run(connection, sql, NULL, 0, &err) == 0 && connection_next(connection, &err) == 1)
		number = connection_column(connection, 0)->number;
	else
		fprintf(stderr, "mysqld: %s: %s\n", sql, err.text);
	connection_close(connection);
	return number;
}

char *mysqld_write(struct mysqld *mysqld, const char *name, const char *text)
{
	const struct passwd *user = server_user();
	char *path = text_of("%s/%s", mysqld->folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    (user && fchown(fd, user->pw_uid, user->pw_gid)))
		give_up("write", path);
	close(fd);
	return path;
}
