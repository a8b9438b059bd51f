/* The ledger of the effect sink. */
#include "chaos/check/effects_run.h"

#include <stdio.h>

struct qn_effects *qn_effects_new(const struct qn_effects_options *options)
{
    struct qn_effects *effects = qn_memory_new(sizeof(*effects));

    effects->options = *options;
    qn_table_init(&effects->by_key, sizeof(struct qn_ledger_entry));
    qn_table_init(&effects->applied, 1);
    qn_table_init(&effects->attempts, sizeof(int64_t));
    return effects;
}

void qn_effects_free(struct qn_effects *effects)
{
    if (effects == NULL) {
        return;
    }
    for (struct qn_run *run = effects->runs; run != NULL;) {
        struct qn_run *next = run->next;
        qn_run_free(run);
        run = next;
    }
    qn_table_done(&effects->by_key);
    qn_table_done(&effects->applied);
    qn_table_done(&effects->attempts);
    qn_memory_free(effects);
}

static struct qn_effect_verdict ask_rules(struct qn_effects *effects, const struct qn_run *run,
                                          enum qn_check_kind kind)
{
    struct qn_effect_verdict verdict = {.fate = QN_EFFECT_GO_ON};

    for (size_t i = 0; effects->options.at_event != NULL && i < run->call.item_count; i++) {
        struct qn_check_detail detail;
        struct qn_check_event event = qn_run_event(run, kind, i, &detail);
        struct qn_effect_verdict one = effects->options.at_event(effects->options.state, &event);
        if (one.fate != QN_EFFECT_GO_ON || one.delay_ms > 0) {
            verdict = one;
        }
    }
    return verdict;
}

static void hang(struct qn_effects *effects, struct qn_run *run)
{
    effects->hung_count += run->state != RUN_HUNG;
    run->state = RUN_HUNG;
}

/* Ends the call and forgets the run. */
static void end_call(struct qn_effects *effects, struct qn_run *run,
                     const struct qn_effect_answer *answer)
{
    static const char *const reasons[] = {NULL, "reset", "closed"};

    qn_run_unlink(effects, run);
    qn_run_record(effects, run, QN_CHECK_WORK_REPLY, reasons[answer->end], answer->replayed,
                  answer->end == QN_EFFECT_ANSWERED ? answer->status : 0);
    effects->options.answer(effects->options.state, run->owner, answer);
    qn_run_free(run);
}

/* Answers as a rule wants it, or as it would. */
static void finish(struct qn_effects *effects, struct qn_run *run, int status, bool replayed,
                   const char *text)
{
    struct qn_effect_answer answer = {
        .status = status, .replayed = replayed, .text = qn_str_from_cstr(text)};

    if (run->fate.fate == QN_EFFECT_HUNG) {
        hang(effects, run);
        return;
    }
    if (run->fate.fate == QN_EFFECT_STATUS) {
        answer = (struct qn_effect_answer){.status = run->fate.status,
                                           .text = QN_STR("{\"error\":\"a fault\"}")};
    } else if (run->fate.fate == QN_EFFECT_BREAK) {
        answer.end = run->fate.end;
    }
    end_call(effects, run, &answer);
}

/* Nothing is left to do but to say so. */
static bool is_settled(const struct qn_run *run)
{
    return run->is_committed || run->is_rejected;
}

static void finish_settled(struct qn_effects *effects, struct qn_run *run)
{
    finish(effects, run, 200, run->is_replayed,
           run->is_committed ? "{\"applied\":true}" : "{\"rejected\":true}");
}

/* Finishes it now, or when the rules want it. */
static void settle(struct qn_effects *effects, struct qn_run *run,
                   const struct qn_effect_verdict *verdict, int64_t now_ms)
{
    if (verdict->fate != QN_EFFECT_GO_ON && verdict->fate != QN_EFFECT_HELD) {
        run->fate = *verdict;
    }
    if (verdict->delay_ms > 0) {
        run->state = RUN_DELAYED;
        run->due_ms = now_ms + verdict->delay_ms;
    } else if (verdict->fate == QN_EFFECT_HELD) {
        run->state = RUN_HELD;
    } else {
        finish_settled(effects, run);
    }
}

