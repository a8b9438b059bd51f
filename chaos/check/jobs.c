/* Which scenario runs when, and what becomes of its result. */
#include "chaos/check/jobs.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "chaos/check/again.h"
#include "chaos/check/child.h"
#include "chaos/check/choose.h"
#include "chaos/check/declared.h"
#include "chaos/check/files.h"
#include "chaos/check/omit.h"
#include "chaos/check/process.h"
#include "chaos/check/shrink.h"
#include "chaos/check/signals.h"
#include "chaos/check/traces.h"
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
    struct qn_child waiting[QN_OPTIONS_JOBS_MAX]; /* for another scenario, with what they kept */
    size_t waiting_count;
    bool keeps;           /* --reuse, and nothing speaks against it so far */
    char tainted[160];    /* what speaks against it; empty: nothing */
    size_t begun;         /* entries */
    size_t started;       /* so far: directories are numbered */
    size_t ended;         /* of them */
    struct qn_str stuck;  /* the first scenario, if the consumer never got going in it */
    bool is_stopping;     /* no more is started */
    int64_t end_limit_ms; /* monotonic; 0: nobody was told to end */
};

static void fail(struct qn_report_entry *entry, const char *text)
{
    entry->result.judgement.outcome = QN_OUTCOME_ERROR;
    (void)snprintf(entry->result.judgement.text, sizeof(entry->result.judgement.text), "%.300s",
                   text);
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

static void signal_all(const struct running *running, int number)
{
    for (size_t i = 0; i < running->count; i++) {
        qn_child_signal(&running->all[i].child, number);
    }
    for (size_t i = 0; i < running->waiting_count; i++) {
        qn_child_signal(&running->waiting[i], number);
    }
}

/* SIGTERM to all that run; each ends what it has started. */
static void stop(struct running *running)
{
    running->is_stopping = true;
    if (running->end_limit_ms == 0) {
        running->end_limit_ms =
            qn_clock_monotonic_ms() + running->jobs->options->grace_ms + END_LIMIT_MS;
    }
    signal_all(running, SIGTERM);
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
    enum qn_outcome outcome = entry->result.judgement.outcome;
    bool fails =
        outcome == QN_OUTCOME_FAIL || (outcome == QN_OUTCOME_WARN && jobs->options->strict);
    if (jobs->options->fail_fast && !running->is_stopping && fails) {
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
    bool has_new_seed;
    bool may_keep; /* what it leaves may be kept, and it may have what was kept */
};

/* One that waits goes on, or else a new one is made. */
static bool find_child(struct running *running, const struct order *order,
                       const struct qn_run_options *options, struct job *job, struct qn_error *err)
{
    char directory[PATH_ROOM + 32];

    if (order->may_keep && running->waiting_count > 0) {
        job->child = running->waiting[running->waiting_count - 1];
        if (qn_child_go_on(&job->child, order->scenario, options)) {
            running->waiting_count--;
            return true;
        }
    }
    (void)snprintf(directory, sizeof(directory), "%s/run-%zu", running->jobs->directory,
                   ++running->started);
    return qn_child_start(&job->child, order->scenario, options, directory, err);
}

/* NULL: it could not be started, and err says why. */
static struct job *start_child(struct running *running, const struct order *order,
                               struct qn_error *err)
{
    struct qn_jobs *jobs = running->jobs;
    struct job *job = &running->all[running->count];
    const struct qn_run_options options = {
        .check = order->options,
        .learned = &jobs->report->profile,
        .run_id = jobs->run_id,
        .seed = jobs->report->seed + (order->has_new_seed ? QN_AGAIN_SEED_STEP : 0),
        .is_series = order->may_keep,
    };

    *job = (struct job){.entry = order->entry, .is_again = order->is_again};
    if (!find_child(running, order, &options, job, err)) {
        return NULL;
    }
    order->entry->is_running = true;
    jobs->report->running++;
    running->count++;
    return job;
}

/* After an earlier run or NULL. NULL: it could not be started, which is its result. */
static struct job *start(struct running *running, struct qn_report_entry *entry,
                         const struct qn_run_result *before, bool has_new_seed)
{
    const struct order order = {
        .entry = entry,
        .scenario =
            qn_needs_form(entry->scenario, running->jobs->options, &running->jobs->report->profile),
        .options = running->jobs->options,
        .is_again = before != NULL,
        .has_new_seed = has_new_seed,
        .may_keep = running->keeps && before == NULL,
    };
    struct qn_error err;
    struct job *job = start_child(running, &order, &err);

    if (job == NULL) {
        fail(entry, err.message);
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

static void start_or_omit(struct running *running, struct qn_report_entry *entry, bool has_new_seed)
{
    if (qn_omit(running->jobs->options, running->jobs->report, running->stuck, entry)) {
        conclude(running, entry);
    } else {
        (void)start(running, entry, NULL, has_new_seed);
    }
}

static void start_more(struct running *running)
{
    struct qn_report *report = running->jobs->report;

    while (!running->is_stopping && running->begun < report->planned &&
           running->count < how_many_at_once(running)) {
        bool is_kept = running->keeps && running->waiting_count > 0;
        struct qn_report_entry *entry = qn_choose(
            report, is_kept ? running->waiting[running->waiting_count - 1].scenario : NULL);
        entry->is_begun = true;
        running->begun++;
        start_or_omit(running, entry, false);
    }
}

/* Good in a process of its own and bad in one that was kept: the consumer carries something from
 * one scenario into another. */
static bool is_tainted(const struct qn_run_result *before, const struct qn_run_result *now)
{
    return before->process.kept_from[0] != '\0' && qn_report_is_fine(now->judgement.outcome);
}

/* Of two runs the second one counts, and says that there was a first. */
static bool runs_again(struct running *running, struct job *job)
{
    struct qn_report_entry *entry = job->entry;

    if (job->is_again) {
        if (is_tainted(&job->before, &entry->result)) {
            running->keeps = false;
            (void)snprintf(running->tainted, sizeof(running->tainted),
                           "none is kept since %.*s, which a kept one did not pass",
                           QN_STR_ARG(entry->scenario->id));
        }
        qn_again_conclude(&job->before, &entry->result);
        qn_run_result_done(&job->before);
        return false;
    }
    return !running->is_stopping && !entry->result.is_interrupted &&
           (qn_again_is_due(job->child.scenario, &entry->result.judgement) ||
            qn_again_is_due_alone(&entry->result));
}

/* What a scenario that ended by itself has left behind. */
static void kill_orphans(const struct running *running)
{
    pid_t children[2 * QN_OPTIONS_JOBS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < running->count; i++) {
        children[count++] = running->all[i].child.pid;
    }
    for (size_t i = 0; i < running->waiting_count; i++) {
        children[count++] = running->waiting[i].pid;
    }
    qn_process_kill_orphans(children, count);
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
            !qn_shrink_is_due(job->child.scenario, &entry->result, jobs->options)) {
            return false;
        }
        qn_traces_keep(jobs->options, entry, job->child.directory, QN_STR(".first"));
        job->shrink = qn_shrink_new(job->child.scenario, jobs->options, &entry->result,
                                    qn_clock_monotonic_ms() + jobs->options->shrink_ms);
    } else if (qn_shrink_take(job->shrink, &entry->result)) {
        qn_traces_keep(jobs->options, entry, job->child.directory, QN_STR(""));
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

/* Its directory goes with it, or stays for the next scenario. */
static void leave(struct running *running, const struct qn_child *child)
{
    if (child->is_over) {
        qn_files_remove_tree(child->directory);
        return;
    }
    running->waiting[running->waiting_count++] = *child;
    if (running->is_stopping) {
        qn_child_signal(child, SIGTERM);
    }
}

/* As if it had been known before: that run tells nothing else. */
static void start_without_sink(struct running *running, struct job *job)
{
    struct qn_report_entry *entry = job->entry;

    learn(running->jobs->report, entry);
    leave(running, &job->child);
    qn_run_result_done(&entry->result);
    entry->result = (struct qn_run_result){0};
    start_or_omit(running, entry,
                  true); /* its store has what the run before did with the old one */
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
        leave(running, &job.child);
        return;
    }
    if (running->ended == 0 && entry->result.never_got_going) {
        running->stuck = entry->scenario->id;
    }
    running->ended++;
    if (!job.is_again && job.shrink == NULL && !running->is_stopping &&
        qn_again_is_due_without_sink(entry->scenario, job.child.scenario, &entry->result)) {
        start_without_sink(running, &job);
        return;
    }
    jobs->is_interrupted = jobs->is_interrupted || (entry->result.is_interrupted &&
                                                    !jobs->has_stopped && job.shrink == NULL);
    bool is_due = job.shrink == NULL && runs_again(running, &job);
    if (job.shrink == NULL) {
        qn_traces_keep(jobs->options, entry, job.child.directory,
                       is_due ? QN_STR(".first") : QN_STR(""));
    }
    if (!job.is_again && entry->result.process.kept_from[0] == '\0' &&
        entry->result.process.started[0] == '\0') {
        (void)snprintf(entry->result.process.started, sizeof(entry->result.process.started), "%s",
                       running->tainted);
    }
    bool is_shrinking = !is_due && goes_on_shrinking(running, &job);
    leave(running, &job.child);
    if (is_shrinking) {
        return;
    }
    if (is_due) {
        struct qn_run_result before = entry->result;
        entry->result = (struct qn_run_result){0};
        struct job *second = start(running, entry, &before, before.process.kept_from[0] == '\0');
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
        if (job->child.is_over || job->child.waits) {
            end(running, i - 1);
        }
    }
}

/* Nothing more is to be run, or nothing with what they kept. */
static void dismiss_waiting(struct running *running)
{
    if (!running->is_stopping && running->keeps &&
        running->begun < running->jobs->report->planned) {
        return;
    }
    for (size_t i = 0; i < running->waiting_count; i++) {
        qn_child_dismiss(&running->waiting[i]);
    }
}

static void read_waiting(struct running *running)
{
    struct qn_run_progress progress;
    struct qn_run_result result = {0};

    for (size_t i = running->waiting_count; i > 0; i--) {
        struct qn_child *child = &running->waiting[i - 1];
        qn_child_read(child, &progress, &result);
        if (child->is_over) {
            qn_files_remove_tree(child->directory);
            *child = running->waiting[--running->waiting_count];
        }
    }
}

static void read_signals(struct running *running)
{
    if (qn_signals_heard_end(running->jobs->signal_fd)) {
        running->jobs->is_interrupted = true;
        stop(running);
    }
}

static void wait_for_something(const struct running *running)
{
    struct pollfd fds[2 * QN_OPTIONS_JOBS_MAX + 1] = {
        {.fd = running->jobs->signal_fd, .events = POLLIN}};
    nfds_t count = 1;

    for (size_t i = 0; i < running->count; i++) {
        fds[count++] = (struct pollfd){.fd = running->all[i].child.socket, .events = POLLIN};
    }
    for (size_t i = 0; i < running->waiting_count; i++) {
        fds[count++] = (struct pollfd){.fd = running->waiting[i].socket, .events = POLLIN};
    }
    (void)poll(fds, count, LOOK_EVERY_MS);
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
    signal_all(running, SIGKILL);
}

void qn_jobs_run(struct qn_jobs *jobs)
{
    struct running *running = qn_memory_new(sizeof(*running));

    running->jobs = jobs;
    running->keeps = jobs->options->reuse;
    start_more(running);
    while (running->count + running->waiting_count > 0) {
        dismiss_waiting(running);
        wait_for_something(running);
        read_signals(running);
        read_children(running);
        read_waiting(running);
        end_late_ones(running);
        press(running);
        start_more(running);
        qn_report_progress(jobs->report);
    }
    qn_memory_free(running);
}
