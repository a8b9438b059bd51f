/* `quern lambda`: an event source mapping. Polls a queue of any SQS endpoint, invokes a function
 * with batches, and deletes what it has done.
 *
 * A poller is a thread that receives, filters, invokes and deletes, one batch after the other.
 * There are as many as Lambda begins with, up to MaximumConcurrency, and more when all are busy and
 * it allows more. */
#ifndef QN_LAMBDA_LAMBDA_H
#define QN_LAMBDA_LAMBDA_H

#include "client/lambda/environment.h"

struct qn_lambda_options {
    const char *endpoint;             /* NULL: as the AWS SDKs find it */
    const char *region;               /* the same */
    const char *queue;                /* its URL or its name */
    struct qn_lambda_mapping mapping; /* borrowed */
    enum qn_lambda_way way;
    char *const *argv;
    const char *url;
    int64_t url_wait_s; /* how long it may take at the start until something answers there */
    const char *handler;
    bool only_audit;  /* print what the audit says, and end */
    bool provisioned; /* environments are started before the first receive */
    bool until_empty; /* end when there is nothing left in the queue */
    bool json_lines;  /* what is told, as a JSON object a line */
    /* Each invocation, its end, and what the audit says of `audited`, are posted there as JSON, to
     * URL/v1/lambda; NULL: nowhere. For quern check. */
    const char *report_url;
    const struct qn_lambda_mapping *audited; /* NULL: the mapping itself */
    uint64_t seed;                           /* of request ids */
    struct qn_clock clock;
};

enum qn_lambda_exit {
    QN_LAMBDA_EXIT_DONE,
    QN_LAMBDA_EXIT_REFUSED, /* err says why: INVALID_PARAMETER_VALUE, or it is the server's */
    QN_LAMBDA_EXIT_AUDIT,   /* only_audit, and there is something to say */
    QN_LAMBDA_EXIT_GONE,    /* until_empty, and the queue was deleted meanwhile, as was told */
};

/* Runs until SIGTERM or SIGINT: then no more is received, invocations that run may end within their
 * timeout, and messages that were not given to a function become visible again. A second signal
 * ends what runs. Takes over these two signals, and ignores SIGPIPE, in the whole process. */
enum qn_lambda_exit qn_lambda_run(const struct qn_lambda_options *options, struct qn_error *err);

#endif
