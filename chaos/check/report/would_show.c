/* A point of a checklist that no scenario of the run looked at: which ones would show it. */
#include "chaos/check/catalogue.h"
#include "chaos/check/report/page.h"

enum { NAMED_MAX = 4 };

bool qn_checklist_is_named(const json_t *patterns, struct qn_str id)
{
    size_t i;
    const json_t *pattern;

    json_array_foreach(patterns, i, pattern)
    {
        if (qn_rule_glob(qn_str_from_cstr(json_string_value(pattern)), id)) {
            return true;
        }
    }
    return false;
}

/* What is only told for information checks nothing off. */
static bool judges_one_of(const struct qn_scenario *scenario, const json_t *invariants)
{
    static const char *const lists[] = {"must", "should"};
    size_t i;
    const json_t *entry;

    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
        json_array_foreach(json_object_get(scenario->json, lists[l]), i, entry)
        {
            struct qn_judge_rule rule;
            struct qn_error err;
            if (qn_judge_rule_read(qn_str_from_cstr(json_string_value(entry)), &rule, &err) &&
                qn_checklist_is_named(invariants, rule.name)) {
                return true;
            }
        }
    }
    return false;
}

static bool would_show(const struct qn_scenario *scenario, const json_t *item)
{
    const json_t *scenarios = json_object_get(item, "scenarios");
    const json_t *invariants = json_object_get(item, "invariants");
    bool is_variant = qn_str_find_char(scenario->id, '+') < scenario->id.len;

    return !is_variant && (scenarios != NULL || invariants != NULL) &&
           (scenarios == NULL || qn_checklist_is_named(scenarios, scenario->id)) &&
           (invariants == NULL || judges_one_of(scenario, invariants));
}

static bool was_skipped(const struct qn_report *report, struct qn_str id)
{
    for (size_t i = 0; i < report->count; i++) {
        if (qn_str_equal(report->entries[i].scenario->id, id)) {
            return report->entries[i].result.judgement.outcome == QN_OUTCOME_SKIP;
        }
    }
    return false;
}

/* Returns how many there are; the first of them are named. */
static size_t append_all(const struct qn_report *report, const struct qn_catalogue *catalogue,
                         const char *profile, const json_t *item, struct qn_buf *buf)
{
    const struct qn_catalogue_filter filter = {.profile = profile};
    size_t count = 0;

    for (size_t i = 0; i < catalogue->count; i++) {
        const struct qn_scenario *scenario = catalogue->scenarios[i];
        if (!qn_catalogue_passes(&filter, scenario) || !would_show(scenario, item)) {
            continue;
        }
        if (++count <= NAMED_MAX) {
            qn_buf_append_format(buf, "%s%.*s%s", count > 1 ? ", " : "to be seen in ",
                                 QN_STR_ARG(scenario->id),
                                 was_skipped(report, scenario->id) ? " (skipped)" : "");
        }
    }
    if (count > NAMED_MAX) {
        qn_buf_append_format(buf, " and %zu more", count - NAMED_MAX);
    }
    return count;
}

void qn_checklist_would_show(const struct qn_report *report, const json_t *item, struct qn_buf *buf)
{
    static const char *const profiles[] = {"standard", "fifo", "lambda"};
    const char *own = report->options->profile;
    struct qn_catalogue catalogue = {0};
    struct qn_buf mistakes;

    qn_buf_init(&mistakes, SIZE_MAX / 2);
    bool is_open = qn_catalogue_open(&catalogue, NULL, 0, &mistakes);
    size_t count = is_open ? append_all(report, &catalogue, own, item, buf) : 0;
    for (size_t i = 0; is_open && count == 0 && i < 3; i++) {
        count = append_all(report, &catalogue, profiles[i], item, buf);
        if (count > 0) {
            qn_buf_append_format(buf, " (--profile %s)", profiles[i]);
        }
    }
    qn_catalogue_close(&catalogue);
    qn_buf_done(&mistakes);
}
