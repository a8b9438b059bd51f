/* The reference: rows in one sorted array, changed as slowly and plainly as can be. */
#include <endian.h>
#include <stdio.h>

#include "tests/support/journal_fixture.h"

/* The order in which a load gives the kinds; contents last, because it does not give them. */
enum rank { NAMES, QUEUES, MESSAGES, DEDUPLICATIONS, ATTEMPTS, TASKS, CONTENTS };

struct row_item {
    struct qn_buf key;
    struct qn_buf row;
};

static void append_big_endian(struct qn_buf *buf, int64_t value)
{
    uint64_t bits = htobe64((uint64_t)value);
    qn_buf_append(buf, &bits, sizeof(bits));
}

static struct qn_buf number_key(enum rank rank, int64_t number)
{
    struct qn_buf key;
    qn_buf_init(&key, SIZE_MAX);
    qn_buf_append_u8(&key, (uint8_t)rank);
    append_big_endian(&key, number);
    return key;
}

static struct qn_buf bytes_key(enum rank rank, struct qn_str bytes)
{
    struct qn_buf key;
    qn_buf_init(&key, SIZE_MAX);
    qn_buf_append_u8(&key, (uint8_t)rank);
    qn_buf_append_str(&key, bytes);
    return key;
}

static void item_done(struct row_item *item)
{
    qn_buf_done(&item->key);
    qn_buf_done(&item->row);
}

void row_set_done(struct row_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        item_done(&set->items[i]);
    }
    qn_memory_free(set->items);
    *set = (struct row_set){.items = NULL};
}

/* The place of a key, or where it would stand. */
static size_t find(const struct row_set *set, const struct qn_buf *key, bool *ret_found)
{
    size_t from = 0;
    size_t to = set->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = qn_str_compare(qn_buf_str(&set->items[middle].key), qn_buf_str(key));
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    *ret_found = false;
    return from;
}

static void remove_at(struct row_set *set, size_t at)
{
    item_done(&set->items[at]);
    set->count--;
    memmove(&set->items[at], &set->items[at + 1], (set->count - at) * sizeof(*set->items));
}

static void remove_key_take(struct row_set *set, struct qn_buf key)
{
    bool found;
    size_t at = find(set, &key, &found);
    if (found) {
        remove_at(set, at);
    }
    qn_buf_done(&key);
}

static void put_take(struct row_set *set, struct qn_buf key, const struct qn_row *row)
{
    struct qn_buf bytes;
    bool found;
    size_t at = find(set, &key, &found);

    qn_buf_init(&bytes, SIZE_MAX);
    qn_entry_append(&bytes, row);
    if (found) {
        item_done(&set->items[at]);
    } else {
        if (set->count == set->cap) {
            set->cap = set->cap == 0 ? 64 : set->cap * 2;
            set->items = qn_memory_resize(set->items, set->cap, sizeof(*set->items));
        }
        memmove(&set->items[at + 1], &set->items[at], (set->count - at) * sizeof(*set->items));
        set->count++;
    }
    set->items[at] = (struct row_item){key, bytes};
}

static struct qn_row item_row(const struct row_item *item)
{
    struct qn_reader reader;
    struct qn_row row = {.kind = QN_ROW_NAME_DROP};
    qn_reader_init(&reader, qn_buf_str(&item->row));
    (void)qn_entry_next(&reader, &row);
    return row;
}

static void put_message(struct row_set *set, struct qn_row row)
{
    row.kind = QN_ROW_MESSAGE_PUT;
    put_take(set, number_key(MESSAGES, row.message.key), &row);
}

/* Rows of the queue below the generation go, and the contents of such messages. */
static void bury(struct row_set *set, uint32_t number, uint64_t below)
{
    for (size_t i = 0; i < set->count;) {
        struct qn_row row = item_row(&set->items[i]);
        int64_t key = row.kind == QN_ROW_MESSAGE_PUT         ? row.message.key
                      : row.kind == QN_ROW_DEDUPLICATION_PUT ? row.deduplication.key
                      : row.kind == QN_ROW_ATTEMPT_PUT       ? row.attempt.key
                                                             : -1;
        uint32_t generation = row.kind == QN_ROW_MESSAGE_PUT         ? row.message.generation
                              : row.kind == QN_ROW_DEDUPLICATION_PUT ? row.deduplication.generation
                                                                     : row.attempt.generation;
        if (key < 0 || (uint64_t)key >> QN_SEQUENCE_BITS != number || generation >= below) {
            i++;
            continue;
        }
        if (row.kind == QN_ROW_MESSAGE_PUT) {
            remove_key_take(set, number_key(CONTENTS, row.message.content_id));
        }
        remove_at(set, i);
    }
}

