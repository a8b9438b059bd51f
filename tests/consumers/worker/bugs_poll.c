/* Polling too much, or not any more; errors that are too much for the process. */
#include <unistd.h>

#include "tests/consumers/worker/bugs.h"

enum { BUSY_MS = 10, NO_LIMIT_MS = 100000000 };

/* short-poll-busy-loop */
static void nap_shortly(struct worker *w)
{
    (void)w;
    worker_nap(BUSY_MS);
}

static void set_short_poll_busy_loop(struct worker *w)
{
    w->settings.wait_s = 0;
    w->rules.on_empty = nap_shortly;
}

/* exit-on-empty: an empty answer is taken for the end of the work. */
static void leave(struct worker *w)
{
    (void)w;
    _exit(0);
}

static void set_exit_on_empty(struct worker *w)
{
    w->rules.on_empty = leave;
}

/* no-client-timeout */
static void set_no_client_timeout(struct worker *w)
{
    w->settings.call_ms = NO_LIMIT_MS;
    w->settings.work_ms = 0;
}

/* dies-on-error: any error of the API ends the process. */
static bool die_of_receive(struct worker *w, const struct quern_error *err, int nth)
{
    (void)w;
    (void)nth;
    worker_log("unhandled: %s", err->code);
    _exit(1);
}

static void die_of_call(struct worker *w, const struct quern_error *err)
{
    (void)die_of_receive(w, err, 1);
}

static void die_of_beat(struct worker *w, struct job *job, const struct quern_error *err)
{
    (void)job;
    (void)die_of_receive(w, err, 1);
}

static void set_dies_on_error(struct worker *w)
{
    w->rules.on_receive_error = die_of_receive;
    w->rules.on_call_error = die_of_call;
    w->rules.on_beat_error = die_of_beat;
}

/* dead-poller: the thread that receives dies, and nobody notices. */
static bool end_polling(struct worker *w, const struct quern_error *err, int nth)
{
    (void)w;
    (void)nth;
    worker_log("receive failed: %s", err->code);
    return false;
}

static void set_dead_poller(struct worker *w)
{
    w->rules.on_receive_error = end_polling;
}

/* tight-error-loop: tries again at once. */
static bool try_at_once(struct worker *w, const struct quern_error *err, int nth)
{
    (void)w;
    (void)err;
    (void)nth;
    return true;
}

static void set_tight_error_loop(struct worker *w)
{
    w->rules.on_receive_error = try_at_once;
}

const struct bug bugs_poll[] = {
    {"short-poll-busy-loop", set_short_poll_busy_loop},
    {"exit-on-empty", set_exit_on_empty},
    {"no-client-timeout", set_no_client_timeout},
    {"dies-on-error", set_dies_on_error},
    {"dead-poller", set_dead_poller},
    {"tight-error-loop", set_tight_error_loop},
    {NULL, NULL},
};
