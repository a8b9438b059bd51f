/* CreateQueue: makes a queue, or answers with the one that exists when nothing asked for differs.
 */
#include "server/actions/queue_attributes.h"

struct input {
    struct qn_str queue_name;
    struct qn_list attributes;
    struct qn_list tags;
};

struct output {
    struct qn_str queue_url;
};

static const struct qn_field input_fields[] = {
    {"QueueName", NULL, QN_STRING, QN_REQUIRED, offsetof(struct input, queue_name), NULL, NULL,
     NULL},
    {"Attributes", "Attribute", QN_STRING_MAP, 0, offsetof(struct input, attributes), NULL, "Name",
     "Value"},
    {"tags", "Tag", QN_STRING_MAP, 0, offsetof(struct input, tags), NULL, "Key", "Value"},
};
const struct qn_shape qn_create_queue_in = QN_SHAPE(struct input, input_fields);

static const struct qn_field output_fields[] = {
    {"QueueUrl", NULL, QN_STRING, 0, offsetof(struct output, queue_url), NULL, NULL, NULL},
};
const struct qn_shape qn_create_queue_out = QN_SHAPE(struct output, output_fields);

static bool asks_for_fifo(const struct input *in)
{
    const struct qn_pair *items = in->attributes.items;
    bool asks = false;

    for (size_t i = 0; i < in->attributes.count; i++) {
        if (qn_str_equal(items[i].key, QN_STR("FifoQueue"))) {
            asks = qn_str_equal_nocase(items[i].value, QN_STR("true"));
        }
    }
    return asks;
}

static bool check_name(const struct input *in, struct qn_error *err)
{
    if (asks_for_fifo(in)) {
        return qn_is_queue_name(in->queue_name, true) ||
               qn_fail(
                   err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "The name of a FIFO queue can only include alphanumeric characters, hyphens, "
                   "or underscores, must end with .fifo suffix and be 1 to 80 in length.");
    }
    return qn_is_queue_name(in->queue_name, false) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in "
                   "length");
}

static struct qn_queue *find(struct qn_tx *tx, const struct input *in)
{
    return qn_engine_find_queue(tx->engine, tx->caller->account, tx->caller->region,
                                in->queue_name);
}

/* What the request asks for, on top of the defaults. */
static bool make_settings(struct qn_tx *tx, const struct input *in,
                          struct qn_queue_settings *ret_settings, struct qn_error *err)
{
    const struct qn_attribute_change change = {.attributes = in->attributes,
                                               .creates = true,
                                               .account = tx->caller->account,
                                               .name = in->queue_name};

    qn_queue_settings_init(ret_settings, asks_for_fifo(in),
                           &qn_engine_options_of(tx->engine)->limits);
    if (!qn_attributes_apply(tx, &change, ret_settings, err)) {
        qn_queue_settings_done(ret_settings);
        return false;
    }
    return true;
}

/* CQ-2: only what the request names is compared, with the values of now. */
static bool check_same(const struct qn_queue *queue, const struct input *in,
                       const struct qn_queue_settings *asked, struct qn_error *err)
{
    const struct qn_pair *items = in->attributes.items;

    for (size_t i = 0; i < in->attributes.count; i++) {
        enum qn_attribute_id id;
        if (qn_attribute_find(items[i].key, &id) &&
            !qn_attributes_equal(asked, qn_queue_settings_of(queue), id)) {
            return qn_fail(err, QN_ERR_QUEUE_NAME_EXISTS,
                           "A queue already exists with the same name and a different value for "
                           "attribute %s",
                           qn_attribute_info(id)->name);
        }
    }
    return true;
}

bool qn_create_queue_check(struct qn_tx *tx, const void *input, struct qn_error *err)
{
    const struct input *in = input;
    const struct qn_queue *queue = find(tx, in);
    struct qn_queue_settings asked;
    bool ok;

    if (!check_name(in, err) || !make_settings(tx, in, &asked, err)) {
        return false;
    }
    ok = qn_tags_check(in->tags, 0, err);
    if (ok && queue != NULL) {
        ok = check_same(queue, in, &asked, err);
    } else if (ok && qn_engine_deleted_at(tx, tx->caller->account, tx->caller->region,
                                          in->queue_name) >= 0) {
        ok =
            qn_fail(err, QN_ERR_QUEUE_DELETED_RECENTLY,
                    "You must wait 60 seconds after deleting a queue before you can create another "
                    "with the same name.");
    }
    qn_queue_settings_done(&asked);
    return ok;
}

bool qn_create_queue_execute(struct qn_tx *tx, const void *input, void *ret_output,
                             struct qn_error *err)
{
    const struct input *in = input;
    struct output *out = ret_output;
    const struct qn_pair *tags = in->tags.items;
    struct qn_queue *queue = find(tx, in);
    struct qn_queue_settings settings;

    if (queue == NULL) {
        if (!make_settings(tx, in, &settings, err)) {
            return false;
        }
        for (size_t i = 0; i < in->tags.count; i++) {
            qn_queue_settings_set_tag(&settings, tags[i].key, tags[i].value);
        }
        queue = qn_engine_create_queue(tx, tx->caller->account, tx->caller->region, in->queue_name,
                                       &settings);
    }
    tx->queue = queue;
    out->queue_url = qn_queue_url_of(tx, queue);
    return true;
}
