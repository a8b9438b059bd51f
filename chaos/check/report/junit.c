/* The JUnit report: what a CI server shows beside the tests of the code. A suite per family, a case
 * per scenario. */
#include "chaos/check/report/report.h"

enum { NAME_ROOM = 256 };

struct totals {
    size_t tests, failures, errors, skipped;
    int64_t wall_ms;
};

static bool is_failure(const struct qn_report *report, enum qn_outcome outcome)
{
    return outcome == QN_OUTCOME_FAIL || (outcome == QN_OUTCOME_WARN && report->options->strict);
}

static bool is_error(enum qn_outcome outcome)
{
    return outcome == QN_OUTCOME_ERROR || outcome == QN_OUTCOME_INCONCLUSIVE;
}

/* Of all entries when the family is none. */
static struct totals total(const struct qn_report *report, struct qn_str family)
{
    struct totals totals = {0};

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        enum qn_outcome outcome = entry->result.judgement.outcome;
        if (qn_str_is_none(family) || qn_str_equal(qn_report_family(entry), family)) {
            totals.tests++;
            totals.failures += is_failure(report, outcome);
            totals.errors += is_error(outcome);
            totals.skipped += outcome == QN_OUTCOME_SKIP;
            totals.wall_ms += entry->result.wall_ms;
        }
    }
    return totals;
}

static void append_attribute(struct qn_buf *buf, const char *name, struct qn_str value)
{
    qn_buf_append_format(buf, " %s=\"", name);
    qn_report_escape(buf, value);
    qn_buf_append_char(buf, '"');
}

static void append_seconds(struct qn_buf *buf, int64_t ms)
{
    qn_buf_append_format(buf, " time=\"%lld.%03lld\"", (long long)(ms / 1000),
                         (long long)(ms % 1000));
}

static void append_totals(struct qn_buf *buf, const struct totals *totals)
{
    qn_buf_append_format(buf, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
                         totals->tests, totals->failures, totals->errors, totals->skipped);
    append_seconds(buf, totals->wall_ms);
}

static void append_property(struct qn_buf *buf, const char *indent, struct qn_str name,
                            struct qn_str value)
{
    qn_buf_append_format(buf, "%s<property", indent);
    append_attribute(buf, "name", name);
    append_attribute(buf, "value", value);
    qn_buf_append_literal(buf, "/>\n");
}

static void append_suite_properties(struct qn_buf *buf, const struct qn_report *report)
{
    char seed[32];

    (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)report->seed);
    qn_buf_append_literal(buf, "    <properties>\n");
    append_property(buf, "      ", QN_STR("quern.version"), QN_STR(QN_VERSION));
    append_property(buf, "      ", QN_STR("quern.seed"), qn_str_from_cstr(seed));
    append_property(buf, "      ", QN_STR("quern.tempo"), qn_str_from_cstr(report->options->tempo));
    append_property(buf, "      ", QN_STR("quern.profile"),
                    qn_str_from_cstr(report->options->profile));
    append_property(buf, "      ", QN_STR("quern.semantics"),
                    qn_str_from_cstr(qn_report_semantics(report)));
    qn_buf_append_literal(buf, "    </properties>\n");
}

static void append_number_property(struct qn_buf *buf, const char *name, int64_t number)
{
    char value[32];

    (void)snprintf(value, sizeof(value), "%lld", (long long)number);
    append_property(buf, "        ", qn_str_from_cstr(name), qn_str_from_cstr(value));
}

static void append_counts(struct qn_buf *buf, const struct qn_report_entry *entry)
{
    struct qn_counts counts;

    qn_report_counts(entry, &counts);
    append_number_property(buf, "quern.sent", counts.sent);
    append_number_property(buf, "quern.deleted", counts.deleted);
    if (counts.sees_effects) {
        append_number_property(buf, "quern.applied", counts.applied);
    }
    if (counts.over_capacity > 0) {
        append_number_property(buf, "quern.sink.over-capacity", counts.over_capacity);
    }
    if (counts.unavailable > 0) {
        append_number_property(buf, "quern.sink.unavailable", counts.unavailable);
    }
    if (counts.not_taken > 0) {
        append_number_property(buf, "quern.sink.not-taken", counts.not_taken);
    }
}

static void append_case_properties(struct qn_buf *buf, const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;

    if (judgement->outcome == QN_OUTCOME_SKIP && judgement->invariant_count == 0) {
        return; /* a list of properties must not be empty */
    }
    qn_buf_append_literal(buf, "      <properties>\n");
    append_property(buf, "        ", QN_STR("quern.verdict"),
                    qn_str_from_cstr(qn_outcome_name(judgement->outcome)));
    if (judgement->outcome == QN_OUTCOME_WARN) {
        append_property(buf, "        ", QN_STR("quern.warn"), qn_str_from_cstr(judgement->text));
    }
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        char name[NAME_ROOM];
        (void)snprintf(name, sizeof(name), "quern.invariant.%.200s", invariant->name);
        append_property(buf, "        ", qn_str_from_cstr(name),
                        qn_str_from_cstr(qn_report_result_name(invariant->finding.result)));
    }
    for (size_t i = 0; i < judgement->fault_count; i++) {
        const struct qn_planned_fault *fault = &judgement->faults[i];
        char name[NAME_ROOM];
        char value[64];
        (void)snprintf(name, sizeof(name), "quern.fault.%.200s", fault->rule);
        (void)snprintf(value, sizeof(value), "fired %lld of %lld", (long long)fault->fired,
                       (long long)fault->planned);
        append_property(buf, "        ", qn_str_from_cstr(name), qn_str_from_cstr(value));
    }
    append_counts(buf, entry);
    qn_buf_append_literal(buf, "      </properties>\n");
}

