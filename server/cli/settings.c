/* From option texts to settings. */
#include "server/cli/settings.h"

#include "chaos/parse.h"
#include "server/base/clock.h"
#include "server/base/random.h"

/* 2026-01-01T00:00:00Z, where a virtual clock begins that is not told where. */
#define CLOCK_START_MS INT64_C(1767225600000)

enum { RESTART_AFTER_MAX_MS = 3600 * 1000 };

const struct qn_option qn_serve_options[QN_SERVE_OPTION_COUNT] = {
#define QN_SERVE_OPTION(symbol, name, value, fallback, unit, help, flags)                          \
    {name, value, fallback, unit, help, flags},
#include "server/cli/serve.def"
#undef QN_SERVE_OPTION
};

/* The text, or the default. */
static struct qn_str text_of(const struct qn_options *options, enum qn_serve_option option)
{
    const char *text = qn_options_text(options, option);

    return qn_str_from_cstr(text != NULL ? text : qn_serve_options[option].fallback);
}

static bool fail_value(const struct qn_options *options, enum qn_serve_option option,
                       struct qn_error *err)
{
    const struct qn_option *row = &qn_serve_options[option];

    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--%s must be %s, not %.*s", row->name,
                   row->value, QN_STR_ARG(text_of(options, option)));
}

/* One of two words: false for the first. */
static bool read_choice(const struct qn_options *options, enum qn_serve_option option,
                        const char *first, const char *second, bool *ret_is_second,
                        struct qn_error *err)
{
    struct qn_str text = text_of(options, option);

    *ret_is_second = qn_str_equal(text, qn_str_from_cstr(second));
    return *ret_is_second || qn_str_equal(text, qn_str_from_cstr(first)) ||
           fail_value(options, option, err);
}

static bool all_of(struct qn_str text, const char *characters)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\0' || strchr(characters, text.ptr[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Of ASCII without blanks: it stands in every queue URL. */
static bool is_url(struct qn_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return qn_str_starts_with(text, QN_STR("http://")) ||
           qn_str_starts_with(text, QN_STR("https://"));
}

static bool read_names(const struct qn_options *options, struct qn_settings *settings,
                       struct qn_error *err)
{
    struct qn_str region = text_of(options, QN_SERVE_REGION);
    struct qn_str url = qn_str_from_cstr(qn_options_text(options, QN_SERVE_PUBLIC_URL));

    settings->account = text_of(options, QN_SERVE_ACCOUNT);
    if (settings->account.len != 12 || !all_of(settings->account, "0123456789")) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--account must have 12 digits, not be %.*s", QN_STR_ARG(settings->account));
    }
    settings->one_region = qn_str_equal(region, QN_STR("any"));
    if (settings->one_region) {
        region = qn_str_from_cstr(qn_serve_options[QN_SERVE_REGION].fallback);
    }
    if (region.len == 0 || region.len > 64 ||
        !all_of(region, "abcdefghijklmnopqrstuvwxyz0123456789-")) {
        return fail_value(options, QN_SERVE_REGION, err);
    }
    settings->region = region;
    while (qn_str_ends_with(url, QN_STR("/"))) {
        url = qn_str_first(url, url.len - 1);
    }
    if (!qn_str_is_none(url) && !is_url(url)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--public-url must begin with http:// or https:// and have no blanks, not "
                       "be %.*s",
                       QN_STR_ARG(url));
    }
    settings->public_url = url;
    return true;
}

struct limit {
    const char *name;
    size_t offset;
    int64_t min;
    int64_t max;
};

static const struct limit limits[] = {
    {"in-flight", offsetof(struct qn_limits, in_flight), 1, QN_IN_FLIGHT_MAX},
    {"message-size", offsetof(struct qn_limits, message_size), 1, QN_MESSAGE_SIZE_MAX},
    {"retention-min", offsetof(struct qn_limits, retention_min_s), 1, QN_RETENTION_MAX_S},
    {"batch-entries", offsetof(struct qn_limits, batch_entries), 1, QN_BATCH_ENTRIES_MAX},
};

