/* GetQueueAttributes: the attributes that are asked for and have a value. */
#include "server/actions/common.h"

struct input {
    struct qn_str queue_url;
    struct qn_list names;
};

struct output {
    struct qn_list attributes; /* struct qn_pair */
};

static const struct qn_field input_fields[] = {
    {"QueueUrl", NULL, QN_STRING, QN_REQUIRED | QN_EMPTY_IS_ABSENT,
     offsetof(struct input, queue_url), NULL, NULL, NULL},
    {"AttributeNames", "AttributeName", QN_STRING_LIST, 0, offsetof(struct input, names), NULL,
     NULL, NULL},
};
const struct qn_shape qn_get_queue_attributes_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"Attributes", "Attribute", QN_STRING_MAP, 0, offsetof(struct output, attributes), NULL, "Name",
     "Value"},
};
const struct qn_shape qn_get_queue_attributes_out = QN_SHAPE(struct output, output_fields);

/* Which attributes are wanted. */
static bool select_names(struct qn_list names, bool wanted[QN_ATTRIBUTE_ID_COUNT],
                         struct qn_error *err)
{
    const struct qn_str *items = names.items;

    for (size_t i = 0; i < names.count; i++) {
        enum qn_attribute_id id;
        if (qn_str_equal(items[i], QN_STR("All"))) {
            memset(wanted, true, QN_ATTRIBUTE_ID_COUNT * sizeof(wanted[0]));
        } else if (qn_attribute_find(items[i], &id)) {
            wanted[id] = true;
        } else {
            return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %.*s.",
                           QN_STR_ARG(qn_str_first(items[i], 256)));
        }
    }
    return true;
}

bool qn_get_queue_attributes_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    bool wanted[QN_ATTRIBUTE_ID_COUNT] = {false};

    return qn_resolve_queue(tx, in->queue_url, err) && select_names(in->names, wanted, err);
}

/* The attributes that hang on what the queue holds; false for all others. */
static bool get_state(const struct qn_queue *queue, enum qn_attribute_id id, struct qn_buf *buf)
{
    struct qn_queue_counts counts = qn_queue_counts_of(queue);

    switch (id) {
    case QN_ATTRIBUTE_ID_queue_arn:
        qn_buf_append_str(buf, qn_queue_arn(queue));
        return true;
    case QN_ATTRIBUTE_ID_number_of_messages:
        qn_buf_append_int64(buf, counts.visible);
        return true;
    case QN_ATTRIBUTE_ID_number_of_messages_not_visible:
        qn_buf_append_int64(buf, counts.in_flight);
        return true;
    case QN_ATTRIBUTE_ID_number_of_messages_delayed:
        qn_buf_append_int64(buf, counts.delayed);
        return true;
    default:
        return false;
    }
}

bool qn_get_queue_attributes_execute(struct qn_tx *tx, const void *input, void *ret_output,
                                     struct qn_error *err)
{
    const struct input *in = input;
    struct output *out = ret_output;
    bool wanted[QN_ATTRIBUTE_ID_COUNT] = {false};
    struct qn_buf buf;

    if (!select_names(in->names, wanted, err) ||
        !qn_list_new(tx, QN_ATTRIBUTE_ID_COUNT, sizeof(struct qn_pair), &out->attributes, err)) {
        return false;
    }
    qn_buf_init(&buf, SIZE_MAX);
    for (size_t i = 0; i < QN_ATTRIBUTE_ID_COUNT; i++) {
        enum qn_attribute_id id = (enum qn_attribute_id)i;
        qn_buf_clear(&buf);
        if (wanted[i] && (get_state(tx->queue, id, &buf) ||
                          qn_queue_settings_get(qn_queue_settings_of(tx->queue), id, &buf))) {
            ((struct qn_pair *)out->attributes.items)[out->attributes.count++] =
                (struct qn_pair){qn_str_from_cstr(qn_attribute_info(id)->name),
                                 qn_arena_copy(tx->arena, qn_buf_str(&buf))};
        }
    }
    qn_buf_done(&buf);
    return true;
}
