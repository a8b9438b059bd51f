/* What is written elsewhere: output queue, retry queue, versions. */
#include <stdlib.h>

#include "tests/consumers/worker/bugs.h"

static void publish_to_output(struct worker *w)
{
    w->settings.output_url = getenv("QUERN_OUTPUT_QUEUE_URL");
}

/* publish-no-outbox: when the send fails, nobody is told. */
static bool publish_or_not(struct hand *hand, const json_t *body)
{
    (void)work_publish(hand, body);
    return true;
}

static void set_publish_no_outbox(struct worker *w)
{
    publish_to_output(w);
    w->rules.publish = publish_or_not;
}

/* publish-before-commit: tells of an effect that may never be. */
static enum outcome publish_then_apply(struct hand *hand, struct job *job, const json_t *body)
{
    if (hand->worker->settings.output_url != NULL && !work_publish(hand, body)) {
        return OUTCOME_RETRY;
    }
    return work_effect(hand, job, body);
}

static bool published_before(struct hand *hand, const json_t *body)
{
    (void)hand;
    (void)body;
    return true;
}

static void set_publish_before_commit(struct worker *w)
{
    publish_to_output(w);
    w->rules.effect = publish_then_apply;
    w->rules.publish = published_before;
}

/* retry-queue-delete-first: between the deletion and the copy there is nothing. */
static void delete_then_resend(struct hand *hand, struct job *job)
{
    (void)settle_delete(hand, job);
    (void)settle_resend(hand, job);
    settle_forget(hand, job);
}

static void set_retry_queue_delete_first(struct worker *w)
{
    w->rules.resend = delete_then_resend;
}

/* last-writer-wins: an old version may follow a new one. */
static bool write_any_version(struct hand *hand, const json_t *body)
{
    return work_put_state(hand, body, false) == 200;
}

static void set_last_writer_wins(struct worker *w)
{
    w->settings.keeps_state = true;
    w->rules.keep_state = write_any_version;
}

const struct bug bugs_output[] = {
    {"publish-no-outbox", set_publish_no_outbox},
    {"publish-before-commit", set_publish_before_commit},
    {"retry-queue-delete-first", set_retry_queue_delete_first},
    {"last-writer-wins", set_last_writer_wins},
    {NULL, NULL},
};
