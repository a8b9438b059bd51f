/* Runs: made, told of, and taken away. */
#include "chaos/check/effects_run.h"

enum { ITEMS_MAX = 100 };

void qn_run_free(struct qn_run *run)
{
    qn_arena_done(&run->arena);
    qn_memory_free(run);
}

/* NULL without an idempotency key: then every call is an application of its own. */
struct qn_ledger_entry *qn_run_entry(struct qn_effects *effects, const struct qn_effect_call *call)
{
    struct qn_buf name;

    if (qn_str_is_none(call->ik)) {
        return NULL;
    }
    qn_buf_init(&name, SIZE_MAX / 2);
    qn_buf_append_str(&name, call->step);
    qn_buf_append_char(&name, '\0');
    qn_buf_append_str(&name, call->ik);
    struct qn_ledger_entry *entry = qn_table_at(&effects->by_key, qn_buf_str(&name));
    qn_buf_done(&name);
    return entry;
}

struct qn_check_event qn_run_event(const struct qn_run *run, enum qn_check_kind kind, size_t item,
                                   struct qn_check_detail *detail)
{
    struct qn_check_event event;

    qn_check_event_init(&event, detail, kind);
    event.k = run->call.items[item].k;
    event.ik = run->call.ik;
    detail->step = run->call.step;
    event.mid = run->call.mid;
    event.n = run->call.n;
    event.instance = run->call.instance;
    event.run = run->number;
    event.attempt = run->attempt;
    return event;
}

void qn_run_record(struct qn_effects *effects, const struct qn_run *run, enum qn_check_kind kind,
                   const char *reason, bool replayed, int status)
{
    size_t count = kind == QN_CHECK_WORK_REPLY ? 1 : run->call.item_count;

    for (size_t i = 0; i < count; i++) {
        struct qn_check_detail detail;
        struct qn_check_event event = qn_run_event(run, kind, i, &detail);
        detail.reason = qn_str_from_cstr(reason);
        event.digest = kind == QN_CHECK_WORK_BEGIN ? run->items[i].digest : QN_EVENT_NO_INT;
        event.replayed = replayed;
        event.status = status != 0 ? status : QN_EVENT_NO_INT;
        qn_record(effects->options.recorder, &event);
    }
}

struct qn_run *qn_run_new(struct qn_effects *effects, const struct qn_effect_call *call,
                          void *owner)
{
    struct qn_run *run = qn_memory_new(sizeof(*run));
    struct qn_run **end = &effects->runs;

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
        run->items[i].digest = call->items[i].digest;
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

void qn_run_unlink(struct qn_effects *effects, struct qn_run *run)
{
    struct qn_run **at = &effects->runs;

    while (*at != run) {
        at = &(*at)->next;
    }
    *at = run->next;
    effects->open_count--;
    effects->hung_count -= run->state == RUN_HUNG;
}
