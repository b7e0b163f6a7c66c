#include "sqlite.h"

#include <errno.h>

/* What a code of SQLite means to the one who has to do something about it. Extended codes come
 * before the plain ones; the first row that matches is taken. */
static const struct {
	int code;
	const char *what;
	const char *advice;
} meanings[] = {
	{ SQLITE_FULL, "the disk is full",
	  "make room and run the same command again; nothing was half-written" },
	{ SQLITE_READONLY_DBMOVED, "the file was moved or deleted while it was in use",
	  "put it back and run the same command again; do not start with an empty store" },
	{ SQLITE_READONLY_ROLLBACK,
	  "a writer was killed, and its last write must be undone by somebody who may write here",
	  "run any vtddl command once as the user who owns the file" },
	{ SQLITE_READONLY_DIRECTORY, "its folder cannot be written, where the journal must go",
	  "make the folder writable for this user" },
	{ SQLITE_READONLY, "the file, its folder or its disk is read-only",
	  "make all three writable for this user, or name another file with --store" },
	{ SQLITE_CANTOPEN_SYMLINK, "the file is a symbolic link", "name the file itself with --store" },
	{ SQLITE_CANTOPEN, "the file or its journal cannot be opened",
	  "check that this user may read and write the file and its folder" },
	{ SQLITE_PERM, "access is denied",
	  "check that this user may read and write the file and its folder" },
	{ SQLITE_BUSY, "another process kept it locked for 5 s",
	  "find out who has it open, and run the same command again" },
	{ SQLITE_NOTADB, "the file is not a SQLite database",
	  "name another file with --store; this one was left as it is" },
	{ SQLITE_CORRUPT, "the file is damaged",
	  "keep the file, put back a backup (docs/store.md), and run the same command again" },
	{ SQLITE_IOERR_FSYNC, "the disk could not confirm a write",
	  "check the disk, then start vtddl again" },
	{ SQLITE_IOERR_DIR_FSYNC, "the disk could not confirm a write",
	  "check the disk, then start vtddl again" },
	{ SQLITE_IOERR, "reading or writing the file failed",
	  "check the disk; whether the last write was kept is known after the next start" },
	{ SQLITE_CONSTRAINT, "the store refused a value that breaks its rules",
	  "report this, it is a bug of vtddl" },
	{ SQLITE_TOOBIG, "a value is too large", "report this, it is a bug of vtddl" },
};

static const char general_advice[] = "check the file and its disk, then run the same command again";

static bool code_matches(int code, int wanted)
{
	return wanted > 0xff ? code == wanted : (code & 0xff) == wanted;
}

/* A limit or quota of the operating system reaches us as a plain write error. */
static int code_refined(int code, int system_errno)
{
	if (code_matches(code, SQLITE_IOERR) &&
	    (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG))
		return SQLITE_FULL;
	return code;
}

/* SQLite keeps the errno of a failed open with the handle, that of a failed write with the file. */
static int errno_of(const struct sqlite_store *store, int code)
{
	int system_errno = 0;

	if (code_matches(code, SQLITE_IOERR))
		sqlite3_file_control(store->db, "main", SQLITE_FCNTL_LAST_ERRNO, &system_errno);
	else if (code_matches(code, SQLITE_CANTOPEN))
		system_errno = sqlite3_system_errno(store->db);
	return system_errno;
}

bool sqlite_quick_check(struct sqlite_store *store, const char *pragma, char ret[REASON_MAX])
{
	sqlite3_stmt *stmt = NULL;
	const char *text = NULL, *end;
	int code;

	store->checking = true;
	code = sqlite3_prepare_v2(store->db, pragma, -1, &stmt, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(stmt);
	if (code == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(stmt, 0);
	else
		text = sqlite3_errstr(code);
	snprintf(ret, REASON_MAX, "%s", text ? text : "no answer");
	sqlite3_finalize(stmt);
	store->checking = false;
	/* A complaint may have several lines; the first says enough. */
	end = strchr(ret, '\n');
	if (strncmp(ret, "*** in database", 15) == 0 && end)
		memmove(ret, end + 1, strlen(end));
	ret[strcspn(ret, "\n")] = '\0';
	return strcmp(ret, "ok") == 0;
}

int sqlite_fail(struct sqlite_store *store, const char *doing, struct error *reterr)
{
	int code = sqlite3_extended_errcode(store->db), system_errno = errno_of(store, code);
	const char *what = NULL, *advice = general_advice;
	char own_words[REASON_MAX], complaint[REASON_MAX];

	snprintf(own_words, sizeof(own_words), "%s", sqlite3_errmsg(store->db));
	if ((code & 0xff) == SQLITE_NOMEM)
		abort();
	/* After a failed fsync the kernel forgets the pages: a second one would lie. */
	if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
		store->broken = true;
	code = code_refined(code, system_errno);
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]) && !what; i++) {
		if (!code_matches(code, meanings[i].code))
			continue;
		what = meanings[i].what;
		advice = meanings[i].advice;
	}
	if (code_matches(code, SQLITE_CORRUPT) && !store->checking &&
	    !sqlite_quick_check(store, "PRAGMA quick_check(1)", complaint))
		snprintf(own_words, sizeof(own_words), "%s", complaint);
	return error_set_detail(reterr, code_matches(code, SQLITE_CONSTRAINT) ? ERROR_BUG : ERROR_STORE,
				store->broken ? STORE_LOST : code,
				"Cannot %s the store %s: %s (%.300s%s%s); %s", doing, store->path,
				what ? what : "SQLite failed", own_words, system_errno ? ": " : "",
				system_errno ? strerror(system_errno) : "", advice);
}
