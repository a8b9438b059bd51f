/* The wall clock, and a clock that moves as it is told. */
#include "server/base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

/* The virtual time is base + (monotonic - set_at) * rate. The lock is here, and not left to an
 * owner, because any thread may ask for the time while the loop advances it. */
struct virtual_clock {
    pthread_mutex_t lock;
    int64_t base_ms;
    int64_t base_fraction_us; /* 0 to 999 on top */
    int64_t set_at_us;
    double rate;
};

static int64_t read_us(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t system_now_ms(void *state)
{
    int64_t now_ms = read_us(CLOCK_REALTIME) / 1000;

    (void)state;
    return now_ms > 0 ? now_ms : 0;
}

struct qn_clock qn_clock_system(void)
{
    return (struct qn_clock){.now_ms = system_now_ms};
}

int64_t qn_clock_monotonic_ms(void)
{
    return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t qn_clock_monotonic_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

static int64_t passed_us(const struct virtual_clock *virtual, int64_t real_us)
{
    return (int64_t)((double)(real_us - virtual->set_at_us) * virtual->rate) +
           virtual->base_fraction_us;
}

/* Makes the present the new base; under the lock. The fraction is kept, so that many changes of the
 * rate lose nothing. */
static void settle(struct virtual_clock *virtual)
{
    int64_t real_us = read_us(CLOCK_MONOTONIC);
    int64_t us = passed_us(virtual, real_us);

    virtual->base_ms = add_saturated(virtual->base_ms, us / 1000);
    virtual->base_fraction_us = us % 1000;
    virtual->set_at_us = real_us;
}

static int64_t virtual_now_ms(void *state)
{
    struct virtual_clock *virtual = state;
    int64_t now_ms;

    pthread_mutex_lock(&virtual->lock);
    now_ms = virtual->base_ms;
    if (virtual->rate != 0) {
        now_ms = add_saturated(now_ms, passed_us(virtual, read_us(CLOCK_MONOTONIC)) / 1000);
    }
    pthread_mutex_unlock(&virtual->lock);
    return now_ms;
}

struct qn_clock qn_clock_virtual_new(int64_t start_ms)
{
    struct virtual_clock *virtual = qn_memory_new(sizeof(*virtual));

    assert(start_ms >= 0);
    pthread_mutex_init(&virtual->lock, NULL);
    virtual->base_ms = start_ms;
    return (struct qn_clock){.now_ms = virtual_now_ms, .state = virtual};
}

void qn_clock_virtual_free(struct qn_clock *clock)
{
    struct virtual_clock *virtual;

    if (clock == NULL || clock->state == NULL) {
        return;
    }
    assert(qn_clock_is_virtual(clock));
    virtual = clock->state;
    pthread_mutex_destroy(&virtual->lock);
    qn_memory_free(virtual);
    *clock = (struct qn_clock){0};
}

void qn_clock_advance(struct qn_clock *clock, int64_t by_ms)
{
    struct virtual_clock *virtual = clock->state;

    assert(qn_clock_is_virtual(clock) && by_ms >= 0);
    pthread_mutex_lock(&virtual->lock);
    virtual->base_ms = add_saturated(virtual->base_ms, by_ms);
    pthread_mutex_unlock(&virtual->lock);
}

void qn_clock_set_rate(struct qn_clock *clock, double rate)
{
    struct virtual_clock *virtual = clock->state;

    assert(qn_clock_is_virtual(clock) && rate >= 0 && rate <= 1000);
    pthread_mutex_lock(&virtual->lock);
    settle(virtual);
    virtual->rate = rate;
    pthread_mutex_unlock(&virtual->lock);
}

double qn_clock_rate(const struct qn_clock *clock)
{
    struct virtual_clock *virtual = clock->state;
    double rate;

    if (!qn_clock_is_virtual(clock)) {
        return 1;
    }
    pthread_mutex_lock(&virtual->lock);
    rate = virtual->rate;
    pthread_mutex_unlock(&virtual->lock);
    return rate;
}

bool qn_clock_is_virtual(const struct qn_clock *clock)
{
    return clock->now_ms == virtual_now_ms;
}

int64_t qn_clock_real_ms(int64_t from_ms, int64_t to_ms, double rate)
{
    double real_ms;

    if (to_ms <= from_ms) {
        return 0;
    }
    if (to_ms == INT64_MAX || rate <= 0) {
        return INT64_MAX;
    }
    real_ms = (double)(to_ms - from_ms) / rate;
    return real_ms > (double)(INT32_MAX - 1) ? INT32_MAX : (int64_t)real_ms + 1;
}
