/* The order of scenarios: as they are listed, but for those that may share a consumer. */
#include "chaos/check/choose.h"

#include "chaos/check/declared.h"

static void append_kind(const struct qn_report *report, const struct qn_scenario *scenario,
                        struct qn_buf *kind)
{
    const struct qn_run_options options = {.check = report->options, .learned = &report->profile};

    qn_run_kind(qn_needs_form(scenario, report->options, &report->profile), &options, kind);
}

static struct qn_report_entry *next(const struct qn_report *report, struct qn_str kept)
{
    struct qn_report_entry *first = NULL;
    struct qn_report_entry *fitting = NULL;
    struct qn_buf kind;

    qn_buf_init(&kind, SIZE_MAX / 2);
    for (size_t i = 0; fitting == NULL && i < report->planned; i++) {
        struct qn_report_entry *entry = &report->entries[i];
        if (entry->is_begun) {
            continue;
        }
        first = first != NULL ? first : entry;
        if (qn_str_is_none(kept)) {
            break;
        }
        kind.len = 0;
        append_kind(report, entry->scenario, &kind);
        fitting = qn_str_equal(kept, qn_buf_str(&kind)) ? entry : NULL;
    }
    qn_buf_done(&kind);
    return fitting != NULL ? fitting : first;
}

struct qn_report_entry *qn_choose(const struct qn_report *report,
                                  const struct qn_scenario *kept_from)
{
    struct qn_buf kept;

    qn_buf_init(&kept, SIZE_MAX / 2);
    if (kept_from != NULL) {
        append_kind(report, kept_from, &kept);
    }
    struct qn_report_entry *entry = next(report, kept.len > 0 ? qn_buf_str(&kept) : QN_STR_NONE);
    qn_buf_done(&kept);
    return entry;
}