/* <failure> or <error>, with what the console would show as its text. */
static void append_trouble(struct qn_buf *buf, const struct qn_report *report,
                           const struct qn_report_entry *entry, const char *element)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    const struct qn_invariant *broken = qn_report_broken(judgement);
    const char *type = is_error(judgement->outcome) || broken == NULL
                           ? qn_outcome_name(judgement->outcome)
                           : broken->name;
    char room[NAME_ROOM];
    struct qn_buf text;

    (void)snprintf(room, sizeof(room), "%s%.200s",
                   judgement->outcome == QN_OUTCOME_WARN ? "should:" : "", type);
    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_trouble(report, entry, "", &text);
    qn_buf_append_format(buf, "      <%s", element);
    append_attribute(buf, "type", qn_str_from_cstr(room));
    append_attribute(buf, "message", qn_str_from_cstr(judgement->text));
    qn_buf_append_char(buf, '>');
    qn_report_escape(buf, qn_buf_str(&text));
    qn_buf_append_format(buf, "</%s>\n", element);
    qn_buf_done(&text);
}

static void append_output(struct qn_buf *buf, const struct qn_report *report,
                          const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    if (judgement->outcome == QN_OUTCOME_WARN) {
        qn_buf_append_format(&text, "WARN should: %s\n", judgement->text);
        qn_report_trouble(report, entry, "", &text);
    }
    if (qn_report_is_fine(judgement->outcome)) {
        for (size_t i = 0; i < judgement->refusal_count; i++) {
            qn_report_refusal(&judgement->refusals[i], &text);
            qn_buf_append_char(&text, '\n');
        }
    }
    qn_report_log_tail(entry, &text);
    if (text.len > 0) {
        qn_buf_append_literal(buf, "      <system-out>");
        qn_report_escape(buf, qn_buf_str(&text));
        qn_buf_append_literal(buf, "</system-out>\n");
    }
    qn_buf_clear(&text);
    qn_buf_append_str(&text, qn_str_from_cstr(entry->result.log_tail));
    if (text.len > 0) {
        qn_buf_append_literal(buf, "      <system-err>");
        qn_report_escape(buf, qn_buf_str(&text));
        qn_buf_append_literal(buf, "</system-err>\n");
    }
    qn_buf_done(&text);
}

static void append_case(struct qn_buf *buf, const struct qn_report *report,
                        const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    struct qn_str family = qn_report_family(entry);
    struct qn_str name = qn_str_from(entry->scenario->id, family.len + 1);
    char class_name[NAME_ROOM];

    (void)snprintf(class_name, sizeof(class_name), "quern.%.*s", (int)family.len, family.ptr);
    qn_buf_append_literal(buf, "    <testcase");
    append_attribute(buf, "classname", qn_str_from_cstr(class_name));
    append_attribute(buf, "name", name.len > 0 ? name : family);
    append_seconds(buf, entry->result.wall_ms);
    qn_buf_append_literal(buf, ">\n");
    append_case_properties(buf, entry);
    if (is_failure(report, judgement->outcome)) {
        append_trouble(buf, report, entry, "failure");
    } else if (is_error(judgement->outcome)) {
        append_trouble(buf, report, entry, "error");
    } else if (judgement->outcome == QN_OUTCOME_SKIP) {
        qn_buf_append_literal(buf, "      <skipped");
        append_attribute(buf, "message", qn_str_from_cstr(judgement->text));
        qn_buf_append_literal(buf, "/>\n");
    }
    append_output(buf, report, entry);
    qn_buf_append_literal(buf, "    </testcase>\n");
}

static void append_suite(struct qn_buf *buf, const struct qn_report *report, struct qn_str family)
{
    struct totals totals = total(report, family);

    qn_buf_append_literal(buf, "  <testsuite");
    append_attribute(buf, "name", family);
    append_totals(buf, &totals);
    qn_buf_append_literal(buf, ">\n");
    append_suite_properties(buf, report);
    for (size_t i = 0; i < report->count; i++) {
        if (qn_str_equal(qn_report_family(&report->entries[i]), family)) {
            append_case(buf, report, &report->entries[i]);
        }
    }
    qn_buf_append_literal(buf, "  </testsuite>\n");
}

void qn_report_junit(const struct qn_report *report, struct qn_buf *buf)
{
    struct totals totals = total(report, QN_STR_NONE);

    qn_buf_append_literal(buf, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    struct qn_buf name;

    qn_buf_init(&name, 64);
    qn_buf_append_format(&name, "quern%s", qn_report_declared(report));
    append_attribute(buf, "name", qn_buf_str(&name));
    qn_buf_done(&name);
    append_totals(buf, &totals);
    qn_buf_append_literal(buf, ">\n");
    for (size_t i = 0; i < report->count; i++) {
        struct qn_str family = qn_report_family(&report->entries[i]);
        bool is_first = true;
        for (size_t j = 0; j < i; j++) {
            is_first = is_first && !qn_str_equal(qn_report_family(&report->entries[j]), family);
        }
        if (is_first) {
            append_suite(buf, report, family);
        }
    }
    qn_buf_append_literal(buf, "</testsuites>\n");
}
