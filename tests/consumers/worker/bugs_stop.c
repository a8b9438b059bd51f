/* SIGTERM, taken too hard, too lightly, or not at all. */
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/bugs.h"

enum { KEEP_POLLING_MS = 7000, LONG_LINGER_MS = 2000, TICK_MS = 10, STOP_TIMEOUT_MS = 1000 };

/* exit-now-on-sigterm */
static void leave(struct worker *w)
{
    (void)w;
    _exit(0);
}

static void set_exit_now_on_sigterm(struct worker *w)
{
    w->rules.on_term = leave;
}

/* ignores-sigterm */
static void carry_on(struct worker *w)
{
    (void)w;
}

static void set_ignores_sigterm(struct worker *w)
{
    w->rules.on_term = carry_on;
}

/* keeps-polling: finishes what it has, and goes on fetching more. */
static bool poll_for_a_while(const struct worker *w)
{
    return !w->is_stopping || qn_clock_monotonic_ms() < w->deadline_ms;
}

static struct job *pick_always(struct worker *w)
{
    for (struct job *job = w->jobs; job != NULL; job = job->next) {
        if (jobs_may_begin(w, job)) {
            return job;
        }
    }
    return NULL;
}

static void drain_later(struct worker *w)
{
    worker_nap(KEEP_POLLING_MS);
    (void)pthread_mutex_lock(&w->lock);
    int64_t deadline_ms = w->deadline_ms;
    w->deadline_ms = qn_clock_monotonic_ms(); /* ends the polling */
    (void)pthread_mutex_unlock(&w->lock);
    quern_client_cancel(w->poller);
    while (worker_is_polling(w)) {
        worker_nap(TICK_MS);
    }
    (void)pthread_mutex_lock(&w->lock);
    w->deadline_ms = deadline_ms;
    (void)pthread_mutex_unlock(&w->lock);
    stop_drain(w);
}

static void set_keeps_polling(struct worker *w)
{
    w->settings.waits_for_poll = true;
    w->settings.wait_s = 1;
    w->rules.may_poll = poll_for_a_while;
    w->rules.pick = pick_always;
    w->rules.drain = drain_later;
}

/* strands-last-receive: what the parked poll brings after SIGTERM is dropped. */
static void admit_unless_stopping(struct worker *w, json_t *messages)
{
    if (!worker_is_stopping(w)) {
        receive_admit(w, messages);
    }
}

static void set_strands_last_receive(struct worker *w)
{
    w->settings.waits_for_poll = true;
    w->rules.admit = admit_unless_stopping;
}

/* heartbeat-stops-at-sigterm */
static bool beat_until_stop(const struct worker *w, const struct job *job)
{
    return !w->is_stopping && beat_may(w, job);
}

static void set_heartbeat_stops_at_sigterm(struct worker *w)
{
    w->rules.may_beat = beat_until_stop;
}

/* delete-unfinished: acknowledges all that it holds, and leaves. */
static void delete_all(struct worker *w)
{
    struct hand hand = {0};
    struct quern_error err;

    (void)hand_open(w, &hand, STOP_TIMEOUT_MS);
    (void)pthread_mutex_lock(&w->lock);
    for (const struct job *job = w->jobs; job != NULL; job = job->next) {
        (void)quern_delete_message(hand.sqs, w->settings.queue_url, job->handle, &err);
    }
    _exit(0);
}

static void set_delete_unfinished(struct worker *w)
{
    w->rules.drain = delete_all;
}

/* ack-buffer-lost: deletions are collected, and nobody flushes them at the end. */
static void flush_in_time_only(struct worker *w, struct hand *hand)
{
    static const struct flush flush = {.most = BATCH_MAX, .waits_when_stopping = true};

    batch_flush(w, hand, &flush);
}

static void drain_work_only(struct worker *w)
{
    for (bool is_busy = true; is_busy;) {
        worker_nap(TICK_MS);
        (void)pthread_mutex_lock(&w->lock);
        is_busy = w->is_polling || jobs_count(w, STAGE_RUNNING) > 0;
        (void)pthread_mutex_unlock(&w->lock);
    }
    _exit(0);
}

static void set_ack_buffer_lost(struct worker *w)
{
    w->settings.deletes_in_batches = true;
    w->settings.linger_ms = LONG_LINGER_MS;
    w->rules.delete_batch = flush_in_time_only;
    w->rules.drain = drain_work_only;
}

/* hangs-when-sqs-down: a deletion is tried until it works, however long the process was told to end
 * ago. */
static void no_deadline(struct worker *w)
{
    stop_on_term(w);
    (void)pthread_mutex_lock(&w->lock);
    w->deadline_ms = INT64_MAX;
    (void)pthread_mutex_unlock(&w->lock);
}

static void delete_for_ever(struct hand *hand, struct job *job)
{
    struct worker *w = hand->worker;

    (void)pthread_mutex_lock(&w->lock);
    jobs_stop_beat(w, job);
    job->lease_end_ms = INT64_MAX;
    job->stage = STAGE_DELETING;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    (void)settle_delete(hand, job);
    settle_forget(hand, job);
}

static void set_hangs_when_sqs_down(struct worker *w)
{
    w->rules.on_term = no_deadline;
    w->rules.acknowledge = delete_for_ever;
}

const struct bug bugs_stop[] = {
    {"exit-now-on-sigterm", set_exit_now_on_sigterm},
    {"ignores-sigterm", set_ignores_sigterm},
    {"keeps-polling", set_keeps_polling},
    {"strands-last-receive", set_strands_last_receive},
    {"heartbeat-stops-at-sigterm", set_heartbeat_stops_at_sigterm},
    {"delete-unfinished", set_delete_unfinished},
    {"ack-buffer-lost", set_ack_buffer_lost},
    {"hangs-when-sqs-down", set_hangs_when_sqs_down},
    {NULL, NULL},
};
