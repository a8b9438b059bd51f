/* The whole runtime against a real server process. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "server/base/str.h"
#include "tests/support/diary.h"

static struct diary diary;
static struct quern_error err;

/* Of the callbacks below; under the diary's lock. */
static int records_left_to_fail;
static int asked; /* to keep a record */
static char keys[64];
static int64_t deleted_before_record = -1;
static int metrics_told; /* of counters */
static struct quern_counters told_counters;

/* "retry" fails at first, "permanent", "unknown" and "hang" do as they say, "gate" waits for the
 * word, "nap" for the end of its first lease. */
static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    const char *body = quern_delivery_body(delivery, NULL);
    bool is_first = quern_delivery_receive_count(delivery) == 1;

    diary_note_call(state, body);
    if (strcmp(body, "gate") == 0) {
        diary_wait_until_open(state);
    }
    if (strcmp(body, "hang") == 0 || (strcmp(body, "nap") == 0 && is_first)) {
        struct pollfd cancel = {.fd = quern_delivery_cancel_fd(delivery), .events = POLLIN};
        (void)poll(&cancel, 1, DIARY_LIMIT_S * 1000);
        return quern_retry(-1);
    }
    if (strcmp(body, "permanent") == 0) {
        return quern_permanent("no such order");
    }
    if (strcmp(body, "unknown") == 0) {
        return quern_ambiguous("payment 7");
    }
    return strcmp(body, "retry") == 0 && is_first ? quern_retry(0) : quern_done();
}

static void open_all(void)
{
    diary_open(&diary, QN_TEST_PROGRAM);
    diary.options.handler = handle;
}

static void close_all(void)
{
    diary_close(&diary);
}

TestSuite(consumer, .init = open_all, .fini = close_all, .timeout = 60);

/* ---- construction ---- */

Test(consumer, interval_is_checked_against_the_timeout_of_the_queue)
{
    diary.options.heartbeat_interval_ms = 25000; /* of 30 s, which is what a queue has */
    cr_assert(quern_consumer_new(&diary.options, &diary.consumer, &err));
    quern_consumer_free(diary.consumer);
    diary.options.heartbeat_interval_ms = 26000;
    cr_expect_not(quern_consumer_new(&diary.options, &diary.consumer, &err));
    cr_expect_str_eq(err.code, "InvalidParameterValue");
    cr_expect_not_null(strstr(err.message, "25000"));
}

Test(consumer, short_lease_needs_to_be_allowed)
{
    diary_make_queue(&diary, "short", json_pack("{s:s}", "VisibilityTimeout", "4"));
    cr_expect_not(quern_consumer_new(&diary.options, &diary.consumer, &err));
    diary.options.allows_short_leases = true;
    cr_assert(quern_consumer_new(&diary.options, &diary.consumer, &err));
    quern_consumer_free(diary.consumer);
}

Test(consumer, options_out_of_bounds_are_named)
{
    diary.options.max_messages = 11;
    cr_expect_not(quern_consumer_new(&diary.options, &diary.consumer, &err));
    cr_expect_not_null(strstr(err.message, "max_messages"));
    diary.options.max_messages = 0;
    diary.options.handler = NULL;
    cr_expect_not(quern_consumer_new(&diary.options, &diary.consumer, &err));
    cr_expect_not_null(strstr(err.message, "handler"));
}

Test(consumer, one_that_never_ran_can_be_freed)
{
    cr_assert(quern_consumer_new(&diary.options, &diary.consumer, &err));
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
        diary_send(&diary, text, NULL);
    }
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 25);
    diary_stop(&diary);
    quern_consumer_count(diary.consumer, &counters);
    cr_expect_eq(diary.handled, 25);
    cr_expect_eq(diary.finished, 25);
    cr_expect_eq(counters.deleted, 25);
    cr_expect_eq(counters.succeeded, 25);
    cr_expect_eq(counters.in_hand, 0);
    cr_expect_str_eq(diary.states, "running draining stopped ");
    diary_expect_empty(&diary);
    quern_consumer_free(diary.consumer);
}

