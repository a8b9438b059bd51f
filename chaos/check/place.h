/* Where in a JSON text a value stands, for complaints about it. */
#ifndef QN_CHECK_PLACE_H
#define QN_CHECK_PLACE_H

#include "server/base/str.h"

/* The line of a place such as "queue.visibility" or "variants[0].load[2]", from 1; of a member that
 * of its name. 0: there is none. */
int64_t qn_place_line(struct qn_str text, const char *path);

#endif
