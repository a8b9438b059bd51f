/* How long the messages of each tenant took, where a standard queue has those of several. */
#include "chaos/check/report/report.h"

#include <stdlib.h>

/* Of one message: when it could be had, and when its effect was there, or without a sink its
 * delete. */
struct wait {
    size_t tenant;
    int64_t from_ms;
    int64_t took_ms; /* below 0: it is not done */
};

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t tenant_of(struct qn_tenants *tenants, struct qn_str name)
{
    for (size_t i = 0; i < tenants->count; i++) {
        if (qn_str_equal(tenants->items[i].name, name)) {
            return i;
        }
    }
    if (tenants->count == QN_TENANTS_MAX) {
        return QN_TENANTS_MAX - 1;
    }
    tenants->items[tenants->count] = (struct qn_tenant){.name = name};
    return tenants->count++;
}

static int64_t ready_at(const struct qn_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_PROC && qn_str_equal(event->what, QN_STR("ready"))) {
            return event->vt;
        }
    }
    return 0;
}

static void note(const struct qn_history *history, bool sees_effects, struct qn_table *waits,
                 struct qn_tenants *tenants)
{
    const enum qn_check_kind end = sees_effects ? QN_CHECK_WORK_COMMIT : QN_CHECK_MSG_DELETE;
    int64_t ready_ms = ready_at(history);

    for (size_t i = 0; i < history->count; i++) {
        const struct qn_check_event *event = &history->events[i];
        if (event->kind == QN_CHECK_LOAD && qn_str_is_none(event->grp) &&
            !qn_str_is_none(event->detail->tenant)) {
            struct wait *wait = qn_table_at(waits, event->k);
            *wait = (struct wait){tenant_of(tenants, event->detail->tenant),
                                  event->vt > ready_ms ? event->vt : ready_ms, -1};
            tenants->items[wait->tenant].sent++;
        } else if (event->kind == end && !event->undone && !qn_str_is_none(event->k)) {
            struct wait *wait = qn_table_find(waits, event->k);
            if (wait != NULL && wait->took_ms < 0) {
                wait->took_ms = event->vt > wait->from_ms ? event->vt - wait->from_ms : 0;
            }
        }
    }
}

static void measure(const struct qn_table *waits, size_t which, struct qn_tenant *tenant)
{
    int64_t *took = qn_memory_new_array(waits->count, sizeof(*took));

    for (const struct qn_table_item *item = waits->first; item != NULL; item = item->next) {
        const struct wait *wait = (const void *)item->value;
        if (wait->tenant == which && wait->took_ms >= 0) {
            took[tenant->done++] = wait->took_ms;
        }
    }
    if (tenant->done > 0) {
        qsort(took, tenant->done, sizeof(*took), ascending);
        tenant->p50_ms = took[(tenant->done - 1) * 50 / 100];
        tenant->p95_ms = took[(tenant->done - 1) * 95 / 100];
    }
    qn_memory_free(took);
}

void qn_report_tenants(const struct qn_report_entry *entry, struct qn_tenants *tenants)
{
    const struct qn_run_result *result = &entry->result;
    struct qn_table waits;

    tenants->count = 0;
    qn_table_init(&waits, sizeof(struct wait));
    note(&result->history, result->judgement.level >= QN_LEVEL_SINK, &waits, tenants);
    for (size_t i = 0; i < tenants->count; i++) {
        measure(&waits, i, &tenants->items[i]);
    }
    qn_table_done(&waits);
    if (tenants->count < 2) {
        tenants->count = 0;
    }
}
