/* Deleting and changing visibility by receipt handle: the single actions and the entries of their
 * batches. */
#ifndef QN_ACTIONS_HANDLES_H
#define QN_ACTIONS_HANDLES_H

#include "server/actions/batch.h"

/* Deletes what the handle names (11.1). With `pretend` everything is checked and nothing done. */
QN_MUST_CHECK bool qn_handle_delete(struct qn_tx *tx, struct qn_str receipt_handle, bool pretend,
                                    struct qn_error *err);
/* Makes it visible again `visibility_timeout` from now (11.2). */
QN_MUST_CHECK bool qn_handle_change(struct qn_tx *tx, struct qn_str receipt_handle,
                                    struct qn_integer visibility_timeout, bool pretend,
                                    struct qn_error *err);
/* The range alone. */
QN_MUST_CHECK bool qn_check_visibility(struct qn_integer visibility_timeout, struct qn_error *err);

#endif
