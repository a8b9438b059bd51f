/* UntagQueue: removes tags by key; keys that are not there are ignored. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_url;
    struct qn_list keys;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"TagKeys", "TagKey", QN_STRING_LIST, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, keys), NULL, NULL, NULL},
};
const struct qn_shape qn_untag_queue_in = QN_SHAPE(struct input, fields);

bool qn_untag_queue_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err);
}

bool qn_untag_queue_execute(struct qn_tx *tx, const void *input, void *ret_output,
                            struct qn_error *err)
{
    const struct input *in = input;
    const struct qn_str *keys = in->keys.items;
    (void)ret_output; /* the answer has no fields */
    (void)err;

    for (size_t i = 0; i < in->keys.count; i++) {
        qn_engine_remove_tag(tx, tx->queue, keys[i]);
    }
    qn_engine_tags_changed(tx, tx->queue);
    return true;
}
