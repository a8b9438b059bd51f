/* The whole runtime against a real server process. */
#include "client/internal.h"
#include "client/quern_consumer.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "server/base/str.h"
#include "tests/support/live_server.h"

enum { IDS_MAX = 64, LIMIT_S = 30 };

/* What a consumer did, as its callbacks told. */
struct diary {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct quern_consumer *consumer;
    pthread_t thread;
    char bodies[IDS_MAX][16]; /* in the order of the handler's calls */
    int handled;
    int finished;
    int quarantined;
    char states[64];
    char log[16384];
    bool is_open; /* what a handler waits for */
};

static struct live_server server;
static struct diary diary;
static char *queue_url;
static struct quern_error err;
static struct quern_consumer_options options;

static void make_queue(const char *name, json_t *attributes_take)
{
    quern_text_free(queue_url);
    queue_url = NULL;
    struct quern_pairs *attributes = quern_json_pairs(attributes_take);
    cr_assert(quern_create_queue(server.client, name, attributes, NULL, &queue_url, &err), "%s",
              err.message);
    quern_answer_free(attributes);
    json_decref(attributes_take);
    options.queue_url = queue_url;
}

static void note(struct diary *d, int *count)
{
    (void)pthread_mutex_lock(&d->lock);
    (*count)++;
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->lock);
}

static void on_finished(void *state, const struct quern_delivery *delivery)
{
    (void)delivery;
    note(state, &((struct diary *)state)->finished);
}

static bool quarantine(void *state, const struct quern_delivery *delivery, const char *reason)
{
    (void)delivery;
    cr_expect_str_eq(reason, "no such order");
    note(state, &((struct diary *)state)->quarantined);
    return true;
}

static void on_state(void *state, enum quern_state from, enum quern_state to)
{
    struct diary *d = state;
    size_t len = strlen(d->states);

    (void)from;
    (void)snprintf(d->states + len, sizeof(d->states) - len, "%s ", quern_state_name(to));
}

static void on_log(void *state, const char *line)
{
    struct diary *d = state;
    size_t len = strlen(d->log);

    (void)snprintf(d->log + len, sizeof(d->log) - len, "%s\n", line);
}

/* "retry" fails at first, "permanent" and "hang" do as they say, "gate" waits for is_open, "nap"
 * for the end of its first lease. */
static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    struct diary *d = state;
    const char *body = quern_delivery_body(delivery, NULL);

    (void)pthread_mutex_lock(&d->lock);
    if (d->handled < IDS_MAX) {
        (void)snprintf(d->bodies[d->handled], sizeof(d->bodies[0]), "%s", body);
    }
    d->handled++;
    (void)pthread_cond_broadcast(&d->changed);
    while (strcmp(body, "gate") == 0 && !d->is_open) {
        (void)pthread_cond_wait(&d->changed, &d->lock);
    }
    (void)pthread_mutex_unlock(&d->lock);
    if (strcmp(body, "hang") == 0) {
        struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};
        (void)poll(&cancel, 1, LIMIT_S * 1000);
        return quern_retry(-1);
    }
    if (strcmp(body, "nap") == 0 && quern_delivery_receive_count(delivery) == 1) {
        struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};
        (void)poll(&cancel, 1, LIMIT_S * 1000); /* until the lease is lost */
        return quern_retry(-1);
    }
    if (strcmp(body, "permanent") == 0) {
        return quern_permanent("no such order");
    }
    bool fails = strcmp(body, "retry") == 0 && quern_delivery_receive_count(delivery) == 1;
    return fails ? quern_retry(0) : quern_done();
}

static void open_all(void)
{
    live_server_start(&server, QN_TEST_PROGRAM);
    (void)pthread_mutex_init(&diary.lock, NULL);
    (void)pthread_cond_init(&diary.changed, NULL);
    options = (struct quern_consumer_options){.client = server.options,
                                              .handler = handle,
                                              .state = &diary,
                                              .on_finished = on_finished,
                                              .on_state = on_state,
                                              .on_log = on_log,
                                              .quarantine = quarantine,
                                              .seed = 1};
    make_queue("q", NULL);
}

static void close_all(void)
{
    quern_text_free(queue_url);
    live_server_stop(&server);
}

TestSuite(consumer, .init = open_all, .fini = close_all, .timeout = 60);

static void send_text(const char *text, const char *group)
{
    const struct quern_message message = {.body = text,
                                          .body_len = strlen(text),
                                          .delay_s = -1,
                                          .group_id = group,
                                          .deduplication_id = group != NULL ? text : NULL};

    cr_assert(quern_send_message(server.client, queue_url, &message, NULL, &err), "%s",
              err.message);
}

static void *run(void *consumer)
{
    struct quern_error said;

    cr_expect(quern_consumer_run(consumer, &said), "%s", said.message);
    return NULL;
}

