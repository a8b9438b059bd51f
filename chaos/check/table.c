/* Items by text, in order of arrival. */
#include "chaos/check/table.h"

#include <assert.h>

enum { BLOCK_ITEMS = 512 };

struct mapped {
    struct qn_map_node node;
    struct qn_table_item item;
};

static bool has_key(const struct qn_map_node *node, const void *key)
{
    const struct qn_str *wanted = key;

    return qn_str_equal(((const struct mapped *)(const void *)node)->item.key, *wanted);
}

void qn_table_init(struct qn_table *table, size_t item_size)
{
    *table = (struct qn_table){.item_size = item_size};
    qn_map_init(&table->map, has_key);
    qn_arena_init(&table->arena, SIZE_MAX / 2);
}

void qn_table_init_for(struct qn_table *table, size_t item_size, const struct qn_texts *texts)
{
    qn_table_init(table, item_size);
    table->texts = texts;
}

void qn_table_done(struct qn_table *table)
{
    qn_map_done(&table->map);
    qn_memory_free(table->places);
    qn_memory_free(table->blocks);
    qn_arena_done(&table->arena);
}

static void append(struct qn_table *table, struct qn_table_item *item)
{
    if (table->last != NULL) {
        table->last->next = item;
    } else {
        table->first = item;
    }
    table->last = item;
    table->count++;
}

static void *find(const struct qn_table *table, struct qn_str key, uint64_t hash)
{
    struct qn_map_node *node = qn_map_find(&table->map, hash, &key);

    return node != NULL ? QN_CONTAINER(node, struct mapped, node)->item.value : NULL;
}

void *qn_table_find(const struct qn_table *table, struct qn_str key)
{
    if (table->texts == NULL) {
        return find(table, key, qn_str_hash(key));
    }
    struct qn_str kept = qn_texts_find(table->texts, key);
    return qn_str_is_none(kept) && !qn_str_is_none(key) ? NULL : qn_table_find_kept(table, kept);
}

/* An item with its value behind it, so that the next is aligned too. */
static size_t stride(const struct qn_table *table)
{
    size_t size = sizeof(struct qn_table_item) + table->item_size;

    return (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

static struct qn_table_item *item_at(const struct qn_table *table, size_t index)
{
    char *block = table->blocks[index / BLOCK_ITEMS];

    return (struct qn_table_item *)(void *)(block + index % BLOCK_ITEMS * stride(table));
}

void *qn_table_find_kept(const struct qn_table *table, struct qn_str kept)
{
    uint32_t number = qn_text_number(kept);
    uint32_t place = number < table->place_count ? table->places[number] : 0;

    return place > 0 ? item_at(table, place - 1)->value : NULL;
}

/* For all texts that there are: pages that nobody touches cost nothing. */
static void make_places(struct qn_table *table)
{
    size_t count = (size_t)table->texts->count + 1;
    uint32_t *places = qn_memory_new_array(count, sizeof(uint32_t));

    for (size_t i = 0; i < table->place_count; i++) {
        places[i] = table->places[i];
    }
    qn_memory_free(table->places);
    table->places = places;
    table->place_count = count;
}

static struct qn_table_item *add_kept(struct qn_table *table, struct qn_str kept)
{
    if (table->count == table->block_count * BLOCK_ITEMS) {
        table->blocks =
            qn_memory_resize(table->blocks, table->block_count + 1, sizeof(*table->blocks));
        table->blocks[table->block_count++] =
            qn_arena_alloc(&table->arena, BLOCK_ITEMS * stride(table));
    }
    struct qn_table_item *item = item_at(table, table->count);
    item->key = qn_str_is_none(kept) ? QN_STR("") : kept;
    item->value = item + 1;
    append(table, item);
    return item;
}

void *qn_table_at_kept(struct qn_table *table, struct qn_str kept)
{
    assert(table->texts != NULL);
    uint32_t number = qn_text_number(kept);

    if (number >= table->place_count) {
        make_places(table);
    }
    if (table->places[number] == 0) {
        (void)add_kept(table, kept);
        table->places[number] = (uint32_t)table->count;
    }
    return item_at(table, table->places[number] - 1)->value;
}

void *qn_table_at(struct qn_table *table, struct qn_str key)
{
    if (table->texts != NULL) {
        struct qn_str kept = qn_texts_find(table->texts, key);
        assert(!qn_str_is_none(kept) || qn_str_is_none(key));
        return qn_table_at_kept(table, kept);
    }
    uint64_t hash = qn_str_hash(key);
    void *found = find(table, key, hash);

    if (found != NULL) {
        return found;
    }
    struct mapped *mapped = qn_arena_alloc(&table->arena, sizeof(*mapped));
    mapped->item.key = qn_arena_copy(&table->arena, qn_str_is_none(key) ? QN_STR("") : key);
    mapped->item.value = qn_arena_alloc(&table->arena, table->item_size);
    qn_map_insert(&table->map, &mapped->node, hash);
    append(table, &mapped->item);
    return mapped->item.value;
}
