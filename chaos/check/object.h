/* Objects that messages point to: under the SHA-256 of their bytes, at the effect sink. */
#ifndef QN_CHECK_OBJECT_H
#define QN_CHECK_OBJECT_H

#include "chaos/check/load.h"

/* Makes the message's object, if it points to one: so many bytes, or as many as come. */
void qn_object_make(struct qn_load_message *message, const struct qn_load_options *options,
                    int64_t size_bytes, struct qn_arena *arena);
/* The members of the payload that point to it; nothing without one. */
void qn_object_append_reference(struct qn_buf *body, const struct qn_load_message *message,
                                const struct qn_load_options *options);
/* What lies in its place: 200, or 404 without content. */
int qn_object_get(const struct qn_load_message *message, struct qn_arena *arena,
                  struct qn_str *ret_content);

#endif
