#include "sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store_sql.h"
#include "vtddl/strbuf.h"

#define SCHEMA_TEXT_MAX ((size_t)256 * 1024)

/* ---- Where it lies ---- */

/* Locks and fsync mean what SQLite needs only on a disk of this host. */
static const struct {
	unsigned long type;
	const char *name;
} refused_file_systems[] = {
	{ NFS_SUPER_MAGIC, "NFS" },	{ SMB_SUPER_MAGIC, "SMB" },   { 0xfe534d42ul, "SMB" },
	{ 0xff534d42ul, "CIFS" },	{ CODA_SUPER_MAGIC, "Coda" }, { AFS_SUPER_MAGIC, "AFS" },
	{ 0x6b414653ul, "AFS" },	{ CEPH_SUPER_MAGIC, "Ceph" }, { V9FS_MAGIC, "9P" },
	{ OCFS2_SUPER_MAGIC, "OCFS2" }, { 0x01161970ul, "GFS2" },     { 0x0bd00bd0ul, "Lustre" },
	{ 0x47504653ul, "GPFS" },	{ FUSE_SUPER_MAGIC, "FUSE" }, /* sshfs, GlusterFS and the like: it
									 cannot be told which */
};

const char *sqlite_file_system_refusal(unsigned long type)
{
	for (size_t i = 0; i < sizeof(refused_file_systems) / sizeof(refused_file_systems[0]); i++)
		if (refused_file_systems[i].type == (type & 0xfffffffful))
			return refused_file_systems[i].name;
	return NULL;
}

/* Absolute path without any link in its folders: SQLite then refuses every link that is left,
 * and a name like ":memory:" or "file:x?mode=…" is a name and nothing more. */
static int path_resolve(const char *path, bool read_only, char **ret, struct error *reterr)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *folder, *real;

	if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return error_set(reterr, ERROR_CONFIG, "'sqlite:%s' names no file; use --store sqlite:PATH",
				 path);
	folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!folder)
		abort();
	real = realpath(folder, NULL);
	if (!real) {
		int saved_errno = errno;

		if (read_only && saved_errno == ENOENT) {
			free(folder);
			return STORE_NOT_FOUND;
		}
		error_set_detail(reterr, ERROR_STORE, saved_errno,
				 "Cannot open the store %s: its folder %s %s (%s); make the folder, or name "
				 "another file"
				 " with --store",
				 path, folder, saved_errno == ENOENT ? "is missing" : "cannot be reached",
				 strerror(saved_errno));
		free(folder);
		return -1;
	}
	if (asprintf(ret, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base) < 0)
		abort();
	free(real);
	free(folder);
	return 0;
}