static void commit(struct qn_effects *effects, struct qn_run *run, struct qn_ledger_entry *entry,
                   int64_t now_ms)
{
    bool replayed = entry != NULL && entry->is_applied;

    for (size_t i = 0; i < run->call.item_count; i++) {
        (void)qn_table_at(&effects->applied, run->call.items[i].k);
    }
    if (entry != NULL) {
        (void)qn_table_at(&effects->applied, run->call.ik);
        entry->is_applied = true;
        entry->payload = run->call.items[0].payload;
        entry->open = NULL;
    }
    run->is_committed = true;
    run->is_replayed = replayed;
    qn_run_record(effects, run, QN_CHECK_WORK_COMMIT, NULL, replayed, 0);
    struct qn_effect_verdict verdict = ask_rules(effects, run, QN_CHECK_WORK_COMMIT);
    settle(effects, run, &verdict, now_ms);
}

/* The work ends without an effect, and its key is free. */
static void give_up(struct qn_effects *effects, struct qn_run *run, const char *reason)
{
    struct qn_ledger_entry *entry = qn_run_entry(effects, &run->call);

    if (entry != NULL && entry->open == run) {
        entry->open = NULL;
    }
    if (!is_settled(run)) {
        qn_run_record(effects, run, QN_CHECK_WORK_ABORT, reason, false, 0);
    }
}

static void end_without_effect(struct qn_effects *effects, struct qn_run *run, const char *reason,
                               int status, const char *text)
{
    give_up(effects, run, reason);
    finish(effects, run, status, false, text);
}

/* Without an answer that anybody reads. */
static void leave(struct qn_effects *effects, struct qn_run *run, const char *reason)
{
    run->fate = (struct qn_effect_verdict){.fate = QN_EFFECT_GO_ON};
    end_without_effect(effects, run, reason, 503, "{\"error\":\"aborted\"}");
}

/* Nothing can come of the work: that is recorded, as POST /v1/rejects would, unless a rule keeps it
 * from being so. */
static void reject(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    give_up(effects, run, "permanent");
    struct qn_effect_verdict verdict = ask_rules(effects, run, QN_CHECK_REJECT);
    bool is_stored = verdict.fate == QN_EFFECT_GO_ON || verdict.fate == QN_EFFECT_HELD;

    run->is_rejected = true;
    if (is_stored || verdict.commits) {
        struct qn_check_detail detail;
        struct qn_check_event event = qn_run_event(run, QN_CHECK_REJECT, 0, &detail);
        detail.reason = QN_STR("permanent");
        event.run = event.attempt = QN_EVENT_NO_INT; /* it is no part of the work */
        event.status = 200;
        qn_record(effects->options.recorder, &event);
    }
    settle(effects, run, &verdict, now_ms);
}

/* The work is over: what the script says happens. */
static void complete(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    if (qn_str_equal(run->outcome, QN_STR("transient"))) {
        end_without_effect(effects, run, "transient", 503, "{\"error\":\"try again\"}");
    } else if (qn_str_equal(run->outcome, QN_STR("permanent")) && run->call.rejects) {
        reject(effects, run, now_ms);
    } else if (qn_str_equal(run->outcome, QN_STR("permanent"))) {
        end_without_effect(effects, run, "permanent", 422, "{\"error\":\"never\"}");
    } else {
        commit(effects, run, qn_run_entry(effects, &run->call), now_ms);
    }
}

