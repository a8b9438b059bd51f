/* Engine and reference: what they hold, compared. */
#include <string.h>

#include "tests/support/engine_check.h"
#include "tests/support/model_both.h"

void both_compare_counts(struct both *both)
{
    const char *problem = engine_check(both->f.engine);

    if (problem != NULL) {
        both_differ(both, "not %s", problem);
    }
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        const struct qn_queue *q = fixture_queue(&both->f, model_queue_name(queue));
        int64_t expected[3];
        if ((q != NULL) != both->r.queues[queue].exists) {
            both_differ(both, "%s is there or not", model_queue_name(queue));
        }
        if (q == NULL) {
            continue;
        }
        struct qn_queue_counts counts = qn_queue_counts_of(q);
        reference_counts(&both->r, queue, expected);
        if (counts.visible != expected[0] || counts.in_flight != expected[1] ||
            counts.delayed != expected[2]) {
            both_differ(both, "%s has %d visible, %d in flight, %d delayed, expected %d, %d and %d",
                        model_queue_name(queue), (int)counts.visible, (int)counts.in_flight,
                        (int)counts.delayed, (int)expected[0], (int)expected[1], (int)expected[2]);
        }
    }
}

/* ---- messages ---- */

static void compare_peeked(struct both *both, const struct qn_peeked *peeked,
                           struct reference_message *expected)
{
    static const char *const states[] = {"delayed", "visible", "in-flight"};
    char id[37];

    qn_random_format_uuid(peeked->message_id, id);
    if (expected->id[0] == '\0') {
        memcpy(expected->id, id, sizeof(id));
    }
    if (strcmp(expected->id, id) != 0 ||
        !qn_str_equal(peeked->content.body, qn_str_from_cstr(expected->body))) {
        both_differ(both, "%s of %s is stored as %.*s", expected->body,
                    model_queue_name(expected->queue), QN_STR_ARG(peeked->content.body));
    }
    if (strcmp(peeked->state, states[expected->state]) != 0) {
        both_differ(both, "%s is %s, expected %s", expected->body, peeked->state,
                    states[expected->state]);
    }
    both_expect_number(both, "stored receive count", peeked->total_count, expected->total_count);
    both_expect_number(both, "stored receive count here", peeked->receive_count,
                       expected->receive_count);
    both_expect_number(both, "stored instant of send", peeked->sent_at_ms,
                       expected->enqueued_at_ms);
    if (expected->state == REFERENCE_IN_FLIGHT) {
        both_expect_number(both, "end of a lease", peeked->hidden_until_ms,
                           expected->hidden_until_ms);
    }
}

static void compare_queue(struct both *both, struct qn_tx *tx, int queue)
{
    struct qn_peeked peeked = {.sequence = 0};
    struct qn_queue *q = fixture_queue(&both->f, model_queue_name(queue));
    struct reference_message *expected = reference_next(&both->r, queue, -1, -1);

    while (q != NULL && qn_engine_peek(tx, q, peeked.sequence, &peeked)) {
        if (expected == NULL) {
            both_differ(both, "a message too many in %s", model_queue_name(queue));
            return;
        }
        compare_peeked(both, &peeked, expected);
        expected = reference_next(&both->r, queue, -1, expected->order);
    }
    if (expected != NULL) {
        both_differ(both, "%s is not in %s", expected->body, model_queue_name(queue));
    }
}

void both_compare_stored(struct both *both)
{
    struct qn_event_list events = {.wanted = false};
    struct qn_arena arena;

    qn_arena_init(&arena, SIZE_MAX);
    struct qn_tx tx = {
        .engine = both->f.engine, .now_ms = both->f.now_ms, .arena = &arena, .events = &events};
    for (int queue = 0; queue < REFERENCE_QUEUES; queue++) {
        compare_queue(both, &tx, queue);
    }
    qn_arena_done(&arena);
}

/* ---- move tasks ---- */

static void compare_task(struct both *both, int at, const struct reference_task *expected)
{
    static const char *const statuses[] = {"RUNNING",   "CANCELLING", "CANCELLED",
                                           "COMPLETED", "FAILED",     "FAILED"};
    struct fixture *f = &both->f;
    const char *status = fixture_get(f, fixture_format(f, "Results.%d.Status", at));
    const char *failure = fixture_get(f, fixture_format(f, "Results.%d.FailureReason", at));
    const char *why = expected->status == REFERENCE_FAILED_SOURCE ? "CouldNotDetermineMessageSource"
                      : expected->status == REFERENCE_FAILED_QUEUE
                          ? "AWS.SimpleQueueService.NonExistentQueue"
                          : "";

    if (status == NULL || strcmp(status, statuses[expected->status]) != 0 ||
        strcmp(failure == NULL ? "" : failure, why) != 0) {
        both_differ(both, "move task %d is %s %s, expected %s %s", at,
                    status == NULL ? "not there" : status, failure == NULL ? "" : failure,
                    statuses[expected->status], why);
    }
    both_expect_number(both, "moved",
                       fixture_get_integer(
                           f, fixture_format(f, "Results.%d.ApproximateNumberOfMessagesMoved", at)),
                       expected->moved);
    both_expect_number(
        both, "to move",
        fixture_get_integer(f,
                            fixture_format(f, "Results.%d.ApproximateNumberOfMessagesToMove", at)),
        expected->to_move);
    both_expect_number(both, "started at",
                       fixture_get_integer(f, fixture_format(f, "Results.%d.StartedTimestamp", at)),
                       expected->started_at_ms);
}

void both_compare_tasks(struct both *both, int queue)
{
    const struct reference_queue *q = &both->r.queues[queue];
    enum qn_error_code code =
        fixture_code(&both->f, "ListMessageMoveTasks", "'SourceArn':'%s','MaxResults':10",
                     fixture_arn(&both->f, model_queue_name(queue)));

    both_expect_code(both, code, q->exists ? QN_ERR_NONE : QN_ERR_RESOURCE_NOT_FOUND);
    if (code != QN_ERR_NONE) {
        return;
    }
    both_expect_number(both, "move tasks", (int64_t)fixture_count(&both->f, "Results"),
                       q->task_count);
    for (int i = 0; i < q->task_count; i++) {
        compare_task(both, i, &q->tasks[i]);
    }
}
