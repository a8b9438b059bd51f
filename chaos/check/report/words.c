/* What all forms of the report say alike. */
#include "chaos/check/catalogue.h"
#include "chaos/check/report/report.h"

enum { TAIL_LINES = 40, TOLD_RULES_MAX = 4, LINE_COLUMNS = 100 };

static const char *const severity_names[] = {
    [QN_MUST] = "must", [QN_SHOULD] = "should", [QN_INFO] = "info"};
static const char *const result_names[] = {[QN_RESULT_PASS] = "pass",
                                           [QN_RESULT_FAIL] = "fail",
                                           [QN_RESULT_NOT_OBSERVABLE] = "not observable"};

const char *qn_report_result_name(enum qn_result result)
{
    return result_names[result];
}

const char *qn_report_severity_name(enum qn_severity severity)
{
    return severity_names[severity];
}

void qn_report_count(const struct qn_report *report, size_t counts[QN_OUTCOME_COUNT])
{
    for (size_t i = 0; i < QN_OUTCOME_COUNT; i++) {
        counts[i] = 0;
    }
    for (size_t i = 0; i < report->count; i++) {
        counts[report->entries[i].result.judgement.outcome]++;
    }
}

enum qn_report_level qn_report_level(const struct qn_report *report)
{
    size_t counts[QN_OUTCOME_COUNT];
    size_t of_profile = 0;

    qn_report_count(report, counts);
    for (size_t i = 0; i < report->count; i++) {
        of_profile += report->entries[i].is_of_profile;
    }
    if (counts[QN_OUTCOME_FAIL] + counts[QN_OUTCOME_INCONCLUSIVE] + counts[QN_OUTCOME_ERROR] > 0) {
        return QN_REPORT_NONE;
    }
    if (of_profile < report->total || counts[QN_OUTCOME_PASS] == 0) {
        return QN_REPORT_PARTIAL;
    }
    return counts[QN_OUTCOME_WARN] > 0 ? QN_REPORT_CORE : QN_REPORT_STRICT;
}

const char *qn_report_level_name(enum qn_report_level level)
{
    static const char *const names[] = {
        [QN_REPORT_NONE] = "failed",
        [QN_REPORT_PARTIAL] = "partial",
        [QN_REPORT_CORE] = "core",
        [QN_REPORT_STRICT] = "strict",
    };

    return names[level];
}

const char *qn_report_declared(const struct qn_report *report)
{
    return report->options->at_most_once ? " (declared at most once)" : "";
}

/* What has no key may be the effect of a message that seems to have none. */
static bool has_unnamed_effect(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->events[i].kind == QN_CHECK_WORK_COMMIT &&
            qn_str_equal(history->events[i].k, QN_STR(QN_CHECK_NO_KEY))) {
            return true;
        }
    }
    return false;
}

/* By the counts of an effects command it is known at the end what was lost or repeated, though not
 * when; without both nothing is. */
const char *qn_report_semantics(const struct qn_report *report)
{
    bool loses = false;
    bool repeats = false;
    bool is_seen = false;

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_judgement *judgement = &report->entries[i].result.judgement;
        bool can_tell = !has_unnamed_effect(&report->entries[i].result.history);
        for (size_t j = 0; j < judgement->invariant_count; j++) {
            const struct qn_invariant *invariant = &judgement->invariants[j];
            bool is_broken = invariant->finding.result == QN_RESULT_FAIL;
            bool is_judged = is_broken || invariant->finding.result == QN_RESULT_PASS;
            is_seen = is_seen || (is_judged && strcmp(invariant->name, "ONCE") == 0);
            loses = loses || (is_broken && can_tell &&
                              (strcmp(invariant->name, "ACK-AFTER-EFFECT") == 0 ||
                               strcmp(invariant->name, "NO-LOSS") == 0));
            repeats = repeats || (is_broken && strcmp(invariant->name, "ONCE") == 0);
        }
    }
    if (report->profile.level < QN_LEVEL_COMMAND || !(is_seen || loses)) {
        return "not observable";
    }
    if (loses) {
        return repeats ? "no guarantee" : "at-most-once";
    }
    return repeats ? "at-least-once" : "effectively-once";
}

