/* Letters, digits and blanks beyond ASCII, as attribute names and tags allow them. */
#ifndef QN_ACTIONS_LETTERS_H
#define QN_ACTIONS_LETTERS_H

#include "server/base/str.h"

/* Whether every character is a Unicode letter or digit, one of `others` (ASCII), or, with `blanks`,
 * white space. The text must be valid UTF-8. */
bool qn_is_letters(struct qn_str text, const char *others, bool blanks);

#endif
