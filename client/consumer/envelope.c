/* Reading envelopes. */
#include "client/quern_envelope.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/json_text.h"
#include "server/base/memory.h"

static bool refuse(char reason[QUERN_REASON_MAX], const char *format, ...) QN_PRINTF(2, 3);

/* Always false. */
static bool refuse(char reason[QUERN_REASON_MAX], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, QUERN_REASON_MAX, format, args);
    va_end(args);
    return false;
}

static bool read_text(const json_t *document, const char *name, bool must_be, const char **ret_text,
                      char reason[QUERN_REASON_MAX])
{
    const json_t *member = json_object_get(document, name);

    if (member == NULL || (json_is_null(member) && !must_be)) {
        return must_be ? refuse(reason, "%s is missing", name) : true;
    }
    if (!json_is_string(member) || (must_be && json_string_length(member) == 0)) {
        return refuse(reason, "%s is no text", name);
    }
    *ret_text = json_string_value(member);
    return true;
}

static bool is_known(const struct quern_envelope *envelope, const struct quern_envelope_kind *kinds,
                     size_t count, char reason[QUERN_REASON_MAX])
{
    bool has_type = false;

    for (size_t i = 0; i < count; i++) {
        bool is_type = strcmp(kinds[i].message_type, envelope->message_type) == 0;
        has_type = has_type || is_type;
        if (is_type && envelope->schema_version >= kinds[i].oldest &&
            envelope->schema_version <= kinds[i].newest) {
            return true;
        }
    }
    return has_type ? refuse(reason, "version %lld of %.64s is not known",
                             (long long)envelope->schema_version, envelope->message_type)
                    : refuse(reason, "the type %.64s is not known", envelope->message_type);
}

static bool read_members(struct quern_envelope *e, char reason[QUERN_REASON_MAX])
{
    const json_t *version = json_object_get(e->document, "schemaVersion");

    if (!json_is_object(e->document)) {
        return refuse(reason, "the body is no JSON object");
    }
    if (!json_is_integer(version)) {
        return refuse(reason, "schemaVersion is %s",
                      version == NULL ? "missing" : "no whole number");
    }
    e->schema_version = json_integer_value(version);
    e->payload = json_object_get(e->document, "payload");
    if (e->payload == NULL) {
        return refuse(reason, "payload is missing");
    }
    return read_text(e->document, "messageType", true, &e->message_type, reason) &&
           read_text(e->document, "idempotencyKey", true, &e->idempotency_key, reason) &&
           read_text(e->document, "messageId", false, &e->message_id, reason) &&
           read_text(e->document, "occurredAt", false, &e->occurred_at, reason) &&
           read_text(e->document, "correlationId", false, &e->correlation_id, reason) &&
           read_text(e->document, "causationId", false, &e->causation_id, reason) &&
           read_text(e->document, "tenantId", false, &e->tenant_id, reason);
}

bool quern_envelope_read(const char *body, size_t len, const struct quern_envelope_kind *kinds,
                         size_t kind_count, struct quern_envelope *ret_envelope,
                         char reason[QUERN_REASON_MAX])
{
    json_error_t mistake;
    struct quern_envelope read = {
        .document = quern_json_text_read(qn_str(body, len), JSON_REJECT_DUPLICATES, &mistake)};

    if (read.document == NULL && json_error_code(&mistake) == json_error_duplicate_key) {
        return refuse(reason, "a name is there twice");
    }
    if (read.document == NULL && quern_json_text_is_too_deep(&mistake)) {
        return refuse(reason, "the body is nested deeper than %d levels", JSON_PARSER_MAX_DEPTH);
    }
    if (!read_members(&read, reason) || !is_known(&read, kinds, kind_count, reason)) {
        quern_envelope_done(&read);
        return false;
    }
    *ret_envelope = read;
    return true;
}

void quern_envelope_done(struct quern_envelope *envelope)
{
    json_decref(envelope->document);
    *envelope = (struct quern_envelope){.document = NULL};
}
