/* Token bucket, circuit breaker, and the formula of how many workers there may be. */
#include <math.h>

#include "client/consumer/limits.h"
#include "client/quern_consumer.h"

#define ROUNDING 1e-6 /* what sums of fractions may be off */

void quern_bucket_init(struct quern_bucket *bucket, double rate_per_s, int64_t burst,
                       int64_t now_ms)
{
    bucket->rate_per_s = rate_per_s;
    bucket->burst = burst > 0 ? (double)burst : 1;
    bucket->tokens = bucket->burst;
    bucket->filled_at_ms = now_ms;
}

int64_t quern_bucket_wait_ms(struct quern_bucket *bucket, int64_t now_ms)
{
    if (bucket->rate_per_s <= 0) {
        return 0;
    }
    if (now_ms > bucket->filled_at_ms) {
        bucket->tokens += (double)(now_ms - bucket->filled_at_ms) * bucket->rate_per_s / 1000;
        bucket->tokens = fmin(bucket->tokens, bucket->burst);
        bucket->filled_at_ms = now_ms;
    }
    if (bucket->tokens >= 1 - ROUNDING) {
        return 0;
    }
    double wait_ms = (1 - bucket->tokens) * 1000 / bucket->rate_per_s;
    return (int64_t)ceil(fmin(wait_ms - ROUNDING, INT32_MAX));
}

void quern_bucket_take(struct quern_bucket *bucket)
{
    if (bucket->rate_per_s > 0) {
        bucket->tokens -= 1;
    }
}

int64_t quern_circuit_wait_ms(const struct quern_circuit *circuit, int64_t now_ms)
{
    if (!circuit->is_open) {
        return 0;
    }
    if (circuit->is_trying) {
        return -1;
    }
    return now_ms < circuit->open_until_ms ? circuit->open_until_ms - now_ms : 0;
}

void quern_circuit_begin(struct quern_circuit *circuit)
{
    circuit->is_trying = circuit->is_open;
}

bool quern_circuit_note(struct quern_circuit *circuit, bool has_failed, int64_t now_ms)
{
    if (!has_failed) {
        circuit->failures = 0;
        circuit->is_open = false;
        circuit->is_trying = false;
        return false;
    }
    circuit->failures++;
    if (circuit->failures_max == 0 || circuit->failures < circuit->failures_max) {
        return false;
    }
    bool opens = !circuit->is_open;
    /* Work that had begun before it opened says nothing new, and does not keep it open longer. */
    if (opens || circuit->is_trying) {
        circuit->open_until_ms = now_ms + circuit->open_ms;
    }
    circuit->is_open = true;
    circuit->is_trying = false;
    return opens;
}

void quern_circuit_pass(struct quern_circuit *circuit)
{
    circuit->is_trying = false;
}

static int64_t least(int64_t most, double bound)
{
    return bound < (double)most ? (int64_t)floor(bound) : most;
}

int64_t quern_capacity_workers(const struct quern_capacity *c)
{
    int64_t most = INT64_MAX / 2;

    if (c->threads > 0) {
        most = least(most, (double)c->threads);
    }
    if (c->connections > 0) {
        most = least(most, (double)(c->connections - c->reserved));
    }
    /* A worker that takes work_s for a message makes calls_per_message / work_s calls in a second.
     */
    if (c->calls_per_s > 0 && c->calls_per_message > 0 && c->work_s > 0) {
        most = least(most, c->calls_per_s * c->work_s / c->calls_per_message);
    }
    if (c->cpu_cores > 0 && c->cpu_s_per_message > 0 && c->work_s > 0) {
        most = least(most, c->cpu_cores * c->work_s / c->cpu_s_per_message);
    }
    if (c->memory_bytes > 0 && c->memory_bytes_per_message > 0) {
        most = least(most, (double)c->memory_bytes / (double)c->memory_bytes_per_message);
    }
    if (c->tenant_limit > 0) {
        most = least(most, (double)c->tenant_limit);
    }
    return most > 1 ? most : 1;
}
