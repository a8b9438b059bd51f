/* PROGRESS(WHICH, BOUND): each message that can succeed is finished within BOUND (and slack) of
 * being visible. WHICH: an outcome of the load, group=NAME, all, or a key; * at its end stands for
 * any ending. Without the sink a message is finished when its delete is asked for: that the delete
 * is lost is no fault of who sent it. */
#include "chaos/check/judge/busy.h"
#include "chaos/check/judge/pace.h"

/* Slack is at most this part of the bound: with more, one worker for all that should go side by
 * side would be in time. One that is said in leases has it too. What waits for the end of a lease
 * does so on any machine, so a scenario puts its bound well below what the wrong consumer waits. */
enum { SLACK_PART = 4 };

struct message {
    bool is_sent;
    int64_t visible_at_ms;
    uint64_t sent_seq;
    const struct qn_check_event *finished;
};

static bool settles(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return qn_judge_settles(in, event) ||
           (qn_judge_on_source(in, event) &&
            (event->kind == QN_CHECK_MSG_DLQ ||
             (event->kind == QN_CHECK_MSG_DELETE && in->level < QN_LEVEL_SINK)));
}

static void finish(struct qn_table *messages, struct qn_str key, const struct qn_check_event *event)
{
    struct message *message = qn_table_at_kept(messages, key);

    message->finished = message->finished != NULL ? message->finished : event;
}

static void note_request(const struct qn_judge_input *in, struct qn_table *messages,
                         const struct qn_check_event *call)
{
    if (in->level >= QN_LEVEL_SINK || !qn_judge_asks_to_delete(in, call)) {
        return;
    }
    for (size_t i = 0; i < call->detail->handle_count; i++) {
        const struct qn_lease *lease = qn_book_lease_of(in->book, call->detail->handles[i]);
        if (lease != NULL && !qn_str_is_none(lease->grant->k)) {
            finish(messages, lease->grant->k, call);
        }
    }
}

static void note(const struct qn_judge_input *in, struct qn_table *messages, int64_t ready_at_ms,
                 const struct qn_check_event *event)
{
    note_request(in, messages, event);
    if (qn_str_is_none(event->k)) {
        return;
    }
    if (event->kind == QN_CHECK_MSG_SEND && qn_judge_on_source(in, event)) {
        struct message *message = qn_table_at_kept(messages, event->k);
        if (!message->is_sent) {
            message->is_sent = true;
            message->sent_seq = event->seq;
            message->visible_at_ms = event->vt > ready_at_ms ? event->vt : ready_at_ms;
        }
    } else if (settles(in, event)) {
        finish(messages, event->k, event);
    }
}

/* What is no fault of the consumer's, or no wrong: a busy machine, and a slow program that was at
 * work on others meanwhile. Each doubles the bound at most. */
static int64_t allowance_ms(const struct qn_judge_input *in, const struct message *message,
                            int64_t bound_ms, int64_t pace_ms)
{
    uint64_t by_seq = message->finished != NULL ? message->finished->seq : UINT64_MAX;
    int64_t slow_ms = pace_ms > 0 ? pace_ms * qn_pace_count(in, message->sent_seq, by_seq) : 0;

    return qn_busy_ms(in, message->sent_seq, by_seq, bound_ms) +
           (slow_ms < bound_ms ? slow_ms : bound_ms);
}

/* How long it took. */
static int64_t judge(const struct qn_judge_input *in, struct qn_str key,
                     const struct message *message, int64_t bound_ms, int64_t pace_ms,
                     int64_t end_ms, struct qn_finding *finding)
{
    int64_t finished_ms = message->finished != NULL ? message->finished->vt : end_ms;
    int64_t took_ms = finished_ms - message->visible_at_ms;

    if (took_ms > bound_ms) {
        bound_ms += allowance_ms(in, message, bound_ms, pace_ms);
    }
    if (took_ms <= bound_ms) {
        return took_ms;
    }
    if (qn_finding_break(finding, QN_MUST, "%.*s was %s %lld ms after it was visible (limit %lld)",
                         QN_STR_ARG(key), message->finished != NULL ? "finished" : "not finished",
                         (long long)took_ms, (long long)bound_ms)) {
        qn_finding_witness(finding, message->sent_seq);
        if (message->finished != NULL) {
            qn_finding_witness(finding, message->finished->seq);
        }
    }
    return took_ms;
}

static int64_t mark_ms(const struct qn_history *history, bool is_ready)
{
    int64_t last = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (is_ready && event->kind == QN_CHECK_PROC &&
            qn_str_equal(event->what, QN_STR("ready"))) {
            return event->vt;
        }
        if (!is_ready && event->kind == QN_CHECK_MARK &&
            qn_str_equal(event->detail->reason, QN_STR("end"))) {
            return event->vt;
        }
        last = event->vt;
    }
    return is_ready ? 0 : last;
}

static int64_t slack_of(const struct qn_judge_input *in, int64_t bound_ms)
{
    return in->slack_ms < bound_ms / SLACK_PART ? in->slack_ms : bound_ms / SLACK_PART;
}

void qn_judge_progress(const struct qn_judge_input *in, struct qn_finding *ret_finding)
{
    struct qn_str bound;
    struct qn_str which = qn_str_trim(qn_str_cut(in->arguments, ',', &bound));
    struct qn_table messages;
    struct qn_error err;
    int64_t bound_ms;
    int64_t slowest_ms = 0;
    size_t count = 0;

    if (!qn_judge_number(in, bound, &bound_ms, &err)) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "%s", err.message);
        return;
    }
    bound_ms += slack_of(in, bound_ms);
    int64_t ready_at_ms = mark_ms(in->history, true);
    int64_t end_ms = mark_ms(in->history, false);
    int64_t pace_ms = qn_pace_ms(in);
    qn_table_init_for(&messages, sizeof(struct message), &in->history->texts);
    for (size_t i = 0; i < in->history->count; i++) {
        note(in, &messages, ready_at_ms, &in->history->events[i]);
    }
    for (const struct qn_table_item *item = messages.first; item != NULL; item = item->next) {
        const struct message *message = item->value;
        if (message->is_sent && qn_tally_selects(in->tally, which, item->key)) {
            count++;
            int64_t took_ms = judge(in, item->key, message, bound_ms, pace_ms, end_ms, ret_finding);
            slowest_ms = took_ms > slowest_ms ? took_ms : slowest_ms;
        }
    }
    if (count > 0 && ret_finding->result == QN_RESULT_PASS) {
        qn_finding_set(ret_finding, QN_RESULT_PASS, "done within %.2g s each (limit %.3g s)",
                       (double)slowest_ms / 1000, (double)bound_ms / 1000);
    }
    if (count == 0) {
        qn_finding_set(ret_finding, QN_RESULT_NOT_OBSERVABLE, "no message is %.*s",
                       QN_STR_ARG(which));
        ret_finding->is_unexercised = true;
    }
    qn_table_done(&messages);
}
