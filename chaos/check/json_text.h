/* jansson's values as text in our buffers. */
#ifndef QN_CHECK_JSON_TEXT_H
#define QN_CHECK_JSON_TEXT_H

#include <jansson.h>

#include "server/base/buf.h"

/* flags are jansson's: JSON_COMPACT, JSON_SORT_KEYS, JSON_INDENT(n) ... */
void qn_json_text_append(struct qn_buf *buf, const json_t *value, size_t flags);
/* Whether the text is one of those in the array; what is no array has none. */
bool qn_json_text_is_in(const json_t *array, const char *text);

#endif
