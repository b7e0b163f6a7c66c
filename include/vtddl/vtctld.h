#pragma once
/*
 * vtctld: the requests vtddl sends to vtctlservice.Vtctld and the answers, as plain values.
 *
 * Drivers: wire/ (gRPC's C core) and, in tests, the fleet model on a virtual clock. All
 * calls are asynchronous: a request has a tag, and its reply comes back with it exactly once.
 * Every text in a reply is NUL-terminated, free of NUL bytes and bounded (wire/scan.c).
 *
 * Facts about Vitess in these headers were read in the source of release 24.0.4 or measured
 * on it (docs/facts/).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vtddl/arena.h"
#include "vtddl/change.h"

enum vtctld_method {
	VTCTLD_GET_KEYSPACES,
	VTCTLD_FIND_ALL_SHARDS,
	VTCTLD_GET_TABLETS,
	VTCTLD_GET_SCHEMA_MIGRATIONS,
	VTCTLD_EXECUTE_FETCH_AS_DBA,
	VTCTLD_GET_SCHEMA,
	VTCTLD_CHECK_THROTTLER,
	VTCTLD_APPLY_SCHEMA,
	VTCTLD_COMPLETE,
	VTCTLD_CANCEL,
	_VTCTLD_METHOD_MAX
};

/** vtctld_method_name() - the RPC's name: "ApplySchema" */
const char *vtctld_method_name(enum vtctld_method method);

/** vtctld_method_is_effect() - whether it changes the fleet */
bool vtctld_method_is_effect(enum vtctld_method method);

struct vtctld_request {
	uint64_t tag;
	enum vtctld_method method;
	unsigned server;      /* which vtctld: 0, or as wire_add() gave it */
	const char *keyspace;
	const char *uuid;     /* GET_SCHEMA_MIGRATIONS (or NULL), APPLY_SCHEMA, COMPLETE, CANCEL */
	const char *context;  /* APPLY_SCHEMA; GET_SCHEMA_MIGRATIONS: used when uuid is NULL */
	const char *sql;      /* APPLY_SCHEMA, EXECUTE_FETCH_AS_DBA */
	const char *strategy; /* APPLY_SCHEMA */
	const char *table;    /* GET_SCHEMA: exactly this table or view */
	const char *caller_id; /* effects: principal; NULL: none */
	uint64_t limit;       /* GET_SCHEMA_MIGRATIONS: rows per shard, the newest where uuid is NULL;
			       * EXECUTE_FETCH_AS_DBA: rows */
	uint64_t skip;	      /* GET_SCHEMA_MIGRATIONS with a limit: so many rows of each shard are left out first */
	struct tablet_alias tablet; /* EXECUTE_FETCH_AS_DBA, GET_SCHEMA, CHECK_THROTTLER */
	int64_t timeout_ms;
};

/* What is known about the effect of a call; the whole difference between "try again" and
 * "look first". Reads use only DONE and the others as "no answer". */
enum vtctld_outcome {
	VTCTLD_DONE,	 /* answered OK */
	VTCTLD_REFUSED,	 /* answered, and the code says nothing was done: auth, argument, unimplemented */
	VTCTLD_NOT_SENT, /* no connection was ever made: not one byte left */
	VTCTLD_UNKNOWN,	 /* everything else: may be done on any subset of shards, now or a little later */
	_VTCTLD_OUTCOME_MAX
};
const char *vtctld_outcome_name(enum vtctld_outcome outcome);

enum migration_status { /* numbers of vtctldata.SchemaMigration.Status */
	MIGRATION_UNKNOWN = 0,
	MIGRATION_REQUESTED = 1,
	MIGRATION_CANCELLED = 2,
	MIGRATION_QUEUED = 3,
	MIGRATION_READY = 4,
	MIGRATION_RUNNING = 5,
	MIGRATION_COMPLETE = 6,
	MIGRATION_FAILED = 7
};
/** migration_status_is_known() - one of these, and not MIGRATION_UNKNOWN */
bool migration_status_is_known(int status);
/** lower-case name ("running"); "unknown" for any other number */
const char *migration_status_name(int status);
/** MIGRATION_UNKNOWN for any other text */
enum migration_status migration_status_from_name(const char *name);

