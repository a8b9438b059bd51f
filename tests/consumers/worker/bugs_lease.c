/* Leases that lapse, last for ever, or are lost sight of. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/clock.h"
#include "tests/consumers/worker/bugs.h"

enum { PREFETCH_MANY = 100, TWELVE_HOURS_S = 43200, LEAK_TICK_MS = 100 };

/* no-heartbeat */
static void set_no_heartbeat(struct worker *w)
{
    w->settings.no_heartbeat = true;
}

/* heartbeat-too-late: the first extension comes after the lease. */
static int64_t beyond_the_lease_ms(const struct worker *w)
{
    return w->visibility_ms + 1000;
}

static void set_heartbeat_too_late(struct worker *w)
{
    w->rules.beat_every_ms = beyond_the_lease_ms;
}

/* heartbeat-dies-on-error: one failed extension is the last one. */
static void stop_beating(struct worker *w, struct job *job, const struct quern_error *err)
{
    (void)err;
    (void)pthread_mutex_lock(&w->lock);
    job->beats = false;
    (void)pthread_mutex_unlock(&w->lock);
}

static void set_heartbeat_dies_on_error(struct worker *w)
{
    w->rules.on_beat_error = stop_beating;
}

/* heartbeat-crashes-process: nobody catches what the timer throws. */
static void crash_on_beat(struct worker *w, struct job *job, const struct quern_error *err)
{
    (void)w;
    (void)job;
    worker_log("unhandled: %s", err->code);
    _exit(1);
}

static void set_heartbeat_crashes_process(struct worker *w)
{
    w->rules.on_beat_error = crash_on_beat;
}

/* heartbeat-leak: the timer of a message is never cancelled. */
struct leak {
    struct worker *worker;
    char *handle;
};

static void *beat_for_ever(void *state)
{
    struct leak *leak = state;
    struct worker *w = leak->worker;
    struct hand hand = {0};
    struct quern_error err;
    int64_t next_ms = qn_clock_monotonic_ms() + w->visibility_ms / 2;

    for (bool ok = hand_open(w, &hand, 2000); ok && !worker_is_stopping(w);) {
        worker_nap(LEAK_TICK_MS);
        if (qn_clock_monotonic_ms() >= next_ms) {
            (void)quern_change_visibility(hand.sqs, w->settings.queue_url, leak->handle,
                                          w->visibility_ms / 1000, &err);
            next_ms += w->visibility_ms / 2;
        }
    }
    hand_close(&hand);
    qn_memory_free(leak->handle);
    qn_memory_free(leak);
    return NULL;
}

static void leave_beating(struct worker *w, struct job *job)
{
    struct leak *leak = qn_memory_new(sizeof(*leak));
    pthread_t thread;

    leak->worker = w;
    leak->handle = qn_memory_copy_text(job->handle, strlen(job->handle));
    if (pthread_create(&thread, NULL, beat_for_ever, leak) == 0) {
        (void)pthread_detach(thread);
    }
    job_free(job);
}

static void leave_at_once(struct worker *w)
{
    stop_drain(w);
    _exit((int)w->settings.exit_code); /* the timers still run */
}

static void set_heartbeat_leak(struct worker *w)
{
    w->rules.over = leave_beating;
    w->rules.drain = leave_at_once;
}

/* heartbeat-forever: no limit to the work, and none to its lease. */
static void set_heartbeat_forever(struct worker *w)
{
    w->settings.work_ms = 0;
}

/* stale-handle: the first handle of a message is kept for good. */
static void keep_first_handle(struct worker *w, struct job *job, json_t *message)
{
    char *first = qn_memory_copy_text(job->handle, strlen(job->handle));

    beat_again(w, job, message);
    qn_memory_free(job->handle);
    job->handle = first;
}

static void admit_with_first_handle(struct worker *w, json_t *messages)
{
    size_t i;
    json_t *message;

    (void)pthread_mutex_lock(&w->lock);
    json_array_foreach(messages, i, message)
    {
        const char *id = message_text(message, "MessageId");
        json_t *first = json_object_get(w->memory, id);
        if (first == NULL) {
            json_object_set(w->memory, id, json_object_get(message, "ReceiptHandle"));
        } else {
            json_object_set(message, "ReceiptHandle", first);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    receive_admit(w, messages);
}

static void set_stale_handle(struct worker *w)
{
    w->memory = json_object();
    w->rules.again = keep_first_handle;
    w->rules.admit = admit_with_first_handle;
}

/* buffer-expiry: fetches a hundred ahead, lets them lapse, and begins them all the same; what comes
 * back meanwhile stands in the buffer twice. */
static bool beat_at_work_only(const struct worker *w, const struct job *job)
{
    return beat_may(w, job) && job->stage == STAGE_RUNNING;
}

static bool always_live(const struct job *job)
{
    (void)job;
    return true;
}

static void take_twice(struct worker *w, struct job *job, json_t *message)
{
    (void)job;
    (void)jobs_add(w, message);
}

static void set_buffer_expiry(struct worker *w)
{
    w->rules.again = take_twice;
    w->settings.prefetch = PREFETCH_MANY;
    w->rules.may_beat = beat_at_work_only;
    w->rules.is_live = always_live;
}

/* hoarder: one worker, ten messages in its drawer. */
static void set_hoarder(struct worker *w)
{
    w->settings.workers = 1;
    w->settings.prefetch = BATCH_MAX;
}

/* lease-too-long */
static void set_lease_too_long(struct worker *w)
{
    w->settings.receive_visibility_s = TWELVE_HOURS_S;
    w->settings.no_heartbeat = true;
}

/* zero-visibility: a receive that leases nothing. */
static void set_zero_visibility(struct worker *w)
{
    w->settings.receive_visibility_s = 0;
    w->settings.no_heartbeat = true;
    w->rules.is_live = always_live;
}

const struct bug bugs_lease[] = {
    {"no-heartbeat", set_no_heartbeat},
    {"heartbeat-too-late", set_heartbeat_too_late},
    {"heartbeat-dies-on-error", set_heartbeat_dies_on_error},
    {"heartbeat-crashes-process", set_heartbeat_crashes_process},
    {"heartbeat-leak", set_heartbeat_leak},
    {"heartbeat-forever", set_heartbeat_forever},
    {"stale-handle", set_stale_handle},
    {"buffer-expiry", set_buffer_expiry},
    {"hoarder", set_hoarder},
    {"lease-too-long", set_lease_too_long},
    {"zero-visibility", set_zero_visibility},
    {NULL, NULL},
};
