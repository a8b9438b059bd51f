/* Engine and reference: their life, sends, receives and polls. */
#include "tests/support/model_both.h"

#include <stdarg.h>
#include <string.h>

void both_differ(struct both *both, const char *format, ...)
{
    va_list args;

    if (both->problem[0] != '\0') {
        return; /* what follows from the first says nothing */
    }
    int len = both->step == NULL
                  ? 0
                  : snprintf(both->problem, sizeof(both->problem), "step %d: ", both->step->number);
    va_start(args, format);
    (void)vsnprintf(both->problem + len, sizeof(both->problem) - (size_t)len, format, args);
    va_end(args);
}

void both_expect_code(struct both *both, enum qn_error_code code, enum qn_error_code expected)
{
    if (code != expected) {
        both_differ(both, "answered %s, expected %s (%s)",
                    code == QN_ERR_NONE ? "success" : qn_error_info(code)->query_code,
                    expected == QN_ERR_NONE ? "success" : qn_error_info(expected)->query_code,
                    code == QN_ERR_NONE ? "" : both->f.err.message);
    }
}

void both_expect_number(struct both *both, const char *what, int64_t is, int64_t expected)
{
    if (is != expected) {
        both_differ(both, "%s: %lld, expected %lld", what, (long long)is, (long long)expected);
    }
}

static void expect_text(struct both *both, const char *what, const char *is, const char *expected)
{
    if (is == NULL || strcmp(is, expected) != 0) {
        both_differ(both, "%s: '%s', expected '%s'", what, is == NULL ? "nothing" : is, expected);
    }
}

/* ---- life ---- */

struct both *both_new(const struct model_options *options)
{
    struct both *both = qn_memory_new(sizeof(*both));
    unsigned seed = options->seed;

    memset(both, 0, sizeof(*both));
    both->result_count = options->steps;
    both->results = qn_memory_resize(NULL, (size_t)options->steps, sizeof(struct result));
    memset(both->results, 0, (size_t)options->steps * sizeof(struct result));
    fixture_open(&both->f);
    both->f.options.limits.in_flight = seed % 3 == 0 ? 6 : QN_IN_FLIGHT_MAX;
    both->f.looks = seed % 2 == 0;
    both->f.evicts = seed % 4 == 1;
    both->f.slice = seed % 5 == 2 ? 3 : 1000;
    both->f.events.wanted = seed % 7 == 3;
    fixture_restart(&both->f);
    reference_init(&both->r, both->f.now_ms, both->f.options.limits.in_flight);
    both->r.fault = options->fault;
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        both_create_queue(both, queue);
    }
    return both;
}

void both_free(struct both *both)
{
    fixture_close(&both->f);
    qn_memory_free(both->results);
    qn_memory_free(both);
}

void both_create_queue(struct both *both, int queue)
{
    struct reference_queue *q = &both->r.queues[queue];
    const char *attributes = "";

    if (q->exists) {
        return;
    }
    reference_create_queue(&both->r, queue, model_queue_is_fifo(queue));
    if (queue == MODEL_DELAYING) {
        attributes = "'DelaySeconds':'5'";
        q->delay_s = 5;
    } else if (queue == MODEL_BY_CONTENT) {
        attributes = "'ContentBasedDeduplication':'true'";
        q->is_content_based = true;
    } else if (queue == MODEL_BY_GROUP) {
        attributes = "'DeduplicationScope':'messageGroup',"
                     "'FifoThroughputLimit':'perMessageGroupId'";
        q->has_group_scope = true;
    }
    fixture_create(&both->f, model_queue_name(queue), attributes);
}

/* ---- sends ---- */

static const char *body_of(struct both *both, const struct model_step *step, int entry)
{
    return step->entries[entry].content >= 0
               ? fixture_format(&both->f, "c%d", step->entries[entry].content)
               : fixture_format(&both->f, "m%d.%d", step->number, entry);
}

static void append_message(struct both *both, struct qn_buf *out, const struct model_step *step,
                           int number)
{
    const struct model_entry *entry = &step->entries[number];

    qn_buf_append_format(out, "'MessageBody':'%s'", body_of(both, step, number));
    if (entry->group >= 0) {
        qn_buf_append_format(out, ",'MessageGroupId':'g%d'", entry->group);
    }
    if (entry->deduplication >= 0) {
        qn_buf_append_format(out, ",'MessageDeduplicationId':'d%d'", entry->deduplication);
    }
    if (entry->delay_s >= 0) {
        qn_buf_append_format(out, ",'DelaySeconds':%d", entry->delay_s);
    }
}

