/* Whether a command can be started, before anything depends on it. */
#ifndef QN_BASE_PROGRAM_H
#define QN_BASE_PROGRAM_H

#include "server/base/error.h"

/* Looks for it as execvp() does, and for the interpreter that its first line names. False: "cannot
 * start ./work.sh: No such file or directory". A start may fail all the same: files change. */
QN_MUST_CHECK bool qn_program_check(const char *command, struct qn_error *err);

#endif