static bool read_limit(struct qn_str text, struct qn_limits *ret_limits, struct qn_error *err)
{
    struct qn_str value;
    struct qn_str name = qn_str_cut(text, '=', &value);

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        int64_t *field = (int64_t *)(void *)((char *)ret_limits + limits[i].offset);
        if (!qn_str_equal(name, qn_str_from_cstr(limits[i].name))) {
            continue;
        }
        return qn_str_to_int64(value, limits[i].min, limits[i].max, field) ||
               qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--limit %s=VALUE takes an integer from %lld to %lld, not %.*s",
                       limits[i].name, (long long)limits[i].min, (long long)limits[i].max,
                       QN_STR_ARG(qn_str_is_none(value) ? QN_STR("nothing") : value));
    }
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--limit knows in-flight, message-size, retention-min and batch-entries, as "
                   "NAME=VALUE, not %.*s",
                   QN_STR_ARG(text));
}

static bool read_limits(const struct qn_options *options, struct qn_settings *settings,
                        struct qn_error *err)
{
    const struct qn_given *given = &options->given[QN_SERVE_LIMIT];

    settings->limits = (struct qn_limits){
        .in_flight = QN_IN_FLIGHT_MAX,
        .message_size = QN_MESSAGE_SIZE_MAX,
        .retention_min_s = QN_RETENTION_MIN_S,
        .batch_entries = QN_BATCH_ENTRIES_MAX,
    };
    for (size_t i = 0; i < given->count; i++) {
        if (!read_limit(qn_str_from_cstr(given->texts[i]), &settings->limits, err)) {
            return false;
        }
    }
    return true;
}

/* "real", "virtual", "virtual=INSTANT" */
static bool read_clock(const struct qn_options *options, struct qn_settings *settings,
                       struct qn_error *err)
{
    struct qn_str instant;
    struct qn_str kind = qn_str_cut(text_of(options, QN_SERVE_CLOCK), '=', &instant);

    settings->clock_is_virtual = qn_str_equal(kind, QN_STR("virtual"));
    settings->clock_start_ms = CLOCK_START_MS;
    if (!settings->clock_is_virtual && !qn_str_equal(kind, QN_STR("real"))) {
        return fail_value(options, QN_SERVE_CLOCK, err);
    }
    if (qn_str_is_none(instant)) {
        return true;
    }
    if (!settings->clock_is_virtual) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--clock real has no instant to begin at: say virtual=%.*s",
                       QN_STR_ARG(instant));
    }
    return qn_clock_parse_instant(instant, &settings->clock_start_ms) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--clock virtual=INSTANT takes an instant such as 2026-01-01T00:00:00Z or "
                   "1767225600000, not %.*s",
                   QN_STR_ARG(instant));
}

static bool read_seed(const struct qn_options *options, struct qn_settings *settings,
                      struct qn_error *err)
{
    const char *text = qn_options_text(options, QN_SERVE_SEED);
    struct qn_str digits = qn_str_from_cstr(text);
    uint64_t seed = 0;

    if (text == NULL) {
        settings->seed = qn_random_fresh_seed();
        return true;
    }
    for (size_t i = 0; i < digits.len; i++) {
        uint64_t digit = (uint64_t)(unsigned char)digits.ptr[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(seed, 10, &seed) ||
            __builtin_add_overflow(seed, digit, &seed)) {
            digits.len = 0;
        }
    }
    if (digits.len == 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--seed must be an integer from 0 to %llu, not %s",
                       (unsigned long long)UINT64_MAX, text);
    }
    settings->seed = seed;
    return true;
}

/* "1500000", "64K", "512M", "2G" */
static bool read_memory(const struct qn_options *options, struct qn_settings *settings,
                        struct qn_error *err)
{
    const char *given = qn_options_text(options, QN_SERVE_MAX_MEMORY);
    struct qn_str text = qn_str_from_cstr(given);
    const char *letters = "KMG";
    int64_t value;
    int shift = 0;

    if (given == NULL) {
        settings->memory_max = qn_memory_default();
        return true;
    }
    if (text.len > 0) {
        char last = (char)(text.ptr[text.len - 1] & ~0x20);
        const char *letter = last == '\0' ? NULL : strchr(letters, last);
        if (letter != NULL) {
            shift = 10 * (int)(letter - letters + 1);
            text.len--;
        }
    }
    if (!qn_str_to_int64(text, 1, INT64_MAX >> shift, &value)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--max-memory must be a number of bytes such as 512M or 2G, not %s", given);
    }
    settings->memory_max = (size_t)value << shift;
    return true;
}

