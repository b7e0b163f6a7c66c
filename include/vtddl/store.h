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

#define SCOPE_MAX (CLUSTER_MAX + 1 + KEYSPACE_MAX) /* of a lease: "<cluster>/<keyspace>" */

#define STORE_NOT_FOUND 1
#define STORE_CONFLICT 2   /* someone wrote first, or the lease is another's: load and decide again */
#define STORE_TABLE_BUSY 3 /* another live change of this table exists (I15) */
#define STORE_HELD 4	   /* another process holds the lease */

/* error.detail of an ERROR_STORE behind which no call of this handle ever succeeds (a sync of SQLite's failed, and a
 * second one would lie): the process must end, and the next one reads what is really there */
#define STORE_LOST (-1)

struct store_config {
	const char *url; /* "sqlite:PATH" or "mysql://USER@HOST[:PORT]/DATABASE" */
	bool read_only;	 /* never create or write (for `show`): a missing file is STORE_NOT_FOUND */
	/* MySQL; file paths, NULL: not set */
	const char *password_file; /* its first line; others may not read it */
	const char *option_file;   /* group [client] of the client library: user, password, TLS */
	const char *ssl_ca, *ssl_cert, *ssl_key;
	bool ssl_off;		   /* plain text to a host that is not this one; asked for by a person */
	int64_t timeout_ms;	   /* of connecting and of one statement; 0: 5 s */
};

/**
 * store_open() - open or make a store
 * @config:	SQLite: missing folders of PATH are not made, a missing file is, mode 0600. MySQL: missing
 *		tables are made
 *
 * Refused, never overwritten: a foreign file or table, a newer schema, a corrupt file, a network file
 * system, settings of the server that lose commits.
 *
 * Return: 0; STORE_NOT_FOUND; negative with ERROR_STORE, ERROR_CONFIG (bad URL, file) or ERROR_AUTH.
 */
int must_check store_open(const struct store_config *config, struct store **ret, struct error *reterr);
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
 * Return: 0; STORE_CONFLICT, (cluster, context) or (cluster, uuid) exists, or there is no lease row with
 * change->epoch; STORE_TABLE_BUSY; negative.
 */
int must_check store_insert(struct store *store, struct change *change, const char *actor,
			    const char *evidence, struct error *reterr);

