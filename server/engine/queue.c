/* Queues: by name, in order of their names, coming and going. PurgeQueue and DeleteQueue leave the
 * messages behind to be freed a few at a time; the journal hears one small row. */
#include "server/engine/state.h"

enum { SEQUENCE_RESERVE = 4096, NAME_MAX = 512 };

struct queue_key {
    struct qn_str account, region, name;
};

static void events_moved(void *owner, uint32_t index, uint32_t position)
{
    ((struct qn_engine *)owner)->queues[index]->event_position = position;
}

static bool same_queue(const struct qn_map_node *node, const void *key)
{
    const struct qn_queue *queue = QN_CONTAINER((uintptr_t)node, struct qn_queue, node);
    const struct queue_key *wanted = key;
    return qn_str_equal(queue->name, wanted->name) &&
           qn_str_equal(queue->account, wanted->account) &&
           qn_str_equal(queue->region, wanted->region);
}

void qn_queues_init(struct qn_engine *engine)
{
    qn_map_init(&engine->queues_by_name, same_queue);
    qn_heap_init(&engine->events, events_moved, engine);
}

/* Computed for every request. The region is left out: the few queues that differ in it alone share
 * a place. */
static uint64_t hash_of(const struct queue_key *key)
{
    return qn_str_hash(key->name) ^ qn_str_hash(key->account) * UINT64_C(0x9E3779B97F4A7C15);
}

static struct qn_str region_of(const struct qn_engine *engine, struct qn_str region)
{
    return engine->options.one_region ? engine->options.region : region;
}

struct qn_queue *qn_engine_find_queue(struct qn_engine *engine, struct qn_str account,
                                      struct qn_str region, struct qn_str name)
{
    struct queue_key key = {account, region_of(engine, region), name};
    struct qn_map_node *node = qn_map_find(&engine->queues_by_name, hash_of(&key), &key);

    return node == NULL ? NULL : QN_CONTAINER(node, struct qn_queue, node);
}

bool qn_engine_find_arn(struct qn_engine *engine, struct qn_str arn, struct qn_queue **ret_queue)
{
    struct qn_str parts[6];
    struct qn_str rest = arn;

    for (size_t i = 0; i < 6; i++) {
        parts[i] = qn_str_cut(rest, ':', &rest);
        if (qn_str_is_none(parts[i]) || (i < 5 && qn_str_is_none(rest))) {
            return false;
        }
    }
    if (!qn_str_equal(parts[0], QN_STR("arn")) || !qn_str_equal(parts[2], QN_STR("sqs")) ||
        !qn_str_is_none(rest) || parts[5].len == 0) {
        return false;
    }
    *ret_queue = qn_engine_find_queue(engine, parts[4], parts[3], parts[5]);
    return true;
}

static int compare_key(const struct qn_queue *queue, const struct queue_key *key)
{
    int order = qn_str_compare(queue->account, key->account);

    if (order == 0) {
        order = qn_str_compare(queue->region, key->region);
    }
    return order != 0 ? order : qn_str_compare(queue->name, key->name);
}

