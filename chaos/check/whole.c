/* One scenario from its start to its verdict. */
#include "chaos/check/run.h"

#include <stdio.h>

#include "chaos/check/kept.h"
#include "chaos/check/running.h"
#include "server/base/clock.h"

static struct qn_running *make(const struct qn_scenario *scenario,
                               const struct qn_run_options *options)
{
    struct qn_running *run = qn_memory_new(sizeof(*run));

    run->own_options = *options->check;
    run->own_options.is_fifo = options->check->is_fifo || scenario->is_fifo;
    run->options = &run->own_options;
    run->scenario = scenario;
    run->learned = options->learned;
    run->run_id = options->run_id;
    run->watcher = options->watcher;
    run->watcher_state = options->watcher_state;
    run->begin_ms = qn_clock_monotonic_ms();
    run->seed = options->seed;
    run->keeper = options->keeper;
    run->signal_fd = options->signal_fd;
    if (options->directory != NULL) {
        (void)snprintf(run->directory, sizeof(run->directory), "%s", options->directory);
    }
    return run;
}

static bool start_instances(struct qn_running *run, struct qn_error *err)
{
    if (run->process.kept_from[0] != '\0') {
        qn_kept_go_on(run);
    }
    for (size_t i = 0; run->process.kept_from[0] == '\0' && i < run->instance_count; i++) {
        if (!qn_instance_spawn(run, &run->instances[i], err)) {
            return false;
        }
    }
    run->first_spawn_ms = qn_clock_monotonic_ms(); /* not before the event that tells of it */
    return true;
}

/* Ends what is not kept, and judges. */
static void finish(struct qn_running *run, bool ok, struct qn_error *err,
                   struct qn_run_result *result)
{
    bool is_frozen = ok && qn_kept_freeze(run);

    if (!is_frozen) {
        qn_instances_stop(run);
    }
    ok = ok && qn_running_map_keys(run, err);
    if (!is_frozen) {
        qn_sink_close(run->sink); /* what it still has to say belongs into the history */
        run->sink = NULL;
    }
    ok = ok && qn_running_read_trace(run, err);
    qn_running_conclude(run, ok ? NULL : err, result);
    if (is_frozen && !qn_kept_keep(run, result->judgement.outcome)) {
        qn_instances_stop(run);
    }
}

void qn_run_scenario(const struct qn_scenario *scenario, const struct qn_run_options *options,
                     struct qn_run_result *ret_result)
{
    struct qn_running *run = make(scenario, options);
    struct qn_error err;

    *ret_result = (struct qn_run_result){0};
    bool is_set_up = qn_running_set_up(run, &err);
    bool is_started = is_set_up && start_instances(run, &err);
    if (!is_started && run->process.kept_from[0] != '\0') {
        qn_kept_go_on(run); /* to its end */
    }
    bool ok = is_started && qn_running_go(run, &err) && qn_running_mark_end(run, &err);
    if (is_set_up || run->process.kept_from[0] != '\0') {
        finish(run, ok, &err, ret_result);
    } else {
        qn_running_conclude(run, &err, ret_result);
    }
    ret_result->process = run->process;
    ret_result->cannot_start = is_set_up && !is_started;
    ret_result->is_interrupted = run->is_interrupted;
    ret_result->wall_ms = qn_clock_monotonic_ms() - run->begin_ms;
    if (run->keeper != NULL && run->keeper->run == run) {
        return; /* it is the keeper's from here on */
    }
    ret_result->history = run->history; /* the caller's from here on */
    run->history = (struct qn_history){0};
    qn_running_tear_down(run);
    qn_memory_free(run);
}

void qn_run_kind(const struct qn_scenario *scenario, const struct qn_run_options *options,
                 struct qn_buf *kind)
{
    struct qn_running *run = make(scenario, options);

    qn_running_prepare(run);
    qn_kept_kind(run, kind);
    qn_arena_done(&run->arena);
    qn_memory_free(run);
}

void qn_run_result_done(struct qn_run_result *result)
{
    qn_judgement_done(&result->judgement);
    qn_history_done(&result->history);
    *result = (struct qn_run_result){0};
}
