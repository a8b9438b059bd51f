/* From options to threads, and back. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "client/consumer/internal.h"
#include "client/consumer/lease.h"
#include "client/internal.h"
#include "server/base/clock.h"

enum {
    WORKERS_MAX = 1024,
    RECEIVERS_AT_MOST = 4,   /* unless asked for */
    POLL_TIMEOUT_MS = 10000, /* beyond the wait of the poll */
    CALL_TIMEOUT_MS = 5000,
    BEAT_TIMEOUT_LEAST_MS = 500,
    LEARN_FIRST_MS = 500,
    LEARN_LAST_MS = 5000,
    VISIBILITY_MAX_S = 12 * 3600
};

int64_t quern_consumer_now_ms(const struct quern_consumer *c)
{
    return c->options.now_ms != NULL ? c->options.now_ms(c->options.state)
                                     : qn_clock_monotonic_ms();
}

void quern_consumer_wait(struct quern_consumer *c, pthread_cond_t *condition, int64_t wait_ms)
{
    struct timespec until;

    if (wait_ms < 0) {
        (void)pthread_cond_wait(condition, &c->lock);
        return;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(condition, &c->lock, &until);
}

int64_t quern_consumer_pause_ms(struct quern_consumer *c, int64_t first_ms, int64_t last_ms,
                                int64_t nth)
{
    int64_t pause_ms = first_ms;

    for (int64_t n = 1; n < nth && pause_ms < last_ms; n++) {
        pause_ms *= 2;
    }
    pause_ms = pause_ms < last_ms ? pause_ms : last_ms;
    return pause_ms - (int64_t)qn_random_below(&c->random, (uint64_t)pause_ms / 4 + 1);
}

void quern_consumer_wake(struct quern_consumer *c)
{
    const struct quern_counters *count = &c->hand.counters;

    if (c->hand.settling_count > 0) {
        (void)pthread_cond_signal(&c->acks);
    }
    if (count->waiting > 0) {
        (void)pthread_cond_signal(&c->work);
    }
    /* With the circuit open who receives must know for how long: nothing else may ever happen. */
    if (c->hand.circuit.is_open || quern_hand_ask(&c->hand, quern_consumer_now_ms(c)) > 0) {
        (void)pthread_cond_broadcast(&c->room);
    }
    if (c->hand.is_draining) {
        (void)pthread_cond_broadcast(&c->idle);
    }
}

/* ---- options ---- */

static bool within(const char *name, int64_t min, int64_t max, int64_t otherwise, int64_t *value,
                   struct quern_error *err)
{
    if (*value == 0) {
        *value = otherwise;
    }
    if (*value >= min && *value <= max) {
        return true;
    }
    return quern_fail(err, "InvalidParameterValue", 0, "%s must be between %lld and %lld, not %lld",
                      name, (long long)min, (long long)max, (long long)*value);
}

static bool check_stages(const struct quern_consumer_options *o, struct quern_error *err)
{
    const char *wrong = NULL;

    if (o->queue_url == NULL) {
        wrong = "queue_url is missing";
    } else if (o->inbox == NULL && o->handler == NULL) {
        wrong = "handler is missing";
    } else if (o->inbox == NULL && (o->apply != NULL || o->identify != NULL)) {
        wrong = "apply and identify need an inbox";
    } else if (o->inbox != NULL && o->apply == NULL) {
        wrong = "apply is missing: with an inbox the effect is written there";
    } else if (o->inbox != NULL && o->identify == NULL && o->kinds == NULL) {
        wrong = "an inbox needs identify, or kinds of envelopes, whose key it takes";
    }
    return wrong == NULL || quern_fail(err, "InvalidParameterValue", 0, "%s", wrong);
}

static bool check_options(struct quern_consumer_options *o, struct quern_error *err)
{
    if (!check_stages(o, err)) {
        return false;
    }
    if (!within("workers", 1, WORKERS_MAX, 4, &o->workers, err)) {
        return false;
    }
    int64_t most = o->workers < QUERN_BATCH_MAX ? o->workers : QUERN_BATCH_MAX;
    if (!within("max_messages", 1, QUERN_BATCH_MAX, most, &o->max_messages, err)) {
        return false;
    }
    int64_t needed = (o->workers + o->max_messages - 1) / o->max_messages;
    needed = needed < RECEIVERS_AT_MOST ? needed : RECEIVERS_AT_MOST;
    o->delete_lag_ms = o->delete_lag_ms == 0 ? 20 : o->delete_lag_ms < 0 ? 0 : o->delete_lag_ms;
    return within("receivers", 1, QUERN_RECEIVERS_MAX, needed, &o->receivers, err) &&
           within("wait_s", 1, 20, 20, &o->wait_s, err) &&
           within("visibility_s", 0, VISIBILITY_MAX_S, 0, &o->visibility_s, err) &&
           within("work_max_ms", 0, INT32_MAX, 0, &o->work_max_ms, err) &&
           within("retry_base_s", 1, VISIBILITY_MAX_S, 1, &o->retry_base_s, err) &&
           within("retry_max_s", 0, VISIBILITY_MAX_S, 0, &o->retry_max_s, err) &&
           within("rate_burst", 1, INT32_MAX, o->workers, &o->rate_burst, err) &&
           within("circuit_failures", 0, INT32_MAX, 0, &o->circuit_failures, err) &&
           within("circuit_open_ms", 1, INT32_MAX, 5000, &o->circuit_open_ms, err) &&
           within("tenant_workers", 0, WORKERS_MAX, 0, &o->tenant_workers, err) &&
           within("grace_ms", 1, INT32_MAX, 10000, &o->grace_ms, err) &&
           within("delete_lag_ms", 0, 60000, 0, &o->delete_lag_ms, err) &&
           within("metrics_interval_ms", 1, INT32_MAX, 10000, &o->metrics_interval_ms, err);
}

static void set_hand(struct quern_consumer *c)
{
    const struct quern_consumer_options *o = &c->options;

    c->hand = (struct quern_hand){
        .is_fifo = c->is_fifo,
        .workers = o->workers,
        .max_messages = o->max_messages,
        .tenant_workers = o->tenant_workers,
        .delete_lag_ms = o->delete_lag_ms,
        .tenant = o->tenant,
        .state = o->state,
        .on_lapse = quern_note_lapse,
        .circuit = {.failures_max = o->circuit_failures, .open_ms = o->circuit_open_ms},
    };
    quern_bucket_init(&c->hand.bucket, o->rate_per_s, o->rate_burst, quern_consumer_now_ms(c));
    quern_hand_init(&c->hand);
}

/* ---- the visibility timeout ---- */

static bool set_visibility(struct quern_consumer *c, int64_t visibility_s, struct quern_error *err)
{
    struct quern_consumer_options *o = &c->options;

    c->hand.visibility_ms = visibility_s * 1000;
    if (!quern_lease_interval(o, c->hand.visibility_ms, &c->hand.beat_interval_ms, err)) {
        return false;
    }
    o->work_max_ms = o->work_max_ms > 0 ? o->work_max_ms : 10 * c->hand.visibility_ms;
    o->retry_max_s = o->retry_max_s > 0 ? o->retry_max_s : visibility_s;
    return true;
}

/* True when it was answered: then *ret_right is whether what was answered will do. */
static bool ask_visibility(struct quern_consumer *c, bool *ret_right, struct quern_error *err)
{
    static const char *const names[] = {"VisibilityTimeout"};
    struct quern_pairs *attributes = NULL;
    int64_t visibility_s = 30;

    if (!quern_get_queue_attributes(c->ackers[0].client, c->options.queue_url, names, 1,
                                    &attributes, err)) {
        return false;
    }
    const char *told = quern_pairs_get(attributes, names[0]);
    if (!qn_str_to_int64(qn_str_from_cstr(told), 0, VISIBILITY_MAX_S, &visibility_s)) {
        visibility_s = 30;
    }
    quern_answer_free(attributes);
    *ret_right = visibility_s > 0 ? set_visibility(c, visibility_s, err)
                                  : quern_fail(err, "InvalidParameterValue", 0,
                                               "the visibility timeout of the queue is 0: nothing "
                                               "can be worked on, give visibility_s");
    return true;
}

bool quern_consumer_lacks_queue(const struct quern_consumer *c, const struct quern_error *err)
{
    return c->options.needs_queue && strcmp(err->code, "QueueDoesNotExist") == 0;
}

static bool is_stopping(const struct quern_consumer *c, int64_t wait_ms)
{
    struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};

    return poll(&stop, 1, (int)wait_ms) > 0;
}

