/* A line of an import: a message as ReceiveMessage gives it, and what is sent of it. */
#include "server/cli/import.h"

#include <stdarg.h>
#include <stdio.h>

#include "chaos/lex.h"
#include "server/base/digest.h"

enum { ATTRIBUTES_MAX = 10, TEXT_MAX = 300 };

static const char *const members[] = {
    "MessageId",         "ReceiptHandle",         "MD5OfBody", "Body", "Attributes",
    "MessageAttributes", "MD5OfMessageAttributes"};
enum { MEMBER_COUNT = sizeof(members) / sizeof(members[0]) };

static bool fail(struct qn_error *err, const char *format, ...) QN_PRINTF(2, 3);

static bool fail(struct qn_error *err, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s", text);
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(name, members[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_names(const json_t *message, struct qn_error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)message, name, value)
    {
        if (!is_known(name)) {
            const char *nearest = qn_nearest_word(qn_str_from_cstr(name), members, MEMBER_COUNT);
            return fail(err, "a message has no %.60s%s%s%s", name,
                        nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                        nearest != NULL ? "?" : "");
        }
    }
    return true;
}

static bool is_base64(const json_t *text)
{
    struct qn_str encoded = qn_str(json_string_value(text), json_string_length(text));
    struct qn_arena arena;
    struct qn_str bytes;
    bool ok;

    qn_arena_init(&arena, encoded.len + 64);
    ok = json_is_string(text) && qn_digest_decode_base64(&arena, encoded, &bytes);
    qn_arena_done(&arena);
    return ok;
}

static bool check_attribute(const char *name, const json_t *attribute, struct qn_error *err)
{
    const json_t *type = json_object_get(attribute, "DataType");
    const json_t *text = json_object_get(attribute, "StringValue");
    const json_t *bytes = json_object_get(attribute, "BinaryValue");

    if (!json_is_string(type)) {
        return fail(err, "the attribute %.60s has no DataType", name);
    }
    if ((text == NULL) == (bytes == NULL)) {
        return fail(err, "the attribute %.60s should have either a StringValue or a BinaryValue",
                    name);
    }
    if (text != NULL && !json_is_string(text)) {
        return fail(err, "the StringValue of the attribute %.60s is no text", name);
    }
    if (bytes != NULL && !is_base64(bytes)) {
        return fail(err, "the BinaryValue of the attribute %.60s is not base64", name);
    }
    return true;
}

static bool check_attributes(const json_t *attributes, struct qn_error *err)
{
    const char *name;
    json_t *attribute;

    if (attributes == NULL) {
        return true;
    }
    if (!json_is_object(attributes)) {
        return fail(err, "MessageAttributes is no object");
    }
    if (json_object_size(attributes) > ATTRIBUTES_MAX) {
        return fail(err, "a message has at most %d attributes", ATTRIBUTES_MAX);
    }
    json_object_foreach((json_t *)(uintptr_t)attributes, name, attribute)
    {
        if (!check_attribute(name, attribute, err)) {
            return false;
        }
    }
    return true;
}

static bool check_system(const json_t *system, struct qn_error *err)
{
    const char *name;
    json_t *value;

    if (system != NULL && !json_is_object(system)) {
        return fail(err, "Attributes is no object");
    }
    json_object_foreach((json_t *)(uintptr_t)system, name, value)
    {
        if (!json_is_string(value)) {
            return fail(err, "the attribute %.60s is no text", name);
        }
    }
    return true;
}

static const char *system_text(const json_t *message, const char *name)
{
    return json_string_value(json_object_get(json_object_get(message, "Attributes"), name));
}

/* A FIFO queue wants a group, and a deduplication id from somewhere. */
static bool check_fifo(const json_t *message, const struct qn_import_rules *rules,
                       struct qn_error *err)
{
    if (!rules->is_fifo) {
        return true;
    }
    if (system_text(message, "MessageGroupId") == NULL && rules->group == NULL) {
        return fail(err, "a FIFO queue needs a MessageGroupId: --group ID gives one");
    }
    if (system_text(message, "MessageDeduplicationId") == NULL && !rules->makes_new_ids &&
        !rules->has_content_ids) {
        return fail(err,
                    "this FIFO queue needs a MessageDeduplicationId: --new-dedup-ids makes one");
    }
    return true;
}

static bool check(const json_t *message, const struct qn_import_rules *rules, struct qn_error *err)
{
    const json_t *body = json_object_get(message, "Body");

    if (!json_is_object(message)) {
        return fail(err, "not an object");
    }
    if (!check_names(message, err)) {
        return false;
    }
    if (!json_is_string(body) || json_string_length(body) == 0) {
        return fail(err, body == NULL ? "it has no Body" : "its Body is no text, or empty");
    }
    return check_attributes(json_object_get(message, "MessageAttributes"), err) &&
           check_system(json_object_get(message, "Attributes"), err) &&
           check_fifo(message, rules, err);
}

json_t *qn_import_read(struct qn_str line, const struct qn_import_rules *rules,
                       struct qn_error *err)
{
    json_error_t reason;
    json_t *message = json_loadb(line.ptr, line.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &reason);

    if (message == NULL) {
        (void)fail(err, "not JSON, at byte %d of the line", reason.position);
    } else if (!check(message, rules, err)) {
        json_decref(message);
        message = NULL;
    }
    return message;
}

static void add_text(json_t *entry, const char *name, const char *text)
{
    if (text != NULL) {
        json_object_set_new(entry, name, json_string(text));
    }
}

json_t *qn_import_entry(const json_t *message, const struct qn_import_rules *rules,
                        struct qn_random *random)
{
    json_t *entry = json_object();
    json_t *attributes = json_object_get(message, "MessageAttributes");
    const char *group = system_text(message, "MessageGroupId");
    const char *trace = system_text(message, "AWSTraceHeader");
    uint8_t bytes[16];
    char id[37];

    json_object_set(entry, "MessageBody", json_object_get(message, "Body"));
    if (json_object_size(attributes) > 0) {
        json_object_set(entry, "MessageAttributes", attributes);
    }
    if (trace != NULL) {
        json_object_set_new(entry, "MessageSystemAttributes",
                            json_pack("{s:{s:s, s:s}}", "AWSTraceHeader", "DataType", "String",
                                      "StringValue", trace));
    }
    add_text(entry, "MessageGroupId", group != NULL ? group : rules->group);
    if (rules->is_fifo && rules->makes_new_ids) {
        qn_random_uuid(random, bytes);
        qn_random_format_uuid(bytes, id);
        add_text(entry, "MessageDeduplicationId", id);
    } else if (rules->is_fifo) {
        add_text(entry, "MessageDeduplicationId", system_text(message, "MessageDeduplicationId"));
    }
    return entry;
}
