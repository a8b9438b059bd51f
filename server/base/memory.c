/* The only place of ours that asks the system for heap memory, and the one that ends the process
 * when there is none: a half-executed request must never be answered. */
#include "server/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here may allocate, so no stdio. */
static _Noreturn void end_process(void)
{
    static const char line[] = "error memory: out of memory, the process ends\n";

    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
        abort();
    }
    abort();
}

static void *or_end(void *ptr)
{
    if (ptr == NULL) {
        end_process();
    }
    return ptr;
}

void *qn_memory_new(size_t size)
{
    return or_end(calloc(1, size > 0 ? size : 1));
}

void *qn_memory_new_array(size_t count, size_t element_size)
{
    size_t size;

    if (__builtin_mul_overflow(count, element_size, &size)) {
        end_process();
    }
    return qn_memory_new(size);
}

void *qn_memory_new_raw(size_t size)
{
    return or_end(malloc(size > 0 ? size : 1));
}

void *qn_memory_resize(void *ptr, size_t count, size_t element_size)
{
    size_t size;

    if (__builtin_mul_overflow(count, element_size, &size)) {
        end_process();
    }
    return or_end(realloc(ptr, size > 0 ? size : 1));
}

char *qn_memory_copy_text(const char *text, size_t len)
{
    size_t size;
    char *copy;

    if (__builtin_add_overflow(len, (size_t)1, &size)) {
        end_process();
    }
    copy = qn_memory_new_raw(size);
    if (len > 0) {
        memcpy(copy, text, len);
    }
    copy[len] = '\0';
    return copy;
}

void qn_memory_free(void *ptr)
{
    free(ptr);
}
