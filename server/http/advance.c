/* Moving the virtual clock, for a caller of the control API or for a rule: from one instant at
 * which something falls due to the next, so that all of it happens on the way. */
#include "server/http/internal.h"

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool qn_advance_is_jumping(const struct qn_loop *loop)
{
    return loop->advance.jump_to_ms > 0;
}

bool qn_advance_is_on(const struct qn_loop *loop)
{
    return loop->advance.calls.first != NULL || qn_advance_is_jumping(loop);
}

int64_t qn_advance_end_ms(const struct qn_loop *loop)
{
    const struct qn_advance *advance = &loop->advance;
    int64_t end_ms = advance->calls.last != NULL ? advance->calls.last->due_ms : loop->now_ms;

    return qn_advance_is_jumping(loop) && advance->jump_to_ms > end_ms ? advance->jump_to_ms
                                                                       : end_ms;
}

/* What waited for the jump goes on. */
static void end_jump(struct qn_loop *loop)
{
    struct qn_call *call;

    loop->advance.jump_to_ms = 0;
    qn_keep_instant(loop);
    while ((call = loop->jumping.first) != NULL) {
        call->due_ms = 0;
        qn_call_join_by_due(&loop->delayed, call); /* in this pass */
    }
}

static int64_t next_target(const struct qn_loop *loop)
{
    const struct qn_advance *advance = &loop->advance;
    int64_t target_ms = advance->calls.first != NULL ? advance->calls.first->due_ms : INT64_MAX;

    return qn_advance_is_jumping(loop) ? earlier(target_ms, advance->jump_to_ms) : target_ms;
}

bool qn_advance_step(struct qn_loop *loop)
{
    struct qn_clock *clock = loop->parts.clock;
    int64_t target_ms = next_target(loop);
    int64_t step_ms = earlier(target_ms, qn_engine_next_event_ms(loop->parts.engine));

    if (loop->now_ms >= target_ms) {
        if (qn_advance_is_jumping(loop) && loop->now_ms >= loop->advance.jump_to_ms) {
            end_jump(loop);
        } else {
            qn_control_answer_clock(loop->advance.calls.first);
        }
        return false;
    }
    if (qn_loop_has_rules(loop)) {
        step_ms = earlier(step_ms, qn_plan_next_ms(loop->parts.plan));
    }
    if (step_ms > loop->now_ms) {
        int64_t clock_ms = clock->now_ms(clock->state);
        qn_clock_advance(clock, step_ms > clock_ms ? step_ms - clock_ms : 0);
        qn_pass_set_now(loop, step_ms);
    }
    return true;
}

static int64_t live_leases(struct qn_engine *engine)
{
    struct qn_queue *queue;
    int64_t count = 0;

    for (size_t i = 0; (queue = qn_engine_queue_at(engine, i)) != NULL; i++) {
        count += qn_queue_counts_of(queue).in_flight;
    }
    return count;
}

bool qn_advance_jump(struct qn_loop *loop, int64_t by_ms, bool force, const char **ret_why)
{
    struct qn_advance *advance = &loop->advance;
    int64_t from_ms = qn_advance_end_ms(loop);

    /* A tick on the way of a jump would set off the next one, and so on for ever. */
    if (qn_advance_is_jumping(loop) && loop->now_ms > advance->jump_from_ms) {
        *ret_why = "the clock is jumping already";
    } else if (!qn_clock_is_virtual(loop->parts.clock)) {
        *ret_why = "the clock is real";
    } else if (by_ms > INT64_MAX / 4 - from_ms) {
        *ret_why = "that is beyond the end of time";
    } else if (!force && live_leases(loop->parts.engine) > 0) {
        *ret_why = "there are live leases, and the rule does not say \"force\"";
    } else {
        qn_keep_clock(loop, from_ms, from_ms + by_ms);
        advance->jump_from_ms = qn_advance_is_jumping(loop) ? advance->jump_from_ms : from_ms;
        advance->jump_to_ms = from_ms + by_ms;
        return true;
    }
    return false;
}

bool qn_advance_holds(struct qn_call *call, enum qn_call_stage go_on_at,
                      const struct qn_verdict *verdict)
{
    if (!qn_advance_is_jumping(call->loop)) {
        return false;
    }
    qn_fault_note_rule(call, verdict);
    call->due_ms = 0; /* in the order in which they came */
    qn_fault_wait(call, &call->loop->jumping, go_on_at, qn_fault_of_entries(call, verdict));
    return true;
}
