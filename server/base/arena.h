/* Memory that is freed at once: one arena per request. Under AddressSanitizer what has not been
 * handed out is poisoned. */
#ifndef QN_BASE_ARENA_H
#define QN_BASE_ARENA_H

#include "server/base/str.h"

struct qn_arena_chunk;

struct qn_arena {
    struct qn_arena_chunk *chunks; /* newest first */
    size_t used_bytes;             /* handed out, over all chunks */
    size_t max_bytes;
};

/* Allocates nothing yet. The ceiling is an ordinary error: qn_arena_alloc answers NULL there. */
void qn_arena_init(struct qn_arena *arena, size_t max_bytes);
/* Frees everything; accepts a zeroed arena. */
void qn_arena_done(struct qn_arena *arena);
/* Makes it empty again but keeps one chunk of ordinary size for the next use. */
void qn_arena_reset(struct qn_arena *arena);

/* size bytes, zeroed, aligned for any type; NULL at the ceiling. */
QN_MUST_CHECK void *qn_arena_alloc(struct qn_arena *arena, size_t size);
/* The same without zeroing. */
QN_MUST_CHECK void *qn_arena_alloc_raw(struct qn_arena *arena, size_t size);
/* A copy (NUL-terminated behind its end); QN_STR_NONE at the ceiling, and for QN_STR_NONE. */
struct qn_str qn_arena_copy(struct qn_arena *arena, struct qn_str s);
/* printf into the arena; QN_STR_NONE at the ceiling. */
struct qn_str qn_arena_format(struct qn_arena *arena, const char *format, ...) QN_PRINTF(2, 3);
/* Shrinks the block handed out last, if `ptr` is that block; otherwise does nothing. */
void qn_arena_shrink(struct qn_arena *arena, void *ptr, size_t old_size, size_t new_size);

#endif
