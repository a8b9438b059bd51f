/* Items by text, in order of arrival. */
#include "chaos/check/table.h"

static bool has_key(const struct qn_map_node *node, const void *key)
{
    const struct qn_str *wanted = key;
    const struct qn_table_item *item =
        (const struct qn_table_item *)(const void *)((const char *)node -
                                                     offsetof(struct qn_table_item, node));

    return qn_str_equal(item->key, *wanted);
}

void qn_table_init(struct qn_table *table, size_t item_size)
{
    *table = (struct qn_table){.item_size = item_size};
    qn_map_init(&table->map, has_key);
    qn_arena_init(&table->arena, SIZE_MAX / 2);
}

void qn_table_done(struct qn_table *table)
{
    qn_map_done(&table->map);
    qn_arena_done(&table->arena);
}

static void *find(const struct qn_table *table, struct qn_str key, uint64_t hash)
{
    struct qn_map_node *node = qn_map_find(&table->map, hash, &key);

    return node != NULL ? QN_CONTAINER(node, struct qn_table_item, node)->value : NULL;
}

void *qn_table_find(const struct qn_table *table, struct qn_str key)
{
    return find(table, key, qn_str_hash(key));
}

void *qn_table_at(struct qn_table *table, struct qn_str key)
{
    uint64_t hash = qn_str_hash(key);
    void *found = find(table, key, hash);

    if (found != NULL) {
        return found;
    }
    struct qn_table_item *item = qn_arena_alloc(&table->arena, sizeof(*item));
    item->key = qn_arena_copy(&table->arena, qn_str_is_none(key) ? QN_STR("") : key);
    item->value = qn_arena_alloc(&table->arena, table->item_size);
    qn_map_insert(&table->map, &item->node, hash);
    if (table->last != NULL) {
        table->last->next = item;
    } else {
        table->first = item;
    }
    table->last = item;
    table->count++;
    return item->value;
}
