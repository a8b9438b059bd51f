/* Texts by what they say. An open table: most of what is asked for is new or was here a moment ago,
 * and each step of a chain would be a miss of the cache. */
#include "chaos/check/texts.h"

struct qn_texts_slot {
    uint64_t hash;
    struct text *text; /* NULL: free */
};

struct text {
    uint32_t number;
    uint32_t len;
    char bytes[];
};

enum { FIRST_SLOTS = 256 };

void qn_texts_init(struct qn_texts *texts)
{
    *texts = (struct qn_texts){0};
    qn_arena_init(&texts->arena, SIZE_MAX / 2);
}

void qn_texts_done(struct qn_texts *texts)
{
    qn_memory_free(texts->slots);
    qn_arena_done(&texts->arena);
    *texts = (struct qn_texts){0};
}

/* The slot of the text, or the free one where it belongs. There is always a free one. */
static struct qn_texts_slot *slot_of(const struct qn_texts *texts, struct qn_str text,
                                     uint64_t hash)
{
    size_t at = hash & (texts->slot_count - 1);

    for (;; at = (at + 1) & (texts->slot_count - 1)) {
        struct qn_texts_slot *slot = &texts->slots[at];
        if (slot->text == NULL ||
            (slot->hash == hash && slot->text->len == text.len &&
             (text.len == 0 || memcmp(slot->text->bytes, text.ptr, text.len) == 0))) {
            return slot;
        }
    }
}

static void grow(struct qn_texts *texts)
{
    struct qn_texts_slot *old = texts->slots;
    size_t old_count = texts->slot_count;

    texts->slot_count = old_count > 0 ? old_count * 2 : FIRST_SLOTS;
    texts->slots = qn_memory_new_array(texts->slot_count, sizeof(struct qn_texts_slot));
    for (size_t i = 0; i < old_count; i++) {
        size_t at = old[i].hash & (texts->slot_count - 1);
        while (old[i].text != NULL && texts->slots[at].text != NULL) {
            at = (at + 1) & (texts->slot_count - 1);
        }
        if (old[i].text != NULL) {
            texts->slots[at] = old[i];
        }
    }
    qn_memory_free(old);
}

struct qn_str qn_texts_find(const struct qn_texts *texts, struct qn_str text)
{
    if (qn_str_is_none(text) || texts->slot_count == 0) {
        return QN_STR_NONE;
    }
    const struct text *known = slot_of(texts, text, qn_str_hash(text))->text;
    return known != NULL ? qn_str(known->bytes, known->len) : QN_STR_NONE;
}

struct qn_str qn_texts_take(struct qn_texts *texts, struct qn_str text)
{
    if (qn_str_is_none(text)) {
        return text;
    }
    /* Three quarters full at most. */
    if ((size_t)texts->count + 1 > texts->slot_count / 4 * 3) {
        grow(texts);
    }
    uint64_t hash = qn_str_hash(text);
    struct qn_texts_slot *slot = slot_of(texts, text, hash);
    if (slot->text == NULL) {
        struct text *copy = qn_arena_alloc_raw(&texts->arena, sizeof(*copy) + text.len + 1);
        copy->number = ++texts->count;
        copy->len = (uint32_t)text.len;
        if (text.len > 0) {
            memcpy(copy->bytes, text.ptr, text.len);
        }
        copy->bytes[text.len] = '\0';
        *slot = (struct qn_texts_slot){hash, copy};
    }
    return qn_str(slot->text->bytes, text.len);
}

uint32_t qn_text_number(struct qn_str kept)
{
    const char *start = qn_str_is_none(kept) ? NULL : kept.ptr - offsetof(struct text, bytes);

    return start != NULL ? ((const struct text *)(const void *)start)->number : 0;
}