struct qn_str qn_report_family(const struct qn_report_entry *entry)
{
    return qn_str_first(entry->scenario->id, qn_str_find_char(entry->scenario->id, '.'));
}

bool qn_report_is_fine(enum qn_outcome outcome)
{
    return outcome == QN_OUTCOME_PASS || outcome == QN_OUTCOME_INFO || outcome == QN_OUTCOME_SKIP;
}

const struct qn_invariant *qn_report_broken(const struct qn_judgement *judgement)
{
    /* Of a run that proves nothing no invariant is the reason. */
    bool is_decided =
        judgement->outcome == QN_OUTCOME_FAIL || judgement->outcome == QN_OUTCOME_WARN;

    return is_decided ? qn_judgement_lead(judgement) : NULL;
}

/* The run wrote it into the header of its trace; a scenario that did not get so far has none. */
void qn_report_rerun(const struct qn_report *report, const struct qn_report_entry *entry,
                     struct qn_buf *buf)
{
    struct qn_str line = entry->result.history.header;
    json_t *header = qn_str_is_none(line) ? NULL : json_loadb(line.ptr, line.len, 0, NULL);
    const json_t *again = json_object_get(json_object_get(header, "run"), "again");

    if (json_is_string(again)) {
        qn_buf_append_str(buf, qn_str_from_cstr(json_string_value(again)));
    } else {
        qn_options_append_again(report->options, entry->scenario->id, report->seed, buf);
    }
    json_decref(header);
}

void qn_report_shrunk(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    const json_t *rules = json_object_get(entry->shrunk, "rules");
    long long of = json_integer_value(json_object_get(entry->shrunk, "of"));
    long long runs = json_integer_value(json_object_get(entry->shrunk, "runs"));
    size_t count = json_array_size(rules);
    bool is_complete = json_is_true(json_object_get(entry->shrunk, "complete"));
    size_t i;
    const json_t *rule;

    if (entry->shrunk == NULL) {
        return;
    }
    if (count == 0) {
        qn_buf_append_format(buf, "it fails without any of its %lld rules", of);
    } else {
        qn_buf_append_format(buf, "it still fails with %zu of its %lld rules", count, of);
    }
    qn_buf_append_format(buf, " (%lld more runs%s)", runs,
                         is_complete ? "" : "; the search was cut short");
    if (count > TOLD_RULES_MAX) { /* their names are in the command */
        return;
    }
    json_array_foreach(rules, i, rule)
    {
        qn_buf_append_format(buf, "%s %s", i == 0 ? ":" : ";", json_string_value(rule));
    }
}

/* Where more stands about it: a scenario of the user's own has no page. */
static void append_pages(struct qn_buf *buf, const char *indent,
                         const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    const struct qn_invariant *broken = qn_report_broken(judgement);
    const char *what = broken != NULL                                  ? broken->name
                       : judgement->outcome == QN_OUTCOME_INCONCLUSIVE ? "INCONCLUSIVE"
                                                                       : NULL;
    const struct qn_str names[] = {entry->scenario->id, qn_str_from_cstr(what)};
    bool any = false;

    for (size_t i = 0; what != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        const struct qn_embedded *page = qn_catalogue_page(names[i]);
        if (page != NULL) {
            qn_buf_append_format(buf, "%s%s", any ? "" : indent, any ? ", " : "| more: ");
            qn_buf_append_format(buf, "quern explain %s", page->name);
            any = true;
        }
    }
    qn_buf_append_str(buf, qn_str_from_cstr(any ? "\n" : ""));
}

/* Between words, for who reads it in a log. */
static void append_advice(struct qn_buf *buf, const char *indent, const char *what,
                          struct qn_str text)
{
    size_t used = strlen(indent) + strlen("| ") + strlen(what);

