/* What the batch actions share: checks of the whole request, and answers per entry. */
#ifndef QN_ACTIONS_BATCH_H
#define QN_ACTIONS_BATCH_H

#include "server/actions/common.h"
#include "server/actions/message_input.h"

/* Entry `index` failed; AWS's query code counts (section 9). */
struct qn_batch_failure {
    struct qn_str id;
    struct qn_boolean sender_fault;
    struct qn_str code;
    struct qn_str message;
};

/* An entry that succeeded and has nothing else to say. */
struct qn_batch_success {
    struct qn_str id;
};

extern const struct qn_shape qn_batch_failure_shape;
extern const struct qn_shape qn_batch_success_shape;

#define QN_BATCH_FAILED_FIELD(type, member)                                                        \
    {                                                                                              \
        "Failed", "BatchResultErrorEntry", QN_STRUCT_LIST, 0, offsetof(type, member),              \
            &qn_batch_failure_shape, NULL, NULL                                                    \
    }

/* Number of entries, form of their ids, and that they differ. The id must be the first field of an
 * entry (struct qn_str). entry_name as in the query protocol, for the text. */
QN_MUST_CHECK bool qn_batch_check(const struct qn_tx *tx, struct qn_list entries, size_t entry_size,
                                  const char *entry_name, struct qn_error *err);

/* Appends the failure of an entry. The list must have room. */
void qn_batch_fail(struct qn_tx *tx, struct qn_list *failed, struct qn_str id,
                   const struct qn_error *err);
/* Room for one answer per entry in both lists. */
QN_MUST_CHECK bool qn_batch_lists(struct qn_tx *tx, size_t count, size_t success_size,
                                  struct qn_list *ret_successful, struct qn_list *ret_failed,
                                  struct qn_error *err);

/* What PRE_COMMIT's verdict says of the message that stands at `index` among the facts: answer
 * success without doing it ... */
bool qn_is_faked(const struct qn_tx *tx, size_t index);
/* ... or answer this error instead. */
QN_MUST_CHECK bool qn_check_verdict(const struct qn_tx *tx, size_t index, struct qn_error *err);

/* Facts for `count` messages; false at the arena's ceiling. */
QN_MUST_CHECK bool qn_facts_room(struct qn_tx *tx, struct qn_facts *facts, size_t count);
/* Adds the message that is to be sent, or the one that a handle names. */
void qn_look_send(struct qn_tx *tx, const struct qn_message_input *message, struct qn_str entry_id,
                  struct qn_facts *facts);
void qn_look_handle(struct qn_tx *tx, struct qn_str receipt_handle, struct qn_str entry_id,
                    struct qn_facts *facts);

#endif