/* One row of _vt.schema_migrations as a shard shows it. Times are Unix seconds by vtctld's or
 * the tablet's clock: compare them only with each other. 0: absent. */
struct migration {
	const char *uuid, *keyspace, *shard, *table, *statement, *options, *context;
	const char *ddl_action, *message, *stage, *artifacts, *special_plan;
	int strategy; /* 0 vitess/online, 3 direct, 4 mysql */
	int status;   /* enum migration_status, or a number we do not know */
	bool postpone_completion, postpone_launch, ready_to_complete, is_immediate_operation;
	bool is_view;
	bool tablet_failure; /* failed because its tablet was lost: Vitess retries it once by itself */
	int64_t retries;
	int64_t requested_at_s, started_at_s, liveness_s, completed_at_s, reviewed_at_s;
	int64_t ready_to_complete_at_s;
	double progress;     /* percent */
	int64_t eta_s;       /* -1: unknown */
	int64_t rows_copied, table_rows;
	int64_t cutover_attempts;
	struct tablet_alias tablet; /* owner column: which tablet runs it */
};

struct topo_shard {
	const char *name;
	bool has_primary;
	struct tablet_alias primary;
	bool is_serving;
	int64_t primary_term_start_s;
	/* key range, as bytes; both empty: everything */
	const uint8_t *range_start, *range_end;
	size_t range_start_length, range_end_length;
};

enum tablet_type { TABLET_UNKNOWN = 0, TABLET_PRIMARY = 1, TABLET_REPLICA = 2, TABLET_RDONLY = 3 };

struct topo_tablet {
	struct tablet_alias alias;
	const char *keyspace, *shard, *hostname;
	int type; /* topodata.TabletType */
	int64_t start_s;    /* of the vttablet process; 0: absent */
	int64_t shutdown_s; /* set by an orderly stop */
};

struct table_definition {
	const char *name;
	const char *schema; /* the CREATE statement */
	const char *type;   /* "BASE TABLE" or "VIEW" */
};

struct query_cell {
	const char *text; /* NULL: SQL NULL */
	size_t length;
};

struct query_result {
	size_t column_count, row_count;
	const char **columns;	  /* names */
	struct query_cell *cells; /* row_count * column_count */
};

struct shard_count {
	const char *shard;
	uint64_t rows;
};

struct throttler_check {
	int response_code; /* 1 OK, 2 threshold exceeded, ... 0: not said */
	double value, threshold;
	const char *message;
};

struct vtctld_reply {
	uint64_t tag;
	enum vtctld_method method;
	enum vtctld_outcome outcome;
	int code;	  /* grpc status; 0 OK */
	const char *text; /* of the error; "" when OK. Data of the fleet: show it, never decide by it */
	/* Filled only where outcome is VTCTLD_DONE, in the arena given with the call: */
	union {
		struct { const char **names; size_t count; } keyspaces;
		struct { struct topo_shard *items; size_t count; } shards; /* sorted by name */
		struct { struct topo_tablet *items; size_t count; } tablets;
		struct { struct migration *items; size_t count; } migrations;
		struct { struct table_definition *items; size_t count; } definitions;
		struct query_result result;
		struct throttler_check throttler;
		struct {
			const char **uuids; size_t uuid_count;
			struct shard_count *counts; size_t count;
		} effect;
	};
};

/**
 * The statement that reads one change's rows directly from a primary, for when
 * GetSchemaMigrations cannot answer: it hangs while a dead old primary's record lingers,
 * and misses shards without saying so (measured on 24.0.4).
 */
/** migration_select() - text for EXECUTE_FETCH_AS_DBA; by uuid, or (uuid NULL) by context prefix.
 * NULL: the name is not valid. LIKE takes `_` for any character: compare the rows' contexts exactly */
char *migration_select(struct arena *arena, const char *uuid, const char *context_prefix);

/**
 * migration_from_result() - rows of migration_select()'s answer
 * @shard:	which shard was asked (rows naming another are dropped)
 *
 * Return: 0; negative with ERROR_PROTOCOL when a column is missing (also without rows: an answer
 * without columns proves no absence) or a number is none.
 */
struct error;
int migration_from_result(struct arena *arena, const struct query_result *result, const char *shard,
			  struct migration **ret, size_t *ret_count, struct error *reterr);
