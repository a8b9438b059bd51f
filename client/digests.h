/* The MD5 sums of messages, by which a damaged answer is told. Source: SQS developer guide, "Amazon
 * SQS message metadata", calculating the MD5 message digest for message attributes. */
#ifndef QUERN_DIGESTS_H
#define QUERN_DIGESTS_H

#include "client/quern.h"
#include "server/base/str.h"

enum { QUERN_DIGEST_TEXT = 33 }; /* 32 hexadecimal digits and a NUL */

void quern_digest_body(struct qn_str body, char ret_text[QUERN_DIGEST_TEXT]);

/* Over the attributes in the order of their names; "" when there are none. */
void quern_digest_attributes(const struct quern_attribute *attributes, size_t count,
                             char ret_text[QUERN_DIGEST_TEXT]);

/* Whether what an answer told is the sum expected. A sum that was not told is not compared: the
 * model names none of them as always there. */
bool quern_digest_is_right(const char *told, const char *expected);

#endif
