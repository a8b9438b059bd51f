/* Which scenario runs when, and what becomes of its result. */
#include "chaos/check/jobs.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "chaos/check/again.h"
#include "chaos/check/child.h"
#include "chaos/check/declared.h"
#include "chaos/check/files.h"
#include "chaos/check/process.h"
#include "chaos/check/shrink.h"
#include "chaos/check/signals.h"
#include "server/base/clock.h"

enum {
    PATH_ROOM = 4096,
    LOOK_EVERY_MS = 100,
    END_LIMIT_MS = 30000 /* beyond the grace period, for one that was told to end */
};

/* The first one teaches the harness what the others should know. */
static const char profiling_scenario[] = "base.drain-and-profile";

struct job {
    struct qn_child child;
    struct qn_report_entry *entry;
    bool is_again;               /* the second run of a scenario */
    struct qn_run_result before; /* the first one's, then */
    struct qn_shrink *shrink;    /* NULL: it is not run for the smallest set of its rules */
};

struct running {
    struct qn_jobs *jobs;
    struct job all[QN_OPTIONS_JOBS_MAX];
    size_t count;
    size_t next;          /* entry */
    size_t started;       /* so far: directories are numbered */
    size_t ended;         /* of them */
    bool is_stopping;     /* no more is started */
    int64_t end_limit_ms; /* monotonic; 0: nobody was told to end */
};

/* Trace and logs of one scenario, for somebody to look at. */
static void keep(const struct qn_jobs *jobs, struct qn_report_entry *entry, const char *directory,
                 struct qn_str mark)
{
    static const struct {
        const char *name;
        const char *suffix;
    } files[] = {{"trace.jsonl", "jsonl"},
                 {"server.log", "server.log"},
                 {"instance-1.log", "instance-1.log"}};

    if (jobs->options->keep_directory == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char from[PATH_ROOM + 256];
        char to[PATH_ROOM + 512];
        (void)snprintf(from, sizeof(from), "%s/%s", directory, files[i].name);
        (void)snprintf(to, sizeof(to), "%s/%.*s%.*s.%s", jobs->options->keep_directory,
                       QN_STR_ARG(entry->scenario->id), QN_STR_ARG(mark), files[i].suffix);
        qn_files_copy(from, to);
        if (i == 0 && (mark.len == 0 || entry->trace_path[0] == '\0')) {
            (void)snprintf(entry->trace_path, sizeof(entry->trace_path), "%.1000s", to);
        }
    }
}

static void set_outcome(struct qn_report_entry *entry, enum qn_outcome outcome, struct qn_str text)
{
    entry->result.judgement.outcome = outcome;
    (void)snprintf(entry->result.judgement.text, sizeof(entry->result.judgement.text), "%.*s",
                   QN_STR_ARG(text));
}

static void learn(struct qn_report *report, const struct qn_report_entry *entry)
{
    struct qn_profile *known = &report->profile;
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
            qn_report_profile_print(report);
        }
    }
    known->level = seen->level > known->level ? seen->level : known->level;
}

/* True when there is nothing to run. */
static bool skip_without_a_run(const struct qn_jobs *jobs, struct qn_report_entry *entry)
{
    const struct qn_check_options *o = jobs->options;
    struct qn_buf reason;

    qn_buf_init(&reason, SIZE_MAX / 2);
    entry->is_of_profile = qn_scenario_is_for(entry->scenario, o->profile);
    entry->waiver = entry->is_of_profile ? qn_waiver_of(o, entry->scenario) : NULL;
    if (!entry->is_of_profile) {
        qn_buf_append_format(&reason, "profile %s", o->profile);
    } else if (entry->waiver != NULL) {
        qn_buf_append_format(&reason, "waived: %s", entry->waiver);
    } else if (qn_needs_are_met(entry->scenario, o, &jobs->report->profile, &reason)) {
        qn_buf_done(&reason);
        return false;
    }
    set_outcome(entry, QN_OUTCOME_SKIP, qn_buf_str(&reason));
    qn_buf_done(&reason);
    return true;
}

static bool is_failure(const struct qn_check_options *options, enum qn_outcome outcome)
{
    return outcome == QN_OUTCOME_FAIL || (outcome == QN_OUTCOME_WARN && options->strict);
}

/* SIGTERM to all that run; each ends what it has started. */
static void stop(struct running *running)
{
    running->is_stopping = true;
    if (running->end_limit_ms == 0) {
        running->end_limit_ms =
            qn_clock_monotonic_ms() + running->jobs->options->grace_ms + END_LIMIT_MS;
    }
    for (size_t i = 0; i < running->count; i++) {
        qn_child_signal(&running->all[i].child, SIGTERM);
    }
}

