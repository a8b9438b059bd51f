/* The part of the HTML report about one scenario. */
#include "chaos/check/report/page.h"
#include "chaos/check/report/picture.h"

static const char *result_class(const struct qn_invariant *invariant)
{
    switch (invariant->finding.result) {
    case QN_RESULT_PASS:
        return "pass";
    case QN_RESULT_FAIL:
        return invariant->severity == QN_MUST     ? "fail"
               : invariant->severity == QN_SHOULD ? "warn"
                                                  : "info";
    default:
        return "skip";
    }
}

static void append_invariant(const struct qn_invariant *invariant, size_t number,
                             struct qn_buf *buf)
{
    static const char *const words[] = {"held", "broken", "not observable"};
    const struct qn_finding *finding = &invariant->finding;
    struct qn_fill fill;
    struct qn_fill link;
    struct qn_buf part;

    qn_buf_init(&part, SIZE_MAX / 2);
    qn_page_badge(&part, result_class(invariant), words[finding->result]);
    qn_fill_begin(&fill, "invariant");
    qn_fill_markup(&fill, "badge", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_fill_text(&fill, "name", qn_str_from_cstr(invariant->name));
    qn_fill_format(&fill, "severity", "%s", qn_report_severity_name(invariant->severity));
    qn_fill_text(&fill, "text", qn_str_from_cstr(finding->text));
    for (size_t i = 0; i < finding->witness_count; i++) {
        qn_buf_append_str(&part, i > 0 ? QN_STR(", ") : QN_STR(""));
        qn_fill_begin(&link, "witness");
        qn_fill_format(&link, "anchor", "s%zu-e%llu", number,
                       (unsigned long long)finding->witness[i]);
        qn_fill_format(&link, "seq", "%llu", (unsigned long long)finding->witness[i]);
        qn_fill_end(&link, &part);
    }
    qn_fill_markup(&fill, "witnesses", qn_buf_str(&part));
    qn_fill_end(&fill, buf);
    qn_buf_done(&part);
}

static void append_advice(const char *title, struct qn_str text, struct qn_buf *buf)
{
    struct qn_fill fill;

    if (text.len > 0) {
        qn_fill_begin(&fill, "advice");
        qn_fill_format(&fill, "title", "%s", title);
        qn_fill_text(&fill, "text", text);
        qn_fill_end(&fill, buf);
    }
}

/* Of everything but what went well. */
static void append_trouble(const struct qn_report *report, const struct qn_report_entry *entry,
                           struct qn_buf *buf)
{
    struct qn_fill fill;
    struct qn_buf part;
    struct qn_buf set;

