#pragma once
/* statement: the text of a DDL statement from --sql, --sql-file or standard input. */
#include "options.h"

/**
 * statement_read() - read it whole
 * @stdin_too:	without --sql and --sql-file, standard input is read unless it is a terminal
 * @ret:	NUL-terminated, in the options' arena; NULL: none was given
 *
 * Empty, unreadable, a folder, a NUL in it, longer than DDL_MAX: refused with ERROR_INPUT.
 */
int must_check statement_read(struct options *options, bool stdin_too, const char **ret,
			      struct error *reterr);

/** statement_is_from_stdin() - whether the statement cannot be read a second time */
bool statement_is_from_stdin(const struct options *options);
