/* What rules want done apart from an answer: to processes, to the sink, and to the server. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "chaos/check/running.h"
#include "server/base/clock.h"

enum {
    SETTLE_ALWAYS_MS = 50 /* a killed client's sockets are closed before its request goes on */
};

/* A fault that did not happen must not pass for one that was stood; as the server says it. */
static void tell_not_done(struct qn_running *run, const struct qn_fault_step *step, const char *why)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_FAULT);
    event.code = step->action->source;
    event.k = step->cause.k;
    detail.target = qn_arena_format(&run->arena, "rule=%.*s", QN_STR_ARG(step->rule));
    detail.reason = qn_arena_format(&run->arena, "not done: %s", why);
    qn_record(&run->recorder, &event);
}

/* The one that the action names, or that of the event. */
static struct qn_instance *instance_of(struct qn_running *run, const struct qn_fault_step *step)
{
    struct qn_str name = step->action->instance;
    int64_t number;

    if (qn_str_is_none(name)) {
        return qn_instance_find(run, step->cause.instance);
    }
    if (qn_str_to_int64(name, 1, QN_INSTANCES_MAX, &number)) {
        return (size_t)number <= run->instance_count ? &run->instances[number - 1] : NULL;
    }
    return qn_instance_find(run, name);
}

static bool is_same_message(const struct qn_fault_step *step, const struct qn_check_event *event)
{
    return qn_str_is_none(step->cause.mid) ? qn_str_equal(event->k, step->cause.k)
                                           : qn_str_equal(event->mid, step->cause.mid);
}

/* The newest lease of the message that the step is about; NULL: none so far. */
static const struct qn_check_event *lease_of(const struct qn_running *run,
                                             const struct qn_fault_step *step)
{
    for (size_t i = run->history.count; i > 0; i--) {
        const struct qn_check_event *event = &run->history.events[i - 1];
        if (event->kind == QN_CHECK_LEASE_GRANT && !event->undone &&
            qn_str_equal(event->queue, run->queue_name) && is_same_message(step, event)) {
            return event;
        }
    }
    return NULL;
}

/* Its words without the wait in front, which is over. */
static const char *words_of(struct qn_running *run, const struct qn_rule_action *action)
{
    struct qn_str words = action->source;
    struct qn_str rest;

    for (int i = 0; i < 2 && action->after_ms > 0; i++) {
        (void)qn_str_cut(words, ' ', &rest);
        words = qn_str_trim(rest);
    }
    return qn_arena_copy(&run->arena, words).ptr;
}

/* The server's part of a rule on an event that it does not see. */
static void let_server_act(struct qn_running *run, const struct qn_fault_step *step)
{
    struct qn_error err;

    /* The lease may be a moment old. */
    if (run->server.pid == 0 || !qn_running_read_trace(run, &err)) {
        tell_not_done(run, step, "the server is down");
        return;
    }
    bool is_about_message = !qn_str_is_none(step->cause.mid) || !qn_str_is_none(step->cause.k);
    const struct qn_check_event *lease = is_about_message ? lease_of(run, step) : NULL;
    const struct qn_server_act act = {
        .action = words_of(run, step->action),
        .rule = step->rule.ptr,
        .queue = run->queue_name.ptr,
        .message_id = lease != NULL ? qn_arena_copy(&run->arena, lease->mid).ptr : NULL,
        .handle = lease != NULL ? qn_arena_copy(&run->arena, lease->h).ptr : NULL,
        .receive_count = lease != NULL ? lease->n : -1,
        .instance = step->cause.instance,
    };
    if (!qn_server_do(&run->server, &act, &err)) {
        tell_not_done(run, step, err.message);
    }
}

/* It could not get past the point where it was held, whatever ended it there. */
static bool is_killed_where_held(const struct qn_fault_step *step)
{
    return step->action->verb == QN_DO_KILL && (step->releases_server || step->releases_run);
}

