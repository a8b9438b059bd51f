/* Messages of a Quern's queue, page by page, without receiving them. */
#ifndef QN_CLI_PEEKING_H
#define QN_CLI_PEEKING_H

#include "client/quern.h"
#include "server/cli/remote.h"

/* False when the server is no Quern, or is not there. */
QN_MUST_CHECK bool qn_peeking_check(struct qn_remote *remote, struct quern_error *err);

/* Up to `limit` messages (1 to 1,000) behind the position `after` of the queue in the first word,
 * a name or a URL: {"messages", "next"}. account: where several queues have the name; or NULL. The
 * caller owns the page. */
QN_MUST_CHECK bool qn_peeking_page(struct qn_remote *remote, const char *account, int64_t after,
                                   int64_t limit, json_t **ret_page, struct quern_error *err);

/* How many messages a Quern has stored in the queue of that URL since its start; -1: the server
 * does not say. */
int64_t qn_peeking_count_sent(struct qn_remote *remote, const char *url);

#endif
