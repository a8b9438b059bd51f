/* The JSON report. Its members keep their names and meanings within one schema number. */
#include "chaos/check/declared.h"
#include "chaos/check/json_text.h"
#include "chaos/check/report/report.h"

enum { SCHEMA = 1 };

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static void set_number(json_t *object, const char *name, int64_t value)
{
    set(object, name, json_integer(value));
}

static json_t *names(struct qn_str list)
{
    json_t *array = json_array();

    while (list.len > 0) {
        json_array_append_new(array, qn_report_json_text(qn_str_cut(list, ',', &list)));
    }
    return array;
}

static json_t *audit(const struct qn_report *report)
{
    json_t *array = json_array();
    struct qn_card card;

    qn_report_audit_card(report, &card);
    for (size_t i = 0; i < card.count; i++) {
        const struct qn_audit *row = &card.rows[i];
        json_array_append_new(
            array,
            json_pack("{s:s, s:o, s:s, s:s}", "name", row->name, "seen",
                      qn_report_json_text(qn_str_from_cstr(row->seen)), "result",
                      row->result == QN_AUDIT_MISFIT ? "misfit" : qn_report_audit_name(row->result),
                      "text", row->text));
    }
    return array;
}

static json_t *learned(const struct qn_profile *profile)
{
    json_t *object = json_object();

    if (!profile->is_known) {
        return object;
    }
    set(object, "V", json_real((double)profile->visibility_ms / 1000));
    set(object, "V_from", json_string(profile->overrides_visibility ? "consumer" : "queue"));
    if (profile->wait_s != QN_EVENT_NO_INT) {
        set_number(object, "W", profile->wait_s);
    }
    set_number(object, "batch", profile->batch);
    set(object, "delete",
        json_string(profile->deletes_batch ? (profile->deletes_single ? "both" : "batch")
                                           : (profile->deletes_single ? "single" : "none")));
    if (profile->level >= QN_LEVEL_SINK) {
        set_number(object, "C", profile->concurrency);
    }
    if (profile->prefetch > 0) {
        set_number(object, "P", profile->prefetch);
    }
    set_number(object, "held", profile->held);
    if (profile->agent[0] != '\0') {
        set(object, "agent", qn_report_json_text(qn_str_from_cstr(profile->agent)));
    }
    if (profile->retry_mode[0] != '\0') {
        set(object, "retry_mode", qn_report_json_text(qn_str_from_cstr(profile->retry_mode)));
    }
    if (profile->has_sdk) {
        set_number(object, "attempts", profile->sdk_attempts);
    }
    set(object, "attributes", names(qn_str_from_cstr(profile->asked)));
    if (profile->heartbeat_ms > 0) {
        set_number(object, "heartbeat_ms", profile->heartbeat_ms);
    }
    set_number(object, "startup_ms", profile->startup_ms);
    set_number(object, "handling_p50_ms", profile->handling_p50_ms);
    set_number(object, "handling_p99_ms", profile->handling_p99_ms);
    set_number(object, "level", profile->level);
    return object;
}

/* Traces say themselves what was declared when they were made. */
static json_t *declared(const struct qn_report *report)
{
    json_t *said = NULL;
    bool has_trace = false;

    for (size_t i = 0; i < report->count && said == NULL; i++) {
        struct qn_str line = report->entries[i].result.history.header;
        json_t *header =
            qn_str_is_none(line) ? NULL : json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL);
        has_trace = has_trace || header != NULL;
        said = json_incref(json_object_get(json_object_get(header, "run"), "declared"));
        json_decref(header);
    }
    if (said == NULL) {
        said = has_trace ? json_object() : qn_declared_json(report->options);
    }
    return said;
}

static json_t *consumer(const struct qn_report *report)
{
    json_t *argv = json_array();

    for (size_t i = 0; report->options->command[i] != NULL; i++) {
        json_array_append_new(argv,
                              qn_report_json_text(qn_str_from_cstr(report->options->command[i])));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "argv", argv, "learned", learned(&report->profile),
                     "audit", audit(report), "declared", declared(report));
}

static json_t *summary(const struct qn_report *report)
{
    static const char *const names[QN_OUTCOME_COUNT] = {
        [QN_OUTCOME_PASS] = "pass",   [QN_OUTCOME_WARN] = "warn",
        [QN_OUTCOME_INFO] = "info",   [QN_OUTCOME_FAIL] = "fail",
        [QN_OUTCOME_SKIP] = "skip",   [QN_OUTCOME_INCONCLUSIVE] = "inconclusive",
        [QN_OUTCOME_ERROR] = "error",
    };
    size_t counts[QN_OUTCOME_COUNT];
    json_t *object = json_object();

    qn_report_count(report, counts);
    for (size_t i = 0; i < QN_OUTCOME_COUNT; i++) {
        set_number(object, names[i], (int64_t)counts[i]);
    }
    set(object, "level", json_string(qn_report_level_name(qn_report_level(report))));
    set(object, "semantics", json_string(qn_report_semantics(report)));
    return object;
}

