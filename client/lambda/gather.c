/* Batches: what a poller receives, and in which order it is the function's. */
#include "client/lambda/event.h"
#include "client/lambda/poller.h"
#include "client/receive.h"
#include "server/base/clock.h"

#include <stdio.h>

enum {
    RECEIVE_MAX = 10,
    WAIT_MAX_S = 20,
    SHORT_WAIT_S = 1,
    PAUSE_FIRST_MS = 1000,
    PAUSE_LAST_MS = 30000
};

struct batch {
    struct qn_lambda_poller *poller;
    json_t *records;
    json_t *unwanted; /* what the filters stop */
    int64_t until_ms; /* end of the window; 0: it has not begun */
    bool is_full;
};

static const struct qn_lambda_mapping *mapping_of(const struct qn_lambda_poller *poller)
{
    return &poller->lambda->options->mapping;
}

static void tell_too_deep(const struct qn_lambda *lambda, const json_t *id)
{
    qn_lambda_tell_take(lambda, "too-deep", json_pack("{s: O}", "id", id),
                        "message %s is nested deeper than %d levels: whether a filter fits cannot "
                        "be said, so the function gets it",
                        json_string_value(id), JSON_PARSER_MAX_DEPTH);
}

/* Takes the record. */
static void add_take(struct batch *batch, json_t *record)
{
    struct qn_lambda_poller *poller = batch->poller;
    const struct qn_lambda_mapping *mapping = mapping_of(poller);

    bool is_too_deep = false;

    if (!qn_lambda_filters_match(&mapping->filters, record, &is_too_deep)) {
        (void)json_array_append_new(batch->unwanted, record);
        return;
    }
    if (is_too_deep) {
        tell_too_deep(poller->lambda, json_object_get(record, "messageId"));
    }
    if (batch->is_full || !qn_lambda_event_add(&poller->event, record)) {
        batch->is_full = true;
        (void)json_array_append_new(poller->waiting, record);
        return;
    }
    (void)json_array_append_new(batch->records, record);
    if (batch->until_ms == 0) {
        batch->until_ms = qn_clock_monotonic_ms() + mapping->window_s * 1000;
    }
    batch->is_full = json_array_size(batch->records) >= (size_t)mapping->batch_size;
}

static int64_t wait_of(const struct batch *batch)
{
    int64_t left_ms = batch->until_ms - qn_clock_monotonic_ms();

    if (batch->until_ms == 0) {
        return batch->poller->lambda->options->until_empty ? SHORT_WAIT_S : WAIT_MAX_S;
    }
    return left_ms >= WAIT_MAX_S * 1000 ? WAIT_MAX_S : (left_ms + 999) / 1000;
}

static void pause_after_failure(struct qn_lambda_poller *poller)
{
    int64_t pause_ms = PAUSE_FIRST_MS;

    for (int i = 1; i < poller->failed_receives && pause_ms < PAUSE_LAST_MS; i++) {
        pause_ms = pause_ms * 2 < PAUSE_LAST_MS ? pause_ms * 2 : PAUSE_LAST_MS;
    }
    qn_lambda_pause(poller->lambda, pause_ms);
}

/* True when that is another trouble than the one of which was told last; "" is none. */
static bool is_news(struct qn_lambda *lambda, const char *code)
{
    (void)pthread_mutex_lock(&lambda->lock);
    bool is = strcmp(lambda->trouble, code) != 0;
    (void)snprintf(lambda->trouble, sizeof(lambda->trouble), "%s", code);
    (void)pthread_mutex_unlock(&lambda->lock);
    return is;
}

/* Told once by whoever of the pollers meets it first. */
static void fail_receive(struct qn_lambda_poller *poller, const struct quern_error *err)
{
    struct qn_lambda *lambda = poller->lambda;

    if (qn_lambda_is_stopping(lambda)) {
        return;
    }
    poller->failed_receives++;
    bool is_gone = strcmp(err->code, "QueueDoesNotExist") == 0;
    bool is_over = is_gone && lambda->options->until_empty;
    if (is_news(lambda, err->code)) {
        json_t *fields = json_pack("{s: s}", "code", err->code);
        if (is_over) {
            qn_lambda_tell_take(lambda, "queue-gone", fields,
                                "the queue %s is gone: whether it was empty cannot be said",
                                lambda->queue_url);
        } else if (is_gone) {
            qn_lambda_tell_take(lambda, "queue-gone", fields,
                                "the queue %s is gone: it is asked for until it is there again",
                                lambda->queue_url);
        } else {
            qn_lambda_tell_take(lambda, "receive-failed", fields,
                                "cannot receive, which is tried again: %s: %s", err->code,
                                err->message);
        }
    }
    if (is_over) {
        qn_lambda_lose_queue(lambda);
    } else {
        pause_after_failure(poller);
    }
}

static void end_trouble(struct qn_lambda_poller *poller)
{
    poller->failed_receives = 0;
    if (is_news(poller->lambda, "")) {
        qn_lambda_tell_take(poller->lambda, "receive-works", json_object(),
                            "messages can be received again");
    }
}

/* A message that is not what its MD5 says is for no function; it comes again when its lease ends,
 * and what came with it and is behind it in its group does then as well. */
