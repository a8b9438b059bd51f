/* JSON that others have written: what is JSON is said by its grammar (RFC 8259), not by what
 * jansson can hold. */
#ifndef QUERN_JSON_TEXT_H
#define QUERN_JSON_TEXT_H

#include <jansson.h>

#include "server/base/str.h"

/* jansson's flags, JSON_ALLOW_NUL beside them. What it cannot hold is read as the nearest that it
 * can: a whole number beyond 64 bits as a real one, a number beyond those as the greatest, half a
 * surrogate pair and, in a name, U+0000 as U+FFFD. NULL: the text is no JSON, or is nested deeper
 * than JSON_PARSER_MAX_DEPTH. ret_mistake may be NULL. */
json_t *quern_json_text_read(struct qn_str text, size_t flags, json_error_t *ret_mistake);

/* Whether it was the depth for which a text was not read: then it may be JSON all the same. */
bool quern_json_text_is_too_deep(const json_error_t *mistake);

#endif