/* What an update was decided on. All must still be so. */
struct store_expect {
	enum phase phase;
	int64_t revision;
	int64_t epoch; /* of our lease: change->epoch becomes it; must be >= the stored epoch
			  and the lease row must still carry it */
	int64_t lease_ms; /* > 0: the lease row must be of the owner for whom this handle took it last
			     (else STORE_CONFLICT), and in the same transaction our lease is made to last at least so long from
			     now by the store's clock, so that an effect's deadline lies inside it (R3);
			     a lease without an end (SQLite) stays as it is */
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

/* One write of a batch; the fields mean what the arguments of store_insert() and store_update() do. */
struct store_write {
	struct change *change;
	const struct store_expect *expect; /* NULL: an insert */
	const struct history_entry *entry; /* of an update; may be NULL */
	const char *actor, *evidence;	   /* of an insert */
	int result;			   /* what store_insert() or store_update() would have returned */
	struct error error;		   /* where result is negative */
};

/**
 * store_write() - several writes as one transaction, one commit (group commit)
 *
 * Each succeeds or is refused for itself: a conflict of one takes nothing from the others, and a later one
 * sees what an earlier one wrote. Where the transaction as a whole fails, all of them have failed; after
 * a lost connection each is unknown and must be loaded again. A deadlock is tried again one by one.
 */
void store_write(struct store *store, struct store_write *writes, size_t count);

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

#define LEASE_NO_END INT64_MAX

struct lease {
	int64_t epoch;	 /* grows with every taking; on STORE_HELD that of the holder, under which a person's
			    wish (cancel, release) may be written although another acts on it */
	int64_t left_ms; /* by the store's clock. Ours: count it from before the call was made (R3).
			    LEASE_NO_END: as long as its process lives */
	char holder[ACTOR_MAX + 1]; /* who holds it: us, or on STORE_HELD the other */
};

/**
 * store_lease() - take or keep the right to act on a keyspace
 * @scope:	"<cluster>/<keyspace>"
 * @owner:	"host:pid:incarnation", shown to the others; names us: nobody else may have it
 * @for_ms:	how long it shall last from now by the store's clock; keeping it may shorten it
 *
 * Taking a lease that this owner holds already keeps its epoch, unless it ended and another had it, or
 * the row was replaced behind our back: then it is taken anew, with a greater epoch.
 *
 * SQLite: an open-file-description lock, released by the kernel on kill -9, plus the epoch in the table
 * ddl_lock; it has no end. MySQL: a row of ddl_lock with an end, judged by the database's clock after
 * the row was locked, not by ours; a row that another transaction has locked is STORE_HELD at once and
 * not waited for.
 *
 * Return: 0; STORE_HELD; negative.
 */
int must_check store_lease(struct store *store, const char *scope, const char *owner, int64_t for_ms,
			   struct lease *ret, struct error *reterr);

/** store_release() - give it up, so that another may take it at once; harmless if it is not held by @owner.
 * Closing a store releases nothing in MySQL: an effect may be in flight */
void store_release(struct store *store, const char *scope, const char *owner);

/* What a controller must know of a change to leave it alone or to take it up. */
struct live_change {
	const char *keyspace, *table, *uuid, *reason;
	enum phase phase;
	enum gate gate;
	bool cancel_asked, holds_table;
	int rule;
	uint32_t shard_count;
	int64_t epoch, revision, created_at_ms, updated_at_ms, deadline_at_ms;
};

struct lease_row {
	const char *keyspace, *holder; /* holder "": nobody's; it was released, or its process is gone */
	int64_t epoch;
	int64_t left_ms; /* <= 0: it ended, anybody may take it; LEASE_NO_END: held by a living process */
};

struct live {
	struct live_change *changes; /* sorted by keyspace, then uuid */
	size_t change_count;
	struct lease_row *leases; /* of the keyspaces of @changes that ever had one; sorted by keyspace */
	size_t lease_count;
};

/**
 * store_live() - everything there is to do, in one snapshot
 * @cancelled_since_ms:	wall clock; a cancelled change is on watch (R6) if updated_at_ms is not before it
 *
 * Changes that hold their table, and cancelled ones on watch. Its cost does not depend on how many are
 * verified or cancelled.
 *
 * Return: 0; negative.
 */
int must_check store_live(struct store *store, const char *cluster, int64_t cancelled_since_ms,
			  struct arena *arena, struct live *ret, struct error *reterr);

/** store_check() - integrity, durability settings; for doctor. One sentence into @ret (REASON_MAX) */
int must_check store_check(struct store *store, char ret[REASON_MAX], struct error *reterr);

/* For backends. */
struct store_ops {
	const char *scheme;
	int (*open)(const struct store_config *, struct store **ret, struct error *reterr);
	void (*write)(struct store *, struct store_write *, size_t);
	int (*list)(struct store *, const struct store_filter *, struct arena *, struct change **, size_t *,
		    struct error *);
	int (*history)(struct store *, const char *, const char *, struct arena *, struct history_entry **,
		       size_t *, struct error *);
	int (*live)(struct store *, const char *, int64_t, struct arena *, struct live *, struct error *);
	int (*lease)(struct store *, const char *, const char *, int64_t, struct lease *, struct error *);
	void (*release)(struct store *, const char *, const char *);
	int (*check)(struct store *, char *, struct error *);
	void (*close)(struct store *);
};

/** every backend's struct begins with this */
struct store {
	const struct store_ops *ops;
	char *url;
};

extern const struct store_ops store_sqlite_ops;
extern const struct store_ops store_mysql_ops;
