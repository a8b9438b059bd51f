/* Bodies of messages. */
#include "chaos/check/body.h"

#include "chaos/check/json_text.h"
#include "chaos/check/object.h"
#include "server/base/clock.h"
#include "server/base/random.h"
#include "server/model/limits.h"

enum { CHUNK_ROWS = 100 };

#define DIGEST_MASK UINT64_C(0xffffffffffff)

/* The bodies of odd messages, by turns. */
enum odd {
    ODD_ONE_BYTE,
    ODD_LARGEST,
    ODD_UTF8,
    ODD_MARKUP,
    ODD_TYPED,
    ODD_TRACED,
    ODD_SPACED,
    ODD_BARE,
    ODDS
};

static enum odd odd_of(const struct qn_load_message *message)
{
    return (enum odd)(message->nth % ODDS);
}

static void append_script(struct qn_buf *body, const struct qn_effect_script *script)
{
    qn_buf_append_format(body, "\"instr\":{\"work_ms\":%lld,\"outcome\":[",
                         (long long)script->work_ms);
    for (size_t i = 0; i < script->outcome_count; i++) {
        if (i > 0) {
            qn_buf_append_char(body, ',');
        }
        qn_buf_append_json_string(body, script->outcomes[i]);
    }
    qn_buf_append_literal(body, "]}");
}

static const char *odd_text(enum odd odd)
{
    switch (odd) {
    case ODD_UTF8:
        return "\xf0\x9f\x98\x80 \xf0\x90\x8d\x88 \xe2\x82\xac \xc3\xa9";
    case ODD_MARKUP:
        return "<a href=\"x\">&amp; ]]> ' \\ </a>\r\n\t";
    default:
        return NULL;
    }
}

/* Up to so many bytes in all, `tail` of which are still to come. */
static void append_pad(struct qn_buf *body, int64_t size_bytes, size_t tail)
{
    const size_t quotes = sizeof(",\"pad\":\"\"") - 1;

    if (size_bytes <= (int64_t)(body->len + tail + quotes)) {
        return;
    }
    size_t pad = (size_t)size_bytes - body->len - tail - quotes;
    qn_buf_append_literal(body, ",\"pad\":\"");
    for (size_t i = 0; i < pad; i++) {
        qn_buf_append_char(body, 'x');
    }
    qn_buf_append_char(body, '"');
}

static void append_envelope(struct qn_buf *body, const struct qn_load_message *message,
                            const struct qn_load_options *options, struct qn_random *random)
{
    uint8_t uuid[16];
    char id[37];
    char instant[32];

    qn_random_uuid(random, uuid);
    qn_random_format_uuid(uuid, id);
    qn_clock_format_instant(
        options->now_ms + (message->at_ms > 0 ? message->at_ms : 0) + message->copy - 1, instant);
    qn_buf_append_format(
        body,
        "{\"messageId\":\"%s\",\"messageType\":\"quern.work\",\"schemaVersion\":%d,"
        "\"occurredAt\":\"%s\",\"correlationId\":\"%s/%.*s\",\"causationId\":\"%s\","
        "\"tenantId\":\"%.*s\",\"idempotencyKey\":\"%.*s\",",
        id, message->outcome == QN_LOAD_SCHEMA99 ? 99 : 1, instant, options->run_id,
        QN_STR_ARG(message->id), options->run_id, QN_STR_ARG(message->tenant),
        QN_STR_ARG(message->k));
}

unsigned qn_body_canary(const struct qn_load_message *message,
                        const struct qn_load_options *options)
{
    struct qn_random canary;

    qn_random_init(&canary, options->seed, qn_str_hash(message->k), 0xca4a);
    return (unsigned)qn_random_below(&canary, 0x10000);
}

/* A range of the job's rows; those of its chunks are all of them, and none twice. */
static void append_chunk(struct qn_buf *body, const struct qn_load_message *message)
{
    const int64_t last_row = message->chunk * CHUNK_ROWS;
    const int64_t first_row = last_row - CHUNK_ROWS + 1;

    if (message->chunk > 0) {
        qn_buf_append_format(
            body, ",\"job\":\"%.*s\",\"chunk\":%lld,\"chunks\":%lld,\"from\":%lld,\"to\":%lld",
            QN_STR_ARG(message->entity), (long long)message->chunk, (long long)message->chunks,
            (long long)first_row, (long long)last_row);
    }
}