/* What one message of a send became; the new one's id is from the answer. */
static void compare_sent(struct both *both, const struct model_step *step, int number,
                         const char *message_id)
{
    const struct model_entry *entry = &step->entries[number];
    struct reference_send send = {.queue = step->queue,
                                  .delay_s = entry->delay_s,
                                  .group = entry->group,
                                  .deduplication = entry->deduplication,
                                  .content = entry->content};
    struct reference_sent sent = reference_send(&both->r, &send, body_of(both, step, number));

    if (message_id == NULL) {
        both_differ(both, "entry %d was not sent", number);
    } else if (sent.is_duplicate) {
        expect_text(both, "id of a duplicate", message_id, sent.accepted_id);
    } else {
        (void)snprintf(sent.message->id, REFERENCE_ID, "%s", message_id);
        if (sent.accepted_id != NULL) {
            (void)snprintf(sent.accepted_id, REFERENCE_ID, "%s", message_id);
        }
    }
}

/* One without a deduplication id where it is needed fails the whole batch (section 9). */
static enum qn_error_code judge_send(const struct both *both, const struct model_step *step)
{
    const struct reference_queue *q = &both->r.queues[step->queue];

    if (!q->exists) {
        return QN_ERR_QUEUE_DOES_NOT_EXIST;
    }
    for (int i = 0; i < step->entry_count; i++) {
        if (q->is_fifo && step->entries[i].deduplication < 0 && !q->is_content_based) {
            return QN_ERR_INVALID_PARAMETER_VALUE;
        }
    }
    return QN_ERR_NONE;
}

void both_send(struct both *both, const struct model_step *step)
{
    struct fixture *f = &both->f;
    bool is_batch = step->action == MODEL_SEND_BATCH;
    struct qn_buf text;

    if (both->r.message_count + step->entry_count > REFERENCE_MESSAGES) {
        return;
    }
    qn_buf_init(&text, SIZE_MAX);
    for (int i = 0; i < step->entry_count; i++) {
        if (is_batch) {
            qn_buf_append_format(&text, "%s{'Id':'e%d',", i > 0 ? "," : "", i);
        }
        append_message(both, &text, step, i);
        if (is_batch) {
            qn_buf_append_format(&text, "}");
        }
    }
    enum qn_error_code code =
        fixture_code(f, is_batch ? "SendMessageBatch" : "SendMessage",
                     is_batch ? "'QueueUrl':'%s','Entries':[%.*s]" : "'QueueUrl':'%s',%.*s",
                     model_queue_name(step->queue), QN_STR_ARG(qn_buf_str(&text)));
    qn_buf_done(&text);
    enum qn_error_code expected = judge_send(both, step);
    both_expect_code(both, code, expected);
    for (int i = 0; i < step->entry_count && code == QN_ERR_NONE && expected == code; i++) {
        compare_sent(both, step, i,
                     fixture_get(f, is_batch ? fixture_format(f, "Successful.%d.MessageId", i)
                                             : "MessageId"));
    }
}

/* ---- receives ---- */

static int64_t number_of(const json_t *attributes, const char *name)
{
    const char *text = json_string_value(json_object_get(attributes, name));

    return text == NULL ? -1 : strtoll(text, NULL, 10);
}

static void compare_message(struct both *both, const json_t *got,
                            const struct reference_message *expected)
{
    const json_t *attributes = json_object_get(got, "Attributes");
    const char *id = json_string_value(json_object_get(got, "MessageId"));
    struct reference_message *stored = reference_by_uid(&both->r, expected->uid);

    expect_text(both, "body", json_string_value(json_object_get(got, "Body")), expected->body);
    if (expected->id[0] != '\0') {
        expect_text(both, "message id", id, expected->id);
    } else if (stored != NULL && id != NULL) {
        (void)snprintf(stored->id, REFERENCE_ID, "%s", id); /* moved: it has a new one */
    }
    both_expect_number(both, "receive count", number_of(attributes, "ApproximateReceiveCount"),
                       expected->total_count);
    both_expect_number(both, "sent at", number_of(attributes, "SentTimestamp"),
                       expected->enqueued_at_ms);
    both_expect_number(both, "first received at",
                       number_of(attributes, "ApproximateFirstReceiveTimestamp"),
                       expected->first_received_at_ms);
    if (expected->group >= 0) {
        expect_text(both, "group", json_string_value(json_object_get(attributes, "MessageGroupId")),
                    fixture_format(&both->f, "g%d", expected->group));
    }
    const char *source = json_string_value(json_object_get(attributes, "DeadLetterQueueSourceArn"));
    expect_text(both, "dead-letter source", source == NULL ? "" : source,
                expected->source < 0 ? ""
                                     : fixture_arn(&both->f, model_queue_name(expected->source)));
}

static void compare_received(struct both *both, int number, const json_t *answer,
                             const struct reference_got *got,
                             const struct reference_message *messages)
{
    const json_t *list = json_object_get(answer, "Messages");
    struct result *result = &both->results[number];

    both_expect_number(both, "messages", (int64_t)json_array_size(list), (int64_t)got->count);
    if (json_array_size(list) != got->count) {
        return;
    }
    for (size_t i = 0; i < got->count; i++) {
        const json_t *message = json_array_get(list, i);
        const char *handle = json_string_value(json_object_get(message, "ReceiptHandle"));
        compare_message(both, message, &messages[i]);
        result->handles[i].handle = got->handles[i];
        result->handles[i].text = fixture_format(&both->f, "%s", handle == NULL ? "" : handle);
    }
    result->count = got->count;
}