/* The first place whose queue is not before the key. */
static uint32_t sorted_place(const struct qn_engine *engine, const struct queue_key *key)
{
    uint32_t low = 0;
    uint32_t high = engine->queue_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_key(engine->sorted[middle], key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void enlist(struct qn_engine *engine, struct qn_queue *queue)
{
    struct queue_key key = {queue->account, queue->region, queue->name};
    uint32_t place = sorted_place(engine, &key);

    if (engine->queue_count == engine->queue_cap) {
        engine->queue_cap = engine->queue_cap == 0 ? 64 : engine->queue_cap * 2;
        engine->queues =
            qn_memory_resize(engine->queues, engine->queue_cap, sizeof(struct qn_queue *));
        engine->sorted =
            qn_memory_resize(engine->sorted, engine->queue_cap, sizeof(struct qn_queue *));
    }
    memmove(&engine->sorted[place + 1], &engine->sorted[place],
            (engine->queue_count - place) * sizeof(struct qn_queue *));
    engine->sorted[place] = queue;
    queue->index = engine->queue_count;
    engine->queues[engine->queue_count++] = queue;
    qn_map_insert(&engine->queues_by_name, &queue->node, hash_of(&key));
    qn_numbers_put(engine, queue);
}

static void delist(struct qn_engine *engine, struct qn_queue *queue)
{
    struct queue_key key = {queue->account, queue->region, queue->name};
    uint32_t place = sorted_place(engine, &key);
    uint32_t last = engine->queue_count - 1;

    if (queue->event_position != QN_HEAP_NONE) {
        qn_heap_remove(&engine->events, queue->event_position);
    }
    memmove(&engine->sorted[place], &engine->sorted[place + 1],
            (last - place) * sizeof(struct qn_queue *));
    if (queue->index != last) {
        struct qn_queue *moved = engine->queues[last];
        engine->queues[queue->index] = moved;
        moved->index = queue->index;
        if (moved->event_position != QN_HEAP_NONE) {
            engine->events.entries[moved->event_position].item = moved->index;
        }
    }
    engine->queue_count--;
    qn_map_remove(&engine->queues_by_name, &queue->node);
    qn_numbers_drop(engine, queue);
}

static struct qn_str own(struct qn_str text)
{
    return qn_str(qn_memory_copy_text(text.ptr, text.len), text.len);
}

static struct qn_str make_arn(struct qn_str account, struct qn_str region, struct qn_str name)
{
    struct qn_buf buf;
    size_t len;
    const char *partition = qn_str_starts_with(region, QN_STR("cn-"))       ? "aws-cn"
                            : qn_str_starts_with(region, QN_STR("us-gov-")) ? "aws-us-gov"
                                                                            : "aws";

    qn_buf_init(&buf, NAME_MAX);
    qn_buf_append_format(&buf, "arn:%s:sqs:%.*s:%.*s:%.*s", partition, QN_STR_ARG(region),
                         QN_STR_ARG(account), QN_STR_ARG(name));
    char *text = qn_buf_take(&buf, &len);
    return qn_str(text, len);
}

static struct qn_queue *queue_new(struct qn_engine *engine, uint32_t number, struct qn_str account,
                                  struct qn_str region, struct qn_str name)
{
    struct qn_queue *queue = qn_memory_new(sizeof(*queue));

    queue->account = own(account);
    queue->region = own(region);
    queue->name = own(name);
    queue->arn = make_arn(account, region, name);
    queue->is_fifo = qn_str_ends_with(name, QN_STR(".fifo"));
    queue->number = number;
    queue->event_position = QN_HEAP_NONE;
    queue->next_sequence = 1;
    queue->messages = qn_messages_new(engine, queue->is_fifo);
    return queue;
}

void qn_queue_free(struct qn_engine *engine, struct qn_queue *queue)
{
    qn_queue_settings_done(&queue->settings);
    if (queue->messages != NULL) {
        qn_messages_free_now(engine, queue->messages);
    }
    qn_memory_free(queue->loaded);
    qn_memory_free((char *)(uintptr_t)queue->account.ptr);
    qn_memory_free((char *)(uintptr_t)queue->region.ptr);
    qn_memory_free((char *)(uintptr_t)queue->name.ptr);
    qn_memory_free((char *)(uintptr_t)queue->arn.ptr);
    qn_memory_free(queue);
}

void qn_queue_emit(struct qn_tx *tx, const struct qn_queue *queue)
{
    struct qn_buf settings;
    struct qn_row row = {.kind = QN_ROW_QUEUE_PUT};

    if (tx->entry == NULL) {
        return;
    }
    qn_buf_init(&settings, SIZE_MAX);
    qn_queue_settings_encode(&queue->settings, &settings);
    row.queue = (struct qn_queue_row){
        .number = queue->number,
        .generation = queue->generation,
        .account = queue->account,
        .region = queue->region,
        .name = queue->name,
        .settings = qn_buf_str(&settings),
        .next_sequence = (int64_t)queue->reserved_sequence,
    };
    qn_entry_append(tx->entry, &row);
    qn_buf_done(&settings);
}

/* Sequences are reserved in the store by the thousand, so that a restart never draws one twice. */
uint64_t qn_queue_draw_sequence(struct qn_tx *tx, struct qn_queue *queue)
{
    if (queue->next_sequence >= queue->reserved_sequence) {
        queue->reserved_sequence = queue->next_sequence + SEQUENCE_RESERVE;
        qn_queue_emit(tx, queue);
    }
    return queue->next_sequence++;
}

static void tell_create(struct qn_tx *tx, const struct qn_queue *queue)
{
    struct qn_event event;

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_QUEUE_CREATE, queue, NULL, NULL, NULL);
        event.region = queue->region;
        qn_emit_event(tx, &event);
    }
}

