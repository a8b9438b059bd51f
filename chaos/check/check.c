/* `quern check`: which scenarios, one after the other, and what comes out. */
#include "chaos/check/check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chaos/check/catalogue.h"
#include "chaos/check/declared.h"
#include "chaos/check/process.h"
#include "chaos/check/report/report.h"
#include "server/base/random.h"

enum { PATH_ROOM = 4096 };

/* The first one teaches the harness what the others should know. */
static const char profiling_scenario[] = "base.drain-and-profile";

struct checking {
    struct qn_check_options options;
    struct qn_catalogue catalogue;
    struct qn_report report;
    char directory[PATH_ROOM];
    char program[PATH_ROOM];
    char run_id[32];
    int signal_fd;
    bool has_skipped; /* a scenario of the profile */
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
                               "%sno scenario is called %.*s (--list shows them)",
                               lists[list].where, QN_STR_ARG(pattern));
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

static void list_scenarios(const struct checking *checking)
{
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        const struct qn_scenario *scenario = checking->catalogue.scenarios[i];
        if (is_wanted(checking, scenario)) {
            (void)printf("%-42.*s %-14s %.*s\n", QN_STR_ARG(scenario->id),
                         qn_catalogue_profiles(scenario), QN_STR_ARG(scenario->title));
        }
    }
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_file(const char *from, const char *to)
{
    char block[16384];
    size_t len;
    FILE *in = fopen(from, "re");
    FILE *out = in != NULL ? fopen(to, "we") : NULL;

    while (out != NULL && (len = fread(block, 1, sizeof(block), in)) > 0) {
        if (fwrite(block, 1, len, out) != len) {
            break;
        }
    }
    if (in != NULL) {
        (void)fclose(in);
    }
    if (out != NULL) {
        (void)fclose(out);
    }
}

/* Trace and logs of one scenario, for somebody to look at. */
static void keep(const struct checking *checking, struct qn_report_entry *entry,
                 const char *directory)
{
    static const struct {
        const char *name;
        const char *suffix;
    } files[] = {{"trace.jsonl", "jsonl"},
                 {"server.log", "server.log"},
                 {"instance-1.log", "instance-1.log"}};

    if (checking->options.keep_directory == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char from[PATH_ROOM + 64];
        char to[PATH_ROOM + 512];
        (void)snprintf(from, sizeof(from), "%s/%s", directory, files[i].name);
        (void)snprintf(to, sizeof(to), "%s/%.*s.%s", checking->options.keep_directory,
                       QN_STR_ARG(entry->scenario->id), files[i].suffix);
        copy_file(from, to);
        if (i == 0) {
            (void)snprintf(entry->trace_path, sizeof(entry->trace_path), "%.1000s", to);
        }
    }
}

static void skip(struct qn_report_entry *entry, struct qn_str reason)
{
    entry->result.judgement.outcome = QN_OUTCOME_SKIP;
    (void)snprintf(entry->result.judgement.text, sizeof(entry->result.judgement.text), "%.*s",
                   QN_STR_ARG(reason));
}

static void learn(struct checking *checking, const struct qn_report_entry *entry)
{
    struct qn_profile *known = &checking->report.profile;
    const struct qn_profile *seen = &entry->result.profile;
    bool is_teacher = qn_str_equal(entry->scenario->id, qn_str_from_cstr(profiling_scenario));
    bool is_first = !known->is_known;

    /* Who never asked for a message has shown nothing. */
    if (!seen->is_known || seen->batch == 0) {
        return;
    }
    if (is_first || is_teacher) {
        *known = *seen;
        if (is_teacher) {
            qn_report_profile_print(&checking->report);
        }
    }
    known->level = seen->level > known->level ? seen->level : known->level;
}

static void show_progress(void *state, const struct qn_run_progress *progress)
{
    qn_report_progress(state, progress);
}

static void run_one(struct checking *checking, struct qn_report_entry *entry)
{
    char directory[PATH_ROOM + 8];
    const struct qn_run_options options = {
        .check = &checking->options,
        .learned = &checking->report.profile,
        .run_id = checking->run_id,
        .seed = checking->report.seed,
        .directory = directory,
        .signal_fd = checking->signal_fd,
        .watcher = show_progress,
        .watcher_state = &checking->report,
    };

    (void)snprintf(directory, sizeof(directory), "%s/run", checking->directory);
    if (mkdir(directory, 0700) < 0) {
        entry->result.judgement.outcome = QN_OUTCOME_ERROR;
        (void)snprintf(entry->result.judgement.text, sizeof(entry->result.judgement.text),
                       "%.200s: %s", directory, strerror(errno));
        return;
    }
    qn_run_scenario(entry->scenario, &options, &entry->result);
    qn_report_progress_clear(&checking->report);
    keep(checking, entry, directory);
    remove_tree(directory);
}

/* True when there is nothing to run. */
static bool skip_without_a_run(const struct checking *checking, struct qn_report_entry *entry)
{
    const struct qn_check_options *o = &checking->options;
    struct qn_buf reason;

    qn_buf_init(&reason, SIZE_MAX / 2);
    entry->waiver = entry->is_of_profile ? qn_waiver_of(o, entry->scenario) : NULL;
    if (!entry->is_of_profile) {
        qn_buf_append_str(&reason,
                          o->is_fifo ? QN_STR("profile fifo") : QN_STR("profile standard"));
    } else if (entry->waiver != NULL) {
        qn_buf_append_format(&reason, "waived: %s", entry->waiver);
    } else if (qn_needs_are_met(entry->scenario, o, &checking->report.profile, &reason)) {
        qn_buf_done(&reason);
        return false;
    }
    skip(entry, qn_buf_str(&reason));
    qn_buf_done(&reason);
    return true;
}

