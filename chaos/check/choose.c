/* The order of scenarios: as they are listed, but for those that may share a consumer, and the
 * longest first where several run side by side. */
#include "chaos/check/choose.h"

#include "chaos/check/declared.h"
#include "chaos/check/terms.h"

static void append_kind(const struct qn_report *report, const struct qn_scenario *scenario,
                        struct qn_buf *kind)
{
    const struct qn_run_options options = {.check = report->options, .learned = &report->profile};

    qn_run_kind(qn_needs_form(scenario, report->options, &report->profile), &options, kind);
}

/* So long it may take, in virtual time. */
static int64_t most_ms(const struct qn_report *report, const struct qn_scenario *scenario)
{
    struct qn_terms terms;

    qn_terms_init(&terms, scenario, report->options, &report->profile);
    return qn_terms_ms(&terms, scenario->drained_within) + qn_terms_ms(&terms, scenario->run_for);
}

/* NULL: all have begun. */
static struct qn_report_entry *longest(const struct qn_report *report)
{
    struct qn_report_entry *found = NULL;
    int64_t found_ms = -1;

    for (size_t i = 0; i < report->planned; i++) {
        struct qn_report_entry *entry = &report->entries[i];
        int64_t ms = entry->is_begun ? -1 : most_ms(report, entry->scenario);
        if (ms > found_ms) {
            found = entry;
            found_ms = ms;
        }
    }
    return found;
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

    bool is_measured = report->profile.is_known; /* else the first one shows what it is */
    if (is_measured && kept_from == NULL && report->options->jobs > 1 && !report->options->reuse) {
        return longest(report);
    }
    qn_buf_init(&kept, SIZE_MAX / 2);
    if (kept_from != NULL) {
        append_kind(report, kept_from, &kept);
    }
    struct qn_report_entry *entry = next(report, kept.len > 0 ? qn_buf_str(&kept) : QN_STR_NONE);
    qn_buf_done(&kept);
    return entry;
}
