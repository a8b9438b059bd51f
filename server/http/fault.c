/* Carries out what chaos decided about calls: stopping them, ending their connections. */
#include "server/http/execute.h"

#include <sys/socket.h>

#include "server/base/failpoint.h"
#include "server/base/log.h"

void qn_fault_note_rule(struct qn_call *call, const struct qn_verdict *verdict)
{
    struct qn_arena *arena = &call->request.arena;

    if (qn_str_is_none(verdict->rule) || qn_str_equal(verdict->rule, call->rule)) {
        return;
    }
    /* A copy: the rule may be removed before the call ends. */
    call->rule = qn_arena_copy(arena, verdict->rule);
    if (call->loop->options.fault_header) {
        call->faults = qn_str_is_none(call->faults)
                           ? qn_arena_format(arena, "%.*s", QN_STR_ARG(call->rule))
                           : qn_arena_format(arena, "%.*s, %.*s", QN_STR_ARG(call->faults),
                                             QN_STR_ARG(call->rule));
    }
}

/* Not by SO_LINGER: that would first show the client a clean end. */
void qn_fault_reset(struct qn_client *client)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};

    (void)connect(client->fd, &nobody, sizeof(nobody));
}

void qn_fault_crash(struct qn_loop *loop, const struct qn_crash *crash)
{
    struct qn_error err;

    if (qn_str_is_none(crash->failpoint)) {
        qn_legacy_announce(loop->parts.legacy, crash->rule, crash->restart_ms);
        qn_failpoint_die();
    }
    if (!qn_failpoint_arm_once(crash->failpoint, crash->mode, crash->restart_ms, &err)) {
        qn_log(QN_LOG_WARN, "chaos", "the rule's failpoint is not armed: %s", err.message);
    }
}

void qn_fault_wait(struct qn_call *call, struct qn_call_list *list, enum qn_call_stage go_on_at,
                   const struct qn_verdict *then)
{
    qn_call_unpark(call);
    call->stage = go_on_at;
    call->then = then;
    qn_call_wait(call, list);
}

bool qn_fault_stops(struct qn_call *call, const struct qn_verdict *verdict,
                    enum qn_call_stage go_on_at)
{
    struct qn_loop *loop = call->loop;

    qn_fault_note_rule(call, verdict);
    switch (verdict->kind) {
    case QN_VERDICT_DELAY:
        call->due_ms = qn_clock_monotonic_ms() + verdict->delay_ms;
        qn_fault_wait(call, &loop->delayed, go_on_at, verdict->then);
        return true;
    case QN_VERDICT_HOLD:
        call->due_ms = 0; /* in the order in which they came */
        qn_fault_wait(call, call->is_released ? &loop->delayed : &loop->held, go_on_at,
                      verdict->then);
        call->is_released = false;
        return true;
    case QN_VERDICT_DELIVER_TO_BOTH:
        return qn_pair_waits(call, verdict);
    case QN_VERDICT_HANG:
        call->due_ms = 0;
        qn_fault_wait(call, &loop->hanging, go_on_at, NULL);
        return true;
    case QN_VERDICT_RESET:
        qn_call_unpark(call);
        qn_fault_reset(call->client);
        qn_call_drop(call);
        return true;
    case QN_VERDICT_CLOSE:
    case QN_VERDICT_TRUNCATE: /* of an answer without a body */
        qn_call_unpark(call);
        qn_call_drop(call);
        return true;
    case QN_VERDICT_CRASH:
        qn_fault_crash(loop, &(struct qn_crash){call->rule, verdict->failpoint,
                                                verdict->failpoint_mode, verdict->restart_ms});
        return false; /* only armed */
    default:
        return false;
    }
}

struct qn_verdict qn_fault_take_next(struct qn_call *call)
{
    struct qn_verdict next = {.kind = QN_VERDICT_PASS};

    if (call->then != NULL) {
        next = *call->then;
        next.rule = call->rule; /* the rule itself may be gone */
        call->then = NULL;
    }
    return next;
}

void qn_fault_answer(struct qn_call *call, const struct qn_verdict *verdict)
{
    struct qn_error err;

    qn_fault_note_rule(call, verdict);
    qn_fail(&err, verdict->error, "Injected by the rule %.*s.", QN_STR_ARG(verdict->rule));
    qn_call_set_error(call, &err, verdict->error_http_status);
}

const struct qn_verdict *qn_fault_of_entries(struct qn_call *call, const struct qn_verdict *verdict)
{
    struct qn_verdict *kept;

    if (verdict->kind == QN_VERDICT_PASS) {
        return NULL;
    }
    kept = qn_arena_alloc(&call->request.arena, sizeof(*kept));
    if (kept != NULL) {
        *kept = *verdict;
        kept->rule = call->rule;
    }
    return kept;
}

size_t qn_fault_release(struct qn_loop *loop, struct qn_str rule)
{
    struct qn_call *next;
    size_t released = 0;

    for (struct qn_call *call = loop->held.first; call != NULL; call = next) {
        next = call->next;
        if (qn_str_equal(call->rule, rule)) {
            call->due_ms = 0;
            qn_call_join_by_due(&loop->delayed, call); /* goes on in this pass */
            released++;
        }
    }
    return released;
}

static struct qn_call *find_waiting(struct qn_loop *loop, struct qn_str request)
{
    struct qn_call_list *const lists[] = {&loop->held,   &loop->delayed, &loop->crowded,
                                          &loop->behind, &loop->syncing, &loop->jumping};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (struct qn_call *call = lists[i]->first; call != NULL; call = call->next) {
            if (qn_str_equal(qn_str(call->request.request_id, 36), request)) {
                return call;
            }
        }
    }
    return NULL;
}

bool qn_fault_release_one(struct qn_loop *loop, struct qn_str request)
{
    struct qn_call *call = find_waiting(loop, request);

    if (call != NULL && call->list == &loop->held) {
        call->due_ms = 0;
        qn_call_join_by_due(&loop->delayed, call); /* goes on in this pass */
    } else if (call != NULL) {
        call->is_released = true;
    }
    return call != NULL;
}
