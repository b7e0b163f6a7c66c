#pragma once
/*
 * store: where changes are written down before anything is done about them.
 *
 * One interface, several backends, one suite of tests for all (tests/contract). A phase moves
 * only by compare-and-set (R2, I7); the change and its line of history are one transaction,
 * and are on disk when the call returns 0.
 *
 * Calls block, for a few milliseconds with SQLite. The engine never calls this interface: it
 * emits store requests, and the loop makes the calls.
 */
#include "vtddl/arena.h"
#include "vtddl/change.h"
#include "vtddl/error.h"

struct store;

#define STORE_NOT_FOUND 1
#define STORE_CONFLICT 2   /* someone wrote first, or the lease is another's: load and decide again */
#define STORE_TABLE_BUSY 3 /* another live change of this table exists (I15) */
#define STORE_HELD 4	   /* another process holds the lease */

/**
 * store_open() - open or make a store
 * @url:	"sqlite:PATH"; missing folders of PATH are not made, a missing file is, mode 0600
 * @read_only:	never create or write (for `show`): a missing file is STORE_NOT_FOUND
 *
 * Refused, never overwritten: a foreign file, a newer schema, a corrupt file, a network file system.
 *
 * Return: 0; STORE_NOT_FOUND; negative with ERROR_STORE or ERROR_CONFIG (bad URL).
 */
int must_check store_open(const char *url, bool read_only, struct store **ret, struct error *reterr);
struct store *store_close(struct store *store); /* returns NULL; NULL is fine */

/** store_url() - as given, without any secret */
const char *store_url(const struct store *store);

/**
 * store_insert() - make the record of a new change (W0)
 * @change:	complete, change->epoch of the lease it is made under; on success change->revision is 1
 *
 * A change holds its table while phase_is_live(). A new generation of the same statement (--again:
 * same ddl_sha256 and table, higher generation) takes the table over from a former one that is
 * failed or stopped, in the same transaction: the former keeps its phase, is not live any more
 * (live_only), gets a line of history and a new revision, and can move to a live phase again only
 * while nobody holds the table (else STORE_TABLE_BUSY).
 *
 * Return: 0; STORE_CONFLICT, (cluster, context) or (cluster, uuid) exists, or the lease row carries
 * a newer epoch than change->epoch; STORE_TABLE_BUSY; negative.
 */
int must_check store_insert(struct store *store, struct change *change, const char *actor,
			    const char *evidence, struct error *reterr);

/* What an update was decided on. All must still be so. */
struct store_expect {
	enum phase phase;
	int64_t revision;
	int64_t epoch; /* of our lease: change->epoch becomes it; must be >= the stored epoch
			  and the lease row must still carry it */
};

/**
 * store_update() - write phase, gate, flags, effect bookkeeping, reason and shards of @change
 * @entry:	history line; NULL: the write changes no phase (an attempt, a gate)
 *
 * The names, the statement, the strategy and created_* never change. The lease is that of
 * "<cluster>/<keyspace>". An arrow that phase_may_move() does not have, and a line of history that
 * does not say what the write does, are ERROR_BUG. On a lost connection the outcome is
 * unknown: load the record again before deciding anything.
 *
 * Return: 0, change->revision is the new one; STORE_CONFLICT, nothing written;
 * STORE_TABLE_BUSY; negative, the store holds what it held before, or the new record.
 */
int must_check store_update(struct store *store, struct change *change, const struct store_expect *expect,
			    const struct history_entry *entry, struct error *reterr);

/** store_load() - one change by uuid, into @arena. Return: 0; STORE_NOT_FOUND; negative */
int must_check store_load(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
			  struct change *ret, struct error *reterr);

struct store_filter {
	const char *cluster;
	const char *keyspace;	/* NULL: any */
	const char *ddl_sha256; /* NULL: any */
	const char *table;	/* NULL: any */
	const char *uuid_or_context; /* NULL: any */
	bool live_only;
	unsigned limit; /* 0: none; newest first */
};

/** store_list() - changes that match, newest first, into @arena */
int must_check store_list(struct store *store, const struct store_filter *filter, struct arena *arena,
			  struct change **ret, size_t *ret_count, struct error *reterr);

/** store_history() - lines of one change, oldest first, into @arena */
int must_check store_history(struct store *store, const char *cluster, const char *uuid, struct arena *arena,
			     struct history_entry **ret, size_t *ret_count, struct error *reterr);

/**
 * store_lease() - take or keep the right to act on a keyspace
 * @scope:	"<cluster>/<keyspace>"
 * @owner:	"host:pid:incarnation", shown to the others
 * @ret_epoch:	grows with every taking; on STORE_HELD that of the holder, under which a person's wish
 *		(cancel, release) may be written although another acts on it
 * @ret_holder:	ACTOR_MAX + 1 bytes: who holds it, on STORE_HELD
 *
 * SQLite: an open-file-description lock, released by the kernel on kill -9, plus the epoch in
 * the table ddl_lock. Taking a lease that this handle already holds keeps its epoch, unless the lock
 * file or the epoch was replaced behind its back: then it is taken anew.
 *
 * Return: 0; STORE_HELD; negative.
 */
int must_check store_lease(struct store *store, const char *scope, const char *owner, int64_t *ret_epoch,
			   char ret_holder[ACTOR_MAX + 1], struct error *reterr);

/** store_release() - give it up; harmless if it is not held */
void store_release(struct store *store, const char *scope);

/** store_check() - integrity, durability settings; for doctor. One sentence into @ret (REASON_MAX) */
int must_check store_check(struct store *store, char ret[REASON_MAX], struct error *reterr);

/* For backends. */
struct store_ops {
	const char *scheme;
	int (*open)(const char *url, bool read_only, struct store **ret, struct error *reterr);
	int (*insert)(struct store *, struct change *, const char *, const char *, struct error *);
	int (*update)(struct store *, struct change *, const struct store_expect *,
		      const struct history_entry *, struct error *);
	int (*load)(struct store *, const char *, const char *, struct arena *, struct change *, struct error *);
	int (*list)(struct store *, const struct store_filter *, struct arena *, struct change **, size_t *,
		    struct error *);
	int (*history)(struct store *, const char *, const char *, struct arena *, struct history_entry **,
		       size_t *, struct error *);
	int (*lease)(struct store *, const char *, const char *, int64_t *, char *, struct error *);
	void (*release)(struct store *, const char *);
	int (*check)(struct store *, char *, struct error *);
	void (*close)(struct store *);
};

/** every backend's struct begins with this */
struct store {
	const struct store_ops *ops;
	char *url;
};

extern const struct store_ops store_sqlite_ops;
