/* The ledger of the effect sink. */
#include "chaos/check/effects.h"

enum { ITEMS_MAX = 100 };

enum run_state {
    RUN_WORKING, /* until due_ms */
    RUN_WAITING, /* for the run that has its idempotency key open */
    RUN_HELD     /* by a rule, done but for the answer */
};

struct run {
    struct run *next;
    enum run_state state;
    int64_t number;
    int64_t due_ms;
    int64_t attempt;
    void *owner;
    struct qn_arena arena; /* of the texts below */
    struct qn_effect_call call;
    struct qn_effect_item *items;
    struct qn_str outcome;
    bool is_committed;
};

/* An idempotency key that was applied, or that a run has open. */
struct ledger_entry {
    uint64_t payload;
    bool is_applied;
    const struct run *open;
};

struct qn_effects {
    struct qn_effects_options options;
    struct run *runs; /* oldest first */
    size_t open_count;
    int64_t last_number;
    struct qn_table by_key;   /* struct ledger_entry, by step and idempotency key */
    struct qn_table applied;  /* by business key and by idempotency key: present when applied */
    struct qn_table attempts; /* int64_t per business key */
};

struct qn_effects *qn_effects_new(const struct qn_effects_options *options)
{
    struct qn_effects *effects = qn_memory_new(sizeof(*effects));

    effects->options = *options;
    qn_table_init(&effects->by_key, sizeof(struct ledger_entry));
    qn_table_init(&effects->applied, 1);
    qn_table_init(&effects->attempts, sizeof(int64_t));
    return effects;
}

static void free_run(struct run *run)
{
    qn_arena_done(&run->arena);
    qn_memory_free(run);
}

void qn_effects_free(struct qn_effects *effects)
{
    if (effects == NULL) {
        return;
    }
    for (struct run *run = effects->runs; run != NULL;) {
        struct run *next = run->next;
        free_run(run);
        run = next;
    }
    qn_table_done(&effects->by_key);
    qn_table_done(&effects->applied);
    qn_table_done(&effects->attempts);
    qn_memory_free(effects);
}

/* NULL without an idempotency key: then every call is an application of its own. */
static struct ledger_entry *entry_of(struct qn_effects *effects, const struct qn_effect_call *call)
{
    struct qn_buf name;

    if (qn_str_is_none(call->ik)) {
        return NULL;
    }
    qn_buf_init(&name, SIZE_MAX / 2);
    qn_buf_append_str(&name, call->step);
    qn_buf_append_char(&name, '\0');
    qn_buf_append_str(&name, call->ik);
    struct ledger_entry *entry = qn_table_at(&effects->by_key, qn_buf_str(&name));
    qn_buf_done(&name);
    return entry;
}

static struct qn_check_event event_of(const struct run *run, enum qn_check_kind kind, size_t item)
{
    struct qn_check_event event;

    qn_check_event_init(&event, kind);
    event.k = run->call.items[item].k;
    event.ik = run->call.ik;
    event.step = run->call.step;
    event.mid = run->call.mid;
    event.n = run->call.n;
    event.instance = run->call.instance;
    event.run = run->number;
    event.attempt = run->attempt;
    return event;
}

static void record_all(struct qn_effects *effects, const struct run *run, enum qn_check_kind kind,
                       const char *reason, bool replayed, int status)
{
    size_t count = kind == QN_CHECK_WORK_REPLY ? 1 : run->call.item_count;

    for (size_t i = 0; i < count; i++) {
        struct qn_check_event event = event_of(run, kind, i);
        event.reason = qn_str_from_cstr(reason);
        event.replayed = replayed;
        event.status = status != 0 ? status : QN_EVENT_NO_INT;
        qn_record(effects->options.recorder, &event);
    }
}

static enum qn_effect_verdict ask_rules(struct qn_effects *effects, const struct run *run,
                                        enum qn_check_kind kind)
{
    enum qn_effect_verdict verdict = QN_EFFECT_GO_ON;

