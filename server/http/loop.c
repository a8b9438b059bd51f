/* The way of an SQS call, and the four points at which chaos is asked. Every step either goes on to
 * the next, or stops the call until something lets it go on from there. */
#include "server/http/execute.h"

#include "server/base/log.h"

static const struct qn_verdict pass = {.kind = QN_VERDICT_PASS};

/* What else rules want done is done before the call goes on; but a call that is to be held is held
 * first, since what stands behind lets it go. True: something was done. */
static bool do_effects(struct qn_loop *loop, const struct qn_verdict *verdict)
{
    bool any = false;

    while (verdict->kind != QN_VERDICT_HOLD && qn_effect_run_next(loop)) {
        any = true;
    }
    return any;
}

static void heed_reply(struct qn_call *call, const struct qn_verdict *verdict)
{
    struct qn_loop *loop = call->loop;

    if (verdict->kind == QN_VERDICT_ERROR) {
        qn_fault_answer(call, verdict);
    } else if (!qn_str_is_none(verdict->rule)) {
        if (!qn_damage_cuts(call, verdict) && qn_fault_stops(call, verdict, QN_STAGE_REPLYING)) {
            return;
        }
        (void)qn_damage_note(call, verdict);
    }
    qn_keep_api_out(call);
    qn_log(QN_LOG_DEBUG, "http", "answered request=%s action=%s queue=%.*s status=%d seed=%llu",
           call->request.request_id,
           call->request.action == NULL ? "-" : call->request.action->name, QN_STR_ARG(call->queue),
           call->status, (unsigned long long)loop->options.seed);
    qn_call_respond(call);
}

static void ask_reply(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;
    const struct qn_facts *facts = qn_facts_after(call);
    struct qn_verdict verdict = qn_chaos_at(loop->parts.plan, QN_POINT_REPLY, facts, &loop->events);

    qn_loop_keep(loop);
    qn_damage_note_effects(call, &verdict);
    heed_reply(call, &verdict);
}

/* REPLY: what leaves. */
static void reply(struct qn_call *call)
{
    if (qn_facts_matter(call, QN_POINT_REPLY)) {
        ask_reply(call);
    } else {
        heed_reply(call, &pass);
    }
}

static void heed_committed(struct qn_call *call, const struct qn_verdict *verdict)
{
    if (verdict->kind == QN_VERDICT_ERROR) {
        qn_fault_answer(call, verdict);
    } else if (!qn_str_is_none(verdict->rule)) {
        if (qn_fault_stops(call, verdict, QN_STAGE_COMMITTED)) {
            return;
        }
        (void)qn_damage_note(call, verdict);
    }
    reply(call);
}

static void ask_committed(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;
    const struct qn_facts *facts = qn_facts_after(call);
    struct qn_verdict verdict =
        qn_chaos_at(loop->parts.plan, QN_POINT_POST_COMMIT, facts, &loop->events);

    qn_loop_keep(loop);
    if (!do_effects(loop, &verdict) || !qn_advance_holds(call, QN_STAGE_COMMITTED, &verdict)) {
        heed_committed(call, &verdict);
    }
}

/* POST_COMMIT: everything the answer tells of is kept as firmly as it was promised. */
static void committed(struct qn_call *call)
{
    if (qn_facts_matter(call, QN_POINT_POST_COMMIT)) {
        ask_committed(call);
    } else {
        heed_committed(call, &pass);
    }
}

/* The answer stands in call->answer. It must not tell of what could still be lost. */
static void finish(struct qn_call *call)
{
    qn_call_unpark(call);
    if (call->loop->has_rules) {
        /* What its execution set off comes before it is answered, also when it need not wait. */
        (void)do_effects(call->loop, &pass);
    }
    if (!qn_room_waits_for_sync(call)) {
        committed(call);
    }
}

static void fail(struct qn_call *call, const struct qn_error *err)
{
    qn_call_set_error(call, err, 0);
    finish(call);
}

/* PRE_COMMIT, and facts for the points behind it. True: something was done, so what was found out
 * about the call may be true no longer. */
static bool ask_pre_commit(struct qn_call *call, struct qn_tx *tx, struct qn_verdict *verdict)
{
    struct qn_loop *loop = call->loop;
    struct qn_facts facts;

    if (!qn_facts_gather(call, tx, QN_POINT_PRE_COMMIT, QN_POINT_REPLY, &facts)) {
        return false;
    }
    /* A poll that goes on waiting changes nothing. */
    if (facts.message_count == 0 && facts.wait_s > 0 && !tx->wait_is_over &&
        call->request.action->id == QN_ACTION_receive_message) {
        return false;
    }
    qn_facts_remember(call, &facts);
    if (!qn_facts_matter(call, QN_POINT_PRE_COMMIT)) {
        return false;
    }
    *verdict = qn_chaos_at(loop->parts.plan, QN_POINT_PRE_COMMIT, &facts, &loop->events);
    qn_loop_keep(loop); /* a crash must not take the event with it */
    return do_effects(loop, verdict);
}

