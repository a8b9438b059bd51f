/* One line per event on stderr: `level area: sentence key=value`. Never a message body. */
#ifndef QN_BASE_LOG_H
#define QN_BASE_LOG_H

#include "server/base/str.h"

enum qn_log_level { QN_LOG_ERROR, QN_LOG_WARN, QN_LOG_INFO, QN_LOG_DEBUG };

/* The product's only mutable global. Default: info. */
void qn_log_set_level(enum qn_log_level level);
bool qn_log_is_on(enum qn_log_level level);
QN_MUST_CHECK bool qn_log_parse_level(struct qn_str name, enum qn_log_level *ret_level);
/* Thread-safe: one write(2) per line. */
void qn_log(enum qn_log_level level, const char *area, const char *format, ...) QN_PRINTF(3, 4);

#endif
