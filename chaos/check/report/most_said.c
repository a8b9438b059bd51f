/* What a consumer printed that got nothing done: a command that is not there, a name that does not
 * resolve. The judges can only tell what became of its messages. */
#include "chaos/check/report/report.h"

#include <inttypes.h>

enum { LAST_LINES = 3, OFTEN = 3 };

/* Of a scenario in which no message was deleted. */
static bool got_nothing_done(const struct qn_report_entry *entry)
{
    struct qn_counts counts;

    if (entry->result.judgement.outcome != QN_OUTCOME_FAIL) {
        return false;
    }
    qn_report_counts(entry, &counts);
    return counts.sent > 0 && counts.deleted == 0;
}

/* The line that was printed most often; NULL: none several times. */
static const struct qn_check_event *most_often(const struct qn_history *history, int64_t *ret_count)
{
    const struct qn_check_event *found = NULL;
    struct qn_table counts;

    qn_table_init_for(&counts, sizeof(int64_t), &history->texts);
    *ret_count = OFTEN - 1;
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *line = &history->events[i];
        if (line->kind != QN_CHECK_LOG || line->detail->reason.len == 0) {
            continue;
        }
        int64_t *count = qn_table_at_kept(&counts, line->detail->reason);
        if (++*count > *ret_count) {
            *ret_count = *count;
            found = line;
        }
    }
    qn_table_done(&counts);
    return found;
}

void qn_report_most_said(const struct qn_report_entry *entry, const char *indent,
                         struct qn_buf *buf)
{
    const struct qn_history *history = &entry->result.history;
    int64_t times;

    if (!got_nothing_done(entry)) {
        return;
    }
    const struct qn_check_event *line = most_often(history, &times);
    if (line == NULL) {
        qn_report_last_lines(history, LAST_LINES, indent, "| ", buf);
        return;
    }
    qn_buf_append_format(buf, "%s| %" PRId64 " times ", indent, times);
    qn_report_describe(line, buf);
    qn_buf_append_char(buf, '\n');
}
