/* Plays the steps of a random test against the engine and the reference, and compares. */
#include <stdarg.h>
#include <string.h>

#include "tests/support/model_both.h"

static const struct result *result_of(const struct both *both, int number)
{
    return number >= 0 && number < both->result_count ? &both->results[number] : NULL;
}

/* ---- handles ---- */

static void delete_one(struct both *both, int queue, const struct named_handle *named)
{
    both_expect_code(both,
                     fixture_code(&both->f, "DeleteMessage", "'QueueUrl':'%s','ReceiptHandle':'%s'",
                                  model_queue_name(queue), named->text),
                     reference_delete(&both->r, queue, &named->handle));
}

static void change_one(struct both *both, int queue, const struct named_handle *named,
                       int visibility_s)
{
    both_expect_code(both,
                     fixture_code(&both->f, "ChangeMessageVisibility",
                                  "'QueueUrl':'%s','ReceiptHandle':'%s','VisibilityTimeout':%d",
                                  model_queue_name(queue), named->text, visibility_s),
                     reference_change(&both->r, queue, &named->handle, visibility_s));
}

/* What the batch says of an entry. */
static const char *code_of_entry(struct both *both, int entry)
{
    struct fixture *f = &both->f;
    const char *id = fixture_format(f, "e%d", entry);

    for (size_t i = 0; i < fixture_count(f, "Failed"); i++) {
        if (strcmp(fixture_get(f, fixture_format(f, "Failed.%zu.Id", i)), id) == 0) {
            return fixture_get(f, fixture_format(f, "Failed.%zu.Code", i));
        }
    }
    for (size_t i = 0; i < fixture_count(f, "Successful"); i++) {
        if (strcmp(fixture_get(f, fixture_format(f, "Successful.%zu.Id", i)), id) == 0) {
            return "";
        }
    }
    return "no answer";
}

static void use_batch(struct both *both, int queue, const struct model_step *step,
                      const struct named_handle *const *handles)
{
    bool deletes = step->action == MODEL_DELETE_BATCH;
    struct qn_buf entries;

    qn_buf_init(&entries, SIZE_MAX);
    for (int i = 0; i < step->entry_count; i++) {
        if (handles[i] != NULL) {
            qn_buf_append_format(&entries, "%s{'Id':'e%d','ReceiptHandle':'%s'",
                                 entries.len > 0 ? "," : "", i, handles[i]->text);
            if (!deletes) {
                qn_buf_append_format(&entries, ",'VisibilityTimeout':%d",
                                     step->entries[i].visibility_s);
            }
            qn_buf_append_format(&entries, "}");
        }
    }
    both_expect_code(both,
                     fixture_code(&both->f,
                                  deletes ? "DeleteMessageBatch" : "ChangeMessageVisibilityBatch",
                                  "'QueueUrl':'%s','Entries':[%.*s]", model_queue_name(queue),
                                  QN_STR_ARG(qn_buf_str(&entries))),
                     both->r.queues[queue].exists ? QN_ERR_NONE : QN_ERR_QUEUE_DOES_NOT_EXIST);
    qn_buf_done(&entries);
    for (int i = 0; i < step->entry_count && both->r.queues[queue].exists; i++) {
        if (handles[i] != NULL) {
            enum qn_error_code code = deletes
                                          ? reference_delete(&both->r, queue, &handles[i]->handle)
                                          : reference_change(&both->r, queue, &handles[i]->handle,
                                                             step->entries[i].visibility_s);
            const char *expected = code == QN_ERR_NONE ? "" : qn_error_info(code)->query_code;
            const char *said = code_of_entry(both, i);
            if (strcmp(said, expected) != 0) {
                both_differ(both, "entry %d: '%s', expected '%s'", i, said, expected);
            }
        }
    }
}