static void take(struct batch *batch, const json_t *output)
{
    struct qn_lambda *lambda = batch->poller->lambda;
    const json_t *messages = json_object_get(output, "Messages");
    enum quern_arrival_state *states =
        qn_memory_new_array(json_array_size(messages) + 1, sizeof(*states));
    struct quern_error err;
    size_t i;
    json_t *message;

    batch->poller->waiting_until_ms = qn_clock_monotonic_ms() + lambda->queue.visibility_s * 1000;
    if (!quern_receive_sift(output, lambda->queue.is_fifo, states, &err)) {
        qn_lambda_tell_take(lambda, "receive-failed", json_pack("{s: s}", "code", err.code),
                            "cannot receive: %s: %s", err.code, err.message);
        messages = NULL;
    }
    json_array_foreach(messages, i, message)
    {
        if (states[i] == QUERN_ARRIVAL_WHOLE) {
            add_take(batch, qn_lambda_record_new(message, lambda->queue.arn, lambda->queue.region));
        } else if (states[i] == QUERN_ARRIVAL_DAMAGED) {
            const json_t *id = json_object_get(message, "MessageId");
            qn_lambda_tell_take(lambda, "damaged", json_pack("{s: O}", "id", id),
                                "message %s arrived damaged (another MD5 than it was told to "
                                "have): left for its visibility timeout",
                                json_string_value(id));
        }
    }
    qn_memory_free(states);
}

static bool receive(struct batch *batch)
{
    struct qn_lambda_poller *poller = batch->poller;
    struct qn_lambda *lambda = poller->lambda;
    size_t room = (size_t)mapping_of(poller)->batch_size - json_array_size(batch->records);
    struct quern_error err;
    json_t *output;
    json_t *input =
        json_pack("{s: s, s: I, s: I, s: [s], s: [s], s: [s]}", "QueueUrl", lambda->queue_url,
                  "MaxNumberOfMessages", (json_int_t)(room < RECEIVE_MAX ? room : RECEIVE_MAX),
                  "WaitTimeSeconds", (json_int_t)wait_of(batch), "AttributeNames", "All",
                  "MessageSystemAttributeNames", "All", "MessageAttributeNames", "All");
    bool ok = quern_client_call(poller->receiver, "ReceiveMessage", input, &output, &err);

    json_decref(input);
    if (!ok) {
        fail_receive(poller, &err);
        return false;
    }
    end_trouble(poller);
    take(batch, output);
    json_decref(output);
    return true;
}

/* Work that begins without a lease may be another poller's, too. */
static void drop_lapsed(struct qn_lambda_poller *poller)
{
    size_t count = json_array_size(poller->waiting);

    if (count > 0 && qn_clock_monotonic_ms() >= poller->waiting_until_ms) {
        qn_lambda_tell_take(poller->lambda, "lapsed",
                            json_pack("{s: o}", "ids", qn_lambda_ids_of(poller->waiting)),
                            "%zu message%s left: the visibility timeout was over before the "
                            "invocations that went before",
                            count, count == 1 ? "" : "s");
        (void)json_array_clear(poller->waiting);
    }
}

static void take_waiting(struct batch *batch)
{
    struct qn_lambda_poller *poller = batch->poller;
    json_t *waiting = poller->waiting;
    size_t i;
    json_t *record;

    drop_lapsed(poller);
    poller->waiting = json_array();
    json_array_foreach(waiting, i, record)
    {
        add_take(batch, json_incref(record));
    }
    json_decref(waiting);
}

static void drop_unwanted(struct batch *batch)
{
    size_t count = json_array_size(batch->unwanted);

    if (count > 0) {
        qn_lambda_delete(batch->poller, batch->unwanted);
        qn_lambda_tell_take(batch->poller->lambda, "filtered",
                            json_pack("{s: I}", "records", (json_int_t)count),
                            "%zu message%s deleted: no filter fits", count, count == 1 ? "" : "s");
        (void)qn_lambda_report_take(batch->poller->reporter, "filtered",
                                    json_pack("{s: o}", "ids", qn_lambda_ids_of(batch->unwanted)));
    }
    (void)json_array_clear(batch->unwanted);
}

json_t *qn_lambda_gather(struct qn_lambda_poller *poller)
{
    struct batch batch = {.poller = poller, .records = json_array(), .unwanted = json_array()};

    qn_lambda_event_begin(&poller->event);
    take_waiting(&batch);
    while (!batch.is_full && !qn_lambda_is_stopping(poller->lambda)) {
        if (batch.until_ms != 0 && qn_clock_monotonic_ms() >= batch.until_ms) {
            break;
        }
        if (!receive(&batch) ||
            (json_array_size(batch.records) == 0 && json_array_size(batch.unwanted) == 0)) {
            break;
        }
        drop_unwanted(&batch);
    }
    drop_unwanted(&batch);
    json_decref(batch.unwanted);
    qn_lambda_event_end(&poller->event);
    return batch.records;
}

/* ---- order ---- */

static const char *group_of(const json_t *record)
{
    return json_string_value(
        json_object_get(json_object_get(record, "attributes"), "MessageGroupId"));
}

static bool has_group(const json_t *records, const char *group)
{
    size_t i;
    json_t *record;

    json_array_foreach(records, i, record)
    {
        const char *other = group_of(record);
        if (group != NULL && other != NULL && strcmp(group, other) == 0) {
            return true;
        }
    }
    return false;
}

void qn_lambda_release_behind(struct qn_lambda_poller *poller, const json_t *left)
{
    json_t *behind = json_array();
    json_t *others = json_array();
    size_t i;
    json_t *record;

    json_array_foreach(poller->waiting, i, record)
    {
        bool is_behind = poller->lambda->queue.is_fifo && has_group(left, group_of(record));
        (void)json_array_append(is_behind ? behind : others, record);
    }
    size_t count = json_array_size(behind);
    if (count > 0) {
        qn_lambda_release(poller, behind);
        qn_lambda_tell_take(poller->lambda, "released",
                            json_pack("{s: I}", "records", (json_int_t)count),
                            "%zu message%s released: a message before %s in its group comes again",
                            count, count == 1 ? "" : "s", count == 1 ? "it" : "them");
    }
    json_decref(behind);
    json_decref(poller->waiting);
    poller->waiting = others;
}
