/* What all checkers need: filling a finding, and which events count. */
#include <stdarg.h>
#include <stdio.h>

#include "chaos/check/judge/judge.h"

void qn_finding_set(struct qn_finding *finding, enum qn_result result, const char *format, ...)
{
    va_list args;

    finding->result = result;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
}

void qn_finding_set_unexercised(struct qn_finding *finding, const char *what)
{
    qn_finding_set(finding, QN_RESULT_NOT_OBSERVABLE, "%s", what);
    finding->is_unexercised = true;
}

bool qn_finding_break(struct qn_finding *finding, enum qn_severity severity, const char *format,
                      ...)
{
    va_list args;

    if (finding->result == QN_RESULT_FAIL && finding->severity <= severity) {
        return false;
    }
    finding->result = QN_RESULT_FAIL;
    finding->severity = severity;
    finding->witness_count = 0;
    va_start(args, format);
    (void)vsnprintf(finding->text, sizeof(finding->text), format, args);
    va_end(args);
    return true;
}

void qn_finding_witness(struct qn_finding *finding, uint64_t seq)
{
    if (finding->witness_count < QN_WITNESS_MAX) {
        finding->witness[finding->witness_count++] = seq;
    }
}

bool qn_judge_counts(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    bool is_call = event->kind == QN_CHECK_API_IN || event->kind == QN_CHECK_API_OUT;

    return !event->undone && !(is_call && qn_str_equal(event->instance, in->self));
}

bool qn_judge_on_source(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return qn_judge_counts(in, event) && qn_str_equal(event->queue, in->queue);
}

bool qn_judge_is_state(const struct qn_check_event *event)
{
    return event->kind >= QN_CHECK_LEASE_GRANT && event->kind <= QN_CHECK_MSG_DUPCOPY;
}

bool qn_judge_fits(struct qn_str text, struct qn_str pattern)
{
    return qn_str_ends_with(pattern, QN_STR("*"))
               ? qn_str_starts_with(text, qn_str_first(pattern, pattern.len - 1))
               : qn_str_equal(text, pattern);
}

bool qn_judge_is_call(const struct qn_judge_input *in, const struct qn_check_event *event,
                      struct qn_str action)
{
    return (event->kind == QN_CHECK_API_IN || event->kind == QN_CHECK_API_OUT) &&
           qn_judge_fits(event->action, action) && !qn_str_equal(event->instance, in->self);
}

bool qn_judge_asks_to_delete(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_API_IN && qn_judge_is_call(in, event, QN_STR("DeleteMessage*"));
}

/* Its own way to say that the message goes on elsewhere. */
static bool is_own_copy(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_MSG_SEND && !event->undone && !qn_str_is_none(event->k) &&
           !qn_str_equal(event->instance, in->self) &&
           ((in->dlq.len > 0 && qn_str_equal(event->queue, in->dlq)) ||
            (in->retry_queue.len > 0 && qn_str_equal(event->queue, in->retry_queue)));
}

bool qn_judge_is_unnamed(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    return event->kind == QN_CHECK_MSG_SEND && !event->undone && qn_str_is_none(event->k) &&
           !qn_str_equal(event->instance, in->self) &&
           ((in->output_queue.len > 0 && qn_str_equal(event->queue, in->output_queue)) ||
            (in->retry_queue.len > 0 && qn_str_equal(event->queue, in->retry_queue)));
}

bool qn_judge_spoils_answer(const struct qn_check_event *fault)
{
    static const char *const codes[] = {"reset", "close", "truncate", "garbage", "html"};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (qn_str_equal(fault->code, qn_str_from_cstr(codes[i]))) {
            return true;
        }
    }
    return false;
}

bool qn_judge_settles(const struct qn_judge_input *in, const struct qn_check_event *event)
{
    if (event->kind == QN_CHECK_WORK_COMMIT) {
        return qn_str_is_none(event->detail->step) || !in->tally->has_effect;
    }
    return event->kind == QN_CHECK_REJECT || event->kind == QN_CHECK_RECONCILE ||
           is_own_copy(in, event);
}

bool qn_judge_is_poison(const struct qn_judge_input *in, struct qn_str key)
{
    for (size_t i = 0; i < in->expected_dead_count; i++) {
        if (qn_str_equal(in->expected_dead[i], key)) {
            return true;
        }
    }
    return false;
}

bool qn_judge_list_has(const struct qn_judge_input *in, struct qn_str list, struct qn_str key)
{
    while (list.len > 0) {
        struct qn_str rest;
        struct qn_str item = qn_str_trim(qn_str_cut(list, ',', &rest));
        if (item.len > 0 && qn_tally_selects(in->tally, item, key)) {
            return true;
        }
        list = rest;
    }
    return false;
}

bool qn_judge_is_excepted(const struct qn_judge_input *in, struct qn_str key)
{
    return qn_str_starts_with(in->arguments, QN_STR("except ")) &&
           qn_judge_list_has(in, qn_str_from(in->arguments, sizeof("except ") - 1), key);
}

struct qn_str qn_judge_message_name(const struct qn_check_event *event)
{
    return event->k.len > 0 ? event->k : event->mid;
}

int qn_judge_compare_sn(struct qn_str a, struct qn_str b)
{
    while (a.len > 0 && a.ptr[0] == '0') {
        a = qn_str_from(a, 1);
    }
    while (b.len > 0 && b.ptr[0] == '0') {
        b = qn_str_from(b, 1);
    }
    if (a.len != b.len) {
        return a.len < b.len ? -1 : 1;
    }
    return qn_str_compare(a, b);
}
