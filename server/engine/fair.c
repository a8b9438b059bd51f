/* Fair queues: standard queues whose messages name a tenant (FQ-1 to FQ-9). Quiet tenants, and
 * messages without one, are served by age; noisy tenants only when nothing quiet waits, the one
 * with the fewest messages in flight first. */
#include "server/engine/state.h"

enum { NOISY_IN_FLIGHT_MIN = 30, SHARE_DIVISOR = 10, QUIET_AFTER_MS = 300000 };

struct tenant *qn_tenant_of(struct qn_engine *engine, struct qn_queue *queue, struct qn_str name)
{
    struct messages *messages = queue->messages;
    uint64_t hash = qn_str_hash(name);
    struct qn_map_node *node = qn_map_find(&messages->by_name, hash, &name);

    engine->looked_at++;
    if (node != NULL) {
        return QN_CONTAINER(node, struct tenant, node);
    }
    struct tenant *tenant = qn_memory_new(sizeof(*tenant));
    tenant->name = qn_str(qn_memory_copy_text(name.ptr, name.len), name.len);
    qn_ready_init(&tenant->ready, engine);
    tenant->position = QN_HEAP_NONE;
    tenant->index = qn_named_add(messages, tenant);
    qn_map_insert(&messages->by_name, &tenant->node, hash);
    return tenant;
}

/* The tenant's key in its heap follows its oldest ready message and, when noisy, what it has in
 * flight. */
void qn_tenant_settle(struct qn_engine *engine, struct qn_queue *queue, struct tenant *tenant)
{
    struct qn_heap *heap = tenant->is_noisy ? &queue->messages->noisy : &queue->messages->quiet;
    uint32_t oldest = qn_ready_oldest(engine, &tenant->ready);

    if (oldest == SLOT_NONE) {
        if (tenant->position != QN_HEAP_NONE) {
            qn_heap_remove(heap, tenant->position);
        }
        return;
    }
    uint64_t order = message_order(message_at(engine, oldest));
    int64_t key = tenant->is_noisy ? (int64_t)tenant->in_flight : (int64_t)order;
    uint64_t tie = tenant->is_noisy ? order : 0;
    if (tenant->position == QN_HEAP_NONE) {
        qn_heap_push(heap, key, tie, tenant->index);
    } else {
        qn_heap_update(heap, tenant->position, key, tie);
    }
}

static int64_t slice_of(int64_t at_ms)
{
    return at_ms / BUSY_SLICE_MS;
}

static void add_busy(int64_t busy_ms[BUSY_SLICES], int64_t busy_at[BUSY_SLICES], int64_t slice,
                     int64_t ms)
{
    size_t i = (size_t)(slice % BUSY_SLICES);

    if (busy_at[i] != slice) {
        busy_at[i] = slice;
        busy_ms[i] = 0;
    }
    busy_ms[i] += ms;
}

static int64_t recent_busy(const int64_t busy_ms[BUSY_SLICES], const int64_t busy_at[BUSY_SLICES],
                           int64_t now_ms)
{
    int64_t sum = 0;

    for (size_t i = 0; i < BUSY_SLICES; i++) {
        if (busy_at[i] > slice_of(now_ms) - BUSY_SLICES) {
            sum += busy_ms[i];
        }
    }
    return sum;
}

void qn_fair_note_busy(struct qn_queue *queue, struct tenant *tenant, int64_t from_ms,
                       int64_t to_ms)
{
    if (queue->is_fifo || to_ms <= from_ms) {
        return;
    }
    int64_t slice = slice_of(to_ms);
    add_busy(queue->messages->busy_ms, queue->messages->busy_at, slice, to_ms - from_ms);
    if (tenant != NULL) {
        add_busy(tenant->busy_ms, tenant->busy_at, slice, to_ms - from_ms);
    }
}

/* FQ-4 and FQ-7. AWS does not say what "comparable to the quiet tenants" means for the share of
 * processing time: here, not above the mean of the tenants that the queue knows. */
