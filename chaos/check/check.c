/* `quern check`: which scenarios, one after the other, and what comes out. */
#include "chaos/check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/check/catalogue.h"
#include "chaos/check/jobs.h"
#include "chaos/check/narrow.h"
#include "chaos/check/process.h"
#include "chaos/check/signals.h"
#include "chaos/check/workplace.h"
#include "server/base/random.h"

enum { PATH_ROOM = 4096 };

struct checking {
    struct qn_check_options options;
    struct qn_catalogue catalogue;
    struct qn_report report;
    struct qn_workplace workplace;
    char program[PATH_ROOM];
    struct qn_scenario *narrowed; /* the only one that is run, with some of its rules; or NULL */
    char run_id[32];
    int signal_fd;
};

static int complain(const struct qn_error *err)
{
    (void)fprintf(stderr, "quern check: %s\n", err->message);
    return QN_CHECK_USAGE;
}

/* All that is wrong with a file is told at once. */
static bool read_scenarios(struct checking *checking)
{
    struct qn_buf mistakes;

    qn_buf_init(&mistakes, SIZE_MAX / 2);
    bool ok = qn_catalogue_open(&checking->catalogue, checking->options.scenario_files.items,
                                checking->options.scenario_files.count, &mistakes);
    if (!ok) {
        (void)fwrite(mistakes.ptr, 1, mistakes.len, stderr);
    }
    qn_buf_done(&mistakes);
    return ok;
}

static bool fits(const struct qn_text_list *patterns, const struct qn_scenario *scenario)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (qn_rule_glob(qn_str_from_cstr(patterns->items[i]), scenario->id)) {
            return true;
        }
    }
    return false;
}

/* A name that fits nothing is a slip of the pen. */
static bool check_patterns(const struct checking *checking, struct qn_error *err)
{
    const struct {
        const struct qn_text_list *list;
        const char *where;
    } lists[] = {{&checking->options.only, ""},
                 {&checking->options.skip, ""},
                 {&checking->options.waive, "waive: "}};

    for (size_t list = 0; list < sizeof(lists) / sizeof(lists[0]); list++) {
        for (size_t i = 0; i < lists[list].list->count; i++) {
            struct qn_str reason;
            struct qn_str pattern =
                qn_str_cut(qn_str_from_cstr(lists[list].list->items[i]), '=', &reason);
            bool any = false;
            for (size_t j = 0; j < checking->catalogue.count; j++) {
                any = any || qn_rule_glob(pattern, checking->catalogue.scenarios[j]->id);
            }
            if (!any) {
                return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                               "%sno scenario is called %.*s (--list shows them%s)",
                               lists[list].where, QN_STR_ARG(pattern),
                               qn_str_find_char(pattern, ',') < pattern.len
                                   ? "; each has an option of its own"
                                   : "");
            }
        }
    }
    return true;
}

static bool is_wanted(const struct checking *checking, const struct qn_scenario *scenario)
{
    const struct qn_check_options *o = &checking->options;
    const struct qn_catalogue_filter filter = {.tier = o->tier};

    return (o->only.count == 0 || fits(&o->only, scenario)) && !fits(&o->skip, scenario) &&
           qn_catalogue_passes(&filter, scenario);
}

/* One of another profile is told of only if it was asked for by name. */
static bool is_planned(const struct checking *checking, const struct qn_scenario *scenario)
{
    return is_wanted(checking, scenario) &&
           (checking->options.only.count > 0 ||
            qn_scenario_is_for(scenario, checking->options.profile));
}

/* A run of nothing would look like a success. */
static bool check_choice(const struct checking *checking, struct qn_error *err)
{
    const struct qn_check_options *o = &checking->options;
    const struct qn_scenario *other = NULL; /* of another profile */

    for (size_t i = 0; i < checking->catalogue.count; i++) {
        const struct qn_scenario *scenario = checking->catalogue.scenarios[i];
        if (is_wanted(checking, scenario)) {
            if (qn_scenario_is_for(scenario, o->profile)) {
                return true;
            }
            other = other != NULL ? other : scenario;
        }
    }
    if (other == NULL) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "no scenario is left to run: --only, --skip and --tier leave out all of "
                       "them (quern scenarios lists them with their tiers)");
    }
    const char *profiles = qn_catalogue_profiles(other);
    return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                   "no scenario is left to run: %.*s is not for profile %s (--profile %.*s)",
                   QN_STR_ARG(other->id), o->profile, (int)strcspn(profiles, ","), profiles);
}