static void use_handles(struct both *both, const struct model_step *step)
{
    const struct named_handle *handles[MODEL_ENTRIES] = {NULL};
    int queue = step->queue;
    bool any = false;

    for (int i = 0; i < step->entry_count; i++) {
        const struct result *result = result_of(both, step->entries[i].from);
        if (result != NULL && result->count > 0) {
            handles[i] = &result->handles[(size_t)step->entries[i].place % result->count];
            queue = queue < 0 ? handles[i]->handle.queue : queue;
            any = true;
        }
    }
    if (!any) {
        return;
    }
    if (step->action == MODEL_DELETE_BATCH || step->action == MODEL_CHANGE_BATCH) {
        use_batch(both, queue, step, handles);
    } else if (step->action == MODEL_DELETE) {
        delete_one(both, queue, handles[0]);
    } else {
        change_one(both, queue, handles[0], step->entries[0].visibility_s);
    }
}

/* ---- queues ---- */

static void set(struct both *both, int queue, const char *attribute, const char *value)
{
    both_expect_code(both,
                     fixture_code(&both->f, "SetQueueAttributes",
                                  "'QueueUrl':'%s','Attributes':{'%s':'%s'}",
                                  model_queue_name(queue), attribute, value),
                     both->r.queues[queue].exists ? QN_ERR_NONE : QN_ERR_QUEUE_DOES_NOT_EXIST);
}

static void set_redrive(struct both *both, const struct model_step *step)
{
    struct reference_queue *q = &both->r.queues[step->queue];
    int target = step->queue + 1;

    if (step->value == 0) {
        set(both, step->queue, "RedrivePolicy", "");
    } else if (both->r.queues[target].exists) {
        set(both, step->queue, "RedrivePolicy",
            fixture_format(&both->f,
                           "{\\'deadLetterTargetArn\\':\\'%s\\',\\'maxReceiveCount\\':%d}",
                           fixture_arn(&both->f, model_queue_name(target)), step->value));
    } else {
        return;
    }
    q->max_receive_count = q->exists ? step->value : 0;
    q->target = target;
}

static void set_attribute(struct both *both, const struct model_step *step)
{
    struct reference_queue *q = &both->r.queues[step->queue];
    const char *number = fixture_format(&both->f, "%d", step->value);

    switch (step->action) {
    case MODEL_SET_VISIBILITY:
        set(both, step->queue, "VisibilityTimeout", number);
        q->visibility_s = step->value;
        break;
    case MODEL_SET_DELAY:
        set(both, step->queue, "DelaySeconds", number);
        q->delay_s = step->value;
        break;
    case MODEL_SET_RETENTION:
        set(both, step->queue, "MessageRetentionPeriod", number);
        q->retention_s = step->value;
        break;
    case MODEL_SET_CONTENT_BASED:
        set(both, step->queue, "ContentBasedDeduplication", step->value ? "true" : "false");
        q->is_content_based = step->value != 0;
        break;
    default:
        set_redrive(both, step);
        break;
    }
}

static void purge(struct both *both, int queue)
{
    bool exists = both->r.queues[queue].exists;

    both_expect_code(
        both, fixture_code(&both->f, "PurgeQueue", "'QueueUrl':'%s'", model_queue_name(queue)),
        exists ? QN_ERR_NONE : QN_ERR_QUEUE_DOES_NOT_EXIST);
    if (exists) {
        reference_purge(&both->r, queue);
    }
}

static void delete_queue(struct both *both, int queue)
{
    bool exists = both->r.queues[queue].exists;

    both_expect_code(
        both, fixture_code(&both->f, "DeleteQueue", "'QueueUrl':'%s'", model_queue_name(queue)),
        exists ? QN_ERR_NONE : QN_ERR_QUEUE_DOES_NOT_EXIST);
    if (exists) {
        reference_delete_queue(&both->r, queue);
    }
}

/* ---- move tasks ---- */

static void move(struct both *both, const struct model_step *step)
{
    struct fixture *f = &both->f;
    enum qn_error_code code = fixture_code(
        f, "StartMessageMoveTask", "'SourceArn':'%s'%s%s",
        fixture_arn(f, model_queue_name(step->queue)),
        step->target < 0 ? ""
                         : fixture_format(f, ",'DestinationArn':'%s'",
                                          fixture_arn(f, model_queue_name(step->target))),
        step->value == 0 ? ""
                         : fixture_format(f, ",'MaxNumberOfMessagesPerSecond':%d", step->value));

    both_expect_code(
        both, code,
        reference_start_task(&both->r, step->number, step->queue, step->target, step->value));
    if (code == QN_ERR_NONE) {
        both->results[step->number].task = fixture_get(f, "TaskHandle");
    }
}