/* What PRE_COMMIT said, or what comes behind its delay. False: the call stops here. */
static bool heed_pre_commit(struct qn_call *call, struct qn_verdict *verdict)
{
    if (verdict->kind == QN_VERDICT_ERROR) {
        qn_fault_answer(call, verdict);
        finish(call);
        return false;
    }
    if (qn_str_is_none(verdict->rule)) {
        return true;
    }
    if (qn_fault_stops(call, verdict, QN_STAGE_CHECKED)) {
        return false;
    }
    if (qn_damage_note(call, verdict)) {
        verdict->kind = QN_VERDICT_PASS; /* for the action */
    }
    return true;
}

static void begin_transaction(struct qn_call *call, struct qn_tx *tx)
{
    qn_tx_init(call->loop, tx, &call->request.arena, &call->random);
    tx->caller = &call->request.caller;
    tx->request_id = qn_str(call->request.request_id, 36);
    tx->connection = call->client->number;
    tx->address = &call->request.address;
    tx->wait_is_over = call->wait_is_over || call->loop->is_stopping ||
                       (call->deadline_ms >= 0 && tx->now_ms >= call->deadline_ms);
}

/* All checks. False: the call waits, or was answered. */
static bool is_ready(struct qn_call *call, struct qn_tx *tx, bool asks)
{
    struct qn_error err;

    begin_transaction(call, tx);
    if (qn_room_waits_for_ring(call, asks)) {
        return false;
    }
    if (qn_room_refuses(call, &err)) {
        fail(call, &err);
        return false;
    }
    if (!call->request.action->check(tx, call->request.input, &err)) {
        qn_loop_keep(call->loop);
        fail(call, &err);
        return false;
    }
    return !qn_room_waits_for_settling(call, tx, asks);
}

static void conclude(struct qn_call *call, struct qn_tx *tx, bool ok, const struct qn_error *err)
{
    if (!ok) {
        fail(call, err);
    } else if (tx->park.queue != NULL) {
        qn_call_park(call, &tx->park);
    } else {
        finish(call);
    }
}

/* A receive for which another one waits brings that one along: it is executed before this one, and
 * both are answered at the same moment. */
static void execute_both(struct qn_call *first, struct qn_call *call, struct qn_tx *tx,
                         const struct qn_verdict *verdict)
{
    struct qn_tx first_tx;
    struct qn_error first_err, err;
    bool is_along = is_ready(first, &first_tx, false);
    bool is_first_ok = is_along && qn_execute(first, &first_tx, &pass, &first_err);

    if (is_first_ok && first_tx.park.queue == NULL) {
        qn_pair_share(first, tx);
    }
    first->pair = NULL;
    bool ok = qn_execute(call, tx, verdict, &err);
    if (is_along) {
        conclude(first, &first_tx, is_first_ok, &first_err);
    }
    conclude(call, tx, ok, &err);
}

static void execute(struct qn_call *call, struct qn_tx *tx, const struct qn_verdict *verdict)
{
    struct qn_call *first = qn_loop_has_rules(call->loop) ? qn_pair_take(call, verdict) : NULL;
    struct qn_error err;

    if (first != NULL) {
        execute_both(first, call, tx, verdict);
    } else {
        conclude(call, tx, qn_execute(call, tx, verdict, &err), &err);
    }
}

/* Goes on behind PRE_COMMIT. */
static void resume(struct qn_call *call)
{
    struct qn_verdict verdict;
    struct qn_tx tx;

    call->pair = NULL; /* it waited long enough */
    if (is_ready(call, &tx, false)) {
        verdict = qn_fault_take_next(call);
        if (heed_pre_commit(call, &verdict)) {
            execute(call, &tx, &verdict);
        }
    }
}

static void execute_asked(struct qn_call *call, struct qn_tx *tx)
{
    struct qn_verdict verdict = pass;
    bool is_outdated = ask_pre_commit(call, tx, &verdict);

    if (is_outdated && qn_advance_holds(call, QN_STAGE_CHECKED, &verdict)) {
        return;
    }
    if (!heed_pre_commit(call, &verdict)) {
        return;
    }
    if (is_outdated) {
        call->then = qn_fault_of_entries(call, &verdict);
        resume(call);
    } else {
        execute(call, tx, &verdict);
    }
}

/* Checks and executes; also a poll that was woken. */
static void check(struct qn_call *call)
{
    struct qn_tx tx;

    if (!is_ready(call, &tx, true)) {
        return;
    }
    if (qn_loop_has_rules(call->loop)) {
        execute_asked(call, &tx);
    } else {
        execute(call, &tx, &pass);
    }
}

static void heed_arrived(struct qn_call *call, const struct qn_verdict *verdict)
{
    if (verdict->kind == QN_VERDICT_ERROR) {
        qn_fault_answer(call, verdict);
        finish(call);
        return;
    }
    if (!qn_str_is_none(verdict->rule)) {
        if (qn_fault_stops(call, verdict, QN_STAGE_ARRIVED)) {
            return;
        }
        if (!qn_damage_note(call, verdict)) {
            call->verdict = qn_fault_of_entries(call, verdict);
        }
    }
    check(call);
}

