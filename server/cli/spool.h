/* Files without a name, for what is too much for memory: gone with the process. */
#ifndef QN_CLI_SPOOL_H
#define QN_CLI_SPOOL_H

#include "server/base/str.h"

/* TMPDIR, or /tmp. */
const char *qn_spool_folder(void);
/* -1 with errno when there can be none. */
int qn_spool_open(void);
/* False with errno. */
QN_MUST_CHECK bool qn_spool_write(int fd, struct qn_str bytes);

#endif
