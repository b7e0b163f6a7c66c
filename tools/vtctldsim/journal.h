#pragma once
/* journal: one JSON line for each RPC when it ends, written and flushed at once. */
#include "fleet.h"
#include "vtddl/error.h"

struct journal;

int must_check journal_open(const char *path, struct journal **ret, struct error *reterr);
struct journal *journal_close(struct journal *journal);

/** journal_write() - a fleet_journal_fn; @journal is a struct journal */
void journal_write(void *journal, const struct fleet_journal_entry *entry);
