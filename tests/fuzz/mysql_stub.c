/* No target has a MySQL server: its client library is not linked. */
#include "vtddl/store.h"

const struct store_ops store_mysql_ops = { .scheme = "mysql" };
