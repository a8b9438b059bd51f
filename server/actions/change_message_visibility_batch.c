/* ChangeMessageVisibilityBatch: ChangeMessageVisibility for each entry in order. */
#include "server/actions/handles.h"

struct entry {
    struct qn_str id;
    struct qn_str receipt_handle;
    struct qn_integer visibility_timeout;
};

struct input {
    struct qn_str queue_url;
    struct qn_list entries; /* struct entry */
};

struct output {
    struct qn_list successful; /* struct qn_batch_success */
    struct qn_list failed;     /* struct qn_batch_failure */
};

static const struct qn_field entry_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct entry, id), NULL, NULL, NULL},
    {"ReceiptHandle", NULL, QN_STRING, 0, offsetof(struct entry, receipt_handle), NULL, NULL, NULL},
    {"VisibilityTimeout", NULL, QN_INTEGER, 0, offsetof(struct entry, visibility_timeout), NULL,
     NULL, NULL},
};
static const struct qn_shape entry_shape = QN_SHAPE(struct entry, entry_fields);

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Entries", "ChangeMessageVisibilityBatchRequestEntry", QN_STRUCT_LIST, 0,
     offsetof(struct input, entries), &entry_shape, NULL, NULL},
};
const struct qn_shape qn_change_message_visibility_batch_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"Successful", "ChangeMessageVisibilityBatchResultEntry", QN_STRUCT_LIST, 0,
     offsetof(struct output, successful), &qn_batch_success_shape, NULL, NULL},
    QN_BATCH_FAILED_FIELD(struct output, failed),
};
const struct qn_shape qn_change_message_visibility_batch_out =
    QN_SHAPE(struct output, output_fields);

bool qn_change_message_visibility_batch_check(struct qn_tx *tx, const void *input,
                                              struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_batch_check(tx, in->entries, sizeof(struct entry),
                          "ChangeMessageVisibilityBatchRequestEntry", err);
}

bool qn_change_message_visibility_batch_execute(struct qn_tx *tx, const void *input,
                                                void *ret_output, struct qn_error *err)
{
    const struct input *in = input;
    const struct entry *entries = in->entries.items;
    struct output *out = ret_output;

    if (!qn_batch_lists(tx, in->entries.count, sizeof(struct qn_batch_success), &out->successful,
                        &out->failed, err)) {
        return false;
    }
    for (size_t i = 0; i < in->entries.count; i++) {
        struct qn_batch_success *success = out->successful.items;
        struct qn_error failure;
        if (qn_check_verdict(tx, i, &failure) &&
            qn_handle_change(tx, entries[i].receipt_handle, entries[i].visibility_timeout,
                             qn_is_faked(tx, i), &failure)) {
            success[out->successful.count++].id = entries[i].id;
        } else {
            qn_batch_fail(tx, &out->failed, entries[i].id, &failure);
        }
    }
    return true;
}

void qn_change_message_visibility_batch_look(struct qn_tx *tx, const void *input,
                                             struct qn_facts *ret_facts)
{
    const struct input *in = input;
    const struct entry *entries = in->entries.items;

    if (!qn_facts_room(tx, ret_facts, in->entries.count)) {
        return;
    }
    for (size_t i = 0; i < in->entries.count; i++) {
        qn_look_handle(tx, entries[i].receipt_handle, entries[i].id, ret_facts);
    }
}