struct qn_queue *qn_engine_create_queue(struct qn_tx *tx, struct qn_str account,
                                        struct qn_str region, struct qn_str name,
                                        struct qn_queue_settings *settings_take)
{
    struct qn_engine *engine = tx->engine;
    struct qn_queue *queue =
        queue_new(engine, qn_queue_number_draw(tx), account, region_of(engine, region), name);

    queue->settings = *settings_take;
    *settings_take = (struct qn_queue_settings){0};
    queue->settings.created_at_ms = tx->now_ms;
    queue->settings.modified_at_ms = tx->now_ms;
    queue->settings.created_with_group_scope = queue->settings.scope_is_group;
    queue->reserved_sequence = SEQUENCE_RESERVE;
    enlist(engine, queue);
    qn_queue_emit(tx, queue);
    tell_create(tx, queue);
    return queue;
}

static void bury_messages(struct qn_engine *engine, struct qn_queue *queue)
{
    queue->messages->next_dead = engine->dead;
    engine->dead = queue->messages;
    queue->messages = NULL;
    queue->counts = (struct qn_queue_counts){0};
    queue->groups_in_flight = 0;
}

static void tell_purge(struct qn_tx *tx, const struct qn_queue *queue)
{
    struct qn_event event;

    if (tx->events->wanted) {
        qn_event_of(tx, &event, QN_EVENT_MSG_PURGE, queue, NULL, NULL, NULL);
        event.count = queue->counts.visible + queue->counts.in_flight + queue->counts.delayed;
        qn_emit_event(tx, &event);
    }
}

static void forget_deleted(struct qn_engine *engine, const struct qn_queue *queue)
{
    for (size_t i = 0; engine->deleted != NULL && i < DELETED_KEPT; i++) {
        if (engine->deleted[i].queue == queue) {
            qn_memory_free(engine->deleted[i].content);
            engine->deleted[i] = (struct deleted_message){0};
        }
    }
}

void qn_engine_delete_queue(struct qn_tx *tx, struct qn_queue *queue)
{
    struct qn_engine *engine = tx->engine;
    struct qn_row row = {.kind = QN_ROW_QUEUE_DROP, .queue_number = queue->number};

    tell_purge(tx, queue);
    qn_task_queue_gone(tx, queue);
    qn_waiters_queue_gone(engine, queue);
    forget_deleted(engine, queue);
    qn_name_deleted(tx, queue->account, queue->region, queue->name);
    delist(engine, queue);
    bury_messages(engine, queue);
    if (tx->entry != NULL) {
        qn_entry_append(tx->entry, &row);
    }
    qn_queue_free(engine, queue);
}

void qn_engine_purge_queue(struct qn_tx *tx, struct qn_queue *queue)
{
    tell_purge(tx, queue);
    bury_messages(tx->engine, queue);
    forget_deleted(tx->engine, queue);
    queue->messages = qn_messages_new(tx->engine, queue->is_fifo);
    qn_task_restart_walk(queue);
    queue->generation++;
    queue->settings.purged_at_ms = tx->now_ms;
    queue->loaded_count = 0;
    qn_queue_emit(tx, queue);
    qn_queue_touch(tx->engine, queue);
}