    qn_buf_init(&part, SIZE_MAX / 2);
    qn_buf_init(&set, SIZE_MAX / 2);
    qn_fill_begin(&fill, "trouble");
    qn_fill_text(&fill, "text", qn_str_from_cstr(entry->result.judgement.text));
    if (qn_report_broken(&entry->result.judgement) != NULL) {
        append_advice("Why it matters", qn_report_why(entry), &part);
        append_advice("How it is usually fixed", qn_report_fix(entry), &part);
    }
    for (size_t i = 0; i < entry->result.judgement.refusal_count; i++) {
        qn_buf_clear(&set);
        qn_report_refusal(&entry->result.judgement.refusals[i], &set);
        append_advice("Calls of the consumer", qn_buf_str(&set), &part);
    }
    if (entry->shrunk != NULL) {
        qn_buf_clear(&set);
        qn_report_shrunk(entry, &set);
        append_advice("Smallest failing set", qn_buf_str(&set), &part);
    }
    qn_fill_markup(&fill, "advice", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_report_rerun(report, entry, &part);
    qn_fill_text(&fill, "rerun", qn_buf_str(&part));
    qn_fill_end(&fill, buf);
    qn_buf_done(&set);
    qn_buf_done(&part);
}

static void append_faults(const struct qn_judgement *judgement, struct qn_buf *buf)
{
    struct qn_fill fill;
    struct qn_buf items;
    struct qn_buf badge;

    if (judgement->fault_count == 0) {
        return;
    }
    qn_buf_init(&items, SIZE_MAX / 2);
    qn_buf_init(&badge, SIZE_MAX / 2);
    for (size_t i = 0; i < judgement->fault_count; i++) {
        const struct qn_planned_fault *fault = &judgement->faults[i];
        bool is_done = fault->fired >= fault->planned;
        qn_page_badge(&badge, is_done ? "pass" : "inconclusive", is_done ? "fired" : "missed");
        qn_fill_begin(&fill, "fault");
        qn_fill_markup(&fill, "badge", qn_buf_str(&badge));
        qn_fill_text(&fill, "rule", qn_str_from_cstr(fault->rule));
        qn_fill_format(&fill, "fired", "%lld", (long long)fault->fired);
        qn_fill_format(&fill, "planned", "%lld", (long long)fault->planned);
        qn_fill_end(&fill, &items);
        qn_buf_clear(&badge);
    }
    qn_fill_begin(&fill, "faults");
    qn_fill_markup(&fill, "items", qn_buf_str(&items));
    qn_fill_end(&fill, buf);
    qn_buf_done(&badge);
    qn_buf_done(&items);
}

static void append_counts(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    struct qn_counts counts;

    qn_report_counts(entry, &counts);
    qn_report_counts_text(&counts, buf);
}

static void append_tenants(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    struct qn_tenants tenants;
    struct qn_fill fill;
    struct qn_buf rows;

    qn_report_tenants(entry, &tenants);
    if (tenants.count == 0) {
        return;
    }
    qn_buf_init(&rows, SIZE_MAX / 2);
    for (size_t i = 0; i < tenants.count; i++) {
        const struct qn_tenant *one = &tenants.items[i];
        qn_fill_begin(&fill, "tenant");
        qn_fill_text(&fill, "name", one->name);
        qn_fill_format(&fill, "sent", "%zu", one->sent);
        qn_fill_format(&fill, "done", "%zu", one->done);
        qn_fill_format(&fill, "half", "%.3g s", (double)one->p50_ms / 1000);
        qn_fill_format(&fill, "most", "%.3g s", (double)one->p95_ms / 1000);
        qn_fill_end(&fill, &rows);
    }
    qn_fill_begin(&fill, "tenants");
    qn_fill_text(&fill, "id", entry->scenario->id);
    qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
    qn_fill_end(&fill, buf);
    qn_buf_done(&rows);
}

static void append_group(const struct qn_group_hold *one, struct qn_buf *rows)
{
    struct qn_fill fill;
    struct qn_buf badge;

    qn_buf_init(&badge, SIZE_MAX / 2);
    qn_page_badge(&badge, one->is_stuck ? "warn" : "pass", one->is_stuck ? "stuck" : "moves on");
    qn_fill_begin(&fill, "group");
    qn_fill_text(&fill, "name", one->name);
    qn_fill_format(&fill, "sent", "%lld", (long long)one->sent);
    qn_fill_format(&fill, "done", "%lld", (long long)one->done);
    qn_fill_format(&fill, "held", "%.3g s", (double)one->held_ms / 1000);
    qn_fill_text(&fill, "behind", one->behind);
    qn_fill_format(&fill, "leases", "%lld", (long long)one->leases);
    qn_fill_format(&fill, "waiting", "%lld", (long long)one->waiting);
    qn_fill_markup(&fill, "badge", qn_buf_str(&badge));
    qn_fill_end(&fill, rows);
    qn_buf_done(&badge);
}

static void append_groups(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    struct qn_group_holds holds;
    struct qn_fill fill;
    struct qn_buf rows;

    qn_report_group_holds(entry, &holds);
    if (holds.count == 0) {
        return;
    }
    qn_buf_init(&rows, SIZE_MAX / 2);
    for (size_t i = 0; i < holds.count; i++) {
        append_group(&holds.items[i], &rows);
    }
    qn_fill_begin(&fill, "groups");
    qn_fill_text(&fill, "id", entry->scenario->id);
    qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
    qn_fill_format(&fill, "note",
                   "%zu of %zu groups. Stuck: behind one message for longer than a lease lasts, "
                   "while others wait.",
                   holds.count, holds.all);
    qn_fill_end(&fill, buf);
    qn_buf_done(&rows);
}

static void append_letter(void *context, const struct qn_dead_letter *letter)
{
    struct qn_buf *rows = context;
    struct qn_fill fill;

    qn_fill_begin(&fill, "letter");
    qn_fill_text(&fill, "key", letter->k.len > 0 ? letter->k : QN_STR("not known"));
    qn_fill_text(&fill, "mid", letter->mid);
    qn_fill_format(&fill, "receives", "%lld", (long long)letter->receives);
    if (letter->sent_at_ms != QN_EVENT_NO_INT) {
        qn_fill_format(&fill, "sent", "%.3f s", (double)letter->sent_after_ms / 1000);
    } else {
        qn_fill_text(&fill, "sent", QN_STR("not known"));
    }
    qn_fill_text(&fill, "reason", letter->reason);
    qn_fill_text(&fill, "body", letter->body);
    qn_fill_end(&fill, rows);
}

static void append_letters(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    struct qn_fill fill;
    struct qn_buf rows;

    qn_buf_init(&rows, SIZE_MAX / 2);
    qn_report_dead_letters(entry, append_letter, &rows);
    if (rows.len > 0) {
        qn_fill_begin(&fill, "letters");
        qn_fill_text(&fill, "id", entry->scenario->id);
        qn_fill_markup(&fill, "rows", qn_buf_str(&rows));
        qn_fill_end(&fill, buf);
    }
    qn_buf_done(&rows);
}

void qn_page_scenario(const struct qn_report *report, size_t number, struct qn_buf *buf)
{
    const struct qn_report_entry *entry = &report->entries[number - 1];
    const struct qn_judgement *judgement = &entry->result.judgement;
    enum qn_outcome outcome = judgement->outcome;
    bool is_fine =
        outcome == QN_OUTCOME_PASS || outcome == QN_OUTCOME_INFO || outcome == QN_OUTCOME_SKIP;
    struct qn_fill fill;
    struct qn_buf part;

    qn_buf_init(&part, SIZE_MAX / 2);
    qn_fill_begin(&fill, "scenario");
    qn_fill_format(&fill, "class", "%s", qn_page_class(outcome));
    qn_fill_format(&fill, "anchor", "s%zu", number);
    qn_fill_format(&fill, "open", "%s", is_fine ? "" : " open");
    qn_fill_text(&fill, "id", entry->scenario->id);
    qn_fill_text(&fill, "title", entry->scenario->title);
    qn_page_outcome(&part, outcome);
    qn_fill_markup(&fill, "badge", qn_buf_str(&part));
    qn_buf_clear(&part);
    if (!is_fine) {
        append_trouble(report, entry, &part);
    }
    qn_fill_markup(&fill, "trouble", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_counts(entry, &part);
    qn_fill_text(&fill, "counts", qn_buf_str(&part));
    qn_buf_clear(&part);
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        append_invariant(&judgement->invariants[i], number, &part);
    }
    qn_fill_markup(&fill, "invariants", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_faults(judgement, &part);
    qn_fill_markup(&fill, "faults", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_tenants(entry, &part);
    qn_fill_markup(&fill, "tenants", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_groups(entry, &part);
    qn_fill_markup(&fill, "groups", qn_buf_str(&part));
    qn_buf_clear(&part);
    append_letters(entry, &part);
    qn_fill_markup(&fill, "letters", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_picture_append(entry, &part);
    qn_fill_markup(&fill, "picture", qn_buf_str(&part));
    qn_buf_clear(&part);
    qn_page_events(entry, number, &part);
    qn_fill_markup(&fill, "events", qn_buf_str(&part));
    qn_buf_done(&part);
    qn_fill_end(&fill, buf);
}
