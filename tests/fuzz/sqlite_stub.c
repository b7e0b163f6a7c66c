/* The engine's target has its store in memory. */
#include "vtddl/store.h"

const struct store_ops store_sqlite_ops = { .scheme = "sqlite" };