/* False: there is no point in going on. */
static bool check_one(struct checking *checking, const struct qn_scenario *scenario)
{
    const struct qn_check_options *o = &checking->options;
    struct qn_report *report = &checking->report;
    struct qn_report_entry *entry = &report->entries[report->count++];

    entry->scenario = scenario;
    entry->is_of_profile = o->is_fifo ? scenario->for_fifo : scenario->for_standard;
    if (!skip_without_a_run(checking, entry)) {
        run_one(checking, entry);
    }
    if (entry->result.cannot_start) {
        return false;
    }
    checking->has_skipped =
        checking->has_skipped || (entry->is_of_profile && entry->waiver == NULL &&
                                  entry->result.judgement.outcome == QN_OUTCOME_SKIP);
    qn_report_entry_print(report, entry);
    learn(checking, entry);
    return !entry->result.is_interrupted;
}

static int exit_code(const struct checking *checking)
{
    size_t counts[QN_OUTCOME_COUNT];

    qn_report_count(&checking->report, counts);
    if (counts[QN_OUTCOME_FAIL] > 0 || (checking->options.strict && counts[QN_OUTCOME_WARN] > 0) ||
        (checking->options.no_skip && checking->has_skipped)) {
        return QN_CHECK_FAILED;
    }
    if (counts[QN_OUTCOME_ERROR] > 0) {
        return QN_CHECK_BROKEN;
    }
    return counts[QN_OUTCOME_INCONCLUSIVE] > 0 ? QN_CHECK_INCONCLUSIVE : QN_CHECK_WELL;
}

static int run_all(struct checking *checking)
{
    struct qn_report *report = &checking->report;
    struct qn_error err;

    report->entries =
        qn_memory_new_array(checking->catalogue.count, sizeof(struct qn_report_entry));
    qn_report_begin(report);
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        report->planned += is_wanted(checking, checking->catalogue.scenarios[i]);
    }
    for (size_t i = 0; i < checking->catalogue.count; i++) {
        const struct qn_scenario *scenario = checking->catalogue.scenarios[i];
        if (is_wanted(checking, scenario) && !check_one(checking, scenario)) {
            break;
        }
    }
    const struct qn_report_entry *last =
        report->count > 0 ? &report->entries[report->count - 1] : NULL;
    if (last != NULL && last->result.cannot_start) {
        (void)fprintf(stderr, "quern check: %s\n", last->result.judgement.text);
        return QN_CHECK_USAGE;
    }
    qn_report_end(report);
    if (!qn_report_write(report, &err)) {
        (void)complain(&err);
        return QN_CHECK_BROKEN;
    }
    return exit_code(checking);
}

/* Found out before the minutes that a run takes, not after. */
static bool can_write(const struct qn_check_options *o, struct qn_error *err)
{
    if (o->keep_directory != NULL && ((mkdir(o->keep_directory, 0755) < 0 && errno != EEXIST) ||
                                      access(o->keep_directory, W_OK | X_OK) < 0)) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--keep %s: %s", o->keep_directory,
                       strerror(errno));
    }
    return qn_report_check_outputs(o, err);
}

static bool prepare(struct checking *checking, struct qn_error *err)
{
    const char *base = getenv("TMPDIR");
    sigset_t signals;

    if (!can_write(&checking->options, err)) {
        return false;
    }
    if (checking->options.server_program == NULL) {
        ssize_t len = readlink("/proc/self/exe", checking->program, PATH_ROOM - 1);
        checking->program[len > 0 ? len : 0] = '\0';
        checking->options.server_program = checking->program;
    }
    if (access(checking->options.server_program, X_OK) < 0) {
        return qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "--server %s: %s",
                       checking->options.server_program, strerror(errno));
    }
    (void)snprintf(checking->directory, sizeof(checking->directory), "%s/quern-check-XXXXXX",
                   base != NULL && base[0] != '\0' ? base : "/tmp");
    if (mkdtemp(checking->directory) == NULL) {
        int reason = errno;
        bool ok = qn_fail(err, QN_ERR_INVALID_PARAMETER_VALUE, "%s: %s", checking->directory,
                          strerror(reason));
        checking->directory[0] = '\0';
        return ok;
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    checking->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    qn_process_adopt_orphans();
    return true;
}

static void finish(struct checking *checking)
{
    for (size_t i = 0; i < checking->report.count; i++) {
        qn_run_result_done(&checking->report.entries[i].result);
    }
    qn_memory_free(checking->report.entries);
    qn_catalogue_close(&checking->catalogue);
    if (checking->directory[0] != '\0') {
        remove_tree(checking->directory);
    }
    if (checking->signal_fd >= 0) {
        (void)close(checking->signal_fd);
    }
    qn_check_options_done(&checking->options);
    qn_memory_free(checking);
}

int qn_check_main(int argc, char **argv)
{
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
        qn_options_print_help(stdout);
    } else if (o->wants_list) {
        list_scenarios(checking);
    } else if (!prepare(checking, &err)) {
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
