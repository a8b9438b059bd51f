/* Queue attributes as input. Source: texts of CreateQueue and SetQueueAttributes in the SQS service
 * model. */
#include "server/actions/queue_attributes.h"

#include <jansson.h>

static bool refuse(struct qn_error *err, const char *name)
{
    return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_VALUE, "Invalid value for the parameter %s.",
                   name);
}

static bool unknown(struct qn_error *err, struct qn_str name)
{
    return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %.*s.",
                   QN_STR_ARG(qn_str_first(name, 256)));
}

static int64_t *integer_field(struct qn_queue_settings *settings, enum qn_attribute_id id)
{
    switch (id) {
    case QN_ATTRIBUTE_ID_visibility_timeout:
        return &settings->visibility_timeout_s;
    case QN_ATTRIBUTE_ID_maximum_message_size:
        return &settings->maximum_message_size;
    case QN_ATTRIBUTE_ID_message_retention_period:
        return &settings->retention_s;
    case QN_ATTRIBUTE_ID_delay_seconds:
        return &settings->delay_s;
    case QN_ATTRIBUTE_ID_receive_message_wait_time_seconds:
        return &settings->wait_s;
    default:
        return &settings->kms_reuse_s;
    }
}

static bool apply_integer(const struct qn_tx *tx, enum qn_attribute_id id, struct qn_str value,
                          struct qn_queue_settings *settings, struct qn_error *err)
{
    const struct qn_attribute_info *info = qn_attribute_info(id);
    const struct qn_limits *limits = &qn_engine_options_of(tx->engine)->limits;
    int64_t min = info->min;
    int64_t max = info->max;

    if (id == QN_ATTRIBUTE_ID_maximum_message_size) {
        max = limits->message_size;
        min = min < max ? min : max;
    } else if (id == QN_ATTRIBUTE_ID_message_retention_period) {
        min = limits->retention_min_s;
    }
    return qn_str_to_int64(value, min, max, integer_field(settings, id)) || refuse(err, info->name);
}

static bool read_boolean(struct qn_str value, bool *ret_value)
{
    *ret_value = qn_str_equal_nocase(value, QN_STR("true"));
    return *ret_value || qn_str_equal_nocase(value, QN_STR("false"));
}

static bool apply_fifo_queue(const struct qn_attribute_change *change, bool value,
                             struct qn_error *err)
{
    if (value) {
        return true;
    }
    if (change->creates) {
        return refuse(err, "FifoQueue");
    }
    return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_VALUE,
                   "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not "
                   "supported.");
}

static bool apply_boolean(const struct qn_attribute_change *change, enum qn_attribute_id id,
                          struct qn_str text, struct qn_queue_settings *settings,
                          struct qn_error *err)
{
    bool value;

    if (!read_boolean(text, &value)) {
        return refuse(err, qn_attribute_info(id)->name);
    }
    if (id == QN_ATTRIBUTE_ID_fifo_queue) {
        return apply_fifo_queue(change, value, err);
    }
    if (id == QN_ATTRIBUTE_ID_content_based_deduplication) {
        settings->content_based_deduplication = value;
        return true;
    }
    settings->sqs_managed_sse = value;
    if (value) {
        qn_queue_settings_set_text(&settings->kms_master_key_id, QN_STR_NONE);
        settings->kms_reuse_s = -1;
    }
    return true;
}

static bool apply_word(struct qn_str value, const char *no, const char *yes, const char *name,
                       bool *field, struct qn_error *err)
{
    bool is_yes = qn_str_equal(value, qn_str_from_cstr(yes));

    if (!is_yes && !qn_str_equal(value, qn_str_from_cstr(no))) {
        return refuse(err, name);
    }
    *field = is_yes;
    return true;
}

static bool apply_key(struct qn_str value, struct qn_queue_settings *settings, struct qn_error *err)
{
    if (value.len == 0) {
        qn_queue_settings_set_text(&settings->kms_master_key_id, QN_STR_NONE);
        settings->kms_reuse_s = -1;
        return true;
    }
    if (value.len > 2048) {
        return refuse(err, "KmsMasterKeyId");
    }
    qn_queue_settings_set_text(&settings->kms_master_key_id, value);
    settings->sqs_managed_sse = false;
    return true;
}

static bool apply_one(struct qn_tx *tx, const struct qn_attribute_change *change,
                      enum qn_attribute_id id, struct qn_str value,
                      struct qn_queue_settings *settings, struct qn_error *err)
{
    const struct qn_attribute_info *info = qn_attribute_info(id);

