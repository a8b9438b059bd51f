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
