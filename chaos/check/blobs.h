/* Contents that messages point to, by their SHA-256. */
#ifndef QN_CHECK_BLOBS_H
#define QN_CHECK_BLOBS_H

#include "server/base/str.h"

struct qn_blobs;

struct qn_blobs *qn_blobs_new(void);
/* Accepts NULL. */
void qn_blobs_free(struct qn_blobs *blobs);
/* False: the name is not the digest of the content, in hexadecimal. */
bool qn_blobs_put(struct qn_blobs *blobs, struct qn_str name, struct qn_str content);
/* False: there is none. The view lives until it is put again. */
bool qn_blobs_get(const struct qn_blobs *blobs, struct qn_str name, struct qn_str *ret_content);

#endif
