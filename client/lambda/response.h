/* What the answer of a function says of its batch. */
#ifndef QN_LAMBDA_RESPONSE_H
#define QN_LAMBDA_RESPONSE_H

#include <jansson.h>

#include "server/base/str.h"

enum qn_lambda_result {
    QN_LAMBDA_ALL_DONE,
    QN_LAMBDA_SOME_FAILED,
    QN_LAMBDA_ALL_FAILED,
};

struct qn_lambda_response {
    enum qn_lambda_result result;
    size_t failed_count; /* entries of `failed` that are set, each once */
    char why[200];       /* of ALL_FAILED: what is wrong with the answer */
    bool has_wrong_id;   /* ... its form is right, but an id is not in the batch */
};

/* answer: the bytes that the function returned. ids: the message ids of the batch. failed (room for
 * count) is set for each message that is not to be deleted. Without `reports`, which is the
 * mapping's ReportBatchItemFailures, the answer is not looked at: whatever returns has succeeded.
 *
 * With it, a success of all is {"batchItemFailures": []}, that with null, {} and null; also no
 * answer at all, "" and [], which AWS takes for null. A failure of all is what is no JSON or no
 * object, a batchItemFailures that is no list, and an itemIdentifier that is missing, null, empty,
 * no text, or not in the batch.
 * https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html */
void qn_lambda_response_read(struct qn_str answer, bool reports, const char *const *ids,
                             size_t count, bool *failed, struct qn_lambda_response *ret_response);

#endif