void qn_engine_change_settings(struct qn_tx *tx, struct qn_queue *queue,
                               struct qn_queue_settings *settings_take)
{
    (void)qn_engine_settle_queue(tx, queue);
    qn_queue_settings_done(&queue->settings);
    queue->settings = *settings_take;
    *settings_take = (struct qn_queue_settings){0};
    queue->settings.modified_at_ms = tx->now_ms;
    qn_queue_emit(tx, queue);
    (void)qn_engine_settle_queue(tx, queue);
    qn_queue_touch(tx->engine, queue);
    qn_waiters_wake(tx->engine, queue);
}

void qn_engine_set_tag(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key,
                       struct qn_str value)
{
    (void)tx;
    qn_queue_settings_set_tag(&queue->settings, key, value);
}

void qn_engine_remove_tag(struct qn_tx *tx, struct qn_queue *queue, struct qn_str key)
{
    (void)tx;
    qn_queue_settings_remove_tag(&queue->settings, key);
}

void qn_engine_tags_changed(struct qn_tx *tx, struct qn_queue *queue)
{
    qn_queue_emit(tx, queue);
}

const struct qn_queue_settings *qn_queue_settings_of(const struct qn_queue *queue)
{
    return &queue->settings;
}

struct qn_str qn_queue_name(const struct qn_queue *queue)
{
    return queue->name;
}

struct qn_str qn_queue_account(const struct qn_queue *queue)
{
    return queue->account;
}

struct qn_str qn_queue_region(const struct qn_queue *queue)
{
    return queue->region;
}

struct qn_str qn_queue_arn(const struct qn_queue *queue)
{
    return queue->arn;
}

bool qn_queue_is_fifo(const struct qn_queue *queue)
{
    return queue->is_fifo;
}

struct qn_queue_counts qn_queue_counts_of(const struct qn_queue *queue)
{
    return queue->counts;
}

bool qn_queue_redrives_to(const struct qn_queue *queue, const struct qn_queue *target)
{
    return queue->settings.dead_letter_target_arn != NULL &&
           qn_str_equal(qn_str_from_cstr(queue->settings.dead_letter_target_arn), target->arn);
}

struct qn_queue *qn_engine_next_queue(struct qn_engine *engine, struct qn_str account,
                                      struct qn_str region, struct qn_str after)
{
    struct queue_key key = {account, region_of(engine, region),
                            qn_str_is_none(after) ? QN_STR("") : after};
    uint32_t place = sorted_place(engine, &key);

    if (place < engine->queue_count && !qn_str_is_none(after) &&
        compare_key(engine->sorted[place], &key) == 0) {
        place++;
    }
    if (place >= engine->queue_count) {
        return NULL;
    }
    struct qn_queue *queue = engine->sorted[place];
    return qn_str_equal(queue->account, key.account) && qn_str_equal(queue->region, key.region)
               ? queue
               : NULL;
}

struct qn_queue *qn_engine_queue_at(struct qn_engine *engine, size_t i)
{
    return i < engine->queue_count ? engine->sorted[i] : NULL;
}

struct qn_queue *qn_queue_restore(struct qn_engine *engine, const struct qn_queue_row *row)
{
    struct qn_queue *queue = queue_new(engine, row->number, row->account, row->region, row->name);

    if (!qn_queue_settings_decode(row->settings, &queue->settings)) {
        qn_queue_settings_init(&queue->settings, queue->is_fifo, &engine->options.limits);
    }
    queue->generation = row->generation;
    queue->next_sequence = (uint64_t)row->next_sequence;
    queue->reserved_sequence = queue->next_sequence;
    if (row->number >= engine->next_queue_number) {
        engine->next_queue_number = row->number + 1;
    }
    enlist(engine, queue);
    return queue;
}