static void cancel_move(struct both *both, const struct model_step *step)
{
    const struct result *result = result_of(both, step->from);
    int moved = 0;

    if (result == NULL || result->task == NULL) {
        return;
    }
    enum qn_error_code code =
        fixture_code(&both->f, "CancelMessageMoveTask", "'TaskHandle':'%s'", result->task);
    both_expect_code(both, code, reference_cancel_task(&both->r, step->from, &moved));
    if (code == QN_ERR_NONE) {
        both_expect_number(both, "moved when cancelled",
                           fixture_get_integer(&both->f, "ApproximateNumberOfMessagesMoved"),
                           moved);
    }
}

/* ---- time ---- */

static void advance(struct both *both, const struct model_step *step)
{
    struct fixture *f = &both->f;
    int64_t to_ms = f->now_ms + step->span_ms;
    /* What tasks do and polls get on the way of a leap is not foreseen. */
    bool leaps = step->leaps && !reference_has_active_task(&both->r) && both->r.waiter_count == 0;

    if (leaps) {
        fixture_leap_ms(f, step->span_ms);
    } else {
        fixture_advance_ms(f, step->span_ms);
    }
    reference_advance(&both->r, to_ms, leaps);
}

static void restart(struct both *both)
{
    for (int i = 0; i < both->poll_count; i++) {
        both->results[both->polls[i]].poll = NULL;
    }
    both->poll_count = 0;
    both->r.waiter_count = 0;
    fixture_restart(&both->f);
}

static void play(struct both *both, const struct model_step *step)
{
    switch (step->action) {
    case MODEL_SEND:
    case MODEL_SEND_BATCH:
        both_send(both, step);
        break;
    case MODEL_RECEIVE:
        both_receive(both, step);
        break;
    case MODEL_POLL:
        both_poll(both, step);
        break;
    case MODEL_POLL_GOES:
        both_end_poll(both, step->from);
        break;
    case MODEL_DELETE:
    case MODEL_DELETE_BATCH:
    case MODEL_CHANGE:
    case MODEL_CHANGE_BATCH:
        use_handles(both, step);
        break;
    case MODEL_ADVANCE:
        advance(both, step);
        break;
    case MODEL_PURGE:
        purge(both, step->queue);
        break;
    case MODEL_DELETE_QUEUE:
        delete_queue(both, step->queue);
        break;
    case MODEL_CREATE_QUEUE:
        both_create_queue(both, step->queue);
        break;
    case MODEL_MOVE:
        move(both, step);
        break;
    case MODEL_CANCEL_MOVE:
        cancel_move(both, step);
        break;
    case MODEL_LIST_MOVES:
        both_compare_tasks(both, step->queue);
        break;
    case MODEL_RESTART:
        restart(both);
        break;
    default:
        set_attribute(both, step);
        break;
    }
}

static void step_both(struct both *both, const struct model_step *step)
{
    play(both, step);
    reference_serve(&both->r);
    for (int i = 0; i < 2; i++) { /* a dead letter may be too old for its new queue */
        fixture_settle(&both->f);
        reference_settle(&both->r);
        reference_serve(&both->r);
    }
    both_compare_polls(both);
    both_compare_counts(both);
    if (step->action == MODEL_RESTART || step->number % 64 == 0) {
        both_compare_stored(both);
    }
}

bool model_run(const struct model_options *options, struct model_step *steps, int count,
               int *ret_count, char *ret_problem, size_t problem_size)
{
    struct both *both = both_new(options);
    struct model_draw draw;
    bool draws = count == 0;

    model_draw_init(&draw, options->seed);
    for (int i = 0; i < (draws ? options->steps : count) && both->problem[0] == '\0'; i++) {
        if (draws) {
            draw.stored = both->r.message_count;
            steps[i] = model_draw_step(&draw, i);
            *ret_count = i + 1;
        }
        both->step = &steps[i];
        step_both(both, &steps[i]);
    }
    bool same = both->problem[0] == '\0';
    (void)snprintf(ret_problem, problem_size, "%s", both->problem);
    both_free(both);
    return same;
}