bool qn_fair_is_noisy(const struct qn_queue *queue, const struct tenant *tenant, int64_t now_ms)
{
    const struct messages *messages = queue->messages;

    if (tenant->ready.count + tenant->delayed == 0 ||
        now_ms - tenant->last_sent_ms >= QUIET_AFTER_MS) {
        return false;
    }
    if (tenant->in_flight >= NOISY_IN_FLIGHT_MIN &&
        (int64_t)tenant->in_flight * SHARE_DIVISOR > queue->counts.in_flight) {
        return true;
    }
    int64_t all = recent_busy(messages->busy_ms, messages->busy_at, now_ms);
    int64_t own = recent_busy(tenant->busy_ms, tenant->busy_at, now_ms);
    return own * SHARE_DIVISOR > all && own * (int64_t)messages->by_name.len > all;
}

static void set_noisy(struct qn_engine *engine, struct qn_queue *queue, struct tenant *tenant,
                      bool is_noisy)
{
    if (tenant->is_noisy == is_noisy) {
        return;
    }
    if (tenant->position != QN_HEAP_NONE) {
        qn_heap_remove(tenant->is_noisy ? &queue->messages->noisy : &queue->messages->quiet,
                       tenant->position);
    }
    tenant->is_noisy = is_noisy;
    qn_tenant_settle(engine, queue, tenant);
}

/* A tenant outlives its messages while its processing time counts; a few are looked at on each
 * receive. */
static void drop_idle(struct qn_engine *engine, struct qn_queue *queue, int64_t now_ms)
{
    struct messages *messages = queue->messages;

    for (int i = 0; i < 2 && messages->named_count > 0; i++) {
        messages->idle_at = (messages->idle_at + 1) % messages->named_count;
        struct tenant *tenant = tenant_at(messages, messages->idle_at);
        if (tenant != NULL) {
            qn_tenant_drop_if_idle(engine, queue, tenant, now_ms);
        }
    }
}

/* At most nine tenants can hold more than a tenth each, so the noisy ones are few: those that are
 * so no longer go. */
void qn_fair_refresh(struct qn_engine *engine, struct qn_queue *queue, int64_t now_ms)
{
    struct messages *messages = queue->messages;

    for (uint32_t i = 0; i < messages->noisy.len;) {
        struct tenant *tenant = tenant_at(messages, messages->noisy.entries[i].item);
        engine->looked_at++;
        if (qn_fair_is_noisy(queue, tenant, now_ms)) {
            i++;
        } else {
            set_noisy(engine, queue, tenant, false);
        }
    }
    drop_idle(engine, queue, now_ms);
}

uint32_t qn_fair_next(struct qn_engine *engine, struct qn_queue *queue, int64_t now_ms)
{
    struct messages *messages = queue->messages;
    uint32_t plain = qn_ready_oldest(engine, &messages->ready);

    if (messages->by_name.len == 0) {
        return plain;
    }
    while (messages->quiet.len > 0) {
        struct tenant *tenant = tenant_at(messages, qn_heap_top(&messages->quiet)->item);
        engine->looked_at++;
        if (messages->by_name.len > 1 || messages->ready.count > 0) {
            if (qn_fair_is_noisy(queue, tenant, now_ms)) {
                set_noisy(engine, queue, tenant, true);
                continue;
            }
        }
        uint32_t oldest = qn_ready_oldest(engine, &tenant->ready);
        if (plain == SLOT_NONE ||
            message_order(message_at(engine, oldest)) < message_order(message_at(engine, plain))) {
            return oldest;
        }
        return plain;
    }
    if (plain != SLOT_NONE || messages->noisy.len == 0) {
        return plain;
    }
    return qn_ready_oldest(engine,
                           &tenant_at(messages, qn_heap_top(&messages->noisy)->item)->ready);
}

/* Kept while it has messages or recent processing time, which still counts. */
void qn_tenant_drop_if_idle(struct qn_engine *engine, struct qn_queue *queue, struct tenant *tenant,
                            int64_t now_ms)
{
    struct messages *messages = queue->messages;

    (void)engine;
    if (tenant->stored > 0 || recent_busy(tenant->busy_ms, tenant->busy_at, now_ms) > 0) {
        return;
    }
    qn_named_remove(messages, tenant->index);
    qn_map_remove(&messages->by_name, &tenant->node);
    qn_ready_done(&tenant->ready);
    qn_memory_free((char *)(uintptr_t)tenant->name.ptr);
    qn_memory_free(tenant);
}
