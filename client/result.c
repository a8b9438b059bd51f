/* What calls give out: one block with an arena, freed together. */
#include <stddef.h>

#include "client/codec.h"

/* More than any answer can hold: an answer of that size is not read at all. */
#define RESULT_MAX_BYTES (SIZE_MAX / 4)

struct result {
    struct qn_arena arena;
    max_align_t first; /* what the caller sees begins here */
};

static struct result *block_of(const void *result)
{
    return (struct result *)(void *)((char *)(uintptr_t)result - offsetof(struct result, first));
}

void *quern_result_new(size_t size)
{
    struct result *block = qn_memory_new(offsetof(struct result, first) + size);

    qn_arena_init(&block->arena, RESULT_MAX_BYTES);
    return &block->first;
}

struct qn_arena *quern_result_arena(void *result)
{
    return &block_of(result)->arena;
}

void quern_result_free(const void *result)
{
    if (result != NULL) {
        struct result *block = block_of(result);
        qn_arena_done(&block->arena);
        qn_memory_free(block);
    }
}

void quern_text_free(char *text)
{
    qn_memory_free(text);
}

const char *quern_pairs_get(const struct quern_pairs *pairs, const char *name)
{
    for (size_t i = 0; pairs != NULL && i < pairs->count; i++) {
        if (strcmp(pairs->items[i].name, name) == 0) {
            return pairs->items[i].value;
        }
    }
    return NULL;
}