static bool read_supervision(const struct qn_options *options, struct qn_settings *settings,
                             struct qn_error *err)
{
    struct qn_str after = text_of(options, QN_SERVE_RESTART_AFTER);

    settings->is_supervised = qn_options_is_on(options, QN_SERVE_SUPERVISE);
    if (!settings->is_supervised && qn_options_text(options, QN_SERVE_RESTART_AFTER) != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--restart-after says when --supervise starts the server again: give "
                       "--supervise too");
    }
    return (qn_value_duration(after, &settings->restart_after_ms) &&
            settings->restart_after_ms <= RESTART_AFTER_MAX_MS) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "--restart-after must be a duration up to 1h, such as 300ms or 2s, not %.*s",
                   QN_STR_ARG(after));
}

static bool read_rest(const struct qn_options *options, struct qn_settings *settings,
                      struct qn_error *err)
{
    bool is_full;
    int64_t port;
    int64_t timeout_s;

    if (!qn_options_integer(options, QN_SERVE_PORT, 0, UINT16_MAX, &port, err) ||
        !qn_options_integer(options, QN_SERVE_CLIENT_TIMEOUT, 0, 86400, &timeout_s, err) ||
        !read_choice(options, QN_SERVE_SYNC, "normal", "full", &is_full, err) ||
        !read_choice(options, QN_SERVE_STALE_DELETE, "noop", "delete", &settings->stale_delete,
                     err)) {
        return false;
    }
    settings->port = (int)port;
    settings->client_timeout_s = (unsigned)timeout_s;
    settings->sync = is_full ? QN_SYNC_FULL : QN_SYNC_NORMAL;
    settings->db = qn_options_text(options, QN_SERVE_DB);
    settings->record = qn_options_text(options, QN_SERVE_RECORD);
    settings->trace = qn_options_text(options, QN_SERVE_TRACE);
    settings->watches_assumptions = qn_options_is_on(options, QN_SERVE_ASSUMPTIONS);
    settings->auto_create = qn_options_is_on(options, QN_SERVE_AUTO_CREATE);
    settings->aws_waits = qn_options_is_on(options, QN_SERVE_AWS_WAITS);
    settings->fault_header = qn_options_is_on(options, QN_SERVE_FAULT_HEADER);
    if (settings->db == NULL && qn_options_text(options, QN_SERVE_SYNC) != NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--sync says how firmly --db FILE keeps: give --db too");
    }
    return qn_log_parse_level(text_of(options, QN_SERVE_LOG), &settings->log_level) ||
           fail_value(options, QN_SERVE_LOG, err);
}

bool qn_settings_read(const struct qn_options *options, struct qn_settings *ret_settings,
                      struct qn_error *err)
{
    *ret_settings = (struct qn_settings){0};
    if (options->word_count > 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "serve takes options only, not %s",
                       options->words[0]);
    }
    return read_names(options, ret_settings, err) && read_limits(options, ret_settings, err) &&
           read_clock(options, ret_settings, err) && read_seed(options, ret_settings, err) &&
           read_memory(options, ret_settings, err) && read_rest(options, ret_settings, err) &&
           read_supervision(options, ret_settings, err);
}

json_t *qn_settings_show(const struct qn_options *options, const struct qn_settings *settings)
{
    json_t *shown = json_object();

    for (size_t i = 0; i < QN_SERVE_OPTION_COUNT; i++) {
        const struct qn_option *row = &qn_serve_options[i];
        const char *text = qn_options_text(options, i);
        json_t *value;
        if ((row->flags & QN_OPTION_REPEATS) != 0) {
            value = json_array();
            for (size_t j = 0; j < options->given[i].count; j++) {
                json_array_append_new(value, json_string(options->given[i].texts[j]));
            }
        } else if (row->value == NULL) {
            value = json_boolean(text != NULL);
        } else {
            text = text != NULL ? text : row->fallback;
            value = text == NULL ? json_null() : json_string(text);
        }
        json_object_set_new(shown, row->name, value);
    }
    json_object_set_new(shown, "seed", json_sprintf("%llu", (unsigned long long)settings->seed));
    json_object_set_new(shown, "max-memory", json_integer((json_int_t)settings->memory_max));
    return shown;
}
