/* ListQueueTags: all tags of a queue. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_url;
};

struct output {
    struct qn_list tags; /* struct qn_pair */
};

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
};
const struct qn_shape qn_list_queue_tags_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"Tags", "Tag", QN_STRING_MAP, 0, offsetof(struct output, tags), NULL, "Key", "Value"},
};
const struct qn_shape qn_list_queue_tags_out = QN_SHAPE(struct output, output_fields);

bool qn_list_queue_tags_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err);
}

bool qn_list_queue_tags_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                struct qn_error *err)
{
    struct output *out = ret_output;
    const struct qn_queue_settings *settings = qn_queue_settings_of(tx->queue);
    (void)input;
    (void)err;

    /* Views into the settings live until the answer is encoded. */
    out->tags =
        (struct qn_list){.items = settings->tags, .count = settings->tag_count, .present = true};
    return true;
}
