#include "server/base/clock.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <signal.h>

static int64_t now(const struct qn_clock *clock)
{
    return clock->now_ms(clock->state);
}

Test(clock, a_virtual_clock_stands_still_until_told)
{
    struct qn_clock clock = qn_clock_virtual_new(1000);

    cr_expect_eq(now(&clock), 1000);
    qn_clock_advance(&clock, 0);
    qn_clock_advance(&clock, 5);
    cr_expect_eq(now(&clock), 1005);
    cr_expect(qn_clock_is_virtual(&clock));
    cr_expect_eq(qn_clock_rate(&clock), 0.0);
    qn_clock_virtual_free(&clock);
    qn_clock_virtual_free(&clock);
    qn_clock_virtual_free(NULL);
}

/* Waits by watching the real clock that the virtual one follows, not for a time. */
static void until_real_ms_passed(int64_t ms)
{
    int64_t end = qn_clock_monotonic_us() + ms * 1000;

    while (qn_clock_monotonic_us() < end) {
    }
}

Test(clock, a_rate_lets_it_run_and_never_back)
{
    struct qn_clock clock = qn_clock_virtual_new(1000);
    int64_t last;

    qn_clock_set_rate(&clock, 1000);
    cr_expect_eq(qn_clock_rate(&clock), 1000.0);
    until_real_ms_passed(2);
    last = now(&clock);
    cr_expect_geq(last, 3000);
    for (int i = 0; i < 1000; i++) {
        int64_t at;
        qn_clock_set_rate(&clock, i % 3);
        qn_clock_advance(&clock, i % 2);
        at = now(&clock);
        cr_assert_geq(at, last);
        last = at;
    }
    qn_clock_set_rate(&clock, 0);
    last = now(&clock);
    until_real_ms_passed(2);
    cr_expect_eq(now(&clock), last);
    qn_clock_virtual_free(&clock);
}

Test(clock, fractions_of_a_millisecond_add_up)
{
    struct qn_clock clock = qn_clock_virtual_new(0);
    int64_t began_us = qn_clock_monotonic_us();

    qn_clock_set_rate(&clock, 1);
    while (qn_clock_monotonic_us() - began_us < 20000) {
        qn_clock_set_rate(&clock, 1); /* a new base each time, many within a millisecond */
    }
    cr_expect_geq(now(&clock), 10);
    qn_clock_virtual_free(&clock);
}

Test(clock, it_does_not_run_past_the_end_of_time)
{
    struct qn_clock clock = qn_clock_virtual_new(INT64_MAX - 10);

    qn_clock_advance(&clock, INT64_MAX);
    cr_expect_eq(now(&clock), INT64_MAX);
    qn_clock_set_rate(&clock, 1000);
    cr_expect_eq(now(&clock), INT64_MAX);
    qn_clock_virtual_free(&clock);
}

Test(clock, the_system_clock_is_not_virtual_and_tells_the_present)
{
    struct qn_clock clock = qn_clock_system();

    cr_expect_not(qn_clock_is_virtual(&clock));
    cr_expect_eq(qn_clock_rate(&clock), 1.0);
    cr_expect_gt(now(&clock), INT64_C(1700000000000));
    cr_expect_leq(qn_clock_monotonic_ms(), qn_clock_monotonic_us() / 1000);
}

Test(clock, the_system_clock_cannot_be_advanced, .signal = SIGABRT)
{
    struct qn_clock clock = qn_clock_system();

    qn_clock_advance(&clock, 1);
}

static int64_t parsed(const char *text)
{
    int64_t ms = -1;

    return qn_clock_parse_instant(qn_str_from_cstr(text), &ms) ? ms : -1;
}

Test(clock, an_instant_is_a_date_in_utc_or_milliseconds)
{
    cr_expect_eq(parsed("1970-01-01T00:00:00Z"), 0);
    cr_expect_eq(parsed("2026-01-01T00:00:00Z"), INT64_C(1767225600000));
    cr_expect_eq(parsed("2024-02-29T23:59:59.5Z"), INT64_C(1709251199500));
    cr_expect_eq(parsed("2026-01-01T00:00:00.123456789Z"), INT64_C(1767225600123));
    cr_expect_eq(parsed("1767225600000"), INT64_C(1767225600000));
    cr_expect_eq(parsed("0"), 0);
}

Test(clock, what_is_no_instant_is_refused)
{
    static const char *const wrong[] = {
        "",
        "-1",
        "yesterday",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00,5Z",
        "1969-12-31T23:59:59Z",
        "2026-01--1T00:00:00Z",
        "9223372036854775808",
        "9223372036854775807",
        "253402300800000",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(parsed(wrong[i]), -1, "%s", wrong[i]);
    }
}

/* epoll takes less than nothing as for ever: the loop stood still when a deadline came between two
 * readings of the clock. */
Test(clock, the_wait_for_an_instant_that_has_passed_is_nothing)
{
    const int64_t now_ms = INT64_C(1767225600000);
    const double rates[] = {0, 0.001, 1, 1000};

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        cr_expect_eq(qn_clock_real_ms(now_ms, now_ms, rates[i]), 0);
        cr_expect_eq(qn_clock_real_ms(now_ms, now_ms - 1, rates[i]), 0);
        cr_expect_eq(qn_clock_real_ms(now_ms, now_ms - 2, rates[i]), 0);
        cr_expect_eq(qn_clock_real_ms(now_ms, now_ms - 5000, rates[i]), 0);
        cr_expect_eq(qn_clock_real_ms(now_ms, 0, rates[i]), 0);
        cr_expect_eq(qn_clock_real_ms(INT64_MAX, INT64_MAX, rates[i]), 0);
    }
}

Test(clock, the_wait_for_an_instant_ends_just_behind_it)
{
    cr_expect_eq(qn_clock_real_ms(1000, 1001, 1), 2);
    cr_expect_eq(qn_clock_real_ms(1000, 3000, 1), 2001);
    cr_expect_eq(qn_clock_real_ms(1000, 3000, 1000), 3);
    cr_expect_eq(qn_clock_real_ms(1000, 1001, 1000), 1);
    cr_expect_eq(qn_clock_real_ms(1000, 1001, 0.5), 3);
}

Test(clock, the_wait_for_an_instant_fits_what_waits)
{
    cr_expect_eq(qn_clock_real_ms(0, INT32_MAX, 1), INT32_MAX);
    cr_expect_eq(qn_clock_real_ms(0, INT64_MAX - 1, 0.001), INT32_MAX);
    cr_expect_eq(qn_clock_real_ms(0, INT64_MAX - 1, 1), INT32_MAX);
    cr_expect_eq(qn_clock_real_ms(1000, INT64_MAX, 1), INT64_MAX, "never");
    cr_expect_eq(qn_clock_real_ms(1000, 1001, 0), INT64_MAX, "the clock stands still");
}

Test(clock, a_printed_instant_reads_back_as_the_same)
{
    char text[32];

    for (int64_t ms = 0; ms < INT64_C(4102444800000); ms += INT64_C(86399999) * 3) {
        qn_clock_format_instant(ms, text);
        cr_assert_eq(parsed(text), ms, "%s", text);
    }
    qn_clock_format_instant(INT64_C(1767225600123), text);
    cr_expect_str_eq(text, "2026-01-01T00:00:00.123Z");
    qn_clock_format_instant(INT64_MAX, text);
    cr_expect_str_eq(text, "9999-12-31T23:59:59.999Z");
}
