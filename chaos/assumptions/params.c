/* The parameters of requests and answers, as the trace shows them. */
#include "chaos/assumptions/scene.h"
#include "server/base/json.h"

static struct qn_str text_or_none(struct qn_json *json)
{
    struct qn_str text;

    if (qn_json_peek(json) != QN_JSON_STRING) {
        (void)qn_json_skip(json);
        return QN_STR_NONE;
    }
    return qn_json_string(json, &text) ? text : QN_STR_NONE;
}

/* Also one that was written as text. */
static int64_t integer_or_none(struct qn_json *json)
{
    int64_t value;

    if (qn_json_peek(json) == QN_JSON_STRING) {
        return qn_str_to_int64(text_or_none(json), INT32_MIN, INT32_MAX, &value) ? value
                                                                                 : QN_EVENT_NO_INT;
    }
    if (qn_json_peek(json) != QN_JSON_NUMBER) {
        (void)qn_json_skip(json);
        return QN_EVENT_NO_INT;
    }
    return qn_json_int64(json, &value) ? value : QN_EVENT_NO_INT;
}

static bool is(struct qn_str name, const char *word)
{
    return qn_str_equal(name, qn_str_from_cstr(word));
}

static struct qn_seen_entry no_entry(void)
{
    return (struct qn_seen_entry){.handle = QN_STR_NONE,
                                  .deduplication_id = QN_STR_NONE,
                                  .delay_s = QN_EVENT_NO_INT,
                                  .visibility_s = QN_EVENT_NO_INT};
}

/* A member of an entry, or of a request that is its own entry. False: none of these. */
static bool read_entry_member(struct qn_json *json, struct qn_str name, struct qn_seen_entry *entry)
{
    if (is(name, "ReceiptHandle")) {
        entry->handle = text_or_none(json);
    } else if (is(name, "MessageDeduplicationId")) {
        entry->deduplication_id = text_or_none(json);
    } else if (is(name, "DelaySeconds")) {
        entry->delay_s = integer_or_none(json);
    } else if (is(name, "VisibilityTimeout")) {
        entry->visibility_s = integer_or_none(json);
    } else {
        return false;
    }
    return true;
}

static void read_entry(struct qn_json *json, struct qn_seen_entry *entry)
{
    struct qn_str name;

    *entry = no_entry();
    if (qn_json_peek(json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(json);
        return;
    }
    if (qn_json_open_object(json)) {
        while (qn_json_next_member(json, &name)) {
            if (!read_entry_member(json, name, entry)) {
                (void)qn_json_skip(json);
            }
        }
    }
}

static void read_entries(struct qn_json *json, struct qn_seen_params *params)
{
    struct qn_seen_entry beyond;

    params->entry_count = 0;
    if (qn_json_peek(json) != QN_JSON_ARRAY) {
        (void)qn_json_skip(json);
        return;
    }
    if (qn_json_open_array(json)) {
        while (qn_json_next_element(json)) {
            bool fits = params->entry_count < QN_SEEN_ENTRIES_MAX;
            read_entry(json, fits ? &params->entries[params->entry_count] : &beyond);
            params->entry_count += fits;
        }
    }
}

static void read_names(struct qn_json *json, struct qn_seen_params *params)
{
    if (qn_json_peek(json) != QN_JSON_ARRAY) {
        (void)qn_json_skip(json);
        return;
    }
    if (qn_json_open_array(json)) {
        while (qn_json_next_element(json)) {
            struct qn_str name = text_or_none(json);
            params->asks_all = params->asks_all || is(name, "All");
            params->asks_counts =
                params->asks_counts || qn_str_starts_with(name, QN_STR("Approximate"));
        }
    }
}

static void read_attributes(struct qn_json *json, struct qn_seen_params *params)
{
    struct qn_str name;

    if (qn_json_peek(json) != QN_JSON_OBJECT) {
        (void)qn_json_skip(json);
        return;
    }
    if (qn_json_open_object(json)) {
        while (qn_json_next_member(json, &name)) {
            struct qn_str value = text_or_none(json);
            if (params->attribute_count < QN_SEEN_ATTRIBUTES_MAX) {
                params->attributes[params->attribute_count++] =
                    (struct qn_seen_attribute){name, value};
            }
        }
    }
}

static void read_member(struct qn_json *json, struct qn_str name, struct qn_seen_params *params)
{
    if (is(name, "QueueUrl")) {
        params->queue_url = text_or_none(json);
    } else if (is(name, "WaitTimeSeconds")) {
        params->wait_s = integer_or_none(json);
    } else if (is(name, "MaxNumberOfMessages")) {
        params->max = integer_or_none(json);
    } else if (is(name, "Entries")) {
        read_entries(json, params);
    } else if (is(name, "AttributeNames")) {
        read_names(json, params);
    } else if (is(name, "Attributes")) {
        read_attributes(json, params);
    } else if (!read_entry_member(json, name, &params->entries[0])) {
        (void)qn_json_skip(json);
    }
}

bool qn_seen_read_params(struct qn_str text, struct qn_seen_call *call)
{
    struct qn_seen_params *params = &call->params;
    struct qn_json json;
    struct qn_str name;

    *params = (struct qn_seen_params){.queue_url = QN_STR_NONE,
                                      .wait_s = QN_EVENT_NO_INT,
                                      .max = QN_EVENT_NO_INT,
                                      .visibility_s = QN_EVENT_NO_INT,
                                      .entries = {no_entry()},
                                      .entry_count = 1};
    if (qn_str_is_none(text)) {
        return false;
    }
    qn_json_init(&json, qn_arena_copy(&call->arena, text), &call->arena);
    if (!qn_json_open_object(&json)) {
        return false;
    }
    while (qn_json_next_member(&json, &name)) {
        read_member(&json, name, params);
    }
    params->visibility_s = params->entries[0].visibility_s;
    return qn_json_finish(&json);
}

void qn_seen_read_told(struct qn_str text, struct qn_seen_call *call)
{
    struct qn_json json;
    struct qn_str name;

    call->told_messages = 0;
    call->told_count = 0;
    if (qn_str_is_none(text)) {
        return;
    }
    qn_json_init(&json, text, &call->arena);
    if (!qn_json_open_object(&json)) {
        return;
    }
    while (qn_json_next_member(&json, &name)) {
        int64_t value = integer_or_none(&json);
        if (value < 0 || value > INT32_MAX) {
            continue;
        }
        if (is(name, "Messages")) {
            call->told_messages = value;
        } else if (qn_str_starts_with(name, QN_STR("ApproximateNumberOfMessages"))) {
            call->told_count += value;
        }
    }
}
