/* `quern judge`: stored traces, judged again. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "chaos/check/check.h"
#include "chaos/check/read_ahead.h"
#include "chaos/check/report/report.h"

struct judging {
    struct qn_check_options options;
    struct qn_report report;
    struct qn_scenario *scenarios; /* one per entry: as much as a report needs */
    struct qn_arena arena;
};

static int complain(const struct qn_error *err)
{
    (void)fprintf(stderr, "quern judge: %s\n", err->message);
    return QN_CHECK_USAGE;
}

static bool read_history(const char *path, struct qn_history *history, struct qn_error *err)
{
    struct qn_error reason;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

    if (file == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, strerror(errno));
    }
    bool is_trace = qn_history_read_file(history, file, &reason);
    bool is_read = ferror(file) == 0;
    if (file != stdin) {
        (void)fclose(file);
    }
    if (!is_read) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: cannot be read", path);
    }
    return is_trace || qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                               "%s is no trace of quern check --keep: %s", path, reason.message);
}

static void print_judgement(FILE *file, const struct qn_history *history,
                            const struct qn_judgement *judgement)
{
    static const char *const results[] = {"held", "BROKEN", "not observable"};
    struct qn_buf text;
    struct qn_buf clean;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_buf_append_format(&text, "%s%s%s\n", qn_outcome_name(judgement->outcome),
                         judgement->text[0] != '\0' ? "  " : "", judgement->text);
    for (size_t i = 0; i < judgement->invariant_count; i++) {
        const struct qn_invariant *invariant = &judgement->invariants[i];
        const struct qn_finding *finding = &invariant->finding;
        qn_buf_append_format(&text, "  %-20s %s%s%s\n", invariant->name, results[finding->result],
                             finding->text[0] != '\0' ? ": " : "", finding->text);
        if (finding->result == QN_RESULT_FAIL) {
            qn_report_witness(&text, "       ", history, finding);
        }
    }
    qn_report_clean(&clean, qn_buf_str(&text));
    (void)fwrite(clean.len > 0 ? clean.ptr : "", 1, clean.len, file);
    qn_buf_done(&clean);
    qn_buf_done(&text);
}

static void print_exits(FILE *file, const struct qn_report_entry *entry)
{
    struct qn_buf text;
    struct qn_buf clean;

    qn_buf_init(&text, SIZE_MAX / 2);
    qn_buf_init(&clean, SIZE_MAX / 2);
    qn_report_exits(entry, "  ", &text);
    qn_report_clean(&clean, qn_buf_str(&text));
    (void)fwrite(clean.len > 0 ? clean.ptr : "", 1, clean.len, file);
    qn_buf_done(&clean);
    qn_buf_done(&text);
}

static int exit_code(const struct qn_report *report)
{
    size_t counts[QN_OUTCOME_COUNT];

    qn_report_count(report, counts);
    if (counts[QN_OUTCOME_FAIL] > 0 || (report->options->strict && counts[QN_OUTCOME_WARN] > 0)) {
        return QN_CHECK_FAILED;
    }
    if (counts[QN_OUTCOME_ERROR] > 0) {
        return QN_CHECK_BROKEN;
    }
    return counts[QN_OUTCOME_INCONCLUSIVE] > 0 ? QN_CHECK_INCONCLUSIVE : QN_CHECK_WELL;
}

static struct qn_str text_of(struct judging *judging, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    struct qn_str text = json_is_string(value)
                             ? qn_str(json_string_value(value), json_string_length(value))
                             : QN_STR("");

    return qn_arena_copy(&judging->arena, text);
}

/* What the first trace says of its run holds for the report. */
static void describe_run(struct judging *judging, const json_t *run)
{
    struct qn_check_options *o = &judging->options;
    const json_t *command = json_object_get(run, "command");
    size_t i;
    const json_t *word;

    o->command = qn_arena_alloc(&judging->arena, (json_array_size(command) + 1) * sizeof(char *));
    json_array_foreach(command, i, word)
    {
        const char *text = json_is_string(word) ? json_string_value(word) : "";
        o->command[i] =
            (char *)(uintptr_t)qn_arena_copy(&judging->arena, qn_str_from_cstr(text)).ptr;
    }
    struct qn_str profile = text_of(judging, run, "profile");
    struct qn_str tempo = text_of(judging, run, "tempo");
    o->profile = profile.len > 0 ? profile.ptr : o->profile;
    o->tempo = tempo.len > 0 ? tempo.ptr : o->tempo;
    o->is_fifo = strcmp(o->profile, "fifo") == 0;
    o->grace_ms = (int64_t)json_integer_value(json_object_get(run, "grace_ms"));
    o->at_most_once =
        json_is_true(json_object_get(json_object_get(run, "declared"), "at_most_once"));
    judging->report.seed = (uint64_t)json_integer_value(json_object_get(run, "seed"));
}

static void describe_scenario(struct judging *judging, const json_t *json,
                              struct qn_scenario *scenario)
{
    scenario->id = text_of(judging, json, "id");
    scenario->title = text_of(judging, json, "title");
    scenario->severity = text_of(judging, json, "severity");
    scenario->why = text_of(judging, json, "why");
    scenario->fix = text_of(judging, json, "fix");
}

/* From the first event to the last. */
static int64_t wall_length_ms(const struct qn_history *history)
{
    return history->count > 0 ? history->events[history->count - 1].wt - history->events[0].wt : 0;
}

static void learn(struct judging *judging, const struct qn_report_entry *entry, const json_t *run)
{
    struct qn_profile profile = {0};
    const struct qn_judge_input in = {
        .history = &entry->result.history,
        .queue = text_of(judging, run, "queue"),
        .self = text_of(judging, run, "self"),
        .level = entry->result.judgement.level,
    };

    qn_profile_learn(&profile, &in);
    if (profile.is_known && !judging->report.profile.is_known) {
        judging->report.profile = profile;
    }
    if (profile.level > judging->report.profile.level) {
        judging->report.profile.level = profile.level;
    }
}

