/* Message attributes as input: what is refused, what counts toward the size, and their order. */
#ifndef QN_ACTIONS_MESSAGE_ATTRIBUTES_H
#define QN_ACTIONS_MESSAGE_ATTRIBUTES_H

#include "server/actions/message_input.h"

/* Lists of struct qn_message_attribute. Source: SQS guide, "Amazon SQS message metadata". */
QN_MUST_CHECK bool qn_message_attributes_check(struct qn_list attributes, struct qn_error *err);
QN_MUST_CHECK bool qn_message_system_attributes_check(struct qn_list attributes,
                                                      struct qn_error *err);
size_t qn_message_attributes_size(struct qn_list attributes);
/* By the bytes of the name, as the digest wants them; at most ten. */
void qn_message_attributes_sort(struct qn_list attributes);

#endif
