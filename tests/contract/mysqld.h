#pragma once
/*
 * mysqld: a private MySQL or MariaDB server for tests, in a folder of its own, on a free port of 127.0.0.1.
 *
 * It runs as "nobody" where the tests run as root, and it is killed with the test program, however that
 * ends. Its empty database is made once for each build and copied. MariaDB is Debian's (package
 * mariadb-server-core); MySQL is the one that tools/local-vitess keeps in its cache.
 *
 * Users: "vtddl" without a password may do everything but what needs SUPER; mysqld_run() is the
 * administrator.
 */
#include <stdbool.h>
#include <stddef.h>

struct mysqld;

/** mysqld_is_there() - whether "mariadb" or "mysql" can be started on this host, and is wanted: MYSQLD_ONLY
 * in the environment names the only one */
bool mysqld_is_there(const char *flavor);

/** mysqld_start() - a new server, ready for use; fails the test if it cannot be
 * @options:	more command line options, NULL-terminated; NULL: none */
struct mysqld *mysqld_start(const char *flavor, const char *const *options);
/** mysqld_free() - kills it and removes its folder; returns NULL; NULL is fine */
struct mysqld *mysqld_free(struct mysqld *mysqld);

unsigned mysqld_port(const struct mysqld *mysqld);
const char *mysqld_folder(const struct mysqld *mysqld);

/** mysqld_kill() - kill -9, and wait for its end; mysqld_again() starts it once more on what is on its disk
 */
void mysqld_kill(struct mysqld *mysqld);
void mysqld_again(struct mysqld *mysqld, const char *const *options);
/** mysqld_stop() - SIGSTOP, and wait until it stands still; mysqld_go_on() - SIGCONT */
void mysqld_stop(struct mysqld *mysqld);
void mysqld_go_on(struct mysqld *mysqld);
/** mysqld_mend() - it runs, also where a test that failed has left it stopped or dead */
void mysqld_mend(struct mysqld *mysqld);

/** mysqld_run() - one statement as the administrator, in @database or none (NULL) */
void mysqld_run(struct mysqld *mysqld, const char *database, const char *sql);
/** mysqld_number() - the number that one SELECT answers */
long long mysqld_number(struct mysqld *mysqld, const char *database, const char *sql);

/** mysqld_write() - a file in the server's folder, which the server may read; returns its path, to be freed
 */
char *mysqld_write(struct mysqld *mysqld, const char *name, const char *text);