/* How long it takes and what comes of it, by its longest and its last unit. */
static int64_t read_script(struct qn_effects *effects, struct qn_run *run)
{
    int64_t work_ms = 0;

    for (size_t i = 0; i < run->call.item_count && effects->options.script != NULL; i++) {
        const struct qn_effect_script *script =
            effects->options.script(effects->options.state, run->call.items[i].k, run->attempt);
        if (script == NULL) {
            continue;
        }
        work_ms = script->work_ms > work_ms ? script->work_ms : work_ms;
        if (script->outcome_count > 0) {
            size_t last = script->outcome_count - 1;
            size_t index = run->attempt > (int64_t)last ? last : (size_t)run->attempt - 1;
            run->outcome = script->outcomes[index];
        }
    }
    return work_ms;
}

/* True: the key is somebody else's, or done, and the run was answered or waits. */
static bool meets_key(struct qn_effects *effects, struct qn_run *run, struct qn_ledger_entry *entry,
                      int64_t now_ms)
{
    if (entry == NULL || (!entry->is_applied && entry->open == NULL)) {
        return false;
    }
    if (entry->payload != run->call.items[0].payload) {
        end_without_effect(effects, run, "key used with another payload", 422,
                           "{\"error\":\"the key was used with another payload\"}");
    } else if (entry->is_applied) {
        commit(effects, run, entry, now_ms);
    } else if (effects->options.busy_is_409) {
        end_without_effect(effects, run, "busy", 409, "{\"error\":\"busy\"}");
    } else {
        run->state = RUN_WAITING;
    }
    return true;
}

/* Begins to work, waits for the run that has the key, or is answered at once. */
static void start(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    struct qn_ledger_entry *entry = qn_run_entry(effects, &run->call);

    if (effects->is_gate_closed) {
        run->state = RUN_GATED;
        return;
    }
    if (meets_key(effects, run, entry, now_ms)) {
        return;
    }
    if (entry != NULL) {
        entry->open = run;
        entry->payload = run->call.items[0].payload;
    }
    int64_t work_ms = read_script(effects, run);
    if (qn_str_equal(run->outcome, QN_STR("hang"))) {
        hang(effects, run);
        return;
    }
    run->state = RUN_WORKING;
    run->due_ms = now_ms + work_ms;
    if (work_ms == 0) {
        complete(effects, run, now_ms);
    }
}

/* Behind what a rule made it wait for. */
static void go_on(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    if (is_settled(run)) {
        finish_settled(effects, run);
    } else if (run->is_refused && run->fate.fate == QN_EFFECT_HUNG) {
        hang(effects, run);
    } else if (run->is_refused) {
        end_without_effect(effects, run, "fault", 503, "{\"error\":\"a fault\"}");
    } else {
        start(effects, run, now_ms);
    }
}

void qn_effects_begin(struct qn_effects *effects, const struct qn_effect_call *call, int64_t now_ms,
                      void *owner)
{
    struct qn_run *run = qn_run_new(effects, call, owner);

    run->begun_ms = now_ms;
    qn_run_record(effects, run, QN_CHECK_WORK_BEGIN, NULL, false, 0);
    if (effects->options.capacity > 0 && effects->open_count > (size_t)effects->options.capacity) {
        end_without_effect(effects, run, "over capacity", 429, "{\"error\":\"over capacity\"}");
        return;
    }
    struct qn_effect_verdict verdict = ask_rules(effects, run, QN_CHECK_WORK_BEGIN);
    bool is_told = verdict.fate != QN_EFFECT_GO_ON && verdict.fate != QN_EFFECT_HELD;
    if (is_told) {
        run->fate = verdict;
        run->is_refused = !verdict.commits;
    }
    if (verdict.delay_ms > 0) {
        run->state = RUN_DELAYED;
        run->due_ms = now_ms + verdict.delay_ms;
    } else if (verdict.fate == QN_EFFECT_HELD) {
        run->state = RUN_HELD;
    } else {
        go_on(effects, run, now_ms);
    }
}

/* A waiting run goes on when nobody has its key open any more. */
static bool is_free(struct qn_effects *effects, const struct qn_run *run)
{
    const struct qn_ledger_entry *entry = qn_run_entry(effects, &run->call);

    return entry == NULL || entry->open == NULL;
}

