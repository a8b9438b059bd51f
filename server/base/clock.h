/* The server's only source of time. Times are milliseconds since the Unix epoch. */
#ifndef QN_BASE_CLOCK_H
#define QN_BASE_CLOCK_H

#include "server/base/str.h"

/* Must outlive its users. now_ms may be called from any thread. */
struct qn_clock {
    int64_t (*now_ms)(void *state);
    void *state;
};

/* The wall clock; can step backwards when the host's clock does. */
struct qn_clock qn_clock_system(void);
/* Milliseconds of the monotonic clock: for network time-outs and rates, never for what a client
 * sees. */
int64_t qn_clock_monotonic_ms(void);
/* Microseconds of the monotonic clock. */
int64_t qn_clock_monotonic_us(void);

/* A clock that stands still at start_ms until it is advanced or given a rate. Free with
 * qn_clock_virtual_free. */
struct qn_clock qn_clock_virtual_new(int64_t start_ms);
void qn_clock_virtual_free(struct qn_clock *clock);
/* Moves it forward by 0 or more. Asserts on a system clock. */
void qn_clock_advance(struct qn_clock *clock, int64_t by_ms);
/* Virtual milliseconds per real millisecond, 0 (stands still) to 1000. */
void qn_clock_set_rate(struct qn_clock *clock, double rate);
double qn_clock_rate(const struct qn_clock *clock);
bool qn_clock_is_virtual(const struct qn_clock *clock);
/* Real milliseconds, rounded up, in which a clock of this rate comes from one instant to another: 0
 * when that has passed, never less; INT64_MAX when it never comes; else at most INT32_MAX, which is
 * soon enough to look again. */
int64_t qn_clock_real_ms(int64_t from_ms, int64_t to_ms, double rate);

/* "2026-01-01T00:00:00Z" (UTC, optional fraction) or epoch milliseconds. */
QN_MUST_CHECK bool qn_clock_parse_instant(struct qn_str text, int64_t *ret_ms);
/* Writes "2026-01-01T00:00:00.000Z" and a NUL. */
void qn_clock_format_instant(int64_t ms, char out[32]);

#endif
