/* Messages and their way into the queue. */
#include "chaos/check/load.h"

#include <stdlib.h>

#include "chaos/check/bodies.h"
#include "chaos/check/body.h"
#include "chaos/check/object.h"
#include "server/model/limits.h"

enum { BATCH = 10 };

static struct qn_str outcome_at_last(enum qn_load_outcome outcome)
{
    return outcome == QN_LOAD_PERM ? QN_STR("permanent") : QN_STR("ok");
}

/* What the sink does at each attempt. */
static void make_script(struct qn_load *load, const struct qn_scenario_load *spec, int64_t work_ms,
                        struct qn_effect_script *script)
{
    bool is_bomb = spec->outcome == QN_LOAD_BOMB;
    bool fails = spec->outcome == QN_LOAD_FLAKY || spec->outcome == QN_LOAD_HANG || is_bomb;
    bool never_ends = fails && (is_bomb || spec->fails == QN_LOAD_FAILS_ALWAYS);
    struct qn_str failure = spec->outcome == QN_LOAD_FLAKY ? QN_STR("transient") : QN_STR("hang");
    size_t failures = !fails ? 0 : never_ends ? 1 : (size_t)spec->fails;
    struct qn_str *outcomes = qn_arena_alloc(&load->arena, (failures + 1) * sizeof(*outcomes));

    for (size_t i = 0; i < failures; i++) {
        outcomes[i] = failure;
    }
    outcomes[failures] = outcome_at_last(spec->outcome);
    *script = (struct qn_effect_script){work_ms, outcomes, failures + (never_ends ? 0 : 1)};
}

/* Rounds over the groups A, B, ... of the load; without groups each message has its own. */
static struct qn_str make_group(struct qn_load *load, const struct qn_scenario_load *spec,
                                size_t index)
{
    if (!qn_str_is_none(spec->group)) {
        return spec->group;
    }
    if (spec->groups > 0) {
        return qn_arena_format(&load->arena, "%c", 'A' + (int)(index % (size_t)spec->groups));
    }
    return qn_arena_format(&load->arena, "g-%03zu", index);
}

/* One line of the load while its messages are made. */
struct maker {
    struct qn_load *load;
    const struct qn_scenario_load *spec;
    const struct qn_load_options *options;
    int64_t work_ms;
    int64_t at_ms;
    size_t first; /* number of its first message */
    size_t count; /* of its messages, without copies */
};

static void make_message(struct maker *maker, size_t index, int64_t copy)
{
    struct qn_load *load = maker->load;
    const struct qn_scenario_load *spec = maker->spec;
    struct qn_load_message *message = &load->messages[load->count];
    size_t nth = index - maker->first;
    size_t entities = maker->count / (size_t)spec->versions;
    size_t entity = nth % entities;
    bool is_entity = spec->versions > 1;
    size_t chunks = (size_t)spec->chunks;

    *message = (struct qn_load_message){
        .id = qn_arena_format(&load->arena, "m-%03zu", index),
        .k = qn_arena_format(&load->arena, "k-%03zu", index),
        .group = maker->options->is_fifo ? make_group(load, spec, index) : QN_STR_NONE,
        .outcome = spec->outcome,
        .at_ms = maker->at_ms,
        .waits = !qn_str_is_none(spec->back)     ? QN_LOAD_WAITS_FOR_RETURN
                 : !qn_str_is_none(spec->window) ? QN_LOAD_WAITS_FOR_WINDOW
                                                 : QN_LOAD_WAITS_NOT,
        .copy = copy,
        .number = index,
        .version = is_entity ? (int64_t)(nth / entities) + 1 : 1,
        .entity = qn_arena_format(&load->arena, "e-%zu",
                                  maker->first + (is_entity ? entity : nth / chunks * chunks)),
        .chunk = chunks > 1 ? (int64_t)(nth % chunks) + 1 : 0,
        .chunks = spec->chunks,
        .tenant = qn_str_is_none(spec->group) ? QN_STR("A") : spec->group,
        .has_own_tenant = !qn_str_is_none(spec->group),
    };
    if (spec->rate > 0 && message->at_ms >= 0) {
        message->at_ms += (int64_t)nth * 1000 / spec->rate;
    }
    make_script(load, spec, maker->work_ms, &message->script);
    message->nth = nth;
    message->position = load->count;
    if (!qn_str_is_none(load->tag)) {
        message->id = qn_arena_format(&load->arena, "%.*s-%03zu", QN_STR_ARG(load->tag), index);
        message->body = qn_bodies_make(maker->options->check, message, &load->arena);
    } else {
        message->object = spec->object;
        qn_object_make(message, maker->options, spec->size_bytes, &load->arena);
        qn_body_make(message, maker->options, spec->object == QN_OBJECT_NONE ? spec->size_bytes : 0,
                     &load->arena);
    }
    load->count++;
}

