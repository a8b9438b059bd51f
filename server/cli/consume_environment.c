/* What a command learns of its message beside the body. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/base/digest.h"
#include "server/cli/consume.h"

static void append(struct qn_consume_environment *e, char *text_take)
{
    e->texts = qn_memory_resize(e->texts, e->count + 2, sizeof(*e->texts));
    e->texts[e->count++] = text_take;
    e->texts[e->count] = NULL;
}

static void add(struct qn_consume_environment *e, const char *name, const char *value)
{
    struct qn_buf text;

    if (value == NULL) {
        return;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_format(&text, "%s=%s", name, value);
    append(e, qn_buf_take(&text, NULL));
}

/* ---- attributes ---- */

static struct qn_str value_of(const struct quern_attribute *attribute)
{
    return attribute->text != NULL ? qn_str_from_cstr(attribute->text)
                                   : qn_str(attribute->bytes, attribute->byte_count);
}

static bool write_all(int fd, struct qn_str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(fd, bytes.ptr, bytes.len);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        size_t step = written > 0 ? (size_t)written : 0;
        bytes = qn_str(bytes.ptr + step, bytes.len - step);
    }
    return true;
}

/* Without a name in any folder: it is gone with the last process that has it, whatever dies. As it
 * is, without base64. 0, or errno. */
static int add_file(struct qn_consume_environment *e, struct qn_str variable,
                    const struct quern_attribute *attribute)
{
    struct qn_buf text;
    int fd = memfd_create("attribute", MFD_CLOEXEC);

    if (fd < 0) {
        return errno;
    }
    e->files = qn_memory_resize(e->files, e->file_count + 1, sizeof(*e->files));
    e->files[e->file_count++] = fd;
    if (!write_all(fd, value_of(attribute))) {
        return errno;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_str(&text, variable);
    qn_buf_append_format(&text, "_FILE=/dev/fd/%d", fd);
    append(e, qn_buf_take(&text, NULL));
    json_array_append_new(e->in_files, json_string(attribute->name));
    return 0;
}

/* QUERN_ATTRIBUTE_TRACE_ID for trace.id: a shell must be able to say it. */
static void name_variable(struct qn_buf *text, const struct quern_attribute *attribute)
{
    qn_buf_append_literal(text, "QUERN_ATTRIBUTE_");
    for (const char *at = attribute->name; *at != '\0'; at++) {
        bool is_lower = *at >= 'a' && *at <= 'z';
        char upper = is_lower ? (char)(*at - 'a' + 'A') : *at;
        qn_buf_append_char(text, qn_char_is_alphanumeric(upper) ? upper : '_');
    }
}

/* 0, or errno. */
static int add_attribute(struct qn_consume_environment *e, const struct quern_attribute *attribute,
                         size_t longest)
{
    struct qn_buf text;
    int reason = 0;

    qn_buf_init(&text, SIZE_MAX / 2);
    name_variable(&text, attribute);
    size_t name_len = text.len;
    qn_buf_append_char(&text, '=');
    if (attribute->text != NULL) {
        qn_buf_append_str(&text, value_of(attribute));
    } else {
        qn_digest_append_base64(&text, value_of(attribute));
    }
    if (text.len + 1 > longest) {
        reason = add_file(e, qn_str(text.ptr, name_len), attribute);
        qn_buf_done(&text);
    } else {
        append(e, qn_buf_take(&text, NULL));
    }
    return reason;
}

/* ---- what is there already ---- */

static bool has_name_of(const struct qn_consume_environment *e, const char *entry)
{
    size_t len = strcspn(entry, "=") + 1; /* with the sign */

    for (size_t i = 0; i < e->count; i++) {
        if (strncmp(e->texts[i], entry, len) == 0) {
            return true;
        }
    }
    return false;
}

static void inherit(struct qn_consume_environment *e, char *const *inherited)
{
    struct qn_str rest;

    for (; *inherited != NULL; inherited++) {
        struct qn_str name = qn_str_cut(qn_str_from_cstr(*inherited), '=', &rest);
        if (!has_name_of(e, *inherited) && !qn_str_is_none(rest) &&
            !qn_str_starts_with(name, QN_STR("QUERN_ATTRIBUTE_"))) {
            append(e, qn_memory_copy_text(*inherited, strlen(*inherited)));
        }
    }
}

int qn_consume_environment_init(struct qn_consume_environment *e, const struct qn_consume *consume,
                                const struct quern_delivery *delivery, char *const *inherited,
                                size_t longest)
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
    char count[24];
    int reason = 0;

    *e = (struct qn_consume_environment){.in_files = json_array()};
    (void)snprintf(count, sizeof(count), "%lld", (long long)quern_delivery_receive_count(delivery));
    add(e, "QUERN_QUEUE_URL", consume->queue_url);
    add(e, "QUERN_MESSAGE_ID", quern_delivery_message_id(delivery));
    add(e, "QUERN_MESSAGE_RECEIVE_COUNT", count);
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
        /* Empty where there is none, so that no variable of an outer message shows through. */
        const char *value = quern_received_system(received, system[i].attribute);
        add(e, system[i].variable, value != NULL ? value : "");
    }
    for (size_t i = 0; reason == 0 && i < received->attribute_count; i++) {
        reason = add_attribute(e, &received->attributes[i], longest);
    }
    inherit(e, inherited);
    return reason;
}

void qn_consume_environment_done(struct qn_consume_environment *e)
{
    for (size_t i = 0; i < e->count; i++) {
        qn_memory_free(e->texts[i]);
    }
    for (size_t i = 0; i < e->file_count; i++) {
        (void)close(e->files[i]);
    }
    qn_memory_free(e->texts);
    qn_memory_free(e->files);
    json_decref(e->in_files);
}
