/* Whether an answer is a document that a parser of its kind takes. */
#ifndef QN_TESTS_WELL_FORMED_H
#define QN_TESTS_WELL_FORMED_H

#include "server/base/str.h"

/* XML 1.0 as far as answers use it: a declaration, one element with all that is in it, attributes
 * in double quotes, the five entities and references to characters; no comments, no processing
 * instructions, no DOCTYPE, no CDATA. NULL when it is well-formed, else what is wrong. */
const char *well_formed_xml(struct qn_str text);
/* By jansson. */
const char *well_formed_json(struct qn_str text);

#endif
