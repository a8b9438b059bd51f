/* A machine with too much to do: what it takes from the consumer, as events. */
#include "chaos/check/judge/busy.h"
#include "chaos/check/running.h"

enum { LOOK_EVERY_MS = 250, LEAST_MS = 50 };

static void prolong(struct qn_running *run, struct qn_instance *instance, int64_t by_ms)
{
    int64_t left_ms = qn_busy_grace_limit_ms(run->terms.in.grace_ms) - instance->prolonged_ms;

    by_ms = by_ms < left_ms ? by_ms : left_ms;
    if (instance->kill_at_ms != 0) {
        instance->kill_at_ms += by_ms;
        instance->prolonged_ms += by_ms;
    }
}

int64_t qn_running_note_waits(struct qn_running *run, int64_t now_ms)
{
    pid_t pids[QN_INSTANCES_MAX + 1];
    struct qn_check_event event;
    struct qn_check_detail detail;
    size_t count = 0;

    if (now_ms < run->next_look_ms) {
        return 0;
    }
    run->next_look_ms = now_ms + LOOK_EVERY_MS;
    pids[count++] = run->server.pid;
    for (size_t i = 0; i < run->instance_count; i++) {
        pids[count++] = run->instances[i].pid;
    }
    run->waited_ms += qn_processor_waited_ms(&run->waits, pids, count);
    if (run->waited_ms < LEAST_MS) {
        return 0;
    }
    qn_check_event_init(&event, &detail, QN_CHECK_BUSY);
    event.n = run->waited_ms;
    run->busy_ms += run->waited_ms;
    run->waited_ms = 0;
    qn_record(&run->recorder, &event);
    for (size_t i = 0; i < run->instance_count; i++) {
        prolong(run, &run->instances[i], event.n);
    }
    return event.n;
}
