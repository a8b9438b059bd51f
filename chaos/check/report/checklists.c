/* The checklists of html/checklists.json, filled in from the verdicts. */
#include "chaos/check/report/page.h"
#include "chaos/embedded.h"

enum { EVIDENCE_MAX = 6 };

/* How bad a result is: the worst one counts. */
enum mark { NOT_SEEN, HELD, OPEN, SHOULD, BROKEN };

static const struct {
    const char *css_class;
    const char *word;
} marks[] = {
    [NOT_SEEN] = {"skip", "not seen"}, [HELD] = {"pass", "held"},
    [OPEN] = {"inconclusive", "open"}, [SHOULD] = {"warn", "should"},
    [BROKEN] = {"fail", "broken"},
};

/* One that is for information holds where nothing was noticed; another one that came to no more
 * than that has seen what it does not count, or nothing. */
static enum mark of_info(const struct qn_report_entry *entry)
{
    bool is_noticed = qn_judgement_first_broken(&entry->result.judgement, QN_INFO) != NULL;

    return qn_str_equal(entry->scenario->severity, QN_STR("info")) && !is_noticed ? HELD : OPEN;
}

static enum mark of_outcome(const struct qn_report_entry *entry)
{
    switch (entry->result.judgement.outcome) {
    case QN_OUTCOME_PASS:
        return HELD;
    case QN_OUTCOME_INFO:
        return of_info(entry);
    case QN_OUTCOME_WARN:
        return SHOULD;
    case QN_OUTCOME_FAIL:
        return BROKEN;
    case QN_OUTCOME_SKIP:
        return NOT_SEEN;
    default:
        return OPEN;
    }
}

static enum mark of_invariants(const json_t *names, const struct qn_judgement *judgement)
{
    enum mark worst = NOT_SEEN;

    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        enum mark mark = NOT_SEEN;
        if (!qn_checklist_is_named(names, qn_str_from_cstr(invariant->name))) {
            continue;
        }
        if (invariant->finding.result == QN_RESULT_FAIL) {
            /* What is told for information was not held either. */
            mark = invariant->severity == QN_MUST   ? BROKEN
                   : invariant->severity == QN_INFO ? OPEN
                                                    : SHOULD;
        } else if (invariant->finding.result == QN_RESULT_PASS) {
            mark = HELD;
        }
        worst = mark > worst ? mark : worst;
    }
    return worst;
}

/* What one scenario says of the item. With scenarios and invariants, these invariants in those
 * scenarios count; with one of both, that. */
static enum mark look_at(const json_t *item, const struct qn_report_entry *entry)
{
    const json_t *scenarios = json_object_get(item, "scenarios");
    const json_t *invariants = json_object_get(item, "invariants");
    const struct qn_judgement *judgement = &entry->result.judgement;
    enum mark outcome = of_outcome(entry);

    if (scenarios != NULL && !qn_checklist_is_named(scenarios, entry->scenario->id)) {
        return NOT_SEEN;
    }
    if (invariants == NULL) {
        return scenarios != NULL ? outcome : NOT_SEEN;
    }
    enum mark mark = of_invariants(invariants, judgement);
    bool has_verdict =
        judgement->outcome == QN_OUTCOME_INFO || (outcome != OPEN && outcome != NOT_SEEN);
    /* Without a verdict nothing is held, and nothing broken. */
    return mark != NOT_SEEN && !has_verdict ? outcome : mark;
}

static void append_evidence(const struct qn_report *report, const json_t *item, enum mark mark,
                            struct qn_buf *buf)
{
    const json_t *outside = json_object_get(item, "outside");
    struct qn_fill fill;
    size_t count = 0;

    if (outside != NULL) {
        qn_buf_append_literal(buf, "cannot be seen from outside: ");
        qn_report_escape(buf, qn_str_from_cstr(json_string_value(outside)));
    } else if (mark == NOT_SEEN) {
        qn_checklist_would_show(report, item, buf);
    }
    for (size_t i = 0; i < report->count; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        if (mark == NOT_SEEN || look_at(item, entry) != mark || ++count > EVIDENCE_MAX) {
            continue;
        }
        qn_buf_append_str(buf, count > 1 ? QN_STR(", ") : QN_STR(""));
        qn_fill_begin(&fill, "scenario-link");
        qn_fill_format(&fill, "anchor", "s%zu", i + 1);
        qn_fill_text(&fill, "id", entry->scenario->id);
        qn_fill_end(&fill, buf);
    }
    if (count > EVIDENCE_MAX) {
        qn_buf_append_format(buf, ", and %zu more", count - EVIDENCE_MAX);
    }
}