static json_t *invariants(const struct qn_judgement *judgement)
{
    json_t *list = json_array();

    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        const struct qn_finding *finding = &invariant->finding;
        json_t *object = json_pack("{s:s, s:s, s:s}", "name", invariant->name, "severity",
                                   qn_report_severity_name(invariant->severity), "result",
                                   qn_report_result_name(finding->result));
        if (finding->text[0] != '\0') {
            set(object, "text", qn_report_json_text(qn_str_from_cstr(finding->text)));
        }
        if (finding->witness_count > 0) {
            json_t *witness = json_array();
            for (size_t j = 0; j < finding->witness_count; j++) {
                json_array_append_new(witness, json_integer((json_int_t)finding->witness[j]));
            }
            set(object, "witness", witness);
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *faults(const struct qn_judgement *judgement)
{
    json_t *list = json_array();

    for (size_t i = 0; i < judgement->fault_count; i++) {
        const struct qn_planned_fault *fault = &judgement->faults[i];
        json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "rule", fault->rule, "planned",
                                              (json_int_t)fault->planned, "fired",
                                              (json_int_t)fault->fired));
    }
    return list;
}

static json_t *refused(const struct qn_judgement *judgement)
{
    json_t *list = json_array();

    for (size_t i = 0; i < judgement->refusal_count; i++) {
        const struct qn_refusal *one = &judgement->refusals[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:I}", "action", qn_report_json_text(one->action),
                            "code", qn_report_json_text(one->code), "message",
                            qn_report_json_text(one->message), "count", (json_int_t)one->count));
    }
    return list;
}

static json_t *log_lines(const struct qn_report_entry *entry)
{
    json_t *list = json_array();
    struct qn_buf text;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_report_log_tail(entry, &text);
    struct qn_str rest = qn_buf_str(&text);
    while (rest.len > 0) {
        json_array_append_new(list, qn_report_json_text(qn_str_cut(rest, '\n', &rest)));
    }
    qn_buf_done(&text);
    return list;
}

static json_t *scenario(const struct qn_report *report, const struct qn_report_entry *entry)
{
    const struct qn_judgement *judgement = &entry->result.judgement;
    json_t *text = qn_report_json_text(qn_str_from_cstr(judgement->text));
    struct qn_buf again;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", entry->scenario->id.ptr, "title",
                  entry->scenario->title.ptr, "severity", entry->scenario->severity.ptr, "verdict",
                  qn_outcome_name(judgement->outcome), "text", text);

    if (judgement->outcome == QN_OUTCOME_SKIP || judgement->outcome == QN_OUTCOME_INCONCLUSIVE ||
        judgement->outcome == QN_OUTCOME_ERROR) {
        set(object, "reason", json_incref(json_object_get(object, "text")));
    }
    if (judgement->refusal_count > 0) {
        set(object, "refused", refused(judgement));
    }
    if (entry->shrunk != NULL) {
        set(object, "shrunk", json_incref(entry->shrunk));
    }
    if (entry->waiver != NULL) {
        set(object, "waived", qn_report_json_text(qn_str_from_cstr(entry->waiver)));
    }
    if (entry->result.process.kept_from[0] != '\0') {
        set(object, "process", json_pack("{s:s}", "kept_from", entry->result.process.kept_from));
    } else if (entry->result.process.started[0] != '\0') {
        set(object, "process",
            json_pack("{s:o}", "started",
                      qn_report_json_text(qn_str_from_cstr(entry->result.process.started))));
    }
    set_number(object, "wall_ms", entry->result.wall_ms);
    set_number(object, "virtual_ms", entry->result.virtual_ms);
    set(object, "invariants", invariants(judgement));
    set(object, "faults", faults(judgement));
    qn_report_json_books(object, entry);
    if (entry->trace_path[0] != '\0') {
        set(object, "trace", qn_report_json_text(qn_str_from_cstr(entry->trace_path)));
    }
    qn_buf_init(&again, SIZE_MAX / 2);
    qn_report_rerun(report, entry, &again);
    set(object, "rerun", qn_report_json_text(qn_buf_str(&again)));
    qn_buf_done(&again);
    if (qn_report_broken(judgement) != NULL) {
        set(object, "why", qn_report_json_text(qn_report_why(entry)));
        set(object, "fix", qn_report_json_text(qn_report_fix(entry)));
    }
    json_t *log = log_lines(entry);
    if (json_array_size(log) > 0) {
        set(object, "log", log);
    } else {
        json_decref(log);
    }
    return object;
}

void qn_report_json(const struct qn_report *report, struct qn_buf *buf)
{
    json_t *scenarios = json_array();
    json_t *root = json_object();

    for (size_t i = 0; i < report->count; i++) {
        json_array_append_new(scenarios, scenario(report, &report->entries[i]));
    }
    set_number(root, "schema", SCHEMA);
    set(root, "tool", json_string(QN_VERSION));
    set(root, "seed", json_integer((json_int_t)report->seed));
    set(root, "profile", json_string(report->options->profile));
    set(root, "tempo", json_string(report->options->tempo));
    set(root, "consumer", consumer(report));
    set(root, "summary", summary(report));
    set(root, "accounting", qn_report_json_total(report));
    set(root, "scenarios", scenarios);
    qn_json_text_append(buf, root, JSON_INDENT(1));
    qn_buf_append_char(buf, '\n');
    json_decref(root);
}
