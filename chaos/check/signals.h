/* The signals that a check hears. */
#ifndef QN_CHECK_SIGNALS_H
#define QN_CHECK_SIGNALS_H

#include <stdbool.h>

/* Blocks SIGCHLD and what tells a check to end: SIGINT, SIGTERM, SIGQUIT, and SIGHUP unless it is
 * ignored (nohup). Returns a descriptor on which they arrive; -1: there is none left. */
int qn_signals_open(void);
/* Reads what arrived there; true: something that tells the check to end was among it. */
bool qn_signals_heard_end(int signal_fd);

#endif