/* Asked until it is answered: the queue may come later than its consumer. */
static bool learn_visibility(struct quern_consumer *c, struct quern_error *err)
{
    bool is_right = true;

    for (int64_t nth = 1; c->hand.visibility_ms == 0 && !is_stopping(c, 0); nth++) {
        if (ask_visibility(c, &is_right, err)) {
            return is_right;
        }
        if (quern_consumer_lacks_queue(c, err)) {
            return false;
        }
        quern_tell_error(c, "queue.unknown", err);
        (void)is_stopping(c, quern_consumer_pause_ms(c, LEARN_FIRST_MS, LEARN_LAST_MS, nth));
    }
    return true;
}

/* ---- construction ---- */

static bool open_caller(struct quern_consumer *c, struct quern_caller *caller, int64_t number,
                        int64_t timeout_ms, struct quern_error *err)
{
    struct quern_options options = c->options.client;

    options.timeout_ms = timeout_ms;
    options.max_attempts = 1; /* the runtime knows better when to repeat what */
    caller->consumer = c;
    caller->number = number;
    return quern_client_new(&options, &caller->client, err);
}

/* An extension that is not answered must leave time for another. */
static int64_t beat_timeout_ms(const struct quern_hand *hand)
{
    int64_t half_ms = (hand->visibility_ms - hand->beat_interval_ms) / 2;

    half_ms = half_ms < CALL_TIMEOUT_MS ? half_ms : CALL_TIMEOUT_MS;
    return half_ms > BEAT_TIMEOUT_LEAST_MS ? half_ms : BEAT_TIMEOUT_LEAST_MS;
}

