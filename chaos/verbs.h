/* The columns of actions.def. */
#ifndef QN_CHAOS_VERBS_H
#define QN_CHAOS_VERBS_H

#include "chaos/rule.h"

enum qn_verb_need { QN_NEEDS_NOTHING, QN_NEEDS_REQUEST };
enum qn_verb_carrier { QN_CARRIED_BY_SERVER, QN_CARRIED_BY_HARNESS };

struct qn_verb {
    const char *word;
    enum qn_verb_need need;
    enum qn_verb_carrier carrier;
    enum qn_rule_point point; /* unless the rule says another */
    unsigned points;          /* bit per qn_rule_point */
    unsigned targets;         /* bit per qn_rule_target */
};

const struct qn_verb *qn_verb_of(enum qn_rule_verb verb);
/* "arrive" ... */
const char *qn_rule_point_name(enum qn_rule_point point);
/* "sqs" ... */
const char *qn_rule_target_name(enum qn_rule_target target);
/* The messages that a rule looks at: at most 64; one without an id if the subject has nothing but
 * a key. */
size_t qn_rule_message_count(const struct qn_rule_subject *subject);
const struct qn_fact_message *qn_rule_message(const struct qn_rule_subject *subject, size_t i);
/* Of one of the subject's messages, where it keeps keys: each body is read once for all rules. */
const struct qn_rule_keys *qn_rule_keys(const struct qn_rule_subject *subject,
                                        const struct qn_fact_message *message);
/* Whether the rule's actions can be done here: fail-entries to a batch, short to a receive; and,
 * unless it is unsound, none that would break a promise of FIFO queues. */
bool qn_rule_is_apt(const struct qn_rule *rule, const struct qn_rule_subject *subject);
/* Whether the request and its queue, as they are, leave room for the actions. */
bool qn_rule_has_room(const struct qn_rule *rule, const struct qn_rule_subject *subject);

#endif
