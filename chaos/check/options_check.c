/* Whether a text that an option was given can be used: so far as it can be told before the run. */
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

#include "chaos/check/bodies.h"
#include "chaos/check/options_rows.h"
#include "chaos/check/placeholders.h"
#include "chaos/check/ready.h"

enum { QUEUE_NAME_MAX = 70 };

typedef bool check_text(const char *called, const char *text, struct qn_error *err);

/* With room for -dlq and .fifo behind it. */
static bool is_queue_name(struct qn_str name)
{
    bool ok = name.len > 0 && name.len <= QUEUE_NAME_MAX;

    if (qn_str_ends_with(name, QN_STR(".fifo"))) {
        name.len -= strlen(".fifo");
    }
    for (size_t i = 0; i < name.len; i++) {
        ok = ok &&
             (qn_char_is_alphanumeric(name.ptr[i]) || name.ptr[i] == '-' || name.ptr[i] == '_');
    }
    return ok;
}

static bool check_queue_name(const char *called, const char *text, struct qn_error *err)
{
    return is_queue_name(qn_str_from_cstr(text)) ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes 1 to %d letters, digits, '-' and '_', and .fifo behind them for a "
                   "FIFO queue, not \"%s\"",
                   called, QUEUE_NAME_MAX, text);
}

static bool check_address(const char *called, const char *text, struct qn_error *err)
{
    struct in_addr ignored;

    return inet_pton(AF_INET, text, &ignored) == 1 ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s takes an address such as 0.0.0.0 or 172.17.0.1, not \"%s\"", called, text);
}

static bool check_pattern(const char *called, const char *text, struct qn_error *err)
{
    (void)called; /* what is said names the option */
    return qn_ready_check_pattern(text, err);
}

static bool check_url(const char *called, const char *text, struct qn_error *err)
{
    struct qn_ready_url url;

    if (!qn_placeholders_check(called, text, err)) {
        return false;
    }
    /* What stands for a host or a port can only be read when it is filled in. */
    return strchr(text, '{') != NULL || qn_ready_read_url(text, &url, err);
}

static bool check_body(const char *called, const char *text, struct qn_error *err)
{
    (void)called;
    return qn_bodies_check(text, err);
}

/* A waiver without a reason would hide a scenario: the reason is what the reports say of it. */
static bool check_waiver(const char *called, const char *text, struct qn_error *err)
{
    struct qn_str reason;
    struct qn_str id = qn_str_cut(qn_str_from_cstr(text), '=', &reason);
    size_t blanks = strspn(reason.ptr, " \t\r\n");

    return blanks < reason.len ||
           qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "%s: %.*s has no reason; every report shows it, so say why it is not run, as in "
                   "\"push-style gateway, agreed 2026-11\"",
                   called, QN_STR_ARG(qn_str_first(id, 80)));
}

static bool check_file(const char *called, const char *text, struct qn_error *err)
{
    return access(text, R_OK) == 0 || qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s: %s",
                                              called, text, strerror(errno));
}

bool qn_options_check_text(const struct qn_option_row *row, const char *called, const char *text,
                           struct qn_error *err)
{
    static const struct {
        const char *name;
        check_text *check;
    } checks[] = {
        {"--queue-name", check_queue_name},
        {"--output-queue", check_queue_name},
        {"--retry-queue", check_queue_name},
        {"--bind", check_address},
        {"--ready-log", check_pattern},
        {"--ready-url", check_url},
        {"--body", check_body},
        {"--scenario", check_file},
        {"--waive", check_waiver},
        {"--env", qn_placeholders_check},
        {"--start-cmd", qn_placeholders_check},
        {"--stop-cmd", qn_placeholders_check},
        {"--kill-cmd", qn_placeholders_check},
        {"--effects-cmd", qn_placeholders_check},
        {"--key-map", qn_placeholders_check},
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        if (strcmp(row->name, checks[i].name) == 0) {
            return checks[i].check(called, text, err);
        }
    }
    return true;
}