static int folder_check(const struct sqlite_store *store, struct error *reterr)
{
	char *folder = strdup(store->path);
	const char *refused = NULL;
	struct statfs fs;
	int result = 0;

	if (!folder)
		abort();
	strrchr(folder, '/')[strrchr(folder, '/') == folder ? 1 : 0] = '\0';
	if (statfs(folder, &fs) == 0)
		refused = sqlite_file_system_refusal((unsigned long)fs.f_type);
	if (refused)
		result = error_set(reterr, ERROR_STORE,
				   "Cannot use the store %s: it is on a %s file system, whose locks do not "
				   "keep two hosts"
				   " apart; name a file on a disk of this host with --store",
				   store->path, refused);
	else if (!store->read_only && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
		result = error_set_detail(
			reterr, ERROR_STORE, errno,
			"Cannot open the store %s: its folder cannot be written, where the journal must go"
			" (%s); make the folder writable for this user, or name another file with --store",
			store->path, strerror(errno));
	free(folder);
	return result;
}

/* Never opens a file that exists: closing it would drop the locks that SQLite has on it. */
static int file_prepare(const struct sqlite_store *store, struct error *reterr)
{
	struct stat st;
	int fd;

	if (lstat(store->path, &st) == 0) {
		if (S_ISREG(st.st_mode))
			return 0;
		return error_set(reterr, ERROR_STORE,
				 "Cannot open the store %s: it is %s; name a plain file with --store",
				 store->path,
				 S_ISLNK(st.st_mode)   ? "a symbolic link"
				 : S_ISDIR(st.st_mode) ? "a folder"
						       : "no plain file");
	}
	if (errno == ENOENT && store->read_only)
		return STORE_NOT_FOUND;
	if (errno == ENOENT) {
		fd = open(store->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			close(fd);
		if (fd >= 0 || errno == EEXIST)
			return 0;
	}
	return error_set_detail(
		reterr, ERROR_STORE, errno,
		"Cannot open the store %s: %s; check the path and the rights of this user on it", store->path,
		strerror(errno));
}

/* ---- What it is ---- */

static int pragma_int(struct sqlite_store *store, const char *pragma, int64_t *ret, struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = sqlite_prepare(store, pragma, reterr);
	int result;

	*ret = 0;
	if (!stmt)
		return -1;
	result = sqlite_run(store, stmt, reterr);
	if (result == 1)
		*ret = sqlite3_column_int64(stmt, 0);
	return result < 0 ? result : 0;
}

struct file_identity {
	int64_t application_id;
	int64_t user_version;
	int64_t object_count;
};

static int identity_read(struct sqlite_store *store, struct file_identity *ret, struct error *reterr)
{
	int result = pragma_int(store, "PRAGMA application_id", &ret->application_id, reterr);

	if (result == 0)
		result = pragma_int(store, "PRAGMA user_version", &ret->user_version, reterr);
	if (result == 0)
		result = pragma_int(store, "SELECT count(*) FROM sqlite_schema", &ret->object_count, reterr);
	return result;
}

/* In one transaction: another process may be making the store just now, and half of what was before with
 * half of what is after would be a file of nobody. */
static int identity_read_at_once(struct sqlite_store *store, struct file_identity *ret, struct error *reterr)
{
	int result = sqlite_begin(store, false, reterr);

	if (result < 0)
		return result;
	result = identity_read(store, ret, reterr);
	sqlite_rollback(store);
	return result;
}

static bool identity_is_fresh(const struct file_identity *identity)
{
	return identity->application_id == 0 && identity->user_version == 0 && identity->object_count == 0;
}

static int identity_refuse(const struct sqlite_store *store, const struct file_identity *identity,
			   struct error *reterr)
{
	if (identity->application_id != SQLITE_APPLICATION_ID)
		return error_set(
			reterr, ERROR_STORE,
			"Cannot use %s as a store: it is a SQLite database of another program (application_id"
			" %lld); name another file with --store, this one was left as it is",
			store->path, (long long)identity->application_id);
	if (identity->user_version > SQLITE_USER_VERSION)
		return error_set(reterr, ERROR_STORE,
				 "Cannot use the store %s: a newer vtddl made it (version %lld, this one "
				 "knows %d); use the"
				 " newer vtddl, the file was left as it is",
				 store->path, (long long)identity->user_version, SQLITE_USER_VERSION);
	if (identity->user_version < SQLITE_USER_VERSION)
		return error_set(reterr, ERROR_STORE,
				 "Cannot use the store %s: it was only half made or changed by hand (version "
				 "%lld); put"
				 " back a backup (docs/store.md), the file was left as it is",
				 store->path, (long long)identity->user_version);
	return 0;
}

/* Everything that is declared in @db, one line each. */
static bool schema_text(sqlite3 *db, struct strbuf *ret)
{
	cleanup_stmt sqlite3_stmt *stmt = NULL;
	int code;

	if (sqlite3_prepare_v2(db, sql_objects, -1, &stmt, NULL) != SQLITE_OK)
		return false;
	while ((code = sqlite3_step(stmt)) == SQLITE_ROW)
		for (int column = 0; column < 4; column++) {
			const char *text = (const char *)sqlite3_column_text(stmt, column);

			strbuf_addf(ret, "%s\n", text ? text : "");
		}
	return code == SQLITE_DONE && !ret->overflow;
}

/* A lost index or trigger would take a second line of defence away without a word. */
static int schema_compare(struct sqlite_store *store, struct error *reterr)
{
	struct strbuf wanted, found;
	sqlite3 *memory = NULL;
	int result = 0;

	strbuf_init(&wanted, SCHEMA_TEXT_MAX);
	strbuf_init(&found, SCHEMA_TEXT_MAX);
	if (sqlite3_open(":memory:", &memory) != SQLITE_OK ||
	    sqlite3_exec(memory, sql_schema, NULL, NULL, NULL) != SQLITE_OK || !schema_text(memory, &wanted))
		result = error_set(reterr, ERROR_BUG, "The tables of the store cannot be made in memory: %s",
				   memory ? sqlite3_errmsg(memory) : "out of memory");
	else if (!schema_text(store->db, &found) && !found.overflow)
		result = sqlite_fail(store, "read", reterr);
	else if (strcmp(wanted.text, found.text) != 0)
		result = error_set(reterr, ERROR_STORE,
				   "Cannot use the store %s: its tables, indexes or triggers are not those "
				   "that vtddl made;"
				   " put back a backup (docs/store.md), the file was left as it is",
				   store->path);
	sqlite3_close(memory);
	strbuf_release(&found);
	strbuf_release(&wanted);
	return result;
}

/* All in one transaction: there is no half-made store, whenever we are killed (C20). */
static int schema_create(struct sqlite_store *store, struct error *reterr)
{
	struct file_identity identity;
	int result = sqlite_begin(store, true, reterr);

	if (result < 0)
		return result;
	result = identity_read(store, &identity, reterr);
	if (result == 0 && identity_is_fresh(&identity) &&
	    sqlite3_exec(store->db, sql_schema, NULL, NULL, NULL) != SQLITE_OK)
		result = sqlite_fail(store, "make", reterr);
	if (result == 0)
		return sqlite_commit(store, reterr);
	sqlite_rollback(store);
	return result;
}

static int damage_check(struct sqlite_store *store, struct error *reterr)
{
	char complaint[REASON_MAX];
	struct stat st;

	if (lstat(store->path, &st) != 0 || st.st_size > SQLITE_QUICK_CHECK_MAX ||
	    sqlite_quick_check(store, "PRAGMA quick_check(3)", complaint))
		return 0;
	return error_set_detail(
		reterr, ERROR_STORE, SQLITE_CORRUPT,
		"Cannot use the store %s: the file is damaged (%.300s); keep it, put back a backup"
		" (docs/store.md), and run the same command again",
		store->path, complaint);
}

/* ---- Settings ---- */

static int config_set(sqlite3 *db)
{
	static const struct {
		int option, value;
	} options[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },   { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FKEY, 1 }, { SQLITE_DBCONFIG_ENABLE_TRIGGER, 1 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 }, { SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int now = -1;

		if (sqlite3_db_config(db, options[i].option, options[i].value, &now) != SQLITE_OK ||
		    now != options[i].value)
			return SQLITE_ERROR;
	}
	return SQLITE_OK;
}

static int settings_apply(struct sqlite_store *store, struct error *reterr)
{
	cleanup_stmt sqlite3_stmt *stmt = NULL;
	int result;

	if (sqlite3_exec(store->db,
			 "PRAGMA synchronous = EXTRA; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
			 " PRAGMA temp_store = MEMORY; PRAGMA recursive_triggers = ON;",
			 NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(store, "set up", reterr);
	if (store->read_only)
		return sqlite3_exec(store->db, "PRAGMA query_only = ON", NULL, NULL, NULL) == SQLITE_OK
			       ? 0
			       : sqlite_fail(store, "set up", reterr);
	stmt = sqlite_prepare(store, "PRAGMA journal_mode = DELETE", reterr);
	if (!stmt)
		return -1;
	result = sqlite_run(store, stmt, reterr);
	if (result < 0)
		return result;
	if (strcmp((const char *)sqlite3_column_text(stmt, 0), "delete") != 0)
		return error_set(reterr, ERROR_STORE,
				 "Cannot use the store %s: its journal mode is %s and cannot be changed; "
				 "close every other"
				 " program that has it open, and run the same command again",
				 store->path, sqlite3_column_text(stmt, 0));
	return 0;
}

/* A reader opens for writing too, where it may: only then can SQLite undo the last write of
 * somebody who was killed. It is kept from writing itself by query_only. */
static int handle_open(struct sqlite_store *store, struct error *reterr)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE |
		    SQLITE_OPEN_FULLMUTEX;

	if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK) {
		if (!store->db)
			abort();
		sqlite3_extended_result_codes(store->db, 1);
		return sqlite_fail(store, "open", reterr);
	}
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, SQLITE_BUSY_TIMEOUT_MS);
	if (config_set(store->db) != SQLITE_OK)
		return error_set(reterr, ERROR_STORE,
				 "Cannot use SQLite %s: it lacks a protection that the store needs; install "
				 "SQLite 3.37 or"
				 " newer",
				 sqlite3_libversion());
	if (!store->read_only && sqlite3_db_readonly(store->db, "main") == 1)
		return error_set_detail(reterr, ERROR_STORE, SQLITE_READONLY,
					"Cannot open the store %s: the file, its folder or its disk is "
					"read-only; make all three"
					" writable for this user, or name another file with --store",
					store->path);
	return 0;
}

static int store_prepare(struct sqlite_store *store, struct error *reterr)
{
	struct file_identity identity;
	int result = folder_check(store, reterr);

	if (result == 0)
		result = file_prepare(store, reterr);
	if (result == 0)
		result = handle_open(store, reterr);
	if (result == 0)
		result = identity_read_at_once(store, &identity, reterr);
	if (result == 0 && identity_is_fresh(&identity)) {
		if (store->read_only)
			return STORE_NOT_FOUND;
		result = settings_apply(store, reterr);
		if (result == 0)
			result = schema_create(store, reterr);
		if (result == 0)
			result = identity_read_at_once(store, &identity, reterr);
	}
	if (result == 0)
		result = identity_refuse(store, &identity, reterr);
	if (result == 0)
		result = schema_compare(store, reterr);
	if (result == 0)
		result = damage_check(store, reterr);
	/* Only now is it certain that the file is ours to change. */
	if (result == 0)
		result = settings_apply(store, reterr);
	return result;
}

int sqlite_open(const struct store_config *config, struct store **ret, struct error *reterr)
{
	struct sqlite_store *store;
	char *path = NULL;
	int result = path_resolve(config->url + strlen("sqlite:"), config->read_only, &path, reterr);

	if (result != 0)
		return result;
	store = calloc(1, sizeof(*store));
	if (!store)
		abort();
	store->path = path;
	store->read_only = config->read_only;
	store->lock_fd = -1;
	result = store_prepare(store, reterr);
	if (result != 0) {
		sqlite_close(&store->base);
		return result;
	}
	*ret = &store->base;
	return 0;
}

void sqlite_close(struct store *base)
{
	struct sqlite_store *store = sqlite_store_of(base);

	sqlite_leases_free(store);
	sqlite_statements_free(store);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}
