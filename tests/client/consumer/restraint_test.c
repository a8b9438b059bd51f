/* What holds a consumer back, with a real server: circuit breaker, rate, shares of tenants. */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "server/base/clock.h"
#include "tests/support/diary.h"

enum { OPEN_MS = 2500, RATE = 20, AT_RATE = 11 };

static struct diary diary;
static bool is_mended;       /* what "sick" calls */
static int64_t failed_at_ms; /* last; all of it under the diary's lock */
static int64_t mended_at_ms;
static int64_t extensions; /* until then */
static int at_work[2];     /* of tenant a, and the most there were */

static struct quern_result sick(void)
{
    (void)pthread_mutex_lock(&diary.lock);
    bool fails = !is_mended;
    *(fails ? &failed_at_ms : &mended_at_ms) = qn_clock_monotonic_ms();
    (void)pthread_mutex_unlock(&diary.lock);
    if (!fails) {
        extensions = diary_count(&diary).extensions;
    }
    return fails ? quern_retry(0) : quern_done();
}

/* The call of a service that is away: how it ended nobody knows. */
static struct quern_result lose_answer(struct quern_delivery *delivery)
{
    (void)pthread_mutex_lock(&diary.lock);
    bool fails = !is_mended;
    (void)pthread_mutex_unlock(&diary.lock);
    return fails ? quern_ambiguous(quern_delivery_message_id(delivery)) : quern_done();
}

static bool put_on_record(void *state, const struct quern_delivery *delivery, const char *key)
{
    (void)state;
    (void)delivery;
    (void)key;
    return true;
}

static void count_a(int by)
{
    (void)pthread_mutex_lock(&diary.lock);
    at_work[0] += by;
    at_work[1] = at_work[0] > at_work[1] ? at_work[0] : at_work[1];
    (void)pthread_mutex_unlock(&diary.lock);
}

static struct quern_result handle(void *state, struct quern_delivery *delivery)
{
    const char *body = quern_delivery_body(delivery, NULL);

    diary_note_call(state, body);
    if (strcmp(body, "sick") == 0) {
        return sick();
    }
    if (strcmp(body, "lost") == 0) {
        return lose_answer(delivery);
    }
    if (body[0] == 'a') {
        count_a(1);
        diary_wait_until_open(state);
        count_a(-1);
    }
    if (strcmp(body, "gate") == 0) {
        diary_wait_until_open(state);
    }
    return quern_done();
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

TestSuite(consumer_restraint, .init = open_all, .fini = close_all, .timeout = 60);

Test(consumer_restraint, open_circuit_stops_receiving_and_keeps_extending)
{
    diary.options.circuit_failures = 2;
    diary.options.circuit_open_ms = OPEN_MS;
    diary.options.visibility_s = 4; /* extended every two seconds */
    diary.options.allows_short_leases = true;
    diary.options.workers = 2;
    diary.options.max_messages = 1;
    diary_send(&diary, "gate", NULL);
    diary_start(&diary);
    diary_wait_for(&diary, &diary.handled, 1);
    diary_send(&diary, "sick", NULL);
    diary_wait_for(&diary, &diary.handled, 3); /* it came twice */
    while (diary_count(&diary).circuit_opens == 0) {
        (void)poll(NULL, 0, 5);
    }
    (void)pthread_mutex_lock(&diary.lock);
    is_mended = true;
    (void)pthread_mutex_unlock(&diary.lock);
    diary_wait_for(&diary, &diary.finished, 1); /* the trial */
    cr_expect_geq(mended_at_ms - failed_at_ms, OPEN_MS);
    cr_expect_geq(extensions, 1);
    cr_expect_eq(diary.handled, 4);
    diary_let_go(&diary);
    diary_wait_for(&diary, &diary.finished, 2);
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(counters.circuit_opens, 1);
    cr_expect_eq(counters.lapses, 0);
    diary_expect_empty(&diary);
}

/* Each of them is on record and deleted, and yet the service is away. Nobody receives when the only
 * worker opens it, and nothing is in hand. */
Test(consumer_restraint, answers_that_are_lost_open_the_circuit)
{
    int64_t begun_ms = qn_clock_monotonic_ms();

    diary.options.circuit_failures = 2;
    diary.options.circuit_open_ms = OPEN_MS;
    diary.options.workers = 1;
    diary.options.reconcile = put_on_record;
    diary_send(&diary, "lost", NULL);
    diary_send(&diary, "lost", NULL);
    diary_start(&diary);
    while (diary_count(&diary).circuit_opens == 0 &&
           qn_clock_monotonic_ms() - begun_ms < DIARY_LIMIT_S * 1000) {
        (void)poll(NULL, 0, 5);
    }
    cr_expect_eq(diary_count(&diary).circuit_opens, 1);
    (void)pthread_mutex_lock(&diary.lock);
    is_mended = true;
    (void)pthread_mutex_unlock(&diary.lock);
    diary_send(&diary, "lost", NULL);
    diary_wait_for(&diary, &diary.finished, 1);
    cr_expect_geq(qn_clock_monotonic_ms() - begun_ms, OPEN_MS);
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(counters.ambiguous, 2);
    cr_expect_eq(counters.deleted, 3);
    diary_expect_empty(&diary);
}

Test(consumer_restraint, no_more_is_begun_in_a_second_than_the_rate)
{
    diary.options.rate_per_s = RATE;
    diary.options.rate_burst = 1;
    for (int i = 0; i < AT_RATE; i++) {
        diary_send(&diary, "m", NULL);
    }
    int64_t begun_ms = qn_clock_monotonic_ms();
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, AT_RATE);
    /* The first needs no waiting. */
    cr_expect_geq(qn_clock_monotonic_ms() - begun_ms, (AT_RATE - 1) * 1000 / RATE);
    diary_finish(&diary);
    diary_expect_empty(&diary);
}

/* Tenant a sends four that do not end and gets one worker of two; b is not held up. */
Test(consumer_restraint, tenant_has_no_more_workers_than_its_share)
{
    diary.options.workers = 2;
    diary.options.tenant_workers = 1;
    for (int i = 0; i < 4; i++) {
        diary_send(&diary, "a", "a");
    }
    for (int i = 0; i < 3; i++) {
        diary_send(&diary, "b", "b");
    }
    diary_start(&diary);
    diary_wait_for(&diary, &diary.finished, 3);
    diary_let_go(&diary);
    diary_wait_for(&diary, &diary.finished, 7);
    diary_stop(&diary);
    struct quern_counters counters = diary_count(&diary);
    quern_consumer_free(diary.consumer);
    cr_expect_eq(at_work[1], 1);
    cr_expect_geq(counters.deferred, 1);
    diary_expect_empty(&diary);
}