static void make_line(struct maker *maker)
{
    const struct qn_scenario_load *spec = maker->spec;

    for (int64_t copy = 1; copy <= spec->copies; copy++) {
        for (size_t i = 0; i < maker->count; i++) {
            make_message(maker, maker->first + i, copy);
        }
    }
    maker->first += maker->count;
}

static int by_time(const void *a, const void *b)
{
    const struct qn_load_message *x = a;
    const struct qn_load_message *y = b;

    if (x->waits != y->waits) {
        return x->waits < y->waits ? -1 : 1;
    }
    if (x->at_ms != y->at_ms) {
        return x->at_ms < y->at_ms ? -1 : 1;
    }
    /* As they were made. */
    return x->position < y->position ? -1 : x->position > y->position;
}

static void name_one(struct qn_load *load, struct qn_load_message *message)
{
    const struct qn_str names[] = {message->id, message->k, message->object_name,
                                   message->other_name};

    for (size_t i = 0; message->copy == 1 && i < sizeof(names) / sizeof(names[0]); i++) {
        if (!qn_str_is_none(names[i])) {
            *(struct qn_load_message **)qn_table_at(&load->by_name, names[i]) = message;
        }
    }
}

static void name_messages(struct qn_load *load, const struct qn_scenario *scenario,
                          const struct qn_terms *terms)
{
    size_t first = 0;

    for (size_t i = 0; i < load->count; i++) {
        name_one(load, &load->messages[i]);
    }
    for (size_t i = 0; i < scenario->load_count; i++) {
        const struct qn_scenario_load *spec = &scenario->loads[i];
        if (!qn_str_is_none(spec->key)) {
            struct qn_str k = qn_arena_format(&load->arena, "k-%03zu", first);
            struct qn_load_message **found = qn_table_find(&load->by_name, k);
            *(struct qn_load_message **)qn_table_at(&load->by_name, spec->key) = *found;
            (*found)->other_name = spec->key;
        }
        first += (size_t)qn_terms_load_count(terms, spec);
    }
}

static int64_t begin_of(const struct qn_scenario_load *spec, const struct qn_terms *terms)
{
    struct qn_str at = !qn_str_is_none(spec->back)     ? spec->back
                       : !qn_str_is_none(spec->window) ? spec->window
                                                       : spec->at;

    if (!qn_str_is_none(at)) {
        return qn_terms_ms(terms, at);
    }
    return spec->rate > 0 ? 0 : -1;
}

