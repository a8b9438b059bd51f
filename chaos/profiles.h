/* Ready-made rules that travel inside the program: the files of chaos/profiles, by name. */
#ifndef QN_CHAOS_PROFILES_H
#define QN_CHAOS_PROFILES_H

#include "chaos/embedded.h"
#include "server/base/buf.h"
#include "server/base/error.h"

/* NULL: there is none of this name. */
const struct qn_embedded *qn_profiles_find(struct qn_str name);
struct qn_str qn_profiles_text(const struct qn_embedded *profile);
/* What it does in a few words: the first line of its comment, behind the name. */
struct qn_str qn_profiles_title(const struct qn_embedded *profile);
/* "there is no profile ...", with what qn_profiles_suggest says. Returns false. */
bool qn_profiles_fail(const char *name, struct qn_error *err);
/* Appends "; did you mean slow? The profiles are a, b and c". */
void qn_profiles_suggest(struct qn_buf *buf, struct qn_str word);

#endif
