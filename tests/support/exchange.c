/* One HTTP exchange in process. */
#include "tests/support/exchange.h"

#include <stdlib.h>

#include "server/wire/wire.h"

enum { REQUEST_MAX = 1 << 26 };

/* Copies of their own length: what reads beyond one is seen. */
static void take_head(struct fixture *f, const struct qn_http_request *http)
{
    const struct qn_str *from = (const struct qn_str *)(const void *)http;
    struct qn_str *to = (struct qn_str *)(void *)&f->request.http;

    _Static_assert(sizeof(*http) % sizeof(*from) == 0, "a request is texts and nothing else");
    for (size_t i = 0; i < sizeof(*http) / sizeof(*from); i++) {
        to[i] = qn_str_is_none(from[i]) ? from[i] : qn_arena_copy(&f->request.arena, from[i]);
    }
}

static void begin_request(struct fixture *f, const struct qn_http_request *http)
{
    struct qn_arena arena = f->request.arena;

    qn_arena_reset(&arena);
    f->request = (struct qn_request){.arena = arena};
    memcpy(f->request.request_id, "00000000-0000-4000-8000-000000000000", 37);
    f->request.caller.url_base = f->caller.url_base;
    take_head(f, http);
}

static void park(struct fixture *f, const struct qn_park *park)
{
    struct fixture_poll *poll = qn_memory_new(sizeof(*poll));

    poll->request = f->request; /* and its arena */
    f->request = (struct qn_request){.sequence = 0};
    qn_arena_init(&f->request.arena, REQUEST_MAX);
    poll->next = f->polls;
    f->polls = poll;
    qn_engine_park(f->engine, &poll->waiter, park->queue, park->deadline_ms);
}

/* A waiting poll is asked again for the fixture's caller, so nobody else's is parked. */
static bool may_wait(const struct fixture *f)
{
    return qn_str_equal(f->request.caller.account, f->caller.account) &&
           qn_str_equal(f->request.caller.region, f->caller.region);
}

static bool run(struct fixture *f, bool wait_is_over, struct qn_buf *answer, struct exchange *ret)
{
    const struct qn_action *action = f->request.action;
    struct qn_random random;
    struct qn_buf entry;
    struct qn_tx tx;

    fixture_begin(f, &tx, &f->request.arena, &random, &entry);
    tx.caller = &f->request.caller;
    tx.wait_is_over = wait_is_over;
    f->request.output = qn_arena_alloc(&f->request.arena, action->output->size);
    bool ok = action->check(&tx, f->request.input, &f->err);
    if (ok && action->look != NULL) {
        struct qn_facts facts = {.arena = &f->request.arena};
        action->look(&tx, f->request.input, &facts);
    }
    ok = ok && action->execute(&tx, f->request.input, f->request.output, &f->err);
    ret->has_changed = ret->has_changed || entry.len > 0;
    if (ok && tx.park.queue == NULL) {
        qn_wire_encode_output(&f->request, answer); /* before the engine is called again */
    }
    fixture_commit(f, &entry);
    if (!ok || tx.park.queue == NULL) {
        return ok;
    }
    if (tx.park.deadline_ms > f->now_ms && may_wait(f)) {
        ret->is_parked = true;
        park(f, &tx.park);
        return true;
    }
    return run(f, tx.park.deadline_ms > f->now_ms, answer, ret);
}

struct exchange exchange(struct fixture *f, const struct qn_http_request *http,
                         struct qn_buf *ret_answer)
{
    const struct qn_wire_defaults defaults = {f->options.account, f->options.region};
    struct exchange ret = {.code = QN_ERR_NONE};

    fixture_settle(f);
    begin_request(f, http);
    bool ok = qn_wire_decode(&f->request, &defaults, &f->err);
    ret.protocol = f->request.protocol;
    ret.action = f->request.action;
    ok = ok && run(f, false, ret_answer, &ret);
    if (!ok) {
        ret.code = f->err.code;
        qn_wire_encode_error(&f->request, &f->err, ret_answer);
    }
    fixture_serve_waiters(f);
    return ret;
}