void qn_load_init(struct qn_load *load, const struct qn_scenario *scenario,
                  const struct qn_load_options *options)
{
    struct maker maker = {.load = load, .options = options};
    size_t room = 1;

    for (size_t i = 0; i < scenario->load_count; i++) {
        const struct qn_scenario_load *spec = &scenario->loads[i];
        room += (size_t)(qn_terms_load_count(options->terms, spec) * spec->copies);
    }
    *load = (struct qn_load){0};
    qn_arena_init(&load->arena, SIZE_MAX / 2);
    qn_table_init(&load->by_name, sizeof(struct qn_load_message *));
    if (options->check != NULL && options->check->bodies.count > 0) {
        load->tag = qn_bodies_tag(options->run_id, scenario->id, options->now_ms, &load->arena);
    }
    load->messages = qn_arena_alloc(&load->arena, room * sizeof(*load->messages));
    for (size_t i = 0; i < scenario->load_count; i++) {
        maker.spec = &scenario->loads[i];
        maker.work_ms = qn_terms_work_ms(options->terms, maker.spec);
        maker.count = (size_t)qn_terms_load_count(options->terms, maker.spec);
        maker.at_ms = begin_of(maker.spec, options->terms);
        make_line(&maker);
    }
    qsort(load->messages, load->count, sizeof(*load->messages), by_time);
    name_messages(load, scenario, options->terms);
}

void qn_load_done(struct qn_load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        json_decref(load->messages[i].attributes);
        json_decref(load->messages[i].system_attributes);
    }
    qn_table_done(&load->by_name);
    qn_arena_done(&load->arena);
    *load = (struct qn_load){0};
}

const struct qn_load_message *qn_load_find(const struct qn_load *load, struct qn_str name)
{
    struct qn_load_message **found = qn_table_find(&load->by_name, name);

    return found != NULL ? *found : NULL;
}

bool qn_load_is_dead(const struct qn_load_message *message, int64_t max_receive)
{
    if (message->object == QN_OBJECT_MISSING || message->object == QN_OBJECT_CHANGED) {
        return true;
    }
    switch (message->outcome) {
    case QN_LOAD_PERM:
    case QN_LOAD_BADJSON:
    case QN_LOAD_SCHEMA99:
    case QN_LOAD_BOMB:
        return true;
    case QN_LOAD_FLAKY:
    case QN_LOAD_HANG:
        return message->script.outcome_count == 1 ||
               (int64_t)message->script.outcome_count > max_receive;
    case QN_LOAD_OK:
    case QN_LOAD_ODD:
    case QN_LOAD_OUTCOMES:
        break;
    }
    return false;
}

static int64_t digest_of(const struct qn_load_message *message)
{
    json_t *body = json_loadb(message->body.ptr, message->body.len, JSON_ALLOW_NUL, NULL);
    int64_t digest = qn_body_digest(body);

    json_decref(body);
    return digest;
}

static void record_send(struct qn_load *load, const struct qn_load_target *target,
                        struct qn_load_message *message, const char *message_id)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_LOAD);
    event.queue = target->queue_name;
    event.k = message->k;
    event.grp = message->group;
    event.mid = qn_str_from_cstr(message_id);
    event.code = message_id != NULL ? QN_STR("OK") : QN_STR("failed");
    event.what = qn_str_from_cstr(qn_load_outcome_name(message->outcome));
    detail.target = message->other_name;
    detail.tenant = message->has_own_tenant ? message->tenant : QN_STR_NONE;
    event.work_ms = message->script.work_ms;
    event.digest = digest_of(message);
    qn_record(target->recorder, &event);
    if (message_id != NULL) {
        *(struct qn_load_message **)qn_table_at(&load->by_name, event.mid) = message;
        message->mid = qn_arena_copy(&load->arena, event.mid);
    }
}

static struct qn_str deduplication_id(struct qn_load *load, const struct qn_load_message *message)
{
    if (qn_str_is_none(message->group)) {
        return QN_STR_NONE;
    }
    return message->copy == 1 ? message->id
                              : qn_arena_format(&load->arena, "%.*s-%lld", QN_STR_ARG(message->id),
                                                (long long)message->copy);
}

