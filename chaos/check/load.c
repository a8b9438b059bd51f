/* Messages with the envelope that the harness uses, and their way into the queue. */
#include "chaos/check/load.h"

#include "server/base/clock.h"
#include "server/base/random.h"

enum { BATCH = 10 };

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

/* All texts in it are plain: letters, digits, '-'. */
static struct qn_str make_body(struct qn_load *load, const struct qn_load_message *message,
                               const struct qn_load_options *options, size_t index)
{
    struct qn_random random;
    struct qn_buf body;
    uint8_t uuid[16];
    char id[37];
    char instant[32];

    qn_random_init(&random, options->seed, index, 0xb0d1);
    qn_random_uuid(&random, uuid);
    qn_random_format_uuid(uuid, id);
    qn_clock_format_instant(options->now_ms, instant);
    qn_buf_init(&body, SIZE_MAX / 2);
    qn_buf_append_format(
        &body,
        "{\"messageId\":\"%s\",\"messageType\":\"quern.work\",\"schemaVersion\":1,"
        "\"occurredAt\":\"%s\",\"correlationId\":\"%s/%.*s\",\"causationId\":\"%s\","
        "\"tenantId\":\"A\",\"idempotencyKey\":\"%.*s\",",
        id, instant, options->run_id, QN_STR_ARG(message->id), options->run_id,
        QN_STR_ARG(message->k));
    qn_buf_append_format(&body,
                         "\"payload\":{\"id\":\"%.*s\",\"entity\":\"e-%zu\",\"version\":1,"
                         "\"canary\":\"CANARY-%04llx\"},",
                         QN_STR_ARG(message->id), index,
                         (unsigned long long)qn_random_below(&random, 0x10000));
    append_script(&body, &message->script);
    qn_buf_append_char(&body, '}');
    struct qn_str copy = qn_arena_copy(&load->arena, qn_buf_str(&body));
    qn_buf_done(&body);
    return copy;
}

static void make_script(struct qn_load *load, const struct qn_scenario_load *spec,
                        struct qn_effect_script *script)
{
    bool is_flaky = qn_str_equal(spec->outcome, QN_STR("flaky"));
    size_t fails = is_flaky ? (size_t)(spec->fails > 0 ? spec->fails : 1) : 0;
    struct qn_str *outcomes = qn_arena_alloc(&load->arena, (fails + 1) * sizeof(*outcomes));

    for (size_t i = 0; i < fails; i++) {
        outcomes[i] = QN_STR("transient");
    }
    outcomes[fails] =
        qn_str_equal(spec->outcome, QN_STR("perm")) ? QN_STR("permanent") : QN_STR("ok");
    *script = (struct qn_effect_script){spec->work_ms, outcomes, fails + 1};
}

/* Rounds over the groups A, B, ... of the load; without groups each message has its own. */
static struct qn_str make_group(struct qn_load *load, const struct qn_scenario_load *spec,
                                size_t index)
{
    if (spec->groups > 0) {
        return qn_arena_format(&load->arena, "%c", 'A' + (int)(index % (size_t)spec->groups));
    }
    return qn_arena_format(&load->arena, "g-%03zu", index);
}

void qn_load_init(struct qn_load *load, const struct qn_scenario *scenario,
                  const struct qn_load_options *options)
{
    size_t room = (size_t)qn_scenario_message_count(scenario);

    *load = (struct qn_load){0};
    qn_arena_init(&load->arena, SIZE_MAX / 2);
    qn_table_init(&load->by_name, sizeof(struct qn_load_message *));
    load->messages = qn_arena_alloc(&load->arena, room * sizeof(*load->messages));
    for (size_t i = 0; i < scenario->load_count; i++) {
        const struct qn_scenario_load *spec = &scenario->loads[i];
        for (int64_t n = 0; n < spec->count; n++) {
            size_t index = load->count++;
            struct qn_load_message *message = &load->messages[index];
            message->id = qn_arena_format(&load->arena, "m-%03zu", index);
            message->k = qn_arena_format(&load->arena, "k-%03zu", index);
            message->group = options->is_fifo ? make_group(load, spec, index) : QN_STR_NONE;
            make_script(load, spec, &message->script);
            message->body = make_body(load, message, options, index);
            *(struct qn_load_message **)qn_table_at(&load->by_name, message->id) = message;
            *(struct qn_load_message **)qn_table_at(&load->by_name, message->k) = message;
        }
    }
}

void qn_load_done(struct qn_load *load)
{
    qn_table_done(&load->by_name);
    qn_arena_done(&load->arena);
    *load = (struct qn_load){0};
}

const struct qn_load_message *qn_load_find(const struct qn_load *load, struct qn_str name)
{
    struct qn_load_message **found = qn_table_find(&load->by_name, name);

    return found != NULL ? *found : NULL;
}

static void record_send(struct qn_recorder *recorder, const struct qn_load_message *message,
                        struct qn_str queue_name, const char *message_id)
{
    struct qn_check_event event;

    qn_check_event_init(&event, QN_CHECK_LOAD);
    event.queue = queue_name;
    event.k = message->k;
    event.grp = message->group;
    event.mid = qn_str_from_cstr(message_id);
    event.code = message_id != NULL ? QN_STR("OK") : QN_STR("failed");
    qn_record(recorder, &event);
}

bool qn_load_send(const struct qn_load *load, struct quern_client *client, const char *queue_url,
                  struct qn_str queue_name, struct qn_recorder *recorder, struct qn_error *err)
{
    for (size_t from = 0; from < load->count; from += BATCH) {
        size_t count = load->count - from < BATCH ? load->count - from : BATCH;
        struct quern_message batch[BATCH] = {{0}};
        char *ids[BATCH] = {NULL};
        struct quern_error cause;
        for (size_t i = 0; i < count; i++) {
            const struct qn_load_message *message = &load->messages[from + i];
            batch[i] = (struct quern_message){
                .body = message->body.ptr,
                .body_len = message->body.len,
                .group_id = message->group.ptr, /* texts of an arena end in NUL */
                .deduplication_id = message->group.ptr != NULL ? message->id.ptr : NULL,
                .delay_s = -1,
            };
        }
        bool ok = quern_send_message_batch(client, queue_url, batch, count, ids, &cause);
        for (size_t i = 0; i < count; i++) {
            record_send(recorder, &load->messages[from + i], queue_name, ids[i]);
            quern_text_free(ids[i]);
        }
        if (!ok) {
            return qn_fail(err, QN_ERR_INTERNAL, "sending the load: %s: %s", cause.code,
                           cause.message);
        }
    }
    return true;
}