static enum mark worst_of(const struct qn_report *report, const json_t *item)
{
    enum mark worst = NOT_SEEN;

    for (size_t i = 0; i < report->count; i++) {
        enum mark mark = look_at(item, &report->entries[i]);
        worst = mark > worst ? mark : worst;
    }
    return worst;
}

static void append_item(const struct qn_report *report, const json_t *item, struct qn_buf *buf)
{
    enum mark worst = worst_of(report, item);
    struct qn_fill fill;
    struct qn_buf part;

    qn_buf_init(&part, SIZE_MAX / 2);
    qn_page_badge(&part, marks[worst].css_class, marks[worst].word);
    qn_fill_begin(&fill, "checklist-row");
    qn_fill_markup(&fill, "badge", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_fill_text(&fill, "text", qn_str_from_cstr(json_string_value(json_object_get(item, "text"))));
    append_evidence(report, item, worst, &part);
    qn_fill_markup(&fill, "evidence", qn_buf_str(&part));
    qn_fill_end(&fill, buf);
    qn_buf_done(&part);
}

static json_t *read_lists(void)
{
    json_t *lists = NULL;

    for (size_t i = 0; i < qn_embedded_page_count; i++) {
        if (strcmp(qn_embedded_pages[i].name, "checklists") == 0) {
            lists = json_loadb(qn_embedded_pages[i].data, qn_embedded_pages[i].size, 0, NULL);
        }
    }
    return lists;
}

void qn_page_checklists(const struct qn_report *report, struct qn_buf *buf)
{
    json_t *lists = read_lists();
    struct qn_fill fill;
    struct qn_buf rows;
    size_t i;
    size_t j;
    const json_t *list;
    const json_t *item;

    qn_buf_init(&rows, SIZE_MAX / 2);
    json_array_foreach(lists, i, list)
    {
        json_array_foreach(json_object_get(list, "items"), j, item)
        {
            append_item(report, item, &rows);
        }
        qn_fill_begin(&fill, "checklist");
        qn_fill_text(&fill, "title",
                     qn_str_from_cstr(json_string_value(json_object_get(list, "title"))));
        qn_fill_text(&fill, "intro",
                     qn_str_from_cstr(json_string_value(json_object_get(list, "intro"))));
        qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
        qn_fill_end(&fill, buf);
        qn_buf_clear(&rows);
    }
    qn_buf_done(&rows);
    json_decref(lists);
}

/* The scenarios that say so, where something is not as it should be. */
static void print_item(const struct qn_report *report, const json_t *item)
{
    enum mark worst = worst_of(report, item);
    const char *outside = json_string_value(json_object_get(item, "outside"));
    size_t told = 0;

    (void)fprintf(report->console, "  %-8s  %s", outside != NULL ? "-" : marks[worst].word,
                  json_string_value(json_object_get(item, "text")));
    if (outside != NULL) {
        (void)fprintf(report->console, " (cannot be seen from outside: %s)", outside);
    }
    for (size_t i = 0; i < report->count && worst >= OPEN; i++) {
        if (look_at(item, &report->entries[i]) == worst && told++ < EVIDENCE_MAX) {
            (void)fprintf(report->console, "%s%.*s", told > 1 ? ", " : ": ",
                          QN_STR_ARG(report->entries[i].scenario->id));
        }
    }
    if (outside == NULL && worst == NOT_SEEN) {
        struct qn_buf text;
        qn_buf_init(&text, SIZE_MAX / 2);
        qn_checklist_would_show(report, item, &text);
        (void)fprintf(report->console, ": %.*s", QN_STR_ARG(qn_buf_str(&text)));
        qn_buf_done(&text);
    }
    (void)fputc('\n', report->console);
}

void qn_report_checklists_print(const struct qn_report *report)
{
    json_t *lists = read_lists();
    size_t i;
    size_t j;
    const json_t *list;
    const json_t *item;

    json_array_foreach(lists, i, list)
    {
        (void)fprintf(report->console, "\n %s\n",
                      json_string_value(json_object_get(list, "title")));
        json_array_foreach(json_object_get(list, "items"), j, item)
        {
            print_item(report, item);
        }
    }
    json_decref(lists);
}