/* What the service is told of a message; attributes go as the scenario has them. */
static json_t *fields_of(struct qn_load *load, const struct qn_load_message *message)
{
    json_t *fields = json_pack("{s:s%}", "MessageBody", message->body.ptr, message->body.len);

    if (message->attributes != NULL) {
        json_object_set(fields, "MessageAttributes", message->attributes);
    }
    if (message->system_attributes != NULL) {
        json_object_set(fields, "MessageSystemAttributes", message->system_attributes);
    }
    if (!qn_str_is_none(message->group)) { /* texts of an arena end in NUL */
        json_object_set_new(fields, "MessageGroupId", json_string(message->group.ptr));
        json_object_set_new(fields, "MessageDeduplicationId",
                            json_string(deduplication_id(load, message).ptr));
    }
    return fields;
}

static bool fail_send(const struct quern_error *cause, struct qn_error *err)
{
    return qn_fail(err, QN_ERR_INTERNAL, "sending the load: %s: %s", cause->code, cause->message);
}

static bool send_one(struct qn_load *load, const struct qn_load_target *target,
                     struct qn_load_message *message, struct qn_error *err)
{
    json_t *input = fields_of(load, message);
    struct quern_error cause;
    json_t *output = NULL;

    json_object_set_new(input, "QueueUrl", json_string(target->queue_url));
    bool ok = quern_client_call(target->client, "SendMessage", input, &output, &cause);
    if (ok) {
        record_send(load, target, message, json_string_value(json_object_get(output, "MessageId")));
    }
    json_decref(input);
    json_decref(output);
    return ok || fail_send(&cause, err);
}

/* The message id of the entry with that number, or NULL. */
static const char *id_in(const json_t *answer, const char *number)
{
    size_t i;
    const json_t *sent;

    json_array_foreach(json_object_get(answer, "Successful"), i, sent)
    {
        const char *id = json_string_value(json_object_get(sent, "Id"));
        if (id != NULL && strcmp(id, number) == 0) {
            return json_string_value(json_object_get(sent, "MessageId"));
        }
    }
    return NULL;
}

static bool send_batch(struct qn_load *load, const struct qn_load_target *target,
                       struct qn_load_message *messages, size_t count, struct qn_error *err)
{
    json_t *entries = json_array();
    json_t *answer = NULL;
    struct quern_error cause;
    char number[24];

    for (size_t i = 0; i < count; i++) {
        json_t *entry = fields_of(load, &messages[i]);
        (void)snprintf(number, sizeof(number), "%zu", i);
        json_object_set_new(entry, "Id", json_string(number));
        json_array_append_new(entries, entry);
    }
    json_t *input = json_pack("{s:s, s:o}", "QueueUrl", target->queue_url, "Entries", entries);
    bool ok = quern_client_call(target->client, "SendMessageBatch", input, &answer, &cause) ||
              fail_send(&cause, err);
    for (size_t i = 0; ok && i < count; i++) {
        (void)snprintf(number, sizeof(number), "%zu", i);
        record_send(load, target, &messages[i], id_in(answer, number));
    }
    const json_t *failed = json_array_get(json_object_get(answer, "Failed"), 0);
    if (ok && failed != NULL) {
        ok = qn_fail(err, QN_ERR_INTERNAL, "sending the load: entry %s: %s: %s",
                     json_string_value(json_object_get(failed, "Id")),
                     json_string_value(json_object_get(failed, "Code")),
                     json_string_value(json_object_get(failed, "Message")));
    }
    json_decref(answer);
    json_decref(input);
    return ok;
}

static int64_t due_at_ms(const struct qn_load_message *message)
{
    return message->waits != QN_LOAD_WAITS_NOT ? INT64_MAX : message->at_ms;
}

/* How many of those that are due fit into one call. */
static size_t batch_size(const struct qn_load *load, int64_t due_ms)
{
    size_t bytes = 0;
    size_t count = 0;

    while (count < BATCH && load->sent_count + count < load->count) {
        const struct qn_load_message *message = &load->messages[load->sent_count + count];
        bytes += message->body.len;
        if (due_at_ms(message) > due_ms || message->system_attributes != NULL ||
            (count > 0 && bytes > QN_BATCH_SIZE_MAX / 2)) {
            break;
        }
        count++;
    }
    return count;
}

