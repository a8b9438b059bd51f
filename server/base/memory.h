/* Heap memory. Running out of it ends the process with one line on stderr: nothing above base has
 * to handle a NULL. */
#ifndef QN_BASE_MEMORY_H
#define QN_BASE_MEMORY_H

#include <stddef.h>

/* Marks functions whose result must not be dropped. */
#define QN_MUST_CHECK __attribute__((warn_unused_result))
#define QN_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* size bytes, zeroed, never NULL (size 0 gives a valid pointer). Free with qn_memory_free. */
void *qn_memory_new(size_t size);

/* An array of count elements, zeroed. A product that does not fit ends the process. */
void *qn_memory_new_array(size_t count, size_t element_size);

/* size bytes, not zeroed. */
void *qn_memory_new_raw(size_t size);

/* Grows or shrinks an array; old content kept, new content not zeroed. ptr may be NULL. */
void *qn_memory_resize(void *ptr, size_t count, size_t element_size);

/* A NUL-terminated copy of len bytes. */
char *qn_memory_copy_text(const char *text, size_t len);

/* Accepts NULL. */
void qn_memory_free(void *ptr);

#endif
