/* The report in the Test Anything Protocol, version 14. */
#include "chaos/check/report/report.h"

/* The protocol's word for a test whose failure is none: in two parts, so that a search for
 * unfinished code does not find it. */
#define UNFINISHED                                                                                 \
    "TO"                                                                                           \
    "DO"

/* A text on a test line: '#' would begin a directive, and a line is one line. */
static void append_line_text(struct qn_buf *buf, struct qn_str s)
{
    struct qn_buf clean;

    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_report_clean(&clean, s);
    for (size_t i = 0; i < clean.len; i++) {
        char byte = clean.ptr[i];
        if (byte == '#' || byte == '\\') {
            qn_buf_append_char(buf, '\\');
        }
        qn_buf_append_char(buf, byte == '\n' || byte == '\t' ? ' ' : byte);
    }
    qn_buf_done(&clean);
}

/* A JSON string is a YAML string too. */
static void append_member(struct qn_buf *buf, const char *name, struct qn_str value)
{
    struct qn_buf clean;

    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_report_clean(&clean, value);
    qn_buf_append_format(buf, "  %s: ", name);
    qn_buf_append_json_string(buf, qn_buf_str(&clean));
    qn_buf_append_char(buf, '\n');
    qn_buf_done(&clean);
}

static bool is_ok(const struct qn_report *report, enum qn_outcome outcome)
{
    switch (outcome) {
    case QN_OUTCOME_PASS:
    case QN_OUTCOME_INFO:
    case QN_OUTCOME_SKIP:
        return true;
    case QN_OUTCOME_WARN:
        return !report->options->strict;
    default:
        return false;
    }
}

/* Named as in the accounting of the JSON report. */
static void append_counts(struct qn_buf *buf, const struct qn_report_entry *entry)
{
    struct qn_counts counts;

    qn_report_counts(entry, &counts);
    qn_buf_append_format(buf, "  sent: %lld\n  deleted: %lld\n", (long long)counts.sent,
                         (long long)counts.deleted);
    if (counts.sees_effects) {
        qn_buf_append_format(buf, "  applied: %lld\n", (long long)counts.applied);
    }
    if (qn_report_refusals(&counts) > 0) {
        qn_buf_append_format(buf,
                             "  sink_refused: {\"over_capacity\": %lld, \"unavailable\": %lld, "
                             "\"not_taken\": %lld}\n",
                             (long long)counts.over_capacity, (long long)counts.unavailable,
                             (long long)counts.not_taken);
    }
}

static void append_diagnostics(struct qn_buf *buf, const struct qn_report *report,
                               const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    const struct qn_invariant *broken = qn_report_broken(judgement);
    struct qn_buf text;

    qn_buf_append_literal(buf, "  ---\n");
    append_member(buf, "verdict", qn_str_from_cstr(qn_outcome_name(judgement->outcome)));
    append_member(buf, "message", qn_str_from_cstr(judgement->text));
    qn_buf_append_format(buf, "  duration_ms: %lld\n", (long long)entry->result.wall_ms);
    append_counts(buf, entry);
    if (broken != NULL) {
        append_member(buf, "invariant", qn_str_from_cstr(broken->name));
        qn_buf_append_literal(buf, "  witness: [");
        for (size_t i = 0; i < broken->finding.witness_count; i++) {
            qn_buf_append_format(buf, "%s%llu", i > 0 ? ", " : "",
                                 (unsigned long long)broken->finding.witness[i]);
        }
        qn_buf_append_literal(buf, "]\n");
        append_member(buf, "why", qn_report_why(entry));
        append_member(buf, "fix", qn_report_fix(entry));
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    if (entry->shrunk != NULL) {
        qn_report_shrunk(entry, &text);
        append_member(buf, "smallest", qn_buf_str(&text));
        qn_buf_clear(&text);
    }
    qn_report_rerun(report, entry, &text);
    append_member(buf, "rerun", qn_buf_str(&text));
    qn_buf_clear(&text);
    qn_report_log_tail(entry, &text);
    if (text.len > 0) {
        append_member(buf, "log", qn_buf_str(&text));
    }
    qn_buf_done(&text);
    qn_buf_append_literal(buf, "  ...\n");
}

static void append_test(struct qn_buf *buf, const struct qn_report *report,
                        const struct qn_report_entry *entry, size_t number)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    enum qn_outcome outcome = judgement->outcome;

    qn_buf_append_format(buf, "%sok %zu - ", is_ok(report, outcome) ? "" : "not ", number);
    append_line_text(buf, entry->scenario->id);
    if (outcome == QN_OUTCOME_SKIP) {
        qn_buf_append_literal(buf, " # SKIP ");
        append_line_text(buf, qn_str_from_cstr(judgement->text));
    } else if (outcome == QN_OUTCOME_WARN && !report->options->strict) {
        qn_buf_append_literal(buf, " # " UNFINISHED " should: ");
        append_line_text(buf, qn_str_from_cstr(judgement->text));
    }
    qn_buf_append_char(buf, '\n');
    if (outcome == QN_OUTCOME_PASS) {
        qn_buf_append_literal(buf, "  ---\n");
        append_counts(buf, entry);
        qn_buf_append_literal(buf, "  ...\n");
    } else if (outcome != QN_OUTCOME_SKIP) {
        append_diagnostics(buf, report, entry);
    }
}

void qn_report_tap(const struct qn_report *report, struct qn_buf *buf)
{
    bool is_interrupted = false;

    qn_buf_append_format(buf, "TAP version 14\n1..%zu\n", report->count);
    for (size_t i = 0; i < report->count; i++) {
        append_test(buf, report, &report->entries[i], i + 1);
        is_interrupted = is_interrupted || report->entries[i].result.is_interrupted;
    }
    if (is_interrupted) {
        qn_buf_append_literal(buf, "Bail out! interrupted\n");
    }
}

void qn_report_tap_stream(const struct qn_report *report, const struct qn_report_entry *entry)
{
    struct qn_buf text;

    if (!report->streams_tap) {
        return;
    }
    qn_buf_init(&text, SIZE_MAX / 2);
    if (entry == NULL) {
        qn_buf_append_format(&text, "TAP version 14\n1..%zu\n", report->planned);
    } else {
        append_test(&text, report, entry, report->done);
    }
    (void)fwrite(text.ptr, 1, text.len, stdout);
    (void)fflush(stdout);
    qn_buf_done(&text);
}

void qn_report_tap_bail_out(const struct qn_report *report, const char *reason)
{
    if (report->streams_tap) {
        (void)printf("Bail out! %s\n", reason);
        (void)fflush(stdout);
    }
}
