/* What a scenario counts beside its verdict: messages that were deleted, which says something only
 * next to the effects (an empty queue is no proof), and calls that the sink refused. */
#include "chaos/check/report/report.h"

#include <inttypes.h>

enum { TOO_MANY_REQUESTS = 429, UNAVAILABLE = 503 };

void qn_report_queues(const struct qn_report_entry *entry, struct qn_report_queues *queues)
{
    const struct qn_str line = entry->result.history.header;
    const json_t *run = NULL;

    *queues = (struct qn_report_queues){
        .header =
            qn_str_is_none(line) ? NULL : json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL)};
    run = json_object_get(queues->header, "run");
    queues->source = qn_str_from_cstr(json_string_value(json_object_get(run, "queue")));
    queues->self = qn_str_from_cstr(json_string_value(json_object_get(run, "self")));
    queues->dlq = qn_str_from_cstr(json_string_value(json_object_get(run, "dlq")));
    queues->retry = qn_str_from_cstr(
        json_string_value(json_object_get(json_object_get(run, "declared"), "retry_queue")));
    queues->visibility_ms = json_integer_value(json_object_get(run, "visibility_ms"));
}

void qn_report_queues_done(struct qn_report_queues *queues)
{
    json_decref(queues->header);
}

void qn_report_counts(const struct qn_report_entry *entry, struct qn_counts *counts)
{
    const struct qn_history *history = &entry->result.history;
    struct qn_report_queues queues;
    struct qn_table deleted; /* a copy of a message that the queue made is no other message */

    *counts = (struct qn_counts){.sent = entry->result.judgement.accounting.attempts,
                                 .applied = entry->result.judgement.accounting.applied,
                                 .sees_effects = entry->result.judgement.level > QN_LEVEL_PROTOCOL};
    qn_report_queues(entry, &queues);
    qn_table_init(&deleted, 1);
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_MSG_DELETE && !event->undone && !qn_str_is_none(event->mid) &&
            qn_str_equal(event->queue, queues.source) &&
            !qn_str_equal(event->instance, queues.self)) {
            (void)qn_table_at(&deleted, event->mid);
        } else if (event->kind == QN_CHECK_WORK_REPLY) {
            counts->over_capacity += event->status == TOO_MANY_REQUESTS;
            counts->unavailable += event->status == UNAVAILABLE;
        } else {
            counts->not_taken += event->kind == QN_CHECK_REFUSED;
        }
    }
    counts->deleted = (int64_t)deleted.count;
    qn_table_done(&deleted);
    qn_report_queues_done(&queues);
}

void qn_report_total_counts(const struct qn_report *report, struct qn_counts *sum)
{
    *sum = (struct qn_counts){.sees_effects = report->profile.level > QN_LEVEL_PROTOCOL};
    for (size_t i = 0; i < report->count; i++) {
        struct qn_counts counts;
        if (report->entries[i].result.judgement.outcome == QN_OUTCOME_ERROR) {
            continue; /* its books were not closed */
        }
        qn_report_counts(&report->entries[i], &counts);
        sum->sent += counts.sent;
        sum->applied += counts.applied;
        sum->deleted += counts.deleted;
        sum->over_capacity += counts.over_capacity;
        sum->unavailable += counts.unavailable;
        sum->not_taken += counts.not_taken;
    }
}

int64_t qn_report_refusals(const struct qn_counts *counts)
{
    return counts->over_capacity + counts->unavailable + counts->not_taken;
}

void qn_report_sink_refusals(const struct qn_counts *counts, struct qn_buf *buf)
{
    const struct {
        int64_t count;
        const char *why;
    } rows[] = {
        {counts->over_capacity, "beyond its capacity (429)"},
        {counts->unavailable, "by a fault (503)"},
        {counts->not_taken, "that it could not take"},
    };
    int64_t all = qn_report_refusals(counts);
    const char *before = "";

    if (all == 0) {
        return;
    }
    qn_buf_append_format(buf, "the sink refused %" PRId64 " call%s: ", all, all == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].count > 0) {
            qn_buf_append_format(buf, "%s%" PRId64 " %s", before, rows[i].count, rows[i].why);
            before = ", ";
        }
    }
}

void qn_report_counts_text(const struct qn_counts *counts, struct qn_buf *buf)
{
    qn_buf_append_format(buf, "%" PRId64 " message%s sent, %" PRId64 " deleted", counts->sent,
                         counts->sent == 1 ? "" : "s", counts->deleted);
    if (counts->sees_effects) {
        qn_buf_append_format(buf, ", %" PRId64 " effect%s applied", counts->applied,
                             counts->applied == 1 ? "" : "s");
    }
    if (qn_report_refusals(counts) > 0) {
        qn_buf_append_literal(buf, "; ");
        qn_report_sink_refusals(counts, buf);
    }
}
