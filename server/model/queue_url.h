/* What names a queue: a URL in any of its forms. Only the path counts; the host is whatever the
 * client reaches us by. Source: SQS guide, "Queue and message identifiers". */
#ifndef QN_MODEL_QUEUE_URL_H
#define QN_MODEL_QUEUE_URL_H

#include "server/base/str.h"

/* A queue URL and what it names. */
struct qn_queue_address {
    struct qn_str url;     /* none: nothing was split yet */
    struct qn_str account; /* none where the URL has none */
    struct qn_str name;
};

/* Splits a queue URL (any scheme, host and port; a path alone; the forms of LocalStack and
 * ElasticMQ) into account and name, which are views. The account is none where the URL has none.
 * `bare_names`: a queue's name alone will do. False: not a queue URL. */
QN_MUST_CHECK bool qn_queue_url_split(struct qn_str url, bool bare_names,
                                      struct qn_str *ret_account, struct qn_str *ret_name);

#endif
