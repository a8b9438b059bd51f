/* Each line of a recording by itself: whether it is one. */
#ifndef QN_CLI_REPLAY_CHECK_H
#define QN_CLI_REPLAY_CHECK_H

#include <jansson.h>

#include "server/cli/lines.h"

/* The line as an object of a known kind, with the members that a replay reads of the right types.
 * The caller owns it. */
QN_MUST_CHECK bool qn_check_line(const struct qn_lines *lines, struct qn_str text,
                                 json_t **ret_line, struct qn_error *err);

#endif