bool quern_consumer_prepare(struct quern_consumer *c, struct quern_error *err)
{
    return learn_visibility(c, err) &&
           open_caller(c, &c->beater, 0, beat_timeout_ms(&c->hand), err);
}

static void init_locks(struct quern_consumer *c)
{
    pthread_cond_t *const conditions[] = {&c->work, &c->room, &c->acks, &c->leases, &c->idle};
    pthread_condattr_t attributes;

    (void)pthread_mutex_init(&c->lock, NULL);
    (void)pthread_mutex_init(&c->log_lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        (void)pthread_cond_init(conditions[i], &attributes);
    }
    (void)pthread_condattr_destroy(&attributes);
}

static bool open_all(struct quern_consumer *c, struct quern_error *err)
{
    struct quern_consumer_options *o = &c->options;
    bool is_right = true;

    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->stop_fd < 0) {
        return quern_fail(err, "SystemError", 0, "eventfd: %s", strerror(errno));
    }
    for (int64_t i = 0; i < o->receivers; i++) {
        if (!open_caller(c, &c->receivers[i], i, POLL_TIMEOUT_MS, err) ||
            !open_caller(c, &c->ackers[i], i, CALL_TIMEOUT_MS, err)) {
            return false;
        }
    }
    if (o->visibility_s > 0) {
        return set_visibility(c, o->visibility_s, err);
    }
    return ask_visibility(c, &is_right, err) ? is_right : !quern_consumer_lacks_queue(c, err);
}

bool quern_consumer_new(const struct quern_consumer_options *options,
                        struct quern_consumer **ret_consumer, struct quern_error *err)
{
    struct quern_consumer_options checked = *options;

    if (!check_options(&checked, err)) {
        return false;
    }
    struct quern_consumer *c = qn_memory_new(sizeof(*c));
    c->options = checked;
    c->is_fifo = qn_str_ends_with(qn_str_from_cstr(checked.queue_url), QN_STR(".fifo"));
    init_locks(c);
    qn_random_init(&c->random, checked.seed != 0 ? checked.seed : qn_random_fresh_seed(), 0, 0);
    set_hand(c);
    c->turned_at_ms = quern_consumer_now_ms(c);
    c->workers = qn_memory_new_array((size_t)checked.workers, sizeof(*c->workers));
    if (!open_all(c, err)) {
        quern_consumer_free(c);
        return false;
    }
    *ret_consumer = c;
    return true;
}

void quern_consumer_free(struct quern_consumer *c)
{
    if (c == NULL) {
        return;
    }
    quern_consumer_join_workers(c);
    quern_hand_done(&c->hand);
    for (int64_t i = 0; i < c->options.receivers; i++) {
        quern_client_free(c->receivers[i].client);
        quern_client_free(c->ackers[i].client);
    }
    quern_client_free(c->beater.client);
    json_decref(c->noted);
    qn_memory_free(c->workers);
    if (c->stop_fd >= 0) {
        (void)close(c->stop_fd);
    }
    pthread_cond_t *const conditions[] = {&c->work, &c->room, &c->acks, &c->leases, &c->idle};
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        (void)pthread_cond_destroy(conditions[i]);
    }
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_mutex_destroy(&c->log_lock);
    qn_memory_free(c);
}
