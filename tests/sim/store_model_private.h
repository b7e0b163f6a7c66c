#pragma once
/*
 * Inside of the store model: what is in the database. Texts are shared and live as long as the database,
 * so a snapshot copies records only.
 */
#include "store_model.h"

struct model_record {
	struct change change; /* its shards are an allocation of their own */
	bool holds_table;
	struct history_entry *history;
	size_t history_count;
};

struct model_lock {
	char scope[SCOPE_MAX + 1];
	struct store_model_lease lease;
};

struct model_data {
	struct model_record **records; /* in the order of writing */
	size_t record_count, record_size;
	struct model_lock *locks;
	size_t lock_count;
};

struct store_model {
	struct store_model *next; /* of all databases of this process */
	char name[64];
	int64_t (*clock)(void *user);
	void *clock_user;
	int64_t clock_offset_ms;
	struct model_data data, snapshot;
	void *texts; /* tsearch() */
	enum store_model_state state;
	unsigned failed[2]; /* calls, by enum store_model_when */
	struct store_model_watch watch;
};

/* What a handle believes of a lease that it had: another epoch in the row means that it was replaced. */
struct model_known {
	char scope[SCOPE_MAX + 1];
	int64_t epoch;
	char owner[ACTOR_MAX + 1]; /* for whom it was taken last; "": another has it */
};

struct model_handle {
	struct store base;
	struct store_model *model;
	bool read_only;
	struct model_known *known;
	size_t known_count;
	unsigned fail_in, fail_times; /* calls until the fault; 0: none */
	enum store_model_when fail_when;
};

/* store_model_data.c */
const char *model_text(struct store_model *model, const char *text);
void model_data_free(struct model_data *data);
void model_data_copy(const struct model_data *from, struct model_data *ret);
struct model_record *model_find(const struct model_data *data, const char *cluster, const char *uuid);
struct model_lock *model_lock_find(const struct model_data *data, const char *scope);
struct model_lock *model_lock_add(struct model_data *data, const char *scope);
/** one write; everything about a change that the statements of the real stores say */
int model_write(struct store_model *model, const struct store_write *write, const char *owner, struct change *ret_before);
/** into @arena; false: it does not fit */
bool model_change_out(struct arena *arena, const struct change *from, struct change *ret);

extern const struct store_ops store_model_ops;