static bool judge_trace(struct judging *judging, const char *path, struct qn_error *err)
{
    struct qn_report *report = &judging->report;
    struct qn_report_entry *entry = &report->entries[report->count];
    struct qn_scenario *scenario = &judging->scenarios[report->count];
    struct qn_history *history = &entry->result.history;
    struct qn_error reason;

    qn_history_init(history);
    report->count++;
    entry->scenario = scenario;
    entry->is_of_profile = true;
    (void)snprintf(entry->trace_path, sizeof(entry->trace_path), "%.1000s", path);
    if (!read_history(path, history, err)) {
        return false;
    }
    qn_history_settle(history);
    if (!qn_judge(history, &entry->result.judgement, &reason)) {
        return qn_fail(err, reason.code,
                       "%s: %s (quern judge DIRECTORY judges the traces of a folder)", path,
                       reason.message);
    }
    json_t *header = json_loadb(history->header.ptr, history->header.len, JSON_ALLOW_NUL, NULL);
    const json_t *run = json_object_get(header, "run");
    describe_scenario(judging, json_object_get(header, "scenario"), scenario);
    if (report->count == 1) {
        describe_run(judging, run);
    }
    learn(judging, entry, run);
    entry->result.wall_ms = wall_length_ms(history);
    entry->result.virtual_ms = qn_history_virtual_length_ms(history);
    json_decref(header);
    if (judging->options.traces.count > 1) {
        (void)fprintf(report->console, "%s: ", path);
    }
    print_judgement(report->console, history, &entry->result.judgement);
    print_exits(report->console, entry);
    return true;
}

static bool add_trace(struct qn_text_list *list, const char *path, struct qn_error *err)
{
    if (list->count == QN_OPTIONS_LIST_MAX) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "at most %d traces at once",
                       QN_OPTIONS_LIST_MAX);
    }
    list->items[list->count++] = path;
    return true;
}

static bool is_trace_name(struct qn_str name)
{
    /* Of a scenario that was run twice the second counts. */
    return qn_str_ends_with(name, QN_STR(".jsonl")) &&
           !qn_str_ends_with(name, QN_STR(".first.jsonl"));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The traces that --keep stored there, by name. */
static bool add_folder(struct judging *judging, struct qn_text_list *list, const char *path,
                       struct qn_error *err)
{
    DIR *folder = opendir(path);
    size_t before = list->count;
    const struct dirent *entry;
    bool ok = true;

    if (folder == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", path, strerror(errno));
    }
    while (ok && (entry = readdir(folder)) != NULL) {
        if (is_trace_name(qn_str_from_cstr(entry->d_name))) {
            ok = add_trace(list, qn_arena_format(&judging->arena, "%s/%s", path, entry->d_name).ptr,
                           err);
        }
    }
    (void)closedir(folder);
    qsort(&list->items[before], list->count - before, sizeof(list->items[0]), by_name);
    return ok && (list->count > before ||
                  qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                          "%s has no traces (*.jsonl, as quern check --keep stores them)", path));
}

/* Folders become the traces in them. */
static bool find_traces(struct judging *judging, struct qn_error *err)
{
    struct qn_text_list *traces = &judging->options.traces;
    const struct qn_text_list given = *traces;
    struct stat status;
    bool ok = true;

    traces->count = 0;
    for (size_t i = 0; i < given.count && ok; i++) {
        bool is_folder = strcmp(given.items[i], "-") != 0 && stat(given.items[i], &status) == 0 &&
                         S_ISDIR(status.st_mode);
        ok = is_folder ? add_folder(judging, traces, given.items[i], err)
                       : add_trace(traces, given.items[i], err);
    }
    return ok;
}

static int judge_all(struct judging *judging)
{
    const struct qn_text_list *traces = &judging->options.traces;
    struct qn_report *report = &judging->report;
    struct qn_error err;

    if (!find_traces(judging, &err) || !qn_report_check_outputs(&judging->options, &err)) {
        return complain(&err);
    }
    report->options = &judging->options;
    report->console = qn_report_takes_stdout(&judging->options) ? stderr : stdout;
    report->entries = qn_memory_new_array(traces->count, sizeof(struct qn_report_entry));
    judging->scenarios = qn_memory_new_array(traces->count, sizeof(struct qn_scenario));
    for (size_t i = 0; i < traces->count; i++) {
        if (!judge_trace(judging, traces->items[i], &err)) {
            return complain(&err);
        }
    }
    if (judging->options.wants_checklist) {
        qn_report_checklists_print(report);
    }
    if (!qn_report_write(report, false, &err)) {
        (void)complain(&err);
        return QN_CHECK_BROKEN;
    }
    return exit_code(report);
}

int qn_judge_main(int argc, char **argv)
{
    struct judging *judging = qn_memory_new(sizeof(*judging));
    struct qn_error err;
    int code = QN_CHECK_WELL;

    qn_arena_init(&judging->arena, SIZE_MAX / 2);
    if (!qn_options_read_judge(argc, argv, &judging->options, &err)) {
        code = complain(&err);
    } else if (judging->options.wants_help) {
        qn_options_print_judge_help(stdout);
    } else {
        code = judge_all(judging);
    }
    for (size_t i = 0; i < judging->report.count; i++) {
        qn_run_result_done(&judging->report.entries[i].result);
    }
    qn_memory_free(judging->report.entries);
    qn_memory_free(judging->scenarios);
    qn_arena_done(&judging->arena);
    qn_memory_free(judging);
    return code;
}