static void conclude(struct running *running, struct qn_report_entry *entry)
{
    struct qn_jobs *jobs = running->jobs;
    struct qn_report *report = jobs->report;

    entry->is_done = true;
    report->done++;
    qn_report_progress_clear(report);
    qn_report_entry_print(report, entry);
    qn_report_tap_stream(report, entry);
    learn(report, entry);
    if (jobs->options->fail_fast && !running->is_stopping &&
        is_failure(jobs->options, entry->result.judgement.outcome)) {
        jobs->has_stopped = true;
        stop(running);
    }
}

/* What is run, and how. */
struct order {
    struct qn_report_entry *entry;
    const struct qn_scenario *scenario;
    const struct qn_check_options *options;
    bool is_again;
};

/* NULL: it could not be started, and err says why. */
static struct job *start_child(struct running *running, const struct order *order,
                               struct qn_error *err)
{
    struct qn_jobs *jobs = running->jobs;
    struct job *job = &running->all[running->count];
    char directory[PATH_ROOM + 32];
    const struct qn_run_options options = {
        .check = order->options,
        .learned = &jobs->report->profile,
        .run_id = jobs->run_id,
        .seed = jobs->report->seed + (order->is_again ? QN_AGAIN_SEED_STEP : 0),
    };

    (void)snprintf(directory, sizeof(directory), "%s/run-%zu", jobs->directory, ++running->started);
    *job = (struct job){.entry = order->entry, .is_again = order->is_again};
    if (!qn_child_start(&job->child, order->scenario, &options, directory, err)) {
        return NULL;
    }
    order->entry->is_running = true;
    jobs->report->running++;
    running->count++;
    return job;
}

/* NULL: it could not be started, which is its result. */
static struct job *start(struct running *running, struct qn_report_entry *entry, bool is_again)
{
    const struct order order = {entry, entry->scenario, running->jobs->options, is_again};
    struct qn_error err;
    struct job *job = start_child(running, &order, &err);

    if (job == NULL) {
        set_outcome(entry, QN_OUTCOME_ERROR, qn_str_from_cstr(err.message));
        conclude(running, entry);
    }
    return job;
}

/* A consumer that has shown nothing so far is looked at alone: what it shows decides how the others
 * are run. One with a fixed queue is likely to have other things of which there is one. */
static size_t how_many_at_once(const struct running *running)
{
    const struct qn_check_options *o = running->jobs->options;

    return running->ended == 0 || o->queue_name != NULL ? 1 : (size_t)o->jobs;
}

static void start_more(struct running *running)
{
    struct qn_report *report = running->jobs->report;

    while (!running->is_stopping && running->next < report->planned &&
           running->count < how_many_at_once(running)) {
        struct qn_report_entry *entry = &report->entries[running->next++];
        if (skip_without_a_run(running->jobs, entry)) {
            conclude(running, entry);
        } else {
            (void)start(running, entry, false);
        }
    }
}

/* Of two runs the second one counts, and says that there was a first. */
static bool runs_again(struct running *running, struct job *job)
{
    struct qn_report_entry *entry = job->entry;

    if (job->is_again) {
        qn_again_conclude(&job->before, &entry->result);
        qn_run_result_done(&job->before);
        return false;
    }
    return !running->is_stopping && !entry->result.is_interrupted &&
           qn_again_is_due(entry->scenario, &entry->result.judgement);
}

/* What a scenario that ended by itself has left behind. */
static void kill_orphans(const struct running *running)
{
    pid_t children[QN_OPTIONS_JOBS_MAX];

    for (size_t i = 0; i < running->count; i++) {
        children[i] = running->all[i].child.pid;
    }
    qn_process_kill_orphans(children, running->count);
}

static void take_out(struct running *running, size_t i)
{
    running->count--;
    if (i < running->count) {
        running->all[i] = running->all[running->count];
    }
}

/* Of a run that failed, and of those that look for the smallest set of rules with which it fails.
 * False: there is nothing more to look for. */
