/* SendMessageBatch: SendMessage for each entry in order. */
#include "server/actions/batch.h"
#include "server/actions/message_attributes.h"

struct entry {
    struct qn_str id;
    struct qn_message_input message;
};

struct input {
    struct qn_str queue_url;
    struct qn_list entries;
};

struct success {
    struct qn_str id;
    struct qn_message_output message;
};

struct output {
    struct qn_list successful;
    struct qn_list failed;
};

static const struct qn_field entry_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct entry, id), NULL, NULL, NULL},
    QN_MESSAGE_INPUT_FIELDS(struct entry, message, 0),
};
static const struct qn_shape entry_shape = QN_SHAPE(struct entry, entry_fields);

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Entries", "SendMessageBatchRequestEntry", QN_STRUCT_LIST, 0, offsetof(struct input, entries),
     &entry_shape, NULL, NULL},
};
const struct qn_shape qn_send_message_batch_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field success_fields[] = {
    {"Id", NULL, QN_STRING, 0, offsetof(struct success, id), NULL, NULL, NULL},
    QN_MESSAGE_OUTPUT_FIELDS(struct success, message),
};
static const struct qn_shape success_shape = QN_SHAPE(struct success, success_fields);

static const struct qn_field output_fields[] = {
    {"Successful", "SendMessageBatchResultEntry", QN_STRUCT_LIST, 0,
     offsetof(struct output, successful), &success_shape, NULL, NULL},
    QN_BATCH_FAILED_FIELD(struct output, failed),
};
const struct qn_shape qn_send_message_batch_out = QN_SHAPE(struct output, output_fields);

static bool check_size(const struct qn_tx *tx, const struct input *in, struct qn_error *err)
{
    const struct entry *entries = in->entries.items;
    int64_t max = qn_engine_options_of(tx->engine)->limits.message_size;
    size_t size = 0;

    for (size_t i = 0; i < in->entries.count; i++) {
        size += qn_message_size(&entries[i].message);
    }
    return size <= (size_t)max ||
           qn_fail(err, QN_ERR_BATCH_REQUEST_TOO_LONG,
                   "Batch requests cannot be longer than %lld bytes. You have sent %zu bytes.",
                   (long long)max, size);
}

bool qn_send_message_batch_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    const struct entry *entries = in->entries.items;

    if (!qn_resolve_queue(tx, in->queue_url, err) ||
        !qn_batch_check(tx, in->entries, sizeof(struct entry), "SendMessageBatchRequestEntry",
                        err) ||
        !check_size(tx, in, err)) {
        return false;
    }
    for (size_t i = 0; i < in->entries.count; i++) {
        if (!qn_message_check_fifo_ids(tx->queue, &entries[i].message,
                                       QN_ERR_INVALID_PARAMETER_VALUE, err)) {
            return false;
        }
    }
    return true;
}

bool qn_send_message_batch_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                   struct qn_error *err)
{
    const struct input *in = input;
    const struct entry *entries = in->entries.items;
    struct output *out = ret_output;

    if (!qn_batch_lists(tx, in->entries.count, sizeof(struct success), &out->successful,
                        &out->failed, err)) {
        return false;
    }
    for (size_t i = 0; i < in->entries.count; i++) {
        struct success *success = (struct success *)out->successful.items + out->successful.count;
        struct qn_error failure;
        if (qn_check_verdict(tx, i, &failure) &&
            qn_message_check(tx, &entries[i].message, true, &failure) &&
            qn_message_send(tx, &entries[i].message, qn_is_faked(tx, i), &success->message,
                            &failure)) {
            success->id = entries[i].id;
            out->successful.count++;
        } else {
            qn_batch_fail(tx, &out->failed, entries[i].id, &failure);
        }
    }
    return true;
}

void qn_send_message_batch_look(struct qn_tx *tx, const void *input, struct qn_facts *ret_facts)
{
    const struct input *in = input;
    const struct entry *entries = in->entries.items;

    if (!qn_facts_room(tx, ret_facts, in->entries.count)) {
        return;
    }
    for (size_t i = 0; i < in->entries.count; i++) {
        qn_look_send(tx, &entries[i].message, entries[i].id, ret_facts);
    }
}
