/* Consumer instances: which of them a text means. */
#ifndef QN_MODEL_INSTANCE_H
#define QN_MODEL_INSTANCE_H

#include "server/base/str.h"

/* Whether the words of a rule or of an effect mean the instance with this access key: the key
 * itself, or, of the keys that the harness gives out, its number (2 for QUERN0002). */
bool qn_instance_is(struct qn_str said, struct qn_str access_key);

#endif