/* With --faults: the one scenario that is wanted, with these rules only. */
static bool narrow(struct checking *checking, struct qn_error *err)
{
    const struct qn_scenario *only = NULL;
    size_t count = 0;

    if (checking->options.fault_names == NULL) {
        return true;
    }
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        if (is_planned(checking, checking->catalogue.scenarios[i])) {
            only = checking->catalogue.scenarios[i];
            count++;
        }
    }
    if (count != 1) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE,
                       "--faults is about the rules of one scenario, and %zu are chosen: name it "
                       "with --only ID",
                       count);
    }
    return qn_narrow(only, qn_str_from_cstr(checking->options.fault_names), &checking->narrowed,
                     err);
}

static void list_scenarios(const struct checking *checking)
{
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        const struct qn_scenario *scenario = checking->catalogue.scenarios[i];
        if (is_wanted(checking, scenario)) {
            (void)printf("%-42.*s %" PRId64 "  %-14s %.*s\n", QN_STR_ARG(scenario->id),
                         qn_catalogue_tier(scenario), qn_catalogue_profiles(scenario),
                         QN_STR_ARG(scenario->title));
        }
    }
}

/* One of the profile, and not waived. */
static bool has_skipped(const struct qn_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        if (entry->is_of_profile && entry->waiver == NULL &&
            entry->result.judgement.outcome == QN_OUTCOME_SKIP) {
            return true;
        }
    }
    return false;
}

/* All was skipped, and not because quern.json says so. */
static bool has_judged_nothing(const struct qn_report *report)
{
    bool is_any_due = false;

    for (size_t i = 0; i < report->count; i++) {
        const struct qn_report_entry *entry = &report->entries[i];
        if (entry->result.judgement.outcome != QN_OUTCOME_SKIP) {
            return false;
        }
        is_any_due = is_any_due || entry->waiver == NULL;
    }
    return is_any_due;
}

static int exit_code(const struct checking *checking)
{
    size_t counts[QN_OUTCOME_COUNT];

    qn_report_count(&checking->report, counts);
    if (counts[QN_OUTCOME_FAIL] > 0 || (checking->options.strict && counts[QN_OUTCOME_WARN] > 0) ||
        (checking->options.no_skip && has_skipped(&checking->report))) {
        return QN_CHECK_FAILED;
    }
    if (counts[QN_OUTCOME_ERROR] > 0) {
        return QN_CHECK_BROKEN;
    }
    return counts[QN_OUTCOME_INCONCLUSIVE] > 0 || has_judged_nothing(&checking->report)
               ? QN_CHECK_INCONCLUSIVE
               : QN_CHECK_WELL;
}

static void plan(struct checking *checking)
{
    struct qn_report *report = &checking->report;

    report->entries =
        qn_memory_new_array(checking->catalogue.count, sizeof(struct qn_report_entry));
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        const struct qn_scenario *scenario = checking->catalogue.scenarios[i];
        if (is_planned(checking, scenario)) {
            report->entries[report->planned++].scenario =
                checking->narrowed != NULL ? checking->narrowed : scenario;
        }
        report->total += qn_scenario_is_for(scenario, checking->options.profile);
    }
}

/* Reports are about those that are done. */
static void leave_out_the_rest(struct qn_report *report)
{
    for (size_t i = 0; i < report->planned; i++) {
        if (report->entries[i].is_done) {
            report->entries[report->count++] = report->entries[i];
        } else {
            qn_run_result_done(&report->entries[i].result);
        }
    }
}

