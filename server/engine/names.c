/* Names of deleted queues, remembered for a minute (CQ-4, with --aws-waits). */
#include "server/engine/state.h"

#include <stdio.h>

enum { KEY_MAX = 512 };

static bool same_name(const struct qn_map_node *node, const void *key)
{
    const struct deleted_name *name = QN_CONTAINER((uintptr_t)node, struct deleted_name, node);
    return qn_str_equal(name->key, *(const struct qn_str *)key);
}

void qn_names_init(struct qn_engine *engine)
{
    qn_map_init(&engine->names, same_name);
}

static struct qn_str make_key(char out[KEY_MAX], struct qn_str account, struct qn_str region,
                              struct qn_str name)
{
    int len = snprintf(out, KEY_MAX, "%.*s/%.*s/%.*s", QN_STR_ARG(account), QN_STR_ARG(region),
                       QN_STR_ARG(name));
    return qn_str(out, len < KEY_MAX ? (size_t)len : KEY_MAX - 1);
}

static struct deleted_name *find(struct qn_engine *engine, struct qn_str key)
{
    struct qn_map_node *node = qn_map_find(&engine->names, qn_str_hash(key), &key);

    return node == NULL ? NULL : QN_CONTAINER(node, struct deleted_name, node);
}

static void append(struct qn_engine *engine, struct qn_str key, int64_t deleted_at_ms)
{
    struct deleted_name *name = qn_memory_new(sizeof(*name));
    struct deleted_name *old = find(engine, key);

    if (old != NULL) {
        qn_map_remove(&engine->names, &old->node);
        old->is_superseded = true;
    }
    name->key = qn_str(qn_memory_copy_text(key.ptr, key.len), key.len);
    name->deleted_at_ms = deleted_at_ms;
    qn_map_insert(&engine->names, &name->node, qn_str_hash(name->key));
    if (engine->newest_name == NULL) {
        engine->oldest_name = name;
    } else {
        engine->newest_name->newer = name;
    }
    engine->newest_name = name;
}

void qn_name_deleted(struct qn_tx *tx, struct qn_str account, struct qn_str region,
                     struct qn_str name)
{
    char text[KEY_MAX];
    struct qn_row row = {.kind = QN_ROW_NAME_PUT};

    if (!tx->engine->options.aws_waits) {
        return;
    }
    row.name.name = make_key(text, account, region, name);
    row.name.deleted_at_ms = tx->now_ms;
    append(tx->engine, row.name.name, tx->now_ms);
    if (tx->entry != NULL) {
        qn_entry_append(tx->entry, &row);
    }
}

int64_t qn_engine_deleted_at(struct qn_tx *tx, struct qn_str account, struct qn_str region,
                             struct qn_str name)
{
    char text[KEY_MAX];
    struct qn_str where = tx->engine->options.one_region ? tx->engine->options.region : region;
    const struct deleted_name *found = find(tx->engine, make_key(text, account, where, name));

    return found == NULL || tx->now_ms - found->deleted_at_ms >= QN_RECREATE_WAIT_MS
               ? -1
               : found->deleted_at_ms;
}

static void drop_oldest(struct qn_engine *engine)
{
    struct deleted_name *name = engine->oldest_name;

    engine->oldest_name = name->newer;
    if (engine->oldest_name == NULL) {
        engine->newest_name = NULL;
    }
    if (!name->is_superseded) {
        qn_map_remove(&engine->names, &name->node);
    }
    qn_memory_free((char *)(uintptr_t)name->key.ptr);
    qn_memory_free(name);
}

void qn_names_trim(struct qn_tx *tx, int *budget)
{
    struct qn_engine *engine = tx->engine;

    while (engine->oldest_name != NULL && *budget > 0 &&
           engine->oldest_name->deleted_at_ms + QN_RECREATE_WAIT_MS <= tx->now_ms) {
        struct qn_row row = {.kind = QN_ROW_NAME_DROP};
        row.name.name = engine->oldest_name->key;
        if (tx->entry != NULL && !engine->oldest_name->is_superseded) {
            qn_entry_append(tx->entry, &row);
        }
        drop_oldest(engine);
        (*budget)--;
    }
}

/* Numbers of queues are reserved in the store, under a name that no queue can have, so that one
 * whose queue was deleted is never given to another after a restart. */
static const char number_name[] = "#queue-number";
enum { NUMBERS_RESERVED = 64 };

uint32_t qn_queue_number_draw(struct qn_tx *tx)
{
    struct qn_engine *engine = tx->engine;
    struct qn_row row = {.kind = QN_ROW_NAME_PUT};

    if (engine->next_queue_number >= engine->reserved_queue_number) {
        engine->reserved_queue_number = engine->next_queue_number + NUMBERS_RESERVED;
        row.name.name = qn_str_from_cstr(number_name);
        row.name.deleted_at_ms = engine->reserved_queue_number;
        if (tx->entry != NULL) {
            qn_entry_append(tx->entry, &row);
        }
    }
    return engine->next_queue_number++;
}

void qn_name_restore(struct qn_engine *engine, const struct qn_name_row *row)
{
    if (qn_str_equal(row->name, qn_str_from_cstr(number_name))) {
        engine->next_queue_number = (uint32_t)row->deleted_at_ms;
        engine->reserved_queue_number = engine->next_queue_number;
        return;
    }
    append(engine, row->name, row->deleted_at_ms);
}

void qn_names_done(struct qn_engine *engine)
{
    while (engine->oldest_name != NULL) {
        drop_oldest(engine);
    }
    qn_map_done(&engine->names);
}
