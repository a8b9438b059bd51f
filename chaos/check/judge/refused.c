/* Calls, and entries of batches, that were refused because the consumer made them wrong: what it
 * wanted by them did not happen, and that may be the cause of all else. One pass over the history.
 */
#include "chaos/check/judge/judge.h"

enum { HEARTBEAT_CALLS = 2 /* of one lease: a back-off asks once */ };

struct reader {
    struct qn_judge_input *in;
    struct qn_judgement *judgement;
    struct qn_table handles; /* struct qn_str: of a call that extends, by request */
    struct qn_table tries;   /* int64_t: refused extensions, by handle */
    bool was_extended;
};

/* What a call that is right may meet as well does not count: a queue that is gone, limits, rights,
 * failures of the service. */
static bool is_mistake(struct qn_str code)
{
    static const char *const codes[] = {
        "InvalidParameterValue",
        "MissingParameter",
        "InvalidParameterCombination",
        "ReceiptHandleIsInvalid",
        "InvalidAttributeName",
        "InvalidAttributeValue",
        "InvalidMessageContents",
        "InvalidAddress",
        "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
        "AWS.SimpleQueueService.BatchRequestTooLong",
        "AWS.SimpleQueueService.EmptyBatchRequest",
        "AWS.SimpleQueueService.InvalidBatchEntryId",
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
        "AWS.SimpleQueueService.UnsupportedOperation",
        "InvalidAction",
        "MissingAction",
        "InvalidQueryParameter",
        "MalformedQueryString",
        "MalformedInput",
        "SerializationException",
        "UnknownOperationException",
        "ValidationError",
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (qn_str_equal(code, qn_str_from_cstr(codes[i]))) {
            return true;
        }
    }
    return false;
}

/* A lease that was lost meanwhile is refused with the code of a wrong parameter. */
static bool is_about_lost_lease(struct qn_str message)
{
    return qn_str_ends_with(message, QN_STR("receipt handle has expired.")) ||
           qn_str_ends_with(message, QN_STR("not available for visibility timeout change."));
}

static void note(struct qn_judgement *judgement, const struct qn_check_event *answer,
                 struct qn_str code, struct qn_str message)
{
    for (size_t i = 0; i < judgement->refusal_count; i++) {
        struct qn_refusal *one = &judgement->refusals[i];
        if (qn_str_equal(one->action, answer->action) && qn_str_equal(one->code, code)) {
            one->count++;
            return;
        }
    }
    if (judgement->refusal_count < QN_REFUSALS_MAX) {
        judgement->refusals[judgement->refusal_count++] = (struct qn_refusal){
            .action = qn_arena_copy(&judgement->arena, answer->action),
            .code = qn_arena_copy(&judgement->arena, code),
            .message = qn_arena_copy(&judgement->arena, message),
            .count = 1,
            .is_of_entries = !qn_str_equal(answer->code, code),
        };
    }
}

static void read_refusal(struct reader *reader, const struct qn_check_event *answer,
                         struct qn_str code, struct qn_str message)
{
    if (!is_mistake(code) || answer->detail->rule.len > 0 || is_about_lost_lease(message)) {
        return;
    }
    note(reader->judgement, answer, code, message);
    const struct qn_str *handle =
        qn_str_is_none(answer->req) ? NULL : qn_table_find_kept(&reader->handles, answer->req);
    if (handle != NULL) {
        int64_t *tries = qn_table_at(&reader->tries, *handle);
        reader->in->tries_heartbeat |= ++*tries >= HEARTBEAT_CALLS;
    }
}

/* A batch is answered with OK, whatever became of its entries. */
static void read_answer(struct reader *reader, const struct qn_check_event *answer)
{
    const struct qn_check_detail *detail = answer->detail;

    read_refusal(reader, answer, answer->code, detail->reason);
    for (size_t i = 0; i < detail->failure_count; i++) {
        read_refusal(reader, answer, detail->failures[i].code, detail->failures[i].message);
    }
}

static void read_event(struct reader *reader, const struct qn_check_event *event)
{
    bool is_extension = qn_judge_is_call(reader->in, event, QN_STR("ChangeMessageVisibility*"));

    if (event->kind == QN_CHECK_LEASE_EXTEND) {
        reader->was_extended |= qn_judge_on_source(reader->in, event);
    } else if (event->kind == QN_CHECK_API_IN && is_extension && event->detail->handle_count == 1 &&
               !qn_str_is_none(event->req)) {
        *(struct qn_str *)qn_table_at_kept(&reader->handles, event->req) =
            event->detail->handles[0];
    } else if (event->kind == QN_CHECK_API_OUT &&
               qn_judge_is_call(reader->in, event, QN_STR("*"))) {
        read_answer(reader, event);
    }
}

void qn_judge_refused(struct qn_judge_input *in, struct qn_judgement *judgement)
{
    struct reader reader = {.in = in, .judgement = judgement};

    qn_table_init_for(&reader.handles, sizeof(struct qn_str), &in->history->texts);
    qn_table_init(&reader.tries, sizeof(int64_t));
    for (size_t i = 0; i < in->history->count; i++) {
        read_event(&reader, &in->history->events[i]);
    }
    in->tries_heartbeat = in->tries_heartbeat && !reader.was_extended;
    qn_table_done(&reader.handles);
    qn_table_done(&reader.tries);
}