    switch (info->kind) {
    case QN_ATTRIBUTE_INTEGER:
        return apply_integer(tx, id, value, settings, err);
    case QN_ATTRIBUTE_BOOLEAN:
        return apply_boolean(change, id, value, settings, err);
    case QN_ATTRIBUTE_POLICY:
        return qn_policy_apply(value, settings, err);
    case QN_ATTRIBUTE_REDRIVE:
        return qn_redrive_policy_apply(tx, change, value, settings, err);
    case QN_ATTRIBUTE_ALLOW:
        return qn_redrive_allow_policy_apply(value, settings, err);
    case QN_ATTRIBUTE_KEY:
        return apply_key(value, settings, err);
    case QN_ATTRIBUTE_SCOPE:
        return apply_word(value, "queue", "messageGroup", info->name, &settings->scope_is_group,
                          err);
    case QN_ATTRIBUTE_THROUGHPUT:
        return apply_word(value, "perQueue", "perMessageGroupId", info->name,
                          &settings->throughput_per_group, err);
    default:
        return unknown(err, qn_str_from_cstr(info->name));
    }
}

/* FIFO attributes on a standard queue have errors of their own (6.2). */
static bool check_queue_type(enum qn_attribute_id id, const struct qn_queue_settings *settings,
                             struct qn_error *err)
{
    const struct qn_attribute_info *info = qn_attribute_info(id);

    if (settings->is_fifo || (info->flags & QN_ATTRIBUTE_FIFO_ONLY) == 0) {
        return true;
    }
    if (info->kind == QN_ATTRIBUTE_BOOLEAN) {
        return unknown(err, qn_str_from_cstr(info->name));
    }
    return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_NAME,
                   "You can specify the %s only when FifoQueue is set to true.", info->name);
}

static bool check_encryption(struct qn_list attributes, struct qn_error *err)
{
    const struct qn_pair *items = attributes.items;
    bool key = false;
    bool managed = false;

    for (size_t i = 0; i < attributes.count; i++) {
        key =
            key || (qn_str_equal(items[i].key, QN_STR("KmsMasterKeyId")) && items[i].value.len > 0);
        managed = managed || (qn_str_equal(items[i].key, QN_STR("SqsManagedSseEnabled")) &&
                              qn_str_equal_nocase(items[i].value, QN_STR("true")));
    }
    return !(key && managed) ||
           qn_fail(
               err, QN_ERR_INVALID_ATTRIBUTE_NAME,
               "You can use one type of server-side encryption (SSE) at one time. You can either "
               "enable KMS SSE or SQS SSE.");
}

bool qn_attributes_apply(struct qn_tx *tx, const struct qn_attribute_change *change,
                         struct qn_queue_settings *settings, struct qn_error *err)
{
    const struct qn_pair *items = change->attributes.items;

    if (!check_encryption(change->attributes, err)) {
        return false;
    }
    for (size_t i = 0; i < change->attributes.count; i++) {
        enum qn_attribute_id id;
        if (!qn_attribute_find(items[i].key, &id) ||
            qn_attribute_info(id)->kind == QN_ATTRIBUTE_READ_ONLY) {
            return unknown(err, items[i].key);
        }
        if (!check_queue_type(id, settings, err) ||
            !apply_one(tx, change, id, items[i].value, settings, err)) {
            return false;
        }
    }
    if (settings->throughput_per_group && !settings->scope_is_group) {
        return qn_fail(err, QN_ERR_INVALID_ATTRIBUTE_VALUE,
                       "Invalid value for the parameter FifoThroughputLimit. Reason: "
                       "perMessageGroupId needs DeduplicationScope messageGroup.");
    }
    return true;
}

static bool equal_json(const char *a, const char *b)
{
    json_t *left = json_loads(a, JSON_DECODE_ANY, NULL);
    json_t *right = json_loads(b, JSON_DECODE_ANY, NULL);
    bool equal = left != NULL && right != NULL && json_equal(left, right) == 1;

    json_decref(left);
    json_decref(right);
    return equal || strcmp(a, b) == 0;
}

bool qn_attributes_equal(const struct qn_queue_settings *asked,
                         const struct qn_queue_settings *existing, enum qn_attribute_id id)
{
    struct qn_buf a;
    struct qn_buf b;
    bool equal = false;
    size_t len;

    qn_buf_init(&a, SIZE_MAX);
    qn_buf_init(&b, SIZE_MAX);
    bool has_a = qn_queue_settings_get(asked, id, &a);
    bool has_b = qn_queue_settings_get(existing, id, &b);
    if (id == QN_ATTRIBUTE_ID_redrive_allow_policy && (!has_a || !has_b)) {
        /* Not set is the same as allowAll. */
        equal = asked->redrive_permission == QN_REDRIVE_ALLOW_ALL &&
                existing->redrive_permission == QN_REDRIVE_ALLOW_ALL;
    } else if (!has_a || !has_b) {
        equal = has_a == has_b;
    } else if (qn_attribute_info(id)->kind == QN_ATTRIBUTE_POLICY ||
               qn_attribute_info(id)->kind == QN_ATTRIBUTE_REDRIVE ||
               qn_attribute_info(id)->kind == QN_ATTRIBUTE_ALLOW) {
        char *left = qn_buf_take(&a, &len);
        char *right = qn_buf_take(&b, &len);
        equal = equal_json(left, right);
        qn_memory_free(left);
        qn_memory_free(right);
    } else {
        equal = qn_str_equal(qn_buf_str(&a), qn_buf_str(&b));
    }
    qn_buf_done(&a);
    qn_buf_done(&b);
    return equal;
}