    if (text.len == 0) {
        return;
    }
    qn_buf_append_format(buf, "%s| %s", indent, what);
    while (text.len > 0) {
        struct qn_str rest;
        struct qn_str word = qn_str_cut(text, ' ', &rest);
        if (used + word.len > LINE_COLUMNS && used > strlen(indent) + strlen("|  ")) {
            qn_buf_append_format(buf, "\n%s|  ", indent);
            used = strlen(indent) + strlen("|  ");
        }
        qn_buf_append_format(buf, " %.*s", QN_STR_ARG(word));
        used += word.len + 1;
        text = rest;
    }
    qn_buf_append_char(buf, '\n');
}

static void append_other(struct qn_buf *buf, const char *indent,
                         const struct qn_invariant *invariant)
{
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_append_format(&text, "%s: %s", invariant->name, invariant->finding.text);
    append_advice(buf, indent, "also", qn_buf_str(&text));
    qn_buf_done(&text);
}

void qn_report_refusal(const struct qn_refusal *refusal, struct qn_buf *buf)
{
    bool is_one = refusal->count == 1;

    const char *of_calls = is_one ? "call was" : "calls were";
    const char *of_entries = is_one ? "entry was" : "entries were";

    qn_buf_append_format(buf, "%lld %.*s %s refused: %.*s", (long long)refusal->count,
                         QN_STR_ARG(refusal->action),
                         refusal->is_of_entries ? of_entries : of_calls, QN_STR_ARG(refusal->code));
    if (refusal->message.len > 0) {
        qn_buf_append_literal(buf, ": ");
        qn_report_clean(buf, refusal->message);
    }
}

static void append_refusals(struct qn_buf *buf, const char *indent,
                            const struct qn_judgement *judgement)
{
    for (size_t i = 0; i < judgement->refusal_count; i++) {
        qn_buf_append_format(buf, "%s| ", indent);
        qn_report_refusal(&judgement->refusals[i], buf);
        qn_buf_append_char(buf, '\n');
    }
}

void qn_report_trouble(const struct qn_report *report, const struct qn_report_entry *entry,
                       const char *indent, struct qn_buf *buf)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    const struct qn_invariant *broken = qn_report_broken(judgement);

    if (broken != NULL) {
        qn_report_witness(buf, indent, &entry->result.history, &broken->finding);
    }
    if (entry->shrunk != NULL) {
        qn_buf_append_format(buf, "%s| smallest failing set: ", indent);
        qn_report_shrunk(entry, buf);
        qn_buf_append_char(buf, '\n');
    }
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *other = &judgement->invariants[i];
        if (broken != NULL && other != broken && other->finding.result == QN_RESULT_FAIL) {
            append_other(buf, indent, other);
        }
    }
    qn_report_last_words(entry, indent, buf);
    qn_report_most_said(entry, indent, buf);
    append_refusals(buf, indent, judgement);
    append_advice(buf, indent, "why it matters:", qn_report_why(entry));
    append_advice(buf, indent, "fix:", qn_report_fix(entry));
    append_pages(buf, indent, entry);
    qn_buf_append_format(buf, "%s| rerun: ", indent);
    qn_report_rerun(report, entry, buf);
    qn_buf_append_char(buf, '\n');
}

void qn_report_last_lines(const struct qn_history *history, size_t most, const char *indent,
                          const char *mark, struct qn_buf *buf)
{
    size_t from = history->count;
    size_t lines = 0;

    while (from > 0 && lines < most) {
        from--;
        lines += history->events[from].kind == QN_CHECK_LOG;
    }
    for (size_t i = from; i < history->count; i++) {
        if (history->events[i].kind == QN_CHECK_LOG) {
            qn_buf_append_format(buf, "%s%s", indent, mark);
            qn_report_describe(&history->events[i], buf);
            qn_buf_append_char(buf, '\n');
        }
    }
}

void qn_report_log_tail(const struct qn_report_entry *entry, struct qn_buf *buf)
{
    qn_report_last_lines(&entry->result.history, TAIL_LINES, "", "", buf);
}