static void ask_arrived(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;
    struct qn_verdict verdict = pass;
    struct qn_facts facts;
    struct qn_tx tx;

    begin_transaction(call, &tx);
    if (qn_facts_gather(call, &tx, QN_POINT_ARRIVE, QN_POINT_ARRIVE, &facts)) {
        verdict = qn_chaos_at(loop->parts.plan, QN_POINT_ARRIVE, &facts, &loop->events);
        qn_loop_keep(loop);
        if (do_effects(loop, &verdict) && qn_advance_holds(call, QN_STAGE_ARRIVED, &verdict)) {
            return;
        }
    }
    heed_arrived(call, &verdict);
}

/* ARRIVE: decoded, nothing looked at. */
static void arrived(struct qn_call *call)
{
    if (qn_facts_matter(call, QN_POINT_ARRIVE)) {
        ask_arrived(call);
    } else {
        heed_arrived(call, &pass);
    }
}

void qn_loop_go_on(struct qn_call *call)
{
    struct qn_verdict next = pass;

    call->state = QN_CALL_RUNNING;
    if (call->stage != QN_STAGE_CHECKED) {
        next = qn_fault_take_next(call);
    }
    switch (call->stage) {
    case QN_STAGE_ARRIVED:
        heed_arrived(call, &next);
        break;
    case QN_STAGE_CHECKED:
        resume(call);
        break;
    case QN_STAGE_COMMITTED:
        heed_committed(call, &next);
        break;
    case QN_STAGE_REPLYING:
        heed_reply(call, &next);
        break;
    }
}

static void name_request(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;
    uint8_t id[16];

    call->request.sequence = ++loop->sequence;
    /* In the order of what they ask: when they are accepted, and what is none of SQS, says nothing.
     */
    if (call->client->number == 0) {
        call->client->number = ++loop->client_count;
    }
    qn_random_init(&call->random, loop->options.seed, loop->options.boot, call->request.sequence);
    qn_random_uuid(&call->random, id);
    qn_random_format_uuid(id, call->request.request_id);
}

void qn_loop_refuse(struct qn_call *call, enum qn_error_code code, const char *message)
{
    struct qn_error err;

    qn_fail(&err, code, "%s", message);
    call->request.protocol = qn_wire_protocol(&call->request.http);
    qn_keep_api_in(call);
    qn_call_set_error(call, &err, 0);
    reply(call);
}

static void begin_sqs(struct qn_call *call)
{
    struct qn_error err;

    name_request(call);
    if (qn_head_refuses(call)) {
        return;
    }
    if (!qn_wire_decode(&call->request, &call->loop->defaults, &err)) {
        qn_keep_api_in(call);
        qn_call_set_error(call, &err, 0);
        reply(call);
        return;
    }
    call->is_decoded = true;
    qn_facts_name_queue(call);
    qn_keep_api_in(call);
    arrived(call);
    qn_loop_serve_waiters(call->loop);
}

void qn_loop_begin(struct qn_call *call)
{
    struct qn_loop *loop = call->loop;

    call->state = QN_CALL_RUNNING;
    call->has_begun = true;
    loop->calls_begun++;
    if (loop->has_rules) {
        qn_plan_request_begins(loop->parts.plan);
        qn_pass_catch_up(loop);
    }
    if (qn_control_owns(call->request.http.path)) {
        qn_control_call(call);
    } else {
        if (!loop->sqs_has_begun) {
            loop->sqs_has_begun = true;
            qn_plan_sqs_begins(loop->parts.plan, loop->now_ms);
        }
        begin_sqs(call);
    }
    qn_pass_catch_up(loop);
}

static void run_waiter(struct qn_loop *loop, struct qn_waiter *waiter)
{
    struct qn_call *call = QN_CONTAINER(waiter, struct qn_call, waiter);
    struct qn_error err;

    if (qn_client_is_gone(call->client)) {
        qn_client_gone(call->client);
        return;
    }
    if (waiter->queue_is_gone) {
        qn_fail(&err, QN_ERR_QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.");
        fail(call, &err);
        return;
    }
    call->wait_is_over = waiter->is_over;
    check(call);
    if (call->list == &loop->parked) {
        qn_engine_waiter_stays(loop->parts.engine, waiter);
    }
}

void qn_loop_serve_waiters(struct qn_loop *loop)
{
    struct qn_waiter *waiter;

    while ((waiter = qn_engine_next_waiter(loop->parts.engine)) != NULL) {
        run_waiter(loop, waiter);
    }
}

void qn_loop_end_wait(struct qn_call *call)
{
    qn_call_unpark(call);
    call->wait_is_over = true;
    check(call);
    qn_loop_serve_waiters(call->loop);
}

void qn_loop_synced(struct qn_loop *loop)
{
    struct qn_call *call;

    loop->synced_lsn = qn_journal_synced_lsn(loop->parts.journal);
    while ((call = loop->syncing.first) != NULL && call->lsn <= loop->synced_lsn) {
        qn_call_leave(call);
        call->state = QN_CALL_RUNNING;
        if (call->request.request_id[0] == '\0') {
            qn_call_respond(call); /* of the control API */
        } else {
            committed(call);
            qn_loop_serve_waiters(loop);
        }
    }
}