static void do_to_instance(struct qn_running *run, const struct qn_fault_step *step)
{
    const struct qn_rule_action *action = step->action;
    struct qn_instance *instance = instance_of(run, step);

    if (instance == NULL) {
        tell_not_done(run, step, "there is no such instance");
        return;
    }
    if (instance->pid == 0 && step->action->verb != QN_DO_RESPAWN) {
        if (!is_killed_where_held(step)) {
            tell_not_done(run, step, "its process has ended before");
        }
        return;
    }
    switch (action->verb) {
    case QN_DO_KILL:
        qn_instance_kill(run, instance);
        break;
    case QN_DO_SIGNAL:
        qn_instance_signal(run, instance, qn_faults_signal(action->text));
        break;
    case QN_DO_STOP:
        qn_instance_pause(run, instance, action->duration_ms);
        break;
    default:
        qn_instance_respawn(run, instance, action->duration_ms > 0 ? action->duration_ms : 0);
        break;
    }
}

static void mark(struct qn_running *run, const struct qn_rule_action *action)
{
    struct qn_check_event event;
    struct qn_check_detail detail;

    qn_check_event_init(&event, &detail, QN_CHECK_MARK);
    detail.reason = action->text;
    qn_record(&run->recorder, &event);
}

static void crash_server(struct qn_running *run, const struct qn_fault_step *step)
{
    if (!qn_str_is_none(step->action->text)) { /* at a failpoint, which is in the server */
        let_server_act(run, step);
    } else if (run->server.pid != 0) {
        (void)kill(run->server.pid, SIGKILL);
    } else {
        tell_not_done(run, step, "the server is down");
    }
}

static void do_to_sink(struct qn_running *run, const struct qn_rule_action *action)
{
    struct qn_effects *effects = qn_sink_effects(run->sink);

    switch (action->verb) {
    case QN_DO_GATE:
        qn_effects_set_gate(effects, qn_str_equal(action->text, QN_STR("open")));
        break;
    case QN_DO_CAPACITY:
        qn_effects_set_capacity(effects, action->count);
        break;
    case QN_DO_FINISH:
        qn_effects_finish(effects, qn_clock_monotonic_ms());
        break;
    case QN_DO_OUTCOME:
        qn_faults_set_outcome(&run->faults, action);
        break;
    default:
        qn_sink_refuse(run->sink, action->duration_ms);
        break;
    }
}

static bool do_step(struct qn_running *run, const struct qn_fault_step *step, struct qn_error *err)
{
    switch (step->action->verb) {
    case QN_DO_KILL:
    case QN_DO_SIGNAL:
    case QN_DO_STOP:
    case QN_DO_RESPAWN:
        do_to_instance(run, step);
        return true;
    case QN_DO_SPAWN:
        return qn_instances_spawn_more(run, (size_t)step->action->count, err);
    case QN_DO_GATE:
    case QN_DO_CAPACITY:
    case QN_DO_FINISH:
    case QN_DO_OUTCOME:
    case QN_DO_REFUSE:
        do_to_sink(run, step->action);
        return true;
    case QN_DO_MARK:
        mark(run, step->action);
        return true;
    case QN_DO_CRASH:
        crash_server(run, step);
        return true;
    case QN_DO_AFTER:
    case QN_DO_RESTART: /* comes with the crash before it */
        return true;
    case QN_DO_REDRIVE:
        let_server_act(run, step);
        run->turned_ms = qn_recorder_now_ms(&run->recorder);
        return true;
    default:
        let_server_act(run, step);
        return true;
    }
}

void qn_running_change_sink(struct qn_running *run)
{
    struct qn_fault_step step;

    while (qn_faults_next_of_sink(&run->faults, &step)) {
        do_to_sink(run, step.action);
    }
}

bool qn_running_carry_out(struct qn_running *run, struct qn_error *err)
{
    struct qn_fault_step step;

    while (qn_faults_next(&run->faults, qn_clock_monotonic_ms(), &step)) {
        if (!do_step(run, &step, err)) {
            return false;
        }
        if (step.releases_server && run->server.pid != 0) {
            (void)poll(NULL, 0, SETTLE_ALWAYS_MS);
            (void)qn_server_release(&run->server, step.rule.ptr);
        }
        if (step.releases_run) {
            qn_sink_release(run->sink, step.cause.run);
        }
    }
    return true;
}
