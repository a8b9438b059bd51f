/* Failures that are repeated too soon, too often, or not at all. */
#include <string.h>
#include <unistd.h>

#include "tests/consumers/worker/bugs.h"

enum { OWN_ATTEMPTS = 3, INLINE_PAUSE_MS = 200, INLINE_ATTEMPTS = 10 };

/* hot-retry: back at once after each failure. Out of hand before that, or the next receive, which
 * may be answered before this call, would take it for one that is still worked on. */
static void hand_back_at_once(struct hand *hand, struct job *job)
{
    char *handle = qn_memory_copy_text(job->handle, strlen(job->handle));
    struct quern_error err;

    settle_forget(hand, job);
    (void)quern_change_visibility(hand->sqs, hand->worker->settings.queue_url, handle, 0, &err);
    qn_memory_free(handle);
}

static void set_hot_retry(struct worker *w)
{
    w->settings.leaves_poison = true;
    w->rules.failed = hand_back_at_once;
}

/* give-up-and-delete: after some attempts of its own, without a trace. */
static void give_up(struct hand *hand, struct job *job)
{
    if (job->receive_count >= OWN_ATTEMPTS) {
        hand->worker->rules.acknowledge(hand, job);
    } else {
        settle_failed(hand, job);
    }
}

static void set_give_up_and_delete(struct worker *w)
{
    w->settings.leaves_poison = true;
    w->rules.failed = give_up;
}

/* retry-everything: what cannot be read may be readable next time. */
static void retry_invalid(struct hand *hand, struct job *job, enum outcome outcome)
{
    settle_outcome(hand, job, outcome == OUTCOME_INVALID ? OUTCOME_RETRY : outcome);
}

static void set_retry_everything(struct worker *w)
{
    w->rules.settle = retry_invalid;
}

/* poison-forever: a copy goes to the end of the queue, and its count begins anew. */
static void send_copy(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    struct quern_error err;
    struct quern_message copy = {
        .delay_s = w->is_fifo ? -1 : 1,
        .group_id = job->group,
        .deduplication_id = w->is_fifo ? job->handle : NULL,
    };

    copy.body = w->rules.text(hand, job, &copy.body_len);
    if (quern_send_message(hand->sqs, w->settings.queue_url, &copy, NULL, &err)) {
        w->rules.acknowledge(hand, job);
    } else {
        settle_failed(hand, job);
    }
}

static void set_poison_forever(struct worker *w)
{
    w->settings.leaves_poison = true;
    w->rules.failed = send_copy;
}

static bool is_done(enum outcome outcome)
{
    return outcome == OUTCOME_DONE || outcome == OUTCOME_REPLAYED;
}

/* inline-retry-forever: the handler does not return before it has succeeded. */
static enum outcome work_until_done(struct hand *hand, struct job *job)
{
    enum outcome outcome = work_do(hand, job);

    while (!is_done(outcome)) {
        worker_nap(INLINE_PAUSE_MS);
        outcome = work_do(hand, job);
    }
    return outcome;
}

static void set_inline_retry_forever(struct worker *w)
{
    w->rules.work = work_until_done;
}

/* inline-retry-past-lease: sleeps and tries again inside the handler, longer than the lease. */
static enum outcome work_past_lease(struct hand *hand, struct job *job)
{
    enum outcome outcome = work_do(hand, job);

    for (int n = 1; n < INLINE_ATTEMPTS && outcome == OUTCOME_RETRY; n++) {
        worker_nap(hand->worker->visibility_ms);
        outcome = work_do(hand, job);
    }
    return outcome;
}

static void set_inline_retry_past_lease(struct worker *w)
{
    w->settings.no_heartbeat = true;
    w->rules.work = work_past_lease;
    w->rules.again = bugs_take_again;
}

/* crash-on-bad-message: nobody catches what the parser throws. */
static bool crash_unless_json(const struct hand *hand, const json_t *body)
{
    if (body == NULL) {
        worker_log("unhandled: not JSON");
        _exit(1);
    }
    return work_is_valid(hand, body);
}

static void set_crash_on_bad_message(struct worker *w)
{
    w->rules.is_valid = crash_unless_json;
}

/* ignores-schema-version */
static bool any_version(const struct hand *hand, const json_t *body)
{
    (void)hand;
    return body_key(body)[0] != '\0' && body_name(body)[0] != '\0';
}

static void set_ignores_schema_version(struct worker *w)
{
    w->rules.is_valid = any_version;
}

/* quarantine-after-delete: when the record fails, the message is gone. */
static void delete_then_record(struct hand *hand, struct job *job, const char *reason)
{
    (void)settle_delete(hand, job);
    (void)settle_record(hand, job, reason);
    settle_forget(hand, job);
}

static void set_quarantine_after_delete(struct worker *w)
{
    w->rules.reject = delete_then_record;
}

const struct bug bugs_retry[] = {
    {"hot-retry", set_hot_retry},
    {"give-up-and-delete", set_give_up_and_delete},
    {"retry-everything", set_retry_everything},
    {"poison-forever", set_poison_forever},
    {"inline-retry-forever", set_inline_retry_forever},
    {"inline-retry-past-lease", set_inline_retry_past_lease},
    {"crash-on-bad-message", set_crash_on_bad_message},
    {"ignores-schema-version", set_ignores_schema_version},
    {"quarantine-after-delete", set_quarantine_after_delete},
    {NULL, NULL},
};
