/* The policy document that AddPermission and RemovePermission keep. */
#ifndef QN_ACTIONS_PERMISSIONS_H
#define QN_ACTIONS_PERMISSIONS_H

#include "server/actions/common.h"

/* Replaces the queue's Policy (none: removes it). */
void qn_policy_store(struct qn_tx *tx, struct qn_str policy);

/* The document with one statement more, in the arena. Fails with OverLimit beyond the quotas of a
 * policy, and with InvalidParameterValue when the label is there already. */
QN_MUST_CHECK bool qn_policy_with_statement(struct qn_tx *tx, struct qn_str label,
                                            struct qn_list accounts, struct qn_list actions,
                                            struct qn_str *ret_policy, struct qn_error *err);
/* The document without the statement of this label; none when it was the last one. Fails when the
 * label is not there. */
QN_MUST_CHECK bool qn_policy_without_statement(struct qn_tx *tx, struct qn_str label,
                                               struct qn_str *ret_policy, struct qn_error *err);

#endif
