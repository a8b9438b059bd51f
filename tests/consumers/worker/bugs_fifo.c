/* Order inside a group that is lost, and groups that wait for each other. */
#include <string.h>

#include "tests/consumers/worker/bugs.h"
#include "tests/consumers/worker/vote.h"

enum { ASIDE_MS = 300, DEAD_HANDLE_MS = 100, STALLED_LEASES = 3 };

/* fifo-parallel: a batch is dispatched as if it had no groups. */
static struct job *pick_any(struct worker *w)
{
    for (struct job *job = w->is_stopping ? NULL : w->jobs; job != NULL; job = job->next) {
        if (job->stage == STAGE_WAITING) {
            return job;
        }
    }
    return NULL;
}

static void set_fifo_parallel(struct worker *w)
{
    w->rules.pick = pick_any;
}

/* fifo-continue-after-failure: the rest of the group goes on without what failed. */
static void fail_alone(struct hand *hand, struct job *job)
{
    (void)settle_make_visible(hand, job, hand->worker->visibility_ms / 2000);
    settle_forget(hand, job);
}

static void set_fifo_continue_after_failure(struct worker *w)
{
    w->settings.leaves_poison = true;
    w->rules.failed = fail_alone;
}

/* fifo-gap-ack: what failed is put aside and tried again when the others of its group are done and
 * deleted. */
static void put_aside(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;

    worker_nap(job->is_aside ? ASIDE_MS : 0);
    (void)pthread_mutex_lock(&w->lock);
    job->is_aside = true;
    job->stage = STAGE_WAITING;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
}

static bool has_others(const struct worker *w, const struct job *job)
{
    for (const struct job *one = w->jobs; one != NULL; one = one->next) {
        if (one != job && one->group != NULL && strcmp(one->group, job->group) == 0) {
            return true;
        }
    }
    return false;
}

static struct job *pick_aside_last(struct worker *w)
{
    for (struct job *job = w->is_stopping ? NULL : w->jobs; job != NULL; job = job->next) {
        if (jobs_may_begin(w, job) && (!job->is_aside || !has_others(w, job))) {
            return job;
        }
    }
    return NULL;
}

static void set_fifo_gap_ack(struct worker *w)
{
    w->rules.failed = put_aside;
    w->rules.pick = pick_aside_last;
}

/* fifo-global-serial: one worker for all groups, and a failure stops it for as long as the message
 * takes to be tried some more times. */
static void fail_and_wait(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    int64_t lease_ms = w->visibility_ms;

    settle_failed(hand, job);
    worker_sleep(w, STALLED_LEASES * lease_ms);
}

static void set_fifo_global_serial(struct worker *w)
{
    w->settings.workers = 1;
    w->settings.leaves_poison = true;
    w->rules.failed = fail_and_wait;
}

/* fifo-fail-whole-batch: one bad record, and nothing of the answer is deleted. */
static void fail_together(struct hand *hand, struct job *job, enum outcome outcome)
{
    vote_settle(hand, job, outcome, true);
}

static void set_fifo_fail_whole_batch(struct worker *w)
{
    w->rules.settle = fail_together;
}

/* retry-dead-handle-forever */
static void delete_until_it_works(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;
    struct quern_error err;

    (void)pthread_mutex_lock(&w->lock);
    jobs_stop_beat(w, job);
    char *handle = qn_memory_copy_text(job->handle, strlen(job->handle));
    (void)pthread_mutex_unlock(&w->lock);
    while (!quern_delete_message(hand->sqs, w->settings.queue_url, handle, &err) &&
           !worker_is_stopping(w)) {
        worker_nap(DEAD_HANDLE_MS);
    }
    qn_memory_free(handle);
    settle_forget(hand, job);
}

static void set_retry_dead_handle_forever(struct worker *w)
{
    w->rules.acknowledge = delete_until_it_works;
}

const struct bug bugs_fifo[] = {
    {"fifo-parallel", set_fifo_parallel},
    {"fifo-continue-after-failure", set_fifo_continue_after_failure},
    {"fifo-gap-ack", set_fifo_gap_ack},
    {"fifo-global-serial", set_fifo_global_serial},
    {"fifo-fail-whole-batch", set_fifo_fail_whole_batch},
    {"retry-dead-handle-forever", set_retry_dead_handle_forever},
    {NULL, NULL},
};
