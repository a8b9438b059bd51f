/* Reading and moving the virtual clock. */
#include "server/http/control/control.h"

static json_t *document(const struct qn_loop *loop)
{
    bool is_virtual = qn_clock_is_virtual(loop->parts.clock);
    int64_t next_ms = qn_engine_next_event_ms(loop->parts.engine);

    return json_pack("{s:s, s:I, s:o, s:f, s:o}", "kind", is_virtual ? "virtual" : "real", "now_ms",
                     (json_int_t)loop->now_ms, "now", qn_control_instant(loop->now_ms), "rate",
                     qn_clock_rate(loop->parts.clock), "next_ms",
                     next_ms == INT64_MAX ? json_null() : json_integer(next_ms));
}

void qn_control_clock(struct qn_call *call, struct qn_str rest)
{
    (void)rest;
    qn_control_answer(call, 200, document(call->loop));
}

void qn_control_answer_clock(struct qn_call *call)
{
    qn_keep_instant(call->loop);
    qn_call_leave(call);
    qn_control_answer_change(call, document(call->loop));
}

/* Answered when all that falls due on the way is done: the passes of the loop see to it. */
static void advance(struct qn_call *call, int64_t by_ms, bool keeps_polls)
{
    struct qn_loop *loop = call->loop;
    int64_t from_ms = qn_advance_end_ms(loop);

    if (by_ms > INT64_MAX / 4 - from_ms) {
        qn_control_fail(call, 400, "that is beyond the end of time");
        return;
    }
    if (keeps_polls) {
        qn_engine_shift_waiters(loop->parts.engine, by_ms);
    }
    if (loop->record != NULL) {
        qn_record_advance(loop, from_ms, from_ms + by_ms, keeps_polls);
    }
    if (by_ms > 0) {
        qn_keep_clock(loop, from_ms, from_ms + by_ms);
    }
    call->due_ms = from_ms + by_ms;
    qn_call_wait(call, &loop->advance.calls);
}

static void set_rate(struct qn_call *call, const json_t *rate)
{
    double value = json_number_value(rate);

    if (!json_is_number(rate) || value < 0 || value > 1000) {
        qn_control_fail(call, 400, "rate must be a number from 0 to 1000");
        return;
    }
    qn_clock_set_rate(call->loop->parts.clock, value);
    if (call->loop->record != NULL) {
        qn_record_rate(call->loop, value);
    }
    if (call->loop->parts.legacy != NULL) {
        call->loop->parts.legacy->rate = value;
    }
    qn_control_answer(call, 200, document(call->loop));
}

static void move(struct qn_call *call, const json_t *body)
{
    const json_t *by = json_object_get(body, "advance_ms");
    const json_t *rate = json_object_get(body, "rate");
    const json_t *keep_polls = json_object_get(body, "keep_polls");

    if (!qn_clock_is_virtual(call->loop->parts.clock)) {
        qn_control_fail(call, 400,
                        "the clock is real and cannot be moved: start with --clock virtual");
    } else if ((by != NULL) == (rate != NULL)) {
        qn_control_fail(call, 400, "say either {\"advance_ms\": N} or {\"rate\": R}");
    } else if (rate != NULL) {
        set_rate(call, rate);
    } else if (!json_is_integer(by) || json_integer_value(by) < 0) {
        qn_control_fail(call, 400, "advance_ms must be an integer of at least 0");
    } else if (keep_polls != NULL && !json_is_boolean(keep_polls)) {
        qn_control_fail(call, 400, "keep_polls must be true or false");
    } else {
        advance(call, json_integer_value(by), json_is_true(keep_polls));
    }
}

void qn_control_move_clock(struct qn_call *call, struct qn_str rest)
{
    static const char *const members[] = {"advance_ms", "rate", "keep_polls", NULL};
    json_t *body = qn_control_body(call, members);

    (void)rest;
    if (body != NULL) {
        move(call, body);
        json_decref(body);
    }
}
