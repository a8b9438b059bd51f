/* Token bucket, circuit breaker, number of workers. */
#include "client/consumer/limits.h"

#include <criterion/criterion.h>

#include "client/quern_consumer.h"

Test(consumer_limits, bucket_gives_its_burst_then_its_rate)
{
    struct quern_bucket bucket;

    quern_bucket_init(&bucket, 4, 2, 1000);
    cr_expect_eq(quern_bucket_wait_ms(&bucket, 1000), 0);
    quern_bucket_take(&bucket);
    cr_expect_eq(quern_bucket_wait_ms(&bucket, 1000), 0);
    quern_bucket_take(&bucket);
    cr_expect_eq(quern_bucket_wait_ms(&bucket, 1000), 250);
    cr_expect_eq(quern_bucket_wait_ms(&bucket, 1249), 1);
    cr_expect_eq(quern_bucket_wait_ms(&bucket, 1250), 0);
}

Test(consumer_limits, idle_bucket_holds_no_more_than_its_burst)
{
    struct quern_bucket bucket;

    quern_bucket_init(&bucket, 4, 2, 0);
    (void)quern_bucket_wait_ms(&bucket, 1000000);
    quern_bucket_take(&bucket);
    quern_bucket_take(&bucket);
    cr_expect_gt(quern_bucket_wait_ms(&bucket, 1000000), 0);
}

Test(consumer_limits, rate_of_0_limits_nothing)
{
    struct quern_bucket bucket;

    quern_bucket_init(&bucket, 0, 1, 0);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(quern_bucket_wait_ms(&bucket, 0), 0);
        quern_bucket_take(&bucket);
    }
}

Test(consumer_limits, circuit_opens_after_failures_in_a_row)
{
    struct quern_circuit circuit = {.failures_max = 2, .open_ms = 100};

    cr_expect_not(quern_circuit_note(&circuit, true, 0));
    cr_expect_not(quern_circuit_note(&circuit, false, 0));
    cr_expect_not(quern_circuit_note(&circuit, true, 0));
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 0), 0);
    cr_expect(quern_circuit_note(&circuit, true, 0));
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 40), 60);
}

Test(consumer_limits, trial_closes_the_circuit_or_keeps_it_open)
{
    struct quern_circuit circuit = {.failures_max = 1, .open_ms = 100};

    (void)quern_circuit_note(&circuit, true, 0);
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 100), 0);
    quern_circuit_begin(&circuit);
    cr_expect_lt(quern_circuit_wait_ms(&circuit, 100), 0);
    cr_expect_not(quern_circuit_note(&circuit, true, 100));
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 100), 100);
    quern_circuit_begin(&circuit);
    cr_expect_not(quern_circuit_note(&circuit, false, 200));
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 200), 0);
}

Test(consumer_limits, failures_of_work_begun_before_do_not_keep_it_open_longer)
{
    struct quern_circuit circuit = {.failures_max = 1, .open_ms = 100};

    (void)quern_circuit_note(&circuit, true, 0);
    (void)quern_circuit_note(&circuit, true, 90);
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 100), 0);
}

Test(consumer_limits, what_tells_nothing_neither_opens_nor_closes_the_circuit)
{
    struct quern_circuit circuit = {.failures_max = 2, .open_ms = 100};

    (void)quern_circuit_note(&circuit, true, 0);
    quern_circuit_pass(&circuit);
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 0), 0);
    cr_expect(quern_circuit_note(&circuit, true, 0));
    quern_circuit_begin(&circuit);
    quern_circuit_pass(&circuit);
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 40), 60);
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 100), 0); /* another may be tried */
}

Test(consumer_limits, circuit_without_a_bound_never_opens)
{
    struct quern_circuit circuit = {.open_ms = 100};

    for (int i = 0; i < 100; i++) {
        cr_expect_not(quern_circuit_note(&circuit, true, 0));
    }
    cr_expect_eq(quern_circuit_wait_ms(&circuit, 0), 0);
}

Test(consumer_limits, workers_are_as_many_as_the_tightest_bound_allows)
{
    struct quern_capacity capacity = {.threads = 64};

    cr_expect_eq(quern_capacity_workers(&capacity), 64);
    capacity.connections = 20;
    capacity.reserved = 5;
    cr_expect_eq(quern_capacity_workers(&capacity), 15);
    capacity.calls_per_s = 100; /* a worker makes 2 calls in half a second: 4 in one */
    capacity.calls_per_message = 2;
    capacity.work_s = 0.5;
    cr_expect_eq(quern_capacity_workers(&capacity), 15);
    capacity.calls_per_s = 30;
    cr_expect_eq(quern_capacity_workers(&capacity), 7);
    capacity.cpu_cores = 2;
    capacity.cpu_s_per_message = 0.25;
    cr_expect_eq(quern_capacity_workers(&capacity), 4);
    capacity.memory_bytes = 300;
    capacity.memory_bytes_per_message = 100;
    cr_expect_eq(quern_capacity_workers(&capacity), 3);
    capacity.tenant_limit = 2;
    cr_expect_eq(quern_capacity_workers(&capacity), 2);
}

Test(consumer_limits, there_is_always_one_worker)
{
    const struct quern_capacity capacity = {.connections = 3, .reserved = 5};

    cr_expect_eq(quern_capacity_workers(&capacity), 1);
}