static bool goes_on_shrinking(struct running *running, struct job *job)
{
    struct qn_report_entry *entry = job->entry;
    const struct qn_jobs *jobs = running->jobs;
    struct order order = {.entry = entry};
    struct qn_error err;

    if (job->shrink == NULL) {
        if (running->is_stopping ||
            !qn_shrink_is_due(entry->scenario, &entry->result, jobs->options)) {
            return false;
        }
        keep(jobs, entry, job->child.directory, QN_STR(".first"));
        job->shrink = qn_shrink_new(entry->scenario, jobs->options, &entry->result,
                                    qn_clock_monotonic_ms() + jobs->options->shrink_ms);
    } else if (qn_shrink_take(job->shrink, &entry->result)) {
        keep(jobs, entry, job->child.directory, QN_STR(""));
    }
    entry->shrink_runs = qn_shrink_runs(job->shrink) + 1;
    entry->shrink_left = qn_shrink_left(job->shrink);
    if (!running->is_stopping && qn_shrink_next(job->shrink, &order.scenario, &order.options)) {
        struct job *next = start_child(running, &order, &err);
        if (next != NULL) {
            next->shrink = job->shrink;
            return true;
        }
    }
    entry->shrunk = qn_shrink_conclude(job->shrink, &entry->result);
    qn_shrink_free(job->shrink);
    return false;
}

static void end(struct running *running, size_t i)
{
    struct qn_jobs *jobs = running->jobs;
    struct job job = running->all[i];
    struct qn_report_entry *entry = job.entry;

    take_out(running, i);
    if (!job.child.has_result) {
        kill_orphans(running);
    }
    entry->is_running = false;
    jobs->report->running--;
    if (entry->result.cannot_start) {
        jobs->cannot_start = entry->result.judgement.text;
        stop(running);
        qn_shrink_free(job.shrink);
        qn_files_remove_tree(job.child.directory);
        return;
    }
    running->ended++;
    jobs->is_interrupted = jobs->is_interrupted || (entry->result.is_interrupted &&
                                                    !jobs->has_stopped && job.shrink == NULL);
    bool is_due = job.shrink == NULL && runs_again(running, &job);
    if (job.shrink == NULL) {
        keep(jobs, entry, job.child.directory, is_due ? QN_STR(".first") : QN_STR(""));
    }
    bool is_shrinking = goes_on_shrinking(running, &job);
    qn_files_remove_tree(job.child.directory);
    if (is_shrinking) {
        return;
    }
    if (is_due) {
        struct qn_run_result before = entry->result;
        entry->result = (struct qn_run_result){0};
        struct job *second = start(running, entry, true);
        if (second != NULL) {
            second->before = before;
        } else {
            qn_run_result_done(&before);
        }
    } else if (!entry->result.is_interrupted || !jobs->has_stopped) {
        conclude(running, entry);
    }
}

static void read_children(struct running *running)
{
    for (size_t i = running->count; i > 0; i--) {
        struct job *job = &running->all[i - 1];
        qn_child_read(&job->child, &job->entry->progress, &job->entry->result);
        if (job->child.is_over) {
            end(running, i - 1);
        }
    }
}

static void read_signals(struct running *running)
{
    struct signalfd_siginfo info;

    while (read(running->jobs->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (qn_signals_is_end(info.ssi_signo)) {
            running->jobs->is_interrupted = true;
            stop(running);
        }
    }
}

static void wait_for_something(const struct running *running)
{
    struct pollfd fds[QN_OPTIONS_JOBS_MAX + 1] = {
        {.fd = running->jobs->signal_fd, .events = POLLIN}};

    for (size_t i = 0; i < running->count; i++) {
        fds[i + 1] = (struct pollfd){.fd = running->all[i].child.socket, .events = POLLIN};
    }
    (void)poll(fds, running->count + 1, LOOK_EVERY_MS);
}

/* A run for the smallest set of rules that outlasts the time for all of them. */
static void end_late_ones(const struct running *running)
{
    for (size_t i = 0; i < running->count; i++) {
        const struct job *job = &running->all[i];
        if (job->shrink != NULL && qn_shrink_is_late(job->shrink)) {
            qn_child_signal(&job->child, SIGTERM);
        }
    }
}

/* One that was told to end and does not: its server and its consumers go with it. */
static void press(const struct running *running)
{
    if (running->end_limit_ms == 0 || qn_clock_monotonic_ms() < running->end_limit_ms) {
        return;
    }
    for (size_t i = 0; i < running->count; i++) {
        qn_child_signal(&running->all[i].child, SIGKILL);
    }
}

void qn_jobs_run(struct qn_jobs *jobs)
{
    struct running *running = qn_memory_new(sizeof(*running));

    running->jobs = jobs;
    start_more(running);
    while (running->count > 0) {
        wait_for_something(running);
        read_signals(running);
        read_children(running);
        end_late_ones(running);
        press(running);
        start_more(running);
        qn_report_progress(jobs->report);
    }
    qn_memory_free(running);
}