Test(consumer, failed_message_comes_back)
{
    diary_send(&diary, "retry", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_eq(diary.handled, 2);
    diary_expect_empty(&diary);
}

Test(consumer, message_that_can_never_succeed_is_quarantined_and_not_finished)
{
    diary_send(&diary, "permanent", NULL);
    diary_send(&diary, "fine", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.quarantined, 1);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_eq(diary.finished, 1);
    cr_expect_str_eq(diary.reason, "no such order");
    diary_expect_empty(&diary);
}

Test(consumer, without_a_quarantine_it_stays_in_the_queue)
{
    diary.options.quarantine = NULL;
    diary_send(&diary, "permanent", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_finish(&diary);
    cr_expect_eq(diary.finished, 0);
    diary_expect_left(&diary, "ApproximateNumberOfMessagesNotVisible", "1");
}

/* ---- an effect of which nobody knows ---- */

static bool put_on_record(void *state, const struct quern_delivery *delivery, const char *key)
{
    struct diary *d = state;

    (void)delivery;
    int64_t deleted = diary_count(d).deleted;
    (void)pthread_mutex_lock(&d->lock);
    deleted_before_record = deleted;
    bool fails = records_left_to_fail-- > 0;
    size_t len = strlen(keys);
    (void)snprintf(keys + len, sizeof(keys) - len, "%s, ", key);
    (void)pthread_mutex_unlock(&d->lock);
    diary_note(d, &asked);
    return !fails;
}

static struct quern_counters stop_and_count(void)
{
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    return counters;
}

Test(consumer, message_with_an_unknown_effect_is_deleted_once_that_is_on_record)
{
    diary.options.reconcile = put_on_record;
    diary_send(&diary, "unknown", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &asked, 1);
    struct quern_counters counters = stop_and_count();
    cr_expect_str_eq(keys, "payment 7, ");
    cr_expect_eq(deleted_before_record, 0);
    cr_expect_eq(diary.handled, 1);
    cr_expect_eq(diary.finished, 0); /* nobody knows that it is */
    cr_expect_eq(counters.ambiguous, 1);
    cr_expect_eq(counters.deleted, 1);
    diary_expect_empty(&diary);
}

Test(consumer, message_with_an_unknown_effect_comes_back_when_the_record_fails)
{
    diary.options.reconcile = put_on_record;
    records_left_to_fail = 1;
    diary_send(&diary, "unknown", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &asked, 2);
    struct quern_counters counters = stop_and_count();
    cr_expect_eq(deleted_before_record, 0);
    cr_expect_eq(diary.handled, 2);
    cr_expect_eq(counters.ambiguous, 2);
    cr_expect_eq(counters.deleted, 1);
    diary_expect_empty(&diary);
}

Test(consumer, message_with_an_unknown_effect_stays_when_nobody_keeps_records)
{
    diary_send(&diary, "unknown", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 2);
    struct quern_counters counters = stop_and_count();
    cr_expect_eq(counters.deleted, 0);
    cr_expect_eq(diary.quarantined, 0);
}

Test(consumer, slow_message_does_not_block_the_others)
{
    char text[16];

    diary.options.workers = 2;
    diary_send(&diary, "gate", NULL);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof(text), "m%d", i);
        diary_send(&diary, text, NULL);
    }
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 20);
    diary_let_go(&diary);
    diary_wait_for(&diary, &diary.finished, 21);
    diary_finish(&diary);
    diary_expect_empty(&diary);
}

Test(consumer, group_is_worked_on_in_order_also_after_a_failure)
{
    diary_make_queue(&diary, "q.fifo", json_pack("{s:s}", "FifoQueue", "true"));
    diary_send(&diary, "a0", "A");
    diary_send(&diary, "retry", "A");
    diary_send(&diary, "a2", "A");
    diary_send(&diary, "a3", "A");
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 4);
    diary_finish(&diary);
    static const char *const order[] = {"a0", "retry", "retry", "a2", "a3"};
    cr_assert_eq(diary.handled, 5);
    for (int i = 0; i < 5; i++) {
        cr_expect_str_eq(diary.bodies[i], order[i]);
    }
    diary_expect_empty(&diary);
}

