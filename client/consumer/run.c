/* The life of a consumer: starting, running, draining, stopped. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/consumer/internal.h"
#include "client/internal.h"

const char *quern_state_name(enum quern_state state)
{
    static const char *const names[] = {"starting", "running", "draining", "stopped"};

    return names[state];
}

static void enter(struct quern_consumer *c, enum quern_state to)
{
    (void)pthread_mutex_lock(&c->lock);
    enum quern_state from = c->state;
    c->state = to;
    (void)pthread_mutex_unlock(&c->lock);
    quern_tell(c, "info", "state",
               json_pack("{s:s, s:s, s:s}", "from", quern_state_name(from), "to",
                         quern_state_name(to), "queue", c->options.queue_url));
    if (c->options.on_state != NULL) {
        c->options.on_state(c->options.state, from, to);
    }
}

static bool start(struct quern_caller *caller, struct quern_consumer *c, void *(*loop)(void *),
                  struct quern_error *err)
{
    caller->consumer = c;
    int code = pthread_create(&caller->thread, NULL, loop, caller);
    if (code != 0) {
        return quern_fail(err, "SystemError", 0, "a thread cannot be started: %s", strerror(code));
    }
    caller->is_started = true;
    return true;
}

static bool start_receiver(struct quern_consumer *c, struct quern_caller *caller,
                           struct quern_error *err)
{
    (void)pthread_mutex_lock(&c->lock);
    c->receiving++;
    (void)pthread_mutex_unlock(&c->lock);
    if (start(caller, c, quern_receive_loop, err)) {
        return true;
    }
    (void)pthread_mutex_lock(&c->lock);
    c->receiving--;
    (void)pthread_mutex_unlock(&c->lock);
    return false;
}

/* Those who receive begin last: by then everybody is there whom a message needs. */
static bool start_all(struct quern_consumer *c, struct quern_error *err)
{
    bool ok = start(&c->beater, c, quern_beat_loop, err);

    for (int64_t i = 0; ok && i < c->options.receivers; i++) {
        ok = start(&c->ackers[i], c, quern_ack_loop, err);
    }
    for (int64_t i = 0; ok && i < c->options.workers; i++) {
        ok = start(&c->workers[i], c, quern_work_loop, err);
    }
    for (int64_t i = 0; ok && i < c->options.receivers; i++) {
        ok = start_receiver(c, &c->receivers[i], err);
    }
    return ok;
}

bool quern_consumer_run(struct quern_consumer *c, struct quern_error *err)
{
    struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};

    if (c->has_started) {
        return quern_fail(err, "InvalidParameterValue", 0, "a consumer runs once");
    }
    c->has_started = true;
    if (!quern_consumer_prepare(c, err)) {
        return false;
    }
    bool is_known = c->hand.visibility_ms > 0; /* else it was stopped before the queue answered */
    bool ok = !is_known || start_all(c, err);
    if (ok && is_known) {
        enter(c, QUERN_RUNNING);
        while (poll(&stop, 1, (int)c->options.metrics_interval_ms) <= 0) {
            quern_tell_metrics(c);
        }
    }
    enter(c, QUERN_DRAINING);
    quern_drain(c);
    (void)pthread_mutex_lock(&c->lock);
    (void)quern_tell_noted(c);
    (void)pthread_mutex_unlock(&c->lock);
    quern_tell_metrics(c);
    enter(c, QUERN_STOPPED);
    if (c->is_queue_gone) {
        *err = c->gone;
    }
    return ok && !c->is_queue_gone;
}

void quern_consumer_stop(struct quern_consumer *c)
{
    const uint64_t one = 1;
    int kept = errno; /* of whom a signal interrupted */

    (void)!write(c->stop_fd, &one, sizeof(one));
    errno = kept;
}

int64_t quern_consumer_unfinished(struct quern_consumer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    int64_t running = c->hand.is_draining ? c->hand.counters.running : 0;
    (void)pthread_mutex_unlock(&c->lock);
    return running;
}

enum quern_state quern_consumer_state(struct quern_consumer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    enum quern_state state = c->state;
    (void)pthread_mutex_unlock(&c->lock);
    return state;
}

bool quern_consumer_is_ready(struct quern_consumer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    bool is_ready = c->state == QUERN_RUNNING && c->receive_failures == 0;
    (void)pthread_mutex_unlock(&c->lock);
    return is_ready;
}

int64_t quern_consumer_turn_age_ms(struct quern_consumer *c)
{
    (void)pthread_mutex_lock(&c->lock);
    int64_t age_ms = quern_consumer_now_ms(c) - c->turned_at_ms;
    (void)pthread_mutex_unlock(&c->lock);
    return age_ms > 0 ? age_ms : 0;
}