/* All texts of the load in it are plain: letters, digits, '-'. The payload is the same in each copy
 * of a message. */
static void append_body(struct qn_buf *body, const struct qn_load_message *message,
                        const struct qn_load_options *options, int64_t size_bytes)
{
    const char *text = message->outcome == QN_LOAD_ODD ? odd_text(odd_of(message)) : NULL;
    struct qn_random random;
    struct qn_buf tail;

    qn_random_init(&random, options->seed, message->position, 0xb0d1);
    append_envelope(body, message, options, &random);
    qn_buf_append_format(body,
                         "\"payload\":{\"id\":\"%.*s\",\"entity\":\"%.*s\",\"version\":%lld,"
                         "\"canary\":\"CANARY-%04x\"",
                         QN_STR_ARG(message->id), QN_STR_ARG(message->entity),
                         (long long)message->version, qn_body_canary(message, options));
    if (text != NULL) {
        qn_buf_append_literal(body, ",\"text\":");
        qn_buf_append_json_string(body, qn_str_from_cstr(text));
    }
    append_chunk(body, message);
    qn_object_append_reference(body, message, options);
    qn_buf_init(&tail, SIZE_MAX / 2);
    qn_buf_append_literal(&tail, "},");
    append_script(&tail, &message->script);
    qn_buf_append_char(&tail, '}');
    append_pad(body, size_bytes, tail.len);
    qn_buf_append_str(body, qn_buf_str(&tail));
    qn_buf_done(&tail);
}

static json_t *typed_attributes(unsigned canary)
{
    json_t *label = json_sprintf("<&> \xe2\x82\xac CANARY-%04x", canary);

    return json_pack("{s:{s:s, s:s}, s:{s:s, s:o}, s:{s:s, s:s}}", "amount", "DataType",
                     "Number.cents", "StringValue", "1999", "label", "DataType", "String.custom",
                     "StringValue", label, "thumbnail", "DataType", "Binary.png", "BinaryValue",
                     "iVBORw0KGgoAAQID");
}

/* Of X-Ray, which SDKs and Lambda pass on. */
static json_t *trace_header(void)
{
    return json_pack("{s:{s:s, s:s}}", "AWSTraceHeader", "DataType", "String", "StringValue",
                     "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1");
}

/* Whitespace between the members, as a person would write it. */
static struct qn_str spaced(struct qn_str body, struct qn_arena *arena)
{
    json_t *json = json_loadb(body.ptr, body.len, 0, NULL);
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_json_text_append(&text, json, JSON_INDENT(4));
    struct qn_str copy = qn_arena_copy(arena, qn_buf_str(&text));
    qn_buf_done(&text);
    json_decref(json);
    return copy;
}

void qn_body_make(struct qn_load_message *message, const struct qn_load_options *options,
                  int64_t size_bytes, struct qn_arena *arena)
{
    bool is_odd = message->outcome == QN_LOAD_ODD;
    enum odd odd = is_odd ? odd_of(message) : ODDS;
    struct qn_buf body;

    qn_buf_init(&body, SIZE_MAX / 2);
    append_body(&body, message, options, odd == ODD_LARGEST ? QN_MESSAGE_SIZE_MAX : size_bytes);
    if (odd == ODD_ONE_BYTE) {
        message->body = QN_STR("x");
    } else if (odd == ODD_SPACED) {
        message->body = spaced(qn_buf_str(&body), arena);
    } else if (message->outcome == QN_LOAD_BADJSON) {
        message->body = qn_arena_copy(arena, qn_str_first(qn_buf_str(&body), body.len / 2));
    } else {
        message->body = qn_arena_copy(arena, qn_buf_str(&body));
    }
    message->attributes =
        odd == ODD_TYPED ? typed_attributes(qn_body_canary(message, options)) : NULL;
    message->system_attributes = odd == ODD_TRACED ? trace_header() : NULL;
    qn_buf_done(&body);
}

uint64_t qn_body_hash(const json_t *json)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_json_text_append(&text, json, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = qn_str_hash(qn_buf_str(&text));
    qn_buf_done(&text);
    return hash;
}

int64_t qn_body_digest(const json_t *unit)
{
    const json_t *payload = json_object_get(unit, "payload");

    return payload != NULL ? (int64_t)(qn_body_hash(payload) & DIGEST_MASK) : QN_EVENT_NO_INT;
}
