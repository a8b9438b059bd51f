/* Attributes and tags of a queue: defaults, copies, values as text, and the byte form in the store.
 */
#include "server/model/queue_settings.h"

enum { SETTINGS_VERSION = 1 };

static const struct qn_attribute_info attributes[] = {
#define QN_ATTRIBUTE(symbol, name, kind, min, max, flags)                                          \
    {name, QN_ATTRIBUTE_##kind, min, max, flags},
#include "server/model/attributes.def"
#undef QN_ATTRIBUTE
};

const struct qn_attribute_info *qn_attribute_info(enum qn_attribute_id id)
{
    return &attributes[id];
}

bool qn_attribute_find(struct qn_str name, enum qn_attribute_id *ret_id)
{
    for (size_t i = 0; i < QN_ATTRIBUTE_ID_COUNT; i++) {
        if (qn_str_equal(name, qn_str_from_cstr(attributes[i].name))) {
            *ret_id = (enum qn_attribute_id)i;
            return true;
        }
    }
    return false;
}

void qn_queue_settings_init(struct qn_queue_settings *settings, bool is_fifo,
                            const struct qn_limits *limits)
{
    *settings = (struct qn_queue_settings){
        .is_fifo = is_fifo,
        .visibility_timeout_s = QN_VISIBILITY_DEFAULT_S,
        .maximum_message_size = limits->message_size,
        .retention_s = QN_RETENTION_DEFAULT_S,
        .kms_reuse_s = -1,
        .sqs_managed_sse = true,
        .purged_at_ms = -1,
    };
}

static void free_sources(struct qn_queue_settings *settings)
{
    for (size_t i = 0; i < settings->redrive_source_count; i++) {
        qn_memory_free(settings->redrive_source_arns[i]);
    }
    qn_memory_free(settings->redrive_source_arns);
    settings->redrive_source_arns = NULL;
    settings->redrive_source_count = 0;
}

static void free_tag(struct qn_pair *tag)
{
    qn_memory_free((char *)(uintptr_t)tag->key.ptr);
    qn_memory_free((char *)(uintptr_t)tag->value.ptr);
}

void qn_queue_settings_done(struct qn_queue_settings *settings)
{
    qn_memory_free(settings->policy);
    qn_memory_free(settings->redrive_policy);
    qn_memory_free(settings->dead_letter_target_arn);
    qn_memory_free(settings->redrive_allow_policy);
    qn_memory_free(settings->kms_master_key_id);
    free_sources(settings);
    for (size_t i = 0; i < settings->tag_count; i++) {
        free_tag(&settings->tags[i]);
    }
    qn_memory_free(settings->tags);
    *settings = (struct qn_queue_settings){0};
}

static struct qn_str copy_str(struct qn_str text)
{
    return qn_str(qn_memory_copy_text(text.ptr, text.len), text.len);
}

static char *copy_cstr(const char *text)
{
    return text == NULL ? NULL : qn_memory_copy_text(text, strlen(text));
}

void qn_queue_settings_copy(struct qn_queue_settings *to, const struct qn_queue_settings *from)
{
    *to = *from;
    to->policy = copy_cstr(from->policy);
    to->redrive_policy = copy_cstr(from->redrive_policy);
    to->dead_letter_target_arn = copy_cstr(from->dead_letter_target_arn);
    to->redrive_allow_policy = copy_cstr(from->redrive_allow_policy);
    to->kms_master_key_id = copy_cstr(from->kms_master_key_id);
    to->redrive_source_arns = NULL;
    if (from->redrive_source_count > 0) {
        to->redrive_source_arns = qn_memory_new_array(from->redrive_source_count, sizeof(char *));
        for (size_t i = 0; i < from->redrive_source_count; i++) {
            to->redrive_source_arns[i] = copy_cstr(from->redrive_source_arns[i]);
        }
    }
    to->tags = NULL;
    if (from->tag_count > 0) {
        to->tags = qn_memory_new_array(from->tag_count, sizeof(struct qn_pair));
        for (size_t i = 0; i < from->tag_count; i++) {
            to->tags[i].key = copy_str(from->tags[i].key);
            to->tags[i].value = copy_str(from->tags[i].value);
        }
    }
}

void qn_queue_settings_set_text(char **field, struct qn_str text)
{
    qn_memory_free(*field);
    *field = qn_str_is_none(text) ? NULL : qn_memory_copy_text(text.ptr, text.len);
}

void qn_queue_settings_set_sources(struct qn_queue_settings *settings, const struct qn_str *arns,
                                   size_t count)
{
    free_sources(settings);
    if (count == 0) {
        return;
    }
    settings->redrive_source_arns = qn_memory_new_array(count, sizeof(char *));
    settings->redrive_source_count = count;
    for (size_t i = 0; i < count; i++) {
        settings->redrive_source_arns[i] = qn_memory_copy_text(arns[i].ptr, arns[i].len);
    }
}

/* The place of the key, or where it would stand. */
static size_t tag_place(const struct qn_queue_settings *settings, struct qn_str key,
                        bool *ret_found)
{
    size_t i = 0;

    while (i < settings->tag_count && qn_str_compare(settings->tags[i].key, key) < 0) {
        i++;
    }
    *ret_found = i < settings->tag_count && qn_str_equal(settings->tags[i].key, key);
    return i;
}

void qn_queue_settings_set_tag(struct qn_queue_settings *settings, struct qn_str key,
                               struct qn_str value)
{
    bool found;
    size_t i = tag_place(settings, key, &found);

    if (found) {
        qn_memory_free((char *)(uintptr_t)settings->tags[i].value.ptr);
        settings->tags[i].value = copy_str(value);
        return;
    }
    settings->tags =
        qn_memory_resize(settings->tags, settings->tag_count + 1, sizeof(struct qn_pair));
    memmove(&settings->tags[i + 1], &settings->tags[i],
            (settings->tag_count - i) * sizeof(struct qn_pair));
    settings->tags[i].key = copy_str(key);
    settings->tags[i].value = copy_str(value);
    settings->tag_count++;
}

void qn_queue_settings_remove_tag(struct qn_queue_settings *settings, struct qn_str key)
{
    bool found;
    size_t i = tag_place(settings, key, &found);

    if (!found) {
        return;
    }
    free_tag(&settings->tags[i]);
    settings->tag_count--;
    memmove(&settings->tags[i], &settings->tags[i + 1],
            (settings->tag_count - i) * sizeof(struct qn_pair));
}

static bool get_text(const char *text, struct qn_buf *buf)
{
    if (text == NULL) {
        return false;
    }
    qn_buf_append(buf, text, strlen(text));
    return true;
}

static bool get_integer(int64_t value, struct qn_buf *buf)
{
    qn_buf_append_int64(buf, value);
    return true;
}

static bool get_boolean(bool value, struct qn_buf *buf)
{
    return get_text(value ? "true" : "false", buf);
}

bool qn_queue_settings_get(const struct qn_queue_settings *settings, enum qn_attribute_id id,
                           struct qn_buf *buf)
{
    if ((attributes[id].flags & QN_ATTRIBUTE_FIFO_ONLY) != 0 && !settings->is_fifo) {
        return false;
    }
    switch (id) {
    case QN_ATTRIBUTE_ID_visibility_timeout:
        return get_integer(settings->visibility_timeout_s, buf);
    case QN_ATTRIBUTE_ID_maximum_message_size:
        return get_integer(settings->maximum_message_size, buf);
    case QN_ATTRIBUTE_ID_message_retention_period:
        return get_integer(settings->retention_s, buf);
    case QN_ATTRIBUTE_ID_delay_seconds:
        return get_integer(settings->delay_s, buf);
    case QN_ATTRIBUTE_ID_receive_message_wait_time_seconds:
        return get_integer(settings->wait_s, buf);
    case QN_ATTRIBUTE_ID_policy:
        return get_text(settings->policy, buf);
    case QN_ATTRIBUTE_ID_redrive_policy:
        return get_text(settings->redrive_policy, buf);
    case QN_ATTRIBUTE_ID_redrive_allow_policy:
        return get_text(settings->redrive_allow_policy, buf);
    case QN_ATTRIBUTE_ID_kms_master_key_id:
        return get_text(settings->kms_master_key_id, buf);
    case QN_ATTRIBUTE_ID_kms_data_key_reuse_period_seconds:
        return settings->kms_master_key_id != NULL &&
               get_integer(
                   settings->kms_reuse_s < 0 ? QN_KMS_REUSE_DEFAULT_S : settings->kms_reuse_s, buf);
    case QN_ATTRIBUTE_ID_sqs_managed_sse_enabled:
        return get_boolean(settings->sqs_managed_sse, buf);
    case QN_ATTRIBUTE_ID_fifo_queue:
        return get_boolean(true, buf);
    case QN_ATTRIBUTE_ID_content_based_deduplication:
        return get_boolean(settings->content_based_deduplication, buf);
    case QN_ATTRIBUTE_ID_deduplication_scope:
        return get_text(settings->scope_is_group ? "messageGroup" : "queue", buf);
    case QN_ATTRIBUTE_ID_fifo_throughput_limit:
        return get_text(settings->throughput_per_group ? "perMessageGroupId" : "perQueue", buf);
    case QN_ATTRIBUTE_ID_created_timestamp:
        return get_integer(settings->created_at_ms / 1000, buf);
    case QN_ATTRIBUTE_ID_last_modified_timestamp:
        return get_integer(settings->modified_at_ms / 1000, buf);
    default:
        return false;
    }
}

static void encode_text(struct qn_buf *buf, const char *text)
{
    qn_buf_append_u8(buf, text != NULL);
    if (text != NULL) {
        qn_buf_append_bytes(buf, qn_str_from_cstr(text));
    }
}

static char *decode_text(struct qn_reader *reader)
{
    if (qn_reader_u8(reader) == 0) {
        return NULL;
    }
    struct qn_str text = qn_reader_bytes(reader);
    return reader->failed ? NULL : qn_memory_copy_text(text.ptr, text.len);
}

/* The plain numbers, in their order in the byte form. */
#define EACH_NUMBER(apply)                                                                         \
    apply(visibility_timeout_s) apply(maximum_message_size) apply(retention_s) apply(delay_s)      \
        apply(wait_s) apply(max_receive_count) apply(kms_reuse_s) apply(created_at_ms)             \
            apply(modified_at_ms) apply(purged_at_ms)
#define EACH_FLAG(apply)                                                                           \
    apply(is_fifo) apply(sqs_managed_sse) apply(content_based_deduplication) apply(scope_is_group) \
        apply(created_with_group_scope) apply(throughput_per_group)
#define EACH_TEXT(apply)                                                                           \
    apply(policy) apply(redrive_policy) apply(dead_letter_target_arn) apply(redrive_allow_policy)  \
        apply(kms_master_key_id)

void qn_queue_settings_encode(const struct qn_queue_settings *settings, struct qn_buf *buf)
{
    qn_buf_append_u8(buf, SETTINGS_VERSION);
#define ENCODE(field) qn_buf_append_u64(buf, (uint64_t)settings->field);
    EACH_NUMBER(ENCODE)
#undef ENCODE
#define ENCODE(field) qn_buf_append_u8(buf, settings->field);
    EACH_FLAG(ENCODE)
#undef ENCODE
#define ENCODE(field) encode_text(buf, settings->field);
    EACH_TEXT(ENCODE)
#undef ENCODE
    qn_buf_append_u8(buf, (uint8_t)settings->redrive_permission);
    qn_buf_append_u32(buf, (uint32_t)settings->redrive_source_count);
    for (size_t i = 0; i < settings->redrive_source_count; i++) {
        qn_buf_append_bytes(buf, qn_str_from_cstr(settings->redrive_source_arns[i]));
    }
    qn_buf_append_u32(buf, (uint32_t)settings->tag_count);
    for (size_t i = 0; i < settings->tag_count; i++) {
        qn_buf_append_bytes(buf, settings->tags[i].key);
        qn_buf_append_bytes(buf, settings->tags[i].value);
    }
}

bool qn_queue_settings_decode(struct qn_str bytes, struct qn_queue_settings *ret_settings)
{
    struct qn_reader reader;
    struct qn_queue_settings settings = {0};

    qn_reader_init(&reader, bytes);
    if (qn_reader_u8(&reader) != SETTINGS_VERSION) {
        return false;
    }
#define DECODE(field) settings.field = (int64_t)qn_reader_u64(&reader);
    EACH_NUMBER(DECODE)
#undef DECODE
#define DECODE(field) settings.field = qn_reader_u8(&reader) != 0;
    EACH_FLAG(DECODE)
#undef DECODE
#define DECODE(field) settings.field = decode_text(&reader);
    EACH_TEXT(DECODE)
#undef DECODE
    settings.redrive_permission = (enum qn_redrive_permission)qn_reader_u8(&reader);
    uint32_t sources = qn_reader_u32(&reader);
    struct qn_str arns[QN_SOURCE_ARNS_MAX] = {{0}};
    if (sources > QN_SOURCE_ARNS_MAX) {
        reader.failed = true;
    }
    for (uint32_t i = 0; i < sources && !reader.failed; i++) {
        arns[i] = qn_reader_bytes(&reader);
    }
    if (!reader.failed) {
        qn_queue_settings_set_sources(&settings, arns, sources);
    }
    uint32_t tags = qn_reader_u32(&reader);
    for (uint32_t i = 0; i < tags && !reader.failed; i++) {
        struct qn_str key = qn_reader_bytes(&reader);
        struct qn_str value = qn_reader_bytes(&reader);
        if (!reader.failed) {
            qn_queue_settings_set_tag(&settings, key, value);
        }
    }
    if (reader.failed) {
        qn_queue_settings_done(&settings);
        return false;
    }
    *ret_settings = settings;
    return true;
}