static const char *receive_members(struct both *both, const struct model_step *step)
{
    struct fixture *f = &both->f;

    return fixture_format(
        f, "'AttributeNames':['All']%s%s",
        step->visibility_s < 0 ? ""
                               : fixture_format(f, ",'VisibilityTimeout':%d", step->visibility_s),
        step->attempt < 0 ? ""
                          : fixture_format(f, ",'ReceiveRequestAttemptId':'r%d'", step->attempt));
}

/* The messages that the engine chose, as the reference knows them; bodies name them. */
static size_t chosen(struct both *both, int *ret_uids)
{
    const json_t *list = json_object_get(both->f.answer, "Messages");
    size_t count = json_array_size(list);

    for (size_t i = 0; i < count; i++) {
        const char *body = json_string_value(json_object_get(json_array_get(list, i), "Body"));
        ret_uids[i] = -1;
        for (int at = 0; at < both->r.message_count && body != NULL; at++) {
            if (strcmp(both->r.messages[at].body, body) == 0) {
                ret_uids[i] = both->r.messages[at].uid;
            }
        }
    }
    return count;
}

static struct reference_receive receive_of(const struct model_step *step)
{
    return (struct reference_receive){.queue = step->queue,
                                      .max = step->max,
                                      .visibility_s = step->visibility_s,
                                      .attempt = step->attempt,
                                      .may_wait = step->action == MODEL_POLL};
}

void both_receive(struct both *both, const struct model_step *step)
{
    struct reference_receive receive = receive_of(step);
    struct reference_message messages[QN_RECEIVE_MAX];
    int uids[QN_RECEIVE_MAX];
    enum qn_error_code code =
        fixture_code(&both->f, "ReceiveMessage", "'QueueUrl':'%s','MaxNumberOfMessages':%d,%s",
                     model_queue_name(step->queue), step->max, receive_members(both, step));
    bool chooses = step->queue == MODEL_TENANTS && code == QN_ERR_NONE;
    size_t count = chooses ? chosen(both, uids) : 0;
    struct reference_got got = reference_receive(&both->r, &receive, chooses ? uids : NULL, count);

    both_expect_code(both, code, got.code);
    if (code != QN_ERR_NONE || got.code != QN_ERR_NONE) {
        return;
    }
    for (size_t i = 0; i < got.count; i++) {
        messages[i] = *reference_by_uid(&both->r, got.handles[i].uid);
    }
    compare_received(both, step->number, both->f.answer, &got, messages);
}

/* ---- polls ---- */

void both_poll(struct both *both, const struct model_step *step)
{
    struct reference_receive receive = receive_of(step);

    if (both->r.waiter_count == REFERENCE_WAITERS) {
        return;
    }
    both->polls[both->poll_count++] = step->number;
    both->results[step->number].poll =
        fixture_poll(&both->f, model_queue_name(step->queue), step->max, step->wait_s,
                     receive_members(both, step));
    reference_wait(&both->r, step->number, &receive, step->wait_s);
}

static void forget_poll(struct both *both, int number)
{
    for (int i = 0; i < both->poll_count; i++) {
        if (both->polls[i] == number) {
            both->polls[i] = both->polls[--both->poll_count];
        }
    }
    both->results[number].poll = NULL;
}

void both_end_poll(struct both *both, int number)
{
    if (number >= 0 && both->results[number].poll != NULL) {
        fixture_poll_cancel(&both->f, both->results[number].poll);
        reference_stop_waiting(&both->r, number);
        forget_poll(both, number);
    }
}

void both_compare_polls(struct both *both)
{
    for (int i = 0; i < both->r.served_count; i++) {
        const struct reference_served *served = &both->r.served[i];
        const struct fixture_poll *poll = both->results[served->id].poll;
        if (poll == NULL || !poll->is_answered) {
            both_differ(both, "the poll of step %d is not answered, expected %zu messages",
                        served->id, served->got.count);
            break;
        }
        both_expect_code(both, poll->code, served->got.code);
        if (poll->code == QN_ERR_NONE) {
            both_expect_number(both, "poll answered at", poll->answered_at_ms, served->at_ms);
            compare_received(both, served->id, poll->answer, &served->got, served->messages);
        }
        forget_poll(both, served->id);
    }
    both->r.served_count = 0;
    for (int i = 0; i < both->poll_count; i++) {
        if (both->results[both->polls[i]].poll->is_answered) {
            both_differ(both, "the poll of step %d is answered, expected to wait", both->polls[i]);
        }
    }
}