    for (size_t i = 0; effects->options.at_event != NULL && i < run->call.item_count; i++) {
        struct qn_check_event event = event_of(run, kind, i);
        if (effects->options.at_event(effects->options.state, &event) == QN_EFFECT_HELD) {
            verdict = QN_EFFECT_HELD;
        }
    }
    return verdict;
}

static void unlink_run(struct qn_effects *effects, struct run *run)
{
    struct run **at = &effects->runs;

    while (*at != run) {
        at = &(*at)->next;
    }
    *at = run->next;
    effects->open_count--;
}

/* Answers and forgets the run. */
static void finish(struct qn_effects *effects, struct run *run, int status, bool replayed,
                   const char *text)
{
    const struct qn_effect_answer answer = {status, replayed, qn_str_from_cstr(text)};

    unlink_run(effects, run);
    record_all(effects, run, QN_CHECK_WORK_REPLY, NULL, replayed, status);
    effects->options.answer(effects->options.state, run->owner, &answer);
    free_run(run);
}

static void commit(struct qn_effects *effects, struct run *run, struct ledger_entry *entry)
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
    record_all(effects, run, QN_CHECK_WORK_COMMIT, NULL, replayed, 0);
    if (ask_rules(effects, run, QN_CHECK_WORK_COMMIT) == QN_EFFECT_HELD) {
        run->state = RUN_HELD;
        return;
    }
    finish(effects, run, 200, replayed, "{\"applied\":true}");
}

static void end_without_effect(struct qn_effects *effects, struct run *run, const char *reason,
                               int status, const char *text)
{
    struct ledger_entry *entry = entry_of(effects, &run->call);

    if (entry != NULL && entry->open == run) {
        entry->open = NULL;
    }
    if (!run->is_committed) {
        record_all(effects, run, QN_CHECK_WORK_ABORT, reason, false, 0);
    }
    finish(effects, run, status, false, text);
}

/* The work is over: what the script says happens. */
static void complete(struct qn_effects *effects, struct run *run)
{
    if (qn_str_equal(run->outcome, QN_STR("transient"))) {
        end_without_effect(effects, run, "transient", 503, "{\"error\":\"try again\"}");
    } else if (qn_str_equal(run->outcome, QN_STR("permanent"))) {
        end_without_effect(effects, run, "permanent", 422, "{\"error\":\"never\"}");
    } else {
        commit(effects, run, entry_of(effects, &run->call));
    }
}

