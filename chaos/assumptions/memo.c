/* The limited table. */
#include "chaos/assumptions/memo.h"

static bool has_key(const struct qn_map_node *node, const void *key)
{
    const struct qn_memo_item *item =
        (const struct qn_memo_item *)(const void *)((const char *)node -
                                                    offsetof(struct qn_memo_item, node));

    return qn_str_equal(item->key, *(const struct qn_str *)key);
}

void qn_memo_init(struct qn_memo *memo, size_t value_size, size_t max, void (*drop)(void *value))
{
    *memo = (struct qn_memo){.value_size = value_size, .max = max, .drop = drop};
    qn_map_init(&memo->map, has_key);
}

static void unlink_item(struct qn_memo *memo, struct qn_memo_item *item)
{
    if (item->older != NULL) {
        item->older->newer = item->newer;
    } else {
        memo->oldest = item->newer;
    }
    if (item->newer != NULL) {
        item->newer->older = item->older;
    } else {
        memo->newest = item->older;
    }
}

static void link_newest(struct qn_memo *memo, struct qn_memo_item *item)
{
    item->newer = NULL;
    item->older = memo->newest;
    if (memo->newest != NULL) {
        memo->newest->newer = item;
    } else {
        memo->oldest = item;
    }
    memo->newest = item;
}

static void drop_item(struct qn_memo *memo, struct qn_memo_item *item)
{
    if (memo->drop != NULL) {
        memo->drop(item->value);
    }
    qn_map_remove(&memo->map, &item->node);
    unlink_item(memo, item);
    qn_memory_free(item);
}

void qn_memo_clear(struct qn_memo *memo)
{
    while (memo->oldest != NULL) {
        drop_item(memo, memo->oldest);
    }
}

void qn_memo_done(struct qn_memo *memo)
{
    qn_memo_clear(memo);
    qn_map_done(&memo->map);
}

static struct qn_memo_item *find_item(const struct qn_memo *memo, struct qn_str key)
{
    struct qn_map_node *node = qn_map_find(&memo->map, qn_str_hash(key), &key);

    return node != NULL ? QN_CONTAINER(node, struct qn_memo_item, node) : NULL;
}

void *qn_memo_find(const struct qn_memo *memo, struct qn_str key)
{
    struct qn_memo_item *item = find_item(memo, key);

    return item != NULL ? item->value : NULL;
}

/* Where the value of an item begins. */
static size_t value_offset(void)
{
    return (sizeof(struct qn_memo_item) + 15) / 16 * 16;
}

void *qn_memo_at(struct qn_memo *memo, struct qn_str key)
{
    struct qn_memo_item *item = find_item(memo, key);

    if (item != NULL) {
        unlink_item(memo, item);
        link_newest(memo, item);
        return item->value;
    }
    if (memo->map.len >= memo->max) {
        drop_item(memo, memo->oldest);
        memo->forgotten++;
    }
    item = qn_memory_new(value_offset() + memo->value_size + key.len + 1);
    char *text = (char *)item + value_offset() + memo->value_size;
    if (key.len > 0) {
        memcpy(text, key.ptr, key.len);
    }
    item->key = qn_str(text, key.len);
    item->value = (char *)item + value_offset();
    qn_map_insert(&memo->map, &item->node, qn_str_hash(key));
    link_newest(memo, item);
    return item->value;
}

void qn_memo_remove(struct qn_memo *memo, struct qn_str key)
{
    struct qn_memo_item *item = find_item(memo, key);

    if (item != NULL) {
        drop_item(memo, item);
    }
}

void qn_memo_drop(struct qn_memo *memo, void *value)
{
    drop_item(memo, (struct qn_memo_item *)(void *)((char *)value - value_offset()));
}
