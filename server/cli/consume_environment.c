/* What a command learns of its message beside the body. */
#include <string.h>

#include "server/base/digest.h"
#include "server/cli/consume.h"

struct list {
    char **texts;
    size_t count;
};

static void add(struct list *list, const char *name, const char *value)
{
    struct qn_buf text;

    if (value == NULL) {
        return;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_format(&text, "%s=%s", name, value);
    list->texts = qn_memory_resize(list->texts, list->count + 2, sizeof(*list->texts));
    list->texts[list->count++] = qn_buf_take(&text, NULL);
    list->texts[list->count] = NULL;
}

/* QUERN_ATTRIBUTE_TRACE_ID for trace.id: a shell must be able to say it. */
static void add_attribute(struct list *list, const struct quern_attribute *attribute)
{
    struct qn_buf variable;
    struct qn_buf value;

    qn_buf_init(&variable, SIZE_MAX / 2);
    qn_buf_init(&value, SIZE_MAX / 2);
    qn_buf_append_literal(&variable, "QUERN_ATTRIBUTE_");
    for (const char *at = attribute->name; *at != '\0'; at++) {
        bool is_lower = *at >= 'a' && *at <= 'z';
        char upper = is_lower ? (char)(*at - 'a' + 'A') : *at;
        qn_buf_append_char(&variable, qn_char_is_alphanumeric(upper) ? upper : '_');
    }
    if (attribute->text != NULL) {
        qn_buf_append_str(&value, qn_str_from_cstr(attribute->text));
    } else {
        qn_digest_append_base64(&value, qn_str(attribute->bytes, attribute->byte_count));
    }
    qn_buf_append_char(&variable, '\0');
    qn_buf_append_char(&value, '\0');
    add(list, variable.ptr, value.ptr);
    qn_buf_done(&variable);
    qn_buf_done(&value);
}

static bool has_name_of(const struct list *list, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1; /* with the sign */

    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->texts[i], entry, len) == 0) {
            return true;
        }
    }
    return false;
}

static void inherit(struct list *list, char *const *inherited)
{
    struct qn_str rest;

    for (; *inherited != NULL; inherited++) {
        struct qn_str name = qn_str_cut(qn_str_from_cstr(*inherited), '=', &rest);
        if (!has_name_of(list, *inherited) && !qn_str_is_none(rest) &&
            !qn_str_starts_with(name, QN_STR("QUERN_ATTRIBUTE_"))) {
            list->texts = qn_memory_resize(list->texts, list->count + 2, sizeof(*list->texts));
            list->texts[list->count++] = qn_memory_copy_text(*inherited, strlen(*inherited));
            list->texts[list->count] = NULL;
        }
    }
}

char **qn_consume_environment(const struct qn_consume *consume,
                              const struct quern_delivery *delivery, char *const *inherited)
{
    static const struct {
        const char *variable;
        const char *attribute;
    } system[] = {
        {"QUERN_MESSAGE_GROUP", "MessageGroupId"},
        {"QUERN_MESSAGE_DEDUPLICATION", "MessageDeduplicationId"},
        {"QUERN_MESSAGE_SEQUENCE", "SequenceNumber"},
        {"QUERN_MESSAGE_SENT_MS", "SentTimestamp"},
        {"QUERN_MESSAGE_FIRST_RECEIVED_MS", "ApproximateFirstReceiveTimestamp"},
        {"QUERN_MESSAGE_TRACE", "AWSTraceHeader"},
    };
    const struct quern_received *received = quern_delivery_received(delivery);
    struct list list = {NULL, 0};
    char count[24];

    (void)snprintf(count, sizeof(count), "%lld", (long long)quern_delivery_receive_count(delivery));
    add(&list, "QUERN_QUEUE_URL", consume->queue_url);
    add(&list, "QUERN_MESSAGE_ID", quern_delivery_message_id(delivery));
    add(&list, "QUERN_MESSAGE_RECEIVE_COUNT", count);
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
        /* Empty where there is none, so that no variable of an outer message shows through. */
        const char *value = quern_received_system(received, system[i].attribute);
        add(&list, system[i].variable, value != NULL ? value : "");
    }
    for (size_t i = 0; i < received->attribute_count; i++) {
        add_attribute(&list, &received->attributes[i]);
    }
    inherit(&list, inherited);
    return list.texts;
}

void qn_consume_environment_free(char **environment)
{
    for (char **at = environment; at != NULL && *at != NULL; at++) {
        qn_memory_free(*at);
    }
    qn_memory_free(environment);
}