static int run_all(struct checking *checking)
{
    struct qn_report *report = &checking->report;
    struct qn_error err;
    struct qn_jobs jobs = {
        .options = &checking->options,
        .report = report,
        .directory = checking->workplace.path,
        .run_id = checking->run_id,
        .signal_fd = checking->signal_fd,
    };

    plan(checking);
    report->streams_tap =
        checking->options.tap_path != NULL && strcmp(checking->options.tap_path, "-") == 0;
    qn_report_begin(report);
    qn_report_tap_stream(report, NULL);
    qn_jobs_run(&jobs);
    qn_report_entries_end(report);
    if (jobs.cannot_start != NULL) {
        (void)fprintf(stderr, "quern check: %s\n", jobs.cannot_start);
        leave_out_the_rest(report);
        return QN_CHECK_USAGE;
    }
    leave_out_the_rest(report);
    if (jobs.is_interrupted || jobs.has_stopped) {
        qn_report_tap_bail_out(report, jobs.is_interrupted ? "interrupted" : "a failure");
    }
    qn_report_end(report);
    if (jobs.has_stopped && report->count < report->planned) {
        (void)fprintf(report->console, " ended at the first failure: %zu scenario%s not run\n",
                      report->planned - report->count,
                      report->planned - report->count == 1 ? " was" : "s were");
    }
    if (has_judged_nothing(report)) {
        (void)fputs(" nothing was judged: each scenario was skipped\n", report->console);
    }
    if (!qn_report_write(report, true, &err)) {
        (void)complain(&err);
        return QN_CHECK_BROKEN;
    }
    return exit_code(checking);
}

/* Makes the folder. False: errno says why not. */
static bool can_keep(const char *folder)
{
    struct stat status;

    if ((mkdir(folder, 0755) < 0 && errno != EEXIST) || stat(folder, &status) < 0) {
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(folder, W_OK | X_OK) == 0;
}

/* Found out before the minutes that a run takes, not after. */
static bool can_write(const struct qn_check_options *o, struct qn_error *err)
{
    if (o->keep_directory != NULL && !can_keep(o->keep_directory)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--keep %s: %s", o->keep_directory,
                       strerror(errno));
    }
    return qn_report_check_outputs(o, err);
}

static bool prepare(struct checking *checking, struct qn_error *err)
{
    if (!can_write(&checking->options, err)) {
        return false;
    }
    checking->options.server_program = checking->options.server;
    if (checking->options.server_program == NULL) {
        ssize_t len = readlink("/proc/self/exe", checking->program, PATH_ROOM - 1);
        checking->program[len > 0 ? len : 0] = '\0';
        checking->options.server_program = checking->program;
    }
    if (access(checking->options.server_program, X_OK) < 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--server %s: %s",
                       checking->options.server_program, strerror(errno));
    }
    /* Before there is anything to clean up. */
    checking->signal_fd = qn_signals_open();
    (void)signal(SIGPIPE, SIG_IGN);
    if (!qn_workplace_open(&checking->workplace, err)) {
        return false;
    }
    qn_process_adopt_orphans();
    return true;
}

static void finish(struct checking *checking)
{
    for (size_t i = 0; i < checking->report.count; i++) {
        qn_run_result_done(&checking->report.entries[i].result);
        json_decref(checking->report.entries[i].shrunk);
    }
    qn_scenario_free(checking->narrowed);
    qn_memory_free(checking->report.entries);
    qn_catalogue_close(&checking->catalogue);
    qn_workplace_close(&checking->workplace);
    if (checking->signal_fd >= 0) {
        (void)close(checking->signal_fd);
    }
    qn_check_options_done(&checking->options);
    qn_memory_free(checking);
}

int qn_check_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "init") == 0) {
        return qn_check_init_main(argc - 1, argv + 1);
    }
    struct checking *checking = qn_memory_new(sizeof(*checking));
    struct qn_check_options *o = &checking->options;
    struct qn_error err;
    int code = QN_CHECK_WELL;

    checking->signal_fd = -1;
    if (!qn_options_read(argc, argv, o, &err)) {
        code = complain(&err);
    } else if (!read_scenarios(checking)) {
        code = QN_CHECK_USAGE;
    } else if (!check_patterns(checking, &err)) {
        code = complain(&err);
    } else if (o->wants_help) {
        qn_options_print_help(o->wants_all_help, stdout);
    } else if (o->wants_list) {
        list_scenarios(checking);
    } else if (!check_choice(checking, &err) || !narrow(checking, &err) ||
               !prepare(checking, &err)) {
        code = complain(&err);
    } else {
        uint64_t fresh = qn_random_fresh_seed() % 1000000; /* short enough to be typed again */
        checking->report = (struct qn_report){
            .options = o,
            .seed = o->has_seed ? o->seed : fresh,
            .console = qn_report_takes_stdout(o) ? stderr : stdout,
        };
        qn_report_look_at_console(&checking->report);
        (void)snprintf(checking->run_id, sizeof(checking->run_id), "run-%llu",
                       (unsigned long long)checking->report.seed);
        code = run_all(checking);
    }
    finish(checking);
    return code;
}
