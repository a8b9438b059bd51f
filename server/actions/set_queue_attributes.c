/* SetQueueAttributes: changes attributes of a queue, all of them or none. */
#include "server/actions/queue_attributes.h"

struct input {
    struct qn_str queue_url;
    struct qn_list attributes;
};

static const struct qn_field fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"Attributes", "Attribute", QN_STRING_MAP, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, attributes), NULL, "Name", "Value"},
};
const struct qn_shape qn_set_queue_attributes_in = QN_SHAPE(struct input, fields);

static bool make_settings(struct qn_tx *tx, const struct input *in,
                          struct qn_queue_settings *ret_settings, struct qn_error *err)
{
    const struct qn_attribute_change change = {.attributes = in->attributes,
                                               .account = qn_queue_account(tx->queue),
                                               .name = qn_queue_name(tx->queue)};

    qn_queue_settings_copy(ret_settings, qn_queue_settings_of(tx->queue));
    if (!qn_attributes_apply(tx, &change, ret_settings, err)) {
        qn_queue_settings_done(ret_settings);
        return false;
    }
    return true;
}

bool qn_set_queue_attributes_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    struct qn_queue_settings settings;

    if (!qn_resolve_queue(tx, in->queue_url, err) || !make_settings(tx, in, &settings, err)) {
        return false;
    }
    qn_queue_settings_done(&settings);
    return true;
}

bool qn_set_queue_attributes_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                     struct qn_error *err)
{
    struct qn_queue_settings settings;
    (void)ret_output; /* the answer has no fields */

    if (!make_settings(tx, input, &settings, err)) {
        return false;
    }
    qn_engine_change_settings(tx, tx->queue, &settings);
    return true;
}
