/* What calls give out: one block with an arena, freed together. */
#include <stddef.h>

#include "client/codec.h"

/* More than any answer can hold: an answer of that size is not read at all. */
#define ANSWER_MAX_BYTES (SIZE_MAX / 4)

struct answer {
    struct qn_arena arena;
    max_align_t first; /* what the caller sees begins here */
};

static struct answer *block_of(const void *answer)
{
    return (struct answer *)(void *)((char *)(uintptr_t)answer - offsetof(struct answer, first));
}

void *quern_answer_new(size_t size)
{
    struct answer *block = qn_memory_new(offsetof(struct answer, first) + size);

    qn_arena_init(&block->arena, ANSWER_MAX_BYTES);
    return &block->first;
}

struct qn_arena *quern_answer_arena(void *answer)
{
    return &block_of(answer)->arena;
}

void quern_answer_free(const void *answer)
{
    if (answer != NULL) {
        struct answer *block = block_of(answer);
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
