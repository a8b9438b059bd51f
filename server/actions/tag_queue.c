/* TagQueue: adds tags, or overwrites them by key. */
#include "server/actions/queue_attributes.h"

struct input {
    struct qn_str queue_url;
    struct qn_list tags;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Tags", "Tag", QN_STRING_MAP, QN_REQUIRED | QN_EMPTY_IS_ABSENT | QN_QUERY_BY_NAME_TOO,
     offsetof(struct input, tags), NULL, "Key", "Value"},
};
const struct qn_shape qn_tag_queue_in = QN_SHAPE(struct input, fields);

/* Tags that the queue has and the request does not name. */
static size_t count_others(const struct qn_queue_settings *settings, struct qn_list tags)
{
    const struct qn_pair *items = tags.items;
    size_t count = settings->tag_count;

    for (size_t i = 0; i < settings->tag_count; i++) {
        for (size_t j = 0; j < tags.count; j++) {
            if (qn_str_equal(settings->tags[i].key, items[j].key)) {
                count--;
                break;
            }
        }
    }
    return count;
}

bool qn_tag_queue_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;

    return qn_resolve_queue(tx, in->queue_url, err) &&
           qn_tags_check(in->tags, count_others(qn_queue_settings_of(tx->queue), in->tags), err);
}

bool qn_tag_queue_execute(struct qn_tx *tx, const void *input, void *ret_output,
                          struct qn_error *err)
{
    const struct input *in = input;
    const struct qn_pair *tags = in->tags.items;
    (void)ret_output; /* the answer has no fields */
    (void)err;

    for (size_t i = 0; i < in->tags.count; i++) {
        qn_engine_set_tag(tx, tx->queue, tags[i].key, tags[i].value);
    }
    qn_engine_tags_changed(tx, tx->queue);
    return true;
}