bool qn_load_send(struct qn_load *load, const struct qn_load_target *target, int64_t since_ready_ms,
                  struct qn_error *err)
{
    int64_t due_ms = since_ready_ms < 0 ? -1 : since_ready_ms;

    while (load->sent_count < load->count) {
        struct qn_load_message *next = &load->messages[load->sent_count];
        size_t count = batch_size(load, due_ms);
        if (due_at_ms(next) > due_ms) {
            break;
        }
        if (!(count == 0 ? send_one(load, target, next, err)
                         : send_batch(load, target, next, count, err))) {
            load->doubtful_count = count > 0 ? count : 1;
            return false;
        }
        load->sent_count += count > 0 ? count : 1;
    }
    return true;
}

/* The newest start of the server; NULL: it was never started again. */
static const struct qn_check_event *last_boot(const struct qn_history *history)
{
    for (size_t i = history->count; i > 0; i--) {
        if (history->events[i - 1].kind == QN_CHECK_BOOT) {
            return &history->events[i - 1];
        }
    }
    return NULL;
}

/* Whether the event is a message of ours that no load knows of, and that the crash left there. */
static bool is_unknown_send(const struct qn_load *load, const struct qn_load_target *target,
                            const struct qn_check_event *event, uint64_t boot_seq, int64_t boot_lsn)
{
    return event->kind == QN_CHECK_MSG_SEND &&
           (event->seq > boot_seq || (int64_t)event->lsn <= boot_lsn) &&
           qn_str_equal(event->queue, target->queue_name) &&
           qn_str_equal(event->instance, target->self) &&
           qn_table_find(&load->by_name, event->mid) == NULL;
}

/* Entries of a batch are stored in their order, one by one: what is there is the first part. */
void qn_load_settle(struct qn_load *load, const struct qn_load_target *target,
                    const struct qn_history *history)
{
    const struct qn_check_event *boot = last_boot(history);
    uint64_t boot_seq = boot != NULL ? boot->seq : 0;
    int64_t boot_lsn = boot != NULL ? (int64_t)boot->lsn : 0;
    size_t count = history->count; /* what is recorded here comes behind */

    for (size_t i = 0; i < count && load->doubtful_count > 0; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (is_unknown_send(load, target, event, boot_seq, boot_lsn)) {
            struct qn_str id = qn_arena_copy(&load->arena, event->mid);
            record_send(load, target, &load->messages[load->sent_count], id.ptr);
            load->sent_count++;
            load->doubtful_count--;
        }
    }
    load->doubtful_count = 0;
}

int64_t qn_load_next_ms(const struct qn_load *load)
{
    return load->sent_count < load->count ? due_at_ms(&load->messages[load->sent_count])
                                          : INT64_MAX;
}

int64_t qn_load_last_ms(const struct qn_load *load)
{
    int64_t last_ms = -1;

    for (size_t i = 0; i < load->count; i++) {
        int64_t at_ms = load->messages[i].waits == QN_LOAD_WAITS_NOT ? load->messages[i].at_ms : -1;
        last_ms = at_ms > last_ms ? at_ms : last_ms;
    }
    return last_ms;
}

void qn_load_plan(struct qn_load *load, enum qn_load_wait what, int64_t from_ms)
{
    size_t begin = load->sent_count + load->doubtful_count;

    for (size_t i = begin; i < load->count; i++) {
        struct qn_load_message *message = &load->messages[i];
        if (message->waits == what) {
            message->at_ms += from_ms;
            message->waits = QN_LOAD_WAITS_NOT;
        }
    }
    qsort(load->messages + begin, load->count - begin, sizeof(*load->messages), by_time);
    for (size_t i = begin; i < load->count; i++) {
        name_one(load, &load->messages[i]);
    }
}
