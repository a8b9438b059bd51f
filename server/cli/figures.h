/* All queues with their numbers, of a Quern or of any other SQS. */
#ifndef QN_CLI_FIGURES_H
#define QN_CLI_FIGURES_H

#include "server/cli/progress.h"
#include "server/cli/remote.h"

/* A list as GET /_quern/queues has it: "name", "account", "region", "arn", "fifo", "visible",
 * "in_flight", "delayed", "oldest_age_s", "dead_letter_arn", "metrics". Of an SQS that is no Quern
 * "oldest_age_s" is null and there are no metrics, and each queue is asked by itself; `progress`
 * tells of that and ends it. The caller owns the list. */
QN_MUST_CHECK bool qn_figures_ask(struct qn_remote *remote, struct qn_progress *progress,
                                  json_t **ret_queues, struct quern_error *err);
/* The name in an ARN; all of it when it is none. */
const char *qn_figures_arn_name(const char *arn);

#endif
