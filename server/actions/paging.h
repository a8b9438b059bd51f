/* Paged lists of queue URLs: ListQueues and ListDeadLetterSourceQueues. */
#ifndef QN_ACTIONS_PAGING_H
#define QN_ACTIONS_PAGING_H

#include "server/actions/common.h"

struct qn_page {
    struct qn_str prefix;          /* of the names; empty for all */
    const struct qn_queue *target; /* only queues that redrive to this one, or NULL */
    struct qn_str account;
    struct qn_str region;
    struct qn_integer max;
    struct qn_str next_token;
};

/* MaxResults and NextToken. */
QN_MUST_CHECK bool qn_page_check(const struct qn_tx *tx, const struct qn_page *page,
                                 struct qn_error *err);
/* URLs in byte order of the names, and a token when MaxResults was given and more remain (LQ-1 to
 * LQ-4). */
QN_MUST_CHECK bool qn_page_fill(struct qn_tx *tx, const struct qn_page *page,
                                struct qn_list *ret_urls, struct qn_str *ret_next_token,
                                struct qn_error *err);

#endif
