/* Options of `quern serve` that stand for a rule: the commonest needs in a word and a number. */
#include <stdio.h>

#include "chaos/parse.h"
#include "server/cli/settings.h"

/* The rule is called like the option. */
struct shorthand {
    enum qn_serve_option option;
    const char *event;
    const char *action;
};

/* In the order in which they are asked. Who gets a copy does not get it for the first time: copies
 * make no copies, or with rate 1 there would be no end of them. */
static const struct shorthand rates[] = {
    {QN_SERVE_FAIL_RATE, "any", "5xx 500"},
    {QN_SERVE_THROTTLE_RATE, "any", "throttle"},
    {QN_SERVE_LOSE_DELETE_RATE, "DeleteMessage* where mid ~ \"*\"", "fake-success"},
    {QN_SERVE_DUPLICATE_RATE, "ReceiveMessage where rc = 1", "deliver-again"},
    {QN_SERVE_RESET_RATE, "any", "reset"},
};

static void add_rule(struct qn_plan *plan, const char *name, const struct qn_buf *rule,
                     bool *ret_right)
{
    struct qn_mistakes mistakes = {.count = 0};
    struct qn_str text = qn_buf_str(rule);
    char source[64];

    if (!qn_plan_add_all(plan, &text, 1, &mistakes)) {
        (void)snprintf(source, sizeof(source), "--%s", name);
        qn_rules_tell(source, &mistakes);
        *ret_right = false;
    }
    qn_mistakes_done(&mistakes);
}

static bool add_rate(struct qn_plan *plan, const struct shorthand *shorthand, const char *rate,
                     bool *ret_right, struct qn_error *err)
{
    const char *name = qn_serve_options[shorthand->option].name;
    struct qn_buf rule;
    double part;

    if (!qn_value_number(qn_str_from_cstr(rate), &part) || !(part >= 0 && part <= 1)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--%s must be a part of 1, such as 0.05 for five in a hundred, not %s", name,
                       rate);
    }
    if (part > 0) {
        qn_buf_init(&rule, SIZE_MAX / 2);
        qn_buf_append_format(&rule, "on %s prob %s do %s as %s", shorthand->event, rate,
                             shorthand->action, name);
        add_rule(plan, name, &rule, ret_right);
        qn_buf_done(&rule);
    }
    return true;
}

/* "50ms", "50ms~20ms" */
static bool add_latency(struct qn_plan *plan, const char *latency, bool *ret_right,
                        struct qn_error *err)
{
    const char *name = qn_serve_options[QN_SERVE_LATENCY].name;
    struct qn_str jitter;
    struct qn_str delay = qn_str_cut(qn_str_from_cstr(latency), '~', &jitter);
    struct qn_buf rule;
    int64_t delay_ms;
    int64_t jitter_ms = 0;

    if (!qn_value_duration(delay, &delay_ms) ||
        (!qn_str_is_none(jitter) && !qn_value_duration(jitter, &jitter_ms)) ||
        jitter_ms > delay_ms) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--%s must be a duration such as 50ms, or 50ms~20ms for 20 ms more or less, "
                       "not %s",
                       name, latency);
    }
    if (delay_ms > 0) {
        qn_buf_init(&rule, SIZE_MAX / 2);
        qn_buf_append_format(&rule, "on any do delay %.*s", QN_STR_ARG(delay));
        if (jitter_ms > 0) {
            qn_buf_append_format(&rule, " jitter %.*s", QN_STR_ARG(jitter));
        }
        qn_buf_append_format(&rule, " as %s", name);
        add_rule(plan, name, &rule, ret_right);
        qn_buf_done(&rule);
    }
    return true;
}

bool qn_shorthands_add(struct qn_plan *plan, const struct qn_options *options, bool *ret_right,
                       struct qn_error *err)
{
    const char *latency = qn_options_text(options, QN_SERVE_LATENCY);

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        const char *rate = qn_options_text(options, rates[i].option);
        if (rate != NULL && !add_rate(plan, &rates[i], rate, ret_right, err)) {
            return false;
        }
    }
    /* It fires at every call, and the first rule that fires decides: the others come before it. */
    return latency == NULL || add_latency(plan, latency, ret_right, err);
}
