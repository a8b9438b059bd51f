/* Instants as text: the calendar part of clock.h, in UTC and without the C library's time zones. */
#include "server/base/clock.h"

enum { YEAR_MIN = 1970, YEAR_MAX = 9999 };

static const int64_t day_ms = INT64_C(86400000);

/* The last instant of YEAR_MAX; every deadline has room behind it. */
static const int64_t instant_max_ms = INT64_C(253402300799999);

/* Days since 1970-01-01, and back (H. Hinnant, "chrono-compatible low-level date algorithms"): the
 * year is taken to begin in March, so that the leap day comes last. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static void date_from_days(int64_t days, int64_t *ret_year, int64_t *ret_month, int64_t *ret_day)
{
    int64_t z = days + 719468;
    int64_t era = z / 146097;
    int64_t day_of_era = z - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;

    *ret_day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    *ret_month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    *ret_year = year_of_era + era * 400 + (*ret_month <= 2 ? 1 : 0);
}

static bool is_date(int64_t year, int64_t month, int64_t day)
{
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return year >= YEAR_MIN && month >= 1 && month <= 12 && day >= 1 &&
           day <= lengths[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* `len` digits at `at`; false if there are others. */
static bool digits_at(struct qn_str text, size_t at, size_t len, int64_t *ret_value)
{
    struct qn_str part = qn_str_first(qn_str_from(text, at), len);

    return part.len == len && part.ptr[0] != '-' && qn_str_to_int64(part, 0, INT64_MAX, ret_value);
}

/* ".5" to ".123456789": milliseconds, what is finer is dropped. */
static bool parse_fraction(struct qn_str text, int64_t *ret_ms)
{
    int64_t nanoseconds;
    size_t digits = text.len > 0 ? text.len - 1 : 0;

    *ret_ms = 0;
    if (text.len == 0) {
        return true;
    }
    if (text.ptr[0] != '.' || digits > 9 || digits == 0 ||
        !digits_at(text, 1, digits, &nanoseconds)) {
        return false;
    }
    for (; digits < 9; digits++) {
        nanoseconds *= 10;
    }
    *ret_ms = nanoseconds / 1000000;
    return true;
}

bool qn_clock_parse_instant(struct qn_str text, int64_t *ret_ms)
{
    int64_t year, month, day, hour, minute, second, ms;

    if (qn_str_to_int64(text, 0, instant_max_ms, ret_ms)) {
        return true;
    }
    if (text.len < 20 || text.ptr[4] != '-' || text.ptr[7] != '-' || text.ptr[10] != 'T' ||
        text.ptr[13] != ':' || text.ptr[16] != ':' || text.ptr[text.len - 1] != 'Z') {
        return false;
    }
    if (!digits_at(text, 0, 4, &year) || !digits_at(text, 5, 2, &month) ||
        !digits_at(text, 8, 2, &day) || !digits_at(text, 11, 2, &hour) ||
        !digits_at(text, 14, 2, &minute) || !digits_at(text, 17, 2, &second) ||
        !parse_fraction(qn_str_first(qn_str_from(text, 19), text.len - 20), &ms)) {
        return false;
    }
    if (!is_date(year, month, day) || hour > 23 || minute > 59 || second > 59) {
        return false;
    }
    *ret_ms = days_from_date(year, month, day) * day_ms +
              ((hour * 60 + minute) * 60 + second) * 1000 + ms;
    return true;
}

/* `value` with `len` digits and the byte that follows it; returns where the next part goes. */
static char *put_part(char *out, int64_t value, int len, char follower)
{
    for (int i = len - 1; i >= 0; i--) {
        out[i] = (char)('0' + value % 10);
        value /= 10;
    }
    out[len] = follower;
    return out + len + 1;
}

void qn_clock_format_instant(int64_t ms, char out[32])
{
    const int64_t last_ms = days_from_date(YEAR_MAX + 1, 1, 1) * day_ms - 1;
    int64_t year, month, day, rest;

    ms = ms < 0 ? 0 : ms > last_ms ? last_ms : ms;
    date_from_days(ms / day_ms, &year, &month, &day);
    rest = ms % day_ms;
    out = put_part(out, year, 4, '-');
    out = put_part(out, month, 2, '-');
    out = put_part(out, day, 2, 'T');
    out = put_part(out, rest / 3600000, 2, ':');
    out = put_part(out, rest / 60000 % 60, 2, ':');
    out = put_part(out, rest / 1000 % 60, 2, '.');
    out = put_part(out, rest % 1000, 3, 'Z');
    *out = '\0';
}
