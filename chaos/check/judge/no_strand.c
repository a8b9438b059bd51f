/* NO-STRAND: who was told to end leaves no message behind that others must wait for. */
#include <stdio.h>

#include "chaos/check/judge/book.h"

/* A message that is visible again so soon is no loss of time. */
enum { SOON_MS = 5000 };

/* What a lease that nobody touched may have left: with a short visibility timeout 5 s would excuse
 * everything. */
static int64_t soon_ms(const struct qn_judge_input *in, const struct qn_lease *lease)
{
    int64_t half_ms = in->visibility_ms / 2;

    return lease->was_shortened || half_ms == 0 || half_ms > SOON_MS ? SOON_MS : half_ms;
}

/* The request deletes the message with this handle, or gives it back. */
static bool gives_up(const struct qn_judge_input *in, const struct qn_check_event *call,
                     struct qn_str handle)
{
    const struct qn_check_detail *detail = call->detail;
    bool is_return = qn_judge_is_call(in, call, QN_STR("ChangeMessageVisibility*")) &&
                     detail->visibility >= 0 && detail->visibility * 1000 <= SOON_MS;

    if (!is_return && !qn_judge_asks_to_delete(in, call)) {
        return false;
    }
    for (size_t i = 0; i < detail->handle_count; i++) {
        if (qn_str_equal(detail->handles[i], handle)) {
            return true;
        }
    }
    return false;
}

/* A delete, or a return, that was answered well and not carried out: whoever sent it has done all
 * that can be done. */
static bool is_taken_for_done(const struct qn_judge_input *in, const struct qn_lease *lease,
                              uint64_t before_seq)
{
    const struct qn_check_event *end = in->history->events + in->history->count;
    const struct qn_check_event *call = NULL;

    /* The handle was not there before the grant: nobody can have given it up. */
    for (const struct qn_check_event *event = lease->grant; event < end && event->seq < before_seq;
         event++) {
        if (event->kind == QN_CHECK_API_IN && gives_up(in, event, lease->grant->h)) {
            call = event;
        } else if (event->kind == QN_CHECK_FAULT && call != NULL &&
                   qn_str_equal(event->code, QN_STR("fake-success")) &&
                   qn_str_equal(event->req, call->req) &&
                   (qn_str_is_none(event->mid) || qn_str_equal(event->mid, lease->grant->mid))) {
            return true;
        }
    }
    return false;
}

static bool is_stranded(const struct qn_judge_input *in, const struct qn_stop *stop,
                        const struct qn_lease *lease)
{
    const struct qn_check_event *exit = stop->exit;

    return lease->owner == stop->owner && lease->life == stop->life &&
           lease->grant->seq < exit->seq &&
           (lease->ended == NULL || lease->ended->seq > exit->seq) &&
           /* The connection was gone before the answer: it never had it. */
           lease->delivered != NULL && lease->delivered->seq < exit->seq &&
           lease->deadline_ms - exit->vt > soon_ms(in, lease) &&
           !qn_judge_is_excepted(in, lease->grant->k) && !is_taken_for_done(in, lease, exit->seq);
}

void qn_judge_no_strand(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    size_t stops = 0;
    size_t stranded = 0;

    for (const struct qn_stop *stop = in->book->stops; stop != NULL; stop = stop->next) {
        if (!stop->is_judged || stop->exit == NULL) {
            continue;
        }
        stops++;
        for (const struct qn_lease *lease = in->book->leases; lease != NULL; lease = lease->next) {
            if (!is_stranded(in, stop, lease)) {
                continue;
            }
            stranded++;
            if (qn_finding_break(ret_finding, QN_MUST,
                                 "%.*s ended (seq %llu) and left %.*s hidden for %lld ms more",
                                 QN_STR_ARG(stop->owner->name), (unsigned long long)stop->exit->seq,
                                 QN_STR_ARG(qn_judge_message_name(lease->grant)),
                                 (long long)(lease->deadline_ms - stop->exit->vt))) {
                qn_finding_witness(ret_finding, stop->told->seq);
                qn_finding_witness(ret_finding, stop->exit->seq);
            }
            qn_finding_witness(ret_finding, lease->grant->seq);
        }
    }
    if (stops == 0) {
        qn_finding_set_unexercised(ret_finding, "nobody was told to end, or nobody did");
    } else if (stranded > 1) {
        size_t len = strlen(ret_finding->text);
        (void)snprintf(ret_finding->text + len, sizeof(ret_finding->text) - len,
                       ", %zu messages in all", stranded);
    }
}

/* Work that its process had begun when it was told to end, and that it was not seen to fail: what
 * failed comes back by its lease, as it would at any other time. */
static bool was_in_work(const struct qn_stop *stop, const struct qn_handler *run)
{
    bool is_over = run->end != NULL && run->end->seq < stop->exit->seq;

    return run->lease != NULL && run->owner == stop->owner && run->life == stop->life &&
           run->begin->seq < stop->told->seq && !(is_over && run->end->kind == QN_CHECK_WORK_ABORT);
}

/* The effect is there, and nobody has said so to SQS. A lease that ran out before cannot be
 * deleted any more. */
static bool is_done_and_kept(const struct qn_stop *stop, const struct qn_handler *run)
{
    bool is_done = run->end != NULL && run->end->seq < stop->exit->seq;
    bool is_open = run->lease->ended == NULL || run->lease->ended->seq > stop->exit->seq;

    return is_done && (is_open || run->lease->end == QN_LEASE_RELEASED);
}

size_t qn_judge_left(const struct qn_judge_input *in, bool is_done)
{
    size_t count = 0;

    for (const struct qn_stop *stop = in->book->stops; stop != NULL; stop = stop->next) {
        /* One that was killed had no chance to tidy up. */
        if (!stop->is_judged || stop->exit == NULL || stop->killed != NULL) {
            continue;
        }
        for (const struct qn_handler *run = in->book->handlers; run != NULL; run = run->next) {
            count += was_in_work(stop, run) &&
                     (is_done ? is_done_and_kept(stop, run) : is_stranded(in, stop, run->lease));
        }
    }
    return count;
}