static void start(void)
{
    cr_assert(quern_consumer_new(&options, &diary.consumer, &err), "%s", err.message);
    cr_assert_eq(pthread_create(&diary.thread, NULL, run, diary.consumer), 0);
}

static void stop(void)
{
    quern_consumer_stop(diary.consumer);
    (void)pthread_join(diary.thread, NULL);
}

static void wait_for(const int *count, int value)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_S;
    (void)pthread_mutex_lock(&diary.lock);
    while (*count < value && pthread_cond_timedwait(&diary.changed, &diary.lock, &until) == 0) {
    }
    cr_assert_geq(*count, value);
    (void)pthread_mutex_unlock(&diary.lock);
}

static void finish(void)
{
    stop();
    quern_consumer_free(diary.consumer);
}

static const char *left(const char *attribute, struct quern_pairs **ret_attributes)
{
    cr_assert(quern_get_queue_attributes(server.client, queue_url, NULL, 0, ret_attributes, &err));
    return quern_pairs_get(*ret_attributes, attribute);
}

static void expect_left(const char *attribute, const char *value)
{
    struct quern_pairs *attributes = NULL;

    cr_expect_str_eq(left(attribute, &attributes), value);
    quern_answer_free(attributes);
}

static void expect_empty(void)
{
    expect_left("ApproximateNumberOfMessages", "0");
    expect_left("ApproximateNumberOfMessagesNotVisible", "0");
}

/* ---- construction ---- */

Test(consumer, interval_is_checked_against_the_timeout_of_the_queue)
{
    options.heartbeat_interval_ms = 25000; /* of 30 s, which is what a queue has */
    cr_assert(quern_consumer_new(&options, &diary.consumer, &err));
    quern_consumer_free(diary.consumer);
    options.heartbeat_interval_ms = 26000;
    cr_expect_not(quern_consumer_new(&options, &diary.consumer, &err));
    cr_expect_str_eq(err.code, "InvalidParameterValue");
    cr_expect_not_null(strstr(err.message, "25000"));
}

Test(consumer, short_lease_needs_to_be_allowed)
{
    make_queue("short", json_pack("{s:s}", "VisibilityTimeout", "4"));
    cr_expect_not(quern_consumer_new(&options, &diary.consumer, &err));
    options.allows_short_leases = true;
    cr_assert(quern_consumer_new(&options, &diary.consumer, &err));
    quern_consumer_free(diary.consumer);
}

Test(consumer, options_out_of_bounds_are_named)
{
    options.max_messages = 11;
    cr_expect_not(quern_consumer_new(&options, &diary.consumer, &err));
    cr_expect_not_null(strstr(err.message, "max_messages"));
    options.max_messages = 0;
    options.handler = NULL;
    cr_expect_not(quern_consumer_new(&options, &diary.consumer, &err));
    cr_expect_not_null(strstr(err.message, "handler"));
}

Test(consumer, one_that_never_ran_can_be_freed)
{
    cr_assert(quern_consumer_new(&options, &diary.consumer, &err));
    cr_expect_not(quern_consumer_is_ready(diary.consumer));
    quern_consumer_free(diary.consumer);
}

/* ---- work ---- */

Test(consumer, every_message_is_worked_on_deleted_and_finished_once)
{
    struct quern_counters counters;
    char text[16];

    for (int i = 0; i < 25; i++) {
        (void)snprintf(text, sizeof(text), "m%d", i);
        send_text(text, NULL);
    }
    start();
    wait_for(&diary.finished, 25);
    stop();
    quern_consumer_count(diary.consumer, &counters);
    cr_expect_eq(diary.handled, 25);
    cr_expect_eq(diary.finished, 25);
    cr_expect_eq(counters.deleted, 25);
    cr_expect_eq(counters.succeeded, 25);
    cr_expect_eq(counters.in_hand, 0);
    cr_expect_str_eq(diary.states, "running draining stopped ");
    expect_empty();
    quern_consumer_free(diary.consumer);
}

Test(consumer, failed_message_comes_back)
{
    send_text("retry", NULL);
    start();
    wait_for(&diary.finished, 1);
    finish();
    cr_expect_eq(diary.handled, 2);
    expect_empty();
}

Test(consumer, message_that_can_never_succeed_is_quarantined_and_not_finished)
{
    send_text("permanent", NULL);
    send_text("fine", NULL);
    start();
    wait_for(&diary.quarantined, 1);
    wait_for(&diary.finished, 1);
    finish();
    cr_expect_eq(diary.finished, 1);
    expect_empty();
}

Test(consumer, without_a_quarantine_it_stays_in_the_queue)
{
    options.quarantine = NULL;
    send_text("permanent", NULL);
    start();
    wait_for(&diary.handled, 1);
    finish();
    cr_expect_eq(diary.finished, 0);
    expect_left("ApproximateNumberOfMessagesNotVisible", "1");
}