static void trim(struct row_set *set, enum rank rank, int64_t key)
{
    struct qn_buf from = number_key(rank, key & ~((INT64_C(1) << QN_SEQUENCE_BITS) - 1));
    struct qn_buf to = number_key(rank, key);
    bool found;
    size_t at = find(set, &from, &found);
    while (at < set->count &&
           qn_str_compare(qn_buf_str(&set->items[at].key), qn_buf_str(&to)) <= 0) {
        remove_at(set, at);
    }
    qn_buf_done(&from);
    qn_buf_done(&to);
}

/* Tasks come by start, those of one instant by id. */
static struct qn_buf task_key(const struct qn_task_row *task)
{
    struct qn_buf key = number_key(TASKS, task->started_at_ms);
    qn_buf_append(&key, task->id, sizeof(task->id));
    return key;
}

/* A drop knows only the id. */
static void drop_task(struct row_set *set, const uint8_t id[16])
{
    for (size_t i = 0; i < set->count; i++) {
        struct qn_row row = item_row(&set->items[i]);
        if (row.kind == QN_ROW_TASK_PUT && memcmp(row.task.id, id, 16) == 0) {
            remove_at(set, i);
            return;
        }
    }
}

static void apply_row(struct row_set *set, const struct qn_row *row)
{
    switch (row->kind) {
    case QN_ROW_QUEUE_PUT:
        bury(set, row->queue.number, row->queue.generation);
        put_take(set, number_key(QUEUES, row->queue.number), row);
        break;
    case QN_ROW_QUEUE_DROP:
        bury(set, row->queue_number, UINT64_MAX);
        remove_key_take(set, number_key(QUEUES, row->queue_number));
        break;
    case QN_ROW_MESSAGE_INSERT:
        put_message(set, *row);
        put_take(set, number_key(CONTENTS, row->message.content_id), row);
        break;
    case QN_ROW_MESSAGE_PUT:
        put_message(set, *row);
        break;
    case QN_ROW_MESSAGE_DELETE:
        remove_key_take(set, number_key(MESSAGES, row->key));
        remove_key_take(set, number_key(CONTENTS, row->content_id));
        break;
    case QN_ROW_MESSAGE_MOVE:
        remove_key_take(set, number_key(MESSAGES, row->key));
        put_message(set, *row);
        break;
    case QN_ROW_DEDUPLICATION_PUT:
        put_take(set, number_key(DEDUPLICATIONS, row->deduplication.key), row);
        break;
    case QN_ROW_DEDUPLICATION_TRIM:
        trim(set, DEDUPLICATIONS, row->key);
        break;
    case QN_ROW_ATTEMPT_PUT:
        put_take(set, number_key(ATTEMPTS, row->attempt.key), row);
        break;
    case QN_ROW_ATTEMPT_TRIM:
        trim(set, ATTEMPTS, row->key);
        break;
    case QN_ROW_TASK_PUT:
        put_take(set, task_key(&row->task), row);
        break;
    case QN_ROW_TASK_DROP:
        drop_task(set, row->task.id);
        break;
    case QN_ROW_NAME_PUT:
        put_take(set, bytes_key(NAMES, row->name.name), row);
        break;
    case QN_ROW_NAME_DROP:
        remove_key_take(set, bytes_key(NAMES, row->name.name));
        break;
    }
}

void row_set_apply(struct row_set *set, struct qn_str entry)
{
    struct qn_reader reader;
    struct qn_row row;
    qn_reader_init(&reader, entry);
    while (qn_entry_next(&reader, &row)) {
        apply_row(set, &row);
    }
}

size_t row_set_count(const struct row_set *set, enum qn_row_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        count += item_row(&set->items[i]).kind == kind ? 1 : 0;
    }
    return count;
}

bool row_set_at(const struct row_set *set, size_t index, struct qn_row *ret_row)
{
    if (index >= set->count) {
        return false;
    }
    *ret_row = item_row(&set->items[index]);
    return true;
}

bool row_set_ends_with(const struct row_set *set, struct qn_str entry)
{
    return set->count > 0 && qn_str_equal(qn_buf_str(&set->items[set->count - 1].row), entry);
}

const char *row_set_difference(const struct row_set *a, const struct row_set *b)
{
    static char text[160];
    size_t a_count = a->count - row_set_count(a, QN_ROW_MESSAGE_INSERT);
    size_t b_count = b->count - row_set_count(b, QN_ROW_MESSAGE_INSERT);

    for (size_t i = 0; i < a_count && i < b_count; i++) {
        if (!qn_str_equal(qn_buf_str(&a->items[i].row), qn_buf_str(&b->items[i].row))) {
            struct qn_row left = item_row(&a->items[i]);
            struct qn_row right = item_row(&b->items[i]);
            (void)snprintf(text, sizeof(text), "row %zu: kind %d key %llx, other kind %d key %llx",
                           i, (int)left.kind, (unsigned long long)left.message.key, (int)right.kind,
                           (unsigned long long)right.message.key);
            return text;
        }
    }
    if (a_count != b_count) {
        (void)snprintf(text, sizeof(text), "%zu rows, other %zu", a_count, b_count);
        return text;
    }
    return NULL;
}
