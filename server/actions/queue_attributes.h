/* Queue attributes as input: what AWS refuses about them, and putting them into a queue's settings.
 */
#ifndef QN_ACTIONS_QUEUE_ATTRIBUTES_H
#define QN_ACTIONS_QUEUE_ATTRIBUTES_H

#include "server/actions/common.h"

/* Applies a list of struct qn_pair to settings (a copy of the queue's, or the defaults of a new
 * one). `queue` is the existing queue or NULL in CreateQueue; its account, region and name are
 * `self`. All or nothing is the caller's: on failure throw the copy away. */
struct qn_attribute_change {
    struct qn_list attributes;
    bool creates;
    struct qn_str account;
    struct qn_str name;
};
QN_MUST_CHECK bool qn_attributes_apply(struct qn_tx *tx, const struct qn_attribute_change *change,
                                       struct qn_queue_settings *settings, struct qn_error *err);

/* Whether what the request asks for equals the queue's value (CQ-2): JSON as JSON, absent as the
 * default. */
bool qn_attributes_equal(const struct qn_queue_settings *asked,
                         const struct qn_queue_settings *existing, enum qn_attribute_id id);

/* RedrivePolicy and RedriveAllowPolicy (6.3, 6.4), and Policy (7.8). An empty value removes. */
QN_MUST_CHECK bool qn_redrive_policy_apply(struct qn_tx *tx,
                                           const struct qn_attribute_change *change,
                                           struct qn_str value, struct qn_queue_settings *settings,
                                           struct qn_error *err);
QN_MUST_CHECK bool qn_redrive_allow_policy_apply(struct qn_str value,
                                                 struct qn_queue_settings *settings,
                                                 struct qn_error *err);
QN_MUST_CHECK bool qn_policy_apply(struct qn_str value, struct qn_queue_settings *settings,
                                   struct qn_error *err);

/* Tags: a list of struct qn_pair (7.9). */
QN_MUST_CHECK bool qn_tags_check(struct qn_list tags, size_t existing_others, struct qn_error *err);

#endif