/* Begins to work, waits for the run that has the key, or is answered at once. */
static void start(struct qn_effects *effects, struct run *run, int64_t now_ms)
{
    struct ledger_entry *entry = entry_of(effects, &run->call);
    int64_t work_ms = 0;

    if (entry != NULL && (entry->is_applied || entry->open != NULL) &&
        entry->payload != run->call.items[0].payload) {
        end_without_effect(effects, run, "key used with another payload", 422,
                           "{\"error\":\"the key was used with another payload\"}");
        return;
    }
    if (entry != NULL && entry->is_applied) {
        commit(effects, run, entry);
        return;
    }
    if (entry != NULL && entry->open != NULL) {
        run->state = RUN_WAITING;
        if (effects->options.busy_is_409) {
            end_without_effect(effects, run, "busy", 409, "{\"error\":\"busy\"}");
        }
        return;
    }
    if (entry != NULL) {
        entry->open = run;
        entry->payload = run->call.items[0].payload;
    }
    for (size_t i = 0; i < run->call.item_count && effects->options.script != NULL; i++) {
        const struct qn_effect_script *script =
            effects->options.script(effects->options.state, run->call.items[i].k);
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
    run->state = RUN_WORKING;
    run->due_ms = now_ms + work_ms;
    if (work_ms == 0) {
        complete(effects, run);
    }
}

static struct run *new_run(struct qn_effects *effects, const struct qn_effect_call *call,
                           void *owner)
{
    struct run *run = qn_memory_new(sizeof(*run));
    struct run **end = &effects->runs;

    qn_arena_init(&run->arena, SIZE_MAX / 2);
    run->owner = owner;
    run->number = ++effects->last_number;
    run->call = *call;
    run->call.ik = qn_arena_copy(&run->arena, call->ik);
    run->call.step = qn_arena_copy(&run->arena, call->step);
    run->call.mid = qn_arena_copy(&run->arena, call->mid);
    run->call.instance = qn_arena_copy(&run->arena, call->instance);
    run->call.item_count = call->item_count < ITEMS_MAX ? call->item_count : ITEMS_MAX;
    run->items = qn_arena_alloc(&run->arena, run->call.item_count * sizeof(*run->items));
    run->call.items = run->items;
    for (size_t i = 0; i < run->call.item_count; i++) {
        int64_t *attempts = qn_table_at(&effects->attempts, call->items[i].k);
        run->items[i].k = qn_arena_copy(&run->arena, call->items[i].k);
        run->items[i].payload = call->items[i].payload;
        (*attempts)++;
        run->attempt = *attempts > run->attempt ? *attempts : run->attempt;
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = run;
    effects->open_count++;
    return run;
}

void qn_effects_begin(struct qn_effects *effects, const struct qn_effect_call *call, int64_t now_ms,
                      void *owner)
{
    struct run *run = new_run(effects, call, owner);

    record_all(effects, run, QN_CHECK_WORK_BEGIN, NULL, false, 0);
    if (effects->options.capacity > 0 && effects->open_count > (size_t)effects->options.capacity) {
        end_without_effect(effects, run, "over capacity", 429, "{\"error\":\"over capacity\"}");
        return;
    }
    if (ask_rules(effects, run, QN_CHECK_WORK_BEGIN) == QN_EFFECT_HELD) {
        run->state = RUN_HELD;
        return;
    }
    start(effects, run, now_ms);
}

/* A waiting run goes on when nobody has its key open any more. */
static bool is_free(struct qn_effects *effects, const struct run *run)
{
    const struct ledger_entry *entry = entry_of(effects, &run->call);

    return entry == NULL || entry->open == NULL;
}

void qn_effects_run(struct qn_effects *effects, int64_t now_ms)
{
    bool again = true;

    /* Completing one run frees it and may let others go on: begin anew after each. */
    while (again) {
        again = false;
        for (struct run *run = effects->runs; run != NULL && !again; run = run->next) {
            if (run->state == RUN_WORKING && run->due_ms <= now_ms) {
                again = true;
                complete(effects, run);
                break;
            }
            if (run->state == RUN_WAITING && is_free(effects, run)) {
                again = true;
                start(effects, run, now_ms);
                break;
            }
        }
    }
}

int64_t qn_effects_next_ms(const struct qn_effects *effects)
{
    int64_t next = INT64_MAX;

    for (const struct run *run = effects->runs; run != NULL; run = run->next) {
        if (run->state == RUN_WORKING && run->due_ms < next) {
            next = run->due_ms;
        }
    }
    return next;
}

size_t qn_effects_open_count(const struct qn_effects *effects)
{
    return effects->open_count;
}

static bool belongs_to(const struct run *run, struct qn_str instance)
{
    return qn_str_is_none(run->call.instance) || qn_str_equal(run->call.instance, instance);
}

void qn_effects_abort(struct qn_effects *effects, struct qn_str instance, const char *reason)
{
    for (struct run *run = effects->runs; run != NULL;) {
        struct run *next = run->next;
        if (belongs_to(run, instance)) {
            end_without_effect(effects, run, reason, 503, "{\"error\":\"aborted\"}");
        }
        run = next;
    }
}

void qn_effects_close_all(struct qn_effects *effects)
{
    while (effects->runs != NULL) {
        end_without_effect(effects, effects->runs, "closed", 503, "{\"error\":\"closed\"}");
    }
}

bool qn_effects_is_applied(const struct qn_effects *effects, struct qn_str key)
{
    return qn_table_find(&effects->applied, key) != NULL;
}
