/* Which failures the client repeats, and how long it pauses. */
#include <criterion/criterion.h>

#include "client/internal.h"

static bool repeats(const char *code, int status)
{
    struct quern_error err;

    (void)quern_fail(&err, code, status, "text");
    return quern_retry_is_useful(&err);
}

Test(retry, server_errors_and_lost_connections_are_repeated)
{
    cr_expect(repeats("InternalFailure", 500));
    cr_expect(repeats("AnythingAtAll", 503));
    cr_expect(repeats("AnythingAtAll", 502));
    cr_expect(repeats("AnythingAtAll", 504));
    cr_expect_not(repeats("AnythingAtAll", 501));
    cr_expect(repeats("ConnectionError", 0));
    cr_expect(repeats("Timeout", 0));
}

Test(retry, throttling_is_repeated_whatever_its_status)
{
    cr_expect(repeats("RequestThrottled", 403));
    cr_expect(repeats("ThrottlingException", 400));
}

Test(retry, a_mistake_of_the_caller_is_not_repeated)
{
    cr_expect_not(repeats("QueueDoesNotExist", 400));
    cr_expect_not(repeats("ReceiptHandleIsInvalid", 404));
    cr_expect_not(repeats("UnreadableAnswer", 200));
}

Test(retry, pause_doubles_with_each_attempt_and_ends_at_20_seconds)
{
    struct qn_random random;
    int64_t longest[8] = {0};

    qn_random_init(&random, 1, 2, 3);
    for (int attempt = 1; attempt < 8; attempt++) {
        for (int i = 0; i < 2000; i++) {
            int64_t pause = quern_retry_delay_ms(&random, 1000, attempt);
            cr_assert_geq(pause, 0);
            longest[attempt] = pause > longest[attempt] ? pause : longest[attempt];
        }
    }
    cr_expect(longest[1] > 900 && longest[1] <= 1000);
    cr_expect(longest[2] > 1800 && longest[2] <= 2000);
    cr_expect(longest[3] > 3600 && longest[3] <= 4000);
    cr_expect(longest[6] > 18000 && longest[6] <= 20000);
    cr_expect(longest[7] > 18000 && longest[7] <= 20000);
}

Test(retry, same_seed_gives_the_same_pauses)
{
    struct qn_random a;
    struct qn_random b;

    qn_random_init(&a, 7, 0, 0);
    qn_random_init(&b, 7, 0, 0);
    for (int i = 1; i < 20; i++) {
        cr_expect_eq(quern_retry_delay_ms(&a, 50, i), quern_retry_delay_ms(&b, 50, i));
    }
}

static int64_t cost_of(const char *code)
{
    struct quern_error err;

    (void)quern_fail(&err, code, 0, "text");
    return quern_quota_cost(&err);
}

Test(retry, quota_is_paid_for_retries_and_never_overdrawn)
{
    struct quern_quota quota;
    int retries = 0;

    quern_quota_init(&quota);
    cr_expect_eq(cost_of("ThrottlingException"), 5);
    cr_expect_eq(cost_of("ConnectionError"), 5);
    cr_expect_eq(cost_of("Timeout"), 10);
    while (quern_quota_take(&quota, cost_of("Timeout"))) {
        retries++;
    }
    cr_expect_eq(retries, 50);
    quern_quota_give(&quota, 9);
    cr_expect_not(quern_quota_take(&quota, 10));
    cr_expect(quern_quota_take(&quota, 5));
    cr_expect_eq(quota.tokens, 4);
}

Test(retry, quota_is_never_more_than_it_was_at_the_start)
{
    struct quern_quota quota;

    quern_quota_init(&quota);
    quern_quota_give(&quota, QUERN_QUOTA_CALL);
    cr_expect_eq(quota.tokens, 500);
}
