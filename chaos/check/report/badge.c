/* The badge for the first page of a project: how far the consumer passes, by which version. */
#include "chaos/check/report/report.h"

enum {
    HEIGHT = 20,
    LETTER = 7, /* width of a letter, on the safe side */
    MARGIN = 10
};

static const char *colour_of(enum qn_report_level level)
{
    switch (level) {
    case QN_REPORT_STRICT:
        return "#2e7d32";
    case QN_REPORT_CORE:
        return "#558b2f";
    case QN_REPORT_PARTIAL:
        return "#546e7a";
    default:
        return "#c62828";
    }
}

static void append_count(struct qn_buf *text, size_t count, const char *word)
{
    if (count > 0) {
        qn_buf_append_format(text, ", %zu %s", count, word);
    }
}

void qn_report_standing(const struct qn_report *report, struct qn_buf *text)
{
    size_t counts[QN_OUTCOME_COUNT];
    size_t of_profile = 0;
    size_t skipped = 0;
    size_t waived = 0;

    qn_report_count(report, counts);
    for (size_t i = 0; i < report->count; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        of_profile += entry->is_of_profile;
        waived += entry->waiver != NULL;
        skipped += entry->is_of_profile && entry->waiver == NULL &&
                   entry->result.judgement.outcome == QN_OUTCOME_SKIP;
    }
    qn_buf_append_format(text, "%s: %zu of %zu pass", qn_report_level_name(qn_report_level(report)),
                         counts[QN_OUTCOME_PASS] + counts[QN_OUTCOME_INFO],
                         report->total > of_profile ? report->total : of_profile);
    append_count(text, counts[QN_OUTCOME_WARN], "warn");
    append_count(text, counts[QN_OUTCOME_FAIL], "fail");
    append_count(text, counts[QN_OUTCOME_INCONCLUSIVE], "inconclusive");
    append_count(text, counts[QN_OUTCOME_ERROR], "error");
    append_count(text, skipped, "skip");
    append_count(text, waived, "waived");
}

static void append_text(struct qn_buf *buf, size_t x, struct qn_str text)
{
    qn_buf_append_format(buf, "  <text x=\"%zu\" y=\"14\">", x);
    qn_report_escape(buf, text);
    qn_buf_append_literal(buf, "</text>\n");
}

void qn_report_badge(const struct qn_report *report, struct qn_buf *buf)
{
    struct qn_buf left;
    struct qn_buf right;

    qn_buf_init(&left, SIZE_MAX / 2);
    qn_buf_init(&right, SIZE_MAX / 2);
    qn_buf_append_format(&left, "quern %s %s", QN_VERSION, report->options->profile);
    qn_report_standing(report, &right);
    size_t left_width = left.len * LETTER + MARGIN;
    size_t width = left_width + right.len * LETTER + MARGIN;
    qn_buf_append_format(buf,
                         "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%d\" "
                         "role=\"img\" aria-label=\"%.*s, %.*s\">\n",
                         width, HEIGHT, QN_STR_ARG(qn_buf_str(&left)),
                         QN_STR_ARG(qn_buf_str(&right)));
    qn_buf_append_format(buf, "  <title>%.*s, %.*s</title>\n", QN_STR_ARG(qn_buf_str(&left)),
                         QN_STR_ARG(qn_buf_str(&right)));
    qn_buf_append_format(buf, "  <rect width=\"%zu\" height=\"%d\" rx=\"3\" fill=\"#37474f\"/>\n",
                         width, HEIGHT);
    qn_buf_append_format(
        buf, "  <rect x=\"%zu\" width=\"%zu\" height=\"%d\" rx=\"3\" fill=\"%s\"/>\n", left_width,
        width - left_width, HEIGHT, colour_of(qn_report_level(report)));
    qn_buf_append_literal(buf, "  <g fill=\"#fff\" font-family=\"DejaVu Sans,Verdana,sans-serif\" "
                               "font-size=\"11\">\n");
    append_text(buf, MARGIN / 2, qn_buf_str(&left));
    append_text(buf, left_width + MARGIN / 2, qn_buf_str(&right));
    qn_buf_append_literal(buf, "  </g>\n</svg>\n");
    qn_buf_done(&left);
    qn_buf_done(&right);
}