/* A client that hung up: it was killed, or waits no longer. The work goes on, as it would in a
 * database. */
static void look_for_client(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    char after[48];

    if (run->is_left || effects->options.is_there == NULL ||
        effects->options.is_there(effects->options.state, run->owner)) {
        return;
    }
    run->is_left = true;
    (void)snprintf(after, sizeof(after), "after %.1f s", (double)(now_ms - run->begun_ms) / 1000);
    qn_run_record(effects, run, QN_CHECK_WORK_LEFT, after, false, 0);
}

/* True: something was done, and others may go on. */
static bool run_one(struct qn_effects *effects, struct qn_run *run, int64_t now_ms)
{
    bool is_due = run->due_ms <= now_ms;

    if (run->state == RUN_WORKING && is_due) {
        complete(effects, run, now_ms);
    } else if (run->state == RUN_DELAYED && is_due) {
        go_on(effects, run, now_ms);
    } else if ((run->state == RUN_WAITING && is_free(effects, run)) ||
               (run->state == RUN_GATED && !effects->is_gate_closed)) {
        start(effects, run, now_ms);
    } else if (run->state == RUN_HUNG && run->is_left) {
        leave(effects, run, "the client hung up");
    } else {
        return false;
    }
    return true;
}

void qn_effects_run(struct qn_effects *effects, int64_t now_ms)
{
    struct qn_run *run = effects->runs;

    for (struct qn_run *one = run; one != NULL; one = one->next) {
        look_for_client(effects, one, now_ms);
    }
    /* Completing one run frees it and may let others go on: begin anew after each. */
    while (run != NULL) {
        run = run_one(effects, run, now_ms) ? effects->runs : run->next;
    }
}

int64_t qn_effects_next_ms(const struct qn_effects *effects)
{
    int64_t next = INT64_MAX;

    for (const struct qn_run *run = effects->runs; run != NULL; run = run->next) {
        if ((run->state == RUN_WORKING || run->state == RUN_DELAYED) && run->due_ms < next) {
            next = run->due_ms;
        }
    }
    return next;
}

size_t qn_effects_open_count(const struct qn_effects *effects)
{
    return effects->open_count - effects->hung_count;
}

bool qn_effects_release(struct qn_effects *effects, int64_t number, int64_t now_ms)
{
    for (struct qn_run *run = effects->runs; run != NULL; run = run->next) {
        if (run->number == number && run->state == RUN_HELD) {
            go_on(effects, run, now_ms);
            return true;
        }
    }
    return false;
}

void qn_effects_set_gate(struct qn_effects *effects, bool is_open)
{
    effects->is_gate_closed = !is_open;
}

void qn_effects_set_capacity(struct qn_effects *effects, int64_t capacity)
{
    effects->options.capacity = capacity;
}

void qn_effects_finish(struct qn_effects *effects, int64_t now_ms)
{
    for (struct qn_run *run = effects->runs; run != NULL; run = run->next) {
        if (run->state == RUN_WORKING && run->due_ms > now_ms) {
            run->due_ms = now_ms;
        }
    }
}

static bool belongs_to(const struct qn_run *run, struct qn_str instance)
{
    return qn_str_is_none(run->call.instance) || qn_str_equal(run->call.instance, instance);
}

void qn_effects_abort(struct qn_effects *effects, struct qn_str instance, const char *reason)
{
    for (struct qn_run *run = effects->runs; run != NULL;) {
        struct qn_run *next = run->next;
        if (belongs_to(run, instance)) {
            leave(effects, run, reason);
        }
        run = next;
    }
}

void qn_effects_close_all(struct qn_effects *effects)
{
    while (effects->runs != NULL) {
        leave(effects, effects->runs, "closed");
    }
}

bool qn_effects_is_applied(const struct qn_effects *effects, struct qn_str key)
{
    return qn_table_find(&effects->applied, key) != NULL;
}
