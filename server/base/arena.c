/* Bump allocation in a few chunks, freed together. */
#include "server/base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(ptr, size) ASAN_POISON_MEMORY_REGION((ptr), (size))
#define UNPOISON(ptr, size) ASAN_UNPOISON_MEMORY_REGION((ptr), (size))
enum { RED_ZONE = 16 }; /* never handed out: an overrun hits it */
#else
#define POISON(ptr, size) ((void)(ptr), (void)(size))
#define UNPOISON(ptr, size) ((void)(ptr), (void)(size))
enum { RED_ZONE = 0 };
#endif

struct qn_arena_chunk {
    struct qn_arena_chunk *next;
    size_t cap;
    size_t used;
    size_t unused; /* keeps the bytes aligned for any type */
    char bytes[];
};

enum {
    ALIGNMENT = 16,
    FIRST_CAP = 2048 - (int)sizeof(struct qn_arena_chunk) - ALIGNMENT,
    CAP_MAX = 64 * 1024
};

_Static_assert(_Alignof(max_align_t) <= ALIGNMENT, "blocks must fit any type");
_Static_assert(offsetof(struct qn_arena_chunk, bytes) % ALIGNMENT == 0, "first block aligned");

/* What a block takes of the ceiling. The size is already known to be below it. */
static size_t round_up(size_t size)
{
    return size > 0 ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
}

static struct qn_arena_chunk *new_chunk(size_t cap)
{
    struct qn_arena_chunk *chunk = qn_memory_new_raw(sizeof(*chunk) + cap);

    *chunk = (struct qn_arena_chunk){.cap = cap};
    POISON(chunk->bytes, cap);
    return chunk;
}

static void free_chunk(struct qn_arena_chunk *chunk)
{
    UNPOISON(chunk->bytes, chunk->cap);
    qn_memory_free(chunk);
}

void qn_arena_init(struct qn_arena *arena, size_t max_bytes)
{
    *arena = (struct qn_arena){.max_bytes = max_bytes};
}

void qn_arena_done(struct qn_arena *arena)
{
    while (arena->chunks != NULL) {
        struct qn_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        free_chunk(chunk);
    }
    arena->used_bytes = 0;
}

void qn_arena_reset(struct qn_arena *arena)
{
    struct qn_arena_chunk *kept = NULL;

    while (arena->chunks != NULL) {
        struct qn_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        if (kept == NULL && chunk->cap == FIRST_CAP) {
            kept = chunk;
        } else {
            free_chunk(chunk);
        }
    }
    if (kept != NULL) {
        POISON(kept->bytes, kept->cap);
        kept->used = 0;
        kept->next = NULL;
    }
    arena->chunks = kept;
    arena->used_bytes = 0;
}

/* A chunk with room for `needed`. A large block gets a chunk of its own, which goes behind the
 * current one so that the room left in that is not lost. */
static struct qn_arena_chunk *add_chunk(struct qn_arena *arena, size_t needed)
{
    struct qn_arena_chunk *current = arena->chunks;
    size_t cap = FIRST_CAP;
    struct qn_arena_chunk *chunk;

    if (current != NULL) {
        cap = current->cap < CAP_MAX / 2 ? current->cap * 2 : CAP_MAX;
    }
    if (needed > cap / 2) {
        chunk = new_chunk(needed);
        if (current != NULL) {
            chunk->next = current->next;
            current->next = chunk;
            return chunk;
        }
    } else {
        chunk = new_chunk(cap);
        chunk->next = current;
    }
    arena->chunks = chunk;
    return chunk;
}

void *qn_arena_alloc_raw(struct qn_arena *arena, size_t size)
{
    struct qn_arena_chunk *chunk = arena->chunks;
    size_t left = arena->max_bytes - arena->used_bytes;
    size_t rounded;
    char *block;

    if (size > left) {
        return NULL;
    }
    rounded = round_up(size);
    if (rounded > left || rounded < size) {
        return NULL;
    }
    if (chunk == NULL || rounded + RED_ZONE > chunk->cap - chunk->used) {
        chunk = add_chunk(arena, rounded + RED_ZONE);
    }
    block = chunk->bytes + chunk->used;
    chunk->used += rounded + RED_ZONE;
    arena->used_bytes += rounded;
    UNPOISON(block, size);
    return block;
}

void *qn_arena_alloc(struct qn_arena *arena, size_t size)
{
    void *block = qn_arena_alloc_raw(arena, size);

    if (block != NULL) {
        memset(block, 0, size);
    }
    return block;
}

struct qn_str qn_arena_copy(struct qn_arena *arena, struct qn_str s)
{
    char *copy;

    if (qn_str_is_none(s) || s.len == SIZE_MAX) {
        return QN_STR_NONE;
    }
    copy = qn_arena_alloc_raw(arena, s.len + 1);
    if (copy == NULL) {
        return QN_STR_NONE;
    }
    memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return qn_str(copy, s.len);
}

struct qn_str qn_arena_format(struct qn_arena *arena, const char *format, ...)
{
    va_list args;
    char small[256];
    char *text;
    int len;

    va_start(args, format);
    len = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (len < 0) {
        return QN_STR_NONE;
    }
    if ((size_t)len < sizeof(small)) {
        return qn_arena_copy(arena, qn_str(small, (size_t)len));
    }
    text = qn_arena_alloc_raw(arena, (size_t)len + 1);
    if (text == NULL) {
        return QN_STR_NONE;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return qn_str(text, (size_t)len);
}

/* The chunk whose last block this is. A large block has its own chunk behind the current one. */
static struct qn_arena_chunk *chunk_ending_with(struct qn_arena *arena, const char *ptr,
                                                size_t taken)
{
    struct qn_arena_chunk *chunk = arena->chunks;

    for (int i = 0; i < 2 && chunk != NULL; i++, chunk = chunk->next) {
        if (chunk->used >= taken && ptr == chunk->bytes + (chunk->used - taken)) {
            return chunk;
        }
    }
    return NULL;
}

void qn_arena_shrink(struct qn_arena *arena, void *ptr, size_t old_size, size_t new_size)
{
    size_t old_rounded = round_up(old_size);
    size_t saved = old_rounded - round_up(new_size);
    struct qn_arena_chunk *chunk = chunk_ending_with(arena, ptr, old_rounded + RED_ZONE);

    if (chunk == NULL) {
        return;
    }
    chunk->used -= saved;
    arena->used_bytes -= saved;
    POISON((char *)ptr + new_size, old_rounded - new_size);
}