/* A lease of 1 s that nobody extends is over before the work is. */
Test(consumer, receiving_goes_on_after_leases_were_lost_in_hand)
{
    diary.options.workers = 1;
    diary.options.max_messages = 10;
    diary.options.visibility_s = 1;
    diary.options.heartbeat_interval_ms = -1;
    diary_send(&diary, "nap", NULL);
    for (int i = 0; i < 3; i++) {
        diary_send(&diary, "m", NULL);
    }
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 4);
    diary_stop(&diary);
    struct quern_counters counters;
    quern_consumer_count(diary.consumer, &counters);
    cr_expect_geq(counters.lapses, 1);
    quern_consumer_free(diary.consumer);
    diary_expect_empty(&diary);
}

/* ---- the end ---- */

Test(consumer, long_poll_does_not_hold_up_the_end)
{
    struct timespec begun;
    struct timespec ended;

    diary_start(&diary);
    diary_send(&diary, "m", NULL); /* once it is done the poll is parked again, or about to be */
    diary_wait_for(&diary, &diary.finished, 1);
    (void)clock_gettime(CLOCK_MONOTONIC, &begun);
    diary_finish(&diary);
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    cr_expect_lt(ended.tv_sec - begun.tv_sec, 5); /* its wait is 20 s */
}

Test(consumer, stopped_before_it_runs_it_ends_at_once)
{
    cr_assert(quern_consumer_new(&diary.options, &diary.consumer, &err));
    quern_consumer_stop(diary.consumer);
    cr_expect(quern_consumer_run(diary.consumer, &err));
    cr_expect_eq(quern_consumer_state(diary.consumer), QUERN_STOPPED);
    cr_expect_not(quern_consumer_run(diary.consumer, &err));
    quern_consumer_free(diary.consumer);
}

Test(consumer, begun_work_is_cancelled_at_the_end_of_the_grace_and_given_back)
{
    diary.options.grace_ms = 800;
    diary.options.workers = 1;
    diary_send(&diary, "hang", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_stop(&diary);
    cr_expect_eq(quern_consumer_unfinished(diary.consumer), 0);
    cr_expect_eq(diary.finished, 0);
    diary_expect_left(&diary, "ApproximateNumberOfMessages", "1");
    quern_consumer_free(diary.consumer);
}

Test(consumer, handler_that_does_not_return_is_not_waited_for)
{
    diary.options.grace_ms = 400;
    diary_send(&diary, "gate", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_stop(&diary);
    cr_expect_eq(quern_consumer_unfinished(diary.consumer), 1);
    diary_let_go(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(diary.finished, 0);
}

/* ---- what it says ---- */

static void note_counters(void *state, const struct quern_counters *counters)
{
    struct diary *d = state;

    (void)pthread_mutex_lock(&d->lock);
    told_counters = *counters;
    (void)pthread_mutex_unlock(&d->lock);
    diary_note(d, &metrics_told);
}

Test(consumer, counters_are_told_at_each_interval_and_at_the_end)
{
    diary.options.on_metrics = note_counters;
    diary.options.metrics_interval_ms = 50;
    diary_start(&diary);
    diary_wait_for(&diary, &metrics_told, 3);
    cr_expect_eq(told_counters.succeeded, 0);
    diary_send(&diary, "fine", NULL);
    diary_wait_for(&diary, &diary.finished, 1);
    struct quern_counters counters = stop_and_count();
    cr_expect_geq(metrics_told, 4);
    cr_expect_eq(told_counters.succeeded, 1);
    cr_expect_eq(told_counters.deleted, 1);
    cr_expect_eq(told_counters.in_hand, 0);
    cr_expect_eq(memcmp(&told_counters, &counters, sizeof(counters)), 0);
}

Test(consumer, counters_are_told_once_at_the_end_of_a_short_life)
{
    diary.options.on_metrics = note_counters;
    diary_send(&diary, "fine", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 1);
    diary_finish(&diary);
    cr_expect_eq(metrics_told, 1);
    cr_expect_eq(told_counters.deleted, 1);
}

Test(consumer, lines_are_json_with_ids_and_without_the_payload)
{
    diary_send(&diary, "permanent", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.quarantined, 1);
    diary_finish(&diary);
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