Test(consumer, slow_message_does_not_block_the_others)
{
    char text[16];

    options.workers = 2;
    send_text("gate", NULL);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof(text), "m%d", i);
        send_text(text, NULL);
    }
    start();
    wait_for(&diary.finished, 20);
    (void)pthread_mutex_lock(&diary.lock);
    diary.is_open = true;
    (void)pthread_cond_broadcast(&diary.changed);
    (void)pthread_mutex_unlock(&diary.lock);
    wait_for(&diary.finished, 21);
    finish();
    expect_empty();
}

Test(consumer, group_is_worked_on_in_order_also_after_a_failure)
{
    make_queue("q.fifo", json_pack("{s:s}", "FifoQueue", "true"));
    send_text("a0", "A");
    send_text("retry", "A");
    send_text("a2", "A");
    send_text("a3", "A");
    start();
    wait_for(&diary.finished, 4);
    finish();
    static const char *const order[] = {"a0", "retry", "retry", "a2", "a3"};
    cr_assert_eq(diary.handled, 5);
    for (int i = 0; i < 5; i++) {
        cr_expect_str_eq(diary.bodies[i], order[i]);
    }
    expect_empty();
}

/* A lease of 1 s that nobody extends is over before the work is. */
Test(consumer, receiving_goes_on_after_leases_were_lost_in_hand)
{
    options.workers = 1;
    options.max_messages = 10;
    options.visibility_s = 1;
    options.heartbeat_interval_ms = -1;
    send_text("nap", NULL);
    for (int i = 0; i < 3; i++) {
        send_text("m", NULL);
    }
    start();
    wait_for(&diary.finished, 4);
    stop();
    struct quern_counters counters;
    quern_consumer_count(diary.consumer, &counters);
    cr_expect_geq(counters.lapses, 1);
    quern_consumer_free(diary.consumer);
    expect_empty();
}

/* ---- the end ---- */

Test(consumer, long_poll_does_not_hold_up_the_end)
{
    struct timespec begun;
    struct timespec ended;

    start();
    send_text("m", NULL); /* once it is done the poll is parked again, or about to be */
    wait_for(&diary.finished, 1);
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    finish();
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    cr_expect_lt(ended.tv_sec - begun.tv_sec, 5); /* its wait is 20 s */
}

Test(consumer, stopped_before_it_runs_it_ends_at_once)
{
    cr_assert(quern_consumer_new(&options, &diary.consumer, &err));
    quern_consumer_stop(diary.consumer);
    cr_expect(quern_consumer_run(diary.consumer, &err));
    cr_expect_eq(quern_consumer_state(diary.consumer), QUERN_STOPPED);
    cr_expect_not(quern_consumer_run(diary.consumer, &err));
    quern_consumer_free(diary.consumer);
}

Test(consumer, begun_work_is_cancelled_at_the_end_of_the_grace_and_given_back)
{
    options.grace_ms = 800;
    options.workers = 1;
    send_text("hang", NULL);
    start();
    wait_for(&diary.handled, 1);
    stop();
    cr_expect_eq(quern_consumer_unfinished(diary.consumer), 0);
    cr_expect_eq(diary.finished, 0);
    expect_left("ApproximateNumberOfMessages", "1");
    quern_consumer_free(diary.consumer);
}

Test(consumer, handler_that_does_not_return_is_not_waited_for)
{
    options.grace_ms = 400;
    send_text("gate", NULL);
    start();
    wait_for(&diary.handled, 1);
    stop();
    cr_expect_eq(quern_consumer_unfinished(diary.consumer), 1);
    (void)pthread_mutex_lock(&diary.lock);
    diary.is_open = true;
    (void)pthread_cond_broadcast(&diary.changed);
    (void)pthread_mutex_unlock(&diary.lock);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(diary.finished, 0);
}

/* ---- what it says ---- */

Test(consumer, lines_are_json_with_ids_and_without_the_payload)
{
    send_text("permanent", NULL);
    start();
    wait_for(&diary.quarantined, 1);
    finish();
    struct qn_str rest = qn_str_from_cstr(diary.log);
    bool told = false;
    while (rest.len > 0) {
        struct qn_str line = qn_str_cut(rest, '\n', &rest);
        json_t *read = json_loadb(line.ptr, line.len, 0, NULL);
        cr_assert_not_null(read, "%.*s", QN_STR_ARG(line));
        const char *event = json_string_value(json_object_get(read, "event"));
        if (strcmp(event, "message.failed") == 0) {
            told = true;
            cr_expect_str_eq(json_string_value(json_object_get(read, "decision")), "permanent");
            cr_expect_eq(strlen(json_string_value(json_object_get(read, "message_id"))), 36);
            cr_expect_eq(json_integer_value(json_object_get(read, "receive_count")), 1);
        }
        json_decref(read);
    }
    cr_expect(told);
}
