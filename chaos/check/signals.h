/* The signals that a check hears. */
#ifndef QN_CHECK_SIGNALS_H
#define QN_CHECK_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Blocks SIGCHLD and what tells a check to end: SIGINT, SIGTERM, SIGQUIT, and SIGHUP unless it is
 * ignored (nohup). Returns a descriptor on which they arrive; -1: there is none left. */
int qn_signals_open(void);
bool qn_signals_is_end(uint32_t number);

#endif
